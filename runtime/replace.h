/* A file that is written beside the one it replaces, and takes its name when it is whole. Whoever
 * is killed meanwhile leaves nothing behind: the file has no name until it is done, where the file
 * system has such files (O_TMPFILE) and no file is to be replaced. Else it is FINAL.tmp-PID-N,
 * locked (flock) by its writer, and who writes FINAL next removes those that nobody locks. */
#ifndef QGC_RUNTIME_REPLACE_H
#define QGC_RUNTIME_REPLACE_H

#include "base/arena.h"

#include <sys/types.h>

typedef struct qgc_replacement {
    qgc_arena *arena; /* of the names */
    const char *final;
    char *temporary; /* NULL while it has no name */
    int descriptor;  /* open for writing, and the lock; -1 when done */
} qgc_replacement;

/* |final| lives as long as |out|; a link of that name would be replaced itself. |mode| as for open:
 * the umask counts. These return 0 or an errno; after a failure there is nothing to discard. */
int qgc_replacement_open(qgc_arena *arena, const char *final, mode_t mode, qgc_replacement *out);
/* Gives it its name and closes it. */
int qgc_replacement_commit(qgc_replacement *r);
void qgc_replacement_discard(qgc_replacement *r);

/* Removes FINAL.tmp-PID-N that nobody writes any more; where |of_any| is set, those of every file
 * in its folder. */
void qgc_remove_stale(qgc_arena *arena, const char *final, bool of_any);

#endif

/* A directory for files that a command needs for itself. */
#ifndef QGC_TOOLS_SCRATCH_H
#define QGC_TOOLS_SCRATCH_H

#include "command.h"

typedef struct scratch {
    char path[256]; /* "": none */
} scratch;

/* Below $TMPDIR, else /tmp. */
qgc_result scratch_create(invocation *call, scratch *out);
/* With the files in it. */
void scratch_remove(scratch *s);

#endif

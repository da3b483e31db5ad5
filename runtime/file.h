/* Input files as read-only memory, and output files that appear whole or not at all. */
#ifndef QGC_RUNTIME_FILE_H
#define QGC_RUNTIME_FILE_H

#include "base/diag.h"
#include "runtime/replace.h"

#include <stdio.h>

typedef struct qgc_file {
    const char *name; /* for messages; borrowed from the opener */
    const uint8_t *data;
    size_t size;
    bool is_mapped; /* data is an mmap that qgc_file_close undoes */
    bool is_streamed;
    int descriptor; /* where it is streamed */
} qgc_file;

/* Maps the regular file |path|. |path| must outlive |out|. Reports QGC_D_FILE_OPEN. As with any
 * mapped file, another process that truncates it meanwhile makes reads fault. */
qgc_result qgc_file_open(qgc_diag *diag, const char *path, qgc_file *out);
/* The same for a file of which most is read once, from front to back: it stays open for
 * qgc_file_read, which leaves no pages in memory as looking at |data| does. */
qgc_result qgc_file_open_stream(qgc_diag *diag, const char *path, qgc_file *out);
/* Bytes [offset, offset + size), which lie inside of the file, to |dest|; of any file. Reports
 * QGC_D_FILE_OPEN, also where the file was shortened meanwhile. */
qgc_result qgc_file_read(qgc_diag *diag, const qgc_file *file, size_t offset, size_t size,
                         void *dest);
/* |data| as a file of that name; borrowed. */
qgc_file qgc_file_from_memory(const char *name, const void *data, size_t size);
void qgc_file_close(qgc_file *file);

/* Text that came out of a file, fit for a message: quoted, control characters and what is not UTF-8
 * as \xHH, cut after 80 bytes. */
const char *qgc_quoted(qgc_arena *arena, qgc_str text);

/* A file being written: |path| appears when it is whole, by qgc_output_close (runtime/replace.h). A
 * |path| that exists and is no regular file (a pipe, /dev/null) is written in place; a symbolic
 * link stays a link. */
typedef struct qgc_output {
    const char *path; /* as given */
    qgc_replacement replacement;
    FILE *stream;
    bool is_in_place;
    int error; /* errno of the first write that failed, or 0 */
} qgc_output;

/* Reports QGC_D_FILE_WRITE, and so do the following. Texts live in diag->arena. */
qgc_result qgc_output_open(qgc_diag *diag, const char *path, qgc_output *out);
/* Failures are kept and reported by qgc_output_close. */
void qgc_output_put(qgc_output *output, const void *data, size_t size);
/* Puts it into place. After a failure of any write nothing is left behind. */
qgc_result qgc_output_close(qgc_diag *diag, qgc_output *output);
/* Gives up: nothing is left behind. */
void qgc_output_discard(qgc_output *output);

#endif

/* The kinds of data files that runtime/data.h reads: one row each in data_kind.c. */
#ifndef QGC_RUNTIME_DATA_KIND_H
#define QGC_RUNTIME_DATA_KIND_H

#include "runtime/array.h"

typedef struct qgc_data_kind {
    const char *name;
    const char *suffixes[3];              /* of file names; unused ones NULL */
    bool (*detect)(const qgc_file *file); /* whether the content looks like it */
    qgc_array_open_fn *open;
} qgc_data_kind;

/* The first kind whose |detect| accepts the content; where none does, the first that has a suffix
 * of the file's name (its |open| then says what is wrong); otherwise NULL and QGC_D_FILE_UNKNOWN.
 */
const qgc_data_kind *qgc_data_find_kind(qgc_diag *diag, const qgc_file *file);

#endif

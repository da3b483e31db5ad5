/* The arrays of one open data file, whatever its kind: what runtime/data.c streams from, and what a
 * kind of file (npy.h, npz.h, idx.h, safetensors.h) fills in. */
#ifndef QGC_RUNTIME_ARRAY_H
#define QGC_RUNTIME_ARRAY_H

#include "qgc/tensor.h"
#include "runtime/file.h"

typedef struct qgc_array qgc_array;
struct qgc_array {
    qgc_str name; /* empty where the kind has no names */
    qgc_dtype dtype;
    uint32_t rank;
    int64_t shape[QGC_MAX_RANK]; /* passes qgc_shape_bytes */
    /* Elements [first, first + num) in row-major order to |dest|, in the machine's byte order:
     * whole samples, or all. A compressed file reads on from where it was cheaply, and starts over
     * where |first| lies before that. Reading the last element also checks what the file says about
     * its end. NULL: they lie in the file as they are, from |offset| on. */
    qgc_result (*read)(qgc_diag *diag, qgc_array *array, size_t first, size_t num, void *dest);
    size_t offset;
    void *state; /* the kind's */
};

typedef struct qgc_array_file {
    qgc_file file;                             /* open */
    const struct qgc_picture_format *pictures; /* picture.h; NULL: its default */
    qgc_arena arena;                           /* for everything below */
    qgc_array *arrays;
    size_t num_arrays;
    const char *picture;        /* "480 x 640" where the file is one, in |arena|; else NULL */
    void *state;                /* the kind's, with */
    void (*close)(void *state); /* how to end it, or NULL */
} qgc_array_file;

/* Fills |file| from file->file and file->arena. After a failure the caller closes as usual. */
typedef qgc_result qgc_array_open_fn(qgc_diag *diag, qgc_array_file *file);

#endif

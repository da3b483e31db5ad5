/* Data files as streams of samples: .npy, .npz, .safetensors, IDX (plain or in gzip), PNG and JPEG
 * pictures (one sample each), or a folder of such files. The kind follows from a file's content,
 * and from its name where the content says nothing.
 *
 * A source has one or more arrays of fixed type. .npz and .safetensors name theirs; .npy and IDX
 * have one whose name is empty. To be read in batches, all arrays have to agree in their first
 * dimension: the samples. A folder is read in the order of names (bytewise; those that begin with
 * a dot are skipped), subfolders in their place, to a depth of 16; its files are parts of one
 * source: all have the same arrays, and the samples of one follow those of the other. Memory
 * depends on the batch, not on the number of samples; the exception are Fortran-order arrays in
 * .npz. */
#ifndef QGC_RUNTIME_DATA_H
#define QGC_RUNTIME_DATA_H

#include "runtime/array.h"
#include "runtime/tensor.h"

typedef struct qgc_data qgc_data;

/* Opens |path| (copied) and checks the headers of all its files. |diag| is kept and must outlive
 * the source; all later errors go there. Reports QGC_D_FILE_OPEN, QGC_D_FILE_UNKNOWN and
 * QGC_D_FILE_FORMAT (also for files of a folder that do not agree). */
qgc_result qgc_data_open(qgc_diag *diag, const char *path, qgc_data **out);
/* The same; |pictures| (picture.h, borrowed, or NULL) says how pictures become tensors. */
qgc_result qgc_data_open_with(qgc_diag *diag, const char *path,
                              const struct qgc_picture_format *pictures, qgc_data **out);
/* One file from memory, which is borrowed. */
qgc_result qgc_data_open_memory(qgc_diag *diag, const char *name, const void *data, size_t size,
                                qgc_data **out);
/* NULL is fine. */
void qgc_data_close(qgc_data *data);

size_t qgc_data_num_arrays(const qgc_data *data);
/* Name and type of array |index|, the first dimension summed over a folder's files; |data| is NULL.
 * The name is valid until the source is closed. */
qgc_named_tensor qgc_data_array(const qgc_data *data, size_t index);
/* SIZE_MAX where no array has this name. Constant time. */
size_t qgc_data_find(const qgc_data *data, qgc_str name);

/* Subfolders of the folder itself, in order; empty ones count. */
size_t qgc_data_num_folders(const qgc_data *data);
const char *qgc_data_folder(const qgc_data *data, size_t index);

/* One of the files, in order. */
typedef struct qgc_data_part {
    const char *path;
    size_t num_samples; /* 0 where arrays do not agree in their first dimension */
    size_t folder;      /* the subfolder in which it lies, at any depth; SIZE_MAX: none */
} qgc_data_part;
size_t qgc_data_num_parts(const qgc_data *data);
qgc_data_part qgc_data_part_at(const qgc_data *data, size_t index);

/* Whether batches can be read; a reason is reported otherwise (QGC_D_FILE_FORMAT). */
qgc_result qgc_data_num_samples(qgc_data *data, size_t *out_num);

/* The next |max_samples| samples or as many as are left: one tensor for each array in out_tensors
 * (qgc_data_num_arrays of them), the first dimension *out_num; 0 at the end. The tensors are
 * read-only views, valid until the next call on |data|. max_samples is at least 1. */
qgc_result qgc_data_next_batch(qgc_data *data, size_t max_samples, qgc_tensor *out_tensors,
                               size_t *out_num);
/* Makes sample |index| (at most the number of samples) the next one. */
qgc_result qgc_data_seek(qgc_data *data, size_t index);

/* Reads the whole array |index|, of any rank. |out| is owned by the caller (qgc_tensor_destroy).
 * Leaves the place in the samples undefined: qgc_data_seek before the next batch. */
qgc_result qgc_data_read_array(qgc_data *data, size_t index, qgc_tensor *out);

#endif

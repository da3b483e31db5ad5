/* .npz: zip archives of .npy files, stored or deflated, through libzip.
 *
 * Each entry NAME.npy is the array NAME. Refused as QGC_D_FILE_FORMAT: entries with other names,
 * names given twice, encryption, other compression methods, and sizes that lie: the size that the
 * archive claims must be the one that the .npy header implies and must be within what deflate can
 * make of the compressed bytes (1032:1), so that nothing is allocated that the file cannot fill. */
#ifndef QGC_RUNTIME_NPZ_H
#define QGC_RUNTIME_NPZ_H

#include "runtime/array.h"
#include "runtime/tensor.h"

bool qgc_npz_detect(const qgc_file *file);

/* Arrays in the archive's order. Entries are inflated as they are read; a Fortran-order entry as a
 * whole. */
qgc_result qgc_npz_open_arrays(qgc_diag *diag, qgc_array_file *file);

/* Writes the tensors in the given order; bf16 is refused. Fixed time stamps and
 * permissions: the same tensors give the same bytes with one version of libzip and zlib. The
 * archive is put together in memory. Reports QGC_D_FILE_WRITE; the file appears whole or not at
 * all. */
qgc_result qgc_npz_write(qgc_diag *diag, const char *path, const qgc_named_tensor *tensors,
                         size_t num_tensors, bool is_compressed);

#endif

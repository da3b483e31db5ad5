/* IDX files (the format of MNIST, http://yann.lecun.com/exdb/mnist), plain or in gzip: two zero
 * bytes, a type code, the rank, big-endian 32-bit dimensions, big-endian elements.
 *
 * Types 08 u8, 09 i8, 0B i16, 0C i32, 0D f32, 0E f64. The file has to end with the last element.
 * Defects are QGC_D_FILE_FORMAT. */
#ifndef QGC_RUNTIME_IDX_H
#define QGC_RUNTIME_IDX_H

#include "runtime/array.h"

bool qgc_idx_detect(const qgc_file *file);
/* Any gzip data: what is in it shows when it is opened. */
bool qgc_idx_gzip_detect(const qgc_file *file);

/* The one array of the file, without a name. */
qgc_result qgc_idx_open_arrays(qgc_diag *diag, qgc_array_file *file);
/* Inflates as it is read. Several gzip members in a row are one stream, as gunzip has it. */
qgc_result qgc_idx_gzip_open_arrays(qgc_diag *diag, qgc_array_file *file);

#endif

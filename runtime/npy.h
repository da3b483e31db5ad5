/* NumPy .npy files (format versions 1.0 to 3.0; numpy/lib/format.py).
 *
 * Types f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 ('<', '|', '=' and '>'); anything else is refused with
 * the text that was found. Big-endian and Fortran-order data are converted while reading. Defects
 * are QGC_D_FILE_FORMAT "FILE: expected ..., found ..."; nothing but the array may follow the
 * header. Versions 1.0 and 2.0 write the header in Latin-1, 3.0 in UTF-8: the text accepted is
 * ASCII. */
#ifndef QGC_RUNTIME_NPY_H
#define QGC_RUNTIME_NPY_H

#include "runtime/array.h"
#include "runtime/file.h"
#include "runtime/tensor.h"

/* The type of an array as a header states it, checked with qgc_shape_bytes. */
typedef struct qgc_npy_header {
    qgc_dtype dtype;
    uint32_t rank;
    int64_t shape[QGC_MAX_RANK];
    bool is_big_endian, is_fortran;
    size_t header_bytes; /* the data starts here */
    size_t data_bytes;
} qgc_npy_header;

enum {
    QGC_NPY_PREFIX_BYTES = 12,       /* enough to know the header's size */
    QGC_NPY_MAX_HEADER = 1024 * 1024 /* bytes; NumPy's own limit is 10000 */
};

/* Bytes of the whole header from the first QGC_NPY_PREFIX_BYTES (or all, if there are fewer) of a
 * file; checks magic, version and QGC_NPY_MAX_HEADER. |name| is for messages. */
qgc_result qgc_npy_header_size(qgc_diag *diag, const char *name, const uint8_t *data, size_t size,
                               size_t *out_bytes);
/* |data| holds at least the whole header. */
qgc_result qgc_npy_parse_header(qgc_diag *diag, const char *name, const uint8_t *data, size_t size,
                                qgc_npy_header *out);
bool qgc_npy_detect(const qgc_file *file);

/* Copies elements [first, first + num), counted in row-major order, of the array whose stored data
 * begins at |stored| to |dest|: row-major, in the machine's byte order. */
void qgc_npy_convert(const qgc_npy_header *header, const uint8_t *stored, size_t first, size_t num,
                     void *dest);

/* Reverses the bytes of each of |num| elements of |size| bytes. */
void qgc_swap_bytes(void *data, size_t size, size_t num);

/* The one array of the file, without a name. */
qgc_result qgc_npy_open_arrays(qgc_diag *diag, qgc_array_file *file);
/* |name| and the header's type; the rest is the caller's. */
qgc_array qgc_npy_array(qgc_str name, const qgc_npy_header *header);

/* Reads a whole file. |out| is owned by the caller (qgc_tensor_destroy). */
qgc_result qgc_npy_read(qgc_diag *diag, const char *path, qgc_tensor *out);
qgc_result qgc_npy_parse(qgc_diag *diag, const qgc_file *file, qgc_tensor *out);

/* Writes version 1.0, the same bytes as numpy.save. bf16 has no .npy form and is refused. Reports
 * QGC_D_FILE_WRITE; the file appears whole or not at all. */
qgc_result qgc_npy_write(qgc_diag *diag, const char *path, const qgc_tensor *tensor);
/* The header of such a file. Text in diag->arena. |name| is for messages. */
qgc_result qgc_npy_format_header(qgc_diag *diag, const char *name, const qgc_tensor *tensor,
                                 qgc_str *out);

#endif

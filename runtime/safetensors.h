/* safetensors files (https://github.com/huggingface/safetensors, "Format"): 8 bytes little-endian
 * header length, a JSON object {name: {"dtype", "shape", "data_offsets": [begin, end]}}, the data.
 *
 * The whole file is validated before the first entry is handed out: header length against the file,
 * nesting, types, shapes, offsets inside the file, byte count = product of shape * element size,
 * names given once, data without overlaps or holes, bool bytes 0 or 1. Each defect is a
 * QGC_D_FILE_FORMAT "FILE: expected ..., found ... (tensor NAME)". */
#ifndef QGC_RUNTIME_SAFETENSORS_H
#define QGC_RUNTIME_SAFETENSORS_H

#include "runtime/array.h"
#include "runtime/file.h"
#include "runtime/tensor.h"

enum { QGC_SAFETENSORS_MAX_HEADER = 100000000 }; /* bytes; the format's own limit */

typedef struct qgc_safetensors_entry {
    qgc_name name;
    /* A read-only view into the file; where the file's data is not aligned to the element size, a
     * view of a copy. Valid until qgc_safetensors_close. */
    qgc_tensor tensor;
    size_t offset; /* of the data in the file */
} qgc_safetensors_entry;

typedef struct qgc_safetensors {
    qgc_file file;
    qgc_arena arena;
    qgc_safetensors_entry *entries; /* by offset; empty tensors before others at the same one */
    size_t num_entries;
    qgc_interner names;
    qgc_map by_name;
} qgc_safetensors;

/* Maps and validates |path|, which must outlive |out|. After a failure |out| is closed already. */
qgc_result qgc_safetensors_open(qgc_diag *diag, const char *path, qgc_safetensors *out);
/* The same on a file that is open; takes it over, also on failure. */
qgc_result qgc_safetensors_take(qgc_diag *diag, qgc_file file, qgc_safetensors *out);
void qgc_safetensors_close(qgc_safetensors *file);

/* NULL where the file has no such tensor. Constant time. */
const qgc_safetensors_entry *qgc_safetensors_find(const qgc_safetensors *file, qgc_str name);

/* Whether the bytes look like a safetensors file: for telling kinds apart, not a validation. */
bool qgc_safetensors_detect(const qgc_file *file);

/* All tensors, by offset. Values of BOOL are checked as they are read. */
qgc_result qgc_safetensors_open_arrays(qgc_diag *diag, qgc_array_file *file);

/* Writes |path| whole or not at all. The header lists the names in the given order; the data lies
 * by falling element size, so that each tensor is aligned to its element size, and starts at a
 * multiple of 64 (header padded with spaces). The same tensors give the same bytes. Reports
 * QGC_D_FILE_WRITE, also for names that are given twice, are not UTF-8 or are "__metadata__". */
qgc_result qgc_safetensors_write(qgc_diag *diag, const char *path, const qgc_named_tensor *tensors,
                                 size_t num_tensors);

#endif

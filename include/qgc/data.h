/* Samples of data files: what graphs are calibrated, judged and compared on. */
#ifndef QGC_DATA_H
#define QGC_DATA_H

#include "qgc/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file, or a folder of files that follow each other: .npy, .npz, .safetensors, IDX (plain or in
 * gzip), pictures. The first dimension of an array counts samples. */
typedef struct qgc_data_file {
    qgc_str input; /* the only array is for this input; data NULL: an array for each input by name,
                      or one without a name for the only input */
    const char *path;
} qgc_data_file;

/* All inputs of a function together, and which samples of them. Every input needs one array, and as
 * many samples as the others. Zeros are defaults. */
typedef struct qgc_samples {
    const qgc_data_file *files;
    size_t num_files;
    size_t batch;      /* samples per run where the graph leaves it open; 0: as the function says */
    size_t first;      /* samples before are left out, before everything else */
    size_t limit;      /* at most so many samples; 0: all */
    size_t shard;      /* this part (0 ...) of what is left, of */
    size_t num_shards; /* so many, in contiguous ranges of samples; 0: 1 */
} qgc_samples;

#ifdef __cplusplus
}
#endif
#endif

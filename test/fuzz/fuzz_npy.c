/* All kinds of data files (.npy, .npz, IDX, gzipped IDX, safetensors) on any bytes, told apart as a
 * user's files are: batches, seeking and whole arrays either fail with a report or agree. */
#include "runtime/data.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_ARRAYS = 8, MAX_BYTES = 1 << 20 };

/* Sum of the bytes of all batches, or of the whole arrays: they have to be the same. */
static uint64_t add_bytes(const qgc_tensor *tensor)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < tensor->bytes; i++)
        sum += ((const uint8_t *)tensor->data)[i];
    return sum;
}

static bool read_batches(qgc_data *data, uint64_t *sums)
{
    qgc_tensor tensors[MAX_ARRAYS];
    size_t num_samples, num, done = 0;
    if (qgc_data_num_samples(data, &num_samples) != QGC_OK)
        return false;
    const size_t batch = num_samples / 7 + 1;
    for (;;) {
        if (qgc_data_next_batch(data, batch, tensors, &num) != QGC_OK)
            return false;
        for (size_t i = 0; num && i < qgc_data_num_arrays(data); i++)
            sums[i] += add_bytes(&tensors[i]);
        done += num;
        if (!num)
            break;
    }
    QGC_ASSERT(done == num_samples, "%zu of %zu samples", done, num_samples);
    return qgc_data_seek(data, num_samples / 2) == QGC_OK &&
           qgc_data_next_batch(data, 1, tensors, &num) == QGC_OK;
}

static void read_arrays(qgc_data *data, const uint64_t *sums, bool has_batches)
{
    for (size_t i = 0; i < qgc_data_num_arrays(data); i++) {
        qgc_tensor tensor;
        if (qgc_data_read_array(data, i, &tensor) != QGC_OK)
            continue;
        uint64_t sum = add_bytes(&tensor);
        QGC_ASSERT(!has_batches || sum == sums[i], "array %zu differs from its batches", i);
        qgc_tensor_destroy(&tensor);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    qgc_arena arena = {0};
    qgc_sources sources = {.arena = &arena};
    qgc_diag diag = {.arena = &arena, .sources = &sources};
    qgc_data *data;
    uint64_t sums[MAX_ARRAYS] = {0};
    qgc_result result = qgc_data_open_memory(&diag, "fuzz", bytes, size, &data);
    QGC_ASSERT((result == QGC_OK) == (diag.num_errors == 0), "result and reports disagree");
    size_t total = 0;
    for (size_t i = 0; data && i < qgc_data_num_arrays(data); i++)
        total += qgc_data_array(data, i).tensor.bytes;
    if (data && qgc_data_num_arrays(data) <= MAX_ARRAYS && total <= MAX_BYTES) {
        bool has_batches = read_batches(data, sums);
        read_arrays(data, sums, has_batches);
    }
    qgc_data_close(data);
    qgc_arena_destroy(&arena);
    return 0;
}

/* The safetensors reader on any bytes: it refuses them with a report, or hands out entries whose
 * every byte can be read and that are found by name. */
#include "runtime/safetensors.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const qgc_safetensors *file, const qgc_safetensors_entry *entry)
{
    size_t bytes;
    const qgc_tensor *tensor = &entry->tensor;
    QGC_ASSERT(qgc_safetensors_find(file, qgc_name_str(entry->name)) == entry, "lost by name");
    QGC_ASSERT(qgc_shape_bytes(tensor->dtype, tensor->rank, tensor->shape, &bytes) &&
                   bytes == tensor->bytes,
               "size of %s", entry->name->data);
    QGC_ASSERT((uintptr_t)tensor->data % qgc_dtype_bytes(tensor->dtype) == 0, "not aligned");
    QGC_ASSERT(!bytes || memcmp(tensor->data, file->file.data + entry->offset, bytes) == 0,
               "other bytes than the file's");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qgc_arena arena = {0};
    qgc_sources sources = {.arena = &arena};
    qgc_diag diag = {.arena = &arena, .sources = &sources};
    qgc_safetensors file;
    qgc_result result =
        qgc_safetensors_take(&diag, qgc_file_from_memory("fuzz", data, size), &file);
    QGC_ASSERT((result == QGC_OK) == (diag.num_errors == 0), "result and reports disagree");
    for (size_t i = 0; result == QGC_OK && i < file.num_entries; i++)
        check_entry(&file, &file.entries[i]);
    if (result == QGC_OK)
        qgc_safetensors_close(&file);
    qgc_arena_destroy(&arena);
    return 0;
}

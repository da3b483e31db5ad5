#include "base/vec.h"

#include <string.h>

void *qgc_vec_grow(qgc_arena *arena, const void *data, size_t *capacity, size_t item_bytes)
{
    size_t old = *capacity;
    *capacity = old ? old * 2 : 8;
    void *grown = qgc_arena_alloc_array(arena, *capacity, item_bytes);
    if (old)
        memcpy(grown, data, old * item_bytes);
    return grown;
}

#include "runtime/hash.h"

#include <xxhash.h>

uint64_t qgc_hash(uint64_t seed, const void *data, size_t bytes)
{
    return XXH3_64bits_withSeed(bytes ? data : "", bytes, seed);
}

const char *qgc_hash_text(qgc_arena *arena, uint64_t hash)
{
    return qgc_arena_printf(arena, "%016llx", (unsigned long long)hash);
}

qgc_hash128 qgc_hash_all(const void *data, size_t bytes)
{
    XXH128_hash_t hash = XXH3_128bits(bytes ? data : "", bytes);
    return (qgc_hash128){hash.low64, hash.high64};
}

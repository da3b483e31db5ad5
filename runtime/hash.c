#include "runtime/hash.h"

#include <xxhash.h>

uint64_t qgc_hash(uint64_t seed, const void *data, size_t bytes)
{
    return XXH3_64bits_withSeed(bytes ? data : "", bytes, seed);
}

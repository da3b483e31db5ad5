/* Hashes of bytes, the same on every machine: XXH3, 64 bits. */
#ifndef QGC_RUNTIME_HASH_H
#define QGC_RUNTIME_HASH_H

#include "base/arena.h"

/* The hash of |bytes| bytes, continuing from |seed|: 0, or the hash of what came before. */
uint64_t qgc_hash(uint64_t seed, const void *data, size_t bytes);

/* "0123456789abcdef" */
const char *qgc_hash_text(qgc_arena *arena, uint64_t hash);

/* 128 bits, where two things must not meet. */
typedef struct qgc_hash128 {
    uint64_t low, high;
} qgc_hash128;
qgc_hash128 qgc_hash_all(const void *data, size_t bytes);

#endif

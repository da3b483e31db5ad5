/* Machine code on disk: objects by what they are compiled from. A directory of files that may be
 * lost or damaged at any time: what is not there, or not as it was written, is compiled again.
 *
 * An entry is KEY.qgco (32 hexadecimal digits): a header (magic, key, size and hash of the object)
 * and the object. It is written to a temporary file and renamed, so that readers and other writers
 * never meet a part of it. */
#ifndef QGC_CODEGEN_CACHE_H
#define QGC_CODEGEN_CACHE_H

#include "base/diag.h"
#include "qgc/engine.h"
#include "runtime/hash.h"

typedef struct qgc_cache {
    qgc_diag *diag;        /* remarks of "cache", nothing else */
    const char *directory; /* made when the first entry is stored */
    size_t max_bytes;      /* of all entries: the ones that were not used for longest go */
    bool is_broken;        /* it could not be written: said once, not tried again */
} qgc_cache;

/* As the options say, whose |cache| is set. Nothing is read or written yet. */
qgc_cache qgc_cache_make(qgc_diag *diag, qgc_arena *arena, const qgc_engine_options *options);
/* The object in |arena|. False: there is none that can be used. */
bool qgc_cache_load(qgc_cache *cache, qgc_hash128 key, qgc_arena *arena, qgc_str *out);
void qgc_cache_store(qgc_cache *cache, qgc_hash128 key, qgc_str object);
/* Says that the object of an entry, whole though it is, cannot be linked. */
void qgc_cache_refuse(const qgc_cache *cache, qgc_hash128 key);

#endif

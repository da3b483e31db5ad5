/* Element types: the table instance. */
#include "qgc/base.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
#define QGC_DTYPE(id, name, bytes, kind, summary) {name, bytes},
#include "qgc/dtypes.def"
};

size_t qgc_dtype_bytes(qgc_dtype dtype)
{
    return dtypes[dtype].bytes;
}

const char *qgc_dtype_name(qgc_dtype dtype)
{
    return dtypes[dtype].name;
}

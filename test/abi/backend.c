/* What abidiff looks at: functions that take every type of qgc/backend.h. Its ABI is recorded in
 * test/abi/backend.abi; tools/check abi compares. */
#include "qgc/backend.h"

QGC_BACKEND_EXPORT int qgc_abi_query(qgc_backend_query_fn *query, qgc_backend_dtype dtype);
QGC_BACKEND_EXPORT int qgc_abi_host(const qgc_backend_host *host, const qgc_backend *backend);

int qgc_abi_query(qgc_backend_query_fn *query, qgc_backend_dtype dtype)
{
    return query && dtype;
}

int qgc_abi_host(const qgc_backend_host *host, const qgc_backend *backend)
{
    return host && backend;
}

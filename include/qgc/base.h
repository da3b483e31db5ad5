/* Names that every other header uses: strings, results, element types, the export macro. */
#ifndef QGC_BASE_H
#define QGC_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QGC_VERSION "0.1.0"

#if defined(__GNUC__)
#define QGC_API               __attribute__((visibility("default")))
#define QGC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define QGC_API
#define QGC_PRINTF(fmt, args)
#endif

/* A borrowed run of bytes, not NUL-terminated unless said so. */
typedef struct qgc_str {
    const char *data;
    size_t size;
} qgc_str;

/* For printf("%.*s", QGC_STR_ARG(s)). */
#define QGC_STR_ARG(s) (int)(s).size, (s).data

/* QGC_FAILED means that a diagnostic has been reported. */
typedef enum qgc_result { QGC_OK = 0, QGC_FAILED = 1 } qgc_result;

/* Element types; include/qgc/dtypes.def holds the table. */
typedef enum qgc_dtype {
#define QGC_DTYPE(id, name, bytes, kind, summary) QGC_DTYPE_##id,
#include "qgc/dtypes.def"
    QGC_NUM_DTYPES
} qgc_dtype;

/* Bytes of one element. */
QGC_API size_t qgc_dtype_bytes(qgc_dtype dtype);
/* "f32"; NUL-terminated, static. */
QGC_API const char *qgc_dtype_name(qgc_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif

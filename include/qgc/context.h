/* A context holds everything of one compilation session; nothing is global. One thread at a time
 * may use a context; two contexts on two threads are independent. */
#ifndef QGC_CONTEXT_H
#define QGC_CONTEXT_H

#include "qgc/diag.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qgc_context qgc_context;

QGC_API qgc_context *qgc_context_create(void);
/* Modules of the context must be destroyed before. NULL is fine. */
QGC_API void qgc_context_destroy(qgc_context *context);

/* Comma-separated pass names, or "all": whose remarks are collected. Copied. */
QGC_API void qgc_context_set_remarks(qgc_context *context, const char *passes);

/* How PNG and JPEG files of data become tensors: "size=224,mean=0.485/0.456/0.406,..."
 * (docs/driver.md has the keys). Copied; what is malformed or contradicts itself is reported (code
 * USAGE). */
QGC_API qgc_result qgc_context_set_image(qgc_context *context, const char *text);
/* After the data was read: a warning where that was said and no file was a picture. */
QGC_API void qgc_context_check_image(qgc_context *context);

/* Prints what was reported since the last flush, sorted by location, and forgets it. */
QGC_API void qgc_context_flush(qgc_context *context, FILE *out, qgc_diag_format format, bool color);
/* Warnings and remarks are dropped. */
QGC_API void qgc_context_set_quiet(qgc_context *context, bool quiet);
/* Whether an error since the last flush is the environment's (a file that cannot be read or
 * written), not the input's. */
QGC_API bool qgc_context_environment_failed(const qgc_context *context);
/* Errors reported since creation. */
QGC_API size_t qgc_context_num_errors(const qgc_context *context);
/* Reports an error without location (code USAGE); for drivers, so that all errors look alike. */
QGC_API qgc_result qgc_context_usage_error(qgc_context *context, const char *format, ...)
    QGC_PRINTF(2, 3);

/* "; did you mean 'x'?" where exactly one of |num| names is certainly meant by |found|, else "". */
QGC_API const char *qgc_context_did_you_mean(qgc_context *context, const char *found,
                                             const char *const *names, size_t num);

/* --verify-diagnostics: compares what was reported since the last flush with the comments
 * `// expected-error {{text}}` in the sources (error, warning, remark, note; `@+1` and `@-1` after
 * the word move the line; text is a part of the message). Consumes the diagnostics; differences are
 * reported with code EXPECTATION and make it fail. */
QGC_API qgc_result qgc_context_verify_diagnostics(qgc_context *context);

#ifdef __cplusplus
}
#endif
#endif

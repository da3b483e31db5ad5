/* Figures of a module: sizes, multiply-adds. */
#ifndef QGC_SUMMARY_H
#define QGC_SUMMARY_H

#include "qgc/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qgc_summary {
    size_t ops;                  /* constants and `return` aside */
    size_t fake_quants;          /* steps that training left: the parameters are in the graph */
    size_t constant_bytes;       /* of weights and other constants; unread ones too */
    double macs, quantized_macs; /* multiply-adds of one sample (symbols count as 1); of them with
                                    quantized operands. Functions count once. */
    const char *batch;           /* the symbol of the first dimension of @func's first parameter, or
                                    NULL */
    size_t fixed_batch;          /* that dimension where it is a number, else 0 */
} qgc_summary;

/* |func| NULL: "main". */
QGC_API void qgc_module_summarize(const qgc_module *module, const char *func, qgc_summary *out);

#ifdef __cplusplus
}
#endif
#endif

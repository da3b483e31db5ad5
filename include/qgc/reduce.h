/* Making a graph smaller, one verified step at a time: what shrinks a failure. */
#ifndef QGC_REDUCE_H
#define QGC_REDUCE_H

#include "qgc/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum qgc_reduction {
    QGC_REDUCTION_DONE,    /* the module is smaller now, and verified */
    QGC_REDUCTION_REFUSED, /* what came out is no valid graph: throw the module away */
    QGC_REDUCTION_NONE,    /* there are not so many candidates */
} qgc_reduction;

/* Applies candidate |index| of those that the module offers, always in the same order: functions,
 * results, ops, parameters, dimensions, attributes and operands, weights, records. Every one makes
 * the graph smaller, so that repeating ends. |out_what|: what was done, in words; memory of the
 * module. Reports what the verifier finds. */
QGC_API qgc_reduction qgc_module_reduce(qgc_module *module, size_t index, const char **out_what);

#ifdef __cplusplus
}
#endif
#endif

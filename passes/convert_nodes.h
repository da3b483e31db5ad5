/* The nodes that convert makes. */
#ifndef QGC_PASSES_CONVERT_NODES_H
#define QGC_PASSES_CONVERT_NODES_H

#include "passes/qparams.h"

typedef struct converter {
    const qgc_pass_env *env;
    qgc_func *func;
    qgc_node *observer; /* at hand, or what is in its place; new nodes stand before it */
    const qgc_node
        *source; /* whose parameters are copied as they are written; NULL: the decision's */
    const qgc_decision *decision;
    qgc_value *quantized;
    qgc_value *scales, *zero_points; /* as operands, or NULL */
} converter;

/* Type, scope and name (the observed value's with |suffix|: %c.q) of a node's first result. */
qgc_value *qgc_convert_finish(converter *c, qgc_node *node, const char *suffix,
                              const qgc_type *type);

/* Sets c->quantized: the constant as integers, or a quantize. */
void qgc_convert_fold(converter *c);
void qgc_convert_quantize(converter *c);
/* Sets c->scales and c->zero_points to constants. Zero points that are all 0 are left out. */
void qgc_convert_channels(converter *c);
/* Every use of the observer's result gets a dequantize: one for each op that computes, one for all
 * other uses. */
void qgc_convert_uses(converter *c);

/* passes/convert_fake.c: a fake_quant becomes quantize and dequantize with its parameters, a
 * constant under it integers. */
qgc_result qgc_convert_fake_quant(const qgc_pass_env *env, qgc_node *node);
bool qgc_has_fake_quant(const qgc_module *module);

#endif

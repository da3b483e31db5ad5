/* Multiply-adds of a module: the measure of how much of it is quantized. */
#ifndef QGC_IR_MACS_H
#define QGC_IR_MACS_H

#include "ir/graph.h"

typedef struct qgc_macs {
    double total;
    double quantized; /* integer ops, and float ops all of whose data come from dequantize */
} qgc_macs;

/* For one sample: symbolic dimensions count as 1. Nominal: taps that fall into padding count.
 * Functions count once. */
qgc_macs qgc_count_macs(const qgc_module *module);
qgc_macs qgc_count_func_macs(const qgc_func *func);
qgc_macs qgc_count_node_macs(const qgc_node *node);

#endif

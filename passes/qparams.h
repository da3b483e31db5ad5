/* From statistics to scales and zero points: what convert decides for each group of observers that
 * share parameters. */
#ifndef QGC_PASSES_QPARAMS_H
#define QGC_PASSES_QPARAMS_H

#include "ir/quant_spec.h"
#include "passes/pass.h"
#include "runtime/observe.h"

/* How a histogram becomes a range; observers that keep none use their minimum and maximum. */
typedef enum qgc_range_method {
    QGC_METHOD_MINMAX,
    QGC_METHOD_PERCENTILE,
    QGC_METHOD_ENTROPY,
    QGC_METHOD_MSE,
} qgc_range_method;

typedef struct qgc_method {
    qgc_range_method kind;
    double share; /* PERCENTILE: of the values that are kept */
} qgc_method;

/* "minmax", "percentile:0.9999", "entropy", "mse"; false where it is none of them. */
bool qgc_method_read(qgc_str text, qgc_method *out);

/* The range of a record by the method; minimum and maximum where it has no histogram. */
qgc_stats_fault qgc_method_range(const qgc_method *method, const qgc_stats *stats,
                                 const qgc_quant_spec *spec, qgc_range *out);

/* What an observer becomes. */
typedef struct qgc_decision {
    qgc_name base; /* the observed value's name: what new values are named after */
    const qgc_spec *spec;
    qgc_int_range range; /* of the quantized values */
    qgc_range span;      /* that the parameters come from; not fixed, not per channel */
    uint32_t num;        /* 1, or channels */
    qgc_qparams *params; /* num of them; NULL for f16 and dynamic */
    int64_t axis;        /* -1: per tensor */
    qgc_quantize_mode mode;
    const qgc_tensor *constant; /* the observed data where it is constant, else NULL */
} qgc_decision;

/* Per tensor: the least and the greatest real value that the quantized type holds. */
void qgc_decision_limits(const qgc_decision *decision, double *out_lo, double *out_hi);
/* The share of a record's values that lie beyond these and are not rounded to them: more than half
 * a step away. False where the record does not tell (qgc_stats_share_outside). */
bool qgc_decision_clips(const qgc_decision *decision, const qgc_stats *stats, double *out);

/* Decides for every observer of the module: *qgc_map_at(out, node) is a qgc_decision in |arena|.
 * Reports UNCALIBRATED for each observer without statistics, FOREIGN_STATS, BAD_STATS,
 * BAD_QPARAMS. */
qgc_result qgc_decide(qgc_module *module, const qgc_method *method, qgc_arena *arena, qgc_map *out);

#endif

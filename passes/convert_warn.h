/* What convert warns of: what its ranges cost. */
#ifndef QGC_PASSES_CONVERT_WARN_H
#define QGC_PASSES_CONVERT_WARN_H

#include "passes/qparams.h"

typedef struct qgc_cost_limits {
    double sharing_db; /* of a call site, by the range of all calls against its own */
    double clipped;    /* share of the values, 0 to 1 */
} qgc_cost_limits;

/* The default of the option sharing-db. */
enum { QGC_SHARING_DB = 3 };

/* How many dB of squared error the decision costs against a range of the record's own; 0 where that
 * cannot be said. Without histograms the error is that of the step. */
double qgc_sharing_cost(const qgc_method *method, const qgc_stats *stats, const qgc_decision *d);

/* What was decided for the observer that has recorded the value, per tensor; else NULL.
 * |out_observer|: the observer, or NULL. */
const qgc_decision *qgc_record_decision(qgc_module *module, const qgc_record *record,
                                        const qgc_map *decisions, const qgc_node **out_observer);

/* |decisions|: those of qgc_decide. Warns SHARING_COSTS and CLIPPED. */
qgc_result qgc_warn_costs(qgc_module *module, const qgc_method *method, const qgc_map *decisions,
                          const qgc_cost_limits *limits, qgc_arena *arena);

#endif

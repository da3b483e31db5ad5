/* What convert warns of: what its ranges cost. */
#ifndef QGC_PASSES_CONVERT_WARN_H
#define QGC_PASSES_CONVERT_WARN_H

#include "passes/qparams.h"

typedef struct qgc_cost_limits {
    double sharing_db; /* of a call site, by the range of all calls against its own */
    double clipped;    /* share of the values, 0 to 1 */
} qgc_cost_limits;

/* |decisions|: those of qgc_decide. Warns SHARING_COSTS and CLIPPED. */
qgc_result qgc_warn_costs(qgc_module *module, const qgc_method *method, const qgc_map *decisions,
                          const qgc_cost_limits *limits, qgc_arena *arena);

#endif

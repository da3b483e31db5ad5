/* One value quantized, the rest in floats: which nodes have to run again, and running them. */
#ifndef QGC_PASSES_SENS_TRIAL_H
#define QGC_PASSES_SENS_TRIAL_H

#include "passes/outline.h"
#include "passes/qparams.h"
#include "runtime/interp.h"

/* A value that can be quantized alone, through all of its observers. */
typedef struct qgc_candidate {
    const qgc_value *value;
    const qgc_decision *decision; /* of its first observer */
    qgc_name text;                /* "@main.%c" */
    const char *op;
    size_t position; /* in program order */
    QGC_VEC(const qgc_node *) observers;
    qgc_map constants; /* const node of an outlined function -> what it becomes */
    qgc_map funcs;     /* functions whose own nodes are changed: no machine code runs them */
    bool *is_in_cone;  /* of each node of the entry function, by id */
} qgc_candidate;

typedef struct qgc_trials {
    qgc_module *module;
    qgc_func *func;
    qgc_arena *arena; /* lives with the report */
    qgc_map decisions;
    qgc_map of_observer; /* observer -> its candidate */
    QGC_VEC(qgc_candidate *) list;
    qgc_outline outline;
    qgc_engine *engine;
    qgc_map cache;            /* value of the entry function -> qgc_tensor *, of this batch */
    QGC_VEC(qgc_tensor) made; /* by the trial that runs */
    const qgc_candidate *current;
    qgc_result result;
} qgc_trials;

/* Decides all parameters, lists the values. */
qgc_result qgc_trials_init(qgc_trials *trials, qgc_module *module, qgc_func *func,
                           const char *method, qgc_arena *arena);
/* Makes ops functions; then an engine may be compiled, and cones are known. */
void qgc_trials_outline(qgc_trials *trials);

/* The float graph on a batch; its values are kept until the next one. |outputs| as of
 * qgc_interp_run. */
qgc_result qgc_trials_run_float(qgc_trials *trials, const qgc_tensor *inputs, qgc_tensor *outputs);
/* With |candidate| quantized. */
qgc_result qgc_trials_run(qgc_trials *trials, const qgc_candidate *candidate,
                          const qgc_tensor *inputs, qgc_tensor *outputs);
/* The noise-to-signal ratio of the value itself on this batch; infinity where it is not known. */
double qgc_trials_own_noise(qgc_trials *trials, const qgc_candidate *candidate);
void qgc_trials_destroy(qgc_trials *trials);

#endif

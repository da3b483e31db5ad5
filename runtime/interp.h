/* The reference interpreter: runs any form of a graph, op by op, with actual shapes. For truth, not
 * speed. */
#ifndef QGC_RUNTIME_INTERP_H
#define QGC_RUNTIME_INTERP_H

#include "ir/graph.h"
#include "qgc/engine.h"
#include "runtime/tensor.h"

/* Called for every value as it is computed (parameters and constants too). |tensor| is borrowed for
 * the call. |call|: the node that called the value's function; NULL in the entry function. */
typedef void qgc_watch(void *user, const qgc_node *call, const qgc_value *value,
                       const qgc_tensor *tensor);

/* One run of a function. */
typedef struct qgc_execution {
    const qgc_func *func;
    const qgc_node *call;     /* that leads here; NULL in the entry function */
    const qgc_tensor *inputs; /* one per parameter, borrowed */
    qgc_tensor *outputs;      /* to be made: one per result */
    const struct qgc_interp_options *options;
} qgc_execution;

/* Executes it itself: true, with outputs made and *out_result set, or false: the interpreter goes
 * on. */
typedef bool qgc_execute(void *user, const qgc_execution *execution, qgc_result *out_result);
struct qgc_engine {
    qgc_execute *execute;
    void *user;
};

/* Asked before a node is computed (calls and constants too): true, with |results| set to views that
 * stay until the run ends, of the types that the node would give, or false. |operands|: what it
 * reads, flat, NULL where absent. */
typedef bool qgc_substitute(void *user, const qgc_node *node, const qgc_tensor *const *operands,
                            qgc_tensor *results);

typedef struct qgc_interp_options {
    const struct qgc_engine *engine; /* asked before each function, or NULL */
    qgc_watch *watch;                /* or NULL */
    bool watches_observers; /* |watch| is called for the results of `observe` only, by engines too;
                               else engines leave it what they do not execute whole */
    qgc_substitute *substitute; /* or NULL */
    void *user;
} qgc_interp_options;

/* Values of symbolic dimensions. */
typedef struct qgc_bindings {
    qgc_arena *arena;
    qgc_map values; /* qgc_name -> int64_t * */
} qgc_bindings;
void qgc_bindings_set(qgc_bindings *bindings, qgc_name symbol, int64_t value);
/* A qgc_dim_lookup; |user| is a qgc_bindings. */
bool qgc_bindings_lookup(void *user, qgc_name symbol, int64_t *out);

/* Runs |func|. |inputs|: one per parameter, borrowed; symbols get their values from the shapes.
 * |outputs|: one per result, owned by the caller on success (qgc_tensor_destroy); untouched on
 * failure, which is reported. */
qgc_result qgc_interp_run(const qgc_func *func, const qgc_tensor *inputs, qgc_tensor *outputs,
                          const qgc_interp_options *options);

/* Executes a node that calls (call, loop) on actual tensors, flat, one per operand. |results|:
 * owned by the caller on success. */
qgc_result qgc_interp_call(const qgc_node *node, const qgc_tensor *const *operands,
                           qgc_tensor *results, const qgc_interp_options *options);

/* Evaluates one node on constant operands (all of them known): for const-fold. */
qgc_result qgc_interp_node(const qgc_node *node, const qgc_tensor *const *operands,
                           qgc_tensor *results);

/* The node's operands where all are constants, NULL where one is absent; false where one is not. */
bool qgc_interp_constants(const qgc_node *node, const qgc_tensor **operands);

/* As qgc_interp_node, and puts constants in the node's place. |constants|: one per result, or NULL.
 * On failure, which is reported, the node stays. */
qgc_result qgc_interp_fold(qgc_node *node, const qgc_tensor *const *operands, qgc_node **constants);

#endif

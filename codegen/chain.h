/* Float products and the elementwise functions behind them as one kernel: what the planners of both
 * share. */
#ifndef QGC_CODEGEN_CHAIN_H
#define QGC_CODEGEN_CHAIN_H

#include "codegen/planner.h"

/* Operands of conv, conv_transpose, linear and matmul. */
enum { QGC_CHAIN_X, QGC_CHAIN_W, QGC_CHAIN_B };

/* Functions of a chain's sums and of other values. */
typedef struct qgc_chain_group {
    const qgc_value *result;
    const qgc_fused_kernel *functions; /* rank 1: along the result's channels */
    uint32_t sum_input;
    qgc_buffer *const *buffers; /* of the inputs; none of the sum */
    /* Where the inputs are. Of linear and matmul only |pixel|, from row to row, counts. */
    const qgc_pixels *pixels;
} qgc_chain_group;

/* NULL: the chain planner takes the node, "": it is nothing of that kind, else why not. */
const char *qgc_chain_declines(qgc_planner *p, const qgc_node *node);
/* The channels of its result are dimension 1 and lie last (NHWC); else they are the last one. */
bool qgc_chain_is_conv(const qgc_node *node);
/* Plans a node that is not declined. */
void qgc_plan_chain_group(qgc_planner *p, const qgc_node *node, const qgc_chain_group *group);
/* The node's sum is planned with the group that alone reads it. In codegen/plan_fused.c. */
bool qgc_fused_takes(qgc_planner *p, const qgc_node *node);

/* A step in the making. */
typedef struct qgc_chain {
    qgc_planner *p;
    const qgc_node *node;
    const qgc_chain_group *group; /* or NULL */
    qgc_chain_kernel *k;
    const float *weights; /* [group][tap][channel][output, padded]; NULL: an input */
    qgc_buffer *inputs[2], *out;
} qgc_chain;

qgc_chain_kernel *qgc_new_chain(qgc_planner *p);
const qgc_value *qgc_chain_result(const qgc_chain *c);
/* Inputs of the epilogue, the sum among them. */
static inline uint32_t qgc_chain_num_operands(const qgc_chain *c)
{
    return c->group ? c->group->functions->num_inputs : 0;
}
/* Outputs of a group as the constants have them: whole vectors. */
int64_t qgc_chain_padded(const qgc_planner *p, int64_t channels);
/* Into how many units rows go, of whole tiles at least: so that each thread gets one. */
int64_t qgc_split_rows(const qgc_planner *p, int64_t images, int64_t rows);
/* The step, with tile, weights, bias and units. */
void qgc_add_chain(qgc_chain *c);
/* conv1d, conv2d and their transposes, whose common conditions hold. */
const char *qgc_chain_window_declines(qgc_planner *p, const qgc_node *node);
void qgc_plan_chain_window(qgc_planner *p, const qgc_node *node, const qgc_chain_group *group);

#endif

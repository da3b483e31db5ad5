/* What the planners of float products share. */
#ifndef QGC_CODEGEN_CHAIN_H
#define QGC_CODEGEN_CHAIN_H

#include "codegen/planner.h"

/* Operands of conv, conv_transpose, linear and matmul. */
enum { QGC_CHAIN_X, QGC_CHAIN_W, QGC_CHAIN_B };

qgc_chain_kernel *qgc_new_chain(qgc_planner *p);
/* Outputs of a group as the constants have them: whole vectors. */
int64_t qgc_chain_padded(const qgc_planner *p, int64_t channels);
/* The step, with tile, bias and units; |inputs|: x, and w where it is one. */
void qgc_add_chain(qgc_planner *p, const qgc_node *node, qgc_chain_kernel *k,
                   qgc_buffer *const *inputs, qgc_buffer *out);
/* conv1d, conv2d and their transposes, whose common conditions hold. NULL or why not. */
const char *qgc_plan_chain_window(qgc_planner *p, const qgc_node *node);

#endif

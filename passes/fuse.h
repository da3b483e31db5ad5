/* The two halves of the fuse pass. */
#ifndef QGC_PASSES_FUSE_H
#define QGC_PASSES_FUSE_H

#include "passes/pass.h"

/* Folds per-channel affine ops (batch_norm; mul, div, add, sub by constants) into the weights and
 * bias of the op before. True where |node| is gone. In fuse_affine.c. */
bool qgc_fold_affine(qgc_node *node, const qgc_pass_env *env);

/* The field user of a remark: the op that would have been fused. */
void qgc_fuse_say_user(const qgc_pass_env *env, const qgc_node *user);
/* What goes with the remark that |node| has too many uses to be fused with |user|. */
void qgc_fuse_say_copy(const qgc_pass_env *env, const qgc_node *node, const qgc_node *user,
                       const char *condition);

/* How an op with weights lays out its channels; NULL where it is no such op. */
typedef struct qgc_weighted_op {
    qgc_opcode op;
    bool channels_last; /* of the result; else dimension 1 */
    bool transposed;    /* w is [in, out / groups, ...] */
    bool takes_bias;
} qgc_weighted_op;
const qgc_weighted_op *qgc_find_weighted_op(qgc_opcode op);

#endif

#include "codegen/fold_weights.h"

#include "ir/macs.h"
#include "ir/ops.h"
#include "runtime/interp.h"

enum { MOST_MOVES = 8 }; /* between a weight and its use */

/* Whether the value, possibly moved, is what a convolution or product has in registers or packs:
 * its weights, its bias. */
static bool feeds_product(const qgc_value *value, int depth)
{
    for (const qgc_use *use = value->first_use; use; use = use->next) {
        const qgc_node *user = use->user;
        bool moves = qgc_node_op(user)->traits & QGC_TRAIT_MOVES && user->num_results == 1;
        if (use != user->operands && qgc_count_node_macs(user).total > 0)
            return true;
        if (moves && depth > 0 && feeds_product(&user->results[0], depth - 1))
            return true;
    }
    return false;
}

static void fold(qgc_node *node, qgc_arena *scratch)
{
    bool moves = qgc_node_op(node)->traits & QGC_TRAIT_MOVES;
    if ((node->op != QGC_OP_DEQUANTIZE && !moves) || node->num_results != 1)
        return;
    const qgc_tensor **operands = QGC_NEW_ARRAY(scratch, const qgc_tensor *, node->num_operands);
    if (qgc_interp_constants(node, operands) && feeds_product(&node->results[0], MOST_MOVES))
        (void)qgc_interp_fold(node, operands, NULL); /* what fails here fails where it is run */
}

void qgc_fold_weights(qgc_func *func)
{
    qgc_arena scratch = {0};
    qgc_diag *diag = &func->module->context->diag;
    size_t reported = diag->list.size;
    for (qgc_node *node = func->first, *next; node; node = next) {
        next = node->next;
        fold(node, &scratch);
    }
    qgc_diag_rollback(diag, reported);
    qgc_arena_destroy(&scratch);
}

/* Constant folding with the reference kernels. Requires nothing, keeps the form.
 * Does not handle: calls; ops with the BARRIER trait (quantization steps) stay on purpose. */
#include "passes/pass.h"
#include "passes/pins.h"
#include "runtime/interp.h"

#include <string.h>

enum {
    SKIPPED = QGC_TRAIT_CONSTANT | QGC_TRAIT_BARRIER | QGC_TRAIT_CALL | QGC_TRAIT_TERMINATOR |
              QGC_TRAIT_OBSERVER
};

/* Static result types small enough to keep. */
static bool is_worth_it(const qgc_node *node, const qgc_tensor *const *operands, int64_t max_bytes)
{
    size_t bytes = 0, operand_bytes = 0;
    for (uint32_t i = 0; i < node->num_operands; i++)
        operand_bytes += operands[i] ? operands[i]->bytes : 0;
    for (uint32_t i = 0; i < node->num_results; i++) {
        int64_t num;
        const qgc_type *type = node->results[i].type;
        if (!qgc_type_num_elements(type, &num) || num > INT64_MAX / 16)
            return false;
        bytes += (size_t)num * qgc_dtype_bytes(type->dtype);
    }
    return bytes <= (size_t)max_bytes || bytes <= operand_bytes;
}

static bool fold(qgc_node *node, const qgc_pass_env *env, int64_t max_bytes)
{
    const qgc_tensor **operands =
        QGC_NEW_ARRAY(env->scratch, const qgc_tensor *, node->num_operands);
    if (qgc_node_op(node)->traits & SKIPPED || !node->num_results || qgc_pins_is_annotated(node) ||
        !qgc_interp_constants(node, operands) || !is_worth_it(node, operands, max_bytes))
        return false;
    size_t reported = env->context->diag.list.size;
    if (qgc_interp_fold(node, operands, NULL) != QGC_OK) {
        /* The run will fail there, at run time, if it comes there. */
        qgc_diag_rollback(&env->context->diag, reported);
        qgc_no_match(env, node, "its evaluation fails");
        return false;
    }
    return true;
}

qgc_pass_status pass_const_fold(qgc_module *module, const qgc_pass_env *env)
{
    int64_t max_bytes;
    bool changed = false;
    if (!qgc_pass_option_int(env, 0, "max-bytes", 0, &max_bytes))
        return QGC_PASS_FAILED;
    QGC_EACH_FUNC (func, module)
        for (qgc_node *node = func->first, *next; node; node = next) {
            next = node->next;
            qgc_arena_mark mark = qgc_arena_get_mark(env->scratch);
            changed |= fold(node, env, max_bytes);
            qgc_arena_reset(env->scratch, mark);
        }
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}

/* Shape inference over the whole module. Requires nothing, keeps the form.
 * Callees come first where the text has them first; a second sweep settles the rest.
 * Does not handle: parameter types of called functions (they are declarations). */
#include "ir/infer.h"
#include "passes/pass.h"

static qgc_pass_status run_node(qgc_node *node, const qgc_pass_env *env)
{
    bool changed;
    if (qgc_node_refine(node, env->scratch, &changed) != QGC_OK)
        return QGC_PASS_FAILED;
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}

/* Declared results take the types of what is returned. */
static bool update_results(qgc_types *types, qgc_func *func)
{
    bool changed = false;
    for (uint32_t i = 0; i < func->num_results; i++) {
        const qgc_type *type =
            qgc_type_refine(types, func->last->operands[i].value->type, func->result_types[i]);
        changed |= type != func->result_types[i];
        func->result_types[i] = type;
    }
    return changed;
}

static qgc_pass_status run_func(qgc_func *func, const qgc_pass_env *env)
{
    qgc_pass_status result = QGC_PASS_UNCHANGED;
    QGC_EACH_NODE (node, func) {
        qgc_arena_mark mark = qgc_arena_get_mark(env->scratch);
        qgc_pass_status status = run_node(node, env);
        qgc_arena_reset(env->scratch, mark);
        if (status == QGC_PASS_FAILED)
            return status;
        if (status == QGC_PASS_CHANGED)
            result = status;
    }
    return update_results(&env->context->types, func) ? QGC_PASS_CHANGED : result;
}

qgc_pass_status pass_infer_shapes(qgc_module *module, const qgc_pass_env *env)
{
    qgc_pass_status result = QGC_PASS_UNCHANGED;
    uint32_t sweeps = 2; /* one more where a caller stands before its callee */
    for (uint32_t i = 0; i < sweeps; i++)
        QGC_EACH_FUNC (func, module) {
            qgc_pass_status status = run_func(func, env);
            if (status == QGC_PASS_FAILED)
                return status;
            if (status == QGC_PASS_CHANGED)
                result = status;
        }
    return result;
}

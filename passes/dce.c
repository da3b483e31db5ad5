/* Dead code elimination. Requires nothing, keeps the form.
 * Does not handle: dead carried values of loops. */
#include "passes/pass.h"

static bool is_dead(const qgc_node *node)
{
    if (qgc_node_op(node)->traits & (QGC_TRAIT_TERMINATOR | QGC_TRAIT_OBSERVER))
        return false;
    for (uint32_t i = 0; i < node->num_results; i++)
        if (node->results[i].num_uses)
            return false;
    return true;
}

/* Backwards, so that a chain goes in one sweep. */
static bool sweep_func(qgc_func *func)
{
    bool changed = false;
    for (qgc_node *node = func->last, *previous; node; node = previous) {
        previous = node->previous;
        if (!is_dead(node))
            continue;
        qgc_node_erase(node);
        changed = true;
    }
    return changed;
}

static void mark_reached(qgc_module *module, qgc_map *reached, qgc_func *func)
{
    if (qgc_map_get(reached, func))
        return;
    *qgc_map_at(reached, func) = func;
    QGC_EACH_NODE (node, func)
        if (qgc_node_op(node)->traits & QGC_TRAIT_CALL)
            mark_reached(module, reached, qgc_module_find_func(module, node->attrs[0].name));
}

static bool sweep_module(qgc_module *module, qgc_func *root, qgc_arena *scratch)
{
    qgc_map reached = {.arena = scratch};
    mark_reached(module, &reached, root);
    bool changed = false;
    for (qgc_func *func = module->first, *next; func; func = next) {
        next = func->next;
        if (qgc_map_get(&reached, func))
            continue;
        qgc_module_remove_func(module, func);
        changed = true;
    }
    return changed;
}

qgc_pass_status pass_dce(qgc_module *module, const qgc_pass_env *env)
{
    bool changed = false;
    QGC_EACH_FUNC (func, module)
        changed |= sweep_func(func);
    qgc_func *root = qgc_module_find_func(module, qgc_context_name(env->context, "main"));
    if (root)
        changed |= sweep_module(module, root, env->scratch);
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}

/* Dead code elimination. Requires nothing, keeps the form.
 * Does not handle: dead carried values of loops. */
#include "passes/pass.h"
#include "passes/pins.h"

static bool is_dead(const qgc_node *node, const qgc_pins *pins)
{
    if (qgc_node_op(node)->traits & (QGC_TRAIT_TERMINATOR | QGC_TRAIT_OBSERVER))
        return false;
    for (uint32_t i = 0; i < node->num_results; i++)
        if (node->results[i].num_uses)
            return false;
    return !qgc_pins_is_named(pins, node);
}

/* Backwards, so that a chain goes in one sweep. */
static bool sweep_func(qgc_func *func, const qgc_pins *pins)
{
    bool changed = false;
    for (qgc_node *node = func->last, *previous; node; node = previous) {
        previous = node->previous;
        if (!is_dead(node, pins))
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

static void remove_stats(qgc_module *module, qgc_name func)
{
    size_t kept = 0;
    for (size_t i = 0; i < module->stats.size; i++)
        if (module->stats.data[i].func != func)
            module->stats.data[kept++] = module->stats.data[i];
    module->stats.size = kept;
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
        remove_stats(module, func->name);
        qgc_module_remove_func(module, func);
        changed = true;
    }
    return changed;
}

qgc_pass_status pass_dce(qgc_module *module, const qgc_pass_env *env)
{
    qgc_pins pins;
    bool changed = false;
    qgc_pins_collect(module, env->scratch, &pins);
    QGC_EACH_FUNC (func, module)
        changed |= sweep_func(func, &pins);
    qgc_func *root = qgc_module_find_func(module, qgc_context_name(env->context, "main"));
    if (root)
        changed |= sweep_module(module, root, env->scratch);
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}

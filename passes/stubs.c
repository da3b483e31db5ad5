#include "passes/stubs.h"

typedef struct finder {
    const qgc_module *module;
    qgc_stubs *out;
    qgc_map whole;   /* functions all of which lies between */
    qgc_map entered; /* nodes behind a quant_stub */
} finder;

bool qgc_is_stub(const qgc_node *node)
{
    return node->op == QGC_OP_QUANT_STUB || node->op == QGC_OP_DEQUANT_STUB;
}

static bool has_stubs(const qgc_func *func)
{
    QGC_EACH_NODE (node, func)
        if (qgc_is_stub(node))
            return true;
    return false;
}

/* Whether the value comes from a quant_stub, with no dequant_stub since. */
static bool is_entered(const finder *f, const qgc_value *value, bool is_whole)
{
    if (!value->def)
        return is_whole;
    return value->def->op == QGC_OP_QUANT_STUB || qgc_map_get(&f->entered, value->def);
}

/* Whether the use leads to a dequant_stub, with no quant_stub before. */
static bool leads_out(const finder *f, const qgc_use *use, bool is_whole)
{
    if (qgc_node_op(use->user)->traits & QGC_TRAIT_TERMINATOR)
        return is_whole;
    return use->user->op == QGC_OP_DEQUANT_STUB || qgc_map_get(&f->out->inside, use->user);
}

static void enter(finder *f, qgc_node *node, bool is_whole)
{
    for (uint32_t i = 0; i < node->num_operands && !qgc_is_stub(node); i++)
        if (node->operands[i].value && is_entered(f, node->operands[i].value, is_whole))
            *qgc_map_at(&f->entered, node) = node;
}

static void leave(finder *f, qgc_node *node, bool is_whole)
{
    if (!qgc_map_get(&f->entered, node))
        return;
    for (uint32_t i = 0; i < node->num_results; i++)
        for (const qgc_use *use = node->results[i].first_use; use; use = use->next)
            if (leads_out(f, use, is_whole))
                *qgc_map_at(&f->out->inside, node) = node;
}

static bool call_lies_between(const finder *f, const qgc_func *func)
{
    QGC_EACH_FUNC (caller, f->module)
        QGC_EACH_NODE (node, caller)
            if (qgc_node_op(node)->traits & QGC_TRAIT_CALL &&
                node->attrs[0].kind == QGC_ATTR_FUNC && node->attrs[0].name == func->name &&
                qgc_map_get(&f->out->inside, node))
                return true;
    return false;
}

static void find_inside(finder *f, const qgc_func *func)
{
    bool is_whole = qgc_map_get(&f->whole, func) != NULL;
    for (qgc_node *node = func->first; node; node = node->next)
        enter(f, node, is_whole);
    for (qgc_node *node = func->last; node; node = node->previous)
        leave(f, node, is_whole);
}

void qgc_stubs_find(const qgc_module *module, qgc_arena *arena, qgc_stubs *out)
{
    *out = (qgc_stubs){.inside = {.arena = arena}};
    finder f = {module, out, {.arena = arena}, {.arena = arena}};
    QGC_EACH_FUNC (func, module) {
        out->any |= has_stubs(func);
        find_inside(&f, func);
    }
    for (bool again = out->any; again;) { /* calls do not recurse: as often as they nest */
        again = false;
        QGC_EACH_FUNC (func, module) {
            if (has_stubs(func) || qgc_map_get(&f.whole, func) || !call_lies_between(&f, func))
                continue;
            *qgc_map_at(&f.whole, func) = func;
            find_inside(&f, func);
            again = true;
        }
    }
}

bool qgc_stubs_hold(const qgc_stubs *stubs, const qgc_node *node)
{
    return !stubs->any || qgc_map_get(&stubs->inside, node) != NULL;
}

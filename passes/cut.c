/* What lies between the boundaries becomes the whole function: quant_stubs are its parameters, what
 * dequant_stubs read its results. Requires a float graph.
 * Does not handle: functions that are called, whose calls would have to be cut as well. */
#include "passes/pass.h"
#include "passes/pins.h"
#include "passes/stubs.h"

typedef struct cutter {
    qgc_module *module;
    const qgc_pass_env *env;
    qgc_func *func;
    uint32_t num_entries, num_exits;
} cutter;

static bool is_called(const qgc_module *module, qgc_name name)
{
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            if (qgc_node_op(node)->traits & QGC_TRAIT_CALL && node->attrs[0].name == name)
                return true;
    return false;
}

static void count(cutter *c)
{
    c->num_entries = c->num_exits = 0;
    QGC_EACH_NODE (node, c->func) {
        c->num_entries += node->op == QGC_OP_QUANT_STUB;
        c->num_exits += node->op == QGC_OP_DEQUANT_STUB;
    }
}

static qgc_result check(const cutter *c)
{
    qgc_diag *diag = &c->env->context->diag;
    const char *name = c->func->name->data;
    if (!c->num_entries || !c->num_exits)
        return qgc_report(diag, c->func->loc, QGC_D_BAD_BOUNDARY,
                          "@%s has no %s: both ends are needed to cut at", name,
                          c->num_entries ? "dequant_stub" : "quant_stub");
    if (is_called(c->module, c->func->name))
        return qgc_report(diag, c->func->loc, QGC_D_BAD_BOUNDARY,
                          "@%s is called: stubs to cut at belong to the function that is not",
                          name);
    return QGC_OK;
}

/* ---- the new ends ---- */

/* What a dequant_stub gives out: of two behind each other the same. */
static qgc_value *inner(const qgc_node *stub)
{
    qgc_value *value = qgc_node_operand(stub, 0);
    while (value->def && value->def->op == QGC_OP_DEQUANT_STUB)
        value = qgc_node_operand(value->def, 0);
    return value;
}

static void set_results(cutter *c)
{
    qgc_arena *arena = &c->module->arena;
    qgc_node *old = c->func->last;
    qgc_value **results = QGC_NEW_ARRAY(arena, qgc_value *, c->num_exits);
    const qgc_type **types = QGC_NEW_ARRAY(arena, const qgc_type *, c->num_exits);
    uint32_t num = 0;
    QGC_EACH_NODE (node, c->func)
        if (node->op == QGC_OP_DEQUANT_STUB) {
            results[num] = inner(node);
            types[num] = results[num]->type;
            num++;
        }
    c->func->result_types = types;
    c->func->num_results = num;
    qgc_node_create(c->func, QGC_OP_RETURN, num, results, 0, old, old->loc);
    qgc_node_erase(old);
}

static void put_param(cutter *c, qgc_value *params, uint32_t index, qgc_value *old)
{
    params[index] = (qgc_value){.type = old->type, .index = index, .loc = old->loc};
    qgc_value_take_over(c->func, old, &params[index]);
}

/* Those of the stubs first; of the old ones those that something still reads. */
static void set_params(cutter *c, uint32_t num_stubs)
{
    qgc_func *func = c->func;
    qgc_value *params = QGC_NEW_ARRAY(&c->module->arena, qgc_value, func->num_params + num_stubs);
    uint32_t num = 0;
    QGC_EACH_NODE (node, func)
        if (node->op == QGC_OP_QUANT_STUB && num_stubs)
            put_param(c, params, num++, &node->results[0]);
    for (uint32_t i = 0; i < func->num_params; i++) {
        if (num_stubs || func->params[i].num_uses)
            put_param(c, params, num++, &func->params[i]);
        else
            *qgc_map_at(&func->names, func->params[i].name) = NULL;
    }
    func->params = params;
    func->num_params = num;
}

/* ---- what lies outside ---- */

static bool is_outside(const qgc_node *node, const qgc_pins *pins)
{
    if (qgc_node_op(node)->traits & QGC_TRAIT_TERMINATOR || qgc_pins_is_named(pins, node))
        return false;
    for (uint32_t i = 0; i < node->num_results; i++)
        if (node->results[i].num_uses)
            return false;
    return true;
}

/* In the order of the graph; stubs and constants are no loss. */
static void list(const cutter *c, qgc_node *const *nodes, size_t num)
{
    for (size_t i = num; i-- > 0;)
        if (!qgc_is_stub(nodes[i]) && !(qgc_node_op(nodes[i])->traits & QGC_TRAIT_CONSTANT))
            qgc_no_match(c->env, nodes[i], "cut off, it lies outside of the boundaries");
}

static void drop_outside(const cutter *c, const qgc_pins *pins)
{
    QGC_VEC(qgc_node *) nodes = {0};
    for (qgc_node *node = c->func->last, *previous; node; node = previous) {
        previous = node->previous;
        if (!is_outside(node, pins))
            continue;
        qgc_vec_push(c->env->scratch, &nodes, node);
        for (uint32_t i = 0; i < node->num_operands; i++)
            qgc_node_set_operand(node, i, NULL);
    }
    list(c, nodes.data, nodes.size);
    for (size_t i = 0; i < nodes.size; i++)
        qgc_node_erase(nodes.data[i]);
}

static void cut(cutter *c, const qgc_pins *pins)
{
    set_results(c);
    set_params(c, c->num_entries);
    drop_outside(c, pins);
    set_params(c, 0);
}

qgc_pass_status pass_cut(qgc_module *module, const qgc_pass_env *env)
{
    cutter c = {.module = module, .env = env};
    qgc_pins pins;
    bool found = false;
    qgc_pins_collect(module, env->scratch, &pins);
    QGC_EACH_FUNC (func, module) {
        c.func = func;
        count(&c);
        if (!c.num_entries && !c.num_exits)
            continue;
        if (check(&c) != QGC_OK)
            return QGC_PASS_FAILED;
        cut(&c, &pins);
        found = true;
    }
    if (found)
        return QGC_PASS_CHANGED;
    qgc_report(&env->context->diag, QGC_NO_LOC, QGC_D_BAD_BOUNDARY,
               "the graph has no quant_stub and dequant_stub to cut at");
    return QGC_PASS_FAILED;
}

#include "passes/compare_side.h"

#include "passes/constants.h"
#include "passes/recorders.h"

#include <math.h>
#include <string.h>

/* ---- entries ---- */

static qgc_entry *find_entry(qgc_side *side, qgc_name text)
{
    qgc_entry **slot = (qgc_entry **)qgc_map_at(&side->by_text, text);
    if (!*slot) {
        *slot = QGC_NEW(side->arena, qgc_entry);
        (*slot)->text = text;
        qgc_vec_push(side->arena, &side->list, *slot);
    }
    return *slot;
}

static void set_computed(qgc_entry *e, const qgc_value *value, const qgc_value_key *key)
{
    if (e->computed)
        return;
    e->computed = value;
    e->computed_key = *key;
    e->is_input = !value->def;
    if (value->def)
        e->op = value->def->op;
}

/* Codes that cannot be read give way to what a dequantize makes of them. */
static void set_stored(qgc_entry *e, const qgc_value *value, const qgc_value_key *key)
{
    bool was_read = e->stored && (e->stored_key.has_params || !e->stored_key.is_integer);
    bool is_read = key->has_params || !key->is_integer;
    if (e->stored && (was_read || !is_read))
        return;
    e->stored = value;
    e->stored_key = *key;
    if (!e->computed && value->def)
        e->op = value->def->op;
}

static void add_value(qgc_side *side, const qgc_func *func, qgc_value *value, bool has_sites)
{
    qgc_value_key key;
    if (!qgc_value_key_read(&side->owners, func, value, side->arena, &key))
        return;
    qgc_entry *e = find_entry(side, key.text);
    *qgc_map_at(&side->of_value, value) = e;
    if (value->def && value->def->op == QGC_OP_OBSERVE)
        return;
    if (key.is_stored)
        set_stored(e, value, &key);
    else
        set_computed(e, value, &key);
    e->func = func->name;
    e->has_sites = has_sites;
}

static void add_func(qgc_side *side, qgc_func *func)
{
    bool has_sites = qgc_call_sites(func, side->arena).size > 1;
    for (uint32_t i = 0; i < func->num_params; i++)
        if (!func->target) /* of a region: values of the caller */
            add_value(side, func, &func->params[i], has_sites);
    QGC_EACH_NODE (node, func)
        for (uint32_t i = 0; i < node->num_results; i++)
            add_value(side, func, &node->results[i], has_sites);
}

static void mark_outputs(qgc_side *side)
{
    const qgc_node *last = side->func->last;
    for (uint32_t i = 0; i < last->num_operands; i++) {
        qgc_value_key key;
        qgc_value *value = qgc_node_operand(last, i);
        if (!qgc_value_key_read(&side->owners, side->func, value, side->arena, &key))
            continue;
        qgc_entry *e = qgc_map_get(&side->by_text, key.text);
        if (e)
            e->is_output = true;
    }
}

/* ---- ops that were left in float ---- */

/* Nodes of islands: what could be lowered. */
static void find_islands(const qgc_func *func, qgc_arena *arena, qgc_map *out)
{
    QGC_EACH_NODE (node, func) {
        qgc_view view;
        qgc_why why;
        if (!qgc_map_get(out, node) && qgc_view_build(node, arena, &view, &why))
            for (uint32_t i = 0; i < view.num_nodes; i++)
                *qgc_map_at(out, view.nodes[i]) = view.nodes[i];
    }
}

static bool reads_float(const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = qgc_node_operand(node, i);
        bool is_step = value && value->def && qgc_is_constant(value);
        if (value && !is_step && value->type && qgc_dtype_get_kind(value->type->dtype) == QGC_FLOAT)
            return true;
    }
    return false;
}

/* An op that could be quantized, and is in no island. */
static bool is_left_in_float(const qgc_node *node, const qgc_map *islands)
{
    const qgc_op_info *op = qgc_node_op(node);
    return op->results[0].quant == QGC_Q_ACT && !qgc_map_get(islands, node) &&
           !(op->traits & (QGC_TRAIT_BARRIER | QGC_TRAIT_CONSTANT)) && reads_float(node);
}

static void mark_float(qgc_side *side)
{
    qgc_arena scratch = {0};
    qgc_map islands = {.arena = &scratch};
    if (side->module->form < QGC_FORM_QUANTIZED)
        return;
    QGC_EACH_FUNC (func, side->module)
        find_islands(func, &scratch, &islands);
    for (size_t i = 0; i < side->list.size; i++) {
        qgc_entry *e = side->list.data[i];
        const qgc_node *def = e->computed ? e->computed->def : NULL;
        e->stays_float = def && !e->stored && is_left_in_float(def, &islands);
    }
    qgc_arena_destroy(&scratch);
}

qgc_result qgc_side_init(qgc_side *side, const qgc_compare_side *from, const char *func,
                         qgc_arena *arena)
{
    *side = (qgc_side){.module = from->module,
                       .kind = from->engine,
                       .arena = arena,
                       .owners = {.arena = arena},
                       .by_text = {.arena = arena},
                       .by_value = {.arena = arena},
                       .of_value = {.arena = arena}};
    QGC_TRY(qgc_module_require_func(side->module, func, &side->func));
    qgc_find_owners(side->module, &side->owners);
    QGC_EACH_FUNC (f, side->module)
        add_func(side, f);
    mark_outputs(side);
    mark_float(side);
    return QGC_OK;
}

/* ---- what a value is made of ---- */

static bool has_input(const qgc_entry *e, const qgc_entry *input)
{
    for (size_t i = 0; i < e->inputs.size; i++)
        if (e->inputs.data[i] == input)
            return true;
    return e == input;
}

/* Goes back from |value| to the nearest values with rows. */
static void add_inputs(qgc_side *side, qgc_entry *e, const qgc_value *value, qgc_map *seen)
{
    qgc_entry *own = qgc_map_get(&side->of_value, value);
    if (qgc_map_get(seen, value))
        return;
    *qgc_map_at(seen, value) = e;
    if (own && own != e && own->row) {
        if (!has_input(e, own))
            qgc_vec_push(side->arena, &e->inputs, own);
        return;
    }
    for (uint32_t i = 0; value->def && i < value->def->num_operands; i++)
        if (qgc_node_operand(value->def, i))
            add_inputs(side, e, qgc_node_operand(value->def, i), seen);
}

void qgc_side_find_inputs(qgc_side *side)
{
    qgc_arena scratch = {0};
    for (size_t i = 0; i < side->list.size; i++) {
        qgc_entry *e = side->list.data[i];
        qgc_arena_mark mark = qgc_arena_get_mark(&scratch);
        qgc_map seen = {.arena = &scratch};
        e->quality = (double)NAN;
        if (e->row && e->stored)
            add_inputs(side, e, e->stored, &seen);
        if (e->row && e->computed)
            add_inputs(side, e, e->computed, &seen);
        qgc_arena_reset(&scratch, mark);
    }
    qgc_arena_destroy(&scratch);
}

/* ---- running ---- */

static bool is_kept(void *user, const qgc_value *value)
{
    const qgc_side *side = user;
    return qgc_map_get(&side->by_value, value) != NULL;
}

static void index_value(qgc_side *side, qgc_entry *e, const qgc_value *value)
{
    if (value)
        *qgc_map_at(&side->by_value, value) = e;
}

/* Where a value has moved to: names stay. */
static const qgc_value *find_again(const qgc_side *side, qgc_name func, qgc_name value)
{
    return qgc_func_find_value(qgc_module_find_func(side->module, func), value);
}

typedef struct place {
    qgc_name func, value;
} place;

static place place_of(const qgc_side *side, const qgc_value *value)
{
    return value ? (place){qgc_value_func(side->module, value)->name, value->name} : (place){0};
}

static void outline(qgc_side *side)
{
    qgc_outline outline = {.is_kept = is_kept, .user = side};
    qgc_arena scratch = {0};
    size_t num = side->list.size;
    place *places = QGC_NEW_ARRAY(&scratch, place, 2 * num);
    for (size_t i = 0; i < num; i++) {
        places[2 * i] = place_of(side, side->list.data[i]->computed);
        places[2 * i + 1] = place_of(side, side->list.data[i]->stored);
    }
    qgc_outline_all(side->module, &outline, &scratch);
    side->by_value = (qgc_map){.arena = side->arena};
    for (size_t i = 0; i < num; i++) {
        qgc_entry *e = side->list.data[i];
        place computed = places[2 * i], stored = places[2 * i + 1];
        e->computed = computed.func ? find_again(side, computed.func, computed.value) : NULL;
        e->stored = stored.func ? find_again(side, stored.func, stored.value) : NULL;
        index_value(side, e, e->computed);
        index_value(side, e, e->stored);
    }
    qgc_arena_destroy(&scratch);
}

qgc_result qgc_side_compile(qgc_side *side, const qgc_compare_options *options)
{
    bool compiles = side->kind != QGC_COMPARE_REF && options->create_engine;
    for (size_t i = 0; i < side->list.size; i++) {
        index_value(side, side->list.data[i], side->list.data[i]->computed);
        index_value(side, side->list.data[i], side->list.data[i]->stored);
    }
    if (compiles && side->kind == QGC_COMPARE_OPS)
        outline(side);
    if (!compiles)
        return QGC_OK;
    return options->create_engine(side->module, options->cpu ? options->cpu : "native",
                                  &side->engine);
}

void qgc_side_destroy(qgc_side *side)
{
    qgc_engine_destroy(side->engine);
}

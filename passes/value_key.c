#include "passes/value_key.h"

#include "ir/view.h"

#include <string.h>

/* ---- functions ---- */

void qgc_find_owners(const qgc_module *module, qgc_map *out)
{
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func) {
            const qgc_func *callee =
                node->op == QGC_OP_CALL ? qgc_module_find_func(module, node->attrs[0].name) : NULL;
            if (callee && callee->target)
                *qgc_map_at(out, callee) = func;
        }
}

static const qgc_func *owner_of(const qgc_map *owners, const qgc_func *func)
{
    const qgc_func *owner;
    while (func->target && (owner = qgc_map_get(owners, func)))
        func = owner;
    return func;
}

/* ---- integers ---- */

static bool is_int(const qgc_value *value)
{
    return value->type && qgc_dtype_get_kind(value->type->dtype) != QGC_FLOAT;
}

/* "c.q" or "c.q.1" -> "c". */
static bool strip_suffix(qgc_str *name)
{
    size_t size = name->size;
    while (size && name->data[size - 1] >= '0' && name->data[size - 1] <= '9')
        size--;
    if (size < name->size && size && name->data[size - 1] == '.')
        size--;
    else
        size = name->size;
    if (size <= 2 || memcmp(name->data + size - 2, ".q", 2) != 0)
        return false;
    name->size = size - 2;
    return true;
}

static void set_scalar(qgc_value_key *key, qgc_arena *arena, float scale, int64_t zero_point)
{
    float *scales = QGC_NEW(arena, float);
    int32_t *zero_points = QGC_NEW(arena, int32_t);
    *scales = scale;
    *zero_points = (int32_t)zero_point;
    key->params = (qgc_view_params){.num = 1, .scales = scales, .zero_points = zero_points};
    key->has_params = true;
}

static bool read_params(const qgc_node *step, qgc_arena *arena, qgc_value_key *key)
{
    qgc_why why;
    key->has_params = qgc_view_read_params(step, arena, &key->params, &why) && key->params.scales &&
                      key->params.zero_points;
    return key->has_params;
}

static void read_range(const qgc_node *node, qgc_value_key *key)
{
    if (!qgc_quant_dtype_range(key->dtype, &key->range))
        return;
    if ((node->op == QGC_OP_QUANTIZE || node->op == QGC_OP_FAKE_QUANT) &&
        qgc_node_has(node, "range")) {
        key->range.lo = (int32_t)qgc_node_int_at(node, "range", 0);
        key->range.hi = (int32_t)qgc_node_int_at(node, "range", 1);
    }
    if (node->op != QGC_OP_REQUANTIZE)
        return;
    if (qgc_node_has(node, "lo"))
        key->range.lo = (int32_t)qgc_node_int(node, "lo");
    if (qgc_node_has(node, "hi"))
        key->range.hi = (int32_t)qgc_node_int(node, "hi");
}

typedef struct reader {
    const qgc_map *owners;
    qgc_arena *arena;
    qgc_context *context;
} reader;

static bool read_key(const reader *r, qgc_value *value, qgc_value_key *out);

/* A step of quantization: what it was applied to, stored. */
static bool read_step(const reader *r, qgc_value *value, qgc_value_key *out)
{
    qgc_node *def = value->def;
    bool known = read_key(r, qgc_node_operand(def, 0), out);
    out->is_stored = true;
    out->is_integer = def->op == QGC_OP_QUANTIZE;
    out->dtype = def->op == QGC_OP_QUANTIZE ? value->type->dtype : qgc_node_dtype(def, "to");
    if (def->op == QGC_OP_FAKE_CAST)
        out->has_params = false;
    else
        read_params(def, r->arena, out);
    read_range(def, out);
    return known;
}

static bool read_dequantize(const reader *r, qgc_value *value, qgc_value_key *out)
{
    qgc_value *q = qgc_node_operand(value->def, 0);
    if (value->def->num_extra && qgc_node_extra(value->def, qgc_context_name(r->context, "origin")))
        return false; /* of an accumulator */
    if (!read_key(r, q, out))
        return false;
    out->is_stored = true;
    out->dtype = q->type->dtype;
    if (!out->is_integer) /* codes that no quantize made: a constant, a parameter */
        read_range(value->def, out);
    out->is_integer = false;
    read_params(value->def, r->arena, out);
    return true;
}

/* An op whose integers are all of a float value. */
static bool read_origin(const reader *r, qgc_node *def, qgc_name origin, qgc_value_key *out)
{
    const qgc_attr *scale = qgc_node_extra(def, qgc_context_name(r->context, "origin.scale"));
    const qgc_attr *zero = qgc_node_extra(def, qgc_context_name(r->context, "origin.zero_point"));
    if (!scale || scale->kind != QGC_ATTR_FLOAT)
        return false;
    int64_t zero_point = zero && zero->kind == QGC_ATTR_INT ? zero->i
                         : def->op == QGC_OP_REQUANTIZE     ? qgc_node_int(def, "zero_point")
                                                            : 0;
    out->value = origin;
    out->is_stored = out->is_integer = true;
    read_range(def, out);
    set_scalar(out, r->arena, scale->f, zero_point);
    return true;
}

/* Codes that an op moved, or that a region gives: read as where they come from. */
static void read_moved(const reader *r, qgc_value *value, qgc_value_key *out)
{
    qgc_node *def = value->def;
    qgc_value_key from = {0};
    qgc_value *source = NULL;
    if (def && def->op == QGC_OP_CALL) {
        const qgc_func *callee = qgc_module_find_func(def->func->module, def->attrs[0].name);
        source = callee && callee->target ? qgc_node_operand(callee->last, value->index) : NULL;
    } else if (def && qgc_node_op(def)->traits & QGC_TRAIT_MOVES && def->num_operands) {
        source = qgc_node_operand(def, 0);
    }
    if (!source || !is_int(source) || !read_key(r, source, &from) || !from.has_params)
        return;
    out->is_stored = out->is_integer = out->has_params = true;
    out->params = from.params;
    out->range = from.range;
}

static bool read_int(const reader *r, qgc_value *value, qgc_value_key *out)
{
    qgc_node *def = value->def;
    const qgc_attr *origin =
        def ? qgc_node_extra(def, qgc_context_name(r->context, "origin")) : NULL;
    if (def && def->op == QGC_OP_QUANTIZE)
        return read_step(r, value, out);
    if (origin)
        return origin->kind == QGC_ATTR_VALUE && read_origin(r, def, origin->name, out);
    qgc_str name = qgc_name_str(value->name);
    if (strip_suffix(&name)) {
        out->value = qgc_intern(&r->context->names, name);
        out->is_stored = out->is_integer = true;
        qgc_quant_dtype_range(out->dtype, &out->range);
    }
    read_moved(r, value, out);
    return true;
}

static bool read_float(const reader *r, qgc_value *value, qgc_value_key *out)
{
    qgc_node *def = value->def;
    if (!def)
        return true;
    if (def->op == QGC_OP_OBSERVE)
        return read_key(r, qgc_node_operand(def, 0), out);
    if (def->op == QGC_OP_FAKE_QUANT || def->op == QGC_OP_FAKE_CAST)
        return read_step(r, value, out);
    if (def->op == QGC_OP_DEQUANTIZE)
        return read_dequantize(r, value, out);
    return !def->num_extra || !qgc_node_extra(def, qgc_context_name(r->context, "origin"));
}

static bool read_key(const reader *r, qgc_value *value, qgc_value_key *out)
{
    *out = (qgc_value_key){.value = value->name, .dtype = value->type->dtype};
    out->is_constant = value->def && (qgc_node_op(value->def)->traits & QGC_TRAIT_CONSTANT) != 0;
    return is_int(value) ? read_int(r, value, out) : read_float(r, value, out);
}

/* Scales, zero points, tables, biases and multipliers of steps and integer ops. */
static bool is_parameter_use(const qgc_use *use)
{
    const qgc_node *user = use->user;
    uint32_t index = (uint32_t)(use - user->operands);
    switch (user->op) {
    case QGC_OP_QUANTIZE:
    case QGC_OP_DEQUANTIZE:
    case QGC_OP_FAKE_QUANT:
    case QGC_OP_LOOKUP:
        return index > 0;
    case QGC_OP_REQUANTIZE:
        return true;
    default:
        return strncmp(qgc_node_op(user)->mnemonic, "int_", 4) == 0 && index > 1;
    }
}

static bool is_parameter(const qgc_value *value)
{
    if (!value->first_use || !value->def || !(qgc_node_op(value->def)->traits & QGC_TRAIT_CONSTANT))
        return false;
    for (const qgc_use *use = value->first_use; use; use = use->next)
        if (!is_parameter_use(use))
            return false;
    return true;
}

bool qgc_value_key_read(const qgc_map *owners, const qgc_func *func, qgc_value *value,
                        qgc_arena *arena, qgc_value_key *out)
{
    if (is_parameter(value))
        return false;
    reader r = {owners, arena, func->module->context};
    if (!read_key(&r, value, out))
        return false;
    qgc_text text = {.arena = arena};
    out->func = owner_of(owners, func)->name;
    qgc_func_name_print(&text, out->func);
    qgc_text_putc(&text, '.');
    qgc_value_name_print(&text, out->value);
    out->text = qgc_context_name(r.context, text.data);
    return true;
}

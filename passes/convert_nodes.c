/* The nodes that convert makes. */
#include "passes/convert_nodes.h"

#include "runtime/tensor.h"

#include <string.h>

/* Names the only result after the observed value: %c.q. */
qgc_value *qgc_convert_finish(converter *c, qgc_node *node, const char *suffix,
                              const qgc_type *type)
{
    const char *name = qgc_arena_printf(c->env->scratch, "%s.%s", c->decision->base->data, suffix);
    qgc_value *result = &node->results[0];
    result->type = type;
    node->scope = c->observer->scope;
    qgc_value_set_name(c->func, result, qgc_func_unique_name(c->func, qgc_str_from(name)));
    return result;
}

static qgc_value *insert_const(converter *c, const char *suffix, const qgc_tensor *tensor)
{
    qgc_node *node =
        qgc_node_create(c->func, QGC_OP_CONST, 0, NULL, 1, c->observer, c->observer->loc);
    node->attrs[0] = (qgc_attr){.kind = QGC_ATTR_TENSOR, .tensor = tensor};
    node->constant = tensor;
    return qgc_convert_finish(c, node, suffix, qgc_type_of_tensor(&c->env->context->types, tensor));
}

static qgc_tensor *new_tensor(converter *c, qgc_dtype dtype, uint32_t rank, const int64_t *shape,
                              size_t count)
{
    qgc_arena *arena = &c->func->module->arena;
    qgc_tensor *tensor = QGC_NEW(arena, qgc_tensor);
    tensor->dtype = dtype;
    tensor->rank = rank;
    memcpy(tensor->shape, shape, rank * sizeof *shape);
    tensor->bytes = count * qgc_dtype_bytes(dtype);
    tensor->data = qgc_arena_alloc(arena, tensor->bytes);
    return tensor;
}

static void copy_attr(const qgc_node *from, const char *name, qgc_node *to)
{
    const qgc_attr *attr = qgc_node_attr(from, name);
    if (attr)
        qgc_node_set_attr(to, name, *attr);
}

static void set_params(const converter *c, qgc_node *node)
{
    static const char *const names[] = {"scale", "zero_point", "axis"};
    const qgc_decision *d = c->decision;
    for (int i = 0; c->source && i < 3; i++)
        copy_attr(c->source, names[i], node);
    if (c->source)
        return;
    if (d->axis >= 0) {
        qgc_node_set_attr(node, "axis", qgc_attr_from_int(d->axis));
        return;
    }
    if (!d->params) /* dynamic: operands */
        return;
    qgc_node_set_attr(node, "scale", qgc_attr_from_float(d->params[0].scale));
    qgc_node_set_attr(node, "zero_point", qgc_attr_from_int(d->params[0].zero_point));
}

/* ---- constants ---- */

static void store(qgc_tensor *tensor, size_t index, int32_t value)
{
    size_t bytes = qgc_dtype_bytes(tensor->dtype);
    memcpy((char *)tensor->data + index * bytes, &value, bytes); /* little-endian: the low bytes */
}

void qgc_convert_fold(converter *c)
{
    const qgc_decision *d = c->decision;
    const qgc_tensor *data = d->constant;
    size_t count = qgc_tensor_count(data), inner = 1;
    qgc_tensor *q = new_tensor(c, d->spec->dtype, data->rank, data->shape, count);
    for (uint32_t i = (uint32_t)(d->axis + 1); d->axis >= 0 && i < data->rank; i++)
        inner *= (size_t)data->shape[i];
    for (size_t i = 0; i < count; i++) {
        qgc_qparams params = d->params[i / inner % d->num];
        store(q, i, qgc_quantize(((const float *)data->data)[i], params, d->range, d->mode));
    }
    c->quantized = insert_const(c, "q", q);
}

/* Zero points that are all 0 are left out. */
void qgc_convert_channels(converter *c)
{
    const qgc_decision *d = c->decision;
    int64_t num = d->num;
    bool any = false;
    qgc_tensor *scales = new_tensor(c, QGC_DTYPE_F32, 1, &num, d->num);
    qgc_tensor *zero_points = new_tensor(c, QGC_DTYPE_I32, 1, &num, d->num);
    for (uint32_t i = 0; i < d->num; i++) {
        ((float *)scales->data)[i] = d->params[i].scale;
        ((int32_t *)zero_points->data)[i] = d->params[i].zero_point;
        any |= d->params[i].zero_point != 0;
    }
    c->scales = insert_const(c, "scale", scales);
    if (any)
        c->zero_points = insert_const(c, "zero_point", zero_points);
}

/* ---- observers ---- */

void qgc_convert_quantize(converter *c)
{
    const qgc_decision *d = c->decision;
    qgc_value *operands[] = {c->observer->operands[0].value, c->scales, c->zero_points};
    qgc_node *node =
        qgc_node_create(c->func, QGC_OP_QUANTIZE, 3, operands, 1, c->observer, c->observer->loc);
    qgc_int_range full;
    set_params(c, node);
    qgc_quant_dtype_range(d->spec->dtype, &full);
    int64_t range[] = {d->range.lo, d->range.hi};
    if (d->range.lo != full.lo || d->range.hi != full.hi)
        qgc_node_set_attr(node, "range", qgc_attr_from_ints(&c->func->module->arena, range, 2));
    if (d->mode == QGC_QUANTIZE_DIVIDE)
        copy_attr(c->source, "mode", node);
    c->quantized = qgc_convert_finish(
        c, node, "q",
        qgc_type_with_dtype(&c->env->context->types, operands[0]->type, d->spec->dtype));
}

static qgc_value *insert_dequantize(converter *c)
{
    qgc_value *operands[] = {c->quantized, c->scales, c->zero_points};
    qgc_node *node =
        qgc_node_create(c->func, QGC_OP_DEQUANTIZE, 3, operands, 1, c->observer, c->observer->loc);
    set_params(c, node);
    return qgc_convert_finish(c, node, "dq", c->observer->results[0].type);
}

/* Whether the use is one by an op that computes on quantized operands: it gets a dequantize of its
 * own, so that it can be lowered alone. */
static bool is_quantized_use(const qgc_use *use)
{
    uint32_t slot = (uint32_t)(use - use->user->operands);
    return qgc_node_op(use->user)->operands[qgc_node_operand_row(use->user, slot)].quant !=
           QGC_Q_NONE;
}

/* One dequantize for each op that computes, one for all other uses. */
void qgc_convert_uses(converter *c)
{
    qgc_value *observed = &c->observer->results[0], *shared = NULL;
    while (observed->first_use) {
        qgc_use *use = observed->first_use;
        qgc_node *user = use->user;
        bool own = is_quantized_use(use);
        qgc_value *to = own || !shared ? insert_dequantize(c) : shared;
        if (!own)
            shared = to;
        qgc_node_set_operand(user, (uint32_t)(use - user->operands), to);
        for (uint32_t i = 0; own && i < user->num_operands; i++)
            if (user->operands[i].value == observed)
                qgc_node_set_operand(user, i, to);
    }
}

/* The edits that fixes are made of. Only what the view of one op reads is kept right: the copy is
 * never printed, verified or run. */
#include "ir/infer.h"
#include "passes/fix.h"
#include "passes/seams.h"

#include <string.h>

#define STEP_SCALE 0.0625f /* of the copy's own steps: any scale that is a valid multiplier */

static const qgc_type *with_dtype(const qgc_func *func, const qgc_type *type, qgc_dtype dtype)
{
    return qgc_type_with_dtype(&func->module->context->types, type, dtype);
}

static void name_result(qgc_node *node, const char *base)
{
    qgc_name name = qgc_func_unique_name(node->func, qgc_str_from(base));
    qgc_value_set_name(node->func, &node->results[0], name);
}

static qgc_node *make_step(qgc_opcode op, qgc_value *x, qgc_value *scales, const qgc_type *type,
                           qgc_node *before)
{
    qgc_value *operands[] = {x, scales, NULL};
    qgc_node *node = qgc_node_create(x->def ? x->def->func : before->func, op, 3, operands, 1,
                                     before, QGC_NO_LOC);
    if (!scales)
        qgc_node_set_attr(node, "scale", qgc_attr_from_float(STEP_SCALE));
    node->results[0].type = type;
    name_result(node, x->name->data);
    return node;
}

static qgc_tensor *make_tensor(qgc_arena *arena, qgc_dtype dtype, const qgc_type *type)
{
    int64_t count = 0;
    qgc_tensor *tensor = QGC_NEW(arena, qgc_tensor);
    qgc_type_num_elements(type, &count);
    tensor->dtype = dtype;
    tensor->rank = type->rank;
    for (uint32_t i = 0; i < type->rank; i++)
        tensor->shape[i] = type->dims[i].value;
    tensor->bytes = (size_t)count * qgc_dtype_bytes(dtype);
    tensor->data = qgc_arena_alloc(arena, tensor->bytes);
    return tensor;
}

/* A list of scales for the channels of |type| along |axis|. */
static qgc_value *make_scales(qgc_node *before, const qgc_type *type, int64_t axis)
{
    qgc_dim dim = type->dims[axis];
    qgc_types *types = &before->func->module->context->types;
    const qgc_type *list = qgc_type_get(types, QGC_DTYPE_F32, 1, &dim);
    qgc_tensor *scales = make_tensor(&before->func->module->arena, QGC_DTYPE_F32, list);
    for (int64_t i = 0; i < dim.value; i++)
        ((float *)scales->data)[i] = STEP_SCALE;
    return qgc_seams_constant(before->func, scales, qgc_str_from("fix.scale"), before, QGC_NO_LOC);
}

static bool is_constant(const qgc_value *value)
{
    if (value->def && value->def->op == QGC_OP_DEQUANTIZE)
        value = qgc_node_operand(value->def, 0);
    return value->def && qgc_node_op(value->def)->traits & QGC_TRAIT_CONSTANT;
}

static void requantize_constant(qgc_node *op, uint32_t slot, qgc_dtype dtype, bool per_channel)
{
    const qgc_type *type = qgc_node_operand(op, slot)->type;
    int64_t axis = qgc_node_op(op)->operands[qgc_node_operand_row(op, slot)].channel_axis;
    axis += axis < 0 ? type->rank : 0;
    qgc_tensor *zeros = make_tensor(&op->func->module->arena, dtype, type);
    qgc_value *q = qgc_seams_constant(op->func, zeros, qgc_str_from("fix.q"), op, QGC_NO_LOC);
    bool has_channels = per_channel && axis >= 0 && axis < type->rank;
    qgc_value *scales = has_channels ? make_scales(op, type, axis) : NULL;
    qgc_node *step =
        make_step(QGC_OP_DEQUANTIZE, q, scales, with_dtype(op->func, type, QGC_DTYPE_F32), op);
    if (has_channels)
        qgc_node_set_attr(step, "axis", qgc_attr_from_int(axis));
    qgc_node_set_operand(op, slot, &step->results[0]);
}

void qgc_fix_requantize(qgc_node *op, uint32_t slot, qgc_dtype dtype, bool per_channel)
{
    qgc_value *value = qgc_node_operand(op, slot);
    if (is_constant(value) && value->type->is_static) {
        requantize_constant(op, slot, dtype, per_channel);
        return;
    }
    qgc_node *q =
        make_step(QGC_OP_QUANTIZE, value, NULL, with_dtype(op->func, value->type, dtype), op);
    qgc_node *d = make_step(QGC_OP_DEQUANTIZE, &q->results[0], NULL,
                            with_dtype(op->func, value->type, QGC_DTYPE_F32), op);
    qgc_node_set_operand(op, slot, &d->results[0]);
}

static void redirect(qgc_value *value, const qgc_node *keep, qgc_value *to)
{
    for (qgc_use *use = value->first_use, *next; use; use = next) {
        next = use->next;
        if (use->user != keep)
            qgc_node_set_operand(use->user, (uint32_t)(use - use->user->operands), to);
    }
}

void qgc_fix_quantize_result(qgc_value *value, qgc_dtype dtype)
{
    qgc_func *func = value->def->func;
    qgc_node *q = make_step(QGC_OP_QUANTIZE, value, NULL, with_dtype(func, value->type, dtype),
                            value->def->next);
    qgc_node *d = make_step(QGC_OP_DEQUANTIZE, &q->results[0], NULL, value->type, q->next);
    redirect(value, q, &d->results[0]);
}

void qgc_fix_join_users(qgc_value *value, qgc_node *quantize)
{
    qgc_node *d =
        make_step(QGC_OP_DEQUANTIZE, &quantize->results[0], NULL, value->type, quantize->next);
    redirect(value, quantize, &d->results[0]);
}

void qgc_fix_fill_constant(qgc_node *op, uint32_t slot, int32_t fill)
{
    qgc_node *step = qgc_node_operand(op, slot)->def;
    qgc_value *q = qgc_node_operand(step, 0);
    qgc_tensor *filled = make_tensor(&op->func->module->arena, q->type->dtype, q->type);
    size_t bytes = qgc_dtype_bytes(filled->dtype);
    for (size_t at = 0; at < filled->bytes; at += bytes)
        memcpy((char *)filled->data + at, &fill, bytes); /* little-endian: the low bytes */
    qgc_node_set_operand(
        step, 0, qgc_seams_constant(op->func, filled, qgc_str_from("fix.q"), step, QGC_NO_LOC));
}

/* ---- symbols ---- */

static bool look_up(void *user, qgc_name symbol, int64_t *out)
{
    (void)symbol;
    return *out = *(int64_t *)user, true;
}

static void bind_value(qgc_module *module, qgc_value *value, int64_t number)
{
    qgc_dim dims[QGC_MAX_RANK];
    const qgc_type *type = value->type;
    for (uint32_t i = 0; i < type->rank; i++)
        dims[i] = qgc_dim_bind(&module->context->dims, type->dims[i], look_up, &number);
    value->type = qgc_type_get(&module->context->types, type->dtype, type->rank, dims);
}

static bool infer_again(qgc_node *op)
{
    qgc_diag *diag = &op->func->module->context->diag;
    size_t size = diag->list.size;
    const qgc_type *types[QGC_MAX_RESULTS] = {0};
    if (op->num_results != 1 || qgc_node_infer(op, types, false) != QGC_OK) {
        qgc_diag_rollback(diag, size);
        return false;
    }
    op->results[0].type = types[0];
    return types[0]->is_static;
}

bool qgc_fix_bind(qgc_node *op, int64_t number)
{
    qgc_func *func = op->func;
    for (uint32_t i = 0; i < func->num_params; i++)
        bind_value(func->module, &func->params[i], number);
    QGC_EACH_NODE (node, func)
        for (uint32_t i = 0; i < node->num_results; i++)
            bind_value(func->module, &node->results[i], number);
    for (uint32_t i = 0; i < op->num_operands; i++)
        if (op->operands[i].value && !op->operands[i].value->type->is_static)
            return false;
    return infer_again(op);
}

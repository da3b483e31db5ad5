/* Convolution, linear and matmul: channels, bias, accumulator bounds. */
#include "passes/view_parts.h"

#include <math.h>

#include "ir/view.h"

enum { X, W, BIAS };

static bool is_matmul(const qgc_node *op)
{
    return op->op == QGC_OP_MATMUL;
}

static bool is_transposed(const qgc_node *op)
{
    return op->op == QGC_OP_CONV_TRANSPOSE1D || op->op == QGC_OP_CONV_TRANSPOSE2D ||
           op->op == QGC_OP_CONV_TRANSPOSE3D;
}

static bool is_conv(const qgc_node *op)
{
    return op->op == QGC_OP_CONV1D || op->op == QGC_OP_CONV2D || op->op == QGC_OP_CONV3D;
}

bool qgc_view_is_product(qgc_opcode op)
{
    qgc_node node = {.op = op};
    return is_conv(&node) || is_transposed(&node) || op == QGC_OP_LINEAR || op == QGC_OP_MATMUL;
}

/* The axis of w that has the output channels. */
static uint32_t weight_axis(const qgc_view *view)
{
    int axis = qgc_node_op(view->op)->operands[W].channel_axis;
    uint32_t rank = view->operands[W].value->type->rank;
    return axis < 0 ? rank - (uint32_t)-axis : (uint32_t)axis;
}

/* ---- sizes ---- */

/* Output channels: 0 where they are no number. */
static uint64_t count_channels(const qgc_view *view)
{
    qgc_dim channels = view->operands[W].value->type->dims[weight_axis(view)];
    if (!qgc_dim_is_number(channels))
        return 0;
    uint64_t groups = is_transposed(view->op) ? (uint64_t)qgc_node_int(view->op, "groups") : 1;
    return (uint64_t)channels.value * groups;
}

/* Terms of an accumulator; false where a size is not known. */
static bool count_products(const qgc_view *view, uint64_t *out)
{
    const qgc_type *w = view->operands[W].value->type;
    uint32_t channels = weight_axis(view);
    uint64_t num = 1;
    for (uint32_t i = 0; i < w->rank; i++) {
        bool counts = is_matmul(view->op) ? i == w->rank - 2 : i != channels;
        if (!counts)
            continue;
        if (!qgc_dim_is_number(w->dims[i]) ||
            __builtin_mul_overflow(num, (uint64_t)w->dims[i].value, &num))
            return false;
    }
    *out = is_transposed(view->op) ? num / (uint64_t)qgc_node_int(view->op, "groups") : num;
    return true;
}

static bool check_sizes(qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    const qgc_type *x = view->operands[X].value->type, *w = view->operands[W].value->type;
    if (is_matmul(view->op) && (x->rank < 2 || w->rank < 2))
        return qgc_why_not(arena, why, QGC_FAULT_RANK, "a is %s, b is %s, expected matrices",
                           qgc_type_str(arena, x), qgc_type_str(arena, w));
    view->channel_axis =
        is_conv(view->op) || is_transposed(view->op) ? 1 : view->result->type->rank - 1;
    view->num_channels = count_channels(view);
    bool needs_channels = view->operands[W].params.per_channel;
    if (!count_products(view, &view->num_products) || (needs_channels && !view->num_channels))
        return qgc_why_not(arena, why, QGC_FAULT_SIZE,
                           "%s is %s: channels and taps have to be known",
                           qgc_node_op(view->op)->operands[W].name, qgc_type_str(arena, w));
    return true;
}

/* ---- parameters ---- */

static bool check_operands(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    const qgc_operand_spec *rows = qgc_node_op(view->op)->operands;
    for (uint32_t i = X; i <= W; i++) {
        const qgc_view_operand *operand = &view->operands[i];
        if (!operand->dequantize)
            return qgc_why_not(arena, why, QGC_FAULT_NOT_QUANTIZED, "%s is not quantized: %s",
                               rows[i].name, qgc_view_source_text(arena, operand->value));
        if (!(QGC_T_INT816 >> operand->dtype & 1))
            return qgc_why_not(arena, why, QGC_FAULT_ELEMENT_TYPE, "%s is %s", rows[i].name,
                               qgc_dtype_name(operand->dtype));
    }
    if (view->operands[X].params.per_channel)
        return qgc_why_not(arena, why, QGC_FAULT_CHANNELS, "%s has a scale per channel",
                           rows[X].name);
    const qgc_view_params *w = &view->operands[W].params;
    if (w->per_channel && w->axis != weight_axis(view))
        return qgc_why_not(arena, why, QGC_FAULT_CHANNELS,
                           "the scales of %s run along axis %u, its output channels along %u",
                           rows[W].name, w->axis, weight_axis(view));
    return true;
}

float qgc_view_weight_scale(const qgc_view *view, size_t channel)
{
    const qgc_view_params *w = &view->operands[W].params;
    return w->scales[channel % w->num];
}

static bool check_scales(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    const qgc_view_params *x = &view->operands[X].params, *w = &view->operands[W].params;
    bool known = x->scales && w->scales && x->zero_points && w->zero_points;
    if (!known && view->quantize)
        return qgc_why_not(arena, why, QGC_FAULT_PARAMETERS,
                           "a scale is computed at run time, the output %%%s is not float",
                           view->result->name->data);
    for (size_t c = 0; known && c < w->num; c++) {
        float m = 0, scale_y = view->quantize ? view->output.scale : 1.0f;
        qgc_quant_fault fault = qgc_requantize_multiplier(x->scales[0], w->scales[c], scale_y, &m);
        if (fault != QGC_QUANT_OK)
            return qgc_why_not(arena, why, QGC_FAULT_PARAMETERS,
                               "the multiplier of channel %zu: %s", c, qgc_quant_fault_text(fault));
    }
    float m;
    if (view->has_add && qgc_requantize_multiplier(view->extra.params.scales[0], 1.0f,
                                                   view->output.scale, &m) != QGC_QUANT_OK)
        return qgc_why_not(arena, why, QGC_FAULT_PARAMETERS,
                           "the multiplier of the fused add %%%s is no valid scale",
                           view->extra.value->name->data);
    return true;
}

/* ---- bias ---- */

/* Steps that are those of the accumulator: the integers are the bias there. */
static bool is_in_steps(const qgc_view *view, const qgc_view_params *bias)
{
    const float *scale_x = view->operands[X].params.scales;
    if (!scale_x || !view->operands[W].params.scales)
        return false;
    for (size_t c = 0; c < view->num_channels; c++)
        if (bias->scales[c % bias->num] != scale_x[0] * qgc_view_weight_scale(view, c) ||
            bias->zero_points[c % bias->num] != 0)
            return false;
    return true;
}

static bool read_integer_bias(qgc_view *view, const qgc_view_operand *b, qgc_arena *arena,
                              qgc_why *why)
{
    float *values = QGC_NEW_ARRAY(arena, float, view->num_channels);
    if (b->dtype != QGC_DTYPE_I32 || !b->params.scales || !b->params.zero_points)
        return qgc_why_not(arena, why, QGC_FAULT_BIAS, "%%%s is %s, expected i32 or f32",
                           b->value->name->data, qgc_dtype_name(b->dtype));
    const int32_t *steps = b->constant->data;
    for (size_t c = 0; c < view->num_channels; c++) {
        size_t at = c % b->params.num;
        values[c] = qgc_dequantize(steps[c],
                                   (qgc_qparams){b->params.scales[at], b->params.zero_points[at]});
    }
    view->bias = values;
    view->bias_steps = is_in_steps(view, &b->params) ? steps : NULL;
    return true;
}

static bool read_bias(qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    qgc_value *own = is_matmul(view->op) ? NULL : qgc_node_operand(view->op, BIAS);
    qgc_value *value = own ? own : view->added_bias;
    qgc_view_operand b;
    if (!value)
        return true;
    if (!qgc_view_read_operand(value, arena, &b, why))
        return false;
    if (!b.constant || b.constant->bytes / qgc_dtype_bytes(b.dtype) != view->num_channels)
        return qgc_why_not(arena, why, QGC_FAULT_BIAS, "the bias is no known constant: %s",
                           qgc_view_source_text(arena, value));
    view->has_bias = true;
    if (b.dequantize && !read_integer_bias(view, &b, arena, why))
        return false;
    if (!b.dequantize)
        view->bias = b.constant->data;
    for (size_t c = 0; c < view->num_channels; c++)
        if (!isfinite(view->bias[c]) ||
            (view->quantize && !isfinite(view->bias[c] / view->output.scale)))
            return qgc_why_not(arena, why, QGC_FAULT_BIAS, "the bias of channel %zu is %g", c,
                               (double)view->bias[c]);
    return true;
}

bool qgc_view_finish_product(qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    return check_operands(view, arena, why) && check_sizes(view, arena, why) &&
           check_scales(view, arena, why) && read_bias(view, arena, why);
}

bool qgc_view_finish_float_product(qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    return check_sizes(view, arena, why) && read_bias(view, arena, why);
}

/* ---- accumulators ---- */

static uint64_t distance(int64_t q, int64_t zero_point)
{
    return (uint64_t)(q > zero_point ? q - zero_point : zero_point - q);
}

static int64_t element(const qgc_tensor *t, size_t i)
{
    switch (t->dtype) {
    case QGC_DTYPE_I8:
        return ((const int8_t *)t->data)[i];
    case QGC_DTYPE_U8:
        return ((const uint8_t *)t->data)[i];
    case QGC_DTYPE_I16:
        return ((const int16_t *)t->data)[i];
    case QGC_DTYPE_U16:
        return ((const uint16_t *)t->data)[i];
    default:
        return ((const int32_t *)t->data)[i];
    }
}

uint32_t qgc_view_extreme(const qgc_view_operand *operand)
{
    const qgc_view_params *params = &operand->params;
    const qgc_tensor *t = operand->constant;
    qgc_int_range full;
    uint64_t most = 0;
    qgc_quant_dtype_range(operand->dtype, &full);
    if (!params->zero_points)
        return (uint32_t)(full.hi - full.lo);
    size_t num = t ? t->bytes / qgc_dtype_bytes(t->dtype) : 0, inner = 1;
    for (uint32_t i = params->axis + 1; t && params->per_channel && i < t->rank; i++)
        inner *= (size_t)t->shape[i];
    for (size_t i = 0; i < num; i++) {
        size_t channel = params->per_channel ? i / inner % params->num : 0;
        uint64_t d = distance(element(t, i), params->zero_points[channel]);
        most = d > most ? d : most;
    }
    for (size_t c = 0; !t && c < params->num; c++) {
        uint64_t below = distance(full.lo, params->zero_points[c]);
        uint64_t above = distance(full.hi, params->zero_points[c]);
        most = below > most ? below : most;
        most = above > most ? above : most;
    }
    return (uint32_t)most;
}

bool qgc_view_accumulates(const qgc_view *view, uint64_t max_bias, qgc_arena *arena, qgc_why *why)
{
    const qgc_view_operand *x = &view->operands[X], *w = &view->operands[W];
    uint32_t max_x = qgc_view_extreme(x), max_w = qgc_view_extreme(w);
    bool is_wide = qgc_dtype_bytes(x->dtype) > 1 || qgc_dtype_bytes(w->dtype) > 1;
    if (is_wide ? view->num_products < UINT64_C(1) << 28
                : qgc_accumulates_in_i32(view->num_products, max_x, max_w, max_bias))
        return true;
    return qgc_why_not(arena, why, QGC_FAULT_CONDITION,
                       "%llu products of up to %u * %u and a bias of up to %llu may overflow %s",
                       (unsigned long long)view->num_products, max_x, max_w,
                       (unsigned long long)max_bias, is_wide ? "i64" : "i32");
}

/* Convolution, linear, matmul: the integer op, then requantize, or dequantize where the result is
 * float. */
#include "base/arena.h"
#include "ir/view.h"
#include "passes/lower.h"
#include "runtime/math.h"

#include <string.h>

enum { X, W };

static const struct {
    qgc_opcode op, lowered;
} rows[] = {
    {QGC_OP_CONV1D, QGC_OP_INT_CONV1D},
    {QGC_OP_CONV2D, QGC_OP_INT_CONV2D},
    {QGC_OP_CONV3D, QGC_OP_INT_CONV3D},
    {QGC_OP_CONV_TRANSPOSE1D, QGC_OP_INT_CONV_TRANSPOSE1D},
    {QGC_OP_CONV_TRANSPOSE2D, QGC_OP_INT_CONV_TRANSPOSE2D},
    {QGC_OP_CONV_TRANSPOSE3D, QGC_OP_INT_CONV_TRANSPOSE3D},
    {QGC_OP_LINEAR, QGC_OP_INT_LINEAR},
    {QGC_OP_MATMUL, QGC_OP_INT_MATMUL},
};

static qgc_opcode lowered_op(qgc_opcode op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op)
            return rows[i].lowered;
    QGC_ASSERT(false, "%s is no product", qgc_op(op)->mnemonic);
    return op;
}

static bool is_wide(const qgc_view *view)
{
    return qgc_dtype_bytes(view->operands[X].dtype) > 1 ||
           qgc_dtype_bytes(view->operands[W].dtype) > 1;
}

/* ---- bias ---- */

/* s_x * s_w of channel |c|. */
static float step_of(const qgc_view *view, size_t c)
{
    return view->operands[X].params.scales[0] * qgc_view_weight_scale(view, c);
}

/* rne(b / (s_x * s_w)) per channel; false where one does not fit the accumulator. */
static bool bias_in_steps(const qgc_view *view, int64_t *steps, uint64_t *out_most)
{
    *out_most = 0;
    for (size_t c = 0; c < view->num_channels; c++) {
        float b = view->bias_steps ? 0 : qgc_f32_rne(view->bias[c] / step_of(view, c));
        if (b > 0x1p30f || b < -0x1p30f)
            return false;
        steps[c] = view->bias_steps ? view->bias_steps[c] : (int64_t)b;
        uint64_t size = (uint64_t)(steps[c] < 0 ? -steps[c] : steps[c]);
        *out_most = size > *out_most ? size : *out_most;
    }
    return true;
}

/* The bias as integers of the accumulator, where that costs nothing visible: every step is 1/8 of
 * an output step at most, or the graph has the integers; and no sum can overflow. NULL: it is c. */
static qgc_value *bias_operand(qgc_lowering *l, const float *multipliers)
{
    const qgc_view *view = l->view;
    uint64_t most;
    int64_t *steps = QGC_NEW_ARRAY(l->env->scratch, int64_t, view->num_channels);
    int32_t *narrow = QGC_NEW_ARRAY(l->env->scratch, int32_t, view->num_channels);
    if (!view->has_bias || !view->quantize)
        return NULL;
    for (size_t c = 0; c < view->num_channels && !view->bias_steps; c++)
        if (multipliers[c] > 0.125f)
            return NULL;
    if (!bias_in_steps(view, steps, &most) ||
        !qgc_view_accumulates(view, most, l->env->scratch, NULL))
        return NULL;
    for (size_t c = 0; c < view->num_channels; c++)
        narrow[c] = (int32_t)steps[c];
    bool wide = is_wide(view);
    size_t bytes = wide ? sizeof *steps : sizeof *narrow;
    qgc_tensor t = {.dtype = wide ? QGC_DTYPE_I64 : QGC_DTYPE_I32,
                    .rank = 1,
                    .shape = {(int64_t)view->num_channels},
                    .data = wide ? (void *)steps : (void *)narrow,
                    .bytes = view->num_channels * bytes};
    return qgc_lower_tensor(l, &t, ".b");
}

/* ---- the integer op ---- */

static bool one_zero_point(const qgc_view_params *w)
{
    for (size_t c = 1; c < w->num; c++)
        if (w->zero_points[c] != w->zero_points[0])
            return false;
    return true;
}

static qgc_value *weight_zero_points(qgc_lowering *l)
{
    const qgc_view_params *w = &l->view->operands[W].params;
    if (!w->zero_points)
        return w->zero_point_value;
    if (one_zero_point(w))
        return NULL;
    size_t num = l->view->num_channels;
    int32_t *list = QGC_NEW_ARRAY(l->env->scratch, int32_t, num);
    for (size_t c = 0; c < num; c++)
        list[c] = w->zero_points[c % w->num];
    qgc_tensor t = {.dtype = QGC_DTYPE_I32,
                    .rank = 1,
                    .shape = {(int64_t)num},
                    .data = list,
                    .bytes = num * sizeof *list};
    return qgc_lower_tensor(l, &t, ".wz");
}

static qgc_value *accumulate(qgc_lowering *l, qgc_value *bias)
{
    const qgc_view *view = l->view;
    const qgc_view_params *x = &view->operands[X].params, *w = &view->operands[W].params;
    qgc_value *operands[] = {view->operands[X].value, view->operands[W].value, bias,
                             x->zero_points ? NULL : x->zero_point_value, weight_zero_points(l)};
    qgc_node *node = qgc_lower_node(l, lowered_op(view->op->op), 5, operands);
    qgc_lower_copy_attrs(node, view->op);
    if (x->zero_points)
        qgc_lower_set_int(node, "x_zero_point", x->zero_points[0]);
    if (w->zero_points && !operands[4])
        qgc_lower_set_int(node, "w_zero_point", w->zero_points[0]);
    return qgc_lower_finish(l, node, ".acc");
}

/* ---- to integers ---- */

static void lower_quantized(qgc_lowering *l)
{
    const qgc_view *view = l->view;
    const qgc_view_params *x = &view->operands[X].params;
    size_t num = view->num_channels ? view->num_channels : 1;
    float *multipliers = QGC_NEW_ARRAY(l->env->scratch, float, num);
    float *c = QGC_NEW_ARRAY(l->env->scratch, float, num), extra = 0;
    for (size_t i = 0; i < num; i++) {
        qgc_requantize_multiplier(x->scales[0], qgc_view_weight_scale(view, i), view->output.scale,
                                  &multipliers[i]);
        if (view->has_bias)
            c[i] = view->bias[i] / view->output.scale;
    }
    qgc_value *bias = bias_operand(l, multipliers);
    qgc_epilogue e = {.num_terms = view->has_add ? 2 : 1,
                      .num_channels = num,
                      .multipliers = {multipliers, &extra},
                      .c = view->has_bias && !bias ? c : NULL};
    e.terms[0] = accumulate(l, bias);
    if (view->has_add) {
        qgc_requantize_multiplier(view->extra.params.scales[0], 1.0f, view->output.scale, &extra);
        e.terms[1] = view->extra.value;
        e.term_zero_points[1] = view->extra.params.zero_points[0];
    }
    qgc_lower_requantize(l, &e);
}

/* ---- to floats ---- */

static qgc_value *scale_operand(qgc_lowering *l, const qgc_view_params *params)
{
    if (!params->scales)
        return params->scale_value;
    if (params->per_channel) {
        size_t num = l->view->num_channels;
        float *list = QGC_NEW_ARRAY(l->env->scratch, float, num);
        for (size_t c = 0; c < num; c++)
            list[c] = params->scales[c % params->num];
        return qgc_lower_floats(l, list, num, ".s");
    }
    qgc_tensor t = {.dtype = QGC_DTYPE_F32, .data = (void *)params->scales, .bytes = sizeof(float)};
    return qgc_lower_tensor(l, &t, ".s");
}

/* s_x * s_w: a scalar, or one per channel; computed where one of them is. */
static qgc_value *product_scale(qgc_lowering *l)
{
    const qgc_view *view = l->view;
    const qgc_view_params *x = &view->operands[X].params, *w = &view->operands[W].params;
    if (x->scales && w->scales) {
        size_t num = w->per_channel ? view->num_channels : 1;
        float *list = QGC_NEW_ARRAY(l->env->scratch, float, num);
        for (size_t c = 0; c < num; c++)
            list[c] = step_of(view, c);
        qgc_tensor t = {.dtype = QGC_DTYPE_F32,
                        .rank = w->per_channel ? 1 : 0,
                        .shape = {(int64_t)num},
                        .data = list,
                        .bytes = num * sizeof *list};
        return qgc_lower_tensor(l, &t, ".s");
    }
    qgc_value *scales[] = {scale_operand(l, x), scale_operand(l, w)};
    return qgc_lower_finish(l, qgc_lower_node(l, QGC_OP_MUL, 2, scales), ".s");
}

/* A list per channel, as a shape that broadcasts along the channels of the result. */
static qgc_value *along_channels(qgc_lowering *l, qgc_value *list, const char *suffix)
{
    const qgc_view *view = l->view;
    uint32_t behind = view->result->type->rank - 1 - view->channel_axis;
    int64_t shape[QGC_MAX_RANK] = {(int64_t)view->num_channels, 1, 1, 1, 1, 1, 1, 1};
    if (list->type->rank == 0 || !behind)
        return list;
    qgc_node *node = qgc_lower_node(l, QGC_OP_RESHAPE, 2, (qgc_value *[]){list, NULL});
    qgc_dim *dims = QGC_NEW_ARRAY(&l->func->module->arena, qgc_dim, behind + 1);
    for (uint32_t i = 0; i <= behind; i++)
        dims[i] = qgc_dim_number(shape[i]);
    qgc_node_set_attr(node, "shape",
                      (qgc_attr){.kind = QGC_ATTR_DIMS, .num = behind + 1, .dims = dims});
    return qgc_lower_finish(l, node, suffix);
}

/* f32(acc) * scale. */
static qgc_value *to_float(qgc_lowering *l, qgc_value *acc, qgc_value *scale)
{
    if (acc->type->dtype == QGC_DTYPE_I32) {
        qgc_node *node = qgc_lower_node(l, QGC_OP_DEQUANTIZE, 3, (qgc_value *[]){acc, scale, NULL});
        if (scale->type->rank)
            qgc_node_set_attr(node, "axis", qgc_attr_from_int(l->view->channel_axis));
        return qgc_lower_finish(l, node, ".f");
    }
    qgc_node *cast = qgc_lower_node(l, QGC_OP_CAST, 1, &acc);
    qgc_node_set_attr(cast, "to", (qgc_attr){.kind = QGC_ATTR_DTYPE, .dtype = QGC_DTYPE_F32});
    qgc_value *operands[] = {qgc_lower_finish(l, cast, ".f"), along_channels(l, scale, ".s")};
    return qgc_lower_finish(l, qgc_lower_node(l, QGC_OP_MUL, 2, operands), ".f");
}

static void lower_float(qgc_lowering *l)
{
    const qgc_view *view = l->view;
    qgc_value *scale = product_scale(l);
    qgc_value *y = to_float(l, accumulate(l, NULL), scale);
    if (view->has_bias) {
        qgc_value *bias = qgc_lower_floats(l, view->bias, view->num_channels, ".b");
        qgc_value *operands[] = {y, along_channels(l, bias, ".b")};
        y = qgc_lower_finish(l, qgc_lower_node(l, QGC_OP_ADD, 2, operands), ".f");
    }
    qgc_lower_result(l, y);
}

bool qgc_lower_product(qgc_lowering *l)
{
    qgc_why why;
    if (!qgc_view_accumulates(l->view, 0, l->env->scratch, &why)) {
        qgc_no_match(l->env, l->view->op, "[%s] %s", qgc_view_fault_word(why.fault), why.text);
        return false;
    }
    if (l->view->quantize)
        lower_quantized(l);
    else
        lower_float(l);
    return true;
}

#include "codegen/conv.h"

#include "ir/view.h"

#include <math.h>

/* ---- windows ---- */

bool qgc_is_transposed(qgc_opcode op)
{
    return op == QGC_OP_INT_CONV_TRANSPOSE1D || op == QGC_OP_INT_CONV_TRANSPOSE2D;
}

void qgc_read_window_dims(const qgc_node *node, bool is_transposed, qgc_window_dim *dims)
{
    const qgc_type *x = node->operands[0].value->type, *y = node->results[0].type;
    const qgc_tensor *w = qgc_constant_operand(node, 1);
    uint32_t num = x->rank - 2;
    int64_t in[QGC_MAX_SPATIAL], kernel[QGC_MAX_SPATIAL], out[QGC_MAX_SPATIAL];
    for (uint32_t i = 0; i < num; i++) {
        in[i] = x->dims[2 + i].value;
        kernel[i] = w->shape[2 + i];
        out[i] = y->dims[2 + i].value;
    }
    qgc_window_sizes sizes = {in, kernel, out};
    qgc_window_read(node, num, &sizes, is_transposed, dims);
}

/* Output o reads (o + begin - k * dilation) / stride: how far the first and the last one reach out
 * of bounds. */
static void transposed_border(const qgc_window_dim *dim, int64_t *begin, int64_t *end)
{
    int64_t before = (dim->kernel - 1) * dim->dilation - dim->begin;
    int64_t last = dim->out - 1 + dim->begin, behind = last / dim->stride - (dim->size - 1);
    *begin = before > 0 ? before / dim->stride : 0;
    *end = last > 0 && behind > 0 ? behind : 0;
}

qgc_window qgc_read_window(const qgc_node *node)
{
    qgc_window_dim dims[QGC_MAX_SPATIAL];
    bool is_transposed = qgc_is_transposed(node->op);
    qgc_read_window_dims(node, is_transposed, dims);
    const qgc_window_dim *h = &dims[1], *v = &dims[2];
    qgc_window window = {
        {h->stride, v->stride}, {h->dilation, v->dilation}, {h->begin, v->begin, h->end, v->end}};
    if (!is_transposed)
        return window;
    transposed_border(h, &window.border.top, &window.border.bottom);
    transposed_border(v, &window.border.left, &window.border.right);
    return window;
}

const char *qgc_match_conv(qgc_product *m)
{
    const char *why = qgc_match_x(m);
    int64_t num_y, num_x;
    if (!why)
        why = qgc_match_weights(m);
    if (!why)
        why = qgc_match_epilogue(m, m->node->results[0].type->dims[1].value, 1);
    if (why)
        return why;
    bool counts = qgc_type_num_elements(qgc_product_result(m)->type, &num_y) &&
                  qgc_type_num_elements(m->x->type, &num_x);
    return m->weights->bytes && counts && num_y && num_x ? NULL : "it is empty";
}

/* ---- buffers ---- */

/* A use as a convolution's input with a border. */
static bool wants_border(const qgc_use *use, qgc_border *border, uint16_t *value)
{
    qgc_product m = {.node = use->user};
    bool is_conv = m.node->op == QGC_OP_INT_CONV2D || m.node->op == QGC_OP_INT_CONV1D ||
                   qgc_is_transposed(m.node->op);
    if (!is_conv || use != &m.node->operands[0])
        return false;
    if ((qgc_match_x(&m) || qgc_match_weights(&m)) && qgc_match_words(&m))
        return false;
    *border = qgc_read_window(m.node).border;
    *value = (uint16_t)m.x_stored_zero_point;
    return !qgc_border_is_empty(border);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The border that covers all convolutions that agree with the first one on its value. */
static qgc_border common_border(const qgc_value *value, uint16_t *out_value)
{
    qgc_border all = {0}, one;
    uint16_t border_value;
    for (const qgc_use *use = value->first_use; use; use = use->next) {
        if (!wants_border(use, &one, &border_value))
            continue;
        if (qgc_border_is_empty(&all))
            *out_value = border_value;
        if (border_value == *out_value)
            all = (qgc_border){larger(all.top, one.top), larger(all.left, one.left),
                               larger(all.bottom, one.bottom), larger(all.right, one.right)};
    }
    return all;
}

qgc_buffer *qgc_make_output(qgc_planner *p, const qgc_value *value)
{
    uint16_t border_value = 0;
    qgc_border border = common_border(value, &border_value);
    qgc_buffer *buffer = qgc_planner_new_nhwc(p, value, border, border_value);
    qgc_planner_fill_border(p, buffer);
    return buffer;
}

qgc_conv_buffers qgc_make_buffers(qgc_planner *p, const qgc_product *m, const qgc_window *window)
{
    qgc_border none = {0};
    qgc_conv_buffers b = {0};
    b.in = qgc_planner_nhwc(p, m->x, window->border, (uint16_t)m->x_stored_zero_point);
    b.in_pixels = qgc_buffer_pixels(b.in, &window->border);
    if (m->addend) {
        b.addend = qgc_planner_nhwc(p, m->addend, none, 0);
        b.addend_pixels = qgc_buffer_pixels(b.addend, &none);
    }
    b.out = qgc_make_output(p, qgc_product_result(m));
    b.out_pixels = qgc_buffer_pixels(b.out, &none);
    return b;
}

/* ---- lists ---- */

qgc_lists qgc_new_lists(qgc_planner *p, const qgc_product *m, size_t channels, size_t num_starts,
                        const void **constants)
{
    qgc_lists lists = {.dot_zero_point =
                           m->x_stored_zero_point - (p->target->has_signed_dot ? 128 : 0),
                       .is_positive = true,
                       .channels = channels,
                       .num_starts = num_starts,
                       .p = p,
                       .constants = constants};
    lists.start = qgc_planner_constant(p, channels * num_starts, sizeof(int32_t));
    lists.multipliers = qgc_planner_constant(p, channels, sizeof(float));
    constants[QGC_CONV_START] = lists.start;
    constants[QGC_CONV_MULTIPLIERS] = lists.multipliers;
    if (m->c.list || m->c.value != 0.0f)
        constants[QGC_CONV_BIAS] = lists.bias = qgc_planner_constant(p, channels, sizeof(float));
    if (m->addend)
        constants[QGC_CONV_ADDEND_MULTIPLIERS] = lists.addend_multipliers =
            qgc_planner_constant(p, channels, sizeof(float));
    if (m->x_zero_point)
        constants[QGC_CONV_WEIGHT_SUMS] = lists.weight_sums =
            qgc_planner_constant(p, channels, sizeof(int32_t));
    return lists;
}

static void bound_channel(const qgc_product *m, qgc_lists *lists, int64_t channel, int32_t start,
                          int64_t magnitude)
{
    double sum = fabs((double)start) + 255.0 * (double)magnitude;
    float multiplier = qgc_channel_value(&m->multipliers, channel);
    if (sum > lists->max_acc)
        lists->max_acc = sum;
    if (!(multiplier > 0.0f && multiplier < 0x1p64f))
        lists->is_positive = false;
    sum *= fabs((double)multiplier);
    sum += fabs((double)qgc_channel_value(&m->c, channel));
    if (m->addend)
        sum += (65536.0 + 512.0) * fabs((double)qgc_channel_value(&m->addend_multipliers, channel));
    if (sum > lists->max_sum)
        lists->max_sum = sum;
}

void qgc_fill_lists(const qgc_product *m, qgc_lists *lists, const qgc_block *b,
                    const qgc_channel_sum *sums)
{
    const int32_t *bias = m->bias ? m->bias->data : NULL;
    uint32_t width = b->vectors * b->lanes;
    for (uint32_t i = 0; i < width; i++) {
        int64_t channel =
            b->first + qgc_block_channel(b->vectors, b->lanes, i / b->lanes, i % b->lanes);
        if (channel >= b->end)
            continue;
        uint32_t start = bias ? (uint32_t)bias[channel] : 0;
        start -= (uint32_t)lists->dot_zero_point * (uint32_t)sums[i].sum;
        lists->start[i] = (int32_t)start;
        bound_channel(m, lists, channel, (int32_t)start, sums[i].magnitude);
    }
    lists->start += width;
    for (uint32_t i = 0; lists->weight_sums && i < width; i++)
        *lists->weight_sums++ = sums[i].sum;
    qgc_fill_block(&m->multipliers, b->first, b->end, b->vectors, b->lanes, lists->multipliers);
    lists->multipliers += width;
    if (lists->bias) {
        qgc_fill_block(&m->c, b->first, b->end, b->vectors, b->lanes, lists->bias);
        lists->bias += width;
    }
    if (lists->addend_multipliers) {
        qgc_fill_block(&m->addend_multipliers, b->first, b->end, b->vectors, b->lanes,
                       lists->addend_multipliers);
        lists->addend_multipliers += width;
    }
}

/* Moves the starts by the bits of 2^23, once that is proved harmless (see qgc_epilogue). */
static void shift_lists(const qgc_lists *lists)
{
    const float *multipliers = lists->constants[QGC_CONV_MULTIPLIERS];
    int32_t *start = (int32_t *)(uintptr_t)lists->constants[QGC_CONV_START];
    float *shift = qgc_planner_constant(lists->p, lists->channels, sizeof(float));
    for (size_t i = 0; i < lists->channels * lists->num_starts; i++)
        start[i] += 0x4b000000;
    for (size_t i = 0; i < lists->channels; i++)
        shift[i] = -0x1p23f * multipliers[i];
    lists->constants[QGC_CONV_BIAS] = shift;
}

qgc_epilogue qgc_finish_lists(const qgc_product *m, const qgc_lists *lists)
{
    qgc_epilogue epilogue = qgc_make_epilogue(m, lists->max_sum);
    epilogue.is_shifted = lists->p->target->has_fma && !epilogue.is_raw && !epilogue.has_bias &&
                          !epilogue.has_addend && epilogue.lo >= epilogue.zero_point &&
                          lists->is_positive && lists->max_acc < 0x1p23;
    if (epilogue.is_shifted)
        shift_lists(lists);
    return epilogue;
}

/* ---- terms ---- */

const char *qgc_plan_terms(qgc_planner *p, const qgc_node *node,
                           const char *(*plan)(qgc_planner *p, const qgc_node *sum))
{
    if (node->op != QGC_OP_REQUANTIZE)
        return plan(p, node);
    uint32_t begin, num = qgc_node_operand_range(node, 0, &begin);
    for (uint32_t i = 0; i < num; i++) {
        const qgc_node *sum = node->operands[begin + i].value->def;
        if (!sum || !qgc_map_get(&p->put_off, sum))
            continue;
        const char *why = plan(p, sum);
        if (!why)
            return NULL;
        if (why[0])
            qgc_planner_decline(p, sum, why);
    }
    return "";
}

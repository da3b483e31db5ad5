#include "ir/window.h"

/* Keeps every product of the geometry far from the limits of int64_t. */
static const int64_t LARGEST = INT32_MAX;

static bool is_same(qgc_auto_pad auto_pad)
{
    return auto_pad == QGC_PAD_SAME_UPPER || auto_pad == QGC_PAD_SAME_LOWER;
}

static qgc_result check_range(qgc_infer *in, const char *name, int rule, const int64_t *list,
                              uint32_t num, int64_t least)
{
    for (uint32_t i = 0; i < num; i++)
        QGC_RULE(in, rule, list[i] >= least && list[i] <= LARGEST,
                 "%s[%u] is %lld, expected %lld to %lld", name, i, (long long)list[i],
                 (long long)least, (long long)LARGEST);
    return QGC_OK;
}

qgc_result qgc_in_window(qgc_infer *in, uint32_t num, const qgc_window_rules *rules,
                         qgc_window_attrs *out)
{
    uint32_t sides = 2 * num;
    out->num = num;
    out->auto_pad = (qgc_auto_pad)qgc_node_word(in->node, "auto_pad");
    QGC_TRY(qgc_in_ints(in, "stride", rules->steps, &num, &out->stride));
    QGC_TRY(qgc_in_ints(in, "dilation", rules->steps, &num, &out->dilation));
    QGC_TRY(check_range(in, "stride", rules->steps, out->stride, num, 1));
    QGC_TRY(check_range(in, "dilation", rules->steps, out->dilation, num, 1));
    QGC_TRY(qgc_in_ints(in, "padding", rules->padding, &sides, &out->padding));
    QGC_TRY(check_range(in, "padding", rules->padding, out->padding, sides, 0));
    QGC_RULE(in, rules->padding,
             out->auto_pad == QGC_PAD_NONE || !qgc_node_has(in->node, "padding"),
             "both padding and auto_pad are given");
    return QGC_OK;
}

qgc_dim qgc_window_extent(qgc_infer *in, const qgc_window_attrs *attrs, uint32_t axis,
                          qgc_dim kernel)
{
    qgc_dims *dims = &in->context->dims;
    qgc_dim dilation = qgc_dim_number(attrs->dilation[axis]), one = qgc_dim_number(1);
    return qgc_dim_add(dims, qgc_dim_mul(dims, dilation, qgc_dim_sub(dims, kernel, one)), one);
}

static qgc_dim ceil_div(qgc_dims *dims, qgc_dim a, int64_t b)
{
    return qgc_dim_div(dims, qgc_dim_add(dims, a, qgc_dim_number(b - 1)), qgc_dim_number(b));
}

/* ceil_mode: whether the last window starts behind size + begin. It never does where
 * end + stride <= extent; else only numbers decide. */
static qgc_dim drop_last(qgc_infer *in, qgc_dim out, qgc_dim reach, qgc_dim extent, int64_t stride,
                         int64_t end)
{
    qgc_dims *dims = &in->context->dims;
    if (qgc_dim_is_number(extent) && end + stride <= extent.value)
        return out;
    if (!qgc_dim_is_number(out) || !qgc_dim_is_number(reach))
        return qgc_dim_unknown(dims);
    return qgc_dim_number(out.value - ((out.value - 1) * stride >= reach.value));
}

qgc_result qgc_window_out(qgc_infer *in, const qgc_window_attrs *attrs, int fits_rule,
                          uint32_t axis, qgc_dim size, qgc_dim kernel, bool ceil_mode, qgc_dim *out)
{
    qgc_dims *dims = &in->context->dims;
    int64_t stride = attrs->stride[axis], begin = attrs->padding[axis];
    int64_t end = attrs->padding[attrs->num + axis];
    QGC_RULE(in, fits_rule,
             !qgc_dim_is_number(kernel) || (kernel.value >= 1 && kernel.value <= LARGEST),
             "the kernel has %s taps along spatial dimension %u", qgc_in_dim_str(in, kernel), axis);
    if (is_same(attrs->auto_pad)) {
        *out = ceil_div(dims, size, stride);
        return QGC_OK;
    }
    qgc_dim extent = qgc_window_extent(in, attrs, axis, kernel);
    qgc_dim reach = qgc_dim_add(dims, size, qgc_dim_number(begin));
    qgc_dim room = qgc_dim_sub(dims, qgc_dim_add(dims, reach, qgc_dim_number(end)), extent);
    QGC_RULE(in, fits_rule,
             !qgc_dim_is_number(room) || room.value >= 0 || (ceil_mode && room.value > -stride),
             "spatial dimension %u is %s, padded by %lld and %lld; the window spans %s", axis,
             qgc_in_dim_str(in, size), (long long)begin, (long long)end,
             qgc_in_dim_str(in, extent));
    qgc_dim steps =
        ceil_mode ? ceil_div(dims, room, stride) : qgc_dim_div(dims, room, qgc_dim_number(stride));
    *out = qgc_dim_add(dims, steps, qgc_dim_number(1));
    if (ceil_mode)
        *out = drop_last(in, *out, reach, extent, stride, end);
    return QGC_OK;
}

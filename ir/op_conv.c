/* Infer hooks: convolution and its transpose, over any number of spatial dimensions. */
#include "ir/conv.h"
#include "ir/window.h"

#include <string.h>

static qgc_result check_types(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *w = qgc_in(in, 1), *b = qgc_in(in, 2);
    QGC_RULE(in, 1, x->dtype == w->dtype && (!b || b->dtype == x->dtype), "x is %s, w is %s%s%s",
             qgc_in_type_str(in, x), qgc_in_type_str(in, w), b ? ", b is " : "",
             b ? qgc_in_type_str(in, b) : "");
    return QGC_OK;
}

/* What conv and conv_transpose check alike, under the same numbers: C2 ranks, C5 groups. The number
 * of spatial dimensions is the mnemonic's last digit. */
static qgc_result check_operands(qgc_infer *in, uint32_t *out_spatial, int64_t *out_groups)
{
    const qgc_type *x = qgc_in(in, 0), *w = qgc_in(in, 1);
    const char *x_text = qgc_in_type_str(in, x), *w_text = qgc_in_type_str(in, w);
    char digit = in->op->mnemonic[strlen(in->op->mnemonic) - 2];
    uint32_t spatial = (uint32_t)(digit - '0');
    QGC_RULE(in, 2, x->rank == spatial + 2 && w->rank == spatial + 2,
             "x is %s, w is %s, expected rank %u", x_text, w_text, spatial + 2);
    *out_spatial = spatial;
    *out_groups = qgc_node_int(in->node, "groups");
    QGC_RULE(in, 5, *out_groups >= 1, "groups is %lld", (long long)*out_groups);
    return QGC_OK;
}

static bool divides(int64_t groups, qgc_dim channels)
{
    return !qgc_dim_is_number(channels) || channels.value % groups == 0;
}

static qgc_result check_bias(qgc_infer *in, int rule, qgc_dim channels)
{
    const qgc_type *b = qgc_in(in, 2);
    QGC_RULE(in, rule, !b || (b->rank == 1 && !qgc_dim_conflict(b->dims[0], channels)),
             "b is %s, y has %s channels", b ? qgc_in_type_str(in, b) : "",
             qgc_in_dim_str(in, channels));
    return QGC_OK;
}

qgc_result qgc_conv_dims(qgc_infer *in, qgc_dim *dims)
{
    static const qgc_window_rules rules = {.steps = 3, .padding = 4, .fits = 8};
    const qgc_type *x = qgc_in(in, 0), *w = qgc_in(in, 1);
    uint32_t spatial;
    int64_t groups;
    QGC_TRY(check_operands(in, &spatial, &groups));
    qgc_window_attrs attrs;
    QGC_TRY(qgc_in_window(in, spatial, &rules, &attrs));
    QGC_RULE(in, 5, divides(groups, x->dims[1]) && divides(groups, w->dims[0]),
             "%lld groups, x is %s, w is %s", (long long)groups, qgc_in_type_str(in, x),
             qgc_in_type_str(in, w));
    qgc_dim per_group = qgc_dim_mul(&in->context->dims, w->dims[1], qgc_dim_number(groups));
    QGC_RULE(in, 6, !qgc_dim_conflict(per_group, x->dims[1]), "%lld groups, x is %s, w is %s",
             (long long)groups, qgc_in_type_str(in, x), qgc_in_type_str(in, w));
    QGC_TRY(check_bias(in, 7, w->dims[0]));
    dims[0] = x->dims[0];
    dims[1] = w->dims[0];
    for (uint32_t i = 0; i < spatial; i++)
        QGC_TRY(qgc_window_out(in, &attrs, rules.fits, i, x->dims[2 + i], w->dims[2 + i], false,
                               &dims[2 + i]));
    return QGC_OK;
}

qgc_result infer_conv(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(check_types(in));
    QGC_TRY(qgc_conv_dims(in, dims));
    in->results[0] = qgc_in_type(in, x->dtype, x->rank, dims);
    return QGC_OK;
}

/* (size - 1) * stride + extent + output_padding - begin - end, or what output_size or auto_pad
 * says. */
static qgc_dim transposed_size(qgc_infer *in, const qgc_window_attrs *attrs, uint32_t axis,
                               qgc_dim size, qgc_dim kernel)
{
    qgc_dims *dims = &in->context->dims;
    qgc_dim stride = qgc_dim_number(attrs->stride[axis]);
    if (qgc_node_has(in->node, "output_size"))
        return qgc_dim_number(qgc_node_int_at(in->node, "output_size", axis));
    if (attrs->auto_pad == QGC_PAD_SAME_UPPER || attrs->auto_pad == QGC_PAD_SAME_LOWER)
        return qgc_dim_mul(dims, size, stride);
    qgc_dim steps = qgc_dim_mul(dims, qgc_dim_sub(dims, size, qgc_dim_number(1)), stride);
    qgc_dim whole = qgc_dim_add(dims, steps, qgc_window_extent(in, attrs, axis, kernel));
    int64_t extra = qgc_node_int_at(in->node, "output_padding", axis) - attrs->padding[axis] -
                    attrs->padding[attrs->num + axis];
    return qgc_dim_add(dims, whole, qgc_dim_number(extra));
}

static qgc_result check_output_lists(qgc_infer *in, uint32_t spatial)
{
    const int64_t *list;
    QGC_TRY(qgc_in_ints(in, "output_padding", 9, &spatial, &list));
    for (uint32_t i = 0; i < spatial; i++)
        QGC_RULE(in, 9, list[i] >= 0 && list[i] <= INT32_MAX, "output_padding[%u] is %lld", i,
                 (long long)list[i]);
    if (!qgc_node_has(in->node, "output_size"))
        return QGC_OK;
    QGC_RULE(in, 10, !qgc_node_has(in->node, "padding"), "both padding and output_size are given");
    return qgc_in_ints(in, "output_size", 10, &spatial, &list);
}

qgc_result qgc_conv_transpose_dims(qgc_infer *in, qgc_dim *dims)
{
    static const qgc_window_rules rules = {.steps = 3, .padding = 4};
    const qgc_type *x = qgc_in(in, 0), *w = qgc_in(in, 1);
    uint32_t spatial;
    int64_t groups;
    QGC_TRY(check_operands(in, &spatial, &groups));
    qgc_window_attrs attrs;
    QGC_TRY(qgc_in_window(in, spatial, &rules, &attrs));
    QGC_TRY(check_output_lists(in, spatial));
    QGC_RULE(in, 5, divides(groups, x->dims[1]), "%lld groups, x is %s", (long long)groups,
             qgc_in_type_str(in, x));
    QGC_RULE(in, 6, !qgc_dim_conflict(w->dims[0], x->dims[1]), "x is %s, w is %s",
             qgc_in_type_str(in, x), qgc_in_type_str(in, w));
    qgc_dim channels = qgc_dim_mul(&in->context->dims, w->dims[1], qgc_dim_number(groups));
    QGC_TRY(check_bias(in, 7, channels));
    dims[0] = x->dims[0];
    dims[1] = channels;
    for (uint32_t i = 0; i < spatial; i++) {
        qgc_dim taps = w->dims[2 + i], *size = &dims[2 + i];
        *size = transposed_size(in, &attrs, i, x->dims[2 + i], taps);
        QGC_RULE(in, 8, !qgc_dim_is_number(taps) || (taps.value >= 1 && taps.value <= INT32_MAX),
                 "the kernel has %s taps along spatial dimension %u", qgc_in_dim_str(in, taps), i);
        QGC_RULE(in, 8, !qgc_dim_is_number(*size) || size->value >= 0,
                 "spatial dimension %u of y has size %s", i, qgc_in_dim_str(in, *size));
    }
    return QGC_OK;
}

qgc_result infer_conv_transpose(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(check_types(in));
    QGC_TRY(qgc_conv_transpose_dims(in, dims));
    in->results[0] = qgc_in_type(in, x->dtype, x->rank, dims);
    return QGC_OK;
}

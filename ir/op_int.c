/* Infer hooks: integer convolution, linear, matmul and sums with explicit zero points. */
#include "ir/conv.h"
#include "ir/quant_params.h"

#include <string.h>

enum { X, W, BIAS, X_ZERO_POINT, W_ZERO_POINT };

/* Rule C1. */
static qgc_result check_bias(qgc_infer *in, qgc_dtype acc, qgc_dim channels)
{
    const qgc_type *bias = qgc_in(in, BIAS);
    QGC_RULE(in, 1,
             !bias || (bias->dtype == acc && bias->rank == 1 &&
                       !qgc_dim_conflict(bias->dims[0], channels)),
             "bias is %s, expected %s[%s]", qgc_in_type_str(in, bias), qgc_dtype_name(acc),
             qgc_in_dim_str(in, channels));
    return QGC_OK;
}

/* Rules |first_rule| and the next one. */
static qgc_result check_zero_points(qgc_infer *in, qgc_dim channels, int first_rule)
{
    QGC_TRY(qgc_check_zero_point(in, "x_zero_point", X_ZERO_POINT, qgc_in(in, X)->dtype, NULL,
                                 first_rule));
    return qgc_check_zero_point(in, "w_zero_point", W_ZERO_POINT, qgc_in(in, W)->dtype, &channels,
                                first_rule + 1);
}

qgc_result infer_int_linear(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, X), *w = qgc_in(in, W);
    const char *x_text = qgc_in_type_str(in, x), *w_text = qgc_in_type_str(in, w);
    QGC_RULE(in, 2, x->rank >= 1 && w->rank == 2, "x is %s, w is %s", x_text, w_text);
    QGC_RULE(in, 3, !qgc_dim_conflict(x->dims[x->rank - 1], w->dims[1]), "x is %s, w is %s", x_text,
             w_text);
    qgc_dtype acc = qgc_accumulator_dtype(x, w);
    QGC_TRY(check_bias(in, acc, w->dims[0]));
    QGC_TRY(check_zero_points(in, w->dims[0], 4));
    qgc_dim dims[QGC_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank - 1] = w->dims[0];
    in->results[0] = qgc_in_type(in, acc, x->rank, dims);
    return QGC_OK;
}

qgc_result infer_int_matmul(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, X), *w = qgc_in(in, W);
    const char *x_text = qgc_in_type_str(in, x), *w_text = qgc_in_type_str(in, w);
    QGC_RULE(in, 2, x->rank >= 2 && w->rank >= 2, "x is %s, w is %s", x_text, w_text);
    qgc_dim columns = w->dims[w->rank - 1], dims[QGC_MAX_RANK];
    uint32_t lead;
    const qgc_type *x_lead = qgc_in_type(in, x->dtype, x->rank - 2, x->dims);
    const qgc_type *w_lead = qgc_in_type(in, w->dtype, w->rank - 2, w->dims);
    QGC_RULE(in, 3,
             !qgc_dim_conflict(x->dims[x->rank - 1], w->dims[w->rank - 2]) &&
                 qgc_broadcast(in, x_lead, w_lead, &lead, dims),
             "x is %s, w is %s", x_text, w_text);
    qgc_dtype acc = qgc_accumulator_dtype(x, w);
    QGC_TRY(check_bias(in, acc, columns));
    QGC_TRY(check_zero_points(in, columns, 4));
    dims[lead] = x->dims[x->rank - 2];
    dims[lead + 1] = columns;
    in->results[0] = qgc_in_type(in, acc, lead + 2, dims);
    return QGC_OK;
}

qgc_result infer_int_sum(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    const qgc_attr *axes = qgc_node_attr(in->node, "axes");
    bool summed[QGC_MAX_RANK] = {false}, keeps = qgc_node_flag(in->node, "keepdims");
    for (uint32_t i = 0; i < (axes ? axes->num : x->rank); i++) {
        uint32_t axis = i;
        if (axes)
            QGC_TRY(qgc_in_axis(in, axes->ints[i], x->rank, 1, &axis));
        QGC_RULE(in, 1, !summed[axis], "axis %u is named twice", axis);
        summed[axis] = true;
    }
    QGC_TRY(qgc_check_zero_point(in, "x_zero_point", 1, x->dtype, NULL, 2));
    qgc_dim dims[QGC_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (!summed[i] || keeps)
            dims[rank++] = summed[i] ? qgc_dim_number(1) : x->dims[i];
    in->results[0] = qgc_in_type(in, qgc_accumulator_dtype(x, NULL), rank, dims);
    return QGC_OK;
}

static qgc_result infer_windows(qgc_infer *in, qgc_result (*shape)(qgc_infer *, qgc_dim *),
                                int zero_point_rule)
{
    const qgc_type *x = qgc_in(in, X);
    qgc_dtype acc = qgc_accumulator_dtype(x, qgc_in(in, W));
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(shape(in, dims));
    QGC_TRY(check_bias(in, acc, dims[1]));
    QGC_TRY(check_zero_points(in, dims[1], zero_point_rule));
    in->results[0] = qgc_in_type(in, acc, x->rank, dims);
    return QGC_OK;
}

qgc_result infer_int_conv(qgc_infer *in)
{
    return infer_windows(in, qgc_conv_dims, 9);
}

qgc_result infer_int_conv_transpose(qgc_infer *in)
{
    return infer_windows(in, qgc_conv_transpose_dims, 11);
}

/* Rules C1 to C5 are those of the float pools. */
qgc_infer_fn infer_pool;

qgc_result infer_int_sum_pool(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    QGC_TRY(infer_pool(in));
    QGC_TRY(qgc_check_zero_point(in, "x_zero_point", 1, x->dtype, NULL, 6));
    in->results[0] =
        qgc_type_with_dtype(&in->context->types, in->results[0], qgc_accumulator_dtype(x, NULL));
    return QGC_OK;
}

#include "ir/quant_params.h"

static qgc_result check_given_once(qgc_infer *in)
{
    bool scale_attr = qgc_node_has(in->node, "scale"), scale = qgc_in(in, 1) != NULL;
    QGC_RULE(in, 1, scale_attr != scale, "scale is %s",
             scale ? "an attribute and an operand" : "missing");
    QGC_RULE(in, 2, !qgc_node_has(in->node, "zero_point") || !qgc_in(in, 2),
             "zero_point is an attribute and an operand");
    return QGC_OK;
}

static qgc_result check_shapes(qgc_infer *in, const qgc_type *x)
{
    const qgc_type *scale = qgc_in(in, 1), *zero_point = qgc_in(in, 2);
    const qgc_attr *axis = qgc_node_attr(in->node, "axis");
    QGC_RULE(in, 3, !scale || scale->rank <= 1, "scale is %s", qgc_in_type_str(in, scale));
    uint32_t rank = scale ? scale->rank : 0, index = 0;
    QGC_RULE(in, 4, (axis != NULL) == (rank == 1), "axis is %s, scale is %s",
             axis ? "given" : "not given", rank ? "a list" : "one number");
    if (axis)
        QGC_TRY(qgc_in_axis(in, axis->i, x->rank, 4, &index));
    QGC_RULE(in, 3, !rank || !qgc_dim_conflict(scale->dims[0], x->dims[index]),
             "scale is %s, dimension %u of %s", qgc_in_type_str(in, scale), index,
             qgc_in_type_str(in, x));
    QGC_RULE(in, 5,
             !zero_point || (zero_point->rank == rank &&
                             (!rank || !qgc_dim_conflict(zero_point->dims[0], scale->dims[0]))),
             "zero_point is %s, scale is %s", qgc_in_type_str(in, zero_point),
             scale ? qgc_in_type_str(in, scale) : "one number");
    return QGC_OK;
}

static qgc_result check_scale(qgc_infer *in, float scale)
{
    qgc_quant_fault fault = qgc_quant_check_scale(scale);
    QGC_RULE(in, 6, fault == QGC_QUANT_OK, "%s", qgc_quant_fault_text(fault));
    return QGC_OK;
}

static qgc_result check_scale_values(qgc_infer *in)
{
    const qgc_tensor *scale = qgc_in_value(in, 1);
    if (qgc_node_has(in->node, "scale"))
        return check_scale(in, qgc_node_float(in->node, "scale"));
    size_t num = scale ? scale->bytes / sizeof(float) : 0;
    if (scale && !scale->rank)
        return check_scale(in, *(const float *)scale->data);
    for (size_t i = 0; i < num; i++) {
        qgc_quant_fault fault = qgc_quant_check_scale(((const float *)scale->data)[i]);
        QGC_RULE(in, 6, fault == QGC_QUANT_OK, "channel %zu: %s", i, qgc_quant_fault_text(fault));
    }
    return QGC_OK;
}

/* Each number of a constant zero point, or the attribute. */
static qgc_result check_zero_point_values(qgc_infer *in, const char *name, uint32_t index,
                                          qgc_dtype dtype, int rule)
{
    qgc_int_range range;
    bool known = qgc_quant_dtype_range(dtype, &range);
    QGC_ASSERT(known, "type %s", qgc_dtype_name(dtype));
    const qgc_tensor *value = qgc_in_value(in, index);
    size_t num = value ? value->bytes / sizeof(int32_t) : qgc_in(in, index) ? 0 : 1;
    for (size_t i = 0; i < num; i++) {
        int64_t zero_point =
            value ? ((const int32_t *)value->data)[i] : qgc_node_int(in->node, name);
        bool fits = zero_point >= range.lo && zero_point <= range.hi;
        QGC_RULE(in, rule, fits || (value && value->rank), "%s is %lld, %s holds %d to %d", name,
                 (long long)zero_point, qgc_dtype_name(dtype), range.lo, range.hi);
        QGC_RULE(in, rule, fits, "channel %zu: %s is %lld, %s holds %d to %d", i, name,
                 (long long)zero_point, qgc_dtype_name(dtype), range.lo, range.hi);
    }
    return QGC_OK;
}

qgc_result qgc_check_scales(qgc_infer *in, const qgc_type *x, qgc_dtype dtype)
{
    QGC_TRY(check_given_once(in));
    QGC_TRY(check_shapes(in, x));
    QGC_TRY(check_scale_values(in));
    return check_zero_point_values(in, "zero_point", 2, dtype, 7);
}

qgc_result qgc_check_zero_point(qgc_infer *in, const char *name, uint32_t index, qgc_dtype dtype,
                                const qgc_dim *channels, int rule)
{
    const qgc_type *operand = qgc_in(in, index);
    QGC_RULE(in, rule, !operand || !qgc_node_has(in->node, name),
             "%s is an attribute and an operand", name);
    bool is_list = operand && operand->rank == 1 && channels;
    QGC_RULE(in, rule,
             !operand || operand->rank == 0 ||
                 (is_list && !qgc_dim_conflict(operand->dims[0], *channels)),
             "%s is %s", name, qgc_in_type_str(in, operand));
    return check_zero_point_values(in, name, index, dtype, rule);
}

qgc_dtype qgc_accumulator_dtype(const qgc_type *x, const qgc_type *w)
{
    bool wide = qgc_dtype_bytes(x->dtype) > 1 || (w && qgc_dtype_bytes(w->dtype) > 1);
    return wide ? QGC_DTYPE_I64 : QGC_DTYPE_I32;
}

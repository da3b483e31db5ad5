/* Infer hook of requantize. Operand rows: the terms, then multipliers and c. */
#include "ir/quant_params.h"

#include <math.h>

static const qgc_type *optional(qgc_infer *in, uint32_t row, const qgc_tensor **out_value)
{
    uint32_t begin;
    qgc_node_operand_range(in->node, row, &begin);
    *out_value = qgc_in_value(in, begin);
    return in->operands[begin];
}

/* C1: the shape that the terms broadcast to. */
static qgc_result broadcast_terms(qgc_infer *in, uint32_t num, const qgc_type **out)
{
    QGC_RULE(in, 1, num >= 1, "no terms are given");
    *out = in->operands[0];
    for (uint32_t i = 1; i < num; i++) {
        qgc_dim dims[QGC_MAX_RANK];
        uint32_t rank;
        QGC_RULE(in, 1, qgc_broadcast(in, *out, in->operands[i], &rank, dims),
                 "term %u is %s, those before are %s", i, qgc_in_type_str(in, in->operands[i]),
                 qgc_in_type_str(in, *out));
        *out = qgc_in_type(in, (*out)->dtype, rank, dims);
    }
    return QGC_OK;
}

/* Whether dimensions [from, ...) of |type| broadcast to |result| without enlarging it. */
static bool fits_result(qgc_infer *in, const qgc_type *type, uint32_t from, const qgc_type *result)
{
    qgc_dim dims[QGC_MAX_RANK];
    uint32_t rank = type->rank - from;
    const qgc_type *rest = qgc_in_type(in, type->dtype, rank, type->dims + from);
    if (rank > result->rank || !qgc_broadcast(in, rest, result, &rank, dims))
        return false;
    for (uint32_t i = 0; i < result->rank; i++)
        if (qgc_dim_conflict(dims[i], result->dims[i]))
            return false;
    return true;
}

/* Per channel: one dimension behind |from|, as long as dimension |axis| of the result. */
static bool is_per_channel(const qgc_type *type, uint32_t from, const qgc_type *result,
                           uint32_t axis)
{
    return type->rank == from + 1 && !qgc_dim_conflict(type->dims[from], result->dims[axis]);
}

static qgc_result check_multiplier(qgc_infer *in, float value)
{
    qgc_quant_fault fault = qgc_quant_check_scale(value);
    QGC_RULE(in, 6, fault == QGC_QUANT_OK, "multiplier: %s", qgc_quant_fault_text(fault));
    return QGC_OK;
}

static qgc_result check_multipliers(qgc_infer *in, uint32_t num, const qgc_type *result,
                                    const uint32_t *axis)
{
    const qgc_tensor *value;
    const qgc_type *operand = optional(in, 1, &value);
    const qgc_attr *attr = qgc_node_attr(in->node, "multipliers");
    QGC_RULE(in, 2, (attr != NULL) != (operand != NULL), "multipliers is %s",
             attr ? "an attribute and an operand" : "missing");
    QGC_RULE(in, 2, !attr || attr->num == num, "%u multipliers, %u terms", attr ? attr->num : 0,
             num);
    for (uint32_t i = 0; attr && i < attr->num; i++)
        QGC_TRY(check_multiplier(in, attr->floats[i]));
    if (!operand)
        return QGC_OK;
    const char *text = qgc_in_type_str(in, operand);
    QGC_RULE(in, 2, operand->rank >= 1 && !qgc_dim_conflict(operand->dims[0], qgc_dim_number(num)),
             "multipliers is %s, there are %u terms", text, num);
    QGC_RULE(in, 3,
             operand->rank == 1 || (axis ? is_per_channel(operand, 1, result, *axis)
                                         : fits_result(in, operand, 1, result)),
             "multipliers is %s, the result %s", text, qgc_in_type_str(in, result));
    for (size_t i = 0; value && i < value->bytes / sizeof(float); i++)
        QGC_TRY(check_multiplier(in, ((const float *)value->data)[i]));
    return QGC_OK;
}

static qgc_result check_c(qgc_infer *in, const qgc_type *result, const uint32_t *axis)
{
    const qgc_tensor *value;
    const qgc_type *operand = optional(in, 2, &value);
    QGC_RULE(in, 4, !operand || !qgc_node_has(in->node, "c"), "c is an attribute and an operand");
    QGC_RULE(in, 6, isfinite(qgc_node_float(in->node, "c")), "c is not finite");
    if (!operand)
        return QGC_OK;
    QGC_RULE(in, 4,
             operand->rank == 0 || (axis ? is_per_channel(operand, 0, result, *axis)
                                         : fits_result(in, operand, 0, result)),
             "c is %s, the result %s", qgc_in_type_str(in, operand), qgc_in_type_str(in, result));
    for (size_t i = 0; value && i < value->bytes / sizeof(float); i++)
        QGC_RULE(in, 6, isfinite(((const float *)value->data)[i]), "c is not finite");
    return QGC_OK;
}

static qgc_result check_axis(qgc_infer *in, const qgc_type *result, uint32_t *out, bool *out_given)
{
    const qgc_tensor *value;
    const qgc_type *multipliers = optional(in, 1, &value), *c = optional(in, 2, &value);
    const qgc_attr *axis = qgc_node_attr(in->node, "axis");
    *out_given = axis != NULL;
    if (!axis)
        return QGC_OK;
    QGC_RULE(in, 5, (multipliers && multipliers->rank > 1) || (c && c->rank > 0),
             "axis is given, but neither multipliers nor c is per channel");
    return qgc_in_axis(in, axis->i, result->rank, 5, out);
}

static qgc_result check_bounds(qgc_infer *in, qgc_int_range full, qgc_dtype dtype)
{
    int64_t zero_point = qgc_node_int(in->node, "zero_point");
    QGC_RULE(in, 7, zero_point >= full.lo && zero_point <= full.hi,
             "zero_point is %lld, %s holds %d to %d", (long long)zero_point, qgc_dtype_name(dtype),
             full.lo, full.hi);
    int64_t lo = qgc_node_has(in->node, "lo") ? qgc_node_int(in->node, "lo") : full.lo;
    int64_t hi = qgc_node_has(in->node, "hi") ? qgc_node_int(in->node, "hi") : full.hi;
    QGC_RULE(in, 9, full.lo <= lo && lo <= hi && hi <= full.hi,
             "lo is %lld, hi is %lld, %s holds %d to %d", (long long)lo, (long long)hi,
             qgc_dtype_name(dtype), full.lo, full.hi);
    return QGC_OK;
}

static qgc_result check_term_zero_points(qgc_infer *in, uint32_t num)
{
    const int64_t *list;
    QGC_TRY(qgc_in_ints(in, "term_zero_points", 8, &num, &list));
    for (uint32_t i = 0; i < num; i++)
        QGC_RULE(in, 8, list[i] >= INT32_MIN && list[i] <= INT32_MAX,
                 "term_zero_points[%u] is %lld", i, (long long)list[i]);
    return QGC_OK;
}

qgc_result infer_requantize(qgc_infer *in)
{
    const qgc_type *written = in->node->results[0].type, *result = NULL;
    qgc_int_range full;
    uint32_t begin, axis = 0, num = qgc_node_operand_range(in->node, 0, &begin);
    bool has_axis;
    if (!written)
        return qgc_infer_unknown(in, "write the result type: it says what to quantize to");
    QGC_RULE(in, 10, qgc_quant_dtype_range(written->dtype, &full), "the result is %s",
             qgc_in_type_str(in, written));
    QGC_TRY(broadcast_terms(in, num, &result));
    QGC_TRY(check_axis(in, result, &axis, &has_axis));
    QGC_TRY(check_multipliers(in, num, result, has_axis ? &axis : NULL));
    QGC_TRY(check_c(in, result, has_axis ? &axis : NULL));
    QGC_TRY(check_bounds(in, full, written->dtype));
    QGC_TRY(check_term_zero_points(in, num));
    in->results[0] = qgc_type_with_dtype(&in->context->types, result, written->dtype);
    return QGC_OK;
}

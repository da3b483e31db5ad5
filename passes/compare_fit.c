#include "passes/compare_fit.h"

#include "runtime/ref/ref.h"

bool qgc_can_fit(const qgc_value *codes, const qgc_value_key *key, const qgc_value_key *other)
{
    return key->is_constant && other->is_constant && key->is_integer && !key->has_params &&
           codes->type->rank > 1 && (other->has_params || !other->is_integer);
}

uint32_t qgc_weight_axis(const qgc_value *value, const qgc_value_key *key)
{
    if (key->has_params && key->params.per_channel)
        return key->params.axis;
    for (const qgc_use *use = value->first_use; use; use = use->next) {
        const qgc_node *user = use->user;
        uint32_t slot = (uint32_t)(use - user->operands);
        const qgc_operand_spec *row =
            &qgc_node_op(user)->operands[qgc_node_operand_row(user, slot)];
        int64_t axis = row->channel_axis + (row->channel_axis < 0 ? (int64_t)value->type->rank : 0);
        if (row->quant == QGC_Q_WEIGHT && axis >= 0 && axis < value->type->rank)
            return (uint32_t)axis;
    }
    return 0;
}

/* How many elements lie between neighbours along the axis. */
static size_t inner_size(const qgc_tensor *t, uint32_t axis)
{
    size_t inner = 1;
    for (uint32_t i = axis + 1; i < t->rank; i++)
        inner *= (size_t)t->shape[i];
    return inner;
}

void qgc_fit_scales(const qgc_tensor *codes, const float *values, const qgc_value_key *other,
                    uint32_t axis, qgc_arena *arena, qgc_value_key *key)
{
    key->has_params = true;
    key->params = other->params;
    if (other->has_params)
        return;
    size_t num = (size_t)codes->shape[axis], inner = inner_size(codes, axis);
    double *products = QGC_NEW_ARRAY(arena, double, num), *squares;
    squares = QGC_NEW_ARRAY(arena, double, num);
    float *scales = QGC_NEW_ARRAY(arena, float, num);
    for (size_t i = 0; i < qgc_tensor_count(codes); i++) {
        double q = (double)qgc_get_int(codes, i);
        products[i / inner % num] += q * (double)values[i];
        squares[i / inner % num] += q * q;
    }
    for (size_t c = 0; c < num; c++)
        scales[c] = products[c] > 0 ? (float)(products[c] / squares[c]) : 0;
    key->params = (qgc_view_params){.per_channel = true,
                                    .axis = axis,
                                    .num = num,
                                    .scales = scales,
                                    .zero_points = QGC_NEW_ARRAY(arena, int32_t, num)};
}

bool qgc_read_channels(const qgc_tensor *codes, const qgc_view_params *params, float *out)
{
    if (params->axis >= codes->rank || (size_t)codes->shape[params->axis] != params->num)
        return false;
    size_t inner = inner_size(codes, params->axis);
    for (size_t i = 0; i < qgc_tensor_count(codes); i++) {
        size_t c = i / inner % params->num;
        out[i] = qgc_dequantize((int32_t)qgc_get_int(codes, i),
                                (qgc_qparams){params->scales[c], params->zero_points[c]});
    }
    return true;
}

/* Shapes as values, tensors made from little, blocks, running sums. */
#include "runtime/ref/move.h"

#include <string.h>

qgc_result ref_shape_of(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    int64_t first, end;
    qgc_shape_range(call->node, x->rank, &first, &end);
    for (int64_t i = first; i < end; i++)
        qgc_set_int(&call->results[0], (size_t)(i - first), x->shape[i]);
    return QGC_OK;
}

qgc_result ref_size_of(qgc_ref_call *call)
{
    qgc_set_int(&call->results[0], 0, (int64_t)qgc_tensor_count(call->operands[0]));
    return QGC_OK;
}

qgc_result ref_constant_of_shape(qgc_ref_call *call)
{
    qgc_tensor *y = &call->results[0];
    const qgc_tensor *value = call->operands[1];
    size_t num = qgc_tensor_count(y);
    for (size_t i = 0; value && i < num; i++)
        qgc_ref_copy_element(y, i, value, 0);
    return QGC_OK;
}

qgc_result ref_range(qgc_ref_call *call)
{
    const qgc_tensor *start = call->operands[0], *delta = call->operands[2];
    qgc_tensor *y = &call->results[0];
    size_t num = qgc_tensor_count(y);
    for (size_t i = 0; i < num; i++) {
        if (y->dtype == QGC_DTYPE_F64)
            qgc_set_f64(y, i, qgc_get_f64(start, 0) + (double)i * qgc_get_f64(delta, 0));
        else if (qgc_dtype_get_kind(y->dtype) == QGC_FLOAT)
            qgc_set_f32(y, i, qgc_get_f32(start, 0) + (float)i * qgc_get_f32(delta, 0));
        else
            qgc_set_int(
                y, i,
                (int64_t)((uint64_t)qgc_get_int(start, 0) + i * (uint64_t)qgc_get_int(delta, 0)));
    }
    return QGC_OK;
}

static void set_one(qgc_tensor *y, size_t i)
{
    if (y->dtype == QGC_DTYPE_F64)
        qgc_set_f64(y, i, 1);
    else if (qgc_dtype_get_kind(y->dtype) == QGC_FLOAT)
        qgc_set_f32(y, i, 1);
    else
        qgc_set_int(y, i, 1);
}

qgc_result ref_eye_like(qgc_ref_call *call)
{
    qgc_tensor *y = &call->results[0];
    int64_t k = qgc_node_int(call->node, "k"), rows = y->shape[0], columns = y->shape[1];
    for (int64_t row = 0; row < rows; row++)
        if (k >= -row && k < columns - row)
            set_one(y, (size_t)(row * columns + row + k));
    return QGC_OK;
}

qgc_result ref_trilu(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    qgc_tensor *y = &call->results[0];
    uint32_t num_k;
    const int64_t *list = qgc_ref_list(call, "k", 1, &num_k);
    bool upper = qgc_node_flag(call->node, "upper");
    int64_t k = list ? list[0] : 0, rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1];
    size_t num = qgc_tensor_count(x);
    for (size_t i = 0; i < num; i++) {
        int64_t column = (int64_t)i % columns, row = (int64_t)i / columns % rows;
        if (upper ? column - row >= k : column - row <= k)
            qgc_ref_copy_element(y, i, x, i);
    }
    return QGC_OK;
}

/* ---- cumsum ---- */

typedef struct running {
    float f32;
    double f64;
    uint64_t bits;
} running;

static void add_element(running *sum, const qgc_tensor *x, size_t i)
{
    if (x->dtype == QGC_DTYPE_F64)
        sum->f64 += qgc_get_f64(x, i);
    else if (qgc_dtype_get_kind(x->dtype) == QGC_FLOAT)
        sum->f32 += qgc_get_f32(x, i);
    else
        sum->bits += (uint64_t)qgc_get_int(x, i);
}

static void set_sum(const running *sum, qgc_tensor *y, size_t i)
{
    if (y->dtype == QGC_DTYPE_F64)
        qgc_set_f64(y, i, sum->f64);
    else if (qgc_dtype_get_kind(y->dtype) == QGC_FLOAT)
        qgc_set_f32(y, i, sum->f32);
    else
        qgc_set_int(y, i, (int64_t)sum->bits);
}

qgc_result ref_cumsum(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    bool exclusive = qgc_node_flag(call->node, "exclusive");
    bool reverse = qgc_node_flag(call->node, "reverse");
    uint32_t num_axes;
    const int64_t *list = qgc_ref_list(call, "axis", 1, &num_axes);
    uint32_t axis = qgc_ref_axis_at(list, 0, x->rank);
    size_t num = (size_t)x->shape[axis], inner = qgc_ref_count(x, axis + 1, x->rank);
    size_t lines = qgc_ref_count(x, 0, axis) * inner;
    for (size_t l = 0; l < lines; l++) {
        running sum = {0};
        for (size_t k = 0; k < num; k++) {
            size_t i = (l / inner * num + (reverse ? num - 1 - k : k)) * inner + l % inner;
            if (exclusive)
                set_sum(&sum, &call->results[0], i);
            add_element(&sum, x, i);
            if (!exclusive)
                set_sum(&sum, &call->results[0], i);
        }
    }
    return QGC_OK;
}

qgc_result ref_reverse_sequence(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *lengths = call->operands[1];
    int64_t batch = qgc_node_int(call->node, "batch_axis");
    int64_t time = qgc_node_int(call->node, "time_axis");
    batch += batch < 0 ? x->rank : 0;
    time += time < 0 ? x->rank : 0;
    int64_t strides[QGC_MAX_RANK], index[QGC_MAX_RANK] = {0};
    size_t num = qgc_tensor_count(x);
    qgc_strides(x, strides);
    for (size_t i = 0; i < (size_t)lengths->shape[0]; i++)
        if (qgc_get_int(lengths, i) < 0 || qgc_get_int(lengths, i) > x->shape[time])
            return qgc_ref_fail(call, "length %lld is not in [0, %lld]",
                                (long long)qgc_get_int(lengths, i), (long long)x->shape[time]);
    for (size_t i = 0; i < num; i++) {
        int64_t length = qgc_get_int(lengths, (size_t)index[batch]), t = index[time];
        int64_t from = t < length ? (int64_t)i + (length - 1 - 2 * t) * strides[time] : (int64_t)i;
        qgc_ref_copy_element(&call->results[0], i, x, (size_t)from);
        qgc_next_index(x->rank, x->shape, index);
    }
    return QGC_OK;
}

/* ---- blocks: both ops between [N, C, H, W] and [N, C', H', block, W', block] ---- */

qgc_result ref_depth_to_space(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *y = &call->results[0];
    int64_t block = qgc_node_int(call->node, "block"), plane = x->shape[2] * x->shape[3];
    int64_t channels = y->shape[1];
    bool is_crd = qgc_node_word(call->node, "mode") == 1;
    int64_t per_channel = is_crd ? block * block : 1, per_step = is_crd ? 1 : channels;
    qgc_tensor view = {y->dtype,
                       6,
                       {y->shape[0], channels, x->shape[2], block, x->shape[3], block},
                       y->data,
                       y->bytes};
    const int64_t strides[] = {
        x->shape[1] * plane, per_channel * plane, x->shape[3], block * per_step * plane, 1,
        per_step * plane};
    qgc_ref_move(x, 0, strides, &view);
    return QGC_OK;
}

qgc_result ref_space_to_depth(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *y = &call->results[0];
    int64_t block = qgc_node_int(call->node, "block"), width = x->shape[3];
    int64_t plane = x->shape[2] * width;
    qgc_tensor view = {y->dtype,
                       6,
                       {y->shape[0], block, block, x->shape[1], y->shape[2], y->shape[3]},
                       y->data,
                       y->bytes};
    const int64_t strides[] = {x->shape[1] * plane, width, 1, plane, block * width, block};
    qgc_ref_move(x, 0, strides, &view);
    return QGC_OK;
}

/* Integer linear, matmul and sums. Accumulators wrap as their type does, so that the order of a sum
 * does not matter; kernels add in u64 and keep the low bits. */
#include "runtime/ref/int.h"

size_t qgc_int_length(const qgc_tensor *zero_point)
{
    return zero_point ? qgc_tensor_count(zero_point) : 1;
}

int64_t qgc_int_zero_point(const qgc_ref_call *call, const char *name, uint32_t index,
                           size_t channel)
{
    const qgc_tensor *zero_point = call->operands[index];
    if (!zero_point)
        return qgc_node_int(call->node, name);
    return qgc_get_int(zero_point, qgc_int_length(zero_point) > 1 ? channel : 0);
}

int32_t *qgc_int_shifted(qgc_ref_call *call, uint32_t index, int64_t zero_point)
{
    const qgc_tensor *t = call->operands[index];
    size_t num = qgc_tensor_count(t);
    int32_t *shifted = QGC_NEW_ARRAY(call->scratch, int32_t, num);
    for (size_t i = 0; i < num; i++)
        shifted[i] = (int32_t)(qgc_get_int(t, i) - zero_point);
    return shifted;
}

uint64_t qgc_int_bias(const qgc_ref_call *call, size_t channel)
{
    const qgc_tensor *bias = call->operands[QGC_INT_BIAS];
    return bias ? (uint64_t)qgc_get_int(bias, channel) : 0;
}

/* Differences have 17 bits and a sign at most: a product fits i64. */
static uint64_t dot(const int32_t *x, size_t x_step, const int32_t *w, size_t w_step, size_t num,
                    int32_t w_zero_point)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < num; k++)
        sum += (uint64_t)((int64_t)x[k * x_step] * (w[k * w_step] - w_zero_point));
    return sum;
}

qgc_result ref_int_linear(qgc_ref_call *call)
{
    qgc_tensor *acc = &call->results[0];
    size_t out = (size_t)call->operands[QGC_INT_W]->shape[0];
    size_t in = (size_t)call->operands[QGC_INT_W]->shape[1];
    const int32_t *x =
        qgc_int_shifted(call, QGC_INT_X, qgc_int_zero_point(call, "x_zero_point", QGC_INT_XZ, 0));
    const int32_t *w = qgc_int_shifted(call, QGC_INT_W, 0);
    size_t num = qgc_tensor_count(acc);
    for (size_t i = 0; i < num; i++) {
        size_t o = i % out;
        int32_t zero_point = (int32_t)qgc_int_zero_point(call, "w_zero_point", QGC_INT_WZ, o);
        uint64_t sum = dot(x + i / out * in, 1, w + o * in, 1, in, zero_point);
        qgc_set_int(acc, i, (int64_t)(qgc_int_bias(call, o) + sum));
    }
    return QGC_OK;
}

/* Row i, column j of one product of matrices. */
static void multiply(qgc_ref_call *call, const int32_t *x, const int32_t *w, size_t k, size_t at)
{
    qgc_tensor *acc = &call->results[0];
    size_t rows = (size_t)acc->shape[acc->rank - 2], columns = (size_t)acc->shape[acc->rank - 1];
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            int32_t zero_point = (int32_t)qgc_int_zero_point(call, "w_zero_point", QGC_INT_WZ, j);
            uint64_t sum = dot(x + i * k, 1, w + j, columns, k, zero_point);
            qgc_set_int(acc, at + i * columns + j, (int64_t)(qgc_int_bias(call, j) + sum));
        }
}

/* The tensor without its last two dimensions: a grid of matrices. */
static qgc_tensor grid_of(const qgc_tensor *t)
{
    qgc_tensor grid = *t;
    grid.rank -= 2;
    return grid;
}

qgc_result ref_int_matmul(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[QGC_INT_X], *w = call->operands[QGC_INT_W];
    const qgc_tensor *acc = &call->results[0];
    qgc_tensor x_grid = grid_of(x), w_grid = grid_of(w);
    uint32_t lead = acc->rank - 2;
    int64_t x_steps[QGC_MAX_RANK], w_steps[QGC_MAX_RANK], index[QGC_MAX_RANK] = {0};
    qgc_broadcast_strides(&x_grid, lead, acc->shape, x_steps);
    qgc_broadcast_strides(&w_grid, lead, acc->shape, w_steps);
    size_t k = (size_t)x->shape[x->rank - 1], rows = (size_t)acc->shape[lead];
    size_t columns = (size_t)acc->shape[lead + 1], at = 0;
    const int32_t *xs =
        qgc_int_shifted(call, QGC_INT_X, qgc_int_zero_point(call, "x_zero_point", QGC_INT_XZ, 0));
    const int32_t *ws = qgc_int_shifted(call, QGC_INT_W, 0);
    if (!qgc_tensor_count(acc))
        return QGC_OK;
    do {
        size_t ix = 0, iw = 0;
        for (uint32_t d = 0; d < lead; d++) {
            ix += (size_t)(index[d] * x_steps[d]);
            iw += (size_t)(index[d] * w_steps[d]);
        }
        multiply(call, xs + ix * rows * k, ws + iw * k * columns, k, at);
        at += rows * columns;
    } while (qgc_next_index(lead, acc->shape, index));
    return QGC_OK;
}

/* Strides of the result for an index of x: 0 along summed axes. */
static void sum_strides(const qgc_ref_call *call, int64_t *strides)
{
    const qgc_tensor *x = call->operands[0];
    bool summed[QGC_MAX_RANK];
    uint32_t num = qgc_node_list_size(call->node, "axes");
    for (uint32_t i = 0; i < x->rank; i++)
        summed[i] = !qgc_node_has(call->node, "axes");
    for (uint32_t i = 0; i < num; i++) {
        int64_t axis = qgc_node_int_at(call->node, "axes", i);
        summed[axis < 0 ? axis + x->rank : axis] = true;
    }
    int64_t stride = 1;
    for (uint32_t i = x->rank; i-- > 0;) {
        strides[i] = summed[i] ? 0 : stride;
        stride *= summed[i] ? 1 : x->shape[i];
    }
}

qgc_result ref_int_sum(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    qgc_tensor *acc = &call->results[0];
    int64_t strides[QGC_MAX_RANK], index[QGC_MAX_RANK] = {0};
    int64_t zero_point = qgc_int_zero_point(call, "x_zero_point", 1, 0);
    sum_strides(call, strides);
    size_t num = qgc_tensor_count(x);
    for (size_t i = 0; i < num; i++) {
        size_t to = 0;
        for (uint32_t d = 0; d < x->rank; d++)
            to += (size_t)(index[d] * strides[d]);
        uint64_t sum = (uint64_t)qgc_get_int(acc, to);
        qgc_set_int(acc, to, (int64_t)(sum + (uint64_t)(qgc_get_int(x, i) - zero_point)));
        qgc_next_index(x->rank, x->shape, index);
    }
    return QGC_OK;
}

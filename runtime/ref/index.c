/* Elements chosen or changed by index tensors. An index outside of its dimension is a run error,
 * unless there is nothing to choose: then none is looked at. */
#include "runtime/ref/move.h"

#include <math.h>
#include <string.h>

qgc_result qgc_ref_fail_index(qgc_ref_call *call, const qgc_tensor *indices, size_t i, int64_t size)
{
    return qgc_ref_fail(call, "index %lld is not in [-%lld, %lld)",
                        (long long)qgc_get_int(indices, i), (long long)size, (long long)size);
}

/* Index |i| of |indices| in [0, size). */
static qgc_result read_index(qgc_ref_call *call, const qgc_tensor *indices, size_t i, int64_t size,
                             int64_t *out)
{
    int64_t index = qgc_get_int(indices, i);
    *out = index < 0 ? index + size : index;
    return *out >= 0 && *out < size ? QGC_OK : qgc_ref_fail_index(call, indices, i, size);
}

qgc_result ref_gather(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *indices = call->operands[1];
    uint32_t axis = qgc_ref_axis(call, x->rank);
    size_t outer = qgc_ref_count(x, 0, axis), num = qgc_tensor_count(indices);
    size_t row = qgc_ref_count(x, axis + 1, x->rank) * qgc_dtype_bytes(x->dtype);
    char *to = call->results[0].data;
    for (size_t o = 0; row && o < outer; o++)
        for (size_t i = 0; i < num; i++) {
            int64_t at;
            QGC_TRY(read_index(call, indices, i, x->shape[axis], &at));
            memcpy(to, (const char *)x->data + (o * (size_t)x->shape[axis] + (size_t)at) * row,
                   row);
            to += row;
        }
    return QGC_OK;
}

/* The element of |x| at |index|, with index[axis] replaced. */
static int64_t element_at(const int64_t *strides, uint32_t rank, const int64_t *index,
                          uint32_t axis, int64_t at)
{
    int64_t element = 0;
    for (uint32_t d = 0; d < rank; d++)
        element += (d == axis ? at : index[d]) * strides[d];
    return element;
}

qgc_result ref_gather_elements(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *indices = call->operands[1];
    qgc_tensor *y = &call->results[0];
    uint32_t axis = qgc_ref_axis(call, x->rank);
    int64_t strides[QGC_MAX_RANK], index[QGC_MAX_RANK] = {0}, at;
    size_t num = qgc_tensor_count(indices);
    qgc_strides(x, strides);
    for (size_t i = 0; i < num; i++) {
        QGC_TRY(read_index(call, indices, i, x->shape[axis], &at));
        qgc_ref_copy_element(y, i, x, (size_t)element_at(strides, x->rank, index, axis, at));
        qgc_next_index(y->rank, y->shape, index);
    }
    return QGC_OK;
}

/* First element of the part of |x| that row |row| of |indices| names, behind |batch| dimensions. */
static qgc_result read_place(qgc_ref_call *call, const qgc_tensor *x, uint32_t batch, size_t row,
                             int64_t *out)
{
    const qgc_tensor *indices = call->operands[1];
    size_t depth = (size_t)indices->shape[indices->rank - 1];
    int64_t strides[QGC_MAX_RANK], place = 0, at;
    qgc_strides(x, strides);
    for (size_t d = 0; d < depth; d++) {
        QGC_TRY(read_index(call, indices, row * depth + d, x->shape[batch + d], &at));
        place += at * strides[batch + d];
    }
    *out = place;
    return QGC_OK;
}

qgc_result ref_gather_nd(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *indices = call->operands[1];
    qgc_tensor *y = &call->results[0];
    uint32_t batch = (uint32_t)qgc_node_int(call->node, "batch_dims"), last = indices->rank - 1;
    uint32_t depth = (uint32_t)indices->shape[last];
    size_t batches = qgc_ref_count(x, 0, batch), whole = qgc_ref_count(x, batch, x->rank);
    size_t rows = qgc_ref_count(indices, batch, last);
    size_t part = qgc_ref_count(x, batch + depth, x->rank), bytes = qgc_dtype_bytes(x->dtype);
    for (size_t b = 0; part && b < batches; b++)
        for (size_t r = 0; r < rows; r++) {
            int64_t place;
            QGC_TRY(read_place(call, x, batch, b * rows + r, &place));
            memcpy((char *)y->data + (b * rows + r) * part * bytes,
                   (const char *)x->data + (b * whole + (size_t)place) * bytes, part * bytes);
        }
    return QGC_OK;
}

/* ---- scatter ---- */

typedef enum scatter { SCATTER_NONE, SCATTER_ADD, SCATTER_MUL, SCATTER_MIN, SCATTER_MAX } scatter;

static double combine_f64(scatter how, double a, double b)
{
    if (how == SCATTER_ADD)
        return a + b;
    if (how == SCATTER_MUL)
        return a * b;
    if (isnan(a) || isnan(b))
        return isnan(a) ? a : b;
    return (how == SCATTER_MAX ? a < b : b < a) ? b : a;
}

static float combine_f32(scatter how, float a, float b)
{
    if (how == SCATTER_ADD)
        return a + b;
    if (how == SCATTER_MUL)
        return a * b;
    if (isnan(a) || isnan(b))
        return isnan(a) ? a : b;
    return (how == SCATTER_MAX ? a < b : b < a) ? b : a;
}

static int64_t combine_int(scatter how, bool is_unsigned, int64_t a, int64_t b)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    if (how == SCATTER_ADD)
        return (int64_t)(ua + ub);
    if (how == SCATTER_MUL)
        return (int64_t)(ua * ub);
    bool less = is_unsigned ? ua < ub : a < b, more = is_unsigned ? ub < ua : b < a;
    return (how == SCATTER_MAX ? less : more) ? b : a;
}

static void put(qgc_tensor *y, size_t to, const qgc_tensor *updates, size_t from, scatter how)
{
    if (how == SCATTER_NONE)
        qgc_ref_copy_element(y, to, updates, from);
    else if (y->dtype == QGC_DTYPE_F64)
        qgc_set_f64(y, to, combine_f64(how, qgc_get_f64(y, to), qgc_get_f64(updates, from)));
    else if (y->dtype == QGC_DTYPE_F32 || y->dtype == QGC_DTYPE_F16 || y->dtype == QGC_DTYPE_BF16)
        qgc_set_f32(y, to, combine_f32(how, qgc_get_f32(y, to), qgc_get_f32(updates, from)));
    else
        qgc_set_int(y, to,
                    combine_int(how, y->dtype == QGC_DTYPE_U64, qgc_get_int(y, to),
                                qgc_get_int(updates, from)));
}

static void copy_data(qgc_ref_call *call)
{
    if (call->results[0].bytes)
        memcpy(call->results[0].data, call->operands[0]->data, call->results[0].bytes);
}

qgc_result ref_scatter_elements(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *indices = call->operands[1];
    scatter how = (scatter)qgc_node_word(call->node, "reduction");
    uint32_t axis = qgc_ref_axis(call, x->rank);
    int64_t strides[QGC_MAX_RANK], index[QGC_MAX_RANK] = {0}, at;
    size_t num = qgc_tensor_count(indices);
    copy_data(call);
    qgc_strides(x, strides);
    for (size_t i = 0; i < num; i++) {
        QGC_TRY(read_index(call, indices, i, x->shape[axis], &at));
        size_t to = (size_t)element_at(strides, x->rank, index, axis, at);
        put(&call->results[0], to, call->operands[2], i, how);
        qgc_next_index(indices->rank, indices->shape, index);
    }
    return QGC_OK;
}

qgc_result ref_scatter_nd(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *indices = call->operands[1];
    scatter how = (scatter)qgc_node_word(call->node, "reduction");
    uint32_t last = indices->rank - 1, depth = (uint32_t)indices->shape[last];
    size_t rows = qgc_ref_count(indices, 0, last), part = qgc_ref_count(x, depth, x->rank);
    copy_data(call);
    for (size_t r = 0; r < rows; r++) {
        int64_t place;
        QGC_TRY(read_place(call, x, 0, r, &place));
        for (size_t i = 0; i < part; i++)
            put(&call->results[0], (size_t)place + i, call->operands[2], r * part + i, how);
    }
    return QGC_OK;
}

/* ---- one_hot, non_zero, compress ---- */

qgc_result ref_one_hot(qgc_ref_call *call)
{
    const qgc_tensor *indices = call->operands[0], *values = call->operands[2];
    qgc_tensor *y = &call->results[0];
    uint32_t axis = qgc_ref_axis(call, y->rank);
    int64_t depth = y->shape[axis];
    size_t outer = qgc_ref_count(y, 0, axis), inner = qgc_ref_count(y, axis + 1, y->rank);
    for (size_t i = 0; values && i < qgc_tensor_count(y); i++)
        qgc_ref_copy_element(y, i, values, 0);
    for (size_t i = 0; i < outer * inner; i++) {
        int64_t index = qgc_get_int(indices, i), at = index < 0 ? index + depth : index;
        if (at < 0 || at >= depth)
            continue;
        size_t to = (i / inner * (size_t)depth + (size_t)at) * inner + i % inner;
        if (values)
            qgc_ref_copy_element(y, to, values, 1);
        else
            qgc_set_f32(y, to, 1);
    }
    return QGC_OK;
}

static bool is_set(const qgc_tensor *t, size_t i)
{
    return qgc_dtype_get_kind(t->dtype) == QGC_FLOAT ? qgc_get_f64(t, i) != 0
                                                     : qgc_get_int(t, i) != 0;
}

qgc_result ref_non_zero(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    qgc_tensor *y = &call->results[0];
    int64_t index[QGC_MAX_RANK] = {0};
    size_t num = qgc_tensor_count(x), found = 0;
    for (size_t i = 0; i < num; i++) {
        if (is_set(x, i)) {
            for (uint32_t d = 0; d < x->rank; d++)
                qgc_set_int(y, d * (size_t)y->shape[1] + found, index[d]);
            found++;
        }
        qgc_next_index(x->rank, x->shape, index);
    }
    return QGC_OK;
}

qgc_result ref_compress(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *condition = call->operands[1];
    bool has_axis = qgc_node_has(call->node, "axis");
    uint32_t axis = has_axis ? qgc_ref_axis(call, x->rank) : 0;
    size_t outer = has_axis ? qgc_ref_count(x, 0, axis) : 1;
    size_t size = has_axis ? (size_t)x->shape[axis] : qgc_tensor_count(x);
    size_t row = has_axis ? qgc_ref_count(x, axis + 1, x->rank) : 1;
    size_t bytes = row * qgc_dtype_bytes(x->dtype);
    char *to = call->results[0].data;
    for (size_t o = 0; bytes && o < outer; o++)
        for (size_t i = 0; i < (size_t)condition->shape[0]; i++) {
            if (!qgc_get_int(condition, i))
                continue;
            memcpy(to, (const char *)x->data + (o * size + i) * bytes, bytes);
            to += bytes;
        }
    return QGC_OK;
}

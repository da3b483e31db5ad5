#include "runtime/ref/move.h"

#include <string.h>

/* One row of the last dimension. */
static void move_row(char *to, const char *from, size_t num, int64_t stride, size_t bytes)
{
    if (stride == 1) {
        memcpy(to, from, num * bytes);
        return;
    }
    int64_t step = stride * (int64_t)bytes;
    for (size_t i = 0; i < num; i++)
        memcpy(to + i * bytes, from + (int64_t)i * step, bytes);
}

void qgc_ref_move(const qgc_tensor *x, int64_t offset, const int64_t *strides, qgc_tensor *y)
{
    size_t bytes = qgc_dtype_bytes(y->dtype), num = qgc_tensor_count(y);
    if (!num)
        return;
    uint32_t outer = y->rank ? y->rank - 1 : 0;
    size_t row = y->rank ? (size_t)y->shape[outer] : 1;
    int64_t index[QGC_MAX_RANK] = {0};
    for (size_t i = 0; i < num; i += row) {
        int64_t from = offset;
        for (uint32_t d = 0; d < outer; d++)
            from += index[d] * strides[d];
        move_row((char *)y->data + i * bytes, (const char *)x->data + from * (int64_t)bytes, row,
                 y->rank ? strides[outer] : 1, bytes);
        qgc_next_index(outer, y->shape, index);
    }
}

void qgc_ref_copy_element(qgc_tensor *y, size_t to, const qgc_tensor *x, size_t from)
{
    size_t bytes = qgc_dtype_bytes(y->dtype);
    memcpy((char *)y->data + to * bytes, (const char *)x->data + from * bytes, bytes);
}

size_t qgc_ref_count(const qgc_tensor *t, uint32_t begin, uint32_t end)
{
    size_t count = 1;
    for (uint32_t i = begin; i < end; i++)
        count *= (size_t)t->shape[i];
    return count;
}

uint32_t qgc_ref_axis(const qgc_ref_call *call, uint32_t rank)
{
    int64_t axis = qgc_node_int(call->node, "axis");
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

const int64_t *qgc_ref_list(qgc_ref_call *call, const char *name, uint32_t operand,
                            uint32_t *out_num)
{
    const qgc_tensor *t = operand < call->num_operands ? call->operands[operand] : NULL;
    const qgc_attr *attr = qgc_node_attr(call->node, name);
    bool is_one = attr && attr->kind == QGC_ATTR_INT;
    *out_num = 0;
    if (!attr && !t)
        return NULL;
    *out_num = is_one ? 1 : attr ? attr->num : (uint32_t)qgc_tensor_count(t);
    int64_t *list = QGC_NEW_ARRAY(call->scratch, int64_t, *out_num);
    for (uint32_t i = 0; i < *out_num; i++)
        list[i] = is_one ? attr->i : attr ? attr->ints[i] : qgc_get_int(t, i);
    return list;
}

uint32_t qgc_ref_axis_at(const int64_t *list, uint32_t i, uint32_t rank)
{
    if (!list)
        return i;
    return (uint32_t)(list[i] < 0 ? list[i] + rank : list[i]);
}

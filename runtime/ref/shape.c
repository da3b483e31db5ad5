/* Elements in another order or shape. */
#include "runtime/ref/move.h"

#include <string.h>

qgc_result ref_transpose(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    int64_t from[QGC_MAX_RANK], strides[QGC_MAX_RANK];
    uint32_t num;
    const int64_t *perm = qgc_ref_list(call, "perm", UINT32_MAX, &num);
    qgc_strides(x, from);
    for (uint32_t i = 0; i < x->rank; i++)
        strides[i] = from[qgc_ref_axis_at(perm, perm ? i : x->rank - 1 - i, x->rank)];
    qgc_ref_move(x, 0, strides, &call->results[0]);
    return QGC_OK;
}

qgc_result ref_expand(qgc_ref_call *call)
{
    qgc_tensor *y = &call->results[0];
    int64_t strides[QGC_MAX_RANK];
    qgc_broadcast_strides(call->operands[0], y->rank, y->shape, strides);
    qgc_ref_move(call->operands[0], 0, strides, y);
    return QGC_OK;
}

qgc_result ref_tile(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    qgc_tensor *y = &call->results[0];
    int64_t strides[QGC_MAX_RANK], index[QGC_MAX_RANK] = {0};
    size_t num = qgc_tensor_count(y);
    qgc_strides(x, strides);
    for (size_t i = 0; i < num; i++) {
        int64_t from = 0;
        for (uint32_t d = 0; d < y->rank; d++)
            from += index[d] % x->shape[d] * strides[d];
        qgc_ref_copy_element(y, i, x, (size_t)from);
        qgc_next_index(y->rank, y->shape, index);
    }
    return QGC_OK;
}

/* Copies between a whole tensor and one part of it along |axis|, which starts at |first|. */
static void move_part(const qgc_tensor *whole, const qgc_tensor *part, uint32_t axis, size_t first,
                      bool into_whole)
{
    size_t bytes = qgc_dtype_bytes(whole->dtype);
    size_t inner = qgc_ref_count(whole, axis + 1, whole->rank) * bytes;
    size_t row = (size_t)part->shape[axis] * inner, stride = (size_t)whole->shape[axis] * inner;
    size_t outer = row ? qgc_ref_count(whole, 0, axis) : 0;
    for (size_t i = 0; i < outer; i++) {
        char *in_whole = (char *)whole->data + i * stride + first * inner;
        char *in_part = (char *)part->data + i * row;
        memcpy(into_whole ? in_whole : in_part, into_whole ? in_part : in_whole, row);
    }
}

qgc_result ref_concat(qgc_ref_call *call)
{
    const qgc_tensor *y = &call->results[0];
    uint32_t axis = qgc_ref_axis(call, y->rank);
    size_t first = 0;
    for (uint32_t i = 0; i < call->num_operands; i++) {
        move_part(y, call->operands[i], axis, first, true);
        first += (size_t)call->operands[i]->shape[axis];
    }
    return QGC_OK;
}

qgc_result ref_split(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    uint32_t axis = qgc_ref_axis(call, x->rank);
    size_t first = 0;
    for (uint32_t i = 0; i < call->num_results; i++) {
        move_part(x, &call->results[i], axis, first, false);
        first += (size_t)call->results[i].shape[axis];
    }
    return QGC_OK;
}

qgc_result ref_slice(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    int64_t strides[QGC_MAX_RANK], offset = 0;
    uint32_t num, unused;
    const int64_t *starts = qgc_ref_list(call, "starts", 1, &num);
    const int64_t *ends = qgc_ref_list(call, "ends", 2, &unused);
    const int64_t *axes = qgc_ref_list(call, "axes", 3, &unused);
    const int64_t *steps = qgc_ref_list(call, "steps", 4, &unused);
    qgc_strides(x, strides);
    for (uint32_t i = 0; i < num; i++) {
        uint32_t axis = qgc_ref_axis_at(axes, i, x->rank);
        int64_t start = starts[i], step = steps ? steps[i] : 1;
        int64_t count = qgc_slice_count(x->shape[axis], &start, ends[i], step);
        offset += count ? start * strides[axis] : 0;
        strides[axis] *= count > 1 ? step : 1; /* a single element needs no step */
    }
    qgc_ref_move(x, offset, strides, &call->results[0]);
    return QGC_OK;
}

/* ---- pad ---- */

typedef enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP } pad_mode;

static int64_t modulo(int64_t value, int64_t period)
{
    int64_t rest = value % period;
    return rest < 0 ? rest + period : rest;
}

/* The index in [0, size) that |at| stands for, or -1: the constant. */
static int64_t pad_source(pad_mode mode, int64_t at, int64_t size)
{
    if (at >= 0 && at < size)
        return at;
    if (mode == PAD_EDGE)
        return at < 0 ? 0 : size - 1;
    if (mode == PAD_WRAP)
        return modulo(at, size);
    if (mode == PAD_CONSTANT)
        return -1;
    if (size == 1)
        return 0;
    int64_t folded = modulo(at, 2 * (size - 1));
    return folded < size ? folded : 2 * (size - 1) - folded;
}

/* Element of x behind an index of y, or -1. */
static int64_t pad_element(const qgc_tensor *x, pad_mode mode, const int64_t *index,
                           const int64_t *before, const int64_t *strides)
{
    int64_t from = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        int64_t source = pad_source(mode, index[d] - before[d], x->shape[d]);
        if (source < 0)
            return -1;
        from += source * strides[d];
    }
    return from;
}

qgc_result ref_pad(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *value = call->operands[2];
    qgc_tensor *y = &call->results[0];
    pad_mode mode = (pad_mode)qgc_node_word(call->node, "mode");
    int64_t before[QGC_MAX_RANK] = {0}, strides[QGC_MAX_RANK], index[QGC_MAX_RANK] = {0};
    uint32_t num_pads, num_axes;
    const int64_t *pads = qgc_ref_list(call, "pads", 1, &num_pads);
    const int64_t *axes = qgc_ref_list(call, "axes", 3, &num_axes);
    for (uint32_t i = 0; i < num_pads / 2; i++)
        before[qgc_ref_axis_at(axes, i, x->rank)] = pads[i];
    qgc_strides(x, strides);
    size_t num = qgc_tensor_count(y);
    for (size_t i = 0; i < num; i++) {
        int64_t from = pad_element(x, mode, index, before, strides);
        if (from >= 0)
            qgc_ref_copy_element(y, i, x, (size_t)from);
        else if (value)
            qgc_ref_copy_element(y, i, value, 0);
        qgc_next_index(y->rank, y->shape, index);
    }
    return QGC_OK;
}

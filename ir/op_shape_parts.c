/* Infer hooks: tensors joined, taken apart, cut and padded. */
#include "ir/list.h"

#include <string.h>

qgc_result infer_concat(qgc_infer *in)
{
    uint32_t axis;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_RULE(in, 1, in->num_operands >= 1, "no operands");
    const qgc_type *first = in->operands[0];
    QGC_RULE(in, 1, first->rank >= 1, "operand 0 is %s", qgc_in_type_str(in, first));
    QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "axis"), first->rank, 2, &axis));
    memcpy(dims, first->dims, first->rank * sizeof *dims);
    for (uint32_t i = 1; i < in->num_operands; i++) {
        const qgc_type *x = in->operands[i];
        QGC_RULE(in, 1, x->dtype == first->dtype && x->rank == first->rank,
                 "operand 0 is %s, operand %u is %s", qgc_in_type_str(in, first), i,
                 qgc_in_type_str(in, x));
        for (uint32_t d = 0; d < x->rank; d++) {
            if (d == axis) {
                dims[d] = qgc_dim_add(&in->context->dims, dims[d], x->dims[d]);
                continue;
            }
            QGC_RULE(in, 3, !qgc_dim_conflict(dims[d], x->dims[d]),
                     "dimension %u is %s, that of operand %u is %s", d, qgc_in_dim_str(in, dims[d]),
                     i, qgc_in_dim_str(in, x->dims[d]));
            dims[d] = qgc_dim_merge(dims[d], x->dims[d]);
        }
    }
    in->results[0] = qgc_in_type(in, first->dtype, first->rank, dims);
    return QGC_OK;
}

/* Equal parts, the last one smaller where they do not come out even. */
static qgc_result even_parts(qgc_infer *in, qgc_dim size, qgc_dim *parts)
{
    qgc_dims *dims = &in->context->dims;
    int64_t num = in->num_results;
    qgc_dim part;
    if (!qgc_dim_divides(dims, qgc_dim_number(num), size, &part))
        part = qgc_dim_div(dims, qgc_dim_add(dims, size, qgc_dim_number(num - 1)),
                           qgc_dim_number(num));
    for (int64_t i = 0; i < num - 1; i++)
        parts[i] = part;
    parts[num - 1] = qgc_dim_sub(dims, size, qgc_dim_mul(dims, part, qgc_dim_number(num - 1)));
    QGC_RULE(in, 3, !qgc_dim_is_number(size) || parts[num - 1].value >= 0,
             "%s elements in %lld parts of %s leave nothing for the last", qgc_in_dim_str(in, size),
             (long long)num, qgc_in_dim_str(in, part));
    return QGC_OK;
}

static qgc_result written_parts(qgc_infer *in, qgc_dim size, const qgc_list *list, qgc_dim *parts)
{
    qgc_dim sum = qgc_dim_number(0);
    if (!list->has_num) {
        for (uint32_t i = 0; i < in->num_results; i++)
            parts[i] = qgc_dim_unknown(&in->context->dims);
        return QGC_OK;
    }
    QGC_RULE(in, 1, list->num == in->num_results, "sizes has %u entries for %u results", list->num,
             in->num_results);
    for (uint32_t i = 0; i < list->num; i++) {
        parts[i] = list->dims[i];
        QGC_RULE(in, 3, !qgc_dim_is_number(parts[i]) || parts[i].value >= 0, "size %u is %s", i,
                 qgc_in_dim_str(in, parts[i]));
        sum = qgc_dim_add(&in->context->dims, sum, parts[i]);
    }
    QGC_RULE(in, 3, !qgc_dim_conflict(sum, size), "sizes add up to %s, the dimension is %s",
             qgc_in_dim_str(in, sum), qgc_in_dim_str(in, size));
    return QGC_OK;
}

qgc_result infer_split(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    qgc_list list;
    uint32_t axis;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(qgc_in_list(in, "sizes", 1, 1, &list));
    QGC_RULE(in, 1, in->num_results >= 1, "no results");
    QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "axis"), x->rank, 2, &axis));
    qgc_dim *parts = QGC_NEW_ARRAY(in->arena, qgc_dim, in->num_results);
    if (list.given)
        QGC_TRY(written_parts(in, x->dims[axis], &list, parts));
    else
        QGC_TRY(even_parts(in, x->dims[axis], parts));
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t i = 0; i < in->num_results; i++) {
        dims[axis] = qgc_in_size(in, parts[i]);
        in->results[i] = qgc_in_type(in, x->dtype, x->rank, dims);
    }
    return QGC_OK;
}

/* ---- slice ---- */

typedef struct slice_lists {
    qgc_list starts, ends, axes, steps;
} slice_lists;

static qgc_result read_slice(qgc_infer *in, uint32_t rank, slice_lists *l)
{
    QGC_TRY(qgc_in_list(in, "starts", 1, 1, &l->starts));
    QGC_TRY(qgc_in_list(in, "ends", 2, 1, &l->ends));
    QGC_TRY(qgc_in_list(in, "axes", 3, 2, &l->axes));
    QGC_TRY(qgc_in_list(in, "steps", 4, 3, &l->steps));
    QGC_RULE(in, 1, l->starts.given && l->ends.given, "%s is missing",
             l->starts.given ? "ends" : "starts");
    bool both = l->starts.has_num && l->ends.has_num;
    QGC_RULE(in, 1, !both || l->starts.num == l->ends.num, "%u starts, %u ends", l->starts.num,
             l->ends.num);
    if (!both)
        return QGC_OK;
    uint32_t num = l->starts.num;
    QGC_RULE(in, 2, num <= rank && (!l->axes.has_num || l->axes.num == num),
             "%u starts, %u axes, rank %u", num, l->axes.num, rank);
    QGC_RULE(in, 3, !l->steps.has_num || l->steps.num == num, "%u starts, %u steps", num,
             l->steps.num);
    return QGC_OK;
}

/* The size of one sliced dimension. Where a symbol would have to be clamped, it is not known. */
static qgc_dim sliced(qgc_infer *in, qgc_dim size, qgc_dim start, qgc_dim end, int64_t step)
{
    qgc_dims *dims = &in->context->dims;
    bool are_numbers = qgc_dim_is_number(start) && qgc_dim_is_number(end);
    if (are_numbers && qgc_dim_is_number(size)) {
        int64_t first = start.value;
        return qgc_dim_number(qgc_slice_count(size.value, &first, end.value, step));
    }
    enum { FAR = 1 << 30 };
    bool to_end = qgc_dim_equal(end, size) || (qgc_dim_is_number(end) && end.value >= FAR);
    bool forward = step > 0 && qgc_dim_equal(start, qgc_dim_number(0)) && to_end;
    bool from_end = qgc_dim_is_number(start) && (start.value == -1 || start.value >= FAR);
    bool backward = step < 0 && from_end && qgc_dim_is_number(end) && end.value <= -FAR;
    if (qgc_dim_is_unknown(size) || (!forward && !backward) || step < -FAR || step > FAR)
        return qgc_dim_unknown(dims);
    int64_t stride = step < 0 ? -step : step;
    return qgc_dim_div(dims, qgc_dim_add(dims, size, qgc_dim_number(stride - 1)),
                       qgc_dim_number(stride));
}

qgc_result infer_slice(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    slice_lists l;
    uint32_t axes;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(read_slice(in, x->rank, &l));
    bool knows_axes = l.starts.has_num && l.ends.has_num && (!l.axes.given || l.axes.is_number);
    if (!knows_axes)
        return qgc_in_unknown_dims(in, x->dtype, x->rank);
    QGC_TRY(qgc_in_axes(in, &l.axes, x->rank, 2, &axes));
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t i = 0; i < l.starts.num; i++) {
        uint32_t axis = i;
        bool knows_step = !l.steps.given || (l.steps.has_num && qgc_dim_is_number(l.steps.dims[i]));
        int64_t step = l.steps.given && knows_step ? l.steps.dims[i].value : 1;
        if (l.axes.given)
            QGC_TRY(qgc_in_axis(in, l.axes.dims[i].value, x->rank, 2, &axis));
        QGC_RULE(in, 3, step != 0, "step %u is 0", i);
        dims[axis] = knows_step ? sliced(in, x->dims[axis], l.starts.dims[i], l.ends.dims[i], step)
                                : qgc_dim_unknown(&in->context->dims);
    }
    in->results[0] = qgc_in_type(in, x->dtype, x->rank, dims);
    return QGC_OK;
}

/* ---- pad ---- */

typedef enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP } pad_mode;

static qgc_result pad_axis(qgc_infer *in, uint32_t axis, qgc_dim before, qgc_dim after,
                           qgc_dim *dim)
{
    qgc_dims *dims = &in->context->dims;
    qgc_dim size = qgc_dim_add(dims, qgc_dim_add(dims, *dim, before), after);
    bool is_empty = qgc_dim_equal(*dim, qgc_dim_number(0));
    bool grows = (qgc_dim_is_number(before) && before.value > 0) ||
                 (qgc_dim_is_number(after) && after.value > 0);
    QGC_RULE(in, 4, !qgc_dim_is_number(size) || size.value >= 0,
             "dimension %u is %s, padded by "
             "%s and %s",
             axis, qgc_in_dim_str(in, *dim), qgc_in_dim_str(in, before), qgc_in_dim_str(in, after));
    QGC_RULE(in, 5, !is_empty || !grows || qgc_node_word(in->node, "mode") == PAD_CONSTANT,
             "dimension %u is empty", axis);
    *dim = size;
    return QGC_OK;
}

qgc_result infer_pad(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *value = qgc_in(in, 2);
    qgc_list pads, axes;
    uint32_t set;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(qgc_in_list(in, "pads", 1, 1, &pads));
    QGC_TRY(qgc_in_list(in, "axes", 3, 2, &axes));
    QGC_RULE(in, 1, pads.given, "pads is missing");
    QGC_RULE(in, 3, !value || (value->rank == 0 && value->dtype == x->dtype),
             "value is %s, x is %s", value ? qgc_in_type_str(in, value) : "",
             qgc_in_type_str(in, x));
    if (!pads.has_num || (axes.given && !axes.is_number))
        return qgc_in_unknown_dims(in, x->dtype, x->rank);
    QGC_TRY(qgc_in_axes(in, &axes, x->rank, 2, &set));
    uint32_t num = axes.given ? axes.num : x->rank;
    QGC_RULE(in, 1, pads.num == 2 * num, "pads has %u entries for %u axes", pads.num, num);
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t i = 0; i < num; i++) {
        uint32_t axis = i;
        if (axes.given)
            QGC_TRY(qgc_in_axis(in, axes.dims[i].value, x->rank, 2, &axis));
        QGC_TRY(pad_axis(in, axis, pads.dims[i], pads.dims[num + i], &dims[axis]));
    }
    in->results[0] = qgc_in_type(in, x->dtype, x->rank, dims);
    return QGC_OK;
}

/* Infer hooks: one tensor seen in another shape, or its elements in another order. */
#include "ir/list.h"

#include <string.h>

/* What reshape fills in: zeros copy, -1 takes the rest. */
static qgc_result check_entries(qgc_infer *in, const qgc_type *x, const qgc_list *list,
                                qgc_dim *dims, uint32_t *out_rest)
{
    bool copies = qgc_node_flag(in->node, "copy_zero");
    *out_rest = UINT32_MAX;
    for (uint32_t i = 0; i < list->num; i++) {
        qgc_dim d = list->dims[i];
        dims[i] = d;
        if (!qgc_dim_is_number(d))
            continue;
        QGC_RULE(in, 2, d.value >= -1 && (d.value >= 0 || *out_rest == UINT32_MAX),
                 "entry %u of shape is %lld", i, (long long)d.value);
        if (d.value == -1)
            *out_rest = i;
        if (d.value || !copies)
            continue;
        QGC_RULE(in, 3, i < x->rank, "entry %u of shape is 0, x is %s", i, qgc_in_type_str(in, x));
        dims[i] = x->dims[i];
    }
    return QGC_OK;
}

static qgc_result fill_rest(qgc_infer *in, const qgc_type *x, uint32_t rank, qgc_dim *dims,
                            uint32_t rest)
{
    qgc_dim total = qgc_dims_product(in, x->dims, 0, x->rank, UINT32_MAX);
    qgc_dim others = qgc_dims_product(in, dims, 0, rank, rest);
    if (rest == UINT32_MAX) {
        QGC_RULE(in, 4, !qgc_dim_conflict(total, others), "x has %s elements, shape %s",
                 qgc_in_dim_str(in, total), qgc_in_dim_str(in, others));
        return QGC_OK;
    }
    bool are_numbers = qgc_dim_is_number(total) && qgc_dim_is_number(others);
    QGC_RULE(in, 4, !qgc_dim_is_number(others) || others.value != 0,
             "-1 stands for nothing beside a 0");
    QGC_RULE(in, 4, !are_numbers || total.value % others.value == 0,
             "x has %s elements, no multiple of %s", qgc_in_dim_str(in, total),
             qgc_in_dim_str(in, others));
    if (!qgc_dim_divides(&in->context->dims, others, total, &dims[rest]))
        dims[rest] = qgc_dim_unknown(&in->context->dims);
    return QGC_OK;
}

qgc_result infer_reshape(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    qgc_list list;
    uint32_t rank, rest;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(qgc_in_list(in, "shape", 1, 1, &list));
    QGC_RULE(in, 1, list.given, "shape is missing");
    QGC_TRY(qgc_in_rank(in, "shape", &list, &rank));
    QGC_RULE(in, 1, rank <= QGC_MAX_RANK, "shape has %u entries", rank);
    if (!list.has_num)
        return qgc_in_unknown_dims(in, x->dtype, rank);
    QGC_TRY(check_entries(in, x, &list, dims, &rest));
    QGC_TRY(fill_rest(in, x, rank, dims, rest));
    in->results[0] = qgc_in_type(in, x->dtype, rank, dims);
    return QGC_OK;
}

qgc_result infer_flatten(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    int64_t axis = qgc_node_int(in->node, "axis");
    QGC_RULE(in, 1, axis >= -(int64_t)x->rank && axis <= (int64_t)x->rank, "axis is %lld, x is %s",
             (long long)axis, qgc_in_type_str(in, x));
    uint32_t at = (uint32_t)(axis < 0 ? axis + x->rank : axis);
    qgc_dim dims[] = {qgc_dims_product(in, x->dims, 0, at, UINT32_MAX),
                      qgc_dims_product(in, x->dims, at, x->rank, UINT32_MAX)};
    in->results[0] = qgc_in_type(in, x->dtype, 2, dims);
    return QGC_OK;
}

static uint32_t ones(const qgc_type *x)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (qgc_dim_equal(x->dims[i], qgc_dim_number(1)))
            set |= 1u << i;
    return set;
}

qgc_result infer_squeeze(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    qgc_list list;
    uint32_t axes = ones(x), rank = 0;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(qgc_in_list(in, "axes", 1, 1, &list));
    if (list.given && !list.is_number) {
        QGC_TRY(qgc_in_rank(in, "axes", &list, &rank));
        uint32_t left = list.has_num ? x->rank - list.num : rank;
        QGC_RULE(in, 1, left <= x->rank, "%u axes, x is %s", list.num, qgc_in_type_str(in, x));
        return qgc_in_unknown_dims(in, x->dtype, left);
    }
    if (list.given)
        QGC_TRY(qgc_in_axes(in, &list, x->rank, 1, &axes));
    else if (!x->is_static) {
        QGC_TRY(qgc_in_written_rank(in, "which dimensions are 1 is not known", &rank));
        QGC_RULE(in, 2, rank <= x->rank, "the result has rank %u, x is %s", rank,
                 qgc_in_type_str(in, x));
        return qgc_in_unknown_dims(in, x->dtype, rank);
    }
    for (uint32_t i = 0; i < x->rank; i++) {
        if (axes >> i & 1)
            QGC_RULE(in, 2, !qgc_dim_conflict(x->dims[i], qgc_dim_number(1)),
                     "dimension %u of x is %s", i, qgc_in_dim_str(in, x->dims[i]));
        else
            dims[rank++] = x->dims[i];
    }
    in->results[0] = qgc_in_type(in, x->dtype, rank, dims);
    return QGC_OK;
}

qgc_result infer_unsqueeze(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    qgc_list list;
    uint32_t rank, axes, from = 0;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(qgc_in_list(in, "axes", 1, 1, &list));
    QGC_RULE(in, 1, list.given, "axes is missing");
    QGC_TRY(qgc_in_rank(in, "axes", &list, &rank));
    rank = list.has_num ? x->rank + list.num : rank;
    QGC_RULE(in, 2, rank >= x->rank && rank <= QGC_MAX_RANK, "%u axes, x is %s", list.num,
             qgc_in_type_str(in, x));
    if (!list.is_number)
        return qgc_in_unknown_dims(in, x->dtype, rank);
    QGC_TRY(qgc_in_axes(in, &list, rank, 1, &axes));
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = axes >> i & 1 ? qgc_dim_number(1) : x->dims[from++];
    in->results[0] = qgc_in_type(in, x->dtype, rank, dims);
    return QGC_OK;
}

qgc_result infer_transpose(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    const qgc_attr *perm = qgc_node_attr(in->node, "perm");
    qgc_dim dims[QGC_MAX_RANK];
    uint32_t seen = 0;
    QGC_RULE(in, 1, !perm || perm->num == x->rank, "perm has %u entries, x is %s",
             perm ? perm->num : 0, qgc_in_type_str(in, x));
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t axis = x->rank - 1 - i;
        if (perm)
            QGC_TRY(qgc_in_axis(in, perm->ints[i], x->rank, 1, &axis));
        QGC_RULE(in, 1, !(seen >> axis & 1), "axis %u stands twice in perm", axis);
        seen |= 1u << axis;
        dims[i] = x->dims[axis];
    }
    in->results[0] = qgc_in_type(in, x->dtype, x->rank, dims);
    return QGC_OK;
}

qgc_result infer_expand(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    qgc_list list;
    uint32_t rank;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(qgc_in_list(in, "shape", 1, 1, &list));
    QGC_RULE(in, 1, list.given, "shape is missing");
    QGC_TRY(qgc_in_rank(in, "shape", &list, &rank));
    QGC_RULE(in, 1, rank <= QGC_MAX_RANK, "shape has %u entries", rank);
    if (!list.has_num)
        return qgc_in_unknown_dims(in, x->dtype, rank);
    for (uint32_t i = 0; i < rank; i++) {
        QGC_RULE(in, 2, !qgc_dim_is_number(list.dims[i]) || list.dims[i].value >= 0,
                 "entry %u of shape is %s", i, qgc_in_dim_str(in, list.dims[i]));
        dims[i] = list.dims[i];
    }
    const qgc_type *shape = qgc_in_type(in, x->dtype, rank, dims);
    QGC_RULE(in, 3, qgc_broadcast(in, x, shape, &rank, dims), "x is %s, shape gives %s",
             qgc_in_type_str(in, x), qgc_in_type_str(in, shape));
    in->results[0] = qgc_in_type(in, x->dtype, rank, dims);
    return QGC_OK;
}

qgc_result infer_tile(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    qgc_list list;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(qgc_in_list(in, "repeats", 1, 1, &list));
    QGC_RULE(in, 1, list.given, "repeats is missing");
    if (!list.has_num)
        return qgc_in_unknown_dims(in, x->dtype, x->rank);
    QGC_RULE(in, 2, list.num == x->rank, "repeats has %u entries, x is %s", list.num,
             qgc_in_type_str(in, x));
    for (uint32_t i = 0; i < x->rank; i++) {
        QGC_RULE(in, 2, !qgc_dim_is_number(list.dims[i]) || list.dims[i].value >= 0,
                 "entry %u of repeats is %s", i, qgc_in_dim_str(in, list.dims[i]));
        dims[i] = qgc_dim_mul(&in->context->dims, x->dims[i], list.dims[i]);
    }
    in->results[0] = qgc_in_type(in, x->dtype, x->rank, dims);
    return QGC_OK;
}

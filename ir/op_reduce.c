/* Infer hooks: reductions over axes, and what normalizes along one. */
#include "ir/list.h"

#include <string.h>

/* The shape of |x| without the axes in |set|, or with 1 there. */
static const qgc_type *reduced(qgc_infer *in, const qgc_type *x, uint32_t set, bool keeps,
                               qgc_dtype dtype)
{
    qgc_dim dims[QGC_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (!(set >> i & 1))
            dims[rank++] = x->dims[i];
        else if (keeps)
            dims[rank++] = qgc_dim_number(1);
    return qgc_in_type(in, dtype, rank, dims);
}

static qgc_result unknown_axes(qgc_infer *in, const qgc_type *x, const qgc_list *list, bool keeps)
{
    uint32_t rank = x->rank;
    if (!keeps) {
        QGC_TRY(qgc_in_rank(in, "axes", list, &rank));
        rank = list->has_num ? x->rank - list->num : rank;
    }
    QGC_RULE(in, 1, rank <= x->rank, "%u axes, x is %s", list->num, qgc_in_type_str(in, x));
    return qgc_in_unknown_dims(in, x->dtype, rank);
}

static bool is_empty(const qgc_type *x)
{
    for (uint32_t i = 0; i < x->rank; i++)
        if (qgc_dim_equal(x->dims[i], qgc_dim_number(0)))
            return true;
    return false;
}

qgc_result infer_reduce(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    bool keeps = qgc_node_flag(in->node, "keepdims");
    qgc_list list;
    uint32_t set;
    QGC_TRY(qgc_in_list(in, "axes", 1, 1, &list));
    bool reduces_all = !list.num && list.has_num;
    if (list.given && !list.is_number && !reduces_all)
        return unknown_axes(in, x, &list, keeps);
    QGC_TRY(qgc_in_axes(in, &list, x->rank, 1, &set));
    if (!list.num)
        set = qgc_node_flag(in->node, "noop_with_empty_axes") ? 0 : (1u << x->rank) - 1;
    in->results[0] = reduced(in, x, set, keeps, x->dtype);
    return QGC_OK;
}

/* max, min and integer means have no value over nothing. */
qgc_result infer_reduce_some(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    QGC_TRY(infer_reduce(in));
    const qgc_type *y = in->results[0];
    int64_t count;
    bool from_nothing = is_empty(x) && qgc_type_num_elements(y, &count) && count > 0;
    bool has_nan = in->node->op == QGC_OP_REDUCE_MEAN && qgc_dtype_get_kind(x->dtype) == QGC_FLOAT;
    QGC_RULE(in, 2, !from_nothing || has_nan, "x is %s", qgc_in_type_str(in, x));
    return QGC_OK;
}

qgc_result infer_arg_reduce(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    uint32_t axis;
    QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "axis"), x->rank, 1, &axis));
    QGC_RULE(in, 2, !qgc_dim_equal(x->dims[axis], qgc_dim_number(0)), "dimension %u of x is 0",
             axis);
    in->results[0] = reduced(in, x, 1u << axis, qgc_node_flag(in->node, "keepdims"), QGC_DTYPE_I64);
    return QGC_OK;
}

qgc_result infer_along_axis(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    uint32_t axis;
    QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "axis"), x->rank, 1, &axis));
    in->results[0] = x;
    return QGC_OK;
}

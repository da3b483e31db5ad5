/* Infer hooks: elements chosen or changed by index tensors. */
#include "ir/list.h"
#include "ir/unique.h"

#include <string.h>

qgc_result infer_gather(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *indices = qgc_in(in, 1);
    uint32_t axis;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "axis"), x->rank, 1, &axis));
    uint32_t rank = x->rank - 1 + indices->rank;
    QGC_RULE(in, 2, rank <= QGC_MAX_RANK, "x is %s, indices is %s", qgc_in_type_str(in, x),
             qgc_in_type_str(in, indices));
    memcpy(dims, x->dims, axis * sizeof *dims);
    memcpy(dims + axis, indices->dims, indices->rank * sizeof *dims);
    memcpy(dims + axis + indices->rank, x->dims + axis + 1, (x->rank - 1 - axis) * sizeof *dims);
    in->results[0] = qgc_in_type(in, x->dtype, rank, dims);
    return QGC_OK;
}

/* Of two types known to be of one rank: no dimension but |axis| of |a| certainly exceeds that of
 * |b|. */
static bool fits_inside(const qgc_type *a, const qgc_type *b, uint32_t axis)
{
    for (uint32_t i = 0; i < a->rank; i++)
        if (i != axis && qgc_dim_is_number(a->dims[i]) && qgc_dim_is_number(b->dims[i]) &&
            a->dims[i].value > b->dims[i].value)
            return false;
    return true;
}

qgc_result infer_gather_elements(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *indices = qgc_in(in, 1);
    uint32_t axis;
    QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "axis"), x->rank, 1, &axis));
    QGC_RULE(in, 2, indices->rank == x->rank && fits_inside(indices, x, axis),
             "x is %s, indices is %s", qgc_in_type_str(in, x), qgc_in_type_str(in, indices));
    in->results[0] = qgc_in_type(in, x->dtype, indices->rank, indices->dims);
    return QGC_OK;
}

/* How many dimensions of x an index of the last dimension of |indices| takes; 0: not known. */
static qgc_result index_depth(qgc_infer *in, const qgc_type *indices, uint32_t most, uint32_t *out)
{
    qgc_dim last = indices->dims[indices->rank - 1];
    *out = 0;
    if (!qgc_dim_is_number(last))
        return QGC_OK;
    QGC_RULE(in, 3, last.value >= 1 && last.value <= most,
             "the last dimension of indices is %lld, x has %u left", (long long)last.value, most);
    *out = (uint32_t)last.value;
    return QGC_OK;
}

qgc_result infer_gather_nd(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *indices = qgc_in(in, 1);
    int64_t batch = qgc_node_int(in->node, "batch_dims");
    uint32_t least = x->rank < indices->rank ? x->rank : indices->rank, depth = 0;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_RULE(in, 1, batch >= 0 && batch < least, "x is %s, indices is %s, batch_dims is %lld",
             qgc_in_type_str(in, x), qgc_in_type_str(in, indices), (long long)batch);
    uint32_t start = (uint32_t)batch;
    for (uint32_t i = 0; i < start; i++) {
        QGC_RULE(in, 2, !qgc_dim_conflict(x->dims[i], indices->dims[i]),
                 "dimension %u is %s in x, %s in indices", i, qgc_in_dim_str(in, x->dims[i]),
                 qgc_in_dim_str(in, indices->dims[i]));
        dims[i] = qgc_dim_merge(indices->dims[i], x->dims[i]);
    }
    QGC_TRY(index_depth(in, indices, x->rank - start, &depth));
    if (!depth) {
        QGC_TRY(qgc_in_written_rank(in, "the last dimension of indices is not known", &depth));
        return qgc_in_unknown_dims(in, x->dtype, depth);
    }
    uint32_t outer = indices->rank - 1, inner = x->rank - start - depth;
    QGC_RULE(in, 4, outer + inner <= QGC_MAX_RANK, "x is %s, indices is %s", qgc_in_type_str(in, x),
             qgc_in_type_str(in, indices));
    memcpy(dims + start, indices->dims + start, (outer - start) * sizeof *dims);
    memcpy(dims + outer, x->dims + start + depth, inner * sizeof *dims);
    in->results[0] = qgc_in_type(in, x->dtype, outer + inner, dims);
    return QGC_OK;
}

static bool reduces(const qgc_infer *in)
{
    return qgc_node_word(in->node, "reduction") != 0;
}

static qgc_result check_updates(qgc_infer *in, const qgc_type *expected)
{
    const qgc_type *updates = qgc_in(in, 2);
    bool fits = updates->rank == expected->rank && updates->dtype == expected->dtype;
    for (uint32_t i = 0; fits && i < updates->rank; i++)
        fits = !qgc_dim_conflict(updates->dims[i], expected->dims[i]);
    QGC_RULE(in, 4, fits, "updates is %s, expected %s", qgc_in_type_str(in, updates),
             qgc_in_type_str(in, expected));
    QGC_RULE(in, 5, !reduces(in) || expected->dtype != QGC_DTYPE_BOOL, "x is %s",
             qgc_in_type_str(in, qgc_in(in, 0)));
    in->results[0] = qgc_in(in, 0);
    return QGC_OK;
}

qgc_result infer_scatter_elements(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *indices = qgc_in(in, 1);
    uint32_t axis;
    QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "axis"), x->rank, 1, &axis));
    QGC_RULE(in, 2, indices->rank == x->rank, "x is %s, indices is %s", qgc_in_type_str(in, x),
             qgc_in_type_str(in, indices));
    QGC_RULE(in, 3, fits_inside(indices, x, axis), "x is %s, indices is %s", qgc_in_type_str(in, x),
             qgc_in_type_str(in, indices));
    return check_updates(in, qgc_in_type(in, x->dtype, indices->rank, indices->dims));
}

qgc_result infer_scatter_nd(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *indices = qgc_in(in, 1);
    uint32_t depth = 0;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_RULE(in, 1, x->rank >= 1 && indices->rank >= 1, "x is %s, indices is %s",
             qgc_in_type_str(in, x), qgc_in_type_str(in, indices));
    QGC_TRY(index_depth(in, indices, x->rank, &depth));
    in->results[0] = x;
    if (!depth)
        return QGC_OK;
    uint32_t outer = indices->rank - 1, inner = x->rank - depth;
    QGC_RULE(in, 2, outer + inner <= QGC_MAX_RANK, "x is %s, indices is %s", qgc_in_type_str(in, x),
             qgc_in_type_str(in, indices));
    memcpy(dims, indices->dims, outer * sizeof *dims);
    memcpy(dims + outer, x->dims + depth, inner * sizeof *dims);
    return check_updates(in, qgc_in_type(in, x->dtype, outer + inner, dims));
}

qgc_result infer_one_hot(qgc_infer *in)
{
    const qgc_type *indices = qgc_in(in, 0), *values = qgc_in(in, 2);
    qgc_list depth;
    uint32_t rank = indices->rank + 1, axis, from = 0;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(qgc_in_list(in, "depth", 1, 1, &depth));
    QGC_RULE(in, 1, depth.given && (!depth.has_num || depth.num == 1),
             depth.given ? "depth has %u entries" : "depth is missing", depth.num);
    qgc_dim size = depth.has_num ? depth.dims[0] : qgc_dim_unknown(&in->context->dims);
    QGC_RULE(in, 1, !qgc_dim_is_number(size) || size.value >= 0, "depth is %s",
             qgc_in_dim_str(in, size));
    QGC_RULE(in, 2, rank <= QGC_MAX_RANK, "indices is %s", qgc_in_type_str(in, indices));
    QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "axis"), rank, 2, &axis));
    QGC_RULE(in, 3,
             !values ||
                 (values->rank == 1 && !qgc_dim_conflict(values->dims[0], qgc_dim_number(2))),
             "values is %s", values ? qgc_in_type_str(in, values) : "");
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i == axis ? size : indices->dims[from++];
    in->results[0] = qgc_in_type(in, values ? values->dtype : QGC_DTYPE_F32, rank, dims);
    return QGC_OK;
}

/* Whether element |i| counts as true; -0.0 does not. */
static bool is_set(const qgc_tensor *t, size_t i)
{
    size_t bytes = qgc_dtype_bytes(t->dtype);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)t->data + i * bytes, bytes);
    if (qgc_dtype_get_kind(t->dtype) == QGC_FLOAT)
        bits &= ~((uint64_t)1 << (8 * bytes - 1));
    return bits != 0;
}

/* Number of true elements, where the contents are known. */
static qgc_dim count_set(qgc_infer *in, const qgc_tensor *t)
{
    int64_t count = 0;
    if (!t)
        return qgc_dim_unknown(&in->context->dims);
    for (size_t i = 0; i < t->bytes / qgc_dtype_bytes(t->dtype); i++)
        count += is_set(t, i);
    return qgc_dim_number(count);
}

qgc_result infer_non_zero(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    qgc_dim dims[] = {qgc_dim_number(x->rank), count_set(in, qgc_in_value(in, 0))};
    in->results[0] = qgc_in_type(in, QGC_DTYPE_I64, 2, dims);
    return QGC_OK;
}

qgc_result infer_compress(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *condition = qgc_in(in, 1);
    qgc_dim dims[QGC_MAX_RANK], size;
    uint32_t axis = 0, rank = 1;
    if (qgc_node_has(in->node, "axis")) {
        QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "axis"), x->rank, 1, &axis));
        memcpy(dims, x->dims, x->rank * sizeof *dims);
        rank = x->rank;
        size = x->dims[axis];
    } else {
        size = qgc_dims_product(in, x->dims, 0, x->rank, UINT32_MAX);
    }
    QGC_RULE(in, 2, condition->rank == 1, "condition is %s", qgc_in_type_str(in, condition));
    qgc_dim length = condition->dims[0];
    QGC_RULE(in, 3,
             !qgc_dim_is_number(length) || !qgc_dim_is_number(size) || length.value <= size.value,
             "condition is %s, for %s elements", qgc_in_type_str(in, condition),
             qgc_in_dim_str(in, size));
    dims[axis] = count_set(in, qgc_in_value(in, 1));
    in->results[0] = qgc_in_type(in, x->dtype, rank, dims);
    return QGC_OK;
}

qgc_result infer_top_k(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    qgc_list k;
    uint32_t axis;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(qgc_in_list(in, "k", 1, 1, &k));
    QGC_RULE(in, 1, k.given && (!k.has_num || k.num == 1),
             k.given ? "k has %u entries" : "k is missing", k.num);
    QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "axis"), x->rank, 2, &axis));
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[axis] = k.has_num ? k.dims[0] : qgc_dim_unknown(&in->context->dims);
    if (qgc_dim_is_number(dims[axis]))
        QGC_RULE(in, 3,
                 dims[axis].value >= 0 &&
                     (!qgc_dim_is_number(x->dims[axis]) || dims[axis].value <= x->dims[axis].value),
                 "k is %lld of %s elements", (long long)dims[axis].value,
                 qgc_in_dim_str(in, x->dims[axis]));
    in->results[0] = qgc_in_type(in, x->dtype, x->rank, dims);
    in->results[1] = qgc_in_type(in, QGC_DTYPE_I64, x->rank, dims);
    return QGC_OK;
}

qgc_result infer_unique(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    const qgc_tensor *value = qgc_in_value(in, 0);
    bool has_axis = qgc_node_has(in->node, "axis");
    uint32_t axis = 0;
    qgc_dim dims[QGC_MAX_RANK], num = qgc_dim_unknown(&in->context->dims);
    if (has_axis)
        QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "axis"), x->rank, 1, &axis));
    qgc_dim size = has_axis ? x->dims[axis] : qgc_dims_product(in, x->dims, 0, x->rank, UINT32_MAX);
    if (value) {
        qgc_slices slices = qgc_slices_along(value, has_axis ? (int64_t)axis : -1);
        num = qgc_dim_number((int64_t)qgc_unique_find(in->arena, value, slices, true).num);
    }
    if (has_axis)
        memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[axis] = num;
    in->results[0] = qgc_in_type(in, x->dtype, has_axis ? x->rank : 1, dims);
    in->results[1] = qgc_in_type(in, QGC_DTYPE_I64, 1, &num);
    in->results[2] = qgc_in_type(in, QGC_DTYPE_I64, 1, &size);
    in->results[3] = in->results[1];
    return QGC_OK;
}

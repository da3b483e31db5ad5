/* Infer hooks: shapes as values, tensors made from little, blocks, running sums. */
#include "base/number.h"
#include "ir/list.h"

#include <math.h>
#include <string.h>

qgc_result infer_shape_of(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    int64_t first, end;
    qgc_shape_range(in->node, x->rank, &first, &end);
    qgc_dim num = qgc_dim_number(end - first);
    in->results[0] = qgc_in_type(in, QGC_DTYPE_I64, 1, &num);
    return QGC_OK;
}

qgc_result infer_size_of(qgc_infer *in)
{
    in->results[0] = qgc_in_type(in, QGC_DTYPE_I64, 0, NULL);
    return QGC_OK;
}

qgc_result infer_constant_of_shape(qgc_infer *in)
{
    const qgc_type *value = qgc_in(in, 1);
    qgc_dtype dtype = value ? value->dtype : QGC_DTYPE_F32;
    qgc_list list;
    uint32_t rank;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(qgc_in_list(in, "shape", 0, 1, &list));
    QGC_RULE(in, 1, list.given, "shape is missing");
    QGC_TRY(qgc_in_rank(in, "shape", &list, &rank));
    QGC_RULE(in, 1, rank <= QGC_MAX_RANK, "shape has %u entries", rank);
    QGC_RULE(in, 3, !value || value->rank == 0, "value is %s",
             value ? qgc_in_type_str(in, value) : "");
    if (!list.has_num)
        return qgc_in_unknown_dims(in, dtype, rank);
    for (uint32_t i = 0; i < rank; i++) {
        QGC_RULE(in, 2, !qgc_dim_is_number(list.dims[i]) || list.dims[i].value >= 0,
                 "entry %u of shape is %s", i, qgc_in_dim_str(in, list.dims[i]));
        dims[i] = list.dims[i];
    }
    in->results[0] = qgc_in_type(in, dtype, rank, dims);
    return QGC_OK;
}

/* ---- range ---- */

static bool read_scalar(const qgc_tensor *t, double *out)
{
    if (!t)
        return false;
    if (t->dtype == QGC_DTYPE_F64)
        *out = *(const double *)t->data;
    else if (t->dtype == QGC_DTYPE_F32)
        *out = (double)*(const float *)t->data;
    else if (t->dtype == QGC_DTYPE_F16)
        *out = (double)qgc_f16_to_f32(*(const uint16_t *)t->data);
    else
        *out = (double)qgc_bf16_to_f32(*(const uint16_t *)t->data);
    return true;
}

/* ceil((limit - start) / delta), at least 0. */
static qgc_result count_floats(qgc_infer *in, qgc_dim *out)
{
    double start, limit, delta;
    bool knows_delta = read_scalar(qgc_in_value(in, 2), &delta);
    QGC_RULE(in, 3, !knows_delta || (isfinite(delta) && delta != 0), "delta is %g", delta);
    *out = qgc_dim_unknown(&in->context->dims);
    if (!knows_delta || !read_scalar(qgc_in_value(in, 0), &start) ||
        !read_scalar(qgc_in_value(in, 1), &limit))
        return QGC_OK;
    double count = ceil((limit - start) / delta);
    QGC_RULE(in, 4, isfinite(start) && isfinite(limit) && count < 9e15, "from %g to %g", start,
             limit);
    *out = qgc_dim_number(count > 0 ? (int64_t)count : 0);
    return QGC_OK;
}

static int64_t count_ints(int64_t start, int64_t limit, int64_t delta)
{
    uint64_t from = (uint64_t)start, to = (uint64_t)limit, step = (uint64_t)delta;
    if (delta > 0 ? limit <= start : limit >= start)
        return 0;
    uint64_t count = delta > 0 ? (to - from - 1) / step + 1 : (from - to - 1) / (0 - step) + 1;
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

static qgc_result count_integers(qgc_infer *in, qgc_dim *out)
{
    static const char *const names[] = {"start", "limit", "delta"};
    qgc_dim v[3];
    for (uint32_t i = 0; i < 3; i++) {
        qgc_list list;
        QGC_TRY(qgc_in_list(in, names[i], i, 1, &list));
        v[i] = list.dims[0];
    }
    QGC_RULE(in, 3, !qgc_dim_is_number(v[2]) || v[2].value != 0, "delta is 0");
    bool are_numbers =
        qgc_dim_is_number(v[0]) && qgc_dim_is_number(v[1]) && qgc_dim_is_number(v[2]);
    bool is_plain =
        qgc_dim_equal(v[0], qgc_dim_number(0)) && qgc_dim_equal(v[2], qgc_dim_number(1));
    *out = are_numbers ? qgc_dim_number(count_ints(v[0].value, v[1].value, v[2].value))
           : is_plain && qgc_dim_as_symbol(v[1]) ? v[1]
                                                 : qgc_dim_unknown(&in->context->dims);
    return QGC_OK;
}

qgc_result infer_range(qgc_infer *in)
{
    const qgc_type *start = qgc_in(in, 0), *limit = qgc_in(in, 1), *delta = qgc_in(in, 2);
    qgc_dim size;
    QGC_RULE(in, 1, start->rank == 0 && limit->rank == 0 && delta->rank == 0,
             "start is %s, limit is %s, delta is %s", qgc_in_type_str(in, start),
             qgc_in_type_str(in, limit), qgc_in_type_str(in, delta));
    QGC_RULE(in, 2, start->dtype == limit->dtype && start->dtype == delta->dtype,
             "start is %s, limit is %s, delta is %s", qgc_in_type_str(in, start),
             qgc_in_type_str(in, limit), qgc_in_type_str(in, delta));
    if (qgc_dtype_get_kind(start->dtype) == QGC_FLOAT)
        QGC_TRY(count_floats(in, &size));
    else
        QGC_TRY(count_integers(in, &size));
    in->results[0] = qgc_in_type(in, start->dtype, 1, &size);
    return QGC_OK;
}

/* ---- the rest ---- */

qgc_result infer_eye_like(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    QGC_RULE(in, 1, x->rank == 2, "x is %s", qgc_in_type_str(in, x));
    qgc_dtype dtype =
        qgc_node_has(in->node, "dtype") ? qgc_node_dtype(in->node, "dtype") : x->dtype;
    in->results[0] = qgc_type_with_dtype(&in->context->types, x, dtype);
    return QGC_OK;
}

qgc_result infer_trilu(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    qgc_list k;
    QGC_TRY(qgc_in_list(in, "k", 1, 1, &k));
    QGC_RULE(in, 1, !k.has_num || k.num == 1, "k has %u entries", k.num);
    QGC_RULE(in, 2, x->rank >= 2, "x is %s", qgc_in_type_str(in, x));
    in->results[0] = x;
    return QGC_OK;
}

qgc_result infer_cumsum(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    qgc_list list;
    uint32_t axis;
    QGC_TRY(qgc_in_list(in, "axis", 1, 1, &list));
    QGC_RULE(in, 1, list.given && (!list.has_num || list.num == 1),
             list.given ? "axis has %u entries" : "axis is missing", list.num);
    if (list.is_number)
        QGC_TRY(qgc_in_axis(in, list.dims[0].value, x->rank, 2, &axis));
    in->results[0] = x;
    return QGC_OK;
}

qgc_result infer_reverse_sequence(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *lengths = qgc_in(in, 1);
    uint32_t batch, time;
    QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "batch_axis"), x->rank, 1, &batch));
    QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "time_axis"), x->rank, 1, &time));
    QGC_RULE(in, 1, batch != time, "axis %u is both", batch);
    QGC_RULE(in, 2, lengths->rank == 1 && !qgc_dim_conflict(lengths->dims[0], x->dims[batch]),
             "lengths is %s, x is %s", qgc_in_type_str(in, lengths), qgc_in_type_str(in, x));
    in->results[0] = x;
    return QGC_OK;
}

/* a / b where that is exact; '?' where it may be. */
static bool exact(qgc_infer *in, qgc_dim a, int64_t b, qgc_dim *out)
{
    if (qgc_dim_divides(&in->context->dims, qgc_dim_number(b), a, out))
        return true;
    *out = qgc_dim_unknown(&in->context->dims);
    return !qgc_dim_is_number(a);
}

qgc_result infer_depth_to_space(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    int64_t block = qgc_node_int(in->node, "block");
    QGC_RULE(in, 1, x->rank == 4, "x is %s", qgc_in_type_str(in, x));
    QGC_RULE(in, 2, block >= 1 && block <= 1 << 15, "block is %lld", (long long)block);
    qgc_dim dims[4] = {x->dims[0]}, size = qgc_dim_number(block);
    QGC_RULE(in, 3, exact(in, x->dims[1], block * block, &dims[1]), "%s channels, block is %lld",
             qgc_in_dim_str(in, x->dims[1]), (long long)block);
    dims[2] = qgc_dim_mul(&in->context->dims, x->dims[2], size);
    dims[3] = qgc_dim_mul(&in->context->dims, x->dims[3], size);
    in->results[0] = qgc_in_type(in, x->dtype, 4, dims);
    return QGC_OK;
}

qgc_result infer_space_to_depth(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    int64_t block = qgc_node_int(in->node, "block");
    QGC_RULE(in, 1, x->rank == 4, "x is %s", qgc_in_type_str(in, x));
    QGC_RULE(in, 2, block >= 1 && block <= 1 << 15, "block is %lld", (long long)block);
    qgc_dim dims[4] = {x->dims[0]};
    dims[1] = qgc_dim_mul(&in->context->dims, x->dims[1], qgc_dim_number(block * block));
    QGC_RULE(in, 3,
             exact(in, x->dims[2], block, &dims[2]) && exact(in, x->dims[3], block, &dims[3]),
             "x is %s, block is %lld", qgc_in_type_str(in, x), (long long)block);
    in->results[0] = qgc_in_type(in, x->dtype, 4, dims);
    return QGC_OK;
}

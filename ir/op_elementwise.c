/* Infer hooks: elementwise ops and activation functions. */
#include "ir/infer.h"

/* Sets the type of two broadcast operands; (C|rule|): they broadcast. */
static qgc_result infer_broadcast(qgc_infer *in, int rule, qgc_dtype result)
{
    const qgc_type *a = qgc_in(in, 0), *b = qgc_in(in, 1);
    uint32_t rank;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_RULE(in, rule, qgc_broadcast(in, a, b, &rank, dims), "a is %s, b is %s",
             qgc_in_type_str(in, a), qgc_in_type_str(in, b));
    in->results[0] = qgc_in_type(in, result, rank, dims);
    return QGC_OK;
}

static qgc_result infer_same_types(qgc_infer *in, qgc_dtype result)
{
    const qgc_type *a = qgc_in(in, 0), *b = qgc_in(in, 1);
    QGC_RULE(in, 1, a->dtype == b->dtype, "a is %s, b is %s", qgc_in_type_str(in, a),
             qgc_in_type_str(in, b));
    return infer_broadcast(in, 2, result);
}

qgc_result infer_binary(qgc_infer *in)
{
    return infer_same_types(in, qgc_in(in, 0)->dtype);
}

qgc_result infer_compare(qgc_infer *in)
{
    return infer_same_types(in, QGC_DTYPE_BOOL);
}

qgc_result infer_logic(qgc_infer *in)
{
    return infer_broadcast(in, 1, QGC_DTYPE_BOOL);
}

qgc_result infer_to_bool(qgc_infer *in)
{
    in->results[0] = qgc_type_with_dtype(&in->context->types, qgc_in(in, 0), QGC_DTYPE_BOOL);
    return QGC_OK;
}

qgc_result infer_cast(qgc_infer *in)
{
    in->results[0] =
        qgc_type_with_dtype(&in->context->types, qgc_in(in, 0), qgc_node_dtype(in->node, "to"));
    return QGC_OK;
}

qgc_result infer_where(qgc_infer *in)
{
    const qgc_type *cond = qgc_in(in, 0), *a = qgc_in(in, 1), *b = qgc_in(in, 2);
    QGC_RULE(in, 1, a->dtype == b->dtype, "a is %s, b is %s", qgc_in_type_str(in, a),
             qgc_in_type_str(in, b));
    uint32_t rank;
    qgc_dim dims[QGC_MAX_RANK];
    bool fits = qgc_broadcast(in, a, b, &rank, dims);
    const qgc_type *both = fits ? qgc_in_type(in, a->dtype, rank, dims) : a;
    fits = fits && qgc_broadcast(in, cond, both, &rank, dims);
    QGC_RULE(in, 2, fits, "cond is %s, a is %s, b is %s", qgc_in_type_str(in, cond),
             qgc_in_type_str(in, a), qgc_in_type_str(in, b));
    in->results[0] = qgc_in_type(in, a->dtype, rank, dims);
    return QGC_OK;
}

qgc_result infer_clip(qgc_infer *in)
{
    static const char *const names[] = {"x", "min", "max"};
    const qgc_type *x = qgc_in(in, 0);
    for (uint32_t i = 1; i < 3; i++) {
        const qgc_type *bound = qgc_in(in, i);
        if (!bound)
            continue;
        QGC_RULE(in, 1, bound->dtype == x->dtype, "x is %s, %s is %s", qgc_in_type_str(in, x),
                 names[i], qgc_in_type_str(in, bound));
        QGC_RULE(in, 2, bound->rank == 0, "%s is %s", names[i], qgc_in_type_str(in, bound));
    }
    in->results[0] = x;
    return QGC_OK;
}

/* False where a dimension of |from| is certainly neither 1 nor that of |to|. */
static bool repeats_onto(const qgc_type *from, const qgc_type *to)
{
    if (from->rank > to->rank)
        return false;
    uint32_t lead = to->rank - from->rank;
    for (uint32_t i = 0; i < from->rank; i++)
        if (!qgc_dim_equal(from->dims[i], qgc_dim_number(1)) &&
            qgc_dim_conflict(from->dims[i], to->dims[lead + i]))
            return false;
    return true;
}

qgc_result infer_prelu(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *slope = qgc_in(in, 1);
    QGC_RULE(in, 1, x->dtype == slope->dtype, "x is %s, slope is %s", qgc_in_type_str(in, x),
             qgc_in_type_str(in, slope));
    QGC_RULE(in, 2, repeats_onto(slope, x), "x is %s, slope is %s", qgc_in_type_str(in, x),
             qgc_in_type_str(in, slope));
    in->results[0] = x;
    return QGC_OK;
}

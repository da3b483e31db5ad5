/* Infer hooks: normalization. */
#include "ir/infer.h"

#include <math.h>

/* Rule 1: every operand is of the element type of x. */
static qgc_result check_types(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    for (uint32_t i = 1; i < in->num_operands; i++)
        QGC_RULE(in, 1, !in->operands[i] || in->operands[i]->dtype == x->dtype, "x is %s, %s is %s",
                 qgc_in_type_str(in, x), in->op->operands[i].name,
                 qgc_in_type_str(in, in->operands[i]));
    return QGC_OK;
}

static qgc_result check_epsilon(qgc_infer *in, int rule)
{
    float epsilon = qgc_node_float(in->node, "epsilon");
    QGC_RULE(in, rule, epsilon >= 0 && isfinite(epsilon), "epsilon is %g", (double)epsilon);
    return QGC_OK;
}

/* Operands 1 .. have one element per channel of x. */
static qgc_result check_channels(qgc_infer *in, int rule)
{
    const qgc_type *x = qgc_in(in, 0);
    for (uint32_t i = 1; i < in->num_operands; i++) {
        const qgc_type *t = in->operands[i];
        QGC_RULE(in, rule, !t || (t->rank == 1 && !qgc_dim_conflict(t->dims[0], x->dims[1])),
                 "x is %s, %s is %s", qgc_in_type_str(in, x), in->op->operands[i].name,
                 qgc_in_type_str(in, t));
    }
    return QGC_OK;
}

static qgc_result infer_per_channel(qgc_infer *in, uint32_t least_rank)
{
    const qgc_type *x = qgc_in(in, 0);
    QGC_TRY(check_types(in));
    QGC_RULE(in, 2, x->rank >= least_rank, "x is %s", qgc_in_type_str(in, x));
    QGC_TRY(check_channels(in, 3));
    QGC_TRY(check_epsilon(in, 4));
    in->results[0] = x;
    return QGC_OK;
}

qgc_result infer_batch_norm(qgc_infer *in)
{
    return infer_per_channel(in, 2);
}

qgc_result infer_instance_norm(qgc_infer *in)
{
    return infer_per_channel(in, 3);
}

qgc_result infer_group_norm(qgc_infer *in)
{
    QGC_TRY(infer_per_channel(in, 2));
    qgc_dim channels = qgc_in(in, 0)->dims[1];
    int64_t groups = qgc_node_int(in->node, "num_groups");
    QGC_RULE(in, 5, groups >= 1 && (!qgc_dim_is_number(channels) || channels.value % groups == 0),
             "num_groups is %lld, x is %s", (long long)groups, qgc_in_type_str(in, qgc_in(in, 0)));
    return QGC_OK;
}

static bool broadcasts_to(const qgc_type *t, const qgc_type *x)
{
    if (t->rank > x->rank)
        return false;
    for (uint32_t i = 0; i < t->rank; i++) {
        qgc_dim dim = t->dims[i];
        if (!qgc_dim_equal(dim, qgc_dim_number(1)) &&
            qgc_dim_conflict(dim, x->dims[x->rank - t->rank + i]))
            return false;
    }
    return true;
}

qgc_result infer_layer_norm(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    QGC_TRY(check_types(in));
    uint32_t axis;
    QGC_TRY(qgc_in_axis(in, qgc_node_int(in->node, "axis"), x->rank, 2, &axis));
    for (uint32_t i = 1; i < in->num_operands; i++)
        QGC_RULE(in, 3, !in->operands[i] || broadcasts_to(in->operands[i], x), "x is %s, %s is %s",
                 qgc_in_type_str(in, x), in->op->operands[i].name,
                 qgc_in_type_str(in, in->operands[i]));
    QGC_TRY(check_epsilon(in, 4));
    QGC_RULE(in, 5, in->num_results <= 3, "%u results", in->num_results);
    qgc_dim dims[QGC_MAX_RANK];
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = i < axis ? x->dims[i] : qgc_dim_number(1);
    qgc_dtype computed = x->dtype == QGC_DTYPE_F64 ? QGC_DTYPE_F64 : QGC_DTYPE_F32;
    for (uint32_t i = 1; i < in->num_results; i++)
        in->results[i] = qgc_in_type(in, computed, x->rank, dims);
    in->results[0] = x;
    return QGC_OK;
}

qgc_result infer_lrn(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    int64_t size = qgc_node_int(in->node, "size");
    QGC_RULE(in, 1, x->rank >= 2, "x is %s", qgc_in_type_str(in, x));
    QGC_RULE(in, 2, size >= 1 && size <= INT32_MAX, "size is %lld", (long long)size);
    in->results[0] = x;
    return QGC_OK;
}

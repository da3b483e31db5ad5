/* Reductions: the elements of a group in row-major order of the reduced axes, folded by lanes. */
#include "runtime/math.h"
#include "runtime/ref/lanes.h"
#include "runtime/ref/move.h"

#include <math.h>

typedef enum prepare { AS_IS, ABSOLUTE, SQUARED, EXPONENTIAL } prepare;
typedef enum finish { NO_MORE, AVERAGE, ROOT, LOGARITHM } finish;

typedef struct reduction {
    qgc_fold fold;
    prepare prepare;
    finish finish;
} reduction;

/* Which elements make one result. */
typedef struct groups {
    size_t num;       /* elements of a group */
    int64_t *offsets; /* of them, from the first */
    uint32_t rank;    /* kept dimensions */
    int64_t shape[QGC_MAX_RANK], strides[QGC_MAX_RANK];
} groups;

static uint32_t axes_set(qgc_ref_call *call, uint32_t rank)
{
    uint32_t num, set = 0;
    const int64_t *axes = qgc_ref_list(call, "axes", 1, &num);
    if (!num)
        return qgc_node_flag(call->node, "noop_with_empty_axes") ? 0 : (1u << rank) - 1;
    for (uint32_t i = 0; i < num; i++)
        set |= 1u << qgc_ref_axis_at(axes, i, rank);
    return set;
}

static groups group(qgc_ref_call *call, const qgc_tensor *x, uint32_t set)
{
    groups g = {.num = 1};
    int64_t all[QGC_MAX_RANK], shape[QGC_MAX_RANK], strides[QGC_MAX_RANK];
    uint32_t rank = 0;
    qgc_strides(x, all);
    for (uint32_t d = 0; d < x->rank; d++) {
        bool is_reduced = set >> d & 1;
        uint32_t at = is_reduced ? rank++ : g.rank++;
        (is_reduced ? shape : g.shape)[at] = x->shape[d];
        (is_reduced ? strides : g.strides)[at] = all[d];
        g.num *= is_reduced ? (size_t)x->shape[d] : 1;
    }
    g.offsets = QGC_NEW_ARRAY(call->scratch, int64_t, g.num);
    int64_t index[QGC_MAX_RANK] = {0};
    for (size_t i = 0; i < g.num; i++) {
        for (uint32_t d = 0; d < rank; d++)
            g.offsets[i] += index[d] * strides[d];
        qgc_next_index(rank, shape, index);
    }
    return g;
}

static int64_t base_of(const groups *g, const int64_t *index)
{
    int64_t base = 0;
    for (uint32_t d = 0; d < g->rank; d++)
        base += index[d] * g->strides[d];
    return base;
}

/* What exponents are taken relative to: the maximum, but 0 where it is infinite. */
static float shift_f32(const float *values, size_t num)
{
    float max = qgc_fold_f32(QGC_FOLD_MAX, values, num);
    return isinf(max) ? 0 : max;
}

static float reduce_f32(const reduction *r, float *values, size_t num)
{
    float shift = r->prepare == EXPONENTIAL ? shift_f32(values, num) : 0;
    for (size_t i = 0; i < num; i++) {
        float v = values[i];
        if (r->prepare == ABSOLUTE)
            values[i] = fabsf(v);
        else if (r->prepare == SQUARED)
            values[i] = v * v;
        else if (r->prepare == EXPONENTIAL)
            values[i] = qgc_f32_exp(v - shift);
    }
    float total = qgc_fold_f32(r->fold, values, num);
    if (r->finish == AVERAGE)
        return total / (float)num;
    if (r->finish == ROOT)
        return sqrtf(total);
    if (r->finish == LOGARITHM)
        return qgc_f32_log(total) + shift;
    return total;
}

static double reduce_f64(const reduction *r, double *values, size_t num)
{
    double shift = r->prepare == EXPONENTIAL ? qgc_fold_f64(QGC_FOLD_MAX, values, num) : 0;
    shift = isinf(shift) ? 0 : shift;
    for (size_t i = 0; i < num; i++) {
        double v = values[i];
        if (r->prepare == ABSOLUTE)
            values[i] = fabs(v);
        else if (r->prepare == SQUARED)
            values[i] = v * v;
        else if (r->prepare == EXPONENTIAL)
            values[i] = exp(v - shift);
    }
    double total = qgc_fold_f64(r->fold, values, num);
    if (r->finish == AVERAGE)
        return total / (double)num;
    if (r->finish == ROOT)
        return sqrt(total);
    if (r->finish == LOGARITHM)
        return log(total) + shift;
    return total;
}

static int64_t reduce_int(const reduction *r, bool is_unsigned, int64_t *values, size_t num)
{
    for (size_t i = 0; i < num; i++) {
        uint64_t v = (uint64_t)values[i];
        if (r->prepare == ABSOLUTE && !is_unsigned && values[i] < 0)
            values[i] = (int64_t)(0 - v);
        else if (r->prepare == SQUARED)
            values[i] = (int64_t)(v * v);
    }
    int64_t total = qgc_fold_int(r->fold, is_unsigned, values, num);
    if (r->finish != AVERAGE)
        return total;
    return is_unsigned ? (int64_t)((uint64_t)total / num) : total / (int64_t)num;
}

/* Room for one group in the computation type. */
typedef union buffer {
    float *f32;
    double *f64;
    int64_t *ints;
} buffer;

static void reduce_group(const reduction *r, const qgc_tensor *x, const groups *g, int64_t base,
                         buffer b, qgc_tensor *y, size_t at)
{
    qgc_dtype_kind kind = qgc_dtype_get_kind(x->dtype);
    if (x->dtype == QGC_DTYPE_F32) {
        const float *data = x->data;
        for (size_t i = 0; i < g->num; i++)
            b.f32[i] = data[base + g->offsets[i]];
        qgc_set_f32(y, at, reduce_f32(r, b.f32, g->num));
    } else if (x->dtype == QGC_DTYPE_F64) {
        for (size_t i = 0; i < g->num; i++)
            b.f64[i] = qgc_get_f64(x, (size_t)(base + g->offsets[i]));
        qgc_set_f64(y, at, reduce_f64(r, b.f64, g->num));
    } else if (kind == QGC_FLOAT) {
        for (size_t i = 0; i < g->num; i++)
            b.f32[i] = qgc_get_f32(x, (size_t)(base + g->offsets[i]));
        qgc_set_f32(y, at, reduce_f32(r, b.f32, g->num));
    } else {
        for (size_t i = 0; i < g->num; i++)
            b.ints[i] = qgc_get_int(x, (size_t)(base + g->offsets[i]));
        bool is_unsigned = x->dtype == QGC_DTYPE_U64;
        qgc_set_int(y, at, reduce_int(r, is_unsigned, b.ints, g->num));
    }
}

static qgc_result run_reduction(qgc_ref_call *call, reduction r)
{
    const qgc_tensor *x = call->operands[0];
    qgc_tensor *y = &call->results[0];
    groups g = group(call, x, axes_set(call, x->rank));
    buffer b = {.f64 = QGC_NEW_ARRAY(call->scratch, double, g.num)};
    int64_t index[QGC_MAX_RANK] = {0};
    size_t num = qgc_tensor_count(y);
    for (size_t i = 0; i < num; i++) {
        reduce_group(&r, x, &g, base_of(&g, index), b, y, i);
        qgc_next_index(g.rank, g.shape, index);
    }
    return QGC_OK;
}

qgc_result ref_reduce_sum(qgc_ref_call *call)
{
    return run_reduction(call, (reduction){QGC_FOLD_SUM, AS_IS, NO_MORE});
}

qgc_result ref_reduce_mean(qgc_ref_call *call)
{
    return run_reduction(call, (reduction){QGC_FOLD_SUM, AS_IS, AVERAGE});
}

qgc_result ref_reduce_max(qgc_ref_call *call)
{
    return run_reduction(call, (reduction){QGC_FOLD_MAX, AS_IS, NO_MORE});
}

qgc_result ref_reduce_min(qgc_ref_call *call)
{
    return run_reduction(call, (reduction){QGC_FOLD_MIN, AS_IS, NO_MORE});
}

qgc_result ref_reduce_prod(qgc_ref_call *call)
{
    return run_reduction(call, (reduction){QGC_FOLD_PROD, AS_IS, NO_MORE});
}

qgc_result ref_reduce_l1(qgc_ref_call *call)
{
    return run_reduction(call, (reduction){QGC_FOLD_SUM, ABSOLUTE, NO_MORE});
}

qgc_result ref_reduce_l2(qgc_ref_call *call)
{
    return run_reduction(call, (reduction){QGC_FOLD_SUM, SQUARED, ROOT});
}

qgc_result ref_reduce_sum_square(qgc_ref_call *call)
{
    return run_reduction(call, (reduction){QGC_FOLD_SUM, SQUARED, NO_MORE});
}

qgc_result ref_reduce_log_sum(qgc_ref_call *call)
{
    return run_reduction(call, (reduction){QGC_FOLD_SUM, AS_IS, LOGARITHM});
}

qgc_result ref_reduce_log_sum_exp(qgc_ref_call *call)
{
    return run_reduction(call, (reduction){QGC_FOLD_SUM, EXPONENTIAL, LOGARITHM});
}

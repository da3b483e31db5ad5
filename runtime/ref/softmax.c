/* What looks along one axis: softmax and its kin, argmax, argmin. */
#include "runtime/math.h"
#include "runtime/ref/lanes.h"
#include "runtime/ref/move.h"

#include <math.h>

/* One line of a tensor along the axis: elements first, first + stride, ... */
typedef struct line {
    size_t first, stride, num;
} line;

typedef struct axis_job {
    const qgc_tensor *x;
    qgc_tensor *y;
    double *f64; /* room for one line, in the computation type */
    float *f32;
} axis_job;

static qgc_result run_lines(qgc_ref_call *call, void (*run)(const axis_job *, line, size_t))
{
    const qgc_tensor *x = call->operands[0];
    uint32_t axis = qgc_ref_axis(call, x->rank);
    size_t num = (size_t)x->shape[axis], inner = qgc_ref_count(x, axis + 1, x->rank);
    size_t outer = num ? qgc_ref_count(x, 0, axis) : 0;
    axis_job job = {x, &call->results[0], QGC_NEW_ARRAY(call->scratch, double, num),
                    QGC_NEW_ARRAY(call->scratch, float, num)};
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < inner; i++)
            run(&job, (line){o * num * inner + i, inner, num}, o * inner + i);
    return QGC_OK;
}

static void load_f32(const axis_job *job, line at)
{
    for (size_t i = 0; i < at.num; i++)
        job->f32[i] = qgc_get_f32(job->x, at.first + i * at.stride);
}

static void load_f64(const axis_job *job, line at)
{
    for (size_t i = 0; i < at.num; i++)
        job->f64[i] = qgc_get_f64(job->x, at.first + i * at.stride);
}

/* exp(x - max) in the line's buffer; the sum. */
static float exponentials_f32(const axis_job *job, size_t num, float *out_max)
{
    float max = qgc_fold_f32(QGC_FOLD_MAX, job->f32, num);
    for (size_t i = 0; i < num; i++)
        job->f32[i] = qgc_f32_exp(job->f32[i] - max);
    *out_max = max;
    return qgc_fold_f32(QGC_FOLD_SUM, job->f32, num);
}

static double exponentials_f64(const axis_job *job, size_t num, double *out_max)
{
    double max = qgc_fold_f64(QGC_FOLD_MAX, job->f64, num);
    for (size_t i = 0; i < num; i++)
        job->f64[i] = exp(job->f64[i] - max);
    *out_max = max;
    return qgc_fold_f64(QGC_FOLD_SUM, job->f64, num);
}

static void softmax_line(const axis_job *job, line at, size_t which)
{
    (void)which;
    if (job->x->dtype == QGC_DTYPE_F64) {
        double max;
        load_f64(job, at);
        double sum = exponentials_f64(job, at.num, &max);
        for (size_t i = 0; i < at.num; i++)
            qgc_set_f64(job->y, at.first + i * at.stride, job->f64[i] / sum);
        return;
    }
    float max;
    load_f32(job, at);
    float sum = exponentials_f32(job, at.num, &max);
    for (size_t i = 0; i < at.num; i++)
        qgc_set_f32(job->y, at.first + i * at.stride, job->f32[i] / sum);
}

static void log_softmax_line(const axis_job *job, line at, size_t which)
{
    (void)which;
    if (job->x->dtype == QGC_DTYPE_F64) {
        double max;
        load_f64(job, at);
        double log_sum = log(exponentials_f64(job, at.num, &max));
        for (size_t i = 0; i < at.num; i++) {
            size_t k = at.first + i * at.stride;
            qgc_set_f64(job->y, k, qgc_get_f64(job->x, k) - max - log_sum);
        }
        return;
    }
    float max;
    load_f32(job, at);
    float log_sum = qgc_f32_log(exponentials_f32(job, at.num, &max));
    for (size_t i = 0; i < at.num; i++) {
        size_t k = at.first + i * at.stride;
        qgc_set_f32(job->y, k, qgc_get_f32(job->x, k) - max - log_sum);
    }
}

/* Whether element |b| beats the best so far; a NaN beats every number. */
static bool beats(const qgc_tensor *x, size_t best, size_t b, bool wants_max)
{
    if (qgc_dtype_get_kind(x->dtype) == QGC_FLOAT) {
        double old = qgc_get_f64(x, best), new = qgc_get_f64(x, b);
        if (isnan(old) || isnan(new))
            return !isnan(old);
        return wants_max ? new > old : new < old;
    }
    int64_t old = qgc_get_int(x, best), new = qgc_get_int(x, b);
    if (x->dtype == QGC_DTYPE_U64)
        return wants_max ? (uint64_t)new > (uint64_t)old : (uint64_t)new < (uint64_t)old;
    return wants_max ? new > old : new < old;
}

/* Neither beats the other, in either order. */
static bool equals(const qgc_tensor *x, size_t a, size_t b)
{
    return !beats(x, a, b, true) && !beats(x, b, a, true);
}

/* Position along the line; of equal ones the first, or the last. */
static size_t best_of(const qgc_tensor *x, line at, bool wants_max, bool takes_last)
{
    size_t best = 0;
    for (size_t i = 1; i < at.num; i++) {
        size_t old = at.first + best * at.stride, new = at.first + i *at.stride;
        if (beats(x, old, new, wants_max) || (takes_last && equals(x, old, new)))
            best = i;
    }
    return best;
}

static void hardmax_line(const axis_job *job, line at, size_t which)
{
    (void)which;
    size_t k = at.first + best_of(job->x, at, true, false) * at.stride;
    if (job->x->dtype == QGC_DTYPE_F64)
        qgc_set_f64(job->y, k, 1);
    else
        qgc_set_f32(job->y, k, 1);
}

static void argmax_line(const axis_job *job, line at, size_t which)
{
    qgc_set_int(job->y, which, (int64_t)best_of(job->x, at, true, false));
}

static void argmin_line(const axis_job *job, line at, size_t which)
{
    qgc_set_int(job->y, which, (int64_t)best_of(job->x, at, false, false));
}

static void last_argmax_line(const axis_job *job, line at, size_t which)
{
    qgc_set_int(job->y, which, (int64_t)best_of(job->x, at, true, true));
}

static void last_argmin_line(const axis_job *job, line at, size_t which)
{
    qgc_set_int(job->y, which, (int64_t)best_of(job->x, at, false, true));
}

qgc_result ref_softmax(qgc_ref_call *call)
{
    return run_lines(call, softmax_line);
}

qgc_result ref_log_softmax(qgc_ref_call *call)
{
    return run_lines(call, log_softmax_line);
}

qgc_result ref_hardmax(qgc_ref_call *call)
{
    return run_lines(call, hardmax_line);
}

qgc_result ref_argmax(qgc_ref_call *call)
{
    bool takes_last = qgc_node_flag(call->node, "select_last_index");
    return run_lines(call, takes_last ? last_argmax_line : argmax_line);
}

qgc_result ref_argmin(qgc_ref_call *call)
{
    bool takes_last = qgc_node_flag(call->node, "select_last_index");
    return run_lines(call, takes_last ? last_argmin_line : argmin_line);
}

/* Normalization. Mean and variance are sums in lanes (runtime/ref/lanes.h), the variance in a
 * second pass; every step rounds. f32, f16 and bf16 compute in f32: values of f32 held in a double
 * here are exact. */
#include "runtime/math.h"
#include "runtime/ref/lanes.h"
#include "runtime/ref/ref.h"

#include <math.h>

typedef struct statistics {
    double mean, inverse; /* 1 / sqrt(variance + epsilon) */
} statistics;

static double inverse_of(bool wide, double variance, float epsilon)
{
    if (wide)
        return 1 / sqrt(variance + (double)epsilon);
    return (double)(1 / sqrtf((float)variance + epsilon));
}

/* Over elements [first, first + num) of x. |buffer|: num doubles. */
static statistics gather_f32(const qgc_tensor *x, size_t first, size_t num, float epsilon,
                             void *buffer)
{
    float *values = buffer;
    for (size_t i = 0; i < num; i++)
        values[i] = qgc_get_f32(x, first + i);
    float mean = qgc_fold_f32(QGC_FOLD_SUM, values, num) / (float)num;
    for (size_t i = 0; i < num; i++) {
        float difference = values[i] - mean;
        values[i] = difference * difference;
    }
    float variance = qgc_fold_f32(QGC_FOLD_SUM, values, num) / (float)num;
    return (statistics){(double)mean, inverse_of(false, (double)variance, epsilon)};
}

static statistics gather_f64(const qgc_tensor *x, size_t first, size_t num, float epsilon,
                             void *buffer)
{
    double *values = buffer;
    for (size_t i = 0; i < num; i++)
        values[i] = qgc_get_f64(x, first + i);
    double mean = qgc_fold_f64(QGC_FOLD_SUM, values, num) / (double)num;
    for (size_t i = 0; i < num; i++) {
        double difference = values[i] - mean;
        values[i] = difference * difference;
    }
    double variance = qgc_fold_f64(QGC_FOLD_SUM, values, num) / (double)num;
    return (statistics){mean, inverse_of(true, variance, epsilon)};
}

static statistics gather(const qgc_tensor *x, size_t first, size_t num, float epsilon, void *buffer)
{
    return x->dtype == QGC_DTYPE_F64 ? gather_f64(x, first, num, epsilon, buffer)
                                     : gather_f32(x, first, num, epsilon, buffer);
}

/* Scale and bias of an element; either tensor may be NULL. */
typedef struct affine {
    const qgc_tensor *scale, *bias;
    size_t scale_index, bias_index;
} affine;

/* y[i] = ((x[i] - mean) * inverse) * scale + bias. */
static void normalize(qgc_ref_call *call, size_t i, const statistics *s, const affine *a)
{
    const qgc_tensor *x = call->operands[0];
    qgc_tensor *y = &call->results[0];
    if (x->dtype == QGC_DTYPE_F64) {
        double v = (qgc_get_f64(x, i) - s->mean) * s->inverse;
        v = a->scale ? v * qgc_get_f64(a->scale, a->scale_index) : v;
        qgc_set_f64(y, i, a->bias ? v + qgc_get_f64(a->bias, a->bias_index) : v);
        return;
    }
    float v = (qgc_get_f32(x, i) - (float)s->mean) * (float)s->inverse;
    v = a->scale ? v * qgc_get_f32(a->scale, a->scale_index) : v;
    qgc_set_f32(y, i, a->bias ? v + qgc_get_f32(a->bias, a->bias_index) : v);
}

/* Elements behind dimension 1 of x. */
static size_t plane_size(const qgc_tensor *x)
{
    size_t total = 1;
    for (uint32_t i = 2; i < x->rank; i++)
        total *= (size_t)x->shape[i];
    return total;
}

/* Elements [first, first + num) with one scale and bias per channel. */
static void normalize_channels(qgc_ref_call *call, size_t first, size_t num, const statistics *s)
{
    const qgc_tensor *x = call->operands[0];
    affine a = {.scale = call->operands[1], .bias = call->operands[2]};
    size_t plane = plane_size(x), channels = (size_t)x->shape[1];
    for (size_t i = first; i < first + num; i++) {
        a.scale_index = a.bias_index = i / plane % channels;
        normalize(call, i, s, &a);
    }
}

qgc_result ref_batch_norm(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *mean = call->operands[3], *var = call->operands[4];
    float epsilon = qgc_node_float(call->node, "epsilon");
    size_t plane = plane_size(x), planes = plane ? qgc_tensor_count(x) / plane : 0;
    for (size_t i = 0; i < planes; i++) {
        size_t channel = i % (size_t)x->shape[1];
        statistics s = {qgc_get_f64(mean, channel),
                        inverse_of(x->dtype == QGC_DTYPE_F64, qgc_get_f64(var, channel), epsilon)};
        normalize_channels(call, i * plane, plane, &s);
    }
    return QGC_OK;
}

/* Each |num| elements by their own mean and variance. */
static qgc_result run_slices(qgc_ref_call *call, size_t num)
{
    const qgc_tensor *x = call->operands[0];
    float epsilon = qgc_node_float(call->node, "epsilon");
    size_t count = qgc_tensor_count(x);
    if (!count)
        return QGC_OK;
    double *buffer = QGC_NEW_ARRAY(call->scratch, double, num);
    for (size_t first = 0; first < count; first += num) {
        statistics s = gather(x, first, num, epsilon, buffer);
        normalize_channels(call, first, num, &s);
    }
    return QGC_OK;
}

qgc_result ref_instance_norm(qgc_ref_call *call)
{
    return run_slices(call, plane_size(call->operands[0]));
}

qgc_result ref_group_norm(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    size_t groups = (size_t)qgc_node_int(call->node, "num_groups");
    return run_slices(call, (size_t)x->shape[1] / groups * plane_size(x));
}

static void set_statistics(qgc_ref_call *call, size_t row, const statistics *s)
{
    for (uint32_t i = 1; i < call->num_results; i++) {
        double value = i == 1 ? s->mean : s->inverse;
        if (call->results[i].dtype == QGC_DTYPE_F64)
            qgc_set_f64(&call->results[i], row, value);
        else
            qgc_set_f32(&call->results[i], row, (float)value);
    }
}

static void steps_of(const qgc_tensor *t, const qgc_tensor *x, int64_t *out)
{
    if (t)
        qgc_broadcast_strides(t, x->rank, x->shape, out);
}

qgc_result ref_layer_norm(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    affine a = {.scale = call->operands[1], .bias = call->operands[2]};
    if (!qgc_tensor_count(x) && call->num_results == 1)
        return QGC_OK;
    int64_t axis = qgc_node_int(call->node, "axis"), index[QGC_MAX_RANK] = {0};
    int64_t scale_steps[QGC_MAX_RANK] = {0}, bias_steps[QGC_MAX_RANK] = {0};
    steps_of(a.scale, x, scale_steps);
    steps_of(a.bias, x, bias_steps);
    size_t rows = 1, num = 1;
    for (uint32_t i = 0; i < x->rank; i++)
        *((int64_t)i < (axis < 0 ? axis + x->rank : axis) ? &rows : &num) *= (size_t)x->shape[i];
    double *buffer = QGC_NEW_ARRAY(call->scratch, double, num);
    for (size_t row = 0; row < rows; row++) {
        statistics s = gather(x, row * num, num, qgc_node_float(call->node, "epsilon"), buffer);
        set_statistics(call, row, &s);
        for (size_t i = 0; i < num; i++) {
            a.scale_index = a.bias_index = 0;
            for (uint32_t d = 0; d < x->rank; d++) {
                a.scale_index += (size_t)(index[d] * scale_steps[d]);
                a.bias_index += (size_t)(index[d] * bias_steps[d]);
            }
            normalize(call, row * num + i, &s, &a);
            qgc_next_index(x->rank, x->shape, index);
        }
    }
    return QGC_OK;
}

/* ---- lrn ---- */

typedef struct response {
    float alpha, beta, bias;
    int64_t size;
} response;

/* Element |i| from |num| elements around it, one per channel: |from|, then |plane| apart. */
static void respond(qgc_ref_call *call, const response *r, size_t i, size_t from, size_t num,
                    size_t plane)
{
    const qgc_tensor *x = call->operands[0];
    if (x->dtype == QGC_DTYPE_F64) {
        double sum = 0, alpha = (double)r->alpha / (double)r->size;
        for (size_t k = 0; k < num; k++) {
            double v = qgc_get_f64(x, from + k * plane);
            sum += v * v;
        }
        double base = (double)r->bias + alpha * sum;
        qgc_set_f64(&call->results[0], i, qgc_get_f64(x, i) / pow(base, (double)r->beta));
        return;
    }
    float sum = 0, alpha = r->alpha / (float)r->size;
    for (size_t k = 0; k < num; k++) {
        float v = qgc_get_f32(x, from + k * plane);
        sum += v * v;
    }
    float base = r->bias + alpha * sum;
    qgc_set_f32(&call->results[0], i, qgc_get_f32(x, i) / qgc_f32_pow(base, r->beta));
}

qgc_result ref_lrn(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    response r = {qgc_node_float(call->node, "alpha"), qgc_node_float(call->node, "beta"),
                  qgc_node_float(call->node, "bias"), qgc_node_int(call->node, "size")};
    int64_t channels = x->shape[1], below = (r.size - 1) / 2, above = r.size / 2;
    size_t plane = plane_size(x), count = qgc_tensor_count(x);
    for (size_t i = 0; i < count; i++) {
        int64_t channel = (int64_t)(i / plane) % channels;
        int64_t first = channel - below > 0 ? channel - below : 0;
        int64_t last = channel + above < channels ? channel + above : channels - 1;
        size_t from = i - (size_t)(channel - first) * plane;
        respond(call, &r, i, from, (size_t)(last - first + 1), plane);
    }
    return QGC_OK;
}

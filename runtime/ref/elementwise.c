/* Elementwise ops. */
#include "runtime/ref/ref.h"

/* One function per computation type; an op gives those that its row allows. */
typedef struct binary_op {
    float (*f32)(float, float);
    double (*f64)(double, double);
    int64_t (*integer)(int64_t, int64_t);
} binary_op;

static void apply(const binary_op *op, qgc_tensor *y, size_t i, const qgc_tensor *a, size_t ia,
                  const qgc_tensor *b, size_t ib)
{
    if (a->dtype == QGC_DTYPE_F64)
        qgc_set_f64(y, i, op->f64(qgc_get_f64(a, ia), qgc_get_f64(b, ib)));
    else if (qgc_dtype_get_kind(a->dtype) == QGC_FLOAT)
        qgc_set_f32(y, i, op->f32(qgc_get_f32(a, ia), qgc_get_f32(b, ib)));
    else
        qgc_set_int(y, i, op->integer(qgc_get_int(a, ia), qgc_get_int(b, ib)));
}

static qgc_result run_binary(qgc_ref_call *call, const binary_op *op)
{
    const qgc_tensor *a = call->operands[0], *b = call->operands[1];
    qgc_tensor *y = &call->results[0];
    int64_t sa[QGC_MAX_RANK], sb[QGC_MAX_RANK], index[QGC_MAX_RANK] = {0};
    qgc_broadcast_strides(a, y->rank, y->shape, sa);
    qgc_broadcast_strides(b, y->rank, y->shape, sb);
    size_t num = qgc_tensor_count(y);
    for (size_t i = 0; i < num; i++) {
        int64_t ia = 0, ib = 0;
        for (uint32_t d = 0; d < y->rank; d++) {
            ia += index[d] * sa[d];
            ib += index[d] * sb[d];
        }
        apply(op, y, i, a, (size_t)ia, b, (size_t)ib);
        qgc_next_index(y->rank, y->shape, index);
    }
    return QGC_OK;
}

static float add_f32(float a, float b)
{
    return a + b;
}

static double add_f64(double a, double b)
{
    return a + b;
}

static int64_t add_int(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

qgc_result ref_add(qgc_ref_call *call)
{
    static const binary_op op = {add_f32, add_f64, add_int};
    return run_binary(call, &op);
}

typedef struct unary_op {
    float (*f32)(float);
    double (*f64)(double);
    int64_t (*integer)(int64_t);
} unary_op;

static qgc_result run_unary(qgc_ref_call *call, const unary_op *op)
{
    const qgc_tensor *x = call->operands[0];
    qgc_tensor *y = &call->results[0];
    size_t num = qgc_tensor_count(y);
    for (size_t i = 0; i < num; i++) {
        if (x->dtype == QGC_DTYPE_F64)
            qgc_set_f64(y, i, op->f64(qgc_get_f64(x, i)));
        else if (qgc_dtype_get_kind(x->dtype) == QGC_FLOAT)
            qgc_set_f32(y, i, op->f32(qgc_get_f32(x, i)));
        else
            qgc_set_int(y, i, op->integer(qgc_get_int(x, i)));
    }
    return QGC_OK;
}

static float relu_f32(float x)
{
    return x < 0 ? 0 : x;
}

static double relu_f64(double x)
{
    return x < 0 ? 0 : x;
}

static int64_t relu_int(int64_t x)
{
    return x < 0 ? 0 : x;
}

qgc_result ref_relu(qgc_ref_call *call)
{
    static const unary_op op = {relu_f32, relu_f64, relu_int};
    return run_unary(call, &op);
}

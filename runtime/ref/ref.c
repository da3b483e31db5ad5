#include "runtime/ref/ref.h"

#include "base/number.h"

#include <string.h>

/* Kernel prototypes and table: a forgotten kernel does not link. */
#define QGC_OP(id, mnemonic, infer, kernel, ...) qgc_ref_fn kernel;
#include "ir/ops.def"

static qgc_ref_fn *const kernels[] = {
#define QGC_OP(id, mnemonic, infer, kernel, ...) [QGC_OP_##id] = kernel,
#include "ir/ops.def"
};

qgc_ref_fn *qgc_ref_kernel(qgc_opcode op)
{
    return kernels[op];
}

qgc_result qgc_ref_fail(qgc_ref_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = qgc_arena_vprintf(call->scratch, format, args);
    va_end(args);
    return qgc_report(&call->context->diag, call->node->loc, QGC_D_RUN_FAILED, "%s: %s",
                      qgc_op(call->node->op)->mnemonic, message);
}

float qgc_get_f32(const qgc_tensor *t, size_t index)
{
    switch (t->dtype) {
    case QGC_DTYPE_F32:
        return ((const float *)t->data)[index];
    case QGC_DTYPE_F16:
        return qgc_f16_to_f32(((const uint16_t *)t->data)[index]);
    case QGC_DTYPE_BF16:
        return qgc_bf16_to_f32(((const uint16_t *)t->data)[index]);
    default:
        QGC_ASSERT(false, "%s is not read as f32", qgc_dtype_name(t->dtype));
        return 0;
    }
}

void qgc_set_f32(qgc_tensor *t, size_t index, float v)
{
    switch (t->dtype) {
    case QGC_DTYPE_F32:
        ((float *)t->data)[index] = v;
        return;
    case QGC_DTYPE_F16:
        ((uint16_t *)t->data)[index] = qgc_f16_from_f32(v);
        return;
    case QGC_DTYPE_BF16:
        ((uint16_t *)t->data)[index] = qgc_bf16_from_f32(v);
        return;
    default:
        QGC_ASSERT(false, "%s is not written as f32", qgc_dtype_name(t->dtype));
    }
}

double qgc_get_f64(const qgc_tensor *t, size_t index)
{
    switch (t->dtype) {
    case QGC_DTYPE_F64:
        return ((const double *)t->data)[index];
    case QGC_DTYPE_F32:
    case QGC_DTYPE_F16:
    case QGC_DTYPE_BF16:
        return (double)qgc_get_f32(t, index);
    case QGC_DTYPE_U64:
        return (double)((const uint64_t *)t->data)[index];
    default:
        return (double)qgc_get_int(t, index);
    }
}

void qgc_set_f64(qgc_tensor *t, size_t index, double v)
{
    QGC_ASSERT(t->dtype == QGC_DTYPE_F64, "%s is not written as f64", qgc_dtype_name(t->dtype));
    ((double *)t->data)[index] = v;
}

int64_t qgc_get_int(const qgc_tensor *t, size_t index)
{
    switch (t->dtype) {
    case QGC_DTYPE_I8:
        return ((const int8_t *)t->data)[index];
    case QGC_DTYPE_U8:
    case QGC_DTYPE_BOOL:
        return ((const uint8_t *)t->data)[index];
    case QGC_DTYPE_I16:
        return ((const int16_t *)t->data)[index];
    case QGC_DTYPE_U16:
        return ((const uint16_t *)t->data)[index];
    case QGC_DTYPE_I32:
        return ((const int32_t *)t->data)[index];
    case QGC_DTYPE_U32:
        return ((const uint32_t *)t->data)[index];
    case QGC_DTYPE_I64:
    case QGC_DTYPE_U64:
        return ((const int64_t *)t->data)[index];
    default:
        QGC_ASSERT(false, "%s is not read as an integer", qgc_dtype_name(t->dtype));
        return 0;
    }
}

void qgc_set_int(qgc_tensor *t, size_t index, int64_t v)
{
    size_t bytes = qgc_dtype_bytes(t->dtype);
    uint64_t bits = t->dtype == QGC_DTYPE_BOOL ? v != 0 : (uint64_t)v;
    memcpy((char *)t->data + index * bytes, &bits, bytes); /* little-endian: the low bytes */
}

void qgc_strides(const qgc_tensor *t, int64_t *out)
{
    int64_t stride = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        out[i] = stride;
        stride *= t->shape[i];
    }
}

void qgc_broadcast_strides(const qgc_tensor *t, uint32_t rank, const int64_t *shape, int64_t *out)
{
    int64_t own[QGC_MAX_RANK];
    qgc_strides(t, own);
    uint32_t lead = rank - t->rank;
    for (uint32_t i = 0; i < rank; i++)
        out[i] = i < lead || (t->shape[i - lead] == 1 && shape[i] != 1) ? 0 : own[i - lead];
}

bool qgc_next_index(uint32_t rank, const int64_t *shape, int64_t *index)
{
    for (uint32_t i = rank; i-- > 0;) {
        if (++index[i] < shape[i])
            return true;
        index[i] = 0;
    }
    return false;
}

#include "runtime/tensor.h"

#include "base/pages.h"
#include <stdlib.h>
#include <string.h>

bool qgc_shape_count(uint32_t rank, const int64_t *shape, size_t *out_count)
{
    if (rank > QGC_MAX_RANK)
        return false;
    size_t count = 1;
    bool empty = false;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return false;
        if (shape[i] == 0)
            empty = true;
        else if (!qgc_checked_mul(count, (size_t)shape[i], &count))
            return false;
    }
    if (count > INT64_MAX)
        return false;
    *out_count = empty ? 0 : count;
    return true;
}

bool qgc_shape_bytes(qgc_dtype dtype, uint32_t rank, const int64_t *shape, size_t *out_bytes)
{
    int64_t full[QGC_MAX_RANK];
    if (rank > QGC_MAX_RANK)
        return false;
    for (uint32_t i = 0; i < rank; i++)
        full[i] = shape[i] ? shape[i] : 1;
    size_t count, limit;
    if (!qgc_shape_count(rank, full, &count) ||
        !qgc_checked_mul(count, qgc_dtype_bytes(dtype), &limit) || limit > INT64_MAX)
        return false;
    return qgc_shape_count(rank, shape, &count) &&
           qgc_checked_mul(count, qgc_dtype_bytes(dtype), out_bytes);
}

const char *qgc_shape_text(qgc_arena *arena, uint32_t rank, const int64_t *shape)
{
    if (!rank)
        return "scalar";
    qgc_text text = {.arena = arena};
    for (uint32_t i = 0; i < rank; i++)
        qgc_text_printf(&text, "%s%lld", i ? "x" : "", (long long)shape[i]);
    return qgc_text_str(&text).data;
}

qgc_result qgc_tensor_create(qgc_diag *diag, qgc_dtype dtype, uint32_t rank, const int64_t *shape,
                             qgc_tensor *out)
{
    *out = (qgc_tensor){0};
    size_t bytes, total;
    if (!qgc_shape_bytes(dtype, rank, shape, &bytes))
        return qgc_report(diag, QGC_NO_LOC, QGC_D_BAD_TYPE,
                          "expected at most %d dimensions, none negative, and a size that fits 63 "
                          "bits, found %s of shape %s",
                          QGC_MAX_RANK, qgc_dtype_name(dtype),
                          rank > QGC_MAX_RANK
                              ? qgc_arena_printf(diag->arena, "(rank %u)", (unsigned)rank)
                              : qgc_shape_text(diag->arena, rank, shape));
    /* Whole multiples of the alignment, as aligned_alloc asks. */
    void *data = NULL;
    if (qgc_checked_add(bytes, QGC_TENSOR_SLACK + QGC_TENSOR_ALIGN - 1, &total)) {
        total &= ~(size_t)(QGC_TENSOR_ALIGN - 1);
        data = aligned_alloc(QGC_TENSOR_ALIGN, total);
        if (data)
            qgc_prefer_large_pages(data, total);
    }
    if (!data)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_RUN_FAILED,
                          "out of memory for %zu bytes (%s of shape %s)", bytes,
                          qgc_dtype_name(dtype), qgc_shape_text(diag->arena, rank, shape));
    *out = (qgc_tensor){.dtype = dtype, .rank = rank, .data = memset(data, 0, total)};
    out->bytes = bytes;
    if (rank)
        memcpy(out->shape, shape, rank * sizeof *shape);
    return QGC_OK;
}

void qgc_tensor_destroy(qgc_tensor *tensor)
{
    free(tensor->data);
    *tensor = (qgc_tensor){0};
}

qgc_result qgc_tensor_copy(qgc_diag *diag, const qgc_tensor *from, qgc_tensor *out)
{
    const qgc_tensor source = *from; /* |out| may be |from|: a view becomes an owner */
    QGC_TRY(qgc_tensor_create(diag, source.dtype, source.rank, source.shape, out));
    if (source.bytes)
        memcpy(out->data, source.data, source.bytes);
    return QGC_OK;
}

size_t qgc_tensor_count(const qgc_tensor *tensor)
{
    return tensor->bytes / qgc_dtype_bytes(tensor->dtype);
}

bool qgc_tensor_same_type(const qgc_tensor *a, const qgc_tensor *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

/* Bits without the sign above which an element is a NaN; 0 where the type has none. */
static const uint64_t infinities[QGC_NUM_DTYPES] = {
    [QGC_DTYPE_F32] = 0x7f800000u,
    [QGC_DTYPE_F16] = 0x7c00u,
    [QGC_DTYPE_BF16] = 0x7f80u,
    [QGC_DTYPE_F64] = 0x7ff0000000000000u,
};

static bool is_nan(qgc_dtype dtype, const unsigned char *element)
{
    if (!infinities[dtype])
        return false;
    size_t size = qgc_dtype_bytes(dtype);
    uint64_t bits = 0;
    memcpy(&bits, element, size);
    uint64_t sign = (uint64_t)1 << (size * 8 - 1);
    return (bits & ~sign) > infinities[dtype];
}

size_t qgc_tensor_first_difference(const qgc_tensor *a, const qgc_tensor *b)
{
    QGC_ASSERT(qgc_tensor_same_type(a, b), "compared tensors of different types");
    if (!a->bytes || memcmp(a->data, b->data, a->bytes) == 0)
        return SIZE_MAX;
    const unsigned char *left = a->data, *right = b->data;
    size_t size = qgc_dtype_bytes(a->dtype);
    for (size_t i = 0; i < a->bytes; i += size)
        if (memcmp(left + i, right + i, size) != 0 &&
            !(is_nan(a->dtype, left + i) && is_nan(a->dtype, right + i)))
            return i / size;
    return SIZE_MAX;
}

bool qgc_tensor_equal(const qgc_tensor *a, const qgc_tensor *b)
{
    return qgc_tensor_same_type(a, b) && qgc_tensor_first_difference(a, b) == SIZE_MAX;
}

bool qgc_bools_valid(const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    unsigned char any = 0;
    for (size_t i = 0; i < bytes; i++)
        any |= byte[i];
    return any <= 1;
}

#include "runtime/ref/chain.h"

#include <math.h>
#include <string.h>

/* fmaf and fma are exact either way; with the CPU's own instruction they are fast. Where the build
 * has the instruction already (or the CPU is of another kind) there is one version only. */
#if defined(__x86_64__) && !(defined(__FMA__) && defined(__AVX2__))
#define HAVE_VARIANT 1
#define VARIANT      __attribute__((target("avx2,fma")))
#else
#define HAVE_VARIANT 0
#endif
#define INLINE static inline __attribute__((always_inline))

/* |width| is a constant at every call: the block lives in registers. */
INLINE void chain_f32(float *restrict acc, const float *restrict x, size_t num,
                      const float *restrict w, size_t width)
{
    float block[QGC_CHAIN_MAX_WIDTH];
    memcpy(block, acc, width * sizeof *acc);
    for (size_t k = 0; k < num; k++)
        for (size_t j = 0; j < width; j++)
            block[j] = fmaf(x[k], w[k * width + j], block[j]);
    memcpy(acc, block, width * sizeof *acc);
}

INLINE void chain_f64(double *restrict acc, const double *restrict x, size_t num,
                      const double *restrict w, size_t width)
{
    double block[QGC_CHAIN_MAX_WIDTH];
    memcpy(block, acc, width * sizeof *acc);
    for (size_t k = 0; k < num; k++)
        for (size_t j = 0; j < width; j++)
            block[j] = fma(x[k], w[k * width + j], block[j]);
    memcpy(acc, block, width * sizeof *acc);
}

INLINE void chain_i64(uint64_t *restrict acc, const uint64_t *restrict x, size_t num,
                      const uint64_t *restrict w, size_t width)
{
    for (size_t k = 0; k < num; k++)
        for (size_t j = 0; j < width; j++)
            acc[j] += x[k] * w[k * width + j];
}

INLINE void chain(qgc_dtype type, void *acc, const void *x, size_t num, const void *w, size_t width)
{
    if (type == QGC_DTYPE_F32)
        chain_f32(acc, x, num, w, width);
    else if (type == QGC_DTYPE_F64)
        chain_f64(acc, x, num, w, width);
    else
        chain_i64(acc, x, num, w, width);
}

INLINE void chain_of_width(qgc_dtype type, size_t width, void *acc, const void *x, size_t num,
                           const void *w)
{
    if (width == 32)
        chain(type, acc, x, num, w, 32);
    else if (width == 8)
        chain(type, acc, x, num, w, 8);
    else
        chain(type, acc, x, num, w, 1);
}

#if HAVE_VARIANT
VARIANT static void chain_variant(qgc_dtype type, size_t width, void *acc, const void *x,
                                  size_t num, const void *w)
{
    chain_of_width(type, width, acc, x, num, w);
}
#endif

void qgc_chain_run(qgc_dtype type, size_t width, void *acc, const void *x, size_t num,
                   const void *w)
{
#if HAVE_VARIANT
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        chain_variant(type, width, acc, x, num, w);
        return;
    }
#endif
    chain_of_width(type, width, acc, x, num, w);
}

qgc_dtype qgc_chain_dtype(qgc_dtype dtype)
{
    if (dtype == QGC_DTYPE_F64)
        return QGC_DTYPE_F64;
    return qgc_dtype_get_kind(dtype) == QGC_FLOAT ? QGC_DTYPE_F32 : QGC_DTYPE_I64;
}

size_t qgc_chain_width(size_t num)
{
    return num >= 32 ? 32 : num >= 8 ? 8 : 1;
}

void qgc_chain_load(void *dest, size_t to, const qgc_tensor *t, size_t from)
{
    switch (qgc_chain_dtype(t->dtype)) {
    case QGC_DTYPE_F32:
        ((float *)dest)[to] = qgc_get_f32(t, from);
        return;
    case QGC_DTYPE_F64:
        ((double *)dest)[to] = qgc_get_f64(t, from);
        return;
    default:
        ((int64_t *)dest)[to] = qgc_get_int(t, from);
    }
}

void qgc_chain_store(qgc_tensor *t, size_t to, const void *acc, size_t from)
{
    switch (qgc_chain_dtype(t->dtype)) {
    case QGC_DTYPE_F32:
        qgc_set_f32(t, to, ((const float *)acc)[from]);
        return;
    case QGC_DTYPE_F64:
        qgc_set_f64(t, to, ((const double *)acc)[from]);
        return;
    default:
        qgc_set_int(t, to, ((const int64_t *)acc)[from]);
    }
}

void qgc_chain_pack(void *dest, size_t to, size_t width, const qgc_tensor *t,
                    const qgc_chain_matrix *matrix)
{
    for (size_t row = 0; row < matrix->rows; row++)
        for (size_t column = 0; column < matrix->columns; column++) {
            size_t block = column / width, lane = column % width;
            qgc_chain_load(dest, to + (block * matrix->rows + row) * width + lane, t,
                           matrix->base + row * matrix->row_step + column * matrix->column_step);
        }
}

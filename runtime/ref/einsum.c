/* einsum: per element of the result one chain over the summed labels. */
#include "ir/einsum.h"
#include "runtime/ref/move.h"

#include <math.h>

/* Labels to loops: first those of the result, then the summed ones. */
typedef struct loops {
    uint32_t num_outer, num_inner, num_operands;
    int64_t outer[QGC_MAX_RANK], inner[QGC_EINSUM_LABELS];
    int64_t strides[QGC_EINSUM_OPERANDS][QGC_EINSUM_LABELS]; /* per loop, outer ones first */
} loops;

static void add_loop(qgc_ref_call *call, const qgc_einsum *e, uint8_t label, uint32_t loop,
                     loops *l, int64_t *out_size)
{
    *out_size = 1;
    for (uint32_t i = 0; i < e->num_operands; i++) {
        const qgc_tensor *x = call->operands[i];
        int64_t strides[QGC_MAX_RANK];
        qgc_strides(x, strides);
        for (uint32_t d = 0; d < x->rank; d++) {
            if (e->operands[i].labels[d] != label)
                continue;
            bool repeats = x->shape[d] == 1;
            l->strides[i][loop] += repeats ? 0 : strides[d];
            *out_size = repeats ? *out_size : x->shape[d];
        }
    }
}

static void plan(qgc_ref_call *call, const qgc_einsum *e, loops *l)
{
    *l = (loops){e->result.rank, e->num_summed, e->num_operands, {0}, {0}, {{0}}};
    for (uint32_t i = 0; i < l->num_outer; i++)
        add_loop(call, e, e->result.labels[i], i, l, &l->outer[i]);
    for (uint32_t i = 0; i < l->num_inner; i++)
        add_loop(call, e, e->summed[i], l->num_outer + i, l, &l->inner[i]);
}

static size_t element(const loops *l, uint32_t operand, const int64_t *outer, const int64_t *inner)
{
    const int64_t *strides = l->strides[operand];
    int64_t at = 0;
    for (uint32_t i = 0; i < l->num_outer; i++)
        at += outer[i] * strides[i];
    for (uint32_t i = 0; i < l->num_inner; i++)
        at += inner[i] * strides[l->num_outer + i];
    return (size_t)at;
}

/* The running sum, in the computation type of the operands. */
typedef struct total {
    float f32;
    double f64;
    uint64_t bits;
} total;

static void accumulate_f32(const qgc_ref_call *call, const loops *l, const size_t *at, total *sum)
{
    float product = qgc_get_f32(call->operands[0], at[0]);
    if (l->num_operands == 2) {
        sum->f32 = fmaf(product, qgc_get_f32(call->operands[1], at[1]), sum->f32);
        return;
    }
    for (uint32_t i = 1; i < l->num_operands; i++)
        product *= qgc_get_f32(call->operands[i], at[i]);
    sum->f32 += product;
}

static void accumulate_f64(const qgc_ref_call *call, const loops *l, const size_t *at, total *sum)
{
    double product = qgc_get_f64(call->operands[0], at[0]);
    if (l->num_operands == 2) {
        sum->f64 = fma(product, qgc_get_f64(call->operands[1], at[1]), sum->f64);
        return;
    }
    for (uint32_t i = 1; i < l->num_operands; i++)
        product *= qgc_get_f64(call->operands[i], at[i]);
    sum->f64 += product;
}

static void accumulate(const qgc_ref_call *call, const loops *l, const size_t *at, total *sum)
{
    qgc_dtype dtype = call->operands[0]->dtype;
    if (dtype == QGC_DTYPE_F64) {
        accumulate_f64(call, l, at, sum);
    } else if (qgc_dtype_get_kind(dtype) == QGC_FLOAT) {
        accumulate_f32(call, l, at, sum);
    } else {
        uint64_t product = 1;
        for (uint32_t i = 0; i < l->num_operands; i++)
            product *= (uint64_t)qgc_get_int(call->operands[i], at[i]);
        sum->bits += product;
    }
}

static void write_total(qgc_tensor *y, size_t i, const total *sum)
{
    if (y->dtype == QGC_DTYPE_F64)
        qgc_set_f64(y, i, sum->f64);
    else if (qgc_dtype_get_kind(y->dtype) == QGC_FLOAT)
        qgc_set_f32(y, i, sum->f32);
    else
        qgc_set_int(y, i, (int64_t)sum->bits);
}

qgc_result ref_einsum(qgc_ref_call *call)
{
    qgc_tensor *y = &call->results[0];
    uint32_t ranks[QGC_EINSUM_OPERANDS];
    int64_t outer[QGC_MAX_RANK] = {0};
    qgc_einsum e;
    loops *l = QGC_NEW(call->scratch, loops);
    for (uint32_t i = 0; i < call->num_operands; i++)
        ranks[i] = call->operands[i]->rank;
    const char *error = qgc_einsum_parse(qgc_name_str(qgc_node_attr(call->node, "equation")->name),
                                         call->num_operands, ranks, &e);
    QGC_ASSERT(!error, "%s", error);
    plan(call, &e, l);
    size_t num = qgc_tensor_count(y), terms = 1;
    for (uint32_t i = 0; i < l->num_inner; i++)
        terms *= (size_t)l->inner[i];
    for (size_t i = 0; i < num; i++) {
        int64_t inner[QGC_EINSUM_LABELS] = {0};
        total sum = {0};
        for (size_t t = 0; t < terms; t++) {
            size_t at[QGC_EINSUM_OPERANDS];
            for (uint32_t k = 0; k < l->num_operands; k++)
                at[k] = element(l, k, outer, inner);
            accumulate(call, l, at, &sum);
            qgc_next_index(l->num_inner, l->inner, inner);
        }
        write_total(y, i, &sum);
        qgc_next_index(y->rank, y->shape, outer);
    }
    return QGC_OK;
}

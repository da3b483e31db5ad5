/* requantize: gathers what belongs to an element and calls the one epilogue of runtime/quant.c. */
#include "runtime/quant.h"
#include "runtime/ref/ref.h"

typedef int64_t strides[QGC_MAX_RANK];

typedef struct epilogue {
    const qgc_ref_call *call;
    uint32_t num;                      /* of terms */
    const qgc_tensor *multipliers, *c; /* or NULL: attributes */
    size_t multiplier_step;            /* from one term to the next */
    strides *terms;                    /* one per term */
    strides multiplier_strides, c_strides;
    int64_t *values; /* of the terms at one element */
    float *element_multipliers;
    int32_t *zero_points;
    qgc_requantize_params params;
} epilogue;

/* Strides of |t| without its first |skip| dimensions, seen as the result's: along |axis| where it
 * is per channel, else broadcast. */
static void operand_strides(const epilogue *e, const qgc_tensor *t, uint32_t skip, int64_t *out)
{
    const qgc_tensor *y = &e->call->results[0];
    qgc_tensor rest = {.dtype = t->dtype, .rank = t->rank - skip};
    for (uint32_t i = 0; i < rest.rank; i++)
        rest.shape[i] = t->shape[i + skip];
    if (!qgc_node_has(e->call->node, "axis") || rest.rank == 0) {
        qgc_broadcast_strides(&rest, y->rank, y->shape, out);
        return;
    }
    int64_t axis = qgc_node_int(e->call->node, "axis");
    for (uint32_t i = 0; i < y->rank; i++)
        out[i] = i == (uint32_t)(axis < 0 ? axis + y->rank : axis);
}

static void read_operands(epilogue *e)
{
    const qgc_ref_call *call = e->call;
    uint32_t begin;
    e->num = qgc_node_operand_range(call->node, 0, &begin);
    e->multipliers = call->operands[e->num];
    e->c = call->operands[e->num + 1];
    e->terms = QGC_NEW_ARRAY(call->scratch, strides, e->num);
    e->values = QGC_NEW_ARRAY(call->scratch, int64_t, e->num);
    e->element_multipliers = QGC_NEW_ARRAY(call->scratch, float, e->num);
    e->zero_points = QGC_NEW_ARRAY(call->scratch, int32_t, e->num);
    for (uint32_t i = 0; i < e->num; i++) {
        qgc_broadcast_strides(call->operands[i], call->results[0].rank, call->results[0].shape,
                              e->terms[i]);
        e->zero_points[i] = (int32_t)qgc_node_int_at(call->node, "term_zero_points", i);
        if (!e->multipliers)
            e->element_multipliers[i] = qgc_node_float_at(call->node, "multipliers", i);
    }
    if (e->multipliers) {
        strides whole;
        qgc_strides(e->multipliers, whole);
        e->multiplier_step = (size_t)whole[0];
        operand_strides(e, e->multipliers, 1, e->multiplier_strides);
    }
    if (e->c)
        operand_strides(e, e->c, 0, e->c_strides);
}

static void read_params(epilogue *e)
{
    const qgc_node *node = e->call->node;
    qgc_int_range range = {0, 0};
    qgc_quant_dtype_range(e->call->results[0].dtype, &range);
    if (qgc_node_has(node, "lo"))
        range.lo = (int32_t)qgc_node_int(node, "lo");
    if (qgc_node_has(node, "hi"))
        range.hi = (int32_t)qgc_node_int(node, "hi");
    e->params = (qgc_requantize_params){.multipliers = e->element_multipliers,
                                        .zero_points = e->zero_points,
                                        .num_terms = e->num,
                                        .bias = e->c ? 0.0f : qgc_node_float(node, "c"),
                                        .zero_point = (int32_t)qgc_node_int(node, "zero_point"),
                                        .range = range,
                                        .mode = (qgc_requantize_mode)qgc_node_word(node, "mode")};
}

static size_t offset_of(const int64_t *index, const int64_t *steps, uint32_t rank)
{
    int64_t offset = 0;
    for (uint32_t i = 0; i < rank; i++)
        offset += index[i] * steps[i];
    return (size_t)offset;
}

static int32_t compute(epilogue *e, const int64_t *index)
{
    const qgc_ref_call *call = e->call;
    uint32_t rank = call->results[0].rank;
    bool zero_last = e->params.mode == QGC_REQUANTIZE_ZP_LAST;
    size_t at = e->multipliers ? offset_of(index, e->multiplier_strides, rank) : 0;
    for (uint32_t i = 0; i < e->num; i++) {
        int64_t term = qgc_get_int(call->operands[i], offset_of(index, e->terms[i], rank));
        e->values[i] = zero_last ? (int64_t)((uint64_t)term - (uint64_t)e->zero_points[i]) : term;
        if (e->multipliers)
            e->element_multipliers[i] = qgc_get_f32(e->multipliers, at + i * e->multiplier_step);
    }
    if (e->c)
        e->params.bias = qgc_get_f32(e->c, offset_of(index, e->c_strides, rank));
    return qgc_requantize(&e->params, e->values);
}

qgc_result ref_requantize(qgc_ref_call *call)
{
    epilogue e = {.call = call};
    read_operands(&e);
    read_params(&e);
    qgc_tensor *y = &call->results[0];
    int64_t index[QGC_MAX_RANK] = {0};
    size_t num = qgc_tensor_count(y);
    for (size_t i = 0; i < num; i++) {
        qgc_set_int(y, i, compute(&e, index));
        qgc_next_index(y->rank, y->shape, index);
    }
    return QGC_OK;
}

/* The steps of quantization; the arithmetic is runtime/quant.c. */
#include "runtime/quant.h"
#include "runtime/ref/ref.h"

/* Scale and zero point of each element: rows 1 and 2, or attributes. */
typedef struct params {
    const qgc_tensor *scale, *zero_point; /* or NULL: the attribute */
    qgc_qparams fixed;
    size_t inner, channels; /* element i is in channel i / inner % channels */
} params;

static params get_params(const qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    params p = {
        .scale = call->operands[1], .zero_point = call->operands[2], .inner = 1, .channels = 1};
    p.fixed.scale = p.scale ? 0.0f : qgc_node_float(call->node, "scale");
    p.fixed.zero_point = (int32_t)qgc_node_int(call->node, "zero_point");
    if (!qgc_node_has(call->node, "axis"))
        return p;
    int64_t axis = qgc_node_int(call->node, "axis");
    axis += axis < 0 ? x->rank : 0;
    p.channels = (size_t)x->shape[axis];
    for (uint32_t i = (uint32_t)axis + 1; i < x->rank; i++)
        p.inner *= (size_t)x->shape[i];
    return p;
}

static qgc_qparams params_at(const params *p, size_t i)
{
    size_t channel = i / p->inner % p->channels;
    qgc_qparams at = p->fixed;
    if (p->scale)
        at.scale = ((const float *)p->scale->data)[channel];
    if (p->zero_point)
        at.zero_point = ((const int32_t *)p->zero_point->data)[channel];
    return at;
}

static qgc_int_range get_range(const qgc_node *node, qgc_dtype dtype)
{
    qgc_int_range range = {0, 0};
    qgc_quant_dtype_range(dtype, &range);
    if (!qgc_node_has(node, "range"))
        return range;
    return (qgc_int_range){(int32_t)qgc_node_int_at(node, "range", 0),
                           (int32_t)qgc_node_int_at(node, "range", 1)};
}

qgc_result ref_quantize(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    qgc_tensor *q = &call->results[0];
    params p = get_params(call);
    qgc_int_range range = get_range(call->node, q->dtype);
    qgc_quantize_mode mode = (qgc_quantize_mode)qgc_node_word(call->node, "mode");
    size_t num = qgc_tensor_count(q);
    for (size_t i = 0; i < num; i++)
        qgc_set_int(q, i, qgc_quantize(qgc_get_f32(x, i), params_at(&p, i), range, mode));
    return QGC_OK;
}

qgc_result ref_dequantize(qgc_ref_call *call)
{
    const qgc_tensor *q = call->operands[0];
    params p = get_params(call);
    size_t num = qgc_tensor_count(q);
    for (size_t i = 0; i < num; i++)
        qgc_set_f32(&call->results[0], i,
                    qgc_dequantize((int32_t)qgc_get_int(q, i), params_at(&p, i)));
    return QGC_OK;
}

qgc_result ref_fake_quant(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    params p = get_params(call);
    qgc_int_range range = get_range(call->node, qgc_node_dtype(call->node, "to"));
    qgc_quantize_mode mode = (qgc_quantize_mode)qgc_node_word(call->node, "mode");
    size_t num = qgc_tensor_count(x);
    for (size_t i = 0; i < num; i++)
        qgc_set_f32(&call->results[0], i,
                    qgc_fake_quant(qgc_get_f32(x, i), params_at(&p, i), range, mode));
    return QGC_OK;
}

qgc_result ref_fake_cast(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    size_t num = qgc_tensor_count(x);
    for (size_t i = 0; i < num; i++)
        qgc_set_f32(&call->results[0], i, qgc_fake_cast_f16(qgc_get_f32(x, i)));
    return QGC_OK;
}

qgc_result ref_choose_qparams(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    const qgc_spec *written = qgc_node_spec(call->node, "spec");
    bool symmetric = written->scheme == QGC_SCHEME_SYM;
    qgc_quant_spec spec =
        qgc_quant_spec_default(written->dtype, symmetric ? QGC_QUANT_SYMMETRIC : QGC_QUANT_AFFINE);
    if (written->has_range)
        spec.range = (qgc_int_range){(int32_t)written->qmin, (int32_t)written->qmax};
    spec.eps = qgc_node_float(call->node, "eps");
    qgc_qparams chosen;
    qgc_quant_fault fault = qgc_choose_qparams(&spec, x->data, qgc_tensor_count(x), &chosen);
    if (fault != QGC_QUANT_OK)
        return qgc_ref_fail(call, "%s", qgc_quant_fault_text(fault));
    qgc_set_f32(&call->results[0], 0, chosen.scale);
    qgc_set_int(&call->results[1], 0, chosen.zero_point);
    return QGC_OK;
}

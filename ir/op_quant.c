/* Infer hooks: the steps of quantization. What a scale, a zero point and a range may be is decided
 * in runtime/quant.c, which the kernels and passes use too. */
#include "ir/infer.h"
#include "ir/quant_params.h"
#include "ir/quant_spec.h"

static bool is_quantized_type(qgc_dtype dtype)
{
    qgc_int_range range;
    return qgc_quant_dtype_range(dtype, &range);
}

static qgc_result check_range_attr(qgc_infer *in, qgc_dtype dtype)
{
    const qgc_attr *range = qgc_node_attr(in->node, "range");
    if (!range)
        return QGC_OK;
    QGC_RULE(in, 8, range->num == 2, "range has %u entries", range->num);
    qgc_int_range full;
    qgc_quant_dtype_range(dtype, &full);
    QGC_RULE(in, 8,
             range->ints[0] < range->ints[1] && range->ints[0] >= full.lo &&
                 range->ints[1] <= full.hi,
             "range is [%lld, %lld], %s holds %d to %d", (long long)range->ints[0],
             (long long)range->ints[1], qgc_dtype_name(dtype), full.lo, full.hi);
    return QGC_OK;
}

qgc_result infer_quantize(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *written = in->node->results[0].type;
    if (!written)
        return qgc_infer_unknown(in, "write the result type: it says what to quantize to");
    QGC_RULE(in, 9, is_quantized_type(written->dtype), "the result is %s",
             qgc_in_type_str(in, written));
    QGC_TRY(qgc_check_scales(in, x, written->dtype));
    QGC_TRY(check_range_attr(in, written->dtype));
    in->results[0] = qgc_type_with_dtype(&in->context->types, x, written->dtype);
    return QGC_OK;
}

qgc_result infer_dequantize(qgc_infer *in)
{
    const qgc_type *q = qgc_in(in, 0), *written = in->node->results[0].type;
    qgc_dtype dtype = written ? written->dtype : QGC_DTYPE_F32;
    QGC_TRY(qgc_check_scales(in, q, q->dtype));
    QGC_RULE(in, 8, QGC_T_UP_TO_F32 >> dtype & 1, "the result is %s", qgc_in_type_str(in, written));
    in->results[0] = qgc_type_with_dtype(&in->context->types, q, dtype);
    return QGC_OK;
}

qgc_result infer_fake_quant(qgc_infer *in)
{
    qgc_dtype to = qgc_node_dtype(in->node, "to");
    QGC_RULE(in, 9, is_quantized_type(to), "to is %s", qgc_dtype_name(to));
    QGC_TRY(qgc_check_scales(in, qgc_in(in, 0), to));
    QGC_TRY(check_range_attr(in, to));
    in->results[0] = qgc_in(in, 0);
    return QGC_OK;
}

qgc_result infer_fake_cast(qgc_infer *in)
{
    qgc_dtype to = qgc_node_dtype(in->node, "to");
    QGC_RULE(in, 1, to == QGC_DTYPE_F16, "to is %s", qgc_dtype_name(to));
    in->results[0] = qgc_in(in, 0);
    return QGC_OK;
}

/* ---- specs ---- */

static const char *spec_str(const qgc_infer *in, const qgc_spec *spec)
{
    qgc_text text = {.arena = in->arena};
    qgc_spec_print(&text, spec);
    return text.data;
}

/* Rule |number|: brackets lie inside the type. */
static qgc_result check_spec_range(qgc_infer *in, const qgc_spec *spec, int number)
{
    qgc_int_range full;
    if (!spec->has_range || !qgc_quant_dtype_range(spec->dtype, &full))
        return QGC_OK;
    QGC_RULE(in, number, spec->qmin < spec->qmax && spec->qmin >= full.lo && spec->qmax <= full.hi,
             "spec is %s, %s holds %d to %d", spec_str(in, spec), qgc_dtype_name(spec->dtype),
             full.lo, full.hi);
    return QGC_OK;
}

qgc_result infer_choose_qparams(qgc_infer *in)
{
    const qgc_spec *spec = qgc_node_attr(in->node, "spec")->spec;
    QGC_RULE(in, 1,
             spec->kind == QGC_SPEC_OWN && is_quantized_type(spec->dtype) &&
                 spec->scheme != QGC_SCHEME_NONE && spec->observer == QGC_OBSERVE_NONE &&
                 !spec->per_channel,
             "spec is %s", spec_str(in, spec));
    QGC_TRY(check_spec_range(in, spec, 2));
    qgc_quant_fault fault = qgc_quant_check_scale(qgc_node_float(in->node, "eps"));
    QGC_RULE(in, 3, fault == QGC_QUANT_OK, "eps: %s", qgc_quant_fault_text(fault));
    in->results[0] = qgc_in_type(in, QGC_DTYPE_F32, 0, NULL);
    in->results[1] = qgc_in_type(in, QGC_DTYPE_I32, 0, NULL);
    return QGC_OK;
}

static qgc_result check_observer_type(qgc_infer *in, const qgc_spec *spec)
{
    qgc_int_range range;
    const char *fault = spec->kind == QGC_SPEC_OWN ? qgc_spec_fault(spec) : NULL;
    if (spec->kind == QGC_SPEC_FIXED && !qgc_quant_dtype_range(spec->dtype, &range))
        fault = "the type is none of i8, u8, i16, u16 and i32";
    QGC_RULE(in, 3, !fault, "spec is %s: %s", spec_str(in, spec), fault);
    return QGC_OK;
}

static qgc_result check_fixed(qgc_infer *in, const qgc_spec *spec)
{
    qgc_int_range range;
    if (spec->kind != QGC_SPEC_FIXED || !qgc_quant_dtype_range(spec->dtype, &range))
        return QGC_OK;
    qgc_quant_fault fault = qgc_quant_check_scale(spec->scale);
    if (fault == QGC_QUANT_OK && (spec->zero_point < range.lo || spec->zero_point > range.hi))
        fault = QGC_QUANT_ZERO_POINT;
    QGC_RULE(in, 5, fault == QGC_QUANT_OK, "spec is %s: %s", spec_str(in, spec),
             qgc_quant_fault_text(fault));
    return QGC_OK;
}

/* |name| is the result of an observer that has a spec of its own, so there are no circles. */
static bool names_observer(const qgc_node *node, qgc_name name)
{
    const qgc_value *other = qgc_func_find_value(node->func, name);
    if (!other || !other->def || other->def->op != QGC_OP_OBSERVE)
        return false;
    const qgc_attr *attr = qgc_node_attr(other->def, "spec");
    return attr && attr->kind == QGC_ATTR_SPEC &&
           (attr->spec->kind == QGC_SPEC_OWN || attr->spec->kind == QGC_SPEC_FIXED);
}

/* What is derived may read a value through an observer that shares. */
static bool derives(const qgc_node *node, const qgc_spec *spec)
{
    for (int i = 0; i < 2; i++) {
        const qgc_value *from = qgc_func_find_value(node->func, spec->values[i]);
        if (!from || !from->def || from->def->op != QGC_OP_OBSERVE)
            return false;
        const qgc_attr *attr = qgc_node_attr(from->def, "spec");
        if (!attr || attr->kind != QGC_ATTR_SPEC || attr->spec->kind == QGC_SPEC_DERIVE)
            return false;
    }
    return true;
}

static bool is_observer_spec(const qgc_node *node, const qgc_spec *spec)
{
    switch (spec->kind) {
    case QGC_SPEC_OWN:
        return true;
    case QGC_SPEC_FIXED:
        return spec->has_dtype;
    case QGC_SPEC_SHARE:
        return !spec->values[1] && names_observer(node, spec->values[0]);
    case QGC_SPEC_DERIVE:
        return derives(node, spec);
    case QGC_SPEC_FLOAT:
        break;
    }
    return false;
}

qgc_result infer_observe(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    const qgc_spec *spec = qgc_node_attr(in->node, "spec")->spec;
    const qgc_attr *axis = qgc_node_attr(in->node, "axis");
    bool is_shared = spec->kind == QGC_SPEC_SHARE;
    QGC_RULE(in, 1, is_observer_spec(in->node, spec), "spec is %s", spec_str(in, spec));
    QGC_RULE(in, 2, is_shared || spec->per_channel == (axis != NULL), "spec is %s, axis is %s",
             spec_str(in, spec), axis ? "given" : "not given");
    uint32_t index;
    if (axis)
        QGC_TRY(qgc_in_axis(in, axis->i, x->rank, 2, &index));
    QGC_TRY(check_spec_range(in, spec, 4));
    QGC_TRY(check_observer_type(in, spec));
    QGC_TRY(check_fixed(in, spec));
    in->results[0] = x;
    return QGC_OK;
}

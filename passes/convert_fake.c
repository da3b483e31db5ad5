/* The QAT form: fake_quant with parameters that training has found. */
#include "passes/constants.h"
#include "passes/convert_nodes.h"
#include "runtime/tensor.h"

enum { X, SCALE, ZERO_POINT }; /* operands */

bool qgc_has_fake_quant(const qgc_module *module)
{
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            if (node->op == QGC_OP_FAKE_QUANT)
                return true;
    return false;
}

static bool is_known(const qgc_value *value)
{
    return !value || qgc_is_constant(value);
}

static qgc_result get_data(const qgc_value *value, qgc_arena *arena, const qgc_tensor **out)
{
    *out = NULL;
    return value ? qgc_constant_data(value, arena, out) : QGC_OK;
}

/* The parameters as numbers, to fold a constant with. */
static qgc_result read_params(const qgc_node *node, qgc_arena *arena, qgc_decision *d)
{
    const qgc_tensor *scale, *zero_point;
    const qgc_attr *axis = qgc_node_attr(node, "axis");
    const qgc_attr *scale_attr = qgc_node_attr(node, "scale");
    const qgc_attr *zero_attr = qgc_node_attr(node, "zero_point");
    QGC_TRY(get_data(node->operands[SCALE].value, arena, &scale));
    QGC_TRY(get_data(node->operands[ZERO_POINT].value, arena, &zero_point));
    d->axis = !axis ? -1 : axis->i < 0 ? axis->i + d->constant->rank : axis->i;
    d->num = scale ? (uint32_t)qgc_tensor_count(scale) : 1;
    d->params = QGC_NEW_ARRAY(arena, qgc_qparams, d->num);
    for (uint32_t i = 0; i < d->num; i++) {
        d->params[i].scale = scale ? ((const float *)scale->data)[i] : scale_attr->f;
        d->params[i].zero_point = zero_point  ? ((const int32_t *)zero_point->data)[i]
                                  : zero_attr ? (int32_t)zero_attr->i
                                              : 0;
    }
    return QGC_OK;
}

/* Type, range and mode: all that a quantize needs beside what is copied from the node. */
static void read_kind(const qgc_node *node, qgc_spec *spec, qgc_decision *d)
{
    const qgc_attr *range = qgc_node_attr(node, "range"), *mode = qgc_node_attr(node, "mode");
    *spec = (qgc_spec){.has_dtype = true, .dtype = qgc_node_attr(node, "to")->dtype};
    *d = (qgc_decision){.base = node->operands[X].value->name, .spec = spec, .axis = -1};
    qgc_quant_dtype_range(spec->dtype, &d->range);
    if (range)
        d->range = (qgc_int_range){(int32_t)range->ints[0], (int32_t)range->ints[1]};
    if (mode && qgc_str_equal(qgc_name_str(mode->name), qgc_str_from("divide")))
        d->mode = QGC_QUANTIZE_DIVIDE;
}

qgc_result qgc_convert_fake_quant(const qgc_pass_env *env, qgc_node *node)
{
    qgc_spec spec;
    qgc_decision d;
    qgc_value *x = node->operands[X].value;
    read_kind(node, &spec, &d);
    bool folds = x->type->dtype == QGC_DTYPE_F32 && qgc_is_constant(x) &&
                 is_known(node->operands[SCALE].value) &&
                 is_known(node->operands[ZERO_POINT].value);
    converter c = {.env = env,
                   .func = node->func,
                   .observer = node,
                   .source = node,
                   .decision = &d,
                   .scales = node->operands[SCALE].value,
                   .zero_points = node->operands[ZERO_POINT].value};
    if (folds) {
        QGC_TRY(qgc_constant_data(x, env->scratch, &d.constant));
        QGC_TRY(read_params(node, env->scratch, &d));
        qgc_convert_fold(&c);
    } else {
        qgc_convert_quantize(&c);
    }
    qgc_convert_uses(&c);
    qgc_node_erase(node);
    if (folds)
        qgc_erase_unused(x);
    return QGC_OK;
}

/* Plans choose_qparams: the order of elements does not matter, so x is read as it lies. */
#include "codegen/product.h"
#include "ir/view.h"
#include "runtime/quant.h"

static qgc_quant_spec read_spec(const qgc_node *node)
{
    const qgc_spec *written = qgc_node_spec(node, "spec");
    bool is_symmetric = written->scheme == QGC_SCHEME_SYM;
    qgc_quant_spec spec = qgc_quant_spec_default(written->dtype, is_symmetric ? QGC_QUANT_SYMMETRIC
                                                                              : QGC_QUANT_AFFINE);
    if (written->has_range)
        spec.range = (qgc_int_range){(int32_t)written->qmin, (int32_t)written->qmax};
    spec.eps = qgc_node_float(node, "eps");
    return spec;
}

const char *qgc_plan_qparams(qgc_planner *p, const qgc_node *node)
{
    if (node->op != QGC_OP_CHOOSE_QPARAMS)
        return "";
    const qgc_value *x = node->operands[0].value;
    qgc_quant_spec spec = read_spec(node);
    qgc_qparams least;
    int64_t num;
    if (!qgc_type_num_elements(x->type, &num) || !num)
        return "it is empty";
    if (qgc_choose_qparams(&spec, NULL, 0, &least) != QGC_QUANT_OK)
        return "its spec is refused"; /* where it runs */
    qgc_qparams_kernel *k = QGC_NEW(&p->plan->arena, qgc_qparams_kernel);
    *k = (qgc_qparams_kernel){.base = {.kind = QGC_KERNEL_QPARAMS, .units = 1},
                              .num = num,
                              .is_symmetric = spec.scheme == QGC_QUANT_SYMMETRIC,
                              .lo = spec.range.lo,
                              .hi = spec.range.hi,
                              .middle = least.zero_point,
                              .eps = spec.eps};
    qgc_buffer *in = qgc_planner_lying(p, x);
    qgc_step *step = qgc_planner_add_kernel(p, node, &k->base, 1, 2);
    step->inputs[0] = qgc_border_is_empty(&in->border) ? in : qgc_planner_plain(p, x);
    for (uint32_t i = 0; i < 2; i++)
        step->outputs[i] = qgc_planner_plain(p, &node->results[i]);
    step->note = qgc_arena_printf(&p->plan->arena, "elements = %lld", (long long)num);
    return NULL;
}

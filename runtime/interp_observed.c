#include "runtime/interp_observed.h"

#include "base/diag.h"

static const qgc_node *first_observer(const qgc_module *module)
{
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            if (node->op == QGC_OP_OBSERVE)
                return node;
    return NULL;
}

/* What leads from here to integers. */
static const char *remedy(qgc_form form)
{
    return form == QGC_FORM_CALIBRATED ? "convert it first (qgc opt --passes=convert,dce)"
                                       : "calibrate and convert it first (qgc calibrate, then qgc "
                                         "opt --passes=convert,dce)";
}

qgc_result qgc_refuse_observed(const qgc_module *module)
{
    const qgc_node *observer = first_observer(module);
    if (!observer)
        return QGC_OK;
    return qgc_report(
        &module->context->diag, observer->loc, QGC_D_OBSERVED,
        "%%%s observes %%%s: a graph of form %s computes the float graph's values, so "
        "its accuracy is not that of integers; %s, or judge it with --as-is",
        observer->results[0].name->data, qgc_node_operand(observer, 0)->name->data,
        qgc_form_name(module->form), remedy(module->form));
}

void qgc_warn_observed(const qgc_module *module, const char *what)
{
    const qgc_node *observer = first_observer(module);
    if (observer)
        qgc_report(
            &module->context->diag, observer->loc, QGC_D_JUDGES_FLOAT,
            "%%%s observes %%%s: a graph of form %s computes the float graph's values, so %s "
            "is not that of integers: %s",
            observer->results[0].name->data, qgc_node_operand(observer, 0)->name->data,
            qgc_form_name(module->form), what, remedy(module->form));
    else if (module->form == QGC_FORM_ANNOTATED)
        qgc_report(
            &module->context->diag, QGC_NO_LOC, QGC_D_JUDGES_FLOAT,
            "a graph of form annotated computes the float graph's values: prepare, calibrate "
            "and convert it first");
}

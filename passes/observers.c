#include "passes/observers.h"

#include "passes/constants.h"

const qgc_value *qgc_observed_value(const qgc_node *observer)
{
    const qgc_value *value = observer->operands[0].value;
    while (value->def && value->def->op == QGC_OP_OBSERVE)
        value = value->def->operands[0].value;
    return value;
}

const qgc_node *qgc_observer_root(const qgc_node *observer)
{
    const qgc_spec *spec = qgc_node_attr(observer, "spec")->spec;
    if (spec->kind != QGC_SPEC_SHARE)
        return observer;
    return qgc_func_find_value(observer->func, spec->values[0])->def;
}

const qgc_spec *qgc_observer_spec(const qgc_node *observer)
{
    return qgc_node_attr(qgc_observer_root(observer), "spec")->spec;
}

bool qgc_observer_records(const qgc_node *observer)
{
    const qgc_spec *spec = qgc_observer_spec(observer);
    return spec->kind == QGC_SPEC_OWN && spec->dtype != QGC_DTYPE_F16 && !spec->dynamic &&
           !qgc_is_constant(observer->operands[0].value);
}

#include "passes/pins.h"

static void pin(qgc_pins *pins, const qgc_func *func, qgc_name name)
{
    const qgc_value *value = func && name ? qgc_func_find_value(func, name) : NULL;
    if (value)
        *qgc_map_at(&pins->named, value) = (void *)value;
}

/* Free attributes nest at most as deep as the parser lets brackets nest. */
static void pin_attr(qgc_pins *pins, const qgc_func *func, const qgc_attr *attr)
{
    switch (attr->kind) {
    case QGC_ATTR_VALUE:
        pin(pins, func, attr->name);
        break;
    case QGC_ATTR_SPEC:
        pin(pins, func, attr->spec->values[0]);
        pin(pins, func, attr->spec->values[1]);
        break;
    case QGC_ATTR_LIST:
        for (uint32_t i = 0; i < attr->num; i++)
            pin_attr(pins, func, &attr->list[i]);
        break;
    case QGC_ATTR_MAP:
        for (uint32_t i = 0; i < attr->num; i++)
            pin_attr(pins, func, &attr->map[i].value);
        break;
    default:
        break;
    }
}

static void pin_node(qgc_pins *pins, const qgc_node *node)
{
    for (uint32_t i = 0; i < qgc_op_num_attrs(qgc_node_op(node)); i++)
        pin_attr(pins, node->func, &node->attrs[i]);
    for (uint32_t i = 0; i < node->num_extra; i++)
        pin_attr(pins, node->func, &node->extra[i].value);
}

void qgc_pins_collect(const qgc_module *module, qgc_arena *arena, qgc_pins *out)
{
    *out = (qgc_pins){.named = {.arena = arena}};
    for (size_t i = 0; i < module->stats.size; i++) {
        const qgc_record *record = &module->stats.data[i];
        pin(out, qgc_module_find_func(module, record->func), record->value);
        QGC_EACH_FUNC (caller, module)
            pin(out, caller, record->site);
    }
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            pin_node(out, node);
}

bool qgc_pins_is_annotated(const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_extra; i++)
        if (qgc_str_starts_with(qgc_name_str(node->extra[i].name), "quant."))
            return true;
    return false;
}

bool qgc_pins_is_named(const qgc_pins *pins, const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_results; i++)
        if (qgc_map_get(&pins->named, &node->results[i]))
            return true;
    return false;
}

bool qgc_pins_hold(const qgc_pins *pins, const qgc_node *node)
{
    return qgc_pins_is_annotated(node) || qgc_pins_is_named(pins, node);
}

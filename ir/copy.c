#include "ir/copy.h"

#include <string.h>

static void copy_result(qgc_func *to, const qgc_value *from, qgc_value *copy, qgc_map *values)
{
    copy->type = from->type;
    copy->loc = from->loc;
    qgc_value_set_name(to, copy, from->name);
    *qgc_map_at(values, from) = copy;
}

static void copy_node(const qgc_node *node, qgc_func *to, qgc_map *values)
{
    qgc_value **operands = QGC_NEW_ARRAY(&to->module->arena, qgc_value *, node->num_operands);
    for (uint32_t i = 0; i < node->num_operands; i++)
        operands[i] = node->operands[i].value ? qgc_map_get(values, node->operands[i].value) : NULL;
    qgc_node *copy = qgc_node_create(to, node->op, node->num_operands, operands, node->num_results,
                                     NULL, node->loc);
    memcpy(copy->attrs, node->attrs, qgc_op_num_attrs(qgc_node_op(node)) * sizeof *copy->attrs);
    copy->scope = node->scope;
    copy->constant = node->constant;
    for (uint32_t i = 0; i < node->num_extra; i++)
        qgc_node_set_extra(copy, node->extra[i].name, node->extra[i].value);
    for (uint32_t i = 0; i < node->num_results; i++)
        copy_result(to, &node->results[i], &copy->results[i], values);
}

qgc_func *qgc_func_copy(const qgc_func *func, qgc_module *to, qgc_map *out_values)
{
    qgc_map own = {.arena = &to->arena}, *values = out_values ? out_values : &own;
    qgc_func *copy =
        qgc_func_create(to, func->name, func->num_params, func->num_results, func->loc);
    copy->target = func->target;
    for (uint32_t i = 0; i < func->num_params; i++) {
        const qgc_value *param = &func->params[i];
        qgc_func_set_param(copy, i, param->name, param->type, param->loc);
        *qgc_map_at(values, param) = &copy->params[i];
    }
    for (uint32_t i = 0; i < func->num_results; i++)
        copy->result_types[i] = func->result_types[i];
    QGC_EACH_NODE (node, func)
        copy_node(node, copy, values);
    return copy;
}

qgc_module *qgc_module_copy(const qgc_module *module)
{
    qgc_module *copy = qgc_module_create(module->context);
    copy->form = module->form;
    copy->directory = module->directory;
    copy->find_weight = module->find_weight;
    copy->weights_user = module->weights_user;
    QGC_EACH_FUNC (func, module)
        qgc_func_copy(func, copy, NULL);
    for (size_t i = 0; i < module->weights.size; i++)
        qgc_vec_push(&copy->arena, &copy->weights, module->weights.data[i]);
    for (size_t i = 0; i < module->stats.size; i++)
        qgc_vec_push(&copy->arena, &copy->stats, module->stats.data[i]);
    for (size_t i = 0; i < module->provenance.size; i++)
        qgc_vec_push(&copy->arena, &copy->provenance, module->provenance.data[i]);
    return copy;
}

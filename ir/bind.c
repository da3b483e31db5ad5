/* Replacing symbolic dimensions by numbers. */
#include "ir/graph.h"

#include <string.h>

typedef struct binding {
    qgc_module *module;
    qgc_name symbol;
    int64_t value;
    bool found;
} binding;

static bool lookup(void *user, qgc_name symbol, int64_t *out)
{
    binding *b = user;
    if (symbol != b->symbol)
        return false;
    *out = b->value;
    return b->found = true;
}

static const qgc_type *bind_type(binding *b, const qgc_type *type)
{
    qgc_dim dims[QGC_MAX_RANK];
    if (!type || type->is_static)
        return type;
    for (uint32_t i = 0; i < type->rank; i++)
        dims[i] = qgc_dim_bind(&b->module->context->dims, type->dims[i], lookup, b);
    return qgc_type_get(&b->module->context->types, type->dtype, type->rank, dims);
}

static void bind_attrs(binding *b, qgc_node *node)
{
    for (uint32_t i = 0; i < qgc_op_num_attrs(qgc_op(node->op)); i++) {
        qgc_attr *attr = &node->attrs[i];
        if (attr->kind != QGC_ATTR_DIMS)
            continue;
        qgc_dim *dims = QGC_NEW_ARRAY(&b->module->arena, qgc_dim, attr->num);
        for (uint32_t d = 0; d < attr->num; d++)
            dims[d] = qgc_dim_bind(&b->module->context->dims, attr->dims[d], lookup, b);
        attr->dims = dims;
    }
}

static void bind_func(binding *b, qgc_func *func)
{
    for (uint32_t i = 0; i < func->num_params; i++)
        func->params[i].type = bind_type(b, func->params[i].type);
    for (uint32_t i = 0; i < func->num_results; i++)
        func->result_types[i] = bind_type(b, func->result_types[i]);
    QGC_EACH_NODE (node, func) {
        bind_attrs(b, node);
        for (uint32_t i = 0; i < node->num_results; i++)
            node->results[i].type = bind_type(b, node->results[i].type);
    }
}

qgc_result qgc_module_bind(qgc_module *module, const char *symbol, int64_t value)
{
    qgc_context *context = module->context;
    binding b = {module, qgc_context_name(context, symbol), value, false};
    if (value < 0)
        return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_USAGE,
                          "%s = %lld: a dimension is 0 or more", symbol, (long long)value);
    QGC_EACH_FUNC (func, module)
        bind_func(&b, func);
    if (!b.found)
        return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_UNDEFINED, "no dimension is named %s",
                          symbol);
    return QGC_OK;
}

/* Replacing symbolic dimensions by numbers. */
#include "ir/graph.h"

#include <string.h>

typedef struct binding {
    qgc_module *module;
    qgc_name symbol;
    int64_t value;
    bool found;
    qgc_result result;
} binding;

static bool lookup(void *user, qgc_name symbol, int64_t *out)
{
    binding *b = user;
    if (symbol != b->symbol)
        return false;
    *out = b->value;
    return b->found = true;
}

static qgc_dim bind_dim(binding *b, qgc_dim dim, qgc_loc loc)
{
    qgc_context *context = b->module->context;
    qgc_dim bound = qgc_dim_bind(&context->dims, dim, lookup, b);
    if (!qgc_dim_is_number(bound) || bound.value >= 0)
        return bound;
    if (b->result != QGC_OK) /* the first one says it for all */
        return dim;
    qgc_text text = {.arena = &context->arena};
    qgc_dim_print(&text, dim);
    b->result = qgc_report(&context->diag, loc, QGC_D_BAD_TYPE,
                           "dimension %s is %lld for %s = %lld", qgc_text_str(&text).data,
                           (long long)bound.value, b->symbol->data, (long long)b->value);
    return dim;
}

static const qgc_type *bind_type(binding *b, const qgc_type *type, qgc_loc loc)
{
    qgc_dim dims[QGC_MAX_RANK];
    if (!type || type->is_static)
        return type;
    for (uint32_t i = 0; i < type->rank; i++)
        dims[i] = bind_dim(b, type->dims[i], loc);
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
        func->params[i].type = bind_type(b, func->params[i].type, func->params[i].loc);
    for (uint32_t i = 0; i < func->num_results; i++)
        func->result_types[i] = bind_type(b, func->result_types[i], func->loc);
    QGC_EACH_NODE (node, func) {
        bind_attrs(b, node);
        for (uint32_t i = 0; i < node->num_results; i++)
            node->results[i].type = bind_type(b, node->results[i].type, node->loc);
    }
}

qgc_result qgc_module_bind_if_found(qgc_module *module, const char *symbol, int64_t value,
                                    bool *found)
{
    qgc_context *context = module->context;
    binding b = {module, qgc_context_name(context, symbol), value, false, QGC_OK};
    if (value < 0)
        return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_USAGE,
                          "%s = %lld: a dimension is 0 or more", symbol, (long long)value);
    QGC_EACH_FUNC (func, module)
        bind_func(&b, func);
    *found = b.found;
    return b.result;
}

qgc_result qgc_module_bind(qgc_module *module, const char *symbol, int64_t value)
{
    bool found = true;
    QGC_TRY(qgc_module_bind_if_found(module, symbol, value, &found));
    if (found)
        return QGC_OK;
    return qgc_report(&module->context->diag, QGC_NO_LOC, QGC_D_UNDEFINED,
                      "no dimension is named %s", symbol);
}

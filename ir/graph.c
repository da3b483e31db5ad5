#include "ir/graph.h"

#include <string.h>

static const char *const form_names[] = {
#define QGC_FORM(id, name, summary) name,
#include "ir/forms.def"
};

const char *qgc_form_name(qgc_form form)
{
    return form_names[form];
}

bool qgc_form_from_name(qgc_str name, qgc_form *out)
{
    for (int i = 0; i < QGC_NUM_FORMS; i++)
        if (qgc_str_equal(name, qgc_str_from(form_names[i])))
            return *out = (qgc_form)i, true;
    return false;
}

qgc_module *qgc_module_create(qgc_context *context)
{
    qgc_arena arena = {0};
    qgc_module *module = QGC_NEW(&arena, qgc_module);
    module->arena = arena;
    module->context = context;
    module->funcs.arena = &module->arena;
    return module;
}

void qgc_module_destroy(qgc_module *module)
{
    if (!module)
        return;
    if (module->close_weights)
        module->close_weights(module->weights_user);
    qgc_arena arena = module->arena;
    qgc_arena_destroy(&arena);
}

const qgc_attr *qgc_record_field(const qgc_record *record, const char *name)
{
    for (uint32_t i = 0; i < record->fields.num; i++)
        if (qgc_str_equal(qgc_name_str(record->fields.map[i].name), qgc_str_from(name)))
            return &record->fields.map[i].value;
    return NULL;
}

qgc_func *qgc_module_find_func(const qgc_module *module, qgc_name name)
{
    return qgc_map_get(&module->funcs, name);
}

qgc_result qgc_module_require_func(const qgc_module *module, const char *name, qgc_func **out)
{
    const char *wanted = name ? name : "main";
    *out = qgc_module_find_func(module, qgc_context_name(module->context, wanted));
    return *out ? QGC_OK
                : qgc_report(&module->context->diag, QGC_NO_LOC, QGC_D_UNDEFINED,
                             "the module has no function @%s", wanted);
}

qgc_func *qgc_func_create(qgc_module *module, qgc_name name, uint32_t num_params,
                          uint32_t num_results, qgc_loc loc)
{
    qgc_func *func = QGC_NEW(&module->arena, qgc_func);
    func->name = name;
    func->module = module;
    func->num_params = num_params;
    func->num_results = num_results;
    func->params = QGC_NEW_ARRAY(&module->arena, qgc_value, num_params);
    func->result_types = QGC_NEW_ARRAY(&module->arena, const qgc_type *, num_results);
    func->names.arena = &module->arena;
    func->loc = loc;
    void **slot = qgc_map_at(&module->funcs, name);
    QGC_ASSERT(!*slot, "function @%s exists", name->data);
    *slot = func;
    if (module->last)
        module->last->next = func;
    else
        module->first = func;
    return module->last = func;
}

void qgc_module_remove_func(qgc_module *module, qgc_func *func)
{
    qgc_func *previous = NULL;
    for (qgc_func *f = module->first; f != func; f = f->next)
        previous = f;
    if (previous)
        previous->next = func->next;
    else
        module->first = func->next;
    if (module->last == func)
        module->last = previous;
    *qgc_map_at(&module->funcs, func->name) = NULL;
}

void qgc_func_set_param(qgc_func *func, uint32_t index, qgc_name name, const qgc_type *type,
                        qgc_loc loc)
{
    qgc_value *param = &func->params[index];
    param->type = type;
    param->index = index;
    param->loc = loc;
    qgc_value_set_name(func, param, name);
}

qgc_value *qgc_func_find_value(const qgc_func *func, qgc_name name)
{
    return qgc_map_get(&func->names, name);
}

static const qgc_dim *batch_of(const qgc_func *func)
{
    const qgc_type *type = func->num_params ? func->params[0].type : NULL;
    return type && type->rank ? &type->dims[0] : NULL;
}

size_t qgc_func_fixed_batch(const qgc_func *func)
{
    const qgc_dim *batch = batch_of(func);
    bool is_fixed = batch && qgc_dim_is_number(*batch) && batch->value > 0;
    return is_fixed ? (size_t)batch->value : 0;
}

qgc_name qgc_func_batch_symbol(const qgc_func *func)
{
    const qgc_dim *batch = batch_of(func);
    return batch ? qgc_dim_as_symbol(*batch) : NULL;
}

qgc_name qgc_func_unique_name(qgc_func *func, qgc_str base)
{
    qgc_interner *names = &func->module->context->names;
    qgc_name name = qgc_intern(names, base);
    for (uint32_t n = 1; qgc_func_find_value(func, name); n++) {
        qgc_arena_mark mark = qgc_arena_get_mark(&func->module->arena);
        char *text = qgc_arena_printf(&func->module->arena, "%.*s.%u", QGC_STR_ARG(base), n);
        name = qgc_intern(names, qgc_str_from(text));
        qgc_arena_reset(&func->module->arena, mark);
    }
    return name;
}

uint32_t qgc_func_number(qgc_func *func)
{
    uint32_t id = 0;
    QGC_EACH_NODE (node, func)
        node->id = id++;
    return id;
}

static void link_use(qgc_use *use, qgc_value *value)
{
    use->value = value;
    use->next = NULL;
    use->previous = value->last_use;
    if (value->last_use)
        value->last_use->next = use;
    else
        value->first_use = use;
    value->last_use = use;
    value->num_uses++;
}

static void unlink_use(qgc_use *use)
{
    qgc_value *value = use->value;
    if (use->previous)
        use->previous->next = use->next;
    else
        value->first_use = use->next;
    if (use->next)
        use->next->previous = use->previous;
    else
        value->last_use = use->previous;
    value->num_uses--;
    use->value = NULL;
}

void qgc_func_order_uses(qgc_func *func)
{
    QGC_EACH_NODE (node, func)
        for (uint32_t i = 0; i < node->num_operands; i++) {
            qgc_value *value = node->operands[i].value;
            if (!value)
                continue;
            unlink_use(&node->operands[i]);
            link_use(&node->operands[i], value);
        }
}

static void link_node(qgc_node *node, qgc_node *before)
{
    qgc_func *func = node->func;
    node->next = before;
    node->previous = before ? before->previous : func->last;
    if (node->previous)
        node->previous->next = node;
    else
        func->first = node;
    if (before)
        before->previous = node;
    else
        func->last = node;
}

static void unlink_node(qgc_node *node)
{
    qgc_func *func = node->func;
    if (node->previous)
        node->previous->next = node->next;
    else
        func->first = node->next;
    if (node->next)
        node->next->previous = node->previous;
    else
        func->last = node->previous;
}

qgc_node *qgc_node_create(qgc_func *func, qgc_opcode op, uint32_t num_operands,
                          qgc_value *const *operands, uint32_t num_results, qgc_node *before,
                          qgc_loc loc)
{
    qgc_arena *arena = &func->module->arena;
    qgc_node *node = QGC_NEW(arena, qgc_node);
    node->op = op;
    node->func = func;
    node->loc = loc;
    node->num_operands = num_operands;
    node->operands = QGC_NEW_ARRAY(arena, qgc_use, num_operands);
    for (uint32_t i = 0; i < num_operands; i++) {
        node->operands[i].user = node;
        if (operands[i])
            link_use(&node->operands[i], operands[i]);
    }
    node->num_results = num_results;
    node->results = QGC_NEW_ARRAY(arena, qgc_value, num_results);
    for (uint32_t i = 0; i < num_results; i++) {
        node->results[i].def = node;
        node->results[i].index = i;
        node->results[i].loc = loc;
    }
    node->attrs = QGC_NEW_ARRAY(arena, qgc_attr, qgc_op_num_attrs(qgc_op(op)));
    link_node(node, before);
    return node;
}

void qgc_node_set_operand(qgc_node *node, uint32_t index, qgc_value *value)
{
    qgc_use *use = &node->operands[index];
    if (use->value)
        unlink_use(use);
    if (value)
        link_use(use, value);
}

void qgc_node_erase(qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_results; i++) {
        qgc_value *value = &node->results[i];
        QGC_ASSERT(!value->num_uses, "%%%s still has uses", value->name ? value->name->data : "?");
        if (value->name && qgc_func_find_value(node->func, value->name) == value)
            *qgc_map_at(&node->func->names, value->name) = NULL;
    }
    for (uint32_t i = 0; i < node->num_operands; i++)
        qgc_node_set_operand(node, i, NULL);
    unlink_node(node);
}

void qgc_node_move_before(qgc_node *node, qgc_node *before)
{
    if (node == before || node->next == before)
        return;
    unlink_node(node);
    link_node(node, before);
}

void qgc_value_set_name(qgc_func *func, qgc_value *value, qgc_name name)
{
    if (value->name && qgc_func_find_value(func, value->name) == value)
        *qgc_map_at(&func->names, value->name) = NULL;
    void **slot = qgc_map_at(&func->names, name);
    QGC_ASSERT(!*slot, "%%%s exists", name->data);
    *slot = value;
    value->name = name;
}

void qgc_value_replace_uses(qgc_value *value, qgc_value *by)
{
    QGC_ASSERT(value != by, "a value cannot replace itself");
    while (value->first_use) {
        qgc_use *use = value->first_use;
        unlink_use(use);
        link_use(use, by);
    }
}

void qgc_value_take_over(qgc_func *func, qgc_value *value, qgc_value *by)
{
    qgc_value_replace_uses(value, by);
    qgc_name name = value->name;
    *qgc_map_at(&func->names, name) = NULL;
    value->name = NULL;
    qgc_value_set_name(func, by, name);
}

const qgc_attr *qgc_node_attr(const qgc_node *node, const char *name)
{
    int index = qgc_op_attr_index(qgc_op(node->op), qgc_str_from(name));
    QGC_ASSERT(index >= 0, "%s has no attribute %s", qgc_op(node->op)->mnemonic, name);
    return node->attrs[index].kind == QGC_ATTR_NONE ? NULL : &node->attrs[index];
}

void qgc_node_set_attr(qgc_node *node, const char *name, qgc_attr value)
{
    int index = qgc_op_attr_index(qgc_op(node->op), qgc_str_from(name));
    QGC_ASSERT(index >= 0, "%s has no attribute %s", qgc_op(node->op)->mnemonic, name);
    node->attrs[index] = value;
}

const qgc_attr *qgc_node_extra(const qgc_node *node, qgc_name name)
{
    for (uint32_t i = 0; i < node->num_extra; i++)
        if (node->extra[i].name == name)
            return &node->extra[i].value;
    return NULL;
}

static void remove_extra(qgc_node *node, uint32_t index)
{
    node->num_extra--;
    memmove(&node->extra[index], &node->extra[index + 1],
            (node->num_extra - index) * sizeof *node->extra);
}

void qgc_node_set_extra(qgc_node *node, qgc_name name, qgc_attr value)
{
    for (uint32_t i = 0; i < node->num_extra; i++) {
        if (node->extra[i].name != name)
            continue;
        if (value.kind == QGC_ATTR_NONE)
            remove_extra(node, i);
        else
            node->extra[i].value = value;
        return;
    }
    if (value.kind == QGC_ATTR_NONE)
        return;
    qgc_named_attr *grown =
        QGC_NEW_ARRAY(&node->func->module->arena, qgc_named_attr, node->num_extra + 1);
    if (node->num_extra)
        memcpy(grown, node->extra, node->num_extra * sizeof *grown);
    grown[node->num_extra++] = (qgc_named_attr){name, value};
    node->extra = grown;
}

uint32_t qgc_node_operand_range(const qgc_node *node, uint32_t row, uint32_t *out_begin)
{
    const qgc_op_info *op = qgc_op(node->op);
    int variadic = qgc_op_variadic(op);
    uint32_t group = variadic < 0 ? 1 : node->num_operands + 1 - qgc_op_num_operands(op);
    *out_begin = variadic >= 0 && row > (uint32_t)variadic ? row - 1 + group : row;
    return (int)row == variadic ? group : 1;
}

uint32_t qgc_node_operand_row(const qgc_node *node, uint32_t index)
{
    const qgc_op_info *op = qgc_op(node->op);
    int variadic = qgc_op_variadic(op);
    if (variadic < 0 || index < (uint32_t)variadic)
        return index;
    uint32_t group = node->num_operands + 1 - qgc_op_num_operands(op);
    return index < (uint32_t)variadic + group ? (uint32_t)variadic : index + 1 - group;
}

qgc_attr qgc_attr_from_ints(qgc_arena *arena, const int64_t *values, uint32_t num)
{
    int64_t *copy = QGC_NEW_ARRAY(arena, int64_t, num);
    if (num)
        memcpy(copy, values, num * sizeof *copy);
    return (qgc_attr){.kind = QGC_ATTR_INTS, .num = num, .ints = copy};
}

qgc_attr qgc_attr_from_int(int64_t value)
{
    return (qgc_attr){.kind = QGC_ATTR_INT, .i = value};
}

qgc_attr qgc_attr_from_float(float value)
{
    return (qgc_attr){.kind = QGC_ATTR_FLOAT, .f = value};
}

qgc_attr qgc_attr_from_name(qgc_attr_kind kind, qgc_name name)
{
    return (qgc_attr){.kind = kind, .name = name};
}

#include "passes/outline.h"

#include "runtime/interp.h"
#include "runtime/tensor.h"

#include <string.h>

typedef struct outliner {
    qgc_outline *outline;
    qgc_func *from, *to;
    qgc_map groups; /* node -> the root of its group */
    qgc_map values; /* value of |from| -> value of |to| */
    qgc_map steps;  /* dequantize of constants -> what it gives */
    qgc_arena *scratch;
    QGC_VEC(qgc_node *) nodes;
    QGC_VEC(qgc_value *) inputs;
} outliner;

/* ---- groups ---- */

/* What a dequantize of constants gives; NULL where it is none, or cannot be computed. */
static const qgc_tensor *evaluate_step(outliner *o, const qgc_node *node)
{
    const qgc_tensor *operands[QGC_MAX_OPERANDS] = {0};
    qgc_tensor result = {0}, *known = qgc_map_get(&o->steps, node);
    if (known)
        return known;
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = qgc_node_operand(node, i);
        operands[i] = value && value->def ? value->def->constant : NULL;
        if (value && !operands[i])
            return NULL;
    }
    if (qgc_interp_node(node, operands, &result) != QGC_OK)
        return NULL;
    qgc_arena *arena = &o->from->module->arena;
    known = QGC_NEW(arena, qgc_tensor);
    *known = result;
    known->data = qgc_arena_alloc(arena, result.bytes + QGC_TENSOR_SLACK);
    memcpy(known->data, result.data, result.bytes);
    qgc_tensor_destroy(&result);
    *qgc_map_at(&o->steps, node) = known;
    return known;
}

/* The constant that |value| is, through observers and dequantizes; or NULL. */
static const qgc_tensor *constant_of(outliner *o, const qgc_value *value)
{
    while (value->def && value->def->op == QGC_OP_OBSERVE)
        value = qgc_node_operand(value->def, 0);
    const qgc_node *def = value->def;
    if (def && def->op == QGC_OP_DEQUANTIZE)
        return evaluate_step(o, def);
    return def && qgc_node_op(def)->traits & QGC_TRAIT_CONSTANT ? def->constant : NULL;
}

static bool stays(outliner *o, const qgc_node *node)
{
    uint32_t traits = qgc_node_op(node)->traits;
    return node->op == QGC_OP_OBSERVE ||
           (traits & (QGC_TRAIT_CONSTANT | QGC_TRAIT_TERMINATOR | QGC_TRAIT_CALL)) != 0 ||
           (node->op == QGC_OP_DEQUANTIZE && evaluate_step(o, node));
}

/* The one group that all users of the result are in; NULL: it is seen, or there are several. */
static qgc_node *group_of_users(outliner *o, const qgc_node *node)
{
    qgc_node *root = NULL;
    const qgc_value *result = &node->results[0];
    if (node->num_results != 1 || !o->outline->is_kept ||
        o->outline->is_kept(o->outline->user, result))
        return NULL;
    for (const qgc_use *use = result->first_use; use; use = use->next) {
        qgc_node *other = qgc_map_get(&o->groups, use->user);
        if (!other || (root && other != root))
            return NULL;
        root = other;
    }
    return root;
}

/* Users stand behind: from the end. */
static void form_groups(outliner *o)
{
    for (qgc_node *node = o->from->last; node; node = node->previous) {
        if (stays(o, node))
            continue;
        qgc_node *root = group_of_users(o, node);
        *qgc_map_at(&o->groups, node) = root ? root : node;
    }
}

/* ---- the function ---- */

static bool is_inside(const outliner *o, const qgc_value *value, const qgc_node *root)
{
    return value->def && qgc_map_get(&o->groups, value->def) == root;
}

static void add_input(outliner *o, qgc_value *value, const qgc_node *root)
{
    if (!value || is_inside(o, value, root) || constant_of(o, value) ||
        qgc_map_get(&o->values, value))
        return;
    *qgc_map_at(&o->values, value) = value; /* seen */
    qgc_vec_push(o->scratch, &o->inputs, value);
}

static void collect(outliner *o, const qgc_node *root)
{
    QGC_EACH_NODE (node, o->from) {
        if (qgc_map_get(&o->groups, node) == root)
            qgc_vec_push(o->scratch, &o->nodes, node);
        if (node == root)
            break;
    }
    for (size_t i = 0; i < o->nodes.size; i++)
        for (uint32_t k = 0; k < o->nodes.data[i]->num_operands; k++)
            add_input(o, qgc_node_operand(o->nodes.data[i], k), root);
}

static void copy_results(outliner *o, const qgc_node *node, qgc_node *copy)
{
    for (uint32_t i = 0; i < node->num_results; i++) {
        copy->results[i].type = node->results[i].type;
        copy->results[i].loc = node->results[i].loc;
        qgc_value_set_name(o->to, &copy->results[i], node->results[i].name);
        *qgc_map_at(&o->values, &node->results[i]) = &copy->results[i];
    }
}

static void copy_attrs(const qgc_node *node, qgc_node *copy)
{
    memcpy(copy->attrs, node->attrs, qgc_op_num_attrs(qgc_node_op(node)) * sizeof *copy->attrs);
    copy->scope = node->scope;
    copy->constant = node->constant;
}

static qgc_value *copy_constant(outliner *o, qgc_value *value)
{
    const qgc_tensor *constant = constant_of(o, value);
    const qgc_node *observer = value->def;
    qgc_node *copy = qgc_node_create(o->to, QGC_OP_CONST, 0, NULL, 1, NULL, value->loc);
    copy->attrs[0] = (qgc_attr){.kind = QGC_ATTR_TENSOR, .tensor = constant};
    copy->constant = constant;
    copy->results[0].type = value->type;
    qgc_value_set_name(o->to, &copy->results[0], value->name);
    *qgc_map_at(&o->values, value) = &copy->results[0];
    if (observer->op != QGC_OP_OBSERVE)
        return &copy->results[0];
    qgc_outlined_constant *entry = QGC_NEW(o->outline->constants.arena, qgc_outlined_constant);
    void **slot = qgc_map_at(&o->outline->constants, observer);
    *entry = (qgc_outlined_constant){observer, copy, *slot};
    *slot = entry;
    return &copy->results[0];
}

static void copy_node(outliner *o, const qgc_node *node)
{
    qgc_value **operands = QGC_NEW_ARRAY(o->scratch, qgc_value *, node->num_operands);
    for (uint32_t i = 0; i < node->num_operands; i++) {
        qgc_value *operand = qgc_node_operand(node, i);
        qgc_value *copy = operand ? qgc_map_get(&o->values, operand) : NULL;
        operands[i] = operand && !copy ? copy_constant(o, operand) : copy;
    }
    qgc_node *copy = qgc_node_create(o->to, node->op, node->num_operands, operands,
                                     node->num_results, NULL, node->loc);
    copy_attrs(node, copy);
    copy_results(o, node, copy);
}

static qgc_name new_name(outliner *o)
{
    qgc_context *context = o->from->module->context;
    for (size_t i = o->outline->is_made.size;; i++) {
        const char *text = qgc_arena_printf(o->scratch, "%s.op%zu", o->from->name->data, i);
        qgc_name name = qgc_context_name(context, text);
        if (!qgc_module_find_func(o->from->module, name))
            return name;
    }
}

static void build(outliner *o, const qgc_node *root)
{
    o->to = qgc_func_create(o->from->module, new_name(o), (uint32_t)o->inputs.size,
                            root->num_results, root->loc);
    *qgc_map_at(&o->outline->is_made, o->to) = o->to;
    for (uint32_t i = 0; i < o->inputs.size; i++) {
        qgc_value *input = o->inputs.data[i];
        qgc_func_set_param(o->to, i, input->name, input->type, input->loc);
        *qgc_map_at(&o->values, input) = &o->to->params[i];
    }
    for (size_t i = 0; i < o->nodes.size; i++)
        copy_node(o, o->nodes.data[i]);
    qgc_value **results = QGC_NEW_ARRAY(o->scratch, qgc_value *, root->num_results);
    for (uint32_t i = 0; i < root->num_results; i++) {
        results[i] = qgc_map_get(&o->values, &root->results[i]);
        o->to->result_types[i] = results[i]->type;
    }
    qgc_node_create(o->to, QGC_OP_RETURN, root->num_results, results, 0, NULL, root->loc);
}

static void replace(outliner *o, qgc_node *root)
{
    qgc_node *call = qgc_node_create(o->from, QGC_OP_CALL, (uint32_t)o->inputs.size, o->inputs.data,
                                     root->num_results, root, root->loc);
    call->attrs[0] = qgc_attr_from_name(QGC_ATTR_FUNC, o->to->name);
    call->scope = root->scope;
    for (uint32_t i = 0; i < root->num_results; i++) {
        call->results[i].type = root->results[i].type;
        call->results[i].loc = root->results[i].loc;
        qgc_value_take_over(o->from, &root->results[i], &call->results[i]);
    }
    for (size_t i = o->nodes.size; i-- > 0;)
        qgc_node_erase(o->nodes.data[i]);
}

/* |root| and what goes with it. Returns what stands behind it. */
static qgc_node *outline_group(outliner *o, qgc_node *root)
{
    qgc_arena_mark mark = qgc_arena_get_mark(o->scratch);
    qgc_node *next = root->next;
    o->values = (qgc_map){.arena = o->scratch};
    o->nodes.data = NULL;
    o->inputs.data = NULL;
    o->nodes.size = o->nodes.capacity = o->inputs.size = o->inputs.capacity = 0;
    collect(o, root);
    build(o, root);
    replace(o, root);
    qgc_arena_reset(o->scratch, mark);
    return next;
}

static void outline_func(qgc_func *func, qgc_outline *outline, qgc_arena *scratch)
{
    qgc_arena groups = {0};
    outliner o = {.outline = outline, .from = func, .scratch = scratch};
    o.groups.arena = o.steps.arena = &groups;
    form_groups(&o);
    for (qgc_node *node = func->first, *next; node; node = next) {
        next = node->next;
        if (qgc_map_get(&o.groups, node) == node)
            next = outline_group(&o, node);
    }
    qgc_arena_destroy(&groups);
}

void qgc_outline_all(qgc_module *module, qgc_outline *outline, qgc_arena *scratch)
{
    outline->constants.arena = outline->is_made.arena = &module->arena;
    QGC_EACH_FUNC (func, module)
        if (!qgc_map_get(&outline->is_made, func))
            outline_func(func, outline, scratch);
}

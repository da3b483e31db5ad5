/* Candidates for making a graph smaller. Each function below offers its own in order; the one whose
 * turn it is changes the graph, and everything else returns at once. */
#include "qgc/reduce.h"

#include "ir/infer.h"
#include "passes/provenance.h"
#include "passes/seams.h"

#include <string.h>

typedef struct reduction {
    qgc_module *module;
    qgc_arena *arena; /* of the module */
    size_t left;      /* candidates before the one */
    const char *what;
    bool fits;
} reduction;

/* Whose turn it is. */
static bool take(reduction *r)
{
    return !r->what && r->left-- == 0;
}

#define DONE(r, ...) ((r)->what = qgc_arena_printf((r)->arena, __VA_ARGS__))

static bool is_called(const qgc_module *module, const qgc_func *callee)
{
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            if (qgc_node_op(node)->traits & QGC_TRAIT_CALL && node->attrs[0].name == callee->name)
                return true;
    return false;
}

static bool is_constant(const qgc_node *node)
{
    return qgc_node_op(node)->traits & QGC_TRAIT_CONSTANT;
}

/* ---- functions, results, parameters ---- */

static void drop_func(reduction *r, qgc_func *func)
{
    if (is_called(r->module, func) || r->module->first == r->module->last || !take(r))
        return;
    DONE(r, "function @%s removed", func->name->data);
    r->module->stats.size = 0;
    qgc_module_remove_func(r->module, func);
}

static void drop_result(reduction *r, qgc_func *func, uint32_t index)
{
    qgc_node *old = func->last;
    qgc_value **kept = QGC_NEW_ARRAY(r->arena, qgc_value *, func->num_results);
    uint32_t num = 0;
    if (!take(r))
        return;
    DONE(r, "result %u of @%s removed", index, func->name->data);
    for (uint32_t i = 0; i < func->num_results; i++)
        if (i != index) {
            func->result_types[num] = func->result_types[i];
            kept[num++] = old->operands[i].value;
        }
    func->num_results = num;
    qgc_node_create(func, QGC_OP_RETURN, num, kept, 0, old, old->loc);
    qgc_node_erase(old);
}

/* What a result is made of, in its place. */
static void return_earlier(reduction *r, qgc_func *func, uint32_t index)
{
    const qgc_node *def = func->last->operands[index].value->def;
    for (uint32_t i = 0; def && i < def->num_operands; i++) {
        qgc_value *value = def->operands[i].value;
        if (!value || (value->def && is_constant(value->def)) || !take(r))
            continue;
        DONE(r, "@%s returns %%%s", func->name->data, value->name->data);
        qgc_node_set_operand(func->last, index, value);
        return;
    }
}

/* The parameters without |dropped|, and one of |more|'s type, which |more| gives way to. */
static void set_params(reduction *r, qgc_func *func, const qgc_value *dropped, qgc_value *more)
{
    qgc_value *params = QGC_NEW_ARRAY(r->arena, qgc_value, func->num_params + 1);
    uint32_t num = 0;
    for (uint32_t i = 0; i < func->num_params; i++) {
        qgc_value *old = &func->params[i], *param = &params[num];
        if (old == dropped) {
            *qgc_map_at(&func->names, old->name) = NULL;
            continue;
        }
        *param = (qgc_value){.type = old->type, .index = num++, .loc = old->loc};
        qgc_value_take_over(func, old, param);
    }
    if (more) {
        params[num] = (qgc_value){.type = more->type, .index = num, .loc = more->loc};
        qgc_value_take_over(func, more, &params[num++]);
    }
    func->params = params;
    func->num_params = num;
}

static void drop_param(reduction *r, qgc_func *func, uint32_t index)
{
    qgc_value *param = &func->params[index];
    if (param->num_uses || !take(r))
        return;
    DONE(r, "parameter %%%s of @%s removed", param->name->data, func->name->data);
    set_params(r, func, param, NULL);
}

/* ---- ops ---- */

static bool make_zeros(reduction *r, const qgc_type *type, qgc_tensor *out)
{
    enum { MAX_BYTES = 1 << 24 };
    int64_t num;
    if (!type->is_static || !qgc_type_num_elements(type, &num) || num > MAX_BYTES)
        return false;
    *out = (qgc_tensor){.dtype = type->dtype, .rank = type->rank};
    for (uint32_t i = 0; i < type->rank; i++)
        out->shape[i] = type->dims[i].value;
    out->bytes = (size_t)num * qgc_dtype_bytes(type->dtype);
    out->data = qgc_arena_alloc(r->arena, out->bytes);
    return true;
}

static void put_constant(qgc_value *value, const qgc_tensor *tensor)
{
    qgc_node *node = value->def;
    qgc_value *constant =
        qgc_seams_constant(node->func, tensor, qgc_name_str(value->name), node, node->loc);
    qgc_value_take_over(node->func, value, constant);
}

static void reduce_value(reduction *r, qgc_node *node, qgc_value *value, bool is_free)
{
    qgc_tensor zeros;
    if (is_free && take(r)) {
        DONE(r, "%%%s is a parameter", value->name->data);
        set_params(r, node->func, NULL, value);
        return;
    }
    for (uint32_t i = 0; i < node->num_operands; i++) {
        qgc_value *operand = node->operands[i].value;
        if (!operand || operand->type != value->type || !take(r))
            continue;
        DONE(r, "%%%s in place of %%%s", operand->name->data, value->name->data);
        qgc_value_replace_uses(value, operand);
        return;
    }
    if (make_zeros(r, value->type, &zeros) && take(r)) {
        DONE(r, "%%%s is constant", value->name->data);
        put_constant(value, &zeros);
    }
}

/* Last ones first: what only they need goes with them. */
static void reduce_nodes(reduction *r, qgc_func *func, bool is_free)
{
    for (qgc_node *node = func->last->previous; node && !r->what; node = node->previous)
        for (uint32_t i = 0; i < node->num_results && !is_constant(node) && !r->what; i++)
            if (node->results[i].num_uses)
                reduce_value(r, node, &node->results[i], is_free);
}

/* ---- dimensions ---- */

/* The first |shape[i]| elements along each axis. */
static qgc_tensor cut(reduction *r, const qgc_tensor *from, const int64_t *shape)
{
    qgc_tensor to = {.dtype = from->dtype, .rank = from->rank};
    size_t element = qgc_dtype_bytes(from->dtype), num = 1;
    for (uint32_t i = 0; i < from->rank; i++)
        num *= (size_t)(to.shape[i] = shape[i]);
    to.bytes = num * element;
    to.data = qgc_arena_alloc(r->arena, to.bytes);
    for (size_t n = 0; n < num; n++) {
        size_t at = 0, stride = 1, rest = n;
        for (uint32_t i = from->rank; i-- > 0;) {
            at += rest % (size_t)shape[i] * stride;
            rest /= (size_t)shape[i];
            stride *= (size_t)from->shape[i];
        }
        memcpy((uint8_t *)to.data + n * element, (const uint8_t *)from->data + at * element,
               element);
    }
    return to;
}

static const qgc_type *resized(reduction *r, const qgc_type *type, int64_t size, int64_t by)
{
    qgc_dim dims[QGC_MAX_RANK];
    for (uint32_t i = 0; i < type->rank; i++) {
        bool is_it = qgc_dim_is_number(type->dims[i]) && type->dims[i].value == size;
        dims[i] = is_it ? qgc_dim_number(by) : type->dims[i];
    }
    return qgc_type_get(&r->module->context->types, type->dtype, type->rank, dims);
}

static void resize_constant(reduction *r, qgc_node *node, int64_t size, int64_t by)
{
    int64_t shape[QGC_MAX_RANK];
    bool changes = false;
    for (uint32_t i = 0; node->constant && i < node->constant->rank; i++) {
        shape[i] = node->constant->shape[i] == size ? by : node->constant->shape[i];
        changes = changes || shape[i] != node->constant->shape[i];
    }
    if (!changes)
        return;
    qgc_tensor tensor = cut(r, node->constant, shape);
    put_constant(&node->results[0], &tensor);
}

static void resize(reduction *r, int64_t size, int64_t by)
{
    if (!take(r))
        return;
    DONE(r, "dimensions of %lld are %lld", (long long)size, (long long)by);
    QGC_EACH_FUNC (func, r->module) {
        for (uint32_t i = 0; i < func->num_params; i++)
            func->params[i].type = resized(r, func->params[i].type, size, by);
        QGC_EACH_NODE (node, func) {
            if (is_constant(node))
                resize_constant(r, node, size, by);
            else
                for (uint32_t i = 0; i < node->num_results; i++)
                    node->results[i].type = resized(r, node->results[i].type, size, by);
        }
    }
}

static void note_sizes(const qgc_type *type, int64_t below, int64_t *next)
{
    for (uint32_t i = 0; i < type->rank; i++) {
        int64_t size = qgc_dim_is_number(type->dims[i]) ? type->dims[i].value : 0;
        if (size < below && size > *next)
            *next = size;
    }
}

/* The largest size of parameters and constants that is below |below|; 1: none. */
static int64_t next_size(const qgc_module *module, int64_t below)
{
    int64_t next = 1;
    QGC_EACH_FUNC (func, module) {
        for (uint32_t i = 0; i < func->num_params; i++)
            note_sizes(func->params[i].type, below, &next);
        QGC_EACH_NODE (node, func)
            if (is_constant(node))
                note_sizes(node->results[0].type, below, &next);
    }
    return next;
}

static void reduce_sizes(reduction *r)
{
    int64_t size = INT64_MAX;
    while (!r->what && (size = next_size(r->module, size)) > 1) {
        int64_t half = (size + 1) / 2;
        resize(r, size, 1);
        if (half > 1)
            resize(r, size, half);
        if (size - 1 > half)
            resize(r, size, size - 1);
    }
}

/* ---- attributes, operands, weights, records ---- */

static void drop_attributes(reduction *r, qgc_node *node)
{
    const qgc_op_info *op = qgc_node_op(node);
    for (uint32_t i = 0; i < qgc_op_num_attrs(op); i++) {
        bool is_head =
            node->attrs[i].kind == QGC_ATTR_FUNC || node->attrs[i].kind == QGC_ATTR_TENSOR;
        if (node->attrs[i].kind == QGC_ATTR_NONE || is_head || is_constant(node) || !take(r))
            continue;
        DONE(r, "attribute %s of %s removed", op->attrs[i].name, op->mnemonic);
        node->attrs[i] = (qgc_attr){.kind = QGC_ATTR_NONE};
        return;
    }
    if (node->num_extra && take(r)) {
        DONE(r, "attribute %s of %s removed", node->extra[0].name->data, op->mnemonic);
        qgc_node_set_extra(node, node->extra[0].name, (qgc_attr){.kind = QGC_ATTR_NONE});
    }
}

static void drop_operands(reduction *r, qgc_node *node)
{
    const qgc_op_info *op = qgc_node_op(node);
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_operand_spec *row = &op->operands[qgc_node_operand_row(node, i)];
        if (row->arity != QGC_OPTIONAL || !node->operands[i].value || !take(r))
            continue;
        DONE(r, "operand %s of %s removed", row->name, op->mnemonic);
        qgc_node_set_operand(node, i, NULL);
        return;
    }
}

static bool is_zero(const qgc_tensor *tensor)
{
    const uint8_t *bytes = tensor->data;
    for (size_t i = 0; i < tensor->bytes; i++)
        if (bytes[i])
            return false;
    return true;
}

static void clear_weights(reduction *r, qgc_node *node)
{
    qgc_tensor zeros;
    if (!is_constant(node) || !node->constant || is_zero(node->constant) ||
        !make_zeros(r, node->results[0].type, &zeros) || !take(r))
        return;
    DONE(r, "%%%s is zero", node->results[0].name->data);
    put_constant(&node->results[0], &zeros);
}

static void each_node(reduction *r, void (*reduce)(reduction *r, qgc_node *node))
{
    QGC_EACH_FUNC (func, r->module)
        for (qgc_node *node = func->first; node && !r->what; node = node->next)
            reduce(r, node);
}

static void drop_records(reduction *r)
{
    if (r->module->stats.size && take(r)) {
        DONE(r, "statistics removed");
        r->module->stats.size = 0;
    }
    if (r->module->provenance.size && take(r)) {
        DONE(r, "provenance removed");
        r->module->provenance.size = 0;
    }
}

/* ---- what follows from a change ---- */

static void sweep(qgc_func *func)
{
    for (qgc_node *node = func->last, *previous; node; node = previous) {
        bool is_used = qgc_node_op(node)->traits & QGC_TRAIT_TERMINATOR;
        previous = node->previous;
        for (uint32_t i = 0; i < node->num_results; i++)
            is_used = is_used || node->results[i].num_uses;
        if (!is_used)
            qgc_node_erase(node);
    }
}

static qgc_result infer_node(reduction *r, qgc_node *node)
{
    const qgc_type **types = QGC_NEW_ARRAY(r->arena, const qgc_type *, node->num_results);
    for (uint32_t i = 0; i < node->num_results; i++)
        types[i] = node->results[i].type;
    QGC_TRY(qgc_node_infer(node, types, true));
    for (uint32_t i = 0; i < node->num_results; i++)
        if (types[i])
            node->results[i].type = types[i];
    return QGC_OK;
}

static qgc_result infer_func(reduction *r, qgc_func *func)
{
    QGC_EACH_NODE (node, func)
        if (!(qgc_node_op(node)->traits & QGC_TRAIT_TERMINATOR))
            QGC_TRY(infer_node(r, node));
    for (uint32_t i = 0; i < func->num_results; i++)
        func->result_types[i] = func->last->operands[i].value->type;
    return QGC_OK;
}

/* Callees may stand behind their callers: what the first round gets from them, the second has. */
static qgc_result settle(reduction *r)
{
    QGC_EACH_FUNC (func, r->module)
        sweep(func);
    for (int round = 0; round < 2; round++)
        QGC_EACH_FUNC (func, r->module)
            if (infer_func(r, func) != QGC_OK && round)
                return QGC_FAILED;
    qgc_provenance_seal_again(r->module);
    return qgc_module_verify(r->module);
}

static void reduce_func(reduction *r, qgc_func *func)
{
    bool is_free = !is_called(r->module, func);
    for (uint32_t i = 0; is_free && func->num_results > 1 && i < func->num_results && !r->what; i++)
        drop_result(r, func, i);
    for (uint32_t i = 0; is_free && i < func->num_results && !r->what; i++)
        return_earlier(r, func, i);
    if (!r->what)
        reduce_nodes(r, func, is_free && func->num_params);
    for (uint32_t i = func->num_params; is_free && i-- > 0 && !r->what;)
        drop_param(r, func, i);
}

static void choose(reduction *r)
{
    for (qgc_func *func = r->module->first, *next; func && !r->what; func = next) {
        next = func->next;
        drop_func(r, func);
    }
    for (qgc_func *func = r->module->first; func && !r->what; func = func->next)
        reduce_func(r, func);
    reduce_sizes(r);
    each_node(r, drop_attributes);
    each_node(r, drop_operands);
    each_node(r, clear_weights);
    drop_records(r);
}

qgc_reduction qgc_module_reduce(qgc_module *module, size_t index, const char **out_what)
{
    reduction r = {.module = module, .arena = &module->arena, .left = index};
    choose(&r);
    if (!r.what)
        return QGC_REDUCTION_NONE;
    *out_what = r.what;
    return settle(&r) == QGC_OK ? QGC_REDUCTION_DONE : QGC_REDUCTION_REFUSED;
}

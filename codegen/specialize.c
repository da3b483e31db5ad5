#include "codegen/specialize.h"

#include "codegen/fold_weights.h"
#include "ir/copy.h"
#include "ir/infer.h"
#include "ir/inline.h"
#include "ir/plugin.h"
#include "runtime/interp.h"

#include <string.h>

typedef struct specializer {
    const qgc_func *from;
    const qgc_tensor *inputs;
    qgc_context *context;
    qgc_arena *arena; /* of what is returned */
    qgc_arena scratch;
    qgc_bindings bindings;
    QGC_VEC(qgc_name) symbols; /* that have a value */
    bool keeps_observers;
    qgc_map known; /* constants that shapes were computed into */
    qgc_special special;
} specializer;

/* ---- inputs ---- */

static void bind_symbols(specializer *s, const qgc_type *type, const qgc_tensor *tensor)
{
    for (uint32_t d = 0; d < type->rank; d++) {
        qgc_name symbol = qgc_dim_as_symbol(type->dims[d]);
        int64_t bound;
        if (!symbol || qgc_bindings_lookup(&s->bindings, symbol, &bound))
            continue;
        qgc_bindings_set(&s->bindings, symbol, tensor->shape[d]);
        qgc_vec_push(&s->scratch, &s->symbols, symbol);
    }
}

static bool fits(specializer *s, const qgc_type *type, const qgc_tensor *tensor)
{
    for (uint32_t d = 0; d < type->rank; d++) {
        qgc_dim dim =
            qgc_dim_bind(&s->context->dims, type->dims[d], qgc_bindings_lookup, &s->bindings);
        if (qgc_dim_is_number(dim) && dim.value != tensor->shape[d])
            return false;
    }
    return true;
}

static bool read_inputs(specializer *s)
{
    const qgc_func *func = s->from;
    for (uint32_t i = 0; i < func->num_params; i++) {
        const qgc_type *type = func->params[i].type;
        if (type->dtype != s->inputs[i].dtype || type->rank != s->inputs[i].rank)
            return false;
        bind_symbols(s, type, &s->inputs[i]);
    }
    for (uint32_t i = 0; i < func->num_params; i++)
        if (!fits(s, func->params[i].type, &s->inputs[i]))
            return false;
    return true;
}

/* ---- the copy ---- */

static void copy_callees(specializer *s, const qgc_func *func, qgc_module *to)
{
    QGC_EACH_NODE (node, func) {
        if (!(qgc_op(node->op)->traits & QGC_TRAIT_CALL))
            continue;
        const qgc_func *callee = qgc_module_find_func(func->module, node->attrs[0].name);
        if (qgc_module_find_func(to, callee->name))
            continue;
        copy_callees(s, callee, to);
        qgc_func_copy(callee, to, NULL);
    }
}

static void copy(specializer *s)
{
    qgc_map copies = {.arena = &s->scratch};
    qgc_module *module = qgc_module_create(s->context);
    s->special.module = module;
    module->form = s->from->module->form;
    copy_callees(s, s->from, module);
    s->special.func = qgc_func_copy(s->from, module, &copies);
    s->special.originals = (qgc_map){.arena = s->arena};
    QGC_EACH_NODE (node, s->from)
        for (uint32_t i = 0; i < node->num_results; i++)
            *qgc_map_at(&s->special.originals, qgc_map_get(&copies, &node->results[i])) =
                &node->results[i];
}

static qgc_result set_shapes(specializer *s)
{
    qgc_func *func = s->special.func;
    for (size_t i = 0; i < s->symbols.size; i++) {
        int64_t value = 0;
        qgc_bindings_lookup(&s->bindings, s->symbols.data[i], &value);
        QGC_TRY(qgc_module_bind(s->special.module, s->symbols.data[i]->data, value));
    }
    for (uint32_t i = 0; i < func->num_params; i++)
        func->params[i].type = qgc_type_of_tensor(&s->context->types, &s->inputs[i]);
    return QGC_OK;
}

/* ---- values that are known ---- */

enum { MAX_KNOWN = 1024 }; /* elements */

static bool is_known_type(const qgc_type *type)
{
    int64_t num;
    bool is_plain = qgc_dtype_get_kind(type->dtype) != QGC_FLOAT || type->dtype == QGC_DTYPE_F32;
    return is_plain && type->is_static && qgc_type_num_elements(type, &num) && num <= MAX_KNOWN;
}

static bool comes_from_shapes(const specializer *s, const qgc_node *node)
{
    if (node->op == QGC_OP_SHAPE_OF || node->op == QGC_OP_SIZE_OF)
        return true;
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        if (value && value->def && qgc_map_get(&s->known, value->def))
            return true;
    }
    return false;
}

/* The operands' constants; what reads only shapes gets tensors without data. */
static bool gather(specializer *s, const qgc_node *node, const qgc_tensor **operands)
{
    bool reads_shape = node->op == QGC_OP_SHAPE_OF || node->op == QGC_OP_SIZE_OF;
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        if (!value)
            continue;
        operands[i] = value->def ? value->def->constant : NULL;
        if (operands[i] || !reads_shape || !value->type->is_static) {
            if (!operands[i])
                return false;
            continue;
        }
        qgc_tensor *shape = QGC_NEW(&s->scratch, qgc_tensor);
        shape->dtype = value->type->dtype;
        shape->rank = value->type->rank;
        int64_t num = 0;
        if (!qgc_type_num_elements(value->type, &num))
            return false;
        shape->bytes = (size_t)num * qgc_dtype_bytes(shape->dtype);
        for (uint32_t d = 0; d < shape->rank; d++)
            shape->shape[d] = value->type->dims[d].value;
        operands[i] = shape;
    }
    return true;
}

static void fold(specializer *s, qgc_node *node)
{
    enum {
        SKIPPED = QGC_TRAIT_CONSTANT | QGC_TRAIT_CALL | QGC_TRAIT_TERMINATOR | QGC_TRAIT_OBSERVER
    };
    if (qgc_node_op(node)->traits & SKIPPED || !node->num_results || !comes_from_shapes(s, node))
        return;
    for (uint32_t i = 0; i < node->num_results; i++)
        if (!is_known_type(node->results[i].type))
            return;
    const qgc_tensor **operands =
        QGC_NEW_ARRAY(&s->scratch, const qgc_tensor *, node->num_operands);
    uint32_t num = node->num_results;
    qgc_node **constants = QGC_NEW_ARRAY(&s->scratch, qgc_node *, num);
    /* What fails here fails again where it is run. */
    if (!gather(s, node, operands) || qgc_interp_fold(node, operands, constants) != QGC_OK)
        return;
    for (uint32_t i = 0; i < num; i++)
        *qgc_map_at(&s->known, constants[i]) = constants[i];
}

/* An observer's result is what it observes: the rest of the graph does without it. */
static void bypass(specializer *s, qgc_node *node)
{
    qgc_value_replace_uses(&node->results[0], qgc_node_operand(node, 0));
    if (!s->keeps_observers)
        qgc_node_erase(node);
}

static qgc_result infer(specializer *s)
{
    qgc_func *func = s->special.func;
    bool changed;
    for (qgc_node *node = func->first, *next; node; node = next) {
        next = node->next;
        const qgc_type *declared = node->num_results ? node->results[0].type : NULL;
        QGC_TRY(qgc_node_refine(node, &s->scratch, &changed));
        if (declared && !qgc_type_compatible(declared, node->results[0].type))
            return QGC_FAILED; /* the interpreter says it */
        if (node->op == QGC_OP_OBSERVE)
            bypass(s, node);
        else
            fold(s, node);
    }
    for (uint32_t i = 0; i < func->num_results; i++)
        func->result_types[i] = func->last->operands[i].value->type;
    return QGC_OK;
}

/* ---- what can be compiled ---- */

bool qgc_is_foreign(const qgc_func *func)
{
    const qgc_plugin *plugin = NULL;
    qgc_context *context = func->module->context;
    size_t reported = context->diag.list.size;
    if (!func->target)
        return false;
    if (qgc_plugin_find(context, qgc_name_str(func->target), &plugin) != QGC_OK)
        qgc_diag_rollback(&context->diag, reported); /* its region runs as literal ops */
    return plugin && qgc_backend_lowers(plugin->backend);
}

static const char *find_obstacle(specializer *s)
{
    QGC_EACH_NODE (node, s->special.func) {
        if (qgc_op(node->op)->traits & QGC_TRAIT_CONSTANT && !node->constant)
            return qgc_arena_printf(s->arena, "%%%s has no data", node->results[0].name->data);
        for (uint32_t i = 0; i < node->num_results; i++)
            if (!node->results[i].type->is_static)
                return qgc_arena_printf(s->arena, "the shape of %%%s depends on data: it is %s",
                                        node->results[i].name->data,
                                        qgc_type_str(&s->scratch, node->results[i].type));
    }
    return NULL;
}

static qgc_result specialize(specializer *s, bool inlines)
{
    copy(s);
    QGC_TRY(set_shapes(s));
    if (inlines)
        QGC_TRY(qgc_func_inline_except(s->special.func, qgc_is_foreign));
    QGC_TRY(infer(s));
    if (inlines)
        qgc_fold_weights(s->special.func);
    s->special.why = find_obstacle(s);
    return s->special.why ? QGC_FAILED : QGC_OK;
}

qgc_special qgc_specialize(const qgc_func *func, const qgc_tensor *inputs, bool inlines,
                           qgc_arena *arena)
{
    qgc_context *context = func->module->context;
    qgc_diag *diag = &context->diag;
    specializer s = {.from = func,
                     .inputs = inputs,
                     .context = context,
                     .arena = arena,
                     .keeps_observers = !inlines};
    size_t reported = diag->list.size;
    s.bindings.arena = s.known.arena = &s.scratch;
    if (read_inputs(&s) && specialize(&s, inlines) != QGC_OK) {
        if (!s.special.why)
            s.special.why =
                diag->list.size > reported
                    ? qgc_arena_strdup(arena, qgc_str_from(diag->list.data[reported].message))
                    : "it cannot be specialised";
        qgc_module_destroy(s.special.module);
        s.special.module = NULL;
        s.special.func = NULL;
    }
    qgc_diag_rollback(diag, reported);
    qgc_arena_destroy(&s.scratch);
    return s.special;
}

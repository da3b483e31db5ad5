#include "runtime/interp.h"

#include "ir/infer.h"
#include "runtime/fp_mode.h"
#include "runtime/ref/ref.h"

#include <string.h>

/* A value while its function runs. */
typedef struct slot {
    qgc_tensor tensor;
    bool owned;
    uint32_t uses_left;
} slot;

typedef struct frame {
    const qgc_func *func;
    qgc_context *context;
    qgc_bindings *bindings;
    const qgc_interp_options *options;
    const qgc_node *call; /* that leads here; NULL in the entry function */
    qgc_arena arena;      /* slots */
    qgc_map slots;        /* value -> slot * */
    qgc_arena scratch;
    QGC_VEC(slot *) all;
} frame;

void qgc_bindings_set(qgc_bindings *bindings, qgc_name symbol, int64_t value)
{
    bindings->values.arena = bindings->arena;
    void **entry = qgc_map_at(&bindings->values, symbol);
    if (!*entry)
        *entry = QGC_NEW(bindings->arena, int64_t);
    *(int64_t *)*entry = value;
}

bool qgc_bindings_lookup(void *user, qgc_name symbol, int64_t *out)
{
    const qgc_bindings *bindings = user;
    const int64_t *value = qgc_map_get(&bindings->values, symbol);
    if (value)
        *out = *value;
    return value != NULL;
}

/* ---- inputs ---- */

static bool bind_symbols(qgc_bindings *bindings, const qgc_type *type, const qgc_tensor *tensor)
{
    if (type->dtype != tensor->dtype || type->rank != tensor->rank)
        return false;
    for (uint32_t i = 0; i < type->rank; i++) {
        qgc_name symbol = qgc_dim_as_symbol(type->dims[i]);
        int64_t bound;
        if (symbol && !qgc_bindings_lookup(bindings, symbol, &bound))
            qgc_bindings_set(bindings, symbol, tensor->shape[i]);
    }
    return true;
}

static bool shape_fits(qgc_context *context, qgc_bindings *bindings, const qgc_type *type,
                       const qgc_tensor *tensor)
{
    for (uint32_t i = 0; i < type->rank; i++) {
        qgc_dim dim = qgc_dim_bind(&context->dims, type->dims[i], qgc_bindings_lookup, bindings);
        if (qgc_dim_is_number(dim) && dim.value != tensor->shape[i])
            return false;
    }
    return true;
}

static qgc_result report_input(frame *f, uint32_t index, const qgc_tensor *tensor)
{
    const qgc_value *param = &f->func->params[index];
    return qgc_report(&f->context->diag, param->loc, QGC_D_BAD_INPUT,
                      "input %%%s of @%s is %s, the given tensor is %s[%s]", param->name->data,
                      f->func->name->data, qgc_type_str(&f->scratch, param->type),
                      qgc_dtype_name(tensor->dtype),
                      qgc_shape_text(&f->scratch, tensor->rank, tensor->shape));
}

static qgc_result check_inputs(frame *f, const qgc_tensor *inputs)
{
    for (uint32_t i = 0; i < f->func->num_params; i++)
        if (!bind_symbols(f->bindings, f->func->params[i].type, &inputs[i]))
            return report_input(f, i, &inputs[i]);
    for (uint32_t i = 0; i < f->func->num_params; i++)
        if (!shape_fits(f->context, f->bindings, f->func->params[i].type, &inputs[i]))
            return report_input(f, i, &inputs[i]);
    return QGC_OK;
}

/* ---- values ---- */

static bool is_watched(const qgc_interp_options *options, const qgc_value *value)
{
    return !options->watches_observers || (value->def && value->def->op == QGC_OP_OBSERVE);
}

static void define(frame *f, const qgc_value *value, qgc_tensor tensor, bool owned)
{
    slot *s = QGC_NEW(&f->arena, slot);
    *s = (slot){tensor, owned, value->num_uses};
    *qgc_map_at(&f->slots, value) = s;
    qgc_vec_push(&f->arena, &f->all, s);
    if (f->options && f->options->watch && is_watched(f->options, value))
        f->options->watch(f->options->user, f->call, value, &s->tensor);
    if (owned && !s->uses_left)
        qgc_tensor_destroy(&s->tensor);
}

static void release_operands(frame *f, const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        slot *s = value ? qgc_map_get(&f->slots, value) : NULL;
        if (s && --s->uses_left == 0 && s->owned)
            qgc_tensor_destroy(&s->tensor);
    }
}

static const qgc_tensor **gather(frame *f, const qgc_node *node)
{
    const qgc_tensor **operands =
        QGC_NEW_ARRAY(&f->scratch, const qgc_tensor *, node->num_operands);
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        operands[i] = value ? &((slot *)qgc_map_get(&f->slots, value))->tensor : NULL;
    }
    return operands;
}

/* ---- nodes ---- */

static qgc_result infer_actual(const qgc_node *node, const qgc_tensor *const *operands,
                               qgc_bindings *bindings, qgc_arena *scratch, const qgc_type **results)
{
    qgc_context *context = node->func->module->context;
    const qgc_type **types = QGC_NEW_ARRAY(scratch, const qgc_type *, node->num_operands);
    for (uint32_t i = 0; i < node->num_operands; i++)
        types[i] = operands[i] ? qgc_type_of_tensor(&context->types, operands[i]) : NULL;
    qgc_infer in = {.context = context,
                    .node = node,
                    .op = qgc_op(node->op),
                    .num_operands = node->num_operands,
                    .num_results = node->num_results,
                    .operands = types,
                    .values = operands,
                    .results = results,
                    .arena = scratch,
                    .lookup = bindings ? qgc_bindings_lookup : NULL,
                    .lookup_user = bindings};
    QGC_TRY(qgc_check_operand_types(&in));
    QGC_TRY(in.op->infer(&in));
    for (uint32_t i = 0; i < node->num_results; i++)
        if (!results[i] || !results[i]->is_static)
            return qgc_report(&context->diag, node->loc, QGC_D_UNBOUND,
                              "%s: the shape of %%%s is not known: %s", in.op->mnemonic,
                              node->results[i].name->data,
                              results[i] ? qgc_type_str(scratch, results[i]) : "?");
    return QGC_OK;
}

static qgc_result create(qgc_diag *diag, const qgc_type *type, qgc_tensor *out)
{
    int64_t shape[QGC_MAX_RANK];
    for (uint32_t i = 0; i < type->rank; i++)
        shape[i] = type->dims[i].value;
    return qgc_tensor_create(diag, type->dtype, type->rank, shape, out);
}

static void destroy_all(qgc_tensor *tensors, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++)
        qgc_tensor_destroy(&tensors[i]);
}

static qgc_result compute(const qgc_node *node, const qgc_tensor *const *operands,
                          qgc_bindings *bindings, qgc_arena *scratch, qgc_tensor *results)
{
    qgc_context *context = node->func->module->context;
    const qgc_type **types = QGC_NEW_ARRAY(scratch, const qgc_type *, node->num_results);
    QGC_TRY(infer_actual(node, operands, bindings, scratch, types));
    qgc_result result = QGC_OK;
    for (uint32_t i = 0; i < node->num_results && result == QGC_OK; i++)
        result = create(&context->diag, types[i], &results[i]);
    if (result != QGC_OK)
        qgc_note(&context->diag, node->loc, "a result of this %s", qgc_op(node->op)->mnemonic);
    qgc_ref_call call = {context, node,   node->num_operands, node->num_results, operands,
                         results, scratch};
    if (result == QGC_OK)
        result = qgc_ref_kernel(node->op)(&call);
    if (result != QGC_OK)
        destroy_all(results, node->num_results);
    return result;
}

static qgc_result run_func(const qgc_func *func, const qgc_tensor *inputs, qgc_tensor *outputs,
                           qgc_bindings *bindings, const qgc_interp_options *options,
                           const qgc_node *call);

static qgc_result run_call(frame *f, const qgc_node *node, const qgc_tensor *const *operands,
                           qgc_tensor *results)
{
    const qgc_func *callee = qgc_module_find_func(f->func->module, node->attrs[0].name);
    qgc_tensor *args = QGC_NEW_ARRAY(&f->scratch, qgc_tensor, node->num_operands);
    for (uint32_t i = 0; i < node->num_operands; i++) {
        QGC_ASSERT(operands[i], "the verifier refuses a call with an absent operand");
        args[i] = *operands[i];
    }
    return run_func(callee, args, results, f->bindings, f->options, node);
}

/* The carried values: the first round borrows the operands, later ones own what the body gave. */
static qgc_result run_loop(frame *f, const qgc_node *node, const qgc_tensor *const *operands,
                           qgc_tensor *results)
{
    const qgc_func *body = qgc_module_find_func(f->func->module, node->attrs[0].name);
    int64_t count = qgc_get_int(operands[0], 0);
    uint32_t num = node->num_results;
    if (count < 0)
        return qgc_report(&f->context->diag, node->loc, QGC_D_RUN_FAILED,
                          "loop: count is %lld, expected 0 or more", (long long)count);
    for (uint32_t i = 0; i < num; i++) {
        if (qgc_tensor_copy(&f->context->diag, operands[i + 1], &results[i]) == QGC_OK)
            continue;
        destroy_all(results, num);
        return QGC_FAILED;
    }
    qgc_tensor *next = QGC_NEW_ARRAY(&f->scratch, qgc_tensor, num);
    for (int64_t round = 0; round < count; round++) {
        qgc_result result = run_func(body, results, next, f->bindings, f->options, node);
        destroy_all(results, num);
        QGC_TRY(result);
        memcpy(results, next, num * sizeof *next);
        memset(next, 0, num * sizeof *next);
    }
    return QGC_OK;
}

/* What a value turns out to be must be what its type says: sizes that come from data (the shape
 * of constant_of_shape) are not known before. A symbol that no input fixes is fixed here. */
static qgc_result check_result(frame *f, const qgc_node *node, uint32_t index,
                               const qgc_tensor *tensor)
{
    const qgc_value *value = &node->results[index];
    if (bind_symbols(f->bindings, value->type, tensor) &&
        shape_fits(f->context, f->bindings, value->type, tensor))
        return QGC_OK;
    return qgc_report(&f->context->diag, node->loc, QGC_D_RUN_FAILED,
                      "%s: %%%s is %s by its type, the result is %s[%s]",
                      qgc_op(node->op)->mnemonic, value->name->data,
                      qgc_type_str(&f->scratch, value->type), qgc_dtype_name(tensor->dtype),
                      qgc_shape_text(&f->scratch, tensor->rank, tensor->shape));
}

static qgc_result check_results(frame *f, const qgc_node *node, qgc_tensor *results)
{
    qgc_result result = QGC_OK;
    for (uint32_t i = 0; i < node->num_results && result == QGC_OK; i++)
        result = check_result(f, node, i, &results[i]);
    if (result != QGC_OK)
        destroy_all(results, node->num_results);
    return result;
}

/* Whether the options have the results: then they are defined. */
static bool is_substituted(frame *f, const qgc_node *node)
{
    const qgc_interp_options *options = f->options;
    if (!options || !options->substitute)
        return false;
    qgc_tensor *results = QGC_NEW_ARRAY(&f->scratch, qgc_tensor, node->num_results);
    if (!options->substitute(options->user, node, gather(f, node), results))
        return false;
    release_operands(f, node);
    for (uint32_t i = 0; i < node->num_results; i++)
        define(f, &node->results[i], results[i], false);
    return true;
}

static qgc_result run_node(frame *f, const qgc_node *node)
{
    uint32_t traits = qgc_op(node->op)->traits;
    if (is_substituted(f, node))
        return QGC_OK;
    if (node->constant) {
        define(f, &node->results[0], *node->constant, false);
        return QGC_OK;
    }
    if (traits & QGC_TRAIT_CONSTANT)
        return qgc_report(&f->context->diag, node->loc, QGC_D_RUN_FAILED,
                          "%%%s has no data: the module names no weights file",
                          node->results[0].name->data);
    qgc_tensor *results = QGC_NEW_ARRAY(&f->scratch, qgc_tensor, node->num_results);
    if (node->op == QGC_OP_CALL)
        QGC_TRY(run_call(f, node, gather(f, node), results));
    else if (node->op == QGC_OP_LOOP)
        QGC_TRY(run_loop(f, node, gather(f, node), results));
    else
        QGC_TRY(compute(node, gather(f, node), f->bindings, &f->scratch, results));
    QGC_TRY(check_results(f, node, results));
    release_operands(f, node);
    for (uint32_t i = 0; i < node->num_results; i++)
        define(f, &node->results[i], results[i], true);
    return QGC_OK;
}

/* Hands a returned value over: moved where this is its last use, else copied. */
static qgc_result hand_over(frame *f, const qgc_value *value, qgc_tensor *out)
{
    slot *s = qgc_map_get(&f->slots, value);
    if (!s->owned || --s->uses_left)
        return qgc_tensor_copy(&f->context->diag, &s->tensor, out);
    *out = s->tensor;
    s->owned = false;
    return QGC_OK;
}

static qgc_result run_return(frame *f, const qgc_node *node, qgc_tensor *outputs)
{
    for (uint32_t i = 0; i < node->num_operands; i++) {
        if (hand_over(f, node->operands[i].value, &outputs[i]) == QGC_OK)
            continue;
        destroy_all(outputs, i);
        return QGC_FAILED;
    }
    return QGC_OK;
}

static qgc_result run_body(frame *f, const qgc_tensor *inputs, qgc_tensor *outputs)
{
    QGC_TRY(check_inputs(f, inputs));
    for (uint32_t i = 0; i < f->func->num_params; i++)
        define(f, &f->func->params[i], inputs[i], false);
    QGC_EACH_NODE (node, f->func) {
        qgc_arena_mark mark = qgc_arena_get_mark(&f->scratch);
        if (qgc_op(node->op)->traits & QGC_TRAIT_TERMINATOR)
            return run_return(f, node, outputs);
        QGC_TRY(run_node(f, node));
        qgc_arena_reset(&f->scratch, mark);
    }
    return QGC_OK;
}

static qgc_result run_func(const qgc_func *func, const qgc_tensor *inputs, qgc_tensor *outputs,
                           qgc_bindings *bindings, const qgc_interp_options *options,
                           const qgc_node *call)
{
    const qgc_engine *engine = options ? options->engine : NULL;
    qgc_execution execution = {func, call, inputs, outputs, options};
    qgc_result executed;
    if (engine && engine->execute(engine->user, &execution, &executed))
        return executed;
    frame f = {.func = func,
               .context = func->module->context,
               .bindings = bindings,
               .options = options,
               .call = call};
    f.slots.arena = &f.arena;
    qgc_result result = run_body(&f, inputs, outputs);
    for (size_t i = 0; i < f.all.size; i++)
        if (f.all.data[i]->owned)
            qgc_tensor_destroy(&f.all.data[i]->tensor);
    qgc_arena_destroy(&f.arena);
    qgc_arena_destroy(&f.scratch);
    return result;
}

qgc_result qgc_interp_run(const qgc_func *func, const qgc_tensor *inputs, qgc_tensor *outputs,
                          const qgc_interp_options *options)
{
    qgc_arena arena = {0};
    qgc_bindings bindings = {.arena = &arena};
    qgc_fp_mode mode = qgc_fp_enter();
    qgc_result result = run_func(func, inputs, outputs, &bindings, options, NULL);
    qgc_fp_leave(mode);
    qgc_arena_destroy(&arena);
    return result;
}

qgc_result qgc_interp_call(const qgc_node *node, const qgc_tensor *const *operands,
                           qgc_tensor *results, const qgc_interp_options *options)
{
    qgc_arena arena = {0};
    qgc_bindings bindings = {.arena = &arena};
    frame f = {.func = node->func,
               .context = node->func->module->context,
               .bindings = &bindings,
               .options = options};
    qgc_result result = node->op == QGC_OP_CALL ? run_call(&f, node, operands, results)
                                                : run_loop(&f, node, operands, results);
    qgc_arena_destroy(&f.scratch);
    qgc_arena_destroy(&arena);
    return result;
}

qgc_result qgc_interp_node(const qgc_node *node, const qgc_tensor *const *operands,
                           qgc_tensor *results)
{
    qgc_arena scratch = {0};
    qgc_fp_mode mode = qgc_fp_enter();
    qgc_result result = compute(node, operands, NULL, &scratch, results);
    qgc_fp_leave(mode);
    qgc_arena_destroy(&scratch);
    return result;
}

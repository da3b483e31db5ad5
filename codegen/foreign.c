/* Regions of plug-ins: islands are read as partition read them, the backend is asked for a kernel
 * for each, buffers are placed by their lives. */
#include "codegen/foreign_parts.h"
#include "codegen/planner.h"
#include "passes/claims.h"
#include "passes/targets.h"

#include <string.h>

typedef struct builder {
    qgc_foreign *f;
    qgc_pass_env env;
    const qgc_rules *rows;
    qgc_map buffers; /* value -> qgc_buffer */
    qgc_map covered; /* nodes of islands */
} builder;

static qgc_context *context_of(const qgc_foreign *f)
{
    return f->func->module->context;
}

static bool stop(builder *b, const char *format, ...) QGC_PRINTF(2, 3);
static bool stop(builder *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!b->f->why)
        b->f->why = qgc_arena_vprintf(&b->f->arena, format, args);
    va_end(args);
    return false;
}

/* ---- buffers ---- */

static bool bytes_of(const qgc_type *type, size_t *out)
{
    int64_t num;
    return qgc_type_num_elements(type, &num) &&
           qgc_checked_mul((size_t)num, qgc_dtype_bytes(type->dtype), out);
}

static bool add_buffer(builder *b, const qgc_value *value, const void *data)
{
    qgc_plan *plan = &b->f->plan;
    qgc_buffer *buffer = QGC_NEW(&plan->arena, qgc_buffer);
    *buffer = (qgc_buffer){.value = value, .data = data, .first_step = UINT32_MAX};
    if (!bytes_of(value->type, &buffer->bytes))
        return stop(b, "%%%s is too large", value->name->data);
    qgc_vec_push(&plan->arena, &plan->buffers, buffer);
    *qgc_map_at(&b->buffers, value) = buffer;
    return true;
}

static qgc_buffer *find_buffer(builder *b, const qgc_value *value)
{
    qgc_buffer *buffer = qgc_map_get(&b->buffers, value);
    if (!buffer)
        stop(b, "%%%s is not computed by an op of the region", value->name->data);
    return buffer;
}

/* ---- ops ---- */

static void list_values(builder *b, qgc_backend_op *op)
{
    const qgc_view *view = &op->view;
    qgc_arena *arena = &b->f->arena;
    op->num_inputs = view->num_operands + view->has_add;
    op->inputs = QGC_NEW_ARRAY(arena, const qgc_value *, op->num_inputs);
    for (uint32_t i = 0; i < view->num_operands; i++)
        op->inputs[i] = view->operands[i].value;
    if (view->has_add)
        op->inputs[view->num_operands] = view->extra.value;
    op->num_outputs = view->quantize ? 1 : view->op->num_results;
    op->outputs = QGC_NEW_ARRAY(arena, const qgc_value *, op->num_outputs);
    for (uint32_t i = 0; i < op->num_outputs; i++)
        op->outputs[i] = view->quantize ? view->result : &view->op->results[i];
}

static bool add_step(builder *b, qgc_backend_op *op)
{
    qgc_plan *plan = &b->f->plan;
    qgc_step *step = QGC_NEW(&plan->arena, qgc_step);
    *step = (qgc_step){.kind = QGC_STEP_KERNEL,
                       .node = op->view.op,
                       .num_inputs = op->num_inputs,
                       .num_outputs = op->num_outputs};
    step->inputs = QGC_NEW_ARRAY(&plan->arena, qgc_buffer *, op->num_inputs);
    step->outputs = QGC_NEW_ARRAY(&plan->arena, qgc_buffer *, op->num_outputs);
    for (uint32_t i = 0; i < op->num_inputs; i++) {
        step->inputs[i] = find_buffer(b, op->inputs[i]);
        if (!step->inputs[i])
            return false;
    }
    for (uint32_t i = 0; i < op->num_outputs; i++) {
        if (!add_buffer(b, op->outputs[i], NULL))
            return false;
        step->outputs[i] = qgc_map_get(&b->buffers, op->outputs[i]);
    }
    qgc_vec_push(&plan->arena, &plan->steps, step);
    op->step = step;
    return true;
}

static bool add_op(builder *b, qgc_node *node)
{
    qgc_foreign *f = b->f;
    qgc_why why = {.fault = QGC_FAULT_NOT_AN_OP, .text = ""};
    qgc_backend_op *op = QGC_NEW(&f->arena, qgc_backend_op);
    const qgc_claim *claim = NULL;
    if (qgc_claims_view(node, true, &f->arena, &op->view, &why))
        claim = qgc_claims_match(b->rows, &op->view, &f->arena, &why);
    if (!claim)
        return stop(b, "%s to %%%s is not claimed: %s", qgc_node_op(node)->mnemonic,
                    node->results[0].name->data, why.text);
    op->region = f;
    op->lower = qgc_backend_pattern_at(f->backend, claim->pattern).lower;
    if (!op->lower)
        return stop(b, "the backend does not lower %s itself", qgc_node_op(node)->mnemonic);
    for (uint32_t i = 0; i < op->view.num_nodes; i++)
        *qgc_map_at(&b->covered, op->view.nodes[i]) = op;
    list_values(b, op);
    return true;
}

/* An op runs where its island ends: the fused add's term may be computed in between. */
static bool end_op(builder *b, const qgc_node *node)
{
    qgc_backend_op *op = qgc_map_get(&b->covered, node);
    if (!op || op->view.nodes[op->view.num_nodes - 1] != node)
        return true;
    op->index = b->f->ops.size;
    qgc_vec_push(&b->f->arena, &b->f->ops, op);
    return add_step(b, op);
}

/* A quantize of a dequantize is an op, other steps are read with the op they belong to. */
static bool is_passed(const builder *b, const qgc_node *node)
{
    if (qgc_map_get(&b->covered, node) || qgc_node_op(node)->traits & QGC_TRAIT_TERMINATOR)
        return true;
    return node->op == QGC_OP_DEQUANTIZE;
}

static bool check_static(builder *b, const qgc_value *value)
{
    return value->type->is_static ||
           stop(b, "%%%s is %s: its shape is not known before the run", value->name->data,
                qgc_type_str(&b->f->arena, value->type));
}

static bool read_node(builder *b, qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_results; i++)
        if (!check_static(b, &node->results[i]))
            return false;
    if (is_passed(b, node))
        return true;
    if (!(qgc_node_op(node)->traits & QGC_TRAIT_CONSTANT))
        return add_op(b, node);
    if (!node->constant)
        return stop(b, "%%%s has no data", node->results[0].name->data);
    return add_buffer(b, &node->results[0], node->constant->data);
}

static bool read_func(builder *b)
{
    const qgc_func *func = b->f->func;
    qgc_plan *plan = &b->f->plan;
    plan->func = func;
    plan->params = QGC_NEW_ARRAY(&plan->arena, qgc_buffer *, func->num_params);
    plan->results = QGC_NEW_ARRAY(&plan->arena, qgc_buffer *, func->num_results);
    for (uint32_t i = 0; i < func->num_params; i++) {
        if (!check_static(b, &func->params[i]) || !add_buffer(b, &func->params[i], NULL))
            return false;
        plan->params[i] = qgc_map_get(&b->buffers, &func->params[i]);
    }
    QGC_EACH_NODE (node, func)
        if (!read_node(b, node) || !end_op(b, node))
            return false;
    for (uint32_t i = 0; i < func->num_results; i++) {
        plan->results[i] = find_buffer(b, qgc_node_operand(func->last, i));
        if (!plan->results[i])
            return false;
    }
    qgc_plan_place(plan);
    return true;
}

/* ---- lowering ---- */

static bool lower_op(builder *b, qgc_backend_op *op)
{
    qgc_foreign *f = b->f;
    int result = op->lower(f->state, &qgc_foreign_host, f, op);
    if (result == QGC_BACKEND_OK && op->is_emitted)
        return true;
    return stop(b, "%s to %%%s: %s", qgc_node_op(op->view.op)->mnemonic,
                op->view.result->name->data,
                result == QGC_BACKEND_OK ? "no kernel was emitted" : "no reason was given");
}

static bool find_functions(builder *b)
{
    for (size_t i = 0; i < b->f->ops.size; i++) {
        qgc_backend_op *op = b->f->ops.data[i];
        void *address = op->function ? qgc_jit_find(b->f->jit, op->function) : NULL;
        if (!op->function)
            continue;
        if (!address)
            return stop(b, "%s was not compiled", op->function);
        memcpy(&op->kernel, &address, sizeof address);
    }
    return true;
}

static bool lower_all(builder *b)
{
    for (size_t i = 0; i < b->f->ops.size; i++)
        if (!lower_op(b, b->f->ops.data[i]))
            return false;
    if (!find_functions(b))
        return false;
    int64_t bytes = (int64_t)b->f->plan.arena_bytes;
    return qgc_tensor_create(&context_of(b->f)->diag, QGC_DTYPE_U8, 1, &bytes, &b->f->memory) ==
           QGC_OK;
}

static bool build(qgc_foreign *f)
{
    builder b = {.f = f, .env = {.context = context_of(f), .scratch = &f->arena}};
    b.buffers.arena = b.covered.arena = &f->arena;
    b.rows = qgc_claims_load(&b.env, f->backend->name, "");
    return b.rows && read_func(&b) && lower_all(&b);
}

/* Not the host's own, but not there either. */
static bool report_missing(const qgc_func *func, const qgc_backend *backend)
{
    if (!backend)
        qgc_report(&func->module->context->diag, func->loc, QGC_D_NOT_ON_TARGET,
                   "@%s runs as literal ops: no plug-in '%s' is loaded", func->name->data,
                   func->target->data);
    return !backend;
}

static qgc_foreign *create(const qgc_func *func, const qgc_level *level)
{
    const qgc_backend *backend = NULL;
    void *state = NULL;
    qgc_diag *diag = &func->module->context->diag;
    size_t reported = diag->list.size;
    if (qgc_target_find(func->module->context, func->target->data, &backend, &state) != QGC_OK) {
        const char *why = diag->list.data[diag->list.size - 1].message;
        qgc_diag_rollback(diag, reported);
        qgc_report(diag, func->loc, QGC_D_LOWER_FAILED, "@%s runs as literal ops: %s",
                   func->name->data, why);
        return NULL;
    }
    if (report_missing(func, backend) || !qgc_backend_lowers(backend))
        return NULL;
    qgc_arena arena = {0};
    qgc_foreign *f = QGC_NEW(&arena, qgc_foreign);
    *f = (qgc_foreign){
        .func = func, .level = level, .backend = backend, .state = state, .arena = arena};
    if (build(f))
        return f;
    qgc_report(diag, func->loc, QGC_D_LOWER_FAILED, "@%s runs as literal ops: %s: %s",
               func->name->data, backend->name, f->why ? f->why : "memory is exhausted");
    qgc_foreign_destroy(f);
    return NULL;
}

qgc_foreign *qgc_foreign_create(const qgc_func *func, const qgc_level *level)
{
    qgc_diag *diag = &func->module->context->diag;
    const char *origin = diag->origin;
    if (!func->target)
        return NULL;
    diag->origin = "backend"; /* of remarks */
    qgc_foreign *f = create(func, level);
    diag->origin = origin;
    return f;
}

void qgc_foreign_destroy(qgc_foreign *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->ops.size; i++)
        if (f->ops.data[i]->release)
            f->ops.data[i]->release(f->ops.data[i]->user);
    qgc_jit_destroy(f->jit);
    qgc_tensor_destroy(&f->memory);
    qgc_arena plan = f->plan.arena, arena = f->arena;
    qgc_arena_destroy(&plan);
    qgc_arena_destroy(&arena);
}

/* ---- running ---- */

typedef struct shared_kernel {
    const qgc_backend_op *op;
    const void *const *inputs;
    void *const *outputs;
    int64_t parts;
    int *status; /* one per part */
} shared_kernel;

/* Units [units * part / parts, units * (part + 1) / parts), without the product. */
static int64_t first_unit(const shared_kernel *k, int64_t part)
{
    int64_t whole = k->op->units / k->parts, rest = k->op->units % k->parts;
    return whole * part + (part < rest ? part : rest);
}

static void run_part(void *user, size_t step, size_t part)
{
    (void)step;
    const shared_kernel *k = user;
    int64_t i = (int64_t)part;
    k->status[part] =
        k->op->kernel(k->op->user, k->inputs, k->outputs, first_unit(k, i), first_unit(k, i + 1));
}

static qgc_result run_op(const qgc_foreign *f, qgc_pool *pool, const qgc_backend_op *op,
                         const void *const *inputs, void *const *outputs)
{
    qgc_arena scratch = {0};
    int64_t threads = (int64_t)qgc_pool_threads(pool);
    shared_kernel k = {op, inputs, outputs, op->units < threads ? op->units : threads, NULL};
    int failed = 0;
    k.status = QGC_NEW_ARRAY(&scratch, int, (size_t)k.parts);
    qgc_pool_step step = {.parts = (uint32_t)k.parts};
    qgc_pool_run(pool, &step, 1, run_part, &k, true);
    for (int64_t i = 0; i < k.parts; i++)
        failed |= k.status[i] != QGC_BACKEND_OK;
    qgc_arena_destroy(&scratch);
    if (!failed)
        return QGC_OK;
    return qgc_report(&context_of(f)->diag, op->view.op->loc, QGC_D_RUN_FAILED,
                      "%s: the kernel of %s to %%%s failed", f->backend->name,
                      qgc_node_op(op->view.op)->mnemonic, op->view.result->name->data);
}

qgc_result qgc_foreign_run_op(const qgc_foreign *f, size_t index, const void *const *inputs,
                              void *const *outputs)
{
    return run_op(f, NULL, f->ops.data[index], inputs, outputs);
}

/* |inputs|: of the region, which are read where they lie. */
static const void *data_of(const qgc_foreign *f, const qgc_buffer *buffer, const qgc_tensor *inputs)
{
    for (uint32_t i = 0; i < f->func->num_params; i++)
        if (f->plan.params[i] == buffer)
            return inputs[i].data;
    return buffer->data ? buffer->data : (const uint8_t *)f->memory.data + buffer->offset;
}

static qgc_result run_step(const qgc_foreign *f, qgc_pool *pool, size_t index,
                           const qgc_tensor *inputs)
{
    qgc_arena scratch = {0};
    const qgc_step *step = f->ops.data[index]->step;
    const void **in = QGC_NEW_ARRAY(&scratch, const void *, step->num_inputs);
    void **out = QGC_NEW_ARRAY(&scratch, void *, step->num_outputs);
    size_t bytes = 0;
    for (uint32_t i = 0; i < step->num_inputs; i++)
        in[i] = data_of(f, step->inputs[i], inputs);
    for (uint32_t i = 0; i < step->num_outputs; i++) {
        out[i] = (uint8_t *)f->memory.data + step->outputs[i]->offset;
        bytes += step->outputs[i]->bytes;
    }
    qgc_result result = bytes ? run_op(f, pool, f->ops.data[index], in, out) : QGC_OK;
    qgc_arena_destroy(&scratch);
    return result;
}

static qgc_result copy_result(const qgc_foreign *f, uint32_t index, const qgc_tensor *inputs,
                              qgc_tensor *out)
{
    const qgc_buffer *buffer = f->plan.results[index];
    const qgc_type *type = buffer->value->type;
    int64_t shape[QGC_MAX_RANK];
    for (uint32_t i = 0; i < type->rank; i++)
        shape[i] = type->dims[i].value;
    QGC_TRY(qgc_tensor_create(&context_of(f)->diag, type->dtype, type->rank, shape, out));
    if (buffer->bytes)
        memcpy(out->data, data_of(f, buffer, inputs), buffer->bytes);
    return QGC_OK;
}

qgc_result qgc_foreign_run(qgc_foreign *f, qgc_pool *pool, const qgc_tensor *inputs,
                           qgc_tensor *outputs)
{
    for (size_t i = 0; i < f->ops.size; i++)
        QGC_TRY(run_step(f, pool, i, inputs));
    for (uint32_t i = 0; i < f->func->num_results; i++) {
        if (copy_result(f, i, inputs, &outputs[i]) == QGC_OK)
            continue;
        while (i-- > 0)
            qgc_tensor_destroy(&outputs[i]);
        return QGC_FAILED;
    }
    return QGC_OK;
}

/* ---- looking at it ---- */

void qgc_foreign_print(const qgc_foreign *f, qgc_text *out)
{
    qgc_text_printf(out, "region @%s on %s, arena %zu bytes\n", f->func->name->data,
                    f->backend->name, f->plan.arena_bytes);
    for (size_t i = 0; i < f->ops.size; i++) {
        const qgc_backend_op *op = f->ops.data[i];
        qgc_text_printf(out, "  %%%s = %s (%s)\n", op->view.result->name->data,
                        qgc_node_op(op->view.op)->mnemonic,
                        op->function ? "compiled IR" : "kernel of the plug-in");
    }
}

size_t qgc_foreign_num_ops(const qgc_foreign *f)
{
    return f->ops.size;
}

const qgc_view *qgc_foreign_view(const qgc_foreign *f, size_t index)
{
    return &f->ops.data[index]->view;
}

uint32_t qgc_foreign_num_inputs(const qgc_foreign *f, size_t index)
{
    return f->ops.data[index]->num_inputs;
}

const qgc_value *qgc_foreign_input(const qgc_foreign *f, size_t index, uint32_t input)
{
    return f->ops.data[index]->inputs[input];
}

uint32_t qgc_foreign_num_outputs(const qgc_foreign *f, size_t index)
{
    return f->ops.data[index]->num_outputs;
}

const qgc_value *qgc_foreign_output(const qgc_foreign *f, size_t index, uint32_t output)
{
    return f->ops.data[index]->outputs[output];
}

const qgc_backend *qgc_foreign_backend(const qgc_foreign *f)
{
    return f->backend;
}

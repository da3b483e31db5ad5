#include "codegen/region.h"

#include "codegen/guard.h"
#include "codegen/llvm/jit.h"
#include "codegen/llvm/object.h"
#include "runtime/fp_mode.h"
#include "runtime/ref/ref.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

/* Who had a part of a step, and when. */
typedef struct part_time {
    pthread_t thread;
    double begin, end; /* seconds */
} part_time;

/* A step with the addresses that it works on. */
typedef struct bound_step {
    qgc_kernel_fn *kernel; /* NULL where it is not generated */
    const void **in;
    void **out;
    part_time *times; /* of its parts, in the last run that wanted them */
} bound_step;

struct qgc_region {
    qgc_plan *plan;
    qgc_jit *jit; /* NULL where no step is generated */
    qgc_pool *pool;
    bound_step *steps;
    qgc_pool_step *shares; /* of each step */
    qgc_tensor memory;     /* the plan's arena */
    bool is_cached;        /* its code was not made anew */
};

/* A region while it runs. */
typedef struct run {
    qgc_region *region;
    const qgc_interp_options *options; /* or NULL */
    const qgc_node *call;
    const qgc_map *originals; /* or NULL: nobody watches */
    bool is_timed;            /* somebody wants to know who did what when */
} run;

static qgc_context *context_of(const qgc_region *region)
{
    return region->plan->func->module->context;
}

static uint8_t *data_of(const qgc_region *region, const qgc_buffer *buffer)
{
    if (buffer->data)
        return (uint8_t *)(uintptr_t)buffer->data; /* constants are only read */
    return (uint8_t *)region->memory.data + buffer->offset;
}

/* ---- compiling ---- */

typedef struct compilation {
    const qgc_func *func;
    const qgc_region_options *options;
    qgc_diag *diag;
    qgc_arena arena;
    qgc_map refused; /* nodes whose kernels LLVM does not take */
    qgc_guard guard;
    bool is_smaller;          /* than planned are tiles: the plan is made again */
    QGC_VEC(qgc_str) objects; /* of all kernels, then those that such a plan changed */
    size_t num_cached;        /* of them, which the cache had */
    qgc_hash128 key;          /* of the last object */
    bool is_cache_useless;    /* what it gave could not be linked */
} compilation;

static bool has_kernels(const qgc_plan *plan)
{
    for (size_t i = 0; i < plan->steps.size; i++)
        if (plan->steps.data[i]->kernel)
            return true;
    return false;
}

static qgc_result bind_step(qgc_region *region, size_t index)
{
    const qgc_step *step = region->plan->steps.data[index];
    bound_step *bound = &region->steps[index];
    qgc_arena *arena = &region->plan->arena;
    region->shares[index] = (qgc_pool_step){
        .parts = step->parts, .is_of_the_caller = step->kind == QGC_STEP_REF, .flows = step->flows};
    bound->times = QGC_NEW_ARRAY(arena, part_time, step->parts);
    bound->in = QGC_NEW_ARRAY(arena, const void *, step->num_inputs);
    bound->out = QGC_NEW_ARRAY(arena, void *, step->num_outputs);
    for (uint32_t i = 0; i < step->num_inputs; i++)
        bound->in[i] = step->inputs[i] ? data_of(region, step->inputs[i]) : NULL;
    for (uint32_t i = 0; i < step->num_outputs; i++)
        bound->out[i] = data_of(region, step->outputs[i]);
    if (!step->kernel)
        return QGC_OK;
    void *address = qgc_jit_find(region->jit, step->kernel->name);
    memcpy(&bound->kernel, &address, sizeof address);
    return address ? QGC_OK : QGC_FAILED;
}

static const char *refuse(const compilation *c, const qgc_step *step)
{
    return c->options->refuse ? c->options->refuse(c->options->user, step->kernel->name) : NULL;
}

static qgc_result check_refusals(const compilation *c, const qgc_plan *plan)
{
    for (size_t i = 0; i < plan->steps.size; i++)
        if (plan->steps.data[i]->kernel && refuse(c, plan->steps.data[i]))
            return QGC_FAILED;
    return QGC_OK;
}

/* Code, and what it spills: of that there is another object. */
static qgc_result generate(compilation *c, qgc_object *object, const qgc_plan *plan, qgc_str *out)
{
    qgc_spills spills = {0};
    QGC_TRY(qgc_object_finish(object, QGC_EMIT_PASSES));
    QGC_TRY(qgc_object_write(object, QGC_OBJECT_CODE, &c->arena, out));
    qgc_object_find_spills(object, *out, &c->arena, &spills);
    c->is_smaller = qgc_guard_look(&c->guard, plan, &spills);
    if (c->options->cache)
        qgc_cache_store(c->options->cache, c->key,
                        c->is_smaller ? qgc_guard_write(&c->arena, &spills, *out) : *out);
    return QGC_OK;
}

/* The same from the cache. */
static bool load(compilation *c, const qgc_plan *plan, qgc_str *out)
{
    qgc_cache *cache = c->options->cache;
    qgc_spills spills = {0};
    if (!cache || c->is_cache_useless || !qgc_cache_load(cache, c->key, &c->arena, out) ||
        !qgc_guard_read(&c->arena, plan, out, &spills))
        return false;
    c->is_smaller = qgc_guard_look(&c->guard, plan, &spills);
    c->num_cached++;
    return true;
}

/* The object that the steps' kernels make, or those whose tiles have changed. */
static qgc_result make_object(compilation *c, const qgc_plan *plan)
{
    qgc_str code;
    qgc_object *object;
    QGC_TRY(qgc_object_create(c->diag, c->options->level, "kernels", &object));
    if (c->objects.size)
        qgc_emit_tiles(qgc_object_emitter(object), plan, &c->guard.changed);
    else
        qgc_emit_kernels(qgc_object_emitter(object), plan, NULL);
    if (c->options->cache)
        c->key = qgc_object_key(object, QGC_EMIT_PASSES);
    qgc_result result = load(c, plan, &code) ? QGC_OK : generate(c, object, plan, &code);
    qgc_object_destroy(object);
    if (result == QGC_OK)
        qgc_vec_push(&c->arena, &c->objects, code);
    return result;
}

static qgc_result compile_kernels(compilation *c, qgc_region *region)
{
    c->is_smaller = false;
    if (!has_kernels(region->plan))
        return QGC_OK;
    QGC_TRY(check_refusals(c, region->plan));
    QGC_TRY(make_object(c, region->plan));
    if (c->is_smaller)
        return QGC_OK;
    QGC_TRY(qgc_jit_create(c->diag, c->options->level, &region->jit));
    for (size_t i = 0; i < c->objects.size; i++)
        QGC_TRY(qgc_jit_add_object(region->jit, c->objects.data[i]));
    return QGC_OK;
}

/* The kernel alone in a module; NULL, or why not. */
static const char *try_kernel(const compilation *c, qgc_step *step)
{
    const char *reason = refuse(c, step);
    if (reason)
        return reason;
    size_t reported = c->diag->list.size;
    qgc_plan single = {.steps = {.data = &step, .size = 1}};
    qgc_jit *jit = NULL;
    qgc_emitter e;
    qgc_result result = qgc_jit_create(c->diag, c->options->level, &jit);
    if (result == QGC_OK) {
        qgc_jit_begin(jit, "kernel", &e);
        qgc_emit_kernels(&e, &single, NULL);
        result = qgc_jit_add(jit, &e, QGC_EMIT_PASSES);
    }
    if (result == QGC_OK && !qgc_jit_find(jit, step->kernel->name))
        result = QGC_FAILED;
    reason = result == QGC_OK ? NULL : c->diag->list.data[reported].message;
    qgc_diag_rollback(c->diag, reported);
    qgc_jit_destroy(jit);
    return reason;
}

/* Finds the kernels that made it fail. False: none did, alone. */
static bool refuse_kernels(compilation *c, const qgc_plan *plan)
{
    bool found = false;
    for (size_t i = 0; i < plan->steps.size; i++) {
        qgc_step *step = plan->steps.data[i];
        const char *reason = step->kernel ? try_kernel(c, step) : NULL;
        if (!reason)
            continue;
        qgc_report(c->diag, step->node->loc, QGC_D_KERNEL_FAILED,
                   "%s %%%s of @%s runs as the reference kernel: %s",
                   qgc_op(step->node->op)->mnemonic, step->node->results[0].name->data,
                   c->func->name->data, reason);
        *qgc_map_at(&c->refused, step->node) = (void *)(uintptr_t)step->node;
        found = true;
    }
    return found;
}

static qgc_result bind_all(qgc_region *region)
{
    qgc_plan *plan = region->plan;
    int64_t bytes = (int64_t)plan->arena_bytes;
    QGC_TRY(qgc_tensor_create(&context_of(region)->diag, QGC_DTYPE_U8, 1, &bytes, &region->memory));
    region->steps = QGC_NEW_ARRAY(&plan->arena, bound_step, plan->steps.size);
    region->shares = QGC_NEW_ARRAY(&plan->arena, qgc_pool_step, plan->steps.size);
    for (size_t i = 0; i < plan->steps.size; i++)
        QGC_TRY(bind_step(region, i));
    return QGC_OK;
}

static qgc_region *create_region(const compilation *c)
{
    qgc_plan_target target = qgc_level_target(c->options->level);
    target.threads = (uint32_t)qgc_pool_threads(c->options->pool);
    target.refused = &c->refused;
    target.shares_all = c->options->shares_all;
    target.extra_pixels = c->options->extra_pixels;
    target.smaller = &c->guard.smaller;
    qgc_plan *plan = qgc_plan_create(c->func, &target);
    if (!plan)
        return NULL;
    qgc_region *region = QGC_NEW(&plan->arena, qgc_region);
    region->plan = plan;
    region->pool = c->options->pool;
    return region;
}

static qgc_result compile(compilation *c, qgc_region **out)
{
    for (;;) {
        qgc_region *region = create_region(c);
        if (!region)
            return QGC_FAILED;
        qgc_guard_remark(&c->guard, region->plan);
        size_t reported = c->diag->list.size;
        qgc_result result = compile_kernels(c, region);
        if (result == QGC_OK && c->is_smaller) {
            qgc_region_destroy(region);
            continue;
        }
        if (result == QGC_OK && bind_all(region) == QGC_OK) {
            region->is_cached = c->num_cached && c->num_cached == c->objects.size;
            *out = region;
            return QGC_OK;
        }
        c->objects.size = 0;
        if (c->num_cached) {
            c->num_cached = 0;
            c->is_cache_useless = true;
            qgc_region_destroy(region);
            qgc_diag_rollback(c->diag, reported);
            qgc_cache_refuse(c->options->cache, c->key);
            continue;
        }
        size_t failures = c->diag->list.size;
        bool can_do_without = refuse_kernels(c, region->plan);
        qgc_region_destroy(region);
        if (!can_do_without)
            return QGC_FAILED;
        /* What was said of the module is said of its kernels. */
        size_t num = c->diag->list.size - failures;
        qgc_diagnostic *said = QGC_NEW_ARRAY(&c->arena, qgc_diagnostic, num);
        memcpy(said, c->diag->list.data + failures, num * sizeof *said);
        qgc_diag_rollback(c->diag, reported);
        for (size_t i = 0; i < num; i++)
            qgc_report(c->diag, said[i].loc, said[i].id, "%s", said[i].message);
    }
}

qgc_result qgc_region_compile(const qgc_func *func, const qgc_region_options *options,
                              qgc_region **out)
{
    compilation c = {.func = func, .options = options, .diag = &func->module->context->diag};
    c.refused.arena = &c.arena;
    c.guard = qgc_guard_make(c.diag, &c.arena);
    qgc_result result = compile(&c, out);
    qgc_arena_destroy(&c.arena);
    return result;
}

void qgc_region_destroy(qgc_region *region)
{
    if (!region)
        return;
    qgc_jit_destroy(region->jit);
    qgc_tensor_destroy(&region->memory);
    qgc_plan_destroy(region->plan);
}

bool qgc_region_is_cached(const qgc_region *region)
{
    return region->is_cached;
}

const qgc_plan *qgc_region_plan(const qgc_region *region)
{
    return region->plan;
}

/* ---- steps ---- */

static qgc_tensor view(const qgc_region *region, const qgc_buffer *buffer)
{
    const qgc_type *type = buffer->value->type;
    qgc_tensor tensor = {.dtype = type->dtype,
                         .rank = type->rank,
                         .data = data_of(region, buffer),
                         .bytes = buffer->bytes};
    for (uint32_t i = 0; i < type->rank; i++)
        tensor.shape[i] = type->dims[i].value;
    return tensor;
}

/* What contents decide is not known before: the interpreter looks whether it is what was declared,
 * and so does this. */
static qgc_result check_made(const run *r, const qgc_step *step, uint32_t index,
                             const qgc_tensor *made, const qgc_tensor *expected)
{
    if (qgc_tensor_same_type(made, expected))
        return QGC_OK;
    qgc_context *context = context_of(r->region);
    const qgc_value *value = &step->node->results[index];
    return qgc_report(&context->diag, step->node->loc, QGC_D_RUN_FAILED,
                      "%s: %%%s is %s by its type, the result is %s",
                      qgc_op(step->node->op)->mnemonic, value->name->data,
                      qgc_type_str(&context->arena, value->type),
                      qgc_type_str(&context->arena, qgc_type_of_tensor(&context->types, made)));
}

/* Another function, or a node whose rules depend on contents: through the interpreter. */
static qgc_result interpret(const run *r, const qgc_step *step, const qgc_tensor **operands,
                            const qgc_tensor *results, qgc_arena *scratch)
{
    qgc_tensor *made = QGC_NEW_ARRAY(scratch, qgc_tensor, step->num_outputs);
    if (qgc_op(step->node->op)->traits & QGC_TRAIT_CALL)
        QGC_TRY(qgc_interp_call(step->node, operands, made, r->options));
    else
        QGC_TRY(qgc_interp_node(step->node, operands, made));
    qgc_result result = QGC_OK;
    for (uint32_t i = 0; i < step->num_outputs; i++) {
        if (result == QGC_OK)
            result = check_made(r, step, i, &made[i], &results[i]);
        if (result == QGC_OK && made[i].bytes)
            memcpy(results[i].data, made[i].data, made[i].bytes);
        qgc_tensor_destroy(&made[i]);
    }
    return result;
}

/* Nothing to compute, but somebody may watch. */
static qgc_result run_observer(const run *r, const qgc_step *step)
{
    if (!r->originals)
        return QGC_OK;
    qgc_tensor observed = view(r->region, step->inputs[0]);
    r->options->watch(r->options->user, r->call, qgc_map_get(r->originals, &step->node->results[0]),
                      &observed);
    return QGC_OK;
}

static qgc_result run_ref(const run *r, const qgc_step *step)
{
    const qgc_region *region = r->region;
    qgc_arena scratch = {0};
    qgc_tensor *views = QGC_NEW_ARRAY(&scratch, qgc_tensor, step->num_inputs);
    const qgc_tensor **operands = QGC_NEW_ARRAY(&scratch, const qgc_tensor *, step->num_inputs);
    qgc_tensor *results = QGC_NEW_ARRAY(&scratch, qgc_tensor, step->num_outputs);
    for (uint32_t i = 0; i < step->num_inputs; i++) {
        if (!step->inputs[i])
            continue;
        views[i] = view(region, step->inputs[i]);
        operands[i] = &views[i];
    }
    for (uint32_t i = 0; i < step->num_outputs; i++) {
        results[i] = view(region, step->outputs[i]);
        if (results[i].bytes)
            memset(results[i].data, 0, results[i].bytes);
    }
    qgc_ref_call call = {context_of(region), step->node, step->num_inputs, step->num_outputs,
                         operands,           results,    &scratch};
    bool calls = qgc_op(step->node->op)->traits & QGC_TRAIT_CALL;
    qgc_result result = calls || step->is_checked ? interpret(r, step, operands, results, &scratch)
                                                  : qgc_ref_kernel(step->node->op)(&call);
    qgc_arena_destroy(&scratch);
    return result;
}

/* What the interpreter says of the first index out of range, if there is one. */
static qgc_result check_indices(const run *r, const qgc_step *step)
{
    const qgc_indices_kernel *k = (const qgc_indices_kernel *)step->kernel;
    int64_t place;
    memcpy(&place, data_of(r->region, step->outputs[1]), sizeof place);
    if (!place)
        return QGC_OK;
    qgc_arena scratch = {0};
    qgc_tensor indices = view(r->region, step->inputs[0]);
    qgc_ref_call call = {.context = context_of(r->region), .node = step->node, .scratch = &scratch};
    int64_t size = k->columns[(place - 1) % k->num_columns].size;
    qgc_result result = qgc_ref_fail_index(&call, &indices, (size_t)(place - 1), size);
    qgc_arena_destroy(&scratch);
    return result;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void change_form(const qgc_step *step, const bound_step *bound, int64_t begin, int64_t end)
{
    qgc_change_form(step->inputs[0], bound->in[0], step->outputs[0], bound->out[0], begin, end);
}

static qgc_result do_part(const run *r, size_t index, size_t part)
{
    const qgc_step *step = r->region->plan->steps.data[index];
    const bound_step *bound = &r->region->steps[index];
    int64_t begin = step->bounds[part], end = step->bounds[part + 1];
    switch (step->kind) {
    case QGC_STEP_REF:
        return step->num_outputs ? run_ref(r, step) : run_observer(r, step);
    case QGC_STEP_BORDER:
        qgc_fill_border(step->outputs[0], bound->out[0], begin, end);
        return QGC_OK;
    case QGC_STEP_FORM:
        if (begin < end)
            change_form(step, bound, begin, end);
        return QGC_OK;
    case QGC_STEP_KERNEL:
        if (begin < end)
            bound->kernel(bound->in, bound->out, step->kernel->constants, begin, end);
        return step->can_fail ? check_indices(r, step) : QGC_OK;
    }
    return QGC_OK;
}

/* Steps that run together. A step that can fail has one part: behind it all see that it did. */
typedef struct stretch {
    const run *run;
    size_t first; /* its first step */
    qgc_result result;
} stretch;

static void run_part(void *user, size_t step, size_t part)
{
    stretch *s = user;
    const run *r = s->run;
    size_t index = s->first + step;
    if (s->result != QGC_OK)
        return;
    double begin = r->is_timed ? now() : 0;
    qgc_result result = do_part(r, index, part);
    if (r->is_timed)
        r->region->steps[index].times[part] = (part_time){pthread_self(), begin, now()};
    if (result != QGC_OK)
        s->result = result;
}

static qgc_result run_stretch(const run *r, size_t first, size_t num)
{
    stretch s = {r, first, QGC_OK};
    qgc_pool_run(r->region->pool, &r->region->shares[first], num, run_part, &s,
                 r->region->plan->steps.data[first]->wakes);
    return s.result;
}

qgc_result qgc_region_run_step(qgc_region *region, size_t index)
{
    run r = {.region = region};
    return run_stretch(&r, index, 1);
}

/* ---- runs ---- */

static void copy_in(const qgc_region *region, uint32_t index, const void *data)
{
    const qgc_buffer *buffer = region->plan->params[index];
    if (buffer->bytes)
        memcpy(data_of(region, buffer), data, buffer->bytes);
}

static void copy_out(const qgc_region *region, uint32_t index, void *data)
{
    const qgc_buffer *buffer = region->plan->results[index];
    if (buffer->bytes)
        memcpy(data, data_of(region, buffer), buffer->bytes);
}

static qgc_result run_steps(const run *r)
{
    const qgc_plan *plan = r->region->plan;
    for (size_t i = 0, num; i < plan->steps.size; i += num) {
        uint32_t together = plan->steps.data[i]->together;
        num = together ? together : 1;
        QGC_TRY(run_stretch(r, i, num));
    }
    return QGC_OK;
}

qgc_result qgc_region_run_on(qgc_region *region, const void *const *inputs, void *const *outputs)
{
    const qgc_func *func = region->plan->func;
    run r = {.region = region};
    qgc_fp_mode mode = qgc_fp_enter();
    for (uint32_t i = 0; i < func->num_params; i++)
        copy_in(region, i, inputs[i]);
    qgc_result result = run_steps(&r);
    for (uint32_t i = 0; i < func->num_results && result == QGC_OK; i++)
        copy_out(region, i, outputs[i]);
    qgc_fp_leave(mode);
    return result;
}

/* What the thread of part |i| worked, if that is its first part; else 0. */
static double add_parts(const part_time *parts, uint32_t num, uint32_t i)
{
    double own = 0;
    for (uint32_t k = 0; k < num; k++) {
        if (!pthread_equal(parts[k].thread, parts[i].thread))
            continue;
        if (k < i)
            return 0;
        own += parts[k].end - parts[k].begin;
    }
    return own;
}

/* A step begins where the one before it ended, at |begin|; one of one part works all of its time.
 * Returns where it ended. */
static double add_time(const part_time *parts, uint32_t num, double begin, qgc_step_time *to)
{
    double working = 0, longest = 0, end = begin;
    size_t threads = 0;
    for (uint32_t i = 0; i < num; i++) {
        double own = add_parts(parts, num, i);
        threads += own > 0;
        working += own;
        longest = own > longest ? own : longest;
        end = parts[i].end > end ? parts[i].end : end;
    }
    if (num == 1)
        working = longest = end - begin;
    to->working += working;
    to->longest += longest;
    to->all += end - begin;
    to->threads = threads > to->threads ? threads : to->threads;
    return end;
}

qgc_result qgc_region_time(qgc_region *region, const void *const *inputs, qgc_step_time *add_to)
{
    run r = {.region = region, .is_timed = true};
    qgc_fp_mode mode = qgc_fp_enter();
    for (uint32_t i = 0; i < region->plan->func->num_params; i++)
        copy_in(region, i, inputs[i]);
    double at = now();
    qgc_result result = run_steps(&r);
    for (size_t i = 0; i < region->plan->steps.size && result == QGC_OK; i++)
        at = add_time(region->steps[i].times, region->shares[i].parts, at, &add_to[i]);
    qgc_fp_leave(mode);
    return result;
}

static qgc_result make_results(const qgc_region *region, qgc_tensor *outputs)
{
    const qgc_plan *plan = region->plan;
    for (uint32_t i = 0; i < plan->func->num_results; i++) {
        qgc_tensor result = view(region, plan->results[i]);
        if (qgc_tensor_copy(&context_of(region)->diag, &result, &outputs[i]) == QGC_OK)
            continue;
        while (i-- > 0)
            qgc_tensor_destroy(&outputs[i]);
        return QGC_FAILED;
    }
    return QGC_OK;
}

qgc_result qgc_region_run(qgc_region *region, const qgc_execution *execution,
                          const qgc_map *originals)
{
    run r = {region, execution->options, execution->call, originals, false};
    for (uint32_t i = 0; i < region->plan->func->num_params; i++)
        copy_in(region, i, execution->inputs[i].data);
    QGC_TRY(run_steps(&r));
    return make_results(region, execution->outputs);
}

/* Measures functions: rounds of the peak loops and the graph in turns. */
#include "qgc/bench.h"

#include "codegen/llvm/peak.h"
#include "codegen/region.h"
#include "codegen/specialize.h"
#include "ir/macs.h"
#include "runtime/interp_observed.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct bench {
    qgc_module *module;
    qgc_diag *diag;
    const qgc_bench_options *options;
    qgc_arena *arena; /* of the report */
    qgc_arena scratch;
    qgc_func *func;
    qgc_tensor *inputs; /* one per parameter */
    bool *owned;
    const void **in; /* their data */
    void **out;      /* room for the results */
    const qgc_level *level;
    qgc_pool *pool;
    qgc_peak peak;
    qgc_special special;
    qgc_region *region; /* NULL: interpreted */
    qgc_bench_report *report;
} bench;

typedef QGC_VEC(double) samples;

static double read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* ---- samples ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const samples *sorted, double q)
{
    return sorted->data[(size_t)(q * (double)(sorted->size - 1) + 0.5)];
}

/* Sorts. */
static qgc_bench_time summarize(samples *s)
{
    qsort(s->data, s->size, sizeof *s->data, compare);
    double median = quantile(s, 0.5);
    double spread = median > 0 ? (quantile(s, 0.75) - quantile(s, 0.25)) / median : 0;
    return (qgc_bench_time){median, s->data[0], spread};
}

static double median_of(samples *s)
{
    return s->size ? summarize(s).median : 0;
}

/* ---- inputs ---- */

static const qgc_tensor *find_given(const bench *b, const qgc_value *param)
{
    const qgc_tensors *inputs = b->options->inputs;
    for (size_t i = 0; inputs && i < inputs->num; i++) {
        qgc_str name = qgc_str_from(inputs->items[i].name);
        if (qgc_str_equal(name, qgc_name_str(param->name)) ||
            (!name.size && b->func->num_params == 1))
            return &inputs->items[i].tensor;
    }
    return NULL;
}

static qgc_result check_names(const bench *b)
{
    const qgc_tensors *inputs = b->options->inputs;
    for (size_t i = 0; inputs && i < inputs->num; i++) {
        bool is_found = !inputs->items[i].name[0] && b->func->num_params == 1;
        for (uint32_t k = 0; k < b->func->num_params; k++)
            is_found |= qgc_str_equal(qgc_str_from(inputs->items[i].name),
                                      qgc_name_str(b->func->params[k].name));
        if (!is_found)
            return qgc_report(b->diag, b->func->loc, QGC_D_BAD_INPUT, "@%s has no input named '%s'",
                              b->func->name->data, inputs->items[i].name);
    }
    return QGC_OK;
}

/* A multiplicative generator: enough for data whose values do not matter. */
static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(*state >> 32);
}

/* Floats in [-1, 1), bytes of any value, bools; wider integers, which may be indices, are 0. */
static void fill_random(qgc_tensor *t, uint64_t *state)
{
    size_t size = qgc_dtype_bytes(t->dtype);
    if (t->dtype == QGC_DTYPE_F32)
        for (size_t i = 0; i < t->bytes / size; i++)
            ((float *)t->data)[i] = (float)(next_random(state) >> 8) / (float)(1 << 23) - 1.0F;
    else if (t->dtype == QGC_DTYPE_F64)
        for (size_t i = 0; i < t->bytes / size; i++)
            ((double *)t->data)[i] = (double)next_random(state) / 2147483648.0 - 1.0;
    else if (qgc_dtype_get_kind(t->dtype) != QGC_FLOAT && size == 1)
        for (size_t i = 0; i < t->bytes; i++)
            ((uint8_t *)t->data)[i] =
                (uint8_t)(next_random(state) >> (t->dtype == QGC_DTYPE_BOOL ? 31 : 24));
}

static qgc_result make_input(bench *b, uint32_t index, uint64_t *state)
{
    const qgc_value *param = &b->func->params[index];
    const qgc_tensor *given = find_given(b, param);
    int64_t shape[QGC_MAX_RANK];
    if (given) {
        b->inputs[index] = *given;
        return QGC_OK;
    }
    if (!param->type->is_static)
        return qgc_report(b->diag, param->loc, QGC_D_UNBOUND,
                          "%%%s is %s: give its size with --set, or a tensor with --input",
                          param->name->data, qgc_type_str(&b->scratch, param->type));
    for (uint32_t i = 0; i < param->type->rank; i++)
        shape[i] = param->type->dims[i].value;
    QGC_TRY(qgc_tensor_create(b->diag, param->type->dtype, param->type->rank, shape,
                              &b->inputs[index]));
    b->owned[index] = true;
    fill_random(&b->inputs[index], state);
    return QGC_OK;
}

static qgc_result make_inputs(bench *b)
{
    uint64_t state = b->options->seed * 2 + 1;
    b->inputs = QGC_NEW_ARRAY(&b->scratch, qgc_tensor, b->func->num_params);
    b->owned = QGC_NEW_ARRAY(&b->scratch, bool, b->func->num_params);
    b->in = QGC_NEW_ARRAY(&b->scratch, const void *, b->func->num_params);
    QGC_TRY(check_names(b));
    for (uint32_t i = 0; i < b->func->num_params; i++) {
        QGC_TRY(make_input(b, i, &state));
        b->in[i] = b->inputs[i].data;
    }
    return QGC_OK;
}

/* ---- what is measured ---- */

static qgc_result run_interpreted(bench *b)
{
    uint32_t num = b->func->num_results;
    qgc_arena scratch = {0};
    qgc_tensor *outputs = QGC_NEW_ARRAY(&scratch, qgc_tensor, num);
    qgc_result result = qgc_interp_run(b->func, b->inputs, outputs, NULL);
    for (uint32_t i = 0; i < num && result == QGC_OK; i++)
        qgc_tensor_destroy(&outputs[i]);
    qgc_arena_destroy(&scratch);
    return result;
}

static qgc_result run_once(bench *b)
{
    b->report->runs++;
    return b->region ? qgc_region_run_on(b->region, b->in, b->out) : run_interpreted(b);
}

typedef struct turns {
    qgc_kernel_fn *function;
    int64_t per_thread;
    double *seconds; /* of each part */
} turns;

static void turn(void *user, size_t step, size_t part)
{
    (void)step;
    const turns *t = user;
    uint8_t factors[QGC_TENSOR_ALIGN] = {0}, sums[QGC_TENSOR_ALIGN];
    const void *in[] = {factors};
    void *out[] = {sums};
    double start = read_clock(CLOCK_THREAD_CPUTIME_ID);
    t->function(in, out, NULL, 0, t->per_thread);
    t->seconds[part] = read_clock(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* Multiply-adds per second of all threads, by their own clocks: other processes do not count. */
static double measure_peak(bench *b, qgc_kernel_fn *function, double macs)
{
    enum { PER_THREAD = 8000, TIMES = 3 };
    size_t threads = qgc_pool_threads(b->pool);
    qgc_pool_step step = {.parts = (uint32_t)threads};
    turns t = {function, PER_THREAD, QGC_NEW_ARRAY(&b->scratch, double, threads)};
    double best = 0;
    for (int i = 0; i < TIMES; i++) {
        double rate = 0;
        qgc_pool_run(b->pool, &step, 1, turn, &t, true);
        for (size_t k = 0; k < threads; k++)
            rate += macs * PER_THREAD / t.seconds[k];
        best = rate > best ? rate : best;
    }
    return best;
}

/* As many runs as make half a millisecond. */
static qgc_result choose_repeat(bench *b, size_t *out)
{
    enum { MOST = 1000 };
    QGC_TRY(run_once(b));
    double start = now();
    QGC_TRY(run_once(b));
    double repeat = 5e-4 / (now() - start + 1e-9);
    *out = repeat < 1 ? 1 : repeat > MOST ? MOST : (size_t)repeat;
    return QGC_OK;
}

typedef struct rounds {
    samples times, shares, integer_peaks, float_peaks;
    samples *steps;      /* one list per step */
    qgc_step_time *sums; /* of all rounds, of each step */
} rounds;

static qgc_result measure_steps(bench *b, rounds *r, size_t repeat)
{
    size_t num = b->report->num_steps;
    double *before = QGC_NEW_ARRAY(&b->scratch, double, num);
    for (size_t i = 0; i < num; i++)
        before[i] = r->sums[i].all;
    for (size_t i = 0; i < repeat; i++)
        QGC_TRY(qgc_region_time(b->region, b->in, r->sums));
    for (size_t i = 0; i < num; i++)
        qgc_vec_push(&b->scratch, &r->steps[i], (r->sums[i].all - before[i]) / (double)repeat);
    return QGC_OK;
}

static qgc_result measure_round(bench *b, rounds *r, size_t repeat)
{
    const qgc_bench_report *report = b->report;
    double integer_peak = 0, float_peak = 0;
    if (b->region) {
        integer_peak = measure_peak(b, b->peak.integers, b->peak.integer_macs);
        float_peak = measure_peak(b, b->peak.floats, b->peak.float_macs);
        qgc_vec_push(&b->scratch, &r->integer_peaks, integer_peak);
        qgc_vec_push(&b->scratch, &r->float_peaks, float_peak);
    }
    double start = now();
    for (size_t i = 0; i < repeat; i++)
        QGC_TRY(run_once(b));
    double seconds = (now() - start) / (double)repeat;
    qgc_vec_push(&b->scratch, &r->times, seconds);
    if (!b->region)
        return QGC_OK;
    double ideal = report->integer_macs / integer_peak + report->float_macs / float_peak;
    qgc_vec_push(&b->scratch, &r->shares, ideal / seconds);
    return r->steps ? measure_steps(b, r, repeat) : QGC_OK;
}

static qgc_result measure(bench *b, rounds *r)
{
    enum { LEAST = 5 };
    const qgc_bench_options *o = b->options;
    size_t repeat, wanted = o->rounds ? o->rounds : LEAST;
    double end = now() + (o->seconds > 0 ? o->seconds : 1);
    QGC_TRY(choose_repeat(b, &repeat));
    b->report->runs = 0;
    while (r->times.size < wanted || (!o->rounds && now() < end))
        QGC_TRY(measure_round(b, r, repeat));
    return QGC_OK;
}

/* ---- the report ---- */

static void add_macs(qgc_bench_report *report, const qgc_node *node)
{
    qgc_macs macs = qgc_count_node_macs(node);
    bool is_integer = qgc_dtype_get_kind(node->operands[0].value->type->dtype) != QGC_FLOAT;
    *(is_integer ? &report->integer_macs : &report->float_macs) += macs.total;
}

static const char *name_of(bench *b, const qgc_step *step)
{
    if (!step->num_outputs)
        return "";
    qgc_text text = {.arena = b->arena};
    qgc_value_name_print(&text, step->outputs[0]->value->name);
    return text.data;
}

static void describe_step(bench *b, const qgc_step *step, qgc_bench_step *out)
{
    *out = (qgc_bench_step){
        .value = name_of(b, step),
        .kernel = qgc_arena_strdup(b->arena, qgc_str_from(qgc_step_name(&b->scratch, step))),
        .note = "",
        .why = "",
        .parts = step->parts};
    if (step->note)
        out->note = qgc_arena_strdup(b->arena, qgc_str_from(step->note));
    if (step->why)
        out->why = qgc_arena_strdup(b->arena, qgc_str_from(step->why));
    out->bytes = step->cost.bytes;
    out->macs = step->cost.macs;
    const qgc_value *x =
        step->node && step->node->num_operands ? step->node->operands[0].value : NULL;
    out->is_integer = x && qgc_dtype_get_kind(x->type->dtype) != QGC_FLOAT;
}

static void describe(bench *b, rounds *r)
{
    qgc_bench_report *report = b->report;
    const qgc_func *func = b->region ? b->special.func : b->func;
    report->threads = b->region ? qgc_pool_threads(b->pool) : 1;
    report->cpu = b->region ? b->level->name : "interpreter";
    QGC_EACH_NODE (node, func)
        if (node->num_operands && node->operands[0].value)
            add_macs(report, node);
    if (!b->region)
        return;
    const qgc_plan *plan = qgc_region_plan(b->region);
    report->arena_bytes = plan->arena_bytes;
    if (!b->options->wants_steps)
        return;
    report->num_steps = plan->steps.size;
    qgc_bench_step *steps = QGC_NEW_ARRAY(b->arena, qgc_bench_step, plan->steps.size);
    for (size_t i = 0; i < plan->steps.size; i++)
        describe_step(b, plan->steps.data[i], &steps[i]);
    report->steps = steps;
    r->steps = QGC_NEW_ARRAY(&b->scratch, samples, plan->steps.size);
    r->sums = QGC_NEW_ARRAY(&b->scratch, qgc_step_time, plan->steps.size);
}

/* Of the threads that the step was for: one that came too late has worked for no time. */
static void conclude_step(qgc_bench_step *step, samples *times, const qgc_step_time *sum,
                          size_t threads)
{
    double num = (double)(step->parts < threads ? step->parts : threads);
    step->time = summarize(times);
    step->threads = sum->threads;
    step->balance = sum->longest > 0 ? sum->working / (num * sum->longest) : 1;
    step->busy = sum->all > 0 ? sum->working / (num * sum->all) : 1;
}

static void conclude(bench *b, rounds *r)
{
    qgc_bench_report *report = b->report;
    qgc_bench_step *steps = (qgc_bench_step *)(uintptr_t)report->steps;
    report->rounds = r->times.size;
    report->time = summarize(&r->times);
    report->share = median_of(&r->shares);
    report->integer_peak = median_of(&r->integer_peaks);
    report->float_peak = median_of(&r->float_peaks);
    for (size_t i = 0; i < report->num_steps; i++)
        conclude_step(&steps[i], &r->steps[i], &r->sums[i], report->threads);
}

/* ---- entry points ---- */

static qgc_result make_room(bench *b)
{
    const qgc_plan *plan = qgc_region_plan(b->region);
    b->out = QGC_NEW_ARRAY(&b->scratch, void *, plan->func->num_results);
    for (uint32_t i = 0; i < plan->func->num_results; i++)
        b->out[i] = qgc_arena_alloc(&b->scratch, plan->results[i]->bytes);
    return QGC_OK;
}

/* What was just compiled, as the next process finds it. */
static qgc_result time_cached(bench *b, const qgc_region_options *options)
{
    qgc_region *again;
    double start = now();
    qgc_special special = qgc_specialize(b->func, b->inputs, true, &b->scratch);
    if (!special.func)
        return QGC_OK;
    qgc_result result = qgc_region_compile(special.func, options, &again);
    if (result == QGC_OK && qgc_region_is_cached(again))
        b->report->cached_seconds = now() - start;
    if (result == QGC_OK)
        qgc_region_destroy(again);
    qgc_module_destroy(special.module);
    return result;
}

static qgc_result compile(bench *b)
{
    const qgc_engine_options *o = &b->options->engine;
    QGC_TRY(qgc_level_find_here(b->diag, o->cpu, &b->level));
    b->pool = qgc_pool_create(o->threads);
    qgc_region_options options = {.level = b->level, .pool = b->pool};
    qgc_cache cache;
    if (o->cache) {
        cache = qgc_cache_make(b->diag, &b->scratch, o);
        options.cache = &cache;
    }
    double start = now();
    b->special = qgc_specialize(b->func, b->inputs, true, &b->scratch);
    if (!b->special.func && !b->special.why)
        return run_interpreted(b); /* inputs do not fit: it says so */
    if (!b->special.func)
        return qgc_report(b->diag, b->func->loc, QGC_D_NOT_COMPILED,
                          "@%s cannot be compiled: %s (--engine=ref measures the interpreter)",
                          b->func->name->data, b->special.why);
    QGC_TRY(qgc_region_compile(b->special.func, &options, &b->region));
    b->report->compile_seconds = now() - start;
    b->report->is_cached = qgc_region_is_cached(b->region);
    if (options.cache && !b->report->is_cached)
        QGC_TRY(time_cached(b, &options));
    QGC_TRY(make_room(b));
    return qgc_peak_create(b->diag, b->level, &b->peak);
}

static qgc_result run_bench(bench *b)
{
    rounds r = {0};
    QGC_TRY(qgc_module_require_func(b->module, b->options->func, &b->func));
    qgc_warn_observed(b->module, "its time");
    QGC_TRY(make_inputs(b));
    if (!b->options->is_interpreted)
        QGC_TRY(compile(b));
    describe(b, &r);
    QGC_TRY(measure(b, &r));
    conclude(b, &r);
    return QGC_OK;
}

static void clean(bench *b)
{
    for (uint32_t i = 0; b->func && b->owned && i < b->func->num_params; i++)
        if (b->owned[i])
            qgc_tensor_destroy(&b->inputs[i]);
    qgc_peak_destroy(&b->peak);
    qgc_region_destroy(b->region);
    qgc_module_destroy(b->special.module);
    qgc_pool_destroy(b->pool);
    qgc_arena_destroy(&b->scratch);
}

qgc_result qgc_module_bench(qgc_module *module, const qgc_bench_options *options,
                            qgc_bench_report *out)
{
    qgc_arena arena = {0};
    qgc_arena *owner = QGC_NEW(&arena, qgc_arena);
    *owner = arena;
    *out = (qgc_bench_report){.owner = owner};
    bench b = {.module = module,
               .diag = &module->context->diag,
               .options = options,
               .arena = owner,
               .report = out};
    qgc_result result = run_bench(&b);
    clean(&b);
    if (result != QGC_OK)
        qgc_bench_free(out);
    return result;
}

void qgc_bench_free(qgc_bench_report *report)
{
    qgc_arena *owner = report->owner;
    if (owner) {
        qgc_arena arena = *owner;
        qgc_arena_destroy(&arena);
    }
    *report = (qgc_bench_report){0};
}

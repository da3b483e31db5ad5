/* Speed of the generated kernels: GMAC/s of the kernel steps of one layer each, beside the level's
 * peak loop measured in the same rounds. Built and run by tools/bench/kernels. MACs are nominal:
 * they include taps in the border.
 *
 * With --serve it answers tools/bench/peers, which takes turns: "layer C H W O KERNEL STRIDE
 * GROUPS", "graph FILE" (a graph, from input to output), "threads N" (of the next graphs), "run
 * REPEAT" (seconds of one, of the thread that asks), "wall REPEAT" (by the wall clock), "peak"
 * (MAC/s), "peak N" (of N threads at once, by the wall clock). */
#include "codegen/llvm/peak.h"
#include "codegen/region.h"
#include "codegen/specialize.h"
#include "qgc/context.h"
#include "qgc/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct shape {
    const char *name;
    int64_t c, h, w, o, kernel, stride, groups; /* h == 0: linear of w rows; with kernel
                                                      0, groups products of two activations */
} shape;

static const shape shapes[] = {
    {"conv 3x3 64 @56", 64, 56, 56, 64, 3, 1, 1},
    {"conv 3x3 128 @28", 128, 28, 28, 128, 3, 1, 1},
    {"conv 3x3 256 @14", 256, 14, 14, 256, 3, 1, 1},
    {"conv 3x3 512 @7", 512, 7, 7, 512, 3, 1, 1},
    {"1x1 64->256 @56", 64, 56, 56, 256, 1, 1, 1},
    {"1x1 256->64 @56", 256, 56, 56, 64, 1, 1, 1},
    {"1x1 1024->256 @14", 1024, 14, 14, 256, 1, 1, 1},
    {"1x1 256->1024 @14", 256, 14, 14, 1024, 1, 1, 1},
    {"1x1 512->2048 @7", 512, 7, 7, 2048, 1, 1, 1},
    {"stem 7x7 s2 3->64 @224", 3, 224, 224, 64, 7, 2, 1},
    {"dw 3x3 96 @56", 96, 56, 56, 96, 3, 1, 96},
    {"dw 3x3 s2 96 @112", 96, 112, 112, 96, 3, 2, 96},
    {"dw 3x3 384 @14", 384, 14, 14, 384, 3, 1, 384},
    {"dw 3x3 960 @7", 960, 7, 7, 960, 3, 1, 960},
    {"dw 5x5 128 @28", 128, 28, 28, 128, 5, 1, 128},
    {"linear 128x768x768", 768, 0, 128, 768, 1, 1, 1},
    {"linear 128x768->3072", 768, 0, 128, 3072, 1, 1, 1},
    {"linear 128x3072->768", 3072, 0, 128, 768, 1, 1, 1},
    {"GEMM 1024", 1024, 0, 1024, 1024, 1, 1, 1},
    {"FC 1x2048->1000", 2048, 0, 1, 1000, 1, 1, 1},
    {"GEMV 1x4096x4096", 4096, 0, 1, 4096, 1, 1, 1},
    {"matmul 128x768x768", 768, 0, 128, 768, 0, 1, 1},
    {"matmul 12 * 128x64x128", 64, 0, 128, 128, 0, 1, 12},
    {"matmul 12 * 128x128x64", 128, 0, 128, 64, 0, 1, 12},
    {"matmul 3 * 49x16x49", 16, 0, 49, 49, 0, 1, 3},
    {"matmul 3 * 49x49x16", 49, 0, 49, 16, 0, 1, 3},
};

static double read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of this thread alone: the machine may have other things to do. */
static double seconds(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- peak ---- */

static void run_peak(const qgc_peak *peak, int64_t count)
{
    static _Alignas(64) const int8_t factors[64];
    _Alignas(64) int32_t sums[16];
    const void *in[] = {factors};
    void *out[] = {sums};
    peak->integers(in, out, NULL, 0, count);
}

enum { PEAK_COUNT = 50000 };

/* MAC/s of the level's loop. */
static double peak_macs(const qgc_peak *peak)
{
    double start = seconds();
    run_peak(peak, PEAK_COUNT);
    return PEAK_COUNT * peak->integer_macs / (seconds() - start);
}

typedef struct peak_run {
    const qgc_peak *peak;
    int64_t count;
} peak_run;

static void peak_part(void *user, size_t step, size_t part)
{
    const peak_run *run = user;
    (void)step;
    (void)part;
    run_peak(run->peak, run->count);
}

/* All threads are awake before the clock starts. */
static double peak_macs_of(const qgc_peak *peak, size_t threads)
{
    peak_run few = {peak, 100}, all = {peak, PEAK_COUNT};
    qgc_pool *pool = qgc_pool_create(threads);
    qgc_pool_step step = {.parts = (uint32_t)threads};
    qgc_pool_run(pool, &step, 1, peak_part, &few, true);
    double start = read_clock(CLOCK_MONOTONIC);
    qgc_pool_run(pool, &step, 1, peak_part, &all, true);
    double wall = read_clock(CLOCK_MONOTONIC) - start;
    qgc_pool_destroy(pool);
    return (double)threads * PEAK_COUNT * peak->integer_macs / wall;
}

/* ---- a layer ---- */

static int64_t macs_of(const shape *s)
{
    if (!s->h)
        return s->w * s->c * s->o * s->groups;
    return s->h / s->stride * (s->w / s->stride) * s->o * (s->c / s->groups) * s->kernel *
           s->kernel;
}

static void write_layer(const shape *s, char *out, size_t size)
{
    long long c = s->c, h = s->h, w = s->w, o = s->o, k = s->kernel, g = s->groups;
    long long oh = s->h / s->stride, ow = s->w / s->stride, pad = (k - 1) / 2;
    if (!s->h && !s->kernel) {
        snprintf(out, size,
                 "func @f(%%x: u8[%lld,%lld,%lld], %%w: u8[%lld,%lld,%lld]) -> "
                 "(u8[%lld,%lld,%lld]) {\n"
                 "  %%acc = int_matmul %%x, %%w {x_zero_point = 3, w_zero_point = 99} : "
                 "i32[%lld,%lld,%lld]\n"
                 "  %%y = requantize [%%acc] {multipliers = [0.001]} : u8[%lld,%lld,%lld]\n"
                 "  return %%y\n}\n",
                 g, w, c, g, c, o, g, w, o, g, w, o, g, w, o);
        return;
    }
    if (!s->h) {
        snprintf(out, size,
                 "func @f(%%x: u8[%lld,%lld]) -> (u8[%lld,%lld]) {\n"
                 "  %%w = const 1 : i8[%lld,%lld]\n"
                 "  %%acc = int_linear %%x, %%w {x_zero_point = 3} : i32[%lld,%lld]\n"
                 "  %%y = requantize [%%acc] {multipliers = [0.001]} : u8[%lld,%lld]\n"
                 "  return %%y\n}\n",
                 w, c, w, o, o, c, w, o, w, o);
        return;
    }
    snprintf(out, size,
             "func @f(%%x: u8[1,%lld,%lld,%lld]) -> (u8[1,%lld,%lld,%lld]) {\n"
             "  %%w = const 1 : i8[%lld,%lld,%lld,%lld]\n"
             "  %%acc = int_conv2d %%x, %%w {x_zero_point = 3, groups = %lld, stride = "
             "[%lld,%lld], padding = [%lld,%lld,%lld,%lld]} : i32[1,%lld,%lld,%lld]\n"
             "  %%y = requantize [%%acc] {multipliers = [0.001]} : u8[1,%lld,%lld,%lld]\n"
             "  return %%y\n}\n",
             c, h, w, o, oh, ow, o, c / (long long)s->groups, k, k, (long long)s->groups,
             (long long)s->stride, (long long)s->stride, pad, pad, pad, pad, o, oh, ow, o, oh, ow);
}

static void run_kernels(qgc_region *region)
{
    const qgc_plan *plan = qgc_region_plan(region);
    for (size_t i = 0; i < plan->steps.size; i++)
        if (plan->steps.data[i]->kind == QGC_STEP_KERNEL)
            (void)qgc_region_run_step(region, i);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t num)
{
    qsort(values, num, sizeof *values, compare);
    return values[num / 2];
}

static void measure(qgc_region *region, const shape *s, const qgc_peak *peak)
{
    enum { ROUNDS = 25 };
    double rates[ROUNDS], peaks[ROUNDS], shares[ROUNDS], macs = (double)macs_of(s);
    int repeat = macs > 2e8 ? 2 : (int)(4e8 / macs) + 1;
    run_kernels(region);
    for (int r = 0; r < ROUNDS; r++) {
        double before = peak_macs(peak), start = seconds();
        for (int i = 0; i < repeat; i++)
            run_kernels(region);
        rates[r] = macs * repeat / (seconds() - start);
        peaks[r] = (before + peak_macs(peak)) / 2;
        shares[r] = rates[r] / peaks[r];
    }
    double rate = median(rates, ROUNDS);
    printf("%-24s %7.1f GMAC/s, best %7.1f  %5.1f %% of %.0f\n", s->name, rate * 1e-9,
           rates[ROUNDS - 1] * 1e-9, 100 * median(shares, ROUNDS), median(peaks, ROUNDS) * 1e-9);
}

/* Weights of i8: "bell", as training leaves them, the largest 127; "flat", all equally often;
 * "small", -63 to 64. */
static void fill_weights(const qgc_func *func, const char *kind)
{
    uint32_t state = 1;
    int32_t spread = strcmp(kind, "bell") == 0 ? 4 : 1, width = strcmp(kind, "small") == 0 ? 1 : 2;
    QGC_EACH_NODE (node, func) {
        if (!node->constant || node->constant->dtype != QGC_DTYPE_I8)
            continue;
        int8_t *to = (int8_t *)(uintptr_t)node->constant->data;
        for (size_t i = 0; i < node->constant->bytes; i++) {
            int32_t sum = 0;
            for (int32_t k = 0; k < spread; k++, state = state * 1664525U + 1013904223U)
                sum += (int32_t)(state >> 25) - 63;
            to[i] = (int8_t)(sum * width / spread > 127 ? 127 : sum * width / spread);
        }
    }
}

/* |pool| NULL: for one thread. */
static qgc_result compile(const qgc_func *func, const qgc_level *level, qgc_pool *pool,
                          qgc_region **out)
{
    return qgc_region_compile(func, &(qgc_region_options){.level = level, .pool = pool}, out);
}

static int run_shape(const shape *s, const qgc_level *level, const qgc_peak *peak, const char *kind)
{
    char text[2048];
    write_layer(s, text, sizeof text);
    qgc_context *context = qgc_context_create();
    qgc_module *module = qgc_module_parse(context, s->name, (qgc_str){text, strlen(text)}, 1, NULL);
    qgc_region *region = NULL;
    if (module)
        fill_weights(module->first, kind);
    int failed = !module || compile(module->first, level, NULL, &region) != QGC_OK;
    if (!failed)
        measure(region, s, peak);
    qgc_context_flush(context, stderr, QGC_DIAG_TEXT, false);
    qgc_region_destroy(region);
    qgc_module_destroy(module);
    qgc_context_destroy(context);
    return failed;
}

/* ---- in turns with others ---- */

typedef struct served {
    qgc_context *context;
    qgc_module *module;
    qgc_region *region;
    qgc_pool *pool; /* of the graphs to come; the one thing that stays from one to the next */
    bool is_layer;  /* only its kernels count: a layer's neighbours write in the form it reads */
    /* Of a graph: */
    qgc_arena arena;
    qgc_special special;
    qgc_tensor *inputs;
    uint32_t num_inputs;
    const void **in;
    void **out;
} served;

static void end_served(served *s)
{
    qgc_region_destroy(s->region);
    for (uint32_t i = 0; i < s->num_inputs; i++)
        qgc_tensor_destroy(&s->inputs[i]);
    qgc_module *modules[] = {s->special.module, s->module};
    for (int i = 0; i < 2; i++)
        if (modules[i])
            qgc_module_destroy(modules[i]);
    if (s->context)
        qgc_context_destroy(s->context);
    qgc_arena_destroy(&s->arena);
    *s = (served){.pool = s->pool};
}

static bool compile_served(served *s, const qgc_func *func, const qgc_level *level)
{
    bool ok = func && compile(func, level, s->pool, &s->region) == QGC_OK;
    qgc_context_flush(s->context, stderr, QGC_DIAG_TEXT, false);
    return ok;
}

/* Values between -1 and 1, bytes of any kind. */
static bool make_input(served *s, const qgc_value *param)
{
    qgc_tensor *t = &s->inputs[s->num_inputs];
    int64_t shape[QGC_MAX_RANK];
    for (uint32_t i = 0; i < param->type->rank; i++)
        shape[i] = param->type->dims[i].value;
    if (!param->type->is_static || qgc_tensor_create(&s->context->diag, param->type->dtype,
                                                     param->type->rank, shape, t) != QGC_OK)
        return false;
    bool is_float = t->dtype == QGC_DTYPE_F32;
    for (size_t i = 0; i < t->bytes / (is_float ? 4 : 1); i++)
        if (is_float)
            ((float *)t->data)[i] = (float)(i * 7919 % 2001) / 1000.0F - 1.0F;
        else
            ((uint8_t *)t->data)[i] = (uint8_t)(i * 7919 % 251);
    s->in[s->num_inputs++] = t->data;
    return true;
}

static void *make_output(served *s, const qgc_type *type)
{
    int64_t num = 0;
    (void)qgc_type_num_elements(type, &num);
    return qgc_arena_alloc(&s->arena, (size_t)num * qgc_dtype_bytes(type->dtype));
}

/* The first function, with all that it calls in place. */
static bool begin_graph(served *s, const char *path, const qgc_level *level)
{
    s->context = qgc_context_create();
    s->module = qgc_module_read(s->context, path);
    const qgc_func *func = s->module ? s->module->first : NULL;
    if (!func)
        return compile_served(s, NULL, level);
    s->inputs = QGC_NEW_ARRAY(&s->arena, qgc_tensor, func->num_params);
    s->in = QGC_NEW_ARRAY(&s->arena, const void *, func->num_params);
    s->out = QGC_NEW_ARRAY(&s->arena, void *, func->num_results);
    for (uint32_t i = 0; i < func->num_params; i++)
        if (!make_input(s, &func->params[i]))
            return false;
    s->special = qgc_specialize(func, s->inputs, true, &s->arena);
    if (!compile_served(s, s->special.func, level))
        return false;
    for (uint32_t i = 0; i < func->num_results; i++)
        s->out[i] = make_output(s, s->special.func->last->operands[i].value->type);
    return true;
}

static bool begin_layer(served *s, const shape *layer, const qgc_level *level)
{
    char text[2048];
    write_layer(layer, text, sizeof text);
    s->is_layer = true;
    s->context = qgc_context_create();
    s->module = qgc_module_parse(s->context, "layer", (qgc_str){text, strlen(text)}, 1, NULL);
    if (s->module)
        fill_weights(s->module->first, "bell");
    return compile_served(s, s->module ? s->module->first : NULL, level);
}

static double run_served(const served *s, long repeat, clockid_t clock)
{
    double start = read_clock(clock);
    for (long r = 0; r < repeat; r++) {
        if (s->is_layer)
            run_kernels(s->region);
        else
            (void)qgc_region_run_on(s->region, s->in, s->out);
    }
    return (read_clock(clock) - start) / (double)repeat;
}

static int serve(const qgc_level *level, const qgc_peak *peak)
{
    char line[1024], path[1000];
    served s = {0};
    long repeat;
    bool ok = true;
    while (ok && fgets(line, sizeof line, stdin)) {
        shape layer = {.name = "layer"};
        long long v[7];
        if (sscanf(line, "layer %lld %lld %lld %lld %lld %lld %lld", &v[0], &v[1], &v[2], &v[3],
                   &v[4], &v[5], &v[6]) == 7) {
            layer = (shape){"layer", v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
            end_served(&s);
            ok = begin_layer(&s, &layer, level);
            printf("%s\n", level->name);
        } else if (sscanf(line, "graph %999s", path) == 1) {
            end_served(&s);
            ok = begin_graph(&s, path, level);
            printf("%s\n", level->name);
        } else if (sscanf(line, "threads %ld", &repeat) == 1 && repeat > 0) {
            end_served(&s);
            qgc_pool_destroy(s.pool);
            s.pool = qgc_pool_create((size_t)repeat);
            printf("%zu\n", qgc_pool_threads(s.pool));
        } else if (sscanf(line, "run %ld", &repeat) == 1 && s.region) {
            printf("%.9g\n", run_served(&s, repeat, CLOCK_THREAD_CPUTIME_ID));
        } else if (sscanf(line, "wall %ld", &repeat) == 1 && s.region) {
            printf("%.9g\n", run_served(&s, repeat, CLOCK_MONOTONIC));
        } else if (sscanf(line, "peak %ld", &repeat) == 1 && repeat > 0) {
            printf("%.9g\n", peak_macs_of(peak, (size_t)repeat));
        } else {
            printf("%.9g\n", peak_macs(peak));
        }
        fflush(stdout);
    }
    end_served(&s);
    qgc_pool_destroy(s.pool);
    return !ok;
}

static int run_shapes(const qgc_level *level, const qgc_peak *peak, const char *part,
                      const char *kind)
{
    int failed = 0;
    printf(
        "%s; medians of 25 rounds, beside the level's loop of multiply-adds in registers, in each "
        "round; %s weights\n",
        level->name, kind);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strstr(shapes[i].name, part))
            failed |= run_shape(&shapes[i], level, peak, kind);
    return failed;
}

int main(int argc, char **argv)
{
    const qgc_level *level = qgc_level_find(qgc_str_from(argc > 1 ? argv[1] : "native"));
    const char *part = argc > 2 ? argv[2] : "", *kind = argc > 3 ? argv[3] : "bell";
    if (!level || !qgc_level_is_supported(level)) {
        fprintf(stderr, "usage: kernels [LEVEL [NAME_PART [bell | flat | small] | --serve]]; this "
                        "machine has no such level\n");
        return 2;
    }
    qgc_context *context = qgc_context_create();
    qgc_peak peak = {0};
    int failed = qgc_peak_create(&context->diag, level, &peak) != QGC_OK;
    if (!failed)
        failed = strcmp(part, "--serve") == 0 ? serve(level, &peak)
                                              : run_shapes(level, &peak, part, kind);
    qgc_context_flush(context, stderr, QGC_DIAG_TEXT, false);
    qgc_peak_destroy(&peak);
    qgc_context_destroy(context);
    return failed;
}

/* The spill guard: tiles that are forced to be too large go down until they fit, with a remark each
 * and the same results, in memory, from the cache and in files; tiles as they are chosen fit the
 * registers, however LLVM schedules for a CPU. */
#include "codegen/compile.h"
#include "codegen/guard.h"
#include "codegen/region.h"
#include "qgc/qgc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Dense twice the same, and depthwise. */
static const char net[] =
    "func @main(%x: u8[1,64,12,12]) -> (u8[1,64,12,12]) {\n"
    "  %w = const 3 : i8[64,64,3,3]\n"
    "  %a = int_conv2d %x, %w {x_zero_point = 3, padding = [1,1,1,1]} : i32[1,64,12,12]\n"
    "  %b = requantize [%a] {multipliers = [0.0003]} : u8[1,64,12,12]\n"
    "  %c = int_conv2d %b, %w {x_zero_point = 3, padding = [1,1,1,1]} : i32[1,64,12,12]\n"
    "  %d = requantize [%c] {multipliers = [0.0003]} : u8[1,64,12,12]\n"
    "  %v = const -2 : i8[64,1,3,3]\n"
    "  %e = int_conv2d %d, %v {groups = 64, padding = [1,1,1,1]} : i32[1,64,12,12]\n"
    "  %y = requantize [%e] {multipliers = [0.01], zero_point = 200} : u8[1,64,12,12]\n"
    "  return %y\n"
    "}\n";
/* A product of two activations, of the same types. */
static const char product[] =
    "func @main(%x: u8[1,64,12,12]) -> (u8[1,64,12,12]) {\n"
    "  %p = reshape %x {shape = [96,96]} : u8[96,96]\n"
    "  %q = transpose %p {perm = [1,0]} : u8[96,96]\n"
    "  %a = int_matmul %p, %q {x_zero_point = 3, w_zero_point = 5} : i32[96,96]\n"
    "  %b = requantize [%a] {multipliers = [0.0001]} : u8[96,96]\n"
    "  %y = reshape %b {shape = [1,64,12,12]} : u8[1,64,12,12]\n"
    "  return %y\n"
    "}\n";
enum { NUM_X = 64 * 12 * 12 };

typedef struct fixture {
    qgc_context *context;
    qgc_module *module;
    uint8_t x[NUM_X], want[NUM_X];
} fixture;

static const qgc_func *main_of(const qgc_module *module)
{
    return qgc_module_find_func(module, qgc_context_name(module->context, "main"));
}

static qgc_module *parse(qgc_context *context, const char *text)
{
    qgc_module *module = qgc_module_parse(context, "net.qir", qgc_str_from(text), 1, NULL);
    if (!module)
        qgc_context_flush(context, stderr, QGC_DIAG_TEXT, false);
    assert_non_null(module);
    return module;
}

static int setup_with(void **state, const char *text)
{
    fixture *t = calloc(1, sizeof *t);
    for (size_t i = 0; i < NUM_X; i++)
        t->x[i] = (uint8_t)((i * 2654435761u) >> 13);
    t->context = qgc_context_create();
    qgc_context_set_remarks(t->context, "codegen");
    t->module = parse(t->context, text);
    qgc_tensors inputs = {0}, outputs = {0};
    qgc_tensor x = {QGC_DTYPE_U8, 4, {1, 64, 12, 12}, t->x, sizeof t->x};
    assert_int_equal(qgc_tensors_add(t->context, "x", &x, &inputs), QGC_OK);
    assert_int_equal(qgc_module_run(t->module, "main", NULL, &inputs, &outputs), QGC_OK);
    memcpy(t->want, outputs.items[0].tensor.data, sizeof t->want);
    qgc_tensors_free(&inputs);
    qgc_tensors_free(&outputs);
    *state = t;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, net);
}

static int setup_product(void **state)
{
    return setup_with(state, product);
}

static int teardown(void **state)
{
    fixture *t = *state;
    qgc_module_destroy(t->module);
    qgc_context_destroy(t->context);
    free(t);
    return 0;
}

/* Takes the diagnostics as text. */
static char *take_diagnostics(qgc_context *context)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    qgc_context_flush(context, out, QGC_DIAG_TEXT, false);
    (void)fclose(out);
    return text;
}

static size_t count(const char *text, const char *part)
{
    size_t num = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        num++;
    return num;
}

static const char *tile_of(const qgc_region *region, size_t index)
{
    const qgc_plan *plan = qgc_region_plan(region);
    for (size_t i = 0; i < plan->steps.size; i++)
        if (plan->steps.data[i]->kernel && plan->steps.data[i]->kernel->tile && index-- == 0)
            return plan->steps.data[i]->kernel->tile;
    return "";
}

/* Compiles, with tiles that are |extra| pixels too large, and checks the result. */
static qgc_region *compile(fixture *t, const qgc_level *level, qgc_cache *cache, uint32_t extra)
{
    uint8_t got[NUM_X];
    const void *inputs[] = {t->x};
    void *outputs[] = {got};
    qgc_region *region = NULL;
    qgc_region_options options = {.level = level, .cache = cache, .extra_pixels = extra};
    assert_int_equal(qgc_region_compile(main_of(t->module), &options, &region), QGC_OK);
    assert_int_equal(qgc_region_run_on(region, inputs, outputs), QGC_OK);
    assert_memory_equal(got, t->want, sizeof got);
    return region;
}

/* The level whose tiles the tests name; NULL (they are skipped) where this machine has another. */
static const qgc_level *best_level(void)
{
    const qgc_level *level = qgc_level_find(qgc_str_from("native"));
    return level && strcmp(level->name, "x86-64-v4-vnni") == 0 ? level : NULL;
}

static void test_forced(void **state)
{
    fixture *t = *state;
    const qgc_level *level = best_level();
    if (!level)
        skip();
    qgc_region *chosen = compile(t, level, NULL, 0);
    char *text = take_diagnostics(t->context);
    assert_string_equal(text, ""); /* what is chosen fits */
    free(text);
    qgc_region *forced = compile(t, level, NULL, 2);
    text = take_diagnostics(t->context);
    for (size_t i = 0; i < 3; i++) /* not too small either */
        assert_string_equal(tile_of(forced, i), tile_of(chosen, i));
    /* The two equal convolutions are one function, and one remark for each tile that it left. */
    assert_int_equal(count(text, "remark: int_conv2d %a of @main: tile 8x4 stores vectors"), 1);
    assert_int_equal(count(text, ", 7x4 is taken [R0605]"), 1);
    assert_int_equal(count(text, ": tile 7x4 stores vectors"), 1);
    assert_int_equal(count(text, "%c of @main"), 0);
    assert_true(count(text, "int_conv2d %e of @main: tile") >= 1);
    assert_int_equal(count(text, "net.qir:3:"), 2);
    free(text);
    qgc_region_destroy(chosen);
    qgc_region_destroy(forced);
}

static void test_product(void **state)
{
    fixture *t = *state;
    const qgc_level *level = best_level();
    if (!level)
        skip();
    qgc_region *chosen = compile(t, level, NULL, 0);
    char *text = take_diagnostics(t->context);
    assert_string_equal(text, "");
    free(text);
    qgc_region *forced = compile(t, level, NULL, 2);
    text = take_diagnostics(t->context);
    assert_string_equal(tile_of(chosen, 0), "6x4");
    assert_string_equal(tile_of(forced, 0), "6x4");
    assert_int_equal(count(text, "remark: int_matmul %a of @main: tile 8x4 stores vectors"), 1);
    assert_int_equal(count(text, ", 7x4 is taken [R0605]"), 1);
    assert_int_equal(count(text, ": tile 7x4 stores vectors"), 1);
    free(text);
    qgc_region_destroy(chosen);
    qgc_region_destroy(forced);
}

/* From the cache comes what spilled, too: the same tiles and remarks. */
static void test_cached(void **state)
{
    fixture *t = *state;
    char folder[] = "/tmp/qgc-guard-XXXXXX";
    const qgc_level *level = best_level();
    if (!level)
        skip();
    assert_non_null(mkdtemp(folder));
    qgc_arena arena = {0};
    qgc_engine_options options = {.cache = folder};
    qgc_cache cache = qgc_cache_make(&t->context->diag, &arena, &options);
    char *texts[2];
    for (size_t i = 0; i < 2; i++) {
        qgc_region *region = compile(t, level, &cache, 2);
        assert_int_equal(qgc_region_is_cached(region), i);
        texts[i] = take_diagnostics(t->context);
        qgc_region_destroy(region);
    }
    assert_true(count(texts[0], "R0605") >= 3);
    assert_string_equal(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
    qgc_arena_destroy(&arena);
    char command[64];
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

static size_t read_file(const char *path, char *out, size_t most)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = file ? fread(out, 1, most, file) : 0;
    if (file)
        (void)fclose(file);
    return size;
}

/* Without how often a tile was tried: "kernel2.1" is kernel2. */
static size_t strip_names(char *text, size_t size)
{
    static const char name[] = "kernel";
    size_t used = 0;
    for (size_t i = 0; i < size;) {
        bool is_name =
            i + 8 < size && memcmp(text + i, name, sizeof name - 1) == 0 && text[i + 7] == '.';
        size_t num = is_name ? sizeof name : 1;
        memmove(text + used, text + i, num);
        used += num;
        i += num + (is_name ? 2 : 0);
    }
    return used;
}

/* A file has the code of the tiles that fit, whichever were tried. */
static void test_files(void **state)
{
    enum { MOST = 1 << 20 };
    static const char *const formats[] = {"s", "ll"};
    fixture *t = *state;
    char path[] = "/tmp/qgc-guard-XXXXXX", *texts[2] = {malloc(MOST), malloc(MOST)};
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t sizes[2];
        for (uint32_t k = 0; k < 2; k++) {
            qgc_compile_options options = {
                .format = formats[i], .cpu = "x86-64-v4-vnni", .name = "net", .source = "net.qir"};
            assert_int_equal(qgc_compile_larger(t->module, path, &options, 2 * k), QGC_OK);
            sizes[k] = strip_names(texts[k], read_file(path, texts[k], MOST));
            char *text = take_diagnostics(t->context);
            assert_int_equal(count(text, "tile 7x4 stores vectors to the stack"), k);
            free(text);
        }
        assert_true(sizes[0] == sizes[1] && sizes[0] < MOST);
        assert_memory_equal(texts[0], texts[1], sizes[0]);
    }
    char header[sizeof path + 2];
    (void)snprintf(header, sizeof header, "%s.h", path);
    (void)remove(path);
    (void)remove(header);
    free(texts[0]);
    free(texts[1]);
}

/* ---- the tiles ---- */

typedef struct shape {
    int64_t in_c, out_c, height, width, kernel, stride, groups;
    bool adds;
} shape;

static void print_conv(FILE *out, size_t index, const shape *s)
{
    int64_t pad = s->kernel / 2, h = (s->height + 2 * pad - s->kernel) / s->stride + 1;
    int64_t w = (s->width + 2 * pad - s->kernel) / s->stride + 1;
    char y[64];
    (void)snprintf(y, sizeof y, "[1,%lld,%lld,%lld]", (long long)s->out_c, (long long)h,
                   (long long)w);
    (void)fprintf(out, "func @f%zu(%%x: u8[1,%lld,%lld,%lld], %%r: u8%s) -> (u8%s) {\n", index,
                  (long long)s->in_c, (long long)s->height, (long long)s->width, y, y);
    (void)fprintf(out, "  %%w = const 1 : i8[%lld,%lld,%lld,%lld]\n", (long long)s->out_c,
                  (long long)(s->in_c / s->groups), (long long)s->kernel, (long long)s->kernel);
    (void)fprintf(out,
                  "  %%a = int_conv2d %%x, %%w {x_zero_point = 3, groups = %lld, stride = "
                  "[%lld,%lld], padding = [%lld,%lld,%lld,%lld]} : i32%s\n",
                  (long long)s->groups, (long long)s->stride, (long long)s->stride, (long long)pad,
                  (long long)pad, (long long)pad, (long long)pad, y);
    (void)fprintf(out,
                  "  %%y = requantize [%%a%s] {multipliers = [0.001%s], zero_point = 7%s} : u8%s\n"
                  "  return %%y\n}\n",
                  s->adds ? ", %r" : "", s->adds ? ", 0.5" : "", s->in_c == 16 ? ", lo = 7" : "",
                  y);
}

static void print_product(FILE *out, size_t index, int64_t rows, int64_t depth, int64_t columns)
{
    long long m = rows, k = depth, n = columns;
    (void)fprintf(
        out,
        "func @f%zu(%%x: u8[%lld,%lld], %%r: u8[%lld,%lld]) -> (u8[%lld,%lld]) {\n"
        "  %%a = int_matmul %%x, %%r {x_zero_point = 3, w_zero_point = 5} : i32[%lld,%lld]\n"
        "  %%y = requantize [%%a] {multipliers = [0.001]} : u8[%lld,%lld]\n"
        "  return %%y\n}\n",
        index, m, k, k, n, m, n, m, n, m, n);
}

/* Every number of vectors and of pixels; sums without a loop, with one, of several runs; images
 * whose tiles end with rows; kernels of few channels; windows of depthwise; products. */
static char *print_shapes(int64_t lanes, int64_t most_vectors)
{
    char *text = NULL;
    size_t size, num = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (int64_t vectors = 1; vectors <= most_vectors; vectors++) {
        int64_t o = vectors * lanes;
        for (int64_t pixels = 1; pixels <= 6; pixels++) {
            if (pixels > 4) /* the largest of each level */
                print_conv(out, num++, &(shape){16, o, 1, pixels, 1, 1, 1, false});
            print_conv(out, num++, &(shape){256, o, 1, pixels, 1, 1, 1, pixels > 3});
        }
        print_conv(out, num++, &(shape){16, o, 5, 24, 3, 1, 1, false});
    }
    int64_t c = 4 * lanes;
    print_conv(out, num++, &(shape){32, most_vectors * lanes, 5, 7, 3, 1, 1, true});
    print_conv(out, num++, &(shape){3, most_vectors * lanes, 9, 24, 7, 2, 1, false});
    print_conv(out, num++, &(shape){c, c, 14, 14, 3, 1, c, true});
    print_conv(out, num++, &(shape){c, c, 14, 14, 3, 2, c, false});
    print_conv(out, num++, &(shape){c, c, 14, 14, 5, 1, c, false});
    for (int64_t vectors = 1; vectors <= most_vectors; vectors++)
        for (int64_t rows = 4; rows <= 6; rows++)
            print_product(out, num++, rows, 64, vectors * lanes);
    (void)fclose(out);
    return text;
}

/* All functions of the module as one object. */
static void find_spills(qgc_module *module, const qgc_level *level, qgc_arena *arena,
                        qgc_spills *out)
{
    qgc_plan_target target = qgc_level_target(level);
    qgc_object *object;
    qgc_str code;
    QGC_VEC(qgc_plan *) plans = {0};
    assert_int_equal(qgc_object_create(&module->context->diag, level, "tiles", &object), QGC_OK);
    QGC_EACH_FUNC (func, module) {
        qgc_plan *plan = qgc_plan_create(func, &target);
        assert_non_null(plan);
        qgc_emit_kernels(qgc_object_emitter(object), plan, NULL);
        qgc_vec_push(arena, &plans, plan);
    }
    assert_int_equal(qgc_object_finish(object, QGC_EMIT_PASSES), QGC_OK);
    assert_int_equal(qgc_object_write(object, QGC_OBJECT_CODE, arena, &code), QGC_OK);
    qgc_object_find_spills(object, code, arena, out);
    for (size_t i = 0; i < out->size; i++)
        print_message("%s for %s: tile %s spills (%u stores)\n", level->name, level->llvm_cpu,
                      out->data[i].kernel->tile, out->data[i].stores);
    for (size_t i = 0; i < plans.size; i++)
        qgc_plan_destroy(plans.data[i]);
    qgc_object_destroy(object);
}

static void test_tiles(void **state)
{
    static const struct {
        const char *level, *cpu;
    } rows[] = {{"x86-64-v4-vnni", "x86-64-v4"},      {"x86-64-v4-vnni", "cascadelake"},
                {"x86-64-v4-vnni", "sapphirerapids"}, {"x86-64-v4-vnni", "znver4"},
                {"x86-64-v3-vnni", "x86-64-v3"},      {"x86-64-v3-vnni", "alderlake"},
                {"aarch64-dotprod", "generic"},       {"aarch64-dotprod", "neoverse-n1"},
                {"aarch64-i8mm", "generic"},          {"aarch64-i8mm", "neoverse-v2"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        qgc_level level = *qgc_level_find(qgc_str_from(rows[i].level));
        level.llvm_cpu = rows[i].cpu;
        qgc_arena arena = {0};
        qgc_spills spills = {0};
        qgc_context *context = qgc_context_create();
        char *text = print_shapes(level.lanes, level.registers >= 32 ? 4 : 2);
        qgc_module *module = parse(context, text);
        find_spills(module, &level, &arena, &spills);
        assert_int_equal(spills.size, 0);
        qgc_module_destroy(module);
        qgc_context_destroy(context);
        qgc_arena_destroy(&arena);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forced),
        cmocka_unit_test_setup_teardown(test_product, setup_product, teardown),
        cmocka_unit_test(test_cached),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_tiles),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

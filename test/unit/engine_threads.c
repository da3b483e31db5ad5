/* Compiled regions: the same bytes for every number of threads, whatever mode of floating point the
 * caller is in, without allocations; kernels that LLVM refuses. The thread sanitizer runs this test
 * too. cmake/Tests.cmake links it with allocations counted. */
#include "codegen/region.h"
#include "qgc/qgc.h"
#include "runtime/fp_mode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Large enough that plans give every step several parts: integers and floats, with subnormal sums.
 */
static const char net[] =
    "func @main(%x: u8[1,64,56,56], %f: f32[256,512]) -> (u8[1,64,56,56], f32[256,512]) {\n"
    "  %w = const 3 : i8[64,64,3,3]\n"
    "  %acc = int_conv2d %x, %w {x_zero_point = 3, padding = [1,1,1,1]} : i32[1,64,56,56]\n"
    "  %y = requantize [%acc] {multipliers = [0.0003]} : u8[1,64,56,56]\n"
    "  %v = const 0.01 : f32[512,512]\n"
    "  %g = linear %f, %v : f32[256,512]\n"
    "  %h = mul %g, %g : f32[256,512]\n"
    "  %s = softmax %h {axis = 1} : f32[256,512]\n"
    "  %tiny = const 1e-38 : f32[]\n"
    "  %r = mul %s, %tiny : f32[256,512]\n"
    "  return %y, %r\n"
    "}\n";

enum { NUM_X = 64 * 56 * 56, NUM_F = 256 * 512 };

typedef struct bytes {
    uint8_t y[NUM_X];
    float r[NUM_F];
} bytes;

static atomic_size_t num_allocations;

/* The names are those of the linker's option --wrap. NOLINTBEGIN(bugprone-reserved-identifier) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t num, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t num, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

void *__wrap_malloc(size_t size)
{
    atomic_fetch_add(&num_allocations, 1);
    return __real_malloc(size);
}

void *__wrap_calloc(size_t num, size_t size)
{
    atomic_fetch_add(&num_allocations, 1);
    return __real_calloc(num, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    atomic_fetch_add(&num_allocations, 1);
    return __real_aligned_alloc(align, size);
}

/* NOLINTEND(bugprone-reserved-identifier) */

typedef struct fixture {
    qgc_context *context;
    qgc_module *module;
    uint8_t x[NUM_X];
    float f[NUM_F];
    bytes want;
} fixture;

static qgc_module *parse(qgc_context *context)
{
    qgc_module *module =
        qgc_module_parse(context, "net.qir", (qgc_str){net, sizeof net - 1}, 1, NULL);
    assert_non_null(module);
    return module;
}

static void run_module(fixture *t, const qgc_engine *engine, bytes *out)
{
    qgc_tensors inputs = {0}, outputs = {0};
    qgc_tensor x = {QGC_DTYPE_U8, 4, {1, 64, 56, 56}, t->x, sizeof t->x};
    qgc_tensor f = {QGC_DTYPE_F32, 2, {256, 512}, t->f, sizeof t->f};
    assert_int_equal(qgc_tensors_add(t->context, "x", &x, &inputs), QGC_OK);
    assert_int_equal(qgc_tensors_add(t->context, "f", &f, &inputs), QGC_OK);
    assert_int_equal(qgc_module_run(t->module, "main", engine, &inputs, &outputs), QGC_OK);
    memcpy(out->y, outputs.items[0].tensor.data, sizeof out->y);
    memcpy(out->r, outputs.items[1].tensor.data, sizeof out->r);
    qgc_tensors_free(&inputs);
    qgc_tensors_free(&outputs);
}

static int setup(void **state)
{
    fixture *t = calloc(1, sizeof *t);
    uint32_t random = 1;
    for (size_t i = 0; i < NUM_X; i++) {
        random = random * 1664525u + 1013904223u;
        t->x[i] = (uint8_t)(random >> 24);
    }
    for (size_t i = 0; i < NUM_F; i++) {
        random = random * 1664525u + 1013904223u;
        t->f[i] = (float)(random >> 8) / (float)(1 << 23) - 1.0F;
    }
    t->context = qgc_context_create();
    t->module = parse(t->context);
    run_module(t, NULL, &t->want);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    fixture *t = *state;
    qgc_module_destroy(t->module);
    qgc_context_destroy(t->context);
    free(t);
    return 0;
}

static void check(const fixture *t, const bytes *got)
{
    assert_memory_equal(got->y, t->want.y, sizeof got->y);
    assert_memory_equal(got->r, t->want.r, sizeof got->r);
}

static void test_threads(void **state)
{
    static const size_t counts[] = {1, 2, 3, 7};
    fixture *t = *state;
    bytes *got = malloc(sizeof *got);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        qgc_engine *engine;
        qgc_engine_options options = {.threads = counts[i]};
        assert_int_equal(qgc_engine_create_with(t->module, &options, &engine), QGC_OK);
        for (int round = 0; round < 3; round++) {
            memset(got, 0xaa, sizeof *got);
            run_module(t, engine, got);
            check(t, got);
        }
        qgc_engine_destroy(engine);
    }
    free(got);
}

#if defined(__x86_64__)
/* Rounding up, results and operands flushed to zero. */
enum { ODD_MODE = 0x1f80 | 0x4000 | 0x8000 | 0x0040 };

static void test_modes(void **state)
{
    fixture *t = *state;
    bytes *got = malloc(sizeof *got);
    for (size_t threads = 0; threads <= 2; threads++) { /* 0: the interpreter */
        qgc_engine *engine = NULL;
        uint32_t before = _mm_getcsr();
        _mm_setcsr(ODD_MODE); /* threads are born into it, too */
        qgc_engine_options options = {.threads = threads};
        if (threads)
            assert_int_equal(qgc_engine_create_with(t->module, &options, &engine), QGC_OK);
        run_module(t, engine, got);
        uint32_t after = _mm_getcsr();
        qgc_engine_destroy(engine);
        _mm_setcsr(before);
        assert_int_equal(after & ~0x3fU, ODD_MODE);
        check(t, got);
    }
    free(got);
}
#endif

static qgc_region *compile(fixture *t, const qgc_region_options *options)
{
    qgc_region *region = NULL;
    const qgc_func *func =
        qgc_module_find_func(t->module, qgc_context_name(t->module->context, "main"));
    assert_int_equal(qgc_region_compile(func, options, &region), QGC_OK);
    return region;
}

static void test_allocations(void **state)
{
    fixture *t = *state;
    bytes *got = malloc(sizeof *got);
    qgc_pool *pool = qgc_pool_create(2);
    qgc_region_options options = {.level = qgc_level_find(qgc_str_from("native")), .pool = pool};
    qgc_region *region = compile(t, &options);
    const void *inputs[] = {t->x, t->f};
    void *outputs[] = {got->y, got->r};
    size_t before = atomic_load(&num_allocations);
    for (int round = 0; round < 3; round++)
        assert_int_equal(qgc_region_run_on(region, inputs, outputs), QGC_OK);
    assert_int_equal(atomic_load(&num_allocations) - before, 0);
    assert_true(before > 0); /* they are counted */
    check(t, got);
    qgc_region_destroy(region);
    qgc_pool_destroy(pool);
    free(got);
}

static const char *refuse(void *user, const char *kernel)
{
    size_t *calls = user;
    (void)kernel;
    return ++*calls <= 2 ? "planted" : NULL;
}

/* The first kernel is refused, with the module and alone: its op runs as the reference kernel. */
static void test_refused(void **state)
{
    fixture *t = *state;
    bytes *got = malloc(sizeof *got);
    char *text = NULL;
    size_t size = 0, calls = 0;
    qgc_region_options options = {
        .level = qgc_level_find(qgc_str_from("native")), .refuse = refuse, .user = &calls};
    qgc_region *region = compile(t, &options);
    const void *inputs[] = {t->x, t->f};
    void *outputs[] = {got->y, got->r};
    assert_int_equal(qgc_region_run_on(region, inputs, outputs), QGC_OK);
    check(t, got);
    FILE *out = open_memstream(&text, &size);
    qgc_context_flush(t->context, out, QGC_DIAG_TEXT, false);
    fclose(out);
    assert_non_null(strstr(text, "net.qir:3:10: warning: int_conv2d %acc of @main runs as the "
                                 "reference kernel: planted [W0603]"));
    free(text);
    qgc_region_destroy(region);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
#if defined(__x86_64__)
        cmocka_unit_test(test_modes),
#endif
        cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

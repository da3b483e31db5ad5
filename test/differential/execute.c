#include "codegen/interface.h"
#include "codegen/llvm/emit_entry.h"
#include "codegen/llvm/jit.h"
#include "codegen/llvm/object.h"
#include "codegen/region.h"
#include "runtime/interp.h"
#include "test/differential/differential.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- inputs ---- */

/* Numbers that depend on nothing but the seed (splitmix64). */
static uint64_t next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int64_t lowest(qgc_dtype dtype)
{
    int bits = 8 * (int)qgc_dtype_bytes(dtype);
    return qgc_dtype_get_kind(dtype) == QGC_SIGNED ? -(INT64_C(1) << (bits - 1)) : 0;
}

static int64_t pick_integer(qgc_dtype dtype, const char *fill, uint64_t *state)
{
    uint64_t x = next(state);
    int64_t range = (int64_t)((UINT64_C(1) << (8 * qgc_dtype_bytes(dtype))) - 1);
    int64_t low = lowest(dtype), high = low + range;
    if (strcmp(fill, "low") == 0)
        return low;
    if (strcmp(fill, "high") == 0)
        return high;
    if (strcmp(fill, "ends") == 0)
        return x & 1 ? low : high;
    if (strcmp(fill, "zeros") == 0)
        return x % 7 ? 0 : low + (int64_t)((x >> 8) % ((uint64_t)range + 1));
    return low + (int64_t)((x >> 8) % ((uint64_t)range + 1));
}

static float pick_float(const char *fill, uint64_t *state)
{
    static const float special[] = {0.0F,   -0.0F, INFINITY, -INFINITY, NAN,       1.0F,
                                    -1.0F,  0.5F,  -2.5F,    1e-40F,    -3e-45F,   3.4e38F,
                                    1e-38F, 88.7F, -87.3F,   -103.98F,  8388609.0F};
    uint64_t x = next(state);
    float unit = (float)(x >> 40) / (float)(1 << 24);
    bool is_special = strcmp(fill, "special") == 0 && (x & 3) == 0;
    if (is_special)
        return special[(x >> 2) % (sizeof special / sizeof *special)];
    if (strcmp(fill, "wide") == 0)
        return ldexpf(x & 1 ? unit : -unit, (int)((x >> 8) % 240) - 130);
    if (strcmp(fill, "ends") == 0)
        return (float)((int)(x % 1201) - 600) / 2;
    return 12 * unit - 6;
}

static void fill_tensor(const qgc_tensor *tensor, const char *fill, uint64_t seed)
{
    uint64_t state = seed;
    size_t width = qgc_dtype_bytes(tensor->dtype), num = tensor->bytes / width;
    for (size_t i = 0; i < num; i++) {
        uint8_t *to = (uint8_t *)tensor->data + i * width;
        if (tensor->dtype == QGC_DTYPE_F32) {
            float f = pick_float(fill, &state);
            memcpy(to, &f, sizeof f);
            continue;
        }
        int64_t value = tensor->dtype == QGC_DTYPE_BOOL ? (int64_t)(next(&state) & 1)
                                                        : pick_integer(tensor->dtype, fill, &state);
        memcpy(to, &value, width); /* little-endian */
    }
}

static qgc_result make(test_graph *t, const qgc_type *type, qgc_tensor *out)
{
    int64_t shape[QGC_MAX_RANK];
    for (uint32_t i = 0; i < type->rank; i++)
        shape[i] = type->dims[i].value;
    return qgc_tensor_create(&t->context->diag, type->dtype, type->rank, shape, out);
}

/* ---- graphs ---- */

static qgc_result prepare(test_graph *t, uint32_t seed, const char *fill)
{
    const qgc_func *func = t->func;
    QGC_ASSERT(func->num_params <= TEST_MAX_PORTS && func->num_results <= TEST_MAX_PORTS,
               "too many ports");
    t->num_inputs = func->num_params;
    t->num_outputs = func->num_results;
    for (uint32_t i = 0; i < t->num_inputs; i++) {
        QGC_TRY(make(t, func->params[i].type, &t->inputs[i]));
        QGC_TRY(make(t, func->params[i].type, &t->other[i]));
        fill_tensor(&t->inputs[i], fill, seed + 7919 * (uint64_t)i);
        fill_tensor(&t->other[i], "random", ~(seed + (uint64_t)i));
    }
    return qgc_interp_run(func, t->inputs, t->want, &(qgc_interp_options){0});
}

qgc_result test_open(test_graph *t, qgc_str text, uint32_t seed, const char *fill)
{
    *t = (test_graph){.context = qgc_context_create()};
    t->module = qgc_module_parse(t->context, "graph.qir", text, 1, NULL);
    if (!t->module)
        return QGC_FAILED;
    t->func = qgc_module_find_func(t->module, qgc_context_name(t->context, "g"));
    return t->func ? prepare(t, seed, fill) : QGC_FAILED;
}

void test_forget(test_graph *t)
{
    for (uint32_t i = 0; i < t->num_outputs; i++)
        qgc_tensor_destroy(&t->got[i]);
}

void test_close(test_graph *t)
{
    for (uint32_t i = 0; i < t->num_inputs; i++) {
        qgc_tensor_destroy(&t->inputs[i]);
        qgc_tensor_destroy(&t->other[i]);
    }
    for (uint32_t i = 0; i < t->num_outputs; i++)
        qgc_tensor_destroy(&t->want[i]);
    test_forget(t);
    qgc_module_destroy(t->module);
    qgc_context_destroy(t->context);
}

/* ---- runs ---- */

bool test_parse_run(const char *text, test_run *out)
{
    char level[32], how[8], opt[8];
    if (sscanf(text, "%31[^:]:%7[^:]:%7s", level, how, opt) != 3)
        return false;
    const qgc_level *found = qgc_level_find(qgc_str_from(level));
    if (!found || !qgc_level_is_supported(found))
        return false;
    *out = (test_run){.level = *found,
                      .threads = strcmp(how, "jit2") == 0 ? 2 : 1,
                      .is_object = strcmp(how, "object") == 0};
    out->level.unoptimized = strcmp(opt, "off") == 0;
    return true;
}

static void addresses(const qgc_tensor *tensors, uint32_t num, void **out)
{
    for (uint32_t i = 0; i < num; i++)
        out[i] = tensors[i].data;
}

static size_t count_ref_steps(const qgc_plan *plan)
{
    size_t num = 0;
    for (size_t i = 0; i < plan->steps.size; i++)
        num += plan->steps.data[i]->kind == QGC_STEP_REF;
    return num;
}

static qgc_result execute_jit(test_graph *t, test_run *run)
{
    void *in[TEST_MAX_PORTS], *other[TEST_MAX_PORTS], *out[TEST_MAX_PORTS];
    qgc_region *region = NULL;
    qgc_pool *pool = qgc_pool_create(run->threads);
    qgc_region_options options = {.level = &run->level, .pool = pool, .shares_all = true};
    addresses(t->inputs, t->num_inputs, in);
    addresses(t->other, t->num_inputs, other);
    addresses(t->got, t->num_outputs, out);
    qgc_result result = qgc_region_compile(t->func, &options, &region);
    if (result == QGC_OK) {
        run->ref_steps = count_ref_steps(qgc_region_plan(region));
        result = qgc_region_run_on(region, (const void *const *)other, out);
    }
    if (result == QGC_OK)
        result = qgc_region_run_on(region, (const void *const *)in, out);
    qgc_region_destroy(region);
    qgc_pool_destroy(pool);
    return result;
}

/* The C function takes one address for each input and output and the arena. */
static int call(void *function, void *const *a, size_t num)
{
    typedef void *p;
    union {
        void *address;
        int (*f3)(p, p, p);
        int (*f4)(p, p, p, p);
        int (*f5)(p, p, p, p, p);
        int (*f6)(p, p, p, p, p, p);
        int (*f7)(p, p, p, p, p, p, p);
    } f = {function};
    switch (num) {
    case 3:
        return f.f3(a[0], a[1], a[2]);
    case 4:
        return f.f4(a[0], a[1], a[2], a[3]);
    case 5:
        return f.f5(a[0], a[1], a[2], a[3], a[4]);
    case 6:
        return f.f6(a[0], a[1], a[2], a[3], a[4], a[5]);
    case 7:
        return f.f7(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    default:
        QGC_ASSERT(false, "%zu arguments", num);
        return 1;
    }
}

static qgc_result call_twice(test_graph *t, void *function, size_t arena_bytes)
{
    void *arguments[2 * TEST_MAX_PORTS + 1];
    size_t bytes = (arena_bytes + 63) / 64 * 64 + 64, num = t->num_inputs + t->num_outputs;
    void *arena = aligned_alloc(64, bytes);
    memset(arena, 0xa5, bytes);
    addresses(t->got, t->num_outputs, arguments + t->num_inputs);
    arguments[num] = arena;
    addresses(t->other, t->num_inputs, arguments);
    int failed = call(function, arguments, num + 1);
    addresses(t->inputs, t->num_inputs, arguments);
    failed |= call(function, arguments, num + 1);
    free(arena);
    return failed ? qgc_report(&t->context->diag, QGC_NO_LOC, QGC_D_RUN_FAILED,
                               "the object's function returned %d", failed)
                  : QGC_OK;
}

static qgc_result write_object(test_graph *t, const test_run *run, const qgc_interface *interface,
                               qgc_str *out)
{
    qgc_object *object;
    QGC_TRY(qgc_object_create(&t->context->diag, &run->level, interface->prefix, &object));
    qgc_emit_entry(qgc_object_emitter(object), &interface->entries.data[0]);
    qgc_result result = qgc_object_finish(object, QGC_EMIT_PASSES);
    if (result == QGC_OK)
        result = qgc_object_write(object, QGC_OBJECT_CODE, interface->arena, out);
    qgc_object_destroy(object);
    return result;
}

static qgc_result run_object(test_graph *t, const test_run *run, const qgc_plan *plan,
                             qgc_arena *arena)
{
    qgc_interface interface;
    qgc_str bytes;
    qgc_jit *jit;
    qgc_interface_init(&interface, arena, qgc_str_from("t"), "a graph", run->level.name);
    qgc_interface_add(&interface, plan);
    QGC_TRY(write_object(t, run, &interface, &bytes));
    QGC_TRY(qgc_jit_create(&t->context->diag, &run->level, &jit));
    qgc_result result = qgc_jit_add_object(jit, bytes);
    void *function = result == QGC_OK ? qgc_jit_find(jit, interface.entries.data[0].symbol) : NULL;
    result = function ? call_twice(t, function, plan->arena_bytes) : QGC_FAILED;
    qgc_jit_destroy(jit);
    return result;
}

static qgc_result execute_object(test_graph *t, test_run *run)
{
    qgc_plan_target target = qgc_level_target(&run->level);
    qgc_plan *plan = qgc_plan_create(t->func, &target);
    qgc_arena arena = {0};
    if (!plan)
        return QGC_FAILED;
    run->ref_steps = count_ref_steps(plan);
    qgc_result result = run->ref_steps
                            ? qgc_report(&t->context->diag, QGC_NO_LOC, QGC_D_NOT_COMPILED,
                                         "%zu steps have no kernel", run->ref_steps)
                            : run_object(t, run, plan, &arena);
    qgc_plan_destroy(plan);
    qgc_arena_destroy(&arena);
    return result;
}

qgc_result test_execute(test_graph *t, test_run *run)
{
    for (uint32_t i = 0; i < t->num_outputs; i++) {
        QGC_TRY(make(t, t->func->last->operands[i].value->type, &t->got[i]));
        memset(t->got[i].data, 0x5a, t->got[i].bytes);
    }
    return run->is_object ? execute_object(t, run) : execute_jit(t, run);
}

/* ---- results ---- */

static void print_element(const qgc_tensor *t, size_t i, char *out, size_t size)
{
    const char *data = t->data;
    int64_t integer = 0;
    float f;
    size_t width = qgc_dtype_bytes(t->dtype);
    if (t->dtype == QGC_DTYPE_F32) {
        memcpy(&f, data + i * width, sizeof f);
        snprintf(out, size, "%a", (double)f);
        return;
    }
    memcpy(&integer, data + i * width, width);
    snprintf(out, size, "0x%llx", (unsigned long long)integer);
}

bool test_compare(const test_graph *t, char *detail, size_t size)
{
    for (uint32_t i = 0; i < t->num_outputs; i++) {
        size_t at = qgc_tensor_first_difference(&t->want[i], &t->got[i]);
        char want[32], got[32];
        if (at == SIZE_MAX)
            continue;
        print_element(&t->want[i], at, want, sizeof want);
        print_element(&t->got[i], at, got, sizeof got);
        snprintf(detail, size, "result %u, element %zu: ref %s, compiled %s", i, at, want, got);
        return false;
    }
    return true;
}

void test_save(test_graph *t, const char *prefix, unsigned index)
{
    char path[512];
    qgc_tensors inputs = {0};
    snprintf(path, sizeof path, "%s%u.qir", prefix, index);
    FILE *out = fopen(path, "w");
    if (!out)
        return;
    qgc_module_write(t->module, out);
    fclose(out);
    for (uint32_t i = 0; i < t->num_inputs; i++)
        qgc_tensors_add(t->context, t->func->params[i].name->data, &t->inputs[i], &inputs);
    snprintf(path, sizeof path, "%s%u.npz", prefix, index);
    qgc_tensors_write(t->context, path, &inputs);
    qgc_tensors_free(&inputs);
}

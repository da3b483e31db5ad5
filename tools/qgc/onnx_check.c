/* qgc onnx-check: one case of ONNX's test suite, DIRECTORY/model.onnx with the tensors of
 * test_data_set_N/input_I.pb and output_I.pb. Prints "pass" or what differs. */
#include "input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct check {
    invocation *call;
    qgc_module *module;
    double rtol, atol;
    int num_wrong;
} check;

static bool data_path(char *out, size_t size, const check *c, int set, const char *kind, int index)
{
    snprintf(out, size, "%s/test_data_set_%d/%s_%d.pb", c->call->files[0], set, kind, index);
    return access(out, F_OK) == 0;
}

/* The suite of ONNX 1.12 stores bfloat16 as uint16. */
static void fix_bfloat16(qgc_tensor *tensor, qgc_dtype wanted)
{
    if (tensor->dtype == QGC_DTYPE_U16 && wanted == QGC_DTYPE_BF16)
        tensor->dtype = wanted;
}

static qgc_result read_inputs(check *c, int set, qgc_tensors *inputs)
{
    char path[4096];
    const char *name;
    qgc_dtype dtype;
    for (int i = 0; (name = qgc_module_param(c->module, "main", (size_t)i, &dtype)); i++) {
        if (!data_path(path, sizeof path, c, set, "input", i))
            continue;
        if (qgc_onnx_tensor_read(c->call->context, path, name, inputs) != QGC_OK)
            return QGC_FAILED;
        fix_bfloat16(&inputs->items[inputs->num - 1].tensor, dtype);
    }
    return QGC_OK;
}

static float from_half(uint16_t bits, int exponent_bits)
{
    int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
    float fraction = (float)(bits & ((1 << fraction_bits) - 1)) / (float)(1 << fraction_bits);
    float value = exponent == (1 << exponent_bits) - 1 ? (fraction != 0 ? NAN : INFINITY)
                  : exponent                           ? ldexpf(1 + fraction, exponent - bias)
                                                       : ldexpf(fraction, 1 - bias);
    return bits >> 15 ? -value : value;
}

static double element(const qgc_tensor *t, size_t i)
{
    switch (t->dtype) {
    case QGC_DTYPE_F32:
        return (double)((const float *)t->data)[i];
    case QGC_DTYPE_F64:
        return ((const double *)t->data)[i];
    case QGC_DTYPE_F16:
        return (double)from_half(((const uint16_t *)t->data)[i], 5);
    case QGC_DTYPE_BF16:
        return (double)from_half(((const uint16_t *)t->data)[i], 8);
    case QGC_DTYPE_I8:
        return ((const int8_t *)t->data)[i];
    case QGC_DTYPE_I16:
        return ((const int16_t *)t->data)[i];
    case QGC_DTYPE_U16:
        return ((const uint16_t *)t->data)[i];
    case QGC_DTYPE_I32:
        return ((const int32_t *)t->data)[i];
    case QGC_DTYPE_U32:
        return ((const uint32_t *)t->data)[i];
    case QGC_DTYPE_I64:
        return (double)((const int64_t *)t->data)[i];
    case QGC_DTYPE_U64:
        return (double)((const uint64_t *)t->data)[i];
    default:
        return ((const uint8_t *)t->data)[i];
    }
}

static bool is_close(const check *c, double found, double expected)
{
    if (isnan(found) || isnan(expected))
        return isnan(found) && isnan(expected);
    if (isinf(found) || isinf(expected))
        return found == expected;
    return fabs(found - expected) <= c->atol + c->rtol * fabs(expected);
}

static void print_type(const qgc_tensor *t)
{
    printf("%s[", qgc_dtype_name(t->dtype));
    for (uint32_t i = 0; i < t->rank; i++)
        printf("%s%lld", i ? "," : "", (long long)t->shape[i]);
    printf("]");
}

static void compare(check *c, const char *name, const qgc_tensor *found, const qgc_tensor *expected)
{
    bool same = found->dtype == expected->dtype && found->rank == expected->rank &&
                (!found->rank ||
                 memcmp(found->shape, expected->shape, found->rank * sizeof *found->shape) == 0);
    if (!same) {
        printf("wrong: %s is ", name);
        print_type(found);
        printf(", expected ");
        print_type(expected);
        printf("\n");
        c->num_wrong++;
        return;
    }
    size_t count = found->bytes / qgc_dtype_bytes(found->dtype), differ = 0, first = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_close(c, element(found, i), element(expected, i)) && differ++ == 0)
            first = i;
    if (!differ)
        return;
    printf("wrong: %s: %zu of %zu elements differ, at %zu %.9g, expected %.9g\n", name, differ,
           count, first, element(found, first), element(expected, first));
    c->num_wrong++;
}

static qgc_result compare_outputs(check *c, int set, const qgc_tensors *outputs)
{
    char path[4096];
    for (size_t i = 0; i < outputs->num; i++) {
        qgc_tensors expected = {0};
        if (!data_path(path, sizeof path, c, set, "output", (int)i))
            continue;
        if (qgc_onnx_tensor_read(c->call->context, path, NULL, &expected) != QGC_OK)
            return QGC_FAILED;
        fix_bfloat16(&expected.items[0].tensor, outputs->items[i].tensor.dtype);
        compare(c, outputs->items[i].name, &outputs->items[i].tensor, &expected.items[0].tensor);
        qgc_tensors_free(&expected);
    }
    return QGC_OK;
}

static qgc_result run_set(check *c, int set)
{
    qgc_tensors inputs = {0}, outputs = {0};
    qgc_result result = read_inputs(c, set, &inputs);
    if (result == QGC_OK)
        result = qgc_module_run(c->module, "main", NULL, &inputs, &outputs);
    if (result == QGC_OK)
        result = compare_outputs(c, set, &outputs);
    qgc_tensors_free(&inputs);
    qgc_tensors_free(&outputs);
    return result;
}

static qgc_result run_sets(check *c)
{
    char path[4096];
    int set = 0;
    for (; data_path(path, sizeof path, c, set, "output", 0); set++)
        if (run_set(c, set) != QGC_OK)
            return QGC_FAILED;
    if (!set)
        return qgc_context_usage_error(c->call->context, "%s has no test_data_set_0/output_0.pb",
                                       c->call->files[0]);
    return QGC_OK;
}

static double tolerance(const invocation *call, const char *name, double otherwise)
{
    const char *text = get_option(call, name);
    return text ? strtod(text, NULL) : otherwise;
}

int run_onnx_check(invocation *call)
{
    check c = {.call = call,
               .rtol = tolerance(call, "--rtol", 1e-3),
               .atol = tolerance(call, "--atol", 1e-7)};
    char path[4096];
    const char *model = get_option(call, "--model");
    snprintf(path, sizeof path, "%s/model.onnx", call->files[0]);
    c.module = qgc_module_read(call->context, model ? model : path);
    qgc_result result = c.module ? run_sets(&c) : QGC_FAILED;
    qgc_module_destroy(c.module);
    if (result != QGC_OK)
        return fail(call);
    flush_diagnostics(call);
    if (!c.num_wrong)
        printf("pass\n");
    return c.num_wrong ? EXIT_LIMIT : EXIT_DONE;
}

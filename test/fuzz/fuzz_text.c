/* The parser on any bytes, as a module, as rules and as patterns: errors are reported, nothing
 * crashes, and what was accepted prints to a text that is accepted again and prints the same.
 * Passes run over accepted modules. */
#include "qgc/qgc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_INPUT = 1 << 14 };

typedef qgc_result print_fn(qgc_context *context, qgc_str text, FILE *out);

static qgc_result print_module(qgc_context *context, qgc_str text, FILE *out)
{
    qgc_module *module = qgc_module_parse(context, "fuzz", text, 1, NULL);
    if (!module)
        return QGC_FAILED;
    qgc_module_write(module, out);
    qgc_module_destroy(module);
    return QGC_OK;
}

static qgc_result print_optimized(qgc_context *context, qgc_str text, FILE *out)
{
    qgc_pipeline_options options = {.verify_each = true};
    qgc_module *module = qgc_module_parse(context, "fuzz", text, 1, NULL);
    if (!module)
        return QGC_FAILED;
    qgc_pipeline_run(module, "infer-shapes,canonicalize,cse,const-fold{max-bytes=4096},dce",
                     &options);
    if (qgc_context_num_errors(context) == 0)
        qgc_module_write(module, out);
    qgc_module_destroy(module);
    return QGC_OK;
}

static qgc_result print_rules(qgc_context *context, qgc_str text, FILE *out)
{
    return qgc_rules_write(context, "fuzz", text, 1, out);
}

static qgc_result print_patterns(qgc_context *context, qgc_str text, FILE *out)
{
    return qgc_patterns_write(context, "fuzz", text, 1, out);
}

/* The printed text, to be freed, or NULL where the input was refused. */
static char *print(print_fn *fn, const char *data, size_t size, size_t *out_size)
{
    char *printed = NULL;
    FILE *out = open_memstream(&printed, out_size);
    qgc_context *context = qgc_context_create();
    qgc_result result = fn(context, (qgc_str){data, size}, out);
    fclose(out);
    FILE *null = fopen("/dev/null", "w");
    if (null) {
        qgc_context_flush(context, null, QGC_DIAG_TEXT, true);
        fclose(null);
    }
    qgc_context_destroy(context);
    if (result == QGC_OK)
        return printed;
    free(printed);
    return NULL;
}

static void check_fixed_point(print_fn *fn, const char *data, size_t size)
{
    size_t first_size, second_size;
    char *first = print(fn, data, size, &first_size);
    if (!first)
        return;
    char *second = print(fn, first, first_size, &second_size);
    if (!second || first_size != second_size || memcmp(first, second, first_size) != 0) {
        fprintf(stderr, "---- printed\n%s\n---- printed again\n%s\n", first,
                second ? second : "refused");
        abort();
    }
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > MAX_INPUT)
        return 0;
    size_t ignored;
    check_fixed_point(print_module, (const char *)data, size);
    check_fixed_point(print_rules, (const char *)data, size);
    check_fixed_point(print_patterns, (const char *)data, size);
    free(print(print_optimized, (const char *)data, size, &ignored));
    return 0;
}

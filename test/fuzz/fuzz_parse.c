/* The text front end on any bytes: a module, a rules file and a patterns file. What is accepted
 * prints, and the print is a fixed point of parse and print. */
#include "qgc/qgc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A print and whether there was one. */
typedef struct printed {
    char *data;
    size_t size;
    bool is_valid;
} printed;

typedef qgc_result write_fn(qgc_context *context, qgc_str text, FILE *out);

static qgc_result write_module(qgc_context *context, qgc_str text, FILE *out)
{
    qgc_module *module = qgc_module_parse(context, "fuzz", text, 1, NULL);
    if (!module)
        return QGC_FAILED;
    qgc_module_write(module, out);
    qgc_module_destroy(module);
    return QGC_OK;
}

static qgc_result write_rules(qgc_context *context, qgc_str text, FILE *out)
{
    return qgc_rules_write(context, "fuzz", text, 1, out);
}

static qgc_result write_patterns(qgc_context *context, qgc_str text, FILE *out)
{
    return qgc_patterns_write(context, "fuzz", text, 1, out);
}

static void fail(const char *what, const printed *first, const printed *second)
{
    fprintf(stderr, "%s\n", what);
    fwrite(first->data, 1, first->size, stderr);
    if (second)
        fprintf(stderr, "--- again:\n%s\n", second->data);
    abort();
}

static printed print_once(write_fn *write, qgc_str text)
{
    printed result = {0};
    FILE *out = open_memstream(&result.data, &result.size);
    qgc_context *context = qgc_context_create();
    result.is_valid = write(context, text, out) == QGC_OK;
    fclose(out);
    if (result.is_valid != (qgc_context_num_errors(context) == 0))
        fail("result and reports disagree", &result, NULL);
    char *report = NULL;
    size_t report_size = 0;
    FILE *sink = open_memstream(&report, &report_size);
    qgc_context_flush(context, sink, QGC_DIAG_TEXT, false);
    fclose(sink);
    free(report);
    qgc_context_destroy(context);
    return result;
}

static void check(write_fn *write, qgc_str text)
{
    printed first = print_once(write, text);
    if (first.is_valid) {
        printed second = print_once(write, (qgc_str){first.data, first.size});
        if (!second.is_valid || first.size != second.size ||
            memcmp(first.data, second.data, first.size) != 0)
            fail("the print is no fixed point", &first, &second);
        free(second.data);
    }
    free(first.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    /* Texts are followed by a NUL byte, as files are. */
    char *copy = malloc(size + 1);
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    qgc_str text = {copy, size};
    check(write_module, text);
    check(write_rules, text);
    check(write_patterns, text);
    free(copy);
    return 0;
}

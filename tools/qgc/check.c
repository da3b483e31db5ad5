/* qgc check: findings, and the types of the ops. */
#include "input.h"
#include "output.h"

#include <string.h>

typedef struct sink {
    bool is_json;
} sink;

static void put_row(void *user, const char *op, const char *types, size_t num)
{
    const sink *s = user;
    if (!s->is_json) {
        printf("%6zu  %-20s %s\n", num, op, types);
        return;
    }
    printf("{\"kind\": \"types\", \"op\": ");
    put_json_string(stdout, op);
    printf(", \"types\": ");
    put_json_string(stdout, types);
    printf(", \"num\": %zu}\n", num);
}

static qgc_result check(invocation *call, qgc_module *module, qgc_module *stats, size_t *warnings)
{
    const char *format = get_option(call, "--diag-format");
    sink s = {format && strcmp(format, "json") == 0};
    const qgc_structure_options options = {.rules = get_option(call, "--rules"), .stats = stats};
    QGC_CHECK(qgc_module_check(module, &options, warnings));
    qgc_context_flush(call->context, stdout, s.is_json ? QGC_DIAG_JSON : QGC_DIAG_TEXT, false);
    if (!s.is_json)
        printf("%zu warning%s\n\n   num  op                   types\n", *warnings,
               *warnings == 1 ? "" : "s");
    qgc_module_types(module, put_row, &s);
    return QGC_OK;
}

int run_check(invocation *call)
{
    const char *from = get_option(call, "--stats");
    size_t warnings = 0;
    qgc_module *module = qgc_module_read(call->context, call->files[0]);
    qgc_module *stats = module && from ? qgc_module_read(call->context, from) : NULL;
    qgc_result result =
        module && (!from || stats) ? check(call, module, stats, &warnings) : QGC_FAILED;
    qgc_module_destroy(stats);
    qgc_module_destroy(module);
    if (result != QGC_OK)
        return fail(call);
    return warnings && has_option(call, "--strict") ? EXIT_LIMIT : EXIT_DONE;
}

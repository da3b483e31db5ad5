/* qgc check: findings, and the types of the ops, as text, JSON lines and a page. */
#include "findings.h"
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

/* ---- the page ---- */

typedef struct check_page {
    const finding_list *findings;
    qgc_module *module;
    const char *path;
} check_page;

static void write_html(FILE *out, const void *report)
{
    const check_page *p = report;
    findings_write_page(out, p->findings, p->module, p->path);
}

static qgc_result write_page(invocation *call, qgc_module *module, const finding_list *findings)
{
    const char *path = get_option(call, "-o");
    check_page page = {findings, module, call->files[0]};
    if (!path)
        return QGC_OK;
    if (findings->failed)
        return qgc_context_usage_error(call->context, "%s: not enough memory for the page", path);
    return write_output(call, path, write_html, &page);
}

/* ---- the command ---- */

static qgc_result check(invocation *call, qgc_module *module, qgc_module *stats,
                        finding_list *findings)
{
    const char *format = get_option(call, "--diag-format");
    sink s = {format && strcmp(format, "json") == 0};
    size_t warnings;
    const qgc_structure_options options = {.rules = get_option(call, "--rules"),
                                           .stats = stats,
                                           .finding = findings_add,
                                           .user = findings};
    if (options.rules && !has_form(module, "float"))
        return qgc_context_usage_error(
            call->context,
            "--rules is for a float graph, %s is %s: what the rules said "
            "stands in it",
            call->files[0], qgc_module_form(module));
    QGC_CHECK(qgc_module_check(module, &options, &warnings));
    qgc_context_flush(call->context, stdout, s.is_json ? QGC_DIAG_JSON : QGC_DIAG_TEXT, false);
    if (!s.is_json)
        printf("%zu warning%s\n\n   num  op                   types\n", warnings,
               warnings == 1 ? "" : "s");
    qgc_module_types(module, put_row, &s);
    return write_page(call, module, findings);
}

int run_check(invocation *call)
{
    const char *from = get_option(call, "--stats"), *page = get_option(call, "-o");
    if (page && strcmp(page, "-") == 0) {
        qgc_context_usage_error(call->context, "qgc check -o: expected a file for the page");
        return fail(call);
    }
    finding_list findings = {0};
    const char *const paths[] = {call->files[0], from};
    qgc_module *modules[2] = {NULL, NULL};
    qgc_result result = read_modules(call, paths, from ? 2 : 1, modules);
    if (result == QGC_OK)
        result = check(call, modules[0], modules[1], &findings);
    size_t warnings = findings.num_warnings;
    findings_free(&findings);
    qgc_module_destroy(modules[1]);
    qgc_module_destroy(modules[0]);
    if (result != QGC_OK)
        return fail(call);
    return warnings && has_option(call, "--strict") ? EXIT_LIMIT : EXIT_DONE;
}

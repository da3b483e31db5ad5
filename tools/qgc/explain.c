/* qgc explain: what becomes of each op, by region, and the story of one value. */
#include "input.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

typedef struct explanation {
    qgc_explain *explain;
    qgc_module *module;
    const char *path, *target;
    qgc_engine *engine; /* NULL: the graph is not one that has kernels */
} explanation;

typedef struct totals {
    size_t ops[QGC_NUM_FATES], all;
    double macs[3], all_macs; /* 8 bits, 16 bits, float */
} totals;

static totals count(const qgc_explain *explain)
{
    totals t = {0};
    const qgc_explained_op *op;
    for (size_t i = 0; (op = qgc_explain_op(explain, i)); i++) {
        t.ops[op->fate]++;
        t.all++;
        t.macs[op->bits == 8 ? 0 : op->bits ? 1 : 2] += op->macs;
        t.all_macs += op->macs;
    }
    return t;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* ---- text ---- */

static void put_totals(FILE *out, const explanation *x)
{
    totals t = count(x->explain);
    qgc_explained_rest rest = qgc_explain_rest(x->explain);
    fprintf(out, "%s: %s, %s target %s\n", x->path, qgc_module_form(x->module),
            qgc_explain_is_forecast(x->explain) ? "before calibration, for" : "for", x->target);
    fprintf(out, "ops   %zu =", t.all);
    for (int fate = 0; fate < QGC_NUM_FATES; fate++)
        if (fate != QGC_FATE_INTEGER || t.ops[fate])
            fprintf(out, "%s %zu %s", fate ? " +" : "", t.ops[fate], qgc_fate_name(fate));
    fprintf(out, "\nrest  %zu constants, %zu steps of quantization, %zu calls\n", rest.constants,
            rest.steps, rest.calls);
    if (t.all_macs > 0)
        fprintf(out, "MACs  %.4g M: %.1f %% in 8 bits, %.1f %% in 16 bits, %.1f %% in float\n",
                t.all_macs / 1e6, percent(t.macs[0], t.all_macs), percent(t.macs[1], t.all_macs),
                percent(t.macs[2], t.all_macs));
}

/* "12 conv2d, 3 add": the ops of the region, by kind, in the order of first appearance. */
static void put_kinds(FILE *out, const qgc_explain *explain, const char *region)
{
    const qgc_explained_op *op, *other;
    const char *comma = "";
    for (size_t i = 0; (op = qgc_explain_op(explain, i)); i++) {
        size_t num = 0, before = 0;
        if (!op->region || strcmp(op->region, region) != 0)
            continue;
        for (size_t k = 0; (other = qgc_explain_op(explain, k)); k++) {
            bool same = other->region && strcmp(other->region, region) == 0 &&
                        strcmp(other->op, op->op) == 0;
            num += same;
            before += same && k < i;
        }
        if (!before)
            fprintf(out, "%s%zu %s", comma, num, op->op);
        comma = before && !comma[0] ? "" : ", ";
    }
    fputc('\n', out);
}

static void put_regions(FILE *out, const explanation *x)
{
    double all = count(x->explain).all_macs;
    const qgc_explained_region *region;
    for (size_t i = 0; (region = qgc_explain_region(x->explain, i)); i++) {
        fprintf(out, "\nregion %s: %zu ops, %.1f %% of the MACs\n", region->name, region->ops,
                percent(region->macs, all));
        fprintf(out, "  begins  %s\n  ends    %s\n  ops     ", region->begins, region->ends);
        put_kinds(out, x->explain, region->name);
    }
}

static void put_op(FILE *out, const qgc_explained_op *op)
{
    if (op->file)
        fprintf(out, "  %s:%u: ", op->file, op->line);
    else
        fputs("  ", out);
    fprintf(out, "%s %s%s%s\n", op->op, op->value ? op->value : "", op->how ? ": " : "",
            op->how ? op->how : "");
    if (op->fix)
        fprintf(out, "    fix: %s\n", op->fix);
    if (op->rule)
        fprintf(out, "    rule: %s\n", op->rule);
}

static void put_fate(FILE *out, const explanation *x, qgc_fate fate, const char *title)
{
    const qgc_explained_op *op;
    bool any = false;
    for (size_t i = 0; (op = qgc_explain_op(x->explain, i)); i++) {
        if (op->fate != fate)
            continue;
        if (!any)
            fprintf(out, "\n%s\n", title);
        any = true;
        put_op(out, op);
    }
}

static void write_text(FILE *out, const void *report)
{
    const explanation *x = report;
    put_totals(out, x);
    put_regions(out, x);
    put_fate(out, x, QGC_FATE_UNCLAIMED, "not claimed");
    put_fate(out, x, QGC_FATE_INTEGER, "integer");
    put_fate(out, x, QGC_FATE_FLOAT, "float");
    put_fate(out, x, QGC_FATE_GONE, "gone");
}

/* Also what becomes of every claimed op. */
static void write_all(FILE *out, const void *report)
{
    const explanation *x = report;
    write_text(out, report);
    put_fate(out, x, QGC_FATE_CLAIMED, "claimed");
}

/* ---- JSON lines ---- */

static void put_member(FILE *out, const char *name, const char *text)
{
    if (!text)
        return;
    fprintf(out, ", \"%s\": ", name);
    put_json_string(out, text);
}

static void put_op_object(FILE *out, const qgc_explained_op *op)
{
    fprintf(out, "{\"kind\": \"op\", \"op\": \"%s\", \"fate\": \"%s\"", op->op,
            qgc_fate_name(op->fate));
    put_member(out, "value", op->value);
    put_member(out, "scope", op->scope);
    put_member(out, "file", op->file);
    if (op->file)
        fprintf(out, ", \"line\": %u", op->line);
    put_member(out, "region", op->region);
    put_member(out, "how", op->how);
    put_member(out, "fix", op->fix);
    put_member(out, "rule", op->rule);
    fprintf(out, ", \"macs\": %.17g, \"bits\": %u}\n", op->macs, op->bits);
}

static void write_json(FILE *out, const void *report)
{
    const explanation *x = report;
    const qgc_explained_op *op;
    const qgc_explained_region *region;
    qgc_explained_rest rest = qgc_explain_rest(x->explain);
    fputs("{\"kind\": \"graph\"", out);
    put_member(out, "file", x->path);
    put_member(out, "form", qgc_module_form(x->module));
    put_member(out, "target", x->target);
    fprintf(out, ", \"constants\": %zu, \"steps\": %zu, \"calls\": %zu, \"forecast\": %s}\n",
            rest.constants, rest.steps, rest.calls,
            qgc_explain_is_forecast(x->explain) ? "true" : "false");
    for (size_t i = 0; (region = qgc_explain_region(x->explain, i)); i++) {
        fprintf(out, "{\"kind\": \"region\", \"ops\": %zu, \"macs\": %.17g", region->ops,
                region->macs);
        put_member(out, "name", region->name);
        put_member(out, "target", region->target);
        put_member(out, "begins", region->begins);
        put_member(out, "ends", region->ends);
        fputs("}\n", out);
    }
    for (size_t i = 0; (op = qgc_explain_op(x->explain, i)); i++)
        put_op_object(out, op);
}

/* ---- one value ---- */

typedef struct story {
    FILE *out;
    bool is_json;
} story;

static void put_line(void *user, const char *key, const char *text)
{
    const story *s = user;
    if (!s->is_json) {
        fprintf(s->out, "%-15s  %s\n", key, text);
        return;
    }
    fputs("{\"key\": ", s->out);
    put_json_string(s->out, key);
    put_member(s->out, "text", text);
    fputs("}\n", s->out);
}

/* The plan's lines that make the value. */
static void put_kernels(story *s, const explanation *x, const char *value)
{
    char *text = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size);
    if (!lines)
        return;
    qgc_engine_print_steps(x->engine, value, lines);
    fclose(lines);
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")))
        if (*line)
            put_line(s, "kernel", line);
    free(text);
}

static qgc_result tell_value(invocation *call, const explanation *x, const char *value, bool json)
{
    story s = {stdout, json};
    QGC_CHECK(qgc_explain_value(x->explain, value, put_line, &s));
    if (x->engine)
        put_kernels(&s, x, value);
    else if (has_form(x->module, "lowered"))
        put_line(&s, "kernel", "not planned: give symbols numbers (--set)");
    (void)call;
    return QGC_OK;
}

/* ---- */

static qgc_result explain_module(invocation *call, explanation *x, const char *format)
{
    bool json = format && strcmp(format, "json") == 0;
    const char *path = get_option(call, "-o");
    if (call->num_files == 2 && path)
        return qgc_context_usage_error(call->context, "-o is for the summary, not for a value");
    if (call->num_files == 2)
        return tell_value(call, x, call->files[1], json);
    output_writer *write = json ? write_json : has_option(call, "--all") ? write_all : write_text;
    return write_output(call, path ? path : "-", write, x);
}

static qgc_result run(invocation *call, explanation *x, qgc_module *stats)
{
    const qgc_explain_options options = {.target = get_option(call, "--target"),
                                         .rules = get_option(call, "--rules"),
                                         .method = get_option(call, "--method"),
                                         .stats = stats};
    bool is_lowered = has_form(x->module, "lowered");
    x->explain = qgc_explain_create(x->module, &options);
    if (!x->explain)
        return QGC_FAILED;
    if (is_lowered && call->num_files == 2)
        QGC_CHECK(qgc_engine_create(x->module, "native", &x->engine));
    return explain_module(call, x, get_option(call, "--format"));
}

int run_explain(invocation *call)
{
    const char *target = get_option(call, "--target"), *from = get_option(call, "--stats");
    explanation x = {.path = call->files[0], .target = target ? target : "cpu"};
    qgc_module *stats = NULL;
    x.module = read_module(call, x.path);
    qgc_result result = x.module ? QGC_OK : QGC_FAILED;
    if (result == QGC_OK && from) {
        stats = qgc_module_read(call->context, from);
        result = stats ? QGC_OK : QGC_FAILED;
    }
    if (result == QGC_OK)
        result = run(call, &x, stats);
    qgc_engine_destroy(x.engine);
    qgc_explain_destroy(x.explain);
    qgc_module_destroy(stats);
    qgc_module_destroy(x.module);
    if (result != QGC_OK)
        return fail(call);
    flush_diagnostics(call);
    return EXIT_DONE;
}

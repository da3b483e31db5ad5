/* qgc diff: what changed between two graphs, as text, JSON and a page. */
#include "diff.h"
#include "input.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

typedef struct comparison {
    const char *paths[2]; /* reference, current */
    qgc_module *modules[2];
    const qgc_diff *diff;
} comparison;

/* ---- text ---- */

static void put_summary(FILE *out, const qgc_diff *diff)
{
    size_t num = qgc_diff_num_differences(diff);
    if (!num) {
        fprintf(out, "equal: %zu rows\n", qgc_diff_num_rows(diff));
        return;
    }
    fprintf(out, "%zu difference%s:", num, num == 1 ? "" : "s");
    const char *comma = "";
    for (int kind = 0; kind < QGC_NUM_DIFF_CLASSES; kind++)
        if (qgc_diff_count(diff, kind)) {
            fprintf(out, "%s %zu %s", comma, qgc_diff_count(diff, kind), qgc_diff_class_name(kind));
            comma = ",";
        }
    fprintf(out, "\n");
}

static void put_difference(FILE *out, const qgc_diff *diff, size_t i)
{
    const qgc_difference *d = qgc_diff_difference_at(diff, i);
    const qgc_diff_row *row = qgc_diff_row_at(diff, d->row);
    fprintf(out, "%s: %s: %s\n", d->value ? d->value : "return", qgc_diff_class_name(d->kind),
            d->what);
    if (i + 1 < row->first + row->num)
        return; /* the lines stand behind the last of the row */
    if (row->left)
        fprintf(out, "- %s\n", row->left);
    if (row->right)
        fprintf(out, "+ %s\n", row->right);
}

static void write_text(FILE *out, const void *report)
{
    const comparison *c = report;
    if (qgc_diff_num_differences(c->diff))
        fprintf(out, "--- %s\n+++ %s\n", c->paths[0], c->paths[1]);
    for (size_t i = 0; i < qgc_diff_num_differences(c->diff); i++)
        put_difference(out, c->diff, i);
    put_summary(out, c->diff);
}

/* ---- JSON ---- */

static void put_field(FILE *out, const char *name, const char *text)
{
    fprintf(out, ", \"%s\": ", name);
    if (text)
        put_json_string(out, text);
    else
        fputs("null", out);
}

static void put_difference_object(FILE *out, const qgc_diff *diff, const qgc_difference *d)
{
    const qgc_diff_row *row = qgc_diff_row_at(diff, d->row);
    fprintf(out, "\n  {\"class\": \"%s\"", qgc_diff_class_name(d->kind));
    put_field(out, "value", row->value);
    put_field(out, "left", row->left_name);
    put_field(out, "right", row->right_name);
    put_field(out, "what", d->what);
    fputs(", \"distance\": ", out);
    put_json_number(out, d->distance);
    put_field(out, "left_line", row->left);
    put_field(out, "right_line", row->right);
    fputc('}', out);
}

static void put_counts(FILE *out, const qgc_diff *diff)
{
    fputs(" \"counts\": {", out);
    for (int kind = 0; kind < QGC_NUM_DIFF_CLASSES; kind++)
        fprintf(out, "%s\"%s\": %zu", kind ? ", " : "", qgc_diff_class_name(kind),
                qgc_diff_count(diff, kind));
    fputs("},\n", out);
}

static void write_json(FILE *out, const void *report)
{
    const comparison *c = report;
    size_t num = qgc_diff_num_differences(c->diff);
    static const char *const SIDES[] = {"left", "right"};
    fprintf(out, "{\n");
    for (int i = 0; i < 2; i++) {
        fprintf(out, " \"%s\": ", SIDES[i]);
        put_json_string(out, c->paths[i]);
        fprintf(out, ", \"%s_form\": \"%s\",\n", SIDES[i], qgc_module_form(c->modules[i]));
    }
    fprintf(out, " \"equal\": %s, \"renamed\": %zu,\n", num ? "false" : "true",
            qgc_diff_num_renamed(c->diff));
    put_counts(out, c->diff);
    fputs(" \"differences\": [", out);
    for (size_t i = 0; i < num; i++) {
        fputs(i ? "," : "", out);
        put_difference_object(out, c->diff, qgc_diff_difference_at(c->diff, i));
    }
    fputs(num ? "\n ]\n}\n" : "]\n}\n", out);
}

/* ---- the command ---- */

static void write_html(FILE *out, const void *report)
{
    const comparison *c = report;
    diff_write_page(out, c->diff, c->paths[0], c->paths[1]);
}

static const struct format {
    const char *ending;
    output_writer *write;
} formats[] = {{".json", write_json}, {".html", write_html}, {"", write_text}};

static qgc_result write_outputs(invocation *call, const comparison *c)
{
    const char *format = get_option(call, "--format");
    const option_values *files = get_options(call, "-o");
    bool is_json = format && strcmp(format, "json") == 0;
    qgc_result result = write_output(call, "-", is_json ? write_json : write_text, c);
    for (int i = 0; i < files->num && result == QGC_OK; i++) {
        const struct format *f = formats;
        while (!has_ending(files->values[i], f->ending))
            f++;
        result = write_output(call, files->values[i], f->write, c);
    }
    return result;
}

/* The file beside a model that holds its reference. The caller frees it. */
static char *reference_path(const char *path)
{
    static const char ENDING[] = ".ref.qir";
    size_t size = strlen(path) + sizeof ENDING;
    char *out = malloc(size);
    if (out)
        snprintf(out, size, "%s%s", path, ENDING);
    return out;
}

/* What `qgc quantize` does before it annotates is no difference to what came out of it. */
static qgc_result fuse(invocation *call, qgc_module *const *modules)
{
    qgc_pipeline_options options = {0};
    bool is_first = has_form(modules[0], "float");
    if (has_option(call, "--as-is") || is_first == has_form(modules[1], "float"))
        return QGC_OK;
    return qgc_pipeline_run(modules[is_first ? 0 : 1], QGC_PIPELINE_FLOAT, &options);
}

static int compare(invocation *call, const char *left, const char *right)
{
    comparison c = {.paths = {left, right}};
    qgc_diff *diff = NULL;
    int code = EXIT_DONE;
    if (read_modules(call, c.paths, 2, c.modules) != QGC_OK || fuse(call, c.modules) != QGC_OK)
        code = fail(call);
    if (code == EXIT_DONE) {
        c.diff = diff = qgc_diff_create(c.modules[0], c.modules[1]);
        code = write_outputs(call, &c) != QGC_OK ? fail(call)
               : qgc_diff_num_differences(diff)  ? EXIT_LIMIT
                                                 : EXIT_DONE;
    }
    qgc_diff_destroy(diff);
    for (int i = 0; i < 2; i++)
        qgc_module_destroy(c.modules[i]);
    flush_diagnostics(call);
    return code;
}

static int save_reference(invocation *call, const char *path)
{
    char *reference = reference_path(path);
    qgc_module *module = reference ? read_module(call, path) : NULL;
    qgc_result result = module ? qgc_module_save(module, reference) : QGC_FAILED;
    if (result == QGC_OK)
        printf("%s\n", reference);
    qgc_module_destroy(module);
    free(reference);
    return result == QGC_OK ? EXIT_DONE : fail(call);
}

static qgc_result check_usage(invocation *call)
{
    if (has_option(call, "--save-reference") &&
        (call->num_files != 1 || has_option(call, "--format") || has_option(call, "-o")))
        return qgc_context_usage_error(call->context,
                                       "--save-reference takes one graph and no other option");
    return QGC_OK;
}

int run_diff(invocation *call)
{
    if (check_usage(call) != QGC_OK)
        return fail(call);
    if (has_option(call, "--save-reference"))
        return save_reference(call, call->files[0]);
    if (call->num_files == 2)
        return compare(call, call->files[0], call->files[1]);
    char *reference = reference_path(call->files[0]);
    int code = reference ? compare(call, reference, call->files[0]) : EXIT_ENVIRONMENT;
    free(reference);
    return code;
}

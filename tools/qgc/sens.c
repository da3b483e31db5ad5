/* qgc sens: which values are worth more bits. */
#include "sens.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- the calibrated graph ---- */

static qgc_result prepare(invocation *call, qgc_module *module, const char *rules)
{
    static const char format[] = QGC_PIPELINE_FLOAT ",annotate%s%s%s,prepare";
    char pipeline[2304];
    qgc_pipeline_options options = {.verify_each = true};
    if (rules && (!rules[0] || strpbrk(rules, ",{}= ") || strlen(rules) > 2000))
        return qgc_context_usage_error(
            call->context, "--rules %s: expected a name without blanks, commas and braces", rules);
    snprintf(pipeline, sizeof pipeline, format, rules ? "{rules=" : "", rules ? rules : "",
             rules ? "}" : "");
    return qgc_pipeline_run(module, pipeline, &options);
}

static qgc_result calibrate(invocation *call, qgc_module *module, const qgc_samples *samples)
{
    progress bar;
    qgc_engine *engine = NULL;
    const char *kind = get_option(call, "--engine"), *cpu = get_option(call, "--cpu");
    if (!kind || strcmp(kind, "ref") != 0)
        QGC_CHECK(qgc_engine_create(module, cpu ? cpu : "native", &engine));
    progress_begin(call, &bar);
    qgc_calibrate_options options = {.func = get_option(call, "--func"),
                                     .engine = engine,
                                     .progress = bar.is_wanted ? progress_show : NULL,
                                     .user = &bar};
    qgc_result result = qgc_module_calibrate(module, samples, &options);
    progress_end(&bar);
    qgc_engine_destroy(engine);
    return result;
}

qgc_result make_calibrated(invocation *call, qgc_module *module, const char *rules,
                           const qgc_samples *samples, const qgc_module *statistics)
{
    bool done = false;
    if (has_form(module, "calibrated"))
        return QGC_OK;
    if (has_form(module, "float"))
        QGC_CHECK(prepare(call, module, rules));
    if (statistics)
        QGC_CHECK(qgc_module_reuse_stats(module, statistics, &done));
    if (statistics && !done && !has_option(call, "--quiet"))
        fprintf(stderr, "calibrating again: these rules observe otherwise\n");
    return done ? QGC_OK : calibrate(call, module, samples);
}

/* ---- ranking ---- */

static qgc_sens_metric read_metric(const char *name)
{
    static const char *const names[] = {"sqnr", "mse", "cosine", "accuracy"};
    for (int i = 0; name && i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            return (qgc_sens_metric)i;
    return QGC_SENS_SQNR;
}

qgc_result read_sens_options(invocation *call, qgc_sens_options *out)
{
    const char *what = get_option(call, "--what"), *engine = get_option(call, "--engine");
    out->func = get_option(call, "--func");
    out->method = get_option(call, "--method");
    out->labels = get_option(call, "--labels");
    out->metric = read_metric(get_option(call, "--by"));
    out->activations = !what || strcmp(what, "weight") != 0;
    out->weights = !what || strcmp(what, "activation") != 0;
    out->cpu = get_option(call, "--cpu");
    out->create_engine = engine && strcmp(engine, "ref") == 0 ? NULL : qgc_engine_create;
    if (out->metric == QGC_SENS_ACCURACY && !out->labels)
        return qgc_context_usage_error(call->context, "--by accuracy needs --labels");
    return read_size(call, "--budget", &out->budget);
}

static void say_bound(void *user, size_t values, size_t trials, size_t samples)
{
    (void)user;
    fprintf(stderr, "%zu values, at most %zu trials on %zu samples\n", values, trials, samples);
}

qgc_result rank_values(invocation *call, qgc_module *module, const qgc_samples *samples,
                       qgc_sens_options *options, qgc_sens_report *out)
{
    progress bar;
    progress_begin(call, &bar);
    options->begin = has_option(call, "--quiet") ? NULL : say_bound;
    options->progress = bar.is_wanted ? progress_show : NULL;
    options->user = &bar;
    qgc_result result = qgc_sens(module, samples, options, out);
    progress_end(&bar);
    return result;
}

/* ---- output ---- */

static void put_db(FILE *out, const char *format, double value)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    char text[64] = "-";
    if (!isinf(value))
        snprintf(text, sizeof text, format, value);
    else if (value < 0)
        snprintf(text, sizeof text, "-inf");
#pragma GCC diagnostic pop
    fprintf(out, " %8s", text);
}

void sens_write_table(FILE *out, const void *report)
{
    const ranking *r = report;
    const qgc_sens_report *s = r->report;
    int width = 7;
    for (size_t i = 0; i < s->num_rows; i++)
        width = (int)strlen(s->rows[i].name) > width ? (int)strlen(s->rows[i].name) : width;
    fprintf(out, "# What quantizing one value alone costs; by %s, worst first. %zu samples.\n",
            r->metric, s->samples);
    if (s->answers != s->samples)
        fprintf(out, "# Answers: %zu.\n", s->answers);
    put_folders(out, "# Folders: ", s->folders, s->num_folders);
    if (s->has_labels)
        fprintf(out, "# In floats %zu of them are right.\n", s->top1);
    if (s->num_left)
        fprintf(out, "# Left out by the budget: %zu values.\n", s->num_left);
    fprintf(out, "%-*s %-10s %-12s %-4s %8s %10s %9s %6s%s\n", width, "# value", "kind", "op",
            "type", "SQNR", "MSE", "cosine", "agree", s->has_labels ? "  top-1" : "");
    for (size_t i = 0; i < s->num_rows; i++) {
        const qgc_sens_row *row = &s->rows[i];
        fprintf(out, "%-*s %-10s %-12s %-4s", width, row->name,
                row->is_weight ? "weight" : "activation", row->op, row->dtype);
        put_db(out, "%.2f", row->sqnr);
        fprintf(out, " %10.4g %9.6f %6zu", row->mse, row->cosine, row->agree);
        if (s->has_labels)
            fprintf(out, " %6zu", row->top1);
        fputc('\n', out);
    }
}

void sens_write_csv(FILE *out, const void *report)
{
    const qgc_sens_report *s = ((const ranking *)report)->report;
    fprintf(out, "value,kind,op,dtype,sqnr,mse,cosine,samples,agree%s\n",
            s->has_labels ? ",top1" : "");
    for (size_t i = 0; i < s->num_rows; i++) {
        const qgc_sens_row *row = &s->rows[i];
        put_csv_string(out, row->name);
        fprintf(out, ",%s,%s,%s,%.9g,%.9g,%.9g,%zu,%zu", row->is_weight ? "weight" : "activation",
                row->op, row->dtype, row->sqnr, row->mse, row->cosine, s->samples, row->agree);
        if (s->has_labels)
            fprintf(out, ",%zu", row->top1);
        fputc('\n', out);
    }
}

void sens_write_json(FILE *out, const void *report)
{
    const ranking *r = report;
    const qgc_sens_report *s = r->report;
    fprintf(out, "{\n  \"samples\": %zu,\n  \"by\": \"%s\",\n", s->samples, r->metric);
    if (s->has_labels)
        fprintf(out, "  \"top1\": %zu,\n", s->top1);
    fprintf(out, "  \"left_out\": %zu,\n  \"values\": [\n", s->num_left);
    for (size_t i = 0; i < s->num_rows; i++) {
        const qgc_sens_row *row = &s->rows[i];
        fprintf(out, "    {\"value\": ");
        put_json_string(out, row->name);
        fprintf(out, ", \"kind\": \"%s\", \"op\": \"%s\", \"dtype\": \"%s\", \"sqnr\": ",
                row->is_weight ? "weight" : "activation", row->op, row->dtype);
        put_json_number(out, row->sqnr);
        fprintf(out, ", \"mse\": ");
        put_json_number(out, row->mse);
        fprintf(out, ", \"cosine\": ");
        put_json_number(out, row->cosine);
        fprintf(out, ", \"agree\": %zu", row->agree);
        if (s->has_labels)
            fprintf(out, ", \"top1\": %zu", row->top1);
        fprintf(out, "}%s\n", i + 1 < s->num_rows ? "," : "");
    }
    fprintf(out, "  ]\n}\n");
}

static qgc_result write_files(invocation *call, const ranking *r)
{
    const option_values *files = get_options(call, "-o");
    for (int i = 0; i < files->num; i++) {
        const char *path = files->values[i];
        output_writer *write = has_ending(path, ".csv")    ? sens_write_csv
                               : has_ending(path, ".json") ? sens_write_json
                                                           : sens_write_table;
        QGC_CHECK(write_output(call, path, write, r));
    }
    if (!files->num)
        sens_write_table(stdout, r);
    return QGC_OK;
}

/* ---- the command ---- */

/* Statistics that are there already leave nothing to do for what says how to make them. */
static qgc_result check_calibrated(invocation *call, const qgc_module *module)
{
    static const char *const of_statistics[] = {"--rules", "--calibration", "--calibration-input"};
    if (!has_form(module, "calibrated"))
        return QGC_OK;
    for (size_t i = 0; i < sizeof of_statistics / sizeof *of_statistics; i++)
        if (has_option(call, of_statistics[i]))
            return qgc_context_usage_error(call->context,
                                           "%s: the graph is calibrated already, %s is for others",
                                           call->files[0], of_statistics[i]);
    return QGC_OK;
}

static qgc_result rank_and_write(invocation *call, qgc_module *module)
{
    qgc_sens_options options = {.func = NULL};
    qgc_sens_report report = {0};
    data_source data, calibration;
    const char *by = get_option(call, "--by");
    QGC_CHECK(check_calibrated(call, module));
    QGC_CHECK(read_data(call, &data));
    QGC_CHECK(read_calibration_data(call, &data, &calibration));
    QGC_CHECK(read_sens_options(call, &options));
    QGC_CHECK(
        make_calibrated(call, module, get_option(call, "--rules"), &calibration.samples, NULL));
    QGC_CHECK(rank_values(call, module, &data.samples, &options, &report));
    ranking r = {&report, call->files[0], by ? by : "sqnr"};
    qgc_result result = write_files(call, &r);
    qgc_sens_report_free(&report);
    return result;
}

int run_sens(invocation *call)
{
    if (require_data(call) != QGC_OK)
        return fail(call);
    qgc_module *module = read_module(call, call->files[0]);
    qgc_result result = module ? rank_and_write(call, module) : QGC_FAILED;
    qgc_module_destroy(module);
    if (result != QGC_OK)
        return fail(call);
    flush_diagnostics(call);
    return EXIT_DONE;
}

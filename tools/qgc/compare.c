/* qgc compare: one graph's values against another's. */
#include "compare.h"

#include "calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static qgc_result read_double(invocation *call, const char *option, double *out)
{
    const char *text = get_option(call, option);
    char *end;
    if (!text)
        return QGC_OK;
    *out = strtod(text, &end);
    if (text[0] && !*end && !isnan(*out))
        return QGC_OK;
    return qgc_context_usage_error(call->context, "%s %s: expected a number", option, text);
}

static qgc_compare_engine read_engine(const char *name, qgc_compare_engine otherwise)
{
    if (!name)
        return otherwise;
    return strcmp(name, "ref") == 0   ? QGC_COMPARE_REF
           : strcmp(name, "jit") == 0 ? QGC_COMPARE_WHOLE
                                      : QGC_COMPARE_OPS;
}

static qgc_compare_metric read_metric(const char *name)
{
    static const char *const names[] = {"sqnr", "mse", "cosine", "max"};
    for (int i = 0; name && i < QGC_COMPARE_NUM_METRICS; i++)
        if (strcmp(name, names[i]) == 0)
            return (qgc_compare_metric)i;
    return QGC_COMPARE_SQNR;
}

static qgc_result read_options(invocation *call, qgc_compare_options *out)
{
    out->func = get_option(call, "--func");
    out->labels = get_option(call, "--labels");
    out->cpu = get_option(call, "--cpu");
    out->as_is = has_option(call, "--as-is");
    out->metric = read_metric(get_option(call, "--by"));
    out->worst = 3;
    out->start_db = 10;
    out->create_engine = qgc_engine_create;
    QGC_CHECK(read_size(call, "--worst", &out->worst));
    return read_double(call, "--start", &out->start_db);
}

/* ---- limits ---- */

static double output_mse(const qgc_compare_row *row)
{
    return row->is_output ? row->mse : 0;
}

static double output_abs(const qgc_compare_row *row)
{
    return row->is_output ? row->max_abs : 0;
}

static double output_kl(const qgc_compare_row *row)
{
    return row->is_output ? row->kl : 0;
}

static double any_steps(const qgc_compare_row *row)
{
    return row->has_step ? row->max_steps : 0;
}

static double missing_sqnr(const qgc_compare_row *row)
{
    return row->is_output ? -row->sqnr : -INFINITY;
}

static double missing_cosine(const qgc_compare_row *row)
{
    return row->is_output ? -row->cosine : -INFINITY;
}

/* A value above the limit exceeds it; of --min-... both are negated. */
static const struct limit {
    const char *option;
    double sign;
    double (*measure)(const qgc_compare_row *row);
} limits[] = {
    {"--min-sqnr", -1, missing_sqnr}, {"--min-cosine", -1, missing_cosine},
    {"--max-mse", 1, output_mse},     {"--max-abs", 1, output_abs},
    {"--max-steps", 1, any_steps},    {"--max-kl", 1, output_kl},
};
enum { NUM_LIMITS = sizeof limits / sizeof *limits };

static qgc_result read_limits(invocation *call, double *out)
{
    for (int i = 0; i < NUM_LIMITS; i++) {
        double value = INFINITY;
        QGC_CHECK(read_double(call, limits[i].option, &value));
        out[i] = has_option(call, limits[i].option) ? limits[i].sign * value : INFINITY;
    }
    return QGC_OK;
}

/* Values that are not finite, or have another shape, exceed every limit that is set. */
static bool exceeds(const qgc_compare_report *r, const double *values)
{
    for (size_t i = 0; i < r->num_rows; i++)
        for (int k = 0; k < NUM_LIMITS; k++) {
            const qgc_compare_row *row = &r->rows[i];
            bool is_wrong = row->is_output && (row->broken.num || row->shape_differs);
            if (values[k] < INFINITY && (is_wrong || limits[k].measure(row) > values[k]))
                return true;
        }
    return false;
}

/* No limit is asked: there is no error that a NaN against a number could be. */
static bool report_broken(invocation *call, const qgc_compare_report *r)
{
    bool any = false;
    for (size_t i = 0; i < r->num_rows; i++)
        if (r->rows[i].is_output)
            any |=
                qgc_mismatch_report(call->context, r->rows[i].name, &r->rows[i].broken) != QGC_OK;
    return any;
}

/* ---- output ---- */

static const struct format {
    const char *ending;
    output_writer *write;
} formats[] = {{".csv", compare_write_csv},
               {".json", compare_write_json},
               {".html", compare_write_html},
               {"", compare_write_text}};

static qgc_result write_files(invocation *call, const comparison *c)
{
    const option_values *files = get_options(call, "-o");
    for (int i = 0; i < files->num; i++) {
        const struct format *f = formats;
        while (!has_ending(files->values[i], f->ending))
            f++;
        QGC_CHECK(write_output(call, files->values[i], f->write, c));
    }
    return QGC_OK;
}

/* ---- running ---- */

static qgc_result run_on(invocation *call, qgc_module *a, qgc_module *b,
                         qgc_compare_options *options, qgc_compare_report *out)
{
    progress bar;
    data_source data;
    const char *engine_b = get_option(call, "--engine-b");
    qgc_compare_engine engine = read_engine(get_option(call, "--engine"), QGC_COMPARE_OPS);
    qgc_compare_side sides[] = {{a, engine}, {b, read_engine(engine_b, engine)}};
    QGC_CHECK(read_data(call, &data));
    progress_begin(call, &bar);
    options->progress = bar.is_wanted ? progress_show : NULL;
    options->user = &bar;
    qgc_result result = qgc_compare(&sides[0], &sides[1], &data.samples, options, out);
    progress_end(&bar);
    return result;
}

static qgc_result compare(invocation *call, qgc_compare_options *options, qgc_compare_report *out)
{
    const char *const paths[] = {call->files[0], call->files[1]};
    qgc_module *sides[2];
    qgc_result result = read_modules(call, paths, 2, sides);
    if (result == QGC_OK)
        result = run_on(call, sides[0], sides[1], options, out);
    qgc_module_destroy(sides[1]);
    qgc_module_destroy(sides[0]);
    return result;
}

int run_compare(invocation *call)
{
    qgc_compare_options options = {.func = NULL};
    qgc_compare_report report = {0};
    double values[NUM_LIMITS];
    if (require_data(call) != QGC_OK || read_options(call, &options) != QGC_OK ||
        read_limits(call, values) != QGC_OK || compare(call, &options, &report) != QGC_OK)
        return fail(call);
    const char *by = get_option(call, "--by");
    comparison c = {&report, call->files[0], call->files[1], options.start_db, by ? by : "sqnr"};
    bool is_broken = report_broken(call, &report), is_exceeded = exceeds(&report, values);
    compare_write_text(stdout, &c);
    qgc_result result = write_files(call, &c);
    qgc_compare_report_free(&report);
    if (result != QGC_OK)
        return fail(call);
    flush_diagnostics(call);
    return is_broken || is_exceeded ? EXIT_LIMIT : EXIT_DONE;
}

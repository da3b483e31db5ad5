/* qgc tune: more precision for the values at the top of a ranking, until a goal holds. */
#include "sens.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What one set of rules gives. */
typedef struct score {
    size_t raised;
    size_t right, samples; /* top-1 by labels, or samples that the float graph classifies alike */
    double sqnr;
    uint64_t broken; /* elements of results, NaN or infinite in one graph only */
} score;

typedef struct tuner {
    invocation *call;
    const char *file, *labels, *base_path, *to;
    data_source data, calibration;
    char *trial_path; /* of the rules that are tried; beside the rules file */
    char *base;       /* text of the rules to begin with */
    double max_drop;  /* percent; infinity: not asked for */
    double min_sqnr;  /* dB; -infinity: not asked for */
    size_t floats_right;
    qgc_module *statistics; /* calibrated by the rules to begin with: serves all trials */
    const char **names;     /* of values, the first to be raised first */
    size_t num_names, budget, tried;
    bool found;
    score best; /* the one with the fewest values raised that reaches the goal, else the nearest */
} tuner;

/* ---- rules ---- */

/* "@f.%\"a b\"" in quotes, as a rules file has it. */
static void put_rule_name(FILE *out, const char *name)
{
    fputc('"', out);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            fputc('\\', out);
        fputc(*name, out);
    }
    fputc('"', out);
}

static void put_rules(const tuner *t, size_t raised, FILE *out)
{
    fputs(t->base, out);
    for (size_t i = 0; i < raised; i++) {
        fputs("value ", out);
        put_rule_name(out, t->names[i]);
        fprintf(out, " => %s\n", t->to);
    }
}

typedef struct rules_text {
    const tuner *t;
    size_t raised;
} rules_text;

static void write_rules(FILE *out, const void *text)
{
    const rules_text *r = text;
    put_rules(r->t, r->raised, out);
}

static qgc_result read_base(tuner *t)
{
    qgc_str text = {"preset int8\n", 12};
    if (t->base_path)
        QGC_CHECK(qgc_read_file(t->call->context, t->base_path, &text));
    bool ends = text.size && text.data[text.size - 1] == '\n';
    t->base = malloc(text.size + 2);
    if (!t->base)
        return qgc_context_usage_error(t->call->context, "no memory for the rules");
    snprintf(t->base, text.size + 2, "%.*s%s", QGC_STR_ARG(text), ends ? "" : "\n");
    return QGC_OK;
}

/* ---- trials ---- */

/* The road of qgc quantize. */
static qgc_result convert(tuner *t, qgc_module *module)
{
    char pipeline[512];
    const char *method = get_option(t->call, "--method");
    qgc_pipeline_options options = {.verify_each = true};
    if (method && (!method[0] || strpbrk(method, ",{}= ") || strlen(method) > 400))
        return qgc_context_usage_error(
            t->call->context, "--method %s: expected a name without blanks, commas and braces",
            method);
    QGC_CHECK(
        make_calibrated(t->call, module, t->trial_path, &t->calibration.samples, t->statistics));
    snprintf(pipeline, sizeof pipeline, "convert%s%s%s,dce", method ? "{method=" : "",
             method ? method : "", method ? "}" : "");
    return qgc_pipeline_run(module, pipeline, &options);
}

static qgc_result compare(tuner *t, qgc_module *module, qgc_compare_report *out)
{
    const char *engine = get_option(t->call, "--engine");
    bool is_ref = engine && strcmp(engine, "ref") == 0;
    qgc_compare_options options = {.func = get_option(t->call, "--func"),
                                   .labels = t->labels,
                                   .outputs_only = true,
                                   .cpu = get_option(t->call, "--cpu"),
                                   .create_engine = is_ref ? NULL : qgc_engine_create,
                                   .start_db = INFINITY};
    qgc_module *floats = read_module(t->call, t->file);
    if (!floats)
        return QGC_FAILED;
    qgc_compare_side a = {floats, QGC_COMPARE_WHOLE}, b = {module, QGC_COMPARE_WHOLE};
    qgc_result result = qgc_compare(&a, &b, &t->data.samples, &options, out);
    qgc_module_destroy(floats);
    return result;
}

static qgc_result score_of(tuner *t, const qgc_compare_report *r, score *out)
{
    if (!r->num_outputs)
        return qgc_context_usage_error(
            t->call->context, "%s: no output of the quantized graph can be compared", t->file);
    if (!t->labels && t->max_drop < INFINITY && r->outputs[0].classes < 2)
        return qgc_context_usage_error(t->call->context,
                                       "--max-drop needs scores of several classes, the first "
                                       "result has one: use --min-sqnr");
    out->samples = r->outputs[0].answers;
    out->right = r->has_labels ? r->outputs[0].top1_b : r->outputs[0].agree;
    t->floats_right = r->has_labels ? r->outputs[0].top1_a : r->outputs[0].answers;
    out->sqnr = INFINITY;
    out->broken = 0;
    for (size_t i = 0; i < r->num_rows; i++) {
        const qgc_compare_row *row = &r->rows[i];
        if (!row->is_output)
            continue;
        out->sqnr = fmin(out->sqnr, row->broken.num ? -INFINITY : row->sqnr);
        out->broken += row->broken.num;
    }
    return QGC_OK;
}

static double drop_of(const tuner *t, const score *s)
{
    if (!s->samples)
        return 0;
    return 100 * ((double)t->floats_right - (double)s->right) / (double)s->samples;
}

static bool reaches_goal(const tuner *t, const score *s)
{
    return !s->broken && drop_of(t, s) <= t->max_drop && s->sqnr >= t->min_sqnr;
}

/* Whether |a| is the better one to be left with. */
static bool is_better(const tuner *t, const score *a, const score *b)
{
    bool reaches_a = reaches_goal(t, a), reaches_b = reaches_goal(t, b);
    if (reaches_a != reaches_b)
        return reaches_a;
    if (reaches_a)
        return a->raised < b->raised;
    if (t->max_drop < INFINITY && a->right != b->right)
        return a->right > b->right;
    return a->sqnr != b->sqnr ? a->sqnr > b->sqnr : a->raised < b->raised;
}

static void say(const tuner *t, const char *what, const score *s)
{
    if (has_option(t->call, "--quiet"))
        return;
    fprintf(stderr, "%s: %zu of %zu values as %s, %s %zu of %zu (drop %.2f %%), SQNR %.2f dB", what,
            s->raised, t->num_names, t->to, t->labels ? "right" : "same top-1", s->right,
            s->samples, drop_of(t, s), s->sqnr);
    if (s->broken)
        fprintf(stderr, ", %" PRIu64 " results NaN or infinite in one graph only", s->broken);
    fputc('\n', stderr);
}

/* Quantizes with the first |raised| values raised and measures. */
static qgc_result try_rules(tuner *t, size_t raised, score *out)
{
    qgc_compare_report report = {0};
    rules_text text = {t, raised};
    char what[32];
    out->raised = raised;
    QGC_CHECK(write_output(t->call, t->trial_path, write_rules, &text));
    qgc_module *module = read_module(t->call, t->file);
    qgc_result result = module ? convert(t, module) : QGC_FAILED;
    if (result == QGC_OK)
        result = compare(t, module, &report);
    if (result == QGC_OK)
        result = score_of(t, &report, out);
    qgc_compare_report_free(&report);
    qgc_module_destroy(module);
    QGC_CHECK(result);
    snprintf(what, sizeof what, "trial %zu", ++t->tried);
    say(t, what, out);
    if (!t->found || is_better(t, out, &t->best))
        t->best = *out;
    t->found = true;
    return QGC_OK;
}

/* ---- the search ---- */

/* Trials of the search, at most: none raised, all raised, then the interval halved. */
static size_t bound_of(size_t num)
{
    size_t bound = num ? 2 : 1;
    for (size_t width = num; width > 1; width = (width + 1) / 2)
        bound++;
    return bound;
}

static bool is_spent(const tuner *t)
{
    return t->budget && t->tried >= t->budget;
}

/* |low| raised do not reach the goal, |high| do. */
static qgc_result halve(tuner *t, size_t low, size_t high)
{
    while (high - low > 1 && !is_spent(t)) {
        score s = {0};
        size_t middle = low + (high - low) / 2;
        QGC_CHECK(try_rules(t, middle, &s));
        if (reaches_goal(t, &s))
            high = middle;
        else
            low = middle;
    }
    return QGC_OK;
}

static qgc_result search(tuner *t)
{
    score none = {0}, all = {0};
    size_t bound = bound_of(t->num_names);
    if (t->budget && t->budget < bound)
        bound = t->budget;
    if (!has_option(t->call, "--quiet"))
        fprintf(stderr, "%zu values, at most %zu trials\n", t->num_names, bound);
    QGC_CHECK(try_rules(t, 0, &none));
    if (reaches_goal(t, &none) || !t->num_names || is_spent(t))
        return QGC_OK;
    QGC_CHECK(try_rules(t, t->num_names, &all));
    return reaches_goal(t, &all) ? halve(t, 0, t->num_names) : QGC_OK;
}

/* ---- the ranking ---- */

/* The first word of a line, quotes of names respected; its length. */
static size_t word_size(const char *line, size_t size)
{
    bool quoted = false;
    size_t at = 0;
    for (; at < size && (quoted || !strchr(" \t\r,", line[at])); at++) {
        if (quoted && line[at] == '\\' && at + 1 < size)
            at++;
        else if (line[at] == '"')
            quoted = !quoted;
    }
    return at;
}

static qgc_result add_name(tuner *t, const char *name, size_t size)
{
    const char **names = realloc(t->names, (t->num_names + 1) * sizeof *names);
    char *copy = strndup(name, size);
    t->names = names ? names : t->names;
    if (names && copy) {
        t->names[t->num_names++] = copy;
        return QGC_OK;
    }
    free(copy);
    return qgc_context_usage_error(t->call->context, "no memory for the names of values");
}

static qgc_result read_table(tuner *t, const char *path)
{
    qgc_str text;
    QGC_CHECK(qgc_read_file(t->call->context, path, &text));
    const char *at = text.data, *end = text.data + text.size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line = newline ? (size_t)(newline - at) : (size_t)(end - at);
        size_t size = word_size(at, line);
        if (size && at[0] != '#')
            QGC_CHECK(add_name(t, at, size));
        at += line + 1;
    }
    return QGC_OK;
}

static qgc_result rank_here(tuner *t, qgc_module *module)
{
    qgc_sens_options options = {.func = NULL};
    qgc_sens_report report = {0};
    QGC_CHECK(read_sens_options(t->call, &options));
    options.budget = 0; /* the command's budget is about its own trials */
    QGC_CHECK(rank_values(t->call, module, &t->data.samples, &options, &report));
    qgc_result result = QGC_OK;
    for (size_t i = 0; i < report.num_rows && result == QGC_OK; i++)
        if (report.rows[i].mse > 0) /* what costs nothing gains nothing */
            result = add_name(t, report.rows[i].name, strlen(report.rows[i].name));
    qgc_sens_report_free(&report);
    return result;
}

static qgc_result rank(tuner *t)
{
    const char *table = get_option(t->call, "--table");
    const qgc_samples *samples = &t->calibration.samples;
    t->statistics = read_module(t->call, t->file);
    if (!t->statistics)
        return QGC_FAILED;
    QGC_CHECK(make_calibrated(t->call, t->statistics, t->base_path, samples, NULL));
    if (table)
        return read_table(t, table);
    qgc_module *module = read_module(t->call, t->file); /* is changed by the ranking */
    qgc_result result = module
                            ? make_calibrated(t->call, module, t->base_path, samples, t->statistics)
                            : QGC_FAILED;
    if (result == QGC_OK)
        result = rank_here(t, module);
    qgc_module_destroy(module);
    return result;
}

/* ---- the result ---- */

static void write_result(FILE *out, const void *tuned)
{
    const tuner *t = tuned;
    const score *s = &t->best;
    fprintf(out, "// qgc tune: %zu of %zu values as %s\n", s->raised, t->num_names, t->to);
    put_rules(t, s->raised, out);
}

static qgc_result write_best(tuner *t)
{
    const char *path = get_option(t->call, "-o"), *graph = get_option(t->call, "--graph");
    rules_text text = {t, t->best.raised};
    QGC_CHECK(write_output(t->call, path ? path : "-", write_result, t));
    if (!graph)
        return QGC_OK;
    QGC_CHECK(write_output(t->call, t->trial_path, write_rules, &text));
    qgc_module *module = read_module(t->call, t->file);
    qgc_result result = module ? convert(t, module) : QGC_FAILED;
    if (result == QGC_OK)
        result = qgc_module_save(module, graph);
    qgc_module_destroy(module);
    return result;
}

static qgc_result tune(tuner *t)
{
    QGC_CHECK(read_base(t));
    QGC_CHECK(rank(t));
    qgc_context_set_quiet(t->call->context, true); /* each trial would warn of the same */
    QGC_CHECK(search(t));
    qgc_context_set_quiet(t->call->context, has_option(t->call, "--quiet"));
    bool reached = reaches_goal(t, &t->best);
    say(t, reached ? "reached" : "not reachable; best found", &t->best);
    return write_best(t);
}

/* ---- the command ---- */

static qgc_result read_number(tuner *t, const char *option, double *out)
{
    const char *text = get_option(t->call, option);
    char *end;
    if (!text)
        return QGC_OK;
    *out = strtod(text, &end);
    if (text[0] && !*end && isfinite(*out))
        return QGC_OK;
    return qgc_context_usage_error(t->call->context, "%s %s: expected a number", option, text);
}

static size_t directory_size(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The rules that are tried lie beside the ones that are written: files that they name are found
 * from there. */
static qgc_result place_trial(tuner *t)
{
    const char *out = get_option(t->call, "-o"), *beside = out ? out : t->base_path;
    size_t size = directory_size(beside);
    if (out && strcmp(out, "-") == 0) {
        beside = t->base_path;
        size = directory_size(beside);
    }
    if (t->base_path &&
        (directory_size(t->base_path) != size || strncmp(t->base_path, beside, size) != 0))
        return qgc_context_usage_error(t->call->context,
                                       "-o %s: expected a file in the directory of --rules, whose "
                                       "files are named from there",
                                       out);
    if (asprintf(&t->trial_path, "%.*sqgc-tune-%ld.qcfg", (int)size, beside ? beside : "",
                 (long)getpid()) < 0)
        t->trial_path = NULL;
    return t->trial_path ? QGC_OK
                         : qgc_context_usage_error(t->call->context, "no memory for a name");
}

static qgc_result read_options(tuner *t)
{
    QGC_CHECK(read_number(t, "--max-drop", &t->max_drop));
    QGC_CHECK(read_number(t, "--min-sqnr", &t->min_sqnr));
    QGC_CHECK(read_size(t->call, "--budget", &t->budget));
    QGC_CHECK(read_data(t->call, &t->data));
    QGC_CHECK(read_calibration_data(t->call, &t->data, &t->calibration));
    if (t->max_drop == INFINITY && t->min_sqnr == -INFINITY)
        return qgc_context_usage_error(t->call->context,
                                       "qgc tune needs a goal: --max-drop or --min-sqnr");
    return place_trial(t);
}

int run_tune(invocation *call)
{
    const char *to = get_option(call, "--to");
    tuner t = {.call = call,
               .file = call->files[0],
               .labels = get_option(call, "--labels"),
               .base_path = get_option(call, "--rules"),
               .to = to ? to : "i16",
               .max_drop = INFINITY,
               .min_sqnr = -INFINITY};
    qgc_result result = read_options(&t);
    if (result == QGC_OK)
        result = tune(&t);
    if (t.trial_path)
        remove(t.trial_path);
    bool reached = result == QGC_OK && reaches_goal(&t, &t.best);
    for (size_t i = 0; i < t.num_names; i++)
        free((char *)(uintptr_t)t.names[i]);
    free(t.names);
    qgc_module_destroy(t.statistics);
    free(t.base);
    free(t.trial_path);
    if (result != QGC_OK)
        return fail(call);
    flush_diagnostics(call);
    return reached ? EXIT_DONE : EXIT_LIMIT;
}

/* What --report measures, after the quantized graph is written: accuracy on the calibration data,
 * the error of every value, time, size. */
#include "report.h"

#include "calibrate.h"

#include <string.h>

/* Samples of what takes long: values compared, runs timed; values tried alone. */
enum { MAX_SAMPLES = 64, MAX_TRIAL_SAMPLES = 32, MAX_TRIALS = 64 };

static const char FUSE[] = QGC_PIPELINE_FLOAT ",infer-shapes";
static const char LOWER[] = "infer-shapes,partition,lower-integer,infer-shapes";

static qgc_module *read_float(invocation *call, const report_source *source)
{
    qgc_module *module = read_part(call, source->text, source->first_line, source->directory);
    if (module && bind_symbols(call, module) == QGC_OK)
        return module;
    qgc_module_destroy(module);
    return NULL;
}

static qgc_module *read_quantized(invocation *call)
{
    return qgc_module_read(call->context, get_option(call, "-o"));
}

/* At most |most| samples of the data, whatever their batch, but as many as the graph takes. */
static qgc_result read_some(invocation *call, const quantize_report *r, size_t most,
                            data_source *out)
{
    most = most < r->before.fixed_batch ? r->before.fixed_batch : most;
    QGC_CHECK(read_data(call, out));
    qgc_samples *samples = &out->samples;
    samples->limit = samples->limit && samples->limit < most ? samples->limit : most;
    samples->batch = 0;
    return QGC_OK;
}

/* ---- accuracy ---- */

static qgc_result measure_accuracy(invocation *call, quantize_report *r)
{
    progress bar;
    progress_begin(call, &bar);
    qgc_eval_options options = {.func = get_option(call, "--func"),
                                .labels = get_option(call, "--labels"),
                                .progress = bar.is_wanted ? progress_show : NULL,
                                .user = &bar};
    data_source data;
    QGC_CHECK(read_data(call, &data));
    qgc_result result = QGC_OK;
    if (options.labels)
        result = qgc_module_eval(r->left, &data.samples, &options, &r->float_accuracy);
    options.reference = r->left;
    if (result == QGC_OK)
        result = qgc_module_eval(r->right, &data.samples, &options, &r->accuracy);
    progress_end(&bar);
    return result;
}

/* ---- values ---- */

static qgc_result compare_modules(invocation *call, qgc_module *left, qgc_module *right,
                                  quantize_report *r)
{
    progress bar;
    progress_begin(call, &bar);
    qgc_compare_side sides[] = {{left, QGC_COMPARE_OPS}, {right, QGC_COMPARE_OPS}};
    qgc_compare_options options = {.func = get_option(call, "--func"),
                                   .worst = 3,
                                   .start_db = 10,
                                   .create_engine = qgc_engine_create,
                                   .progress = bar.is_wanted ? progress_show : NULL,
                                   .user = &bar};
    data_source data;
    QGC_CHECK(read_some(call, r, MAX_SAMPLES, &data));
    qgc_result result = qgc_compare(&sides[0], &sides[1], &data.samples, &options, &r->values);
    progress_end(&bar);
    return result;
}

static qgc_result compare_values(invocation *call, const report_source *source, quantize_report *r)
{
    qgc_module *left = read_float(call, source), *right = left ? read_quantized(call) : NULL;
    qgc_result result = right ? compare_modules(call, left, right, r) : QGC_FAILED;
    qgc_module_destroy(right);
    qgc_module_destroy(left);
    return result;
}

/* ---- sensitivity ---- */

static qgc_result measure_sensitivity(invocation *call, const report_source *source,
                                      quantize_report *r)
{
    progress bar;
    const char *method = get_option(call, "--method");
    qgc_sens_options options = {.func = get_option(call, "--func"),
                                .method = method ? method : "mse",
                                .activations = true,
                                .weights = true,
                                .budget = MAX_TRIALS,
                                .cpu = "native",
                                .create_engine = qgc_engine_create};
    data_source data;
    QGC_CHECK(read_some(call, r, MAX_TRIAL_SAMPLES, &data));
    qgc_module *module = qgc_module_read(call->context, source->calibrated);
    progress_begin(call, &bar);
    options.progress = bar.is_wanted ? progress_show : NULL;
    options.user = &bar;
    qgc_result result =
        module ? qgc_sens(module, &data.samples, &options, &r->sensitivity) : QGC_FAILED;
    progress_end(&bar);
    qgc_module_destroy(module);
    return result;
}

/* ---- time ---- */

/* Machine code has fixed shapes: one sample at a time. The first run compiles, and is not counted.
 */
static qgc_result time_module(invocation *call, const quantize_report *r, qgc_module *module,
                              const char *pipeline, double *out)
{
    qgc_engine *engine = NULL;
    qgc_summary summary;
    qgc_eval_report report;
    qgc_pipeline_options passes = {.verify_each = true};
    qgc_eval_options options = {.func = get_option(call, "--func")};
    data_source data;
    qgc_module_summarize(module, options.func, &summary);
    if (summary.batch)
        QGC_CHECK(qgc_module_bind(module, summary.batch, 1));
    QGC_CHECK(read_some(call, r, MAX_SAMPLES, &data));
    QGC_CHECK(qgc_pipeline_run(module, pipeline, &passes));
    QGC_CHECK(qgc_engine_create(module, "native", &engine));
    options.engine = engine;
    qgc_samples one = data.samples;
    one.limit = summary.fixed_batch ? summary.fixed_batch : 1;
    qgc_result result = qgc_module_eval(module, &one, &options, &report);
    if (result == QGC_OK)
        result = qgc_module_eval(module, &data.samples, &options, &report);
    qgc_engine_destroy(engine);
    *out = result == QGC_OK && report.samples ? report.seconds / (double)report.samples : 0;
    return result;
}

static bool is_lowered(const quantize_report *r)
{
    return has_form(r->right, "lowered");
}

static qgc_result measure_time(invocation *call, const report_source *source, quantize_report *r)
{
    qgc_module *left = read_float(call, source), *right = left ? read_quantized(call) : NULL;
    qgc_result result = right ? time_module(call, r, left, FUSE, &r->seconds[0]) : QGC_FAILED;
    if (result == QGC_OK)
        result =
            time_module(call, r, right, is_lowered(r) ? "infer-shapes" : LOWER, &r->seconds[1]);
    qgc_module_destroy(right);
    qgc_module_destroy(left);
    return result;
}

/* ---- findings ---- */

/* A lowered graph keeps none of what the checks look at. */
static qgc_result check_graph(invocation *call, const report_source *source, quantize_report *r)
{
    size_t warnings;
    qgc_module *calibrated = qgc_module_read(call->context, source->calibrated);
    const qgc_structure_options options = {
        .stats = calibrated, .finding = findings_add, .user = &r->findings, .is_silent = true};
    qgc_module *module = is_lowered(r) ? calibrated : r->right;
    qgc_result result = calibrated ? qgc_module_check(module, &options, &warnings) : QGC_FAILED;
    qgc_module_destroy(calibrated);
    if (r->findings.failed)
        return qgc_context_usage_error(call->context, "not enough memory for the findings");
    return result;
}

/* ---- what changed ---- */

static qgc_result compare_graphs(invocation *call, const report_source *source, quantize_report *r)
{
    qgc_pipeline_options options = {0};
    r->fused = read_float(call, source);
    if (!r->fused)
        return QGC_FAILED;
    QGC_CHECK(qgc_pipeline_run(r->fused, QGC_PIPELINE_FLOAT, &options));
    r->diff = qgc_diff_create(r->fused, r->right);
    return QGC_OK;
}

/* ---- all ---- */

static qgc_explain *explain(invocation *call, qgc_module *module)
{
    const qgc_explain_options options = {.target = get_option(call, "--target"),
                                         .rules = get_option(call, "--rules"),
                                         .method = get_option(call, "--method")};
    return qgc_explain_create(module, &options);
}

static qgc_result measure(invocation *call, const report_source *source, quantize_report *r)
{
    r->left = read_float(call, source);
    r->right = r->left ? read_quantized(call) : NULL;
    if (!r->right)
        return QGC_FAILED;
    qgc_module_summarize(r->left, get_option(call, "--func"), &r->before);
    qgc_module_summarize(r->right, get_option(call, "--func"), &r->after);
    QGC_CHECK(measure_accuracy(call, r));
    QGC_CHECK(compare_values(call, source, r));
    QGC_CHECK(measure_sensitivity(call, source, r));
    QGC_CHECK(measure_time(call, source, r));
    QGC_CHECK(check_graph(call, source, r));
    QGC_CHECK(compare_graphs(call, source, r));
    r->explain = explain(call, r->left);
    return r->explain ? QGC_OK : QGC_FAILED;
}

qgc_result write_report(invocation *call, const report_source *source)
{
    quantize_report r = {.model = call->files[0], .output = get_option(call, "-o")};
    qgc_result result = measure(call, source, &r);
    if (result == QGC_OK)
        result = write_output(call, get_option(call, "--report"), report_write_html, &r);
    qgc_explain_destroy(r.explain);
    qgc_diff_destroy(r.diff);
    findings_free(&r.findings);
    qgc_sens_report_free(&r.sensitivity);
    qgc_compare_report_free(&r.values);
    qgc_module_destroy(r.fused);
    qgc_module_destroy(r.right);
    qgc_module_destroy(r.left);
    return result;
}

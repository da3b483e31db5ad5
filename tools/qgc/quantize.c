/* qgc quantize: the whole road in one command. It is the pipelines and the calibration that the
 * steps are, so the bytes are those of the piped steps. */
#include "calibrate.h"
#include "lower.h"
#include "report.h"
#include "scratch.h"

#include <string.h>

/* Before and after the data. */
static const char PREPARE[] = QGC_PIPELINE_FLOAT ",annotate%s,prepare";
static const char PREPARE_TRAINED[] = QGC_PIPELINE_FLOAT ",annotate%s,prepare{partial}";
static const char CONVERT[] = "convert%s,dce";

/* A ranking is no quantizer: it says which values are worth more bits, and a rule says how many. */
static qgc_result check_table(invocation *call)
{
    const char *table = get_option(call, "--table");
    if (!table || !has_ending(table, ".sens"))
        return QGC_OK;
    return qgc_context_usage_error(call->context,
                                   "--table %s: a ranking of values belongs to a rules file, for "
                                   "instance with a row: table \"%s\" top 8 => i16",
                                   table, table);
}

/* Rules or a table say what is annotated; else a target may have a table. "{a=X,b=Y}", less, or
 * "". */
static qgc_result annotate_option(invocation *call, char *out, size_t size)
{
    static const char *const names[] = {"rules", "table", "target", "changelog"};
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char option[32], one[2048];
        snprintf(option, sizeof option, "--%s", names[i]);
        if (strcmp(names[i], "target") == 0 && has_option(call, "--rules"))
            continue;
        QGC_CHECK(pass_option(call, option, names[i], one, sizeof one));
        if (!one[0])
            continue;
        used -= used ? 1 : 0; /* the closing brace goes */
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "," : "{", one + 1);
    }
    return check_table(call);
}

/* Such as an ONNX model that another tool quantized. */
static qgc_result refuse_quantized(invocation *call, const qgc_module *module)
{
    bool is_quantized = has_form(module, "quantized");
    if (!is_quantized && !has_form(module, "partitioned") && !has_form(module, "lowered"))
        return QGC_OK;
    return qgc_context_usage_error(
        call->context, "the graph is %s already, and quantize takes a float one%s",
        qgc_module_form(module),
        is_quantized
            ? "; qgc opt --passes=canonicalize,partition,lower-integer makes integer ops of it"
            : "");
}

static const char *const of_data[] = {
    "--data",       "--input",   "--image",  "--batch",    "--first",     "--limit",
    "--shard",      "--func",    "--resume", "--report",   "--engine",    "--cpu",
    "--checkpoint", "--threads", "--cache",  "--no-cache", "--print-plan"};

static const char *given_of_data(const invocation *call)
{
    for (size_t i = 0; i < sizeof of_data / sizeof *of_data; i++)
        if (has_option(call, of_data[i]))
            return of_data[i];
    return NULL;
}

static bool has_data(const invocation *call)
{
    return has_option(call, "--data") || has_option(call, "--input");
}

/* Statistics that are there already leave nothing to do for options about data, and neither does a
 * graph that training has given its parameters. */
static qgc_result check_data(invocation *call, bool is_trained)
{
    const char *given = given_of_data(call);
    if (has_option(call, "--stats"))
        return given ? qgc_context_usage_error(
                           call->context, "--stats takes the place of data: it excludes %s", given)
                     : QGC_OK;
    if (has_data(call))
        return QGC_OK;
    if (!is_trained)
        return qgc_context_usage_error(
            call->context, "qgc quantize needs --data, or --input for each input, or --stats");
    if (!given && has_option(call, "--calibrated"))
        given = "--calibrated";
    return given
               ? qgc_context_usage_error(call->context, "%s is for data, and none is given", given)
               : QGC_OK;
}

static qgc_result observe(invocation *call, qgc_module *module)
{
    const char *stats = get_option(call, "--stats");
    if (!stats)
        return has_data(call) ? calibrate_module(call, module) : QGC_OK;
    qgc_module *from = qgc_module_read(call->context, stats);
    qgc_result result = from ? qgc_module_take_stats(module, from) : QGC_FAILED;
    qgc_module_destroy(from);
    return result;
}

static qgc_result convert(invocation *call, qgc_module *module, const char *method)
{
    if (run_formatted(module, CONVERT, method) == QGC_OK)
        return QGC_OK;
    if (has_data(call) || has_option(call, "--stats"))
        return QGC_FAILED;
    return qgc_context_usage_error(
        call->context, "training left no fake_quant for these values: --data calibrates them, and "
                       "qgc opt --passes=convert,dce leaves them float");
}

/* |calibrated|: where the graph with its statistics goes, or NULL. */
static qgc_result quantize(invocation *call, qgc_module *module, const char *calibrated)
{
    char annotate[4 * 2048], method[256];
    qgc_summary summary;
    qgc_module_summarize(module, NULL, &summary);
    bool is_trained = summary.fake_quants > 0;
    QGC_CHECK(refuse_quantized(call, module));
    QGC_CHECK(check_data(call, is_trained));
    if (annotate_option(call, annotate, sizeof annotate) != QGC_OK ||
        pass_option(call, "--method", "method", method, sizeof method) != QGC_OK ||
        bind_symbols(call, module) != QGC_OK ||
        run_formatted(module, is_trained ? PREPARE_TRAINED : PREPARE, annotate) != QGC_OK ||
        observe(call, module) != QGC_OK ||
        (calibrated && qgc_module_save(module, calibrated) != QGC_OK) ||
        convert(call, module, method) != QGC_OK)
        return QGC_FAILED;
    return lower_for_target(call, module);
}

static qgc_result quantize_to(invocation *call, const report_source *source)
{
    qgc_module *module = read_part(call, source->text, source->first_line, source->directory);
    qgc_result result = module ? quantize(call, module, source->calibrated) : QGC_FAILED;
    if (result == QGC_OK)
        result = write_module(module, get_option(call, "-o"));
    qgc_module_destroy(module);
    return result;
}

/* The report needs the statistics in a file, too. */
static qgc_result quantize_with_report(invocation *call, report_source source)
{
    char path[512];
    scratch own = {.path = ""};
    if (!source.calibrated) {
        QGC_CHECK(scratch_create(call, &own));
        snprintf(path, sizeof path, "%s/calibrated.qir", own.path);
        source.calibrated = path;
    }
    qgc_result result = quantize_to(call, &source);
    if (result == QGC_OK)
        result = write_report(call, &source);
    scratch_remove(&own);
    return result;
}

static qgc_result quantize_part(invocation *call, qgc_str text, uint32_t first_line,
                                const char *directory)
{
    report_source source = {text, first_line, directory, get_option(call, "--calibrated")};
    QGC_CHECK(has_option(call, "--report") ? quantize_with_report(call, source)
                                           : quantize_to(call, &source));
    remove_state(call);
    return QGC_OK;
}

int run_quantize(invocation *call)
{
    return for_each_part(call, quantize_part);
}

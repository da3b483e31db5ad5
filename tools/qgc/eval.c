/* qgc eval: how good a graph is on data. */
#include "calibrate.h"
#include "lower.h"
#include "output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double percent(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_report(const qgc_eval_report *r)
{
    printf("samples      %zu\n", r->samples);
    put_folders(stdout, "folders      ", r->folders, r->num_folders);
    if (r->answers != r->samples)
        printf("answers      %zu: %g for each sample, of %zu classes\n", r->answers,
               (double)r->answers / (double)r->samples, r->classes);
    if (r->has_labels) {
        printf("top-1        %.2f %%  (%zu)\n", percent(r->top1, r->answers), r->top1);
        printf("top-5        %.2f %%  (%zu)\n", percent(r->top5, r->answers), r->top5);
    }
    if (r->macs > 0)
        printf("MACs         %.4g M per sample, %.1f %% on quantized operands\n", r->macs / 1e6,
               100 * r->quantized_macs / r->macs);
    if (!r->has_reference)
        return;
    if (r->classes > 1)
        printf("same top-1   %.2f %%  (%zu)\n", percent(r->agree, r->answers), r->agree);
    printf("MSE          %.6g\nPSNR         %.2f dB\nmax error    %.6g\n", r->mse, r->psnr,
           r->max_abs);
}

/* A limit in per cent, or a number; false where the option is malformed. */
static bool read_limit(invocation *call, const char *option, double *out, bool *given)
{
    const char *text = get_option(call, option);
    char *end;
    *given = text != NULL;
    if (!text)
        return true;
    *out = strtod(text, &end);
    if (text[0] && !*end && isfinite(*out))
        return true;
    qgc_context_usage_error(call->context, "%s %s: expected a number", option, text);
    return false;
}

/* 1 where a limit is exceeded, 0 where all hold, -1: reported. */
static int check_limits(invocation *call, const qgc_eval_report *r)
{
    double top1 = 0, psnr = 0;
    bool has_top1, has_psnr;
    if (!read_limit(call, "--min-top1", &top1, &has_top1) ||
        !read_limit(call, "--min-psnr", &psnr, &has_psnr))
        return -1;
    if ((has_top1 && !r->has_labels) || (has_psnr && !r->has_reference)) {
        qgc_context_usage_error(call->context, "--min-top1 needs --labels, --min-psnr --against");
        return -1;
    }
    bool is_broken = qgc_mismatch_report(call->context, r->result, &r->broken) != QGC_OK;
    return is_broken || (has_top1 && percent(r->top1, r->answers) < top1) ||
           (has_psnr && r->psnr < psnr);
}

static qgc_result evaluate(invocation *call, qgc_module *module, qgc_module *reference,
                           qgc_engine *engine, qgc_engine *reference_engine, qgc_eval_report *out)
{
    progress bar;
    data_source data;
    progress_begin(call, &bar);
    qgc_eval_options options = {.func = get_option(call, "--func"),
                                .labels = get_option(call, "--labels"),
                                .reference = reference,
                                .engine = engine,
                                .reference_engine = reference_engine,
                                .as_is = has_option(call, "--as-is"),
                                .progress = bar.is_wanted ? progress_show : NULL,
                                .user = &bar};
    QGC_CHECK(read_data(call, &data));
    qgc_result result = qgc_module_eval(module, &data.samples, &options, out);
    progress_end(&bar);
    return result;
}

static qgc_result with_modules(invocation *call, qgc_module *module, qgc_module *reference,
                               qgc_eval_report *out)
{
    qgc_engine *engine = NULL, *of_reference = NULL;
    qgc_result result = create_engine(call, module, &engine);
    if (result == QGC_OK && reference)
        result = create_engine(call, reference, &of_reference);
    if (result == QGC_OK)
        result = evaluate(call, module, reference, engine, of_reference, out);
    qgc_engine_destroy(of_reference);
    destroy_engine(call, engine);
    return result;
}

static qgc_result check_usage(invocation *call)
{
    QGC_CHECK(require_data(call));
    if (get_option(call, "--labels") || get_option(call, "--against"))
        return QGC_OK;
    return qgc_context_usage_error(call->context, "qgc eval needs --labels or --against");
}

int run_eval(invocation *call)
{
    const char *against = get_option(call, "--against");
    qgc_eval_report report = {0};
    if (check_usage(call) != QGC_OK)
        return fail(call);
    const char *const paths[] = {call->files[0], against};
    qgc_module *modules[2] = {NULL, NULL};
    qgc_result result = read_modules(call, paths, against ? 2 : 1, modules);
    if (result == QGC_OK)
        result = lower_for_target(call, modules[0]);
    if (result == QGC_OK)
        result = with_modules(call, modules[0], modules[1], &report);
    qgc_module_destroy(modules[1]);
    qgc_module_destroy(modules[0]);
    if (result != QGC_OK)
        return fail(call);
    int exceeded = check_limits(call, &report);
    if (exceeded < 0)
        return fail(call);
    print_report(&report);
    flush_diagnostics(call);
    return exceeded ? EXIT_LIMIT : EXIT_DONE;
}

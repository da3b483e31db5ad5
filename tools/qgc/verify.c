/* qgc verify-backend: a backend's kernels against the reference. */
#include "calibrate.h"

static void print_report(const char *target, const qgc_verify_report *r)
{
    double percent = r->elements ? 100 * (double)r->differing / (double)r->elements : 0;
    printf("target       %s\n", target);
    printf("regions      %zu, %zu ops\n", r->regions, r->ops);
    printf("samples      %zu\n", r->samples);
    printf("differs      %llu of %llu elements, %.4f %%", (unsigned long long)r->differing,
           (unsigned long long)r->elements, percent);
    if (r->quantized)
        printf("; of %llu quantized ones %llu by one step", (unsigned long long)r->quantized,
               (unsigned long long)r->off_by_one);
    printf("\nbeyond       %zu ops\n", r->ops_beyond);
}

static qgc_result verify(invocation *call, qgc_module *module, qgc_module *reference,
                         qgc_verify_report *report)
{
    progress bar;
    data_source data;
    progress_begin(call, &bar);
    qgc_verify_options options = {.func = get_option(call, "--func"),
                                  .all = has_option(call, "--all"),
                                  .progress = bar.is_wanted ? progress_show : NULL,
                                  .user = &bar};
    QGC_CHECK(bind_symbols(call, module));
    QGC_CHECK(bind_symbols(call, reference));
    QGC_CHECK(read_data(call, &data));
    qgc_result result = qgc_module_verify_backend(module, reference, get_option(call, "--target"),
                                                  &data.samples, &options, stdout, report);
    progress_end(&bar);
    return result;
}

int run_verify_backend(invocation *call)
{
    qgc_verify_report report;
    if (!has_option(call, "--target"))
        qgc_context_usage_error(call->context, "qgc verify-backend needs --target and --data");
    if (!has_option(call, "--target") || require_data(call) != QGC_OK)
        return fail(call);
    qgc_module *module = qgc_module_read(call->context, call->files[0]);
    qgc_module *reference = module ? qgc_module_read(call->context, call->files[0]) : NULL;
    qgc_result result = reference ? verify(call, module, reference, &report) : QGC_FAILED;
    qgc_module_destroy(reference);
    qgc_module_destroy(module);
    if (result != QGC_OK)
        return fail(call);
    print_report(get_option(call, "--target"), &report);
    flush_diagnostics(call);
    return report.ops_beyond ? EXIT_LIMIT : EXIT_DONE;
}

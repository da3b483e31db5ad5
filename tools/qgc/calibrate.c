/* qgc calibrate: run a prepared graph on data, write it with statistics. */
#include "calibrate.h"

#include <time.h>
#include <unistd.h>

void progress_show(void *user, size_t done, size_t total)
{
    progress *p = user;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds =
        (double)(now.tv_sec - p->start.tv_sec) + 1e-9 * (double)(now.tv_nsec - p->start.tv_nsec);
    if (seconds < 1 || (seconds < p->last + 0.2 && done < total))
        return;
    double rate = (double)done / seconds;
    int width = (int)(30 * done / total);
    char text[128];
    int size = snprintf(text, sizeof text, "[%.*s%*s] %zu/%zu samples, %.1f/s, %.0f s left", width,
                        "##############################", 30 - width, "", done, total, rate,
                        (double)(total - done) / rate);
    fprintf(stderr, "\r%-*s", p->width, text); /* covers a longer one */
    p->width = size;
    p->last = seconds;
    p->shown = true;
}

void progress_begin(invocation *call, progress *bar)
{
    *bar = (progress){.is_wanted = isatty(STDERR_FILENO) && !has_option(call, "--no-progress")};
    clock_gettime(CLOCK_MONOTONIC, &bar->start);
}

void progress_end(progress *bar)
{
    if (bar->shown)
        fputc('\n', stderr);
}

qgc_result calibrate_module(invocation *call, qgc_module *module)
{
    data_source data;
    progress bar;
    progress_begin(call, &bar);
    qgc_calibrate_options options = {.func = get_option(call, "--func"),
                                     .state = get_option(call, "--resume"),
                                     .progress = bar.is_wanted ? progress_show : NULL,
                                     .user = &bar};
    QGC_CHECK(read_data(call, &data));
    QGC_CHECK(read_size(call, "--checkpoint", &options.checkpoint_batches));
    qgc_engine *engine;
    QGC_CHECK(create_engine(call, module, &engine));
    options.engine = engine;
    qgc_result result = qgc_module_calibrate(module, &data.samples, &options);
    progress_end(&bar);
    destroy_engine(call, engine);
    return result;
}

void remove_state(invocation *call)
{
    const char *state = get_option(call, "--resume");
    if (state && fflush(stdout) == 0) /* else the output may not have arrived */
        remove(state);
}

int run_calibrate(invocation *call)
{
    if (require_data(call) != QGC_OK)
        return fail(call);
    qgc_module *module = qgc_module_read(call->context, call->files[0]);
    if (!module)
        return fail(call);
    qgc_result result = bind_symbols(call, module);
    if (result == QGC_OK)
        result = calibrate_module(call, module);
    if (result == QGC_OK)
        result = write_module(module, get_option(call, "-o"));
    qgc_module_destroy(module);
    if (result != QGC_OK)
        return fail(call);
    remove_state(call);
    flush_diagnostics(call);
    return EXIT_DONE;
}

/* qgc calibrate: run a prepared graph on data, write it with statistics. */
#include "calibrate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

qgc_result read_size(invocation *call, const char *option, size_t *out)
{
    const char *text = get_option(call, option);
    char *end;
    if (!text)
        return QGC_OK;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || !value || errno)
        return qgc_context_usage_error(call->context, "%s %s: expected a number of at least 1",
                                       option, text);
    *out = (size_t)value;
    return QGC_OK;
}

qgc_result read_shard(invocation *call, size_t *out_shard, size_t *out_num)
{
    const char *text = get_option(call, "--shard");
    char *slash, *end = NULL;
    if (!text)
        return QGC_OK;
    *out_shard = strtoul(text, &slash, 10);
    if (text[0] >= '0' && text[0] <= '9' && *slash == '/' && slash[1] >= '0' && slash[1] <= '9')
        *out_num = strtoul(slash + 1, &end, 10);
    if (end && !*end && *out_shard < *out_num)
        return QGC_OK;
    return qgc_context_usage_error(call->context, "--shard %s: expected I/N with I below N", text);
}

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
    fprintf(stderr, "\r[%.*s%*s] %zu/%zu samples, %.1f/s, %.0f s left ", width,
            "##############################", 30 - width, "", done, total, rate,
            (double)(total - done) / rate);
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

qgc_result calibrate_module(invocation *call, qgc_module *module, const char *data)
{
    progress bar;
    progress_begin(call, &bar);
    qgc_calibrate_options options = {.func = get_option(call, "--func"),
                                     .state = get_option(call, "--resume"),
                                     .progress = bar.is_wanted ? progress_show : NULL,
                                     .user = &bar};
    if (read_size(call, "--batch", &options.batch) != QGC_OK ||
        read_size(call, "--limit", &options.limit) != QGC_OK ||
        read_size(call, "--checkpoint", &options.checkpoint_batches) != QGC_OK ||
        read_shard(call, &options.shard, &options.num_shards) != QGC_OK)
        return QGC_FAILED;
    qgc_engine *engine;
    if (create_engine(call, module, &engine) != QGC_OK)
        return QGC_FAILED;
    options.engine = engine;
    qgc_result result = qgc_module_calibrate(module, data, &options);
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
    const char *data = get_option(call, "--data"), *path = get_option(call, "-o");
    const char *state = get_option(call, "--resume");
    if (!data || (has_option(call, "--checkpoint") && !state)) {
        qgc_context_usage_error(call->context, data ? "--checkpoint needs --resume"
                                                    : "qgc calibrate needs --data");
        return fail(call);
    }
    qgc_module *module = qgc_module_read(call->context, call->files[0]);
    if (!module)
        return fail(call);
    qgc_result result = bind_symbols(call, module);
    if (result == QGC_OK)
        result = calibrate_module(call, module, data);
    if (result == QGC_OK)
        result = write_module(module, path);
    qgc_module_destroy(module);
    if (result != QGC_OK)
        return fail(call);
    remove_state(call);
    flush_diagnostics(call);
    return EXIT_DONE;
}

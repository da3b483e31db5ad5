/* qgc stats: what calibrations have seen. */
#include "calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *method_of(const invocation *call)
{
    const char *method = get_option(call, "--method");
    return method ? method : "mse";
}

/* ---- merge ---- */

static qgc_result read_all(invocation *call, qgc_module **modules, int num)
{
    for (int i = 0; i < num; i++) {
        modules[i] = qgc_module_read(call->context, call->files[i + 1]);
        if (!modules[i])
            return QGC_FAILED;
    }
    return QGC_OK;
}

static int merge(invocation *call)
{
    qgc_module *modules[MAX_FILES] = {0};
    int num = call->num_files - 1;
    qgc_result result = read_all(call, modules, num);
    if (result == QGC_OK)
        result = qgc_module_merge_stats(modules[0], modules + 1, (size_t)num - 1);
    if (result == QGC_OK)
        result = write_module(modules[0], get_option(call, "-o"));
    for (int i = 0; i < num; i++)
        qgc_module_destroy(modules[i]);
    if (result != QGC_OK)
        return fail(call);
    flush_diagnostics(call);
    return EXIT_DONE;
}

/* ---- print ---- */

static int print(invocation *call, qgc_module *module)
{
    if (qgc_module_print_stats(module, method_of(call), stdout) != QGC_OK)
        return fail(call);
    flush_diagnostics(call);
    return EXIT_DONE;
}

/* ---- check ---- */

static qgc_result read_limit(invocation *call, double *out)
{
    const char *text = get_option(call, "--max-clipped");
    char *end = NULL;
    *out = INFINITY;
    if (!text)
        return QGC_OK;
    *out = strtod(text, &end);
    if (text[0] && !*end && *out >= 0 && *out <= 100)
        return QGC_OK;
    return qgc_context_usage_error(call->context, "--max-clipped %s: expected 0 to 100", text);
}

static int check(invocation *call, qgc_module *module)
{
    progress bar;
    double limit, clipped = 0;
    data_source data;
    progress_begin(call, &bar);
    qgc_check_options options = {.func = get_option(call, "--func"),
                                 .method = method_of(call),
                                 .same_data = has_option(call, "--same-data"),
                                 .progress = bar.is_wanted ? progress_show : NULL,
                                 .user = &bar};
    if (read_data(call, &data) != QGC_OK || read_limit(call, &limit) != QGC_OK)
        return fail(call);
    options.max_clipped = limit / 100;
    qgc_engine *engine;
    if (create_engine(call, module, &engine) != QGC_OK)
        return fail(call);
    options.engine = engine;
    qgc_result result = qgc_module_check_stats(module, &data.samples, &options, stdout, &clipped);
    progress_end(&bar);
    destroy_engine(call, engine);
    if (result != QGC_OK)
        return fail(call);
    flush_diagnostics(call);
    return 100 * clipped > limit ? EXIT_LIMIT : EXIT_DONE;
}

/* ---- which ---- */

/* What an action takes beside the common options; others are refused. */
static const struct action {
    const char *name;
    const char *options; /* each between blanks */
    int (*run)(invocation *call, qgc_module *module);
} actions[] = {
    {"merge", " -o ", NULL},
    {"print", " --method ", print},
    {"check",
     " --data --input --image --batch --first --limit --shard --max-clipped --same-data --method "
     "--func --engine --cpu --threads --cache --no-cache --print-plan --no-progress ",
     check},
};

static const struct action *find_action(invocation *call)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, call->files[0]) == 0)
            return &actions[i];
    qgc_context_usage_error(call->context, "qgc stats %s: expected merge, print or check",
                            call->files[0]);
    return NULL;
}

static qgc_result check_usage(invocation *call, const struct action *action)
{
    char word[64];
    for (const option *o = call->command->options; o->name; o++) {
        snprintf(word, sizeof word, " %s ", o->name);
        if (has_option(call, o->name) && !strstr(action->options, word))
            return qgc_context_usage_error(call->context, "qgc stats %s has no option %s",
                                           action->name, o->name);
    }
    if (action->run && call->num_files != 2)
        return qgc_context_usage_error(call->context, "qgc stats %s takes one file", action->name);
    return QGC_OK;
}

int run_stats(invocation *call)
{
    const struct action *action = find_action(call);
    if (!action || check_usage(call, action) != QGC_OK)
        return fail(call);
    if (!action->run)
        return merge(call);
    qgc_module *module = qgc_module_read(call->context, call->files[1]);
    int code = module ? action->run(call, module) : fail(call);
    qgc_module_destroy(module);
    return code;
}

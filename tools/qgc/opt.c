/* qgc opt: parse, verify, run passes, print. */
#include "input.h"

#include <string.h>

static const char *syntax_of(const invocation *call)
{
    const char *syntax = get_option(call, "--syntax");
    if (syntax)
        return syntax;
    if (has_ending(call->files[0], ".qcfg"))
        return "rules";
    return has_ending(call->files[0], ".qpat") ? "patterns" : "module";
}

static qgc_result run_pipeline(invocation *call, qgc_module *module)
{
    const char *passes = get_option(call, "--passes");
    qgc_pipeline_options options = {.verify_each = !has_option(call, "--no-verify-each"),
                                    .print_changed = has_option(call, "--print-changed"),
                                    .time_passes = has_option(call, "--time-passes"),
                                    .print_after = get_option(call, "--print-after"),
                                    .stop_after = get_option(call, "--stop-after"),
                                    .out = stderr};
    if (bind_symbols(call, module) != QGC_OK)
        return QGC_FAILED;
    return qgc_pipeline_run(module, passes ? passes : "", &options);
}

/* The ending of the file may say that it holds no graph. */
static qgc_result refuse_module_options(invocation *call)
{
    static const char *const of_modules[] = {"--passes", "--set", "-o"};
    for (size_t i = 0; i < sizeof of_modules / sizeof *of_modules; i++)
        if (has_option(call, of_modules[i]))
            return qgc_context_usage_error(call->context, "%s holds no graph: %s is for one",
                                           call->files[0], of_modules[i]);
    return QGC_OK;
}

static qgc_result opt_part(invocation *call, qgc_str text, uint32_t first_line,
                           const char *directory)
{
    const char *syntax = syntax_of(call), *name = call->files[0];
    if (strcmp(syntax, "module") != 0 && refuse_module_options(call) != QGC_OK)
        return QGC_FAILED;
    if (strcmp(syntax, "rules") == 0)
        return qgc_rules_write(call->context, name, text, first_line, stdout);
    if (strcmp(syntax, "patterns") == 0)
        return qgc_patterns_write(call->context, name, text, first_line, stdout);
    qgc_module *module = read_part(call, text, first_line, directory);
    if (!module)
        return QGC_FAILED;
    qgc_result result = run_pipeline(call, module);
    if (result == QGC_OK)
        result = write_module(module, get_option(call, "-o"));
    qgc_module_destroy(module);
    return result;
}

int run_opt(invocation *call)
{
    return for_each_part(call, opt_part);
}

/* qgc compile: functions of a graph as machine code in a file. */
#include "input.h"
#include "lower.h"

#include <string.h>

/* Shapes as far as they are known, and constants instead of ops on constants. */
static qgc_result prepare(invocation *call, qgc_module *module)
{
    qgc_pipeline_options options = {.verify_each = true, .out = stderr};
    qgc_result result = bind_symbols(call, module);
    if (result == QGC_OK)
        result = lower_for_target(call, module);
    return result == QGC_OK ? qgc_pipeline_run(module, "infer-shapes,const-fold", &options)
                            : result;
}

static qgc_result compile_one(invocation *call, qgc_str text, uint32_t first_line,
                              const char *directory)
{
    const char *path = get_option(call, "-o");
    const option_values *funcs = get_options(call, "--func");
    qgc_compile_options options = {.format = get_option(call, "--emit"),
                                   .cpu = get_option(call, "--cpu"),
                                   .funcs = funcs->values,
                                   .num_funcs = (size_t)funcs->num,
                                   .name = get_option(call, "--name"),
                                   .source = call->files[0],
                                   .linker = get_option(call, "--linker")};
    if (!path)
        return qgc_context_usage_error(call->context, "qgc compile needs -o FILE");
    qgc_module *module = read_part(call, text, first_line, directory);
    qgc_result result = module ? prepare(call, module) : QGC_FAILED;
    if (result == QGC_OK)
        result =
            qgc_module_compile(module, strcmp(path, "-") == 0 ? "/dev/stdout" : path, &options);
    qgc_module_destroy(module);
    return result;
}

int run_compile(invocation *call)
{
    return for_each_part(call, compile_one);
}

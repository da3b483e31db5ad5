/* qgc export: a graph as an ONNX model. */
#include "input.h"

static qgc_result export_one(invocation *call, qgc_str text, uint32_t first_line,
                             const char *directory)
{
    const char *path = get_option(call, "-o");
    if (!path)
        return qgc_context_usage_error(call->context, "qgc export needs -o FILE");
    qgc_module *module = read_part(call, text, first_line, directory);
    qgc_result result = module ? bind_symbols(call, module) : QGC_FAILED;
    if (result == QGC_OK)
        result = qgc_onnx_write(module, get_option(call, "--func"), path);
    qgc_module_destroy(module);
    return result;
}

int run_export(invocation *call)
{
    return for_each_part(call, export_one);
}

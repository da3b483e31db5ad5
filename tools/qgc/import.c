/* qgc import: an ONNX model as a graph in our language. */
#include "input.h"

int run_import(invocation *call)
{
    if (has_option(call, "--ops")) {
        qgc_onnx_ops_write(stdout);
        return EXIT_DONE;
    }
    const char *path = call->num_files ? call->files[0] : "";
    if (!has_ending(path, ".onnx")) {
        qgc_context_usage_error(call->context, "'%s': expected a name that ends in .onnx", path);
        return fail(call);
    }
    qgc_module *module = read_part(call, (qgc_str){"", 0}, 1, NULL);
    qgc_result result = module ? write_module(module, get_option(call, "-o")) : QGC_FAILED;
    qgc_module_destroy(module);
    if (result != QGC_OK)
        return fail(call);
    flush_diagnostics(call);
    return EXIT_DONE;
}

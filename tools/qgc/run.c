/* qgc run: execute a graph on tensors. */
#include "input.h"
#include "lower.h"
#include "samples.h"

#include <stdlib.h>
#include <string.h>

static qgc_result show(invocation *call, const char *func, const qgc_tensors *outputs)
{
    const char *path = get_option(call, "-o");
    if (path)
        return qgc_tensors_write(call->context, path, outputs);
    qgc_tensors_print(call->context, func, outputs, stdout);
    return QGC_OK;
}

static qgc_result run_func(invocation *call, qgc_module *module, const char *func,
                           const qgc_engine *engine, const qgc_tensors *inputs)
{
    qgc_tensors outputs = {0};
    qgc_result result = qgc_module_run(module, func, engine, inputs, &outputs);
    if (result == QGC_OK)
        result = show(call, func, &outputs);
    qgc_tensors_free(&outputs);
    return result;
}

/* The tensors are samples as soon as an option speaks of them. */
static qgc_result run_samples(invocation *call, qgc_module *module, const char *func,
                              const qgc_engine *engine)
{
    data_source data;
    qgc_tensors outputs = {0};
    QGC_CHECK(read_data(call, &data));
    qgc_result result = qgc_module_run_samples(module, func, engine, &data.samples, &outputs);
    if (result == QGC_OK)
        result = show(call, func, &outputs);
    qgc_tensors_free(&outputs);
    return result;
}

static qgc_result run_closed(invocation *call, qgc_module *module, const qgc_engine *engine)
{
    qgc_result result = QGC_OK;
    const qgc_tensors none = {0};
    const char *func;
    for (size_t i = 0; (func = qgc_module_closed_func(module, i)); i++)
        if (run_func(call, module, func, engine, &none) != QGC_OK)
            result = QGC_FAILED;
    return result;
}

static qgc_result run_on(invocation *call, qgc_module *module, const qgc_engine *engine)
{
    const char *func = get_option(call, "--func");
    if (func && strcmp(func, "all") == 0)
        return run_closed(call, module, engine);
    if (has_option(call, "--batch") || has_option(call, "--first") || has_option(call, "--limit") ||
        has_option(call, "--shard"))
        return run_samples(call, module, func ? func : "main", engine);
    qgc_tensors inputs = {0};
    qgc_result result = read_input_options(call, &inputs);
    if (result == QGC_OK)
        result = run_func(call, module, func ? func : "main", engine, &inputs);
    qgc_tensors_free(&inputs);
    return result;
}

static qgc_result run_module(invocation *call, qgc_module *module)
{
    qgc_engine *engine = NULL;
    if (bind_symbols(call, module) != QGC_OK || lower_for_target(call, module) != QGC_OK ||
        create_engine(call, module, &engine) != QGC_OK)
        return QGC_FAILED;
    qgc_result result = run_on(call, module, engine);
    destroy_engine(call, engine);
    return result;
}

static qgc_result run_part(invocation *call, qgc_str text, uint32_t first_line,
                           const char *directory)
{
    qgc_module *module = read_part(call, text, first_line, directory);
    if (!module)
        return QGC_FAILED;
    qgc_result result = run_module(call, module);
    qgc_module_destroy(module);
    return result;
}

int run_run(invocation *call)
{
    return for_each_part(call, run_part);
}

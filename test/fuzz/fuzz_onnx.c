/* The ONNX importer on any bytes: it refuses them with a report, or makes a module that prints as a
 * text that parses and prints alike. */
#include "frontend/onnx/import.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static qgc_str print(qgc_context *context, qgc_module *module)
{
    qgc_text text = {.arena = &context->arena};
    qgc_module_print(module, &text);
    return qgc_text_str(&text);
}

static void check_text(qgc_context *context, qgc_module *module)
{
    qgc_str first = print(context, module);
    qgc_module *again = qgc_module_parse(context, "again.qir", first, 1, NULL);
    QGC_ASSERT(again, "the importer's text does not parse:\n%.*s", QGC_STR_ARG(first));
    QGC_ASSERT(qgc_str_equal(first, print(context, again)), "the text prints otherwise:\n%.*s",
               QGC_STR_ARG(first));
    qgc_module_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qgc_context *context = qgc_context_create();
    qgc_file file = qgc_file_from_memory("fuzz.onnx", data, size);
    qgc_module *module = qgc_onnx_import_file(context, &file, NULL, NULL, 0, NULL);
    QGC_ASSERT((module != NULL) == (qgc_context_num_errors(context) == 0),
               "result and reports disagree");
    if (module)
        check_text(context, module);
    qgc_module_destroy(module);
    qgc_context_destroy(context);
    return 0;
}

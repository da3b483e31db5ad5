/* The module part of the public API: reading, binding, writing. */
#include "frontend/onnx/import.h"
#include "frontend/parse.h"
#include "frontend/weights.h"
#include "runtime/file.h"

#include <errno.h>
#include <string.h>

static qgc_result cannot_read(qgc_context *context, const char *path, int error)
{
    char text[128];
    return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_FILE_OPEN, "%s: %s", path,
                      strerror_r(error, text, sizeof text));
}

qgc_result qgc_read_file(qgc_context *context, const char *path, qgc_str *out)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    if (!file)
        return cannot_read(context, path, errno);
    qgc_text text = {.arena = &context->arena};
    char chunk[1 << 14];
    size_t size;
    do {
        size = fread(chunk, 1, sizeof chunk, file);
        qgc_text_put(&text, (qgc_str){chunk, size});
    } while (size == sizeof chunk);
    int error = ferror(file) ? errno : 0;
    if (!is_stdin)
        fclose(file);
    if (error)
        return cannot_read(context, path, error);
    *out = qgc_text_str(&text);
    return QGC_OK;
}

qgc_result qgc_write_file(qgc_context *context, const char *path, qgc_str data)
{
    qgc_output output;
    QGC_TRY(qgc_output_open(&context->diag, path, &output));
    qgc_output_put(&output, data.data, data.size);
    return qgc_output_close(&context->diag, &output);
}

static uint32_t add_source(qgc_context *context, const char *name, qgc_str text,
                           uint32_t first_line)
{
    uint32_t source = qgc_source_add(&context->sources, name, text, first_line);
    if (!source)
        qgc_report(&context->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT, "%s: larger than 4 GiB", name);
    return source;
}

qgc_module *qgc_module_parse(qgc_context *context, const char *name, qgc_str text,
                             uint32_t first_line, const char *directory)
{
    uint32_t source = add_source(context, name, text, first_line);
    if (!source)
        return NULL;
    qgc_parse_options options = {qgc_weights_open, (void *)directory};
    qgc_module *module = qgc_parse_module(context, source, directory ? &options : NULL);
    if (module && directory)
        module->directory = qgc_arena_strdup(&module->arena, qgc_str_from(directory));
    return module;
}

static bool is_onnx(const char *path)
{
    size_t size = strlen(path);
    return size > 5 && strcmp(path + size - 5, ".onnx") == 0;
}

qgc_module *qgc_module_read(qgc_context *context, const char *path)
{
    qgc_str text;
    if (is_onnx(path))
        return qgc_onnx_import(context, path, NULL, 0, NULL);
    if (qgc_read_file(context, path, &text) != QGC_OK)
        return NULL;
    bool is_stdin = strcmp(path, "-") == 0;
    const char *slash = strrchr(path, '/');
    const char *directory =
        slash ? qgc_arena_strdup(&context->arena, (qgc_str){path, (size_t)(slash - path + 1)}) : "";
    return qgc_module_parse(context, is_stdin ? "<stdin>" : path, text, 1, directory);
}

qgc_module *qgc_module_read_bound(qgc_context *context, const char *path,
                                  const qgc_binding *bindings, size_t num)
{
    if (is_onnx(path))
        return qgc_onnx_import(context, path, bindings, num, NULL);
    qgc_module *module = qgc_module_read(context, path);
    for (size_t i = 0; i < num && module; i++) {
        if (qgc_module_bind(module, bindings[i].name, bindings[i].value) == QGC_OK)
            continue;
        qgc_module_destroy(module);
        module = NULL;
    }
    return module;
}

qgc_module *qgc_module_read_some(qgc_context *context, const char *path,
                                 const qgc_binding *bindings, size_t num, bool *found)
{
    if (is_onnx(path))
        return qgc_onnx_import(context, path, bindings, num, found);
    qgc_module *module = qgc_module_read(context, path);
    for (size_t i = 0; i < num && module; i++) {
        const qgc_binding *b = &bindings[i];
        if (qgc_module_bind_if_found(module, b->name, b->value, &found[i]) == QGC_OK)
            continue;
        qgc_module_destroy(module);
        module = NULL;
    }
    return module;
}

void qgc_module_write(qgc_module *module, FILE *out)
{
    qgc_arena arena = {0};
    qgc_text text = {.arena = &arena};
    qgc_module_print(module, &text);
    qgc_str bytes = qgc_text_str(&text);
    fwrite(bytes.data, 1, bytes.size, out);
    qgc_arena_destroy(&arena);
}

qgc_result qgc_rules_write(qgc_context *context, const char *name, qgc_str text,
                           uint32_t first_line, FILE *out)
{
    uint32_t source = add_source(context, name, text, first_line);
    qgc_rules *rules = source ? qgc_parse_rules(context, source) : NULL;
    if (!rules)
        return QGC_FAILED;
    qgc_text printed = {.arena = &context->arena};
    qgc_rules_print(&printed, rules);
    fwrite(qgc_text_str(&printed).data, 1, printed.size, out);
    return QGC_OK;
}

qgc_result qgc_patterns_write(qgc_context *context, const char *name, qgc_str text,
                              uint32_t first_line, FILE *out)
{
    uint32_t source = add_source(context, name, text, first_line);
    qgc_rules *rules = source ? qgc_parse_patterns(context, source) : NULL;
    if (!rules)
        return QGC_FAILED;
    qgc_text printed = {.arena = &context->arena};
    qgc_rules_print(&printed, rules);
    fwrite(qgc_text_str(&printed).data, 1, printed.size, out);
    return QGC_OK;
}

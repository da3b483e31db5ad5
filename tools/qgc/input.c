#include "input.h"

#include "samples.h"
#include "whole.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 1024 };

static const char SEPARATOR[] = "// -----";

bool has_form(const qgc_module *module, const char *form)
{
    return strcmp(qgc_module_form(module), form) == 0;
}

bool has_ending(const char *path, const char *ending)
{
    size_t size = strlen(path), tail = strlen(ending);
    return size >= tail && strcmp(path + size - tail, ending) == 0;
}

static bool is_separator(const char *line, size_t size)
{
    size_t num = sizeof SEPARATOR - 1;
    if (size < num || memcmp(line, SEPARATOR, num) != 0)
        return false;
    while (num < size && isspace((unsigned char)line[num]))
        num++;
    return num == size;
}

/* The part's size, up to the next separator line. */
static size_t part_size(qgc_str text)
{
    const char *at = text.data, *end = text.data + text.size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line = newline ? (size_t)(newline - at) : (size_t)(end - at);
        if (is_separator(at, line))
            return (size_t)(at - text.data);
        at += line + 1;
    }
    return text.size;
}

static uint32_t count_lines(const char *data, size_t size)
{
    uint32_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    return lines;
}

static qgc_result run_parts(invocation *call, each_part *each, qgc_str text, const char *directory)
{
    qgc_result result = QGC_OK;
    uint32_t line = 1;
    for (;;) {
        size_t size = part_size(text);
        if (each(call, (qgc_str){text.data, size}, line, directory) != QGC_OK)
            result = QGC_FAILED;
        if (size == text.size)
            return result;
        const char *newline = memchr(text.data + size, '\n', text.size - size);
        size_t skip = newline ? (size_t)(newline - text.data) + 1 : text.size;
        line += count_lines(text.data, skip);
        text = (qgc_str){text.data + skip, text.size - skip};
        if (result == QGC_OK && text.size)
            printf("// -----\n");
    }
}

int for_each_part(invocation *call, each_part *each)
{
    qgc_str text;
    const char *path = call->files[0];
    bool is_onnx = has_ending(path, ".onnx"); /* read by the importer, whole */
    if (is_onnx)
        text = (qgc_str){"", 0};
    else if (qgc_read_file(call->context, path, &text) != QGC_OK)
        return fail(call);
    const char *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup("");
    qgc_result result = has_option(call, "--split-input") ? run_parts(call, each, text, directory)
                                                          : each(call, text, 1, directory);
    free(directory);
    if (has_option(call, "--verify-diagnostics"))
        result = qgc_context_verify_diagnostics(call->context);
    if (result != QGC_OK)
        return fail(call);
    flush_diagnostics(call);
    return EXIT_DONE;
}

/* "N=1,H=48" of every --set, as bindings; names point into |copies|, which the caller frees. */
enum { MAX_BINDINGS = 256 };

typedef struct bindings {
    qgc_binding items[MAX_BINDINGS];
    size_t num;
    char *copies[MAX_REPEATS];
} bindings;

static qgc_result read_one(invocation *call, char *item, bindings *out)
{
    char *equal = strchr(item, '='), *end = NULL;
    errno = 0;
    long long value = equal ? strtoll(equal + 1, &end, 10) : 0;
    if (!equal || equal == item || end == equal + 1 || *end)
        return qgc_context_usage_error(call->context, "--set %s: expected NAME=NUMBER", item);
    if (errno)
        return qgc_context_usage_error(call->context, "--set %s: the number does not fit 64 bits",
                                       item);
    if (out->num == MAX_BINDINGS)
        return qgc_context_usage_error(call->context, "--set: more than %d numbers", MAX_BINDINGS);
    *equal = 0;
    for (size_t i = 0; i < out->num; i++)
        if (strcmp(out->items[i].name, item) == 0)
            return qgc_context_usage_error(call->context, "--set %s: it is set already", item);
    out->items[out->num++] = (qgc_binding){item, value};
    return QGC_OK;
}

static qgc_result read_bindings(invocation *call, bindings *out)
{
    const option_values *sets = get_options(call, "--set");
    qgc_result result = QGC_OK;
    for (int i = 0; i < sets->num && result == QGC_OK; i++) {
        char *rest = out->copies[i] = strdup(sets->values[i]), *item;
        while (result == QGC_OK && (item = strsep(&rest, ",")))
            result = read_one(call, item, out);
    }
    return result;
}

static void free_bindings(bindings *b)
{
    for (int i = 0; i < MAX_REPEATS; i++)
        free(b->copies[i]);
}

qgc_result bind_symbols(invocation *call, qgc_module *module)
{
    bindings b = {.num = 0};
    if (has_ending(call->files[0], ".onnx")) /* bound while it was imported */
        return QGC_OK;
    qgc_result result = read_bindings(call, &b);
    for (size_t i = 0; i < b.num && result == QGC_OK; i++)
        result = qgc_module_bind(module, b.items[i].name, b.items[i].value);
    free_bindings(&b);
    return result;
}

/* One of several files; |found| of a binding is set where this file has its name. */
static qgc_module *read_with(invocation *call, const char *path, const bindings *b, bool *found)
{
    bool here[MAX_BINDINGS] = {false};
    qgc_module *module = qgc_module_read_some(call->context, path, b->items, b->num, here);
    for (size_t i = 0; i < b->num; i++)
        found[i] |= here[i];
    bool is_literal = !has_ending(path, ".onnx") || has_option(call, "--literal");
    if (!module || is_literal ||
        qgc_pipeline_run(module, "recognize", &(qgc_pipeline_options){0}) == QGC_OK)
        return module;
    qgc_module_destroy(module);
    return NULL;
}

static qgc_result read_all(invocation *call, const char *const *paths, size_t num,
                           const bindings *b, qgc_module **out)
{
    bool found[MAX_BINDINGS] = {false}, any_onnx = false;
    for (size_t i = 0; i < num; i++) {
        out[i] = read_with(call, paths[i], b, found);
        if (!out[i])
            return QGC_FAILED;
        any_onnx |= has_ending(paths[i], ".onnx");
    }
    for (size_t i = 0; i < b->num; i++)
        if (!found[i])
            return qgc_context_usage_error(call->context, "no dimension%s is named %s",
                                           any_onnx ? " or scalar input" : "", b->items[i].name);
    return QGC_OK;
}

qgc_result read_modules(invocation *call, const char *const *paths, size_t num, qgc_module **out)
{
    bindings b = {.num = 0};
    memset(out, 0, num * sizeof *out);
    qgc_result result = read_bindings(call, &b);
    if (result == QGC_OK)
        result = read_all(call, paths, num, &b, out);
    free_bindings(&b);
    return result;
}

qgc_module *read_module(invocation *call, const char *path)
{
    bindings b = {.num = 0};
    qgc_module *module = NULL;
    qgc_result result = read_bindings(call, &b);
    if (result == QGC_OK)
        module = qgc_module_read_bound(call->context, path, b.items, b.num);
    free_bindings(&b);
    if (module && has_ending(path, ".onnx") && !has_option(call, "--literal"))
        result = qgc_pipeline_run(module, "recognize", &(qgc_pipeline_options){0});
    if (result == QGC_OK)
        return module;
    qgc_module_destroy(module);
    return NULL;
}

qgc_module *read_part(invocation *call, qgc_str text, uint32_t first_line, const char *directory)
{
    const char *path = call->files[0];
    if (has_ending(path, ".onnx"))
        return read_module(call, path);
    return qgc_module_parse(call->context, path, text, first_line, directory);
}

qgc_result write_module(qgc_module *module, const char *path)
{
    if (path && strcmp(path, "-") != 0)
        return qgc_module_save(module, path);
    qgc_module_write(module, stdout);
    return QGC_OK;
}

/* A .pb holds one TensorProto. */
static qgc_result read_tensors(invocation *call, const char *path, const char *name,
                               qgc_tensors *inputs)
{
    if (has_ending(path, ".pb"))
        return qgc_onnx_tensor_read(call->context, path, name, inputs);
    return qgc_tensors_read(call->context, path, name, inputs);
}

qgc_result read_input_options(invocation *call, qgc_tensors *inputs)
{
    data_source data;
    QGC_CHECK(read_data_files(call, "--data", "--input", &data));
    for (size_t i = 0; i < data.samples.num_files; i++) {
        const qgc_data_file *file = &data.files[i];
        char *name = file->input.data ? strndup(file->input.data, file->input.size) : NULL;
        qgc_result result = name ? read_tensors(call, file->path, name, inputs)
                                 : qgc_tensors_read(call->context, file->path, NULL, inputs);
        free(name);
        QGC_CHECK(result);
    }
    return QGC_OK;
}

/* "0" is no number of threads; the default is. */
static qgc_result read_threads(invocation *call, size_t *out)
{
    const char *option = get_option(call, "--threads"), *variable = getenv("QGC_THREADS");
    const char *text = option ? option : variable;
    uint64_t value;
    if (!text || (!option && !text[0]))
        return QGC_OK;
    if (!parse_whole(text, &value) || !value || value > MAX_THREADS)
        return qgc_context_usage_error(call->context, "%s%s: expected a number from 1 to %d",
                                       option ? "--threads " : "QGC_THREADS=", text, MAX_THREADS);
    *out = value;
    return QGC_OK;
}

/* $QGC_CACHE where it is set ("": none), else in the user's directory of caches. */
static const char *default_cache(invocation *call)
{
    const char *given = getenv("QGC_CACHE"), *caches = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int size = 0;
    if (given)
        return given[0] ? given : NULL;
    if (caches && caches[0] == '/')
        size = snprintf(call->cache, sizeof call->cache, "%s/qgc", caches);
    else if (home && home[0] == '/')
        size = snprintf(call->cache, sizeof call->cache, "%s/.cache/qgc", home);
    return size > 0 && size < (int)sizeof call->cache ? call->cache : NULL;
}

static qgc_result read_cache_size(invocation *call, size_t *out)
{
    enum { MOST = 1 << 20 };
    const char *text = getenv("QGC_CACHE_SIZE");
    uint64_t value;
    if (!text || !text[0])
        return QGC_OK;
    if (!parse_whole(text, &value) || !value || value > MOST)
        return qgc_context_usage_error(call->context,
                                       "QGC_CACHE_SIZE=%s: expected MiB, from 1 to %d", text, MOST);
    *out = (size_t)value << 20;
    return QGC_OK;
}

static qgc_result read_cache(invocation *call, qgc_engine_options *out)
{
    const char *given = get_option(call, "--cache");
    if (given && !given[0])
        return qgc_context_usage_error(call->context, "--cache: expected a directory");
    out->cache = has_option(call, "--no-cache") ? NULL : given ? given : default_cache(call);
    return read_cache_size(call, &out->cache_bytes);
}

qgc_result read_engine_options(invocation *call, bool *is_ref, qgc_engine_options *out)
{
    const char *name = get_option(call, "--engine");
    *is_ref = name && strcmp(name, "ref") == 0;
    out->cpu = get_option(call, "--cpu");
    if (*is_ref)
        return QGC_OK;
    QGC_CHECK(read_threads(call, &out->threads));
    return read_cache(call, out);
}

qgc_result create_engine(invocation *call, qgc_module *module, qgc_engine **out)
{
    bool is_ref;
    qgc_engine_options options = {0};
    *out = NULL;
    QGC_CHECK(read_engine_options(call, &is_ref, &options));
    return is_ref ? QGC_OK : qgc_engine_create_with(module, &options, out);
}

void destroy_engine(invocation *call, qgc_engine *engine)
{
    if (engine && has_option(call, "--print-plan"))
        qgc_engine_print_plans(engine, stderr);
    qgc_engine_destroy(engine);
}

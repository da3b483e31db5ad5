/* Loading plug-ins. A file is not trusted to be one: everything it hands over is checked before it
 * is used, as far as that can be done of code. */
#include "ir/plugin.h"

#include "ir/context.h"

#include <ctype.h>
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* ---- rows ---- */

static void read_row(const void *rows, size_t size, size_t index, void *out, size_t out_size)
{
    memcpy(out, (const char *)rows + size * index, size < out_size ? size : out_size);
}

qgc_backend_pattern qgc_backend_pattern_at(const qgc_backend *backend, size_t index)
{
    qgc_backend_pattern row = {0};
    read_row(backend->patterns, backend->pattern_size, index, &row, sizeof row);
    return row;
}

qgc_backend_legal qgc_backend_legal_at(const qgc_backend *backend, size_t index)
{
    qgc_backend_legal row = {0};
    read_row(backend->legals, backend->legal_size, index, &row, sizeof row);
    return row;
}

bool qgc_backend_lowers(const qgc_backend *backend)
{
    for (size_t i = 0; i < backend->num_patterns; i++)
        if (qgc_backend_pattern_at(backend, i).lower)
            return true;
    return false;
}

/* ---- checking ---- */

static bool is_name(const char *name)
{
    size_t size = name ? strlen(name) : 0;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
            return false;
    return size > 0 && size < 64;
}

/* What is wrong with the struct, beside its version; NULL: nothing. */
static const char *find_fault(const qgc_backend *b)
{
    if (b->struct_size < sizeof *b)
        return "its struct is shorter than this version's";
    if (b->pattern_size < sizeof(qgc_backend_pattern) ||
        (b->num_legals && b->legal_size < sizeof(qgc_backend_legal)))
        return "its rows are shorter than this version's";
    if (!is_name(b->name))
        return "its name is not made of letters, digits, '_' and '-'";
    if (!b->summary)
        return "it has no summary";
    if (!b->num_patterns || !b->patterns)
        return "it has no claim rows";
    for (size_t i = 0; i < b->num_patterns; i++)
        if (!qgc_backend_pattern_at(b, i).claims)
            return "a pattern has no claim rows";
    for (size_t i = 0; i < b->num_legals; i++) {
        qgc_backend_legal row = qgc_backend_legal_at(b, i);
        if (!row.op || !row.port || !row.dtypes)
            return "a row of its legality table is incomplete";
    }
    return NULL;
}

static qgc_result check_backend(qgc_context *context, const char *file, const qgc_backend *b)
{
    qgc_diag *diag = &context->diag;
    if (b->abi != QGC_BACKEND_ABI)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_PLUGIN_VERSION,
                          "plug-in %s has version %u of the backend interface, this qgc has %u",
                          file, b->abi, QGC_BACKEND_ABI);
    const char *fault = find_fault(b);
    if (fault)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_PLUGIN_BAD, "plug-in %s: %s", file, fault);
    for (size_t i = 0; i < context->plugins.list.size; i++)
        if (strcmp(context->plugins.list.data[i].backend->name, b->name) == 0)
            return qgc_report(diag, QGC_NO_LOC, QGC_D_PLUGIN_BAD,
                              "plug-in %s: %s has a target '%s' already", file,
                              context->plugins.list.data[i].file, b->name);
    return QGC_OK;
}

/* ---- opening ---- */

static qgc_result open_backend(qgc_context *context, const qgc_backend *b, qgc_plugin *plugin,
                               const char *options)
{
    char error[512] = "";
    if (!b->open || b->open(options, &plugin->state, error, sizeof error) == QGC_BACKEND_OK)
        return QGC_OK;
    error[sizeof error - 1] = 0;
    return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_PLUGIN_LOAD, "plug-in %s: %s%s%s%s",
                      plugin->file, error[0] ? error : "it does not open", options[0] ? " {" : "",
                      options, options[0] ? "}" : "");
}

/* NULL: reported. */
static const qgc_backend *query(qgc_context *context, const qgc_plugin *plugin)
{
    qgc_backend_query_fn *ask = NULL;
    void *symbol = dlsym(plugin->handle, QGC_BACKEND_QUERY);
    if (symbol)
        memcpy(&ask, &symbol, sizeof symbol);
    const qgc_backend *backend = ask ? ask(QGC_BACKEND_ABI) : NULL;
    if (backend)
        return check_backend(context, plugin->file, backend) == QGC_OK ? backend : NULL;
    qgc_report(&context->diag, QGC_NO_LOC, QGC_D_PLUGIN_BAD,
               ask ? "plug-in %s: " QGC_BACKEND_QUERY " returned nothing"
                   : "plug-in %s has no symbol " QGC_BACKEND_QUERY,
               plugin->file);
    return NULL;
}

/* The same object under another name: dlopen gives the same handle. */
static bool is_loaded(const qgc_context *context, const void *handle)
{
    for (size_t i = 0; i < context->plugins.list.size; i++)
        if (context->plugins.list.data[i].handle == handle)
            return true;
    return false;
}

static qgc_result load_file(qgc_context *context, const char *path, const char *options)
{
    qgc_plugin plugin = {.file = path};
    const char *slash = strchr(path, '/') ? "" : "./"; /* dlopen would search the system's */
    const char *file = qgc_arena_printf(&context->arena, "%s%s", slash, path);
    /* Kept when it is closed: a library below it may have threads that still run (libgomp). */
    plugin.handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!plugin.handle)
        return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_PLUGIN_LOAD, "plug-in %s: %s", path,
                          dlerror());
    if (is_loaded(context, plugin.handle)) {
        dlclose(plugin.handle);
        return QGC_OK;
    }
    plugin.backend = query(context, &plugin);
    if (!plugin.backend || open_backend(context, plugin.backend, &plugin, options) != QGC_OK) {
        dlclose(plugin.handle);
        return QGC_FAILED;
    }
    qgc_vec_push(&context->arena, &context->plugins.list, plugin);
    return QGC_OK;
}

/* |name| in the first directory of the path that has it, or NULL. */
static const char *search(qgc_context *context, const char *name)
{
    const char *rest = context->plugins.path;
    while (rest && *rest) {
        size_t size = strcspn(rest, ":");
        const char *path = qgc_arena_printf(&context->arena, "%.*s/%s", (int)size, rest, name);
        if (size && access(path, F_OK) == 0)
            return path;
        rest += size + (rest[size] == ':');
    }
    return NULL;
}

/* Where a name without a slash is found: here, or in a directory of the path, there with or without
 * its ".so". False: nowhere. */
static bool find_file(qgc_context *context, const char **path)
{
    if (strchr(*path, '/') || access(*path, F_OK) == 0)
        return true;
    const char *found = search(context, *path);
    if (!found && is_name(*path))
        found = search(context, qgc_arena_printf(&context->arena, "%s.so", *path));
    *path = found ? found : *path;
    return found != NULL;
}

static qgc_result not_found(qgc_context *context, const char *path)
{
    const char *searched = context->plugins.path;
    bool has_path = searched && *searched;
    return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_PLUGIN_LOAD,
                      "plug-in %s: no such file here%s%s", path,
                      has_path ? " or in the plug-in path " : ", and there is no plug-in path",
                      has_path ? searched : "");
}

qgc_result qgc_plugin_load(qgc_context *context, const char *given)
{
    const char *brace = strchr(given, '{'), *options = "";
    size_t size = brace ? (size_t)(brace - given) : strlen(given);
    const char *path = qgc_arena_strdup(&context->arena, (qgc_str){given, size});
    if (brace) {
        size_t length = strlen(brace + 1);
        if (!length || brace[length] != '}')
            return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_USAGE,
                              "plug-in %s: expected FILE.so or FILE.so{options}", given);
        options = qgc_arena_strdup(&context->arena, (qgc_str){brace + 1, length - 1});
    }
    return find_file(context, &path) ? load_file(context, path, options) : not_found(context, path);
}

void qgc_plugin_set_path(qgc_context *context, const char *path)
{
    context->plugins.path = qgc_arena_strdup(&context->arena, qgc_str_from(path ? path : ""));
}

static const qgc_plugin *find_loaded(const qgc_context *context, qgc_str name)
{
    for (size_t i = 0; i < context->plugins.list.size; i++)
        if (qgc_str_equal(name, qgc_str_from(context->plugins.list.data[i].backend->name)))
            return &context->plugins.list.data[i];
    return NULL;
}

qgc_result qgc_plugin_find(qgc_context *context, qgc_str name, const qgc_plugin **out)
{
    *out = find_loaded(context, name);
    char *text = qgc_arena_strdup(&context->arena, name);
    if (*out || !is_name(text))
        return QGC_OK;
    const char *path = search(context, qgc_arena_printf(&context->arena, "%s.so", text));
    if (!path)
        return QGC_OK;
    QGC_TRY(load_file(context, path, ""));
    *out = find_loaded(context, name);
    if (*out)
        return QGC_OK;
    return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_PLUGIN_BAD, "plug-in %s has no target '%s'",
                      path, text);
}

void qgc_plugins_close(qgc_plugins *plugins)
{
    for (size_t i = 0; i < plugins->list.size; i++) {
        const qgc_plugin *plugin = &plugins->list.data[i];
        if (plugin->backend->close)
            plugin->backend->close(plugin->state);
        dlclose(plugin->handle);
    }
    plugins->list.size = 0;
}

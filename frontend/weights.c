#include "frontend/weights.h"

#include "runtime/safetensors.h"

#include <string.h>

typedef struct weights {
    size_t num;
    qgc_safetensors *files;
} weights;

static const qgc_tensor *find_weight(void *user, qgc_str name, size_t *out_file)
{
    const weights *w = user;
    for (size_t i = 0; i < w->num; i++) {
        const qgc_safetensors_entry *entry = qgc_safetensors_find(&w->files[i], name);
        if (!entry)
            continue;
        *out_file = i;
        return &entry->tensor;
    }
    return NULL;
}

static void close_weights(void *user)
{
    weights *w = user;
    for (size_t i = 0; i < w->num; i++)
        qgc_safetensors_close(&w->files[i]);
}

bool qgc_path_stays_inside(qgc_str path)
{
    if (!path.size || path.data[0] == '/' || memchr(path.data, 0, path.size))
        return false;
    for (size_t i = 0; i + 1 < path.size; i++) {
        bool starts = i == 0 || path.data[i - 1] == '/';
        bool ends = i + 2 == path.size || path.data[i + 2] == '/';
        if (starts && ends && path.data[i] == '.' && path.data[i + 1] == '.')
            return false;
    }
    return true;
}

/* `weights self "hash"` is the file that was written together with the text: FILE.hash.safetensors.
 */
static const char *file_path(qgc_module *module, const char *directory,
                             const qgc_weights_file *file)
{
    qgc_arena *arena = &module->arena;
    if (file->path)
        return qgc_arena_printf(arena, "%s%s", directory, file->path->data);
    const char *name = qgc_source_get(&module->context->sources, file->loc.source)->name;
    const char *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
    size_t stem = dot && (!slash || dot > slash) ? (size_t)(dot - name) : strlen(name);
    return qgc_arena_printf(arena, "%.*s.%s.safetensors", (int)stem, name, file->hash->data);
}

/* What was written to stdout has no file beside it. */
static bool lies_beside_stdin(const qgc_module *module, const qgc_weights_file *file)
{
    const char *name = qgc_source_get(&module->context->sources, file->loc.source)->name;
    return !file->path && (strcmp(name, "-") == 0 || strcmp(name, "<stdin>") == 0);
}

static qgc_result check_unique(qgc_module *module, const weights *w, const qgc_weights_file *file)
{
    const qgc_safetensors *last = &w->files[w->num - 1];
    for (size_t e = 0; e < last->num_entries; e++)
        for (size_t i = 0; i + 1 < w->num; i++)
            if (qgc_safetensors_find(&w->files[i], qgc_name_str(last->entries[e].name)))
                return qgc_report(&module->context->diag, file->loc, QGC_D_REDEFINED,
                                  "weight \"%s\" is in two weights files",
                                  last->entries[e].name->data);
    return QGC_OK;
}

static qgc_result open_one(qgc_module *module, const char *directory, weights *w,
                           const qgc_weights_file *file)
{
    qgc_diag *diag = &module->context->diag;
    qgc_name shown = file->path ? file->path : file->hash;
    if (!qgc_path_stays_inside(qgc_name_str(shown)) || (!file->path && strchr(shown->data, '/')))
        return qgc_report(diag, file->loc, QGC_D_FILE_PATH,
                          "weights file \"%s\" is not inside the model's folder", shown->data);
    if (lies_beside_stdin(module, file))
        return qgc_report(diag, file->loc, QGC_D_FILE_PATH,
                          "weights self: a graph from stdin has no file beside it; have it written "
                          "with -o FILE.qir, and read that");
    const char *path = file_path(module, directory, file);
    if (qgc_safetensors_open(diag, path, &w->files[w->num]) != QGC_OK) {
        qgc_note(diag, file->loc, "named here");
        return QGC_FAILED;
    }
    w->num++;
    return check_unique(module, w, file);
}

qgc_result qgc_weights_open(void *user, qgc_module *module)
{
    weights *w = QGC_NEW(&module->arena, weights);
    w->files = QGC_NEW_ARRAY(&module->arena, qgc_safetensors, module->weights.size);
    module->find_weight = find_weight;
    module->close_weights = close_weights;
    module->weights_user = w;
    for (size_t i = 0; i < module->weights.size; i++)
        if (open_one(module, user, w, &module->weights.data[i]) != QGC_OK) {
            module->find_weight = NULL; /* that is the error, not each of its weights */
            return QGC_FAILED;
        }
    return QGC_OK;
}

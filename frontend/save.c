/* Saving a module: the text, and beside it one safetensors file with the constants that are too
 * large to stand in the text.
 *
 * FILE.qir says `weights self "<hash>"`, the tensors lie in FILE.<hash>.safetensors. That file is
 * written first, then the text is renamed into place: a killed run leaves the old pair or the new
 * one. The hash covers names, types and bytes, so the text does not depend on the file's name.
 * Weights files of the input stay references where the output lies in the same directory; otherwise
 * what the graph uses of them moves into the new file. Nothing is written next to the input. */
#include "ir/graph.h"
#include "runtime/file.h"
#include "runtime/safetensors.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Constants up to this many bytes stay in the text. */
enum { MAX_INLINE_BYTES = 256 };

typedef struct changed_node {
    qgc_node *node;
    qgc_opcode op;
    qgc_attr attr;
} changed_node;

typedef struct saver {
    qgc_module *module;
    qgc_arena arena;
    const char *path;
    bool keeps_files; /* weights files stay references */
    qgc_interner names;
    qgc_map taken; /* interned name -> the tensor that has it */
    QGC_VEC(qgc_named_tensor) tensors;
    QGC_VEC(changed_node) changed;
} saver;

static bool same_directory(saver *s)
{
    char a[PATH_MAX], b[PATH_MAX];
    const char *from = s->module->directory;
    if (!from)
        return false;
    char *to = dirname(qgc_arena_strdup(&s->arena, qgc_str_from(s->path)));
    return realpath(from[0] ? from : ".", a) && realpath(to, b) && strcmp(a, b) == 0;
}

static bool is_in_kept_file(saver *s, qgc_str name)
{
    size_t file;
    const qgc_module *module = s->module;
    return s->keeps_files && module->find_weight &&
           module->find_weight(module->weights_user, name, &file) &&
           module->weights.data[file].path;
}

/* |wanted|, or with a number where another tensor has that name. The same data under the same name
 * is stored once. */
static qgc_name claim_name(saver *s, qgc_str wanted, const qgc_tensor *tensor, bool *out_is_new)
{
    qgc_name name = qgc_intern(&s->names, wanted);
    for (int n = 1;; n++) {
        void **owner = qgc_map_at(&s->taken, name);
        *out_is_new = !*owner;
        if (*owner == tensor)
            return name;
        if (!*owner && !is_in_kept_file(s, qgc_name_str(name))) {
            *owner = (void *)tensor;
            return name;
        }
        const char *next = qgc_arena_printf(&s->arena, "%.*s.%d", QGC_STR_ARG(wanted), n);
        name = qgc_intern(&s->names, qgc_str_from(next));
    }
}

static void store(saver *s, qgc_node *node, qgc_str wanted)
{
    bool is_new;
    qgc_name name = claim_name(s, wanted, node->constant, &is_new);
    if (is_new) {
        qgc_named_tensor item = {qgc_name_str(name), *node->constant};
        qgc_vec_push(&s->arena, &s->tensors, item);
    }
    changed_node old = {node, node->op, node->attrs[0]};
    qgc_vec_push(&s->arena, &s->changed, old);
    node->op = QGC_OP_WEIGHT;
    node->attrs[0] = (qgc_attr){.kind = QGC_ATTR_STRING,
                                .name = qgc_intern(&s->module->context->names, qgc_name_str(name))};
}

static void visit(saver *s, qgc_node *node)
{
    if (!node->constant)
        return;
    if (node->op == QGC_OP_WEIGHT) {
        qgc_str name = qgc_name_str(node->attrs[0].name);
        if (!is_in_kept_file(s, name))
            store(s, node, name);
    } else if (node->constant->bytes > MAX_INLINE_BYTES) {
        store(s, node, qgc_name_str(node->results[0].name));
    }
}

static const char *hash_tensors(saver *s)
{
    XXH3_state_t *state = XXH3_createState();
    QGC_ASSERT(state, "out of memory");
    XXH3_128bits_reset(state);
    for (size_t i = 0; i < s->tensors.size; i++) {
        const qgc_named_tensor *item = &s->tensors.data[i];
        uint64_t head[3] = {item->name.size, (uint64_t)item->tensor.dtype, item->tensor.rank};
        XXH3_128bits_update(state, head, sizeof head);
        XXH3_128bits_update(state, item->name.data, item->name.size);
        XXH3_128bits_update(state, item->tensor.shape,
                            item->tensor.rank * sizeof *item->tensor.shape);
        if (item->tensor.bytes)
            XXH3_128bits_update(state, item->tensor.data, item->tensor.bytes);
    }
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    return qgc_arena_printf(&s->arena, "%016llx%016llx", (unsigned long long)hash.high64,
                            (unsigned long long)hash.low64);
}

static qgc_result write_tensors(saver *s, const char *hash)
{
    const char *dot = strrchr(s->path, '.'), *slash = strrchr(s->path, '/');
    size_t stem = dot && (!slash || dot > slash) ? (size_t)(dot - s->path) : strlen(s->path);
    const char *file = qgc_arena_printf(&s->arena, "%.*s.%s.safetensors", (int)stem, s->path, hash);
    return qgc_safetensors_write(&s->module->context->diag, file, s->tensors.data, s->tensors.size);
}

static qgc_result write_text(saver *s)
{
    qgc_output output;
    qgc_diag *diag = &s->module->context->diag;
    QGC_TRY(qgc_output_open(diag, s->path, &output));
    qgc_text text = {.arena = &s->arena};
    qgc_module_print(s->module, &text);
    qgc_output_put(&output, qgc_text_str(&text).data, text.size);
    return qgc_output_close(diag, &output);
}

/* The list of weights files for the printed text: kept ones and `self`. */
static void list_files(saver *s, const char *hash)
{
    qgc_module *module = s->module;
    size_t num = module->weights.size;
    const qgc_weights_file *old = module->weights.data;
    module->weights.data = NULL;
    module->weights.size = module->weights.capacity = 0;
    for (size_t i = 0; i < num; i++)
        if (s->keeps_files && old[i].path)
            qgc_vec_push(&s->arena, &module->weights, old[i]);
    if (hash) {
        qgc_weights_file self = {.hash = qgc_context_name(module->context, hash)};
        qgc_vec_push(&s->arena, &module->weights, self);
    }
}

static qgc_result save(saver *s)
{
    QGC_EACH_FUNC (func, s->module)
        QGC_EACH_NODE (node, func)
            visit(s, node);
    const char *hash = s->tensors.size ? hash_tensors(s) : NULL;
    if (hash)
        QGC_TRY(write_tensors(s, hash));
    list_files(s, hash);
    return write_text(s);
}

/* The module is as before: only its text was to look different. */
static void restore(saver *s)
{
    for (size_t i = s->changed.size; i-- > 0;) {
        const changed_node *old = &s->changed.data[i];
        old->node->op = old->op;
        old->node->attrs[0] = old->attr;
    }
}

qgc_result qgc_module_save(qgc_module *module, const char *path)
{
    saver s = {.module = module, .path = path};
    s.names.arena = &s.arena;
    s.taken.arena = &s.arena;
    s.keeps_files = same_directory(&s);
    qgc_module before = *module;
    qgc_result result = save(&s);
    restore(&s);
    module->weights.data = before.weights.data;
    module->weights.size = before.weights.size;
    module->weights.capacity = before.weights.capacity;
    qgc_arena_destroy(&s.arena);
    return result;
}

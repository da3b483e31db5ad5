#include "passes/provenance.h"

#include "runtime/hash.h"

static uint64_t hash_text(uint64_t hash, const qgc_text *text)
{
    return qgc_hash(hash, text->data, text->size);
}

/* A constant is its name, type and data; without data (no weights file) its text. */
static uint64_t hash_node(uint64_t hash, const qgc_node *node, qgc_arena *scratch)
{
    qgc_text text = {.arena = scratch};
    if (!node->constant) {
        qgc_node_print(node, &text);
        return hash_text(hash, &text);
    }
    qgc_value_name_print(&text, node->results[0].name);
    qgc_type_print(&text, node->results[0].type);
    hash = hash_text(hash, &text);
    return qgc_hash(hash, node->constant->data, node->constant->bytes);
}

static uint64_t hash_func(uint64_t hash, const qgc_func *func, qgc_arena *scratch)
{
    qgc_text text = {.arena = scratch};
    qgc_func_name_print(&text, func->name);
    for (uint32_t i = 0; i < func->num_params; i++) {
        qgc_value_name_print(&text, func->params[i].name);
        qgc_type_print(&text, func->params[i].type);
    }
    hash = hash_text(hash, &text);
    QGC_EACH_NODE (node, func) {
        qgc_arena_mark mark = qgc_arena_get_mark(scratch);
        hash = hash_node(hash, node, scratch);
        qgc_arena_reset(scratch, mark);
    }
    return hash;
}

uint64_t qgc_graph_hash(qgc_module *module)
{
    qgc_arena scratch = {0};
    uint64_t hash = 0;
    QGC_EACH_FUNC (func, module)
        hash = hash_func(hash, func, &scratch);
    qgc_arena_destroy(&scratch);
    return hash;
}

const char *qgc_hash_text(qgc_arena *arena, uint64_t hash)
{
    return qgc_arena_printf(arena, "%016llx", (unsigned long long)hash);
}

void qgc_provenance_set(qgc_module *module, uint64_t graph_hash, uint64_t data_hash,
                        uint64_t num_samples)
{
    qgc_context *context = module->context;
    qgc_arena *arena = &module->arena;
    qgc_named_attr *map = QGC_NEW_ARRAY(arena, qgc_named_attr, 4);
    const char *texts[] = {qgc_hash_text(arena, graph_hash), qgc_hash_text(arena, data_hash),
                           "qgc " QGC_VERSION};
    const char *names[] = {"graph", "data", "version"};
    for (int i = 0; i < 3; i++)
        map[i < 2 ? i : 3] = (qgc_named_attr){
            qgc_context_name(context, names[i]),
            qgc_attr_from_name(QGC_ATTR_STRING, qgc_context_name(context, texts[i]))};
    map[2] = (qgc_named_attr){qgc_context_name(context, "samples"),
                              qgc_attr_from_int((int64_t)num_samples)};
    qgc_record record = {.fields = {.kind = QGC_ATTR_MAP, .num = 4, .map = map}};
    module->provenance.size = 0;
    qgc_vec_push(arena, &module->provenance, record);
}

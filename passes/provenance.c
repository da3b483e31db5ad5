#include "passes/provenance.h"

#include "passes/stats_record.h"
#include "runtime/hash.h"
#include "runtime/tensor.h"

static uint64_t hash_text(uint64_t hash, const qgc_text *text)
{
    return qgc_hash(hash, text->data, text->size);
}

/* ---- what binding a symbol leaves as it is ---- */

static const qgc_dim *unknown_sizes(qgc_context *context, uint32_t num, qgc_arena *scratch)
{
    qgc_dim *sizes = QGC_NEW_ARRAY(scratch, qgc_dim, num);
    for (uint32_t i = 0; i < num; i++)
        sizes[i] = qgc_dim_unknown(&context->dims);
    return sizes;
}

/* Element type and rank. */
static const qgc_type *without_sizes(qgc_context *context, const qgc_type *type, qgc_arena *scratch)
{
    const qgc_dim *sizes = unknown_sizes(context, type->rank, scratch);
    return qgc_type_get(&context->types, type->dtype, type->rank, sizes);
}

static void print_value(qgc_text *text, qgc_context *context, const qgc_value *value)
{
    qgc_value_name_print(text, value->name);
    qgc_type_print(text, without_sizes(context, value->type, text->arena));
}

static void print_node(qgc_text *text, qgc_context *context, const qgc_node *node)
{
    qgc_arena *scratch = text->arena;
    uint32_t num_attrs = qgc_op_num_attrs(qgc_op(node->op));
    qgc_node copy = *node;
    copy.attrs = QGC_NEW_ARRAY(scratch, qgc_attr, num_attrs);
    copy.results = QGC_NEW_ARRAY(scratch, qgc_value, node->num_results);
    for (uint32_t i = 0; i < num_attrs; i++) {
        copy.attrs[i] = node->attrs[i];
        if (copy.attrs[i].kind == QGC_ATTR_DIMS)
            copy.attrs[i].dims = unknown_sizes(context, copy.attrs[i].num, scratch);
    }
    for (uint32_t i = 0; i < node->num_results; i++) {
        copy.results[i] = node->results[i];
        copy.results[i].type = without_sizes(context, node->results[i].type, scratch);
    }
    qgc_node_print(&copy, text);
}

/* ---- hashes ---- */

/* A constant is its name, type and data; without data (no weights file) its text. */
static uint64_t hash_node(uint64_t hash, qgc_context *context, const qgc_node *node,
                          qgc_arena *scratch)
{
    qgc_text text = {.arena = scratch};
    if (!node->constant) {
        print_node(&text, context, node);
        return hash_text(hash, &text);
    }
    qgc_value_name_print(&text, node->results[0].name);
    qgc_type_print(&text, node->results[0].type);
    hash = hash_text(hash, &text);
    return qgc_hash(hash, node->constant->data, node->constant->bytes);
}

static uint64_t hash_func(uint64_t hash, qgc_context *context, const qgc_func *func,
                          qgc_arena *scratch)
{
    qgc_text text = {.arena = scratch};
    qgc_func_name_print(&text, func->name);
    for (uint32_t i = 0; i < func->num_params; i++)
        print_value(&text, context, &func->params[i]);
    hash = hash_text(hash, &text);
    QGC_EACH_NODE (node, func) {
        qgc_arena_mark mark = qgc_arena_get_mark(scratch);
        hash = hash_node(hash, context, node, scratch);
        qgc_arena_reset(scratch, mark);
    }
    return hash;
}

uint64_t qgc_graph_hash(qgc_module *module)
{
    qgc_arena scratch = {0};
    uint64_t hash = 0;
    QGC_EACH_FUNC (func, module)
        hash = hash_func(hash, module->context, func, &scratch);
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

/* ---- statistics from another file ---- */

static const qgc_attr *graph_of(const qgc_module *module)
{
    const qgc_record *record = module->provenance.size ? module->provenance.data : NULL;
    const qgc_attr *graph = record ? qgc_record_field(record, "graph") : NULL;
    return graph && graph->kind == QGC_ATTR_STRING ? graph : NULL;
}

static const qgc_value *find_value(const qgc_module *module, qgc_name func_name, qgc_name name)
{
    const qgc_func *func = qgc_module_find_func(module, func_name);
    return func ? qgc_func_find_value(func, name) : NULL;
}

/* The first value that |module| does not have; NULL: none. */
static const qgc_record *find_unknown(const qgc_module *module, const qgc_module *stats)
{
    for (size_t i = 0; i < stats->stats.size; i++) {
        const qgc_record *record = &stats->stats.data[i];
        if (!find_value(module, record->func, record->value))
            return record;
    }
    return NULL;
}

/* The first constant that has other data under its name in |module|; NULL: none. */
static const qgc_value *find_other_weight(const qgc_module *module, const qgc_module *stats)
{
    QGC_EACH_FUNC (func, stats)
        QGC_EACH_NODE (node, func) {
            const qgc_value *same =
                node->constant ? find_value(module, func->name, node->results[0].name) : NULL;
            if (same && same->def && same->def->constant &&
                !qgc_tensor_equal(same->def->constant, node->constant))
                return &node->results[0];
        }
    return NULL;
}

static qgc_result check_names(const qgc_module *module, const qgc_module *stats)
{
    qgc_diag *diag = &module->context->diag;
    const qgc_record *record = find_unknown(module, stats);
    if (record)
        return qgc_report(diag, record->loc, QGC_D_FOREIGN_STATS,
                          "the statistics are those of another graph: here is no %%%s in @%s",
                          record->value->data, record->func->data);
    const qgc_value *weight = find_other_weight(module, stats);
    return weight ? qgc_report(diag, weight->loc, QGC_D_FOREIGN_STATS,
                               "the statistics were made with other weights: %%%s differs",
                               weight->name->data)
                  : QGC_OK;
}

qgc_result qgc_stats_check_source(const qgc_module *module, const qgc_module *stats)
{
    qgc_diag *diag = &module->context->diag;
    const qgc_attr *ours = graph_of(module), *theirs = graph_of(stats);
    if (stats->form != QGC_FORM_CALIBRATED)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_BAD_FORM,
                          "statistics are in a graph of form calibrated, here it is %s",
                          qgc_form_name(stats->form));
    if (!ours || !theirs)
        return check_names(module, stats);
    return ours->name == theirs->name
               ? QGC_OK
               : qgc_report(diag, stats->provenance.data[0].loc, QGC_D_FOREIGN_STATS,
                            "the statistics are those of another graph, or of other weights");
}

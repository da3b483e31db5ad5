#include "passes/provenance.h"

#include "passes/stats_record.h"
#include "runtime/hash.h"
#include "runtime/tensor.h"

#include <string.h>

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

/* ---- fields ---- */

static const qgc_attr *field_of(const qgc_module *module, const char *name)
{
    return module->provenance.size ? qgc_record_field(&module->provenance.data[0], name) : NULL;
}

/* The place of a field in the text; those of the user's own come before the seal. */
static int rank_of(qgc_name name)
{
    static const char *const NAMES[] = {"graph", "data", "samples", "version", "rules", "method"};
    enum { NUM = sizeof NAMES / sizeof *NAMES };
    for (int i = 0; i < NUM; i++)
        if (strcmp(name->data, NAMES[i]) == 0)
            return i;
    return NUM + (strcmp(name->data, "seal") == 0);
}

/* Replaces the field of that name, or adds one. */
static void put_field(qgc_module *module, const char *name, qgc_attr value)
{
    qgc_record *record;
    if (!module->provenance.size)
        qgc_vec_push(&module->arena, &module->provenance,
                     ((qgc_record){.fields = {.kind = QGC_ATTR_MAP}}));
    record = &module->provenance.data[0];
    const qgc_attr old = record->fields;
    const qgc_named_attr added = {qgc_context_name(module->context, name), value};
    qgc_named_attr *map = QGC_NEW_ARRAY(&module->arena, qgc_named_attr, old.num + 1);
    uint32_t num = 0;
    for (uint32_t i = 0; i < old.num; i++)
        if (old.map[i].name != added.name)
            map[num++] = old.map[i];
    uint32_t at = num++;
    for (; at && rank_of(map[at - 1].name) > rank_of(added.name); at--)
        map[at] = map[at - 1];
    map[at] = added;
    record->fields.map = map;
    record->fields.num = num;
}

static void put_text(qgc_module *module, const char *name, const char *text)
{
    put_field(module, name,
              qgc_attr_from_name(QGC_ATTR_STRING, qgc_context_name(module->context, text)));
}

void qgc_provenance_seal(qgc_module *module)
{
    qgc_arena scratch = {0};
    qgc_text text = {.arena = &scratch};
    qgc_module_print_sealed(module, &text);
    put_text(module, "seal", qgc_hash_text(&scratch, hash_text(0, &text)));
    qgc_arena_destroy(&scratch);
}

bool qgc_provenance_is_sealed(const qgc_module *module)
{
    return field_of(module, "seal") != NULL;
}

void qgc_provenance_seal_again(qgc_module *module)
{
    if (qgc_provenance_is_sealed(module))
        qgc_provenance_seal(module);
}

void qgc_provenance_unseal(qgc_module *module)
{
    qgc_attr *fields = module->provenance.size ? &module->provenance.data[0].fields : NULL;
    if (qgc_provenance_is_sealed(module)) /* it is the last one */
        fields->num--;
}

void qgc_provenance_set(qgc_module *module, uint64_t graph_hash, uint64_t data_hash,
                        uint64_t num_samples)
{
    qgc_arena *arena = &module->arena;
    put_text(module, "graph", qgc_hash_text(arena, graph_hash));
    put_text(module, "data", qgc_hash_text(arena, data_hash));
    put_field(module, "samples", qgc_attr_from_int((int64_t)num_samples));
    put_text(module, "version", "qgc " QGC_VERSION);
    qgc_provenance_seal(module);
}

void qgc_provenance_take(qgc_module *module, const qgc_module *from)
{
    static const char *const NAMES[] = {"data", "samples", "version"};
    put_text(module, "graph", qgc_hash_text(&module->arena, qgc_graph_hash(module)));
    for (int i = 0; i < 3; i++) {
        const qgc_attr *value = field_of(from, NAMES[i]);
        if (value)
            put_field(module, NAMES[i], *value);
    }
    if (qgc_provenance_is_sealed(from))
        qgc_provenance_seal(module);
    else
        qgc_provenance_unseal(module);
}

void qgc_provenance_set_rules(qgc_module *module, const char *const *rows, size_t num)
{
    qgc_attr *items = QGC_NEW_ARRAY(&module->arena, qgc_attr, num);
    for (size_t i = 0; i < num; i++)
        items[i] = qgc_attr_from_name(QGC_ATTR_STRING, qgc_context_name(module->context, rows[i]));
    put_field(module, "rules",
              (qgc_attr){.kind = QGC_ATTR_LIST, .num = (uint32_t)num, .list = items});
    qgc_provenance_seal(module);
}

void qgc_provenance_set_method(qgc_module *module, const char *method)
{
    if (field_of(module, "graph"))
        put_text(module, "method", method);
}

void qgc_provenance_warn_unsealed(const qgc_module *module)
{
    if (!module->stats.size || qgc_provenance_is_sealed(module))
        return;
    qgc_report(&module->context->diag,
               module->provenance.size ? module->provenance.data[0].loc : module->stats.data[0].loc,
               QGC_D_UNSEALED, "the statistics are not sealed: they are used as they stand here");
}

/* ---- statistics from another file ---- */

static const qgc_attr *graph_of(const qgc_module *module)
{
    const qgc_attr *graph = field_of(module, "graph");
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

/* Fates and regions, read off the end of the road. */
#include "passes/report/explain.h"

#include "ir/macs.h"
#include "passes/provenance.h"
#include "passes/stubs.h"
#include "passes/value_key.h"
#include "passes/view.h"

#include <string.h>

const char *qgc_fate_name(qgc_fate fate)
{
    static const char *const names[] = {
        [QGC_FATE_CLAIMED] = "claimed", [QGC_FATE_UNCLAIMED] = "not claimed",
        [QGC_FATE_INTEGER] = "integer", [QGC_FATE_FLOAT] = "float",
        [QGC_FATE_GONE] = "gone",
    };
    return names[fate];
}

bool qgc_explains(const qgc_node *node)
{
    enum {
        REST = QGC_TRAIT_CONSTANT | QGC_TRAIT_TERMINATOR | QGC_TRAIT_CALL | QGC_TRAIT_BARRIER |
               QGC_TRAIT_OBSERVER
    };
    return !(qgc_node_op(node)->traits & REST) && !qgc_is_stub(node);
}

const char *qgc_full_name(qgc_arena *arena, const qgc_value *value, const qgc_func *func)
{
    qgc_text text = {.arena = arena};
    qgc_func_name_print(&text, func->name);
    qgc_text_putc(&text, '.');
    qgc_value_name_print(&text, value->name);
    return text.data;
}

/* ---- ops ---- */

static const char *kind_text(qgc_view_kind kind)
{
    static const char *const texts[] = {
#define KIND_TEXT(id, text) text,
        QGC_VIEW_KINDS(KIND_TEXT)
#undef KIND_TEXT
    };
    return texts[kind];
}

static uint32_t bits_of(const qgc_node *node, uint32_t slot)
{
    const qgc_value *value = qgc_node_operand(node, slot);
    if (value->def && value->def->op == QGC_OP_DEQUANTIZE)
        value = qgc_node_operand(value->def, 0);
    qgc_dtype dtype = value->type->dtype;
    return qgc_dtype_get_kind(dtype) == QGC_FLOAT ? 0 : (uint32_t)qgc_dtype_bytes(dtype) * 8;
}

static void count_macs(qgc_entry *entry)
{
    qgc_macs macs = qgc_count_node_macs(entry->last);
    entry->op.macs = macs.total;
    if (macs.total <= 0)
        return;
    uint32_t x = bits_of(entry->last, 0), w = bits_of(entry->last, 1);
    entry->op.bits = x && w ? (x > w ? x : w) : 0;
}

/* The remark of |pass| on the op, or NULL. */
static const qgc_diagnostic *remark_on(const qgc_explain *e, const char *pass, const char *value)
{
    for (size_t i = 0; i < e->remarks.size; i++) {
        const qgc_diagnostic *item = &e->remarks.data[i];
        const char *about = qgc_diag_field_of(item, "value");
        if (strcmp(item->origin, pass) == 0 && about && strcmp(about, value) == 0)
            return item;
    }
    return NULL;
}

static void take_fix(qgc_entry *entry, const qgc_diagnostic *item)
{
    entry->op.fix = qgc_diag_field_of(item, "fix");
    entry->op.rule = qgc_diag_field_of(item, "rule");
}

static bool reads_quantized(const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = qgc_node_operand(node, i);
        if (value && value->def && value->def->op == QGC_OP_DEQUANTIZE)
            return true;
    }
    return false;
}

static bool is_integer(const qgc_node *node)
{
    if (strcmp(qgc_node_op(node)->family, "integer") == 0)
        return true;
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = qgc_node_operand(node, i);
        if (value && qgc_dtype_get_kind(value->type->dtype) == QGC_FLOAT)
            return false;
    }
    for (uint32_t i = 0; i < node->num_results; i++)
        if (qgc_dtype_get_kind(node->results[i].type->dtype) == QGC_FLOAT)
            return false;
    return true;
}

/* The op is in no region: the cause that came first is said. */
static void explain_left(qgc_explain *e, qgc_entry *entry)
{
    if (is_integer(entry->last)) {
        entry->op.fate = QGC_FATE_INTEGER;
        entry->op.how = "it works on integers as it is";
        return;
    }
    const char *name = qgc_full_name(&e->arena, &entry->last->results[0], entry->last->func);
    const qgc_diagnostic *early = remark_on(e, "annotate", name);
    const qgc_diagnostic *late = remark_on(e, "partition", name);
    bool is_quantized = reads_quantized(entry->last);
    entry->op.fate = is_quantized ? QGC_FATE_UNCLAIMED : QGC_FATE_FLOAT;
    const qgc_diagnostic *first = !is_quantized && early ? early : late ? late : early;
    entry->op.how = first ? first->message : "it is not in a region, though the target takes it";
    if (first)
        take_fix(entry, first);
    if (late && !entry->op.fix)
        take_fix(entry, late);
}

/* An op of an island that another one begins. */
static const char *claimed_how(qgc_explain *e, qgc_node *node)
{
    qgc_view view;
    if (qgc_view_build(node, &e->arena, &view, NULL))
        return kind_text(view.kind);
    const qgc_value *x = node->num_operands ? qgc_node_operand(node, 0) : NULL;
    while (x && x->def && qgc_explains(x->def)) {
        if (qgc_view_build(x->def, &e->arena, &view, NULL))
            for (uint32_t i = 0; i < view.num_nodes; i++)
                if (view.nodes[i] == node)
                    return qgc_arena_printf(&e->arena, "with %%%s", x->name->data);
        x = x->def->num_operands ? qgc_node_operand(x->def, 0) : NULL;
    }
    return "an op of the region";
}

/* What has its value's name now: another op, which it went into. */
static void explain_gone(qgc_explain *e, qgc_entry *entry)
{
    entry->op.fate = QGC_FATE_GONE;
    QGC_EACH_FUNC (func, e->end) {
        bool is_here = func->target || func->name == entry->node->func->name;
        const qgc_value *heir = is_here && entry->node->num_results
                                    ? qgc_func_find_value(func, entry->node->results[0].name)
                                    : NULL;
        if (!heir || !heir->def || heir->def->op == QGC_OP_CALL)
            continue;
        entry->op.how = qgc_arena_printf(&e->arena, "%s, into %s", entry->op.how,
                                         qgc_node_op(heir->def)->mnemonic);
        return;
    }
}

/* The float value that the result stands for, as reports of the end of the road name it: of an op
 * that another one was folded into, that one's value; of accumulators and other
 * integers that stand for none, what becomes of them. */
static const char *identifier_of(qgc_explain *e, const qgc_node *node)
{
    qgc_value_key key;
    for (const qgc_node *at = node; at && at->num_results;
         at = at->results[0].first_use ? at->results[0].first_use->user : NULL)
        if (qgc_value_key_read(&e->owners, at->func, &at->results[0], &e->arena, &key))
            return key.text->data;
    return qgc_full_name(&e->arena, &node->results[0], node->func);
}

static void explain_entry(qgc_explain *e, qgc_entry *entry)
{
    qgc_node *node = entry->node;
    const qgc_source *source = qgc_source_get(&e->context->sources, node->loc.source);
    entry->op.op = qgc_node_op(node)->mnemonic;
    entry->op.value = node->num_results ? identifier_of(e, entry->last ? entry->last : node) : NULL;
    entry->op.scope = node->scope ? node->scope->data : NULL;
    if (source) {
        entry->op.file = source->name;
        entry->op.line = qgc_source_position(&e->context->sources, node->loc).line;
    }
    if (!entry->last) {
        explain_gone(e, entry);
        return;
    }
    entry->op.how = NULL;
    count_macs(entry);
    if (!entry->last->func->target) {
        explain_left(e, entry);
        return;
    }
    entry->op.fate = QGC_FATE_CLAIMED;
    entry->op.region = qgc_arena_printf(&e->arena, "@%s", entry->last->func->name->data);
    entry->op.how = claimed_how(e, entry->last);
}

/* ---- regions ---- */

static const qgc_node *call_of(const qgc_module *module, const qgc_func *region)
{
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            if (node->op == QGC_OP_CALL && node->attrs[0].name == region->name)
                return node;
    return NULL;
}

static void put_value(qgc_text *text, const qgc_value *value)
{
    if (text->size)
        qgc_text_puts(text, ", ");
    qgc_value_name_print(text, value->name);
    qgc_text_puts(text, ": ");
    qgc_type_print(text, value->type);
}

/* Where the value comes from, outside. */
static void put_origin(qgc_text *text, const qgc_value *value)
{
    if (!value->def)
        return;
    qgc_text_printf(text, " of %s", qgc_node_op(value->def)->mnemonic);
    if (value->def->op == QGC_OP_QUANTIZE) {
        qgc_text_putc(text, ' ');
        qgc_value_name_print(text, qgc_node_operand(value->def, 0)->name);
    }
}

static void explain_region(qgc_explain *e, const qgc_func *func)
{
    qgc_explained_region *region = QGC_NEW(&e->arena, qgc_explained_region);
    const qgc_node *call = call_of(e->end, func);
    qgc_text begins = {.arena = &e->arena}, ends = {.arena = &e->arena};
    region->name = qgc_arena_printf(&e->arena, "@%s", func->name->data);
    region->target = func->target->data;
    for (uint32_t i = 0; i < func->num_params; i++) {
        put_value(&begins, &func->params[i]);
        if (call)
            put_origin(&begins, qgc_node_operand(call, i));
    }
    for (uint32_t i = 0; i < func->last->num_operands; i++)
        put_value(&ends, qgc_node_operand(func->last, i));
    region->begins = begins.data ? begins.data : "nothing";
    region->ends = ends.data ? ends.data : "nothing";
    for (size_t i = 0; i < e->entries.size; i++) {
        const qgc_entry *entry = e->entries.data[i];
        bool is_inside = entry->last && entry->last->func == func;
        region->ops += is_inside;
        region->macs += is_inside ? entry->op.macs : 0;
    }
    qgc_vec_push(&e->arena, &e->regions, region);
}

/* ---- */

static qgc_result explain(qgc_explain *e)
{
    const char *method = e->options.method ? e->options.method : "mse";
    if (!qgc_method_read(qgc_str_from(method), &e->method))
        return qgc_report(
            &e->context->diag, QGC_NO_LOC, QGC_D_USAGE,
            "method %s: expected minmax, percentile:P with 0 < P <= 1, entropy or mse", method);
    QGC_TRY(qgc_explain_walk(e));
    if (e->options.stats) {
        bool was_prepared_here = e->prepared && !e->module->provenance.size;
        const qgc_module *module = was_prepared_here ? e->prepared : e->module;
        QGC_TRY(qgc_stats_check_source(module, e->options.stats));
    }
    qgc_find_owners(e->module, &e->owners);
    qgc_find_owners(e->end, &e->owners);
    for (size_t i = 0; i < e->entries.size; i++)
        explain_entry(e, e->entries.data[i]);
    QGC_EACH_FUNC (func, e->end)
        if (func->target)
            explain_region(e, func);
    return QGC_OK;
}

qgc_explain *qgc_explain_create(qgc_module *module, const qgc_explain_options *options)
{
    qgc_arena arena = {0};
    qgc_explain *e = QGC_NEW(&arena, qgc_explain);
    e->arena = arena;
    e->owners.arena = &e->arena;
    e->context = module->context;
    e->module = module;
    e->options = *options;
    if (explain(e) == QGC_OK)
        return e;
    qgc_explain_destroy(e);
    return NULL;
}

void qgc_explain_destroy(qgc_explain *e)
{
    if (!e)
        return;
    qgc_module_destroy(e->prepared);
    qgc_module_destroy(e->end);
    qgc_arena arena = e->arena; /* it lies in its own arena */
    qgc_arena_destroy(&arena);
}

const qgc_explained_op *qgc_explain_op(const qgc_explain *e, size_t index)
{
    return index < e->entries.size ? &e->entries.data[index]->op : NULL;
}

const qgc_explained_region *qgc_explain_region(const qgc_explain *e, size_t index)
{
    return index < e->regions.size ? e->regions.data[index] : NULL;
}

qgc_explained_rest qgc_explain_rest(const qgc_explain *e)
{
    return e->rest;
}

bool qgc_explain_is_forecast(const qgc_explain *e)
{
    return e->is_forecast;
}

/* The road from any form to `partition`, walked on a copy whose ops have numbers, so that each can
 * be found at its end. */
#include "ir/copy.h"
#include "passes/observers.h"
#include "passes/pass.h"
#include "passes/provenance.h"
#include "passes/report/explain.h"
#include "passes/stats_record.h"
#include "passes/view.h"
#include "qgc/pass.h"
#include "runtime/hash.h"

#include <string.h>

static qgc_name mark_name(const qgc_explain *e)
{
    return qgc_context_name(e->context, "explain.id");
}

const char *qgc_diag_field_of(const qgc_diagnostic *item, const char *name)
{
    for (const qgc_diag_field *field = item->fields; field; field = field->next)
        if (strcmp(field->name, name) == 0)
            return field->value;
    return NULL;
}

/* ---- numbers ---- */

static void count_rest(qgc_explain *e, const qgc_node *node)
{
    uint32_t traits = qgc_node_op(node)->traits;
    if (traits & QGC_TRAIT_CONSTANT)
        e->rest.constants++;
    else if (traits & QGC_TRAIT_CALL)
        e->rest.calls++;
    else if (!(traits & QGC_TRAIT_TERMINATOR))
        e->rest.steps++;
}

/* The nodes of the copy stand in the order of the originals. */
static void number_func(qgc_explain *e, qgc_func *func, qgc_func *copy)
{
    qgc_node *twin = copy->first;
    for (qgc_node *node = func->first; node; node = node->next, twin = twin->next) {
        if (!qgc_explains(node)) {
            count_rest(e, node);
            continue;
        }
        qgc_entry *entry = QGC_NEW(&e->arena, qgc_entry);
        entry->node = node;
        qgc_node_set_extra(twin, mark_name(e), qgc_attr_from_int((int64_t)e->entries.size));
        qgc_vec_push(&e->arena, &e->entries, entry);
    }
}

static void number_all(qgc_explain *e)
{
    qgc_func *copy = e->end->first;
    for (qgc_func *func = e->module->first; func; func = func->next, copy = copy->next)
        number_func(e, func, copy);
}

/* Sets |last| anew; what is missing now and was not before has gone by |pass|. */
static void find_all(qgc_explain *e, const char *pass)
{
    qgc_node **found = QGC_NEW_ARRAY(&e->arena, qgc_node *, e->entries.size);
    QGC_EACH_FUNC (func, e->end)
        QGC_EACH_NODE (node, func) {
            const qgc_attr *mark = qgc_node_extra(node, mark_name(e));
            if (mark)
                found[mark->i] = node;
        }
    for (size_t i = 0; i < e->entries.size; i++) {
        qgc_entry *entry = e->entries.data[i];
        if (!found[i] && entry->last && !entry->op.how)
            entry->op.how = qgc_arena_printf(&e->arena, "by %s", pass);
        entry->last = found[i];
    }
}

/* ---- passes ---- */

static void keep_remarks(qgc_explain *e, size_t first)
{
    qgc_diag *diag = &e->context->diag;
    for (size_t i = first; i < diag->list.size; i++)
        if (diag->list.data[i].severity == QGC_REMARK)
            qgc_vec_push(&e->arena, &e->remarks, diag->list.data[i]);
    qgc_diag_rollback(diag, first);
}

/* One pass; its remarks are kept, its warnings are those of another command. */
static qgc_result run_pass(qgc_explain *e, const char *text)
{
    qgc_diag *diag = &e->context->diag;
    size_t first = diag->list.size;
    qgc_str remarks = diag->remarks;
    bool was_quiet = diag->is_quiet;
    qgc_pipeline_options options = {0};
    diag->remarks = qgc_str_from("annotate,partition");
    diag->is_quiet = false;
    qgc_result result = qgc_pipeline_run(e->end, text, &options);
    diag->remarks = remarks;
    diag->is_quiet = was_quiet;
    if (result != QGC_OK)
        return result;
    keep_remarks(e, first);
    find_all(e, qgc_arena_strdup(&e->arena, (qgc_str){text, strcspn(text, "{")}));
    return QGC_OK;
}

static const char *pass_text(qgc_explain *e, const char *pass, const char *option,
                             const char *value)
{
    return value ? qgc_arena_printf(&e->arena, "%s{%s=%s}", pass, option, value) : pass;
}

/* ---- statistics that are not there yet ---- */

/* [0, 1 + a little more for each]: different scales, and a zero point at the end of the range. A
 * histogram serves all observers of a value, of which there may be several. */
static void add_record(qgc_explain *e, const qgc_node *observer, uint32_t index)
{
    const float seen[] = {0, 1.0f + (float)(index % 512) / 1024.0f};
    qgc_stats stats;
    qgc_stats_init(&stats, QGC_OBSERVER_HISTOGRAM, &e->end->arena);
    qgc_stats_update(&stats, seen, 2);
    qgc_record record = {.func = observer->func->name,
                         .value = qgc_observed_value(observer)->name,
                         .fields = qgc_stats_to_attr(e->end, &stats)};
    qgc_vec_push(&e->end->arena, &e->end->stats, record);
}

static bool has_record(const qgc_module *module, const qgc_node *observer)
{
    for (size_t i = module->stats.size; i-- > 0;)
        if (module->stats.data[i].value == qgc_observed_value(observer)->name &&
            module->stats.data[i].func == observer->func->name)
            return true;
    return false;
}

static void forecast(qgc_explain *e)
{
    uint32_t index = 0;
    e->end->stats.size = 0;
    QGC_EACH_FUNC (func, e->end)
        QGC_EACH_NODE (node, func)
            if (node->op == QGC_OP_OBSERVE && qgc_observer_records(node) &&
                !has_record(e->end, node))
                add_record(e, node, index++);
    qgc_provenance_set(e->end, qgc_graph_hash(e->end), 0, 2);
    e->end->form = QGC_FORM_CALIBRATED;
    e->is_forecast = true;
}

/* The numbers are attributes, which the hash of the graph covers: statistics that are the module's
 * are made the copy's. */
static void keep_provenance(qgc_explain *e)
{
    const qgc_record *record = e->module->provenance.size ? e->module->provenance.data : NULL;
    const qgc_attr *graph = record ? qgc_record_field(record, "graph") : NULL;
    const char *hash = qgc_hash_text(&e->arena, qgc_graph_hash(e->module));
    if (graph && graph->kind == QGC_ATTR_STRING && strcmp(graph->name->data, hash) == 0)
        qgc_provenance_set(e->end, qgc_graph_hash(e->end), 0, 0);
}

/* ---- the road ---- */

static qgc_result annotate(qgc_explain *e)
{
    char *rest = qgc_arena_strdup(&e->arena, qgc_str_from(QGC_PIPELINE_FLOAT)), *pass;
    while ((pass = strsep(&rest, ",")))
        QGC_TRY(run_pass(e, pass));
    const char *rules =
        e->options.rules; /* as quantize does: they say what is annotated, or the target */
    return run_pass(
        e, pass_text(e, "annotate", rules ? "rules" : "target", rules ? rules : e->options.target));
}

/* Rules may say which target takes what. */
static qgc_result partition(qgc_explain *e)
{
    const char *target = e->options.target ? e->options.target : "cpu";
    return run_pass(e, e->options.rules
                           ? qgc_arena_printf(&e->arena, "partition{target=%s,rules=%s}", target,
                                              e->options.rules)
                           : pass_text(e, "partition", "target", target));
}

static qgc_result convert(qgc_explain *e)
{
    const char *method = e->is_forecast ? "minmax" : e->options.method;
    QGC_TRY(run_pass(e, pass_text(e, "convert", "method", method)));
    QGC_TRY(run_pass(e, "dce"));
    return run_pass(e, "infer-shapes");
}

static bool has_fake_quant(const qgc_module *module)
{
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            if (node->op == QGC_OP_FAKE_QUANT)
                return true;
    return false;
}

/* Regions that are there stay what they are: only the ops around them are asked about. */
static void drop_regions(qgc_module *module)
{
    for (qgc_func *func = module->first, *next; func; func = next) {
        next = func->next;
        if (func->target)
            qgc_module_remove_func(module, func);
    }
    module->form = QGC_FORM_QUANTIZED;
}

/* On a copy of its own, for the remarks alone: ops that could be claimed now are not moved. */
static qgc_result ask_again(qgc_explain *e)
{
    qgc_module *end = e->end;
    e->end = qgc_module_copy(end);
    drop_regions(e->end);
    qgc_result result = partition(e);
    qgc_module_destroy(e->end);
    e->end = end;
    find_all(e, "");
    return result;
}

qgc_result qgc_explain_walk(qgc_explain *e)
{
    e->end = qgc_module_copy(e->module);
    number_all(e);
    find_all(e, "");
    keep_provenance(e);
    if (e->end->form == QGC_FORM_PARTITIONED || e->end->form == QGC_FORM_LOWERED)
        return ask_again(e);
    bool is_trained = e->end->form == QGC_FORM_FLOAT && has_fake_quant(e->end);
    if (e->end->form == QGC_FORM_FLOAT && !is_trained)
        QGC_TRY(annotate(e));
    if (e->end->form == QGC_FORM_ANNOTATED)
        QGC_TRY(run_pass(e, "prepare"));
    if (e->end->form == QGC_FORM_PREPARED || e->end->form == QGC_FORM_CALIBRATED)
        e->prepared = qgc_module_copy(e->end);
    if (e->end->form == QGC_FORM_PREPARED)
        forecast(e);
    if (e->end->form != QGC_FORM_QUANTIZED)
        QGC_TRY(convert(e));
    return partition(e);
}

/* The story of one value: what it is, who decided its type, with whom it shares parameters, what
 * was seen of it, what that costs, where it ends. */
#include "passes/observers.h"
#include "passes/report/explain.h"
#include "passes/rules.h"
#include "passes/stats_record.h"
#include "passes/value_key.h"
#include "passes/view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct teller {
    qgc_explain *e;
    const qgc_func *func;
    qgc_value *value;
    qgc_explain_line *line;
    void *user;
    qgc_name stands_for; /* the float value that was asked for, of a lowered graph; or NULL */
    qgc_name final; /* the float value that the op gives, stands_for on the way to it; or NULL */
    qgc_rule_list *rules; /* of the options, or NULL */
} teller;

static void tell(teller *t, const char *key, const char *format, ...) QGC_PRINTF(3, 4);
static void tell(teller *t, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->line(t->user, key, qgc_arena_vprintf(&t->e->arena, format, args));
    va_end(args);
}

/* ---- which ---- */

/* "%c" or "@main.%c", quotes or not, as it is printed. */
static bool is_named(teller *t, const qgc_func *func, const qgc_value *value, const char *text)
{
    qgc_text name = {.arena = &t->e->arena};
    qgc_value_name_print(&name, value->name);
    return strcmp(name.data, text) == 0 ||
           (text[0] == '%' && strcmp(value->name->data, text + 1) == 0) ||
           strcmp(qgc_full_name(&t->e->arena, value, func), text) == 0;
}

static qgc_result take_value(teller *t, const qgc_func *func, qgc_value *value, const char *text)
{
    if (!is_named(t, func, value, text))
        return QGC_OK;
    if (t->value)
        return qgc_report(&t->e->context->diag, value->loc, QGC_D_USAGE,
                          "%s is in @%s and in @%s: say @%s.%s", text, t->func->name->data,
                          func->name->data, func->name->data, text);
    t->func = func;
    t->value = value;
    return QGC_OK;
}

static bool is_listed(const qgc_attr *list, qgc_name name)
{
    for (uint32_t i = 0; list && list->kind == QGC_ATTR_LIST && i < list->num; i++)
        if (list->list[i].kind == QGC_ATTR_VALUE && list->list[i].name == name)
            return true;
    return false;
}

/* The last integer value that stands for the float value (what requantize gives), or whose op the
 * float value went into. */
static void find_origin(teller *t, const char *text)
{
    qgc_context *context = t->e->context;
    qgc_name mark = qgc_context_name(context, "origin");
    qgc_name through = qgc_context_name(context, "origin.through");
    const char *percent = strchr(text, '%');
    qgc_name name = percent ? qgc_context_name(context, percent + 1) : NULL;
    QGC_EACH_FUNC (func, t->e->module)
        QGC_EACH_NODE (node, func) {
            const qgc_attr *origin = qgc_node_extra(node, mark);
            bool is_it = origin && origin->kind == QGC_ATTR_VALUE && origin->name == name;
            bool is_inside = is_listed(qgc_node_extra(node, through), name);
            if (!is_it && !is_inside)
                continue;
            t->func = func;
            t->value = &node->results[0];
            t->final = is_inside && origin && origin->kind == QGC_ATTR_VALUE ? origin->name : NULL;
            t->stands_for = name;
        }
}

static bool is_identifier(const qgc_value_key *key, const char *text)
{
    const char *local = strchr(key->text->data, '%');
    return strcmp(key->text->data, text) == 0 || (local && strcmp(local, text) == 0) ||
           (text[0] == '%' && strcmp(key->value->data, text + 1) == 0);
}

/* The name that reports give: of weights whose float form is gone it is nobody's own. The last
 * value that has it, which is the nearest to where it is used. */
static void find_identifier(teller *t, const char *text)
{
    qgc_arena *arena = &t->e->arena;
    qgc_map owners = {.arena = arena};
    qgc_find_owners(t->e->module, &owners);
    QGC_EACH_FUNC (func, t->e->module)
        QGC_EACH_NODE (node, func)
            for (uint32_t i = 0; i < node->num_results; i++) {
                qgc_value_key key;
                if (!qgc_value_key_read(&owners, func, &node->results[i], arena, &key))
                    continue;
                if (!is_identifier(&key, text))
                    continue;
                t->func = func;
                t->value = &node->results[i];
                t->stands_for = key.value;
            }
}

static qgc_result find_value(teller *t, const char *text)
{
    QGC_EACH_FUNC (func, t->e->module) {
        for (uint32_t i = 0; i < func->num_params; i++)
            if (!func->target || text[0] == '@')
                QGC_TRY(take_value(t, func, &func->params[i], text));
        QGC_EACH_NODE (node, func)
            for (uint32_t i = 0; i < node->num_results; i++)
                if (node->op != QGC_OP_CALL || text[0] == '@')
                    QGC_TRY(take_value(t, func, &node->results[i], text));
    }
    if (!t->value)
        find_origin(t, text);
    if (!t->value)
        find_identifier(t, text);
    if (t->value)
        return QGC_OK;
    qgc_report(&t->e->context->diag, QGC_NO_LOC, QGC_D_USAGE,
               "no value %s in the graph: expected %%name or @func.%%name%s", text,
               t->e->module->form == QGC_FORM_FLOAT
                   ? ""
                   : "; where one of an earlier graph went is told by explain on that graph");
    return QGC_FAILED;
}

/* ---- what it is ---- */

static void tell_origin(teller *t)
{
    if (!t->stands_for)
        return;
    if (t->final)
        tell(t, "went into", "%s, which computes %%%s on the way to %%%s",
             qgc_node_op(t->value->def)->mnemonic, t->stands_for->data, t->final->data);
    else
        tell(t, "stands for", "%%%s", t->stands_for->data);
}

static void tell_definition(teller *t)
{
    const qgc_node *def = t->value->def;
    const qgc_source *source = qgc_source_get(&t->e->context->sources, t->value->loc.source);
    tell(t, "value", "%s", qgc_full_name(&t->e->arena, t->value, t->func));
    tell_origin(t);
    tell(t, "type", "%s", qgc_type_str(&t->e->arena, t->value->type));
    if (def)
        tell(t, "op", "%s", qgc_node_op(def)->mnemonic);
    else
        tell(t, "op", "none: a parameter of @%s", t->func->name->data);
    if (def && def->scope)
        tell(t, "scope", "%s", def->scope->data);
    if (source)
        tell(t, "at", "%s:%u", source->name,
             qgc_source_position(&t->e->context->sources, t->value->loc).line);
    for (const qgc_use *use = t->value->first_use; use; use = use->next)
        tell(t, "used by", "%s %s", qgc_node_op(use->user)->mnemonic,
             use->user->num_results ? qgc_full_name(&t->e->arena, &use->user->results[0], t->func)
                                    : "");
}

/* ---- rules ---- */

/* What a change log says of the rows, or the graph itself; NULL: neither does. */
static const char *told_line(const teller *t, int64_t index)
{
    const qgc_module *module = t->e->prepared ? t->e->prepared : t->e->module;
    const qgc_attr *rules =
        module->provenance.size ? qgc_record_field(&module->provenance.data[0], "rules") : NULL;
    if (t->rules)
        return index >= 0 && (size_t)index < t->rules->lines.size ? t->rules->lines.data[index]
                                                                  : NULL;
    if (!rules || rules->kind != QGC_ATTR_LIST || index < 0 || index >= (int64_t)rules->num ||
        rules->list[index].kind != QGC_ATTR_STRING)
        return NULL;
    return rules->list[index].name->data;
}

static const char *row_text(teller *t, int64_t index)
{
    const char *line = told_line(t, index);
    if (line && (!t->rules || t->rules->has_ports))
        return qgc_arena_printf(&t->e->arena, "`%s` (row %lld)", line, (long long)index);
    if (!t->rules || index < 0 || (size_t)index >= t->rules->rows.size)
        return qgc_arena_printf(&t->e->arena, "row %lld", (long long)index);
    const qgc_rule_row *row = &t->rules->rows.data[index];
    const qgc_source *source = qgc_source_get(&t->e->context->sources, row->loc.source);
    if (!source)
        return qgc_arena_printf(&t->e->arena, "row %lld", (long long)index);
    qgc_position at = qgc_source_position(&t->e->context->sources, row->loc);
    return qgc_arena_printf(&t->e->arena, "`%.*s` (%s:%u)", QGC_STR_ARG(at.text), source->name,
                            at.line);
}

static void tell_history(teller *t, const qgc_node *node, const qgc_named_attr *attr)
{
    if (attr->value.kind != QGC_ATTR_LIST || !attr->value.num)
        return;
    qgc_text lost = {.arena = &t->e->arena};
    uint32_t last = attr->value.num - 1;
    for (uint32_t i = 0; i < last; i++)
        qgc_text_printf(&lost, "%s%s", i ? ", " : "; lost: ", row_text(t, attr->value.list[i].i));
    tell(t, "rule", "%s of %s %%%s: won: %s%s", attr->name->data + strlen("rules."),
         qgc_node_op(node)->mnemonic, node->results[0].name->data,
         row_text(t, attr->value.list[last].i), lost.data ? lost.data : "");
}

/* Ports of |node| that read |name|, or its result where |is_def|. */
static void tell_node_rules(teller *t, const qgc_node *node, qgc_name name, bool is_def)
{
    for (uint32_t i = 0; i < node->num_extra && node->num_results; i++) {
        const char *port = node->extra[i].name->data;
        if (strncmp(port, "rules.", 6) != 0)
            continue;
        bool is_result = strcmp(port, "rules.out") == 0;
        if (is_def && is_result)
            tell_history(t, node, &node->extra[i]);
        for (uint32_t s = 0; !is_def && !is_result && s < node->num_operands; s++) {
            const qgc_value *value = qgc_node_operand(node, s);
            const char *own = qgc_node_op(node)->operands[qgc_node_operand_row(node, s)].name;
            bool is_port = strncmp(port + 6, own, strlen(own)) == 0;
            while (value && value->def && value->def->op == QGC_OP_OBSERVE)
                value = qgc_node_operand(value->def, 0);
            if (value && value->name == name && is_port)
                tell_history(t, node, &node->extra[i]);
        }
    }
}

static void tell_rules(teller *t)
{
    const qgc_module *module = t->e->prepared ? t->e->prepared : t->e->module;
    const qgc_func *func = qgc_module_find_func(module, t->func->name);
    const qgc_value *value = func ? qgc_func_find_value(func, t->value->name) : NULL;
    if (value && value->def)
        tell_node_rules(t, value->def, value->name, true);
    for (const qgc_node *node = func ? func->first : NULL; node; node = node->next)
        tell_node_rules(t, node, t->value->name, false);
}

/* ---- sharing ---- */

static const qgc_node *observer_of(const qgc_module *module, const teller *t)
{
    const qgc_func *func = module ? qgc_module_find_func(module, t->func->name) : NULL;
    const qgc_value *value = func ? qgc_func_find_value(func, t->value->name) : NULL;
    for (const qgc_use *use = value ? value->first_use : NULL; use; use = use->next)
        if (use->user->op == QGC_OP_OBSERVE)
            return use->user;
    return NULL;
}

static void tell_sharing(teller *t)
{
    const qgc_node *own = observer_of(t->e->prepared, t);
    if (!own)
        return;
    qgc_text spec = {.arena = &t->e->arena}, others = {.arena = &t->e->arena};
    const qgc_node *root = qgc_observer_root(own);
    qgc_spec_print(&spec, qgc_observer_spec(own));
    tell(t, "spec", "%s", spec.data);
    QGC_EACH_NODE (node, own->func)
        if (node->op == QGC_OP_OBSERVE && node != own && qgc_observer_root(node) == root)
            qgc_text_printf(&others, "%s%%%s", others.size ? ", " : "",
                            qgc_observed_value(node)->name->data);
    if (others.size)
        tell(t, "shares with", "%s", others.data);
}

/* ---- statistics ---- */

static const qgc_module *stats_module(const qgc_explain *e)
{
    return e->options.stats ? e->options.stats : e->module;
}

static qgc_result tell_record(teller *t, const qgc_record *record, qgc_stats *out)
{
    const char *site = record->site ? record->site->data : NULL;
    QGC_TRY(qgc_stats_from_record(t->e->end, record, &t->e->arena, out));
    tell(t, "statistics",
         "%s%s%s%" PRIu64 " values from %g to %g, %" PRIu64 " of them 0, %" PRIu64 " not finite",
         site ? "at the call %" : "", site ? site : "", site ? ": " : "", out->count,
         (double)out->min, (double)out->max, out->zeros, out->nan + out->pos_inf + out->neg_inf);
    return QGC_OK;
}

/* |out->count| 0: there is no record of all calls. */
static qgc_result tell_stats(teller *t, qgc_stats *out)
{
    const qgc_module *module = stats_module(t->e);
    for (size_t i = 0; i < module->stats.size; i++) {
        const qgc_record *record = &module->stats.data[i];
        qgc_stats stats;
        if (record->func != t->func->name || record->value != t->value->name)
            continue;
        QGC_TRY(tell_record(t, record, &stats));
        if (!record->site)
            *out = stats;
    }
    return QGC_OK;
}

/* ---- parameters ---- */

/* The quantize of the value, or of what a region gives of it, at the end of the road. */
static qgc_node *find_quantize(const teller *t)
{
    if (t->value->def && t->value->def->op == QGC_OP_QUANTIZE)
        return t->value->def;
    QGC_EACH_FUNC (func, t->e->end)
        QGC_EACH_NODE (node, func)
            if (node->op == QGC_OP_QUANTIZE && qgc_node_operand(node, 0)->name == t->value->name)
                return node;
    return NULL;
}

/* What rounding and clipping to the parameters costs the values that were seen. */
static void tell_error(teller *t, const qgc_stats *stats, const qgc_node *quantize, float scale,
                       int32_t zero_point)
{
    qgc_int_range range;
    qgc_dtype dtype = quantize->results[0].type->dtype;
    if (!stats->count || !qgc_quant_dtype_range(dtype, &range))
        return;
    const qgc_quant_spec spec = {
        .dtype = dtype, .scheme = QGC_QUANT_AFFINE, .range = range, .eps = QGC_QUANT_EPS};
    const qgc_range span = {(float)(range.lo - zero_point) * scale,
                            (float)(range.hi - zero_point) * scale};
    double error, lo = (double)span.lo - (double)scale / 2,
                  hi = (double)span.hi + (double)scale / 2;
    double clipped;
    if (qgc_stats_mean_squared_error(stats, &spec, span, &error) == QGC_STATS_OK)
        tell(t, "error", "%.4g rms, %.3f steps; values are rounded by up to %.4g", sqrt(error),
             sqrt(error) / (double)scale, (double)scale / 2);
    else
        tell(t, "error", "values are rounded by up to %.4g; there is no histogram for more",
             (double)scale / 2);
    if (qgc_stats_share_outside(stats, lo, hi, &clipped))
        tell(t, "clipped", "%.3f %% of the values", 100 * clipped);
}

static void tell_parameters(teller *t, const qgc_stats *stats)
{
    qgc_view_params params;
    const qgc_node *quantize = t->e->is_forecast ? NULL : find_quantize(t);
    if (!quantize || !qgc_view_read_params(quantize, &t->e->arena, &params, NULL))
        return;
    const char *type = qgc_dtype_name(quantize->results[0].type->dtype);
    if (!params.scales || !params.zero_points) {
        tell(t, "parameters", "%s, computed at run time", type);
        return;
    }
    if (params.per_channel) {
        tell(t, "parameters", "%s, %zu scales along axis %u", type, params.num, params.axis);
        return;
    }
    tell(t, "parameters", "%s, scale %.8g, zero point %d", type, (double)params.scales[0],
         params.zero_points[0]);
    tell_error(t, stats, quantize, params.scales[0], params.zero_points[0]);
}

/* ---- where it ends ---- */

static void tell_fate(teller *t)
{
    for (size_t i = 0; i < t->e->entries.size; i++) {
        const qgc_entry *entry = t->e->entries.data[i];
        if (entry->node != t->value->def)
            continue;
        tell(t, "fate", "%s%s%s", qgc_fate_name(entry->op.fate), entry->op.region ? " by " : "",
             entry->op.region ? entry->op.region : "");
        if (entry->op.how)
            tell(t, "how", "%s", entry->op.how);
        if (entry->op.fix)
            tell(t, "fix", "%s", entry->op.fix);
        if (entry->op.rule)
            tell(t, "rule that helps", "%s", entry->op.rule);
    }
}

static qgc_result load_rules(teller *t, qgc_arena *scratch)
{
    const qgc_pass_env env = {.context = t->e->context, .scratch = scratch};
    if (!t->e->options.rules)
        return QGC_OK;
    t->rules = qgc_rule_list_load(&env, t->e->options.rules, NULL);
    return t->rules ? QGC_OK : QGC_FAILED;
}

static qgc_result tell_all(teller *t, const char *text)
{
    qgc_stats stats = {0};
    QGC_TRY(find_value(t, text));
    tell_definition(t);
    tell_rules(t);
    tell_sharing(t);
    QGC_TRY(tell_stats(t, &stats));
    tell_parameters(t, &stats);
    tell_fate(t);
    return QGC_OK;
}

qgc_result qgc_explain_value(qgc_explain *e, const char *text, qgc_explain_line *line, void *user)
{
    teller t = {.e = e, .line = line, .user = user};
    qgc_arena scratch = {0};
    qgc_result result = load_rules(&t, &scratch);
    if (result == QGC_OK)
        result = tell_all(&t, text);
    qgc_arena_destroy(&scratch);
    return result;
}

/* Gives every edge of the ops that can be quantized a spec, as attributes of the op. Requires form
 * float, provides annotated. What an op's ports may be is the op table's business (ACT, WEIGHT,
 * BIAS, SHARE), or that of a quantizer table where the rules name one; no op is named here. */
#include "passes/annotate.h"
#include "ir/quant_spec.h"
#include "passes/constants.h"
#include "passes/provenance.h"
#include "passes/quant_points.h"
#include "passes/targets.h"
#include "runtime/tensor.h"

#include <string.h>

static const qgc_operand_spec *operand_row(const qgc_node *node, uint32_t slot)
{
    return &qgc_node_op(node)->operands[qgc_node_operand_row(node, slot)];
}

static bool is_data(const qgc_node *node, uint32_t slot)
{
    qgc_quant_rule rule = operand_row(node, slot)->quant;
    return node->operands[slot].value && (rule == QGC_Q_ACT || rule == QGC_Q_WEIGHT);
}

static qgc_quant_rule result_rule(const qgc_node *node)
{
    const qgc_op_info *op = qgc_node_op(node);
    return qgc_op_num_results(op) ? op->results[0].quant : QGC_Q_NONE;
}

static bool has_float(const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        if (value && qgc_dtype_get_kind(value->type->dtype) == QGC_FLOAT)
            return true;
    }
    return false;
}

static bool is_finite(qgc_annotator *a, const qgc_value *value)
{
    static const char yes, no;
    void **known = qgc_map_at(&a->finite, value);
    if (!*known)
        *known = (void *)(qgc_constant_is_finite(value, a->env->scratch) ? &yes : &no);
    return *known == &yes;
}

const qgc_operand_spec *qgc_annotate_infinite(qgc_annotator *a, const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        const qgc_operand_spec *row = value ? operand_row(node, i) : NULL;
        if (row && row->quant != QGC_Q_NONE && qgc_is_constant(value) && !is_finite(a, value))
            return row;
    }
    return NULL;
}

static const char OUTSIDE[] = "it does not lie between quant_stub and dequant_stub";

/* Of an op whose activations are all constant; what varies may be an index, or a condition. */
static const char *constant_reason(const qgc_node *node, qgc_arena *scratch)
{
    qgc_text constant = {.arena = scratch}, others = {.arena = scratch};
    size_t num = 0, varying = 0;
    for (uint32_t i = 0; i < node->num_operands; i++) {
        bool is_varying = node->operands[i].value && !qgc_is_constant(node->operands[i].value);
        if (is_data(node, i))
            qgc_text_printf(&constant, "%s%s", num++ ? ", " : "", operand_row(node, i)->name);
        else if (is_varying)
            qgc_text_printf(&others, "%s%s", varying++ ? ", " : "", operand_row(node, i)->name);
    }
    if (!varying)
        return "all its operands are constant";
    return qgc_arena_printf(scratch, "%s %s constant; only %s var%s, with no quantized form",
                            constant.data, num == 1 ? "is" : "are", others.data,
                            varying == 1 ? "ies" : "y");
}

/* Why the op stays float; NULL where it does not. */
static const char *reason(qgc_annotator *a, const qgc_node *node)
{
    qgc_arena *scratch = a->env->scratch;
    bool any = false, all_constant = true;
    if (!qgc_stubs_hold(&a->stubs, node))
        return OUTSIDE;
    if (result_rule(node) != QGC_Q_ACT && result_rule(node) != QGC_Q_SHARE)
        return "its result has no quantized form";
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        if (!is_data(node, i))
            continue;
        any = true;
        all_constant &= qgc_is_constant(value);
        if (value->type->dtype != QGC_DTYPE_F32)
            return qgc_arena_printf(scratch, "operand %s is %s, only f32 is quantized",
                                    operand_row(node, i)->name, qgc_type_str(scratch, value->type));
    }
    if (!any)
        return "it has no operand that is an activation";
    if (node->results[0].type->dtype != QGC_DTYPE_F32)
        return qgc_arena_printf(scratch, "its result is %s, only f32 is quantized",
                                qgc_type_str(scratch, node->results[0].type));
    if (all_constant)
        return constant_reason(node, scratch);
    const qgc_operand_spec *infinite = qgc_annotate_infinite(a, node);
    return infinite
               ? qgc_arena_printf(scratch, "operand %s holds an infinity or a NaN", infinite->name)
               : NULL;
}

static void set_spec(qgc_node *node, uint32_t slot, const qgc_spec *spec, qgc_arena *scratch)
{
    qgc_spec *copy = QGC_NEW(&node->func->module->arena, qgc_spec);
    *copy = *spec;
    qgc_node_set_extra(node, qgc_annotation_name(node, slot, scratch),
                       (qgc_attr){.kind = QGC_ATTR_SPEC, .spec = copy});
}

static qgc_name history_name(const qgc_node *node, uint32_t slot, qgc_arena *scratch)
{
    const char *port = qgc_annotation_name(node, slot, scratch)->data + strlen("quant.");
    return qgc_context_name(node->func->module->context,
                            qgc_arena_printf(scratch, "rules.%s", port));
}

/* `rules.x = [0, 3]`: the rows that spoke for the port; the last one decided. */
static void set_history(qgc_node *node, uint32_t slot, const qgc_rule_decision *decision,
                        qgc_arena *scratch)
{
    int64_t rows[sizeof decision->rows / sizeof *decision->rows];
    for (uint32_t i = 0; i < decision->num_rows; i++)
        rows[i] = decision->rows[i];
    qgc_arena *arena = &node->func->module->arena;
    qgc_name name = history_name(node, slot, scratch);
    qgc_attr *items = QGC_NEW_ARRAY(arena, qgc_attr, decision->num_rows);
    for (uint32_t i = 0; i < decision->num_rows; i++)
        items[i] = qgc_attr_from_int(rows[i]);
    qgc_node_set_extra(node, name,
                       (qgc_attr){.kind = QGC_ATTR_LIST, .num = decision->num_rows, .list = items});
}

static bool has_channels(const qgc_node *node, uint32_t slot)
{
    const qgc_operand_spec *row = operand_row(node, slot);
    int64_t rank = node->operands[slot].value->type->rank;
    return row->quant == QGC_Q_WEIGHT && rank >= 2 && row->channel_axis < rank &&
           row->channel_axis >= -rank;
}

/* An inner value of a chain that fuse has marked: one kernel computes the chain, so it is never
 * rounded. */
static bool is_inner(const qgc_annotator *a, const qgc_value *value)
{
    qgc_name mark = qgc_context_name(a->env->context, "fuse.into");
    return value->def && qgc_node_extra(value->def, mark) != NULL;
}

/* The constant of arithmetic with a scalar inside of such a chain. */
static bool is_inner_scalar(const qgc_annotator *a, const qgc_node *node, uint32_t slot)
{
    const qgc_value *value = slot == QGC_RESULT_SLOT ? NULL : node->operands[slot].value;
    const qgc_tensor *data = value && value->def ? value->def->constant : NULL;
    if (!data || qgc_tensor_count(data) != 1)
        return false;
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (i != slot && node->operands[i].value && is_inner(a, node->operands[i].value))
            return true;
    return false;
}

/* Ranges are looked for while running only where integers then meet integer weights. */
static bool has_weight(const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (node->operands[i].value && operand_row(node, i)->quant == QGC_Q_WEIGHT &&
            qgc_is_constant(node->operands[i].value))
            return true;
    return false;
}

static qgc_port_site site_of(const qgc_node *node, uint32_t slot, uint32_t data_index)
{
    bool is_result = slot == QGC_RESULT_SLOT;
    const qgc_value *value = is_result ? &node->results[0] : node->operands[slot].value;
    qgc_port_site site = {
        .node = node, .value = value, .is_result = is_result, .data_index = data_index};
    if (!is_result) {
        site.operand = qgc_str_from(operand_row(node, slot)->name);
        site.is_weight = operand_row(node, slot)->quant == QGC_Q_WEIGHT && qgc_is_constant(value);
        site.is_bias = operand_row(node, slot)->quant == QGC_Q_BIAS;
    }
    return site;
}

/* For the log: what a port now is, though no rule says so. |spec| NULL: float. */
static void log_change(const qgc_annotator *a, const qgc_node *node, uint32_t slot,
                       const qgc_spec *spec, const char *why)
{
    const qgc_change change = {.spec = spec ? *spec : (qgc_spec){.kind = QGC_SPEC_FLOAT},
                               .why = why};
    if (a->log)
        qgc_change_log_add(a->log, node, slot, &change);
}

static void log_steps(const qgc_annotator *a, const qgc_port_site *site, uint32_t slot)
{
    for (size_t i = 0; i < site->steps->list.size; i++) {
        const qgc_rule_step *step = &site->steps->list.data[i];
        qgc_change change = {.spec = step->spec, .rule = a->rules->rows.data[step->row].loc};
        if (site->start && !i)
            change.table = a->taking;
        qgc_change_log_add(a->log, site->node, slot, &change);
    }
    if (!site->steps->list.size)
        log_change(a, site->node, slot, NULL, "no rule speaks of it");
}

static qgc_rule_decision decide_rules(qgc_annotator *a, qgc_port_site site, uint32_t slot)
{
    qgc_rule_steps steps = {.arena = a->env->scratch};
    site.steps = a->log ? &steps : NULL;
    qgc_rule_decision decision = qgc_rules_decide(a->rules, &site);
    if (a->log)
        log_steps(a, &site, slot);
    return decision;
}

static qgc_rule_decision decide_site(qgc_annotator *a, const qgc_port_site *site, uint32_t slot)
{
    qgc_rule_decision decision = decide_rules(a, *site, slot);
    if (decision.spec.per_channel && (!site->is_weight || !has_channels(site->node, slot))) {
        decision.spec.per_channel = false;
        log_change(a, site->node, slot, &decision.spec, "no constant with channels");
    }
    bool can_be_dynamic = !site->is_result && operand_row(site->node, slot)->quant == QGC_Q_ACT &&
                          !qgc_is_constant(site->value) && has_weight(site->node);
    if (decision.spec.dynamic && !can_be_dynamic) {
        decision.is_float = true;
        log_change(a, site->node, slot, NULL,
                   "only operands of ops with constant weights are quantized while running");
    }
    return decision;
}

static qgc_rule_decision decide(qgc_annotator *a, qgc_node *node, uint32_t slot,
                                uint32_t data_index)
{
    qgc_port_site site = site_of(node, slot, data_index);
    qgc_rule_decision decision = decide_site(a, &site, slot);
    if (is_inner(a, site.value) || is_inner_scalar(a, node, slot)) {
        decision.is_float = true;
        log_change(a, node, slot, NULL, "fuse marked it as inside a chain");
    }
    return decision;
}

/* A row may give a part of a spec; together they must say enough. */
static bool check_spec(qgc_annotator *a, const qgc_rule_decision *decision)
{
    const qgc_rule_row *row = &a->rules->rows.data[decision->rows[decision->num_rows - 1]];
    const qgc_spec *spec = &decision->spec;
    const char *fault = spec->kind == QGC_SPEC_OWN ? qgc_spec_fault(spec) : NULL;
    if (!fault)
        return true;
    if (!a->failed) /* the same row would fail at every place */
        qgc_report(&a->env->context->diag, row->loc, QGC_D_BAD_RULE, "%s", fault);
    a->failed = true;
    return false;
}

static bool set_decision(qgc_annotator *a, qgc_node *node, uint32_t slot,
                         const qgc_rule_decision *decision)
{
    if (decision->is_float || !check_spec(a, decision))
        return false;
    set_spec(node, slot, &decision->spec, a->env->scratch);
    if (a->rules->is_users)
        set_history(node, slot, decision, a->env->scratch);
    return true;
}

/* Among the activations of the op. */
static uint32_t data_index_of(const qgc_node *node, uint32_t slot)
{
    uint32_t index = 0;
    for (uint32_t i = 0; slot != QGC_RESULT_SLOT && i < slot; i++)
        index += is_data(node, i) && operand_row(node, i)->quant == QGC_Q_ACT;
    return index;
}

bool qgc_annotate_port(qgc_annotator *a, qgc_node *node, uint32_t slot, const qgc_spec *start,
                       uint32_t start_row)
{
    qgc_port_site site = site_of(node, slot, data_index_of(node, slot));
    site.start = start;
    site.start_row = start_row;
    qgc_rule_decision decision = decide_site(a, &site, slot);
    return set_decision(a, node, slot, &decision);
}

void qgc_annotate_drop(const qgc_annotator *a, qgc_node *node, uint32_t slot)
{
    const qgc_attr none = {.kind = QGC_ATTR_NONE};
    log_change(a, node, slot, NULL, "the port that it shares with is float");
    qgc_node_set_extra(node, qgc_annotation_name(node, slot, a->env->scratch), none);
    qgc_node_set_extra(node, history_name(node, slot, a->env->scratch), none);
}

static bool is_excluded(qgc_annotator *a, qgc_node *node, bool is_question)
{
    bool all_float = true;
    for (uint32_t i = 0; i <= node->num_operands; i++) {
        uint32_t slot = i < node->num_operands ? i : QGC_RESULT_SLOT;
        if (slot != QGC_RESULT_SLOT && !is_data(node, slot))
            continue;
        qgc_port_site site = site_of(node, slot, data_index_of(node, slot));
        site.is_question = is_question;
        qgc_rule_decision decision = qgc_rules_decide(a->rules, &site);
        all_float &= decision.is_float && decision.num_rows;
    }
    return all_float;
}

bool qgc_annotate_excludes(qgc_annotator *a, qgc_node *node)
{
    return !qgc_stubs_hold(&a->stubs, node) || is_excluded(a, node, true);
}

/* The bias's scale is that of the products: of the first activation and the weight. Both must be
 * quantized, and the bias a constant. */
static void annotate_bias(qgc_annotator *a, qgc_node *node)
{
    qgc_spec spec = {.kind = QGC_SPEC_DERIVE};
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        qgc_quant_rule rule = operand_row(node, i)->quant;
        const qgc_attr *own =
            is_data(node, i) ? qgc_node_extra(node, qgc_annotation_name(node, i, a->env->scratch))
                             : NULL;
        bool is_quantized = own && !own->spec->dynamic;
        if (is_quantized && !spec.values[rule == QGC_Q_WEIGHT])
            spec.values[rule == QGC_Q_WEIGHT] = value->name;
        if (rule != QGC_Q_BIAS || !value || !spec.values[0] || !spec.values[1] ||
            !qgc_is_constant(value))
            continue;
        qgc_rule_decision decision = decide(a, node, i, 0);
        if (decision.is_float)
            continue;
        set_spec(node, i, &spec, a->env->scratch);
        log_change(a, node, i, &spec, "the product of these scales");
        if (a->rules->is_users)
            set_history(node, i, &decision, a->env->scratch);
    }
}

static void set_shared(qgc_annotator *a, qgc_node *node, uint32_t slot, const qgc_spec *spec)
{
    set_spec(node, slot, spec, a->env->scratch);
    log_change(a, node, slot, spec, "the op moves data: its first operand's parameters");
}

/* An op that moves data has its first quantized operand's parameters everywhere. */
static bool annotate(qgc_annotator *a, qgc_node *node)
{
    bool shares = result_rule(node) == QGC_Q_SHARE, any = false;
    qgc_spec first = {.kind = QGC_SPEC_SHARE, .values = {NULL, node->results[0].name}};
    uint32_t data_index = 0;
    for (uint32_t i = 0; i < node->num_operands; i++) {
        if (!is_data(node, i))
            continue;
        qgc_rule_decision decision = decide(a, node, i, data_index);
        data_index += operand_row(node, i)->quant == QGC_Q_ACT;
        bool joins = shares && first.values[0] && !decision.is_float;
        if (joins)
            set_shared(a, node, i, &first);
        else if (set_decision(a, node, i, &decision) && !first.values[0])
            first.values[0] = node->operands[i].value->name;
        any |= !decision.is_float;
    }
    annotate_bias(a, node);
    qgc_rule_decision result = decide(a, node, UINT32_MAX, 0);
    if (shares && first.values[0] && !result.is_float)
        set_shared(a, node, UINT32_MAX, &first);
    else if (shares && !result.is_float)
        log_change(a, node, UINT32_MAX, NULL, "no operand is quantized that it could share with");
    else if (!shares)
        any |= set_decision(a, node, UINT32_MAX, &result);
    return any;
}

static bool is_candidate(const qgc_node *node)
{
    enum {
        SKIPPED = QGC_TRAIT_CONSTANT | QGC_TRAIT_TERMINATOR | QGC_TRAIT_CALL | QGC_TRAIT_BARRIER
    };
    return !(qgc_node_op(node)->traits & SKIPPED) && node->num_results && has_float(node) &&
           !qgc_is_stub(node);
}

/* The row that would give every port of the op a type, where only rules are in the way. */
static const char *missing_rule(const qgc_annotator *a, const qgc_node *node)
{
    return qgc_arena_printf(a->env->scratch, "op %s => act u8.affine.hist, weight i8.sym.ch.minmax",
                            qgc_node_op(node)->mnemonic);
}

/* |rule|: a row at the end of the rules file that changes it, or NULL. */
static void stays_float(const qgc_annotator *a, const qgc_node *node, const char *why,
                        const char *rule)
{
    qgc_diag *diag = &a->env->context->diag;
    if (a->log)
        qgc_change_log_stays(a->log, node, why);
    if (!qgc_wants_remarks(diag))
        return;
    qgc_report(diag, node->loc, QGC_D_STAYS_FLOAT, "%s stays float: %s",
               qgc_node_op(node)->mnemonic, why);
    qgc_report_node(diag, node);
    qgc_diag_add(diag, "condition", "%s", why);
    if (!rule)
        return;
    qgc_diag_add_shown(diag, "fix", "a row at the end of the rules");
    qgc_diag_add_shown(diag, "rule", "%s", rule);
}

static bool all_inner(const qgc_annotator *a, const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (is_data(node, i) && !is_inner(a, node->operands[i].value))
            return false;
    return is_inner(a, &node->results[0]);
}

static bool visit(qgc_annotator *a, qgc_node *node)
{
    if (!is_candidate(node))
        return false;
    const char *why = reason(a, node);
    if (!why && annotate(a, node))
        return true;
    if (why)
        stays_float(a, node, why, NULL);
    else
        stays_float(a, node, "no rule gives its ports a type",
                    all_inner(a, node) ? NULL : missing_rule(a, node));
    return false;
}

/* ---- with quantizer tables ---- */

/* The reason of the last quantizer that the rules name. */
static const char *untaken_reason(qgc_annotator *a, qgc_node *node, qgc_taken *taken)
{
    const char *why = "";
    for (uint32_t r = 0; r < a->rules->rows.size; r++)
        if (a->rules->rows.data[r].quantizer)
            why = qgc_quantizer_reason(a, r, node, taken);
    return why;
}

static bool visit_func(qgc_annotator *a, qgc_func *func)
{
    qgc_taken taken = {.nodes = {.arena = a->env->scratch}};
    bool any = false;
    if (!a->rules->has_quantizer) {
        QGC_EACH_NODE (node, func)
            any |= visit(a, node);
        return any;
    }
    for (uint32_t r = 0; r < a->rules->rows.size; r++)
        if (a->rules->rows.data[r].quantizer)
            any |= qgc_quantizer_apply(a, r, func, &taken);
    QGC_EACH_NODE (node, func) {
        if (qgc_map_get(&taken.nodes, node) || !is_candidate(node))
            continue;
        is_excluded(a, node, false); /* so that the rules that say so count as used */
        if (qgc_wants_remarks(&a->env->context->diag) || a->log)
            stays_float(a, node,
                        qgc_stubs_hold(&a->stubs, node) ? untaken_reason(a, node, &taken) : OUTSIDE,
                        NULL);
    }
    return any;
}

enum { ACT, WEIGHT, BIAS, RULES, TABLE, TARGET, CHANGELOG }; /* options */

static const char *or_default(const char *text, const char *usual)
{
    return text[0] ? text : usual;
}

static const char *option_rule(const qgc_pass_env *env)
{
    return qgc_arena_printf(env->scratch, "all => act %s, weight %s, bias %s\n",
                            or_default(env->options[ACT], "u8.affine.hist"),
                            or_default(env->options[WEIGHT], "i8.sym.ch.minmax"),
                            or_default(env->options[BIAS], "float"));
}

/* The table's own specs where the options say nothing. */
static const char *option_quantizer(const qgc_pass_env *env, const char *table)
{
    const char *act = env->options[ACT];
    const char *weight = env->options[WEIGHT], *quote = strstr(table, ".qpat") ? "\"" : "";
    return qgc_arena_printf(env->scratch, "quantizer %s%s%s%s%s%s%s%s%s\n", quote, table, quote,
                            act[0] || weight[0] ? " => " : "", act[0] ? "act " : "", act,
                            act[0] && weight[0] ? ", " : "", weight[0] ? "weight " : "", weight);
}

/* The quantizer table of the first target that `target` lists, where it has one and nothing else
 * says what is quantized: its name, else "". */
static qgc_result target_table(const qgc_pass_env *env, const char **out)
{
    const qgc_backend *backend;
    void *state;
    const char *list = env->options[TARGET];
    qgc_str first = {list, strcspn(list, "+")};
    *out = env->options[TABLE];
    if (!first.size || *out[0] || env->options[RULES][0] || env->options[BIAS][0])
        return QGC_OK;
    const char *name = qgc_arena_strdup(env->scratch, first);
    QGC_TRY(qgc_target_find(env->context, name, &backend, &state));
    *out = backend && backend->quantizer ? name : "";
    return QGC_OK;
}

static qgc_rule_list *load_rules(const qgc_pass_env *env)
{
    const char *table;
    const char *rules = env->options[RULES];
    bool has_table = env->options[TABLE][0];
    bool has_specs = env->options[ACT][0] || env->options[WEIGHT][0] || env->options[BIAS][0];
    const char *fault = NULL;
    if (rules[0] && has_specs)
        fault = "rules stand in the file; act, weight and bias contradict it";
    else if (rules[0] && has_table)
        fault = "rules stand in the file, `quantizer NAME` among them; table contradicts it";
    else if (has_table && env->options[BIAS][0])
        fault = "the rows of the table say what biases become; bias contradicts them";
    else if (rules[0] && strcmp(rules, env->options[CHANGELOG]) == 0)
        fault = "the change log would replace the file that rules names";
    if (fault) {
        qgc_report(&env->context->diag, QGC_NO_LOC, QGC_D_BAD_PIPELINE, "annotate: %s", fault);
        return NULL;
    }
    if (target_table(env, &table) != QGC_OK)
        return NULL;
    if (table[0])
        return qgc_rule_list_from(env, option_quantizer(env, table));
    if (rules[0])
        return qgc_rule_list_load(env, rules, NULL);
    return has_specs ? qgc_rule_list_from(env, option_rule(env))
                     : qgc_rule_list_load(env, NULL, "int8");
}

static bool visit_module(qgc_annotator *a, qgc_module *module)
{
    bool changed = false;
    qgc_stubs_find(module, a->env->scratch, &a->stubs);
    QGC_EACH_FUNC (func, module)
        changed |= visit_func(a, func);
    return changed;
}

qgc_pass_status pass_annotate(qgc_module *module, const qgc_pass_env *env)
{
    const char *path = env->options[CHANGELOG];
    qgc_annotator a = {.env = env, .rules = load_rules(env), .finite = {.arena = env->scratch}};
    if (!a.rules)
        return QGC_PASS_FAILED;
    if (path[0])
        a.log = qgc_change_log_create(env);
    bool changed = a.rules->has_ports;
    if (a.rules->has_ports)
        a.failed = !qgc_change_log_replay(a.rules, module, env, a.log);
    else
        changed = visit_module(&a, module);
    if (a.failed)
        return QGC_PASS_FAILED;
    qgc_rules_warn(a.rules, false, env);
    qgc_provenance_set_rules(module, a.rules->lines.data, a.rules->lines.size);
    if (a.log && qgc_change_log_save(a.log, module, a.rules, path) != QGC_OK)
        return QGC_PASS_FAILED;
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}

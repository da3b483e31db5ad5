/* Applying rules: list order, later wins. */
#include "passes/rules.h"

#include <string.h>

/* Whole components: "conv1" fits "conv1" and "conv1.bn", not "conv10". */
bool qgc_rule_in_scope(const qgc_node *node, qgc_str prefix)
{
    if (!prefix.size)
        return true;
    if (!node->scope || node->scope->size < prefix.size)
        return false;
    qgc_str scope = qgc_name_str(node->scope);
    bool whole = scope.size == prefix.size || scope.data[prefix.size] == '.';
    return whole && memcmp(scope.data, prefix.data, prefix.size) == 0;
}

/* "%v", or "@f.%v". */
static bool names_value(qgc_str name, const qgc_port_site *site)
{
    qgc_str value = qgc_name_str(site->value->name), func = qgc_name_str(site->node->func->name);
    if (name.size && name.data[0] == '@') {
        size_t size = func.size + 2; /* "@" and "." */
        if (name.size <= size || memcmp(name.data + 1, func.data, func.size) != 0 ||
            name.data[size - 1] != '.')
            return false;
        name = (qgc_str){name.data + size, name.size - size};
    }
    if (!name.size || name.data[0] != '%')
        return false;
    return qgc_str_equal((qgc_str){name.data + 1, name.size - 1}, value);
}

static bool in_table(const qgc_interner *values, const qgc_port_site *site)
{
    char buffer[1024];
    const char *func = site->node->func->name->data, *value = site->value->name->data;
    int size = snprintf(buffer, sizeof buffer, "@%s.%%%s", func, value);
    if (size < 0 || (size_t)size >= sizeof buffer)
        return false;
    qgc_str full = {buffer, (size_t)size};
    size_t skip = strlen(func) + 2;
    return qgc_intern_find(values, full) ||
           qgc_intern_find(values, (qgc_str){buffer + skip, full.size - skip});
}

static bool selects(const qgc_rule_row *row, const qgc_port_site *site)
{
    switch (row->select) {
    case QGC_SELECT_ALL:
        return true;
    case QGC_SELECT_OP:
        return site->node->op == row->op && qgc_rule_in_scope(site->node, row->under);
    case QGC_SELECT_NAME:
        return qgc_rule_in_scope(site->node, row->text);
    case QGC_SELECT_VALUE:
        return names_value(row->text, site);
    case QGC_SELECT_TABLE:
        return in_table(row->values, site);
    case QGC_SELECT_QUANTIZER: /* it has spoken before: site->start */
    case QGC_SELECT_TARGET:    /* of another pass */
    case QGC_SELECT_PORT:      /* they stand for themselves */
        break;
    }
    return false;
}

/* The spec that the action has for the place, or NULL. */
static const qgc_spec *spec_for(const qgc_rule_action *action, const qgc_port_site *site)
{
    bool is_input = !site->is_result && !site->is_weight && !site->is_bias;
    bool covered = false;
    if (site->is_bias)
        return action->port == QGC_PORT_BIAS ? &action->specs[0] : NULL;
    switch (action->port) {
    case QGC_PORT_ANY:
        covered = true;
        break;
    case QGC_PORT_ACT:
        covered = !site->is_weight;
        break;
    case QGC_PORT_IN:
        covered = is_input;
        break;
    case QGC_PORT_OUT:
        covered = site->is_result;
        break;
    case QGC_PORT_WEIGHT:
        covered = site->is_weight;
        break;
    case QGC_PORT_BIAS:
        break;
    case QGC_PORT_OPERAND:
        covered = !site->is_result && qgc_str_equal(action->operand, site->operand);
        break;
    }
    if (!covered)
        return NULL;
    uint32_t index = action->num_specs > 1 ? site->data_index : 0;
    return index < action->num_specs ? &action->specs[index] : NULL;
}

qgc_spec qgc_rule_merge(const qgc_spec *earlier, const qgc_spec *later, bool is_weight)
{
    bool is_bare = later->kind == QGC_SPEC_OWN && later->scheme == QGC_SCHEME_NONE &&
                   later->observer == QGC_OBSERVE_NONE && !later->has_range &&
                   !later->per_channel && !later->dynamic;
    if (!is_bare || later->dtype == QGC_DTYPE_F16)
        return *later;
    bool has_earlier = earlier && earlier->kind == QGC_SPEC_OWN && earlier->dtype != QGC_DTYPE_F16;
    qgc_spec spec = {.kind = QGC_SPEC_OWN,
                     .has_dtype = true,
                     .scheme = is_weight ? QGC_SCHEME_SYM : QGC_SCHEME_AFFINE,
                     .observer = is_weight ? QGC_OBSERVE_MINMAX : QGC_OBSERVE_HIST,
                     .per_channel = is_weight};
    if (has_earlier)
        spec = *earlier;
    spec.dtype = later->dtype;
    spec.has_range = false;
    spec.qmin = spec.qmax = 0;
    return spec;
}

static void note_row(qgc_rule_decision *decision, uint32_t row)
{
    enum { MAX = sizeof decision->rows / sizeof *decision->rows };
    if (decision->num_rows == MAX) /* the oldest goes */
        memmove(decision->rows, decision->rows + 1, (MAX - 1) * sizeof *decision->rows);
    else
        decision->num_rows++;
    decision->rows[decision->num_rows - 1] = row;
}

static void note_step(const qgc_port_site *site, uint32_t row, const qgc_spec *spec)
{
    if (site->steps)
        qgc_vec_push(site->steps->arena, &site->steps->list, ((qgc_rule_step){row, *spec}));
}

qgc_rule_decision qgc_rules_decide(qgc_rule_list *list, const qgc_port_site *site)
{
    qgc_rule_decision decision = {.is_float = !site->start || site->start->kind == QGC_SPEC_FLOAT};
    if (site->start) {
        decision.spec = *site->start;
        note_row(&decision, site->start_row);
        note_step(site, site->start_row, &decision.spec);
        list->rows.data[site->start_row].matched++;
    }
    for (uint32_t r = 0; r < list->rows.size; r++) {
        qgc_rule_row *row = &list->rows.data[r];
        if (!selects(row, site))
            continue;
        const qgc_spec *spec = NULL;
        for (uint32_t i = 0; i < row->num_actions; i++) {
            const qgc_spec *found = spec_for(&row->actions[i], site);
            spec = found ? found : spec; /* the last action of a row that fits */
        }
        if (!spec)
            continue;
        row->matched += !site->is_question;
        decision.spec =
            qgc_rule_merge(decision.is_float ? NULL : &decision.spec, spec, site->is_weight);
        decision.is_float = decision.spec.kind == QGC_SPEC_FLOAT;
        note_row(&decision, r);
        note_step(site, r, &decision.spec);
    }
    if (decision.num_rows && !site->is_question)
        list->rows.data[decision.rows[decision.num_rows - 1]].decided++;
    return decision;
}

qgc_rule_row *qgc_rules_target(const qgc_rule_list *list, const qgc_node *node)
{
    qgc_rule_row *last = NULL;
    for (size_t r = 0; r < list->rows.size; r++) {
        qgc_rule_row *row = &list->rows.data[r];
        if (row->select != QGC_SELECT_TARGET || (row->has_op && row->op != node->op) ||
            !qgc_rule_in_scope(node, row->under))
            continue;
        row->matched++;
        last = row;
    }
    if (last)
        last->decided++;
    return last;
}

void qgc_rules_warn(const qgc_rule_list *list, bool targets, const qgc_pass_env *env)
{
    for (size_t r = 0; r < list->rows.size; r++) {
        const qgc_rule_row *row = &list->rows.data[r];
        if (row->preset || row->decided || row->select == QGC_SELECT_PORT ||
            (row->select == QGC_SELECT_TARGET) != targets)
            continue;
        if (row->matched)
            qgc_report(&env->context->diag, row->loc, QGC_D_SHADOWED_RULE,
                       "later rules decide all %u places that this rule is about", row->matched);
        else
            qgc_report(&env->context->diag, row->loc, QGC_D_UNUSED_RULE,
                       "this rule is about nothing in the graph");
    }
}

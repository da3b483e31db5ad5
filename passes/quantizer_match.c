/* Running a quantizer table over a function. */
#include "passes/annotate.h"
#include "passes/constants.h"
#include "passes/quant_points.h"

#include <string.h>

const char qgc_taken_inner, qgc_taken_last;

typedef struct matcher {
    qgc_annotator *annotator;
    const qgc_quantizer *quantizer;
    uint32_t rule;
    qgc_taken *taken;
    const char *why; /* of the last thing that did not fit */
    qgc_take_chain chain;
} matcher;

static const qgc_rule_row *rule_of(const matcher *m)
{
    return &m->annotator->rules->rows.data[m->rule];
}

static bool no(matcher *m, const char *format, ...) QGC_PRINTF(2, 3);
static bool no(matcher *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (qgc_wants_remarks(&m->annotator->env->context->diag) || m->annotator->log)
        m->why = qgc_arena_vprintf(m->annotator->env->scratch, format, args);
    va_end(args);
    return false;
}

bool qgc_is_data_operand(const qgc_node *node, uint32_t slot)
{
    qgc_quant_rule rule = qgc_node_op(node)->operands[qgc_node_operand_row(node, slot)].quant;
    return node->operands[slot].value && (rule == QGC_Q_ACT || rule == QGC_Q_WEIGHT);
}

/* ---- ports ---- */

/* Whether the operand belongs to the port of a row. |step| is the op's place in the chain. */
static bool is_of_port(const matcher *m, uint32_t step, uint32_t slot, qgc_str name)
{
    const qgc_node *node = m->chain.nodes[step];
    if (!node->operands[slot].value)
        return false;
    if (qgc_str_equal(name, qgc_str_from("other")))
        return qgc_is_data_operand(node, slot) && slot != m->chain.links[step];
    const char *own = qgc_node_op(node)->operands[qgc_node_operand_row(node, slot)].name;
    return qgc_str_equal(name, qgc_str_from(own));
}

/* The first operand of the port; QGC_RESULT_SLOT for the result. False: absent in this op. */
static bool first_slot(const matcher *m, uint32_t step, qgc_str name, uint32_t *out)
{
    const qgc_node *node = m->chain.nodes[step];
    *out = QGC_RESULT_SLOT;
    if (qgc_str_equal(name, qgc_str_from(qgc_node_op(node)->results[0].name)))
        return true;
    for (uint32_t slot = 0; slot < node->num_operands; slot++)
        if (is_of_port(m, step, slot, name))
            return *out = slot, true;
    return false;
}

static const qgc_value *value_at(const qgc_node *node, uint32_t slot)
{
    return slot == QGC_RESULT_SLOT ? &node->results[0] : node->operands[slot].value;
}

/* The spec that a value of the row means at |slot|. False where the op does not fit it. */
static bool make_spec(matcher *m, uint32_t step, uint32_t slot, const qgc_take_value *value,
                      qgc_spec *out)
{
    const qgc_node *node = m->chain.nodes[step];
    const qgc_spec *named = value->name.size ? qgc_quantizer_spec(m->quantizer, value->name) : NULL;
    *out = named ? *named : value->spec;
    if (value->kind == QGC_TAKE_SPEC)
        return true;
    *out = (qgc_spec){.kind = value->kind == QGC_TAKE_DERIVE ? QGC_SPEC_DERIVE : QGC_SPEC_SHARE};
    if (value->kind == QGC_TAKE_PRODUCER)
        return out->values[0] = value_at(node, slot)->name, true;
    for (uint32_t i = 0; i < 2 && value->ports[i].size; i++) {
        uint32_t other;
        if (!first_slot(m, step, value->ports[i], &other))
            return no(m, "it has no %.*s", QGC_STR_ARG(value->ports[i]));
        out->values[i] = value_at(node, other)->name;
        if (value->kind == QGC_TAKE_SHARE && other != QGC_RESULT_SLOT)
            out->values[1] = node->results[0].name;
    }
    return true;
}

static bool has_result_spec(const matcher *m, const qgc_value *value)
{
    const qgc_attr *attr =
        value->def ? qgc_node_extra(value->def, qgc_annotation_name(value->def, QGC_RESULT_SLOT,
                                                                    m->annotator->env->scratch))
                   : NULL;
    return attr && attr->spec->kind != QGC_SPEC_FLOAT;
}

static bool has_channels(const qgc_node *node, uint32_t slot)
{
    if (slot == QGC_RESULT_SLOT)
        return false;
    const qgc_operand_spec *row = &qgc_node_op(node)->operands[qgc_node_operand_row(node, slot)];
    const qgc_value *value = node->operands[slot].value;
    return row->quant == QGC_Q_WEIGHT && value->type->rank >= 2 && qgc_is_constant(value);
}

static bool slot_fits(matcher *m, uint32_t step, uint32_t slot, const qgc_take_value *value)
{
    const qgc_node *node = m->chain.nodes[step];
    const qgc_value *at = value_at(node, slot);
    qgc_spec spec;
    if (!make_spec(m, step, slot, value, &spec))
        return false;
    if (at->type->dtype != QGC_DTYPE_F32)
        return no(m, "%%%s is %s, only f32 is quantized", at->name->data,
                  qgc_type_str(m->annotator->env->scratch, at->type));
    if (spec.per_channel && !has_channels(node, slot))
        return no(m, "%%%s is no constant with channels", at->name->data);
    if (value->kind == QGC_TAKE_DERIVE && !qgc_is_constant(at))
        return no(m, "%%%s is no constant", at->name->data);
    if (value->kind == QGC_TAKE_PRODUCER && !has_result_spec(m, at))
        return no(m, "%%%s is not quantized where it is made", at->name->data);
    return true;
}

typedef bool visit_slot(matcher *m, uint32_t step, uint32_t slot, const qgc_take_value *value);

/* Calls |visit| for every slot that the step speaks of, until it says false. */
static bool each_slot(matcher *m, const qgc_take_row *row, uint32_t step, visit_slot *visit)
{
    const qgc_node *node = m->chain.nodes[step];
    for (uint32_t p = 0; p < row->steps[step].num_ports; p++) {
        const qgc_take_port *port = &row->steps[step].ports[p];
        uint32_t slot, seen = 0;
        if (!first_slot(m, step, port->name, &slot))
            continue; /* an absent optional operand */
        if (slot == QGC_RESULT_SLOT && !visit(m, step, slot, &port->values[0]))
            return false;
        for (; slot < node->num_operands; slot++) {
            if (!is_of_port(m, step, slot, port->name))
                continue;
            uint32_t i = seen < port->num ? seen : port->num - 1;
            if (!visit(m, step, slot, &port->values[i]))
                return false;
            seen++;
        }
    }
    return true;
}

static bool annotate_slot(matcher *m, uint32_t step, uint32_t slot, const qgc_take_value *value)
{
    qgc_spec spec;
    if (make_spec(m, step, slot, value, &spec))
        qgc_annotate_port(m->annotator, m->chain.nodes[step], slot, &spec, m->rule);
    return true;
}

static const qgc_spec *spec_at(const matcher *m, const qgc_node *node, uint32_t slot)
{
    qgc_name name = qgc_annotation_name(node, slot, m->annotator->env->scratch);
    const qgc_attr *attr = qgc_node_extra(node, name);
    return attr ? attr->spec : NULL;
}

/* A rule may have made float what another port shares with: that port is float then, too. */
static bool drop_dangling(matcher *m, uint32_t step, uint32_t slot, const qgc_take_value *value)
{
    qgc_node *node = m->chain.nodes[step];
    const qgc_spec *spec = spec_at(m, node, slot);
    uint32_t other;
    bool shares = value->kind == QGC_TAKE_SHARE && spec && spec->kind == QGC_SPEC_SHARE;
    if (shares && first_slot(m, step, value->ports[0], &other) && !spec_at(m, node, other))
        qgc_annotate_drop(m->annotator, node, slot);
    return true;
}

/* ---- chains ---- */

static bool all_constant(const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (qgc_is_data_operand(node, i) && !qgc_is_constant(node->operands[i].value))
            return false;
    return true;
}

static bool node_fits(matcher *m, const qgc_take_step *step, qgc_node *node)
{
    bool found = false;
    for (uint32_t i = 0; i < step->num_ops; i++)
        found |= step->ops[i] == node->op;
    if (!found)
        return false;
    if (qgc_map_get(&m->taken->nodes, node))
        return no(m, "%s %%%s is taken already", qgc_node_op(node)->mnemonic,
                  node->results[0].name->data);
    if (!qgc_rule_in_scope(node, rule_of(m)->under))
        return no(m, "%%%s is not under \"%.*s\"", node->results[0].name->data,
                  QGC_STR_ARG(rule_of(m)->under));
    if (qgc_annotate_excludes(m->annotator, node))
        return no(m, "rules say that %%%s stays float", node->results[0].name->data);
    if (all_constant(node))
        return no(m, "all operands are constant");
    const qgc_operand_spec *infinite = qgc_annotate_infinite(m->annotator, node);
    return !infinite || no(m, "operand %s holds an infinity or a NaN", infinite->name);
}

/* Conditions, and whether the rule is about chains of this kind. */
static bool chain_fits(matcher *m, const qgc_take_row *row)
{
    bool has_op = !rule_of(m)->has_op;
    for (uint32_t i = 0; i < m->chain.num; i++)
        has_op |= m->chain.nodes[i]->op == rule_of(m)->op;
    if (!has_op)
        return no(m, "the rule is about %s", qgc_op(rule_of(m)->op)->mnemonic);
    for (uint32_t i = 0; i < row->num_conditions; i++)
        if (!row->conditions[i]->holds(&m->chain))
            return no(m, "%s does not hold: %s", row->conditions[i]->name,
                      row->conditions[i]->summary);
    return true;
}

/* Recursion ends after QGC_MAX_STEPS. */
static bool match_from(matcher *m, const qgc_take_row *row, uint32_t step, qgc_node *node,
                       uint32_t link)
{
    if (!node_fits(m, &row->steps[step], node))
        return false;
    m->chain.nodes[step] = node;
    m->chain.links[step] = link;
    m->chain.num = step + 1;
    if (!each_slot(m, row, step, slot_fits))
        return false;
    if (step + 1 == row->num_steps)
        return chain_fits(m, row);
    for (const qgc_use *use = node->results[0].first_use; use; use = use->next) {
        uint32_t slot = (uint32_t)(use - use->user->operands);
        if (qgc_is_data_operand(use->user, slot) && match_from(m, row, step + 1, use->user, slot))
            return true;
    }
    return false;
}

static bool take(matcher *m, const qgc_take_row *row, qgc_node *node)
{
    m->chain = (qgc_take_chain){.taken = m->taken};
    if (!match_from(m, row, 0, node, QGC_RESULT_SLOT))
        return false;
    m->annotator->taking = row->loc;
    for (uint32_t i = 0; i < row->num_steps; i++) {
        bool is_last = i + 1 == row->num_steps;
        each_slot(m, row, i, annotate_slot);
        each_slot(m, row, i, drop_dangling);
        *qgc_map_at(&m->taken->nodes, m->chain.nodes[i]) =
            (void *)(is_last ? &qgc_taken_last : &qgc_taken_inner);
    }
    return true;
}

bool qgc_quantizer_apply(qgc_annotator *annotator, uint32_t rule, qgc_func *func, qgc_taken *taken)
{
    const qgc_quantizer *quantizer = annotator->rules->rows.data[rule].quantizer;
    matcher m = {annotator, quantizer, rule, taken, NULL, {0}};
    bool any = false;
    for (size_t first = 0, end; first < quantizer->rows.size; first = end) {
        end = first + 1;
        while (quantizer->rows.data[first].is_sweep && end < quantizer->rows.size &&
               quantizer->rows.data[end].is_sweep)
            end++;
        QGC_EACH_NODE (node, func)
            for (size_t r = first; r < end; r++)
                any |= take(&m, &quantizer->rows.data[r], node);
    }
    return any;
}

const char *qgc_quantizer_reason(qgc_annotator *annotator, uint32_t rule, qgc_node *node,
                                 qgc_taken *taken)
{
    const qgc_quantizer *quantizer = annotator->rules->rows.data[rule].quantizer;
    matcher m = {annotator, quantizer, rule, taken, NULL, {0}};
    for (size_t r = 0; r < quantizer->rows.size; r++) {
        m.chain = (qgc_take_chain){.taken = taken};
        match_from(&m, &quantizer->rows.data[r], 0, node, QGC_RESULT_SLOT);
    }
    return qgc_arena_printf(annotator->env->scratch, "no row of %s takes it%s%s", quantizer->name,
                            m.why ? ": " : "", m.why ? m.why : "");
}

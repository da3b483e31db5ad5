/* Gives every edge of the ops that can be quantized a spec, as attributes of the op. Requires form
 * float, provides annotated. What an op's ports may be is the op table's business (ACT, WEIGHT,
 * BIAS, SHARE); no op is named here.
 * Does not handle: rules files and targets' tables. */
#include "ir/quant_spec.h"
#include "passes/constants.h"
#include "passes/quant_points.h"

#include <string.h>

typedef struct annotator {
    const qgc_pass_env *env;
    const qgc_spec *activation, *weight,
        *weight_tensor; /* weight_tensor: one range for all of it */
    bool derives_bias;
} annotator;

static const qgc_operand_spec *operand_row(const qgc_node *node, uint32_t slot)
{
    return &qgc_node_op(node)->operands[qgc_node_operand_row(node, slot)];
}

static bool is_data(const qgc_node *node, uint32_t slot)
{
    qgc_quant_rule rule = operand_row(node, slot)->quant;
    return node->operands[slot].value && (rule == QGC_Q_ACT || rule == QGC_Q_WEIGHT);
}

/* An inner value of a chain that fuse has marked: one kernel computes the chain, so it is never
 * rounded. */
static bool is_inner(const annotator *a, const qgc_value *value)
{
    qgc_name mark = qgc_context_name(a->env->context, "fuse.into");
    return value->def && qgc_node_extra(value->def, mark) != NULL;
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

/* Why the op stays float; NULL where it does not. */
static const char *reason(const annotator *a, const qgc_node *node)
{
    qgc_arena *scratch = a->env->scratch;
    bool any = false, all_constant = true;
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
    return all_constant ? "all its operands are constant" : NULL;
}

static void set_spec(qgc_node *node, uint32_t slot, const qgc_spec *spec, qgc_arena *scratch)
{
    qgc_spec *copy = QGC_NEW(&node->func->module->arena, qgc_spec);
    *copy = *spec;
    qgc_node_set_extra(node, qgc_annotation_name(node, slot, scratch),
                       (qgc_attr){.kind = QGC_ATTR_SPEC, .spec = copy});
}

/* A weight is one only where it is constant; it has channels only where it has enough dimensions.
 */
static const qgc_spec *operand_spec(const annotator *a, const qgc_node *node, uint32_t slot)
{
    const qgc_operand_spec *row = operand_row(node, slot);
    const qgc_value *value = node->operands[slot].value;
    if (row->quant != QGC_Q_WEIGHT || !qgc_is_constant(value))
        return a->activation;
    int64_t rank = value->type->rank;
    bool has_axis = rank >= 2 && row->channel_axis < rank && row->channel_axis >= -rank;
    return has_axis ? a->weight : a->weight_tensor;
}

/* The bias's scale is that of the products: of the first activation and the weight. */
static void annotate_bias(const annotator *a, qgc_node *node)
{
    qgc_spec spec = {.kind = QGC_SPEC_DERIVE};
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        qgc_quant_rule rule = operand_row(node, i)->quant;
        if (is_data(node, i) && !is_inner(a, value) && !spec.values[rule == QGC_Q_WEIGHT])
            spec.values[rule == QGC_Q_WEIGHT] = value->name;
        if (rule == QGC_Q_BIAS && value && spec.values[0] && spec.values[1] &&
            qgc_is_constant(value))
            set_spec(node, i, &spec, a->env->scratch);
    }
}

static void annotate(const annotator *a, qgc_node *node)
{
    qgc_arena *scratch = a->env->scratch;
    bool shares = result_rule(node) == QGC_Q_SHARE;
    qgc_spec first = {.kind = QGC_SPEC_SHARE, .values = {NULL, node->results[0].name}};
    for (uint32_t i = 0; i < node->num_operands; i++) {
        if (!is_data(node, i) || is_inner(a, node->operands[i].value))
            continue;
        bool joins = shares && first.values[0];
        set_spec(node, i, joins ? &first : operand_spec(a, node, i), scratch);
        if (!first.values[0])
            first.values[0] = node->operands[i].value->name;
    }
    if (a->derives_bias)
        annotate_bias(a, node);
    if (!is_inner(a, &node->results[0]))
        set_spec(node, UINT32_MAX, shares && first.values[0] ? &first : a->activation, scratch);
}

static bool visit(const annotator *a, qgc_node *node)
{
    enum {
        SKIPPED = QGC_TRAIT_CONSTANT | QGC_TRAIT_TERMINATOR | QGC_TRAIT_CALL | QGC_TRAIT_BARRIER
    };
    if (qgc_node_op(node)->traits & SKIPPED || !node->num_results || !has_float(node))
        return false;
    const char *why = reason(a, node);
    if (!why) {
        annotate(a, node);
        return true;
    }
    if (qgc_wants_remarks(&a->env->context->diag))
        qgc_report(&a->env->context->diag, node->loc, QGC_D_STAYS_FLOAT, "%s stays float: %s",
                   qgc_node_op(node)->mnemonic, why);
    return false;
}

static bool read_spec(const qgc_pass_env *env, size_t option, const char *name, qgc_spec *out)
{
    const char *text = env->options[option];
    const char *fault = "malformed";
    if (qgc_spec_read(qgc_str_from(text), out))
        fault = qgc_spec_fault(out);
    if (!fault)
        return true;
    qgc_report(&env->context->diag, QGC_NO_LOC, QGC_D_BAD_PIPELINE, "%s=%s: %s", name, text, fault);
    return false;
}

qgc_pass_status pass_annotate(qgc_module *module, const qgc_pass_env *env)
{
    qgc_spec activation, weight;
    if (!read_spec(env, 0, "act", &activation) || !read_spec(env, 1, "weight", &weight))
        return QGC_PASS_FAILED;
    if (activation.per_channel) {
        qgc_report(&env->context->diag, QGC_NO_LOC, QGC_D_BAD_PIPELINE,
                   "act=%s: activations have no range per channel", env->options[0]);
        return QGC_PASS_FAILED;
    }
    qgc_spec weight_tensor = weight;
    weight_tensor.per_channel = false;
    bool derives_bias = strcmp(env->options[2], "derive") == 0;
    if (!derives_bias && strcmp(env->options[2], "float") != 0) {
        qgc_report(&env->context->diag, QGC_NO_LOC, QGC_D_BAD_PIPELINE,
                   "bias=%s: expected float or derive", env->options[2]);
        return QGC_PASS_FAILED;
    }
    annotator a = {env, &activation, &weight, &weight_tensor, derives_bias};
    bool changed = false;
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            changed |= visit(&a, node);
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}

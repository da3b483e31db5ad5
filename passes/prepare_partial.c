/* Graphs that hold quantization steps already: what they quantize is not observed again. */
#include "passes/prepare_partial.h"

#include "passes/quant_points.h"

#define RESULTS UINT32_MAX /* a slot: quant.out */

bool qgc_is_step(const qgc_node *node)
{
    return node->op == QGC_OP_QUANTIZE || node->op == QGC_OP_DEQUANTIZE ||
           node->op == QGC_OP_FAKE_QUANT;
}

static const qgc_attr *annotation(const qgc_node *node, uint32_t slot, qgc_arena *scratch)
{
    return qgc_node_extra(node, qgc_annotation_name(node, slot, scratch));
}

/* A step gives the value, or reads it where it is its op that is annotated. */
static bool is_stepped(const qgc_value *value, bool is_result)
{
    bool stepped = value->def && qgc_is_step(value->def);
    for (const qgc_use *use = value->first_use; is_result && use; use = use->next)
        stepped |= qgc_is_step(use->user);
    return stepped;
}

static bool use_has_spec(const qgc_node *user, const qgc_value *value, qgc_arena *scratch)
{
    for (uint32_t i = 0; user && i < user->num_operands; i++)
        if (user->operands[i].value == value && annotation(user, i, scratch))
            return true;
    return false;
}

/* Whether what a share or a derived spec names has a spec (still). */
static bool names_specs(const qgc_node *node, const qgc_spec *spec, qgc_arena *scratch)
{
    const qgc_func *func = node->func;
    const qgc_value *first = qgc_func_find_value(func, spec->values[0]);
    const qgc_value *second = spec->values[1] ? qgc_func_find_value(func, spec->values[1]) : NULL;
    if (spec->kind == QGC_SPEC_DERIVE)
        return first && second && use_has_spec(node, first, scratch) &&
               use_has_spec(node, second, scratch);
    if (spec->kind != QGC_SPEC_SHARE)
        return true;
    if (spec->values[1])
        return first && second && use_has_spec(second->def, first, scratch);
    return first && first->def && annotation(first->def, RESULTS, scratch);
}

/* Why the annotation goes, or NULL. */
static const char *reason(const qgc_node *node, uint32_t slot, const qgc_attr *attr,
                          qgc_arena *scratch)
{
    const qgc_value *value = slot == RESULTS ? &node->results[0] : node->operands[slot].value;
    if (is_stepped(value, slot == RESULTS))
        return "is quantized already";
    return names_specs(node, attr->spec, scratch)
               ? NULL
               : "would share with or derive from what is quantized already";
}

static bool drop(qgc_node *node, uint32_t slot, const qgc_pass_env *env)
{
    bool has_value = slot == RESULTS ? node->num_results : node->operands[slot].value != NULL;
    const qgc_attr *attr = has_value ? annotation(node, slot, env->scratch) : NULL;
    const char *why = attr ? reason(node, slot, attr, env->scratch) : NULL;
    if (!why)
        return false;
    qgc_name name = qgc_annotation_name(node, slot, env->scratch);
    const qgc_value *value = slot == RESULTS ? &node->results[0] : node->operands[slot].value;
    qgc_no_match(env, node, "%s is left out: %%%s %s", name->data, value->name->data, why);
    qgc_node_set_extra(node, name, (qgc_attr){.kind = QGC_ATTR_NONE});
    return true;
}

void qgc_drop_quantized(qgc_func *func, const qgc_pass_env *env)
{
    for (bool changed = true; changed;) { /* each round takes at least one away */
        changed = false;
        QGC_EACH_NODE (node, func) {
            for (uint32_t slot = 0; slot < node->num_operands; slot++)
                changed |= drop(node, slot, env);
            changed |= drop(node, RESULTS, env);
        }
    }
}

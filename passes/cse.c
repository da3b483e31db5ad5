/* Common subexpression elimination. Requires nothing, keeps the form.
 * Does not handle: calls; ops with the BARRIER trait stay apart on purpose, as do pinned ones. */
#include "passes/pass.h"
#include "passes/pins.h"

#include <string.h>

enum { SKIPPED = QGC_TRAIT_BARRIER | QGC_TRAIT_CALL | QGC_TRAIT_TERMINATOR | QGC_TRAIT_OBSERVER };

static uint32_t mix(uint32_t hash, uint64_t value)
{
    return (hash ^ (uint32_t)(value ^ value >> 32)) * 16777619u;
}

/* Commutative ops hash alike in either order. */
static uint32_t hash_node(const qgc_node *node)
{
    const qgc_op_info *op = qgc_node_op(node);
    uint32_t hash = mix(2166136261u, (uint64_t)node->op);
    uint32_t first = 0;
    if (op->traits & QGC_TRAIT_COMMUTATIVE) {
        hash = mix(hash, (uintptr_t)node->operands[0].value + (uintptr_t)node->operands[1].value);
        first = 2;
    }
    for (uint32_t i = first; i < node->num_operands; i++)
        hash = mix(hash, (uintptr_t)node->operands[i].value);
    for (uint32_t i = 0; i < qgc_op_num_attrs(op); i++)
        hash = mix(hash, qgc_attr_hash(&node->attrs[i]));
    return mix(hash, node->num_results ? (uintptr_t)node->results[0].type : 0);
}

static bool same_operands(const qgc_node *a, const qgc_node *b)
{
    for (uint32_t i = 0; i < a->num_operands; i++)
        if (a->operands[i].value != b->operands[i].value)
            return false;
    return true;
}

static bool swapped_operands(const qgc_node *a, const qgc_node *b)
{
    return qgc_node_op(a)->traits & QGC_TRAIT_COMMUTATIVE && a->num_operands == 2 &&
           a->operands[0].value == b->operands[1].value &&
           a->operands[1].value == b->operands[0].value;
}

static bool same_attrs(const qgc_node *a, const qgc_node *b)
{
    for (uint32_t i = 0; i < qgc_op_num_attrs(qgc_node_op(a)); i++)
        if (!qgc_attr_equal(&a->attrs[i], &b->attrs[i]))
            return false;
    for (uint32_t i = 0; i < a->num_extra; i++) {
        const qgc_attr *other = qgc_node_extra(b, a->extra[i].name);
        if (!other || !qgc_attr_equal(&a->extra[i].value, other))
            return false;
    }
    return a->num_extra == b->num_extra;
}

static bool same_types(const qgc_node *a, const qgc_node *b)
{
    for (uint32_t i = 0; i < a->num_results; i++)
        if (a->results[i].type != b->results[i].type)
            return false;
    return true;
}

static bool same_node(const qgc_node *a, const qgc_node *b)
{
    return a->op == b->op && a->num_operands == b->num_operands &&
           a->num_results == b->num_results && same_types(a, b) && same_attrs(a, b) &&
           (same_operands(a, b) || swapped_operands(a, b));
}

typedef struct entry {
    const qgc_node *node;
    struct entry *next;
} entry;

static qgc_node *find(const entry *bucket, const qgc_node *node)
{
    for (; bucket; bucket = bucket->next)
        if (same_node(bucket->node, node))
            return (qgc_node *)bucket->node;
    return NULL;
}

static bool run_func(qgc_func *func, const qgc_pins *pins, qgc_arena *scratch)
{
    size_t capacity = 64;
    uint32_t num = qgc_func_number(func);
    while (capacity < num)
        capacity *= 2;
    entry **buckets = QGC_NEW_ARRAY(scratch, entry *, capacity);
    bool changed = false;
    for (qgc_node *node = func->first, *next; node; node = next) {
        next = node->next;
        if (qgc_node_op(node)->traits & SKIPPED || qgc_pins_is_annotated(node))
            continue;
        entry **bucket = &buckets[hash_node(node) & (capacity - 1)];
        qgc_node *old = find(*bucket, node);
        if (old && !qgc_pins_is_named(pins, node)) {
            for (uint32_t i = 0; i < node->num_results; i++)
                qgc_value_replace_uses(&node->results[i], &old->results[i]);
            qgc_node_erase(node);
            changed = true;
            continue;
        }
        entry *e = QGC_NEW(scratch, entry);
        *e = (entry){node, *bucket};
        *bucket = e;
    }
    return changed;
}

qgc_pass_status pass_cse(qgc_module *module, const qgc_pass_env *env)
{
    qgc_pins pins;
    bool changed = false;
    qgc_pins_collect(module, env->scratch, &pins);
    QGC_EACH_FUNC (func, module)
        changed |= run_func(func, &pins, env->scratch);
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}

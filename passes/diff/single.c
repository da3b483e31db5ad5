/* Nodes that only one graph has: ops, constants, steps of quantization that are added, removed or
 * moved. */
#include "passes/diff/diff.h"

#include <math.h>

static const qgc_diff_graph *graph_of(const qgc_diff_pair *pair, bool is_left)
{
    return is_left ? &pair->left : &pair->right;
}

static bool is_single(const qgc_diff_graph *graph, const qgc_node *node)
{
    return graph->partner[node->id] == QGC_DIFF_NONE;
}

/* A dequantize behind a quantize that is single too: the two are one difference. */
static bool ends_pair(const qgc_diff_graph *graph, const qgc_node *node)
{
    const qgc_node *before = node->op == QGC_OP_DEQUANTIZE ? qgc_node_operand(node, 0)->def : NULL;
    return before && before->op == QGC_OP_QUANTIZE && is_single(graph, before);
}

/* ---- what has moved ---- */

enum { MAX_WAY = 8 }; /* ops that a step moves over */

/* Whether |from|, on the way of first operands upwards from |value|, is passed soon. */
static bool is_above(const qgc_value *from, const qgc_value *value)
{
    for (int i = 0; i <= MAX_WAY; i++) {
        value = qgc_diff_base(value);
        if (value == from)
            return true;
        if (!value || !value->def || !value->def->num_operands)
            return false;
        value = qgc_node_operand(value->def, 0);
    }
    return false;
}

/* Whether a step on |from| that is found on |to| has moved: over ops, not to another branch. */
static bool is_way(const qgc_value *from, const qgc_value *to)
{
    return is_above(from, to) || is_above(to, from);
}

/* Steps that were aligned though they have moved. */
static void part_moved(qgc_diff_pair *pair)
{
    for (uint32_t i = 0; i < pair->left.num; i++) {
        uint32_t partner = pair->left.partner[i];
        if (!qgc_diff_is_step(pair->left.nodes[i]) || partner == QGC_DIFF_NONE)
            continue;
        const qgc_node *right = pair->right.nodes[partner];
        const qgc_value *base = qgc_diff_base(qgc_node_operand(pair->left.nodes[i], 0));
        const qgc_value *there = qgc_diff_counterpart(pair, base);
        const qgc_value *found = qgc_diff_base(qgc_node_operand(right, 0));
        bool is_aligned = !found->def || !is_single(&pair->right, found->def);
        if (there && is_aligned && there != found && is_way(there, found))
            pair->left.partner[i] = pair->right.partner[partner] = QGC_DIFF_NONE;
    }
}

static bool attrs_equal(qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b)
{
    const qgc_op_info *op = qgc_node_op(a);
    for (uint32_t i = 0; i < qgc_op_num_attrs(op); i++)
        if (!qgc_diff_attr_equal(pair, &op->attrs[i], &a->attrs[i], &b->attrs[i]))
            return false;
    return a->num_operands == b->num_operands;
}

/* |there|: the value of the right graph that the left step's value is aligned with. */
static const qgc_node *find_destination(qgc_diff_pair *pair, const qgc_node *step,
                                        const qgc_value *there)
{
    for (uint32_t i = 0; i < pair->right.num; i++) {
        const qgc_node *other = pair->right.nodes[i];
        if (other->op != step->op || !is_single(&pair->right, other) ||
            pair->right.is_explained[i] || ends_pair(&pair->right, other) ||
            !attrs_equal(pair, step, other))
            continue;
        const qgc_value *base = qgc_diff_base(qgc_node_operand(other, 0));
        if (is_way(there, base))
            return other;
    }
    return NULL;
}

void qgc_diff_find_moves(qgc_diff_pair *pair)
{
    pair->moved.arena = &pair->diff->arena;
    part_moved(pair);
    for (uint32_t i = 0; i < pair->left.num; i++) {
        const qgc_node *step = pair->left.nodes[i];
        if (!qgc_diff_is_step(step) || !is_single(&pair->left, step) ||
            ends_pair(&pair->left, step))
            continue;
        const qgc_value *there =
            qgc_diff_counterpart(pair, qgc_diff_base(qgc_node_operand(step, 0)));
        const qgc_node *destination = there ? find_destination(pair, step, there) : NULL;
        if (!destination)
            continue;
        pair->right.is_explained[destination->id] = true;
        *qgc_map_at(&pair->moved, step) = (void *)destination;
    }
}

/* ---- rows ---- */

static const char *base_text(qgc_diff *diff, const qgc_node *step)
{
    qgc_text text = {.arena = &diff->arena};
    qgc_value_name_print(&text, qgc_diff_base(qgc_node_operand(step, 0))->name);
    return text.data;
}

static void compare_step(qgc_diff_pair *pair, const qgc_node *node, bool is_left, qgc_diff_row *row)
{
    const char *what = qgc_node_op(node)->mnemonic, *base = base_text(pair->diff, node);
    const qgc_node *destination = is_left ? qgc_map_get(&pair->moved, node) : NULL;
    if (ends_pair(graph_of(pair, is_left), node) ||
        (!is_left && pair->right.is_explained[node->id]))
        row->is_consequence = true;
    else if (destination)
        qgc_diff_add(pair, row, QGC_DIFF_PLACEMENT, NAN, "%s moved from %s to %s", what, base,
                     base_text(pair->diff, destination));
    else
        qgc_diff_add(pair, row, QGC_DIFF_PLACEMENT, NAN, "%s %s on %s", what,
                     is_left ? "removed" : "added", base);
}

/* Who reads a constant tells of it. */
static bool is_read(const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_results; i++)
        if (node->results[i].num_uses)
            return true;
    return false;
}

void qgc_diff_compare_single(qgc_diff_pair *pair, const qgc_node *node, bool is_left,
                             qgc_diff_row *row)
{
    if (node->op == QGC_OP_RETURN || (qgc_diff_is_constant(node) && is_read(node)))
        row->is_consequence = true;
    else if (qgc_diff_is_step(node))
        compare_step(pair, node, is_left, row);
    else
        qgc_diff_add(pair, row, QGC_DIFF_OPERATOR, NAN, "%s %s", qgc_node_op(node)->mnemonic,
                     is_left ? "removed" : "added");
}

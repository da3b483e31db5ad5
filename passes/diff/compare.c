/* What differs between two aligned nodes, and what follows from differences elsewhere. */
#include "passes/diff/diff.h"

#include <math.h>
#include <string.h>

void qgc_diff_add(qgc_diff_pair *pair, qgc_diff_row *row, qgc_diff_class kind, double distance,
                  const char *format, ...)
{
    qgc_diff *diff = pair->diff;
    va_list args;
    va_start(args, format);
    const char *what = qgc_arena_vprintf(&diff->arena, format, args);
    va_end(args);
    qgc_difference d = {.kind = kind,
                        .value = row->left_name ? row->left_name : row->right_name,
                        .what = what,
                        .distance = distance,
                        .row = diff->rows.size};
    qgc_vec_push(&diff->arena, &diff->differences, d);
    diff->counts[kind]++;
    row->num++;
}

static const char *attr_text(qgc_diff *diff, const qgc_attr *attr)
{
    qgc_text text = {.arena = &diff->arena};
    if (!attr || attr->kind == QGC_ATTR_NONE)
        return "absent";
    qgc_attr_print(&text, attr);
    return text.data;
}

/* ---- attributes ---- */

/* Attributes that are parameters of quantization, of steps and of integer ops. */
static bool is_parameter(const qgc_node *node, const char *name)
{
    static const char NAMES[] = " scale zero_point axis range mode x_zero_point w_zero_point "
                                "a_zero_point b_zero_point multipliers c term_zero_points lo hi ";
    bool takes_them = qgc_diff_is_step(node) || strcmp(qgc_node_op(node)->family, "integer") == 0;
    size_t size = strlen(name);
    for (const char *at = strstr(NAMES, name); takes_them && at; at = strstr(at + 1, name))
        if (at[-1] == ' ' && at[size] == ' ')
            return true;
    return false;
}

static double number_of(const qgc_node *node, const char *name, double otherwise)
{
    const qgc_attr *attr = qgc_op_attr_index(qgc_node_op(node), qgc_str_from(name)) < 0
                               ? NULL
                               : qgc_node_attr(node, name);
    if (!attr)
        return otherwise;
    if (attr->kind == QGC_ATTR_FLOATS && attr->num == 1)
        return (double)attr->floats[0];
    return attr->kind == QGC_ATTR_FLOAT ? (double)attr->f
           : attr->kind == QGC_ATTR_INT ? (double)attr->i
                                        : otherwise;
}

/* How far the ends of the range move, in steps of the left node; NaN where that is not known. */
static double steps_between(const qgc_node *a, const qgc_node *b)
{
    const char *name = a->op == QGC_OP_REQUANTIZE ? "multipliers" : "scale";
    double low, high, left = number_of(a, name, 1), right = number_of(b, name, 1);
    if (!qgc_diff_quantized_range(a, &low, &high) || !(left > 0))
        return NAN;
    return qgc_diff_steps(right / left, number_of(a, "zero_point", 0),
                          number_of(b, "zero_point", 0), low, high);
}

/* A dequantize follows the quantize before it. */
static bool follows_quantize(qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b)
{
    const qgc_value *l = qgc_node_operand(a, 0), *r = qgc_node_operand(b, 0);
    if (a->op != QGC_OP_DEQUANTIZE || !l->def || !r->def || l->def->op != QGC_OP_QUANTIZE ||
        r->def->op != QGC_OP_QUANTIZE || qgc_diff_counterpart(pair, l) != r)
        return false;
    return number_of(a, "scale", -1) == number_of(l->def, "scale", -1) &&
           number_of(b, "scale", -1) == number_of(r->def, "scale", -1) &&
           number_of(a, "zero_point", 0) == number_of(l->def, "zero_point", 0) &&
           number_of(b, "zero_point", 0) == number_of(r->def, "zero_point", 0);
}

static void add_parameters(qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b,
                           const char *changes, qgc_diff_row *row)
{
    double steps = steps_between(a, b);
    if (follows_quantize(pair, a, b))
        row->is_consequence = true;
    else if (isnan(steps) || steps == 0) /* the range, its mode or its axis */
        qgc_diff_add(pair, row, QGC_DIFF_SCALE, NAN, "%s", changes);
    else
        qgc_diff_add(pair, row, QGC_DIFF_SCALE, steps, "%s: %.3g steps", changes, steps);
}

static void compare_row_attrs(qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b,
                              qgc_diff_row *row)
{
    qgc_diff *diff = pair->diff;
    const qgc_op_info *op = qgc_node_op(a);
    qgc_text parameters = {.arena = &diff->arena};
    for (uint32_t i = 0; i < qgc_op_num_attrs(op); i++) {
        const qgc_attr *l = &a->attrs[i], *r = &b->attrs[i];
        const char *name = op->attrs[i].name;
        if (qgc_diff_attr_equal(pair, &op->attrs[i], l, r))
            continue;
        const char *left = attr_text(diff, l), *right = attr_text(diff, r);
        if (is_parameter(a, name))
            qgc_text_printf(&parameters, "%s%s %s -> %s", parameters.size ? ", " : "", name, left,
                            right);
        else
            qgc_diff_add(pair, row,
                         op->attrs[i].kind == QGC_ATTR_DTYPE ? QGC_DIFF_DTYPE : QGC_DIFF_ATTRIBUTE,
                         NAN, "%s %s -> %s", name, left, right);
    }
    if (parameters.size)
        add_parameters(pair, a, b, parameters.data, row);
}

static void compare_extra(qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b,
                          qgc_diff_row *row)
{
    static const qgc_attr ABSENT = {.kind = QGC_ATTR_NONE};
    for (uint32_t i = 0; i < a->num_extra; i++) {
        const qgc_attr *there = qgc_node_extra(b, a->extra[i].name);
        const char *name = a->extra[i].name->data;
        if (!qgc_diff_is_label(a->extra[i].name) &&
            !qgc_diff_attr_equal(pair, NULL, &a->extra[i].value, there ? there : &ABSENT))
            qgc_diff_add(pair, row, QGC_DIFF_ATTRIBUTE, NAN, "%s %s -> %s", name,
                         attr_text(pair->diff, &a->extra[i].value), attr_text(pair->diff, there));
    }
    for (uint32_t i = 0; i < b->num_extra; i++)
        if (!qgc_diff_is_label(b->extra[i].name) && !qgc_node_extra(a, b->extra[i].name))
            qgc_diff_add(pair, row, QGC_DIFF_ATTRIBUTE, NAN, "%s absent -> %s",
                         b->extra[i].name->data, attr_text(pair->diff, &b->extra[i].value));
}

/* ---- types ---- */

/* Whether an operand brings the difference along: another element type, or another shape. */
static bool inherits(qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b, bool shape)
{
    if (a->num_operands != b->num_operands)
        return true;
    for (uint32_t i = 0; i < a->num_operands; i++) {
        const qgc_value *l = qgc_node_operand(a, i), *r = qgc_node_operand(b, i);
        if (!l || !r)
            continue;
        if (shape ? !qgc_diff_shape_equal(pair->diff, l->type, r->type)
                  : l->type->dtype != r->type->dtype)
            return true;
    }
    return false;
}

static void compare_types(qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b,
                          qgc_diff_row *row)
{
    bool is_explained = row->num > 0 || qgc_node_op(a)->traits & QGC_TRAIT_CALL;
    for (uint32_t i = 0; i < a->num_results && i < b->num_results; i++) {
        const qgc_type *l = a->results[i].type, *r = b->results[i].type;
        qgc_arena *arena = &pair->diff->arena;
        bool dtype = l->dtype != r->dtype, shape = !qgc_diff_shape_equal(pair->diff, l, r);
        if (dtype && !is_explained && !inherits(pair, a, b, false))
            qgc_diff_add(pair, row, QGC_DIFF_DTYPE, NAN, "%s -> %s", qgc_dtype_name(l->dtype),
                         qgc_dtype_name(r->dtype));
        if (shape && !is_explained && !inherits(pair, a, b, true))
            qgc_diff_add(pair, row, QGC_DIFF_SHAPE, NAN, "%s -> %s", qgc_type_str(arena, l),
                         qgc_type_str(arena, r));
        row->is_consequence |= dtype || shape;
    }
}

/* ---- operands ---- */

typedef enum agreement { AGREES, FOLLOWS, OTHER_STEPS, OTHER_VALUE } agreement;

static bool is_aligned(const qgc_diff_graph *graph, const qgc_value *value)
{
    return !value->def || graph->partner[value->def->id] != QGC_DIFF_NONE;
}

/* Unaligned ops are differences of their own; of constants it is the use that tells. */
static bool speaks_for_itself(const qgc_diff_graph *graph, const qgc_value *value)
{
    return !is_aligned(graph, value) && !qgc_diff_is_constant(value->def);
}

static agreement compare_values(const qgc_diff_pair *pair, const qgc_value *l, const qgc_value *r)
{
    if (!l || !r)
        return l == r ? AGREES : OTHER_VALUE;
    if (qgc_diff_counterpart(pair, l) == r ||
        qgc_diff_value_hash(&pair->left, l) == qgc_diff_value_hash(&pair->right, r))
        return AGREES;
    if (speaks_for_itself(&pair->left, l) || speaks_for_itself(&pair->right, r))
        return FOLLOWS;
    const qgc_value *base = qgc_diff_base(l), *there = qgc_diff_base(r);
    return qgc_diff_counterpart(pair, base) == there ? OTHER_STEPS : OTHER_VALUE;
}

static const char *value_text(qgc_diff *diff, const qgc_value *value)
{
    qgc_text text = {.arena = &diff->arena};
    if (!value)
        return "_";
    qgc_value_name_print(&text, value->name);
    return text.data;
}

static int count_others(const qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b, bool swap)
{
    int num = 0;
    for (uint32_t i = 0; i < 2; i++)
        num += compare_values(pair, qgc_node_operand(a, i), qgc_node_operand(b, swap ? 1 - i : i)) >
               FOLLOWS;
    return num;
}

/* The order of the first two operands of a commutative op in which less differs. */
static bool is_swapped(const qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b)
{
    return qgc_node_op(a)->traits & QGC_TRAIT_COMMUTATIVE && a->num_operands >= 2 &&
           b->num_operands >= 2 && count_others(pair, a, b, true) < count_others(pair, a, b, false);
}

static const char *operand_name(const qgc_node *node, uint32_t index)
{
    return qgc_node_op(node)->operands[qgc_node_operand_row(node, index)].name;
}

static void compare_operands(qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b,
                             qgc_diff_row *row)
{
    qgc_diff *diff = pair->diff;
    bool is_end = a->op == QGC_OP_RETURN;
    if (a->num_operands != b->num_operands) {
        if (is_end)
            row->is_consequence = true; /* of the function's results */
        else
            qgc_diff_add(pair, row, QGC_DIFF_STRUCTURE, NAN, "reads %u values -> %u",
                         a->num_operands, b->num_operands);
        return;
    }
    bool swap = is_swapped(pair, a, b);
    for (uint32_t i = 0; i < a->num_operands; i++) {
        const qgc_value *l = qgc_node_operand(a, i);
        const qgc_value *r = qgc_node_operand(b, swap && i < 2 ? 1 - i : i);
        agreement result = compare_values(pair, l, r);
        if (result == OTHER_STEPS)
            qgc_diff_add(pair, row, QGC_DIFF_PLACEMENT, NAN, "%s reads %s -> %s",
                         operand_name(a, i), value_text(diff, l), value_text(diff, r));
        else if (result == OTHER_VALUE)
            qgc_diff_add(pair, row, QGC_DIFF_STRUCTURE, NAN, "%s reads %s -> %s",
                         operand_name(a, i), value_text(diff, l), value_text(diff, r));
        row->is_consequence |= result == FOLLOWS;
    }
}

/* ---- nodes ---- */

static void compare_contents(qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b,
                             qgc_diff_row *row)
{
    const qgc_type *l = a->results[0].type, *r = b->results[0].type;
    qgc_difference d;
    if (pair->left.content[a->id] == pair->right.content[b->id] || l->dtype != r->dtype ||
        !qgc_diff_shape_equal(pair->diff, l, r))
        return;
    qgc_diff_compare_constants(pair, a, b, &d);
    qgc_diff_add(pair, row, d.kind, d.distance, "%s", d.what);
}

static void count_renamed(qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b)
{
    for (uint32_t i = 0; i < a->num_results && i < b->num_results; i++)
        pair->diff->num_renamed += a->results[i].name != b->results[i].name;
}

void qgc_diff_compare_nodes(qgc_diff_pair *pair, qgc_node *a, qgc_node *b, qgc_diff_row *row)
{
    bool constants = qgc_diff_is_constant(a) && qgc_diff_is_constant(b);
    count_renamed(pair, a, b);
    if (constants)
        compare_contents(pair, a, b, row);
    else if (a->op != b->op)
        qgc_diff_add(pair, row, QGC_DIFF_OPERATOR, NAN, "%s -> %s", qgc_node_op(a)->mnemonic,
                     qgc_node_op(b)->mnemonic);
    else
        compare_row_attrs(pair, a, b, row);
    compare_extra(pair, a, b, row);
    if (a->op == b->op)
        compare_operands(pair, a, b, row);
    compare_types(pair, a, b, row);
}

/* ---- heads of functions ---- */

static void compare_params(qgc_diff_pair *pair, qgc_diff_row *row)
{
    const qgc_func *a = pair->left.func, *b = pair->right.func;
    qgc_arena *arena = &pair->diff->arena;
    for (uint32_t i = 0; i < a->num_params && i < b->num_params; i++)
        qgc_diff_pair_symbols(pair->diff, a->params[i].type, b->params[i].type);
    for (uint32_t i = 0; i < a->num_params && i < b->num_params; i++) {
        const qgc_type *l = a->params[i].type, *r = b->params[i].type;
        const char *name = value_text(pair->diff, &a->params[i]);
        pair->diff->num_renamed += a->params[i].name != b->params[i].name;
        bool shape = !qgc_diff_shape_equal(pair->diff, l, r);
        row->is_consequence |= l->dtype != r->dtype || shape;
        if (l->dtype != r->dtype && !pair->is_called)
            qgc_diff_add(pair, row, QGC_DIFF_DTYPE, NAN, "%s: %s -> %s", name,
                         qgc_dtype_name(l->dtype), qgc_dtype_name(r->dtype));
        if (shape && !pair->is_called)
            qgc_diff_add(pair, row, QGC_DIFF_SHAPE, NAN, "%s: %s -> %s", name,
                         qgc_type_str(arena, l), qgc_type_str(arena, r));
        qgc_diff_compare_statistics(pair, &a->params[i], &b->params[i], row);
    }
}

/* Where only one module has statistics, their number says it. */
static void compare_calibrations(qgc_diff_pair *pair, qgc_diff_row *row)
{
    const qgc_diff *diff = pair->diff;
    size_t left = diff->given[0]->stats.size, right = diff->given[1]->stats.size;
    if (pair == diff->first && !left != !right)
        qgc_diff_add(pair, row, QGC_DIFF_STATISTICS, NAN, "%zu records %s", left + right,
                     left ? "removed" : "added");
}

/* ---- regions ---- */

typedef struct side {
    const qgc_diff_graph *graph, *other;
} side;

/* Ops of a region whose partners are in no region of that target. */
static size_t count_outside(const qgc_diff *diff, side s, const qgc_func *region)
{
    size_t num = 0;
    for (uint32_t i = 0; i < s.graph->num; i++) {
        const qgc_node *node = s.graph->nodes[i];
        uint32_t partner = s.graph->partner[i];
        if (partner == QGC_DIFF_NONE || qgc_map_get(&diff->regions, node) != region ||
            qgc_diff_is_constant(node))
            continue;
        const qgc_func *there = qgc_map_get(&diff->regions, s.other->nodes[partner]);
        num += !there || there->target != region->target;
    }
    return num;
}

static void compare_regions(qgc_diff_pair *pair, qgc_diff_row *row, bool is_left)
{
    qgc_diff *diff = pair->diff;
    side s = is_left ? (side){&pair->left, &pair->right} : (side){&pair->right, &pair->left};
    const qgc_func *before = NULL;
    for (uint32_t i = 0; i < s.graph->num; i++) {
        const qgc_func *region = qgc_map_get(&diff->regions, s.graph->nodes[i]);
        if (!region || region == before)
            continue;
        before = region; /* the nodes of a region stand together */
        size_t num = count_outside(diff, s, region);
        if (num)
            qgc_diff_add(pair, row, QGC_DIFF_ATTRIBUTE, NAN,
                         is_left ? "%zu ops are in no region of %s any more: @%s"
                                 : "%zu ops are in a region of %s now: @%s",
                         num, region->target->data, region->name->data);
    }
}

/* Parameters of a called function follow from its calls; those of others are differences. */
void qgc_diff_compare_heads(qgc_diff_pair *pair, qgc_diff_row *row)
{
    const qgc_func *a = pair->left.func, *b = pair->right.func;
    if (a->num_params != b->num_params && !pair->is_called)
        qgc_diff_add(pair, row, QGC_DIFF_STRUCTURE, NAN, "%u parameters -> %u", a->num_params,
                     b->num_params);
    if (a->num_results != b->num_results)
        qgc_diff_add(pair, row, QGC_DIFF_STRUCTURE, NAN, "%u results -> %u", a->num_results,
                     b->num_results);
    if (a->target != b->target)
        qgc_diff_add(pair, row, QGC_DIFF_ATTRIBUTE, NAN, "target %s -> %s",
                     a->target ? a->target->data : "absent",
                     b->target ? b->target->data : "absent");
    compare_calibrations(pair, row);
    compare_regions(pair, row, true);
    compare_regions(pair, row, false);
    compare_params(pair, row);
}

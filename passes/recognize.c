/* Ops that a model has in pieces become one op: LayerNorm, GELU, HardSwish and their like, as
 * exporters write them for opsets without them. Requires nothing, keeps the form. The rows are
 * passes/idioms.def. Results are close to those of the pieces, not equal: the one op has its own
 * order of steps (docs/numerics.md).
 * Does not handle: pieces that something else uses as well; pieces in several functions. */
#include "passes/constants.h"
#include "passes/idiom.h"
#include "passes/pins.h"
#include "runtime/ref/ref.h"

#include <math.h>
#include <string.h>

typedef struct candidate {
    const qgc_pass_env *env;
    qgc_node *root; /* whose result the op replaces */
    qgc_opcode op;
    qgc_idiom_match match;
} candidate;

/* The op, before the root and without types; NULL: said why not. */
typedef qgc_node *build_fn(const candidate *c);

static qgc_node *no(const candidate *c, const char *format, ...) QGC_PRINTF(2, 3);
static qgc_node *no(const candidate *c, const char *format, ...)
{
    va_list args;
    if (!qgc_wants_remarks(&c->env->context->diag))
        return NULL;
    va_start(args, format);
    const char *why = qgc_arena_vprintf(c->env->scratch, format, args);
    va_end(args);
    qgc_no_match(c->env, c->root, "not recognised as %s: %s", qgc_op(c->op)->mnemonic, why);
    return NULL;
}

static qgc_node *make(const candidate *c, uint32_t num, qgc_value *const *operands)
{
    qgc_value *all[QGC_IDIOM_NAMES] = {NULL}; /* optional operands are absent */
    memcpy(all, operands, num * sizeof *operands);
    qgc_node *node = qgc_node_create(c->root->func, c->op, qgc_op_num_operands(qgc_op(c->op)), all,
                                     1, c->root, c->root->loc);
    node->scope = c->root->scope;
    return node;
}

/* ---- reductions ---- */

/* Bit per axis that the node reduces. False: they are not known. */
static bool reduced_axes(const qgc_node *node, uint32_t *out)
{
    const qgc_value *given = qgc_node_operand(node, 1);
    const qgc_tensor *t = given && given->def ? given->def->constant : NULL;
    int64_t rank = qgc_node_operand(node, 0)->type->rank;
    size_t num = t ? qgc_tensor_count(t) : qgc_node_list_size(node, "axes");
    *out = num || qgc_node_flag(node, "noop_with_empty_axes") ? 0 : (1u << rank) - 1;
    for (size_t i = 0; i < num; i++) {
        int64_t axis = t ? qgc_get_int(t, i) : qgc_node_int_at(node, "axes", (uint32_t)i);
        *out |= 1u << (axis < 0 ? axis + rank : axis);
    }
    return !given || t;
}

static bool is_reduction(const qgc_node *node)
{
    return node->op == QGC_OP_REDUCE_MEAN || node->op == QGC_OP_REDUCE_MAX ||
           node->op == QGC_OP_REDUCE_SUM;
}

/* The axes that all reductions of the match share, as dimensions that stay. */
static bool common_axes(const candidate *c, uint32_t *out)
{
    *out = 0;
    for (uint32_t i = 0; i < c->match.num_nodes; i++) {
        const qgc_node *node = c->match.nodes[i];
        uint32_t axes;
        if (!is_reduction(node))
            continue;
        if (!reduced_axes(node, &axes))
            return no(c, "the axes of %%%s are not known", node->results[0].name->data), false;
        if (!qgc_node_flag(node, "keepdims"))
            return no(c, "%%%s does not keep dimensions", node->results[0].name->data), false;
        if (*out && axes != *out)
            return no(c, "%%%s is over other axes", node->results[0].name->data), false;
        *out = axes;
    }
    return true;
}

static uint32_t first_axis(uint32_t axes)
{
    return axes ? (uint32_t)__builtin_ctz(axes) : 0;
}

/* From the end; the last one is the default. */
static void set_axis(const candidate *c, qgc_node *node, uint32_t axis)
{
    int64_t from_end = (int64_t)axis - c->match.values[0]->type->rank;
    if (from_end != -1)
        qgc_node_set_attr(node, "axis", qgc_attr_from_int(from_end));
}

static qgc_node *build_layer_norm(const candidate *c)
{
    qgc_value *x = c->match.values[0];
    uint32_t axes, rank = x->type->rank;
    double epsilon = c->match.scalars[1];
    if (!common_axes(c, &axes))
        return NULL;
    uint32_t first = first_axis(axes);
    if (axes != (1u << rank) - (1u << first) || !axes)
        return no(c, "the axes are not the last ones of %%%s", x->name->data);
    if (!(epsilon >= 0) || !isfinite(epsilon))
        return no(c, "epsilon is %g", epsilon);
    qgc_node *node = make(c, 1, &x);
    set_axis(c, node, first);
    qgc_node_set_attr(node, "epsilon", qgc_attr_from_float((float)epsilon));
    return node;
}

/* The layer_norm of the match, where it has one result. */
static const qgc_node *plain_norm(const candidate *c)
{
    for (uint32_t i = 0; i < c->match.num_nodes; i++)
        if (c->match.nodes[i]->op == QGC_OP_LAYER_NORM && c->match.nodes[i]->num_results == 1)
            return c->match.nodes[i];
    return NULL;
}

static qgc_node *rebuild_norm(const candidate *c, uint32_t slot)
{
    enum { SCALE = 1, SHIFT = 2 };
    const qgc_node *norm = plain_norm(c);
    qgc_value *operands[3] = {NULL}, *given = c->match.values[1];
    if (!norm || !qgc_is_constant(given))
        return NULL; /* an ordinary mul or add */
    for (uint32_t i = 0; i < norm->num_operands; i++)
        operands[i] = qgc_node_operand(norm, i);
    if (operands[SHIFT] || operands[slot])
        return NULL;
    operands[slot] = given;
    qgc_node *node = make(c, 3, operands);
    memcpy(node->attrs, norm->attrs, qgc_op_num_attrs(qgc_op(c->op)) * sizeof *node->attrs);
    return node;
}

static qgc_node *build_scale(const candidate *c)
{
    return rebuild_norm(c, 1);
}

static qgc_node *build_shift(const candidate *c)
{
    return rebuild_norm(c, 2);
}

static qgc_node *build_softmax(const candidate *c)
{
    qgc_value *x = c->match.values[0];
    uint32_t axes;
    if (!common_axes(c, &axes))
        return NULL;
    if (__builtin_popcount(axes) != 1)
        return no(c, "it is over %d axes, expected 1", __builtin_popcount(axes));
    qgc_node *node = make(c, 1, &x);
    set_axis(c, node, first_axis(axes));
    return node;
}

/* ---- functions of one value ---- */

static qgc_node *build_unary(const candidate *c)
{
    return make(c, 1, &c->match.values[0]);
}

static qgc_node *build_gelu(const candidate *c)
{
    return build_unary(c);
}

static qgc_node *build_gelu_tanh(const candidate *c)
{
    qgc_node *node = build_unary(c);
    qgc_name word = qgc_context_name(c->env->context, "tanh");
    qgc_node_set_attr(node, "approximate", qgc_attr_from_name(QGC_ATTR_WORD, word));
    return node;
}

static qgc_node *build_hardsigmoid(const candidate *c)
{
    enum { BETA, ALPHA, X };
    qgc_node *node = make(c, 1, &c->match.values[X]);
    qgc_node_set_attr(node, "alpha", qgc_attr_from_float((float)c->match.scalars[ALPHA]));
    qgc_node_set_attr(node, "beta", qgc_attr_from_float((float)c->match.scalars[BETA]));
    return node;
}

static qgc_node *build_hardswish(const candidate *c)
{
    for (uint32_t i = 0; i < c->match.num_nodes; i++) {
        const qgc_node *node = c->match.nodes[i];
        if (node->op != QGC_OP_HARDSIGMOID)
            continue;
        float alpha = qgc_node_float(node, "alpha"), beta = qgc_node_float(node, "beta");
        if (fabsf(alpha - 1.0f / 6) > 1e-6f || beta != 0.5f)
            return no(c, "%%%s has alpha %g and beta %g, expected 1/6 and 0.5",
                      node->results[0].name->data, (double)alpha, (double)beta);
    }
    return build_unary(c);
}

/* ---- the pass ---- */

typedef struct idiom {
    const char *mnemonic, *text;
    build_fn *build;
    qgc_opcode op;
    qgc_term *term;
} idiom;

static const idiom rows[] = {
#define QGC_IDIOM(mnemonic, text, build) {(mnemonic), (text), (build), 0, NULL},
#include "passes/idioms.def"
};
enum { NUM_IDIOMS = sizeof rows / sizeof *rows };

static bool is_piece(const qgc_idiom_match *m, const qgc_node *node)
{
    for (uint32_t i = 0; i < m->num_nodes; i++)
        if (m->nodes[i] == node)
            return true;
    return false;
}

/* Nothing but the op may need the pieces. */
static bool owns_pieces(const candidate *c, const qgc_pins *pins)
{
    for (uint32_t i = 0; i < c->match.num_nodes; i++) {
        const qgc_node *node = c->match.nodes[i];
        if (qgc_pins_hold(pins, node))
            return no(c, "something names %%%s", node->results[0].name->data), false;
        for (const qgc_use *use = node->results[0].first_use; use && node != c->root;
             use = use->next)
            if (!is_piece(&c->match, use->user))
                return no(c, "%s uses %%%s, too", qgc_node_op(use->user)->mnemonic,
                          node->results[0].name->data),
                       false;
    }
    return true;
}

/* False: the node would have another type than the root, and is gone. */
static bool infer(const candidate *c, qgc_node *node)
{
    const qgc_type *type = NULL;
    if (qgc_node_infer(node, &type, true) == QGC_OK && type == c->root->results[0].type) {
        node->results[0].type = type;
        return true;
    }
    qgc_node_erase(node);
    return no(c, "the result is %s", qgc_type_str(c->env->scratch, c->root->results[0].type)),
           false;
}

static void erase_piece(qgc_node *node)
{
    for (uint32_t i = node->num_operands; i-- > 0;) {
        qgc_value *operand = qgc_node_operand(node, i);
        qgc_node_set_operand(node, i, NULL);
        if (operand && !operand->num_uses && operand->def && operand->def->constant)
            qgc_node_erase(operand->def);
    }
    qgc_node_erase(node);
}

/* The root has no uses any more; each piece loses its own with its users. */
static void erase_pieces(const candidate *c)
{
    uint32_t left = c->match.num_nodes;
    qgc_node *nodes[QGC_IDIOM_NODES];
    memcpy(nodes, c->match.nodes, sizeof nodes);
    for (uint32_t i = 0; i < left;) {
        if (nodes[i]->results[0].num_uses) {
            i++;
            continue;
        }
        erase_piece(nodes[i]);
        nodes[i] = nodes[--left];
        i = 0;
    }
}

static bool replace(candidate *c, const idiom *row, const qgc_pins *pins)
{
    c->op = row->op;
    if (!qgc_idiom_matches(row->term, &c->root->results[0], &c->match) || !owns_pieces(c, pins))
        return false;
    qgc_node *node = row->build(c);
    if (!node || !infer(c, node))
        return false;
    qgc_value_take_over(c->root->func, &c->root->results[0], &node->results[0]);
    erase_pieces(c);
    c->root = node;
    return true;
}

/* What a row makes may be the piece of another, at the same place. */
static bool recognize(qgc_node *node, const idiom *idioms, const qgc_pins *pins,
                      const qgc_pass_env *env)
{
    candidate c = {.env = env, .root = node};
    bool changed = false;
    for (size_t i = 0; i < NUM_IDIOMS;) {
        bool replaced = replace(&c, &idioms[i], pins);
        changed |= replaced;
        i = replaced ? 0 : i + 1;
    }
    return changed;
}

static const idiom *read_idioms(qgc_arena *arena)
{
    idiom *idioms = QGC_NEW_ARRAY(arena, idiom, NUM_IDIOMS);
    for (size_t i = 0; i < NUM_IDIOMS; i++) {
        idioms[i] = rows[i];
        idioms[i].term = qgc_term_parse(arena, rows[i].text);
        QGC_ASSERT(qgc_op_find(qgc_str_from(rows[i].mnemonic), &idioms[i].op), "no op %s",
                   rows[i].mnemonic);
    }
    return idioms;
}

qgc_pass_status pass_recognize(qgc_module *module, const qgc_pass_env *env)
{
    const idiom *idioms = read_idioms(env->scratch);
    qgc_pins pins;
    bool changed = false;
    qgc_pins_collect(module, env->scratch, &pins);
    QGC_EACH_FUNC (func, module)
        for (qgc_node *node = func->first, *next; node; node = next) {
            next = node->next;
            if (node->num_results == 1)
                changed |= recognize(node, idioms, &pins, env);
        }
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}

/* Matching a pattern. The first way to fit a term counts; only the terms of one nest are tried in
 * every order. Depth is the pattern's, and a nest is opened at most as often as it has terms. */
#include "passes/idiom.h"
#include "runtime/ref/ref.h"

#include <math.h>

enum { MAX_OPEN = QGC_IDIOM_TERMS + 4 };

static bool match_term(const qgc_term *term, qgc_value *value, qgc_idiom_match *m);

/* The number of a scalar constant of a float type. */
static bool scalar_of(const qgc_value *value, double *out)
{
    const qgc_tensor *t = value->def ? value->def->constant : NULL;
    if (!t || qgc_dtype_get_kind(t->dtype) != QGC_FLOAT || qgc_tensor_count(t) != 1)
        return false;
    *out = qgc_get_f64(t, 0);
    return true;
}

/* Constants in a model are rounded, and a nest's are multiplied: a few units in the last place. */
static bool is_number(double found, double expected, qgc_dtype dtype)
{
    double unit = dtype == QGC_DTYPE_BF16 ? 0x1p-7 : dtype == QGC_DTYPE_F16 ? 0x1p-10 : 0x1p-21;
    return fabs(found - expected) <= unit * fabs(expected);
}

static bool add_node(qgc_idiom_match *m, qgc_node *node)
{
    for (uint32_t i = 0; i < m->num_nodes; i++)
        if (m->nodes[i] == node)
            return true;
    if (m->num_nodes == QGC_IDIOM_NODES)
        return false;
    m->nodes[m->num_nodes++] = node;
    return true;
}

/* ---- nests ---- */

typedef struct nest {
    const qgc_term *term;
    uint32_t num;
    qgc_value *parts[MAX_OPEN];
    double number;
    bool has_number;
} nest;

/* The terms of |part| in place of it. False: it is no nest of the same kind. */
static bool open_part(nest *n, uint32_t index, qgc_idiom_match *m)
{
    qgc_node *node = n->parts[index]->def;
    bool is_product = n->term->op == QGC_OP_MUL;
    double inverse;
    if (!node || n->num == MAX_OPEN)
        return false;
    if (node->op == n->term->op) {
        n->parts[index] = qgc_node_operand(node, 0);
        n->parts[n->num++] = qgc_node_operand(node, 1);
        return add_node(m, node);
    }
    if (node->op != (is_product ? QGC_OP_DIV : QGC_OP_SUB) ||
        !scalar_of(qgc_node_operand(node, 1), &inverse))
        return false;
    n->number = is_product ? n->number / inverse : n->number - inverse;
    n->has_number = true;
    n->parts[index] = qgc_node_operand(node, 0);
    return add_node(m, node);
}

/* Scalar constants among the parts go into the number. */
static void collect_number(nest *n)
{
    double number;
    for (uint32_t i = 0; i < n->num;) {
        if (!scalar_of(n->parts[i], &number)) {
            i++;
            continue;
        }
        n->number = n->term->op == QGC_OP_MUL ? n->number * number : n->number + number;
        n->has_number = true;
        n->parts[i] = n->parts[--n->num];
    }
}

static bool number_fits(const nest *n, qgc_dtype dtype, qgc_idiom_match *m)
{
    if (!n->term->has_scalar)
        return is_number(n->number, n->term->number, dtype) ||
               (!n->has_number && n->term->number == (n->term->op == QGC_OP_MUL));
    if (!n->has_number || !isnan(m->scalars[n->term->name]))
        return n->has_number && m->scalars[n->term->name] == n->number;
    m->scalars[n->term->name] = n->number;
    return true;
}

/* Items from |item| on, each to a part of its own, in any order. */
static bool assign(nest *n, uint32_t item, qgc_idiom_match *m)
{
    if (item == n->term->num || item == QGC_IDIOM_TERMS)
        return true;
    for (uint32_t i = item; i < n->num; i++) {
        qgc_idiom_match before = *m;
        qgc_value *chosen = n->parts[i];
        n->parts[i] = n->parts[item];
        n->parts[item] = chosen;
        if (match_term(n->term->items[item], chosen, m) && assign(n, item + 1, m))
            return true;
        n->parts[item] = n->parts[i];
        n->parts[i] = chosen;
        *m = before;
    }
    return false;
}

static bool match_nest(nest *n, qgc_dtype dtype, uint32_t depth, qgc_idiom_match *m)
{
    collect_number(n);
    qgc_idiom_match before = *m;
    if (n->num == n->term->num && depth > 0 && number_fits(n, dtype, m) && assign(n, 0, m))
        return true;
    *m = before;
    if (n->num > n->term->num || depth == MAX_OPEN)
        return false;
    for (uint32_t i = 0; i < n->num; i++) {
        nest opened = *n;
        if (open_part(&opened, i, m) && match_nest(&opened, dtype, depth + 1, m))
            return true;
        *m = before;
    }
    return false;
}

/* ---- terms ---- */

static bool match_value(const qgc_term *term, qgc_value *value, qgc_idiom_match *m)
{
    if (!m->values[term->name])
        m->values[term->name] = value;
    return m->values[term->name] == value;
}

static bool match_op(const qgc_term *term, qgc_value *value, qgc_idiom_match *m)
{
    qgc_node *node = value->def;
    if (!node || node->op != term->op || value->index != 0 || node->num_operands < term->num ||
        !add_node(m, node))
        return false;
    for (uint32_t i = 0; i < term->num; i++)
        if (!qgc_node_operand(node, i) || !match_term(term->items[i], qgc_node_operand(node, i), m))
            return false;
    return true;
}

static bool match_one(const qgc_term *term, qgc_value *value, qgc_idiom_match *m)
{
    double number = 0;
    bool is_scalar = scalar_of(value, &number);
    switch (term->kind) {
    case QGC_TERM_VALUE:
        return match_value(term, value, m);
    case QGC_TERM_NUMBER:
        return is_scalar && is_number(number, term->number, value->type->dtype);
    case QGC_TERM_SCALAR:
        m->scalars[term->name] = number;
        return is_scalar;
    case QGC_TERM_OP:
        return match_op(term, value, m);
    case QGC_TERM_NEST: {
        nest n = {.term = term, .num = 1, .parts = {value}, .number = term->op == QGC_OP_MUL};
        return match_nest(&n, value->type->dtype, 0, m);
    }
    }
    return false;
}

static bool match_term(const qgc_term *term, qgc_value *value, qgc_idiom_match *m)
{
    for (; term; term = term->otherwise) {
        qgc_idiom_match before = *m;
        if (match_one(term, value, m))
            return true;
        *m = before;
    }
    return false;
}

bool qgc_idiom_matches(const qgc_term *term, qgc_value *value, qgc_idiom_match *out)
{
    *out = (qgc_idiom_match){0};
    for (uint32_t i = 0; i < QGC_IDIOM_NAMES; i++)
        out->scalars[i] = NAN;
    return match_term(term, value, out);
}

/* Whether attributes, types and dimensions of aligned nodes say the same. */
#include "passes/diff/diff.h"

#include <string.h>

/* ---- dimensions: symbols may have other names ---- */

static bool symbols_equal(qgc_diff *diff, qgc_name left, qgc_name right)
{
    void **there = qgc_map_at(&diff->symbols[0], left);
    if (*there)
        return *there == right;
    if (qgc_map_get(&diff->symbols[1], right))
        return false;
    *there = (void *)right;
    *qgc_map_at(&diff->symbols[1], right) = (void *)left;
    return true;
}

/* qgc_dim_build: a dimension of the left graph in the symbols of the right one. */
typedef struct translation {
    qgc_diff *diff;
    bool is_known; /* every symbol has a counterpart */
} translation;

static void *keep(translation *t, qgc_dim dim)
{
    qgc_dim *copy = QGC_NEW(&t->diff->arena, qgc_dim);
    *copy = dim;
    return copy;
}

static void *translate_number(void *user, int64_t value)
{
    return keep(user, qgc_dim_number(value));
}

static void *translate_symbol(void *user, qgc_name symbol)
{
    translation *t = user;
    qgc_name there = qgc_map_get(&t->diff->symbols[0], symbol);
    t->is_known &= there != NULL;
    return keep(t, qgc_dim_symbol(&t->diff->context->dims, there ? there : symbol));
}

static void *translate_join(void *user, char sign, void *a, void *b)
{
    translation *t = user;
    qgc_dims *dims = &t->diff->context->dims;
    qgc_dim x = *(qgc_dim *)a, y = *(qgc_dim *)b;
    if (sign == '+')
        return keep(t, qgc_dim_add(dims, x, y));
    return keep(t, sign == '*' ? qgc_dim_mul(dims, x, y) : qgc_dim_div(dims, x, y));
}

/* Symbols that no dimension has alone on both sides are paired in the order of their names. */
enum { MAX_SYMBOLS = 8 };

typedef struct symbols {
    qgc_name names[MAX_SYMBOLS];
    size_t num;
} symbols;

static void collect_symbol(void *user, qgc_name symbol)
{
    symbols *s = user;
    if (s->num < MAX_SYMBOLS)
        s->names[s->num] = symbol;
    s->num++;
}

static void pair_symbols(qgc_diff *diff, qgc_dim a, qgc_dim b)
{
    symbols left = {.num = 0}, right = {.num = 0};
    qgc_dim_symbols(a, collect_symbol, &left);
    qgc_dim_symbols(b, collect_symbol, &right);
    for (size_t i = 0; left.num == right.num && i < left.num && i < MAX_SYMBOLS; i++)
        symbols_equal(diff, left.names[i], right.names[i]);
}

void qgc_diff_pair_symbols(qgc_diff *diff, const qgc_type *a, const qgc_type *b)
{
    for (uint32_t i = 0; i < a->rank && i < b->rank; i++) {
        qgc_name left = qgc_dim_as_symbol(a->dims[i]), right = qgc_dim_as_symbol(b->dims[i]);
        if (left && right)
            symbols_equal(diff, left, right);
    }
}

bool qgc_diff_dim_equal(qgc_diff *diff, qgc_dim a, qgc_dim b)
{
    if (qgc_dim_is_number(a) || qgc_dim_is_number(b) || qgc_dim_is_unknown(a) ||
        qgc_dim_is_unknown(b))
        return qgc_dim_equal(a, b);
    qgc_name left = qgc_dim_as_symbol(a), right = qgc_dim_as_symbol(b);
    if (left && right)
        return symbols_equal(diff, left, right);
    pair_symbols(diff, a, b);
    translation t = {diff, true};
    const qgc_dim_builder builder = {&t, translate_number, translate_symbol, translate_join};
    const qgc_dim *there = qgc_dim_build(a, &builder);
    return t.is_known && qgc_dim_equal(*there, b);
}

bool qgc_diff_shape_equal(qgc_diff *diff, const qgc_type *a, const qgc_type *b)
{
    if (a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (!qgc_diff_dim_equal(diff, a->dims[i], b->dims[i]))
            return false;
    return true;
}

/* ---- names of values and functions ---- */

const qgc_value *qgc_diff_counterpart(const qgc_diff_pair *pair, const qgc_value *value)
{
    if (!value->def) {
        const qgc_func *right = pair->right.func;
        return value->index < right->num_params ? &right->params[value->index] : NULL;
    }
    uint32_t partner = pair->left.partner[value->def->id];
    if (partner == QGC_DIFF_NONE)
        return NULL;
    const qgc_node *node = pair->right.nodes[partner];
    return value->index < node->num_results ? &node->results[value->index] : NULL;
}

/* Names that stand for no aligned value are no difference: that of the value is one. */
static bool value_names_equal(const qgc_diff_pair *pair, qgc_name left, qgc_name right)
{
    if (!left || !right)
        return left == right;
    const qgc_value *value = qgc_func_find_value(pair->left.func, left);
    const qgc_value *there = value ? qgc_diff_counterpart(pair, value) : NULL;
    return !there || there->name == right;
}

void qgc_diff_pair_funcs(qgc_diff *diff, qgc_func *left, qgc_func *right, bool is_called)
{
    qgc_diff_pair *pair = QGC_NEW(&diff->arena, qgc_diff_pair);
    *pair = (qgc_diff_pair){.diff = diff, .is_called = is_called};
    pair->left.func = left;
    pair->right.func = right;
    *qgc_map_at(&diff->funcs[0], left) = right;
    *qgc_map_at(&diff->funcs[1], right) = left;
    if (diff->last)
        diff->last->next = pair;
    else
        diff->first = pair;
    diff->last = pair;
}

bool qgc_diff_funcs_equal(qgc_diff *diff, qgc_name left, qgc_name right)
{
    qgc_func *l = qgc_module_find_func(diff->left, left);
    qgc_func *r = qgc_module_find_func(diff->right, right);
    if (!l || !r)
        return left == right;
    qgc_func *there = qgc_map_get(&diff->funcs[0], l);
    if (there || qgc_map_get(&diff->funcs[1], r))
        return there == r;
    qgc_diff_pair_funcs(diff, l, r, true);
    return true;
}

/* ---- attributes ---- */

static bool ints_are(const qgc_attr *a, int64_t value)
{
    for (uint32_t i = 0; i < a->num; i++)
        if (a->ints[i] != value)
            return false;
    return true;
}

static bool is_first_word(const char *words, const char *word)
{
    size_t size = strcspn(words, "|");
    return strlen(word) == size && strncmp(words, word, size) == 0;
}

/* Whether |a| says what the row says where the attribute is absent. */
static bool is_default(const qgc_attr_spec *spec, const qgc_attr *a)
{
    if (a->kind == QGC_ATTR_NONE)
        return true;
    if (!spec || spec->required || (!spec->default_text && !spec->words))
        return false;
    switch (a->kind) {
    case QGC_ATTR_INT:
        return a->i == spec->default_int;
    case QGC_ATTR_BOOL:
        return a->b == (spec->default_int != 0);
    case QGC_ATTR_FLOAT:
        return memcmp(&a->f, &spec->default_float, sizeof a->f) == 0;
    case QGC_ATTR_INTS:
        return ints_are(a, spec->default_int);
    case QGC_ATTR_WORD:
        return spec->words && is_first_word(spec->words, a->name->data);
    default:
        return false;
    }
}

static bool specs_equal(qgc_diff_pair *pair, const qgc_attr *a, const qgc_attr *b)
{
    qgc_spec renamed = *a->spec;
    for (int i = 0; i < 2; i++)
        if (value_names_equal(pair, a->spec->values[i], b->spec->values[i]))
            renamed.values[i] = b->spec->values[i];
    qgc_attr x = *a;
    x.spec = &renamed;
    return qgc_attr_equal(&x, b);
}

static bool dims_equal(qgc_diff_pair *pair, const qgc_attr *a, const qgc_attr *b)
{
    for (uint32_t i = 0; i < a->num; i++)
        if (!qgc_diff_dim_equal(pair->diff, a->dims[i], b->dims[i]))
            return false;
    return true;
}

static bool items_equal(qgc_diff_pair *pair, const qgc_attr *a, const qgc_attr *b)
{
    for (uint32_t i = 0; i < a->num; i++) {
        bool is_list = a->kind == QGC_ATTR_LIST;
        if (!is_list && a->map[i].name != b->map[i].name)
            return false;
        if (!qgc_diff_attr_equal(pair, NULL, is_list ? &a->list[i] : &a->map[i].value,
                                 is_list ? &b->list[i] : &b->map[i].value))
            return false;
    }
    return true;
}

bool qgc_diff_attr_equal(qgc_diff_pair *pair, const qgc_attr_spec *spec, const qgc_attr *a,
                         const qgc_attr *b)
{
    if (is_default(spec, a) && is_default(spec, b))
        return true;
    if (a->kind != b->kind || a->num != b->num)
        return false;
    switch (a->kind) {
    case QGC_ATTR_FUNC:
        return qgc_diff_funcs_equal(pair->diff, a->name, b->name);
    case QGC_ATTR_VALUE:
        return value_names_equal(pair, a->name, b->name);
    case QGC_ATTR_SPEC:
        return specs_equal(pair, a, b);
    case QGC_ATTR_DIMS:
        return dims_equal(pair, a, b);
    case QGC_ATTR_LIST:
    case QGC_ATTR_MAP:
        return items_equal(pair, a, b);
    default:
        return qgc_attr_equal(a, b);
    }
}

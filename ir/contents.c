#include "ir/contents.h"

#include "ir/view.h"

enum {
    MAX_NODES = 256, /* followed for one value: chains share operands, so a tree may be large */
    MAX_ITEMS = 64,  /* longer tensors are no shapes */
};

typedef struct item {
    qgc_dim dim;
    bool is_natural; /* certainly 0 or more */
} item;

typedef struct items {
    uint32_t num;
    item *data;
} items;

typedef struct evaluator {
    qgc_context *context;
    qgc_arena *arena;
    uint32_t nodes_left;
} evaluator;

static bool evaluate(evaluator *e, const qgc_value *value, items *out);

static item number(int64_t value)
{
    return (item){qgc_dim_number(value), value >= 0};
}

static item unknown(evaluator *e)
{
    return (item){qgc_dim_unknown(&e->context->dims), false};
}

static items make_items(evaluator *e, uint32_t num)
{
    return (items){num, QGC_NEW_ARRAY(e->arena, item, num)};
}

/* Elements of a value by its type, integers or 0 and 1 for bool; false where that is no short list.
 */
static bool length_of(const qgc_value *value, uint32_t *out)
{
    const qgc_type *type = value ? value->type : NULL;
    if (!type || type->rank > 1 || !(1u << type->dtype & (QGC_T_INDEX | QGC_T_BOOL)))
        return false;
    qgc_dim length = type->rank ? type->dims[0] : qgc_dim_number(1);
    *out = (uint32_t)length.value;
    return qgc_dim_is_number(length) && length.value <= MAX_ITEMS;
}

static void read_constant(const qgc_tensor *t, items *out)
{
    for (uint32_t i = 0; i < out->num; i++)
        out->data[i] = number(t->dtype == QGC_DTYPE_I64   ? ((const int64_t *)t->data)[i]
                              : t->dtype == QGC_DTYPE_I32 ? ((const int32_t *)t->data)[i]
                                                          : ((const uint8_t *)t->data)[i]);
}

/* ---- one function per op; |out| has room for the result ---- */

typedef bool eval_fn(evaluator *e, const qgc_node *node, uint32_t result, items *out);

static bool eval_shape_of(evaluator *e, const qgc_node *node, uint32_t result, items *out)
{
    const qgc_type *x = qgc_node_operand(node, 0)->type;
    int64_t first, end;
    (void)e, (void)result;
    if (!x)
        return false;
    qgc_shape_range(node, x->rank, &first, &end);
    for (uint32_t i = 0; i < out->num; i++)
        out->data[i] = (item){x->dims[first + i], true};
    return true;
}

static bool eval_size_of(evaluator *e, const qgc_node *node, uint32_t result, items *out)
{
    const qgc_type *x = qgc_node_operand(node, 0)->type;
    qgc_dim product = qgc_dim_number(1);
    (void)result;
    if (!x)
        return false;
    for (uint32_t i = 0; i < x->rank; i++)
        product = qgc_dim_mul(&e->context->dims, product, x->dims[i]);
    out->data[0] = (item){product, true};
    return true;
}

/* The same elements in another shape or integer type. */
static bool eval_same(evaluator *e, const qgc_node *node, uint32_t result, items *out)
{
    items x;
    (void)result;
    if (!evaluate(e, qgc_node_operand(node, 0), &x) || x.num != out->num)
        return false;
    *out = x;
    return true;
}

static bool eval_gather(evaluator *e, const qgc_node *node, uint32_t result, items *out)
{
    items x, indices;
    (void)result;
    if (!evaluate(e, qgc_node_operand(node, 0), &x) ||
        !evaluate(e, qgc_node_operand(node, 1), &indices) || indices.num != out->num)
        return false;
    for (uint32_t i = 0; i < out->num; i++) {
        qgc_dim index = indices.data[i].dim;
        int64_t at = index.value < 0 ? index.value + x.num : index.value;
        bool is_inside = qgc_dim_is_number(index) && at >= 0 && at < x.num;
        out->data[i] = is_inside ? x.data[at] : unknown(e);
    }
    return true;
}

static bool eval_concat(evaluator *e, const qgc_node *node, uint32_t result, items *out)
{
    uint32_t at = 0;
    (void)result;
    for (uint32_t i = 0; i < node->num_operands; i++) {
        items part;
        uint32_t length;
        if (!length_of(qgc_node_operand(node, i), &length) || at + length > out->num)
            return false;
        bool is_known = evaluate(e, qgc_node_operand(node, i), &part);
        for (uint32_t k = 0; k < length; k++)
            out->data[at++] = is_known ? part.data[k] : unknown(e);
    }
    return at == out->num;
}

static bool eval_split(evaluator *e, const qgc_node *node, uint32_t result, items *out)
{
    items x;
    uint32_t first = 0, length;
    if (!evaluate(e, qgc_node_operand(node, 0), &x))
        return false;
    for (uint32_t i = 0; i < result; i++) {
        if (!length_of(&node->results[i], &length))
            return false;
        first += length;
    }
    if (first + out->num > x.num)
        return false;
    for (uint32_t i = 0; i < out->num; i++)
        out->data[i] = x.data[first + i];
    return true;
}

/* One number of an attribute list or operand; |*out| stays where neither is given. */
static bool read_number(evaluator *e, const qgc_node *node, const char *name, uint32_t operand,
                        int64_t *out)
{
    const qgc_attr *attr = qgc_node_attr(node, name);
    const qgc_value *value = qgc_node_operand(node, operand);
    items list;
    if (attr && attr->num == 1)
        return *out = attr->ints[0], true;
    if (attr || !value)
        return !attr;
    if (!evaluate(e, value, &list) || list.num != 1 || !qgc_dim_is_number(list.data[0].dim))
        return false;
    *out = list.data[0].dim.value;
    return true;
}

static bool eval_slice(evaluator *e, const qgc_node *node, uint32_t result, items *out)
{
    items x;
    int64_t start = 0, end = 0, step = 1;
    (void)result;
    if (!evaluate(e, qgc_node_operand(node, 0), &x) || !read_number(e, node, "starts", 1, &start) ||
        !read_number(e, node, "ends", 2, &end) || !read_number(e, node, "steps", 4, &step) ||
        step == 0 || qgc_slice_count(x.num, &start, end, step) != out->num)
        return false;
    for (uint32_t i = 0; i < out->num; i++)
        out->data[i] = x.data[start + (i ? i * step : 0)];
    return true;
}

/* Truncates like the op div, where that is known to be floor division. */
static item divide(evaluator *e, item a, item b)
{
    item quotient = {.is_natural = a.is_natural && b.is_natural};
    bool are_numbers = qgc_dim_is_number(a.dim) && qgc_dim_is_number(b.dim);
    if (are_numbers && (b.dim.value == 0 || (a.dim.value == INT64_MIN && b.dim.value == -1)))
        return unknown(e);
    if (are_numbers)
        return number(a.dim.value / b.dim.value);
    if (qgc_dim_divides(&e->context->dims, b.dim, a.dim, &quotient.dim))
        return quotient;
    if (!quotient.is_natural)
        return unknown(e);
    quotient.dim = qgc_dim_div(&e->context->dims, a.dim, b.dim);
    return quotient;
}

/* 1 or 0 where that is certain. */
static item compare(evaluator *e, item a, item b)
{
    bool a_is_negative = qgc_dim_is_number(a.dim) && a.dim.value < 0;
    bool b_is_negative = qgc_dim_is_number(b.dim) && b.dim.value < 0;
    if (qgc_dim_is_number(a.dim) && qgc_dim_is_number(b.dim))
        return number(a.dim.value == b.dim.value);
    if ((a.is_natural && b_is_negative) || (b.is_natural && a_is_negative))
        return number(0);
    bool are_same = qgc_dim_equal(a.dim, b.dim) && !qgc_dim_is_unknown(a.dim);
    return are_same ? number(1) : unknown(e);
}

static item combine(evaluator *e, qgc_opcode op, item a, item b)
{
    qgc_dims *dims = &e->context->dims;
    bool are_natural = a.is_natural && b.is_natural;
    item difference = {qgc_dim_sub(dims, a.dim, b.dim), false};
    switch (op) {
    case QGC_OP_ADD:
        return (item){qgc_dim_add(dims, a.dim, b.dim), are_natural};
    case QGC_OP_MUL:
        return (item){qgc_dim_mul(dims, a.dim, b.dim), are_natural};
    case QGC_OP_DIV:
        return divide(e, a, b);
    case QGC_OP_EQUAL:
        return compare(e, a, b);
    default:
        difference.is_natural = qgc_dim_is_number(difference.dim) && difference.dim.value >= 0;
        return difference;
    }
}

static bool eval_binary(evaluator *e, const qgc_node *node, uint32_t result, items *out)
{
    items a, b;
    (void)result;
    if (!evaluate(e, qgc_node_operand(node, 0), &a) || !evaluate(e, qgc_node_operand(node, 1), &b))
        return false;
    if ((a.num != 1 && a.num != out->num) || (b.num != 1 && b.num != out->num))
        return false;
    for (uint32_t i = 0; i < out->num; i++)
        out->data[i] = combine(e, node->op, a.data[a.num == 1 ? 0 : i], b.data[b.num == 1 ? 0 : i]);
    return true;
}

static bool eval_where(evaluator *e, const qgc_node *node, uint32_t result, items *out)
{
    items operands[3];
    (void)result;
    for (uint32_t i = 0; i < 3; i++)
        if (!evaluate(e, qgc_node_operand(node, i), &operands[i]) ||
            (operands[i].num != 1 && operands[i].num != out->num))
            return false;
    for (uint32_t i = 0; i < out->num; i++) {
        item picked[3];
        for (uint32_t k = 0; k < 3; k++)
            picked[k] = operands[k].data[operands[k].num == 1 ? 0 : i];
        bool is_known = qgc_dim_is_number(picked[0].dim);
        bool is_either = qgc_dim_equal(picked[1].dim, picked[2].dim);
        out->data[i] = is_known    ? picked[picked[0].dim.value ? 1 : 2]
                       : is_either ? picked[1]
                                   : unknown(e);
    }
    return true;
}

static bool eval_reduce_prod(evaluator *e, const qgc_node *node, uint32_t result, items *out)
{
    items x;
    item product = number(1);
    (void)result;
    if (qgc_node_flag(node, "noop_with_empty_axes") || out->num != 1 ||
        !evaluate(e, qgc_node_operand(node, 0), &x))
        return false;
    for (uint32_t i = 0; i < x.num; i++)
        product = combine(e, QGC_OP_MUL, product, x.data[i]);
    out->data[0] = product;
    return true;
}

static bool eval_constant_of_shape(evaluator *e, const qgc_node *node, uint32_t result, items *out)
{
    items value;
    (void)result;
    if (!qgc_node_operand(node, 1) || !evaluate(e, qgc_node_operand(node, 1), &value))
        return false;
    for (uint32_t i = 0; i < out->num; i++)
        out->data[i] = value.data[0];
    return true;
}

static const struct {
    qgc_opcode op;
    eval_fn *eval;
} rows[] = {
    {QGC_OP_SHAPE_OF, eval_shape_of},
    {QGC_OP_SIZE_OF, eval_size_of},
    {QGC_OP_IDENTITY, eval_same},
    {QGC_OP_CAST, eval_same},
    {QGC_OP_RESHAPE, eval_same},
    {QGC_OP_SQUEEZE, eval_same},
    {QGC_OP_UNSQUEEZE, eval_same},
    {QGC_OP_GATHER, eval_gather},
    {QGC_OP_CONCAT, eval_concat},
    {QGC_OP_SPLIT, eval_split},
    {QGC_OP_SLICE, eval_slice},
    {QGC_OP_ADD, eval_binary},
    {QGC_OP_SUB, eval_binary},
    {QGC_OP_MUL, eval_binary},
    {QGC_OP_DIV, eval_binary},
    {QGC_OP_EQUAL, eval_binary},
    {QGC_OP_WHERE, eval_where},
    {QGC_OP_REDUCE_PROD, eval_reduce_prod},
    {QGC_OP_CONSTANT_OF_SHAPE, eval_constant_of_shape},
};

/* Results of i32 arithmetic may wrap, numbers are checked; symbols are taken to fit. What is cast
 * to bool is 0 or 1 already. */
static bool all_fit(const qgc_value *value, const items *list)
{
    bool is_i32 = value->type->dtype == QGC_DTYPE_I32,
         is_bool = value->type->dtype == QGC_DTYPE_BOOL;
    for (uint32_t i = 0; i < list->num; i++) {
        qgc_dim d = list->data[i].dim;
        bool is_number = qgc_dim_is_number(d);
        if (is_i32 && is_number && (d.value > INT32_MAX || d.value < INT32_MIN))
            return false;
        if (is_bool && !qgc_dim_is_unknown(d) && (!is_number || d.value < 0 || d.value > 1))
            return false;
    }
    return true;
}

static bool evaluate(evaluator *e, const qgc_value *value, items *out)
{
    uint32_t num;
    if (!length_of(value, &num) || !value->def || e->nodes_left == 0)
        return false;
    e->nodes_left--;
    *out = make_items(e, num);
    if (value->def->constant)
        return read_constant(value->def->constant, out), true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == value->def->op)
            return rows[i].eval(e, value->def, value->index, out) && all_fit(value, out);
    return false;
}

bool qgc_value_contents(qgc_context *context, qgc_arena *arena, const qgc_value *value,
                        uint32_t *out_num, const qgc_dim **out)
{
    evaluator e = {context, arena, MAX_NODES};
    items list;
    if (!value->type || value->type->dtype == QGC_DTYPE_BOOL || !evaluate(&e, value, &list))
        return false;
    qgc_dim *dims = QGC_NEW_ARRAY(arena, qgc_dim, list.num);
    for (uint32_t i = 0; i < list.num; i++)
        dims[i] = list.data[i].dim;
    *out_num = list.num;
    *out = dims;
    return true;
}

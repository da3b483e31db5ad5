/* Plans softmax, normalization and reductions. Their kernel takes rows that lie together: what goes
 * along other dimensions is copied there and back. */
#include "codegen/move.h"
#include "codegen/product.h"
#include "ir/view.h"

/* What each op folds, of what, and what becomes of it. */
typedef struct row {
    qgc_opcode op;
    qgc_rows_kind kind;
    qgc_rows_fold fold;
    qgc_rows_prepare prepare;
    qgc_rows_finish finish;
} row;

static const row table[] = {
    {QGC_OP_SOFTMAX, QGC_ROWS_SOFTMAX, 0, 0, 0},
    {QGC_OP_LOG_SOFTMAX, QGC_ROWS_LOG_SOFTMAX, 0, 0, 0},
    {QGC_OP_LAYER_NORM, QGC_ROWS_NORM, 0, 0, 0},
    {QGC_OP_INSTANCE_NORM, QGC_ROWS_NORM, 0, 0, 0},
    {QGC_OP_GROUP_NORM, QGC_ROWS_NORM, 0, 0, 0},
    {QGC_OP_INT_SUM, QGC_ROWS_FOLD, QGC_ROWS_SUM, QGC_ROWS_AS_IS, QGC_ROWS_NO_MORE},
    {QGC_OP_REDUCE_SUM, QGC_ROWS_FOLD, QGC_ROWS_SUM, QGC_ROWS_AS_IS, QGC_ROWS_NO_MORE},
    {QGC_OP_REDUCE_MEAN, QGC_ROWS_FOLD, QGC_ROWS_SUM, QGC_ROWS_AS_IS, QGC_ROWS_AVERAGE},
    {QGC_OP_REDUCE_MAX, QGC_ROWS_FOLD, QGC_ROWS_MAX, QGC_ROWS_AS_IS, QGC_ROWS_NO_MORE},
    {QGC_OP_GLOBAL_MAX_POOL, QGC_ROWS_FOLD, QGC_ROWS_MAX, QGC_ROWS_AS_IS, QGC_ROWS_NO_MORE},
    {QGC_OP_REDUCE_MIN, QGC_ROWS_FOLD, QGC_ROWS_MIN, QGC_ROWS_AS_IS, QGC_ROWS_NO_MORE},
    {QGC_OP_REDUCE_PROD, QGC_ROWS_FOLD, QGC_ROWS_PROD, QGC_ROWS_AS_IS, QGC_ROWS_NO_MORE},
    {QGC_OP_REDUCE_L1, QGC_ROWS_FOLD, QGC_ROWS_SUM, QGC_ROWS_ABSOLUTE, QGC_ROWS_NO_MORE},
    {QGC_OP_REDUCE_L2, QGC_ROWS_FOLD, QGC_ROWS_SUM, QGC_ROWS_SQUARED, QGC_ROWS_ROOT},
    {QGC_OP_REDUCE_SUM_SQUARE, QGC_ROWS_FOLD, QGC_ROWS_SUM, QGC_ROWS_SQUARED, QGC_ROWS_NO_MORE},
    {QGC_OP_REDUCE_LOG_SUM, QGC_ROWS_FOLD, QGC_ROWS_SUM, QGC_ROWS_AS_IS, QGC_ROWS_LOGARITHM},
    {QGC_OP_REDUCE_LOG_SUM_EXP, QGC_ROWS_FOLD, QGC_ROWS_SUM, QGC_ROWS_EXPONENTIAL,
     QGC_ROWS_LOGARITHM},
};

typedef struct rows {
    qgc_planner *p;
    const qgc_node *node;
    const qgc_value *x;
    qgc_rows_kernel *k;
    uint32_t set; /* dimensions along which a row goes, as bits */
} rows;

static int64_t size_of(const qgc_type *type, uint32_t dim)
{
    return type->dims[dim].value;
}

/* ---- which dimensions ---- */

static uint32_t bit_of(const rows *r, int64_t axis)
{
    return 1u << (axis < 0 ? axis + r->x->type->rank : axis);
}

static uint32_t all_from(const rows *r, int64_t axis)
{
    uint32_t rank = r->x->type->rank;
    return ((1u << rank) - 1) & ~(bit_of(r, axis) - 1);
}

static const char *read_reduced(rows *r)
{
    const qgc_node *node = r->node;
    uint32_t num = qgc_node_list_size(node, "axes");
    const qgc_tensor *list = node->op == QGC_OP_INT_SUM ? NULL : qgc_constant_operand(node, 1);
    bool is_int_sum = node->op == QGC_OP_INT_SUM;
    if (!is_int_sum && node->operands[1].value && !list)
        return "its axes are not constant";
    if (list)
        num = (uint32_t)(list->bytes / qgc_dtype_bytes(list->dtype));
    if (list && num && list->dtype != QGC_DTYPE_I64)
        return "its axes are no i64";
    for (uint32_t i = 0; i < num; i++)
        r->set |=
            bit_of(r, list ? ((const int64_t *)list->data)[i] : qgc_node_int_at(node, "axes", i));
    bool is_all = is_int_sum ? !qgc_node_has(node, "axes")
                             : !num && !qgc_node_flag(node, "noop_with_empty_axes");
    if (is_all)
        r->set = (1u << r->x->type->rank) - 1;
    return NULL;
}

static const char *read_set(rows *r)
{
    switch (r->node->op) {
    case QGC_OP_SOFTMAX:
    case QGC_OP_LOG_SOFTMAX:
        r->set = bit_of(r, qgc_node_int(r->node, "axis"));
        return NULL;
    case QGC_OP_LAYER_NORM:
        r->set = all_from(r, qgc_node_int(r->node, "axis"));
        return NULL;
    case QGC_OP_INSTANCE_NORM:
    case QGC_OP_GLOBAL_MAX_POOL:
        r->set = all_from(r, 2);
        return NULL;
    case QGC_OP_GROUP_NORM:
        r->set = all_from(r, 1);
        return NULL;
    default:
        return read_reduced(r);
    }
}

/* ---- scale and bias ---- */

/* One value per element of a row, or the same for all rows' elements. */
static bool fits_row(const rows *r, const qgc_value *value)
{
    const qgc_type *type = value->type, *x = r->x->type;
    int64_t num;
    if (!qgc_type_num_elements(type, &num) || num != r->k->num)
        return false;
    for (uint32_t i = 0; i < type->rank && i < x->rank; i++)
        if (r->set >> (x->rank - 1 - i) & 1 &&
            size_of(type, type->rank - 1 - i) != size_of(x, x->rank - 1 - i))
            return false;
    return true;
}

static const char *read_norm(rows *r)
{
    const qgc_node *node = r->node;
    qgc_rows_kernel *k = r->k;
    const qgc_value *scale = node->operands[1].value, *bias = node->operands[2].value;
    k->epsilon = qgc_node_float(node, "epsilon");
    k->has_scale = scale != NULL;
    k->has_bias = bias != NULL;
    if (node->num_results > 1)
        return "its statistics are results";
    if (node->op == QGC_OP_LAYER_NORM) {
        if ((scale && !fits_row(r, scale)) || (bias && !fits_row(r, bias)))
            return "scale or bias broadcast";
        return NULL;
    }
    int64_t channels = size_of(r->x->type, 1);
    k->by_channel = true;
    k->groups = node->op == QGC_OP_GROUP_NORM ? qgc_node_int(node, "num_groups") : channels;
    k->row_channels = channels / k->groups;
    if (node->op == QGC_OP_GROUP_NORM)
        k->num /= k->groups;
    return NULL;
}

/* ---- types ---- */

static bool is_small_int(qgc_dtype dtype)
{
    return qgc_is_8bit(dtype) || qgc_is_16bit(dtype);
}

static const char *check_types(const rows *r)
{
    qgc_dtype dtype = r->x->type->dtype;
    bool is_pool = r->node->op == QGC_OP_GLOBAL_MAX_POOL;
    bool takes_ints = is_pool || r->node->op == QGC_OP_INT_SUM ||
                      r->node->op == QGC_OP_REDUCE_MAX || r->node->op == QGC_OP_REDUCE_MIN;
    if (is_pool && !is_small_int(dtype)) /* of zeros the first one counts: no order of lanes */
        return "x is not of 8 or 16 bits";
    if (dtype != QGC_DTYPE_F32 && !(takes_ints && is_small_int(dtype)))
        return "x is not f32";
    if (r->node->op == QGC_OP_INT_SUM && r->node->operands[1].value)
        return "a zero point is an operand";
    return NULL;
}

/* ---- steps ---- */

/* Copies between the value and rows one after the other: kept dimensions, then those of a row. */
static void copy_rows(rows *r, qgc_buffer *value, qgc_buffer *scratch, bool to_rows)
{
    const qgc_type *type = r->x->type;
    qgc_move_part part = {.in = value->value, .out = value->value};
    int64_t stride = 1;
    qgc_move_axis axes[QGC_MAX_RANK];
    uint32_t num = 0;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t d = type->rank; d-- > 0;) {
            if ((r->set >> d & 1) == pass)
                continue;
            axes[num++] =
                to_rows ? (qgc_move_axis){size_of(type, d), (int32_t)d, QGC_MOVE_FLAT, 1,
                                          stride,           NULL,       false}
                        : (qgc_move_axis){
                              size_of(type, d), QGC_MOVE_FLAT, (int32_t)d, stride, 1, NULL, false};
            stride *= size_of(type, d);
        }
    while (num)
        part.axes[part.rank++] = axes[--num];
    qgc_planner_copy(r->p, &part, to_rows ? value : scratch, to_rows ? scratch : value);
}

/* The row's dimensions are the last ones. */
static bool is_last(const rows *r)
{
    uint32_t bits = r->set;
    bool seen_kept = false;
    for (uint32_t d = r->x->type->rank; d-- > 0;) {
        if (!(bits >> d & 1) && size_of(r->x->type, d) != 1)
            seen_kept = true;
        if (bits >> d & 1 && size_of(r->x->type, d) != 1 && seen_kept)
            return false;
    }
    return true;
}

static void add_step(rows *r, qgc_buffer *in, qgc_buffer *out)
{
    const qgc_node *node = r->node;
    qgc_rows_kernel *k = r->k;
    uint32_t num = 1u + k->has_scale + k->has_bias;
    qgc_buffer *scale = k->has_scale ? qgc_planner_plain(r->p, node->operands[1].value) : NULL;
    qgc_buffer *bias = k->has_bias ? qgc_planner_plain(r->p, node->operands[2].value) : NULL;
    qgc_step *step = qgc_planner_add_kernel(r->p, node, &k->base, num, 1);
    step->inputs[0] = in;
    if (scale)
        step->inputs[1] = scale;
    if (bias)
        step->inputs[num - 1] = bias;
    step->outputs[0] = out;
    step->note =
        qgc_arena_printf(&r->p->plan->arena, "%s, rows = %lldx%lld", qgc_op(node->op)->mnemonic,
                         (long long)k->base.units, (long long)k->num);
}

static void add_steps(rows *r)
{
    qgc_planner *p = r->p;
    const qgc_value *y = &r->node->results[0];
    bool is_fold = r->k->kind == QGC_ROWS_FOLD, is_direct = is_last(r);
    qgc_buffer *in = qgc_planner_plain(p, r->x);
    if (!is_direct) {
        qgc_buffer *gathered = qgc_planner_scratch(p, r->x);
        copy_rows(r, in, gathered, true);
        in = gathered;
    }
    qgc_buffer *out = is_direct || is_fold ? qgc_planner_plain(p, y) : qgc_planner_scratch(p, y);
    add_step(r, in, out);
    if (out->form == QGC_BUFFER_SCRATCH)
        copy_rows(r, qgc_planner_plain(p, y), out, false);
}

static const row *find_row(const qgc_node *node)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].op == node->op)
            return &table[i];
    return NULL;
}

const char *qgc_plan_rows(qgc_planner *p, const qgc_node *node)
{
    const row *how = find_row(node);
    int64_t num = 0;
    if (!how)
        return "";
    rows r = {.p = p, .node = node, .x = node->operands[0].value};
    const char *why = check_types(&r);
    if (!why && (!qgc_type_num_elements(r.x->type, &num) || !num))
        why = "it is empty";
    if (!why)
        why = read_set(&r);
    if (why)
        return why;
    r.k = QGC_NEW(&p->plan->arena, qgc_rows_kernel);
    *r.k = (qgc_rows_kernel){.base = {.kind = QGC_KERNEL_ROWS},
                             .kind = how->kind,
                             .num = 1,
                             .dtype = r.x->type->dtype,
                             .out = node->results[0].type->dtype,
                             .fold = how->fold,
                             .prepare = how->prepare,
                             .finish = how->finish};
    for (uint32_t d = 0; d < r.x->type->rank; d++)
        r.k->num *= r.set >> d & 1 ? size_of(r.x->type, d) : 1;
    if (node->op == QGC_OP_INT_SUM)
        r.k->zero_point = (int32_t)qgc_node_int(node, "x_zero_point");
    why = how->kind == QGC_ROWS_NORM ? read_norm(&r) : NULL;
    if (why)
        return why;
    r.k->base.units = num / r.k->num;
    add_steps(&r);
    return NULL;
}

/* From an op to its quantize: a fused add, relu and clip as bounds of q. */
#include "ir/view.h"
#include "passes/view_parts.h"

#include <math.h>

typedef struct tail {
    qgc_view *view;
    qgc_arena *arena;
    qgc_node *steps[8]; /* relu, clip: applied once the quantize is known; functions */
    uint32_t num_steps;
    bool has_clip, has_function;
    qgc_node *bias, *add;
    qgc_value *bias_value;
} tail;

enum { MAX_STEPS = 8 };

static const qgc_tensor *constant_of(const qgc_value *value)
{
    return value && value->def ? value->def->constant : NULL;
}

static bool is_bound(const qgc_value *value)
{
    return !value || constant_of(value);
}

bool qgc_view_is_clip(const qgc_node *node, const qgc_value *x)
{
    if (node->op == QGC_OP_RELU)
        return true;
    return node->op == QGC_OP_CLIP && qgc_node_operand(node, 0) == x &&
           is_bound(qgc_node_operand(node, 1)) && is_bound(qgc_node_operand(node, 2));
}

/* A quantize per tensor with known parameters. */
static bool is_plain_quantize(const qgc_node *node, const qgc_value *x)
{
    return node->op == QGC_OP_QUANTIZE && qgc_node_operand(node, 0) == x &&
           !qgc_node_has(node, "axis") && is_bound(qgc_node_operand(node, 1)) &&
           is_bound(qgc_node_operand(node, 2));
}

/* One element per output channel: [C], [C, 1, 1]. */
static bool is_channel_list(const qgc_value *list, const qgc_type *result, uint32_t axis)
{
    const qgc_type *type = list->type;
    uint32_t behind = result->rank - 1 - axis;
    if (type->rank <= behind || type->rank > result->rank)
        return false;
    for (uint32_t i = 0; i < type->rank; i++) {
        qgc_dim wanted = i == type->rank - 1 - behind ? result->dims[axis] : qgc_dim_number(1);
        if (!qgc_dim_is_number(wanted) || !qgc_dim_equal(type->dims[i], wanted))
            return false;
    }
    return true;
}

/* A constant added to a product that has no bias: it becomes one. */
static bool take_bias(tail *t, qgc_node *node, const qgc_value *x)
{
    enum { BIAS = 2 };
    const qgc_node *op = t->view->op;
    if (node->op != QGC_OP_ADD || !qgc_view_is_product(op->op) || t->bias || t->add ||
        t->num_steps || node->results[0].type != x->type)
        return false;
    bool has_own = op->op != QGC_OP_MATMUL && qgc_node_operand(op, BIAS);
    qgc_value *other = qgc_node_operand(node, qgc_node_operand(node, 0) == x ? 1 : 0);
    const qgc_tensor *list = constant_of(other);
    bool ends = op->op == QGC_OP_MATMUL || op->op == QGC_OP_LINEAR;
    if (has_own || !list || list->dtype != QGC_DTYPE_F32 || x->type->rank < 2 ||
        !is_channel_list(other, x->type, ends ? x->type->rank - 1 : 1))
        return false;
    t->bias = node;
    t->bias_value = other;
    return true;
}

/* The term that an add brings to a product: quantized per tensor, in the shape of the result. */
static bool take_add(tail *t, qgc_node *node, const qgc_value *x)
{
    if (node->op != QGC_OP_ADD || !qgc_view_is_product(t->view->op->op) || t->add || t->num_steps)
        return false;
    qgc_value *other = qgc_node_operand(node, qgc_node_operand(node, 0) == x ? 1 : 0);
    qgc_view_operand *extra = &t->view->extra;
    if (other == x || !other->def || other->def->op != QGC_OP_DEQUANTIZE ||
        !qgc_view_read_operand(other, t->arena, extra, NULL))
        return false;
    if (extra->params.per_channel || !extra->params.scales || !extra->params.zero_points ||
        node->results[0].type != x->type)
        return false;
    t->add = node;
    return true;
}

/* An elementwise function of |x| alone. */
static bool is_function(const qgc_node *node, const qgc_value *x)
{
    if (!(qgc_node_op(node)->traits & QGC_TRAIT_ELEMENTWISE) || node->results[0].type != x->type)
        return false;
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (qgc_node_operand(node, i) != x &&
            !qgc_view_is_scalar_constant(qgc_node_operand(node, i)))
            return false;
    return true;
}

static bool take(tail *t, qgc_node *node, const qgc_value *x)
{
    if (take_bias(t, node, x) || take_add(t, node, x))
        return true;
    bool clips = qgc_view_is_clip(node, x);
    if (t->num_steps == MAX_STEPS || !(clips || is_function(node, x)))
        return false;
    t->steps[t->num_steps++] = node;
    t->has_clip |= clips;
    t->has_function |= !clips;
    return true;
}

/* Sums of |quantize|'s steps start at the bias: an infinity and a NaN, a mask's, have to stay
 * added. */
static bool can_start_sums(const tail *t, const qgc_node *quantize)
{
    if (!t->bias || t->has_function)
        return true;
    const qgc_tensor *scales = constant_of(qgc_node_operand(quantize, 1));
    float scale = scales ? *(const float *)scales->data : qgc_node_float(quantize, "scale");
    const qgc_tensor *list = constant_of(t->bias_value);
    for (size_t i = 0; i < list->bytes / sizeof(float); i++)
        if (!isfinite(((const float *)list->data)[i] / scale))
            return false;
    return true;
}

/* The quantize behind |x|, where only single uses lead to it. */
static qgc_node *find_quantize(tail *t, qgc_value *x)
{
    while (x->num_uses == 1) {
        qgc_node *user = x->first_use->user;
        if (is_plain_quantize(user, x))
            return can_start_sums(t, user) ? user : NULL;
        if (!take(t, user, x))
            return NULL;
        x = &user->results[0];
    }
    return NULL;
}

/* ---- bounds ---- */

static int32_t clamped(int32_t q, int32_t lo, int32_t hi)
{
    int32_t raised = q < lo ? lo : q;
    return raised > hi ? hi : raised;
}

/* t = x < lo ? lo : x; y = hi < t ? hi : t, on bounds: quantize is monotone, so it commutes. */
static void narrow(qgc_int_range *range, int32_t lo, int32_t hi)
{
    range->lo = clamped(range->lo, lo, hi);
    range->hi = clamped(range->hi, lo, hi);
}

/* A bound that is not there, or a NaN, bounds nothing. */
static int32_t bound_of(const qgc_view *view, const qgc_node *clip, uint32_t index,
                        int32_t otherwise, qgc_int_range full)
{
    const qgc_tensor *data = constant_of(qgc_node_operand(clip, index));
    float bound = data ? *(const float *)data->data : 0;
    if (!data || bound != bound)
        return otherwise;
    qgc_quantize_mode mode = (qgc_quantize_mode)qgc_node_word(view->quantize, "mode");
    return qgc_quantize(bound, view->output, full, mode);
}

static void apply_step(qgc_view *view, const qgc_node *step, qgc_int_range full)
{
    if (step->op == QGC_OP_RELU) {
        narrow(&view->range, clamped(view->output.zero_point, full.lo, full.hi), full.hi);
        return;
    }
    int32_t lo = bound_of(view, step, 1, full.lo, full);
    int32_t hi = bound_of(view, step, 2, full.hi, full);
    narrow(&view->range, lo < hi ? lo : hi, hi);
}

static bool read_output(qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    qgc_view_params params;
    if (!qgc_view_read_params(view->quantize, arena, &params, why))
        return false;
    view->result = &view->quantize->results[0];
    view->dtype = view->result->type->dtype;
    view->output = (qgc_qparams){params.scales[0], params.zero_points[0]};
    qgc_quant_dtype_range(view->dtype, &view->range);
    if (qgc_node_has(view->quantize, "range")) {
        view->range.lo = (int32_t)qgc_node_int_at(view->quantize, "range", 0);
        view->range.hi = (int32_t)qgc_node_int_at(view->quantize, "range", 1);
    }
    return true;
}

/* ---- */

static void list_nodes(qgc_view *view, const tail *t)
{
    view->nodes = QGC_NEW_ARRAY(t->arena, qgc_node *, t->num_steps + 4);
    if (view->op != view->quantize)
        view->nodes[view->num_nodes++] = view->op;
    if (t->bias)
        view->nodes[view->num_nodes++] = t->bias;
    if (t->add)
        view->nodes[view->num_nodes++] = t->add;
    for (uint32_t i = 0; i < t->num_steps; i++)
        view->nodes[view->num_nodes++] = t->steps[i];
    if (view->quantize)
        view->nodes[view->num_nodes++] = view->quantize;
}

static bool check_users(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    const qgc_value *x = &view->op->results[0];
    for (const qgc_use *use = x->first_use; use && x->num_uses > 1; use = use->next)
        if (use->user->op == QGC_OP_QUANTIZE)
            return qgc_why_not(arena, why, QGC_FAULT_SEVERAL_USERS,
                               "%%%s has %u uses, one is the quantize %%%s", x->name->data,
                               x->num_uses, use->user->results[0].name->data);
    return true;
}

static bool follow_float(qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    if (!check_users(view, arena, why))
        return false;
    view->result = &view->op->results[0];
    view->dtype = view->result->type->dtype;
    list_nodes(view, &(tail){.arena = arena});
    return true;
}

bool qgc_view_follow(qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    tail t = {.view = view, .arena = arena};
    if (view->op->op == QGC_OP_QUANTIZE) {
        if (!is_plain_quantize(view->op, qgc_node_operand(view->op, 0)))
            return qgc_why_not(arena, why, QGC_FAULT_PARAMETERS,
                               "%%%s is quantized per channel or with computed parameters",
                               view->op->results[0].name->data);
        view->quantize = view->op;
    } else if (view->op->num_results == 1) {
        view->quantize = find_quantize(&t, &view->op->results[0]);
    }
    if (!view->quantize)
        return follow_float(view, arena, why);
    if (!read_output(view, arena, why))
        return false;
    /* relu and clip alone are themselves the first step */
    qgc_int_range full = view->range;
    if (qgc_view_is_clip(view->op, qgc_node_operand(view->op, 0)))
        apply_step(view, view->op, full);
    for (uint32_t i = 0; i < t.num_steps && !t.has_function; i++)
        apply_step(view, t.steps[i], full);
    view->has_add = t.add != NULL;
    view->added_bias = t.has_function ? NULL : t.bias_value; /* else a function among others */
    view->has_clip = t.has_clip;
    view->has_function = t.has_function;
    list_nodes(view, &t);
    return true;
}

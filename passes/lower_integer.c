/* Views printed as integer ops. Requires form partitioned, gives lowered; rewrites the bodies of
 * functions with a target. What has no integer form (softmax, layer_norm, functions of 16-bit
 * values) stays as dequantize, op, quantize: its definition. */
#include "base/arena.h"
#include "ir/view.h"
#include "passes/lower.h"
#include "passes/seams.h"
#include "passes/targets.h"
#include "runtime/interp.h"
#include "runtime/tensor.h"

#include <string.h>

/* ---- making nodes ---- */

/* The float value that |node| stands for. */
static void set_origin(qgc_lowering *l, qgc_node *node, const qgc_value *value)
{
    qgc_node_set_extra(node, qgc_context_name(l->env->context, "origin"),
                       qgc_attr_from_name(QGC_ATTR_VALUE, value->name));
}

qgc_node *qgc_lower_node(qgc_lowering *l, qgc_opcode op, uint32_t num_operands,
                         qgc_value *const *operands)
{
    const qgc_node *from = l->view->op;
    qgc_node *node = qgc_node_create(l->func, op, num_operands, operands,
                                     qgc_op_num_results(qgc_op(op)), l->before, from->loc);
    node->scope = from->scope;
    set_origin(l, node, &from->results[0]);
    return node;
}

static qgc_str new_name(qgc_lowering *l, const char *suffix)
{
    const char *text =
        qgc_arena_printf(l->env->scratch, "%s%s", l->view->op->results[0].name->data, suffix);
    return qgc_str_from(text);
}

qgc_value *qgc_lower_finish(qgc_lowering *l, qgc_node *node, const char *suffix)
{
    qgc_seams_infer(node);
    qgc_value_set_name(l->func, &node->results[0],
                       qgc_func_unique_name(l->func, new_name(l, suffix)));
    return &node->results[0];
}

qgc_value *qgc_lower_tensor(qgc_lowering *l, const qgc_tensor *tensor, const char *suffix)
{
    return qgc_seams_constant(l->func, tensor, new_name(l, suffix), l->before, l->view->op->loc);
}

qgc_value *qgc_lower_floats(qgc_lowering *l, const float *values, size_t num, const char *suffix)
{
    qgc_tensor t = {.dtype = QGC_DTYPE_F32,
                    .rank = 1,
                    .shape = {(int64_t)num},
                    .data = (void *)values,
                    .bytes = num * sizeof *values};
    return qgc_lower_tensor(l, &t, suffix);
}

void qgc_lower_set_int(qgc_node *node, const char *name, int64_t value)
{
    int index = qgc_op_attr_index(qgc_node_op(node), qgc_str_from(name));
    if (value != qgc_node_op(node)->attrs[index].default_int)
        qgc_node_set_attr(node, name, qgc_attr_from_int(value));
}

void qgc_lower_copy_attrs(qgc_node *to, const qgc_node *from)
{
    const qgc_op_info *op = qgc_node_op(from);
    for (uint32_t i = 0; i < qgc_op_num_attrs(op); i++)
        if (qgc_op_attr_index(qgc_node_op(to), qgc_str_from(op->attrs[i].name)) >= 0)
            qgc_node_set_attr(to, op->attrs[i].name, from->attrs[i]);
}

/* How the integers of |node| are read: multipliers and tables do not tell. */
static void set_reading(qgc_lowering *l, qgc_node *node)
{
    const qgc_view *view = l->view;
    qgc_name scale = qgc_context_name(l->env->context, "origin.scale");
    qgc_name zero_point = qgc_context_name(l->env->context, "origin.zero_point");
    qgc_node_set_extra(node, scale, qgc_attr_from_float(view->output.scale));
    if (node->op != QGC_OP_REQUANTIZE && view->output.zero_point)
        qgc_node_set_extra(node, zero_point, qgc_attr_from_int(view->output.zero_point));
}

static bool is_origin_of_operand(const qgc_node *node, qgc_name mark, qgc_name value)
{
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *operand = qgc_node_operand(node, i);
        const qgc_attr *attr = operand && operand->def ? qgc_node_extra(operand->def, mark) : NULL;
        if (attr && attr->kind == QGC_ATTR_VALUE && attr->name == value)
            return true;
    }
    return false;
}

/* Values of the island that no node stands for: they are passed on the way to |last|. */
static void set_through(qgc_lowering *l, qgc_node *node, const qgc_value *last)
{
    qgc_name mark = qgc_context_name(l->env->context, "origin");
    qgc_attr *list = QGC_NEW_ARRAY(&l->func->module->arena, qgc_attr, l->view->num_nodes);
    uint32_t num = 0;
    for (uint32_t i = 0; i < l->view->num_nodes; i++) {
        const qgc_value *value = &l->view->nodes[i]->results[0];
        bool is_step = qgc_node_op(l->view->nodes[i])->traits & QGC_TRAIT_BARRIER;
        if (!is_step && value != last && !is_origin_of_operand(node, mark, value->name))
            list[num++] = qgc_attr_from_name(QGC_ATTR_VALUE, value->name);
    }
    if (num)
        qgc_node_set_extra(node, qgc_context_name(l->env->context, "origin.through"),
                           (qgc_attr){.kind = QGC_ATTR_LIST, .num = num, .list = list});
}

void qgc_lower_result(qgc_lowering *l, qgc_value *by)
{
    const qgc_node *quantize = l->view->quantize;
    set_through(l, by->def, quantize ? qgc_node_operand(quantize, 0) : l->view->result);
    if (quantize) {
        set_origin(l, by->def, qgc_node_operand(quantize, 0));
        set_reading(l, by->def);
    } else /* the value itself */
        qgc_node_set_extra(by->def, qgc_context_name(l->env->context, "origin"),
                           (qgc_attr){.kind = QGC_ATTR_NONE});
    qgc_value_take_over(l->func, l->view->result, by);
}

/* ---- the epilogue ---- */

static bool all_equal(const float *values, size_t num)
{
    for (size_t i = 1; i < num; i++)
        if (values[i] != values[0])
            return false;
    return true;
}

static void set_floats(qgc_lowering *l, qgc_node *node, const char *name, const float *values,
                       uint32_t num)
{
    float *copy = QGC_NEW_ARRAY(&l->func->module->arena, float, num);
    memcpy(copy, values, num * sizeof *copy);
    qgc_node_set_attr(node, name, (qgc_attr){.kind = QGC_ATTR_FLOATS, .num = num, .floats = copy});
}

/* f32[n,C]. */
static qgc_value *multiplier_table(qgc_lowering *l, const qgc_epilogue *e)
{
    float *values = QGC_NEW_ARRAY(l->env->scratch, float, e->num_terms * e->num_channels);
    memcpy(values, e->multipliers[0], e->num_channels * sizeof *values);
    for (size_t c = 0; c < e->num_channels && e->num_terms > 1; c++)
        values[e->num_channels + c] = e->multipliers[1][0];
    qgc_tensor t = {.dtype = QGC_DTYPE_F32,
                    .rank = 2,
                    .shape = {e->num_terms, (int64_t)e->num_channels},
                    .data = values,
                    .bytes = e->num_terms * e->num_channels * sizeof *values};
    return qgc_lower_tensor(l, &t, ".m");
}

static void set_bounds(qgc_node *node, const qgc_view *view)
{
    qgc_int_range full;
    qgc_quant_dtype_range(view->dtype, &full);
    if (view->range.lo > full.lo)
        qgc_node_set_attr(node, "lo", qgc_attr_from_int(view->range.lo));
    if (view->range.hi < full.hi)
        qgc_node_set_attr(node, "hi", qgc_attr_from_int(view->range.hi));
}

void qgc_lower_requantize(qgc_lowering *l, const qgc_epilogue *e)
{
    const qgc_view *view = l->view;
    bool one_multiplier = !e->positions && all_equal(e->multipliers[0], e->num_channels);
    bool one_c = !e->c || all_equal(e->c, e->num_channels);
    qgc_value *operands[4] = {e->terms[0], e->terms[1]};
    operands[e->num_terms] = e->positions     ? e->positions
                             : one_multiplier ? NULL
                                              : multiplier_table(l, e);
    operands[e->num_terms + 1] = one_c ? NULL : qgc_lower_floats(l, e->c, e->num_channels, ".c");
    qgc_node *node = qgc_lower_node(l, QGC_OP_REQUANTIZE, e->num_terms + 2, operands);
    if (one_multiplier) {
        const float multipliers[] = {e->multipliers[0][0],
                                     e->num_terms > 1 ? e->multipliers[1][0] : 0};
        set_floats(l, node, "multipliers", multipliers, e->num_terms);
    }
    if (e->c && one_c && e->c[0] != 0)
        qgc_node_set_attr(node, "c", qgc_attr_from_float(e->c[0]));
    if (!one_c || (!one_multiplier && !e->positions))
        qgc_node_set_attr(node, "axis", qgc_attr_from_int(view->channel_axis));
    qgc_lower_set_int(node, "zero_point", view->output.zero_point);
    if (e->term_zero_points[0] || e->term_zero_points[1])
        qgc_node_set_attr(
            node, "term_zero_points",
            qgc_attr_from_ints(&l->func->module->arena, e->term_zero_points, e->num_terms));
    set_bounds(node, view);
    node->results[0].type = view->result->type;
    qgc_seams_infer(node);
    qgc_lower_result(l, &node->results[0]);
}

/* ---- one term, two terms ---- */

static float plain_multiplier(const qgc_view *view, const qgc_view_operand *x)
{
    float m = 0;
    qgc_requantize_multiplier(x->params.scales[0], 1.0f, view->output.scale, &m);
    return m;
}

/* -(q - z) = ~q - ~z: a difference is a sum of a term and a complement. */
static qgc_value *complement(qgc_lowering *l, qgc_value *q)
{
    qgc_node *node = qgc_lower_node(l, QGC_OP_BITWISE_NOT, 1, &q);
    return qgc_lower_finish(l, node, ".not");
}

static int64_t complement_of(int64_t zero_point, qgc_dtype dtype)
{
    qgc_int_range full;
    qgc_quant_dtype_range(dtype, &full);
    return (int64_t)full.lo + full.hi - zero_point;
}

static bool lower_terms(qgc_lowering *l)
{
    const qgc_view *view = l->view;
    float multipliers[2] = {0};
    qgc_epilogue e = {.num_terms = view->num_operands, .num_channels = 1};
    for (uint32_t i = 0; i < view->num_operands; i++) {
        const qgc_view_operand *x = &view->operands[i];
        bool is_minus = view->op->op == QGC_OP_SUB && i == 1;
        int64_t zero_point = x->params.zero_points[0];
        multipliers[i] = plain_multiplier(view, x);
        e.multipliers[i] = &multipliers[i];
        e.terms[i] = is_minus ? complement(l, x->value) : x->value;
        e.term_zero_points[i] = is_minus ? complement_of(zero_point, x->dtype) : zero_point;
    }
    qgc_lower_requantize(l, &e);
    return true;
}

static bool lower_mul(qgc_lowering *l)
{
    const qgc_view *view = l->view;
    const qgc_view_operand *a = &view->operands[0], *b = &view->operands[1];
    float m = 0;
    qgc_requantize_multiplier(a->params.scales[0], b->params.scales[0], view->output.scale, &m);
    qgc_node *node = qgc_lower_node(l, QGC_OP_INT_MUL, 2, (qgc_value *[]){a->value, b->value});
    qgc_lower_set_int(node, "a_zero_point", a->params.zero_points[0]);
    qgc_lower_set_int(node, "b_zero_point", b->params.zero_points[0]);
    qgc_epilogue e = {.num_terms = 1, .num_channels = 1, .multipliers = {&m}};
    e.terms[0] = qgc_lower_finish(l, node, ".acc");
    qgc_lower_requantize(l, &e);
    return true;
}

/* ---- means ---- */

static qgc_value *sum_axes(qgc_lowering *l, const qgc_view_counts *counts)
{
    const qgc_node *op = l->view->op;
    const qgc_view_operand *x = &l->view->operands[0];
    bool keeps = op->op == QGC_OP_GLOBAL_AVG_POOL || qgc_node_flag(op, "keepdims");
    qgc_node *node = qgc_lower_node(l, QGC_OP_INT_SUM, 2, (qgc_value *[]){x->value, NULL});
    qgc_node_set_attr(node, "axes",
                      qgc_attr_from_ints(&l->func->module->arena, counts->axes, counts->num_axes));
    if (!keeps)
        qgc_node_set_attr(node, "keepdims", (qgc_attr){.kind = QGC_ATTR_BOOL, .b = false});
    qgc_lower_set_int(node, "x_zero_point", x->params.zero_points[0]);
    return qgc_lower_finish(l, node, ".acc");
}

static qgc_value *sum_windows(qgc_lowering *l)
{
    const qgc_node *op = l->view->op;
    const qgc_view_operand *x = &l->view->operands[0];
    qgc_node *node = qgc_lower_node(l, QGC_OP_INT_SUM_POOL, 2, (qgc_value *[]){x->value, NULL});
    qgc_lower_copy_attrs(node, op);
    if (op->op == QGC_OP_ADAPTIVE_AVG_POOL) {
        int64_t sizes[QGC_MAX_RANK];
        uint32_t num = x->value->type->rank - 2;
        for (uint32_t i = 0; i < num; i++)
            sizes[i] = x->value->type->dims[i + 2].value / qgc_node_int_at(op, "output_size", i);
        qgc_attr attr = qgc_attr_from_ints(&l->func->module->arena, sizes, num);
        qgc_node_set_attr(node, "kernel", attr);
        qgc_node_set_attr(node, "stride", attr);
    }
    qgc_lower_set_int(node, "x_zero_point", x->params.zero_points[0]);
    return qgc_lower_finish(l, node, ".acc");
}

/* f32[1, spatial']: one multiplier per position. */
static qgc_value *position_multipliers(qgc_lowering *l, const qgc_view_counts *counts,
                                       const float *multipliers, size_t num)
{
    qgc_tensor t = {.dtype = QGC_DTYPE_F32,
                    .rank = counts->rank + 1,
                    .shape = {1},
                    .data = (void *)multipliers,
                    .bytes = num * sizeof *multipliers};
    memcpy(t.shape + 1, counts->shape, counts->rank * sizeof *t.shape);
    return qgc_lower_tensor(l, &t, ".m");
}

static bool lower_mean(qgc_lowering *l)
{
    const qgc_view *view = l->view;
    qgc_view_counts counts;
    size_t num = 1;
    if (!qgc_view_count(view, l->env->scratch, &counts, NULL))
        return false;
    for (uint32_t i = 0; i < counts.rank; i++)
        num *= (size_t)counts.shape[i];
    float *multipliers = QGC_NEW_ARRAY(l->env->scratch, float, num);
    for (size_t i = 0; i < num; i++)
        qgc_pool_multiplier(view->operands[0].params.scales[0], counts.counts[i],
                            view->output.scale, &multipliers[i]);
    qgc_epilogue e = {.num_terms = 1, .num_channels = 1, .multipliers = {multipliers}};
    e.terms[0] = counts.num_axes ? sum_axes(l, &counts) : sum_windows(l);
    if (counts.rank)
        e.positions = position_multipliers(l, &counts, multipliers, num);
    qgc_lower_requantize(l, &e);
    return true;
}

/* ---- tables ---- */

/* All 256 values of an 8-bit type, in order. */
static qgc_tensor all_codes(qgc_dtype dtype, uint8_t *bytes)
{
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)(dtype == QGC_DTYPE_I8 ? i - 128 : i);
    return (qgc_tensor){.dtype = dtype, .rank = 1, .shape = {256}, .data = bytes, .bytes = 256};
}

/* A constant operand; a quantized one in floats, in |*owned|. */
static const qgc_tensor *constant_operand(const qgc_value *value, qgc_tensor *owned)
{
    const qgc_node *def = value->def;
    const qgc_tensor *operands[3] = {0};
    if (def->op != QGC_OP_DEQUANTIZE)
        return def->constant;
    for (uint32_t i = 0; i < 3; i++)
        operands[i] = qgc_node_operand(def, i) ? qgc_node_operand(def, i)->def->constant : NULL;
    return qgc_interp_node(def, operands, owned) == QGC_OK ? owned : NULL;
}

/* |node| on |x| in place of the operand |from|, by the reference kernels; |x| becomes the result.
 */
static bool step(const qgc_node *node, const qgc_value *from, qgc_tensor *x)
{
    const qgc_tensor *operands[QGC_MAX_OPERANDS] = {0};
    qgc_tensor result = {0}, owned[QGC_MAX_OPERANDS] = {0};
    bool done = true;
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = qgc_node_operand(node, i);
        if (!value)
            continue;
        operands[i] = value == from ? x : constant_operand(value, &owned[i]);
        done = done && operands[i];
    }
    done = done && qgc_interp_node(node, operands, &result) == QGC_OK;
    for (uint32_t i = 0; i < node->num_operands; i++)
        qgc_tensor_destroy(&owned[i]);
    if (!done)
        return false;
    qgc_tensor_destroy(x);
    *x = result;
    return true;
}

static bool fill_table(const qgc_view *view, const qgc_view_operand *x, qgc_tensor *table)
{
    const qgc_value *from = &x->dequantize->results[0];
    for (uint32_t i = 0; i < view->num_nodes; i++) {
        if (!step(view->nodes[i], from, table))
            return false;
        from = &view->nodes[i]->results[0];
    }
    return true;
}

static bool lower_table(qgc_lowering *l)
{
    const qgc_view *view = l->view;
    const qgc_view_operand *x = view->operands;
    qgc_diag *diag = &l->env->context->diag;
    size_t reported = diag->list.size;
    uint8_t bytes[256];
    while (!x->dequantize || (x->constant && x->constant->bytes == 1)) /* scalar constants */
        x++;
    qgc_tensor codes = all_codes(x->dtype, bytes), table = {0};
    bool done = qgc_tensor_copy(diag, &codes, &table) == QGC_OK &&
                step(x->dequantize, qgc_node_operand(x->dequantize, 0), &table) &&
                fill_table(view, x, &table);
    if (done) {
        qgc_value *entries = qgc_lower_tensor(l, &table, ".table");
        qgc_node *node = qgc_lower_node(l, QGC_OP_LOOKUP, 2, (qgc_value *[]){x->value, entries});
        qgc_seams_infer(node);
        qgc_lower_result(l, &node->results[0]);
    } else {
        qgc_diag_rollback(diag, reported);
        qgc_no_match(l->env, view->op, "its evaluation fails");
    }
    qgc_tensor_destroy(&table);
    return done;
}

/* ---- the pass ---- */

static bool lower(qgc_lowering *l)
{
    switch (l->view->kind) {
    case QGC_VIEW_PRODUCT:
        return qgc_lower_product(l);
    case QGC_VIEW_SUM:
    case QGC_VIEW_SEAM:
        return lower_terms(l);
    case QGC_VIEW_MUL:
        return lower_mul(l);
    case QGC_VIEW_MEAN:
        return lower_mean(l);
    case QGC_VIEW_TABLE:
        return lower_table(l);
    case QGC_VIEW_MOVE:
    case QGC_VIEW_FLOAT:
        break;
    }
    return false;
}

/* |done|: nodes that are dealt with, erased ones among them. */
static void erase_island(const qgc_view *view, qgc_map *done)
{
    for (uint32_t i = view->num_nodes; i-- > 0;) {
        *qgc_map_at(done, view->nodes[i]) = view->nodes[i];
        qgc_node_erase(view->nodes[i]);
    }
}

/* A function before the quantize: the product gives floats, what follows stays as it stands. */
static void cut_off_tail(qgc_view *view, qgc_map *done)
{
    for (uint32_t i = 1; i < view->num_nodes; i++)
        *qgc_map_at(done, view->nodes[i]) = view->nodes[i];
    view->quantize = NULL;
    view->result = &view->op->results[0];
    view->dtype = view->result->type->dtype;
    view->num_nodes = 1;
}

static bool lower_node(qgc_func *func, qgc_node *node, const qgc_pass_env *env, qgc_map *done)
{
    qgc_view view;
    qgc_why why;
    if (!qgc_view_build(node, env->scratch, &view, &why)) {
        if (!qgc_view_is_plumbing(node))
            qgc_no_match(env, node, "[%s] %s", qgc_view_fault_word(why.fault), why.text);
        return false;
    }
    if (view.kind == QGC_VIEW_PRODUCT && view.has_function)
        cut_off_tail(&view, done);
    qgc_lowering l = {env, func, &view, view.nodes[view.num_nodes - 1]};
    if (!lower(&l))
        return false;
    erase_island(&view, done);
    return true;
}

/* The nodes as they are now: lowering adds and erases some. */
static qgc_node **list_nodes(qgc_func *func, qgc_arena *arena, uint32_t *out_num)
{
    *out_num = qgc_func_number(func);
    qgc_node **list = QGC_NEW_ARRAY(arena, qgc_node *, *out_num);
    QGC_EACH_NODE (node, func)
        list[node->id] = node;
    return list;
}

static void lower_func(qgc_func *func, const qgc_pass_env *env)
{
    qgc_map done = {.arena = env->scratch};
    uint32_t num;
    qgc_seams_move(func, env);
    qgc_node **nodes = list_nodes(func, env->scratch, &num);
    for (uint32_t i = 0; i < num; i++)
        if (!qgc_map_get(&done, nodes[i]))
            lower_node(func, nodes[i], env, &done);
    qgc_seams_sweep(func);
}

enum { ALL };

qgc_pass_status pass_lower_integer(qgc_module *module, const qgc_pass_env *env)
{
    bool all = strcmp(env->options[ALL], "true") == 0;
    QGC_EACH_FUNC (func, module)
        if (func->target && (all || !qgc_target_lowers_itself(env->context, func->target)))
            lower_func(func, env);
    return QGC_PASS_CHANGED;
}

/* Quantization steps commute with ops that only move elements. */
#include "passes/seams.h"

#include "ir/view.h"
#include "passes/view.h"
#include "runtime/interp.h"
#include "runtime/tensor.h"

#include <string.h>

void qgc_seams_infer(qgc_node *node)
{
    const qgc_type *types[64];
    QGC_ASSERT(node->num_results <= 64, "%u results", node->num_results);
    memset(types, 0, sizeof types);
    qgc_result result = qgc_node_infer(node, types, false);
    QGC_ASSERT(result == QGC_OK, "%s", qgc_node_op(node)->mnemonic);
    for (uint32_t i = 0; i < node->num_results; i++)
        node->results[i].type = types[i];
}

qgc_value *qgc_seams_constant(qgc_func *func, const qgc_tensor *tensor, qgc_str base,
                              qgc_node *before, qgc_loc loc)
{
    qgc_arena *arena = &func->module->arena;
    qgc_tensor *copy = QGC_NEW(arena, qgc_tensor);
    *copy = *tensor;
    copy->data = qgc_arena_alloc(arena, tensor->bytes);
    if (tensor->bytes)
        memcpy(copy->data, tensor->data, tensor->bytes);
    qgc_node *node = qgc_node_create(func, QGC_OP_CONST, 0, NULL, 1, before, loc);
    node->attrs[0] = (qgc_attr){.kind = QGC_ATTR_TENSOR, .tensor = copy};
    node->constant = copy;
    node->results[0].type = qgc_type_of_tensor(&func->module->context->types, copy);
    qgc_value_set_name(func, &node->results[0], qgc_func_unique_name(func, base));
    return &node->results[0];
}

static bool is_returned(const qgc_value *value)
{
    for (const qgc_use *use = value->first_use; use; use = use->next)
        if (qgc_node_op(use->user)->traits & QGC_TRAIT_TERMINATOR)
            return true;
    return false;
}

static bool is_data(const qgc_node *node, uint32_t index)
{
    return qgc_node_operand(node, index) &&
           qgc_node_op(node)->operands[qgc_node_operand_row(node, index)].quant == QGC_Q_ACT;
}

/* ---- the parameters of a step, carried to another place ---- */

static void copy_attrs(qgc_node *to, const qgc_node *from)
{
    memcpy(to->attrs, from->attrs, qgc_op_num_attrs(qgc_node_op(from)) * sizeof *to->attrs);
    to->scope = from->scope;
}

/* The step |like|, of |x|, before |before|. |type|: of the result. */
static qgc_node *clone_step(const qgc_node *like, qgc_value *x, qgc_node *before, qgc_str base)
{
    qgc_func *func = like->func;
    qgc_value *operands[] = {x, qgc_node_operand(like, 1), qgc_node_operand(like, 2)};
    qgc_node *node = qgc_node_create(func, like->op, 3, operands, 1, before, like->loc);
    copy_attrs(node, like);
    node->results[0].type =
        qgc_type_with_dtype(&func->module->context->types, x->type, like->results[0].type->dtype);
    qgc_value_set_name(func, &node->results[0], qgc_func_unique_name(func, base));
    return node;
}

static bool same_step(const qgc_node *a, const qgc_node *b)
{
    if (a->op != b->op || a->results[0].type->dtype != b->results[0].type->dtype ||
        qgc_node_operand(a, 1) != qgc_node_operand(b, 1) ||
        qgc_node_operand(a, 2) != qgc_node_operand(b, 2))
        return false;
    for (uint32_t i = 0; i < qgc_op_num_attrs(qgc_node_op(a)); i++)
        if (!qgc_attr_equal(&a->attrs[i], &b->attrs[i]))
            return false;
    return true;
}

static qgc_str with_suffix(qgc_func *func, const qgc_value *value, const char *suffix)
{
    return qgc_str_from(qgc_arena_printf(&func->module->arena, "%s%s", value->name->data, suffix));
}

/* ---- equal quantizes ---- */

/* |kept| stands before |again| afterwards: it reads the same values. */
static void merge(qgc_node *kept, qgc_node *again)
{
    for (qgc_node *node = again->next; node; node = node->next)
        if (node == kept) {
            qgc_node_move_before(kept, again);
            break;
        }
    qgc_value_replace_uses(&again->results[0], &kept->results[0]);
    qgc_node_erase(again);
}

static bool merge_quantizes(qgc_value *value)
{
    bool changed = false;
    for (qgc_use *use = value->first_use; use; use = use->next) {
        if (use->user->op != QGC_OP_QUANTIZE)
            continue;
        for (qgc_use *other = use->next, *next; other; other = next) {
            next = other->next;
            qgc_node *again = other->user;
            if (again->op != QGC_OP_QUANTIZE || !same_step(use->user, again) ||
                is_returned(&again->results[0]))
                continue;
            merge(use->user, again);
            changed = true;
        }
    }
    return changed;
}

/* ---- quantize of a dequantize with the same parameters ---- */

static bool covers(const qgc_node *quantize)
{
    qgc_int_range full;
    if (!qgc_node_has(quantize, "range"))
        return true;
    qgc_quant_dtype_range(quantize->results[0].type->dtype, &full);
    return qgc_node_int_at(quantize, "range", 0) <= full.lo &&
           qgc_node_int_at(quantize, "range", 1) >= full.hi;
}

static bool remove_pair(qgc_node *quantize, const qgc_pass_env *env)
{
    qgc_node *dequantize = qgc_node_operand(quantize, 0)->def;
    qgc_view_params in, out;
    if (!dequantize || dequantize->op != QGC_OP_DEQUANTIZE || is_returned(&quantize->results[0]) ||
        !covers(quantize))
        return false;
    qgc_value *q = qgc_node_operand(dequantize, 0);
    if (q->type->dtype != quantize->results[0].type->dtype || q->type->dtype == QGC_DTYPE_I32 ||
        !qgc_view_read_params(dequantize, env->scratch, &in, NULL) ||
        !qgc_view_read_params(quantize, env->scratch, &out, NULL) ||
        !qgc_view_same_params(&in, &out))
        return false;
    qgc_value_replace_uses(&quantize->results[0], q);
    qgc_node_erase(quantize);
    return true;
}

/* ---- integers that were cast to floats ---- */

static bool leads_to_step(const qgc_value *value)
{
    for (const qgc_use *use = value->first_use; use; use = use->next)
        if (use->user->op == QGC_OP_QUANTIZE || qgc_view_moves(use->user))
            return true;
    return false;
}

/* A cast of 8 or 16 bits to f32 is a dequantize with scale 1. */
static bool read_cast(qgc_node *cast)
{
    const qgc_value *x = qgc_node_operand(cast, 0);
    qgc_func *func = cast->func;
    if (!(QGC_T_INT816 >> x->type->dtype & 1) || cast->results[0].type->dtype != QGC_DTYPE_F32 ||
        !leads_to_step(&cast->results[0]))
        return false;
    qgc_value *operands[] = {qgc_node_operand(cast, 0), NULL, NULL};
    qgc_node *node = qgc_node_create(func, QGC_OP_DEQUANTIZE, 3, operands, 1, cast, cast->loc);
    qgc_node_set_attr(node, "scale", qgc_attr_from_float(1.0f));
    node->scope = cast->scope;
    node->results[0].type = cast->results[0].type;
    qgc_value_take_over(func, &cast->results[0], &node->results[0]);
    qgc_node_erase(cast);
    return true;
}

/* ---- quantize before what moves ---- */

/* The integer that |value|, a constant or nothing (0), becomes; as a const op. NULL: none does. */
static qgc_value *quantize_constant(const qgc_node *like, const qgc_value *value, qgc_node *before)
{
    float zero = 0;
    qgc_tensor x = {.dtype = QGC_DTYPE_F32, .data = &zero, .bytes = sizeof zero};
    if (value && (!value->def || !value->def->constant))
        return NULL;
    if (value)
        x = *value->def->constant;
    const qgc_tensor *operands[3] = {&x};
    for (uint32_t i = 1; i < 3; i++) {
        const qgc_value *operand = qgc_node_operand(like, i);
        operands[i] = operand ? operand->def->constant : NULL;
    }
    qgc_tensor q;
    if (qgc_interp_node(like, operands, &q) != QGC_OK)
        return NULL;
    qgc_str base = value ? with_suffix(like->func, value, ".q")
                         : with_suffix(like->func, &like->results[0], ".0");
    qgc_value *result = qgc_seams_constant(like->func, &q, base, before, like->loc);
    qgc_tensor_destroy(&q);
    return result;
}

static bool fills(const qgc_node *node)
{
    return node->op == QGC_OP_PAD && qgc_node_word(node, "mode") == 0;
}

enum { PAD_VALUE = 2 };

/* A window that may lie outside of x as a whole: its -inf is no quantized value. */
static bool may_be_empty(const qgc_node *node)
{
    if (node->op != QGC_OP_MAX_POOL)
        return false;
    uint32_t num = qgc_node_list_size(node, "kernel");
    QGC_ASSERT(num, "rule max_pool_c1");
    bool dilated = false, padded = qgc_node_word(node, "auto_pad") != QGC_PAD_NONE;
    for (uint32_t i = 0; i < num; i++)
        dilated |= qgc_node_int_at(node, "dilation", i) > 1;
    for (uint32_t i = 0; i < qgc_node_list_size(node, "padding"); i++) {
        int64_t padding = qgc_node_int_at(node, "padding", i);
        padded |= padding > 0;
        if (padding >= qgc_node_int_at(node, "kernel", i % num))
            return true;
    }
    return padded && dilated;
}

static bool moves_elements(const qgc_node *node)
{
    return qgc_view_moves(node) && !may_be_empty(node);
}

/* |step|, a quantize, has the only use of the result of |moves|. */
static bool can_hoist(const qgc_node *moves, const qgc_node *step)
{
    if (!moves_elements(moves) || moves->num_results != 1 || moves->results[0].num_uses != 1 ||
        moves->results[0].type->dtype != QGC_DTYPE_F32 || qgc_node_has(step, "axis"))
        return false;
    for (uint32_t i = 1; i < 3; i++) {
        const qgc_value *operand = qgc_node_operand(step, i);
        if (operand && (!operand->def || !operand->def->constant))
            return false;
    }
    const qgc_value *fill = fills(moves) ? qgc_node_operand(moves, PAD_VALUE) : NULL;
    if (fill && (!fill->def || !fill->def->constant))
        return false;
    for (uint32_t i = 0; i < moves->num_operands && qgc_view_compares(moves); i++)
        if (is_data(moves, i) && (!qgc_node_operand(moves, i)->def ||
                                  qgc_node_operand(moves, i)->def->op != QGC_OP_DEQUANTIZE))
            return false;
    return true;
}

/* The op |moves| on other operands, without result names. */
static qgc_node *clone_moving(const qgc_node *moves, qgc_value *const *operands, qgc_node *before)
{
    qgc_node *node = qgc_node_create(moves->func, moves->op, moves->num_operands, operands,
                                     moves->num_results, before, moves->loc);
    copy_attrs(node, moves);
    for (uint32_t i = 0; i < moves->num_extra; i++)
        qgc_node_set_extra(node, moves->extra[i].name, moves->extra[i].value);
    qgc_seams_infer(node);
    return node;
}

static qgc_value *hoisted_operand(const qgc_node *step, qgc_value *x, qgc_node *before)
{
    qgc_value *constant = x->def && x->def->constant ? quantize_constant(step, x, before) : NULL;
    if (constant)
        return constant;
    return &clone_step(step, x, before, with_suffix(step->func, x, ".q"))->results[0];
}

/* Constants that |step| reads and that stand behind |moves| go to the front. */
static void raise_constants(const qgc_node *moves, const qgc_node *step)
{
    for (qgc_node *node = moves->next, *next; node != step; node = next) {
        next = node->next;
        for (uint32_t i = 1; i < step->num_operands; i++)
            if (qgc_node_operand(step, i) == &node->results[0])
                qgc_node_move_before(node, step->func->first);
    }
}

static bool hoist(qgc_node *step, const qgc_pass_env *env)
{
    qgc_node *moves = qgc_node_operand(step, 0)->def;
    if (!moves || !can_hoist(moves, step))
        return false;
    raise_constants(moves, step);
    qgc_value **operands = QGC_NEW_ARRAY(env->scratch, qgc_value *, moves->num_operands);
    for (uint32_t i = 0; i < moves->num_operands; i++) {
        operands[i] = qgc_node_operand(moves, i);
        for (uint32_t k = 0; k < i && is_data(moves, i); k++) /* concat of a value with itself */
            if (qgc_node_operand(moves, k) == qgc_node_operand(moves, i))
                operands[i] = operands[k];
        if (is_data(moves, i) && operands[i] == qgc_node_operand(moves, i))
            operands[i] = hoisted_operand(step, operands[i], moves);
    }
    if (fills(moves))
        operands[PAD_VALUE] = quantize_constant(step, operands[PAD_VALUE], moves);
    qgc_node *node = clone_moving(moves, operands, moves);
    qgc_value_take_over(step->func, &step->results[0], &node->results[0]);
    qgc_node_erase(step);
    qgc_node_erase(moves);
    return true;
}

/* ---- dequantize behind what moves ---- */

/* The dequantize that all data operands of |moves| share, but for the integers. */
static qgc_node *common_step(const qgc_node *moves)
{
    qgc_node *step = NULL;
    for (uint32_t i = 0; i < moves->num_operands; i++) {
        if (!is_data(moves, i))
            continue;
        qgc_node *def = qgc_node_operand(moves, i)->def;
        if (!def || def->op != QGC_OP_DEQUANTIZE || qgc_node_has(def, "axis") ||
            def->results[0].type->dtype != QGC_DTYPE_F32)
            return NULL;
        if (step && (!same_step(step, def) || qgc_node_operand(step, 0)->type->dtype !=
                                                  qgc_node_operand(def, 0)->type->dtype))
            return NULL;
        step = def;
    }
    return step;
}

/* The integer that stands for what pad fills in, exactly; NULL: there is none. */
static qgc_value *exact_fill(const qgc_node *moves, const qgc_node *step, qgc_arena *arena)
{
    const qgc_value *fill = qgc_node_operand(moves, PAD_VALUE);
    const qgc_tensor *data = fill && fill->def ? fill->def->constant : NULL;
    float x = data ? *(const float *)data->data : 0.0f;
    qgc_view_params params;
    qgc_int_range range;
    if ((fill && !data) || !qgc_view_read_params(step, arena, &params, NULL) || !params.scales ||
        !params.zero_points)
        return NULL;
    qgc_dtype dtype = qgc_node_operand(step, 0)->type->dtype;
    qgc_quant_dtype_range(dtype, &range);
    qgc_qparams scalar = {params.scales[0], params.zero_points[0]};
    int32_t q = qgc_quantize(x, scalar, range, QGC_QUANTIZE_MULTIPLY);
    if (qgc_dequantize(q, scalar) != x)
        return NULL;
    qgc_tensor t = {.dtype = dtype, .data = &q, .bytes = qgc_dtype_bytes(dtype)};
    return qgc_seams_constant(moves->func, &t, with_suffix(moves->func, &moves->results[0], ".0"),
                              (qgc_node *)moves, moves->loc);
}

static bool sink(qgc_node *moves, const qgc_pass_env *env)
{
    qgc_node *step = moves_elements(moves) ? common_step(moves) : NULL;
    if (!step)
        return false;
    qgc_value *fill = fills(moves) ? exact_fill(moves, step, env->scratch) : NULL;
    if (fills(moves) && !fill)
        return false;
    qgc_value **operands = QGC_NEW_ARRAY(env->scratch, qgc_value *, moves->num_operands);
    for (uint32_t i = 0; i < moves->num_operands; i++) {
        qgc_value *x = qgc_node_operand(moves, i);
        operands[i] = is_data(moves, i) ? qgc_node_operand(x->def, 0) : x;
    }
    if (fill)
        operands[PAD_VALUE] = fill;
    qgc_node *node = clone_moving(moves, operands, moves);
    for (uint32_t i = 0; i < node->num_results; i++) {
        qgc_value *old = &moves->results[i];
        qgc_value_set_name(moves->func, &node->results[i],
                           qgc_func_unique_name(moves->func, with_suffix(moves->func, old, ".q")));
        qgc_node *behind = clone_step(step, &node->results[i], moves, qgc_name_str(old->name));
        qgc_value_take_over(moves->func, old, &behind->results[0]);
    }
    qgc_node_erase(moves);
    return true;
}

/* ---- */

bool qgc_seams_sweep(qgc_func *func)
{
    bool changed = false;
    for (qgc_node *node = func->last, *previous; node; node = previous) {
        previous = node->previous;
        bool is_plumbing =
            node->op == QGC_OP_DEQUANTIZE || qgc_node_op(node)->traits & QGC_TRAIT_CONSTANT;
        if (!is_plumbing || node->results[0].num_uses)
            continue;
        qgc_node_erase(node);
        changed = true;
    }
    return changed;
}

static bool merge_all(qgc_func *func)
{
    bool changed = false;
    for (uint32_t i = 0; i < func->num_params; i++)
        changed |= merge_quantizes(&func->params[i]);
    QGC_EACH_NODE (node, func)
        for (uint32_t i = 0; i < node->num_results; i++)
            changed |= merge_quantizes(&node->results[i]);
    return changed;
}

/* Backwards: the steps that a hoist makes stand before it, so they come next. */
static bool hoist_all(qgc_func *func, const qgc_pass_env *env)
{
    bool changed = false;
    for (qgc_node *node = func->last, *previous; node; node = previous) {
        qgc_node *behind = node->next;
        bool hoisted = node->op == QGC_OP_QUANTIZE && hoist(node, env);
        previous = hoisted ? behind->previous : node->previous;
        changed |= hoisted;
    }
    return changed;
}

bool qgc_seams_move(qgc_func *func, const qgc_pass_env *env)
{
    bool changed = merge_all(func);
    for (qgc_node *node = func->first, *next; node; node = next) {
        next = node->next;
        changed |= node->op == QGC_OP_CAST && read_cast(node);
    }
    changed |= hoist_all(func, env);
    changed |= merge_all(func);
    for (qgc_node *node = func->first, *next; node; node = next) {
        next = node->next;
        changed |= sink(node, env);
    }
    for (qgc_node *node = func->first, *next; node; node = next) {
        next = node->next;
        if (node->op == QGC_OP_QUANTIZE)
            changed |= remove_pair(node, env);
    }
    return changed;
}

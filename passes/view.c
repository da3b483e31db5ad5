/* Views of islands: operands, kind, what stands between the op and its quantize. */
#include "passes/view.h"

#include "ir/view.h"
#include "passes/view_parts.h"

#include <string.h>

const char *qgc_view_fault_word(qgc_view_fault fault)
{
    static const char *const words[] = {
#define WORD(id, word) word,
        QGC_VIEW_FAULTS(WORD)
#undef WORD
    };
    return words[fault];
}

bool qgc_why_not(qgc_arena *arena, qgc_why *why, qgc_view_fault fault, const char *format, ...)
{
    if (!why)
        return false;
    va_list args;
    va_start(args, format);
    *why = (qgc_why){.fault = fault, .text = qgc_arena_vprintf(arena, format, args)};
    va_end(args);
    return false;
}

/* ---- what ops are ---- */

static const struct {
    const char *mnemonic;
    qgc_view_kind kind;
} kinds[] = {
    {"add", QGC_VIEW_SUM},
    {"sub", QGC_VIEW_SUM},
    {"mul", QGC_VIEW_MUL},
    {"relu", QGC_VIEW_SEAM},
    {"clip", QGC_VIEW_SEAM},
    {"quantize", QGC_VIEW_SEAM},
    {"reduce_mean", QGC_VIEW_MEAN},
    {"reduce_sum", QGC_VIEW_MEAN},
    {"avg_pool", QGC_VIEW_MEAN},
    {"adaptive_avg_pool", QGC_VIEW_MEAN},
    {"global_avg_pool", QGC_VIEW_MEAN},
};

static qgc_view_kind kind_of(const qgc_node *node)
{
    if (qgc_view_is_product(node->op))
        return QGC_VIEW_PRODUCT;
    bool is_bounded = node->op == QGC_OP_RELU || node->op == QGC_OP_CLIP;
    if (is_bounded && !qgc_view_is_clip(node, qgc_node_operand(node, 0)))
        return QGC_VIEW_FLOAT;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(qgc_node_op(node)->mnemonic, kinds[i].mnemonic) == 0)
            return kinds[i].kind;
    return QGC_VIEW_FLOAT;
}

bool qgc_view_is_plumbing(const qgc_node *node)
{
    uint32_t traits = qgc_node_op(node)->traits;
    return traits & (QGC_TRAIT_CONSTANT | QGC_TRAIT_TERMINATOR | QGC_TRAIT_CALL) ||
           node->op == QGC_OP_QUANTIZE || node->op == QGC_OP_DEQUANTIZE ||
           node->op == QGC_OP_CHOOSE_QPARAMS;
}

bool qgc_view_compares(const qgc_node *node)
{
    return node->op == QGC_OP_MAX_POOL || node->op == QGC_OP_GLOBAL_MAX_POOL ||
           node->op == QGC_OP_ADAPTIVE_MAX_POOL || node->op == QGC_OP_REDUCE_MAX ||
           node->op == QGC_OP_REDUCE_MIN;
}

/* Nearest neighbours are picked; only what lies outside is made. */
static bool is_nearest(const qgc_node *node)
{
    enum { NEAREST = 0, CROP = 5 };
    return node->op == QGC_OP_RESIZE && qgc_node_word(node, "mode") == NEAREST &&
           qgc_node_word(node, "coordinates") != CROP;
}

bool qgc_view_moves(const qgc_node *node)
{
    const qgc_op_info *op = qgc_node_op(node);
    if (is_nearest(node))
        return true;
    return op->results[0].quant == QGC_Q_SHARE &&
           (op->traits & QGC_TRAIT_MOVES || qgc_view_compares(node));
}

/* ---- parameters ---- */

static bool same_tensor(const qgc_view_params *a, const qgc_view_params *b)
{
    return a->scales && b->scales && a->zero_points && b->zero_points && a->num == 1 && b->num == 1;
}

bool qgc_view_same_params(const qgc_view_params *a, const qgc_view_params *b)
{
    return same_tensor(a, b) && a->scales[0] == b->scales[0] &&
           a->zero_points[0] == b->zero_points[0];
}

/* The contents of optional operand |index|; false where it is a constant without data. */
static bool operand_data(const qgc_node *node, uint32_t index, qgc_value **out_value,
                         const qgc_tensor **out)
{
    qgc_value *value = qgc_node_operand(node, index);
    *out_value = value;
    *out = value && value->def ? value->def->constant : NULL;
    return *out || !value || !value->def || !(qgc_node_op(value->def)->traits & QGC_TRAIT_CONSTANT);
}

bool qgc_view_read_params(const qgc_node *node, qgc_arena *arena, qgc_view_params *out,
                          qgc_why *why)
{
    const qgc_tensor *scale, *zero_point;
    *out = (qgc_view_params){.num = 1};
    if (!operand_data(node, 1, &out->scale_value, &scale) ||
        !operand_data(node, 2, &out->zero_point_value, &zero_point))
        return qgc_why_not(arena, why, QGC_FAULT_PARAMETERS,
                           "the scale of %%%s has no data: no weights file is open",
                           node->results[0].name->data);
    float *scales = QGC_NEW(arena, float);
    int32_t *zero_points = QGC_NEW(arena, int32_t);
    if (!out->scale_value)
        *scales = qgc_node_float(node, "scale"), out->scales = scales;
    if (!out->zero_point_value)
        *zero_points = (int32_t)qgc_node_int(node, "zero_point"), out->zero_points = zero_points;
    if (scale)
        out->scales = scale->data, out->scale_value = NULL;
    if (zero_point)
        out->zero_points = zero_point->data, out->zero_point_value = NULL;
    if (!qgc_node_has(node, "axis"))
        return true;
    const qgc_type *type = qgc_node_operand(node, 0)->type;
    int64_t axis = qgc_node_int(node, "axis");
    out->per_channel = true;
    out->axis = (uint32_t)(axis < 0 ? axis + type->rank : axis);
    if (!scale || (!zero_point && qgc_node_operand(node, 2)))
        return qgc_why_not(arena, why, QGC_FAULT_PARAMETERS,
                           "scales per channel of %%%s are computed at run time",
                           node->results[0].name->data);
    out->num = scale->bytes / sizeof(float);
    if (!zero_point) {
        int32_t *filled = QGC_NEW_ARRAY(arena, int32_t, out->num);
        for (size_t i = 0; i < out->num; i++)
            filled[i] = zero_points[0];
        out->zero_points = filled;
    }
    return true;
}

/* ---- operands ---- */

bool qgc_view_read_operand(qgc_value *value, qgc_arena *arena, qgc_view_operand *out, qgc_why *why)
{
    qgc_node *def = value->def;
    *out = (qgc_view_operand){.value = value};
    if (def && def->op == QGC_OP_DEQUANTIZE) {
        if (value->type->dtype != QGC_DTYPE_F32)
            return qgc_why_not(arena, why, QGC_FAULT_ELEMENT_TYPE, "%%%s is %s, expected f32",
                               value->name->data, qgc_dtype_name(value->type->dtype));
        out->dequantize = def;
        out->value = qgc_node_operand(def, 0);
        if (!qgc_view_read_params(def, arena, &out->params, why))
            return false;
    }
    def = out->value->def;
    out->dtype = out->value->type->dtype;
    out->is_constant = def && qgc_node_op(def)->traits & QGC_TRAIT_CONSTANT;
    out->constant = def ? def->constant : NULL;
    return true;
}

const char *qgc_view_source_text(qgc_arena *arena, const qgc_value *value)
{
    return qgc_arena_printf(arena, "%%%s is %s, %s%s", value->name->data,
                            qgc_type_str(arena, value->type), value->def ? "from " : "a parameter",
                            value->def ? qgc_node_op(value->def)->mnemonic : "");
}

static bool is_data(const qgc_node *node, uint32_t index)
{
    qgc_quant_rule quant = qgc_node_op(node)->operands[qgc_node_operand_row(node, index)].quant;
    return qgc_node_operand(node, index) && (quant == QGC_Q_ACT || quant == QGC_Q_WEIGHT);
}

static bool read_operands(qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    qgc_node *op = view->op;
    uint32_t *slots = QGC_NEW_ARRAY(arena, uint32_t, op->num_operands);
    view->operands = QGC_NEW_ARRAY(arena, qgc_view_operand, op->num_operands);
    view->slots = slots;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        if (op->op == QGC_OP_QUANTIZE ? i > 0 : !is_data(op, i))
            continue;
        slots[view->num_operands] = i;
        if (!qgc_view_read_operand(qgc_node_operand(op, i), arena,
                                   &view->operands[view->num_operands++], why))
            return false;
    }
    return true;
}

static bool is_scalar(const qgc_tensor *data)
{
    return data && data->bytes == qgc_dtype_bytes(data->dtype);
}

bool qgc_view_is_scalar_constant(const qgc_value *value)
{
    const qgc_node *def = value ? value->def : NULL;
    if (def && def->op == QGC_OP_DEQUANTIZE && qgc_node_operand(def, 0)->def) {
        const qgc_value *scale = qgc_node_operand(def, 1), *zero_point = qgc_node_operand(def, 2);
        return is_scalar(qgc_node_operand(def, 0)->def->constant) &&
               (!scale || (scale->def && scale->def->constant)) &&
               (!zero_point || (zero_point->def && zero_point->def->constant));
    }
    return !value || (def && is_scalar(def->constant));
}

static bool is_tensor_wise(const qgc_view_operand *operand)
{
    return operand->dequantize && !operand->params.per_channel && operand->params.scales &&
           operand->params.zero_points;
}

/* One 8-bit operand per tensor, of the result's shape; all else is scalar constants. */
static bool is_table(const qgc_view *view)
{
    const qgc_node *op = view->op;
    uint32_t num = 0;
    if (!(qgc_node_op(op)->traits & QGC_TRAIT_ELEMENTWISE))
        return false;
    for (uint32_t i = 0; i < op->num_operands; i++)
        num += !qgc_view_is_scalar_constant(qgc_node_operand(op, i));
    for (uint32_t i = 0; i < view->num_operands && num == 1; i++) {
        const qgc_value *value = qgc_node_operand(op, view->slots[i]);
        if (!qgc_view_is_scalar_constant(value))
            return is_tensor_wise(&view->operands[i]) &&
                   qgc_dtype_bytes(view->operands[i].dtype) == 1 &&
                   op->results[0].type == value->type;
    }
    return false;
}

static uint32_t num_quantized(const qgc_view *view)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < view->num_operands; i++)
        num += view->operands[i].dequantize != NULL;
    return num;
}

/* ---- kinds ---- */

static bool is_int816(qgc_dtype dtype)
{
    return QGC_T_INT816 >> dtype & 1;
}

/* Whether all operands are quantized per tensor with known parameters. */
static bool all_tensor_wise(const qgc_view *view)
{
    for (uint32_t i = 0; i < view->num_operands; i++)
        if (!is_tensor_wise(&view->operands[i]))
            return false;
    return view->num_operands > 0;
}

/* What is no integer op in this spelling stays as it stands. */
static qgc_view_kind settle_kind(const qgc_view *view, qgc_view_kind wanted)
{
    if (wanted == QGC_VIEW_PRODUCT)
        return wanted;
    if ((wanted != QGC_VIEW_SEAM || view->has_function) && is_table(view))
        return QGC_VIEW_TABLE;
    if (view->has_function)
        return QGC_VIEW_FLOAT;
    bool sums = all_tensor_wise(view);
    for (uint32_t i = 0; i < view->num_operands && wanted != QGC_VIEW_SEAM; i++)
        sums = sums && is_int816(view->operands[i].dtype);
    if (sums && view->quantize && wanted != QGC_VIEW_FLOAT)
        return wanted;
    return is_table(view) ? QGC_VIEW_TABLE : QGC_VIEW_FLOAT; /* relu to a float output */
}

static bool check_quantized(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    if (num_quantized(view))
        return true;
    if (!view->num_operands)
        return qgc_why_not(arena, why, QGC_FAULT_NOT_QUANTIZED, "no operand can be quantized");
    const qgc_operand_spec *row =
        &qgc_node_op(view->op)->operands[qgc_node_operand_row(view->op, view->slots[0])];
    return qgc_why_not(arena, why, QGC_FAULT_NOT_QUANTIZED, "%s is not quantized: %s", row->name,
                       qgc_view_source_text(arena, view->operands[0].value));
}

/* Every multiplier that lowering will write is a valid one. */
static bool check_multipliers(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    bool is_sum = view->kind == QGC_VIEW_SUM || view->kind == QGC_VIEW_SEAM;
    qgc_quant_fault fault = QGC_QUANT_OK;
    float m;
    for (uint32_t i = 0; is_sum && i < view->num_operands && fault == QGC_QUANT_OK; i++)
        fault = qgc_requantize_multiplier(view->operands[i].params.scales[0], 1.0f,
                                          view->output.scale, &m);
    if (view->kind == QGC_VIEW_MUL)
        fault =
            qgc_requantize_multiplier(view->operands[0].params.scales[0],
                                      view->operands[1].params.scales[0], view->output.scale, &m);
    if (fault == QGC_QUANT_OK)
        return true;
    return qgc_why_not(arena, why, QGC_FAULT_PARAMETERS, "the multiplier to %%%s: %s",
                       view->result->name->data, qgc_quant_fault_text(fault));
}

static bool finish_kind(qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    view->kind = settle_kind(view, kind_of(view->op));
    if (view->kind == QGC_VIEW_PRODUCT)
        return qgc_view_finish_product(view, arena, why);
    qgc_view_counts counts;
    if (view->kind == QGC_VIEW_MEAN && !qgc_view_count(view, arena, &counts, why))
        return false;
    return check_multipliers(view, arena, why);
}

/* Integers in, integers out: nothing to look at but the op. */
static bool build_move(qgc_view *view, qgc_arena *arena)
{
    view->kind = QGC_VIEW_MOVE;
    view->nodes = QGC_NEW(arena, qgc_node *);
    view->nodes[0] = view->op;
    view->num_nodes = 1;
    view->result = &view->op->results[0];
    view->dtype = view->result->type->dtype;
    return true;
}

bool qgc_view_build(qgc_node *op, qgc_arena *arena, qgc_view *out, qgc_why *why)
{
    *out = (qgc_view){.op = op};
    bool is_seam = op->op == QGC_OP_QUANTIZE && qgc_node_operand(op, 0)->def &&
                   qgc_node_operand(op, 0)->def->op == QGC_OP_DEQUANTIZE;
    if (qgc_view_is_plumbing(op) && !is_seam)
        return qgc_why_not(arena, why, QGC_FAULT_NOT_AN_OP, "nothing to claim");
    if (!read_operands(out, arena, why))
        return false;
    if (qgc_view_moves(op) && out->num_operands && is_int816(out->operands[0].dtype) &&
        !out->operands[0].dequantize)
        return build_move(out, arena);
    if (!check_quantized(out, arena, why))
        return false;
    if (!is_seam && op->results[0].type->dtype != QGC_DTYPE_F32)
        return qgc_why_not(arena, why, QGC_FAULT_ELEMENT_TYPE, "the result is %s, expected f32",
                           qgc_dtype_name(op->results[0].type->dtype));
    if (!qgc_view_follow(out, arena, why))
        return false;
    return finish_kind(out, arena, why);
}

static bool is_float_op(const qgc_view *view)
{
    for (uint32_t i = 0; i < view->num_operands; i++)
        if (view->operands[i].dequantize || view->operands[i].dtype != QGC_DTYPE_F32)
            return false;
    return view->num_operands && view->op->results[0].type->dtype == QGC_DTYPE_F32;
}

bool qgc_view_build_float(qgc_node *op, qgc_arena *arena, qgc_view *out, qgc_why *why)
{
    *out = (qgc_view){.op = op};
    if (qgc_view_is_plumbing(op))
        return qgc_why_not(arena, why, QGC_FAULT_NOT_AN_OP, "nothing to claim");
    if (!read_operands(out, arena, why))
        return false;
    if (!is_float_op(out))
        return qgc_why_not(arena, why, QGC_FAULT_NOT_QUANTIZED,
                           "some operands are quantized, others are not");
    out->kind = QGC_VIEW_FLOAT;
    out->nodes = QGC_NEW(arena, qgc_node *);
    out->nodes[0] = op;
    out->num_nodes = 1;
    out->result = &op->results[0];
    out->dtype = QGC_DTYPE_F32;
    return !qgc_view_is_product(op->op) || qgc_view_finish_float_product(out, arena, why);
}

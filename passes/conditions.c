/* The named conditions of claim rows. */
#include "ir/view.h"
#include "passes/claims.h"

static bool k_fits_i32(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    return view->kind != QGC_VIEW_PRODUCT || qgc_view_accumulates(view, 0, arena, why);
}

static bool groups_divide(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    const qgc_type *x = view->operands[0].value->type;
    if (view->num_channels && x->rank > 1 && qgc_dim_is_number(x->dims[1]))
        return true;
    return qgc_why_not(arena, why, QGC_FAULT_CONDITION, "x is %s: its channels are no number",
                       qgc_type_str(arena, x));
}

static bool shape_known(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    if (!view->result->type->is_static)
        return qgc_why_not(arena, why, QGC_FAULT_CONDITION, "%%%s is %s", view->result->name->data,
                           qgc_type_str(arena, view->result->type));
    for (uint32_t i = 0; i < view->num_operands; i++) {
        const qgc_value *value = view->operands[i].value;
        if (!value->type->is_static)
            return qgc_why_not(arena, why, QGC_FAULT_CONDITION, "%%%s is %s", value->name->data,
                               qgc_type_str(arena, value->type));
    }
    return true;
}

static bool w_symmetric(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    const qgc_view_params *w = &view->operands[view->num_operands - 1].params;
    for (size_t c = 0; c < w->num && w->zero_points; c++)
        if (w->zero_points[c] != 0)
            return qgc_why_not(arena, why, QGC_FAULT_CONDITION, "zero point %d of w is %d", (int)c,
                               w->zero_points[c]);
    return w->zero_points || qgc_why_not(arena, why, QGC_FAULT_CONDITION,
                                         "the zero point of w is computed at run time");
}

static bool integer(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    return view->kind != QGC_VIEW_FLOAT ||
           qgc_why_not(arena, why, QGC_FAULT_CONDITION, "%s to %%%s is no integer op",
                       qgc_node_op(view->op)->mnemonic, view->result->name->data);
}

static bool last_axis(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    int64_t rank = view->op->results[0].type->rank;
    int64_t axis = qgc_op_attr_index(qgc_node_op(view->op), qgc_str_from("axis")) < 0
                       ? rank - 1
                       : qgc_node_int(view->op, "axis");
    return axis == -1 || axis == rank - 1 ||
           qgc_why_not(arena, why, QGC_FAULT_CONDITION, "axis is %lld of %lld dimensions",
                       (long long)axis, (long long)rank);
}

static bool scales_known(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    for (uint32_t i = 0; i < view->num_operands; i++) {
        const qgc_view_operand *x = &view->operands[i];
        if (x->dequantize && (!x->params.scales || !x->params.zero_points))
            return qgc_why_not(arena, why, QGC_FAULT_CONDITION,
                               "the scale of %%%s is computed at run time", x->value->name->data);
    }
    return true;
}

static bool same_shapes(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    const qgc_type *y = view->result->type;
    for (uint32_t i = 0; i < view->num_operands; i++) {
        const qgc_type *x = view->operands[i].value->type;
        bool same = x->rank == y->rank;
        for (uint32_t d = 0; same && d < y->rank; d++)
            same = qgc_dim_equal(x->dims[d], y->dims[d]);
        if (!same)
            return qgc_why_not(arena, why, QGC_FAULT_CONDITION, "%%%s is %s, the result is %s",
                               view->operands[i].value->name->data, qgc_type_str(arena, x),
                               qgc_type_str(arena, y));
    }
    return true;
}

static bool add_in_8_bits(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    return !view->has_add || qgc_dtype_bytes(view->extra.dtype) == 1 ||
           qgc_why_not(arena, why, QGC_FAULT_CONDITION, "the fused term %%%s is %s",
                       view->extra.value->name->data, qgc_dtype_name(view->extra.dtype));
}

static bool b_is_matrix(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    const qgc_value *a = view->operands[0].value, *b = view->operands[1].value;
    return (a->type->rank >= 2 && b->type->rank == 2) ||
           qgc_why_not(arena, why, QGC_FAULT_CONDITION, "%%%s is %s", b->name->data,
                       qgc_type_str(arena, b->type));
}

static bool same_parameters(const qgc_view *view, qgc_arena *arena, qgc_why *why)
{
    const qgc_view_params output = {
        .num = 1, .scales = &view->output.scale, .zero_points = &view->output.zero_point};
    for (uint32_t i = 0; i < view->num_operands && view->quantize; i++)
        if (!qgc_view_same_params(&view->operands[i].params, &output))
            return qgc_why_not(arena, why, QGC_FAULT_CONDITION,
                               "%%%s has another scale or zero point than %%%s",
                               view->operands[i].value->name->data, view->result->name->data);
    return true;
}

static const qgc_condition table[] = {
    {"k_fits_i32",
     "no accumulator can overflow: products * max|x - zx| * max|w - zw| < 2^31 (i64 for 16 bits)",
     k_fits_i32},
    {"groups_divide", "the channels of x and w are numbers", groups_divide},
    {"shape_known", "no dimension is symbolic", shape_known},
    {"w_symmetric", "every zero point of w is 0", w_symmetric},
    {"integer", "it is lowered to integer ops, not kept as dequantize, op, quantize", integer},
    {"scales_known", "no scale or zero point is computed at run time", scales_known},
    {"add_in_8_bits", "the fused add's term has 8 bits", add_in_8_bits},
    {"b_is_matrix", "the second operand of matmul has two dimensions, the first two or more",
     b_is_matrix},
    {"same_shapes", "the operands have the shape of the result", same_shapes},
    {"same_parameters", "scale and zero point of the operands are those of the result",
     same_parameters},
    {"last_axis", "the op works along the last dimension", last_axis},
};

size_t qgc_num_conditions(void)
{
    return sizeof table / sizeof *table;
}

const qgc_condition *qgc_condition_at(size_t index)
{
    return &table[index];
}

const qgc_condition *qgc_condition_find(qgc_str name)
{
    for (size_t i = 0; i < qgc_num_conditions(); i++)
        if (qgc_str_equal(name, qgc_str_from(table[i].name)))
            return &table[i];
    return NULL;
}

/* To ONNX: structure, elementwise ops, activations, reductions. */
#include "frontend/onnx/export.h"

#include <string.h>

void export_constant(onnx_export *ex)
{
    if (!ex->node->constant)
        export_refuse(ex, "the weight is not bound: its file is not open");
    else
        export_tensor(ex, export_out(ex, 0), ex->node->constant);
}

void export_identity(onnx_export *ex)
{
    export_alias(ex, 0, export_in(ex, 0));
}

/* ONNX knows the sign of the divisor for integers only. */
void export_mod(onnx_export *ex)
{
    static const export_attr fmod = {"fmod", "fmod", EXPORT_FLAG};
    bool is_float = qgc_dtype_get_kind(export_in_type(ex, 0)->dtype) == QGC_FLOAT;
    if (is_float && !qgc_node_flag(ex->node, "fmod"))
        export_refuse(ex, "ONNX takes the sign of the divisor for integers only");
    onnx_node *node = EXPORT_NODE(ex, "Mod", export_in(ex, 0), export_in(ex, 1));
    export_map(ex, node, &fmod);
    export_end(ex, node);
}

void export_shift(onnx_export *ex)
{
    onnx_node *node = EXPORT_NODE(ex, "BitShift", export_in(ex, 0), export_in(ex, 1));
    export_set_text(ex, node, "direction", ex->node->op == QGC_OP_SHIFT_LEFT ? "LEFT" : "RIGHT");
    export_end(ex, node);
}

void export_not_equal(onnx_export *ex)
{
    const char *equal = EXPORT_OP(ex, "Equal", export_in(ex, 0), export_in(ex, 1));
    export_end(ex, EXPORT_NODE(ex, "Not", equal));
}

void export_is_inf(onnx_export *ex)
{
    qgc_dtype dtype = export_in_type(ex, 0)->dtype;
    if (dtype == QGC_DTYPE_F16 || dtype == QGC_DTYPE_BF16)
        export_need(ex, 20);
    export_convert_row(ex);
}

void export_rsqrt(onnx_export *ex)
{
    export_end(ex, EXPORT_NODE(ex, "Reciprocal", EXPORT_OP(ex, "Sqrt", export_in(ex, 0))));
}

void export_silu(onnx_export *ex)
{
    const char *x = export_in(ex, 0);
    export_end(ex, EXPORT_NODE(ex, "Mul", x, EXPORT_OP(ex, "Sigmoid", x)));
}

/* ---- reductions ---- */

/* Until opset 17 all but ReduceSum have the axes as attribute. */
void export_reduce(onnx_export *ex)
{
    static const export_attr flags[] = {
        {"keepdims", "keepdims", EXPORT_FLAG},
        {"noop_with_empty_axes", "noop_with_empty_axes", EXPORT_FLAG}};
    const qgc_attr *axes = export_attribute(ex, "axes");
    bool is_sum = ex->node->op == QGC_OP_REDUCE_SUM,
         is_noop = qgc_node_flag(ex->node, flags[1].from);
    if (!is_sum && (export_in(ex, 1) || is_noop))
        export_need(ex, 18);
    if (export_in_type(ex, 0)->dtype == QGC_DTYPE_BOOL)
        export_need(ex, 20);
    bool as_input = is_sum || ex->version >= 18;
    bool is_empty = axes->kind == QGC_ATTR_INTS && !axes->num;
    const char *list = as_input && !is_empty ? export_list_of(ex, "axes", 1, EXPORT_LIST) : NULL;
    onnx_node *node = EXPORT_NODE(ex, ex->row->op, export_in(ex, 0), list);
    export_map(ex, node, &flags[0]);
    if (as_input && is_noop)
        export_map(ex, node, &flags[1]);
    if (!as_input && axes->kind == QGC_ATTR_INTS && axes->num)
        export_set_ints(ex, node, "axes", axes->ints, axes->num);
    export_end(ex, node);
}

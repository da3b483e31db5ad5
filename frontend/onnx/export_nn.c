/* To ONNX: convolution, linear, pools, normalization, recurrent layers. */
#include "frontend/onnx/export.h"

#include <string.h>

/* ---- windows ---- */

static const export_attr window[] = {{"stride", "strides", EXPORT_INTS},
                                     {"padding", "pads", EXPORT_INTS},
                                     {"dilation", "dilations", EXPORT_INTS}};

static void set_window(onnx_export *ex, onnx_node *node)
{
    static const export_attr auto_pad = {"auto_pad", "auto_pad", EXPORT_UPPER};
    for (size_t i = 0; i < sizeof window / sizeof *window; i++)
        export_map(ex, node, &window[i]);
    if (qgc_node_word(ex->node, "auto_pad") != QGC_PAD_NONE)
        export_map(ex, node, &auto_pad);
}

/* ONNX Runtime asks for it in some ops; the weight says it. */
static void set_kernel(onnx_export *ex, onnx_node *node, const qgc_type *weight)
{
    int64_t kernel[QGC_MAX_RANK];
    for (uint32_t i = 2; i < weight->rank; i++) {
        if (!qgc_dim_is_number(weight->dims[i]))
            return;
        kernel[i - 2] = weight->dims[i].value;
    }
    export_set_ints(ex, node, "kernel_shape", kernel, weight->rank - 2);
}

static onnx_node *begin_conv(onnx_export *ex)
{
    static const export_attr groups = {"groups", "group", EXPORT_INT};
    onnx_node *node =
        EXPORT_NODE(ex, ex->row->op, export_in(ex, 0), export_in(ex, 1), export_in(ex, 2));
    set_kernel(ex, node, export_in_type(ex, 1));
    set_window(ex, node);
    export_map(ex, node, &groups);
    return node;
}

void export_conv(onnx_export *ex)
{
    export_end(ex, begin_conv(ex));
}

void export_conv_transpose(onnx_export *ex)
{
    static const export_attr more[] = {{"output_padding", "output_padding", EXPORT_INTS},
                                       {"output_size", "output_shape", EXPORT_INTS}};
    onnx_node *node = begin_conv(ex);
    export_map(ex, node, &more[0]);
    export_map(ex, node, &more[1]);
    export_end(ex, node);
}

/* ConvInteger, then the bias. */
void export_int_conv(onnx_export *ex)
{
    static const export_attr groups = {"groups", "group", EXPORT_INT};
    const char *x_zero = export_zero_point(ex, "x_zero_point", 3, 0);
    const char *w_zero = export_zero_point(ex, "w_zero_point", 4, 1);
    onnx_node *node =
        EXPORT_NODE(ex, "ConvInteger", export_in(ex, 0), export_in(ex, 1), x_zero, w_zero);
    set_kernel(ex, node, export_in_type(ex, 1));
    set_window(ex, node);
    export_map(ex, node, &groups);
    if (!export_in(ex, 2)) {
        export_end(ex, node);
        return;
    }
    int64_t shape[QGC_MAX_RANK] = {-1, 1, 1, 1, 1, 1, 1, 1};
    const char *bias = export_reshape(ex, export_in(ex, 2), shape, export_in_type(ex, 0)->rank - 1);
    export_end(ex, EXPORT_NODE(ex, "Add", export_result(ex, node), bias));
}

/* ---- linear ---- */

void export_linear(onnx_export *ex)
{
    const qgc_type *x = export_in_type(ex, 0);
    if (x->rank == 2 && x->dtype != QGC_DTYPE_BF16) {
        onnx_node *node =
            EXPORT_NODE(ex, "Gemm", export_in(ex, 0), export_in(ex, 1), export_in(ex, 2));
        export_set_int(ex, node, "transB", 1);
        export_end(ex, node);
        return;
    }
    onnx_node *transpose = EXPORT_NODE(ex, "Transpose", export_in(ex, 1));
    export_set_ints(ex, transpose, "perm", (const int64_t[]){1, 0}, 2);
    onnx_node *product = EXPORT_NODE(ex, "MatMul", export_in(ex, 0), export_result(ex, transpose));
    if (!export_in(ex, 2))
        export_end(ex, product);
    else
        export_end(ex, EXPORT_NODE(ex, "Add", export_result(ex, product), export_in(ex, 2)));
}

/* ---- pools ---- */

static bool whole_power(onnx_export *ex, onnx_node *node)
{
    float p = qgc_node_float(ex->node, "p");
    if (p != (float)(int)p)
        export_refuse(ex, "ONNX has whole p only");
    export_set_int(ex, node, "p", (int64_t)p);
    return true;
}

static bool has_dilation(const qgc_node *node)
{
    for (uint32_t i = 0; i < qgc_node_list_size(node, "dilation"); i++)
        if (qgc_node_int_at(node, "dilation", i) != 1)
            return true;
    return false;
}

/* Dilation and ceil_mode came late to some pools. */
static void set_late(onnx_export *ex, onnx_node *node, int dilation, int ceil_mode)
{
    static const export_attr ceil = {"ceil_mode", "ceil_mode", EXPORT_FLAG};
    bool dilated = has_dilation(ex->node);
    if (dilated)
        export_need(ex, dilation);
    if (qgc_node_has(ex->node, "dilation") && ex->version >= dilation)
        export_map(ex, node, &window[2]);
    if (!qgc_node_flag(ex->node, "ceil_mode"))
        return;
    export_need(ex, ceil_mode);
    export_map(ex, node, &ceil);
}

static void set_steps(onnx_export *ex, onnx_node *node)
{
    static const export_attr kernel = {"kernel", "kernel_shape", EXPORT_INTS};
    static const export_attr auto_pad = {"auto_pad", "auto_pad", EXPORT_UPPER};
    export_map(ex, node, &kernel);
    export_map(ex, node, &window[0]);
    export_map(ex, node, &window[1]);
    if (qgc_node_word(ex->node, "auto_pad") != QGC_PAD_NONE)
        export_map(ex, node, &auto_pad);
}

void export_pool(onnx_export *ex)
{
    static const export_attr include = {"count_include_pad", "count_include_pad", EXPORT_FLAG};
    qgc_opcode op = ex->node->op;
    onnx_node *node = EXPORT_NODE(ex, ex->row->op, export_in(ex, 0));
    set_steps(ex, node);
    set_late(ex, node,
             op == QGC_OP_AVG_POOL  ? 19
             : op == QGC_OP_LP_POOL ? 18
                                    : 0,
             op == QGC_OP_LP_POOL ? 18 : 0);
    if (op == QGC_OP_AVG_POOL)
        export_map(ex, node, &include);
    if (op == QGC_OP_LP_POOL)
        whole_power(ex, node);
    if (op == QGC_OP_MAX_POOL_WITH_INDICES)
        export_set_int(ex, node, "storage_order", qgc_node_word(ex->node, "storage_order"));
    export_end(ex, node);
}

void export_global_lp_pool(onnx_export *ex)
{
    onnx_node *node = EXPORT_NODE(ex, "GlobalLpPool", export_in(ex, 0));
    whole_power(ex, node);
    export_end(ex, node);
}

/* Windows of one size, side by side; else ONNX has no counterpart. */
void export_adaptive_pool(onnx_export *ex)
{
    int64_t kernel[QGC_MAX_RANK];
    const qgc_type *x = export_in_type(ex, 0);
    uint32_t num = x->rank - 2;
    bool is_global = true;
    for (uint32_t i = 0; i < num; i++)
        is_global &= qgc_node_int_at(ex->node, "output_size", i) == 1;
    if (is_global) {
        const char *op =
            ex->node->op == QGC_OP_ADAPTIVE_AVG_POOL ? "GlobalAveragePool" : "GlobalMaxPool";
        export_end(ex, EXPORT_NODE(ex, op, export_in(ex, 0)));
        return;
    }
    for (uint32_t i = 0; i < num; i++) {
        int64_t out = qgc_node_int_at(ex->node, "output_size", i);
        qgc_dim size = x->dims[i + 2];
        if (!qgc_dim_is_number(size) || !size.value || size.value % out)
            export_refuse(ex, "ONNX has windows of one size only: dimension %u does not divide",
                          i + 2);
        kernel[i] = x->dims[i + 2].value / out;
    }
    onnx_node *node = EXPORT_NODE(ex, ex->row->op, export_in(ex, 0));
    export_set_ints(ex, node, "kernel_shape", kernel, num);
    export_set_ints(ex, node, "strides", kernel, num);
    export_end(ex, node);
}

/* ---- normalization ---- */

static void map_row(onnx_export *ex, onnx_node *node)
{
    for (int i = 0; i < EXPORT_MAX_ATTRS && ex->row->attrs[i].from; i++)
        export_map(ex, node, &ex->row->attrs[i]);
}

/* An absent scale or bias: ONNX wants it. */
static const char *or_fill(onnx_export *ex, uint32_t index, const char *hint, double value,
                           const qgc_dim *dims, uint32_t rank)
{
    int64_t shape[QGC_MAX_RANK];
    if (export_in(ex, index))
        return export_in(ex, index);
    for (uint32_t i = 0; i < rank; i++) {
        if (!qgc_dim_is_number(dims[i]))
            export_refuse(ex, "ONNX wants a %s, and dimension %s is no number", hint,
                          qgc_dim_str(ex->arena, dims[i]));
        shape[i] = dims[i].value;
    }
    return ex->reason ? NULL
                      : export_fill(ex, hint, export_in_type(ex, 0)->dtype, rank, shape, value);
}

/* Scale and bias per channel; mean and variance where the op has them. */
void export_channel_norm(onnx_export *ex)
{
    const qgc_dim *channels = &export_in_type(ex, 0)->dims[1];
    const char *scale = or_fill(ex, 1, "scale", 1, channels, 1);
    const char *bias = or_fill(ex, 2, "bias", 0, channels, 1);
    onnx_node *node = EXPORT_NODE(ex, ex->row->op, export_in(ex, 0), scale, bias, export_in(ex, 3),
                                  export_in(ex, 4));
    map_row(ex, node);
    export_end(ex, node);
}

void export_layer_norm(onnx_export *ex)
{
    const qgc_type *x = export_in_type(ex, 0);
    int64_t axis = qgc_node_int(ex->node, "axis");
    axis += axis < 0 ? x->rank : 0;
    if (x->dtype == QGC_DTYPE_F64 && ex->node->num_results > 1)
        export_refuse(ex, "ONNX has mean and deviation of f64 in f32 only");
    const char *scale = or_fill(ex, 1, "scale", 1, x->dims + axis, (uint32_t)(x->rank - axis));
    onnx_node *node =
        EXPORT_NODE(ex, "LayerNormalization", export_in(ex, 0), scale, export_in(ex, 2));
    map_row(ex, node);
    export_end(ex, node);
}

/* ---- recurrent layers ---- */

static const char *const activations[] = {"Tanh", "Relu", "Sigmoid"};

static void set_activations(onnx_export *ex, onnx_node *node)
{
    const char *name = activations[qgc_node_word(ex->node, "activation")];
    size_t num = qgc_node_word(ex->node, "direction") == 2 ? 2 : 1;
    Onnx__AttributeProto *attr = QGC_NEW(ex->arena, Onnx__AttributeProto);
    onnx__attribute_proto__init(attr);
    attr->name = (char *)"activations";
    attr->has_type = true;
    attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
    attr->n_strings = num;
    attr->strings = QGC_NEW_ARRAY(ex->arena, ProtobufCBinaryData, num);
    for (size_t i = 0; i < num; i++)
        attr->strings[i] = (ProtobufCBinaryData){strlen(name), (uint8_t *)name};
    node->attribute[node->n_attribute++] = attr;
}

void export_recurrent(onnx_export *ex)
{
    static const export_attr attrs[] = {{"direction", "direction", EXPORT_WORD},
                                        {"clip", "clip", EXPORT_FLOAT}};
    const char *inputs[8] = {0};
    qgc_dim hidden = export_in_type(ex, 2)->dims[2];
    for (uint32_t i = 0; i < 8; i++)
        inputs[i] = export_in(ex, i);
    if (inputs[4] && export_in_type(ex, 4)->dtype == QGC_DTYPE_I64)
        inputs[4] = export_cast(ex, inputs[4], QGC_DTYPE_I32);
    if (!qgc_dim_is_number(hidden))
        export_refuse(ex, "the hidden size is no number");
    onnx_node *node = export_begin(ex, ex->row->op, 8, inputs);
    export_set_int(ex, node, "hidden_size", hidden.value);
    export_map(ex, node, &attrs[0]);
    export_map(ex, node, &attrs[1]);
    map_row(ex, node);
    if (ex->node->op == QGC_OP_RNN)
        set_activations(ex, node);
    export_end(ex, node);
}

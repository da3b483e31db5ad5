/* Converters: shapes, padding, indices, softmax as it was before opset 13. */
#include "frontend/onnx/import.h"

#include <string.h>

qgc_result convert_reshape_attr(onnx_import *im)
{
    uint32_t num;
    const int64_t *shape;
    qgc_value *x = onnx_need(im, 0);
    if (!x || !onnx_ints(im, "shape", &num, &shape))
        return onnx_refuse(im, "shape is missing");
    qgc_node *node = onnx_begin(im, "reshape", 1, &x, 1);
    onnx_set_dims(im, node, "shape", shape, num);
    onnx_set_flag(im, node, "copy_zero", true);
    return onnx_define(im, 0, onnx_end(im, node));
}

static bool has_zero(const onnx_content *shape)
{
    for (uint32_t i = 0; i < shape->num; i++)
        if (qgc_dim_is_number(shape->dims[i]) && shape->dims[i].value == 0)
            return true;
    return false;
}

qgc_result convert_reshape(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0), *shape = onnx_need(im, 1);
    bool copies = onnx_int(im, "allowzero", 0) == 0;
    qgc_node *node = x && shape ? onnx_begin(im, "reshape", 1, &x, 1) : NULL;
    onnx_set_list(im, node, "shape", 1, shape);
    const onnx_content *known = onnx_content_of(im, shape);
    if (copies && (!known || has_zero(known)))
        onnx_set_flag(im, node, "copy_zero", true);
    return onnx_define(im, 0, onnx_end(im, node));
}

/* ---- padding ---- */

static void set_mode(onnx_import *im, qgc_node *node)
{
    onnx_set_word(im, node, "mode", onnx_string(im, "mode", "constant"));
}

qgc_result convert_pad_attrs(onnx_import *im)
{
    uint32_t num;
    const int64_t *pads;
    qgc_value *x = onnx_need(im, 0);
    float value = onnx_float(im, "value", 0);
    if (!x || (!onnx_ints(im, "pads", &num, &pads) && !onnx_ints(im, "paddings", &num, &pads)))
        return onnx_refuse(im, "pads is missing");
    qgc_value *operands[] = {x, NULL,
                             value != 0 ? onnx_scalar(im, (double)value, x->type->dtype) : NULL};
    qgc_node *node = onnx_begin(im, "pad", 3, operands, 1);
    onnx_set_ints(im, node, "pads", pads, num);
    set_mode(im, node);
    return onnx_define(im, 0, onnx_end(im, node));
}

static qgc_value *as_scalar(onnx_import *im, qgc_value *value)
{
    return value && value->type->rank == 1 ? onnx_reshape(im, value, NULL, 0) : value;
}

qgc_result convert_pad(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0), *value = as_scalar(im, onnx_in(im, 2));
    qgc_value *operands[] = {x, NULL, value};
    if (!operands[0])
        return QGC_FAILED;
    qgc_node *node = onnx_begin(im, "pad", 3, operands, 1);
    onnx_set_list(im, node, "pads", 1, onnx_need(im, 1));
    onnx_set_list(im, node, "axes", 3, onnx_in(im, 3));
    set_mode(im, node);
    return onnx_define(im, 0, onnx_end(im, node));
}

/* ---- what a shape is ---- */

/* [start, end) of the shape, as opset 15 slices it. */
static void clamp_range(uint32_t rank, int64_t *start, int64_t *end)
{
    *start += *start < 0 ? rank : 0;
    *end += *end < 0 ? rank : 0;
    *start = *start < 0 ? 0 : *start > rank ? rank : *start;
    *end = *end < *start ? *start : *end > rank ? rank : *end;
}

qgc_result convert_shape(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0);
    if (!x)
        return QGC_FAILED;
    uint32_t rank = x->type->rank;
    bool is_part = onnx_has(im, "start") || onnx_has(im, "end"), is_static = true;
    int64_t start = onnx_int(im, "start", 0), end = onnx_int(im, "end", rank);
    clamp_range(rank, &start, &end);
    onnx_content *content = onnx_new_content(im, 1, (uint32_t)(end - start));
    int64_t numbers[QGC_MAX_RANK];
    for (int64_t i = start; i < end; i++) {
        content->dims[i - start] = x->type->dims[i];
        is_static &= qgc_dim_is_number(x->type->dims[i]);
        numbers[i - start] = x->type->dims[i].value;
    }
    if (is_static)
        return onnx_define(im, 0, onnx_const_ints(im, numbers, content->num));
    qgc_node *node = onnx_begin(im, "shape_of", 1, &x, 1);
    if (is_part) {
        onnx_set_int(im, node, "start", start);
        onnx_set_int(im, node, "end", end);
    }
    qgc_value *y = onnx_end(im, node);
    onnx_set_content(im, y, content);
    return onnx_define(im, 0, y);
}

qgc_result convert_constant_of_shape(onnx_import *im)
{
    qgc_value *shape = onnx_need(im, 0);
    const qgc_onnx_attr *attr = onnx_attr(im, "value");
    if (attr && (attr->kind != QGC_ONNX_TENSOR || attr->tensor->problem))
        return onnx_refuse(im, "value is no tensor that exists here");
    qgc_value *value =
        attr ? onnx_const(im, &attr->tensor->tensor, NULL) : onnx_scalar(im, 0, QGC_DTYPE_F32);
    qgc_value *operands[] = {NULL, as_scalar(im, value)};
    qgc_node *node = onnx_begin(im, "constant_of_shape", 2, operands, 1);
    onnx_set_list(im, node, "shape", 0, shape);
    return onnx_define(im, 0, onnx_end(im, node));
}

qgc_result convert_range(onnx_import *im)
{
    qgc_value *operands[3];
    for (uint32_t i = 0; i < 3; i++) {
        operands[i] = as_scalar(im, onnx_need(im, i));
        if (!operands[i])
            return QGC_FAILED;
    }
    return onnx_define(im, 0, onnx_end(im, onnx_begin(im, "range", 3, operands, 1)));
}

/* ---- indices ---- */

/* Indices and depth may be floats in ONNX. */
static qgc_value *as_index(onnx_import *im, qgc_value *value)
{
    bool is_index =
        value && (value->type->dtype == QGC_DTYPE_I64 || value->type->dtype == QGC_DTYPE_I32);
    return is_index ? value : onnx_cast(im, value, QGC_DTYPE_I64);
}

qgc_result convert_one_hot(onnx_import *im)
{
    qgc_value *indices = as_index(im, onnx_need(im, 0)), *depth = as_index(im, onnx_need(im, 1));
    qgc_value *operands[] = {indices, NULL, onnx_need(im, 2)};
    qgc_node *node = operands[0] ? onnx_begin(im, "one_hot", 3, operands, 1) : NULL;
    onnx_set_list(im, node, "depth", 1, depth);
    onnx_set_int(im, node, "axis", onnx_int(im, "axis", -1));
    return onnx_define(im, 0, onnx_end(im, node));
}

qgc_result convert_top_k(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0);
    qgc_node *node = x ? onnx_begin(im, "top_k", 1, &x, 2) : NULL;
    if (im->version < 10)
        onnx_set_int(im, node, "k", onnx_int(im, "k", 0));
    else
        onnx_set_list(im, node, "k", 1, onnx_need(im, 1));
    onnx_set_int(im, node, "axis", onnx_int(im, "axis", -1));
    onnx_set_flag(im, node, "largest", onnx_int(im, "largest", 1) != 0);
    onnx_set_flag(im, node, "sorted", onnx_int(im, "sorted", 1) != 0);
    qgc_value *values = onnx_end(im, node);
    if (!node || !values)
        return QGC_FAILED;
    QGC_TRY(onnx_define(im, 0, values));
    return onnx_define(im, 1, &node->results[1]);
}

/* ---- softmax before opset 13: over all dimensions from `axis` on ---- */

static const char *softmax_mnemonic(onnx_import *im)
{
    return strcmp(im->node->op->data, "Softmax") == 0      ? "softmax"
           : strcmp(im->node->op->data, "LogSoftmax") == 0 ? "log_softmax"
                                                           : "hardmax";
}

qgc_result convert_softmax_flat(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0);
    int64_t axis = onnx_int(im, "axis", 1);
    if (!x)
        return QGC_FAILED;
    int64_t rank = x->type->rank;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank)
        return onnx_refuse(im, "axis %lld is outside of the rank %lld", (long long)axis,
                           (long long)rank);
    if (axis == rank - 1)
        return onnx_define(im, 0, onnx_unary(im, softmax_mnemonic(im), x));
    qgc_node *node = onnx_begin(im, "flatten", 1, &x, 1);
    onnx_set_int(im, node, "axis", axis);
    const char *mnemonic = softmax_mnemonic(im);
    qgc_value *y = onnx_unary(im, mnemonic, onnx_end(im, node));
    return onnx_define(im, 0, onnx_reshape(im, y, x->type->dims, x->type->rank));
}

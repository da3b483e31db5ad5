/* Converters: constants, what passes values through. */
#include "frontend/onnx/import.h"

#include <string.h>

/* `value_int`, `value_floats` ... as a tensor. */
static const qgc_tensor *make_tensor(onnx_import *im, qgc_dtype dtype, uint32_t rank, uint32_t num,
                                     const void *data)
{
    qgc_tensor *tensor = QGC_NEW(im->arena, qgc_tensor);
    *tensor = (qgc_tensor){.dtype = dtype, .rank = rank, .shape = {rank ? num : 0}};
    tensor->bytes = num * qgc_dtype_bytes(dtype);
    tensor->data = qgc_arena_alloc(im->arena, tensor->bytes);
    if (num)
        memcpy(tensor->data, data, tensor->bytes);
    return tensor;
}

static const qgc_tensor *constant_value(onnx_import *im, const qgc_onnx_attr *attr)
{
    switch (attr->kind) {
    case QGC_ONNX_TENSOR:
        if (attr->tensor->problem)
            onnx_refuse(im, "a constant of %s", attr->tensor->problem);
        return attr->tensor->problem ? NULL : &attr->tensor->tensor;
    case QGC_ONNX_FLOAT:
        return make_tensor(im, QGC_DTYPE_F32, 0, 1, &attr->f);
    case QGC_ONNX_INT:
        return make_tensor(im, QGC_DTYPE_I64, 0, 1, &attr->i);
    case QGC_ONNX_FLOATS:
        return make_tensor(im, QGC_DTYPE_F32, 1, attr->num, attr->floats);
    case QGC_ONNX_INTS:
        return make_tensor(im, QGC_DTYPE_I64, 1, attr->num, attr->ints);
    default:
        onnx_refuse(im, "a constant given as %s", attr->name->data);
        return NULL;
    }
}

qgc_result convert_constant(onnx_import *im)
{
    if (im->node->num_attrs != 1)
        return onnx_refuse(im, "%u attributes, expected one value", im->node->num_attrs);
    const qgc_onnx_attr *attr = onnx_attr(im, im->node->attrs[0].name->data);
    const qgc_tensor *tensor = constant_value(im, attr);
    return onnx_define(im, 0, tensor ? onnx_const(im, tensor, NULL) : NULL);
}

qgc_result convert_identity(onnx_import *im)
{
    return onnx_define(im, 0, onnx_need(im, 0));
}

/* The mask of a dropout that drops nothing: true everywhere; before opset 10 of x's type. */
static qgc_value *full_mask(onnx_import *im, qgc_value *x)
{
    qgc_dtype dtype = im->version < 10 ? x->type->dtype : QGC_DTYPE_BOOL;
    qgc_value *one = onnx_scalar(im, 1, dtype);
    qgc_node *node = one ? onnx_begin(im, "expand", 1, &one, 1) : NULL;
    qgc_dim *dims = QGC_NEW_ARRAY(im->arena, qgc_dim, x->type->rank);
    if (x->type->rank)
        memcpy(dims, x->type->dims, x->type->rank * sizeof *dims);
    onnx_set(im, node, "shape",
             (qgc_attr){.kind = QGC_ATTR_DIMS, .num = x->type->rank, .dims = dims});
    return onnx_end(im, node);
}

/* Known to be 0 where it counts: the ratio, or the training mode. */
static bool is_known_zero(const qgc_value *value)
{
    const qgc_tensor *tensor = onnx_constant(value);
    if (!tensor)
        return false;
    for (size_t i = 0; i < tensor->bytes; i++)
        if (((const uint8_t *)tensor->data)[i])
            return false;
    return true;
}

/* Inference only: x passes through. */
qgc_result convert_dropout(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0), *ratio = onnx_in(im, 1), *training = onnx_in(im, 2);
    bool is_test = im->version >= 7 || onnx_int(im, "is_test", 0) != 0;
    bool trains = !is_test || (training && !is_known_zero(training));
    if (!x)
        return QGC_FAILED;
    if (trains && !(ratio && is_known_zero(ratio)))
        return onnx_refuse(im, "dropout in training mode draws random numbers");
    QGC_TRY(onnx_define(im, 0, x));
    return onnx_wants_output(im, 1) ? onnx_define(im, 1, full_mask(im, x)) : QGC_OK;
}

/* Converters: normalization. */
#include "frontend/onnx/import.h"

static qgc_value *reduce_mean(onnx_import *im, qgc_value *x, const int64_t *axes, uint32_t num,
                              bool keepdims)
{
    qgc_node *node = x ? onnx_begin(im, "reduce_mean", 1, &x, 1) : NULL;
    onnx_set_ints(im, node, "axes", axes, num);
    onnx_set_flag(im, node, "keepdims", keepdims);
    return onnx_end(im, node);
}

/* Mean of squares of x - |mean|. */
static qgc_value *variance(onnx_import *im, qgc_value *x, qgc_value *mean, const int64_t *axes,
                           uint32_t num, bool keepdims)
{
    qgc_value *centred = onnx_binary(im, "sub", x, mean);
    return reduce_mean(im, onnx_binary(im, "mul", centred, centred), axes, num, keepdims);
}

static qgc_value *batch_norm(onnx_import *im, qgc_value *const operands[5])
{
    qgc_node *node = onnx_begin(im, "batch_norm", 5, operands, 1);
    onnx_set_float(im, node, "epsilon", onnx_float(im, "epsilon", 1e-5f));
    return onnx_end(im, node);
}

/* old * momentum + batch * (1 - momentum) */
static qgc_value *running(onnx_import *im, qgc_value *old, qgc_value *batch)
{
    float momentum = onnx_float(im, "momentum", 0.9f);
    if (!old || !batch)
        return NULL;
    qgc_dtype dtype = old->type->dtype;
    qgc_value *kept = onnx_binary(im, "mul", old, onnx_scalar(im, (double)momentum, dtype));
    qgc_value *added = onnx_cast(im, batch, dtype);
    added = onnx_binary(im, "mul", added, onnx_scalar(im, (double)(1 - momentum), dtype));
    return onnx_binary(im, "add", kept, added);
}

/* Statistics of the batch itself, over all dimensions but the channels. */
static qgc_result train(onnx_import *im, qgc_value *operands[5])
{
    int64_t axes[QGC_MAX_RANK];
    uint32_t num = 0;
    qgc_value *x = operands[0], *old_mean = operands[3], *old_var = operands[4];
    for (uint32_t i = 0; i < x->type->rank; i++)
        if (i != 1)
            axes[num++] = i;
    qgc_value *kept = reduce_mean(im, x, axes, num, true);
    operands[3] = reduce_mean(im, x, axes, num, false);
    operands[4] = variance(im, x, kept, axes, num, false);
    if (!operands[3] || !operands[4])
        return QGC_FAILED;
    QGC_TRY(onnx_define(im, 0, batch_norm(im, operands)));
    if (onnx_wants_output(im, 1))
        QGC_TRY(onnx_define(im, 1, running(im, old_mean, operands[3])));
    return onnx_wants_output(im, 2) ? onnx_define(im, 2, running(im, old_var, operands[4]))
                                    : QGC_OK;
}

qgc_result convert_batch_norm(onnx_import *im)
{
    qgc_value *operands[5];
    for (uint32_t i = 0; i < 5; i++) {
        operands[i] = onnx_need(im, i);
        if (!operands[i])
            return QGC_FAILED;
    }
    if (onnx_int(im, "spatial", 1) == 0)
        return onnx_refuse(im, "spatial = 0: statistics per position");
    if (operands[0]->type->rank < 2)
        return onnx_refuse(im, "input of rank %u", operands[0]->type->rank);
    if (im->version >= 14 && onnx_int(im, "training_mode", 0))
        return train(im, operands);
    if (im->version < 14 && im->node->num_outputs > 1)
        return onnx_refuse(im, "training mode of before opset 14");
    return onnx_define(im, 0, batch_norm(im, operands));
}

/* Until opset 20 scale and bias had one entry per group. */
static qgc_value *per_channel(onnx_import *im, qgc_value *value, qgc_dim channels, int64_t groups)
{
    qgc_dims *dims = &im->context->dims;
    qgc_dim in_group = qgc_dim_div(dims, channels, qgc_dim_number(groups));
    qgc_dim column[] = {qgc_dim_number(groups), qgc_dim_number(1)};
    qgc_dim *both = QGC_NEW_ARRAY(im->arena, qgc_dim, 2);
    both[0] = column[0];
    both[1] = in_group;
    value = onnx_reshape(im, value, column, 2);
    qgc_node *node = value ? onnx_begin(im, "expand", 1, &value, 1) : NULL;
    onnx_set(im, node, "shape", (qgc_attr){.kind = QGC_ATTR_DIMS, .num = 2, .dims = both});
    return onnx_reshape(im, onnx_end(im, node), &channels, 1);
}

qgc_result convert_group_norm(onnx_import *im)
{
    qgc_value *operands[3];
    onnx_operands(im, 3, 3, operands);
    int64_t groups = onnx_int(im, "num_groups", 0);
    if (!operands[0] || !operands[1] || !operands[2])
        return QGC_FAILED;
    if (groups < 1 || operands[0]->type->rank < 2)
        return onnx_refuse(im, "%lld groups, input of rank %u", (long long)groups,
                           operands[0]->type->rank);
    for (int i = 1; i < 3 && im->version < 21; i++)
        operands[i] = per_channel(im, operands[i], operands[0]->type->dims[1], groups);
    if (im->reason)
        return QGC_FAILED;
    qgc_node *node = onnx_begin(im, "group_norm", 3, operands, 1);
    onnx_set_int(im, node, "num_groups", groups);
    onnx_set_float(im, node, "epsilon", onnx_float(im, "epsilon", 1e-5f));
    return onnx_define(im, 0, onnx_end(im, node));
}

qgc_result convert_mean_variance(onnx_import *im)
{
    static const int64_t usual[] = {0, 2, 3};
    uint32_t num;
    const int64_t *axes;
    qgc_value *x = onnx_need(im, 0);
    if (!x)
        return QGC_FAILED;
    if (!onnx_ints(im, "axes", &num, &axes)) {
        axes = usual;
        num = 3;
    }
    qgc_value *mean = reduce_mean(im, x, axes, num, true);
    qgc_value *deviation = onnx_unary(im, "sqrt", variance(im, x, mean, axes, num, true));
    qgc_value *divisor = onnx_binary(im, "add", deviation, onnx_scalar(im, 1e-9, x->type->dtype));
    return onnx_define(im, 0, onnx_binary(im, "div", onnx_binary(im, "sub", x, mean), divisor));
}

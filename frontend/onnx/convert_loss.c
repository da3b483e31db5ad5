/* Converters: the two losses of the standard, from ops that pick and sum. */
#include "frontend/onnx/import.h"

#include <string.h>

typedef struct loss {
    qgc_value *target; /* i64, [N, d...] */
    qgc_value *weight; /* of each target's class, 0 where it is ignored; NULL: 1 everywhere */
    const char *reduction;
} loss;

static qgc_value *all_zero(onnx_import *im, qgc_value *like, qgc_dtype dtype)
{
    qgc_value *operands[] = {NULL, onnx_scalar(im, 0, dtype)};
    qgc_node *node = onnx_begin(im, "constant_of_shape", 2, operands, 1);
    qgc_dim *dims = QGC_NEW_ARRAY(im->arena, qgc_dim, like->type->rank);
    if (like->type->rank)
        memcpy(dims, like->type->dims, like->type->rank * sizeof *dims);
    onnx_set(im, node, "shape",
             (qgc_attr){.kind = QGC_ATTR_DIMS, .num = like->type->rank, .dims = dims});
    return onnx_end(im, node);
}

static qgc_value *all_one(onnx_import *im, qgc_value *like, qgc_dtype dtype)
{
    qgc_value *zeros = all_zero(im, like, dtype);
    return onnx_binary(im, "add", zeros, onnx_scalar(im, 1, dtype));
}

static qgc_value *where(onnx_import *im, qgc_value *condition, qgc_value *yes, qgc_value *no)
{
    qgc_value *operands[] = {condition, yes, no};
    if (!condition || !yes || !no)
        return NULL;
    return onnx_end(im, onnx_begin(im, "where", 3, operands, 1));
}

static qgc_value *reduce(onnx_import *im, const char *mnemonic, qgc_value *x)
{
    qgc_node *node = x ? onnx_begin(im, mnemonic, 1, &x, 1) : NULL;
    onnx_set_flag(im, node, "keepdims", false);
    return onnx_end(im, node);
}

/* Weights of the targets' classes; ignored targets become class 0 with weight 0. */
static void weigh(onnx_import *im, qgc_value *classes, qgc_dtype dtype, loss *l)
{
    bool ignores = onnx_has(im, "ignore_index");
    qgc_value *target = l->target;
    qgc_value *ignored = NULL;
    if (ignores) {
        qgc_value *index = onnx_scalar_int(im, onnx_int(im, "ignore_index", 0));
        ignored = onnx_binary(im, "equal", target, index);
        l->target = where(im, ignored, onnx_scalar_int(im, 0), target);
    }
    if (classes)
        l->weight = onnx_binary(im, "gather", classes, l->target);
    else if (ignores)
        l->weight = all_one(im, target, dtype);
    if (ignores)
        l->weight = where(im, ignored, onnx_scalar(im, 0, dtype), l->weight);
}

/* -log_prob[n, target[n, d...], d...] * weight, then the reduction. */
static qgc_value *negative_likelihood(onnx_import *im, qgc_value *log_prob, const loss *l)
{
    int64_t axis = 1;
    qgc_node *node = l->target ? onnx_begin(im, "unsqueeze", 1, &l->target, 1) : NULL;
    onnx_set_ints(im, node, "axes", &axis, 1);
    qgc_value *operands[] = {log_prob, onnx_end(im, node)};
    node = operands[1] ? onnx_begin(im, "gather_elements", 2, operands, 1) : NULL;
    onnx_set_int(im, node, "axis", 1);
    qgc_value *picked = onnx_end(im, node);
    node = picked ? onnx_begin(im, "squeeze", 1, &picked, 1) : NULL;
    onnx_set_ints(im, node, "axes", &axis, 1);
    qgc_value *y = onnx_unary(im, "neg", onnx_end(im, node));
    if (l->weight)
        y = onnx_binary(im, "mul", y, l->weight);
    if (strcmp(l->reduction, "none") == 0)
        return y;
    if (strcmp(l->reduction, "sum") == 0)
        return reduce(im, "reduce_sum", y);
    if (!l->weight)
        return reduce(im, "reduce_mean", y);
    y = reduce(im, "reduce_sum", y);
    qgc_value *weight = reduce(im, "reduce_sum", l->weight);
    return onnx_binary(im, "div", y, weight);
}

static qgc_value *compute(onnx_import *im, qgc_value *log_prob)
{
    loss l = {.target = onnx_cast(im, onnx_need(im, 1), QGC_DTYPE_I64),
              .reduction = onnx_string(im, "reduction", "mean")};
    if (!log_prob || !l.target)
        return NULL;
    weigh(im, onnx_in(im, 2), log_prob->type->dtype, &l);
    return negative_likelihood(im, log_prob, &l);
}

qgc_result convert_nll_loss(onnx_import *im)
{
    return onnx_define(im, 0, compute(im, onnx_need(im, 0)));
}

qgc_result convert_cross_entropy(onnx_import *im)
{
    qgc_value *scores = onnx_need(im, 0);
    qgc_node *node = scores ? onnx_begin(im, "log_softmax", 1, &scores, 1) : NULL;
    onnx_set_int(im, node, "axis", 1);
    qgc_value *log_prob = onnx_end(im, node);
    QGC_TRY(onnx_define(im, 0, compute(im, log_prob)));
    return onnx_wants_output(im, 1) ? onnx_define(im, 1, log_prob) : QGC_OK;
}

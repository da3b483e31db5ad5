/* Converters: convolution, Gemm, pools. */
#include "frontend/onnx/import.h"

#include <string.h>

/* ---- windows ---- */

/* "NOTSET" and "" are none. */
static const char *auto_pad(onnx_import *im)
{
    const char *word = onnx_string(im, "auto_pad", "NOTSET");
    if (strcmp(word, "SAME_UPPER") == 0)
        return "same_upper";
    if (strcmp(word, "SAME_LOWER") == 0)
        return "same_lower";
    return strcmp(word, "VALID") == 0 ? "valid" : NULL;
}

static void map_ints(onnx_import *im, qgc_node *node, const char *from, const char *to)
{
    uint32_t num;
    const int64_t *values;
    if (onnx_ints(im, from, &num, &values))
        onnx_set_ints(im, node, to, values, num);
}

/* Strides, dilations and padding; `pads` counts only without auto_pad. */
void onnx_set_window(onnx_import *im, qgc_node *node)
{
    const char *word = auto_pad(im);
    bool has_pads = onnx_has(im, "pads");
    map_ints(im, node, "strides", "stride");
    if (onnx_has(im, "dilations"))
        map_ints(im, node, "dilations", "dilation");
    if (word)
        onnx_set_word(im, node, "auto_pad", word);
    else if (has_pads)
        map_ints(im, node, "pads", "padding");
}

static bool spatial_rank(onnx_import *im, const qgc_value *x, uint32_t *out)
{
    *out = x ? x->type->rank - 2 : 0;
    if (x && x->type->rank >= 3 && *out <= 3)
        return true;
    if (x)
        onnx_refuse(im, "%u spatial dimensions, expected 1 to 3", x->type->rank - 2);
    return false;
}

/* kernel_shape repeats what the weight's shape says. */
static qgc_result check_kernel(onnx_import *im, const qgc_value *w)
{
    uint32_t num;
    const int64_t *kernel;
    if (!w || !onnx_ints(im, "kernel_shape", &num, &kernel))
        return QGC_OK;
    for (uint32_t i = 0; i < num; i++)
        if (i + 2 >= w->type->rank ||
            qgc_dim_conflict(w->type->dims[i + 2], qgc_dim_number(kernel[i])))
            return onnx_refuse(im, "kernel_shape is not the shape of the weight");
    return QGC_OK;
}

static qgc_node *begin_conv(onnx_import *im, const char *stem)
{
    uint32_t rank;
    qgc_value *operands[3];
    onnx_operands(im, 2, 3, operands);
    if (!spatial_rank(im, operands[0], &rank) || check_kernel(im, operands[1]) != QGC_OK)
        return NULL;
    const char *mnemonic = qgc_arena_printf(im->arena, "%s%ud", stem, rank);
    qgc_node *node = onnx_begin(im, mnemonic, 3, operands, 1);
    onnx_set_window(im, node);
    onnx_set_int(im, node, "groups", onnx_int(im, "group", 1));
    return node;
}

qgc_result convert_conv(onnx_import *im)
{
    return onnx_define(im, 0, onnx_end(im, begin_conv(im, "conv")));
}

qgc_result convert_conv_transpose(onnx_import *im)
{
    uint32_t num, rank;
    const int64_t *shape;
    qgc_node *node = begin_conv(im, "conv_transpose");
    map_ints(im, node, "output_padding", "output_padding");
    if (node && onnx_ints(im, "output_shape", &num, &shape)) {
        spatial_rank(im, qgc_node_operand(node, 0), &rank);
        uint32_t skipped = num > rank ? num - rank : 0; /* some writers include N and C */
        onnx_set_ints(im, node, "output_size", shape + skipped, num - skipped);
        onnx_set(im, node, "padding", (qgc_attr){0}); /* it follows */
    }
    return onnx_define(im, 0, onnx_end(im, node));
}

static qgc_node *begin_pool(onnx_import *im, const char *mnemonic, qgc_value *x,
                            uint32_t num_results)
{
    qgc_node *node = x ? onnx_begin(im, mnemonic, 1, &x, num_results) : NULL;
    map_ints(im, node, "kernel_shape", "kernel");
    onnx_set_window(im, node);
    if (onnx_int(im, "ceil_mode", 0))
        onnx_set_flag(im, node, "ceil_mode", true);
    return node;
}

qgc_result convert_max_pool(onnx_import *im)
{
    bool indices = onnx_wants_output(im, 1), column_major = onnx_int(im, "storage_order", 0) != 0;
    qgc_node *node = begin_pool(im, indices ? "max_pool_with_indices" : "max_pool",
                                onnx_need(im, 0), indices ? 2 : 1);
    if (indices)
        onnx_set_word(im, node, "storage_order", column_major ? "column_major" : "row_major");
    qgc_value *y = onnx_end(im, node);
    QGC_TRY(onnx_define(im, 0, y));
    return indices ? onnx_define(im, 1, &node->results[1]) : QGC_OK;
}

qgc_node *onnx_begin_avg_pool(onnx_import *im, qgc_value *x)
{
    qgc_node *node = begin_pool(im, "avg_pool", x, 1);
    if (onnx_int(im, "count_include_pad", 0))
        onnx_set_flag(im, node, "count_include_pad", true);
    return node;
}

qgc_result convert_avg_pool(onnx_import *im)
{
    return onnx_define(im, 0, onnx_end(im, onnx_begin_avg_pool(im, onnx_need(im, 0))));
}

qgc_result convert_lp_pool(onnx_import *im)
{
    qgc_node *node = begin_pool(im, "lp_pool", onnx_need(im, 0), 1);
    onnx_set_float(im, node, "p", (float)onnx_int(im, "p", 2));
    return onnx_define(im, 0, onnx_end(im, node));
}

/* ---- Gemm ---- */

static qgc_value *scaled(onnx_import *im, qgc_value *x, float factor)
{
    if (!x || factor == 1)
        return x;
    return onnx_binary(im, "mul", x, onnx_scalar(im, (double)factor, x->type->dtype));
}

static qgc_value *transposed(onnx_import *im, qgc_value *x, bool wanted)
{
    static const int64_t swapped[] = {1, 0};
    return wanted ? onnx_transpose(im, x, swapped, 2) : x;
}

/* [N] or [1, N], with N columns in the result: a bias. */
static bool is_bias(const qgc_value *c, qgc_dim columns)
{
    uint32_t rank = c->type->rank;
    return rank >= 1 && rank <= 2 && qgc_dim_equal(c->type->dims[rank - 1], columns) &&
           (rank == 1 || qgc_dim_equal(c->type->dims[0], qgc_dim_number(1)));
}

/* x w^T + b, where the weight is at hand in that layout or constant. */
static qgc_value *linear(onnx_import *im, qgc_value *a, qgc_value *b, qgc_value *c, bool trans_b)
{
    bool is_float = qgc_dtype_get_kind(a->type->dtype) == QGC_FLOAT;
    qgc_dim columns = b->type->dims[trans_b ? 0 : 1];
    if (!is_float || (!trans_b && !onnx_constant(b)) || (c && !is_bias(c, columns)))
        return NULL;
    if (c && c->type->rank == 2)
        c = onnx_reshape(im, c, &columns, 1);
    qgc_value *operands[] = {a, transposed(im, b, !trans_b), c};
    return onnx_end(im, onnx_begin(im, "linear", 3, operands, 1));
}

qgc_result convert_gemm(onnx_import *im)
{
    qgc_value *a = onnx_need(im, 0), *b = onnx_need(im, 1), *c = onnx_in(im, 2);
    float alpha = onnx_float(im, "alpha", 1), beta = onnx_float(im, "beta", 1);
    bool trans_a = onnx_int(im, "transA", 0) != 0, trans_b = onnx_int(im, "transB", 0) != 0;
    onnx_has(im, "broadcast"); /* before opset 7; the shapes say it */
    if (!a || !b)
        return QGC_FAILED;
    if (a->type->rank != 2 || b->type->rank != 2)
        return onnx_refuse(im, "operands are not matrices");
    a = transposed(im, a, trans_a);
    qgc_value *y = a && alpha == 1 && (beta == 1 || !c) ? linear(im, a, b, c, trans_b) : NULL;
    if (y || im->reason)
        return onnx_define(im, 0, y);
    y = scaled(im, onnx_binary(im, "matmul", a, transposed(im, b, trans_b)), alpha);
    if (c)
        y = onnx_binary(im, "add", y, scaled(im, c, beta));
    return onnx_define(im, 0, y);
}

/* ---- MaxUnpool ---- */

/* The shape that a max_pool with the node's attributes made x from. */
static bool unpooled(onnx_import *im, const qgc_type *x, qgc_dim *out)
{
    uint32_t spatial = x->rank - 2, num_kernel, num_strides, num_pads;
    const int64_t *kernel, *strides, *pads;
    bool has_kernel = onnx_ints(im, "kernel_shape", &num_kernel, &kernel);
    bool has_strides = onnx_ints(im, "strides", &num_strides, &strides);
    bool has_pads = onnx_ints(im, "pads", &num_pads, &pads);
    if (!has_kernel || num_kernel != spatial || (has_strides && num_strides != spatial) ||
        (has_pads && num_pads != 2 * spatial))
        return onnx_refuse(im, "kernel_shape, strides or pads do not fit the input") == QGC_OK;
    qgc_dims *dims = &im->context->dims;
    out[0] = x->dims[0];
    out[1] = x->dims[1];
    for (uint32_t i = 0; i < spatial; i++) {
        int64_t cut = has_pads ? pads[i] + pads[spatial + i] : 0;
        qgc_dim last = qgc_dim_sub(dims, x->dims[i + 2], qgc_dim_number(1));
        last = qgc_dim_mul(dims, last, qgc_dim_number(has_strides ? strides[i] : 1));
        out[i + 2] = qgc_dim_add(dims, last, qgc_dim_number(kernel[i] - cut));
    }
    return true;
}

static qgc_value *flat(onnx_import *im, qgc_value *x, const qgc_dim *dims, uint32_t rank)
{
    qgc_dim size = qgc_dim_number(1);
    for (uint32_t i = 0; i < rank; i++)
        size = qgc_dim_mul(&im->context->dims, size, dims[i]);
    return onnx_reshape(im, x, &size, 1);
}

/* Zeros of the shape |dims|, as a list. */
static qgc_value *zero_list(onnx_import *im, const qgc_dim *dims, uint32_t rank, qgc_dtype dtype)
{
    qgc_dim *copy = QGC_NEW_ARRAY(im->arena, qgc_dim, rank);
    memcpy(copy, dims, rank * sizeof *copy);
    qgc_value *operands[] = {NULL, onnx_scalar(im, 0, dtype)};
    qgc_node *node = onnx_begin(im, "constant_of_shape", 2, operands, 1);
    onnx_set(im, node, "shape", (qgc_attr){.kind = QGC_ATTR_DIMS, .num = rank, .dims = copy});
    qgc_value *zeros = onnx_end(im, node);
    return zeros ? flat(im, zeros, dims, rank) : NULL;
}

/* Zeros, then what output_shape has more than y. */
static qgc_value *missing(onnx_import *im, const qgc_value *y, qgc_value *shape)
{
    int64_t sizes[QGC_MAX_RANK], zeros[QGC_MAX_RANK] = {0};
    uint32_t rank = y->type->rank;
    for (uint32_t i = 0; i < rank; i++) {
        if (!qgc_dim_is_number(y->type->dims[i])) {
            onnx_refuse(im, "output_shape with a shape that is not numbers (--set)");
            return NULL;
        }
        sizes[i] = y->type->dims[i].value;
    }
    shape = onnx_cast(im, shape, QGC_DTYPE_I64);
    qgc_value *more = onnx_binary(im, "sub", shape, onnx_const_ints(im, sizes, rank));
    return onnx_binary(im, "concat", onnx_const_ints(im, zeros, rank), more);
}

/* The standard's suite puts what is missing to output_shape behind. */
static qgc_value *padded_to(onnx_import *im, qgc_value *y, qgc_value *shape)
{
    qgc_value *pads = missing(im, y, shape);
    qgc_node *node = pads ? onnx_begin(im, "pad", 1, &y, 1) : NULL;
    onnx_set_list(im, node, "pads", 1, pads);
    return onnx_end(im, node);
}

/* Indices count the elements of the whole unpooled tensor. */
qgc_result convert_max_unpool(onnx_import *im)
{
    qgc_dim dims[QGC_MAX_RANK];
    qgc_value *x = onnx_need(im, 0), *indices = onnx_need(im, 1), *shape = onnx_in(im, 2);
    if (!x || !indices || x->type->rank < 3)
        return onnx_refuse(im, "the input has no spatial dimension");
    if (!unpooled(im, x->type, dims))
        return QGC_FAILED;
    uint32_t rank = x->type->rank;
    qgc_value *zeros = zero_list(im, dims, rank, x->type->dtype);
    indices = flat(im, indices, x->type->dims, rank);
    x = flat(im, x, x->type->dims, rank);
    if (!zeros || !indices || !x)
        return QGC_FAILED;
    qgc_value *operands[] = {zeros, indices, x};
    qgc_value *y = onnx_end(im, onnx_begin(im, "scatter_elements", 3, operands, 1));
    y = onnx_reshape(im, y, dims, rank);
    return onnx_define(im, 0, y && shape ? padded_to(im, y, shape) : y);
}

/* Shape arithmetic: elements of small integer tensors as dimensions, so that Shape -> Slice ->
 * Concat -> Reshape ends in a shape with symbols. The nodes stay as well: a value that does not
 * follow is computed at run time. */
#include "frontend/onnx/import.h"

#include <string.h>

enum { MAX_CONTENT = 64 };

typedef struct inputs {
    uint32_t num;
    const onnx_content *items[MAX_CONTENT];
} inputs;

typedef onnx_content *propagate_fn(onnx_import *im, const inputs *in);

static onnx_content *copy_with_rank(onnx_import *im, const onnx_content *from, uint32_t rank)
{
    onnx_content *out = onnx_new_content(im, rank, from->num);
    memcpy(out->dims, from->dims, from->num * sizeof *out->dims);
    return out;
}

/* Output of rank 0 or 1 with the input's elements: Squeeze, Unsqueeze, Reshape. */
static onnx_content *same_elements(onnx_import *im, const inputs *in)
{
    const qgc_value *output = qgc_map_get(&im->values, im->node->outputs[0]);
    return output->type->rank <= 1 ? copy_with_rank(im, in->items[0], output->type->rank) : NULL;
}

static onnx_content *gather(onnx_import *im, const inputs *in)
{
    const onnx_content *x = in->items[0], *indices = in->items[1];
    onnx_content *out = onnx_new_content(im, indices->rank, indices->num);
    for (uint32_t i = 0; i < indices->num; i++) {
        if (!qgc_dim_is_number(indices->dims[i]))
            return NULL;
        int64_t at = indices->dims[i].value + (indices->dims[i].value < 0 ? x->num : 0);
        if (at < 0 || at >= x->num)
            return NULL;
        out->dims[i] = x->dims[at];
    }
    return out;
}

static onnx_content *concat(onnx_import *im, const inputs *in)
{
    uint32_t num = 0, at = 0;
    for (uint32_t i = 0; i < in->num; i++)
        num += in->items[i]->num;
    if (num > MAX_CONTENT)
        return NULL;
    onnx_content *out = onnx_new_content(im, 1, num);
    for (uint32_t i = 0; i < in->num; i++) {
        memcpy(out->dims + at, in->items[i]->dims, in->items[i]->num * sizeof *out->dims);
        at += in->items[i]->num;
    }
    return out;
}

/* Number |index| of an input, or of an attribute list where the op is old. */
static bool slice_bound(onnx_import *im, const inputs *in, uint32_t input, const char *name,
                        int64_t otherwise, int64_t *out)
{
    uint32_t num;
    const int64_t *ints;
    *out = otherwise;
    if (input < in->num) {
        const onnx_content *list = in->items[input];
        if (list->num != 1 || !qgc_dim_is_number(list->dims[0]))
            return false;
        *out = list->dims[0].value;
    } else if (onnx_ints(im, name, &num, &ints)) {
        if (num != 1)
            return false;
        *out = ints[0];
    }
    return true;
}

static int64_t clamp(int64_t value, int64_t size)
{
    value += value < 0 && value >= -size ? size : 0;
    return value < 0 ? 0 : value > size ? size : value;
}

static onnx_content *slice(onnx_import *im, const inputs *in)
{
    const onnx_content *x = in->items[0];
    int64_t start, end, step;
    if (!slice_bound(im, in, 1, "starts", 0, &start) || !slice_bound(im, in, 2, "ends", 0, &end) ||
        !slice_bound(im, in, 4, "steps", 1, &step) || step != 1)
        return NULL;
    start = clamp(start, x->num);
    end = clamp(end, x->num);
    uint32_t num = end > start ? (uint32_t)(end - start) : 0;
    onnx_content *out = onnx_new_content(im, 1, num);
    memcpy(out->dims, x->dims + start, num * sizeof *out->dims);
    return out;
}

typedef qgc_dim dim_fn(qgc_dims *dims, qgc_dim a, qgc_dim b);

/* Integer division truncates; a dimension's floors: the same where nothing is negative. */
static qgc_dim divide(qgc_dims *dims, qgc_dim a, qgc_dim b)
{
    bool negative = (qgc_dim_is_number(a) && a.value < 0) || (qgc_dim_is_number(b) && b.value <= 0);
    return negative ? qgc_dim_unknown(dims) : qgc_dim_div(dims, a, b);
}

static onnx_content *elementwise(onnx_import *im, const inputs *in, dim_fn *apply)
{
    const onnx_content *a = in->items[0], *b = in->items[1];
    uint32_t num = a->num == 1 ? b->num : a->num, rank = a->rank > b->rank ? a->rank : b->rank;
    if (a->num != num && a->num != 1)
        return NULL;
    if (b->num != num && b->num != 1)
        return NULL;
    onnx_content *out = onnx_new_content(im, rank, num);
    for (uint32_t i = 0; i < num; i++)
        out->dims[i] =
            apply(&im->context->dims, a->dims[a->num == 1 ? 0 : i], b->dims[b->num == 1 ? 0 : i]);
    return out;
}

static onnx_content *add(onnx_import *im, const inputs *in)
{
    return elementwise(im, in, qgc_dim_add);
}
static onnx_content *sub(onnx_import *im, const inputs *in)
{
    return elementwise(im, in, qgc_dim_sub);
}
static onnx_content *mul(onnx_import *im, const inputs *in)
{
    return elementwise(im, in, qgc_dim_mul);
}
static onnx_content *divided(onnx_import *im, const inputs *in)
{
    return elementwise(im, in, divide);
}

static onnx_content *product(onnx_import *im, const inputs *in)
{
    const qgc_value *output = qgc_map_get(&im->values, im->node->outputs[0]);
    onnx_content *out = onnx_new_content(im, output->type->rank, 1);
    out->dims[0] = qgc_dim_number(1);
    for (uint32_t i = 0; i < in->items[0]->num; i++)
        out->dims[0] = qgc_dim_mul(&im->context->dims, out->dims[0], in->items[0]->dims[i]);
    return output->type->rank <= 1 ? out : NULL;
}

static const struct {
    const char *op;
    propagate_fn *propagate;
} arithmetic[] = {
    {"Gather", gather},
    {"Concat", concat},
    {"Slice", slice},
    {"Add", add},
    {"Sub", sub},
    {"Mul", mul},
    {"Div", divided},
    {"ReduceProd", product},
    {"Squeeze", same_elements},
    {"Unsqueeze", same_elements},
    {"Reshape", same_elements},
};

static bool gather_inputs(onnx_import *im, inputs *in)
{
    in->num = im->node->num_inputs;
    if (!in->num || in->num > MAX_CONTENT)
        return false;
    for (uint32_t i = 0; i < in->num; i++) {
        qgc_value *value = onnx_in(im, i);
        in->items[i] = value ? onnx_content_of(im, value) : NULL;
        if (!in->items[i] || in->items[i]->num > MAX_CONTENT)
            return false;
    }
    return true;
}

static bool all_numbers(const onnx_content *content)
{
    for (uint32_t i = 0; i < content->num; i++)
        if (!qgc_dim_is_number(content->dims[i]))
            return false;
    return true;
}

/* The output's value as a constant. */
static void make_constant(onnx_import *im, qgc_value *output, const onnx_content *content)
{
    int64_t numbers[MAX_CONTENT];
    for (uint32_t i = 0; i < content->num; i++)
        numbers[i] = content->dims[i].value;
    if (output->type->dtype != QGC_DTYPE_I64)
        return;
    qgc_value *constant = content->rank ? onnx_const_ints(im, numbers, content->num)
                                        : onnx_scalar_int(im, numbers[0]);
    *qgc_map_at(&im->values, im->node->outputs[0]) = constant;
}

void onnx_propagate(onnx_import *im)
{
    inputs in;
    qgc_value *output = im->node->num_outputs && im->node->outputs[0]
                            ? qgc_map_get(&im->values, im->node->outputs[0])
                            : NULL;
    if (!output || output->type->rank > 1 || onnx_constant(output) ||
        (output->type->dtype != QGC_DTYPE_I64 && output->type->dtype != QGC_DTYPE_I32))
        return;
    for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++) {
        if (strcmp(arithmetic[i].op, im->node->op->data) != 0 || !gather_inputs(im, &in))
            continue;
        const onnx_content *content = arithmetic[i].propagate(im, &in);
        onnx_set_content(im, output, content);
        if (content && all_numbers(content))
            make_constant(im, output, content);
        return;
    }
}

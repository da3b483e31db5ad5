/* Converters: elementwise ops whose inputs or attributes need more than a row. */
#include "frontend/onnx/import.h"

#include <string.h>

static const char *binary_mnemonic(const qgc_onnx_node *node)
{
    static const struct {
        const char *onnx, *ours;
    } names[] = {{"Add", "add"},   {"Sub", "sub"},        {"Mul", "mul"}, {"Div", "div"},
                 {"Pow", "pow"},   {"And", "and"},        {"Or", "or"},   {"Xor", "xor"},
                 {"Max", "max"},   {"Min", "min"},        {"Sum", "add"}, {"Equal", "equal"},
                 {"Less", "less"}, {"Greater", "greater"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].onnx, node->op->data) == 0)
            return names[i].ours;
    return "";
}

/* |b| with |after| dimensions 1 appended: what `axis` meant before opset 7. */
static qgc_value *append_ones(onnx_import *im, qgc_value *b, int64_t after)
{
    qgc_dim dims[QGC_MAX_RANK];
    if (!b || after <= 0)
        return b;
    if (b->type->rank + after > QGC_MAX_RANK) {
        onnx_refuse(im, "rank above %d", QGC_MAX_RANK);
        return NULL;
    }
    uint32_t rank = b->type->rank;
    memcpy(dims, b->type->dims, rank * sizeof *dims);
    for (int64_t i = 0; i < after; i++)
        dims[rank++] = qgc_dim_number(1);
    return onnx_reshape(im, b, dims, rank);
}

/* Opset 1 to 6: the second shape broadcasts only where `broadcast` is 1, from `axis` on. */
qgc_result convert_legacy_binary(onnx_import *im)
{
    qgc_value *a = onnx_need(im, 0), *b = onnx_need(im, 1);
    bool broadcast = onnx_int(im, "broadcast", 0) != 0, has_axis = onnx_has(im, "axis");
    if (!a || !b)
        return QGC_FAILED;
    int64_t axis = onnx_int(im, "axis", (int64_t)a->type->rank - b->type->rank);
    if (has_axis && axis < 0)
        axis += a->type->rank;
    if (broadcast && has_axis)
        b = append_ones(im, b, (int64_t)a->type->rank - axis - b->type->rank);
    return onnx_define(im, 0, onnx_binary(im, binary_mnemonic(im->node), a, b));
}

/* Any number of inputs, from left to right. */
qgc_result convert_fold_binary(onnx_import *im)
{
    qgc_value *sum = onnx_need(im, 0);
    for (uint32_t i = 1; i < im->node->num_inputs; i++)
        sum = onnx_binary(im, binary_mnemonic(im->node), sum, onnx_need(im, i));
    return onnx_define(im, 0, sum);
}

qgc_result convert_mean(onnx_import *im)
{
    qgc_value *sum = onnx_need(im, 0);
    for (uint32_t i = 1; i < im->node->num_inputs; i++)
        sum = onnx_binary(im, "add", sum, onnx_need(im, i));
    if (!sum)
        return QGC_FAILED;
    if (im->node->num_inputs > 1)
        sum = onnx_binary(im, "div", sum, onnx_scalar(im, im->node->num_inputs, sum->type->dtype));
    return onnx_define(im, 0, sum);
}

/* The exponent may be of another type; the result is of the base's. */
qgc_result convert_pow(onnx_import *im)
{
    qgc_value *a = onnx_need(im, 0), *b = onnx_need(im, 1);
    if (!a || !b)
        return QGC_FAILED;
    qgc_dtype dtype = a->type->dtype;
    bool is_float = qgc_dtype_get_kind(dtype) == QGC_FLOAT;
    bool wants_float = !is_float && qgc_dtype_get_kind(b->type->dtype) == QGC_FLOAT;
    qgc_dtype common = wants_float ? b->type->dtype : dtype;
    a = onnx_cast(im, a, common);
    b = onnx_cast(im, b, common);
    qgc_value *power = onnx_binary(im, "pow", a, b);
    return onnx_define(im, 0, onnx_cast(im, power, dtype));
}

qgc_result convert_bit_shift(onnx_import *im)
{
    const char *direction = onnx_string(im, "direction", "");
    bool left = strcmp(direction, "LEFT") == 0;
    if (!left && strcmp(direction, "RIGHT") != 0)
        return onnx_refuse(im, "direction is neither LEFT nor RIGHT");
    qgc_value *x = onnx_need(im, 0), *by = onnx_need(im, 1);
    return onnx_define(im, 0, onnx_binary(im, left ? "shift_left" : "shift_right", x, by));
}

static qgc_result clip(onnx_import *im, qgc_value *x, qgc_value *lo, qgc_value *hi)
{
    qgc_value *operands[] = {x, lo, hi};
    if (!x)
        return QGC_FAILED;
    return onnx_define(im, 0, onnx_end(im, onnx_begin(im, "clip", 3, operands, 1)));
}

qgc_result convert_clip_attrs(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0);
    if (!x)
        return QGC_FAILED;
    qgc_dtype dtype = x->type->dtype;
    qgc_value *lo =
        onnx_has(im, "min") ? onnx_scalar(im, (double)onnx_float(im, "min", 0), dtype) : NULL;
    qgc_value *hi =
        onnx_has(im, "max") ? onnx_scalar(im, (double)onnx_float(im, "max", 0), dtype) : NULL;
    return clip(im, x, lo, hi);
}

/* Bounds of shape [1] are seen in the wild. */
static qgc_value *as_scalar(onnx_import *im, qgc_value *value)
{
    if (!value || value->type->rank != 1)
        return value;
    return onnx_reshape(im, value, NULL, 0);
}

qgc_result convert_clip(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0), *lo = as_scalar(im, onnx_in(im, 1));
    return clip(im, x, lo, as_scalar(im, onnx_in(im, 2)));
}

static qgc_result copy_content(onnx_import *im, qgc_value *from, qgc_value *to)
{
    bool is_index = to && (to->type->dtype == QGC_DTYPE_I64 || to->type->dtype == QGC_DTYPE_I32);
    if (is_index && !onnx_constant(to))
        onnx_set_content(im, to, onnx_content_of(im, from));
    return onnx_define(im, 0, to);
}

/* Before opset 6 the type was a name. */
static bool target_type(onnx_import *im, qgc_dtype *out)
{
    static const char *const names[] = {"",      "FLOAT", "UINT8",  "INT8", "UINT16",  "INT16",
                                        "INT32", "INT64", "STRING", "BOOL", "FLOAT16", "DOUBLE"};
    int64_t code = 0;
    if (im->version >= 6)
        code = onnx_int(im, "to", 0);
    else
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strcmp(onnx_string(im, "to", ""), names[i]) == 0)
                code = (int64_t)i;
    if (qgc_onnx_dtype(code, out))
        return true;
    onnx_refuse(im, "casts to an element type that does not exist here (%lld)", (long long)code);
    return false;
}

qgc_result convert_cast(onnx_import *im)
{
    qgc_dtype to;
    qgc_value *x = onnx_need(im, 0);
    if (!x || !target_type(im, &to))
        return QGC_FAILED;
    return copy_content(im, x, onnx_cast(im, x, to));
}

qgc_result convert_cast_like(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0), *like = onnx_need(im, 1);
    if (!x || !like)
        return QGC_FAILED;
    return copy_content(im, x, onnx_cast(im, x, like->type->dtype));
}

/* Before opset 7 a slope [C] belonged to dimension 1; since then it broadcasts. */
qgc_result convert_prelu(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0), *slope = onnx_need(im, 1);
    if (!x || !slope)
        return QGC_FAILED;
    if (im->version < 7 && slope->type->rank == 1)
        slope = append_ones(im, slope, (int64_t)x->type->rank - 2);
    return onnx_define(im, 0, onnx_binary(im, "prelu", x, slope));
}

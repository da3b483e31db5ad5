/* Converters: Resize and its predecessor Upsample, RoiAlign. */
#include "frontend/onnx/import.h"

#include <string.h>

/* An empty list is an absent one. */
static qgc_value *unless_empty(qgc_value *value)
{
    bool is_empty =
        value && value->type->rank == 1 && qgc_dim_equal(value->type->dims[0], qgc_dim_number(0));
    return is_empty ? NULL : value;
}

/* f32 numbers as attribute where they are known, else as operand |index|. */
static void set_floats(onnx_import *im, qgc_node *node, const char *name, uint32_t index,
                       qgc_value *value)
{
    value = onnx_cast(im, unless_empty(value), QGC_DTYPE_F32);
    const qgc_tensor *known = onnx_constant(value);
    if (!node || !value)
        return;
    if (known && known->rank == 1)
        onnx_set(im, node, name,
                 (qgc_attr){.kind = QGC_ATTR_FLOATS,
                            .num = (uint32_t)known->shape[0],
                            .floats = known->data});
    else
        qgc_node_set_operand(node, index, value);
}

/* Before opset 11: positions o / scale, nearest rounds down. */
qgc_result convert_upsample(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0);
    const qgc_onnx_attr *scales = onnx_attr(im, "scales");
    const char *mode = onnx_string(im, "mode", "nearest");
    qgc_node *node = x ? onnx_begin(im, "resize", 1, &x, 1) : NULL;
    if (scales && scales->kind == QGC_ONNX_FLOATS)
        onnx_set(im, node, "scales",
                 (qgc_attr){.kind = QGC_ATTR_FLOATS, .num = scales->num, .floats = scales->floats});
    else
        set_floats(im, node, "scales", 2, onnx_need(im, 1));
    onnx_set_word(im, node, "mode", strcmp(mode, "bilinear") == 0 ? "linear" : mode);
    onnx_set_word(im, node, "coordinates", "asymmetric");
    onnx_set_word(im, node, "nearest", "floor");
    return onnx_define(im, 0, onnx_end(im, node));
}

static void set_words(onnx_import *im, qgc_node *node)
{
    onnx_set_word(im, node, "mode", onnx_string(im, "mode", "nearest"));
    onnx_set_word(im, node, "coordinates",
                  onnx_string(im, "coordinate_transformation_mode", "half_pixel"));
    onnx_set_word(im, node, "nearest", onnx_string(im, "nearest_mode", "round_prefer_floor"));
}

static void set_numbers(onnx_import *im, qgc_node *node)
{
    uint32_t num;
    const int64_t *axes;
    if (onnx_has(im, "cubic_coeff_a"))
        onnx_set_float(im, node, "cubic_coeff_a", onnx_float(im, "cubic_coeff_a", -0.75f));
    if (onnx_int(im, "exclude_outside", 0))
        onnx_set_flag(im, node, "exclude_outside", true);
    if (onnx_has(im, "extrapolation_value"))
        onnx_set_float(im, node, "extrapolation_value", onnx_float(im, "extrapolation_value", 0));
    if (onnx_ints(im, "axes", &num, &axes))
        onnx_set_ints(im, node, "axes", axes, num);
}

qgc_result convert_resize(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0), *sizes = unless_empty(onnx_in(im, 3));
    if (onnx_int(im, "antialias", 0))
        return onnx_refuse(im, "antialias is not supported");
    if (strcmp(onnx_string(im, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0)
        return onnx_refuse(im, "keep_aspect_ratio_policy other than stretch is not supported");
    const char *coordinates = onnx_string(im, "coordinate_transformation_mode", "half_pixel");
    bool crops = strcmp(coordinates, "tf_crop_and_resize") == 0;
    qgc_node *node = x ? onnx_begin(im, "resize", 1, &x, 1) : NULL;
    if (crops) /* else it changes nothing */
        set_floats(im, node, "roi", 1, onnx_in(im, 1));
    if (sizes)
        onnx_set_list(im, node, "sizes", 3, sizes);
    else
        set_floats(im, node, "scales", 2, onnx_in(im, 2));
    set_words(im, node);
    set_numbers(im, node);
    return onnx_define(im, 0, onnx_end(im, node));
}

/* Before opset 16 regions had no offset. */
qgc_result convert_roi_align(onnx_import *im)
{
    const char *usual = im->version < 16 ? "output_half_pixel" : "half_pixel";
    qgc_value *operands[3];
    onnx_operands(im, 3, 3, operands);
    if (strcmp(onnx_string(im, "mode", "avg"), "avg") != 0)
        return onnx_refuse(im, "mode other than avg is not supported");
    if (im->reason)
        return QGC_FAILED;
    qgc_node *node = onnx_begin(im, "roi_align", 3, operands, 1);
    onnx_set_int(im, node, "output_height", onnx_int(im, "output_height", 1));
    onnx_set_int(im, node, "output_width", onnx_int(im, "output_width", 1));
    onnx_set_int(im, node, "sampling_ratio", onnx_int(im, "sampling_ratio", 0));
    onnx_set_float(im, node, "spatial_scale", onnx_float(im, "spatial_scale", 1));
    onnx_set_word(im, node, "coordinates",
                  onnx_string(im, "coordinate_transformation_mode", usual));
    return onnx_define(im, 0, onnx_end(im, node));
}

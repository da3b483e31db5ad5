/* Infer hook of resize: output sizes from scales or sizes. */
#include "ir/list.h"

#include <math.h>
#include <string.h>

/* Scales as attribute or as operand; NULL values where not known. */
typedef struct scale_list {
    bool given, has_num;
    uint32_t num;
    const float *values;
} scale_list;

static qgc_result read_scales(qgc_infer *in, const char *name, uint32_t operand, int rule,
                              scale_list *out)
{
    const qgc_attr *attr = qgc_node_attr(in->node, name);
    const qgc_type *type = qgc_in(in, operand);
    const qgc_tensor *value = qgc_in_value(in, operand);
    *out = (scale_list){0};
    QGC_RULE(in, rule, !attr || !type, "%s is given both as attribute and as operand", name);
    QGC_RULE(in, rule, !type || type->rank == 1, "operand %s is %s", name,
             type ? qgc_in_type_str(in, type) : "");
    if (attr)
        *out = (scale_list){true, true, attr->num, attr->floats};
    else if (type)
        *out = (scale_list){.given = true,
                            .has_num = qgc_dim_is_number(type->dims[0]) &&
                                       type->dims[0].value <= UINT32_MAX,
                            .num = (uint32_t)type->dims[0].value,
                            .values = value ? value->data : NULL};
    return QGC_OK;
}

/* floor(size * scale) with the product in f32; symbolic where the scale is a whole number or a
 * power of two. */
static qgc_dim scaled(qgc_infer *in, qgc_dim size, float scale)
{
    qgc_dims *dims = &in->context->dims;
    int exponent;
    if (qgc_dim_is_number(size)) {
        float product = floorf((float)size.value * scale);
        return product < 9e15F ? qgc_dim_number((int64_t)product) : qgc_dim_unknown(dims);
    }
    if (scale >= 1 && scale <= 65536 && scale == floorf(scale))
        return qgc_dim_mul(dims, size, qgc_dim_number((int64_t)scale));
    if (scale < 1 && scale >= 1.0F / 65536 && frexpf(scale, &exponent) == 0.5F)
        return qgc_dim_div(dims, size, qgc_dim_number((int64_t)1 << (1 - exponent)));
    return qgc_dim_unknown(dims);
}

static qgc_result out_size(qgc_infer *in, uint32_t i, const scale_list *scales,
                           const qgc_list *sizes, qgc_dim *dim)
{
    qgc_dim size = *dim;
    if (sizes->given)
        *dim = sizes->dims[i];
    else if (scales->values) {
        float scale = scales->values[i];
        QGC_RULE(in, 3, isfinite(scale) && scale > 0, "scale %u is %g", i, (double)scale);
        *dim = scaled(in, size, scale);
    } else {
        *dim = qgc_dim_unknown(&in->context->dims);
    }
    bool is_number = qgc_dim_is_number(*dim);
    QGC_RULE(in, 3, !is_number || dim->value >= 0, "size %u is %s", i, qgc_in_dim_str(in, *dim));
    QGC_RULE(in, 6, !is_number || dim->value == 0 || !qgc_dim_equal(size, qgc_dim_number(0)),
             "no elements become %s", qgc_in_dim_str(in, *dim));
    return QGC_OK;
}

static qgc_result check_rest(qgc_infer *in, const qgc_type *x, uint32_t num)
{
    enum { NEAREST = 0, TF_CROP_AND_RESIZE = 5 };
    scale_list roi;
    bool crops = qgc_node_word(in->node, "coordinates") == TF_CROP_AND_RESIZE;
    QGC_RULE(in, 4,
             qgc_node_word(in->node, "mode") == NEAREST ||
                 qgc_dtype_get_kind(x->dtype) == QGC_FLOAT,
             "x is %s", qgc_in_type_str(in, x));
    QGC_TRY(read_scales(in, "roi", 1, 5, &roi));
    QGC_RULE(in, 5, roi.given || !crops, "roi is missing");
    QGC_RULE(in, 5, !crops || !roi.has_num || roi.num == 2 * num, "roi has %u entries for %u axes",
             roi.num, num);
    return QGC_OK;
}

qgc_result infer_resize(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0);
    const qgc_attr *axes = qgc_node_attr(in->node, "axes");
    qgc_list sizes, axes_list;
    scale_list scales;
    uint32_t set;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_TRY(read_scales(in, "scales", 2, 1, &scales));
    QGC_TRY(qgc_in_list(in, "sizes", 3, 1, &sizes));
    QGC_RULE(in, 1, scales.given != sizes.given,
             scales.given ? "scales and sizes are given" : "scales or sizes is missing");
    QGC_TRY(qgc_in_list(in, "axes", UINT32_MAX, 2, &axes_list));
    QGC_TRY(qgc_in_axes(in, &axes_list, x->rank, 2, &set));
    uint32_t num = axes ? axes->num : x->rank;
    bool has_num = sizes.given ? sizes.has_num : scales.has_num;
    uint32_t found = sizes.given ? sizes.num : scales.num;
    QGC_RULE(in, 1, !has_num || found == num, "%u entries for %u axes", found, num);
    QGC_TRY(check_rest(in, x, num));
    if (!has_num)
        return qgc_in_unknown_dims(in, x->dtype, x->rank);
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t i = 0; i < num; i++) {
        uint32_t axis = i;
        if (axes)
            QGC_TRY(qgc_in_axis(in, axes->ints[i], x->rank, 2, &axis));
        QGC_TRY(out_size(in, i, &scales, &sizes, &dims[axis]));
    }
    in->results[0] = qgc_in_type(in, x->dtype, x->rank, dims);
    return QGC_OK;
}

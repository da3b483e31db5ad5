/* To ONNX: shapes, padding, indices. Dimensions with symbols are computed from inputs' shapes. */
#include "frontend/onnx/export.h"

#include <string.h>

/* ---- dimensions as values ---- */

static void *number_value(void *user, int64_t value)
{
    return (void *)export_ints(user, "number", &value, 1);
}

/* A value of that size in one dimension, defined already: an input, or an earlier result. */
static const char *find_symbol(onnx_export *ex, const qgc_value *value, qgc_name symbol)
{
    for (uint32_t i = 0; i < value->type->rank; i++) {
        if (qgc_dim_as_symbol(value->type->dims[i]) != symbol)
            continue;
        onnx_node *node = EXPORT_NODE(ex, "Shape", export_name(ex, value));
        export_set_int(ex, node, "start", i);
        export_set_int(ex, node, "end", i + 1);
        return export_result(ex, node);
    }
    return NULL;
}

static const char *search_symbol(onnx_export *ex, qgc_name symbol)
{
    const char *found = NULL;
    const qgc_func *func = ex->frame->func;
    for (uint32_t i = 0; i < func->num_params && !found; i++)
        found = find_symbol(ex, &func->params[i], symbol);
    QGC_EACH_NODE (node, func) {
        for (uint32_t i = 0; node != ex->node && i < node->num_results && !found; i++)
            found = find_symbol(ex, &node->results[i], symbol);
        if (found || node == ex->node)
            break;
    }
    if (!found)
        export_refuse(ex, "no value before it has the dimension %s alone", symbol->data);
    return found;
}

static void *symbol_value(void *user, qgc_name symbol)
{
    onnx_export *ex = user;
    void *known = qgc_map_get(&ex->symbols, symbol);
    if (!known) {
        known = (void *)search_symbol(ex, symbol);
        *qgc_map_at(&ex->symbols, symbol) = known;
    }
    return known;
}

/* ONNX's division truncates: floor(a / b) = (a - a mod b) / b. */
static void *join_values(void *user, char sign, void *a, void *b)
{
    if (sign != '/')
        return (void *)EXPORT_OP((onnx_export *)user, sign == '+' ? "Add" : "Mul", a, b);
    const char *whole =
        EXPORT_OP((onnx_export *)user, "Sub", a, EXPORT_OP((onnx_export *)user, "Mod", a, b));
    return (void *)EXPORT_OP((onnx_export *)user, "Div", whole, b);
}

static const char *dim_value(onnx_export *ex, qgc_dim dim)
{
    const qgc_dim_builder builder = {ex, number_value, symbol_value, join_values};
    if (qgc_dim_is_unknown(dim)) {
        export_refuse(ex, "a dimension is not known");
        return NULL;
    }
    return qgc_dim_build(dim, &builder);
}

/* Numbers up to the next symbol, as one constant. */
static uint32_t numbers_from(const qgc_dim *dims, uint32_t num, int64_t *out)
{
    uint32_t count = 0;
    while (count < num && qgc_dim_is_number(dims[count])) {
        out[count] = dims[count].value;
        count++;
    }
    return count;
}

const char *export_dims(onnx_export *ex, const char *hint, const qgc_dim *dims, uint32_t num)
{
    const char *parts[QGC_MAX_RANK * 2 + 1];
    uint32_t num_parts = 0;
    int64_t *numbers = QGC_NEW_ARRAY(ex->arena, int64_t, num);
    if (num > QGC_MAX_RANK * 2 && numbers_from(dims, num, numbers) < num) {
        export_refuse(ex, "a list of %u dimensions", num);
        return NULL;
    }
    for (uint32_t i = 0; i < num;) {
        uint32_t count = numbers_from(dims + i, num - i, numbers);
        if (count == num)
            break;
        parts[num_parts++] = count ? export_ints(ex, hint, numbers, count) : dim_value(ex, dims[i]);
        i += count ? count : 1;
    }
    if (!num_parts)
        return export_ints(ex, hint, numbers, num);
    if (num_parts == 1)
        return parts[0];
    onnx_node *node = export_begin(ex, "Concat", num_parts, parts);
    export_set_int(ex, node, "axis", 0);
    return export_result(ex, node);
}

/* ---- reshape and its kin ---- */

/* The only symbolic entry as -1, where that says the same. */
static bool with_rest(const qgc_dim *dims, uint32_t num, int64_t *out)
{
    uint32_t symbols = 0;
    for (uint32_t i = 0; i < num; i++) {
        bool is_number = qgc_dim_is_number(dims[i]);
        if (is_number && dims[i].value <= 0)
            return false;
        symbols += !is_number;
        out[i] = is_number ? dims[i].value : -1;
    }
    return symbols == 1;
}

static bool has_zero(const qgc_attr *shape)
{
    for (uint32_t i = 0; shape->kind == QGC_ATTR_DIMS && i < shape->num; i++)
        if (qgc_dim_is_number(shape->dims[i]) && !shape->dims[i].value)
            return true;
    return false;
}

void export_reshape_op(onnx_export *ex)
{
    int64_t numbers[QGC_MAX_RANK];
    const qgc_attr *shape = export_attribute(ex, "shape");
    bool is_symbolic = shape->kind == QGC_ATTR_DIMS && shape->num <= QGC_MAX_RANK &&
                       with_rest(shape->dims, shape->num, numbers);
    const char *list = is_symbolic ? export_ints(ex, "shape", numbers, shape->num)
                                   : export_list_of(ex, "shape", 1, EXPORT_LIST);
    onnx_node *node = EXPORT_NODE(ex, "Reshape", export_in(ex, 0), list);
    bool copies = qgc_node_flag(ex->node, "copy_zero");
    if (!copies && (export_in(ex, 1) || has_zero(shape)))
        export_set_int(ex, node, "allowzero", 1);
    export_end(ex, node);
}

void export_transpose(onnx_export *ex)
{
    int64_t perm[QGC_MAX_RANK];
    uint32_t rank = export_in_type(ex, 0)->rank;
    const qgc_attr *given = export_attribute(ex, "perm");
    for (uint32_t i = 0; i < rank; i++) {
        perm[i] = given->kind == QGC_ATTR_INTS ? given->ints[i] : (int64_t)(rank - 1 - i);
        perm[i] += perm[i] < 0 ? rank : 0;
    }
    onnx_node *node = EXPORT_NODE(ex, "Transpose", export_in(ex, 0));
    export_set_ints(ex, node, "perm", perm, rank);
    export_end(ex, node);
}

/* An empty list means no dimension here, and every one to ONNX Runtime. */
void export_squeeze(onnx_export *ex)
{
    const qgc_attr *axes = export_attribute(ex, "axes");
    if (axes->kind == QGC_ATTR_INTS && !axes->num)
        export_end(ex, EXPORT_NODE(ex, "Identity", export_in(ex, 0)));
    else
        export_convert_row(ex);
}

/* The sizes of the results, where all are known. */
static const char *known_sizes(onnx_export *ex)
{
    const qgc_node *node = ex->node;
    int64_t axis = qgc_node_int(node, "axis");
    uint32_t rank = export_in_type(ex, 0)->rank, num = node->num_results;
    int64_t *sizes = QGC_NEW_ARRAY(ex->arena, int64_t, num);
    for (uint32_t i = 0; i < num; i++) {
        qgc_dim dim = node->results[i].type->dims[axis < 0 ? axis + rank : axis];
        if (!qgc_dim_is_number(dim))
            return NULL;
        sizes[i] = dim.value;
    }
    return export_ints(ex, "sizes", sizes, num);
}

void export_split(onnx_export *ex)
{
    const char *sizes = export_list_of(ex, "sizes", 1, EXPORT_LIST);
    sizes = sizes ? sizes : known_sizes(ex);
    onnx_node *node = EXPORT_NODE(ex, "Split", export_in(ex, 0), sizes);
    export_map(ex, node, &ex->row->attrs[0]);
    if (!sizes) {
        export_need(ex, 18);
        export_set_int(ex, node, "num_outputs", ex->node->num_results);
    }
    export_end(ex, node);
}

/* ---- padding ---- */

/* Begins and ends of all axes; NULL where they are not attributes. */
static const char *full_pads(onnx_export *ex)
{
    int64_t full[2 * QGC_MAX_RANK] = {0};
    uint32_t rank = export_in_type(ex, 0)->rank;
    const qgc_attr *pads = export_attribute(ex, "pads"), *axes = export_attribute(ex, "axes");
    if (pads->kind != QGC_ATTR_INTS || axes->kind != QGC_ATTR_INTS)
        return NULL;
    for (uint32_t i = 0; i < axes->num; i++) {
        int64_t axis = axes->ints[i] + (axes->ints[i] < 0 ? rank : 0);
        full[axis] = pads->ints[i];
        full[rank + axis] = pads->ints[axes->num + i];
    }
    return export_ints(ex, "pads", full, 2 * rank);
}

void export_pad(onnx_export *ex)
{
    enum { WRAP = 3 };
    const char *axes = NULL, *pads = full_pads(ex);
    if (!pads) {
        pads = export_list_of(ex, "pads", 1, EXPORT_LIST);
        axes = export_list_of(ex, "axes", 3, EXPORT_LIST);
    }
    if (axes)
        export_need(ex, 18);
    if (qgc_node_word(ex->node, "mode") == WRAP)
        export_need(ex, 19);
    onnx_node *node = EXPORT_NODE(ex, "Pad", export_in(ex, 0), pads, export_in(ex, 2), axes);
    export_map(ex, node, &ex->row->attrs[0]);
    export_end(ex, node);
}

/* ---- making tensors ---- */

void export_constant_of_shape(onnx_export *ex)
{
    const char *shape = export_list_of(ex, "shape", 0, EXPORT_LIST), *value = export_in(ex, 1);
    if (!value)
        value = export_scalar(ex, "value", QGC_DTYPE_F32, 0);
    export_end(ex, EXPORT_NODE(ex, "Expand", value, shape));
}

void export_one_hot(onnx_export *ex)
{
    static const float off_on[] = {0, 1};
    const char *values = export_in(ex, 2);
    if (!export_in_type(ex, 0)->rank)
        export_refuse(ex, "ONNX wants indices of rank 1 or more");
    if (!values)
        values = export_floats(ex, "values", off_on, 2);
    onnx_node *node = EXPORT_NODE(ex, "OneHot", export_in(ex, 0),
                                  export_list_of(ex, "depth", 1, EXPORT_SCALAR), values);
    export_map(ex, node, &ex->row->attrs[0]);
    export_end(ex, node);
}

/* ---- indices ---- */

void export_scatter(onnx_export *ex)
{
    enum { MIN = 3 };
    if (qgc_node_word(ex->node, "reduction") >= MIN)
        export_need(ex, 18);
    export_convert_row(ex);
}

/* ONNX has the first two dimensions only, each once. */
void export_reverse_sequence(onnx_export *ex)
{
    int64_t rank = export_in_type(ex, 0)->rank;
    int64_t batch = qgc_node_int(ex->node, "batch_axis"),
            time = qgc_node_int(ex->node, "time_axis");
    batch += batch < 0 ? rank : 0;
    time += time < 0 ? rank : 0;
    if (batch > 1 || time > 1)
        export_refuse(ex, "ONNX has batch and time in the first two dimensions only");
    const char *lengths = export_in(ex, 1);
    if (export_in_type(ex, 1)->dtype != QGC_DTYPE_I64)
        lengths = export_cast(ex, lengths, QGC_DTYPE_I64);
    onnx_node *node = EXPORT_NODE(ex, "ReverseSequence", export_in(ex, 0), lengths);
    export_set_int(ex, node, "batch_axis", batch);
    export_set_int(ex, node, "time_axis", time);
    export_end(ex, node);
}

/* ---- resize ---- */

static const char *floats_of(onnx_export *ex, const char *name, uint32_t index)
{
    const qgc_attr *attr = export_attribute(ex, name);
    if (export_in(ex, index))
        return export_in(ex, index);
    return attr->kind == QGC_ATTR_FLOATS ? export_floats(ex, name, attr->floats, attr->num) : NULL;
}

void export_resize(onnx_export *ex)
{
    enum { HALF_PIXEL_SYMMETRIC = 2, TF_HALF_PIXEL_FOR_NN = 6 };
    const qgc_attr *axes = export_attribute(ex, "axes");
    const char *roi = floats_of(ex, "roi", 1), *scales = floats_of(ex, "scales", 2);
    const char *sizes = export_list_of(ex, "sizes", 3, EXPORT_LIST);
    onnx_node *node = EXPORT_NODE(ex, "Resize", export_in(ex, 0), roi, scales, sizes);
    if (qgc_node_word(ex->node, "coordinates") == HALF_PIXEL_SYMMETRIC)
        export_need(ex, 19);
    if (qgc_node_word(ex->node, "coordinates") == TF_HALF_PIXEL_FOR_NN)
        export_refuse(ex, "ONNX dropped tf_half_pixel_for_nn in opset 13");
    for (int i = 0; i < EXPORT_MAX_ATTRS; i++)
        export_map(ex, node, &ex->row->attrs[i]);
    if (axes->kind == QGC_ATTR_INTS) {
        export_need(ex, 18);
        export_set_ints(ex, node, "axes", axes->ints, axes->num);
    }
    export_end(ex, node);
}

/* ---- sampling ---- */

/* The modes were renamed in opset 20. */
void export_grid_sample(onnx_export *ex)
{
    static const char *const modes[][2] = {
        {"bilinear", "linear"}, {"nearest", "nearest"}, {"bicubic", "cubic"}};
    onnx_node *node = EXPORT_NODE(ex, "GridSample", export_in(ex, 0), export_in(ex, 1));
    export_set_text(ex, node, "mode", modes[qgc_node_word(ex->node, "mode")][ex->version >= 20]);
    export_map(ex, node, &ex->row->attrs[0]);
    export_map(ex, node, &ex->row->attrs[1]);
    export_end(ex, node);
}

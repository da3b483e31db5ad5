/* The export table, and its declarative rows: one ONNX node, inputs by position, attributes as
 * mapped. */
#include "frontend/onnx/export.h"

#define HALF_TO_DOUBLE (QGC_BIT(F16) | QGC_BIT(F32) | QGC_BIT(F64))
#define WIDE_INTS      (QGC_BIT(I32) | QGC_BIT(U32) | QGC_BIT(I64) | QGC_BIT(U64))

#define ROW(id, ...)
#define CONVERT(id, function, ...) export_convert function;
#define REFUSE(id, reason)
#include "frontend/onnx/export.def"

#define ROW(id, ...)               [QGC_OP_##id] = {__VA_ARGS__},
#define CONVERT(id, function, ...) [QGC_OP_##id] = {.convert = function, __VA_ARGS__},
#define REFUSE(id, reason)         [QGC_OP_##id] = {.refused = reason},
static const export_row rows[QGC_NUM_OPS] = {
#include "frontend/onnx/export.def"
};

const export_row *export_find_row(qgc_opcode op)
{
    const export_row *row = &rows[op];
    return row->op || row->convert || row->refused ? row : NULL;
}

static const char *as_i64(onnx_export *ex, uint32_t index)
{
    const char *value = export_in(ex, index);
    bool is_narrow = value && export_in_type(ex, index)->dtype != QGC_DTYPE_I64;
    return is_narrow ? export_cast(ex, value, QGC_DTYPE_I64) : value;
}

static const char *with_shape(onnx_export *ex, uint32_t index, export_shape shape)
{
    const char *value = as_i64(ex, index);
    uint32_t wanted = shape == EXPORT_SCALAR ? 0 : 1;
    if (export_in_type(ex, index)->rank == wanted)
        return value;
    return export_reshape(ex, value, &(int64_t){1}, wanted);
}

const char *export_list_of(onnx_export *ex, const char *name, uint32_t index, export_shape shape)
{
    const qgc_attr *attr = export_attribute(ex, name);
    if (export_in(ex, index))
        return with_shape(ex, index, shape);
    if (attr->kind == QGC_ATTR_INT && shape == EXPORT_SCALAR)
        return export_scalar(ex, name, QGC_DTYPE_I64, (double)attr->i);
    if (attr->kind == QGC_ATTR_INT)
        return export_ints(ex, name, &attr->i, 1);
    if (attr->kind == QGC_ATTR_INTS)
        return export_ints(ex, name, attr->ints, attr->num);
    return attr->kind == QGC_ATTR_DIMS ? export_dims(ex, name, attr->dims, attr->num) : NULL;
}

static const char *input(onnx_export *ex, uint32_t index)
{
    const export_row *row = ex->row;
    if (index < QGC_MAX_OPERANDS && row->lists[index].shape)
        return export_list_of(ex, row->lists[index].attr, index, row->lists[index].shape);
    return index < 32 && row->wide >> index & 1 ? as_i64(ex, index) : export_in(ex, index);
}

/* Operands that are absent at the end of the node may still stand as attributes. */
static uint32_t num_inputs(onnx_export *ex)
{
    uint32_t num = ex->node->num_operands;
    for (uint32_t i = num; i < QGC_MAX_OPERANDS; i++)
        if (ex->row->lists[i].shape)
            num = i + 1;
    return num;
}

void export_convert_row(onnx_export *ex)
{
    uint32_t num = num_inputs(ex);
    const char **inputs = QGC_NEW_ARRAY(ex->arena, const char *, num);
    for (uint32_t i = 0; i < num; i++)
        inputs[i] = input(ex, i);
    onnx_node *node = export_begin(ex, ex->row->op, num, inputs);
    for (int i = 0; i < EXPORT_MAX_ATTRS && ex->row->attrs[i].from; i++)
        export_map(ex, node, &ex->row->attrs[i]);
    export_end(ex, node);
}

/* TensorProto to a tensor: element types, the many places where data may stand, external files. */
#include "frontend/onnx/reader.h"

#include "base/number.h"
#include "frontend/weights.h"
#include "runtime/tensor.h"

#include <string.h>

/* The field of a TensorProto that holds a type's elements where raw_data does not. */
typedef enum storage { IN_FLOAT, IN_INT32, IN_INT64, IN_UINT64, IN_DOUBLE } storage;

static const struct {
    qgc_dtype dtype;
    storage storage;
    bool known;
    const char *name;
} data_types[] = {
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT] = {QGC_DTYPE_F32, IN_FLOAT, true, "float"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT8] = {QGC_DTYPE_U8, IN_INT32, true, "uint8"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT8] = {QGC_DTYPE_I8, IN_INT32, true, "int8"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT16] = {QGC_DTYPE_U16, IN_INT32, true, "uint16"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT16] = {QGC_DTYPE_I16, IN_INT32, true, "int16"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT32] = {QGC_DTYPE_I32, IN_INT32, true, "int32"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT64] = {QGC_DTYPE_I64, IN_INT64, true, "int64"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__BOOL] = {QGC_DTYPE_BOOL, IN_INT32, true, "bool"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16] = {QGC_DTYPE_F16, IN_INT32, true, "float16"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE] = {QGC_DTYPE_F64, IN_DOUBLE, true, "double"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT32] = {QGC_DTYPE_U32, IN_UINT64, true, "uint32"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT64] = {QGC_DTYPE_U64, IN_UINT64, true, "uint64"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16] = {QGC_DTYPE_BF16, IN_INT32, true, "bfloat16"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__STRING] = {.name = "string"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX64] = {.name = "complex64"},
    [ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX128] = {.name = "complex128"},
};
enum { NUM_DATA_TYPES = sizeof data_types / sizeof *data_types };

bool qgc_onnx_dtype(int64_t code, qgc_dtype *out)
{
    if (code < 0 || code >= NUM_DATA_TYPES || !data_types[code].known)
        return false;
    *out = data_types[code].dtype;
    return true;
}

static const char *describe_type(qgc_onnx_reader *reader, int64_t code)
{
    const char *name = code >= 0 && code < NUM_DATA_TYPES ? data_types[code].name : NULL;
    return name ? qgc_arena_printf(reader->arena, "element type %s", name)
                : qgc_arena_printf(reader->arena, "element type %lld", (long long)code);
}

/* ---- data in typed fields ---- */

static size_t stored_count(const Onnx__TensorProto *proto, storage where)
{
    switch (where) {
    case IN_FLOAT:
        return proto->n_float_data;
    case IN_INT32:
        return proto->n_int32_data;
    case IN_INT64:
        return proto->n_int64_data;
    case IN_UINT64:
        return proto->n_uint64_data;
    case IN_DOUBLE:
        return proto->n_double_data;
    }
    return 0;
}

static void narrow(const Onnx__TensorProto *proto, storage where, size_t count, qgc_tensor *out)
{
    size_t bytes = qgc_dtype_bytes(out->dtype);
    uint8_t *to = out->data;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits =
            where == IN_UINT64 ? proto->uint64_data[i] : (uint64_t)(int64_t)proto->int32_data[i];
        memcpy(to + i * bytes, &bits, bytes);
    }
}

static qgc_result take_typed(qgc_onnx_reader *reader, const char *shown,
                             const Onnx__TensorProto *proto, size_t count, qgc_tensor *out)
{
    storage where = data_types[proto->data_type].storage;
    size_t stored = stored_count(proto, where);
    if (stored != count)
        return qgc_onnx_malformed(reader, "tensor %s: expected %zu elements, found %zu", shown,
                                  count, stored);
    if (where == IN_FLOAT)
        out->data = proto->float_data;
    else if (where == IN_INT64)
        out->data = proto->int64_data;
    else if (where == IN_DOUBLE)
        out->data = proto->double_data;
    else
        out->data = qgc_arena_alloc(reader->arena, out->bytes);
    if (!out->data) /* an empty tensor */
        out->data = qgc_arena_alloc(reader->arena, 0);
    if (where == IN_INT32 || where == IN_UINT64)
        narrow(proto, where, count, out);
    return QGC_OK;
}

/* ---- data in another file ---- */

typedef struct external {
    qgc_str location;
    int64_t offset, length; /* length -1: not given */
} external;

static qgc_result read_external(qgc_onnx_reader *reader, const char *shown,
                                const Onnx__TensorProto *proto, external *out)
{
    *out = (external){.length = -1};
    for (size_t i = 0; i < proto->n_external_data; i++) {
        const Onnx__StringStringEntryProto *entry = proto->external_data[i];
        qgc_str key = qgc_str_from(entry->key ? entry->key : "");
        qgc_str value = qgc_str_from(entry->value ? entry->value : "");
        int64_t *number = qgc_str_equal(key, qgc_str_from("offset"))   ? &out->offset
                          : qgc_str_equal(key, qgc_str_from("length")) ? &out->length
                                                                       : NULL;
        if (qgc_str_equal(key, qgc_str_from("location")))
            out->location = value;
        if (number && (!qgc_parse_i64(value, number) || *number < 0))
            return qgc_onnx_malformed(reader, "tensor %s: external %s is %s, expected a number",
                                      shown, entry->key, qgc_quoted(reader->arena, value));
    }
    return QGC_OK;
}

static qgc_result copy_external(qgc_onnx_reader *reader, const char *shown, const external *from,
                                const qgc_file *file, qgc_tensor *out)
{
    size_t end;
    if (from->length >= 0 && (uint64_t)from->length != out->bytes)
        return qgc_onnx_malformed(reader,
                                  "tensor %s: its shape takes %zu bytes, external length is %lld",
                                  shown, out->bytes, (long long)from->length);
    if (!qgc_checked_add((size_t)from->offset, out->bytes, &end) || end > file->size)
        return qgc_onnx_malformed(
            reader, "tensor %s: %zu bytes at offset %lld lie outside %s (%zu bytes)", shown,
            out->bytes, (long long)from->offset, file->name, file->size);
    out->data = qgc_arena_alloc(reader->arena, out->bytes);
    if (out->bytes)
        memcpy(out->data, file->data + from->offset, out->bytes);
    return QGC_OK;
}

static qgc_result take_external(qgc_onnx_reader *reader, const char *shown,
                                const Onnx__TensorProto *proto, qgc_tensor *out)
{
    external from;
    QGC_TRY(read_external(reader, shown, proto, &from));
    if (!reader->directory || !qgc_path_stays_inside(from.location))
        return qgc_report(&reader->context->diag, QGC_NO_LOC, QGC_D_FILE_PATH,
                          "%s: tensor %s: external file %s is not inside the model's folder",
                          reader->file, shown, qgc_quoted(reader->arena, from.location));
    const char *path =
        qgc_arena_printf(reader->arena, "%s%.*s", reader->directory, QGC_STR_ARG(from.location));
    qgc_file file;
    QGC_TRY(qgc_file_open(&reader->context->diag, path, &file));
    qgc_result result = copy_external(reader, shown, &from, &file, out);
    qgc_file_close(&file);
    return result;
}

/* ---- all of it ---- */

static qgc_result take_data(qgc_onnx_reader *reader, const char *shown,
                            const Onnx__TensorProto *proto, size_t count, qgc_tensor *out)
{
    if (proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        return take_external(reader, shown, proto, out);
    if (!proto->has_raw_data)
        return take_typed(reader, shown, proto, count, out);
    if (proto->raw_data.len != out->bytes)
        return qgc_onnx_malformed(reader, "tensor %s: its shape takes %zu bytes, found %zu", shown,
                                  out->bytes, proto->raw_data.len);
    out->data = proto->raw_data.len ? proto->raw_data.data : qgc_arena_alloc(reader->arena, 0);
    return QGC_OK;
}

static qgc_result take_shape(qgc_onnx_reader *reader, const char *shown,
                             const Onnx__TensorProto *proto, qgc_tensor *out)
{
    out->rank = (uint32_t)proto->n_dims;
    for (size_t i = 0; i < proto->n_dims; i++) {
        if (proto->dims[i] < 0)
            return qgc_onnx_malformed(reader, "tensor %s: dimension %zu is %lld", shown, i,
                                      (long long)proto->dims[i]);
        out->shape[i] = proto->dims[i];
    }
    return QGC_OK;
}

qgc_result qgc_onnx_convert_tensor(qgc_onnx_reader *reader, const Onnx__TensorProto *proto,
                                   qgc_onnx_tensor *out)
{
    qgc_tensor *tensor = &out->tensor;
    size_t count;
    *out = (qgc_onnx_tensor){.name = qgc_onnx_name(reader, proto->name)};
    const char *shown = qgc_quoted(reader->arena, qgc_str_from(proto->name ? proto->name : ""));
    if (!qgc_onnx_dtype(proto->data_type, &tensor->dtype))
        out->problem = describe_type(reader, proto->data_type);
    else if (proto->n_dims > QGC_MAX_RANK)
        out->problem = qgc_arena_printf(reader->arena, "rank %zu", proto->n_dims);
    else if (proto->segment)
        out->problem = "data in segments";
    if (out->problem)
        return QGC_OK;
    QGC_TRY(take_shape(reader, shown, proto, tensor));
    if (!qgc_shape_count(tensor->rank, tensor->shape, &count) ||
        !qgc_shape_bytes(tensor->dtype, tensor->rank, tensor->shape, &tensor->bytes))
        return qgc_onnx_malformed(reader, "tensor %s: its shape %s is too large", shown,
                                  qgc_shape_text(reader->arena, tensor->rank, tensor->shape));
    QGC_TRY(take_data(reader, shown, proto, count, tensor));
    if (tensor->dtype == QGC_DTYPE_BOOL && !qgc_bools_valid(tensor->data, tensor->bytes))
        return qgc_onnx_malformed(reader, "tensor %s: a bool is neither 0 nor 1", shown);
    return QGC_OK;
}

qgc_result qgc_onnx_read_tensor(qgc_context *context, qgc_arena *arena, const qgc_file *file,
                                qgc_onnx_tensor *out)
{
    qgc_onnx_reader reader = {.context = context, .arena = arena, .file = file->name};
    ProtobufCMessage *proto = qgc_onnx_unpack(&reader, &onnx__tensor_proto__descriptor, file);
    return proto ? qgc_onnx_convert_tensor(&reader, (const Onnx__TensorProto *)proto, out)
                 : QGC_FAILED;
}

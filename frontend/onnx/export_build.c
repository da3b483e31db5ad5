/* Building the ONNX model: names, nodes, attributes, initializers. */
#include "frontend/onnx/export.h"
#include "runtime/tensor.h"

#include <ctype.h>
#include <string.h>

void export_refuse(onnx_export *ex, const char *format, ...)
{
    va_list args;
    if (ex->reason)
        return;
    va_start(args, format);
    ex->reason = qgc_arena_vprintf(ex->arena, format, args);
    va_end(args);
}

void export_need(onnx_export *ex, int version)
{
    if (version > ex->needed)
        ex->needed = version;
}

/* ---- names ---- */

static const char *claim_in(onnx_export *ex, qgc_map *taken, const char *text, const char *joint)
{
    qgc_name name = qgc_intern(&ex->names, qgc_str_from(text));
    for (int n = 1; *qgc_map_at(taken, name); n++) {
        const char *next = qgc_arena_printf(ex->arena, "%s%s%d", text, joint, n);
        name = qgc_intern(&ex->names, qgc_str_from(next));
    }
    *qgc_map_at(taken, name) = (void *)name;
    return name->data;
}

const char *export_claim(onnx_export *ex, const char *text)
{
    return claim_in(ex, &ex->taken, text, ".");
}

static bool is_taken(onnx_export *ex, qgc_name name)
{
    return qgc_map_get(&ex->taken, qgc_intern(&ex->names, qgc_name_str(name))) != NULL;
}

const char *export_name(onnx_export *ex, const qgc_value *value)
{
    void **slot = qgc_map_at(&ex->frame->values, value);
    if (*slot)
        return *slot;
    const char *text = value->name->data;
    if (ex->frame->outer && is_taken(ex, value->name))
        text = qgc_arena_printf(ex->arena, "%s%s", ex->frame->prefix, text);
    const char *name = export_claim(ex, text);
    *qgc_map_at(&ex->frame->values, value) = (void *)name;
    return name;
}

const char *export_in(onnx_export *ex, uint32_t index)
{
    const qgc_node *node = ex->node;
    qgc_value *value = index < node->num_operands ? qgc_node_operand(node, index) : NULL;
    return value ? export_name(ex, value) : NULL;
}

const qgc_type *export_in_type(onnx_export *ex, uint32_t index)
{
    const qgc_node *node = ex->node;
    qgc_value *value = index < node->num_operands ? qgc_node_operand(node, index) : NULL;
    return value ? value->type : NULL;
}

const qgc_tensor *export_known(onnx_export *ex, uint32_t index)
{
    const qgc_node *node = ex->node;
    qgc_value *value = index < node->num_operands ? qgc_node_operand(node, index) : NULL;
    return value && value->def ? value->def->constant : NULL;
}

const qgc_attr *export_attribute(onnx_export *ex, const char *name)
{
    static const qgc_attr none = {.kind = QGC_ATTR_NONE};
    const qgc_attr *attr = qgc_node_attr(ex->node, name);
    return attr ? attr : &none;
}

const char *export_out(onnx_export *ex, uint32_t index)
{
    return export_name(ex, &ex->node->results[index]);
}

const char *export_fresh(onnx_export *ex, const char *hint)
{
    const char *base = ex->node && ex->node->num_results ? export_out(ex, 0) : "graph";
    char *text = qgc_arena_printf(ex->arena, "%s.%s", base, hint);
    return export_claim(ex, text);
}

int32_t export_dtype_code(qgc_dtype dtype)
{
    static const int32_t codes[] = {
        [QGC_DTYPE_F32] = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
        [QGC_DTYPE_F16] = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16,
        [QGC_DTYPE_BF16] = ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16,
        [QGC_DTYPE_F64] = ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE,
        [QGC_DTYPE_I8] = ONNX__TENSOR_PROTO__DATA_TYPE__INT8,
        [QGC_DTYPE_U8] = ONNX__TENSOR_PROTO__DATA_TYPE__UINT8,
        [QGC_DTYPE_I16] = ONNX__TENSOR_PROTO__DATA_TYPE__INT16,
        [QGC_DTYPE_U16] = ONNX__TENSOR_PROTO__DATA_TYPE__UINT16,
        [QGC_DTYPE_I32] = ONNX__TENSOR_PROTO__DATA_TYPE__INT32,
        [QGC_DTYPE_U32] = ONNX__TENSOR_PROTO__DATA_TYPE__UINT32,
        [QGC_DTYPE_I64] = ONNX__TENSOR_PROTO__DATA_TYPE__INT64,
        [QGC_DTYPE_U64] = ONNX__TENSOR_PROTO__DATA_TYPE__UINT64,
        [QGC_DTYPE_BOOL] = ONNX__TENSOR_PROTO__DATA_TYPE__BOOL,
    };
    return codes[dtype];
}

/* ---- nodes ---- */

/* "/stem/proj/MatMul" for the scope "stem.proj": what the importer reads back. */
static char *node_name(onnx_export *ex, const char *op)
{
    qgc_name scope = ex->node ? ex->node->scope : NULL;
    if (!scope || !scope->size)
        return NULL;
    char *path = qgc_arena_printf(ex->arena, "/%s/%s", scope->data, op);
    for (char *c = path; c < path + 1 + scope->size; c++)
        if (*c == '.')
            *c = '/';
    return (char *)claim_in(ex, &ex->scopes, path, "_");
}

onnx_node *export_begin(onnx_export *ex, const char *op, size_t num, const char *const *inputs)
{
    onnx_node *node = QGC_NEW(ex->arena, onnx_node);
    onnx__node_proto__init(node);
    while (num && !inputs[num - 1])
        num--;
    node->op_type = (char *)op;
    node->name = node_name(ex, op);
    node->n_input = num;
    node->input = QGC_NEW_ARRAY(ex->arena, char *, num);
    for (size_t i = 0; i < num; i++)
        node->input[i] = (char *)(inputs[i] ? inputs[i] : "");
    node->output = QGC_NEW_ARRAY(ex->arena, char *, ex->node ? ex->node->num_results + 4 : 4);
    node->attribute = QGC_NEW_ARRAY(ex->arena, Onnx__AttributeProto *, QGC_MAX_ATTRS + 4);
    qgc_vec_push(ex->arena, &ex->nodes, node);
    return node;
}

static Onnx__AttributeProto *add_attr(onnx_export *ex, onnx_node *node, const char *name,
                                      Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *attr = QGC_NEW(ex->arena, Onnx__AttributeProto);
    onnx__attribute_proto__init(attr);
    attr->name = (char *)name;
    attr->has_type = true;
    attr->type = type;
    node->attribute[node->n_attribute++] = attr;
    return attr;
}

void export_set_int(onnx_export *ex, onnx_node *node, const char *name, int64_t value)
{
    Onnx__AttributeProto *attr =
        add_attr(ex, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    attr->has_i = true;
    attr->i = value;
}

void export_set_float(onnx_export *ex, onnx_node *node, const char *name, float value)
{
    Onnx__AttributeProto *attr =
        add_attr(ex, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    attr->has_f = true;
    attr->f = value;
}

void export_set_text(onnx_export *ex, onnx_node *node, const char *name, const char *text)
{
    Onnx__AttributeProto *attr =
        add_attr(ex, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    attr->has_s = true;
    attr->s = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
}

void export_set_ints(onnx_export *ex, onnx_node *node, const char *name, const int64_t *values,
                     uint32_t num)
{
    Onnx__AttributeProto *attr =
        add_attr(ex, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    attr->n_ints = num;
    attr->ints = QGC_NEW_ARRAY(ex->arena, int64_t, num);
    if (num)
        memcpy(attr->ints, values, num * sizeof *values);
}

static const char *word_at(onnx_export *ex, const char *words, int index, bool upper)
{
    for (; index > 0; index--)
        words = strchr(words, '|') + 1;
    char *text = qgc_arena_strdup(ex->arena, (qgc_str){words, strcspn(words, "|")});
    for (char *c = text; upper && *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return text;
}

void export_map(onnx_export *ex, onnx_node *node, const export_attr *map)
{
    const qgc_op_info *op = qgc_node_op(ex->node);
    const qgc_attr_spec *spec = &op->attrs[qgc_op_attr_index(op, qgc_str_from(map->from))];
    const qgc_attr *attr = export_attribute(ex, map->from);
    if (!qgc_node_has(ex->node, map->from) && (!spec->default_text || map->rule == EXPORT_INTS))
        return;
    switch (map->rule) {
    case EXPORT_INT:
        export_set_int(ex, node, map->to, qgc_node_int(ex->node, map->from));
        return;
    case EXPORT_FLOAT:
        export_set_float(ex, node, map->to, qgc_node_float(ex->node, map->from));
        return;
    case EXPORT_FLAG:
        export_set_int(ex, node, map->to, qgc_node_flag(ex->node, map->from));
        return;
    case EXPORT_INTS:
        export_set_ints(ex, node, map->to, attr->ints, attr->num);
        return;
    case EXPORT_WORD:
    case EXPORT_UPPER:
        export_set_text(ex, node, map->to,
                        word_at(ex, spec->words, qgc_node_word(ex->node, map->from),
                                map->rule == EXPORT_UPPER));
        return;
    case EXPORT_TEXT:
        export_set_text(ex, node, map->to, attr->name->data);
        return;
    case EXPORT_DTYPE:
        export_set_int(ex, node, map->to, export_dtype_code(qgc_node_dtype(ex->node, map->from)));
        return;
    case EXPORT_NONE:
        return;
    }
}

const char *export_result(onnx_export *ex, onnx_node *node)
{
    char *hint = qgc_arena_strdup(ex->arena, qgc_str_from(node->op_type));
    for (char *c = hint; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    const char *name = export_fresh(ex, hint);
    node->output[node->n_output++] = (char *)name;
    return name;
}

void export_bind(onnx_export *ex, onnx_node *node, uint32_t index)
{
    node->output[node->n_output++] = (char *)export_out(ex, index);
}

void export_end(onnx_export *ex, onnx_node *node)
{
    for (uint32_t i = 0; i < ex->node->num_results; i++)
        export_bind(ex, node, i);
}

void export_alias(onnx_export *ex, uint32_t index, const char *name)
{
    void **slot = qgc_map_at(&ex->frame->values, &ex->node->results[index]);
    if (*slot) /* it has a name already that others know */
        export_bind(ex, EXPORT_NODE(ex, "Identity", name), index);
    else
        *slot = (void *)name;
}

const char *export_cast(onnx_export *ex, const char *value, qgc_dtype to)
{
    onnx_node *node = EXPORT_NODE(ex, "Cast", value);
    export_set_int(ex, node, "to", export_dtype_code(to));
    return export_result(ex, node);
}

const char *export_reshape(onnx_export *ex, const char *value, const int64_t *shape, uint32_t rank)
{
    return EXPORT_OP(ex, "Reshape", value, export_ints(ex, "shape", shape, rank));
}

/* ---- constants ---- */

const char *export_tensor(onnx_export *ex, const char *name, const qgc_tensor *tensor)
{
    Onnx__TensorProto *proto = QGC_NEW(ex->arena, Onnx__TensorProto);
    onnx__tensor_proto__init(proto);
    proto->name = (char *)name;
    proto->has_data_type = true;
    proto->data_type = export_dtype_code(tensor->dtype);
    proto->n_dims = tensor->rank;
    proto->dims = QGC_NEW_ARRAY(ex->arena, int64_t, tensor->rank);
    memcpy(proto->dims, tensor->shape, tensor->rank * sizeof *tensor->shape);
    proto->has_raw_data = true;
    proto->raw_data = (ProtobufCBinaryData){tensor->bytes, tensor->data};
    qgc_vec_push(ex->arena, &ex->initializers, proto);
    return name;
}

static const char *constant(onnx_export *ex, const char *hint, qgc_dtype dtype, uint32_t rank,
                            const int64_t *shape, const void *data, size_t bytes)
{
    qgc_tensor tensor = {.dtype = dtype, .rank = rank, .bytes = bytes};
    for (uint32_t i = 0; i < rank; i++)
        tensor.shape[i] = shape[i];
    tensor.data = qgc_arena_alloc(ex->arena, bytes);
    if (bytes)
        memcpy(tensor.data, data, bytes);
    return export_tensor(ex, export_fresh(ex, hint), &tensor);
}

const char *export_ints(onnx_export *ex, const char *hint, const int64_t *values, uint32_t num)
{
    return constant(ex, hint, QGC_DTYPE_I64, 1, &(int64_t){num}, values, num * sizeof *values);
}

const char *export_floats(onnx_export *ex, const char *hint, const float *values, uint32_t num)
{
    return constant(ex, hint, QGC_DTYPE_F32, 1, &(int64_t){num}, values, num * sizeof *values);
}

typedef union element {
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
} element;

/* Of f16 and bf16 only 0 and 1 are needed. */
static element element_of(qgc_dtype dtype, double value)
{
    switch (dtype) {
    case QGC_DTYPE_F32:
        return (element){.f32 = (float)value};
    case QGC_DTYPE_F16:
        return (element){.u16 = value != 0 ? 0x3c00 : 0};
    case QGC_DTYPE_BF16:
        return (element){.u16 = value != 0 ? 0x3f80 : 0};
    case QGC_DTYPE_F64:
        return (element){.f64 = value};
    case QGC_DTYPE_I8:
        return (element){.i8 = (int8_t)value};
    case QGC_DTYPE_I16:
        return (element){.i16 = (int16_t)value};
    case QGC_DTYPE_U16:
        return (element){.u16 = (uint16_t)value};
    case QGC_DTYPE_I32:
        return (element){.i32 = (int32_t)value};
    case QGC_DTYPE_U32:
        return (element){.u32 = (uint32_t)value};
    case QGC_DTYPE_I64:
        return (element){.i64 = (int64_t)value};
    case QGC_DTYPE_U64:
        return (element){.u64 = (uint64_t)value};
    default:
        return (element){.u8 = (uint8_t)value};
    }
}

const char *export_scalar(onnx_export *ex, const char *hint, qgc_dtype dtype, double value)
{
    element e = element_of(dtype, value);
    return constant(ex, hint, dtype, 0, NULL, &e, qgc_dtype_bytes(dtype));
}

const char *export_fill(onnx_export *ex, const char *hint, qgc_dtype dtype, uint32_t rank,
                        const int64_t *shape, double value)
{
    element e = element_of(dtype, value);
    size_t count, size = qgc_dtype_bytes(dtype);
    if (!qgc_shape_count(rank, shape, &count)) {
        export_refuse(ex, "a constant of that shape is too large");
        return NULL;
    }
    char *data = qgc_arena_alloc_array(ex->arena, count, size);
    for (size_t i = 0; i < count; i++)
        memcpy(data + i * size, &e, size);
    return constant(ex, hint, dtype, rank, shape, data, count * size);
}

/* GraphProto and its parts to the model. */
#include "frontend/onnx/reader.h"

#include "runtime/tensor.h"

#include <string.h>

static const char *quoted(qgc_onnx_reader *reader, const char *text)
{
    return qgc_quoted(reader->arena, qgc_str_from(text ? text : ""));
}

static qgc_str bytes_str(ProtobufCBinaryData bytes)
{
    return (qgc_str){bytes.data ? (const char *)bytes.data : "", bytes.len};
}

/* ---- types ---- */

static const char *kind_problem(const Onnx__TypeProto *proto)
{
    switch (proto->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        return NULL;
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        return "a sequence";
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        return "a map";
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        return "an optional value";
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        return "a sparse tensor";
    default:
        return "a value of unknown kind";
    }
}

static qgc_result convert_dim(qgc_onnx_reader *reader, const char *value,
                              const Onnx__TensorShapeProto__Dimension *proto, qgc_onnx_dim *out)
{
    *out = (qgc_onnx_dim){.kind = QGC_ONNX_ANY};
    if (proto->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
        if (proto->dim_value == -1) /* some writers mean: not known */
            return QGC_OK;
        if (proto->dim_value < 0)
            return qgc_onnx_malformed(reader, "value %s has a dimension of %lld", value,
                                      (long long)proto->dim_value);
        *out = (qgc_onnx_dim){.kind = QGC_ONNX_NUMBER, .number = proto->dim_value};
    } else if (proto->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
               proto->dim_param[0] && strcmp(proto->dim_param, "?") != 0) {
        *out = (qgc_onnx_dim){.kind = QGC_ONNX_NAMED, .name = qgc_str_from(proto->dim_param)};
    }
    return QGC_OK;
}

static qgc_result check_size(qgc_onnx_reader *reader, const char *value, const qgc_onnx_type *type)
{
    int64_t shape[QGC_MAX_RANK];
    size_t bytes;
    for (uint32_t i = 0; i < type->rank; i++)
        shape[i] = type->dims[i].kind == QGC_ONNX_NUMBER ? type->dims[i].number : 1;
    if (qgc_shape_bytes(type->dtype, type->rank, shape, &bytes))
        return QGC_OK;
    return qgc_onnx_malformed(reader, "value %s: its shape is too large", value);
}

static qgc_result convert_type(qgc_onnx_reader *reader, const char *value,
                               const Onnx__TypeProto *proto, qgc_onnx_type *out)
{
    *out = (qgc_onnx_type){0};
    if (!proto)
        return QGC_OK;
    out->problem = kind_problem(proto);
    if (out->problem)
        return QGC_OK;
    const Onnx__TypeProto__Tensor *tensor = proto->tensor_type;
    out->has_dtype = qgc_onnx_dtype(tensor->elem_type, &out->dtype);
    if (!out->has_dtype && tensor->elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING)
        out->problem = "of element type string";
    else if (!out->has_dtype && tensor->elem_type)
        out->problem = "of an element type that does not exist here";
    if (!tensor->shape || out->problem)
        return QGC_OK;
    if (tensor->shape->n_dim > QGC_MAX_RANK) {
        out->problem = "of a rank above 8";
        return QGC_OK;
    }
    out->has_shape = true;
    out->rank = (uint32_t)tensor->shape->n_dim;
    for (uint32_t i = 0; i < out->rank; i++)
        QGC_TRY(convert_dim(reader, value, tensor->shape->dim[i], &out->dims[i]));
    return check_size(reader, value, out);
}

static qgc_result convert_values(qgc_onnx_reader *reader, size_t num,
                                 Onnx__ValueInfoProto *const *protos, uint32_t *out_num,
                                 qgc_onnx_value **out)
{
    *out_num = (uint32_t)num;
    *out = QGC_NEW_ARRAY(reader->arena, qgc_onnx_value, num);
    for (size_t i = 0; i < num; i++) {
        (*out)[i].name = qgc_onnx_name(reader, protos[i]->name);
        if (!(*out)[i].name)
            return qgc_onnx_malformed(reader, "a graph input, output or value has no name");
        QGC_TRY(convert_type(reader, quoted(reader, protos[i]->name), protos[i]->type,
                             &(*out)[i].type));
    }
    return QGC_OK;
}

/* ---- attributes ---- */

/* Files older than IR version 2 leave the type out: it follows from the field that is set. */
static Onnx__AttributeProto__AttributeType attr_type(const Onnx__AttributeProto *proto)
{
    if (proto->has_type && proto->type)
        return proto->type;
    if (proto->has_f)
        return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
    if (proto->has_i)
        return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    if (proto->has_s)
        return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
    if (proto->t)
        return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
    if (proto->g)
        return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
    if (proto->n_floats)
        return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
    if (proto->n_strings)
        return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
    return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
}

static qgc_result convert_strings(qgc_onnx_reader *reader, const Onnx__AttributeProto *proto,
                                  qgc_onnx_attr *out)
{
    qgc_str *strings = QGC_NEW_ARRAY(reader->arena, qgc_str, proto->n_strings);
    for (size_t i = 0; i < proto->n_strings; i++)
        strings[i] = bytes_str(proto->strings[i]);
    out->kind = QGC_ONNX_STRINGS;
    out->num = (uint32_t)proto->n_strings;
    out->strings = strings;
    return QGC_OK;
}

static qgc_result convert_tensor_attr(qgc_onnx_reader *reader, const char *node,
                                      const Onnx__AttributeProto *proto, qgc_onnx_attr *out)
{
    if (!proto->t)
        return qgc_onnx_malformed(reader, "node %s: attribute %s has no tensor", node,
                                  out->name->data);
    qgc_onnx_tensor *tensor = QGC_NEW(reader->arena, qgc_onnx_tensor);
    out->kind = QGC_ONNX_TENSOR;
    out->tensor = tensor;
    return qgc_onnx_convert_tensor(reader, proto->t, tensor);
}

static qgc_result convert_graph_attr(qgc_onnx_reader *reader, const char *node,
                                     const Onnx__AttributeProto *proto, qgc_onnx_attr *out)
{
    if (!proto->g)
        return qgc_onnx_malformed(reader, "node %s: attribute %s has no graph", node,
                                  out->name->data);
    qgc_onnx_graph *graph = QGC_NEW(reader->arena, qgc_onnx_graph);
    out->kind = QGC_ONNX_GRAPH;
    out->graph = graph;
    return qgc_onnx_convert_graph(reader, proto->g, graph);
}

qgc_result qgc_onnx_convert_attr(qgc_onnx_reader *reader, const char *node,
                                 const Onnx__AttributeProto *proto, qgc_onnx_attr *out)
{
    out->name = qgc_onnx_name(reader, proto->name);
    if (!out->name)
        return qgc_onnx_malformed(reader, "node %s: an attribute has no name", node);
    switch (attr_type(proto)) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        out->kind = QGC_ONNX_FLOAT;
        out->f = proto->f;
        return QGC_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        out->kind = QGC_ONNX_INT;
        out->i = proto->i;
        return QGC_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        out->kind = QGC_ONNX_STRING;
        out->s = bytes_str(proto->s);
        return QGC_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        out->kind = QGC_ONNX_FLOATS;
        out->num = (uint32_t)proto->n_floats;
        out->floats = proto->floats;
        return QGC_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        out->kind = QGC_ONNX_INTS;
        out->num = (uint32_t)proto->n_ints;
        out->ints = proto->ints;
        return QGC_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
        return convert_strings(reader, proto, out);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
        return convert_tensor_attr(reader, node, proto, out);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH:
        return convert_graph_attr(reader, node, proto, out);
    default:
        out->kind = QGC_ONNX_OTHER;
        return QGC_OK;
    }
}

/* ---- nodes ---- */

static void list_names(qgc_onnx_reader *reader, size_t num, char *const *names)
{
    for (size_t i = 0; i < num; i++)
        qgc_text_printf(&reader->listing, "%s%s", i ? ", " : "",
                        names[i][0] ? quoted(reader, names[i]) : "_");
}

/* `Conv "stem" ("x", "w") -> "y"`: what a caret points at. */
static qgc_loc list_node(qgc_onnx_reader *reader, const Onnx__NodeProto *proto)
{
    qgc_text *listing = &reader->listing;
    uint32_t begin = (uint32_t)listing->size;
    qgc_text_printf(listing, "%.64s %s (", proto->op_type, quoted(reader, proto->name));
    list_names(reader, proto->n_input, proto->input);
    qgc_text_puts(listing, ") -> ");
    list_names(reader, proto->n_output, proto->output);
    uint32_t size = (uint32_t)listing->size - begin;
    qgc_text_putc(listing, '\n');
    return (qgc_loc){(uint32_t)reader->context->sources.list.size + 1, begin, size};
}

static qgc_name *convert_names(qgc_onnx_reader *reader, size_t num, char *const *names)
{
    qgc_name *out = QGC_NEW_ARRAY(reader->arena, qgc_name, num);
    for (size_t i = 0; i < num; i++)
        out[i] = qgc_onnx_name(reader, names[i]);
    return out;
}

static qgc_result convert_node(qgc_onnx_reader *reader, const Onnx__NodeProto *proto, size_t index,
                               qgc_onnx_node *out)
{
    if (!proto->op_type || !proto->op_type[0])
        return qgc_onnx_malformed(reader, "node %zu has no op", index);
    const char *domain = proto->domain ? proto->domain : "";
    if (qgc_str_equal(qgc_str_from(domain), qgc_str_from("ai.onnx")))
        domain = "";
    out->op = qgc_onnx_name(reader, proto->op_type);
    out->domain = qgc_context_name(reader->context, domain);
    out->name = qgc_onnx_name(reader, proto->name);
    out->num_inputs = (uint32_t)proto->n_input;
    out->inputs = convert_names(reader, proto->n_input, proto->input);
    out->num_outputs = (uint32_t)proto->n_output;
    out->outputs = convert_names(reader, proto->n_output, proto->output);
    out->num_attrs = (uint32_t)proto->n_attribute;
    out->attrs = QGC_NEW_ARRAY(reader->arena, qgc_onnx_attr, proto->n_attribute);
    out->loc = list_node(reader, proto);
    const char *shown = quoted(reader, proto->name && proto->name[0] ? proto->name
                                       : proto->n_output             ? proto->output[0]
                                                                     : proto->op_type);
    for (size_t i = 0; i < proto->n_attribute; i++)
        QGC_TRY(qgc_onnx_convert_attr(reader, shown, proto->attribute[i], &out->attrs[i]));
    return QGC_OK;
}

static qgc_result convert_initializers(qgc_onnx_reader *reader, const Onnx__GraphProto *proto,
                                       qgc_onnx_graph *out)
{
    out->num_initializers = (uint32_t)proto->n_initializer;
    out->initializers = QGC_NEW_ARRAY(reader->arena, qgc_onnx_tensor, proto->n_initializer);
    for (size_t i = 0; i < proto->n_initializer; i++) {
        QGC_TRY(qgc_onnx_convert_tensor(reader, proto->initializer[i], &out->initializers[i]));
        if (!out->initializers[i].name)
            return qgc_onnx_malformed(reader, "initializer %zu has no name", i);
    }
    return QGC_OK;
}

qgc_result qgc_onnx_convert_graph(qgc_onnx_reader *reader, const Onnx__GraphProto *proto,
                                  qgc_onnx_graph *out)
{
    *out = (qgc_onnx_graph){.name = qgc_onnx_name(reader, proto->name)};
    if (proto->n_sparse_initializer)
        return qgc_onnx_malformed(reader, "graph %s has sparse initializers, which are not read",
                                  quoted(reader, proto->name));
    QGC_TRY(convert_initializers(reader, proto, out));
    QGC_TRY(convert_values(reader, proto->n_input, proto->input, &out->num_inputs, &out->inputs));
    QGC_TRY(
        convert_values(reader, proto->n_output, proto->output, &out->num_outputs, &out->outputs));
    QGC_TRY(convert_values(reader, proto->n_value_info, proto->value_info, &out->num_values,
                           &out->values));
    out->num_nodes = (uint32_t)proto->n_node;
    out->nodes = QGC_NEW_ARRAY(reader->arena, qgc_onnx_node, proto->n_node);
    for (size_t i = 0; i < proto->n_node; i++)
        QGC_TRY(convert_node(reader, proto->node[i], i, &out->nodes[i]));
    return QGC_OK;
}

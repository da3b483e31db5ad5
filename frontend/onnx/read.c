/* ModelProto to the model; order and names of definitions. */
#include "frontend/onnx/reader.h"

#include <string.h>

qgc_result qgc_onnx_malformed(qgc_onnx_reader *reader, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = qgc_arena_vprintf(reader->arena, format, args);
    va_end(args);
    return qgc_report(&reader->context->diag, QGC_NO_LOC, QGC_D_ONNX_FORMAT, "%s: %s", reader->file,
                      message);
}

qgc_name qgc_onnx_name(qgc_onnx_reader *reader, const char *text)
{
    return text && text[0] ? qgc_context_name(reader->context, text) : NULL;
}

int64_t qgc_onnx_opset_version(const qgc_onnx_model *model, qgc_name domain)
{
    for (uint32_t i = 0; i < model->num_opsets; i++)
        if (model->opsets[i].domain == domain)
            return model->opsets[i].version;
    return 0;
}

const qgc_onnx_attr *qgc_onnx_find_attr(const qgc_onnx_node *node, const char *name)
{
    for (uint32_t i = 0; i < node->num_attrs; i++)
        if (strcmp(node->attrs[i].name->data, name) == 0)
            return &node->attrs[i];
    return NULL;
}

static void convert_opsets(qgc_onnx_reader *reader, const Onnx__ModelProto *proto,
                           qgc_onnx_model *out)
{
    out->num_opsets = (uint32_t)proto->n_opset_import;
    out->opsets = QGC_NEW_ARRAY(reader->arena, qgc_onnx_opset, proto->n_opset_import);
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *opset = proto->opset_import[i];
        const char *domain = opset->domain ? opset->domain : "";
        if (strcmp(domain, "ai.onnx") == 0)
            domain = "";
        out->opsets[i] =
            (qgc_onnx_opset){qgc_context_name(reader->context, domain), opset->version};
    }
}

/* ---- definitions: each name once, before its uses ---- */

typedef struct scope {
    qgc_onnx_reader *reader;
    qgc_map names; /* -> non-NULL: defined in this graph, or in one around it */
} scope;

static qgc_result define(scope *s, qgc_loc loc, const char *what, qgc_name name)
{
    void **slot = qgc_map_at(&s->names, name);
    if (*slot)
        return qgc_report(&s->reader->context->diag, loc, QGC_D_ONNX_STRUCTURE,
                          "%s %s is defined twice", what,
                          qgc_quoted(s->reader->arena, qgc_name_str(name)));
    *slot = s;
    return QGC_OK;
}

static bool is_defined_later(const qgc_onnx_graph *graph, qgc_name name)
{
    for (uint32_t i = 0; i < graph->num_nodes; i++)
        for (uint32_t k = 0; k < graph->nodes[i].num_outputs; k++)
            if (graph->nodes[i].outputs[k] == name)
                return true;
    return false;
}

static qgc_result check_use(scope *s, const qgc_onnx_graph *graph, qgc_loc loc, qgc_name name)
{
    if (qgc_map_get(&s->names, name))
        return QGC_OK;
    return qgc_report(&s->reader->context->diag, loc, QGC_D_ONNX_STRUCTURE, "value %s is %s",
                      qgc_quoted(s->reader->arena, qgc_name_str(name)),
                      is_defined_later(graph, name)
                          ? "used before the node that defines it (out of order, or in a cycle)"
                          : "used, but nothing defines it");
}

static qgc_result check_graph(scope *s, const qgc_onnx_graph *graph, qgc_loc loc);

static qgc_result check_node(scope *s, const qgc_onnx_graph *graph, const qgc_onnx_node *node)
{
    for (uint32_t i = 0; i < node->num_inputs; i++)
        if (node->inputs[i])
            QGC_TRY(check_use(s, graph, node->loc, node->inputs[i]));
    for (uint32_t i = 0; i < node->num_attrs; i++)
        if (node->attrs[i].kind == QGC_ONNX_GRAPH)
            QGC_TRY(check_graph(s, node->attrs[i].graph, node->loc));
    for (uint32_t i = 0; i < node->num_outputs; i++)
        if (node->outputs[i])
            QGC_TRY(define(s, node->loc, "value", node->outputs[i]));
    return QGC_OK;
}

/* An initializer may also be listed as an input: it is the input's default. */
static qgc_result define_inputs(scope *s, const qgc_onnx_graph *graph, qgc_loc loc)
{
    for (uint32_t i = 0; i < graph->num_initializers; i++)
        QGC_TRY(define(s, loc, "initializer", graph->initializers[i].name));
    qgc_map inputs = {.arena = s->reader->arena};
    for (uint32_t i = 0; i < graph->num_inputs; i++) {
        qgc_name name = graph->inputs[i].name;
        scope only = {s->reader, inputs};
        QGC_TRY(define(&only, loc, "input", name));
        inputs = only.names;
        *qgc_map_at(&s->names, name) = s;
    }
    return QGC_OK;
}

/* Undoes what the graph of an attribute defined: names of two branches may be the same. */
static void forget(scope *s, const qgc_onnx_graph *graph)
{
    for (uint32_t i = 0; i < graph->num_initializers; i++)
        *qgc_map_at(&s->names, graph->initializers[i].name) = NULL;
    for (uint32_t i = 0; i < graph->num_inputs; i++)
        *qgc_map_at(&s->names, graph->inputs[i].name) = NULL;
    for (uint32_t i = 0; i < graph->num_nodes; i++)
        for (uint32_t k = 0; k < graph->nodes[i].num_outputs; k++)
            if (graph->nodes[i].outputs[k])
                *qgc_map_at(&s->names, graph->nodes[i].outputs[k]) = NULL;
}

static qgc_result check_graph(scope *s, const qgc_onnx_graph *graph, qgc_loc loc)
{
    QGC_TRY(define_inputs(s, graph, loc));
    for (uint32_t i = 0; i < graph->num_nodes; i++)
        QGC_TRY(check_node(s, graph, &graph->nodes[i]));
    for (uint32_t i = 0; i < graph->num_outputs; i++)
        QGC_TRY(check_use(s, graph, loc, graph->outputs[i].name));
    forget(s, graph);
    return QGC_OK;
}

/* ---- the model ---- */

static void list_dims(qgc_onnx_reader *reader, const qgc_onnx_type *type)
{
    for (uint32_t i = 0; i < type->rank; i++) {
        const qgc_onnx_dim *dim = &type->dims[i];
        qgc_text_puts(&reader->listing, i ? "," : "[");
        if (dim->kind == QGC_ONNX_NUMBER)
            qgc_text_printf(&reader->listing, "%lld", (long long)dim->number);
        else if (dim->kind == QGC_ONNX_ANY)
            qgc_text_putc(&reader->listing, '?');
        else
            qgc_text_puts(&reader->listing, qgc_quoted(reader->arena, dim->name));
    }
    qgc_text_puts(&reader->listing, type->rank ? "]" : "[]");
}

static qgc_loc end_line(qgc_onnx_reader *reader, size_t begin)
{
    size_t end = reader->listing.size;
    qgc_text_putc(&reader->listing, '\n');
    return (qgc_loc){(uint32_t)reader->context->sources.list.size + 1, (uint32_t)begin,
                     (uint32_t)(end - begin)};
}

/* `input "x" f32[N,3]`: what a caret points at. */
static void list_input(qgc_onnx_reader *reader, qgc_onnx_value *input)
{
    const qgc_onnx_type *type = &input->type;
    size_t begin = reader->listing.size;
    qgc_text_printf(&reader->listing, "input %s%s%s",
                    qgc_quoted(reader->arena, qgc_name_str(input->name)),
                    type->has_dtype ? " " : "", type->has_dtype ? qgc_dtype_name(type->dtype) : "");
    if (type->has_shape)
        list_dims(reader, type);
    input->loc = end_line(reader, begin);
}

static void list_values(qgc_onnx_reader *reader, uint32_t num, const qgc_onnx_value *values)
{
    enum { MOST = 8 };
    for (uint32_t i = 0; i < num && i < MOST; i++)
        qgc_text_printf(&reader->listing, "%s%s", i ? ", " : "",
                        qgc_quoted(reader->arena, qgc_name_str(values[i].name)));
    qgc_text_puts(&reader->listing, num > MOST ? ", ..." : "");
}

/* Behind the nodes: the graph itself, and a line for each input. */
static void list_graph(qgc_onnx_reader *reader, qgc_onnx_model *out)
{
    const qgc_onnx_graph *graph = &out->graph;
    size_t begin = reader->listing.size;
    qgc_text_puts(&reader->listing, "graph (");
    list_values(reader, graph->num_inputs, graph->inputs);
    qgc_text_puts(&reader->listing, ") -> ");
    list_values(reader, graph->num_outputs, graph->outputs);
    out->loc = end_line(reader, begin);
    for (uint32_t i = 0; i < graph->num_inputs; i++)
        list_input(reader, &graph->inputs[i]);
}

static qgc_result add_listing(qgc_onnx_reader *reader, qgc_onnx_model *out)
{
    list_graph(reader, out);
    uint32_t source =
        qgc_source_add(&reader->context->sources, reader->file, qgc_text_str(&reader->listing), 1);
    if (!source)
        return qgc_onnx_malformed(reader, "its list of nodes is larger than 4 GiB");
    return QGC_OK;
}

qgc_result qgc_onnx_read_model(qgc_context *context, qgc_arena *arena, const qgc_file *file,
                               const char *directory, qgc_onnx_model *out)
{
    qgc_onnx_reader reader = {.context = context,
                              .arena = arena,
                              .file = file->name,
                              .directory = directory,
                              .listing = {.arena = arena}};
    *out = (qgc_onnx_model){.name = file->name};
    const Onnx__ModelProto *proto =
        (const Onnx__ModelProto *)qgc_onnx_unpack(&reader, &onnx__model_proto__descriptor, file);
    if (!proto)
        return QGC_FAILED;
    if (!proto->graph)
        return qgc_onnx_malformed(&reader, "the model has no graph");
    convert_opsets(&reader, proto, out);
    QGC_TRY(qgc_onnx_convert_graph(&reader, proto->graph, &out->graph));
    QGC_TRY(add_listing(&reader, out));
    scope s = {&reader, {.arena = arena}};
    return check_graph(&s, &out->graph, out->loc);
}

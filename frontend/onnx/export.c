/* A module as an ONNX model: the graph around the nodes, calls in place, the file. */
#include "frontend/onnx/export.h"
#include "qgc/onnx.h"
#include "runtime/file.h"

#include <limits.h>
#include <string.h>

/* ---- refusals ---- */

static const char *operand_types(onnx_export *ex, const qgc_node *node)
{
    qgc_text text = {.arena = ex->arena};
    for (uint32_t i = 0; i < node->num_operands; i++) {
        qgc_value *value = qgc_node_operand(node, i);
        qgc_text_printf(&text, "%s%s", i ? ", " : "",
                        value ? qgc_type_str(ex->arena, value->type) : "_");
    }
    return text.data ? text.data : "";
}

static void report(onnx_export *ex)
{
    const qgc_node *node = ex->node;
    qgc_text name = {.arena = ex->arena};
    if (node->num_results)
        qgc_value_name_print(&name, node->results[0].name);
    qgc_report(&ex->context->diag, node->loc, QGC_D_ONNX_UNWRITABLE, "%s: %s (%s): %s",
               name.data ? name.data : "@", qgc_node_op(node)->mnemonic, operand_types(ex, node),
               ex->reason);
    ex->num_refused++;
}

/* ---- nodes ---- */

static void write_func(onnx_export *ex, export_frame *frame);

static const char *results_prefix(onnx_export *ex)
{
    return ex->node->num_results ? qgc_arena_printf(ex->arena, "%s/", export_out(ex, 0)) : "/";
}

/* What the callee returns gets the names of the call's results, where a node of it gives that. */
static void name_results(const export_frame *outer, export_frame *inner, const qgc_node *call)
{
    const qgc_node *ret = inner->func->last;
    for (uint32_t i = 0; i < call->num_results; i++) {
        const qgc_value *value = qgc_node_operand(ret, i);
        void *name = qgc_map_get(&outer->values, &call->results[i]);
        void **slot = qgc_map_at(&inner->values, value);
        if (value->def && !*slot)
            *slot = name;
    }
}

static void write_call(onnx_export *ex)
{
    const qgc_node *call = ex->node;
    const qgc_attr *callee = qgc_node_attr(call, "callee");
    export_frame *outer = ex->frame;
    export_frame *inner = QGC_NEW(ex->arena, export_frame);
    *inner = (export_frame){.func = qgc_module_find_func(ex->module, callee->name),
                            .outer = outer,
                            .prefix = results_prefix(ex),
                            .values = {.arena = ex->arena}};
    for (uint32_t i = 0; i < call->num_results; i++)
        export_out(ex, i);
    for (uint32_t i = 0; i < inner->func->num_params; i++)
        *qgc_map_at(&inner->values, &inner->func->params[i]) = (void *)export_in(ex, i);
    name_results(outer, inner, call);
    write_func(ex, inner);
    for (uint32_t i = 0; i < call->num_results; i++) {
        ex->frame = inner;
        const char *given = export_name(ex, qgc_node_operand(inner->func->last, i));
        ex->frame = outer;
        ex->node = call;
        if (given != export_out(ex, i))
            export_bind(ex, EXPORT_NODE(ex, "Identity", given), i);
    }
}

static void check_types(onnx_export *ex)
{
    const qgc_type *type = export_in_type(ex, 0);
    if (ex->row->types && type && !(ex->row->types >> type->dtype & 1))
        export_refuse(ex, "ONNX does not define it for %s", qgc_dtype_name(type->dtype));
}

static void write_node(onnx_export *ex, const qgc_node *node)
{
    ex->node = node;
    ex->reason = NULL;
    ex->row = export_find_row(node->op);
    if (node->op == QGC_OP_CALL) {
        write_call(ex);
        return;
    }
    if (!ex->row || ex->row->refused) {
        export_refuse(ex, "%s", ex->row ? ex->row->refused : "it has no counterpart in ONNX");
    } else {
        export_need(ex, ex->row->since);
        check_types(ex);
    }
    if (!ex->reason)
        (ex->row->convert ? ex->row->convert : export_convert_row)(ex);
    if (ex->reason)
        report(ex);
}

static void write_func(onnx_export *ex, export_frame *frame)
{
    ex->frame = frame;
    QGC_EACH_NODE (node, frame->func)
        if (node->op != QGC_OP_RETURN)
            write_node(ex, node);
}

/* ---- inputs and outputs ---- */

static Onnx__TensorShapeProto__Dimension *make_dim(onnx_export *ex, qgc_dim dim)
{
    Onnx__TensorShapeProto__Dimension *proto =
        QGC_NEW(ex->arena, Onnx__TensorShapeProto__Dimension);
    onnx__tensor_shape_proto__dimension__init(proto);
    if (qgc_dim_is_number(dim)) {
        proto->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        proto->dim_value = dim.value;
    } else if (!qgc_dim_is_unknown(dim)) {
        proto->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        proto->dim_param = (char *)qgc_dim_str(ex->arena, dim);
    }
    return proto;
}

static Onnx__TypeProto *make_type(onnx_export *ex, const qgc_type *type)
{
    Onnx__TypeProto *proto = QGC_NEW(ex->arena, Onnx__TypeProto);
    Onnx__TypeProto__Tensor *tensor = QGC_NEW(ex->arena, Onnx__TypeProto__Tensor);
    Onnx__TensorShapeProto *shape = QGC_NEW(ex->arena, Onnx__TensorShapeProto);
    onnx__type_proto__init(proto);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(shape);
    proto->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    proto->tensor_type = tensor;
    tensor->has_elem_type = true;
    tensor->elem_type = export_dtype_code(type->dtype);
    tensor->shape = shape;
    shape->n_dim = type->rank;
    shape->dim = QGC_NEW_ARRAY(ex->arena, Onnx__TensorShapeProto__Dimension *, type->rank);
    for (uint32_t i = 0; i < type->rank; i++)
        shape->dim[i] = make_dim(ex, type->dims[i]);
    return proto;
}

static Onnx__ValueInfoProto *make_info(onnx_export *ex, const char *name, const qgc_type *type)
{
    Onnx__ValueInfoProto *proto = QGC_NEW(ex->arena, Onnx__ValueInfoProto);
    onnx__value_info_proto__init(proto);
    proto->name = (char *)name;
    proto->type = make_type(ex, type);
    return proto;
}

/* An output is given by a node, and once. */
static const char *output_name(onnx_export *ex, const qgc_value *value, qgc_map *given)
{
    const char *name = export_name(ex, value);
    bool by_node = value->def && !value->def->constant;
    qgc_name key = qgc_intern(&ex->names, qgc_str_from(name));
    void **slot = qgc_map_at(given, key);
    if (by_node && !*slot && strcmp(name, value->name->data) == 0) {
        *slot = (void *)name;
        return name;
    }
    onnx_node *node = EXPORT_NODE(ex, "Identity", name);
    const char *fresh = export_claim(
        ex, by_node && !*slot ? value->name->data
                              : qgc_arena_printf(ex->arena, "%s.out", value->name->data));
    node->output[node->n_output++] = (char *)fresh;
    return fresh;
}

static void write_graph(onnx_export *ex, const qgc_func *func, Onnx__GraphProto *graph)
{
    qgc_map given = {.arena = ex->arena};
    graph->name = (char *)func->name->data;
    graph->n_input = func->num_params;
    graph->input = QGC_NEW_ARRAY(ex->arena, Onnx__ValueInfoProto *, func->num_params);
    for (uint32_t i = 0; i < func->num_params; i++) {
        const qgc_value *param = &func->params[i];
        graph->input[i] = make_info(ex, export_name(ex, param), param->type);
    }
    QGC_EACH_NODE (node, func) /* their names come before what is made up beside them */
        for (uint32_t i = 0; i < node->num_results; i++)
            if (!export_find_row(node->op) || export_find_row(node->op)->convert != export_identity)
                export_name(ex, &node->results[i]);
    write_func(ex, ex->frame);
    ex->node = func->last;
    graph->n_output = func->num_results;
    graph->output = QGC_NEW_ARRAY(ex->arena, Onnx__ValueInfoProto *, func->num_results);
    for (uint32_t i = 0; i < func->num_results; i++) {
        const qgc_value *value = qgc_node_operand(func->last, i);
        graph->output[i] = make_info(ex, output_name(ex, value, &given), value->type);
    }
    graph->n_node = ex->nodes.size;
    graph->node = ex->nodes.data;
    graph->n_initializer = ex->initializers.size;
    graph->initializer = ex->initializers.data;
}

/* ---- the file ---- */

typedef struct file_buffer {
    ProtobufCBuffer base;
    qgc_output *output;
} file_buffer;

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *data)
{
    qgc_output_put(((file_buffer *)buffer)->output, data, size);
}

/* Readers refuse protobuf messages above 2 GB. */
static qgc_result write_file(onnx_export *ex, const ProtobufCMessage *model, const char *path)
{
    qgc_output output;
    file_buffer buffer = {{append}, &output};
    size_t bytes = 0;
    for (size_t i = 0; i < ex->initializers.size; i++)
        if (!qgc_checked_add(bytes, ex->initializers.data[i]->raw_data.len, &bytes))
            bytes = SIZE_MAX;
    if (bytes > INT_MAX || protobuf_c_message_get_packed_size(model) > INT_MAX)
        return qgc_report(&ex->context->diag, QGC_NO_LOC, QGC_D_ONNX_UNWRITABLE,
                          "%s: %zu bytes of weights do not fit: an ONNX file ends at 2 GB", path,
                          bytes);
    QGC_TRY(qgc_output_open(&ex->context->diag, path, &output));
    protobuf_c_message_pack_to_buffer(model, &buffer.base);
    return qgc_output_close(&ex->context->diag, &output);
}

static int64_t ir_version(int opset)
{
    return opset >= 21 ? 10 : opset >= 19 ? 9 : 8;
}

static qgc_result write_model(onnx_export *ex, Onnx__GraphProto *graph, const char *path)
{
    Onnx__ModelProto model;
    Onnx__OperatorSetIdProto opset, *opsets[] = {&opset};
    onnx__model_proto__init(&model);
    onnx__operator_set_id_proto__init(&opset);
    opset.domain = (char *)"";
    opset.has_version = true;
    opset.version = ex->version;
    model.has_ir_version = true;
    model.ir_version = ir_version(ex->version);
    model.producer_name = (char *)"qgc";
    model.n_opset_import = 1;
    model.opset_import = opsets;
    model.graph = graph;
    return write_file(ex, &model.base, path);
}

/* ---- the whole ---- */

static void start(onnx_export *ex, const qgc_func *func, int version)
{
    export_frame *frame = QGC_NEW(ex->arena, export_frame);
    *frame = (export_frame){.func = func, .prefix = "", .values = {.arena = ex->arena}};
    *ex = (onnx_export){.context = ex->context,
                        .module = ex->module,
                        .arena = ex->arena,
                        .version = version,
                        .needed = version,
                        .names = {.arena = ex->arena},
                        .taken = {.arena = ex->arena},
                        .scopes = {.arena = ex->arena},
                        .symbols = {.arena = ex->arena},
                        .frame = frame};
}

/* Some ops say the same in another way in another opset: again, with the one that all can have. */
static qgc_result export_func(onnx_export *ex, const qgc_func *func, const char *path)
{
    Onnx__GraphProto graph;
    int version = EXPORT_OLDEST;
    do {
        onnx__graph_proto__init(&graph);
        start(ex, func, version);
        write_graph(ex, func, &graph);
        version = ex->needed;
    } while (!ex->num_refused && version > ex->version);
    return ex->num_refused ? QGC_FAILED : write_model(ex, &graph, path);
}

qgc_result qgc_onnx_write(qgc_module *module, const char *name, const char *path)
{
    qgc_arena arena = {0};
    onnx_export ex = {.context = module->context, .module = module, .arena = &arena};
    const char *wanted = name ? name : "main";
    qgc_func *func = qgc_module_find_func(module, qgc_context_name(module->context, wanted));
    if (!func)
        return qgc_report(&module->context->diag, QGC_NO_LOC, QGC_D_USAGE,
                          "there is no function @%s", wanted);
    qgc_result result = export_func(&ex, func, path);
    qgc_arena_destroy(&arena);
    return result;
}

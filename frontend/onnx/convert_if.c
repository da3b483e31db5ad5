/* Converter: folded `If`s; of others, what their condition depends on. */
#include "frontend/onnx/import.h"

/* What `--set` could make a condition constant with. */
typedef struct reasons {
    onnx_import *im;
    qgc_map seen;
    QGC_VEC(qgc_value *) open; /* still to be looked at */
    QGC_VEC(const char *) names;
    bool is_data; /* depends on what no size decides */
} reasons;

static void add_name(void *user, qgc_name name)
{
    reasons *r = user;
    for (size_t i = 0; i < r->names.size; i++)
        if (r->names.data[i] == name->data)
            return;
    qgc_vec_push(r->im->arena, &r->names, name->data);
}

static void look_at_shape(reasons *r, const qgc_type *type)
{
    for (uint32_t i = 0; i < type->rank; i++) {
        r->is_data |= qgc_dim_is_unknown(type->dims[i]);
        qgc_dim_symbols(type->dims[i], add_name, r);
    }
}

static void look_at_input(reasons *r, const qgc_value *value)
{
    if (onnx_is_bindable(value->type))
        add_name(r, value->name);
    else
        r->is_data = true;
}

static void look_at(reasons *r, qgc_value *value)
{
    const qgc_node *def = value->def;
    if (!def) {
        look_at_input(r, value);
        return;
    }
    if (def->op == QGC_OP_SHAPE_OF || def->op == QGC_OP_SIZE_OF) {
        look_at_shape(r, qgc_node_operand(def, 0)->type);
        return;
    }
    for (uint32_t i = 0; i < def->num_operands; i++) {
        qgc_value *operand = qgc_node_operand(def, i);
        void **seen = operand ? qgc_map_at(&r->seen, operand) : NULL;
        if (!seen || *seen)
            continue;
        *seen = operand;
        qgc_vec_push(r->im->arena, &r->open, operand);
    }
}

qgc_result onnx_refuse_open(onnx_import *im, qgc_value *value, const char *what)
{
    reasons r = {.im = im, .seen = {.arena = im->arena}};
    qgc_text names = {.arena = im->arena};
    qgc_vec_push(im->arena, &r.open, value);
    for (size_t i = 0; i < r.open.size; i++)
        look_at(&r, r.open.data[i]);
    if (r.is_data || !r.names.size)
        return onnx_refuse(im, "%s depends on data", what);
    for (size_t i = 0; i < r.names.size; i++)
        qgc_text_printf(&names, "%s%s=NUMBER", i ? "," : "", r.names.data[i]);
    return onnx_refuse(im, "%s is not constant; it is with --set %s", what, names.data);
}

/* The branch of a constant condition takes the node's place. */
qgc_result convert_if(onnx_import *im)
{
    enum { MAX_DEPTH = 16 };
    const qgc_onnx_node *node = im->node;
    qgc_value *condition = onnx_need(im, 0);
    const qgc_tensor *known = onnx_constant(condition);
    const qgc_onnx_attr *yes = onnx_attr(im, "then_branch"), *no = onnx_attr(im, "else_branch");
    if (!condition)
        return QGC_FAILED;
    if (!known || known->dtype != QGC_DTYPE_BOOL || known->bytes != 1)
        return onnx_refuse_open(im, condition, "its condition");
    const qgc_onnx_attr *taken = *(const uint8_t *)known->data ? yes : no;
    if (!taken || taken->kind != QGC_ONNX_GRAPH || taken->graph->num_inputs)
        return onnx_refuse(im, "a branch is missing or takes inputs");
    if (taken->graph->num_outputs != node->num_outputs || im->depth == MAX_DEPTH)
        return onnx_refuse(im, im->depth == MAX_DEPTH ? "branches nest too deep"
                                                      : "the branch has other outputs");
    uint64_t used = im->used;
    const onnx_row *row = im->row;
    int64_t version = im->version;
    im->depth++;
    qgc_result result = onnx_import_nodes(im, taken->graph);
    im->depth--;
    im->node = node;
    im->row = row;
    im->version = version;
    im->used = used;
    im->reason = NULL;
    QGC_TRY(result);
    for (uint32_t i = 0; i < node->num_outputs; i++) {
        qgc_value *value = onnx_lookup(im, taken->graph->outputs[i].name);
        if (value == &im->poison) /* reported where it came from */
            return QGC_FAILED;
        QGC_TRY(onnx_define(im, i, value));
    }
    return QGC_OK;
}

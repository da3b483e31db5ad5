/* A model to a module: parameters, nodes in order, results; every refusal is listed. */
#include "frontend/onnx/import.h"

#include <ctype.h>
#include <string.h>

/* ---- symbols ---- */

/* A name the language can write: letters, digits and '_', beginning with a letter. */
static const char *identifier(qgc_arena *arena, qgc_str text)
{
    char *name = qgc_arena_printf(arena, "%s%.*s",
                                  text.size && isalpha((unsigned char)text.data[0]) ? "" : "d",
                                  QGC_STR_ARG(text));
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            *c = '_';
    return name;
}

static const qgc_binding *find_binding(onnx_import *im, qgc_str name)
{
    for (size_t i = 0; i < im->num_bindings; i++) {
        if (!qgc_str_equal(qgc_str_from(im->bindings[i].name), name))
            continue;
        im->bound[i] = true;
        return &im->bindings[i];
    }
    return NULL;
}

static qgc_dim bound_dim(onnx_import *im, const qgc_binding *binding)
{
    if (binding->value >= 0)
        return qgc_dim_number(binding->value);
    if (!im->num_refused++)
        qgc_report(&im->context->diag, QGC_NO_LOC, QGC_D_USAGE,
                   "%s = %lld: a dimension is 0 or more", binding->name, (long long)binding->value);
    return qgc_dim_number(0);
}

/* Two ONNX names that give the same identifier stay apart. */
static qgc_dim symbol(onnx_import *im, qgc_str text)
{
    qgc_name original = qgc_intern(&im->context->names, text);
    const char *base = identifier(im->arena, text);
    qgc_name name = qgc_context_name(im->context, base);
    for (uint32_t n = 1;; n++) {
        void **owner = qgc_map_at(&im->symbols, name);
        if (!*owner)
            *owner = (void *)original;
        if (*owner == original) {
            const qgc_binding *binding = find_binding(im, qgc_name_str(name));
            return binding ? bound_dim(im, binding) : qgc_dim_symbol(&im->context->dims, name);
        }
        name = qgc_context_name(im->context, qgc_arena_printf(im->arena, "%s_%u", base, n));
    }
}

static const qgc_type *import_type(onnx_import *im, qgc_name value, const qgc_onnx_type *type,
                                   bool new_symbols)
{
    qgc_dim dims[QGC_MAX_RANK];
    for (uint32_t i = 0; i < type->rank; i++) {
        const qgc_onnx_dim *d = &type->dims[i];
        if (d->kind == QGC_ONNX_NUMBER)
            dims[i] = qgc_dim_number(d->number);
        else if (d->kind == QGC_ONNX_NAMED)
            dims[i] = symbol(im, d->name);
        else if (new_symbols)
            dims[i] =
                symbol(im, qgc_str_from(qgc_arena_printf(im->arena, "%s_%u", value->data, i)));
        else
            dims[i] = qgc_dim_unknown(&im->context->dims);
    }
    return qgc_type_get(&im->context->types, type->dtype, type->rank, dims);
}

const qgc_type *onnx_declared(onnx_import *im, qgc_name name)
{
    const qgc_onnx_type *type = qgc_map_get(&im->infos, name);
    if (!type || type->problem || !type->has_dtype || !type->has_shape)
        return NULL;
    return import_type(im, name, type, false);
}

/* ---- nodes ---- */

static void describe_inputs(onnx_import *im, const qgc_onnx_node *node, qgc_text *text)
{
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        qgc_name name = node->inputs[i];
        const qgc_value *value = name ? qgc_map_get(&im->values, name) : NULL;
        const qgc_onnx_tensor *tensor = name ? qgc_map_get(&im->tensors, name) : NULL;
        qgc_text_puts(text, i ? ", " : "");
        if (value && value != &im->poison && value->type)
            qgc_type_print(text, value->type);
        else if (tensor && !tensor->problem)
            qgc_type_print(text, qgc_type_of_tensor(&im->context->types, &tensor->tensor));
        else
            qgc_text_puts(text, name ? "?" : "_");
    }
}

static void report_refusal(onnx_import *im, const qgc_onnx_node *node)
{
    qgc_text inputs = {.arena = im->arena};
    describe_inputs(im, node, &inputs);
    qgc_report(&im->context->diag, node->loc, QGC_D_ONNX_REFUSED,
               "node %s: %s%s%s, opset %lld, inputs (%.*s): %s",
               qgc_quoted(im->arena, node->name ? qgc_name_str(node->name) : qgc_str_from("")),
               node->domain->data, node->domain->size ? "." : "", node->op->data,
               (long long)im->version, QGC_STR_ARG(qgc_text_str(&inputs)), im->reason);
    im->num_refused++;
}

static void poison_outputs(onnx_import *im, const qgc_onnx_node *node)
{
    for (uint32_t i = 0; i < node->num_outputs; i++)
        if (node->outputs[i])
            *qgc_map_at(&im->values, node->outputs[i]) = &im->poison;
}

/* Depends on a refused node: only its row can be judged. */
static bool is_poisoned(onnx_import *im, const qgc_onnx_node *node)
{
    for (uint32_t i = 0; i < node->num_inputs; i++)
        if (node->inputs[i] && qgc_map_get(&im->values, node->inputs[i]) == &im->poison)
            return true;
    return false;
}

static void find_row(onnx_import *im, const qgc_onnx_node *node)
{
    int since;
    im->row =
        onnx_find_row(qgc_name_str(node->op), qgc_name_str(node->domain), im->version, &since);
    if (!im->version)
        onnx_refuse(im, "the model imports no opset of domain %s",
                    qgc_quoted(im->arena, qgc_name_str(node->domain)));
    else if (!im->row && !since)
        onnx_refuse(im, "the op is not supported");
    else if (!im->row)
        onnx_refuse(im, "the op is supported from opset %d on", since);
    else if (im->row->refused)
        onnx_refuse(im, "%s", im->row->refused);
}

static bool word_is_in(const char *words, qgc_name word)
{
    for (const char *w = words ? words : ""; *w;) {
        size_t size = strcspn(w, "|");
        if (qgc_str_equal(qgc_name_str(word), (qgc_str){w, size}))
            return true;
        w += size + (w[size] == '|');
    }
    return false;
}

/* An attribute that nobody looked at would silently change nothing. */
static qgc_result check_unused(onnx_import *im)
{
    for (uint32_t i = 0; i < im->node->num_attrs; i++)
        if (i >= 64 ||
            (!(im->used >> i & 1) && !word_is_in(im->row->ignored, im->node->attrs[i].name)))
            return onnx_refuse(im, "attribute %s is not supported", im->node->attrs[i].name->data);
    return QGC_OK;
}

static void import_node(onnx_import *im, const qgc_onnx_node *node)
{
    im->node = node;
    im->version = qgc_onnx_opset_version(im->model, node->domain);
    im->used = 0;
    im->reason = NULL;
    bool poisoned = is_poisoned(im, node);
    find_row(im, node);
    qgc_result result = im->reason ? QGC_FAILED : QGC_OK;
    if (result == QGC_OK && !poisoned) {
        const onnx_row *row = im->row;
        result = row->convert ? row->convert(im) : onnx_convert_row(im);
        im->node = node; /* a converter may have imported a branch */
        im->row = row;
        if (result == QGC_OK && !im->reason)
            result = check_unused(im);
        if (result == QGC_OK)
            onnx_propagate(im);
    }
    if (im->reason)
        report_refusal(im, node);
    if (result != QGC_OK || poisoned)
        poison_outputs(im, node);
}

static void add_names(onnx_import *im, const qgc_onnx_graph *graph)
{
    for (uint32_t i = 0; i < graph->num_initializers; i++) {
        *qgc_map_at(&im->tensors, graph->initializers[i].name) = &graph->initializers[i];
        *qgc_map_at(&im->values, graph->initializers[i].name) = NULL;
    }
    for (uint32_t i = 0; i < graph->num_values; i++)
        *qgc_map_at(&im->infos, graph->values[i].name) = &graph->values[i].type;
    for (uint32_t i = 0; i < graph->num_outputs; i++)
        *qgc_map_at(&im->infos, graph->outputs[i].name) = &graph->outputs[i].type;
}

qgc_result onnx_import_nodes(onnx_import *im, const qgc_onnx_graph *graph)
{
    uint32_t refused = im->num_refused;
    add_names(im, graph);
    for (uint32_t i = 0; i < graph->num_nodes; i++)
        import_node(im, &graph->nodes[i]);
    return im->num_refused == refused ? QGC_OK : QGC_FAILED;
}

/* ---- the function ---- */

static bool is_initializer(const qgc_onnx_graph *graph, qgc_name name)
{
    for (uint32_t i = 0; i < graph->num_initializers; i++)
        if (graph->initializers[i].name == name)
            return true;
    return false;
}

static qgc_result check_input(onnx_import *im, const qgc_onnx_value *input)
{
    const char *problem = input->type.problem      ? input->type.problem
                          : !input->type.has_dtype ? "of no element type"
                          : !input->type.has_shape ? "of unknown rank"
                                                   : NULL;
    if (!problem)
        return QGC_OK;
    im->num_refused++;
    return qgc_report(&im->context->diag, input->loc, QGC_D_ONNX_REFUSED, "input %s is %s",
                      qgc_quoted(im->arena, qgc_name_str(input->name)), problem);
}

static bool is_one_integer(qgc_dtype dtype, uint32_t rank, bool is_one)
{
    bool is_integer = dtype == QGC_DTYPE_I64 || dtype == QGC_DTYPE_I32 || dtype == QGC_DTYPE_BOOL;
    return is_integer && (rank == 0 || (rank == 1 && is_one));
}

bool onnx_is_bindable(const qgc_type *type)
{
    return is_one_integer(type->dtype, type->rank,
                          type->rank == 1 && qgc_dim_equal(type->dims[0], qgc_dim_number(1)));
}

static const qgc_binding *bound_input(onnx_import *im, const qgc_onnx_value *input)
{
    const qgc_onnx_type *type = &input->type;
    bool is_known = type->has_dtype && type->has_shape && !type->problem;
    bool is_one = is_known && type->rank == 1 && type->dims[0].kind == QGC_ONNX_NUMBER &&
                  type->dims[0].number == 1;
    return is_known && is_one_integer(type->dtype, type->rank, is_one)
               ? find_binding(im, qgc_name_str(input->name))
               : NULL;
}

/* The input is an initializer from now on. */
static void make_constant(onnx_import *im, const qgc_onnx_value *input, const qgc_binding *binding)
{
    qgc_onnx_tensor *constant = QGC_NEW(im->arena, qgc_onnx_tensor);
    constant->name = input->name;
    constant->tensor = (qgc_tensor){.dtype = input->type.dtype,
                                    .rank = input->type.rank,
                                    .shape = {input->type.rank ? 1 : 0},
                                    .bytes = qgc_dtype_bytes(input->type.dtype),
                                    .data = qgc_arena_alloc(im->arena, sizeof(int64_t))};
    int64_t value = input->type.dtype == QGC_DTYPE_BOOL ? binding->value != 0 : binding->value;
    memcpy(constant->tensor.data, &value, constant->tensor.bytes);
    *qgc_map_at(&im->tensors, input->name) = constant;
}

/* Inputs that become parameters, in order; returns their number. */
static uint32_t choose_params(onnx_import *im, const qgc_onnx_graph *graph,
                              const qgc_onnx_value **params)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < graph->num_inputs; i++) {
        const qgc_onnx_value *input = &graph->inputs[i];
        if (is_initializer(graph, input->name))
            continue;
        const qgc_binding *binding = bound_input(im, input);
        if (binding)
            make_constant(im, input, binding);
        else
            params[num++] = input;
    }
    return num;
}

static void create_func(onnx_import *im, const qgc_onnx_graph *graph)
{
    const qgc_onnx_value **params =
        QGC_NEW_ARRAY(im->arena, const qgc_onnx_value *, graph->num_inputs);
    uint32_t num = choose_params(im, graph, params);
    im->func = qgc_func_create(im->module, qgc_context_name(im->context, "main"), num,
                               graph->num_outputs, im->model->loc);
    for (uint32_t i = 0; i < num; i++) {
        qgc_name name = params[i]->name;
        bool fits = check_input(im, params[i]) == QGC_OK;
        const qgc_type *type = import_type(im, name, &params[i]->type, true);
        qgc_func_set_param(im->func, i, name, type, params[i]->loc);
        *qgc_map_at(&im->values, name) = fits ? &im->func->params[i] : &im->poison;
    }
}

static bool is_output_name(onnx_import *im, qgc_name name)
{
    for (uint32_t i = 0; i < im->model->graph.num_outputs; i++)
        if (im->model->graph.outputs[i].name == name)
            return true;
    return false;
}

/* A returned value carries the output's name; a parameter, or a value that is another output, too,
 * is passed through an op for that. */
static qgc_value *name_output(onnx_import *im, qgc_value *value, qgc_name name)
{
    if (value->name == name)
        return value;
    if (!value->def || is_output_name(im, value->name)) {
        qgc_node *node =
            qgc_node_create(im->func, QGC_OP_IDENTITY, 1, &value, 1, NULL, im->model->loc);
        node->results[0].type = value->type;
        value = &node->results[0];
    }
    qgc_value_set_name(im->func, value, qgc_func_unique_name(im->func, qgc_name_str(name)));
    if (value->def->op == QGC_OP_WEIGHT)
        value->def->attrs[0] = qgc_attr_from_name(QGC_ATTR_STRING, value->name);
    return value;
}

static void end_func(onnx_import *im, const qgc_onnx_graph *graph)
{
    qgc_value **values = QGC_NEW_ARRAY(im->arena, qgc_value *, graph->num_outputs);
    im->node = NULL;
    im->reason = NULL;
    for (uint32_t i = 0; i < graph->num_outputs; i++) {
        qgc_name name = graph->outputs[i].name;
        values[i] = name_output(im, onnx_lookup(im, name), name);
        im->func->result_types[i] = values[i]->type;
    }
    qgc_node_create(im->func, QGC_OP_RETURN, graph->num_outputs, values, 0, NULL, im->model->loc);
}

/* Removes what folding and shape arithmetic left without a use. */
static void sweep(onnx_import *im)
{
    for (qgc_node *node = im->func->last, *previous; node; node = previous) {
        bool used = qgc_node_op(node)->traits & QGC_TRAIT_TERMINATOR;
        previous = node->previous;
        for (uint32_t i = 0; i < node->num_results; i++)
            used |= node->results[i].num_uses != 0;
        if (!used)
            qgc_node_erase(node);
    }
}

/* A model with steps of quantization, or with integer ops, is past calibration. */
static qgc_form form_of(const qgc_func *func)
{
    QGC_EACH_NODE (node, func) {
        const qgc_op_info *op = qgc_node_op(node);
        if (op->traits & QGC_TRAIT_BARRIER || strcmp(op->family, "integer") == 0)
            return QGC_FORM_QUANTIZED;
    }
    return QGC_FORM_FLOAT;
}

static qgc_result check_opset(onnx_import *im)
{
    qgc_name domain = qgc_context_name(im->context, "");
    int64_t version = qgc_onnx_opset_version(im->model, domain);
    if (version >= 1 && version <= ONNX_NEWEST)
        return QGC_OK;
    return qgc_report(&im->context->diag, im->model->loc, QGC_D_ONNX_REFUSED,
                      "opset %lld, expected 1 to %d", (long long)version, ONNX_NEWEST);
}

static qgc_result check_bindings(onnx_import *im)
{
    qgc_result result = QGC_OK;
    for (size_t i = 0; i < im->num_bindings; i++) {
        const qgc_binding *binding = &im->bindings[i];
        if (im->bound[i] || im->may_miss)
            continue;
        result = qgc_report(&im->context->diag, QGC_NO_LOC, QGC_D_UNDEFINED,
                            "no dimension or scalar input is named %s", binding->name);
    }
    return result;
}

static qgc_result import_model(onnx_import *im)
{
    const qgc_onnx_graph *graph = &im->model->graph;
    QGC_TRY(check_opset(im));
    create_func(im, graph);
    QGC_TRY(check_bindings(im));
    onnx_import_nodes(im, graph);
    if (im->num_refused)
        return QGC_FAILED;
    end_func(im, graph);
    sweep(im);
    im->module->form = form_of(im->func);
    return qgc_module_verify(im->module);
}

static const char *directory_of(qgc_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? qgc_arena_strdup(arena, (qgc_str){path, (size_t)(slash - path + 1)}) : "";
}

typedef struct import_options {
    const char *directory;
    const qgc_binding *bindings;
    size_t num_bindings;
    bool *found; /* NULL: every binding has to be found */
} import_options;

static qgc_result read_and_import(qgc_module *module, const qgc_file *file,
                                  const import_options *options)
{
    enum { FOLD_BASE = 1 << 24, FOLD_PER_BYTE = 16, TABLE_NUMBERS = 1 << 24 };
    qgc_onnx_model model;
    QGC_TRY(qgc_onnx_read_model(module->context, &module->arena, file, options->directory, &model));
    onnx_import im = {.context = module->context,
                      .module = module,
                      .model = &model,
                      .arena = &module->arena,
                      .bindings = options->bindings,
                      .num_bindings = options->num_bindings,
                      .bound = options->found
                                   ? options->found
                                   : QGC_NEW_ARRAY(&module->arena, bool, options->num_bindings),
                      .may_miss = options->found != NULL,
                      .table_budget = TABLE_NUMBERS,
                      .fold_budget = FOLD_BASE + FOLD_PER_BYTE * file->size,
                      .values = {.arena = &module->arena},
                      .tensors = {.arena = &module->arena},
                      .infos = {.arena = &module->arena},
                      .contents = {.arena = &module->arena},
                      .symbols = {.arena = &module->arena}};
    return import_model(&im);
}

qgc_module *qgc_onnx_import_file(qgc_context *context, const qgc_file *file, const char *directory,
                                 const qgc_binding *bindings, size_t num_bindings, bool *found)
{
    import_options options = {directory, bindings, num_bindings, found};
    for (size_t i = 0; found && i < num_bindings; i++)
        found[i] = false;
    qgc_module *module = qgc_module_create(context);
    if (read_and_import(module, file, &options) == QGC_OK)
        return module;
    qgc_module_destroy(module);
    return NULL;
}

qgc_module *qgc_onnx_import(qgc_context *context, const char *path, const qgc_binding *bindings,
                            size_t num_bindings, bool *found)
{
    qgc_file file;
    const char *name = qgc_arena_strdup(&context->arena, qgc_str_from(path));
    if (qgc_file_open(&context->diag, name, &file) != QGC_OK)
        return NULL;
    qgc_module *module = qgc_onnx_import_file(context, &file, directory_of(&context->arena, name),
                                              bindings, num_bindings, found);
    qgc_file_close(&file);
    return module;
}

/* What the host does for backends: qgc_backend_host. */
#include "codegen/foreign_parts.h"
#include "ir/view.h"
#include "runtime/ref/window.h"

#include <string.h>

/* ---- the region ---- */

static const char *region_name(const qgc_backend_region *region)
{
    return region->func->name->data;
}

static size_t num_ops(const qgc_backend_region *region)
{
    return region->ops.size;
}

static const qgc_backend_op *op_at(const qgc_backend_region *region, size_t index)
{
    return index < region->ops.size ? region->ops.data[index] : NULL;
}

/* ---- ops ---- */

static const char *op_name(const qgc_backend_op *op)
{
    return qgc_node_op(op->view.op)->mnemonic;
}

static const char *value_name(const qgc_backend_op *op)
{
    return op->view.result->name->data;
}

static uint32_t parts(const qgc_backend_op *op)
{
    const qgc_view *view = &op->view;
    return (view->has_add ? QGC_BACKEND_HAS_ADD : 0u) |
           (view->has_clip ? QGC_BACKEND_HAS_CLIP : 0u) |
           (view->has_function ? QGC_BACKEND_HAS_FUNCTION : 0u) |
           (view->has_bias ? QGC_BACKEND_HAS_BIAS : 0u);
}

static size_t num_operands(const qgc_backend_op *op)
{
    return op->num_inputs;
}

static size_t num_results(const qgc_backend_op *op)
{
    return op->num_outputs;
}

static int32_t to_backend_dtype(qgc_dtype dtype)
{
    static const int32_t types[QGC_NUM_DTYPES] = {
        [QGC_DTYPE_F32] = QGC_BACKEND_F32,   [QGC_DTYPE_F16] = QGC_BACKEND_F16,
        [QGC_DTYPE_BF16] = QGC_BACKEND_BF16, [QGC_DTYPE_F64] = QGC_BACKEND_F64,
        [QGC_DTYPE_I8] = QGC_BACKEND_I8,     [QGC_DTYPE_U8] = QGC_BACKEND_U8,
        [QGC_DTYPE_I16] = QGC_BACKEND_I16,   [QGC_DTYPE_U16] = QGC_BACKEND_U16,
        [QGC_DTYPE_I32] = QGC_BACKEND_I32,   [QGC_DTYPE_U32] = QGC_BACKEND_U32,
        [QGC_DTYPE_I64] = QGC_BACKEND_I64,   [QGC_DTYPE_U64] = QGC_BACKEND_U64,
        [QGC_DTYPE_BOOL] = QGC_BACKEND_BOOL};
    return types[dtype];
}

static void describe_type(const qgc_type *type, qgc_backend_tensor *t)
{
    t->dtype = to_backend_dtype(type->dtype);
    t->rank = type->rank;
    t->bytes = qgc_dtype_bytes(type->dtype);
    t->channel_axis = -1;
    for (uint32_t i = 0; i < type->rank; i++) {
        t->shape[i] = type->dims[i].value;
        t->bytes *= (uint64_t)type->dims[i].value;
    }
}

static void describe_params(const qgc_view_params *params, qgc_backend_tensor *t)
{
    t->num_scales = params->num;
    t->scales = params->scales;
    t->zero_points = params->zero_points;
    t->channel_axis = params->per_channel ? (int32_t)params->axis : -1;
}

/* Fills as much as the caller's struct has. */
static int hand_over(qgc_backend_tensor *t, qgc_backend_tensor *out)
{
    uint32_t size = out->struct_size < sizeof *t ? out->struct_size : (uint32_t)sizeof *t;
    if (size < sizeof t->struct_size)
        return QGC_BACKEND_FAILED;
    t->struct_size = size;
    memcpy(out, t, size);
    return QGC_BACKEND_OK;
}

static int operand(const qgc_backend_op *op, size_t index, qgc_backend_tensor *out)
{
    const qgc_view *view = &op->view;
    qgc_backend_tensor t = {0};
    if (index >= op->num_inputs)
        return QGC_BACKEND_FAILED;
    bool is_add = index == view->num_operands;
    const qgc_view_operand *x = is_add ? &view->extra : &view->operands[index];
    describe_type(x->value->type, &t);
    if (x->dequantize)
        describe_params(&x->params, &t);
    t.data = x->constant ? x->constant->data : NULL;
    t.port = is_add ? "add"
                    : qgc_node_op(view->op)
                          ->operands[qgc_node_operand_row(view->op, view->slots[index])]
                          .name;
    return hand_over(&t, out);
}

static int result(const qgc_backend_op *op, size_t index, qgc_backend_tensor *out)
{
    const qgc_view *view = &op->view;
    qgc_backend_tensor t = {0};
    if (index >= op->num_outputs)
        return QGC_BACKEND_FAILED;
    describe_type(op->outputs[index]->type, &t);
    t.port = qgc_node_op(view->op)->results[0].name;
    if (view->quantize) {
        t.num_scales = 1;
        t.scales = &view->output.scale;
        t.zero_points = &view->output.zero_point;
        t.lo = view->range.lo;
        t.hi = view->range.hi;
    }
    return hand_over(&t, out);
}

static size_t bias(const qgc_backend_op *op, const float **out)
{
    *out = op->view.bias;
    return op->view.has_bias ? op->view.num_channels : 0;
}

/* ---- attributes ---- */

static const qgc_attr_spec *find_attr(const qgc_backend_op *op, const char *name)
{
    const qgc_op_info *row = qgc_node_op(op->view.op);
    int index = qgc_op_attr_index(row, qgc_str_from(name));
    return index < 0 ? NULL : &row->attrs[index];
}

/* What auto_pad asks for is resolved: begins, then ends. */
static size_t padding(const qgc_backend_op *op, int64_t *out, size_t max)
{
    const qgc_node *node = op->view.op;
    const qgc_type *x = op->view.operands[0].value->type, *y = node->results[0].type;
    bool has_kernel = find_attr(op, "kernel") != NULL, transposed = find_attr(op, "output_padding");
    uint32_t num = x->rank - 2, lead = QGC_MAX_SPATIAL - num;
    int64_t in[QGC_MAX_SPATIAL], kernel[QGC_MAX_SPATIAL], sizes[QGC_MAX_SPATIAL];
    qgc_window_dim dims[QGC_MAX_SPATIAL];
    for (uint32_t i = 0; i < num; i++) {
        in[i] = x->dims[i + 2].value;
        sizes[i] = y->dims[i + 2].value;
        kernel[i] = has_kernel ? qgc_node_int_at(node, "kernel", i)
                               : op->view.operands[1].value->type->dims[i + 2].value;
    }
    qgc_window_sizes window = {in, kernel, sizes};
    qgc_window_read(node, num, &window, transposed, dims);
    for (uint32_t i = 0; i < 2 * num && i < max; i++)
        out[i] = i < num ? dims[lead + i].begin : dims[lead + i - num].end;
    return (size_t)2 * num;
}

static size_t ints(const qgc_backend_op *op, const char *name, int64_t *out, size_t max)
{
    const qgc_node *node = op->view.op;
    const qgc_attr_spec *spec = find_attr(op, name);
    if (!spec)
        return 0;
    if (strcmp(name, "padding") == 0 && find_attr(op, "stride"))
        return padding(op, out, max);
    if (spec->kind == QGC_ATTR_INT || spec->kind == QGC_ATTR_BOOL) {
        if (max)
            out[0] =
                spec->kind == QGC_ATTR_INT ? qgc_node_int(node, name) : qgc_node_flag(node, name);
        return 1;
    }
    if (spec->kind != QGC_ATTR_INTS)
        return 0;
    size_t num = qgc_node_has(node, name) ? qgc_node_list_size(node, name) : max;
    for (size_t i = 0; i < num && i < max; i++)
        out[i] = qgc_node_int_at(node, name, (uint32_t)i);
    return num;
}

static size_t floats(const qgc_backend_op *op, const char *name, float *out, size_t max)
{
    const qgc_node *node = op->view.op;
    const qgc_attr_spec *spec = find_attr(op, name);
    if (!spec || (spec->kind != QGC_ATTR_FLOAT && spec->kind != QGC_ATTR_FLOATS))
        return 0;
    if (spec->kind == QGC_ATTR_FLOAT) {
        if (max)
            out[0] = qgc_node_float(node, name);
        return 1;
    }
    size_t num = qgc_node_list_size(node, name);
    for (size_t i = 0; i < num && i < max; i++)
        out[i] = qgc_node_float_at(node, name, (uint32_t)i);
    return num;
}

static const char *word(const qgc_backend_op *op, const char *name)
{
    const qgc_attr_spec *spec = find_attr(op, name);
    if (!spec || spec->kind != QGC_ATTR_WORD)
        return NULL;
    const char *at = spec->words;
    for (int i = qgc_node_word(op->view.op, name); i > 0; i--)
        at += strcspn(at, "|") + 1;
    qgc_str text = {at, strcspn(at, "|")};
    return qgc_arena_strdup(&op->region->arena, text);
}

static const char *step_name(const qgc_backend_op *op, size_t index)
{
    for (uint32_t i = 0; i < op->view.num_nodes; i++) {
        const qgc_node *node = op->view.nodes[i];
        if (node != op->view.op && node != op->view.quantize && index-- == 0)
            return qgc_node_op(node)->mnemonic;
    }
    return NULL;
}

/* ---- emitting ---- */

static int fail(qgc_backend_region *region, const qgc_backend_op *op, const char *message)
{
    const char *where =
        op ? qgc_arena_printf(&region->arena, "%s to %%%s: ", op_name(op), value_name(op)) : "";
    if (!region->why)
        region->why = qgc_arena_printf(&region->arena, "%s%s", where, message);
    return QGC_BACKEND_FAILED;
}

static void remark(qgc_backend_region *region, const qgc_backend_op *op, const char *message)
{
    qgc_report(&region->func->module->context->diag, op ? op->view.op->loc : region->func->loc,
               QGC_D_BACKEND_REMARK, "%s: %s", region->backend->name, message);
}

static int begin_emit(qgc_backend_region *region, const qgc_backend_op *op, int64_t units)
{
    if (op->is_emitted)
        return fail(region, op, "a second kernel is emitted");
    if (units < 1)
        return fail(region, op, "a kernel has at least one unit of work");
    return QGC_BACKEND_OK;
}

static int emit_kernel(qgc_backend_region *region, const qgc_backend_op *constant_op,
                       qgc_backend_kernel_fn *kernel, void *user, qgc_backend_release_fn *release,
                       int64_t units)
{
    qgc_backend_op *op = region->ops.data[constant_op->index];
    int begun = begin_emit(region, op, units);
    if (begun == QGC_BACKEND_OK && !kernel)
        begun = fail(region, op, "there is no kernel");
    if (begun != QGC_BACKEND_OK) {
        if (release)
            release(user);
        return begun;
    }
    op->is_emitted = true;
    op->kernel = kernel;
    op->user = user;
    op->release = release;
    op->units = units;
    return QGC_BACKEND_OK;
}

static qgc_result add_ir(qgc_backend_region *region, qgc_str ir, const char *function,
                         const char *name)
{
    qgc_diag *diag = &region->func->module->context->diag;
    if (!region->jit)
        QGC_TRY(qgc_jit_create(diag, region->level, &region->jit));
    return qgc_jit_add_ir(region->jit, ir, function, name, "default<O3>");
}

static int emit_llvm(qgc_backend_region *region, const qgc_backend_op *constant_op, const char *ir,
                     size_t ir_size, const char *function, int64_t units)
{
    qgc_diag *diag = &region->func->module->context->diag;
    size_t reported = diag->list.size, index = constant_op->index;
    qgc_backend_op *op = region->ops.data[index];
    if (begin_emit(region, op, units) != QGC_BACKEND_OK)
        return QGC_BACKEND_FAILED;
    op->function = qgc_arena_printf(&region->arena, "qgc.op.%zu", index);
    if (add_ir(region, (qgc_str){ir, ir_size}, function, op->function) != QGC_OK) {
        const char *why = "its IR cannot be compiled";
        if (diag->list.size > reported) { /* the error's first line becomes the reason */
            const char *message = diag->list.data[reported].message;
            why = qgc_arena_strdup(&region->arena, (qgc_str){message, strcspn(message, "\n")});
        }
        qgc_diag_rollback(diag, reported);
        return fail(region, op, why);
    }
    op->is_emitted = true;
    op->units = units;
    return QGC_BACKEND_OK;
}

static void *allocate(qgc_backend_region *region, size_t bytes)
{
    enum { ALIGNMENT = 64 };
    size_t padded;
    QGC_ASSERT(qgc_checked_add(bytes, ALIGNMENT, &padded), "a size overflows");
    uintptr_t address = (uintptr_t)qgc_arena_alloc(&region->arena, padded);
    return (void *)((address + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

const qgc_backend_host qgc_foreign_host = {
    .abi = QGC_BACKEND_ABI,
    .struct_size = sizeof(qgc_backend_host),
    .region_name = region_name,
    .num_ops = num_ops,
    .op_at = op_at,
    .op_name = op_name,
    .value_name = value_name,
    .parts = parts,
    .num_operands = num_operands,
    .num_results = num_results,
    .operand = operand,
    .result = result,
    .bias = bias,
    .ints = ints,
    .floats = floats,
    .word = word,
    .step_name = step_name,
    .emit_kernel = emit_kernel,
    .emit_llvm = emit_llvm,
    .allocate = allocate,
    .fail = fail,
    .remark = remark,
};

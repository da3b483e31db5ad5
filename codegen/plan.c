/* Makes plans. What a generated kernel can do is decided in plan_<kernel>.c; everything else
 * becomes a REF step, with the reason. */
#include "codegen/plan.h"

#include "base/pages.h"
#include "codegen/chain.h"
#include "codegen/planner.h"
#include "codegen/product.h"
#include "ir/infer.h"

#include <string.h>

static qgc_buffer *add_buffer(qgc_planner *p, const qgc_value *value, qgc_buffer_form form)
{
    qgc_buffer *buffer = QGC_NEW(&p->plan->arena, qgc_buffer);
    buffer->value = value;
    buffer->form = form;
    buffer->first_step = UINT32_MAX;
    qgc_vec_push(&p->plan->arena, &p->plan->buffers, buffer);
    return buffer;
}

qgc_step *qgc_planner_add_step(qgc_planner *p, qgc_step_kind kind, uint32_t num_inputs,
                               uint32_t num_outputs)
{
    qgc_arena *arena = &p->plan->arena;
    qgc_step *step = QGC_NEW(arena, qgc_step);
    step->kind = kind;
    step->num_inputs = num_inputs;
    step->num_outputs = num_outputs;
    step->inputs = QGC_NEW_ARRAY(arena, qgc_buffer *, num_inputs);
    step->outputs = QGC_NEW_ARRAY(arena, qgc_buffer *, num_outputs);
    qgc_vec_push(arena, &p->plan->steps, step);
    return step;
}

static bool same_border(const qgc_border *a, const qgc_border *b)
{
    return a->top == b->top && a->left == b->left && a->bottom == b->bottom && a->right == b->right;
}

static qgc_buffer *find_buffer(qgc_planner *p, const qgc_value *value, qgc_buffer_form form,
                               const qgc_border *border, uint16_t border_value)
{
    for (size_t i = 0; i < p->plan->buffers.size; i++) {
        qgc_buffer *b = p->plan->buffers.data[i];
        bool no_border = same_border(border, &(qgc_border){0});
        if (b->value == value && b->form == form && same_border(&b->border, border) &&
            (no_border || b->border_value == border_value))
            return b;
    }
    return NULL;
}

static bool plain_bytes(const qgc_type *type, size_t *out)
{
    int64_t num;
    return qgc_type_num_elements(type, &num) &&
           qgc_checked_mul((size_t)num, qgc_dtype_bytes(type->dtype), out);
}

static bool is_u8(const qgc_value *value)
{
    return value->type->dtype == QGC_DTYPE_U8;
}

static qgc_buffer *any_buffer(qgc_planner *p, const qgc_value *value)
{
    for (size_t i = 0; i < p->plan->buffers.size; i++)
        if (p->plan->buffers.data[i]->value == value &&
            p->plan->buffers.data[i]->form != QGC_BUFFER_SCRATCH)
            return p->plan->buffers.data[i];
    return NULL;
}

static void add_form_step(qgc_planner *p, qgc_buffer *from, qgc_buffer *to)
{
    qgc_step *step = qgc_planner_add_step(p, QGC_STEP_FORM, 1, 1);
    step->inputs[0] = from;
    step->outputs[0] = to;
}

static qgc_buffer *find_plain(qgc_planner *p, const qgc_value *value)
{
    qgc_border none = {0};
    return find_buffer(p, value, QGC_BUFFER_PLAIN, &none, 0);
}

static void plan_ref(qgc_planner *p, const qgc_node *node, const char *why);
static const char *plan_kernel(qgc_planner *p, const qgc_node *node);

void qgc_planner_settle(qgc_planner *p, const qgc_value *value)
{
    const qgc_node *put_off = value->def ? qgc_map_get(&p->put_off, value->def) : NULL;
    if (!put_off)
        return;
    const char *why = qgc_map_get(&p->reasons, put_off);
    *qgc_map_at(&p->put_off, put_off) = NULL;
    *qgc_map_at(&p->raw, put_off) = (void *)(uintptr_t)put_off;
    const char *reason = plan_kernel(p, put_off);
    if (reason)
        plan_ref(p, put_off, reason[0] || !why ? reason : why);
}

qgc_buffer *qgc_planner_plain(qgc_planner *p, const qgc_value *value)
{
    qgc_planner_settle(p, value);
    qgc_buffer *buffer = find_plain(p, value);
    if (buffer)
        return buffer;
    qgc_buffer *from = any_buffer(p, value);
    buffer = add_buffer(p, value, QGC_BUFFER_PLAIN);
    if (!plain_bytes(value->type, &buffer->bytes))
        p->failed = true;
    if (value->def && value->def->constant)
        buffer->data = value->def->constant->data;
    else if (from)
        add_form_step(p, from, buffer);
    return buffer;
}

qgc_buffer *qgc_planner_lying(qgc_planner *p, const qgc_value *value)
{
    qgc_buffer *buffer = any_buffer(p, value);
    return buffer ? buffer : qgc_planner_plain(p, value);
}

qgc_buffer *qgc_planner_new_rows(qgc_planner *p, const qgc_value *value)
{
    qgc_buffer *b = add_buffer(p, value, is_u8(value) ? QGC_BUFFER_PLAIN : QGC_BUFFER_ROWS);
    if (!plain_bytes(value->type, &b->bytes))
        p->failed = true;
    return b;
}

qgc_buffer *qgc_planner_rows(qgc_planner *p, const qgc_value *value)
{
    qgc_border none = {0};
    /* A constant has no room behind it that vector loads may touch. */
    bool is_constant = value->def && value->def->constant;
    if (is_u8(value) && !is_constant)
        return qgc_planner_plain(p, value);
    qgc_buffer *found = find_buffer(p, value, QGC_BUFFER_ROWS, &none, 0);
    if (found)
        return found;
    qgc_buffer *from = qgc_planner_plain(p, value);
    qgc_buffer *buffer = add_buffer(p, value, QGC_BUFFER_ROWS);
    buffer->bytes = from->bytes;
    add_form_step(p, from, buffer);
    return buffer;
}

qgc_buffer *qgc_planner_new_nhwc(qgc_planner *p, const qgc_value *value, qgc_border border,
                                 uint16_t border_value)
{
    int64_t shape[4];
    qgc_buffer *b = add_buffer(p, value, QGC_BUFFER_NHWC);
    qgc_nchw_shape(value->type, shape);
    b->n = shape[0];
    b->c = shape[1];
    b->h = shape[2];
    b->w = shape[3];
    b->border = border;
    b->border_value = border_value;
    size_t rows = (size_t)(b->h + border.top + border.bottom);
    size_t columns = (size_t)(b->w + border.left + border.right), pixels;
    if (!qgc_checked_mul(rows, columns, &pixels) ||
        !qgc_checked_mul(pixels, (size_t)(b->n * b->c), &b->bytes) ||
        !qgc_checked_mul(b->bytes, qgc_dtype_bytes(value->type->dtype), &b->bytes))
        p->failed = true;
    return b;
}

static bool covers(const qgc_border *a, const qgc_border *b)
{
    return a->top >= b->top && a->left >= b->left && a->bottom >= b->bottom && a->right >= b->right;
}

bool qgc_border_is_empty(const qgc_border *b)
{
    return !(b->top || b->left || b->bottom || b->right);
}

qgc_buffer *qgc_planner_find_nhwc(qgc_planner *p, const qgc_value *value, qgc_border border,
                                  uint16_t border_value)
{
    for (size_t i = 0; i < p->plan->buffers.size; i++) {
        qgc_buffer *b = p->plan->buffers.data[i];
        if (b->value == value && b->form == QGC_BUFFER_NHWC && covers(&b->border, &border) &&
            (qgc_border_is_empty(&border) || b->border_value == border_value))
            return b;
    }
    return NULL;
}

qgc_buffer *qgc_planner_nhwc(qgc_planner *p, const qgc_value *value, qgc_border border,
                             uint16_t border_value)
{
    qgc_buffer *found = qgc_planner_find_nhwc(p, value, border, border_value);
    if (found)
        return found;
    qgc_border none = {0};
    qgc_buffer *from = qgc_planner_find_nhwc(p, value, none, 0);
    if (!from)
        from = qgc_planner_plain(p, value);
    qgc_buffer *buffer = qgc_planner_new_nhwc(p, value, border, border_value);
    add_form_step(p, from, buffer);
    return buffer;
}

void qgc_planner_fill_border(qgc_planner *p, qgc_buffer *buffer)
{
    if (qgc_border_is_empty(&buffer->border))
        return;
    qgc_step *step = qgc_planner_add_step(p, QGC_STEP_BORDER, 0, 1);
    step->outputs[0] = buffer;
}

qgc_pixels qgc_buffer_pixels(const qgc_buffer *b, const qgc_border *border)
{
    qgc_pixels l = {.pixel = b->c * (int64_t)qgc_dtype_bytes(b->value->type->dtype)};
    l.row = (b->w + b->border.left + b->border.right) * l.pixel;
    l.image = (b->h + b->border.top + b->border.bottom) * l.row;
    l.first = (b->border.top - border->top) * l.row + (b->border.left - border->left) * l.pixel;
    if (b->value->type->rank == 5)
        l.plane = b->value->type->dims[3].value * l.row;
    return l;
}

bool qgc_has_nhwc(const qgc_type *type)
{
    return type->rank >= 3 && type->rank <= 5;
}

qgc_value_strides qgc_buffer_strides(const qgc_buffer *b)
{
    const qgc_type *type = b->value->type;
    qgc_value_strides s = {0};
    int64_t stride = (int64_t)qgc_dtype_bytes(type->dtype);
    if (b->form == QGC_BUFFER_NHWC) {
        qgc_pixels at = qgc_buffer_pixels(b, &(qgc_border){0});
        s.first = at.first;
        s.bytes[0] = at.image;
        s.bytes[1] = stride;
        s.bytes[2] = type->rank == 5 ? at.plane : at.row;
        s.bytes[3] = at.row;
        s.bytes[type->rank - 1] = at.pixel;
        return s;
    }
    for (uint32_t d = type->rank; d-- > 0;) {
        s.bytes[d] = stride;
        stride *= type->dims[d].value;
    }
    return s;
}

static void plan_ref(qgc_planner *p, const qgc_node *node, const char *why)
{
    qgc_arena *arena = &p->plan->arena;
    qgc_buffer **inputs = QGC_NEW_ARRAY(arena, qgc_buffer *, node->num_operands);
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (node->operands[i].value)
            inputs[i] = qgc_planner_plain(p, node->operands[i].value);
    qgc_step *step = qgc_planner_add_step(p, QGC_STEP_REF, node->num_operands, node->num_results);
    step->node = node;
    step->inputs = inputs;
    step->why = why;
    step->is_checked = qgc_node_needs_contents(node);
    for (uint32_t i = 0; i < node->num_results; i++)
        step->outputs[i] = qgc_planner_plain(p, &node->results[i]);
}

qgc_step *qgc_planner_add_kernel(qgc_planner *p, const qgc_node *node, qgc_kernel *kernel,
                                 uint32_t num_inputs, uint32_t num_outputs)
{
    qgc_step *step = qgc_planner_add_step(p, QGC_STEP_KERNEL, num_inputs, num_outputs);
    uint32_t down = kernel->tile ? qgc_planner_steps_down(p, node) : 0;
    kernel->name = qgc_plan_find_equal(p->plan, kernel);
    if (!kernel->name)
        kernel->name = qgc_arena_printf(&p->plan->arena, "kernel%zu", p->plan->steps.size);
    if (down && !strchr(kernel->name, '.')) /* code for another tile is another function */
        kernel->name = qgc_arena_printf(&p->plan->arena, "%s.%u", kernel->name, down);
    step->node = node;
    step->kernel = kernel;
    return step;
}

qgc_tile_limits qgc_plan_tile_limits(const qgc_plan_target *target)
{
    bool is_large = target->registers >= 32;
    return (qgc_tile_limits){is_large ? 4 : 2, is_large && !target->has_signed_dot ? 6 : 5};
}

uint32_t qgc_planner_steps_down(const qgc_planner *p, const qgc_node *node)
{
    return p->target->smaller ? (uint32_t)(uintptr_t)qgc_map_get(p->target->smaller, node) : 0;
}

void qgc_planner_set_phases(qgc_planner *p, int64_t num)
{
    size_t i = p->plan->steps.size;
    for (int64_t left = num; left;) {
        qgc_step *step = p->plan->steps.data[--i];
        bool counts = step->kernel && step->kernel->kind != QGC_KERNEL_WIDEN;
        step->phases = counts ? (uint32_t)num : 0;
        left -= counts;
    }
}

void qgc_planner_take(qgc_planner *p, const qgc_node *node)
{
    *qgc_map_at(&p->done, node) = (void *)node;
    *qgc_map_at(&p->put_off, node) = NULL;
}

void *qgc_planner_constant(qgc_planner *p, size_t num, size_t size)
{
    size_t bytes;
    QGC_ASSERT(qgc_checked_mul(num, size, &bytes), "%zu * %zu constants", num, size);
    enum { LARGE = 1 << 16, BLOCK = 2 * QGC_LARGE_PAGE };
    qgc_arena *arena = bytes < LARGE ? &p->plan->arena : &p->plan->weights;
    if (!p->plan->weights.next_bytes)
        p->plan->weights.next_bytes = BLOCK;
    uintptr_t address = (uintptr_t)qgc_arena_alloc(arena, bytes + QGC_VECTOR_BYTES);
    address = (address + QGC_VECTOR_BYTES - 1) / QGC_VECTOR_BYTES * QGC_VECTOR_BYTES;
    qgc_plan_constant constant = {(const void *)address, bytes};
    qgc_vec_push(&p->plan->arena, &p->plan->constants, constant);
    return (void *)address;
}

void qgc_planner_decline(qgc_planner *p, const qgc_node *node, const char *why)
{
    *qgc_map_at(&p->reasons, node) = (void *)(uintptr_t)why;
}

/* A sum that one requantize ends is planned with it: only there all of its terms exist. Likewise a
 * float product that a group of functions reads. */
static bool is_put_off(qgc_planner *p, const qgc_node *node)
{
    static const qgc_opcode sums[] = {QGC_OP_INT_CONV1D,
                                      QGC_OP_INT_CONV2D,
                                      QGC_OP_INT_CONV_TRANSPOSE1D,
                                      QGC_OP_INT_CONV_TRANSPOSE2D,
                                      QGC_OP_INT_LINEAR,
                                      QGC_OP_INT_MATMUL,
                                      QGC_OP_INT_SUM,
                                      QGC_OP_INT_SUM_POOL,
                                      QGC_OP_INT_MUL};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (node->op == sums[i])
            return qgc_epilogue_of(node) != NULL;
    return qgc_fused_takes(p, node);
}

/* Asks the planners in turn; the last reason given is the most specific. */
static const char *plan_kernel(qgc_planner *p, const qgc_node *node)
{
    static const char *(*const planners[])(qgc_planner *, const qgc_node *) = {
#define QGC_KERNEL(id, name, planner, emitter) planner,
#include "codegen/kernels.def"
    };
    const char *why = "";
    for (size_t i = 0; i < sizeof planners / sizeof *planners; i++) {
        const char *reason = planners[i](p, node);
        if (!reason)
            return NULL;
        if (reason[0])
            why = reason;
    }
    return why;
}

/* Where the value lies in row-major order: NHWC is that too where images are one pixel each. */
static qgc_buffer *flat_buffer(qgc_planner *p, const qgc_value *value)
{
    for (size_t i = 0; i < p->plan->buffers.size; i++) {
        qgc_buffer *b = p->plan->buffers.data[i];
        bool is_flat = b->form == QGC_BUFFER_PLAIN || b->form == QGC_BUFFER_ROWS ||
                       (b->h * b->w == 1 && qgc_border_is_empty(&b->border));
        if (b->value == value && b->form != QGC_BUFFER_SCRATCH && is_flat)
            return b;
    }
    return qgc_planner_plain(p, value);
}

qgc_buffer *qgc_planner_scratch(qgc_planner *p, const qgc_value *value)
{
    qgc_buffer *buffer = add_buffer(p, value, QGC_BUFFER_SCRATCH);
    if (!plain_bytes(value->type, &buffer->bytes))
        p->failed = true;
    return buffer;
}

void qgc_planner_alias(qgc_planner *p, const qgc_value *value, qgc_buffer *whole, size_t offset)
{
    bool is_nhwc = whole->form == QGC_BUFFER_NHWC, is_i8 = value->type->dtype == QGC_DTYPE_I8;
    qgc_buffer_form form = !is_nhwc ? whole->form : is_i8 ? QGC_BUFFER_ROWS : QGC_BUFFER_PLAIN;
    qgc_buffer *buffer = add_buffer(p, value, form);
    if (!plain_bytes(value->type, &buffer->bytes))
        p->failed = true;
    buffer->alias = whole->alias ? whole->alias : whole;
    buffer->alias_offset = whole->alias_offset + offset;
}

/* What only changes the shape is another name for the same memory. */
static bool plan_alias(qgc_planner *p, const qgc_node *node)
{
    static const qgc_opcode ops[] = {QGC_OP_IDENTITY, QGC_OP_RESHAPE, QGC_OP_FLATTEN,
                                     QGC_OP_SQUEEZE, QGC_OP_UNSQUEEZE};
    bool is_alias = false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        is_alias = is_alias || node->op == ops[i];
    if (!is_alias)
        return false;
    qgc_buffer *from = flat_buffer(p, node->operands[0].value);
    if (from->data) /* kernels may read behind a value, but not behind a constant */
        return false;
    qgc_planner_alias(p, &node->results[0], from, 0);
    return true;
}

/* An observer that nothing reads: a step for who watches. */
static bool plan_observer(qgc_planner *p, const qgc_node *node)
{
    if (node->op != QGC_OP_OBSERVE || node->results[0].num_uses)
        return false;
    qgc_buffer *observed = qgc_planner_plain(p, node->operands[0].value);
    qgc_step *step = qgc_planner_add_step(p, QGC_STEP_REF, 1, 0);
    step->node = node;
    step->inputs[0] = observed;
    step->why = "";
    return true;
}

static void plan_node(qgc_planner *p, const qgc_node *node)
{
    if (qgc_op(node->op)->traits & (QGC_TRAIT_CONSTANT | QGC_TRAIT_TERMINATOR))
        return;
    if (qgc_map_get(&p->done, node))
        return;
    if (p->target->refused && qgc_map_get(p->target->refused, node)) {
        plan_ref(p, node, "LLVM refused the kernel");
        return;
    }
    if (is_put_off(p, node)) {
        *qgc_map_at(&p->put_off, node) = (void *)(uintptr_t)node;
        return;
    }
    if (plan_alias(p, node) || plan_observer(p, node))
        return;
    const char *why = plan_kernel(p, node);
    if (why)
        plan_ref(p, node, why);
}

/* ---- entry points ---- */

static qgc_result check_static(const qgc_func *func)
{
    qgc_context *context = func->module->context;
    for (uint32_t i = 0; i < func->num_params; i++)
        if (!func->params[i].type->is_static)
            return qgc_report(&context->diag, func->params[i].loc, QGC_D_UNBOUND,
                              "@%s is compiled for fixed shapes; %%%s is %s (bind with --set)",
                              func->name->data, func->params[i].name->data,
                              qgc_type_str(&context->arena, func->params[i].type));
    QGC_EACH_NODE (node, func)
        for (uint32_t i = 0; i < node->num_results; i++)
            if (!node->results[i].type->is_static)
                return qgc_report(&context->diag, node->loc, QGC_D_UNBOUND,
                                  "@%s is compiled for fixed shapes; %%%s is %s (run infer-shapes)",
                                  func->name->data, node->results[i].name->data,
                                  qgc_type_str(&context->arena, node->results[i].type));
    return QGC_OK;
}

static void plan_body(qgc_planner *p)
{
    const qgc_func *func = p->plan->func;
    qgc_arena *arena = &p->plan->arena;
    p->plan->params = QGC_NEW_ARRAY(arena, qgc_buffer *, func->num_params);
    for (uint32_t i = 0; i < func->num_params; i++)
        p->plan->params[i] = qgc_planner_plain(p, &func->params[i]);
    QGC_EACH_NODE (node, func)
        plan_node(p, node);
    p->plan->results = QGC_NEW_ARRAY(arena, qgc_buffer *, func->num_results);
    for (uint32_t i = 0; i < func->num_results; i++)
        p->plan->results[i] = qgc_planner_plain(p, func->last->operands[i].value);
    qgc_plan_share(p->plan, p->target);
    qgc_plan_place(p->plan);
}

qgc_plan *qgc_plan_create(const qgc_func *func, const qgc_plan_target *target)
{
    if (check_static(func) != QGC_OK)
        return NULL;
    qgc_arena arena = {0};
    qgc_plan *plan = QGC_NEW(&arena, qgc_plan);
    plan->arena = arena;
    plan->func = func;
    qgc_arena scratch = {0};
    qgc_planner p = {.plan = plan,
                     .target = target,
                     .done = {.arena = &scratch},
                     .fused = {.arena = &scratch},
                     .put_off = {.arena = &scratch},
                     .reasons = {.arena = &scratch},
                     .raw = {.arena = &scratch}};
    plan_body(&p);
    qgc_arena_destroy(&scratch);
    if (!p.failed)
        return plan;
    qgc_report(&func->module->context->diag, func->loc, QGC_D_BAD_TYPE,
               "@%s: the sizes of its values overflow", func->name->data);
    qgc_plan_destroy(plan);
    return NULL;
}

void qgc_plan_destroy(qgc_plan *plan)
{
    if (!plan)
        return;
    qgc_arena arena = plan->arena;
    qgc_arena_destroy(&plan->weights);
    qgc_arena_destroy(&arena);
}

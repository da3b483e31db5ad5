/* Makes and prints plans. What a generated kernel can do is decided in plan_conv.c; everything else
 * becomes a REF step, with the reason. */
#include "codegen/plan.h"

#include "codegen/planner.h"

#include <string.h>

/* Room behind each buffer that vector loads may touch. */
enum { SLACK = 64, ALIGN = 64 };

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
                               const qgc_border *border, uint8_t border_value)
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
        if (p->plan->buffers.data[i]->value == value)
            return p->plan->buffers.data[i];
    return NULL;
}

static void add_form_step(qgc_planner *p, qgc_buffer *from, qgc_buffer *to)
{
    qgc_step *step = qgc_planner_add_step(p, QGC_STEP_FORM, 1, 1);
    step->inputs[0] = from;
    step->outputs[0] = to;
}

qgc_buffer *qgc_planner_plain(qgc_planner *p, const qgc_value *value)
{
    qgc_border none = {0};
    qgc_buffer *buffer = find_buffer(p, value, QGC_BUFFER_PLAIN, &none, 0);
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
                                 uint8_t border_value)
{
    const qgc_type *type = value->type;
    qgc_buffer *b = add_buffer(p, value, QGC_BUFFER_NHWC);
    b->n = type->dims[0].value;
    b->c = type->dims[1].value;
    b->h = type->dims[2].value;
    b->w = type->dims[3].value;
    b->border = border;
    b->border_value = border_value;
    size_t rows = (size_t)(b->h + border.top + border.bottom);
    size_t columns = (size_t)(b->w + border.left + border.right), pixels;
    if (!qgc_checked_mul(rows, columns, &pixels) ||
        !qgc_checked_mul(pixels, (size_t)(b->n * b->c), &b->bytes))
        p->failed = true;
    return b;
}

qgc_buffer *qgc_planner_nhwc(qgc_planner *p, const qgc_value *value, qgc_border border,
                             uint8_t border_value)
{
    qgc_buffer *found = find_buffer(p, value, QGC_BUFFER_NHWC, &border, border_value);
    if (found)
        return found;
    qgc_border none = {0};
    qgc_buffer *from = find_buffer(p, value, QGC_BUFFER_NHWC, &none, 0);
    if (!from)
        from = qgc_planner_plain(p, value);
    qgc_buffer *buffer = qgc_planner_new_nhwc(p, value, border, border_value);
    add_form_step(p, from, buffer);
    return buffer;
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
    for (uint32_t i = 0; i < node->num_results; i++)
        step->outputs[i] = qgc_planner_plain(p, &node->results[i]);
}

qgc_step *qgc_planner_add_kernel(qgc_planner *p, const qgc_node *node, qgc_kernel *kernel,
                                 uint32_t num_inputs, uint32_t num_outputs)
{
    qgc_step *step = qgc_planner_add_step(p, QGC_STEP_KERNEL, num_inputs, num_outputs);
    kernel->name = qgc_arena_printf(&p->plan->arena, "kernel%zu", p->plan->steps.size);
    step->node = node;
    step->kernel = kernel;
    return step;
}

void qgc_planner_take(qgc_planner *p, const qgc_node *node)
{
    *qgc_map_at(&p->done, node) = (void *)node;
}

void *qgc_planner_constant(qgc_planner *p, size_t num, size_t size)
{
    size_t bytes;
    QGC_ASSERT(qgc_checked_mul(num, size, &bytes), "%zu * %zu constants", num, size);
    uintptr_t address = (uintptr_t)qgc_arena_alloc(&p->plan->arena, bytes + ALIGN);
    return (void *)((address + ALIGN - 1) / ALIGN * ALIGN);
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

static void plan_node(qgc_planner *p, const qgc_node *node)
{
    if (qgc_op(node->op)->traits & (QGC_TRAIT_CONSTANT | QGC_TRAIT_TERMINATOR))
        return;
    if (qgc_map_get(&p->done, node))
        return;
    const char *why = plan_kernel(p, node);
    if (why)
        plan_ref(p, node, why);
}

/* ---- memory ---- */

static void touch(qgc_buffer *buffer, uint32_t step)
{
    if (!buffer)
        return;
    if (buffer->first_step == UINT32_MAX)
        buffer->first_step = step;
    buffer->last_step = step;
}

static void find_lives(qgc_plan *plan)
{
    for (uint32_t i = 0; i < plan->func->num_params; i++)
        touch(plan->params[i], 0);
    for (uint32_t s = 0; s < plan->steps.size; s++) {
        qgc_step *step = plan->steps.data[s];
        for (uint32_t i = 0; i < step->num_inputs; i++)
            touch(step->inputs[i], s);
        for (uint32_t i = 0; i < step->num_outputs; i++)
            touch(step->outputs[i], s);
    }
    for (uint32_t i = 0; i < plan->func->num_results; i++)
        touch(plan->results[i], (uint32_t)plan->steps.size);
}

static bool lives_meet(const qgc_buffer *a, const qgc_buffer *b)
{
    return a->first_step <= b->last_step && b->first_step <= a->last_step;
}

static size_t span(const qgc_buffer *b)
{
    return (b->bytes + SLACK + ALIGN - 1) / ALIGN * ALIGN;
}

/* First fit in the order of making: the lowest offset where no living buffer lies. */
static void place(qgc_plan *plan, size_t index)
{
    qgc_buffer *b = plan->buffers.data[index];
    bool moved = true;
    b->offset = 0;
    while (moved) {
        moved = false;
        for (size_t i = 0; i < index; i++) {
            const qgc_buffer *o = plan->buffers.data[i];
            bool overlap = b->offset < o->offset + span(o) && o->offset < b->offset + span(b);
            if (o->data || !overlap || !lives_meet(b, o))
                continue;
            b->offset = o->offset + span(o);
            moved = true;
        }
    }
    if (b->offset + span(b) > plan->arena_bytes)
        plan->arena_bytes = b->offset + span(b);
}

static void place_all(qgc_plan *plan)
{
    find_lives(plan);
    for (size_t i = 0; i < plan->buffers.size; i++)
        if (!plan->buffers.data[i]->data)
            place(plan, i);
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
    place_all(p->plan);
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
    qgc_planner p = {.plan = plan, .target = target, .done = {.arena = &scratch}};
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
    qgc_arena_destroy(&arena);
}

/* ---- text ---- */

static void print_buffer(const qgc_buffer *b, qgc_text *out)
{
    qgc_value_name_print(out, b->value->name);
    static const char *const forms[] = {"", ".rows", ".nhwc"};
    qgc_text_puts(out, forms[b->form]);
    const qgc_border *r = &b->border;
    if (r->top || r->left || r->bottom || r->right)
        qgc_text_printf(out, "[border %lld,%lld,%lld,%lld = %u]", (long long)r->top,
                        (long long)r->left, (long long)r->bottom, (long long)r->right,
                        b->border_value);
    if (b->data)
        qgc_text_puts(out, " const");
    else
        qgc_text_printf(out, " at %zu", b->offset);
}

static void print_buffers(qgc_buffer *const *buffers, uint32_t num, qgc_text *out)
{
    for (uint32_t i = 0; i < num; i++) {
        qgc_text_puts(out, i ? ", " : " ");
        if (buffers[i])
            print_buffer(buffers[i], out);
        else
            qgc_text_putc(out, '_');
    }
}

static const char *step_name(const qgc_step *step)
{
    static const char *const kernels[] = {
#define QGC_KERNEL(id, name, planner, emitter) name,
#include "codegen/kernels.def"
    };
    if (step->kind == QGC_STEP_KERNEL)
        return kernels[step->kernel->kind];
    return step->kind == QGC_STEP_REF ? "ref" : "form";
}

void qgc_plan_print(const qgc_plan *plan, qgc_text *out)
{
    qgc_text_printf(out, "plan @%s {arena = %zu}\n", plan->func->name->data, plan->arena_bytes);
    for (size_t i = 0; i < plan->steps.size; i++) {
        const qgc_step *step = plan->steps.data[i];
        qgc_text_putc(out, ' ');
        print_buffers(step->outputs, step->num_outputs, out);
        qgc_text_printf(out, " = %s", step_name(step));
        if (step->kind == QGC_STEP_REF)
            qgc_text_printf(out, " %s", qgc_op(step->node->op)->mnemonic);
        print_buffers(step->inputs, step->num_inputs, out);
        if (step->note)
            qgc_text_printf(out, " {%s}", step->note);
        if (step->why && step->why[0])
            qgc_text_printf(out, "  // %s", step->why);
        qgc_text_putc(out, '\n');
    }
}

/* Prints plans. */
#include "codegen/plan.h"

static void print_buffer(const qgc_buffer *b, qgc_text *out)
{
    qgc_value_name_print(out, b->value->name);
    static const char *const forms[] = {"", ".rows", ".nhwc", ".scratch"};
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

const char *qgc_step_name(qgc_arena *arena, const qgc_step *step)
{
    static const char *const kernels[] = {
#define QGC_KERNEL(id, name, planner, emitter) name,
#include "codegen/kernels.def"
    };
    if (step->kind == QGC_STEP_KERNEL)
        return kernels[step->kernel->kind];
    static const char *const names[] = {
        [QGC_STEP_REF] = "ref", [QGC_STEP_FORM] = "form", [QGC_STEP_BORDER] = "border"};
    if (step->kind == QGC_STEP_REF)
        return qgc_arena_printf(arena, "ref %s", qgc_op(step->node->op)->mnemonic);
    return names[step->kind];
}

/* Where a stretch of shared steps begins. */
static void print_together(const qgc_step *step, qgc_text *out)
{
    if (step->together)
        qgc_text_printf(out, ", %s for %u step%s",
                        step->wakes ? "wakes threads" : "with threads awake", step->together,
                        step->together == 1 ? "" : "s");
}

/* What decides (codegen/plan_share.c): of shared steps, and of long ones that are not. */
static void print_share(const qgc_plan *plan, const qgc_step *step, qgc_text *out)
{
    enum { LONG = 12000 };
    bool is_shared = step->parts > 1;
    if (plan->threads < 2 || (!is_shared && !step->together && step->cost.cycles < LONG))
        return;
    if (is_shared)
        qgc_text_printf(out, " in %u parts of %lld units", step->parts, (long long)step->units);
    else
        qgc_text_printf(out, " alone, units = %lld", (long long)step->units);
    qgc_text_printf(out, ": %.0f bytes", step->cost.bytes);
    if (step->cost.macs > 0)
        qgc_text_printf(out, ", %.0f multiply-adds", step->cost.macs);
    qgc_text_printf(out, ", %.0f cycles", step->cost.cycles);
    if (is_shared)
        qgc_text_printf(out, ", balance %.2f%s", step->balance,
                        step->flows ? ", beside the next step" : "");
    print_together(step, out);
}

static void print_step(const qgc_plan *plan, const qgc_step *step, qgc_text *out)
{
    qgc_text_putc(out, ' ');
    print_buffers(step->outputs, step->num_outputs, out);
    qgc_text_printf(out, " = %s", qgc_step_name(out->arena, step));
    print_buffers(step->inputs, step->num_inputs, out);
    if (step->note)
        qgc_text_printf(out, " {%s}", step->note);
    print_share(plan, step, out);
    if (step->why && step->why[0])
        qgc_text_printf(out, "  // %s", step->why);
    qgc_text_putc(out, '\n');
}

void qgc_plan_print(const qgc_plan *plan, qgc_text *out)
{
    qgc_text_printf(out, "plan @%s {arena = %zu}\n", plan->func->name->data, plan->arena_bytes);
    for (size_t i = 0; i < plan->steps.size; i++)
        print_step(plan, plan->steps.data[i], out);
}

/* Whether the value is the one of that name, or stands for it (`origin`), or its op passes it. */
static bool stands_for(const qgc_plan *plan, const qgc_value *value, qgc_name name)
{
    qgc_context *context = plan->func->module->context;
    if (value->name == name || !value->def)
        return value->name == name;
    const qgc_attr *attr = qgc_node_extra(value->def, qgc_context_name(context, "origin"));
    if (attr && attr->kind == QGC_ATTR_VALUE && attr->name == name)
        return true;
    const qgc_attr *through =
        qgc_node_extra(value->def, qgc_context_name(context, "origin.through"));
    for (uint32_t i = 0; through && through->kind == QGC_ATTR_LIST && i < through->num; i++)
        if (through->list[i].kind == QGC_ATTR_VALUE && through->list[i].name == name)
            return true;
    return false;
}

void qgc_plan_print_steps(const qgc_plan *plan, qgc_name value, qgc_text *out)
{
    for (size_t i = 0; i < plan->steps.size; i++) {
        const qgc_step *step = plan->steps.data[i];
        bool makes_it = false;
        for (uint32_t k = 0; k < step->num_outputs; k++)
            makes_it |= step->outputs[k] && stands_for(plan, step->outputs[k]->value, value);
        if (!makes_it)
            continue;
        qgc_text_printf(out, "@%s:", plan->func->name->data);
        print_step(plan, step, out);
    }
}

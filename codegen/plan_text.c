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

static const char *step_name(const qgc_step *step)
{
    static const char *const kernels[] = {
#define QGC_KERNEL(id, name, planner, emitter) name,
#include "codegen/kernels.def"
    };
    if (step->kind == QGC_STEP_KERNEL)
        return kernels[step->kernel->kind];
    static const char *const names[] = {
        [QGC_STEP_REF] = "ref", [QGC_STEP_FORM] = "form", [QGC_STEP_BORDER] = "border"};
    return names[step->kind];
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

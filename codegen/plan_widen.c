/* Adds steps that make bytes i16, once for all kernels that read them so. */
#include "codegen/planner.h"

static qgc_buffer *find_widened(const qgc_planner *p, const qgc_buffer *bytes)
{
    for (size_t i = 0; i < p->plan->steps.size; i++) {
        const qgc_step *step = p->plan->steps.data[i];
        bool is_widen = step->kernel && step->kernel->kind == QGC_KERNEL_WIDEN;
        if (is_widen && step->inputs[0] == bytes)
            return step->outputs[0];
    }
    return NULL;
}

qgc_buffer *qgc_planner_widened(qgc_planner *p, const qgc_node *node, qgc_buffer *bytes)
{
    qgc_buffer *out = find_widened(p, bytes);
    if (out)
        return out;
    qgc_arena *arena = &p->plan->arena;
    qgc_widen_kernel *k = QGC_NEW(arena, qgc_widen_kernel);
    *k = (qgc_widen_kernel){
        .base = {.kind = QGC_KERNEL_WIDEN,
                 .units = ((int64_t)bytes->bytes + QGC_WIDEN_BLOCK - 1) / QGC_WIDEN_BLOCK},
        .bytes = (int64_t)bytes->bytes};
    out = qgc_planner_scratch(p, bytes->value);
    if (!qgc_checked_mul(bytes->bytes, sizeof(int16_t), &out->bytes))
        p->failed = true;
    qgc_step *step = qgc_planner_add_kernel(p, node, &k->base, 1, 1);
    step->inputs[0] = bytes;
    step->outputs[0] = out;
    return out;
}

/* No op is one: steps of this kind come with convolutions. */
const char *qgc_plan_widen(qgc_planner *p, const qgc_node *node)
{
    (void)p;
    (void)node;
    return "";
}

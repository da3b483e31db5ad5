/* Where the buffers of a plan lie. */
#include "codegen/planner.h"

/* Room behind each buffer that vector loads may touch. */
enum { SLACK = QGC_VECTOR_BYTES };

static void touch(qgc_buffer *buffer, uint32_t step)
{
    if (!buffer)
        return;
    if (buffer->alias)
        buffer = buffer->alias;
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
    return (b->bytes + SLACK + QGC_VECTOR_BYTES - 1) / QGC_VECTOR_BYTES * QGC_VECTOR_BYTES;
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
            if (o->data || o->alias || !overlap || !lives_meet(b, o))
                continue;
            b->offset = o->offset + span(o);
            moved = true;
        }
    }
    if (b->offset + span(b) > plan->arena_bytes)
        plan->arena_bytes = b->offset + span(b);
}

void qgc_plan_place(qgc_plan *plan)
{
    find_lives(plan);
    for (size_t i = 0; i < plan->buffers.size; i++)
        if (!plan->buffers.data[i]->data && !plan->buffers.data[i]->alias)
            place(plan, i);
    for (size_t i = 0; i < plan->buffers.size; i++)
        if (plan->buffers.data[i]->alias)
            plan->buffers.data[i]->offset =
                plan->buffers.data[i]->alias->offset + plan->buffers.data[i]->alias_offset;
}

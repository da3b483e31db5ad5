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

static bool is_placed(const qgc_buffer *b)
{
    return !b->data && !b->alias;
}

/* ---- one thread: as little memory as possible ---- */

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
            if (!is_placed(o) || !overlap || !lives_meet(b, o))
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
    for (size_t i = 0; i < plan->buffers.size; i++)
        if (is_placed(plan->buffers.data[i]))
            place(plan, i);
}

/* ---- several threads: each in its own part of the memory ---- */

/* Buffers that follow one another in one place, in the middle of which the middle of each lies:
 * what a thread writes of them, the first rows or the last ones, is then mostly where it wrote
 * before, and not in the other core's cache. */
typedef struct slot {
    uint32_t first_step, last_step; /* of all of its buffers */
    size_t bytes;                   /* of the largest */
} slot;

typedef struct slots {
    qgc_arena arena;
    QGC_VEC(slot) list;
    size_t *of; /* buffer -> its slot */
} slots;

/* To grow is worse than to leave room. */
static size_t cost_of(const slot *s, size_t bytes)
{
    enum { GROWTH = 4 };
    return bytes > s->bytes ? GROWTH * (bytes - s->bytes) : s->bytes - bytes;
}

static size_t find_slot(const slots *all, const qgc_buffer *b)
{
    size_t best = all->list.size, cost = SIZE_MAX;
    for (size_t i = 0; i < all->list.size; i++) {
        const slot *s = &all->list.data[i];
        bool meets = b->first_step <= s->last_step && s->first_step <= b->last_step;
        if (meets || cost_of(s, span(b)) >= cost)
            continue;
        best = i;
        cost = cost_of(s, span(b));
    }
    return cost <= cost_of(&(slot){0}, span(b)) ? best : all->list.size;
}

static void choose_slot(slots *all, const qgc_buffer *b, size_t index)
{
    size_t found = find_slot(all, b);
    if (found == all->list.size)
        qgc_vec_push(&all->arena, &all->list, ((slot){b->first_step, b->last_step, 0}));
    slot *s = &all->list.data[found];
    s->first_step = b->first_step < s->first_step ? b->first_step : s->first_step;
    s->last_step = b->last_step > s->last_step ? b->last_step : s->last_step;
    s->bytes = span(b) > s->bytes ? span(b) : s->bytes;
    all->of[index] = found;
}

static slots make_slots(const qgc_plan *plan)
{
    slots all = {0};
    all.of = QGC_NEW_ARRAY(&all.arena, size_t, plan->buffers.size);
    for (size_t i = 0; i < plan->buffers.size; i++)
        if (is_placed(plan->buffers.data[i]))
            choose_slot(&all, plan->buffers.data[i], i);
    return all;
}

/* Where slots begin; the last one is where they end. */
static const size_t *find_starts(slots *all)
{
    size_t *starts = QGC_NEW_ARRAY(&all->arena, size_t, all->list.size + 1);
    for (size_t i = 0; i < all->list.size; i++)
        starts[i + 1] = starts[i] + all->list.data[i].bytes;
    return starts;
}

/* Unless that takes much more memory. */
static void place_in_slots(qgc_plan *plan)
{
    slots all = make_slots(plan);
    const size_t *starts = find_starts(&all);
    size_t bytes = starts[all.list.size], most = plan->arena_bytes / 2 * 3;
    for (size_t i = 0; bytes <= most && i < plan->buffers.size; i++) {
        qgc_buffer *b = plan->buffers.data[i];
        if (!is_placed(b))
            continue;
        size_t room = all.list.data[all.of[i]].bytes - span(b);
        b->offset = starts[all.of[i]] + room / 2 / QGC_VECTOR_BYTES * QGC_VECTOR_BYTES;
    }
    plan->arena_bytes = bytes <= most ? bytes : plan->arena_bytes;
    qgc_arena_destroy(&all.arena);
}

static bool is_shared(const qgc_plan *plan)
{
    bool is_shared = false;
    for (size_t i = 0; i < plan->steps.size; i++)
        is_shared |= plan->steps.data[i]->together > 0;
    return is_shared;
}

void qgc_plan_place(qgc_plan *plan)
{
    find_lives(plan);
    place_all(plan);
    if (is_shared(plan))
        place_in_slots(plan);
    for (size_t i = 0; i < plan->buffers.size; i++)
        if (plan->buffers.data[i]->alias)
            plan->buffers.data[i]->offset =
                plan->buffers.data[i]->alias->offset + plan->buffers.data[i]->alias_offset;
}

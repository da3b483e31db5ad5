#include "codegen/guard.h"

#include "base/number.h"

#include <string.h>

static const char magic[] = "spills\n";

qgc_guard qgc_guard_make(qgc_diag *diag, qgc_arena *arena)
{
    return (qgc_guard){.diag = diag, .arena = arena, .smaller = {.arena = arena}};
}

static bool has_kernel(const qgc_plan *plan, const qgc_kernel *kernel)
{
    for (size_t i = 0; kernel && i < plan->steps.size; i++)
        if (plan->steps.data[i]->kernel == kernel)
            return true;
    return false;
}

/* All steps that share the function go down with it: their kernels stay equal. One is named. */
static void go_down(qgc_guard *guard, const qgc_plan *plan, const qgc_spill *spill)
{
    bool is_first = true;
    const qgc_node *last = NULL; /* phases of a node go once */
    for (size_t i = 0; i < plan->steps.size; i++) {
        const qgc_step *step = plan->steps.data[i];
        if (!step->kernel || strcmp(step->kernel->name, spill->kernel->name) != 0 ||
            step->node == last)
            continue;
        last = step->node;
        void **down = qgc_map_at(&guard->smaller, step->node);
        *down = (void *)((uintptr_t)*down + 1);
        *qgc_map_at(&guard->changed, step->node) = guard;
        const char *tile = qgc_arena_printf(guard->arena, "%s", step->kernel->tile);
        qgc_guard_step taken = {step->node, tile, spill->frame_bytes, spill->stores};
        if (is_first)
            qgc_vec_push(guard->arena, &guard->steps, taken);
        is_first = false;
    }
}

bool qgc_guard_look(qgc_guard *guard, const qgc_plan *plan, const qgc_spills *spills)
{
    bool found = false;
    guard->changed = (qgc_map){.arena = guard->arena};
    for (size_t i = 0; i < spills->size; i++)
        if (spills->data[i].is_costly && has_kernel(plan, spills->data[i].kernel)) {
            go_down(guard, plan, &spills->data[i]);
            found = true;
        }
    return found;
}

static void remark(const qgc_guard *guard, const qgc_plan *plan, const qgc_step *step,
                   const qgc_guard_step *old)
{
    qgc_report(guard->diag, step->node->loc, QGC_D_TILE_SPILLS,
               "%s %%%s of @%s: tile %s stores vectors to the stack (%u times, %u bytes), %s is "
               "taken",
               qgc_op(step->node->op)->mnemonic, step->node->results[0].name->data,
               plan->func->name->data, old->tile, old->stores, old->frame_bytes,
               step->kernel->tile);
}

void qgc_guard_remark(qgc_guard *guard, const qgc_plan *plan)
{
    const char *origin = guard->diag->origin;
    guard->diag->origin = "codegen";
    for (size_t k = 0; k < guard->steps.size; k++) {
        qgc_guard_step *old = &guard->steps.data[k];
        for (size_t i = 0; i < plan->steps.size && old->node; i++) {
            const qgc_step *step = plan->steps.data[i];
            if (step->node != old->node || !step->kernel || !step->kernel->tile)
                continue;
            remark(guard, plan, step, old);
            old->node = NULL; /* said */
        }
    }
    guard->diag->origin = origin;
}

/* ---- in the cache ---- */

qgc_str qgc_guard_write(qgc_arena *arena, const qgc_spills *spills, qgc_str code)
{
    qgc_text text = {.arena = arena};
    qgc_text_printf(&text, "%s", magic);
    for (size_t i = 0; i < spills->size; i++) {
        const qgc_spill *spill = &spills->data[i];
        if (!spill->is_costly)
            continue;
        qgc_text_printf(&text, "%s %u %u\n", spill->kernel->name, spill->frame_bytes,
                        spill->stores);
    }
    qgc_text_printf(&text, "\n");
    char *bytes = qgc_arena_alloc(arena, text.size + code.size);
    memcpy(bytes, text.data, text.size);
    memcpy(bytes + text.size, code.data, code.size);
    return (qgc_str){bytes, text.size + code.size};
}

/* The number behind the space before |*end|, which goes there. */
static bool cut_number(const char *line, size_t *end, uint32_t *out)
{
    uint64_t number;
    size_t begin = *end;
    while (begin && line[begin - 1] != ' ')
        begin--;
    if (!begin || !qgc_parse_u64((qgc_str){line + begin, *end - begin}, &number) ||
        number > UINT32_MAX)
        return false;
    *out = (uint32_t)number;
    *end = begin - 1;
    return true;
}

/* "kernel3 296 8" */
static bool read_line(qgc_str line, const qgc_plan *plan, qgc_spill *out)
{
    size_t end = line.size;
    *out = (qgc_spill){.is_costly = true};
    if (!cut_number(line.data, &end, &out->stores) ||
        !cut_number(line.data, &end, &out->frame_bytes))
        return false;
    qgc_str name = {line.data, end};
    for (size_t i = 0; i < plan->steps.size; i++) {
        out->kernel = plan->steps.data[i]->kernel;
        if (out->kernel && out->kernel->has_smaller_tile &&
            qgc_str_equal(qgc_str_from(out->kernel->name), name))
            return true;
    }
    return false;
}

bool qgc_guard_read(qgc_arena *arena, const qgc_plan *plan, qgc_str *code, qgc_spills *out)
{
    size_t at = sizeof magic - 1;
    if (!qgc_str_starts_with(*code, magic))
        return true; /* nothing is spilled */
    while (at < code->size && code->data[at] != '\n') {
        const char *line = code->data + at, *end = memchr(line, '\n', code->size - at);
        qgc_spill spill;
        if (!end || !read_line((qgc_str){line, (size_t)(end - line)}, plan, &spill))
            return false;
        qgc_vec_push(arena, out, spill);
        at += (size_t)(end - line) + 1;
    }
    if (at == code->size)
        return false;
    *code = (qgc_str){code->data + at + 1, code->size - at - 1};
    return true;
}

#include "base/source.h"

#include <string.h>

uint32_t qgc_source_add(qgc_sources *sources, const char *name, qgc_str text, uint32_t first_line)
{
    if (text.size >= UINT32_MAX || sources->list.size >= UINT32_MAX - 1)
        return 0;
    qgc_source source = {.name = qgc_arena_strdup(sources->arena, qgc_str_from(name)),
                         .text = {qgc_arena_strdup(sources->arena, text), text.size},
                         .first_line = first_line};
    qgc_vec_push(sources->arena, &sources->list, source);
    return (uint32_t)sources->list.size;
}

const qgc_source *qgc_source_get(const qgc_sources *sources, uint32_t id)
{
    return id && id <= sources->list.size ? &sources->list.data[id - 1] : NULL;
}

static void find_lines(qgc_arena *arena, qgc_source *source)
{
    qgc_vec_push(arena, &source->lines, 0);
    for (size_t i = 0; i < source->text.size; i++)
        if (source->text.data[i] == '\n')
            qgc_vec_push(arena, &source->lines, (uint32_t)(i + 1));
}

/* Index of the last line that starts at or before |offset|. */
static size_t line_index(const qgc_source *source, uint32_t offset)
{
    size_t low = 0, high = source->lines.size;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (source->lines.data[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

qgc_position qgc_source_position(qgc_sources *sources, qgc_loc loc)
{
    if (!loc.source || loc.source > sources->list.size)
        return (qgc_position){0, 0, {"", 0}};
    qgc_source *source = &sources->list.data[loc.source - 1];
    if (!source->lines.size)
        find_lines(sources->arena, source);
    uint32_t offset = loc.offset < source->text.size ? loc.offset : (uint32_t)source->text.size;
    size_t line = line_index(source, offset);
    const char *start = source->text.data + source->lines.data[line];
    const char *end = memchr(start, '\n', (size_t)(source->text.data + source->text.size - start));
    if (!end)
        end = source->text.data + source->text.size;
    return (qgc_position){source->first_line + (uint32_t)line,
                          offset - source->lines.data[line] + 1,
                          {start, (size_t)(end - start)}};
}

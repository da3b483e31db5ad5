#include "base/arena.h"

#include "base/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, FIRST_BLOCK = 4096, MAX_BLOCK = 1 << 20 };

struct qgc_arena_block {
    qgc_arena_block *previous;
    size_t capacity, used;
    bool is_zero; /* what has not been used */
    _Alignas(ALIGN) unsigned char data[];
};

void qgc_assert_failed(const char *file, int line, const char *cond, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "qgc: internal error at %s:%d: %s: ", file, line, cond);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

bool qgc_checked_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool qgc_checked_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static void add_block(qgc_arena *arena, size_t bytes)
{
    size_t capacity = arena->next_bytes ? arena->next_bytes : FIRST_BLOCK;
    if (capacity < MAX_BLOCK)
        arena->next_bytes = capacity * 2;
    if (capacity < bytes)
        capacity = bytes;
    size_t total;
    QGC_ASSERT(qgc_checked_add(capacity, sizeof(qgc_arena_block), &total), "%zu bytes", bytes);
    /* Pages that come from the system are zero. */
    qgc_arena_block *block = total > MAX_BLOCK ? calloc(1, total) : malloc(total);
    QGC_ASSERT(block, "out of memory for %zu bytes", total);
    qgc_prefer_large_pages(block, total);
    block->is_zero = total > MAX_BLOCK;
    block->previous = arena->head;
    block->capacity = capacity;
    block->used = 0;
    arena->head = block;
}

void *qgc_arena_alloc(qgc_arena *arena, size_t bytes)
{
    size_t rounded;
    QGC_ASSERT(qgc_checked_add(bytes, ALIGN - 1, &rounded), "%zu bytes", bytes);
    rounded &= ~(size_t)(ALIGN - 1);
    if (!arena->head || arena->head->capacity - arena->head->used < rounded)
        add_block(arena, rounded);
    void *result = arena->head->data + arena->head->used;
    arena->head->used += rounded;
    return arena->head->is_zero ? result : memset(result, 0, bytes);
}

void *qgc_arena_alloc_array(qgc_arena *arena, size_t num, size_t size)
{
    size_t bytes;
    QGC_ASSERT(qgc_checked_mul(num, size, &bytes), "%zu * %zu bytes", num, size);
    return qgc_arena_alloc(arena, bytes);
}

qgc_arena_mark qgc_arena_get_mark(const qgc_arena *arena)
{
    return (qgc_arena_mark){arena->head, arena->head ? arena->head->used : 0};
}

void qgc_arena_reset(qgc_arena *arena, qgc_arena_mark mark)
{
    while (arena->head != mark.block) {
        qgc_arena_block *dead = arena->head;
        arena->head = dead->previous;
        free(dead);
    }
    if (arena->head && arena->head->used != mark.used) {
        arena->head->used = mark.used;
        arena->head->is_zero = false;
    }
}

void qgc_arena_destroy(qgc_arena *arena)
{
    qgc_arena_reset(arena, (qgc_arena_mark){NULL, 0});
    arena->next_bytes = 0;
}

size_t qgc_arena_bytes(const qgc_arena *arena)
{
    size_t bytes = 0;
    for (const qgc_arena_block *block = arena->head; block; block = block->previous)
        bytes += block->used;
    return bytes;
}

char *qgc_arena_strdup(qgc_arena *arena, qgc_str text)
{
    char *copy = qgc_arena_alloc(arena, text.size + 1);
    if (text.size)
        memcpy(copy, text.data, text.size);
    return copy;
}

char *qgc_arena_vprintf(qgc_arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    QGC_ASSERT(size >= 0, "bad format %s", format);
    char *text = qgc_arena_alloc(arena, (size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    return text;
}

char *qgc_arena_printf(qgc_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = qgc_arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

/* Bump allocation: everything in an arena dies with it, nothing is freed singly.
 * The only callers of malloc are arena.c and runtime/tensor.c (lint).
 * Memory exhaustion aborts: code between never tests for NULL. */
#ifndef QGC_BASE_ARENA_H
#define QGC_BASE_ARENA_H

#include "qgc/base.h"

#include <stdarg.h>

typedef struct qgc_arena_block qgc_arena_block;

typedef struct qgc_arena {
    qgc_arena_block *head; /* newest block first */
    size_t next_bytes;     /* size of the next block; grows to a limit; may be set before use */
} qgc_arena;

typedef struct qgc_arena_mark {
    qgc_arena_block *block;
    size_t used;
} qgc_arena_mark;

/* A zeroed qgc_arena is a valid, empty one. */
void qgc_arena_destroy(qgc_arena *arena);

/* Zeroed memory, aligned to 16 bytes. A size of 0 gives a valid pointer. */
void *qgc_arena_alloc(qgc_arena *arena, size_t bytes);

/* num * size with overflow check (aborts), zeroed. */
void *qgc_arena_alloc_array(qgc_arena *arena, size_t num, size_t size);

qgc_arena_mark qgc_arena_get_mark(const qgc_arena *arena);
/* Gives back everything allocated since |mark|. */
void qgc_arena_reset(qgc_arena *arena, qgc_arena_mark mark);

/* Bytes handed out and not reset, for reports. */
size_t qgc_arena_bytes(const qgc_arena *arena);

/* NUL-terminated copies. */
char *qgc_arena_strdup(qgc_arena *arena, qgc_str text);
char *qgc_arena_printf(qgc_arena *arena, const char *format, ...) QGC_PRINTF(2, 3);
char *qgc_arena_vprintf(qgc_arena *arena, const char *format, va_list args);

#define QGC_NEW(arena, T)          ((T *)qgc_arena_alloc((arena), sizeof(T)))
#define QGC_NEW_ARRAY(arena, T, n) ((T *)qgc_arena_alloc_array((arena), (n), sizeof(T)))

/* a * b and a + b; false on overflow. Sizes from files go through these. */
bool qgc_checked_mul(size_t a, size_t b, size_t *out);
bool qgc_checked_add(size_t a, size_t b, size_t *out);

/* A broken invariant of ours: names the place and aborts; on in all builds. */
#define QGC_ASSERT(cond, ...)                                                                      \
    do {                                                                                           \
        if (!(cond))                                                                               \
            qgc_assert_failed(__FILE__, __LINE__, #cond, __VA_ARGS__);                             \
    } while (0)
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void qgc_assert_failed(const char *file, int line, const char *cond, const char *format, ...)
    QGC_PRINTF(4, 5);

#define QGC_TRY(expr)                                                                              \
    do {                                                                                           \
        if ((expr) != QGC_OK)                                                                      \
            return QGC_FAILED;                                                                     \
    } while (0)

#endif

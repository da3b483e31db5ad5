/* String views, growable text, and interned names (equal names are equal pointers). */
#ifndef QGC_BASE_STR_H
#define QGC_BASE_STR_H

#include "base/arena.h"

static inline qgc_str qgc_str_from(const char *text)
{
    return (qgc_str){text, __builtin_strlen(text)};
}
bool qgc_str_equal(qgc_str a, qgc_str b);
bool qgc_str_starts_with(qgc_str text, const char *prefix);
/* Levenshtein distance, at most |limit| + 1: for did-you-mean. */
size_t qgc_str_distance(qgc_str a, qgc_str b, size_t limit);
/* "; did you mean 'x'?" where exactly one of |num| candidates is certainly meant, else "": the one
 * that few letters are wrong of; where there is none, the one that is |found| up to a '-', or
 * |found| it. */
const char *qgc_str_did_you_mean(qgc_arena *arena, qgc_str found,
                                 qgc_str (*candidate)(void *user, size_t index), void *user,
                                 size_t num);

/* Growable NUL-terminated text in an arena. */
typedef struct qgc_text {
    qgc_arena *arena;
    char *data; /* NULL while empty */
    size_t size, capacity;
} qgc_text;
void qgc_text_put(qgc_text *text, qgc_str piece);
void qgc_text_puts(qgc_text *text, const char *piece);
void qgc_text_putc(qgc_text *text, char c);
void qgc_text_printf(qgc_text *text, const char *format, ...) QGC_PRINTF(2, 3);
/* "a\"b\n" with quotes; bytes below 0x20 and 0x7f as \xHH. What the lexer reads back. */
void qgc_text_put_quoted(qgc_text *text, qgc_str piece);
qgc_str qgc_text_str(const qgc_text *text);

/* An interned name; the bytes are NUL-terminated. */
typedef struct qgc_name_data {
    uint32_t size, hash;
    char data[];
} qgc_name_data;
typedef const qgc_name_data *qgc_name;

static inline qgc_str qgc_name_str(qgc_name name)
{
    return (qgc_str){name->data, name->size};
}

typedef struct qgc_interner {
    qgc_arena *arena;
    qgc_name *slots; /* open addressing, power-of-two capacity */
    size_t size, capacity;
} qgc_interner;
qgc_name qgc_intern(qgc_interner *interner, qgc_str text);
/* NULL where |text| was never interned. */
qgc_name qgc_intern_find(const qgc_interner *interner, qgc_str text);

/* Pointer-keyed hash map in an arena; keys are any non-NULL pointers. */
typedef struct qgc_map {
    qgc_arena *arena;
    const void **keys;
    void **values;
    size_t size, capacity;
} qgc_map;
/* The value's slot; created with NULL where the key is new. */
void **qgc_map_at(qgc_map *map, const void *key);
/* NULL where absent. */
void *qgc_map_get(const qgc_map *map, const void *key);

#endif

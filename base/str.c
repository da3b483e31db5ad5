#include "base/str.h"

#include <stdio.h>
#include <string.h>

bool qgc_str_equal(qgc_str a, qgc_str b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool qgc_str_starts_with(qgc_str text, const char *prefix)
{
    size_t size = strlen(prefix);
    return text.size >= size && memcmp(text.data, prefix, size) == 0;
}

size_t qgc_str_distance(qgc_str a, qgc_str b, size_t limit)
{
    enum { MAX = 64 };
    if (a.size > MAX || b.size > MAX)
        return limit + 1;
    size_t row[MAX + 1];
    for (size_t j = 0; j <= b.size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            size_t replace = diagonal + (a.data[i - 1] != b.data[j - 1]);
            size_t insert = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replace < insert ? replace : insert;
        }
    }
    return row[b.size] > limit ? limit + 1 : row[b.size];
}

/* How many letters may differ for a name to be meant: short names all look alike. */
static size_t num_typos(qgc_str found)
{
    return found.size < 3 ? 0 : found.size < 5 ? 1 : 2;
}

/* One name is the other up to a '-': "fp16" of "fp16-first". */
static bool is_begun(qgc_str a, qgc_str b)
{
    qgc_str less = a.size < b.size ? a : b, more = a.size < b.size ? b : a;
    return less.size >= 3 && less.size < more.size && more.data[less.size] == '-' &&
           memcmp(less.data, more.data, less.size) == 0;
}

const char *qgc_str_did_you_mean(qgc_arena *arena, qgc_str found,
                                 qgc_str (*candidate)(void *user, size_t index), void *user,
                                 size_t num)
{
    size_t limit = num_typos(found), best = limit + 1, ties = 0, begun = 0;
    qgc_str nearest = {0}, longer = {0};
    for (size_t i = 0; i < num; i++) {
        qgc_str other = candidate(user, i);
        size_t distance = qgc_str_distance(found, other, limit);
        ties = distance < best ? 1 : ties + (distance == best);
        nearest = distance < best ? other : nearest;
        best = distance < best ? distance : best;
        if (is_begun(found, other)) {
            begun++;
            longer = other;
        }
    }
    bool is_near = best <= limit && ties == 1;
    if (!is_near && (best <= limit || begun != 1))
        return "";
    return qgc_arena_printf(arena, "; did you mean '%.*s'?",
                            QGC_STR_ARG(is_near ? nearest : longer));
}

static void reserve(qgc_text *text, size_t more)
{
    size_t need;
    QGC_ASSERT(qgc_checked_add(text->size, more + 1, &need), "text too long");
    if (need <= text->capacity)
        return;
    size_t capacity = text->capacity ? text->capacity * 2 : 256;
    while (capacity < need)
        capacity *= 2;
    char *data = qgc_arena_alloc(text->arena, capacity);
    if (text->size)
        memcpy(data, text->data, text->size);
    text->data = data;
    text->capacity = capacity;
}

void qgc_text_put(qgc_text *text, qgc_str piece)
{
    reserve(text, piece.size);
    if (piece.size)
        memcpy(text->data + text->size, piece.data, piece.size);
    text->size += piece.size;
    text->data[text->size] = 0;
}

void qgc_text_puts(qgc_text *text, const char *piece)
{
    qgc_text_put(text, qgc_str_from(piece));
}

void qgc_text_putc(qgc_text *text, char c)
{
    qgc_text_put(text, (qgc_str){&c, 1});
}

void qgc_text_printf(qgc_text *text, const char *format, ...)
{
    char small[256];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    QGC_ASSERT(size >= 0, "bad format %s", format);
    if ((size_t)size < sizeof small) {
        qgc_text_put(text, (qgc_str){small, (size_t)size});
        return;
    }
    va_start(args, format);
    qgc_text_puts(text, qgc_arena_vprintf(text->arena, format, args));
    va_end(args);
}

void qgc_text_put_quoted(qgc_text *text, qgc_str piece)
{
    qgc_text_putc(text, '"');
    for (size_t i = 0; i < piece.size; i++) {
        unsigned char c = (unsigned char)piece.data[i];
        if (c == '"' || c == '\\')
            qgc_text_printf(text, "\\%c", c);
        else if (c == '\n')
            qgc_text_puts(text, "\\n");
        else if (c == '\t')
            qgc_text_puts(text, "\\t");
        else if (c < 0x20 || c == 0x7f)
            qgc_text_printf(text, "\\x%02x", c);
        else
            qgc_text_putc(text, (char)c);
    }
    qgc_text_putc(text, '"');
}

qgc_str qgc_text_str(const qgc_text *text)
{
    return (qgc_str){text->data ? text->data : "", text->size};
}

/* FNV-1a: short keys, no seed, the same on every machine. */
static uint32_t hash_bytes(qgc_str text)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * 16777619u;
    return hash;
}

static qgc_name *find_slot(const qgc_interner *in, qgc_str text, uint32_t hash)
{
    size_t i = hash & (in->capacity - 1);
    while (in->slots[i]) {
        qgc_name name = in->slots[i];
        if (name->hash == hash && qgc_str_equal(qgc_name_str(name), text))
            break;
        i = (i + 1) & (in->capacity - 1);
    }
    return &in->slots[i];
}

static void grow_interner(qgc_interner *in)
{
    qgc_interner old = *in;
    in->capacity = old.capacity ? old.capacity * 2 : 256;
    in->slots = QGC_NEW_ARRAY(in->arena, qgc_name, in->capacity);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i])
            *find_slot(in, qgc_name_str(old.slots[i]), old.slots[i]->hash) = old.slots[i];
}

qgc_name qgc_intern(qgc_interner *in, qgc_str text)
{
    if (in->size * 2 >= in->capacity)
        grow_interner(in);
    uint32_t hash = hash_bytes(text);
    qgc_name *slot = find_slot(in, text, hash);
    if (*slot)
        return *slot;
    QGC_ASSERT(text.size < UINT32_MAX, "name of %zu bytes", text.size);
    qgc_name_data *name = qgc_arena_alloc(in->arena, sizeof *name + text.size + 1);
    name->size = (uint32_t)text.size;
    name->hash = hash;
    if (text.size)
        memcpy(name->data, text.data, text.size);
    in->size++;
    return *slot = name;
}

qgc_name qgc_intern_find(const qgc_interner *in, qgc_str text)
{
    return in->capacity ? *find_slot(in, text, hash_bytes(text)) : NULL;
}

/* Keys hash by address: lookups only, never iterated, so that no output depends on it. */
static size_t map_index(const qgc_map *map, const void *key)
{
    uint64_t h = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(h >> 20) & (map->capacity - 1);
    while (map->keys[i] && map->keys[i] != key)
        i = (i + 1) & (map->capacity - 1);
    return i;
}

static void grow_map(qgc_map *map)
{
    qgc_map old = *map;
    map->capacity = old.capacity ? old.capacity * 2 : 64;
    map->keys = QGC_NEW_ARRAY(map->arena, const void *, map->capacity);
    map->values = QGC_NEW_ARRAY(map->arena, void *, map->capacity);
    for (size_t i = 0; i < old.capacity; i++) {
        if (!old.keys[i])
            continue;
        size_t to = map_index(map, old.keys[i]);
        map->keys[to] = old.keys[i];
        map->values[to] = old.values[i];
    }
}

void **qgc_map_at(qgc_map *map, const void *key)
{
    if (map->size * 2 >= map->capacity)
        grow_map(map);
    size_t i = map_index(map, key);
    if (!map->keys[i]) {
        map->keys[i] = key;
        map->size++;
    }
    return &map->values[i];
}

void *qgc_map_get(const qgc_map *map, const void *key)
{
    if (!map->capacity)
        return NULL;
    return map->values[map_index(map, key)];
}

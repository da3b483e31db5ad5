#include "ir/unique.h"

#include "ir/type.h"

#include <string.h>

typedef struct sorter {
    const qgc_tensor *t;
    qgc_slices slices;
} sorter;

qgc_slices qgc_slices_along(const qgc_tensor *t, int64_t axis)
{
    qgc_slices s = {1, 1, 1};
    for (uint32_t i = 0; i < t->rank; i++)
        *(axis < 0 || i == axis ? &s.num : i < axis ? &s.outer : &s.inner) *= (size_t)t->shape[i];
    return s;
}

/* A number that orders like the element. */
static uint64_t key_of(const qgc_tensor *t, size_t i)
{
    size_t bytes = qgc_dtype_bytes(t->dtype);
    uint64_t bits = 0, sign = (uint64_t)1 << (8 * bytes - 1);
    qgc_dtype_kind kind = qgc_dtype_get_kind(t->dtype);
    memcpy(&bits, (const char *)t->data + i * bytes, bytes);
    if (kind == QGC_SIGNED)
        return bits ^ sign;
    if (kind != QGC_FLOAT)
        return bits;
    static const uint64_t infinity[] = {[QGC_DTYPE_F32] = 0x7f800000,
                                        [QGC_DTYPE_F16] = 0x7c00,
                                        [QGC_DTYPE_BF16] = 0x7f80,
                                        [QGC_DTYPE_F64] = 0x7ff0000000000000};
    uint64_t magnitude = bits & (sign - 1);
    if (magnitude > infinity[t->dtype])
        return UINT64_MAX;
    return bits & sign ? sign - magnitude : sign + magnitude;
}

/* Negative, 0 or positive, like memcmp. */
static int compare(const sorter *s, size_t a, size_t b)
{
    const qgc_slices *n = &s->slices;
    for (size_t o = 0; o < n->outer; o++)
        for (size_t j = 0; j < n->inner; j++) {
            uint64_t x = key_of(s->t, (o * n->num + a) * n->inner + j);
            uint64_t y = key_of(s->t, (o * n->num + b) * n->inner + j);
            if (x != y)
                return x < y ? -1 : 1;
        }
    return 0;
}

static void merge(const sorter *s, const size_t *from, size_t left, size_t middle, size_t right,
                  size_t *to)
{
    size_t a = left, b = middle;
    for (size_t i = left; i < right; i++) {
        bool takes_b = a == middle || (b < right && compare(s, from[b], from[a]) < 0);
        to[i] = takes_b ? from[b++] : from[a++];
    }
}

/* The slices in ascending order, equal ones as they stood. */
static const size_t *sort(qgc_arena *arena, const sorter *s)
{
    size_t num = s->slices.num;
    size_t *from = QGC_NEW_ARRAY(arena, size_t, num), *to = QGC_NEW_ARRAY(arena, size_t, num);
    for (size_t i = 0; i < num; i++)
        from[i] = i;
    for (size_t width = 1; width < num; width *= 2) {
        for (size_t left = 0; left < num; left += 2 * width) {
            size_t middle = left + width < num ? left + width : num;
            size_t right = left + 2 * width < num ? left + 2 * width : num;
            merge(s, from, left, middle, right, to);
        }
        size_t *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

/* Renumbers groups in the order of their first slices. */
static void reorder(qgc_arena *arena, size_t num_slices, qgc_unique *u)
{
    size_t *number = QGC_NEW_ARRAY(arena, size_t, u->num), next = 0;
    qgc_unique old = *u;
    u->first = QGC_NEW_ARRAY(arena, size_t, u->num);
    u->count = QGC_NEW_ARRAY(arena, size_t, u->num);
    for (size_t i = 0; i < num_slices; i++) {
        size_t group = old.inverse[i];
        if (old.first[group] == i) {
            u->first[next] = i;
            u->count[next] = old.count[group];
            number[group] = next++;
        }
        u->inverse[i] = number[group];
    }
}

qgc_unique qgc_unique_find(qgc_arena *arena, const qgc_tensor *t, qgc_slices slices, bool ascending)
{
    sorter s = {t, slices};
    const size_t *sorted = sort(arena, &s);
    qgc_unique u = {0, QGC_NEW_ARRAY(arena, size_t, slices.num),
                    QGC_NEW_ARRAY(arena, size_t, slices.num),
                    QGC_NEW_ARRAY(arena, size_t, slices.num)};
    for (size_t i = 0; i < slices.num; i++) {
        if (i == 0 || compare(&s, sorted[i - 1], sorted[i]) != 0)
            u.first[u.num++] = sorted[i];
        u.count[u.num - 1]++;
        u.inverse[sorted[i]] = u.num - 1;
    }
    if (!ascending)
        reorder(arena, slices.num, &u);
    return u;
}

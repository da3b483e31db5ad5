#include "ir/type.h"

#include <string.h>

static uint32_t mix(uint32_t hash, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        hash = (hash ^ (uint32_t)(value >> (8 * i) & 0xff)) * 16777619u;
    return hash;
}

static uint32_t hash_type(qgc_dtype dtype, uint32_t rank, const qgc_dim *dims)
{
    uint32_t hash = mix(2166136261u, (uint64_t)dtype << 32 | rank);
    for (uint32_t i = 0; i < rank; i++)
        hash =
            mix(hash, dims[i].expr ? (uint64_t)(uintptr_t)dims[i].expr : (uint64_t)dims[i].value);
    return hash;
}

static bool same(const qgc_type *t, qgc_dtype dtype, uint32_t rank, const qgc_dim *dims)
{
    if (t->dtype != dtype || t->rank != rank)
        return false;
    for (uint32_t i = 0; i < rank; i++)
        if (!qgc_dim_equal(t->dims[i], dims[i]))
            return false;
    return true;
}

static void grow(qgc_types *types)
{
    qgc_types old = *types;
    types->capacity = old.capacity ? old.capacity * 2 : 64;
    types->slots = QGC_NEW_ARRAY(types->arena, const qgc_type *, types->capacity);
    for (size_t i = 0; i < old.capacity; i++) {
        if (!old.slots[i])
            continue;
        size_t to = old.slots[i]->hash & (types->capacity - 1);
        while (types->slots[to])
            to = (to + 1) & (types->capacity - 1);
        types->slots[to] = old.slots[i];
    }
}

const qgc_type *qgc_type_get(qgc_types *types, qgc_dtype dtype, uint32_t rank, const qgc_dim *dims)
{
    QGC_ASSERT(rank <= QGC_MAX_RANK, "rank %u", rank);
    if (types->size * 2 >= types->capacity)
        grow(types);
    uint32_t hash = hash_type(dtype, rank, dims);
    size_t i = hash & (types->capacity - 1);
    while (types->slots[i]) {
        if (types->slots[i]->hash == hash && same(types->slots[i], dtype, rank, dims))
            return types->slots[i];
        i = (i + 1) & (types->capacity - 1);
    }
    qgc_type *type = qgc_arena_alloc(types->arena, sizeof *type + rank * sizeof *dims);
    type->dtype = dtype;
    type->rank = rank;
    type->hash = hash;
    type->is_static = true;
    for (uint32_t d = 0; d < rank; d++) {
        QGC_ASSERT(dims[d].expr || dims[d].value >= 0, "dimension %lld", (long long)dims[d].value);
        type->dims[d] = dims[d];
        type->is_static &= qgc_dim_is_number(dims[d]);
    }
    types->size++;
    return types->slots[i] = type;
}

const qgc_type *qgc_type_of_tensor(qgc_types *types, const qgc_tensor *tensor)
{
    qgc_dim dims[QGC_MAX_RANK];
    for (uint32_t i = 0; i < tensor->rank; i++)
        dims[i] = qgc_dim_number(tensor->shape[i]);
    return qgc_type_get(types, tensor->dtype, tensor->rank, dims);
}

const qgc_type *qgc_type_with_dtype(qgc_types *types, const qgc_type *type, qgc_dtype dtype)
{
    return qgc_type_get(types, dtype, type->rank, type->dims);
}

bool qgc_type_num_elements(const qgc_type *type, int64_t *out)
{
    if (!type->is_static)
        return false;
    int64_t num = 1;
    for (uint32_t i = 0; i < type->rank; i++)
        if (type->dims[i].value == 0)
            return *out = 0, true;
    for (uint32_t i = 0; i < type->rank; i++)
        if (__builtin_mul_overflow(num, type->dims[i].value, &num))
            return false;
    *out = num;
    return true;
}

bool qgc_dim_compatible(qgc_dim a, qgc_dim b)
{
    return qgc_dim_equal(a, b) || qgc_dim_is_unknown(a) || qgc_dim_is_unknown(b);
}

bool qgc_dim_conflict(qgc_dim a, qgc_dim b)
{
    return !a.expr && !b.expr && a.value != b.value;
}

bool qgc_type_compatible(const qgc_type *a, const qgc_type *b)
{
    if (a == b)
        return true;
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (!qgc_dim_compatible(a->dims[i], b->dims[i]))
            return false;
    return true;
}

void qgc_type_print(qgc_text *out, const qgc_type *type)
{
    qgc_text_puts(out, qgc_dtype_name(type->dtype));
    qgc_text_putc(out, '[');
    for (uint32_t i = 0; i < type->rank; i++) {
        if (i)
            qgc_text_putc(out, ',');
        qgc_dim_print(out, type->dims[i]);
    }
    qgc_text_putc(out, ']');
}

const char *qgc_type_str(qgc_arena *arena, const qgc_type *type)
{
    qgc_text text = {.arena = arena};
    qgc_type_print(&text, type);
    return text.data;
}

const char *qgc_dim_str(qgc_arena *arena, qgc_dim dim)
{
    qgc_text text = {.arena = arena};
    qgc_dim_print(&text, dim);
    return text.data;
}

static const qgc_dtype_kind kinds[] = {
#define QGC_DTYPE(id, name, bytes, kind, summary) QGC_##kind,
#include "qgc/dtypes.def"
};

qgc_dtype_kind qgc_dtype_get_kind(qgc_dtype dtype)
{
    return kinds[dtype];
}

bool qgc_dtype_from_name(qgc_str name, qgc_dtype *out)
{
    for (int i = 0; i < QGC_NUM_DTYPES; i++) {
        if (!qgc_str_equal(name, qgc_str_from(qgc_dtype_name((qgc_dtype)i))))
            continue;
        *out = (qgc_dtype)i;
        return true;
    }
    return false;
}

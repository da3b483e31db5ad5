#include "ir/attr.h"

#include <string.h>

static bool spec_equal(const qgc_spec *a, const qgc_spec *b)
{
    return a->kind == b->kind && a->has_dtype == b->has_dtype && a->dtype == b->dtype &&
           a->scheme == b->scheme && a->per_channel == b->per_channel && a->dynamic == b->dynamic &&
           a->observer == b->observer && a->has_range == b->has_range && a->qmin == b->qmin &&
           a->qmax == b->qmax && memcmp(&a->scale, &b->scale, sizeof a->scale) == 0 &&
           a->zero_point == b->zero_point && a->values[0] == b->values[0] &&
           a->values[1] == b->values[1];
}

static bool dims_equal(const qgc_attr *a, const qgc_attr *b)
{
    for (uint32_t i = 0; i < a->num; i++)
        if (!qgc_dim_equal(a->dims[i], b->dims[i]))
            return false;
    return true;
}

static bool tensor_equal(const qgc_tensor *a, const qgc_tensor *b)
{
    return a == b ||
           (a->dtype == b->dtype && a->rank == b->rank &&
            memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0 && a->bytes == b->bytes &&
            (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0));
}

static bool list_equal(const qgc_attr *a, const qgc_attr *b)
{
    for (uint32_t i = 0; i < a->num; i++)
        if (!qgc_attr_equal(&a->list[i], &b->list[i]))
            return false;
    return true;
}

static bool map_equal(const qgc_attr *a, const qgc_attr *b)
{
    for (uint32_t i = 0; i < a->num; i++)
        if (a->map[i].name != b->map[i].name || !qgc_attr_equal(&a->map[i].value, &b->map[i].value))
            return false;
    return true;
}

/* Floats compare by bits: 0.0 and -0.0 differ, a NaN equals itself. */
bool qgc_attr_equal(const qgc_attr *a, const qgc_attr *b)
{
    if (a->kind != b->kind || a->num != b->num)
        return false;
    switch (a->kind) {
    case QGC_ATTR_INT:
        return a->i == b->i;
    case QGC_ATTR_FLOAT:
        return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case QGC_ATTR_BOOL:
        return a->b == b->b;
    case QGC_ATTR_STRING:
    case QGC_ATTR_WORD:
    case QGC_ATTR_FUNC:
    case QGC_ATTR_VALUE:
        return a->name == b->name;
    case QGC_ATTR_DTYPE:
        return a->dtype == b->dtype;
    case QGC_ATTR_INTS:
        return a->num == 0 || memcmp(a->ints, b->ints, a->num * sizeof *a->ints) == 0;
    case QGC_ATTR_FLOATS:
        return a->num == 0 || memcmp(a->floats, b->floats, a->num * sizeof *a->floats) == 0;
    case QGC_ATTR_DIMS:
        return dims_equal(a, b);
    case QGC_ATTR_TENSOR:
        return tensor_equal(a->tensor, b->tensor);
    case QGC_ATTR_SPEC:
        return spec_equal(a->spec, b->spec);
    case QGC_ATTR_LIST:
        return list_equal(a, b);
    case QGC_ATTR_MAP:
        return map_equal(a, b);
    case QGC_ATTR_NONE:
    case QGC_NUM_ATTR_KINDS:
        return true;
    }
    return false;
}

static uint32_t hash_bytes(uint32_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 16777619u;
    return hash;
}

/* Equal attributes hash alike; spec, list and map hash by kind and length only. */
uint32_t qgc_attr_hash(const qgc_attr *a)
{
    uint32_t hash = hash_bytes(2166136261u, &a->num, sizeof a->num) + (uint32_t)a->kind;
    switch (a->kind) {
    case QGC_ATTR_INT:
        return hash_bytes(hash, &a->i, sizeof a->i);
    case QGC_ATTR_FLOAT:
        return hash_bytes(hash, &a->f, sizeof a->f);
    case QGC_ATTR_BOOL:
        return hash + a->b;
    case QGC_ATTR_STRING:
    case QGC_ATTR_WORD:
    case QGC_ATTR_FUNC:
    case QGC_ATTR_VALUE:
        return hash ^ a->name->hash;
    case QGC_ATTR_DTYPE:
        return hash + (uint32_t)a->dtype;
    case QGC_ATTR_INTS:
        return hash_bytes(hash, a->ints, a->num * sizeof *a->ints);
    case QGC_ATTR_FLOATS:
        return hash_bytes(hash, a->floats, a->num * sizeof *a->floats);
    case QGC_ATTR_DIMS:
        for (uint32_t i = 0; i < a->num; i++)
            hash = hash_bytes(hash, &a->dims[i].value, sizeof a->dims[i].value);
        return hash;
    case QGC_ATTR_TENSOR:
        return hash_bytes(hash, a->tensor->data, a->tensor->bytes);
    case QGC_ATTR_SPEC:
    case QGC_ATTR_LIST:
    case QGC_ATTR_MAP:
    case QGC_ATTR_NONE:
    case QGC_NUM_ATTR_KINDS:
        return hash;
    }
    return hash;
}

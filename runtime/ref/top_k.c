/* top_k: a stable merge sort of each line. */
#include "runtime/ref/move.h"

#include <math.h>
#include <string.h>

typedef struct order {
    const qgc_tensor *x;
    size_t first, stride; /* of the line */
    bool largest;
} order;

/* Whether element |a| of the line comes strictly before |b|. NaN is above every number. */
static bool precedes(const order *o, size_t a, size_t b)
{
    size_t ia = o->first + a * o->stride, ib = o->first + b * o->stride;
    if (qgc_dtype_get_kind(o->x->dtype) == QGC_FLOAT) {
        double va = qgc_get_f64(o->x, ia), vb = qgc_get_f64(o->x, ib);
        if (isnan(va) || isnan(vb))
            return o->largest ? !isnan(vb) : !isnan(va);
        return o->largest ? va > vb : va < vb;
    }
    int64_t va = qgc_get_int(o->x, ia), vb = qgc_get_int(o->x, ib);
    if (o->x->dtype == QGC_DTYPE_U64)
        return o->largest ? (uint64_t)va > (uint64_t)vb : (uint64_t)va < (uint64_t)vb;
    return o->largest ? va > vb : va < vb;
}

static void merge(const order *o, const size_t *from, size_t left, size_t middle, size_t right,
                  size_t *to)
{
    size_t a = left, b = middle;
    for (size_t i = left; i < right; i++) {
        bool takes_b = a == middle || (b < right && precedes(o, from[b], from[a]));
        to[i] = takes_b ? from[b++] : from[a++];
    }
}

/* The positions 0 .. num - 1 in order; in one of the two buffers. */
static const size_t *sort(const order *o, size_t num, size_t *from, size_t *to)
{
    for (size_t i = 0; i < num; i++)
        from[i] = i;
    for (size_t width = 1; width < num; width *= 2) {
        for (size_t left = 0; left < num; left += 2 * width) {
            size_t middle = left + width < num ? left + width : num;
            size_t right = left + 2 * width < num ? left + 2 * width : num;
            merge(o, from, left, middle, right, to);
        }
        size_t *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

qgc_result ref_top_k(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    qgc_tensor *values = &call->results[0], *indices = &call->results[1];
    uint32_t axis = qgc_ref_axis(call, x->rank);
    size_t num = (size_t)x->shape[axis], k = (size_t)values->shape[axis];
    size_t inner = qgc_ref_count(x, axis + 1, x->rank);
    size_t lines = qgc_ref_count(x, 0, axis) * inner;
    size_t *a = QGC_NEW_ARRAY(call->scratch, size_t, num);
    size_t *b = QGC_NEW_ARRAY(call->scratch, size_t, num);
    order o = {.x = x, .stride = inner, .largest = qgc_node_flag(call->node, "largest")};
    for (size_t l = 0; k && l < lines; l++) {
        o.first = l / inner * num * inner + l % inner;
        const size_t *sorted = sort(&o, num, a, b);
        for (size_t i = 0; i < k; i++) {
            size_t to = (l / inner * k + i) * inner + l % inner;
            qgc_ref_copy_element(values, to, x, o.first + sorted[i] * inner);
            qgc_set_int(indices, to, (int64_t)sorted[i]);
        }
    }
    return QGC_OK;
}

#include "ir/unique.h"
#include "runtime/ref/move.h"

#include <string.h>

static void copy_slices(const qgc_tensor *x, qgc_slices s, const qgc_unique *u, qgc_tensor *y)
{
    size_t row = s.inner * qgc_dtype_bytes(x->dtype);
    for (size_t o = 0; row && o < s.outer; o++)
        for (size_t g = 0; g < u->num; g++)
            memcpy((char *)y->data + (o * u->num + g) * row,
                   (const char *)x->data + (o * s.num + u->first[g]) * row, row);
}

qgc_result ref_unique(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    bool has_axis = qgc_node_has(call->node, "axis");
    qgc_slices s = qgc_slices_along(x, has_axis ? (int64_t)qgc_ref_axis(call, x->rank) : -1);
    qgc_unique u = qgc_unique_find(call->scratch, x, s, qgc_node_flag(call->node, "sorted"));
    copy_slices(x, s, &u, &call->results[0]);
    for (size_t g = 0; g < u.num; g++) {
        qgc_set_int(&call->results[1], g, (int64_t)u.first[g]);
        qgc_set_int(&call->results[3], g, (int64_t)u.count[g]);
    }
    for (size_t i = 0; i < s.num; i++)
        qgc_set_int(&call->results[2], i, (int64_t)u.inverse[i]);
    return QGC_OK;
}

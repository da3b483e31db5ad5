/* Integer ops that compute an element from an element. */
#include "runtime/ref/ref.h"

#include <string.h>

qgc_result ref_int_mul(qgc_ref_call *call)
{
    const qgc_tensor *a = call->operands[0], *b = call->operands[1];
    qgc_tensor *acc = &call->results[0];
    int64_t a_steps[QGC_MAX_RANK], b_steps[QGC_MAX_RANK], index[QGC_MAX_RANK] = {0};
    int64_t a_zero_point = qgc_node_int(call->node, "a_zero_point");
    int64_t b_zero_point = qgc_node_int(call->node, "b_zero_point");
    qgc_broadcast_strides(a, acc->rank, acc->shape, a_steps);
    qgc_broadcast_strides(b, acc->rank, acc->shape, b_steps);
    size_t num = qgc_tensor_count(acc);
    for (size_t i = 0; i < num; i++) {
        int64_t a_at = 0, b_at = 0;
        for (uint32_t d = 0; d < acc->rank; d++) {
            a_at += index[d] * a_steps[d];
            b_at += index[d] * b_steps[d];
        }
        qgc_set_int(acc, i,
                    (qgc_get_int(a, (size_t)a_at) - a_zero_point) *
                        (qgc_get_int(b, (size_t)b_at) - b_zero_point));
        qgc_next_index(acc->rank, acc->shape, index);
    }
    return QGC_OK;
}

qgc_result ref_lookup(qgc_ref_call *call)
{
    const qgc_tensor *q = call->operands[0], *table = call->operands[1];
    size_t bytes = qgc_dtype_bytes(table->dtype), num = qgc_tensor_count(q);
    int64_t lowest = q->dtype == QGC_DTYPE_I8 ? INT8_MIN : 0;
    for (size_t i = 0; i < num; i++) {
        size_t entry = (size_t)(qgc_get_int(q, i) - lowest);
        memcpy((char *)call->results[0].data + i * bytes, (const char *)table->data + entry * bytes,
               bytes);
    }
    return QGC_OK;
}

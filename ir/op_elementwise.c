/* Infer hooks: elementwise ops. */
#include "ir/infer.h"

qgc_result infer_binary(qgc_infer *in)
{
    const qgc_type *a = qgc_in(in, 0), *b = qgc_in(in, 1);
    QGC_RULE(in, 1, a->dtype == b->dtype, "a is %s, b is %s", qgc_in_type_str(in, a),
             qgc_in_type_str(in, b));
    uint32_t rank;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_RULE(in, 2, qgc_broadcast(in, a, b, &rank, dims), "a is %s, b is %s",
             qgc_in_type_str(in, a), qgc_in_type_str(in, b));
    in->results[0] = qgc_in_type(in, a->dtype, rank, dims);
    return QGC_OK;
}

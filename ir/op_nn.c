/* Infer hooks: convolution, linear, matmul, pooling, normalization. */
#include "ir/infer.h"

#include <string.h>

qgc_result infer_linear(qgc_infer *in)
{
    const qgc_type *x = qgc_in(in, 0), *w = qgc_in(in, 1), *b = qgc_in(in, 2);
    QGC_RULE(in, 1, x->dtype == w->dtype && (!b || b->dtype == x->dtype), "x is %s, w is %s%s%s",
             qgc_in_type_str(in, x), qgc_in_type_str(in, w), b ? ", b is " : "",
             b ? qgc_in_type_str(in, b) : "");
    QGC_RULE(in, 2, x->rank >= 1 && w->rank == 2, "x is %s, w is %s", qgc_in_type_str(in, x),
             qgc_in_type_str(in, w));
    QGC_RULE(in, 3, !qgc_dim_conflict(x->dims[x->rank - 1], w->dims[1]), "x is %s, w is %s",
             qgc_in_type_str(in, x), qgc_in_type_str(in, w));
    QGC_RULE(in, 4, !b || (b->rank == 1 && !qgc_dim_conflict(b->dims[0], w->dims[0])),
             "b is %s, w is %s", b ? qgc_in_type_str(in, b) : "", qgc_in_type_str(in, w));
    qgc_dim dims[QGC_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank - 1] = w->dims[0];
    in->results[0] = qgc_in_type(in, x->dtype, x->rank, dims);
    return QGC_OK;
}

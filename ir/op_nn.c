/* Infer hooks: linear and matmul. */
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

/* Batch dimensions: all but the last two. */
static const qgc_type *batch_type(qgc_infer *in, const qgc_type *t)
{
    return qgc_in_type(in, t->dtype, t->rank > 2 ? t->rank - 2 : 0, t->dims);
}

qgc_result infer_matmul(qgc_infer *in)
{
    const qgc_type *a = qgc_in(in, 0), *b = qgc_in(in, 1);
    const char *a_text = qgc_in_type_str(in, a), *b_text = qgc_in_type_str(in, b);
    QGC_RULE(in, 1, a->dtype == b->dtype, "a is %s, b is %s", a_text, b_text);
    QGC_RULE(in, 2, a->rank >= 1 && b->rank >= 1, "a is %s, b is %s", a_text, b_text);
    qgc_dim depth = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    QGC_RULE(in, 3, !qgc_dim_conflict(a->dims[a->rank - 1], depth), "a is %s, b is %s", a_text,
             b_text);
    uint32_t rank;
    qgc_dim dims[QGC_MAX_RANK];
    QGC_RULE(in, 4, qgc_broadcast(in, batch_type(in, a), batch_type(in, b), &rank, dims),
             "a is %s, b is %s", a_text, b_text);
    if (a->rank > 1)
        dims[rank++] = a->dims[a->rank - 2];
    if (b->rank > 1)
        dims[rank++] = b->dims[b->rank - 1];
    in->results[0] = qgc_in_type(in, a->dtype, rank, dims);
    return QGC_OK;
}

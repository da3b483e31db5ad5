/* Infer hooks: recurrent layers. Operands: x, w, r, b, lengths, h0, then c0 and p of lstm. */
#include "ir/infer.h"

enum { X, W, R, B, LENGTHS, H0, C0, P };

typedef struct sizes {
    int64_t gates;
    qgc_dim directions, batch, steps, hidden;
} sizes;

static const char *type_str(qgc_infer *in, uint32_t index)
{
    return qgc_in_type_str(in, qgc_in(in, index));
}

static bool has_dims(const qgc_type *type, uint32_t rank, const qgc_dim *dims)
{
    if (type->rank != rank)
        return false;
    for (uint32_t i = 0; i < rank; i++)
        if (qgc_dim_conflict(type->dims[i], dims[i]))
            return false;
    return true;
}

static qgc_dim times(qgc_infer *in, int64_t factor, qgc_dim dim)
{
    return qgc_dim_mul(&in->context->dims, qgc_dim_number(factor), dim);
}

static qgc_result check_types(qgc_infer *in)
{
    for (uint32_t i = W; i < in->num_operands; i++)
        QGC_RULE(in, 1,
                 i == LENGTHS || !qgc_in(in, i) || qgc_in(in, i)->dtype == qgc_in(in, X)->dtype,
                 "%s is %s, x is %s", in->op->operands[i].name,
                 qgc_in(in, i) ? type_str(in, i) : "", type_str(in, X));
    return QGC_OK;
}

/* Sizes of the layer from x, w and r. */
static qgc_result check_weights(qgc_infer *in, sizes *s)
{
    const qgc_type *x = qgc_in(in, X), *w = qgc_in(in, W), *r = qgc_in(in, R);
    bool both = qgc_node_word(in->node, "direction") == 2;
    s->directions = qgc_dim_number(both ? 2 : 1);
    QGC_RULE(in, 2,
             x->rank == 3 && w->rank == 3 && r->rank == 3 &&
                 !qgc_dim_conflict(w->dims[0], s->directions) &&
                 !qgc_dim_conflict(r->dims[0], s->directions),
             "x is %s, w is %s, r is %s, D is %d", type_str(in, X), type_str(in, W),
             type_str(in, R), both ? 2 : 1);
    s->steps = x->dims[0];
    s->batch = x->dims[1];
    s->hidden = r->dims[2];
    qgc_dim rows = times(in, s->gates, s->hidden);
    const qgc_dim of_w[] = {s->directions, rows, x->dims[2]};
    const qgc_dim of_r[] = {s->directions, rows, s->hidden};
    QGC_RULE(in, 3, has_dims(w, 3, of_w) && has_dims(r, 3, of_r), "x is %s, w is %s, r is %s",
             type_str(in, X), type_str(in, W), type_str(in, R));
    return QGC_OK;
}

static qgc_result check_optional(qgc_infer *in, const sizes *s)
{
    const qgc_dim bias[] = {s->directions, times(in, 2 * s->gates, s->hidden)};
    const qgc_dim state[] = {s->directions, s->batch, s->hidden};
    const qgc_type *b = qgc_in(in, B), *lengths = qgc_in(in, LENGTHS);
    QGC_RULE(in, 4, !b || has_dims(b, 2, bias), "b is %s, r is %s", type_str(in, B),
             type_str(in, R));
    QGC_RULE(in, 5, !lengths || has_dims(lengths, 1, &s->batch), "lengths is %s, x is %s",
             type_str(in, LENGTHS), type_str(in, X));
    for (uint32_t i = H0; i <= C0; i++)
        QGC_RULE(in, 6, !qgc_in(in, i) || has_dims(qgc_in(in, i), 3, state),
                 "%s is %s, x is %s, r is %s", in->op->operands[i].name, type_str(in, i),
                 type_str(in, X), type_str(in, R));
    float clip = qgc_node_has(in->node, "clip") ? qgc_node_float(in->node, "clip") : 1;
    QGC_RULE(in, 7, clip > 0, "clip is %g", (double)clip);
    return QGC_OK;
}

static qgc_result infer_layer(qgc_infer *in, int64_t gates, sizes *s)
{
    *s = (sizes){.gates = gates};
    QGC_TRY(check_types(in));
    QGC_TRY(check_weights(in, s));
    QGC_TRY(check_optional(in, s));
    const qgc_dim y[] = {s->steps, s->directions, s->batch, s->hidden};
    qgc_dtype dtype = qgc_in(in, X)->dtype;
    in->results[0] = qgc_in_type(in, dtype, 4, y);
    for (uint32_t i = 1; i < in->num_results; i++)
        in->results[i] = qgc_in_type(in, dtype, 3, y + 1);
    return QGC_OK;
}

qgc_result infer_lstm(qgc_infer *in)
{
    sizes s;
    QGC_TRY(infer_layer(in, 4, &s));
    const qgc_dim peepholes[] = {s.directions, times(in, 3, s.hidden)};
    QGC_RULE(in, 8, !qgc_in(in, P) || has_dims(qgc_in(in, P), 2, peepholes), "p is %s, r is %s",
             type_str(in, P), type_str(in, R));
    return QGC_OK;
}

qgc_result infer_gru(qgc_infer *in)
{
    sizes s;
    return infer_layer(in, 3, &s);
}

qgc_result infer_rnn(qgc_infer *in)
{
    sizes s;
    return infer_layer(in, 1, &s);
}

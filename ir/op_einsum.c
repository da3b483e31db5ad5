/* Infer hook of einsum. */
#include "ir/einsum.h"
#include "ir/infer.h"

/* The dimension of a label: all that it names agree, those of '...' broadcast. */
static qgc_result merge_dim(qgc_infer *in, uint8_t label, qgc_dim *sizes, bool *known, qgc_dim dim)
{
    qgc_dim one = qgc_dim_number(1), old = sizes[label];
    bool broadcasts = qgc_einsum_is_broadcast(label);
    if (!known[label] || (broadcasts && qgc_dim_equal(old, one))) {
        sizes[label] = dim;
        known[label] = true;
        return QGC_OK;
    }
    if (broadcasts && qgc_dim_equal(dim, one))
        return QGC_OK;
    QGC_RULE(in, 4, !qgc_dim_conflict(old, dim), "one label is %s and %s", qgc_in_dim_str(in, old),
             qgc_in_dim_str(in, dim));
    if (qgc_dim_is_number(dim) || qgc_dim_is_unknown(old))
        sizes[label] = dim;
    return QGC_OK;
}

qgc_result infer_einsum(qgc_infer *in)
{
    uint32_t ranks[QGC_EINSUM_OPERANDS], num = in->num_operands;
    qgc_dim sizes[QGC_EINSUM_LABELS] = {0}, dims[QGC_MAX_RANK];
    bool known[QGC_EINSUM_LABELS] = {0};
    qgc_einsum e;
    QGC_RULE(in, 1, num >= 1 && num <= QGC_EINSUM_OPERANDS, "%u operands", num);
    for (uint32_t i = 0; i < num; i++) {
        QGC_RULE(in, 2, in->operands[i]->dtype == in->operands[0]->dtype,
                 "operand 0 is %s, operand %u is %s", qgc_in_type_str(in, in->operands[0]), i,
                 qgc_in_type_str(in, in->operands[i]));
        ranks[i] = in->operands[i]->rank;
    }
    const char *error =
        qgc_einsum_parse(qgc_name_str(qgc_node_attr(in->node, "equation")->name), num, ranks, &e);
    QGC_RULE(in, 3, !error, "the equation has %s", error ? error : "");
    for (uint32_t i = 0; i < num; i++)
        for (uint32_t d = 0; d < ranks[i]; d++)
            QGC_TRY(merge_dim(in, e.operands[i].labels[d], sizes, known, in->operands[i]->dims[d]));
    for (uint32_t i = 0; i < e.result.rank; i++)
        dims[i] = sizes[e.result.labels[i]];
    in->results[0] = qgc_in_type(in, in->operands[0]->dtype, e.result.rank, dims);
    return QGC_OK;
}

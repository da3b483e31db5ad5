/* Equations of einsum, for its infer hook and its kernel. */
#ifndef QGC_IR_EINSUM_H
#define QGC_IR_EINSUM_H

#include "base/str.h"
#include "qgc/tensor.h"

enum {
    QGC_EINSUM_OPERANDS = 8,
    QGC_EINSUM_LABELS = 52 + QGC_MAX_RANK, /* a-z, A-Z, the dimensions of '...' */
};

typedef struct qgc_einsum_term {
    uint32_t rank;
    uint8_t labels[QGC_MAX_RANK];
} qgc_einsum_term;

typedef struct qgc_einsum {
    uint32_t num_operands;
    qgc_einsum_term operands[QGC_EINSUM_OPERANDS], result;
    uint32_t num_summed;
    uint8_t summed[QGC_EINSUM_LABELS]; /* labels not in the result, in order of first appearance */
} qgc_einsum;

/* True for labels that stand for dimensions of '...': those broadcast. */
bool qgc_einsum_is_broadcast(uint8_t label);

/* Reads "ij,jk->ik" for operands of the given ranks. Spaces are skipped. '...' stands for the
 * dimensions that the letters leave, aligned at their end. Without "->" the result has '...' and
 * then the letters that occur once, in the order A-Z, a-z. NULL, or what is wrong (static). */
const char *qgc_einsum_parse(qgc_str equation, uint32_t num_operands, const uint32_t *ranks,
                             qgc_einsum *out);

#endif

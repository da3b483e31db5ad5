/* Lists of numbers that an op takes either as an attribute or as an operand: shapes, axes, counts.
 */
#ifndef QGC_IR_LIST_H
#define QGC_IR_LIST_H

#include "ir/infer.h"

typedef struct qgc_list {
    bool given;     /* as attribute or as operand */
    bool has_num;   /* the length is known */
    bool is_number; /* so is every item, and all are numbers */
    uint32_t num;
    const qgc_dim *dims; /* '?' where an item is not known */
} qgc_list;

/* The list of attribute |name| (INT, INTS or DIMS; the row need not have it) or of operand
 * |operand| (flat, rank 0 or 1). Both, or an operand of another rank, violate |rule|. */
qgc_result qgc_in_list(qgc_infer *in, const char *name, uint32_t operand, int rule, qgc_list *out);

/* The product of all dimensions but |skip| (UINT32_MAX: of all) in [begin, end). */
qgc_dim qgc_dims_product(qgc_infer *in, const qgc_dim *dims, uint32_t begin, uint32_t end,
                         uint32_t skip);

/* Axes as a bit set over |rank| dimensions: each in [-rank, rank) and named once, else |rule| is
 * violated. The list is known. */
qgc_result qgc_in_axes(qgc_infer *in, const qgc_list *list, uint32_t rank, int rule, uint32_t *out);

/* The rank that a list of known length stands for: its length. Otherwise that of the written result
 * type; without one, it is reported. */
qgc_result qgc_in_rank(qgc_infer *in, const char *name, const qgc_list *list, uint32_t *out);
/* The rank of the written result type, for a result that does not follow: |why| is reported where
 * none is written. */
qgc_result qgc_in_written_rank(qgc_infer *in, const char *why, uint32_t *out);

/* The first result: |rank| dimensions '?'. Always QGC_OK. */
qgc_result qgc_in_unknown_dims(qgc_infer *in, qgc_dtype dtype, uint32_t rank);

/* The more exact of two dimensions that may be equal. */
qgc_dim qgc_dim_merge(qgc_dim a, qgc_dim b);

/* A dimension that has become negative is none: '?'. */
qgc_dim qgc_in_size(qgc_infer *in, qgc_dim dim);

#endif

/* What ops that move elements do, as loops over positions: y[...] = x[...]. Shapes alone count
 * here; where the elements lie is up to the planner. */
#ifndef QGC_CODEGEN_MOVE_H
#define QGC_CODEGEN_MOVE_H

#include "codegen/planner.h"

/* A loop that stands for no dimension (a broadcast); one over elements in row-major order. */
enum { QGC_MOVE_NO_DIM = -1, QGC_MOVE_FLAT = QGC_MAX_RANK };
enum { QGC_MOVE_MAX_AXES = 16 };

/* A loop: position i is |in_step| * i (or positions[i]) of dimension |in_dim|, |out_step| * i of
 * |out_dim|. Computed: the input's positions are those of qgc_move_indices. */
typedef struct qgc_move_axis {
    int64_t size;
    int32_t in_dim, out_dim;
    int64_t in_step, out_step;
    const int64_t *positions;
    bool is_computed;
} qgc_move_axis;

/* Positions in the input that are known when it runs: index tuples, one for each position of the
 * loops |dims|; position i of dims[d] and index i of columns[c] are |in_step| * i of |in_dim|. */
typedef struct qgc_move_index {
    int64_t size;
    int32_t in_dim;
    int64_t in_step;
} qgc_move_index;

typedef struct qgc_move_indices {
    const qgc_value *value; /* NULL: there are none */
    uint32_t rank, num_columns;
    qgc_move_index dims[QGC_MAX_RANK], columns[QGC_MAX_RANK];
} qgc_move_indices;

/* One nest of loops: |in| to |out|. */
typedef struct qgc_move_part {
    const qgc_value *in, *out;
    bool has_fill; /* |in| NULL: every element is the lowest bytes of |fill| */
    uint64_t fill;
    uint32_t rank;
    qgc_move_axis axes[QGC_MOVE_MAX_AXES];
    int64_t in_first[QGC_MAX_RANK + 1], out_first[QGC_MAX_RANK + 1];
} qgc_move_part;

typedef struct qgc_move {
    bool keeps_layout; /* channels stay channels: NHWC in, NHWC out is possible */
    bool in_is_flat, out_is_flat;
    QGC_VEC(qgc_move_part *) parts;
    qgc_move_indices indices; /* of the only part */
} qgc_move;

/* Bytes from one position to the next, along each dimension of the value and (not of NHWC) of its
 * elements in order. */
typedef struct qgc_move_strides {
    int64_t first, bytes[QGC_MAX_RANK + 1];
} qgc_move_strides;
qgc_move_strides qgc_move_strides_of(const qgc_buffer *buffer);

/* Fills |out| (memory of the plan's arena). NULL, or why not; "": |node| moves nothing. */
const char *qgc_move_describe(qgc_planner *p, const qgc_node *node, qgc_move *out);

/* A step that makes |indices| the bytes to what they choose of |x|: the buffer of those. */
qgc_buffer *qgc_planner_indices(qgc_planner *p, const qgc_node *node,
                                const qgc_move_indices *indices, const qgc_buffer *x);

/* A step that copies |part|'s elements. */
void qgc_planner_copy(qgc_planner *p, const qgc_move_part *part, qgc_buffer *in, qgc_buffer *out);

#endif

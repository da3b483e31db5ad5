/* Read-only view of a node for infer hooks and reference kernels: attributes with defaults applied.
 * This is all that runtime/ref/ sees of the IR. Every name must be in the op's row. */
#ifndef QGC_IR_VIEW_H
#define QGC_IR_VIEW_H

#include "ir/graph.h"

int64_t qgc_node_int(const qgc_node *node, const char *name);
float qgc_node_float(const qgc_node *node, const char *name);
bool qgc_node_flag(const qgc_node *node, const char *name);
/* Position in the row's words ("zeros|edge": 0, 1). */
int qgc_node_word(const qgc_node *node, const char *name);
bool qgc_node_has(const qgc_node *node, const char *name);
qgc_dtype qgc_node_dtype(const qgc_node *node, const char *name);
const qgc_spec *qgc_node_spec(const qgc_node *node, const char *name);
/* Item |index| of a list of integers; the row's default where the list is absent. The list has been
 * checked to be long enough. */
int64_t qgc_node_int_at(const qgc_node *node, const char *name, uint32_t index);
/* Item |index| of a list of floats that is there and long enough. */
float qgc_node_float_at(const qgc_node *node, const char *name, uint32_t index);
/* Written length; 0 where absent. */
uint32_t qgc_node_list_size(const qgc_node *node, const char *name);

/* Elements that a slice takes of a dimension |size| (>= 0), |step| != 0: negative |*start| and
 * |end| count from the end, then both are clamped as ONNX has it: to [0, size] for step > 0, to [0,
 * size - 1] and [-1, size - 1] for step < 0. |*start| becomes the first index. */
int64_t qgc_slice_count(int64_t size, int64_t *start, int64_t end, int64_t step);

/* Positions in the words of auto_pad, of every op that has it. */
typedef enum qgc_auto_pad {
    QGC_PAD_NONE,
    QGC_PAD_SAME_UPPER,
    QGC_PAD_SAME_LOWER,
    QGC_PAD_VALID,
} qgc_auto_pad;

/* The dimensions [*out_first, *out_end) that shape_of gives of a tensor of |rank|: `start` and
 * `end` counted from the end where negative, then clamped to [0, rank]; never empty the wrong way.
 */
void qgc_shape_range(const qgc_node *node, uint32_t rank, int64_t *out_first, int64_t *out_end);

#endif

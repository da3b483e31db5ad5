/* What the parts of the planner share. */
#ifndef QGC_CODEGEN_PLANNER_H
#define QGC_CODEGEN_PLANNER_H

#include "codegen/plan.h"

typedef struct qgc_planner {
    qgc_plan *plan;
    const qgc_plan_target *target;
    qgc_map done;    /* nodes that an earlier step has taken along */
    qgc_map put_off; /* sums that their requantize's planner may take */
    qgc_map reasons; /* of those, why it did not */
    qgc_map raw;     /* sums that are to be planned without their requantize */
    qgc_map fused;   /* node -> its group, of codegen/plan_fused.c */
    bool has_fused;  /* the map is filled */
    bool failed;     /* a size overflows */
} qgc_planner;

qgc_step *qgc_planner_add_step(qgc_planner *p, qgc_step_kind kind, uint32_t num_inputs,
                               uint32_t num_outputs);
/* Plans the put-off sum that the value is, if it is one and no planner took it, by itself. */
void qgc_planner_settle(qgc_planner *p, const qgc_value *value);
/* The value's PLAIN buffer; adds a step that makes it where it lies in another form only. */
qgc_buffer *qgc_planner_plain(qgc_planner *p, const qgc_value *value);
/* The value as NHWC with a border of at least this, likewise; see qgc_has_nhwc. */
qgc_buffer *qgc_planner_nhwc(qgc_planner *p, const qgc_value *value, qgc_border border,
                             uint16_t border_value);
/* The same where it lies so already, else NULL. */
qgc_buffer *qgc_planner_find_nhwc(qgc_planner *p, const qgc_value *value, qgc_border border,
                                  uint16_t border_value);
/* Values of this type can lie as NHWC. */
bool qgc_has_nhwc(const qgc_type *type);
/* Where the first element lies, and the bytes to the next one along each dimension of the value. */
typedef struct qgc_value_strides {
    int64_t first, bytes[QGC_MAX_RANK];
} qgc_value_strides;
qgc_value_strides qgc_buffer_strides(const qgc_buffer *buffer);
/* The buffer's pixels, counted from |border| before the first one. */
qgc_pixels qgc_buffer_pixels(const qgc_buffer *buffer, const qgc_border *border);
/* The byte that fills the buffer's border; -1: it takes two, |border_value|. */
int qgc_border_byte(const qgc_buffer *b);
bool qgc_border_is_empty(const qgc_border *border);
/* A step that fills the border of a buffer whose inside a kernel writes. */
void qgc_planner_fill_border(qgc_planner *p, qgc_buffer *buffer);
/* The 8-bit value as ROWS (PLAIN where it is u8). */
qgc_buffer *qgc_planner_rows(qgc_planner *p, const qgc_value *value);
/* The value where it lies, whatever its form; PLAIN where it lies nowhere. */
qgc_buffer *qgc_planner_lying(qgc_planner *p, const qgc_value *value);
/* The first |value->bytes| at |offset| of |whole| under another name: row-major, in |whole|'s form.
 */
void qgc_planner_alias(qgc_planner *p, const qgc_value *value, qgc_buffer *whole, size_t offset);
/* Room for the elements of |value|, which no other step finds. */
qgc_buffer *qgc_planner_scratch(qgc_planner *p, const qgc_value *value);
/* Buffers that a kernel is about to fill. */
qgc_buffer *qgc_planner_new_rows(qgc_planner *p, const qgc_value *value);
qgc_buffer *qgc_planner_new_nhwc(qgc_planner *p, const qgc_value *value, qgc_border border,
                                 uint16_t border_value);

/* A step of a generated kernel, which is whole but for its name, which is set: equal ones share it.
 */
qgc_step *qgc_planner_add_kernel(qgc_planner *p, const qgc_node *node, qgc_kernel *kernel,
                                 uint32_t num_inputs, uint32_t num_outputs);
/* The largest tile of dot products, in vectors by pixels (or rows): accumulators, weights and a
 * broadcast stay in registers; signed products take one more. */
typedef struct qgc_tile_limits {
    uint32_t vectors, pixels;
} qgc_tile_limits;
qgc_tile_limits qgc_plan_tile_limits(const qgc_plan_target *target);
/* How many tiles |node|'s kernel has to go below the one that fits it best. */
uint32_t qgc_planner_steps_down(const qgc_planner *p, const qgc_node *node);
/* What makes bytes i16 before |node|'s kernel: the buffer of the step that does. */
qgc_buffer *qgc_planner_widened(qgc_planner *p, const qgc_node *node, qgc_buffer *bytes);
/* How |k| takes its products, with the weights laid out so: |packed| as for a dot product of bytes.
 * What a plan says of it; "": the level's dot product. */
const char *qgc_plan_pairs(qgc_planner *p, const qgc_node *node, int32_t x_zero_point,
                           size_t in_bytes, qgc_conv_kernel *k, const uint32_t *packed);
/* The last |num| steps are equal parts of one node's work, but for those that widen its input.
 */
void qgc_planner_set_phases(qgc_planner *p, int64_t num);
/* |node| goes with the step that has just been added. */
void qgc_planner_take(qgc_planner *p, const qgc_node *node);
/* Why a put-off sum could not be taken. */
void qgc_planner_decline(qgc_planner *p, const qgc_node *node, const char *why);
/* Constants that whole vectors are loaded from: 64-byte aligned, zeroed, in the plan's arena. */
void *qgc_planner_constant(qgc_planner *p, size_t num, size_t size);

/* Gives the buffers their places in the arena, once all steps are there. */
enum { QGC_VECTOR_BYTES = 64 };
void qgc_plan_place(qgc_plan *plan);
/* The name of an earlier kernel of the plan that is the same function, or NULL. |kernel| is whole.
 */
const char *qgc_plan_find_equal(const qgc_plan *plan, const qgc_kernel *kernel);
/* In codegen/plan_cost.c. */
qgc_step_cost qgc_plan_cost(const qgc_step *step, const qgc_plan_target *target);
/* Divides the steps' work among the target's threads. */
void qgc_plan_share(qgc_plan *plan, const qgc_plan_target *target);

/* Planners: NULL, or why not. */
#define QGC_KERNEL(id, name, planner, emitter)                                                     \
    const char *planner(qgc_planner *p, const qgc_node *node);
#include "codegen/kernels.def"

#endif

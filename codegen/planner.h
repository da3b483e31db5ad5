/* What the parts of the planner share. */
#ifndef QGC_CODEGEN_PLANNER_H
#define QGC_CODEGEN_PLANNER_H

#include "codegen/plan.h"

typedef struct qgc_planner {
    qgc_plan *plan;
    const qgc_plan_target *target;
    qgc_map done; /* nodes that an earlier step has taken along */
    bool failed;  /* a size overflows */
} qgc_planner;

qgc_step *qgc_planner_add_step(qgc_planner *p, qgc_step_kind kind, uint32_t num_inputs,
                               uint32_t num_outputs);
/* The value's PLAIN buffer; adds a step that makes it where it lies in another form only. */
qgc_buffer *qgc_planner_plain(qgc_planner *p, const qgc_value *value);
/* The value as NHWC with this border, likewise. Rank 4, 8-bit. */
qgc_buffer *qgc_planner_nhwc(qgc_planner *p, const qgc_value *value, qgc_border border,
                             uint8_t border_value);
/* The 8-bit value as ROWS (PLAIN where it is u8). */
qgc_buffer *qgc_planner_rows(qgc_planner *p, const qgc_value *value);
/* Buffers that a kernel is about to fill. */
qgc_buffer *qgc_planner_new_rows(qgc_planner *p, const qgc_value *value);
qgc_buffer *qgc_planner_new_nhwc(qgc_planner *p, const qgc_value *value, qgc_border border,
                                 uint8_t border_value);

/* A step of a generated kernel; |kernel|'s name is set. */
qgc_step *qgc_planner_add_kernel(qgc_planner *p, const qgc_node *node, qgc_kernel *kernel,
                                 uint32_t num_inputs, uint32_t num_outputs);
/* |node| goes with the step that has just been added. */
void qgc_planner_take(qgc_planner *p, const qgc_node *node);
/* Constants that whole vectors are loaded from: 64-byte aligned, zeroed, in the plan's arena. */
void *qgc_planner_constant(qgc_planner *p, size_t num, size_t size);

/* Planners: NULL, or why not. */
#define QGC_KERNEL(id, name, planner, emitter)                                                     \
    const char *planner(qgc_planner *p, const qgc_node *node);
#include "codegen/kernels.def"

#endif

/* A compiled function: its plan, its kernels, its memory. */
#ifndef QGC_CODEGEN_REGION_H
#define QGC_CODEGEN_REGION_H

#include "codegen/llvm/level.h"
#include "codegen/plan.h"
#include "runtime/tensor.h"

typedef struct qgc_region qgc_region;

/* |func| has static shapes and calls nothing. Failures are reported. */
qgc_result qgc_region_compile(const qgc_func *func, const qgc_level *level, qgc_region **out);
void qgc_region_destroy(qgc_region *region);
/* |inputs|: one per parameter, of its type. |outputs|: owned by the caller on success. */
qgc_result qgc_region_run(qgc_region *region, const qgc_tensor *inputs, qgc_tensor *outputs);
/* One step again, on what the buffers hold after a run: for measuring. */
qgc_result qgc_region_run_step(qgc_region *region, size_t index);
const qgc_plan *qgc_region_plan(const qgc_region *region);

/* Between the forms of a value: |from| and |to| are buffers of the same value; data begins at the
 * given addresses. The border of |to| is filled. In codegen/form.c. */
void qgc_change_form(const qgc_buffer *from, const uint8_t *from_data, const qgc_buffer *to,
                     uint8_t *to_data);
/* Around each image. */
void qgc_fill_border(const qgc_buffer *buffer, uint8_t *data);

#endif

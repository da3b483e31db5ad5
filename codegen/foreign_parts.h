/* The parts of codegen/foreign.c. */
#ifndef QGC_CODEGEN_FOREIGN_PARTS_H
#define QGC_CODEGEN_FOREIGN_PARTS_H

#include "codegen/foreign.h"
#include "codegen/llvm/jit.h"
#include "codegen/plan.h"

struct qgc_backend_op {
    qgc_backend_region *region;
    size_t index; /* among the region's ops */
    qgc_view view;
    qgc_backend_lower_fn *lower;
    uint32_t num_inputs, num_outputs;
    const qgc_value **inputs, **outputs;
    qgc_step *step; /* its buffers */
    bool is_emitted;
    qgc_backend_kernel_fn *kernel; /* NULL until it is found: |function| */
    const char *function;          /* of emitted IR, in the region's JIT */
    void *user;
    qgc_backend_release_fn *release;
    int64_t units;
};

struct qgc_backend_region {
    const qgc_func *func;
    const qgc_level *level;
    const qgc_backend *backend;
    void *state;
    qgc_arena arena;
    QGC_VEC(qgc_backend_op *) ops;
    qgc_plan plan; /* buffers, and a step for each op */
    qgc_jit *jit;  /* of emitted IR, or NULL */
    qgc_tensor memory;
    const char *why; /* what the backend said, or NULL */
};

extern const qgc_backend_host qgc_foreign_host;

#endif

/* A compiled function: its plan, its kernels, its memory. */
#ifndef QGC_CODEGEN_REGION_H
#define QGC_CODEGEN_REGION_H

#include "codegen/cache.h"
#include "codegen/llvm/level.h"
#include "codegen/plan.h"
#include "runtime/interp.h"
#include "runtime/pool.h"
#include "runtime/tensor.h"

typedef struct qgc_region qgc_region;

typedef struct qgc_region_options {
    const qgc_level *level;
    qgc_cache *cache;      /* of machine code; or NULL */
    qgc_pool *pool;        /* threads that share the steps; NULL: the caller's alone */
    bool shares_all;       /* for tests: as of qgc_plan_target */
    uint32_t extra_pixels; /* likewise */
    /* A reason to refuse a kernel, which then stands for a failure of LLVM; or NULL. For tests. */
    const char *(*refuse)(void *user, const char *kernel);
    void *user;
} qgc_region_options;

/* |func| has static shapes. A kernel that LLVM refuses is warned of, and its op becomes a step of
 * the reference kernel. Other failures are reported. */
qgc_result qgc_region_compile(const qgc_func *func, const qgc_region_options *options,
                              qgc_region **out);
void qgc_region_destroy(qgc_region *region);
/* Inputs of the parameters' types; outputs are owned by the caller on success. |originals|: as of
 * qgc_special, for the execution's watch; NULL: it does not watch. */
qgc_result qgc_region_run(qgc_region *region, const qgc_execution *execution,
                          const qgc_map *originals);
/* The same from and to memory of the caller: |inputs|, |outputs| have the bytes of parameters and
 * results. Allocates nothing where each step has a generated kernel. */
qgc_result qgc_region_run_on(qgc_region *region, const void *const *inputs, void *const *outputs);
/* Seconds that a step took, and what threads did of them. */
typedef struct qgc_step_time {
    double all;     /* from its begin to its end */
    double working; /* of all threads */
    double longest; /* of the thread that worked most */
    size_t threads; /* that had a part in it, at most */
} qgc_step_time;
/* A run whose results nobody wants: adds the times of each step to |add_to|. */
qgc_result qgc_region_time(qgc_region *region, const void *const *inputs, qgc_step_time *add_to);
/* One step again, on what the buffers hold after a run: for measuring. */
qgc_result qgc_region_run_step(qgc_region *region, size_t index);
/* Its code came from the cache. */
bool qgc_region_is_cached(const qgc_region *region);
const qgc_plan *qgc_region_plan(const qgc_region *region);

/* Between the forms of a value: |from| and |to| are buffers of the same value; data begins at the
 * given addresses. Units [begin, end) of qgc_form_units; the border of |to| is filled beside its
 * rows. In codegen/form.c. */
void qgc_change_form(const qgc_buffer *from, const uint8_t *from_data, const qgc_buffer *to,
                     uint8_t *to_data, int64_t begin, int64_t end);
/* What lies around rows [begin, end) of all images. */
void qgc_fill_border(const qgc_buffer *buffer, uint8_t *data, int64_t begin, int64_t end);

#endif

/* Regions of plug-ins: a function whose target is a backend that lowers its ops itself becomes a
 * list of that backend's kernels, one per island, over buffers that the host places. */
#ifndef QGC_CODEGEN_FOREIGN_H
#define QGC_CODEGEN_FOREIGN_H

#include "codegen/llvm/level.h"
#include "passes/view.h"
#include "qgc/backend.h"
#include "runtime/pool.h"
#include "runtime/tensor.h"

typedef struct qgc_backend_region qgc_foreign;

/* Asks the target's backend to lower |func|. NULL: it runs as literal ops, and a diagnostic says
 * why (nothing where the target is one of the host's own). */
qgc_foreign *qgc_foreign_create(const qgc_func *func, const qgc_level *level);
void qgc_foreign_destroy(qgc_foreign *foreign);
/* |inputs|: one per parameter, of its type. |outputs|: owned by the caller on success. |pool|:
 * shares the units of work of each kernel; NULL: the caller's thread has them all. */
qgc_result qgc_foreign_run(qgc_foreign *foreign, qgc_pool *pool, const qgc_tensor *inputs,
                           qgc_tensor *outputs);
/* "region @f on onednn" and its ops, as text. */
void qgc_foreign_print(const qgc_foreign *foreign, qgc_text *out);

const qgc_backend *qgc_foreign_backend(const qgc_foreign *foreign);

/* One op by itself: its island, its kernel on given memory (in the order of qgc_backend_kernel_fn),
 * all units at once. */
size_t qgc_foreign_num_ops(const qgc_foreign *foreign);
const qgc_view *qgc_foreign_view(const qgc_foreign *foreign, size_t index);
uint32_t qgc_foreign_num_inputs(const qgc_foreign *foreign, size_t index);
const qgc_value *qgc_foreign_input(const qgc_foreign *foreign, size_t index, uint32_t input);
uint32_t qgc_foreign_num_outputs(const qgc_foreign *foreign, size_t index);
const qgc_value *qgc_foreign_output(const qgc_foreign *foreign, size_t index, uint32_t output);
qgc_result qgc_foreign_run_op(const qgc_foreign *foreign, size_t index, const void *const *inputs,
                              void *const *outputs);

#endif

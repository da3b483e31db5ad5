/* Running a graph on tensors. */
#ifndef QGC_RUN_H
#define QGC_RUN_H

#include "qgc/data.h"
#include "qgc/engine.h"
#include "qgc/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor with a name. Made by qgc_tensors_read and qgc_module_run, freed by qgc_tensors_free. */
typedef struct qgc_run_tensor {
    char *name; /* "x"; NUL-terminated */
    qgc_tensor tensor;
} qgc_run_tensor;

typedef struct qgc_tensors {
    size_t num;
    qgc_run_tensor *items;
    void *owner; /* private */
} qgc_tensors;

/* Reads .npy, .npz, .safetensors, IDX. A single tensor has the name ""; tensors of |add_to| are
 * kept. */
QGC_API qgc_result qgc_tensors_read(qgc_context *context, const char *path, const char *name,
                                    qgc_tensors *add_to);
/* Adds a copy of |tensor|. */
QGC_API qgc_result qgc_tensors_add(qgc_context *context, const char *name, const qgc_tensor *tensor,
                                   qgc_tensors *add_to);
/* By the ending of |path|: .npy (one tensor only), .npz or .safetensors. Whole or not at all. */
QGC_API qgc_result qgc_tensors_write(qgc_context *context, const char *path,
                                     const qgc_tensors *tensors);
/* `@main.%y = [1.0, 2.0] : f32[2]`, a line each. */
QGC_API void qgc_tensors_print(qgc_context *context, const char *func, const qgc_tensors *tensors,
                               FILE *out);
QGC_API void qgc_tensors_free(qgc_tensors *tensors);

/* Runs a function ("main") with |engine|, or with the reference interpreter where it is NULL.
 * Inputs are found by parameter name; a single one without a name fits a function with one
 * parameter. Each parameter needs an input, and each input a parameter. |outputs| are named after
 * the returned values. */
QGC_API qgc_result qgc_module_run(qgc_module *module, const char *func, const qgc_engine *engine,
                                  const qgc_tensors *inputs, qgc_tensors *outputs);

/* The same on samples of data files, batch by batch (the default batch is all of them), the results
 * put together: each has a first dimension that counts samples, where there are several batches. */
QGC_API qgc_result qgc_module_run_samples(qgc_module *module, const char *func,
                                          const qgc_engine *engine, const qgc_samples *samples,
                                          qgc_tensors *outputs);

/* Name and element type of a parameter of |func|; NULL after the last, or where there is no such
 * function. |out_dtype| may be NULL. */
QGC_API const char *qgc_module_param(qgc_module *module, const char *func, size_t index,
                                     qgc_dtype *out_dtype);

/* Names of the functions that take no parameters, in order; NULL after the last. For tests. */
QGC_API const char *qgc_module_closed_func(const qgc_module *module, size_t index);

#ifdef __cplusplus
}
#endif
#endif

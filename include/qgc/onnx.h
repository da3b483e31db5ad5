/* ONNX files beside qgc_module_read, which imports models. */
#ifndef QGC_ONNX_H
#define QGC_ONNX_H

#include "qgc/module.h"
#include "qgc/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a file that holds one TensorProto (the .pb files of ONNX's test suite) and adds it to
 * |add_to| under |name|; NULL: under its own. */
QGC_API qgc_result qgc_onnx_tensor_read(qgc_context *context, const char *path, const char *name,
                                        qgc_tensors *add_to);

/* Writes a function (NULL: main), and in place what it calls, as an ONNX model with its weights
 * inside: of the lowest opset that fits, at least 17. Ops without a counterpart are reported all at
 * once, and nothing is written. Whole or not at all. */
QGC_API qgc_result qgc_onnx_write(qgc_module *module, const char *func, const char *path);

/* Writes the list of ONNX ops that are imported, as Markdown. */
QGC_API void qgc_onnx_ops_write(FILE *out);

#ifdef __cplusplus
}
#endif
#endif

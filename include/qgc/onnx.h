/* ONNX files beside qgc_module_read, which imports models. */
#ifndef QGC_ONNX_H
#define QGC_ONNX_H

#include "qgc/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a file that holds one TensorProto (the .pb files of ONNX's test suite) and adds it to
 * |add_to| under |name|; NULL: under its own. */
QGC_API qgc_result qgc_onnx_tensor_read(qgc_context *context, const char *path, const char *name,
                                        qgc_tensors *add_to);

/* Writes the list of ONNX ops that are imported, as Markdown. */
QGC_API void qgc_onnx_ops_write(FILE *out);

#ifdef __cplusplus
}
#endif
#endif

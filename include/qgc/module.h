/* A module: the graph of one .qir text. */
#ifndef QGC_MODULE_H
#define QGC_MODULE_H

#include "qgc/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qgc_module qgc_module;

/* Parses and verifies a file ("-": stdin). Weights files are opened relative to it. A name that
 * ends in .onnx is imported, weights in memory. NULL: errors were reported. The caller destroys the
 * module. */
QGC_API qgc_module *qgc_module_read(qgc_context *context, const char *path);
/* Names a symbolic dimension, of an ONNX model also a scalar integer or bool input. */
typedef struct qgc_binding {
    const char *name;
    int64_t value;
} qgc_binding;
/* Reads with numbers given: an ONNX model folds what follows from them while it is imported (an
 * `If` that asks for a size, say), and an input that is named becomes a constant. A name that the
 * file does not have is an error. */
QGC_API qgc_module *qgc_module_read_bound(qgc_context *context, const char *path,
                                          const qgc_binding *bindings, size_t num);
/* The same for one of several files: |found|, |num| long, gets which names this file has, and a
 * name that it does not have is no error. */
QGC_API qgc_module *qgc_module_read_some(qgc_context *context, const char *path,
                                         const qgc_binding *bindings, size_t num, bool *found);
/* As qgc_module_read for a text; |name| is what diagnostics call it, |first_line| the number of its
 * first line. |directory|: where weights files are looked for; NULL: their names stay unbound. */
QGC_API qgc_module *qgc_module_parse(qgc_context *context, const char *name, qgc_str text,
                                     uint32_t first_line, const char *directory);
QGC_API void qgc_module_destroy(qgc_module *module);

/* Prints the module; NULL |out| is not allowed. */
QGC_API void qgc_module_write(qgc_module *module, FILE *out);
/* Writes |path|; constants of more than 256 bytes go to FILE.<hash>.safetensors beside it. Whole or
 * not at all: a killed run leaves the old files or the new ones. */
QGC_API qgc_result qgc_module_save(qgc_module *module, const char *path);

/* Replaces a symbolic dimension by a number everywhere. A symbol that no type mentions is an error.
 */
QGC_API qgc_result qgc_module_bind(qgc_module *module, const char *symbol, int64_t value);

/* Checks a rules file (.qcfg) or backend patterns (.qpat) and prints them in canonical form. */
QGC_API qgc_result qgc_rules_write(qgc_context *context, const char *name, qgc_str text,
                                   uint32_t first_line, FILE *out);
QGC_API qgc_result qgc_patterns_write(qgc_context *context, const char *name, qgc_str text,
                                      uint32_t first_line, FILE *out);

/* The whole of a file ("-": stdin), followed by a NUL byte; memory of the context. */
QGC_API qgc_result qgc_read_file(qgc_context *context, const char *path, qgc_str *out);
/* Whole or not at all: a killed run leaves the old file or the new one. */
QGC_API qgc_result qgc_write_file(qgc_context *context, const char *path, qgc_str data);

#ifdef __cplusplus
}
#endif
#endif

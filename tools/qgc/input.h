/* Input texts of opt and run: whole files or parts of --split-input. */
#ifndef QGC_TOOLS_INPUT_H
#define QGC_TOOLS_INPUT_H

#include "command.h"

/* Calls |each| for every part of the file; with --verify-diagnostics checks what was reported.
 * Returns the exit code. |each| returns QGC_FAILED after reporting. */
typedef qgc_result each_part(invocation *call, qgc_str text, uint32_t first_line,
                             const char *directory);
int for_each_part(invocation *call, each_part *each);

/* The part as a module; an ONNX model is imported from the file. NULL: reported. */
qgc_module *read_part(invocation *call, qgc_str text, uint32_t first_line, const char *directory);
/* Another file, with the symbols of --set bound. NULL: reported. */
qgc_module *read_module(invocation *call, const char *path);
/* Files that are held against each other: a symbol of --set is bound wherever it occurs, and has to
 * occur in one of them. |out| gets |num| (at most 2) modules that the caller destroys; NULL from
 * the first one on that failed. */
qgc_result read_modules(invocation *call, const char *const *paths, size_t num, qgc_module **out);
bool has_ending(const char *path, const char *ending);
bool has_form(const qgc_module *module, const char *form);

/* To |path|; to stdout where that is NULL or "-". */
qgc_result write_module(qgc_module *module, const char *path);

/* The tensors of --data and --input. */
qgc_result read_input_options(invocation *call, qgc_tensors *inputs);

/* What --engine, --cpu and --threads ask for. */
qgc_result read_engine_options(invocation *call, bool *is_ref, qgc_engine_options *out);
/* The engine that --engine, --cpu and --threads ask for; NULL for ref. */
qgc_result create_engine(invocation *call, qgc_module *module, qgc_engine **out);
/* Prints what --print-plan asks for, first. NULL is fine. */
void destroy_engine(invocation *call, qgc_engine *engine);

/* Applies --set to a module. */
qgc_result bind_symbols(invocation *call, qgc_module *module);

#endif

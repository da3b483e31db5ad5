/* Engines: what executes the functions of a module. Without one, the reference interpreter does. */
#ifndef QGC_ENGINE_H
#define QGC_ENGINE_H

#include "qgc/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qgc_engine qgc_engine;

/* Compiles the module's functions with static shapes for a CPU level ("native", "x86-64-v3", ...).
 * The module must not change and must live as long as the engine. Failures are reported. */
QGC_API qgc_result qgc_engine_create(qgc_module *module, const char *cpu, qgc_engine **out);
QGC_API void qgc_engine_destroy(qgc_engine *engine);
/* The plans of the compiled functions, as text. */
QGC_API void qgc_engine_print_plans(const qgc_engine *engine, FILE *out);
/* Their lines that make the value "%c" or "@main.%c" (of the float graph, too), each behind its
 * function. */
QGC_API void qgc_engine_print_steps(const qgc_engine *engine, const char *value, FILE *out);
/* Names of the CPU levels, lowest first; NULL after the last. |out_supported|: this host has it. */
QGC_API const char *qgc_cpu_level(size_t index, bool *out_supported);

#ifdef __cplusplus
}
#endif
#endif

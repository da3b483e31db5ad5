/* Engines: what executes the functions of a module. Without one, the reference interpreter does. */
#ifndef QGC_ENGINE_H
#define QGC_ENGINE_H

#include "qgc/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qgc_engine qgc_engine;

/* Zero in all members: for this host. */
typedef struct qgc_engine_options {
    const char *cpu; /* a CPU level that this host has ("x86-64-v3"); NULL or "native": its best */
    size_t threads;  /* that share the work, the caller's among them; 0: one for each processor */
    const char *cache;  /* directory that keeps machine code for the next time; NULL: none */
    size_t cache_bytes; /* that it may have; 0: 1 GiB */
} qgc_engine_options;

/* Functions of the module become machine code when they are first run with shapes of inputs, with
 * what they call; results have the interpreter's bytes. What cannot be compiled (shapes that depend
 * on data) the interpreter runs: a remark of "engine" says why. The module must not change and must
 * live as long as the engine. One thread at a time may use it. Failures are reported. */
QGC_API qgc_result qgc_engine_create_with(qgc_module *module, const qgc_engine_options *options,
                                          qgc_engine **out);
/* With |cpu| and one thread. */
QGC_API qgc_result qgc_engine_create(qgc_module *module, const char *cpu, qgc_engine **out);
QGC_API void qgc_engine_destroy(qgc_engine *engine);
/* The plans of the compiled functions, as text; functions of fixed shapes that nothing calls are
 * compiled for it. */
QGC_API void qgc_engine_print_plans(qgc_engine *engine, FILE *out);
/* Their lines that make the value "%c" or "@main.%c" (of the float graph, too), each behind its
 * function. */
QGC_API void qgc_engine_print_steps(qgc_engine *engine, const char *value, FILE *out);
/* Names of the CPU levels, lowest first; NULL after the last. |out_supported|: this host has it. */
QGC_API const char *qgc_cpu_level(size_t index, bool *out_supported);

#ifdef __cplusplus
}
#endif
#endif

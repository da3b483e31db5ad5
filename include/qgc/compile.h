/* Ahead of time: functions of a module as an object file or shared library, with a C header. What
 * is made stands alone: it needs the C library's memcpy, memset and mathematics, nothing else. */
#ifndef QGC_COMPILE_H
#define QGC_COMPILE_H

#include "qgc/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero in all members: by the path's ending, for this machine, every function that no other calls.
 */
typedef struct qgc_compile_options {
    const char
        *format;     /* "o", "so", "ll" (LLVM IR), "s" (assembly); NULL: the ending of the path */
    const char *cpu; /* a CPU level, which this host need not have; NULL: native */
    const char *const *funcs; /* these functions */
    size_t num_funcs;
    const char *name; /* what the symbols begin with; NULL: the file's name without its ending, that
                       * of |source| where the path is in /dev */
    const char *source; /* the graph's file, named in the header; may be NULL */
    const char *linker; /* a program that takes the arguments of cc; NULL: the system's; else the
                         * format has to be "so" */
} qgc_compile_options;

/* Writes |path|, beside an object or library also the header FILE.h; each whole or not at all.
 * Called functions are put in place of their calls, which changes the module. Shapes must be fixed.
 * Everything that no generated kernel takes is reported, and nothing written. */
QGC_API qgc_result qgc_module_compile(qgc_module *module, const char *path,
                                      const qgc_compile_options *options);

#ifdef __cplusplus
}
#endif
#endif

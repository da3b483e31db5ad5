/* For tests: ahead-of-time output with tiles that have more pixels than the registers hold. */
#ifndef QGC_CODEGEN_COMPILE_H
#define QGC_CODEGEN_COMPILE_H

#include "qgc/compile.h"
#include "qgc/module.h"

/* As qgc_module_compile; |extra_pixels|: as of qgc_plan_target. */
qgc_result qgc_compile_larger(qgc_module *module, const char *path,
                              const qgc_compile_options *options, uint32_t extra_pixels);

#endif

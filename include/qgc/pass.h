/* Pass pipelines: "canonicalize,cse,const-fold{max-bytes=4096}". */
#ifndef QGC_PASS_H
#define QGC_PASS_H

#include "qgc/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a float graph goes through before annotate: its values are then those of the quantized
 * graph. */
#define QGC_PIPELINE_FLOAT "infer-shapes,canonicalize,const-fold,recognize,dce,fuse"

typedef struct qgc_pipeline_options {
    bool verify_each;        /* the verifier after every pass that changed something */
    bool print_changed;      /* the module after every pass that changed something */
    bool time_passes;        /* a table of times at the end */
    const char *print_after; /* comma-separated pass names or "all"; NULL: none */
    const char *stop_after;  /* the pipeline ends after this pass; NULL: runs through */
    FILE *out;               /* where prints and times go; not NULL if any is asked for */
} qgc_pipeline_options;

/* Checks the whole pipeline (names, options, forms) before anything runs; then runs it. On failure
 * the module is as the failing pass left it. */
QGC_API qgc_result qgc_pipeline_run(qgc_module *module, const char *pipeline,
                                    const qgc_pipeline_options *options);

#ifdef __cplusplus
}
#endif
#endif

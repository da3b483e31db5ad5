/* The data pass: runs a prepared graph and records what its observers see. */
#ifndef QGC_CALIBRATE_H
#define QGC_CALIBRATE_H

#include "qgc/data.h"
#include "qgc/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qgc_calibrate_options {
    const char *func;  /* NULL: "main" */
    const char *state; /* file of a run that can be resumed, written meanwhile and at the end; where
                          it exists the run goes on from there. Or NULL */
    size_t checkpoint_batches; /* written after so many; 0: after 5 seconds */
    void (*progress)(void *user, size_t done, size_t total); /* samples; or NULL */
    void *user;
    const qgc_engine *engine; /* of the module; NULL: the reference interpreter, slower */
} qgc_calibrate_options;

/* The default batch is 1. On success the module has the form
 * calibrated, a statistics record for each observed value and a provenance. Memory does not grow
 * with the number of samples. A run that is killed and resumed from its state gives the same bytes.
 */
QGC_API qgc_result qgc_module_calibrate(qgc_module *module, const qgc_samples *samples,
                                        const qgc_calibrate_options *options);

/* Takes the statistics of |from|, a calibration of the same float graph, prepared by other rules:
 * observers change no value, so |module|, of form prepared, is then what a calibration on the same
 * data gives, to the byte. *out_done false: |from| lacks a record, or has one of another observer;
 * |module| is as it was. Both are of one context. Where minimum and maximum are observed a
 * histogram serves. */
QGC_API qgc_result qgc_module_reuse_stats(qgc_module *module, const qgc_module *from,
                                          bool *out_done);
/* The same with a file of the user's: reports FOREIGN_STATS where it is of another graph or of
 * other weights, UNCALIBRATED with the value that lacks statistics. */
QGC_API qgc_result qgc_module_take_stats(qgc_module *module, const qgc_module *from);

#ifdef __cplusplus
}
#endif
#endif

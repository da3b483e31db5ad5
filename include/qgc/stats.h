/* Statistics of calibrated graphs: merge, print, hold against other data. */
#ifndef QGC_STATS_H
#define QGC_STATS_H

#include "qgc/data.h"
#include "qgc/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the statistics of |others|, calibrations of the same graph on other data: |into| is then
 * what one calibration on all the data gives, to the byte. All modules are of one context. Refuses
 * other graphs and moving averages, which depend on the order of the data; warns of equal data. */
QGC_API qgc_result qgc_module_merge_stats(qgc_module *into, qgc_module *const *others, size_t num);

/* A table with a line for each record; |method| as of convert. */
QGC_API qgc_result qgc_module_print_stats(qgc_module *module, const char *method, FILE *out);

typedef struct qgc_check_options {
    const char *func;         /* NULL: "main" */
    const char *method;       /* as of convert */
    const qgc_engine *engine; /* of the module; NULL: the reference interpreter, slower */
    double max_clipped;       /* share, 0 to 1: warn of values that are clipped more */
    bool same_data;           /* refuse data that the statistics were not made with */
    void (*progress)(void *user, size_t done, size_t total);
    void *user;
} qgc_check_options;

/* Runs a calibrated graph on other data and prints for each record the share of the values that the
 * ranges clip, and of the range that no value uses. The default batch is 1. *out_clipped: the
 * greatest share, 0 to 1. */
QGC_API qgc_result qgc_module_check_stats(qgc_module *module, const qgc_samples *samples,
                                          const qgc_check_options *options, FILE *out,
                                          double *out_clipped);

#ifdef __cplusplus
}
#endif
#endif

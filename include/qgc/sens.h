/* Sensitivity: how much a graph's outputs lose when one value alone is quantized. */
#ifndef QGC_SENS_H
#define QGC_SENS_H

#include "qgc/data.h"
#include "qgc/engine.h"
#include "qgc/mismatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What values are ranked by; the worst come first. */
typedef enum qgc_sens_metric {
    QGC_SENS_SQNR,
    QGC_SENS_MSE,
    QGC_SENS_COSINE,
    QGC_SENS_ACCURACY, /* top-1 by labels; equal ones by SQNR */
} qgc_sens_metric;

typedef struct qgc_sens_options {
    const char *func;          /* NULL: "main" */
    const char *method;        /* as of convert */
    const char *labels;        /* as for qgc_module_eval, or NULL */
    bool activations, weights; /* which values are tried */
    qgc_sens_metric metric;
    size_t budget; /* at most so many trials; 0: one for each value */
    const char *cpu;
    /* qgc_engine_create; NULL: the reference interpreter runs everything. */
    qgc_result (*create_engine)(qgc_module *module, const char *cpu, qgc_engine **out);
    /* Before the first trial; or NULL. No more than |trials| are made. */
    void (*begin)(void *user, size_t values, size_t trials, size_t samples);
    void (*progress)(void *user, size_t done, size_t total); /* samples times trials; or NULL */
    void *user;
} qgc_sens_options;

/* Of all elements of all results, against the float graph's. */
typedef struct qgc_sens_row {
    const char *name; /* "@main.%c" */
    bool is_weight;
    const char *op;           /* what computes it, or uses the weight */
    const char *dtype;        /* that it was quantized to */
    double sqnr, mse, cosine; /* -infinity, infinity, -1 where an element is broken */
    qgc_mismatch broken;      /* elements that are NaN or infinite in one run only; of all results,
                                 |element| counts within its own */
    size_t agree;             /* answers of the first result whose highest class stays */
    size_t top1;              /* with labels: answers that are right */
} qgc_sens_row;

typedef struct qgc_sens_report {
    size_t samples, answers; /* as for qgc_module_eval */
    bool has_labels;
    size_t num_folders;
    const char *const *folders; /* labels by folder: names of the classes */
    size_t top1;                /* of the float graph */
    size_t num_rows;
    qgc_sens_row *rows; /* the worst first; equal ones in program order */
    size_t num_left;    /* values that the budget left out: those whose own error is smallest */
    void *owner;        /* private */
} qgc_sens_report;

/* Quantizes one value of a calibrated graph at a time, as convert would, all other values in
 * floats, and runs what depends on it again. A row is what converting that value alone gives, to
 * the bit. The module is changed: to be destroyed afterwards. Memory does not grow with the number
 * of samples. The default batch is 32, less of a large graph. */
QGC_API qgc_result qgc_sens(qgc_module *module, const qgc_samples *samples,
                            const qgc_sens_options *options, qgc_sens_report *out);
QGC_API void qgc_sens_report_free(qgc_sens_report *report);

#ifdef __cplusplus
}
#endif
#endif

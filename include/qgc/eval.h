/* Judging a graph on data: against labels, or against another graph. */
#ifndef QGC_EVAL_H
#define QGC_EVAL_H

#include "qgc/data.h"
#include "qgc/engine.h"
#include "qgc/mismatch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qgc_eval_options {
    const char *func;      /* NULL: "main" */
    const char *labels;    /* file of integers, [samples] or [samples, positions...]; "by-folder":
                              the samples lie in a folder for each class, whose label is its
                              place in the order of names; or NULL */
    qgc_module *reference; /* a graph with the same inputs, or NULL */
    const qgc_engine *engine; /* for the graph that is judged; NULL: the reference interpreter */
    const qgc_engine *reference_engine; /* for |reference|, likewise */
    void (*progress)(void *user, size_t done, size_t total);
    void *user;
    bool as_is; /* a graph with observers is warned of (W0807) instead of refused (E0814) */
} qgc_eval_options;

/* The first result is judged: scores, [samples, classes], [samples, positions, classes] or
 * [samples, classes, height, width]; the shape of labels tells another axis of classes. There is an
 * answer for each sample, or for each position of it. */
typedef struct qgc_eval_report {
    size_t samples, classes, answers;
    double seconds;              /* spent in running the graph that is judged */
    double macs, quantized_macs; /* multiply-adds of one sample; of them with quantized operands */
    bool has_labels;
    size_t num_folders;
    const char *const *folders; /* labels by folder: names of the classes; of the context */
    size_t top1, top5; /* answers whose label has the highest score, or one of the five highest; of
                          equal scores the earlier counts as higher, and a NaN as lowest */
    bool has_reference;
    size_t agree;        /* answers with the same highest score in both graphs */
    qgc_mismatch broken; /* elements that are NaN or infinite in one graph only */
    /* Of all elements, as f32, against the reference's; infinite where one is broken. */
    double mse, max_abs;
    /* dB: 10 log10(max |reference|^2 / mse), of the finite ones; infinity where they are equal,
     * -infinity where one is broken. */
    double psnr;
    size_t nan_samples; /* with labels: samples with a NaN among their scores */
    const char *result; /* what is judged, "@main.%y"; lives as long as the context */
} qgc_eval_report;

/* The default batch is 1. Memory does not grow with the number of samples. */
QGC_API qgc_result qgc_module_eval(qgc_module *module, const qgc_samples *samples,
                                   const qgc_eval_options *options, qgc_eval_report *out);

#ifdef __cplusplus
}
#endif
#endif

/* Checking a backend: each op that it lowered against the reference, on data. */
#ifndef QGC_VERIFY_H
#define QGC_VERIFY_H

#include "qgc/data.h"
#include "qgc/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qgc_verify_options {
    const char *func; /* takes the data; NULL: "main" */
    bool all;         /* a line for every op, not only for those that differ */
    void (*progress)(void *user, size_t done, size_t total);
    void *user;
} qgc_verify_options;

typedef struct qgc_verify_report {
    size_t regions, ops;            /* that the backend lowered */
    size_t samples;                 /* of the data */
    uint64_t elements, differing;   /* of the results of all ops */
    uint64_t quantized, off_by_one; /* of the quantized ones: elements, those one step away */
    size_t ops_beyond;              /* ops with an element beyond the tolerance */
} qgc_verify_report;

/* |module| and |reference| are the same graph, read twice into one context: quantized, partitioned
 * for |target|, or lowered, with all sizes known (qgc_module_bind). Regions are formed where there
 * are none. Each op of the target's regions gets the operands that the reference computed, where
 * qgc's own integer ops stand for quantized ones; its results are compared with the reference's, by
 * the tolerance that the backend states. Prints a table to |out|; the first op beyond it is a
 * warning (W0602) at the op. Fails where the backend cannot lower a region, or lowers nothing. */
QGC_API qgc_result qgc_module_verify_backend(qgc_module *module, qgc_module *reference,
                                             const char *target, const qgc_samples *samples,
                                             const qgc_verify_options *options, FILE *out,
                                             qgc_verify_report *report);

#ifdef __cplusplus
}
#endif
#endif

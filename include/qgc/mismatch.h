/* Values of a result that are NaN or infinite in one of two graphs only: no error measures them. */
#ifndef QGC_MISMATCH_H
#define QGC_MISMATCH_H

#include "qgc/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qgc_mismatch {
    uint64_t num;
    size_t sample, element; /* of the first; the element counts within the sample */
    double ours, theirs;    /* what stands there: in the graph that is judged, in the other */
} qgc_mismatch;

/* Reports QGC_D_ONE_SIDED about the value |name| ("@main.%y"), where |found| has any. */
QGC_API qgc_result qgc_mismatch_report(qgc_context *context, const char *name,
                                       const qgc_mismatch *found);

#ifdef __cplusplus
}
#endif
#endif

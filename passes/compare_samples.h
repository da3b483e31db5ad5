/* The samples on which an output is worst; a list of fixed length, whatever the number of samples.
 */
#ifndef QGC_PASSES_COMPARE_SAMPLES_H
#define QGC_PASSES_COMPARE_SAMPLES_H

#include "passes/compare_row.h"
#include "runtime/labels.h"

typedef struct qgc_output_ranks {
    qgc_name name;
    qgc_compare_metric metric;
    const qgc_func *func; /* whose first result it is, or NULL */
    qgc_labels *labels;   /* of the first result, or NULL */
    size_t most, num, classes, answers, agree, top1_a, top1_b;
    qgc_compare_sample *list; /* worst first */
} qgc_output_ranks;

qgc_output_ranks *qgc_ranks_create(qgc_arena *arena, qgc_name name,
                                   const qgc_compare_options *options);
/* A batch of |num| samples from |first| on; one whose first dimension does not count them is left
 * out. Reports labels that do not fit. */
qgc_result qgc_ranks_add(qgc_output_ranks *ranks, const qgc_row_data *data, size_t first,
                         size_t num, qgc_arena *scratch);
void qgc_ranks_finish(qgc_output_ranks *ranks, qgc_compare_output *out);

#endif

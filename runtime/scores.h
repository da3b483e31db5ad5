/* Scores of classes, and the one that is highest: of a sample, or of each position in it (tokens of
 * a text, pixels of a picture). */
#ifndef QGC_RUNTIME_SCORES_H
#define QGC_RUNTIME_SCORES_H

#include "runtime/tensor.h"

/* Where the scores of a tensor [samples, ...] lie. */
typedef struct qgc_scores {
    size_t samples, classes;
    size_t positions; /* in each sample: the product of the dimensions but the first and |axis| */
    size_t stride;    /* elements from one class to the next */
    uint32_t axis;    /* of the classes; 0 where the rank is 1: there is one */
} qgc_scores;

/* Classes lie on axis 1 where the rank is 4 or more ([samples, classes, height, width]), else on
 * the last one ([samples, classes], [samples, positions, classes]). */
qgc_scores qgc_scores_of(const qgc_tensor *tensor);
/* |labels| has the shape of |tensor| without its classes, dimensions of 1 aside: that tells the
 * axis; where several would do, the one of qgc_scores_of is taken. False: none does. */
bool qgc_scores_fit(const qgc_tensor *tensor, const qgc_tensor *labels, qgc_scores *out);

/* The element of a class; |answer| counts positions, sample after sample. */
size_t qgc_scores_at(const qgc_scores *scores, size_t answer, size_t class);

/* The class with the highest score; of equal ones the first, a NaN counts as lowest. */
size_t qgc_scores_top(const qgc_scores *scores, const qgc_tensor *tensor, size_t answer);
/* How many classes score higher than |class|; of equal ones earlier ones count as higher. */
size_t qgc_scores_rank(const qgc_scores *scores, const qgc_tensor *tensor, size_t answer,
                       size_t class);

/* Answers whose highest class is the label: one for each of samples x positions. */
size_t qgc_scores_count_right(const qgc_scores *scores, const qgc_tensor *tensor,
                              const int64_t *labels);
/* Answers with the same highest class in both. */
size_t qgc_scores_count_equal(const qgc_scores *scores, const qgc_tensor *a, const qgc_tensor *b);

#endif

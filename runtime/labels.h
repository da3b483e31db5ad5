/* Labels of samples: classes as integers, from a data file or from the folders of the samples. */
#ifndef QGC_RUNTIME_LABELS_H
#define QGC_RUNTIME_LABELS_H

#include "runtime/interp_feed.h"
#include "runtime/scores.h"

typedef struct qgc_labels qgc_labels;

/* |text|: a data file or folder with one array of integers, [samples] or [samples, positions...];
 * "by-folder": the samples of one input lie in folders, FOLDER/CLASS/FILE, and the classes are the
 * names of these, sorted bytewise (empty folders count); NULL: *out = NULL. Begins with the first
 * sample of |feed|, which is kept. */
qgc_result qgc_labels_open(const char *text, const qgc_feed *feed, qgc_labels **out);
/* NULL is fine. */
void qgc_labels_close(qgc_labels *labels);

/* Names of the classes, copied into |arena|; NULL and 0 where a file has the labels. */
const char *const *qgc_labels_folders(const qgc_labels *labels, qgc_arena *arena, size_t *out_num);

/* Where the scores of |tensor|, the first result, lie, so that the labels fit; a shape that does
 * not is reported, both sides named. |labels| NULL: as usual. */
qgc_result qgc_labels_fit(const qgc_labels *labels, const qgc_func *func, const qgc_tensor *tensor,
                          qgc_scores *out);

/* Those of the next scores->samples, one for each position, in |arena|; NULL where |labels| is.
 * Reports what is no class. */
qgc_result qgc_labels_next(qgc_labels *labels, const qgc_scores *scores, qgc_arena *arena,
                           int64_t **out);

#endif

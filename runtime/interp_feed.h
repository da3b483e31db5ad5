/* Samples of data files as inputs of a function, batch by batch. */
#ifndef QGC_RUNTIME_INTERP_FEED_H
#define QGC_RUNTIME_INTERP_FEED_H

#include "ir/graph.h"
#include "qgc/data.h"
#include "runtime/data.h"

typedef struct qgc_feed qgc_feed;

/* Opens the files of |samples| (kept, with what it points to) and finds an array for each input; a
 * batch of 0 is 1. A function whose inputs have a number as first dimension takes that many at a
 * time. Reports what does not fit. */
qgc_result qgc_feed_open(const qgc_func *func, const qgc_samples *samples, qgc_feed **out);
/* NULL is fine. */
void qgc_feed_close(qgc_feed *feed);

/* Samples [begin, end) of the data are delivered. */
size_t qgc_feed_begin(const qgc_feed *feed);
size_t qgc_feed_end(const qgc_feed *feed);

const qgc_func *qgc_feed_func(const qgc_feed *feed);
/* The open data of file |index|; NULL after the last. To look at only. */
const qgc_data *qgc_feed_data(const qgc_feed *feed, size_t index);

/* The batch that the function asks for, or 0 where it is open. */
size_t qgc_feed_fixed_batch(const qgc_feed *feed);

/* One tensor for each parameter, views that are valid until the next call; *out_num samples, 0 at
 * the end. The last ones that do not fill a fixed batch are left out, with a warning. */
qgc_result qgc_feed_next(qgc_feed *feed, qgc_tensor *out_inputs, size_t *out_num);

/* The files, for messages: "a.npz", or "x=a.npy, mask=b.npy". */
const char *qgc_samples_text(qgc_arena *arena, const qgc_samples *samples);

#endif

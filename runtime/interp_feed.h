/* Samples of a data source as inputs of a function, batch by batch. */
#ifndef QGC_RUNTIME_INTERP_FEED_H
#define QGC_RUNTIME_INTERP_FEED_H

#include "ir/graph.h"
#include "runtime/tensor.h"

typedef struct qgc_feed qgc_feed;

typedef struct qgc_feed_options {
    size_t batch;             /* samples at a time where the function leaves it open; 0: 1 */
    size_t limit;             /* at most so many samples; 0: all */
    size_t shard, num_shards; /* this part of so many contiguous ones; 0: 1 */
    size_t first;             /* samples before are left out, before everything else */
} qgc_feed_options;

/* |path|: a data file or folder (runtime/data.h) with an array for each input by name, or one
 * without a name for the only input; the first dimension counts samples. A function whose inputs
 * have a number there takes that many at a time. Reports what does not fit. */
qgc_result qgc_feed_open(const qgc_func *func, const char *path, const qgc_feed_options *options,
                         qgc_feed **out);
/* NULL is fine. */
void qgc_feed_close(qgc_feed *feed);

/* Samples [begin, end) of the source are delivered. */
size_t qgc_feed_begin(const qgc_feed *feed);
size_t qgc_feed_end(const qgc_feed *feed);

/* The batch that the function asks for, or 0 where it is open. */
size_t qgc_feed_fixed_batch(const qgc_feed *feed);

/* One tensor for each parameter, views that are valid until the next call; *out_num samples, 0 at
 * the end. The last ones that do not fill a fixed batch are left out, with a warning. */
qgc_result qgc_feed_next(qgc_feed *feed, qgc_tensor *out_inputs, size_t *out_num);

#endif

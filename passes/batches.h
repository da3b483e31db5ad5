/* Samples for graphs that are compiled: machine code has fixed shapes. */
#ifndef QGC_PASSES_BATCHES_H
#define QGC_PASSES_BATCHES_H

#include "ir/graph.h"
#include "runtime/interp_feed.h"

/* Opens the samples of |funcs[0]|. Where the first dimension of the functions' inputs is a symbol
 * and |compiles|, it is bound to the greatest divisor of the number of samples that is no larger
 * than the batch that is asked for (0: 32, fewer of large graphs), so that no batch is smaller; in
 * any case to the number that another of the functions has there. The functions are of different
 * modules. |samples| gets the batch that is chosen, and outlives the feed. */
qgc_result qgc_open_batches(qgc_func *const *funcs, size_t num, qgc_samples *samples, bool compiles,
                            qgc_feed **out);

#endif

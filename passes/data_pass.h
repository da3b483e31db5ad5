/* One pass of a graph with observers over data. */
#ifndef QGC_PASSES_DATA_PASS_H
#define QGC_PASSES_DATA_PASS_H

#include "passes/recorders.h"
#include "runtime/interp_feed.h"

typedef struct qgc_data_pass {
    qgc_recorders *recorders;
    const char *func; /* NULL: "main" */
    const qgc_samples *samples;
    const struct qgc_engine *engine;                         /* NULL: the reference interpreter */
    void (*progress)(void *user, size_t done, size_t total); /* samples; or NULL */
    void *user;
    /* Samples that have been seen before (the records hold them): read and hashed, not run. Not a
     * boundary between batches: reports BAD_STATE. Their hash must be |skip_hash|, or it is
     * reported that the data is another one. */
    size_t skip;
    uint64_t skip_hash;
    /* After each batch that was run; NULL: nothing. */
    qgc_result (*after_batch)(void *after_user, const struct qgc_data_pass *pass);
    void *after_user;

    /* so far, with what was skipped */
    size_t num_samples;
    uint64_t data_hash; /* a sum over samples: any order and any split gives the same */
} qgc_data_pass;

qgc_result qgc_data_pass_run(qgc_data_pass *pass);

#endif

/* `stats @f.%v {...}` and runtime/observe.h's records: from one to the other. */
#ifndef QGC_PASSES_STATS_RECORD_H
#define QGC_PASSES_STATS_RECORD_H

#include "ir/graph.h"
#include "runtime/observe.h"

/* The fields {count, zeros, nan, pos_inf, neg_inf, min, max, exp, first, bins}; zero counts of what
 * is not finite are left out, min and max where no finite value was seen, the last three but in
 * histograms. A moving average says `average = true`. */
qgc_attr qgc_stats_to_attr(qgc_module *module, const qgc_stats *stats);

/* Reads and checks (qgc_stats_check). Bins lie in |arena|. Reports BAD_STATS. */
qgc_result qgc_stats_from_record(qgc_module *module, const qgc_record *record, qgc_arena *arena,
                                 qgc_stats *out);

#endif

/* Where statistics come from: `provenance {graph, data, samples, version}`. */
#ifndef QGC_PASSES_PROVENANCE_H
#define QGC_PASSES_PROVENANCE_H

#include "ir/graph.h"

/* A hash of functions, ops, names, attributes, element types and ranks, and of the types and data
 * of constants; not of statistics, forms, or of where constants are kept (in the text or in a
 * file). The sizes of what is computed, and those in attributes such as the shape of a reshape, are
 * left out: with its symbols bound a graph is still that graph, and which numbers were symbols
 * before cannot be seen afterwards. Sizes that weights have stay in, as part of their types. */
uint64_t qgc_graph_hash(qgc_module *module);

/* Replaces the module's record. |data_hash|: the sum over the samples. */
void qgc_provenance_set(qgc_module *module, uint64_t graph_hash, uint64_t data_hash,
                        uint64_t num_samples);

/* Refuses |stats|, another file than |module|, where it is no calibrated graph or that of another
 * graph: by the hashes in both, else by the names of the values seen and by the constants that have
 * one name in both. A float |module| is to be given as it is prepared. Both are of one context. */
qgc_result qgc_stats_check_source(const qgc_module *module, const qgc_module *stats);

/* "0123456789abcdef" */
const char *qgc_hash_text(qgc_arena *arena, uint64_t hash);

#endif

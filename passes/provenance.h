/* Where statistics come from: `provenance {graph, data, samples, version}`. */
#ifndef QGC_PASSES_PROVENANCE_H
#define QGC_PASSES_PROVENANCE_H

#include "ir/graph.h"

/* A hash of functions, ops, names and the data of constants; not of statistics, forms, or of where
 * constants are kept (in the text or in a file). */
uint64_t qgc_graph_hash(qgc_module *module);

/* Replaces the module's record. |data_hash|: the sum over the samples. */
void qgc_provenance_set(qgc_module *module, uint64_t graph_hash, uint64_t data_hash,
                        uint64_t num_samples);

/* "0123456789abcdef" */
const char *qgc_hash_text(qgc_arena *arena, uint64_t hash);

#endif

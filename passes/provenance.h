/* Where statistics come from: `provenance {graph, data, samples, version, rules, method, seal}`.
 * `rules` are the rows that annotate went by, `method` that of convert. `seal` is the hash of the
 * other fields and of all statistics (qgc_module_print_sealed): it stands where the program made
 * them, who reads a graph refuses another hash, and without it statistics are used with a warning.
 */
#ifndef QGC_PASSES_PROVENANCE_H
#define QGC_PASSES_PROVENANCE_H

#include "ir/graph.h"

/* A hash of functions, ops, names, attributes, element types and ranks, and of the types and data
 * of constants; not of statistics, forms, or of where constants are kept (in the text or in a
 * file). The sizes of what is computed, and those in attributes such as the shape of a reshape, are
 * left out: with its symbols bound a graph is still that graph, and which numbers were symbols
 * before cannot be seen afterwards. Sizes that weights have stay in, as part of their types. */
uint64_t qgc_graph_hash(qgc_module *module);

/* Sets these fields and the version, and seals. |data_hash|: the sum over the samples. */
void qgc_provenance_set(qgc_module *module, uint64_t graph_hash, uint64_t data_hash,
                        uint64_t num_samples);
/* |rows|: text of rules files, one for each number that `rules.PORT` attributes have. Seals. */
void qgc_provenance_set_rules(qgc_module *module, const char *const *rows, size_t num);
/* Nothing where there are no statistics to speak of. Does not seal. */
void qgc_provenance_set_method(qgc_module *module, const char *method);

/* What |from| says of the data; the graph and the rules are |module|'s own. Sealed as |from|. */
void qgc_provenance_take(qgc_module *module, const qgc_module *from);

void qgc_provenance_seal(qgc_module *module);
/* After a change of the program's own: a seal that was right when the module was read is made right
 * again; where there was none, there is none. */
void qgc_provenance_seal_again(qgc_module *module);
void qgc_provenance_unseal(qgc_module *module);
bool qgc_provenance_is_sealed(const qgc_module *module);
/* Who decides by statistics says so where they carry no seal. */
void qgc_provenance_warn_unsealed(const qgc_module *module);

/* Refuses |stats|, another file than |module|, where it is no calibrated graph or that of another
 * graph: by the hashes in both, else by the names of the values seen and by the constants that have
 * one name in both. A float |module| is to be given as it is prepared. Both are of one context. */
qgc_result qgc_stats_check_source(const qgc_module *module, const qgc_module *stats);

#endif

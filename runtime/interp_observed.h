/* Graphs with observers, which compute the float graph's values: measuring one says nothing about
 * the integers that it is to become. */
#ifndef QGC_RUNTIME_INTERP_OBSERVED_H
#define QGC_RUNTIME_INTERP_OBSERVED_H

#include "ir/graph.h"

/* An error at the first observer, E0814; QGC_OK where there is none. */
qgc_result qgc_refuse_observed(const qgc_module *module);
/* A warning there, W0807; of a graph that is annotated only, without a place. |what| is measured:
 * "its accuracy". */
void qgc_warn_observed(const qgc_module *module, const char *what);

#endif

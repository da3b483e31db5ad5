/* Observers of a prepared or calibrated graph, as calibrate and convert see them. */
#ifndef QGC_PASSES_OBSERVERS_H
#define QGC_PASSES_OBSERVERS_H

#include "ir/graph.h"

/* The value that an observer (perhaps of an observer) observes: what statistics are named after. */
const qgc_value *qgc_observed_value(const qgc_node *observer);
/* The observer whose spec is the group's: where the spec is share(%v), that of %v; else itself. */
const qgc_node *qgc_observer_root(const qgc_node *observer);
const qgc_spec *qgc_observer_spec(const qgc_node *observer);
/* Whether running the graph has to record the values: not constants, and not where the spec is f16,
 * fixed or dynamic. */
bool qgc_observer_records(const qgc_node *observer);

#endif

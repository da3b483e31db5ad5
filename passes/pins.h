/* What rewriting passes must leave in place: an op with a `quant.` attribute, because the
 * annotation is the user's, and a value that a stats record or an attribute names (share(%v),
 * fuse.into = %v), because the name is all that ties the two together. */
#ifndef QGC_PASSES_PINS_H
#define QGC_PASSES_PINS_H

#include "ir/graph.h"

typedef struct qgc_pins {
    qgc_map named; /* values by pointer, those that something names */
} qgc_pins;

/* Looks through the whole module once. The map lives in |arena|. */
void qgc_pins_collect(const qgc_module *module, qgc_arena *arena, qgc_pins *out);

bool qgc_pins_is_annotated(const qgc_node *node);
/* Whether something names a result of |node|. */
bool qgc_pins_is_named(const qgc_pins *pins, const qgc_node *node);
/* Either of the two. */
bool qgc_pins_hold(const qgc_pins *pins, const qgc_node *node);

#endif

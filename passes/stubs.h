/* What lies between quant_stub and dequant_stub. */
#ifndef QGC_PASSES_STUBS_H
#define QGC_PASSES_STUBS_H

#include "ir/graph.h"

bool qgc_is_stub(const qgc_node *node);

typedef struct qgc_stubs {
    bool any;       /* whether the module has stubs; else everything lies between */
    qgc_map inside; /* nodes on a path from a quant_stub to a dequant_stub, without the stubs */
} qgc_stubs;

/* Functions without stubs lie between where one of their calls does: their parameters count as
 * behind a quant_stub, their results as before a dequant_stub. The map lives in |arena|. */
void qgc_stubs_find(const qgc_module *module, qgc_arena *arena, qgc_stubs *out);

bool qgc_stubs_hold(const qgc_stubs *stubs, const qgc_node *node);

#endif

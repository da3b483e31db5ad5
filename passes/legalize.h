/* Legality tables of targets (qgc/backend.h): where a graph has an element type that a port may not
 * have, the value is requantized at the edge. */
#ifndef QGC_PASSES_LEGALIZE_H
#define QGC_PASSES_LEGALIZE_H

#include "passes/pass.h"
#include "passes/view.h"
#include "qgc/backend.h"

enum { QGC_MAX_EDGES = QGC_MAX_OPERANDS + 1 };

/* One edge that was requantized. */
typedef struct qgc_edge {
    qgc_node *quantize, *dequantize; /* new */
    qgc_node *user;
    uint32_t slot;     /* of |user|: reads the new dequantize */
    qgc_value *before; /* read there before */
    const char *remark;
} qgc_edge;

typedef struct qgc_edges {
    uint32_t num;
    qgc_edge items[QGC_MAX_EDGES];
} qgc_edges;

/* Requantizes what |backend| does not take: operands and result of the island |view|. False:
 * nothing was to be done, or it cannot be (the graph is as it was). The view is stale afterwards.
 *
 * Between 8-bit types, and from 8 to 16 bits, this keeps every value: scale s, zero point shifted.
 * From 16 to 8 bits steps are 257 times as large: s' = 257 s, z' = rne((z - lo) / 257) + lo'. */
bool qgc_legalize(qgc_func *func, const qgc_view *view, const qgc_backend *backend,
                  const qgc_pass_env *env, qgc_edges *out);
void qgc_legalize_undo(const qgc_edges *edges);
void qgc_legalize_report(const qgc_edges *edges, const qgc_node *op, const qgc_pass_env *env);

#endif

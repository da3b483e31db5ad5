/* Read-only view of a node for infer hooks and reference kernels: attributes with defaults applied.
 * This is all that runtime/ref/ sees of the IR. Every name must be in the op's row. */
#ifndef QGC_IR_VIEW_H
#define QGC_IR_VIEW_H

#include "ir/graph.h"

int64_t qgc_node_int(const qgc_node *node, const char *name);
float qgc_node_float(const qgc_node *node, const char *name);
bool qgc_node_flag(const qgc_node *node, const char *name);
/* Position in the row's words ("zeros|edge": 0, 1). */
int qgc_node_word(const qgc_node *node, const char *name);
bool qgc_node_has(const qgc_node *node, const char *name);
qgc_dtype qgc_node_dtype(const qgc_node *node, const char *name);
const qgc_spec *qgc_node_spec(const qgc_node *node, const char *name);
/* Item |index| of a list of integers; the row's default where the list is absent. The list has been
 * checked to be long enough. */
int64_t qgc_node_int_at(const qgc_node *node, const char *name, uint32_t index);
/* Written length; 0 where absent. */
uint32_t qgc_node_list_size(const qgc_node *node, const char *name);

#endif

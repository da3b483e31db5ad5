/* Copies of graphs, to try something on. Attributes, tensors and scopes are borrowed: the original
 * outlives the copy, and is not changed by what happens to it. */
#ifndef QGC_IR_COPY_H
#define QGC_IR_COPY_H

#include "ir/graph.h"

/* Functions, records, rules and weights (those stay open by the original). Destroyed as any module.
 */
qgc_module *qgc_module_copy(const qgc_module *module);

/* Appends a copy of |func|, which may be of another module of the context, to |to|. |out_values|:
 * value -> its copy, in the map's arena; NULL: nobody asks. */
qgc_func *qgc_func_copy(const qgc_func *func, qgc_module *to, qgc_map *out_values);

#endif

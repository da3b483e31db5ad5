/* Contents of small integer tensors as dimensions: what shape arithmetic (shape_of, gather, concat,
 * add, ...) gives, before the symbols are bound. */
#ifndef QGC_IR_CONTENTS_H
#define QGC_IR_CONTENTS_H

#include "ir/graph.h"

/* The elements of an i64 or i32 value of rank 0 or 1, '?' where one is not known; false where
 * nothing is. The list lives in |arena|. Follows operands back through a bounded number of nodes.
 * That a tensor's dimension is 0 or more is taken for granted, as is that it fits i32. */
bool qgc_value_contents(qgc_context *context, qgc_arena *arena, const qgc_value *value,
                        uint32_t *out_num, const qgc_dim **out);

#endif

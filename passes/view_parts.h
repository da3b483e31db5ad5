/* The parts of passes/view.c. */
#ifndef QGC_PASSES_VIEW_PARTS_H
#define QGC_PASSES_VIEW_PARTS_H

#include "passes/view.h"

bool qgc_view_read_operand(qgc_value *value, qgc_arena *arena, qgc_view_operand *out, qgc_why *why);
/* "%c is f32[1,8], from relu" */
const char *qgc_view_source_text(qgc_arena *arena, const qgc_value *value);

/* What a table may depend on: nothing, a scalar constant, a quantized one. */
bool qgc_view_is_scalar_constant(const qgc_value *value);

/* In view_tail.c: what follows the op up to its quantize; or a float output. */
bool qgc_view_follow(qgc_view *view, qgc_arena *arena, qgc_why *why);
/* relu, or clip with constant bounds, of |x|. */
bool qgc_view_is_clip(const qgc_node *node, const qgc_value *x);

/* In view_product.c. */
bool qgc_view_is_product(qgc_opcode op);
bool qgc_view_finish_product(qgc_view *view, qgc_arena *arena, qgc_why *why);
/* Of f32 operands that are read as they are. */
bool qgc_view_finish_float_product(qgc_view *view, qgc_arena *arena, qgc_why *why);

#endif

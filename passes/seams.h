/* Steps moved to where islands end: what quantize and dequantize commute with. Every rewrite keeps
 * every value, up to a dequantized value that overflows f32. */
#ifndef QGC_PASSES_SEAMS_H
#define QGC_PASSES_SEAMS_H

#include "passes/pass.h"

/* In |func|:
 *  - equal quantizes of one value merge;
 *  - a cast of 8- or 16-bit integers to f32 becomes a dequantize with scale 1;
 *  - quantize moves before an op that only moves elements, dequantize behind it: the op then moves
 *    integers (a comparing op only where no NaN can be);
 *  - quantize of a dequantize with the same parameters goes.
 * A returned value keeps its name. */
bool qgc_seams_move(qgc_func *func, const qgc_pass_env *env);

/* Erases constants and dequantizes that nothing uses. */
bool qgc_seams_sweep(qgc_func *func);

/* A const op before |before|, named |base| or base.n; |tensor| is copied to the module. */
qgc_value *qgc_seams_constant(qgc_func *func, const qgc_tensor *tensor, qgc_str base,
                              qgc_node *before, qgc_loc loc);
/* Sets the result types of |node| from its operands. */
void qgc_seams_infer(qgc_node *node);

#endif

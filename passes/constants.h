/* Values that do not depend on the inputs: constants, and ops on nothing but such values. */
#ifndef QGC_PASSES_CONSTANTS_H
#define QGC_PASSES_CONSTANTS_H

#include "ir/graph.h"

/* Constants, and results of pure ops (no calls, no quantization steps) all of whose operands are
 * such, within a limit of 256 visits. Shapes with symbols depend on the inputs. Observers are
 * looked through: they are the identity. */
bool qgc_is_constant(const qgc_value *value);

/* The value's data; |value| is such a value. Computed data lies in |arena|. Fails, reported, where
 * a weight's file is not open or an op cannot be evaluated. */
qgc_result qgc_constant_data(const qgc_value *value, qgc_arena *arena, const qgc_tensor **out);

/* Whether |value|, such a value, holds neither infinities nor NaN, as far as its data is known.
 * Leaves nothing in |arena|. */
bool qgc_constant_is_finite(const qgc_value *value, qgc_arena *arena);

/* Erases the node that defines |value|, and what led to it, where nothing uses it any more. */
void qgc_erase_unused(qgc_value *value);

#endif

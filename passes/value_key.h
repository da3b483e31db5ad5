/* Which value of the float graph a value of any form stands for: what reports name it by.
 *
 * A float value keeps its name in every form, so its identifier is `@func.%name`, of the function
 * it was in before regions were cut out. Two stages of it can exist side by side:
 *  - computed: as an op gives it, in floats;
 *  - stored: as the quantized type holds it: the result of quantize, fake_quant or fake_cast; of an
 *    integer op that `origin` and `origin.scale` mark; what a dequantize gives; integers that an op
 *    only moved, named `%name.q`.
 * Observers are what they observe. Accumulators, tables, scales and multipliers of integer ops
 * stand for no value. */
#ifndef QGC_PASSES_VALUE_KEY_H
#define QGC_PASSES_VALUE_KEY_H

#include "passes/view.h"

typedef struct qgc_value_key {
    qgc_name func, value; /* of the identifier */
    qgc_name text;        /* "@main.%c" as it is printed */
    bool is_stored, is_constant;
    qgc_dtype dtype; /* stored: what holds it; computed: the value's */
    bool has_params; /* stored, with known parameters */
    bool is_integer; /* the value's elements are codes, to be read with the parameters */
    qgc_view_params params;
    qgc_int_range range; /* of the codes; of an op with bounds, these */
} qgc_value_key;

/* Region function -> the function that it was cut out of, for all of them. */
void qgc_find_owners(const qgc_module *module, qgc_map *out);

/* |value| of |func|. False: it stands for no value. Memory in |arena|. */
bool qgc_value_key_read(const qgc_map *owners, const qgc_func *func, qgc_value *value,
                        qgc_arena *arena, qgc_value_key *out);

#endif

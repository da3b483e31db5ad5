/* Own specs (u8.affine.hist): reading one outside a graph's text, and what it says to
 * runtime/quant.h. */
#ifndef QGC_IR_QUANT_SPEC_H
#define QGC_IR_QUANT_SPEC_H

#include "ir/attr.h"
#include "runtime/quant.h"

/* Cuts the next dot-separated word off |rest|. */
qgc_str qgc_spec_next_word(qgc_str *rest);
/* One word behind the type: sym affine ch dynamic minmax avg hist. False where it is none of them,
 * or given already. */
bool qgc_spec_apply_word(qgc_spec *spec, qgc_str word);
/* A whole spec, "i8.sym.ch.minmax[-127,127]"; false where it is malformed. */
bool qgc_spec_read(qgc_str text, qgc_spec *out);

/* Why an own spec cannot be an observer's, static text; NULL where it can: f16 alone; or a
 * quantized type with scheme and observer (or `dynamic` in its place), brackets inside the type. */
const char *qgc_spec_fault(const qgc_spec *spec);

/* The range, scheme and smallest scale that an own spec of a quantized type stands for. */
qgc_quant_spec qgc_spec_quant(const qgc_spec *spec);

#endif

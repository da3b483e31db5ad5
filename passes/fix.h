/* What would make a target claim an op. Tried on a copy of its function: a fix is only named where
 * the row then fits, so it is certain. */
#ifndef QGC_PASSES_FIX_H
#define QGC_PASSES_FIX_H

#include "passes/claims.h"

typedef struct qgc_fix {
    const char *text; /* "quantize %f; make %y u8" */
    const char *rule; /* lines of a rules file that do it when the graph is annotated, or NULL */
} qgc_fix;

/* |op| has not been claimed by |rows|, of a target that |takes_floats| (qgc_claims_view). False:
 * nothing is known that helps. Texts lie in |arena|. */
bool qgc_fix_find(const qgc_rules *rows, bool takes_floats, const qgc_node *op, qgc_arena *arena,
                  qgc_fix *out);

/* ---- fix_edit.c: edits of the copy ---- */

/* Quantizes operand |slot| of |op| anew, per tensor: behind it a quantize and a dequantize; a
 * constant becomes integers, |per_channel| along the channels of its row. */
void qgc_fix_requantize(qgc_node *op, uint32_t slot, qgc_dtype dtype, bool per_channel);
/* All users of |value| read a dequantize of a quantize of it. */
void qgc_fix_quantize_result(qgc_value *value, qgc_dtype dtype);
/* The users of |value| other than |quantize| read a dequantize of that. */
void qgc_fix_join_users(qgc_value *value, qgc_node *quantize);
/* Operand |slot| is a dequantized constant: its integers become |fill|. */
void qgc_fix_fill_constant(qgc_node *op, uint32_t slot, int32_t fill);
/* Every symbol gets |number|, and the type of |op| is inferred again. False: it then does not fit,
 * or a dimension is still not known. */
bool qgc_fix_bind(qgc_node *op, int64_t number);

#endif

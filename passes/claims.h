/* Claim rows of a target (docs/lowering.md), matched on views. */
#ifndef QGC_PASSES_CLAIMS_H
#define QGC_PASSES_CLAIMS_H

#include "frontend/rules.h"
#include "passes/pass.h"
#include "passes/view.h"

/* The rows of a shipped target, or of |file| where that is not empty; checked against the op table.
 * NULL: reported. Memory in the context. */
const qgc_rules *qgc_claims_load(const qgc_pass_env *env, const char *target, const char *file);

/* The row with the highest benefit that fits (the first of equals). NULL: |why| is from the row
 * that went furthest. */
const qgc_claim *qgc_claims_match(const qgc_rules *rows, const qgc_view *view, qgc_arena *arena,
                                  qgc_why *why);

/* The view of |node| for a target: of an op on quantized values, or, where |takes_floats|, of one
 * on f32 values that are read as they are. */
bool qgc_claims_view(qgc_node *node, bool takes_floats, qgc_arena *arena, qgc_view *out,
                     qgc_why *why);

/* ---- conditions.c ---- */

typedef struct qgc_condition {
    const char *name, *summary;
    bool (*holds)(const qgc_view *view, qgc_arena *arena, qgc_why *why);
} qgc_condition;

size_t qgc_num_conditions(void);
const qgc_condition *qgc_condition_at(size_t index);
const qgc_condition *qgc_condition_find(qgc_str name);

#endif

/* Rewrites of canonicalize, by family. Each returns the value that replaces the node's first
 * result, of the same type; or NULL, saying why with qgc_no_match where a user might have expected
 * it. */
#ifndef QGC_PASSES_CANONICALIZE_H
#define QGC_PASSES_CANONICALIZE_H

#include "passes/pass.h"

typedef qgc_value *qgc_rewrite_fn(qgc_node *node, const qgc_pass_env *env);

/* passes/canonicalize_elementwise.c */
qgc_rewrite_fn qgc_rewrite_idempotent;   /* f(f(x)) = f(x) */
qgc_rewrite_fn qgc_rewrite_involution;   /* f(f(x)) = x */
qgc_rewrite_fn qgc_rewrite_rounded;      /* floor(round(x)) = round(x) */
qgc_rewrite_fn qgc_rewrite_neutral;      /* x * 1 = x */
qgc_rewrite_fn qgc_rewrite_same_operand; /* max(x, x) = x */
qgc_rewrite_fn qgc_rewrite_clip;         /* a clip within whose bounds x lies already */
qgc_rewrite_fn qgc_rewrite_cast;         /* to the same type; there and back without loss */
qgc_rewrite_fn qgc_rewrite_where;        /* a condition that decides; two equal choices */

#endif

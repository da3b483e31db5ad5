/* Rewrites of canonicalize, by family. Each returns the value that replaces the node's first
 * result, of the same type; or that result itself, having changed the node; or NULL, saying why
 * with qgc_no_match where a user might have expected it. */
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
qgc_rewrite_fn qgc_rewrite_idle_bounds;  /* clip(x, -inf, 6) = clip(x, _, 6) */
qgc_rewrite_fn qgc_rewrite_clip;         /* a clip within whose bounds x lies already */
qgc_rewrite_fn qgc_rewrite_cast;         /* to the same type; there and back without loss */
qgc_rewrite_fn qgc_rewrite_where;        /* a condition that decides; two equal choices */

/* passes/canonicalize_shape.c */
qgc_rewrite_fn qgc_rewrite_identity;
qgc_rewrite_fn qgc_rewrite_reshape;     /* reshape and its kin: of one another, to the same shape */
qgc_rewrite_fn qgc_rewrite_same_shape;  /* a repetition that keeps the shape */
qgc_rewrite_fn qgc_rewrite_whole_slice; /* all elements in order */
qgc_rewrite_fn qgc_rewrite_empty_pad;   /* all pads 0 */
qgc_rewrite_fn qgc_rewrite_single_part; /* concat of one, split into one */
qgc_rewrite_fn qgc_rewrite_transpose;   /* composed; those that change nothing */
qgc_rewrite_fn qgc_rewrite_known_shape; /* shape_of and size_of of numbers */
qgc_rewrite_fn qgc_rewrite_list_operand; /* shapes, axes, ... that are known: the attribute */

#endif

/* Where a function is annotated, and which of these places share parameters.
 *
 * A point is a value (`quant.out` of its op) or one use of a value (`quant.<operand>` of the user).
 * Points that share form a group, by union-find, so that the order of the graph does not matter:
 *  1. explicitly: share(%v) joins the value %v, share(%v -> %user) the use of %v by the op of
 * %user. A group has one point with a spec of its own, or is a circle: an error.
 *  2. implicitly: a use joins its value, and the other uses of it, where their specs are equal.
 */
#ifndef QGC_PASSES_QUANT_POINTS_H
#define QGC_PASSES_QUANT_POINTS_H

#include "passes/pass.h"

#define QGC_NO_POINT UINT32_MAX

typedef struct qgc_point {
    qgc_node *node; /* whose attribute it is */
    qgc_value *value;
    qgc_use *use;           /* NULL: the value itself */
    const qgc_spec *spec;   /* as written */
    int64_t axis;           /* of channels, for a spec per channel; -1 where there is none */
    uint32_t parent;        /* in its group; the leader's is itself */
    uint32_t decides;       /* of a leader: the point whose spec is the group's */
    uint32_t next_of_value; /* the next point of the same value, or QGC_NO_POINT */
} qgc_point;

/* The points of one value, linked by next_of_value. */
typedef struct qgc_point_chain {
    uint32_t first, last;
} qgc_point_chain;

typedef struct qgc_points {
    qgc_arena *arena;
    QGC_VEC(qgc_point) list; /* in program order, the uses of a node before its results */
    qgc_map of_value;        /* value -> qgc_point_chain * */
} qgc_points;

/* All points of a function, grouped. Reports BAD_ANNOTATION and BAD_SHARING. */
qgc_result qgc_points_build(qgc_points *points, qgc_func *func, const qgc_pass_env *env);

/* The leader of the group of point |index|. */
uint32_t qgc_points_leader(const qgc_points *points, uint32_t index);
/* The first point of a value, or QGC_NO_POINT. */
uint32_t qgc_points_of(const qgc_points *points, const qgc_value *value);

/* "quant.out", "quant.x", "quant.parts.1": the attribute of an operand slot, or of the results
 * (UINT32_MAX). */
qgc_name qgc_annotation_name(const qgc_node *node, uint32_t slot, qgc_arena *scratch);

#endif

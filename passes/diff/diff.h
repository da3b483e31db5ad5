/* Inside `qgc diff`: functions are paired, their nodes aligned (hash.c, match.c), pairs compared
 * (compare*.c), and rows written (rows.c). */
#ifndef QGC_PASSES_DIFF_DIFF_H
#define QGC_PASSES_DIFF_DIFF_H

#include "base/vec.h"
#include "ir/graph.h"
#include "qgc/diff.h"

#define QGC_DIFF_NONE UINT32_MAX

/* One function as an array. |up|, |down| and |content| are parallel to |nodes|. */
typedef struct qgc_diff_graph {
    qgc_func *func;
    uint32_t num;
    qgc_node **nodes;   /* node->id is the index */
    uint64_t *exact;    /* hash of all that a node computes; never renewed */
    uint64_t *up;       /* hash of what the node is computed from */
    uint64_t *down;     /* hash of what is computed from the node */
    uint64_t *content;  /* hash of a constant's type and elements, else 0 */
    uint32_t *partner;  /* index on the other side, or QGC_DIFF_NONE */
    bool *is_explained; /* a step that has moved here */
} qgc_diff_graph;

/* Two functions that are compared. */
typedef struct qgc_diff_pair {
    struct qgc_diff *diff;
    qgc_diff_graph left, right;
    qgc_map moved;  /* a left step -> where it is on the right */
    bool is_called; /* paired by a call, which tells of parameters and results */
    struct qgc_diff_pair *next;
} qgc_diff_pair;

struct qgc_diff {
    qgc_module *given[2];     /* the caller's */
    qgc_module *left, *right; /* copies of them, regions in place */
    qgc_map originals;        /* value -> the given module's */
    qgc_map regions;          /* node -> the given module's function that it comes from */
    qgc_map owners;           /* region function of a given module -> what it was cut out of */
    qgc_context *context;
    qgc_arena arena, scratch;
    qgc_map funcs[2];   /* left function -> right function, and back */
    qgc_map symbols[2]; /* the same for symbols of dimensions */
    qgc_map hashes;     /* function -> its hash */
    qgc_map records;    /* value -> qgc_record * */
    qgc_diff_pair *first, *last;
    QGC_VEC(qgc_diff_row) rows;
    QGC_VEC(qgc_difference) differences;
    size_t counts[QGC_NUM_DIFF_CLASSES];
    size_t num_renamed;
};

/* ---- flatten.c ---- */

/* A copy whose regions stand where they are called; fills |originals| and |regions|. Destroyed
 * before the module. */
qgc_module *qgc_diff_flatten(qgc_diff *diff, const qgc_module *module);

/* ---- hash.c ---- */

/* What two nodes have to have in common to hash alike. */
typedef enum qgc_diff_level {
    QGC_DIFF_EXACT,    /* op, attributes, element types, contents of constants */
    QGC_DIFF_TYPED,    /* op, types, attributes but those of steps */
    QGC_DIFF_SKELETON, /* op */
    QGC_DIFF_STRIPPED, /* op, where steps of quantization are looked through */
    QGC_DIFF_NUM_LEVELS
} qgc_diff_level;

void qgc_diff_graph_init(qgc_diff *diff, qgc_func *func, qgc_diff_graph *out);
/* Fills |up| and |down|. */
void qgc_diff_graph_hash(qgc_diff *diff, qgc_diff_graph *graph, qgc_diff_level level);
/* Of a whole function, names aside; memoized. */
uint64_t qgc_diff_func_hash(qgc_diff *diff, qgc_func *func);
/* Of all that a value is computed from. */
uint64_t qgc_diff_value_hash(const qgc_diff_graph *graph, const qgc_value *value);

/* An op that changes the representation of its first operand, not what it means: quantize,
 * dequantize, observe, fake_quant, fake_cast, the stubs. */
bool qgc_diff_is_step(const qgc_node *node);
/* A discardable attribute that only tells where something comes from: origin, origin.scale. */
bool qgc_diff_is_label(qgc_name name);
/* The op, of an integer op the float one that it was: int_linear is a linear. */
qgc_opcode qgc_diff_kind(const qgc_node *node);
bool qgc_diff_is_constant(const qgc_node *node);
/* The value before all steps; NULL stays. */
const qgc_value *qgc_diff_base(const qgc_value *value);

/* ---- match.c ---- */

/* Fills |partner| on both sides. */
void qgc_diff_align(qgc_diff_pair *pair);

/* ---- gaps.c ---- */

typedef struct qgc_diff_match {
    uint32_t left, right; /* indices of nodes */
} qgc_diff_match;

typedef QGC_VEC(qgc_diff_match) qgc_diff_matches;

/* Pairs among the ops without partner. |out| is filled from |arena|. */
void qgc_diff_align_gaps(const qgc_diff_pair *pair, qgc_arena *arena, qgc_diff_matches *out);
/* How much two nodes have in common, operands included; 0: other ops. */
uint32_t qgc_diff_likeness(const qgc_diff_pair *pair, const qgc_node *left, const qgc_node *right);
/* Results of equal element types, and shapes that do not certainly differ. */
bool qgc_diff_types_alike(const qgc_node *left, const qgc_node *right);

/* ---- attributes: compare_attrs.c ---- */

/* Equal where names of values and functions stand for aligned ones, an absent attribute is its
 * default, and symbols of dimensions are renamed. */
bool qgc_diff_attr_equal(qgc_diff_pair *pair, const qgc_attr_spec *spec, const qgc_attr *a,
                         const qgc_attr *b);
/* Pairs symbols that stand alone in the same place. */
void qgc_diff_pair_symbols(qgc_diff *diff, const qgc_type *a, const qgc_type *b);
bool qgc_diff_dim_equal(qgc_diff *diff, qgc_dim a, qgc_dim b);
bool qgc_diff_shape_equal(qgc_diff *diff, const qgc_type *a, const qgc_type *b);
/* Whether the functions may be paired; pairs them where neither is, and queues the pair. */
bool qgc_diff_funcs_equal(qgc_diff *diff, qgc_name left, qgc_name right);
void qgc_diff_pair_funcs(qgc_diff *diff, qgc_func *left, qgc_func *right, bool is_called);

/* The right value that |value| is aligned with, or NULL. Both are of the pair's functions. */
const qgc_value *qgc_diff_counterpart(const qgc_diff_pair *pair, const qgc_value *value);

/* ---- numbers: compare_numbers.c ---- */

/* A difference of two constants of one type with different elements: weights, or the scales, zero
 * points and multipliers of a step. |what| is in the diff's arena. */
void qgc_diff_compare_constants(qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b,
                                qgc_difference *out);
/* How many steps the ends of a range move when scale and zero point change. */
/* The range of the quantized type of a step or a requantize; false: it has none. */
bool qgc_diff_quantized_range(const qgc_node *node, double *low, double *high);
double qgc_diff_steps(double ratio, double zero_left, double zero_right, double low, double high);

/* ---- compare.c ---- */

/* Appends the differences of a row's two nodes; |is_consequence| is set where they differ without
 * one. */
void qgc_diff_compare_nodes(qgc_diff_pair *pair, qgc_node *a, qgc_node *b, qgc_diff_row *row);
void qgc_diff_compare_heads(qgc_diff_pair *pair, qgc_diff_row *row);

void qgc_diff_add(qgc_diff_pair *pair, qgc_diff_row *row, qgc_diff_class kind, double distance,
                  const char *format, ...) QGC_PRINTF(5, 6);

/* ---- single.c ---- */

/* Pairs steps that only the left graph has with such that only the right one has: what has moved.
 */
void qgc_diff_find_moves(qgc_diff_pair *pair);
/* The difference that a node is which has no partner. */
void qgc_diff_compare_single(qgc_diff_pair *pair, const qgc_node *node, bool is_left,
                             qgc_diff_row *row);

/* ---- statistics.c ---- */

void qgc_diff_index_statistics(qgc_diff *diff);
void qgc_diff_compare_statistics(qgc_diff_pair *pair, const qgc_value *a, const qgc_value *b,
                                 qgc_diff_row *row);

/* ---- rows.c ---- */

/* Rows of two functions, and of one that has no partner. */
void qgc_diff_write_pair(qgc_diff_pair *pair);
void qgc_diff_write_single(qgc_diff *diff, qgc_func *func, bool is_left);
/* "@main.%c", as in the given module. */
const char *qgc_diff_value_name(qgc_diff *diff, const qgc_func *func, const qgc_value *value);

#endif

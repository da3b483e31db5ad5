/* The normalised view of an island: dequantize, op, quantize, however spelled, as one record
 * (docs/lowering.md). Partition matches claim rows on it, lower-integer prints it as integer ops;
 * neither looks at how the steps are written. Every early exit is a reason.
 *
 * An island is {op, fused add, relu and clip behind it, quantize}; its dequantize ops and constants
 * are plumbing: they belong to whoever reads them. */
#ifndef QGC_PASSES_VIEW_H
#define QGC_PASSES_VIEW_H

#include "ir/graph.h"
#include "runtime/quant.h"

/* How an island is lowered: id, description. */
#define QGC_VIEW_KINDS(X)                                                                          \
    X(PRODUCT, "convolution, linear, matmul: an integer accumulator")                              \
    X(SUM, "add, sub: two terms of a requantize")                                                  \
    X(MUL, "an integer product")                                                                   \
    X(MEAN, "average pools, means, sums: an integer sum, and a count per position")                \
    X(SEAM, "quantize of a dequantize, relu or clip alone: one term")                              \
    X(TABLE, "a function of one 8-bit value: 256 entries")                                         \
    X(MOVE, "integers moved as they are")                                                          \
    X(FLOAT, "dequantize, op, quantize as they stand")

typedef enum qgc_view_kind {
#define QGC_VIEW_KIND(id, text) QGC_VIEW_##id,
    QGC_VIEW_KINDS(QGC_VIEW_KIND)
#undef QGC_VIEW_KIND
} qgc_view_kind;

/* Why an op has no view or is not claimed: id, word in messages. */
#define QGC_VIEW_FAULTS(X)                                                                         \
    X(NOT_AN_OP, "not_an_op")                                                                      \
    X(NOT_QUANTIZED, "not_quantized")                                                              \
    X(ELEMENT_TYPE, "element_type")                                                                \
    X(CHANNELS, "channels")                                                                        \
    X(PARAMETERS, "parameters")                                                                    \
    X(BIAS, "bias")                                                                                \
    X(SEVERAL_USERS, "several_users")                                                              \
    X(RANK, "rank")                                                                                \
    X(SIZE, "size_unknown")                                                                        \
    X(NO_ROW, "no_row")                                                                            \
    X(PORT, "port")                                                                                \
    X(PART, "part")                                                                                \
    X(CONDITION, "condition")

typedef enum qgc_view_fault {
#define QGC_VIEW_FAULT(id, word) QGC_FAULT_##id,
    QGC_VIEW_FAULTS(QGC_VIEW_FAULT)
#undef QGC_VIEW_FAULT
} qgc_view_fault;

/* A type that a port of a claim row takes. */
typedef struct qgc_wanted {
    bool known;     /* else the row takes no integers there */
    bool is_result; /* of the op; else |slot| is an operand's */
    uint32_t slot;
    qgc_dtype dtype;
    bool per_channel;
} qgc_wanted;

/* |text|: what was expected and what was found, in the arena of the question. The other members are
 * set where a claim row was tried: the row that went furthest. */
typedef struct qgc_why {
    qgc_view_fault fault;
    const char *text;
    qgc_loc row;           /* of the row; QGC_NO_LOC: none was tried */
    const char *fitted;    /* its ports, parts and conditions that fitted: "x, w, groups_divide" */
    const char *condition; /* what failed: a port with its types, a part, the name of a condition */
    const char *found;     /* what is there instead */
    qgc_wanted wanted;     /* PORT: what would fit there */
} qgc_why;

const char *qgc_view_fault_word(qgc_view_fault fault);
/* Fills |why| (NULL: nobody asks); always false. */
bool qgc_why_not(qgc_arena *arena, qgc_why *why, qgc_view_fault fault, const char *format, ...)
    QGC_PRINTF(4, 5);

/* Scale and zero point of a quantize or dequantize. */
typedef struct qgc_view_params {
    bool per_channel;
    uint32_t axis;                             /* where per_channel */
    size_t num;                                /* length of the lists; 1 per tensor */
    const float *scales;                       /* NULL: scale_value is computed at run time */
    const int32_t *zero_points;                /* NULL: zero_point_value is */
    qgc_value *scale_value, *zero_point_value; /* NULL where a list is there */
} qgc_view_params;

typedef struct qgc_view_operand {
    qgc_value *value;           /* integers; a float value where dequantize is NULL */
    qgc_node *dequantize;       /* NULL: read as it is */
    bool is_constant;           /* value is a const or a weight */
    const qgc_tensor *constant; /* its contents where known */
    qgc_dtype dtype;            /* of value */
    qgc_view_params params;     /* where there is a dequantize */
} qgc_view_operand;

typedef struct qgc_view {
    qgc_view_kind kind;
    qgc_node *op;
    uint32_t num_operands; /* the op's data operands: those that annotate may quantize */
    qgc_view_operand *operands;
    const uint32_t *slots; /* their flat positions in the op */
    qgc_value *added_bias; /* a constant that is added to the op's result, or NULL */
    bool has_bias;
    const float *bias; /* [num_channels] */
    const int32_t
        *bias_steps; /* the same in steps of s_x * s_w where the graph has them, or NULL */
    bool has_add;    /* operands of a fused add: the op's result, extra */
    qgc_view_operand extra;
    bool has_function;   /* an elementwise function before the quantize: the rest stays in floats */
    bool has_clip;       /* relu or clip between op and quantize: in range */
    qgc_node *quantize;  /* NULL: a float output, or integers moved */
    qgc_value *result;   /* the value that leaves the island; of several, the first */
    qgc_dtype dtype;     /* of result */
    qgc_qparams output;  /* where there is a quantize */
    qgc_int_range range; /* bounds of q: the quantize's own, narrowed by relu and clip */
    uint32_t channel_axis; /* PRODUCT: of the result */
    size_t num_channels;   /* PRODUCT: output channels */
    uint64_t num_products; /* PRODUCT: terms of one accumulator, border windows have fewer */
    uint32_t num_nodes;
    qgc_node **nodes; /* the island in order: op, bias, add, relu ..., quantize */
} qgc_view;

/* The view of the island that begins with |op|. Memory in |arena|. */
bool qgc_view_build(qgc_node *op, qgc_arena *arena, qgc_view *out, qgc_why *why);

/* The same of an op whose data operands and result are all f32 and read as they are: kind FLOAT,
 * one node, no quantize. */
bool qgc_view_build_float(qgc_node *op, qgc_arena *arena, qgc_view *out, qgc_why *why);

/* Scale and zero point of quantize or dequantize |node|. */
bool qgc_view_read_params(const qgc_node *node, qgc_arena *arena, qgc_view_params *out,
                          qgc_why *why);
/* Both per tensor, known, and equal. */
bool qgc_view_same_params(const qgc_view_params *a, const qgc_view_params *b);

/* Scale of output channel |channel| of the weights: PRODUCT with known scales. */
float qgc_view_weight_scale(const qgc_view *view, size_t channel);

/* Largest |q - zero point|: over the elements where they are known, else over the type. */
uint32_t qgc_view_extreme(const qgc_view_operand *operand);
/* Whether no accumulator, |max_bias| in it, can overflow i32 (i64 for 16-bit operands). */
bool qgc_view_accumulates(const qgc_view *view, uint64_t max_bias, qgc_arena *arena, qgc_why *why);

/* What an integer sum is divided by, per output position: elements of a mean, 1 for reduce_sum. */
typedef struct qgc_view_counts {
    uint64_t num_terms; /* of the longest sum */
    uint32_t rank;      /* 0: one count for all; else that of the spatial dimensions */
    int64_t shape[QGC_MAX_RANK];
    const int64_t *counts; /* as many as shape says; 1 where a window is empty */
    uint32_t num_axes;     /* MEAN over axes: which; 0: windows */
    int64_t axes[QGC_MAX_RANK];
} qgc_view_counts;
bool qgc_view_count(const qgc_view *view, qgc_arena *arena, qgc_view_counts *out, qgc_why *why);

/* An op that only moves or selects elements: it commutes with quantize and dequantize. */
bool qgc_view_moves(const qgc_node *node);
/* Among the ops that move: one that compares elements, where a NaN would not commute. */
bool qgc_view_compares(const qgc_node *node);
/* const, weight, quantize, dequantize, call, return ...: nothing a backend could claim. */
bool qgc_view_is_plumbing(const qgc_node *node);

#endif

/* What an infer hook sees: operand types (and constant values), attributes; it sets result types.
 * The same hook serves the parser, the verifier, infer-shapes, and the interpreter with actual
 * shapes. */
#ifndef QGC_IR_INFER_H
#define QGC_IR_INFER_H

#include "ir/view.h"

typedef struct qgc_infer {
    qgc_context *context;
    const qgc_node *node; /* attributes, location */
    const qgc_op_info *op;
    uint32_t num_operands, num_results;
    const qgc_type *const *operands; /* flat, NULL where absent */
    const qgc_tensor *const *values; /* flat: contents where known, else NULL */
    const qgc_type **results;        /* to be set */
    qgc_arena *arena;                /* scratch for messages and lists */
    qgc_dim_lookup *lookup;          /* values of symbols in attributes, or NULL */
    void *lookup_user;
    bool *asks_unknown; /* set where the hook asks for contents that are not known; or NULL */
    bool quiet;         /* report nothing, only fail */
} qgc_infer;

/* (C|rule|) of the op does not hold: reports with the rule's text. Always QGC_FAILED. */
qgc_result qgc_infer_fail(qgc_infer *in, int rule, const char *format, ...) QGC_PRINTF(3, 4);
/* The note that follows an error about a broken rule: "rule conv2d_c3: ...". */
void qgc_note_rule(qgc_context *context, const qgc_node *node, int rule);
/* The result type cannot follow from what is known (an unknown rank, a value not constant). */
qgc_result qgc_infer_unknown(qgc_infer *in, const char *format, ...) QGC_PRINTF(2, 3);

/* The line that enforces a rule: QGC_RULE(in, 3, c % groups == 0, "%lld channels ...", ...). */
#define QGC_RULE(in, number, cond, ...)                                                            \
    do {                                                                                           \
        if (!(cond))                                                                               \
            return (void)qgc_infer_fail((in), (number), __VA_ARGS__), QGC_FAILED;                  \
    } while (0)

/* Operand by row position (not for operands behind a variadic one). NULL where absent. */
static inline const qgc_type *qgc_in(const qgc_infer *in, uint32_t index)
{
    return index < in->num_operands ? in->operands[index] : NULL;
}
static inline const qgc_tensor *qgc_in_value(const qgc_infer *in, uint32_t index)
{
    const qgc_tensor *value = index < in->num_operands ? in->values[index] : NULL;
    if (in->asks_unknown && !value && qgc_in(in, index))
        *in->asks_unknown = true;
    return value;
}

/* List of |num| integers; an absent one is the default repeated. A list of another length violates
 * |rule|. num is filled from the list where |*num| is UINT32_MAX. */
qgc_result qgc_in_ints(qgc_infer *in, const char *name, int rule, uint32_t *num,
                       const int64_t **out);
/* Axis in [-rank, rank) -> [0, rank); else violates |rule|. */
qgc_result qgc_in_axis(qgc_infer *in, int64_t axis, uint32_t rank, int rule, uint32_t *out);
/* A DIMS attribute with symbols replaced by what is bound; NULL and 0 where absent. */
const qgc_dim *qgc_in_dims(qgc_infer *in, const char *name, uint32_t *out_num);
/* An i64, i32 or i16 constant of rank 1 or 0 as integers; false where the operand is absent or
 * unknown. */
bool qgc_in_const_ints(qgc_infer *in, uint32_t index, uint32_t *out_num, const int64_t **out);

/* NumPy broadcasting of two shapes, onto |dims|; false on a certain conflict. */
bool qgc_broadcast(qgc_infer *in, const qgc_type *a, const qgc_type *b, uint32_t *out_rank,
                   qgc_dim *dims);

/* Text for messages. */
static inline const char *qgc_in_type_str(const qgc_infer *in, const qgc_type *type)
{
    return qgc_type_str(in->arena, type);
}
static inline const char *qgc_in_dim_str(const qgc_infer *in, qgc_dim dim)
{
    return qgc_dim_str(in->arena, dim);
}

static inline const qgc_type *qgc_in_type(const qgc_infer *in, qgc_dtype dtype, uint32_t rank,
                                          const qgc_dim *dims)
{
    return qgc_type_get(&in->context->types, dtype, rank, dims);
}

/* Runs the hook on a node of a graph (operand types, constants) into |results|. */
qgc_result qgc_node_infer(qgc_node *node, const qgc_type **results, bool quiet);
/* Whether the hook looks at contents of operands that no constant gives: a run has to call it
 * again. */
bool qgc_node_needs_contents(const qgc_node *node);

/* Infers, and gives the results the types found, with what they had where those are unknown. */
qgc_result qgc_node_refine(qgc_node *node, qgc_arena *scratch, bool *out_changed);
/* |inferred|, with what |written| (or NULL) knows where it has '?'. */
const qgc_type *qgc_type_refine(qgc_types *types, const qgc_type *inferred,
                                const qgc_type *written);

/* Generic row checks with actual types: arity, element types, attribute kinds. */
qgc_result qgc_check_operand_types(qgc_infer *in);

#endif

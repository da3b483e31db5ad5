/* Lowering of one island: the parts of passes/lower_integer.c. */
#ifndef QGC_PASSES_LOWER_H
#define QGC_PASSES_LOWER_H

#include "passes/pass.h"
#include "passes/view.h"

typedef struct qgc_lowering {
    const qgc_pass_env *env;
    qgc_func *func;
    const qgc_view *view;
    qgc_node *before; /* new nodes stand before the island's last */
} qgc_lowering;

/* A node without attributes and types, at the place of the island, with its location and scope. */
qgc_node *qgc_lower_node(qgc_lowering *l, qgc_opcode op, uint32_t num_operands,
                         qgc_value *const *operands);
/* Infers types and names the result "<op's name><suffix>". Returns the result. */
qgc_value *qgc_lower_finish(qgc_lowering *l, qgc_node *node, const char *suffix);
/* A const, f32 or i32/i64 as |dtype| says, of |num| elements: rank 1, or as |shape| has it. */
qgc_value *qgc_lower_floats(qgc_lowering *l, const float *values, size_t num, const char *suffix);
qgc_value *qgc_lower_tensor(qgc_lowering *l, const qgc_tensor *tensor, const char *suffix);
/* Attribute |name| where |value| is not the row's default. */
void qgc_lower_set_int(qgc_node *node, const char *name, int64_t value);
/* Attributes that both rows have. */
void qgc_lower_copy_attrs(qgc_node *to, const qgc_node *from);

/* The epilogue that gives the island's result. Lists have |num_channels| entries per term, 1: one
 * for all. */
typedef struct qgc_epilogue {
    uint32_t num_terms; /* 1 or 2 */
    qgc_value *terms[2];
    int64_t term_zero_points[2];
    size_t num_channels;
    const float *multipliers[2]; /* num_channels each; the second: one number */
    const float *c;              /* num_channels, or NULL */
    qgc_value *positions;        /* multipliers per position, in place of lists; or NULL */
} qgc_epilogue;
/* Writes the requantize; its value takes the place of the island's result. */
void qgc_lower_requantize(qgc_lowering *l, const qgc_epilogue *epilogue);
/* |by| takes the place of the island's result. */
void qgc_lower_result(qgc_lowering *l, qgc_value *by);

/* In lower_product.c. False: left as it stands, and said why. */
bool qgc_lower_product(qgc_lowering *l);

#endif

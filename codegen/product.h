/* A sum of integer products and the requantize that ends it, as the planners of generated kernels
 * see them. */
#ifndef QGC_CODEGEN_PRODUCT_H
#define QGC_CODEGEN_PRODUCT_H

#include "codegen/planner.h"

/* Constants of a requantize: one value, or a list of one per channel. */
typedef struct qgc_channel_values {
    float value;
    const float *list; /* or NULL */
} qgc_channel_values;

static inline float qgc_channel_value(const qgc_channel_values *values, int64_t channel)
{
    return values->list ? values->list[channel] : values->value;
}

typedef struct qgc_product {
    bool takes_16_bits;              /* of the requantize's result; then of its only term */
    bool is_raw;                     /* the node's requantize is left alone */
    bool takes_zero_point;           /* of x, computed: an operand */
    const qgc_node *node, *epilogue; /* epilogue NULL: the sum itself is the result */
    uint32_t term;                   /* of the epilogue: the node's sum */
    const qgc_value *x;
    const qgc_tensor *weights;
    int32_t weight_shift;          /* subtracted to make weights signed: 128 for u8 */
    int32_t x_stored_zero_point;   /* of the unsigned form; the whole one is this + */
    const qgc_value *x_zero_point; /* i32, or NULL */
    const qgc_tensor *bias;
    const qgc_value *addend; /* the epilogue's other term, or NULL; 8-bit, in the result's shape */
    int32_t addend_zero_point; /* of the unsigned form */
    qgc_channel_values multipliers, addend_multipliers, c;
} qgc_product;

/* The requantize that alone uses |node|'s sum, or NULL. */
const qgc_node *qgc_epilogue_of(const qgc_node *node);
bool qgc_is_8bit(qgc_dtype dtype);
bool qgc_is_16bit(qgc_dtype dtype); /* an integer */
/* What makes the unsigned form of a tensor: 128 for i8. */
int32_t qgc_unsigned_shift(qgc_dtype dtype);
const qgc_tensor *qgc_constant_operand(const qgc_node *node, uint32_t index);

/* What a kernel of |m| stores, after qgc_match_epilogue. */
static inline const qgc_value *qgc_product_result(const qgc_product *m)
{
    return m->epilogue ? &m->epilogue->results[0] : &m->node->results[0];
}

/* Fill |m|, whose node is set; NULL or why a kernel cannot take it. */
const char *qgc_match_x(qgc_product *m);
const char *qgc_match_weights(qgc_product *m);
/* |channel_axis| of the result, |channels| along it. */
const char *qgc_match_epilogue(qgc_product *m, int64_t channels, uint32_t channel_axis);

/* The epilogue's numbers. |max_sum|: the largest |acc * multiplier| + |c|. */
qgc_epilogue qgc_make_epilogue(const qgc_product *m, double max_sum);
/* out[i] = the value of channel first + order(i) for a block; 0 behind the last channel. */
void qgc_fill_block(const qgc_channel_values *values, int64_t first, int64_t end, uint32_t vectors,
                    uint32_t lanes, float *out);

#endif

/* Tensor dimensions: a number, or an expression over symbols ("N", "2*N+1", "(H-1)/2+1"), or
 * unknown.
 *
 * Expressions are polynomials with integer coefficients over atoms; an atom is a symbol or a floor
 * division of a polynomial by another. They are kept in one canonical form and interned in a
 * qgc_dims table, so that equal expressions are equal pointers and print alike:
 * (N+N) is 2*N, (2*H)/2 is H, (4*H*W)/(2*W) is 2*H, (2*H+4)/2 is H+2, ((H/2))/2 is H/4,
 * (3*H)/2 is H+H/2, (H+1)/2 is (H-1)/2+1, (N*N-1)/(N-1) is N+1. That a divisor is not 0 is assumed:
 * an expression with a symbolic one stands for nothing where it is 0.
 * A symbol means the same non-negative number everywhere in a module; division is floor division.
 * '?' is a dimension that is not known before the symbols are bound; any arithmetic with it is '?'.
 */
#ifndef QGC_IR_DIM_H
#define QGC_IR_DIM_H

#include "base/str.h"

typedef struct qgc_dim_expr qgc_dim_expr;

typedef struct qgc_dim {
    int64_t value;            /* where expr is NULL */
    const qgc_dim_expr *expr; /* interned */
} qgc_dim;

typedef struct qgc_dims {
    qgc_arena *arena;
    void *table; /* private */
} qgc_dims;

static inline qgc_dim qgc_dim_number(int64_t value)
{
    return (qgc_dim){value, NULL};
}
static inline bool qgc_dim_is_number(qgc_dim d)
{
    return d.expr == NULL;
}
static inline bool qgc_dim_equal(qgc_dim a, qgc_dim b)
{
    return a.expr == b.expr && (a.expr || a.value == b.value);
}
qgc_dim qgc_dim_unknown(qgc_dims *dims);
bool qgc_dim_is_unknown(qgc_dim d);
qgc_dim qgc_dim_symbol(qgc_dims *dims, qgc_name name);
/* NULL unless |d| is exactly one symbol. */
qgc_name qgc_dim_as_symbol(qgc_dim d);

/* Arithmetic. A number that would overflow i64, or an expression beyond the internal size limit
 * (64 terms, degree 8, depth 16, 4096 parts written out), becomes unknown: never wraps, never
 * explodes. */
qgc_dim qgc_dim_add(qgc_dims *dims, qgc_dim a, qgc_dim b);
qgc_dim qgc_dim_sub(qgc_dims *dims, qgc_dim a, qgc_dim b);
qgc_dim qgc_dim_mul(qgc_dims *dims, qgc_dim a, qgc_dim b);
/* Floor division. Division by the number 0 is unknown. */
qgc_dim qgc_dim_div(qgc_dims *dims, qgc_dim a, qgc_dim b);
/* True where a == b * quotient is certain for all values of the symbols. */
bool qgc_dim_divides(qgc_dims *dims, qgc_dim b, qgc_dim a, qgc_dim *out_quotient);

/* Replaces symbols: |lookup| returns false where a symbol stays. */
typedef bool qgc_dim_lookup(void *user, qgc_name symbol, int64_t *out);
qgc_dim qgc_dim_bind(qgc_dims *dims, qgc_dim d, qgc_dim_lookup *lookup, void *user);
/* Calls |visit| for each symbol in |d|, in name order, once each. */
void qgc_dim_symbols(qgc_dim d, void (*visit)(void *user, qgc_name symbol), void *user);

/* Builds something from a dimension: numbers and symbols, joined by '+', '*' and '/' (floor
 * division). |d| is known. */
typedef struct qgc_dim_builder {
    void *user;
    void *(*number)(void *user, int64_t value);
    void *(*symbol)(void *user, qgc_name symbol);
    void *(*join)(void *user, char sign, void *a, void *b);
} qgc_dim_builder;
void *qgc_dim_build(qgc_dim d, const qgc_dim_builder *builder);

/* "3", "N", "2*N+1", "(H-1)/2+1", "?". Reads back to the same dimension. Terms print in a fixed
 * order (degree, then symbol names; the number last). */
void qgc_dim_print(qgc_text *out, qgc_dim d);

#endif

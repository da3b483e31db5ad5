/* Patterns of passes/idioms.def: read from text, and matched against the graph. */
#ifndef QGC_PASSES_IDIOM_H
#define QGC_PASSES_IDIOM_H

#include "passes/pass.h"

enum { QGC_IDIOM_NAMES = 4, QGC_IDIOM_TERMS = 4, QGC_IDIOM_NODES = 32 };

typedef enum qgc_term_kind {
    QGC_TERM_VALUE,  /* any value; of the same name the same one */
    QGC_TERM_NUMBER, /* a scalar constant */
    QGC_TERM_SCALAR, /* any scalar constant, whose number is bound to the name */
    QGC_TERM_OP,     /* an op, its first operands */
    QGC_TERM_NEST,   /* a product or a sum of the items and a number */
} qgc_term_kind;

typedef struct qgc_term {
    qgc_term_kind kind;
    qgc_opcode op;   /* OP; NEST: mul or add */
    double number;   /* NUMBER; NEST: of its constants, 1 or 0 where there are none */
    uint32_t name;   /* VALUE: of |values|; SCALAR, NEST with |has_scalar|: of |scalars| */
    bool has_scalar; /* NEST: the number may be any */
    uint32_t num;
    struct qgc_term *items[QGC_IDIOM_TERMS];
    struct qgc_term *otherwise; /* another way to write it, or NULL */
} qgc_term;

/* What a pattern has matched. Names are numbered in the order in which the pattern has them. */
typedef struct qgc_idiom_match {
    qgc_value *values[QGC_IDIOM_NAMES]; /* NULL: not bound */
    double scalars[QGC_IDIOM_NAMES];    /* NaN: not bound */
    uint32_t num_nodes;
    qgc_node *nodes[QGC_IDIOM_NODES]; /* the pieces, the root among them; constants are none */
} qgc_idiom_match;

/* The text is one of ours: a mistake in it is a bug. Memory of |arena|. */
qgc_term *qgc_term_parse(qgc_arena *arena, const char *text);

/* Whether |value| is what the term says. */
bool qgc_idiom_matches(const qgc_term *term, qgc_value *value, qgc_idiom_match *out);

#endif

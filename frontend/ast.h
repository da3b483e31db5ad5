/* Small syntax trees of expressions: attribute values, operands, types, rules. Statements never
 * become trees: build.c turns each into graph parts at once. Trees live in the builder's scratch
 * arena. */
#ifndef QGC_FRONTEND_AST_H
#define QGC_FRONTEND_AST_H

#include "base/diag.h"

typedef enum qgc_ast_kind {
    QGC_AST_INT,
    QGC_AST_FLOAT,
    QGC_AST_STRING,
    QGC_AST_IDENT,
    QGC_AST_VALUE,   /* %x */
    QGC_AST_FUNC,    /* @f */
    QGC_AST_ABSENT,  /* _ */
    QGC_AST_UNKNOWN, /* ? */
    QGC_AST_LIST,    /* [children] */
    QGC_AST_MAP,     /* {children: PAIR} */
    QGC_AST_PAIR,    /* name = child, or name child */
    QGC_AST_NAMED,   /* name: children (patterns) */
    QGC_AST_CALL,    /* name(children) */
    QGC_AST_INDEX,   /* name[children] */
    QGC_AST_BINARY,  /* child op child; op is + - * / or > (an arrow) */
    QGC_AST_NEGATE,  /* -child */
} qgc_ast_kind;

typedef struct qgc_ast qgc_ast;
struct qgc_ast {
    qgc_ast_kind kind;
    char op;
    uint16_t depth; /* of the tree below; limited, so that walks may recurse */
    qgc_str text;   /* the token's or name's bytes in the source buffer */
    qgc_loc loc;
    qgc_ast *next;  /* sibling */
    qgc_ast *first; /* children */
    uint32_t num;   /* of children */
};

/* A list under construction in the grammar. */
typedef struct qgc_ast_list {
    qgc_ast *first, *last;
    uint32_t num;
} qgc_ast_list;

/* Canonical text of a tree, for printing rules files. */
void qgc_ast_print(qgc_text *out, const qgc_ast *ast);

#endif

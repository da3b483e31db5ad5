/* Turns grammar productions into graph parts; called by grammar.y only (and parse.c, which owns the
 * builder). Errors are reported and parsing goes on: a builder that has failed gives no module. */
#ifndef QGC_FRONTEND_BUILD_H
#define QGC_FRONTEND_BUILD_H

#include "frontend/ast.h"
#include "frontend/lex.h"
#include "frontend/rules.h"
#include "ir/infer.h"

typedef struct qgc_builder {
    qgc_context *context;
    qgc_module *module;                      /* NULL where rules or patterns are parsed */
    qgc_rules *rules;                        /* NULL where a module is parsed */
    qgc_func *func;                          /* the one that is open, or NULL */
    const struct qgc_parse_options *options; /* or NULL */
    bool opened_weights;
    qgc_arena *scratch; /* emptied after each statement */
    qgc_arena_mark mark;
    qgc_loc current; /* the token that is being parsed */
    bool has_form;
    bool too_deep; /* brackets nested beyond the parser's stack: reported */
    bool failed;
} qgc_builder;

/* ---- trees (ast.c) ---- */
qgc_ast *qgc_ast_leaf(qgc_builder *b, qgc_ast_kind kind, const qgc_token *token);
qgc_ast *qgc_ast_binary(qgc_builder *b, const qgc_token *op, qgc_ast *left, qgc_ast *right);
qgc_ast *qgc_ast_negate(qgc_builder *b, const qgc_token *op, qgc_ast *operand);
qgc_ast *qgc_ast_group(qgc_builder *b, qgc_ast_kind kind, const qgc_token *token,
                       qgc_ast_list children, const qgc_token *end);
qgc_ast *qgc_ast_pair(qgc_builder *b, const qgc_token *name, qgc_ast *value);
qgc_ast_list qgc_ast_append(qgc_ast_list list, qgc_ast *item);
qgc_ast_list qgc_ast_prepend(qgc_ast *item, qgc_ast_list list);

/* ---- modules (build.c) ---- */
void qgc_build_weights(qgc_builder *b, const qgc_token *self, const qgc_token *name);
void qgc_build_form(qgc_builder *b, const qgc_token *name);
void qgc_build_provenance(qgc_builder *b, const qgc_ast *map);
/* |word| is `at` and |site| a call's result for statistics per call site; both NULL else. */
void qgc_build_stats(qgc_builder *b, const qgc_token *func, const qgc_token *value,
                     const qgc_token *word, const qgc_token *site, const qgc_ast *map);
qgc_token qgc_build_target(qgc_builder *b, const qgc_token *word, const qgc_token *name);
void qgc_build_func(qgc_builder *b, const qgc_token *name, qgc_ast_list params,
                    qgc_ast_list results, const qgc_token *target);
/* |next| begins a function while another one is open. */
void qgc_build_unclosed_func(qgc_builder *b, const qgc_token *next);
void qgc_build_func_end(qgc_builder *b);
/* A statement that does not parse: its results are known, but have no type. */
void qgc_build_failed_statement(qgc_builder *b, qgc_ast_list results);
void qgc_build_statement(qgc_builder *b, qgc_ast_list results, const qgc_token *op,
                         qgc_ast_list args, const qgc_ast *attrs, qgc_ast_list types,
                         const qgc_token *scope);

/* ---- rules files and patterns (build_rules.c) ---- */
void qgc_build_rule(qgc_builder *b, qgc_ast_list words, qgc_ast_list actions);
void qgc_build_claim(qgc_builder *b, const qgc_token *op, qgc_ast_list args, qgc_ast_list where,
                     const qgc_token *benefit);

/* Quantizer tables: |row| is `take` or `sweep`. */
void qgc_build_table_spec(qgc_builder *b, const qgc_token *name, qgc_ast *spec);
void qgc_build_take(qgc_builder *b, const qgc_token *row, qgc_ast_list steps, qgc_ast_list where);
qgc_ast *qgc_build_step(qgc_builder *b, const qgc_token *begin, qgc_ast_list ops,
                        qgc_ast_list ports, const qgc_token *end);

/* ---- errors ---- */
void qgc_build_syntax_error(qgc_builder *b, int kind, const qgc_token *token);
void qgc_build_too_deep(qgc_builder *b);
void qgc_build_parse_failure(qgc_builder *b);
/* Reports and marks the builder failed. */
void qgc_build_error(qgc_builder *b, qgc_loc loc, qgc_diag_id id, const char *format, ...)
    QGC_PRINTF(4, 5);
/* "; did you mean 'x'?" where one of |num| candidates is certainly meant, else "". */
const char *qgc_did_you_mean(qgc_builder *b, qgc_str found, qgc_str (*candidate)(void *, size_t),
                             void *user, size_t num);

/* ---- values of trees (build_attr.c, build_literal.c); false: reported ---- */
/* "%x", '%"a b"' or '@"scope"' to its name. */
bool qgc_build_name(qgc_builder *b, qgc_str text, qgc_loc loc, qgc_name *out);
bool qgc_build_type(qgc_builder *b, const qgc_ast *ast, const qgc_type **out);
bool qgc_build_dim(qgc_builder *b, const qgc_ast *ast, qgc_dim *out);
bool qgc_build_int(qgc_builder *b, const qgc_ast *ast, int64_t *out);
bool qgc_build_spec(qgc_builder *b, const qgc_ast *ast, const qgc_spec **out);
/* An attribute of the row. */
bool qgc_build_attr(qgc_builder *b, const qgc_attr_spec *row, const qgc_ast *ast, qgc_attr *out);
/* A discardable attribute, or part of a record: the kind follows from the literal. */
bool qgc_build_free_attr(qgc_builder *b, qgc_str name, const qgc_ast *ast, qgc_attr *out);
/* A literal read against its type; the data lies in the module's arena. */
bool qgc_build_literal(qgc_builder *b, const qgc_ast *ast, const qgc_type *type,
                       const qgc_tensor **out);

#endif

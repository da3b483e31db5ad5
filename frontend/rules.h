/* Rules files and backend patterns as parsed: rows of text, with locations. What the words mean is
 * decided by who uses them (annotate, partition). */
#ifndef QGC_FRONTEND_RULES_H
#define QGC_FRONTEND_RULES_H

#include "base/vec.h"
#include "frontend/ast.h"

/* `op conv2d under "encoder" => in i8, weight i8`: words before the arrow, actions behind it.
 * An action is a spec (no port), or a port with a spec or a list of specs. */
typedef struct qgc_rule {
    qgc_ast_list words;
    qgc_ast_list actions; /* PAIR: text is the port, first the spec; anything else: a bare spec */
    qgc_loc loc;
} qgc_rule;

/* `claim conv2d(x: u8|i8, w: const i8.ch, add?) where a, b benefit 10` */
typedef struct qgc_claim {
    qgc_str op;
    qgc_ast_list ports; /* NAMED: text port, children alternatives; CALL: optional part; IDENT */
    qgc_ast_list where; /* IDENT */
    int64_t benefit;    /* 0 where not written */
    uint32_t pattern;   /* of a target: index of the qgc_backend_pattern that has the row */
    qgc_loc loc;
} qgc_claim;

/* `spec act = u8.affine.hist`: a name that ports may have instead of a spec. */
typedef struct qgc_table_spec {
    qgc_str name;
    const qgc_ast *spec;
    qgc_loc loc;
} qgc_table_spec;

/* `take conv2d|conv3d(x: act, w: weight) -> relu(y: act) where single_use`, or `sweep ...` */
typedef struct qgc_take {
    bool is_sweep;
    qgc_ast_list
        steps; /* LIST of two LISTs: ops (IDENT), ports (PAIR: text port, first the spec) */
    qgc_ast_list where; /* IDENT */
    qgc_loc loc;
} qgc_take;

typedef struct qgc_rules {
    qgc_arena *arena;
    QGC_VEC(qgc_rule) rules;
    QGC_VEC(qgc_claim) claims;
    QGC_VEC(qgc_table_spec) specs;
    QGC_VEC(qgc_take) takes;
} qgc_rules;

/* Without a line end. */
void qgc_rule_print(qgc_text *out, const qgc_rule *rule);
void qgc_rules_print(qgc_text *out, const qgc_rules *rules);

#endif

/* Rules files: which value becomes what (docs/quantization.md). Rows in the order of the file,
 * presets spelled out; a later row wins. frontend/ has read the syntax; here the words get their
 * meaning. */
#ifndef QGC_PASSES_RULES_H
#define QGC_PASSES_RULES_H

#include "frontend/rules.h"
#include "passes/pass.h"
#include "passes/quantizer.h"

typedef enum qgc_rule_select {
    QGC_SELECT_ALL,       /* all */
    QGC_SELECT_OP,        /* op MNEMONIC [under "scope"] */
    QGC_SELECT_NAME,      /* name "scope": ops whose scope is it or begins with its components */
    QGC_SELECT_VALUE,     /* value "%v" or "@f.%v" */
    QGC_SELECT_TABLE,     /* table "file" top N | ratio R: values, the first of the file */
    QGC_SELECT_QUANTIZER, /* quantizer NAME|"file" [op MNEMONIC] [under "scope"]: what its rows take
                           */
    QGC_SELECT_TARGET,    /* target "name" [op MNEMONIC] [under "scope"]: of partition */
    QGC_SELECT_PORT,      /* port "@f.%v" MNEMONIC PORT: a row of a change log */
} qgc_rule_select;

/* Ports that an action is about. */
typedef enum qgc_rule_port {
    QGC_PORT_ANY,     /* no port written: activations and weights */
    QGC_PORT_ACT,     /* act: inputs and results */
    QGC_PORT_IN,      /* in: data operands; [a, b]: one after the other */
    QGC_PORT_OUT,     /* out */
    QGC_PORT_WEIGHT,  /* weight: constants at a weight's place */
    QGC_PORT_BIAS,    /* bias: derive or float */
    QGC_PORT_OPERAND, /* the name of an operand in the op's row */
} qgc_rule_port;

typedef struct qgc_rule_action {
    qgc_rule_port port;
    qgc_str operand;       /* OPERAND */
    uint32_t num_specs;    /* 1, or more for `in [a, b]` */
    const qgc_spec *specs; /* own specs may have a type alone: it is merged with what was there */
} qgc_rule_action;

/* What a `port` row says: exactly this is written, and nothing else has a say. */
typedef struct qgc_exact_port {
    qgc_str func, value; /* of the op's first result */
    qgc_opcode op;
    qgc_str port;     /* "x", "parts.1", "out" */
    qgc_spec spec;    /* FLOAT: none */
    qgc_attr history; /* of `rules.<port>`, or NONE */
} qgc_exact_port;

typedef struct qgc_rule_row {
    qgc_rule_select select;
    qgc_opcode op; /* OP; QUANTIZER, TARGET where |has_op|: chains with it */
    bool has_op;
    qgc_str text;             /* NAME: prefix, VALUE: name, TARGET: name */
    qgc_str under;            /* OP, QUANTIZER, TARGET: prefix, or empty */
    qgc_quantizer *quantizer; /* QUANTIZER: its specs are those of this row */
    qgc_interner *values;     /* TABLE: names */
    qgc_exact_port *exact;    /* PORT */
    uint32_t num_actions;
    qgc_rule_action *actions;
    qgc_loc loc;
    const char *preset;        /* the preset it comes from, or NULL */
    const char *hash;          /* TABLE, QUANTIZER: of the file that it names, or NULL */
    const char *line;          /* as it is printed, with the hash in a comment */
    uint32_t matched, decided; /* ports that it spoke for; that it decided */
} qgc_rule_row;

typedef struct qgc_rule_list {
    bool has_ports;     /* a change log: rows are PORT or TARGET, beside what `row` lines tell */
    bool has_quantizer; /* then the other rows only change what quantizers gave */
    bool is_users; /* some row comes from a file of the user's: what decided is worth recording */
    QGC_VEC(qgc_rule_row) rows;
    QGC_VEC(const char *)
    lines; /* what the graph is to say that it was annotated by: the rows, in
              a change log those that it says it was made by */
} qgc_rule_list;

/* Reads and checks |path|, or the preset |preset| where |path| is NULL. Memory of env->scratch.
 * NULL: reported. */
qgc_rule_list *qgc_rule_list_load(const qgc_pass_env *env, const char *path, const char *preset);

/* The same from a text, for options. */
qgc_rule_list *qgc_rule_list_from(const qgc_pass_env *env, const char *text);

/* The same for one `port` row (rules_port.c). */
bool qgc_rule_read_port(const qgc_pass_env *env, const qgc_rule *rule, qgc_rule_row *row);
/* "@f.%v", also with quotes as graphs print them, into its names; false: reported, or no such
 * name. */
bool qgc_rule_split_name(const qgc_pass_env *env, qgc_str name, qgc_loc loc, qgc_str *func,
                         qgc_str *value);

/* What a place was after each row that spoke for it. */
typedef struct qgc_rule_step {
    uint32_t row;
    qgc_spec spec;
} qgc_rule_step;
typedef struct qgc_rule_steps {
    qgc_arena *arena;
    QGC_VEC(qgc_rule_step) list;
} qgc_rule_steps;

/* One place of an op that can be quantized. */
typedef struct qgc_port_site {
    const qgc_node *node;
    const qgc_value *value;
    bool is_result, is_weight, is_bias;
    qgc_str operand;       /* its name in the row; empty for results */
    uint32_t data_index;   /* among the activations of the op */
    const qgc_spec *start; /* from a quantizer: what later rows change; NULL: none */
    uint32_t start_row;    /* the row of the quantizer */
    qgc_rule_steps *steps; /* gets all that was said, or NULL */
    bool is_question;      /* not counted as a place that rows decide */
} qgc_port_site;

/* The last `target` row that is about |node|, or NULL. */
qgc_rule_row *qgc_rules_target(const qgc_rule_list *list, const qgc_node *node);

/* What the rows say about a place. */
typedef struct qgc_rule_decision {
    bool is_float; /* nothing spoke for it, or a row says float */
    qgc_spec spec;
    uint32_t num_rows;
    uint32_t
        rows[16]; /* rows that spoke, in order; the last of them decided. At most 16 are kept */
} qgc_rule_decision;
qgc_rule_decision qgc_rules_decide(qgc_rule_list *list, const qgc_port_site *site);

/* A bare type keeps the earlier scheme and observer and resets the range. |earlier| NULL: the usual
 * ones of the place. */
qgc_spec qgc_rule_merge(const qgc_spec *earlier, const qgc_spec *later, bool is_weight);
/* A spec as rules write it; false: reported. */
bool qgc_rule_read_spec(const qgc_pass_env *env, const struct qgc_ast *ast, qgc_spec *out);
/* Whether |node| lies in the module path |prefix|, or is named by it; "" is everywhere. */
bool qgc_rule_in_scope(const qgc_node *node, qgc_str prefix);

/* Rows that spoke for nothing, and rows that later ones took everything from: warnings. Rows of
 * presets are no one's mistake. |targets|: only the `target` rows, or only the others. */
void qgc_rules_warn(const qgc_rule_list *list, bool targets, const qgc_pass_env *env);

#endif

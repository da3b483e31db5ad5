/* Quantizer tables: what another framework's quantizer annotates, as rows (docs/quantize.md).
 *
 *   spec act = u8.affine.hist
 *   take conv2d(x: act, w: weight) -> relu(y: act) where single_use
 *   sweep max_pool(x: producer, y: share(x))
 *
 * A row is a chain of ops, each the user of the result before it, with what their ports become. The
 * rows of `take` go over the graph one after the other, neighbouring rows of `sweep` together, op
 * by op; an op belongs to the first row that takes it. */
#ifndef QGC_PASSES_QUANTIZER_H
#define QGC_PASSES_QUANTIZER_H

#include "passes/pass.h"

enum { QGC_MAX_STEPS = 4 };

typedef enum qgc_take_kind {
    QGC_TAKE_SPEC,     /* a spec, written or by its name in the table */
    QGC_TAKE_SHARE,    /* share(port): the parameters of another port of the op */
    QGC_TAKE_PRODUCER, /* producer: those of the value itself, which must have some */
    QGC_TAKE_DERIVE,   /* derive(port, port): for biases */
} qgc_take_kind;

typedef struct qgc_take_value {
    qgc_take_kind kind;
    qgc_str name;     /* SPEC: in the table, or empty */
    qgc_spec spec;    /* SPEC without a name */
    qgc_str ports[2]; /* SHARE, DERIVE */
} qgc_take_value;

/* One value for each of a list of operands, the last for all further ones. */
typedef struct qgc_take_port {
    qgc_str
        name; /* an operand's or the result's name; "other": operands the chain does not enter by */
    uint32_t num;
    qgc_take_value *values;
} qgc_take_port;

typedef struct qgc_take_step {
    uint32_t num_ops, num_ports;
    qgc_opcode *ops;
    qgc_take_port *ports;
} qgc_take_step;

struct qgc_take_condition;

typedef struct qgc_take_row {
    qgc_loc loc;
    bool is_sweep;
    uint32_t num_steps, num_conditions;
    qgc_take_step steps[QGC_MAX_STEPS];
    const struct qgc_take_condition **conditions;
} qgc_take_row;

typedef struct qgc_named_spec {
    qgc_str name;
    qgc_spec spec;
} qgc_named_spec;

typedef struct qgc_quantizer {
    const char *name; /* for messages */
    QGC_VEC(qgc_named_spec) specs;
    QGC_VEC(qgc_take_row) rows;
} qgc_quantizer;

/* A shipped table, or the file |name| where |is_file|; every word checked. Memory of env->scratch.
 * NULL: reported, at |loc| where there is no such table. */
qgc_quantizer *qgc_quantizer_load(const qgc_pass_env *env, const char *name, bool is_file,
                                  qgc_loc loc);
/* The table's spec of that name, or NULL. */
qgc_spec *qgc_quantizer_spec(const qgc_quantizer *quantizer, qgc_str name);

/* ---- quantizer_match.c ---- */

struct qgc_annotator;
/* What has been taken, by nodes: of one function, by all its quantizers. */
typedef struct qgc_taken {
    qgc_map nodes; /* node -> one of the two below */
} qgc_taken;
extern const char qgc_taken_inner, qgc_taken_last; /* addresses only */

/* Runs the table that rule row |rule| names over |func|. True where anything was taken. */
bool qgc_quantizer_apply(struct qgc_annotator *annotator, uint32_t rule, qgc_func *func,
                         qgc_taken *taken);
/* Why no row of the table takes |node|. */
const char *qgc_quantizer_reason(struct qgc_annotator *annotator, uint32_t rule, qgc_node *node,
                                 qgc_taken *taken);

/* ---- quantizer_conditions.c ---- */

typedef struct qgc_take_chain {
    uint32_t num;
    qgc_node *nodes[QGC_MAX_STEPS];
    uint32_t links[QGC_MAX_STEPS]; /* the operand slot by which the chain enters; of 0: none */
    const qgc_taken *taken;
} qgc_take_chain;

typedef struct qgc_take_condition {
    const char *name, *summary;
    bool (*holds)(const qgc_take_chain *chain);
} qgc_take_condition;

/* NULL where there is none of that name; |known| gets a list of all, for the message. */
const qgc_take_condition *qgc_take_condition_find(qgc_str name, qgc_text *known);

/* Whether annotate may give the operand a spec as an activation or weight. */
bool qgc_is_data_operand(const qgc_node *node, uint32_t slot);

#endif

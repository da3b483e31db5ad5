/* The change log of annotate (docs/quantize.md): per function, value and port every decision in
 * order, as comments, and what the port became in the end, as a `port` row. As a rules file over
 * the same float graph it gives the same annotated graph, byte for byte. */
#ifndef QGC_PASSES_CHANGE_LOG_H
#define QGC_PASSES_CHANGE_LOG_H

#include "passes/rules.h"

typedef struct qgc_change {
    qgc_spec spec;   /* what the port then was; FLOAT: nothing */
    qgc_loc rule;    /* of the row that said so; or none */
    qgc_loc table;   /* of the row of a quantizer table, where |rule| names the table; or none */
    const char *why; /* where no rule said so; or NULL */
} qgc_change;

typedef struct qgc_change_log qgc_change_log;

/* Memory of env->scratch. */
qgc_change_log *qgc_change_log_create(const qgc_pass_env *env);
/* |slot|: of an operand, or UINT32_MAX for the results. */
void qgc_change_log_add(qgc_change_log *log, const qgc_node *node, uint32_t slot,
                        const qgc_change *change);
/* Why no port of |node| has a spec. */
void qgc_change_log_stays(qgc_change_log *log, const qgc_node *node, const char *why);
/* Whole or not at all. The rows of |rules| that are of other passes go along. */
qgc_result qgc_change_log_save(const qgc_change_log *log, const qgc_module *module,
                               const qgc_rule_list *rules, const char *path);

/* Writes what the `port` rows of |rules| say. False: a row does not fit the graph (reported). */
bool qgc_change_log_replay(const qgc_rule_list *rules, qgc_module *module, const qgc_pass_env *env,
                           qgc_change_log *log);

#endif

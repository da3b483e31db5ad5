/* What annotate and the quantizer tables share: giving one port its spec. */
#ifndef QGC_PASSES_ANNOTATE_H
#define QGC_PASSES_ANNOTATE_H

#include "passes/change_log.h"
#include "passes/rules.h"
#include "passes/stubs.h"

typedef struct qgc_annotator {
    const qgc_pass_env *env;
    qgc_rule_list *rules;
    qgc_stubs stubs;
    qgc_change_log *log; /* or NULL */
    qgc_loc taking;      /* the row of a quantizer table that takes a chain */
    qgc_map finite;      /* constants: known to be so, or not */
    bool failed;
} qgc_annotator;

#define QGC_RESULT_SLOT UINT32_MAX /* in place of an operand's slot */

/* Gives the port |start|, from the quantizer of rule row |start_row|, or what later rules make of
 * it. False where they make it float. */
bool qgc_annotate_port(qgc_annotator *annotator, qgc_node *node, uint32_t slot,
                       const qgc_spec *start, uint32_t start_row);
/* Takes back what qgc_annotate_port wrote. */
void qgc_annotate_drop(const qgc_annotator *annotator, qgc_node *node, uint32_t slot);
/* The operand that is a constant with an infinity or a NaN, for which there are no integers, so
 * that the op stays float; or NULL. */
const qgc_operand_spec *qgc_annotate_infinite(qgc_annotator *annotator, const qgc_node *node);
/* Whether rules say of every port of the op that it stays float, or it lies outside the
 * module's stubs: no quantizer takes it then. */
bool qgc_annotate_excludes(qgc_annotator *annotator, qgc_node *node);

#endif

/* Text to graph. */
#ifndef QGC_FRONTEND_PARSE_H
#define QGC_FRONTEND_PARSE_H

#include "frontend/rules.h"
#include "ir/graph.h"

/* Opens the weights files that a module names; sets module->find_weight. NULL: names stay unbound.
 */
typedef qgc_result qgc_open_weights(void *user, qgc_module *module);

typedef struct qgc_parse_options {
    qgc_open_weights *open_weights;
    void *user;
} qgc_parse_options;

/* Parses and verifies source |source|, its seal, too. NULL: errors were reported. */
qgc_module *qgc_parse_module(qgc_context *context, uint32_t source,
                             const qgc_parse_options *options);
/* A rules file or backend patterns; rows live in the context's arena. NULL: errors were reported.
 */
qgc_rules *qgc_parse_rules(qgc_context *context, uint32_t source);
qgc_rules *qgc_parse_patterns(qgc_context *context, uint32_t source);

#endif

/* What looks wrong in a graph, in any form. */
#ifndef QGC_CHECK_H
#define QGC_CHECK_H

#include "qgc/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A finding in its parts; NULL: it has no such part. The strings live as long as the context. */
typedef struct qgc_finding {
    const char *code, *severity, *check; /* "W0820", "warning", "unfused ops" */
    const char *message, *note;
    const char *op, *value, *help; /* "linear", "@main.%c" */
    const char *file;              /* NULL: it has no place */
    uint32_t line, column;         /* from 1 */
} qgc_finding;

typedef void qgc_finding_row(void *user, const qgc_finding *finding);

typedef struct qgc_structure_options {
    const char *rules;        /* a rules file: of a graph that is not annotated yet; or NULL */
    qgc_module *stats;        /* a calibrated graph to take statistics of values from; or NULL */
    qgc_finding_row *finding; /* called for each finding, check by check; or NULL */
    void *user;
    bool is_silent; /* findings are not reported, only handed to |finding| */
} qgc_structure_options;

/* Reports findings: diagnostics with the fields check, op, value and help. QGC_FAILED: the graph
 * could not be checked. *out_warnings: findings that are not remarks. The module stays as it is. */
QGC_API qgc_result qgc_module_check(qgc_module *module, const qgc_structure_options *options,
                                    size_t *out_warnings);

/* The checks, for help and pages: code, what it finds, what helps; NULL after the last. */
QGC_API const char *qgc_check_row(size_t index, const char **out_summary, const char **out_help);

/* Which element types the ops of each kind read and give: "u8, i8 -> u8". */
typedef void qgc_types_row(void *user, const char *op, const char *types, size_t num);
QGC_API void qgc_module_types(qgc_module *module, qgc_types_row *row, void *user);

#ifdef __cplusplus
}
#endif
#endif

/* The checks of `qgc check`: a table, one function each. */
#ifndef QGC_PASSES_REPORT_CHECK_H
#define QGC_PASSES_REPORT_CHECK_H

#include "ir/graph.h"
#include "qgc/check.h"

typedef struct qgc_checker {
    qgc_module *module; /* as given */
    qgc_module *graph;  /* with observers or steps: a copy, or the module */
    qgc_module *stats;
    qgc_context *context;
    qgc_arena *arena;
    const struct qgc_site_costs *site_costs; /* check_sharing.c: once they are measured */
    const struct qgc_check *check;           /* the row at hand */
} qgc_checker;

typedef struct qgc_check {
    qgc_diag_id id;
    void (*run)(qgc_checker *c);
    const char *help;
} qgc_check;

/* Reports at |node|, with its op, value and the row's help. */
void qgc_find(qgc_checker *c, const qgc_node *node, const char *format, ...) QGC_PRINTF(3, 4);

/* What a value is held in: behind a dequantize, fake_cast or observer the type there, else its own.
 */
qgc_dtype qgc_held_in(const qgc_value *value);
/* The value without observers and steps around it. */
const qgc_value *qgc_bare_value(const qgc_value *value);

/* check_structure.c */
void qgc_check_unfused(qgc_checker *c);
void qgc_check_stub_missing(qgc_checker *c);
void qgc_check_stub_redundant(qgc_checker *c);
void qgc_check_uncalled(qgc_checker *c);

/* check_sharing.c */
void qgc_check_sharing(qgc_checker *c);
void qgc_check_sharing_costs(qgc_checker *c);
/* Calls of a function, in the whole module. */
uint32_t qgc_count_calls(const qgc_module *module, const qgc_func *callee);

/* check_types.c */
void qgc_check_float_between(qgc_checker *c);
void qgc_check_mixed(qgc_checker *c);
void qgc_check_fixed(qgc_checker *c);
void qgc_check_odd_scale(qgc_checker *c);
void qgc_check_uneven(qgc_checker *c);

#endif

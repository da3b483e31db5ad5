/* One of the graphs that are compared: which of its values stand for what, and how it runs. */
#ifndef QGC_PASSES_COMPARE_SIDE_H
#define QGC_PASSES_COMPARE_SIDE_H

#include "passes/compare_row.h"
#include "passes/outline.h"
#include "runtime/interp.h"

/* What stands for one identifier in this graph. */
typedef struct qgc_entry qgc_entry;
struct qgc_entry {
    qgc_name text;                      /* the identifier */
    const qgc_value *computed, *stored; /* each the first in program order, or NULL; of stored ones
                                           the first that can be read */
    qgc_value_key computed_key, stored_key;
    qgc_opcode op; /* what computes it */
    bool is_input; /* a parameter */
    bool is_output, stays_float;
    bool is_same_op;             /* the other graph has the same op there, and operands with rows */
    bool has_sites;              /* its function is called from several places */
    qgc_name func;               /* that it is in, not of the identifier */
    void *row;                   /* user's; not NULL: the other graph has the identifier, too */
    QGC_VEC(qgc_entry *) inputs; /* those with a row that it is made of */
    double quality;              /* dB, of the worst of its rows; NaN: none */
};

typedef struct qgc_side {
    qgc_module *module;
    qgc_func *func;
    qgc_compare_engine kind;
    qgc_engine *engine;
    qgc_arena *arena;
    qgc_map owners;
    qgc_map by_text;           /* identifier -> qgc_entry */
    qgc_map by_value;          /* value that is watched, as the graph now is -> qgc_entry */
    qgc_map of_value;          /* every value as the graph was -> the qgc_entry it stands for */
    QGC_VEC(qgc_entry *) list; /* in program order */
} qgc_side;

/* Finds the entries of |from|'s module. |func|: NULL is "main"; reports where there is none. */
qgc_result qgc_side_init(qgc_side *side, const qgc_compare_side *from, const char *func,
                         qgc_arena *arena);
/* Fills |inputs|, once rows are set. */
void qgc_side_find_inputs(qgc_side *side);
/* Makes ops functions and compiles, as the side's kind says; the shapes are bound before. */
qgc_result qgc_side_compile(qgc_side *side, const qgc_compare_options *options);
void qgc_side_destroy(qgc_side *side);

#endif

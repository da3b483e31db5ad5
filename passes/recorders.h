/* The statistics of a graph while they are gathered: one record for each observed value, and for
 * values of functions that are called from more than one place one more for each call site. */
#ifndef QGC_PASSES_RECORDERS_H
#define QGC_PASSES_RECORDERS_H

#include "ir/graph.h"
#include "runtime/observe.h"

typedef struct qgc_recorder {
    const qgc_value *value;
    qgc_name site; /* the call's first result; NULL: all calls */
    qgc_stats stats;
    struct qgc_recorder *next_site; /* the value's next call site */
} qgc_recorder;

typedef struct qgc_recorders {
    qgc_module *module;
    qgc_arena *arena;
    qgc_map of_value;             /* observed value -> qgc_recorder * of all calls */
    qgc_map of_observer;          /* result of the value's first observer -> the same */
    QGC_VEC(qgc_recorder *) list; /* in program order, call sites behind their value's */
} qgc_recorders;

/* Empty records for a prepared or calibrated graph, in |arena|. |wants_histograms|: whatever the
 * observers are. Reports BAD_ANNOTATION. */
qgc_result qgc_recorders_build(qgc_recorders *recorders, qgc_module *module, qgc_arena *arena,
                               bool wants_histograms);

/* To be called for every value that a run computes (a qgc_watch without its first argument). */
void qgc_recorders_update(qgc_recorders *recorders, const qgc_node *call, const qgc_value *value,
                          const qgc_tensor *tensor);

/* Adds the stats records of |from|, a module of the same context, as if its data had come by here.
 * Reports FOREIGN_STATS for values that are not recorded here, BAD_STATS. */
qgc_result qgc_recorders_add(qgc_recorders *recorders, qgc_module *from);

/* Replaces the stats records of |into|; records that saw no value are left out. */
void qgc_recorders_write(const qgc_recorders *recorders, qgc_module *into);

/* Call sites of |func|, in program order: names of the calls' first results, each once. Where there
 * are fewer than two, no record of their own is kept. */
typedef QGC_VEC(qgc_name) qgc_site_list;
qgc_site_list qgc_call_sites(const qgc_func *func, qgc_arena *arena);

/* The function that a value belongs to. */
qgc_func *qgc_value_func(const qgc_module *module, const qgc_value *value);

#endif

/* The parts of qgc_explain. */
#ifndef QGC_PASSES_REPORT_EXPLAIN_H
#define QGC_PASSES_REPORT_EXPLAIN_H

#include "ir/graph.h"
#include "passes/qparams.h"
#include "qgc/explain.h"

/* An op of the explained module, and what the road has made of it. */
typedef struct qgc_entry {
    qgc_explained_op op; /* first: what the API hands out */
    qgc_node *node;      /* in the module */
    qgc_node *last;      /* at the end of the road; NULL: gone */
} qgc_entry;

struct qgc_explain {
    qgc_arena arena;
    qgc_context *context;
    qgc_module *module;   /* as given */
    qgc_module *end;      /* the copy, partitioned */
    qgc_module *prepared; /* a copy with observers; NULL: the road did not come by */
    qgc_explain_options options;
    qgc_method method;
    bool is_forecast;
    qgc_map owners; /* region function of the module -> what it was cut out of */
    QGC_VEC(qgc_entry *) entries;
    QGC_VEC(qgc_explained_region *) regions;
    QGC_VEC(qgc_diagnostic) remarks; /* of annotate and partition */
    qgc_explained_rest rest;
};

/* Whether the op computes something (qgc/explain.h). */
bool qgc_explains(const qgc_node *node);
/* "@main.%c" */
const char *qgc_full_name(qgc_arena *arena, const qgc_value *value, const qgc_func *func);
/* A field of a diagnostic, or NULL. */
const char *qgc_diag_field_of(const qgc_diagnostic *item, const char *name);

/* road.c: sets end, prepared, is_forecast, remarks, and each entry's node and last. */
qgc_result qgc_explain_walk(qgc_explain *e);

#endif

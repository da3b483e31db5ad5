/* What becomes of the ops of a graph, in any form, and why. */
#ifndef QGC_EXPLAIN_H
#define QGC_EXPLAIN_H

#include "qgc/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum qgc_fate {
    QGC_FATE_CLAIMED,   /* in a region of a target */
    QGC_FATE_UNCLAIMED, /* computes on quantized values, but no row of the target takes it */
    QGC_FATE_INTEGER,   /* an integer op, or one on integers, outside of a region */
    QGC_FATE_FLOAT,     /* computes on float values */
    QGC_FATE_GONE,      /* folded or deleted on the way there */
    QGC_NUM_FATES
} qgc_fate;
/* "claimed", "not claimed", "integer", "float", "gone"; static. */
QGC_API const char *qgc_fate_name(qgc_fate fate);

/* An op that computes: not a constant, a step of quantization, an observer, a stub, a call or
 * `return`. Strings live as long as the explanation; NULL where there is none. */
typedef struct qgc_explained_op {
    const char *op, *value; /* "conv2d", "@main.%c" */
    const char *scope, *file;
    uint32_t line;
    qgc_fate fate;
    const char *region; /* CLAIMED: "@cpu.0" */
    const char *how;    /* CLAIMED: what it is lowered to; else why not, or by what it went */
    const char *fix, *rule;
    double macs;   /* multiply-adds of one sample; symbols count as 1 */
    uint32_t bits; /* of the wider operand of these, 8 or 16; 0: float */
} qgc_explained_op;

typedef struct qgc_explained_region {
    const char *name, *target;
    const char *begins, *ends; /* "%x.q: u8[N,4] of quantize %x, ..." */
    size_t ops;
    double macs;
} qgc_explained_region;

typedef struct qgc_explain_options {
    const char *target; /* whose rows decide: of a graph that is not partitioned yet; NULL: cpu */
    const char *rules;  /* a rules file: of a graph that is not annotated yet; or NULL */
    const char *method; /* as of convert; NULL: mse */
    qgc_module *stats;  /* a calibrated graph to take statistics of values from; or NULL */
} qgc_explain_options;

typedef struct qgc_explain qgc_explain;

/* A copy of the module goes the road to `partition` that is left to it: the module stays as it is,
 * and outlives the explanation. Where there are no statistics yet, ranges of [0, 1 and more] stand
 * for them: conditions on sizes then hold for the worst zero point. NULL: reported. */
QGC_API qgc_explain *qgc_explain_create(qgc_module *module, const qgc_explain_options *options);
QGC_API void qgc_explain_destroy(qgc_explain *explain);

/* In the order of the text; NULL after the last. */
QGC_API const qgc_explained_op *qgc_explain_op(const qgc_explain *explain, size_t index);
QGC_API const qgc_explained_region *qgc_explain_region(const qgc_explain *explain, size_t index);
/* Ops that compute nothing: constants; steps (with observers and stubs); calls. */
typedef struct qgc_explained_rest {
    size_t constants, steps, calls;
} qgc_explained_rest;
QGC_API qgc_explained_rest qgc_explain_rest(const qgc_explain *explain);
/* Whether the graph is taken as if it had statistics, which it has not. */
QGC_API bool qgc_explain_is_forecast(const qgc_explain *explain);

/* The story of the value "%c" or "@main.%c", line by line. QGC_FAILED: there is none, or several;
 * reported. */
typedef void qgc_explain_line(void *user, const char *key, const char *text);
QGC_API qgc_result qgc_explain_value(qgc_explain *explain, const char *value,
                                     qgc_explain_line *line, void *user);

#ifdef __cplusplus
}
#endif
#endif

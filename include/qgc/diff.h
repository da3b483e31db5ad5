/* What changed between two graphs, in any two forms. Names are no difference, neither are the order
 * of independent ops, of the operands of a commutative op, where constants are stored, and module
 * paths. docs/diff.md says how graphs are aligned. */
#ifndef QGC_DIFF_H
#define QGC_DIFF_H

#include "qgc/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum qgc_diff_class {
    QGC_DIFF_OPERATOR,   /* an op is added, removed or another one */
    QGC_DIFF_ATTRIBUTE,  /* an attribute of an op or a function */
    QGC_DIFF_STRUCTURE,  /* an op reads another value; number of parameters or results */
    QGC_DIFF_DTYPE,      /* an element type */
    QGC_DIFF_SHAPE,      /* a shape */
    QGC_DIFF_SCALE,      /* a scale, a zero point or another parameter of quantization */
    QGC_DIFF_PLACEMENT,  /* a step of quantization is added, removed or moved */
    QGC_DIFF_WEIGHTS,    /* the elements of a constant */
    QGC_DIFF_STATISTICS, /* what calibration has seen of a value */
    QGC_NUM_DIFF_CLASSES
} qgc_diff_class;
/* "operator"; static. */
QGC_API const char *qgc_diff_class_name(qgc_diff_class kind);
QGC_API const char *qgc_diff_class_summary(qgc_diff_class kind);

typedef struct qgc_difference {
    qgc_diff_class kind;
    const char *value; /* "@main.%c": of the left graph; of the right one where only that has it */
    const char *what;  /* one line without full stop */
    double distance; /* scale: in quantization steps; weights: relative L2; else, or unknown: NaN */
    size_t row;
} qgc_difference;

/* An op, or the head of a function, on either or both sides. Rows stand in the order of the left
 * graph, what only the right one has behind what it follows there. */
typedef struct qgc_diff_row {
    const char *left, *right; /* lines of .qir, long literals shortened; NULL: not on that side */
    const char *left_name, *right_name; /* "@main.%c"; NULL as above, and where there is no value */
    const char *value; /* the float value that both stand for, as all reports name it; NULL: none */
    size_t first, num; /* its differences */
    bool is_consequence; /* it differs, but only because of differences of other rows */
    bool is_head;        /* of a function */
} qgc_diff_row;

typedef struct qgc_diff qgc_diff;

/* Both modules are of one context and outlive the result, which the caller destroys. */
QGC_API qgc_diff *qgc_diff_create(qgc_module *left, qgc_module *right);
QGC_API void qgc_diff_destroy(qgc_diff *diff);

QGC_API size_t qgc_diff_num_rows(const qgc_diff *diff);
QGC_API const qgc_diff_row *qgc_diff_row_at(const qgc_diff *diff, size_t index);
/* 0: the graphs are equal. In the order of rows. */
QGC_API size_t qgc_diff_num_differences(const qgc_diff *diff);
QGC_API const qgc_difference *qgc_diff_difference_at(const qgc_diff *diff, size_t index);
QGC_API size_t qgc_diff_count(const qgc_diff *diff, qgc_diff_class kind);
/* Values that are aligned and have other names. */
QGC_API size_t qgc_diff_num_renamed(const qgc_diff *diff);
/* "quantized"; static. */
QGC_API const char *qgc_module_form(const qgc_module *module);

#ifdef __cplusplus
}
#endif
#endif

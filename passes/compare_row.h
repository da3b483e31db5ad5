/* What is summed up of one value while two graphs run. */
#ifndef QGC_PASSES_COMPARE_ROW_H
#define QGC_PASSES_COMPARE_ROW_H

#include "passes/value_key.h"
#include "qgc/compare.h"
#include "runtime/observe.h"

/* One value of both graphs. */
typedef struct qgc_row {
    qgc_name name;
    qgc_value_key key_a, key_b; /* of the last stage */
    struct qgc_entry *entry_a, *entry_b;
    bool is_output, is_done; /* done: a constant that has been compared */
    bool shape_differs;
    size_t channels;
    double *signal, *error; /* [channels] */
    double squares_b, product, abs_error, max_abs, max_rel, max_steps;
    double clipped, rounded, inherited; /* sums of squares */
    uint64_t count, differing, num_clipped;
    qgc_mismatch broken;
    qgc_stats stats_a, stats_b;
} qgc_row;

/* One value of one batch. Elements in row-major order; |computed| NULL: it does not exist. */
typedef struct qgc_row_data {
    const float *a, *computed, *b; /* b: as it is read by what follows */
    size_t num;
    uint32_t rank;
    const int64_t *shape;
} qgc_row_data;

void qgc_row_init(qgc_row *row, qgc_arena *arena);
/* |samples|: how many were seen before the batch, which has |num|. Memory that stays is of |arena|:
 * allocated at the first call. */
void qgc_row_add(qgc_row *row, const qgc_row_data *data, size_t samples, size_t num,
                 qgc_arena *arena);
/* The row's numbers, but no loss, cause and remedy. */
void qgc_row_finish(const qgc_row *row, qgc_arena *arena, qgc_compare_row *out);

/* 10 log10(signal / error): infinity without error, -infinity without signal. */
double qgc_ratio_db(double signal, double error);

#endif

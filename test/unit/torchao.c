/* Scale and zero point from a range against torchao 0.18.0: the same bits, or exactly the
 * difference that docs/conformance.md explains. The rows come from tools/golden/torchao_qparams.py.
 */
#include "runtime/observe.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef enum kind {
    SAME,     /* scale and zero point, to the bit */
    MIDPOINT, /* u8, symmetric, explicit bounds: torchao takes the lower middle, we the upper */
    LOPSIDED, /* signed, symmetric, bounds not around zero: torchao keeps 0, we take the middle */
    WRAPS,    /* i32, affine: torchao's zero point overflows, ours is clamped */
    TOO_WIDE, /* max - min overflows: torchao's scale is infinite, ours is not */
    UNUSABLE, /* nothing seen, or infinite: torchao gives (1, 0) or an infinite scale, we refuse */
    NUM_KINDS
} kind;

typedef enum observer {
    MIN_MAX,
    MOVING_AVERAGE,
    HISTOGRAM,
    PER_CHANNEL,
    MOVING_AVERAGE_PER_CHANNEL,
    CHOOSE_QPARAMS,
    AFFINE_PER_TENSOR,
    AFFINE_PER_AXIS,
    NUM_OBSERVERS
} observer;

typedef struct row {
    kind kind;
    observer observer;
    qgc_quant_spec spec;
    float min, max, scale;
    int32_t zero_point;
} row;

static const row rows[] = {
#define ROW(kind, observer, dtype, scheme, qmin, qmax, eps, min, max, scale, zero_point)           \
    {kind,  observer,  {QGC_DTYPE_##dtype, QGC_QUANT_##scheme, {qmin, qmax}, eps}, min, max,       \
     scale, zero_point},
#include "torchao_qparams.inc"
#undef ROW
};
enum { NUM_ROWS = sizeof rows / sizeof rows[0] };

static bool same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static int64_t middle(qgc_int_range range, int64_t extra)
{
    int64_t sum = (int64_t)range.lo + range.hi + extra;
    return (sum - (sum & 1)) / 2;
}

/* Whether |ours| relates to torchao's answer as the row's kind says. */
static bool is_as_documented(const row *row, qgc_quant_fault fault, qgc_qparams ours)
{
    if (row->kind == UNUSABLE)
        return fault == (row->min > row->max ? QGC_QUANT_RANGE_EMPTY : QGC_QUANT_RANGE_INFINITE);
    if (fault != QGC_QUANT_OK || qgc_quant_check(ours, row->spec.range) != QGC_QUANT_OK)
        return false;
    bool same_scale = same_bits(ours.scale, row->scale);
    switch (row->kind) {
    case SAME:
        return same_scale && ours.zero_point == row->zero_point;
    case MIDPOINT:
        return same_scale && row->zero_point == middle(row->spec.range, 0) &&
               ours.zero_point == middle(row->spec.range, 1);
    case LOPSIDED:
        return same_scale && row->zero_point == 0 &&
               ours.zero_point == middle(row->spec.range, 1) && ours.zero_point != 0;
    case WRAPS:
        return same_scale && row->zero_point < ours.zero_point && ours.zero_point == INT32_MAX;
    default:
        return isinf(row->scale);
    }
}

static void test_against_torchao(void **state)
{
    (void)state;
    size_t num_wrong = 0;
    for (size_t i = 0; i < NUM_ROWS; ++i) {
        const row *row = &rows[i];
        qgc_qparams ours = {0.0f, 0};
        qgc_quant_fault fault = qgc_qparams_from_range(&row->spec, row->min, row->max, &ours);
        if (is_as_documented(row, fault, ours))
            continue;
        print_error("row %zu, kind %d: [%a, %a] gives %a, %d (%s) and not %a, %d\n", i + 1,
                    (int)row->kind, (double)row->min, (double)row->max, (double)ours.scale,
                    ours.zero_point, qgc_quant_fault_text(fault), (double)row->scale,
                    row->zero_point);
        ++num_wrong;
    }
    assert_int_equal(num_wrong, 0);
}

/* The rows speak of everything they are meant to: a shorter table would pass too easily. */
static void test_rows_cover(void **state)
{
    (void)state;
    size_t of_kind[NUM_KINDS] = {0}, same_of_observer[NUM_OBSERVERS] = {0};
    for (size_t i = 0; i < NUM_ROWS; ++i) {
        ++of_kind[rows[i].kind];
        same_of_observer[rows[i].observer] += rows[i].kind == SAME;
    }
    for (int kind = 0; kind < NUM_KINDS; ++kind)
        assert_true(of_kind[kind] > 0);
    for (int observer = 0; observer < NUM_OBSERVERS; ++observer)
        assert_true(same_of_observer[observer] >= 90);
    assert_true(of_kind[SAME] > 1400);
}

typedef struct average_row {
    float batch_min, batch_max, min, max;
} average_row;

static const average_row average_rows[] = {
#define ROW(batch_min, batch_max, min, max) {batch_min, batch_max, min, max},
#include "torchao_averages.inc"
#undef ROW
};
enum { NUM_AVERAGE_ROWS = sizeof average_rows / sizeof average_rows[0] };

static void test_moving_average(void **state)
{
    (void)state;
    qgc_stats stats;
    qgc_stats_init(&stats, QGC_OBSERVER_MOVING_AVERAGE, NULL);
    assert_true(NUM_AVERAGE_ROWS >= 40);
    for (size_t i = 0; i < NUM_AVERAGE_ROWS; ++i) {
        const average_row *row = &average_rows[i];
        const float batch[] = {row->batch_max, row->batch_min};
        qgc_stats_update(&stats, batch, 2);
        if (!same_bits(stats.min, row->min) || !same_bits(stats.max, row->max))
            fail_msg("batch %zu: [%a, %a] and not [%a, %a]", i + 1, (double)stats.min,
                     (double)stats.max, (double)row->min, (double)row->max);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_cover),
        cmocka_unit_test(test_moving_average),
        cmocka_unit_test(test_against_torchao),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Observer records: any split into shards and any merge order gives the bytes of one pass, bins and
 * ranges against brute force, records that lie are refused. */
#include "runtime/observe.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_VALUES = 3000 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    uint32_t x = *state;
    return (x ^ x >> 15) * 2654435761u;
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double uniform(uint32_t *random)
{
    return next_random(random) / 4294967296.0;
}

/* Sum of uniforms: near enough to a normal distribution. */
static double bell(uint32_t *random)
{
    double sum = 0.0;
    for (int i = 0; i < 12; ++i)
        sum += uniform(random);
    return sum - 6.0;
}

static float draw(int kind, uint32_t *random)
{
    switch (kind) {
    case 0:
        return (float)bell(random);
    case 1: /* after a relu, with outliers */
        return (float)fmax(0.0, bell(random) * (next_random(random) % 500 == 0 ? 100.0 : 1.0));
    case 2:
        return -1000.0f - (float)uniform(random);
    case 3: /* any bits: NaN, infinities, subnormals, huge ranges */
        return from_bits(next_random(random));
    case 4: /* subnormals and zeros of both signs */
        return from_bits((next_random(random) & 0x80000fff) * (next_random(random) & 1));
    case 5: /* growing range */
        return (float)(bell(random) * exp2(uniform(random) * 40 - 20));
    case 6: { /* special values among ordinary ones */
        static const float special[] = {0.0f,      -0.0f,   NAN,  INFINITY,
                                        -INFINITY, FLT_MAX, 1.0f, -FLT_MAX};
        return next_random(random) % 4 ? (float)bell(random) : special[next_random(random) % 8];
    }
    default: /* on bin edges: multiples of a power of two, negative ones too */
        return (float)((int32_t)(next_random(random) % 8192) - 5000) * 0x1p-7f;
    }
}
enum { NUM_KINDS = 8 };

static float *draw_values(qgc_arena *arena, int kind, size_t n, uint32_t *random)
{
    float *values = QGC_NEW_ARRAY(arena, float, n);
    for (size_t i = 0; i < n; ++i)
        values[i] = draw(kind, random);
    return values;
}

static qgc_stats *new_stats(qgc_arena *arena, qgc_observer observer)
{
    qgc_stats *stats = QGC_NEW(arena, qgc_stats);
    qgc_stats_init(stats, observer, arena);
    return stats;
}

static qgc_stats *observe(qgc_arena *arena, qgc_observer observer, const float *x, size_t n)
{
    qgc_stats *stats = new_stats(arena, observer);
    qgc_stats_update(stats, x, n);
    return stats;
}

/* ---- state ---- */

static void shuffle(float *values, size_t n, uint32_t *random)
{
    for (size_t i = n; i > 1; --i) {
        size_t other = next_random(random) % i;
        float kept = values[i - 1];
        values[i - 1] = values[other];
        values[other] = kept;
    }
}

/* Cuts |values| into shards, observes each in pieces, merges pairs at random until one is left. */
static const qgc_stats *observe_in_shards(qgc_arena *arena, qgc_observer observer,
                                          const float *values, size_t n, uint32_t *random)
{
    qgc_stats *shards[16];
    size_t num = 1 + next_random(random) % 16, at = 0;
    for (size_t i = 0; i < num; ++i) {
        shards[i] = new_stats(arena, observer);
        size_t end = i + 1 == num ? n : at + next_random(random) % (n - at + 1);
        while (at < end) {
            size_t size = 1 + next_random(random) % (end - at);
            qgc_stats_update(shards[i], values + at, size);
            at += size;
        }
    }
    for (; num > 1; --num) {
        size_t a = next_random(random) % num, b = next_random(random) % num;
        if (a == b)
            b = (a + 1) % num;
        assert_int_equal(qgc_stats_merge(shards[a], shards[b]), QGC_STATS_OK);
        assert_int_equal(qgc_stats_check(shards[a]), QGC_STATS_OK);
        shards[b] = shards[num - 1];
    }
    return shards[0];
}

static void test_shards_merge_exactly(void **state)
{
    (void)state;
    uint32_t random = 5;
    for (int round = 0; round < 400; ++round) {
        qgc_arena arena = {0};
        size_t n = 1 + next_random(&random) % (round % 3 ? 200 : MAX_VALUES);
        qgc_observer observer = round % 5 ? QGC_OBSERVER_HISTOGRAM : QGC_OBSERVER_MINMAX;
        float *values = draw_values(&arena, round % NUM_KINDS, n, &random);
        const qgc_stats *whole = observe(&arena, observer, values, n);
        assert_int_equal(qgc_stats_check(whole), QGC_STATS_OK);
        for (int again = 0; again < 3; ++again) {
            assert_true(
                qgc_stats_equal(whole, observe_in_shards(&arena, observer, values, n, &random)));
            shuffle(values, n, &random);
        }
        qgc_arena_destroy(&arena);
    }
}

static void test_shards_beyond_one_block(void **state)
{
    (void)state;
    qgc_arena arena = {0};
    uint32_t random = 77;
    for (int kind = 0; kind < NUM_KINDS; ++kind) {
        size_t n = 100000;
        float *values = draw_values(&arena, kind, n, &random);
        const qgc_stats *whole = observe(&arena, QGC_OBSERVER_HISTOGRAM, values, n);
        assert_true(qgc_stats_equal(
            whole, observe_in_shards(&arena, QGC_OBSERVER_HISTOGRAM, values, n, &random)));
    }
    qgc_arena_destroy(&arena);
}

/* Smallest exponent that the rule allows, tried from below; floors in long double. */
static int exponent_reference(float min, float max)
{
    long double largest = fmaxl(-(long double)min, (long double)max);
    if (largest == 0)
        return 0;
    int exponent = ilogbl(largest) - 23;
    while (floorl(ldexpl((long double)max, -exponent)) -
               floorl(ldexpl((long double)min, -exponent)) >=
           4096)
        ++exponent;
    return exponent;
}

static void check_record(const qgc_stats *stats, const float *values, size_t n)
{
    float min = INFINITY, max = -INFINITY;
    uint64_t zeros = 0, nan = 0, pos_inf = 0, neg_inf = 0, num_binned = 0;
    for (size_t i = 0; i < n; ++i) {
        zeros += values[i] == 0;
        nan += isnan(values[i]);
        pos_inf += values[i] == INFINITY;
        neg_inf += values[i] == -INFINITY;
        if (isfinite(values[i])) {
            min = fminf(min, values[i] + 0.0f);
            max = fmaxf(max, values[i] + 0.0f);
        }
    }
    assert_true(stats->count == n && stats->zeros == zeros && stats->nan == nan);
    assert_true(stats->pos_inf == pos_inf && stats->neg_inf == neg_inf);
    assert_true(stats->min == min && stats->max == max);
    assert_true(!signbit(stats->min) || stats->min < 0);
    if (min > max)
        return;
    assert_int_equal(stats->exp, exponent_reference(min, max));
    static uint64_t counts[QGC_STATS_MAX_BINS];
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < n; ++i) {
        if (!isfinite(values[i]) || values[i] == 0)
            continue;
        int64_t k = (int64_t)floorl(ldexpl((long double)values[i], -stats->exp)) - stats->first;
        assert_true(k >= 0 && k < stats->num_bins);
        ++counts[k];
        ++num_binned;
    }
    assert_true(num_binned > 0 || stats->num_bins == 0);
    for (size_t i = 0; i < stats->num_bins; ++i)
        assert_true(counts[i] == stats->bins[i]);
}

static void test_bins_by_definition(void **state)
{
    (void)state;
    uint32_t random = 11;
    for (int round = 0; round < 200; ++round) {
        qgc_arena arena = {0};
        size_t n = 1 + next_random(&random) % MAX_VALUES;
        float *values = draw_values(&arena, round % NUM_KINDS, n, &random);
        check_record(observe(&arena, QGC_OBSERVER_HISTOGRAM, values, n), values, n);
        qgc_arena_destroy(&arena);
    }
}

static void test_bin_edges(void **state)
{
    (void)state;
    qgc_arena arena = {0};
    const float values[] = {-1.0f, -0.5f, -0x1p-149f, 0.5f, 1.0f, 0x1p-149f, 0.0f, -0.0f};
    const qgc_stats *stats = observe(&arena, QGC_OBSERVER_HISTOGRAM, values, 8);
    assert_int_equal(stats->exp, -10); /* -1024..1024: 2049 bins; at -11 there would be 4097 */
    assert_int_equal(stats->first, -1024);
    assert_int_equal(stats->num_bins, 2049);
    assert_int_equal(stats->zeros, 2);
    assert_true(stats->bins[0] == 1 && stats->bins[512] == 1 && stats->bins[1023] == 1);
    assert_true(stats->bins[1024] == 1 && stats->bins[1536] == 1 && stats->bins[2048] == 1);
    const float constant[] = {3.0f, 3.0f};
    stats = observe(&arena, QGC_OBSERVER_HISTOGRAM, constant, 2);
    assert_true(stats->exp == -22 && stats->first == 3 << 22 && stats->num_bins == 1);
    const float extremes[] = {-FLT_MAX, FLT_MAX};
    stats = observe(&arena, QGC_OBSERVER_HISTOGRAM, extremes, 2);
    assert_true(stats->exp == 117 && stats->first == -2048 && stats->num_bins == 4096);
    const float tiny[] = {-0x1p-149f, 0x1p-149f};
    stats = observe(&arena, QGC_OBSERVER_HISTOGRAM, tiny, 2);
    assert_true(stats->exp == -159 && stats->first == -1024 && stats->num_bins == 2049);
    qgc_arena_destroy(&arena);
}

static void test_moving_average(void **state)
{
    (void)state;
    qgc_stats stats, other;
    qgc_stats_init(&stats, QGC_OBSERVER_MOVING_AVERAGE, NULL);
    qgc_stats_init(&other, QGC_OBSERVER_MOVING_AVERAGE, NULL);
    const float nothing[] = {NAN, INFINITY}, first[] = {-1.0f, 2.0f, NAN},
                second[] = {-3.0f, -0.0f};
    qgc_stats_update(&stats, nothing, 2);
    assert_true(stats.min == INFINITY && stats.max == -INFINITY);
    qgc_stats_update(&stats, first, 3);
    assert_true(stats.min == -1.0f && stats.max == 2.0f);
    qgc_stats_update(&stats, nothing, 2);
    qgc_stats_update(&stats, second, 2);
    assert_true(stats.min == -1.0f + 0.01f * (-3.0f - -1.0f));
    assert_true(stats.max == 2.0f + 0.01f * (0.0f - 2.0f));
    assert_true(stats.count == 9 && stats.nan == 3 && stats.pos_inf == 2 && stats.zeros == 1);
    assert_int_equal(qgc_stats_check(&stats), QGC_STATS_OK);
    assert_int_equal(qgc_stats_merge(&stats, &other), QGC_STATS_ORDER);
    assert_string_equal(qgc_stats_fault_text(QGC_STATS_ORDER),
                        "moving averages depend on the order of the data and cannot be merged");
}

static void test_channels(void **state)
{
    (void)state;
    qgc_arena arena = {0};
    uint32_t random = 3;
    enum { OUTER = 3, CHANNELS = 5, INNER = 7 };
    float *values = draw_values(&arena, 0, OUTER * CHANNELS * INNER, &random);
    static const qgc_observer observers[] = {QGC_OBSERVER_MINMAX, QGC_OBSERVER_MOVING_AVERAGE,
                                             QGC_OBSERVER_HISTOGRAM};
    for (size_t kind = 0; kind < 3; ++kind) {
        qgc_stats records[CHANNELS];
        for (size_t c = 0; c < CHANNELS; ++c)
            qgc_stats_init(&records[c], observers[kind], &arena);
        qgc_stats_update_channels(records, CHANNELS, values, OUTER, INNER);
        for (size_t c = 0; c < CHANNELS; ++c) {
            float channel[OUTER * INNER];
            for (size_t o = 0; o < OUTER; ++o)
                memcpy(channel + o * INNER, values + (o * CHANNELS + c) * INNER,
                       INNER * sizeof(float));
            assert_true(qgc_stats_equal(&records[c],
                                        observe(&arena, observers[kind], channel, OUTER * INNER)));
        }
    }
    qgc_arena_destroy(&arena);
}

static void test_merge_faults(void **state)
{
    (void)state;
    qgc_arena arena = {0};
    const float values[] = {1.0f, 2.0f};
    qgc_stats *a = observe(&arena, QGC_OBSERVER_HISTOGRAM, values, 2);
    const qgc_stats *b = observe(&arena, QGC_OBSERVER_MINMAX, values, 2);
    assert_int_equal(qgc_stats_merge(a, b), QGC_STATS_OBSERVER);
    const qgc_stats *c = observe(&arena, QGC_OBSERVER_HISTOGRAM, values, 2);
    a->count = UINT64_MAX;
    assert_int_equal(qgc_stats_merge(a, c), QGC_STATS_OVERFLOW);
    a->count = 2;
    assert_int_equal(qgc_stats_merge(a, new_stats(&arena, QGC_OBSERVER_HISTOGRAM)), QGC_STATS_OK);
    assert_true(qgc_stats_equal(a, c));
    qgc_stats *empty = new_stats(&arena, QGC_OBSERVER_HISTOGRAM);
    assert_int_equal(qgc_stats_merge(empty, c), QGC_STATS_OK);
    assert_true(qgc_stats_equal(empty, c));
    qgc_arena_destroy(&arena);
}

static void test_check_refuses(void **state)
{
    (void)state;
    qgc_arena arena = {0};
    const float values[] = {-1.0f, 0.0f, 2.0f, 5.0f};
    qgc_stats good = *observe(&arena, QGC_OBSERVER_HISTOGRAM, values, 4);
    assert_int_equal(qgc_stats_check(&good), QGC_STATS_OK);
    qgc_stats bad = good;
    bad.count = 5;
    assert_int_equal(qgc_stats_check(&bad), QGC_STATS_BAD_COUNT);
    bad = good;
    bad.zeros = UINT64_MAX;
    bad.nan = 2;
    assert_int_equal(qgc_stats_check(&bad), QGC_STATS_BAD_COUNT);
    bad = good;
    bad.max = INFINITY;
    assert_int_equal(qgc_stats_check(&bad), QGC_STATS_BAD_RANGE);
    bad.max = NAN;
    assert_int_equal(qgc_stats_check(&bad), QGC_STATS_BAD_RANGE);
    bad.max = -2.0f;
    assert_int_equal(qgc_stats_check(&bad), QGC_STATS_BAD_RANGE);
    bad = good;
    bad.exp += 1;
    assert_int_equal(qgc_stats_check(&bad), QGC_STATS_BAD_EXPONENT);
    bad = good;
    bad.first += 1;
    assert_int_equal(qgc_stats_check(&bad), QGC_STATS_BAD_BINS);
    bad = good;
    bad.num_bins = QGC_STATS_MAX_BINS + 1;
    assert_int_equal(qgc_stats_check(&bad), QGC_STATS_BAD_BINS);
    bad = good;
    bad.num_bins -= 1; /* the last one is then empty */
    assert_int_equal(qgc_stats_check(&bad), QGC_STATS_BAD_BINS);
    bad = good;
    bad.bins[1] = UINT64_MAX;
    assert_int_equal(qgc_stats_check(&bad), QGC_STATS_OVERFLOW);
    bad.bins[1] = 1;
    assert_int_equal(qgc_stats_check(&bad), QGC_STATS_BAD_COUNT);
    qgc_stats empty = *new_stats(&arena, QGC_OBSERVER_HISTOGRAM);
    assert_int_equal(qgc_stats_check(&empty), QGC_STATS_OK);
    empty.min = -0.0f;
    empty.max = 0.0f;
    empty.count = empty.zeros = 1;
    assert_int_equal(qgc_stats_check(&empty), QGC_STATS_BAD_RANGE); /* -0 is written as 0 */
    empty.min = 0.0f;
    assert_int_equal(qgc_stats_check(&empty), QGC_STATS_OK);
    qgc_arena_destroy(&arena);
}

/* ---- methods ---- */

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void test_percentile_by_sorting(void **state)
{
    (void)state;
    static const double percentiles[] = {1.0, 0.9999, 0.99, 0.9, 0.5, 0.01, 1e-9};
    uint32_t random = 21;
    for (int round = 0; round < 100; ++round) {
        qgc_arena arena = {0};
        size_t n = 1 + next_random(&random) % MAX_VALUES, num = 0;
        float *values = draw_values(&arena, round % NUM_KINDS, n, &random);
        const qgc_stats *stats = observe(&arena, QGC_OBSERVER_HISTOGRAM, values, n);
        for (size_t i = 0; i < n; ++i)
            if (isfinite(values[i]))
                values[num++] = values[i];
        qsort(values, num, sizeof *values, compare_floats);
        for (size_t i = 0; num > 0 && i < sizeof percentiles / sizeof percentiles[0]; ++i) {
            qgc_range range;
            assert_int_equal(qgc_stats_range_percentile(stats, percentiles[i], &range),
                             QGC_STATS_OK);
            size_t drop = (size_t)fmin(floor((double)num * ((1 - percentiles[i]) / 2)),
                                       (double)((num - 1) / 2));
            float low = values[drop], high = values[num - 1 - drop];
            double lo = ldexp(floor(ldexp((double)low, -stats->exp)), stats->exp);
            double hi = ldexp(floor(ldexp((double)high, -stats->exp)) + 1, stats->exp);
            assert_true(range.lo == (float)(low == 0 ? 0 : fmax(lo, (double)stats->min)));
            assert_true(range.hi == (float)(high == 0 ? 0 : fmin(hi, (double)stats->max)));
        }
        qgc_arena_destroy(&arena);
    }
}

/* A record with few bins, made by hand: the search is exhaustive on it. */
static qgc_stats small_record(qgc_arena *arena, uint32_t *random)
{
    qgc_stats stats;
    qgc_stats_init(&stats, QGC_OBSERVER_HISTOGRAM, arena);
    stats.num_bins = 1 + next_random(random) % 12;
    stats.first = 3 - (int32_t)(next_random(random) % 16);
    stats.exp = (int32_t)(next_random(random) % 9) - 4;
    for (uint32_t i = 0; i < stats.num_bins; ++i) {
        bool is_end = i == 0 || i + 1 == stats.num_bins;
        stats.bins[i] = next_random(random) % (next_random(random) % 3 ? 10 : 2000) + is_end;
        stats.count += stats.bins[i];
    }
    stats.zeros = next_random(random) % 50;
    stats.count += stats.zeros;
    int32_t last = stats.first + (int32_t)stats.num_bins - 1;
    stats.min = ldexpf((float)stats.first + 0.25f, stats.exp);
    stats.max = ldexpf((float)last + 0.75f, stats.exp);
    if (stats.zeros) {
        stats.min = fminf(stats.min, 0.0f);
        stats.max = fmaxf(stats.max, 0.0f);
    }
    return stats;
}

static const qgc_quant_spec small_specs[] = {
    {QGC_DTYPE_I8, QGC_QUANT_AFFINE, {-4, 3}, 0x1p-12f},
    {QGC_DTYPE_I8, QGC_QUANT_SYMMETRIC, {-3, 3}, 0x1p-12f},
    {QGC_DTYPE_U8, QGC_QUANT_AFFINE, {0, 2}, 0x1p-12f},
    {QGC_DTYPE_U8, QGC_QUANT_AFFINE, {0, 255}, 0x1p-12f},
    {QGC_DTYPE_I8, QGC_QUANT_SYMMETRIC, {-127, 127}, 0x1p-12f},
    {QGC_DTYPE_U8, QGC_QUANT_SYMMETRIC, {0, 15}, 0x1p-12f},
};
enum { NUM_SMALL_SPECS = sizeof small_specs / sizeof small_specs[0] };

typedef long double score_reference(const qgc_stats *stats, const qgc_quant_spec *spec,
                                    qgc_range range);

static long double level_reference(const qgc_quant_spec *spec, qgc_qparams p, long double x)
{
    long double q = rintl(x / (long double)p.scale) + p.zero_point;
    return fminl(fmaxl(q, spec->range.lo), spec->range.hi) - p.zero_point;
}

/* Sum over levels of the integral of (x - level)^2 over the part of the bin nearest to it. */
static long double mse_reference(const qgc_stats *stats, const qgc_quant_spec *spec,
                                 qgc_range range)
{
    qgc_qparams p;
    assert_int_equal(qgc_qparams_from_range(spec, range.lo, range.hi, &p), QGC_QUANT_OK);
    long double s = p.scale, total = 0;
    for (uint32_t i = 0; i < stats->num_bins; ++i) {
        long double a = ldexpl(stats->first + (int32_t)i, stats->exp),
                    b = a + ldexpl(1, stats->exp);
        a = fmaxl(a, (long double)stats->min);
        b = fminl(b, (long double)stats->max);
        long double sum = 0;
        for (int32_t q = spec->range.lo; q <= spec->range.hi; ++q) {
            long double level = (q - p.zero_point) * s;
            long double from = q == spec->range.lo ? a : fmaxl(a, level - s / 2);
            long double to = q == spec->range.hi ? b : fminl(b, level + s / 2);
            if (from < to)
                sum += (powl(to - level, 3) - powl(from - level, 3)) / 3;
        }
        total += stats->bins[i] * sum / (b - a);
    }
    return total;
}

static bool is_center_inside(const qgc_stats *stats, uint32_t i, qgc_range range, int *out_side)
{
    long double center = ldexpl(stats->first + (int32_t)i + 0.5L, stats->exp);
    *out_side = center<(long double)range.lo ? -1 : center>(long double) range.hi ? 1 : 0;
    return *out_side == 0;
}

static long double entropy_reference(const qgc_stats *stats, const qgc_quant_spec *spec,
                                     qgc_range range)
{
    qgc_qparams params;
    assert_int_equal(qgc_qparams_from_range(spec, range.lo, range.hi, &params), QGC_QUANT_OK);
    long double p[16] = {0}, q[16] = {0}, inside = 0, total = 0;
    int lowest = -1, highest = -1, side;
    for (uint32_t i = 0; i < stats->num_bins; ++i)
        if (is_center_inside(stats, i, range, &side)) {
            lowest = lowest < 0 ? (int)i : lowest;
            highest = (int)i;
        }
    for (uint32_t i = 0; i < stats->num_bins; ++i) {
        int target = is_center_inside(stats, i, range, &side) ? (int)i
                     : side < 0                               ? lowest
                                                              : highest;
        if (target < 0 || (stats->first + target < 0) != (stats->first + (int32_t)i < 0)) {
            if (stats->bins[i])
                return INFINITY;
            continue;
        }
        p[target] += stats->bins[i];
        total += stats->bins[i];
        inside += side == 0 ? stats->bins[i] : 0;
    }
    for (int i = lowest; i >= 0 && i <= highest; ++i) {
        long double center = ldexpl(stats->first + i + 0.5L, stats->exp), mass = 0;
        int num = 0;
        for (int k = lowest; k <= highest; ++k) {
            long double other = ldexpl(stats->first + k + 0.5L, stats->exp);
            if (level_reference(spec, params, center) == level_reference(spec, params, other)) {
                mass += stats->bins[k];
                num += p[k] > 0;
            }
        }
        q[i] = num ? mass / num : 0;
    }
    long double sum = 0;
    for (int i = 0; i < 16; ++i)
        if (p[i] > 0)
            sum += q[i] > 0 && inside > 0 ? p[i] / total * logl(p[i] / total / (q[i] / inside))
                                          : INFINITY;
    return sum;
}

/* A candidate: the range that is cut at |low| and |high|, in sixteenths of a bin. Symmetric: at the
 * magnitude |high|. */
typedef struct cut {
    int low, high;
} cut;

/* The least and the greatest cut that the header allows. */
static void cut_limits(const qgc_stats *stats, const qgc_quant_spec *spec, cut *widest,
                       cut *tightest)
{
    int first = stats->first, end = first + (int)stats->num_bins;
    if (spec->scheme == QGC_QUANT_SYMMETRIC) {
        int least = first > 0 ? first : end < 0 ? -end : 0;
        *widest = (cut){0, 16 * (end > -first ? end : -first)};
        *tightest = (cut){0, 16 * (least > 1 ? least : 1)};
        return;
    }
    *widest = (cut){16 * first, 16 * end};
    *tightest = (cut){16 * (first > 0 ? first
                            : end < 0 ? end
                                      : 0),
                      16 * (end < 0     ? end
                            : first > 0 ? first
                                        : 0)};
}

static qgc_range range_of_cut(const qgc_stats *stats, const qgc_quant_spec *spec, cut cut)
{
    qgc_range full = {fminf(stats->min, 0), fmaxf(stats->max, 0)};
    float lo = ldexpf((float)cut.low, stats->exp - 4), hi = ldexpf((float)cut.high, stats->exp - 4);
    if (spec->scheme == QGC_QUANT_SYMMETRIC)
        return (qgc_range){fmaxf(full.lo, -hi), fminf(full.hi, hi)};
    int first = 16 * stats->first, end = first + 16 * (int)stats->num_bins;
    return (qgc_range){cut.low > first ? fmaxf(full.lo, lo) : full.lo,
                       cut.high < end ? fminf(full.hi, hi) : full.hi};
}

typedef struct scored {
    cut cut;
    qgc_range range;
    long double score, second; /* second: of the next best range */
} scored;

static void try_cut(const qgc_stats *stats, const qgc_quant_spec *spec, score_reference *score,
                    cut cut, scored *best)
{
    qgc_range range = range_of_cut(stats, spec, cut);
    if (range.lo == best->range.lo && range.hi == best->range.hi)
        return;
    long double here = score(stats, spec, range);
    if (here < best->score)
        *best = (scored){cut, range, here, best->score};
    else if (here < best->second)
        best->second = here;
}

/* Scores every cut on the grid between |from| and |to|. */
static void try_cuts(const qgc_stats *stats, const qgc_quant_spec *spec, score_reference *score,
                     cut from, cut to, int step, scored *best)
{
    for (int low = from.low; low <= to.low; low += step)
        for (int high = from.high; high <= to.high; high += step)
            try_cut(stats, spec, score, (cut){low, high}, best);
}

static bool is_unique(const scored *best)
{
    return best->second > best->score * (1 + 1e-9L) + 1e-12L;
}

/* Moves the cuts to where min and max are: further out, they change nothing. */
static void skip_idle(const qgc_stats *stats, const qgc_quant_spec *spec, cut *widest)
{
    qgc_range full = range_of_cut(stats, spec, *widest);
    for (int side = 0; side < 2; ++side) {
        for (;;) {
            cut next = {widest->low + (side == 0), widest->high - (side == 1)};
            qgc_range range = range_of_cut(stats, spec, next);
            bool changes = range.lo != full.lo || range.hi != full.hi;
            if (changes ||
                (side == 0 && (full.lo == 0.0f || spec->scheme == QGC_QUANT_SYMMETRIC)) ||
                (side == 1 && full.hi == 0.0f && spec->scheme != QGC_QUANT_SYMMETRIC))
                break;
            *widest = next;
        }
    }
}

/* The search of the header in long double: all cuts at bin edges, then for mse inside the bins.
 * Returns whether each choice was clear. */
static bool search_reference(const qgc_stats *stats, const qgc_quant_spec *spec,
                             score_reference *score, scored *best)
{
    cut widest, tightest;
    cut_limits(stats, spec, &widest, &tightest);
    best->cut = widest;
    best->range = range_of_cut(stats, spec, widest);
    best->score = score(stats, spec, best->range);
    best->second = INFINITY;
    try_cuts(stats, spec, score, (cut){widest.low, tightest.high}, (cut){tightest.low, widest.high},
             16, best);
    bool unique = is_unique(best);
    skip_idle(stats, spec, &widest);
    for (int step = 4; step > 0 && score == mse_reference; step /= 4) {
        best->cut.low = best->cut.low < widest.low ? widest.low : best->cut.low;
        best->cut.high = best->cut.high > widest.high ? widest.high : best->cut.high;
        cut from = {best->cut.low - 4 * step, best->cut.high - 4 * step};
        cut to = {best->cut.low + 4 * step, best->cut.high + 4 * step};
        while (from.low < widest.low)
            from.low += step;
        while (from.high < tightest.high)
            from.high += step;
        to.low = to.low > tightest.low ? tightest.low : to.low;
        to.high = to.high > widest.high ? widest.high : to.high;
        best->second = INFINITY;
        try_cuts(stats, spec, score, from, to, step, best);
        unique = unique && is_unique(best);
    }
    return unique;
}

static void test_search_by_brute_force(void **state)
{
    (void)state;
    uint32_t random = 41;
    int num_unique[2] = {0, 0}, num_clipped[2] = {0, 0}, num_inside_bins = 0;
    for (int round = 0; round < 2000; ++round) {
        qgc_arena arena = {0};
        qgc_stats stats = small_record(&arena, &random);
        const qgc_quant_spec *spec = &small_specs[round % NUM_SMALL_SPECS];
        for (int entropy = 0; entropy < 2; ++entropy) {
            score_reference *score = entropy ? entropy_reference : mse_reference;
            qgc_range range = {0, 0};
            assert_int_equal(entropy ? qgc_stats_range_entropy(&stats, spec, &range)
                                     : qgc_stats_range_mse(&stats, spec, &range),
                             QGC_STATS_OK);
            scored best;
            bool unique = search_reference(&stats, spec, score, &best);
            if (unique && (range.lo != best.range.lo || range.hi != best.range.hi))
                fail_msg("round %d: [%g, %g], not [%g, %g]", round, (double)range.lo,
                         (double)range.hi, (double)best.range.lo, (double)best.range.hi);
            num_unique[entropy] += unique;
            num_clipped[entropy] += range.lo > stats.min || range.hi < stats.max;
            num_inside_bins += best.cut.low % 16 != 0 || best.cut.high % 16 != 0;
        }
        qgc_arena_destroy(&arena);
    }
    assert_true(num_unique[0] > 500 && num_unique[1] > 300);
    assert_true(num_clipped[0] > 200 && num_clipped[1] > 100);
    assert_true(num_inside_bins > 200);
}

static void test_mean_squared_error(void **state)
{
    (void)state;
    uint32_t random = 43;
    for (int round = 0; round < 500; ++round) {
        qgc_arena arena = {0};
        qgc_stats stats = small_record(&arena, &random);
        const qgc_quant_spec *spec = &small_specs[round % NUM_SMALL_SPECS];
        qgc_range range = {stats.min * 0.75f, stats.max * 0.5f};
        if (range.lo > range.hi)
            range.lo = range.hi;
        double error;
        assert_int_equal(qgc_stats_mean_squared_error(&stats, spec, range, &error), QGC_STATS_OK);
        long double wanted = mse_reference(&stats, spec, range) / stats.count;
        assert_true(fabsl(error - wanted) <= 1e-10L * wanted + 1e-18L);
        qgc_arena_destroy(&arena);
    }
}

/* On full-sized histograms the search is not exhaustive: it has to beat the full range where there
 * are outliers, and the real data's error has to follow the expected one. */
static void test_search_on_large_histograms(void **state)
{
    (void)state;
    qgc_arena arena = {0};
    uint32_t random = 1;
    size_t n = 200000;
    float *values = draw_values(&arena, 0, n, &random);
    for (size_t i = 0; i < n; i += 5000)
        values[i] *= 30.0f;
    const qgc_stats *stats = observe(&arena, QGC_OBSERVER_HISTOGRAM, values, n);
    for (int scheme = 0; scheme < 2; ++scheme) {
        qgc_quant_spec spec = {
            QGC_DTYPE_I8, scheme ? QGC_QUANT_AFFINE : QGC_QUANT_SYMMETRIC, {-8, 7}, 0x1p-12f};
        qgc_range full = {stats->min, stats->max}, range;
        double full_error, error, least = INFINITY, sum = 0.0;
        assert_int_equal(qgc_stats_range_mse(stats, &spec, &range), QGC_STATS_OK);
        qgc_stats_mean_squared_error(stats, &spec, full, &full_error);
        qgc_stats_mean_squared_error(stats, &spec, range, &error);
        assert_true(error < 0.5 * full_error);
        for (float m = 1.0f; m < stats->max; m += 0.125f) {
            double other;
            qgc_stats_mean_squared_error(stats, &spec, (qgc_range){-m, m}, &other);
            least = fmin(least, other);
        }
        assert_true(error <= least * 1.001);
        qgc_qparams params;
        qgc_qparams_from_range(&spec, range.lo, range.hi, &params);
        for (size_t i = 0; i < n; ++i)
            sum += pow((double)values[i] - (double)qgc_fake_quant(values[i], params, spec.range,
                                                                  QGC_QUANTIZE_MULTIPLY),
                       2);
        assert_true(fabs(sum / (double)n - error) < 0.01 * error);
        assert_int_equal(qgc_stats_range_entropy(stats, &spec, &range), QGC_STATS_OK);
        assert_true(range.lo >= stats->min && range.hi <= stats->max && range.lo < range.hi);
    }
    qgc_arena_destroy(&arena);
}

/* Where eps is the scale of every candidate they all score the same: the widest range has to win.
 */
static void test_ties_take_the_widest_range(void **state)
{
    (void)state;
    qgc_arena arena = {0};
    uint32_t random = 8;
    float *values = draw_values(&arena, 0, 1000, &random);
    const qgc_stats *stats = observe(&arena, QGC_OBSERVER_HISTOGRAM, values, 1000);
    qgc_quant_spec spec = {QGC_DTYPE_I8, QGC_QUANT_SYMMETRIC, {-127, 127}, 1.0f};
    qgc_range range;
    assert_int_equal(qgc_stats_range_mse(stats, &spec, &range), QGC_STATS_OK);
    assert_true(range.lo == stats->min && range.hi == stats->max);
    qgc_arena_destroy(&arena);
}

static void test_range_edges(void **state)
{
    (void)state;
    qgc_arena arena = {0};
    qgc_quant_spec spec = qgc_quant_spec_default(QGC_DTYPE_U8, QGC_QUANT_AFFINE);
    qgc_range range = {5, 5};
    double error;
    qgc_stats *stats = new_stats(&arena, QGC_OBSERVER_HISTOGRAM);
    assert_int_equal(qgc_stats_range_minmax(stats, &range), QGC_STATS_EMPTY);
    assert_int_equal(qgc_stats_range_mse(stats, &spec, &range), QGC_STATS_EMPTY);
    assert_int_equal(qgc_stats_range_entropy(stats, &spec, &range), QGC_STATS_EMPTY);
    assert_int_equal(qgc_stats_range_percentile(stats, 0.9, &range), QGC_STATS_EMPTY);
    assert_true(range.lo == 5 && range.hi == 5);
    const float zeros[] = {0.0f, -0.0f}, some[] = {-2.0f, 3.0f};
    qgc_stats_update(stats, zeros, 2);
    assert_int_equal(qgc_stats_range_mse(stats, &spec, &range), QGC_STATS_OK);
    assert_true(range.lo == 0 && range.hi == 0);
    assert_int_equal(qgc_stats_range_entropy(stats, &spec, &range), QGC_STATS_OK);
    assert_true(range.lo == 0 && range.hi == 0);
    assert_int_equal(qgc_stats_range_percentile(stats, 0.9, &range), QGC_STATS_OK);
    assert_true(range.lo == 0 && range.hi == 0);
    assert_int_equal(qgc_stats_mean_squared_error(stats, &spec, range, &error), QGC_STATS_OK);
    assert_true(error == 0);
    qgc_stats_update(stats, some, 2);
    assert_int_equal(qgc_stats_range_minmax(stats, &range), QGC_STATS_OK);
    assert_true(range.lo == -2 && range.hi == 3);
    assert_int_equal(qgc_stats_range_percentile(stats, 0.0, &range), QGC_STATS_PERCENTILE);
    assert_int_equal(qgc_stats_range_percentile(stats, 1.5, &range), QGC_STATS_PERCENTILE);
    assert_int_equal(qgc_stats_range_percentile(stats, (double)NAN, &range), QGC_STATS_PERCENTILE);
    spec.eps = 0;
    assert_int_equal(qgc_stats_range_mse(stats, &spec, &range), QGC_STATS_SPEC);
    const qgc_stats *minmax = observe(&arena, QGC_OBSERVER_MINMAX, some, 2);
    assert_int_equal(qgc_stats_range_mse(minmax, &spec, &range), QGC_STATS_NO_HISTOGRAM);
    qgc_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards_merge_exactly),
        cmocka_unit_test(test_shards_beyond_one_block),
        cmocka_unit_test(test_bins_by_definition),
        cmocka_unit_test(test_bin_edges),
        cmocka_unit_test(test_moving_average),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_merge_faults),
        cmocka_unit_test(test_check_refuses),
        cmocka_unit_test(test_percentile_by_sorting),
        cmocka_unit_test(test_search_by_brute_force),
        cmocka_unit_test(test_mean_squared_error),
        cmocka_unit_test(test_search_on_large_histograms),
        cmocka_unit_test(test_ties_take_the_widest_range),
        cmocka_unit_test(test_range_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

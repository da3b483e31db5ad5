/* Observer records: update, exact merge, validity. */
#include "runtime/observe.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define INF __builtin_inff()
enum { BLOCK = 1 << 14 }; /* values scanned, then binned, while they are in the cache */

const char *qgc_stats_fault_text(qgc_stats_fault fault)
{
    static const char *const texts[] = {"",
#define TEXT(id, text) text,
                                        QGC_STATS_FAULTS(TEXT)
#undef TEXT
    };
    return texts[fault];
}

void qgc_stats_init(qgc_stats *stats, qgc_observer observer, qgc_arena *arena)
{
    *stats = (qgc_stats){.observer = observer, .min = INF, .max = -INF};
    if (observer == QGC_OBSERVER_HISTOGRAM)
        stats->bins = QGC_NEW_ARRAY(arena, uint64_t, QGC_STATS_MAX_BINS);
}

/* ---- one block of values ---- */

typedef struct summary {
    uint64_t zeros, nan, pos_inf, neg_inf;
    float min, max; /* of finite values; +inf, -inf where there is none */
} summary;

static const summary no_values = {.min = INF, .max = -INF};

static void scan_any(summary *sum, const float *x, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        bool finite = x[i] >= -FLT_MAX && x[i] <= FLT_MAX;
        sum->zeros += x[i] == 0.0f;
        sum->nan += x[i] != x[i];
        sum->pos_inf += x[i] > FLT_MAX;
        sum->neg_inf += x[i] < -FLT_MAX;
        sum->min = finite && x[i] < sum->min ? x[i] : sum->min;
        sum->max = finite && x[i] > sum->max ? x[i] : sum->max;
    }
}

/* False, with nothing done, where a value is not finite. */
static bool scan_finite(summary *sum, const float *x, size_t n)
{
    float min = sum->min, max = sum->max;
    uint64_t zeros = 0;
    bool all_finite = true;
    for (size_t i = 0; i < n; ++i) {
        all_finite &= __builtin_fabsf(x[i]) <= FLT_MAX;
        zeros += x[i] == 0.0f;
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
    }
    if (!all_finite)
        return false;
    sum->zeros += zeros;
    sum->min = min;
    sum->max = max;
    return true;
}

static summary scan(const float *x, size_t n)
{
    summary sum = no_values;
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t size = n - i < BLOCK ? n - i : BLOCK;
        if (!scan_finite(&sum, x + i, size))
            scan_any(&sum, x + i, size);
    }
    return sum;
}

static void add_counts(qgc_stats *stats, const summary *sum, size_t n)
{
    stats->count += n;
    stats->zeros += sum->zeros;
    stats->nan += sum->nan;
    stats->pos_inf += sum->pos_inf;
    stats->neg_inf += sum->neg_inf;
}

static void widen(qgc_stats *stats, float min, float max)
{
    /* + 0 turns -0 into +0. */
    stats->min = (min < stats->min ? min : stats->min) + 0.0f;
    stats->max = (max > stats->max ? max : stats->max) + 0.0f;
}

static void average(qgc_stats *stats, const summary *sum)
{
    if (sum->min > sum->max)
        return;
    bool first = stats->min > stats->max;
    float min = stats->min + QGC_STATS_AVERAGE_CONSTANT * (sum->min - stats->min);
    float max = stats->max + QGC_STATS_AVERAGE_CONSTANT * (sum->max - stats->max);
    stats->min = (first ? sum->min : min) + 0.0f;
    stats->max = (first ? sum->max : max) + 0.0f;
}

/* ---- bins ---- */

/* floor(x / 2^exp); the double product is exact. */
static int32_t bin_of(float x, double inverse_width)
{
    double scaled = (double)x * inverse_width;
    int32_t k = (int32_t)scaled;
    return k - (scaled < (double)k);
}

/* floor(k / 2^shift) */
static int32_t shift_bin(int32_t k, uint32_t shift)
{
    return k >= 0 ? k >> shift : ~(~k >> shift);
}

int32_t qgc_stats_exponent(float min, float max)
{
    float largest = -min > max ? -min : max;
    if (largest == 0.0f)
        return 0;
    int exponent;
    frexp((double)largest, &exponent); /* largest = f * 2^exponent, 1/2 <= f < 1 */
    int32_t exp = exponent - 1 - 23;
    double inverse_width = ldexp(1.0, -exp);
    while (bin_of(max, inverse_width) - bin_of(min, inverse_width) >= QGC_STATS_MAX_BINS) {
        ++exp;
        inverse_width *= 0.5;
    }
    return exp;
}

/* Bins while they are being filled: a window that starts at floor(min / 2^exp). */
typedef struct window {
    int32_t exp, base;
    uint64_t counts[QGC_STATS_MAX_BINS];
} window;

/* The counts of |bins| (|num| from |first| on, at exponent |exp|) into the window, whose exponent
 * is not smaller. */
static void add_bins(window *window, const uint64_t *bins, uint32_t num, int32_t first, int32_t exp)
{
    uint32_t shift = (uint32_t)(window->exp - exp);
    for (uint32_t i = 0; i < num; ++i) {
        if (bins[i] == 0)
            continue;
        uint32_t at =
            (uint32_t)(shift_bin(first + (int32_t)i, shift < 31 ? shift : 31) - window->base);
        window->counts[at] += bins[i];
    }
}

static void open_window(window *window, const qgc_stats *stats, float min, float max)
{
    window->exp = qgc_stats_exponent(min, max);
    window->base = bin_of(min, ldexp(1.0, -window->exp));
    memset(window->counts, 0, sizeof window->counts);
    add_bins(window, stats->bins, stats->num_bins, stats->first, stats->exp);
}

/* Trims the window into the record. */
static void close_window(const window *window, qgc_stats *stats)
{
    uint32_t first = 0, end = QGC_STATS_MAX_BINS;
    while (first < end && window->counts[first] == 0)
        ++first;
    while (end > first && window->counts[end - 1] == 0)
        --end;
    stats->exp = window->exp;
    stats->first = first < end ? window->base + (int32_t)first : 0;
    stats->num_bins = end - first;
    if (first < end)
        memcpy(stats->bins, window->counts + first, (end - first) * sizeof *stats->bins);
}

static void count_block(window *window, const summary *sum, const float *x, size_t n)
{
    double inverse_width = ldexp(1.0, -window->exp);
    bool all_finite = sum->nan + sum->pos_inf + sum->neg_inf == 0;
    for (size_t i = 0; i < n; ++i) {
        if (all_finite || (x[i] >= -FLT_MAX && x[i] <= FLT_MAX))
            ++window->counts[bin_of(x[i], inverse_width) - window->base];
    }
    if (sum->zeros > 0) /* they went into bin 0, which zeros in the range make part of the window */
        window->counts[0 - window->base] -= sum->zeros;
}

static void update_histogram(qgc_stats *stats, const float *x, size_t n)
{
    window window;
    bool is_open = false;
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t size = n - i < BLOCK ? n - i : BLOCK;
        summary sum = scan(x + i, size);
        add_counts(stats, &sum, size);
        if (sum.min > sum.max)
            continue;
        if (is_open && (sum.min < stats->min || sum.max > stats->max)) {
            close_window(&window, stats);
            is_open = false;
        }
        widen(stats, sum.min, sum.max);
        if (!is_open)
            open_window(&window, stats, stats->min, stats->max);
        is_open = true;
        count_block(&window, &sum, x + i, size);
    }
    if (is_open)
        close_window(&window, stats);
}

/* ---- public ---- */

void qgc_stats_update(qgc_stats *stats, const float *x, size_t n)
{
    qgc_stats_update_channels(stats, 1, x, 1, n);
}

void qgc_stats_update_channels(qgc_stats *stats, size_t channels, const float *x, size_t outer,
                               size_t inner)
{
    for (size_t channel = 0; channel < channels; ++channel) {
        qgc_stats *record = &stats[channel];
        summary batch = no_values;
        for (size_t i = 0; i < outer; ++i) {
            const float *part = x + (i * channels + channel) * inner;
            if (record->observer == QGC_OBSERVER_HISTOGRAM) {
                update_histogram(record, part, inner);
                continue;
            }
            summary sum = scan(part, inner);
            add_counts(record, &sum, inner);
            batch.min = sum.min < batch.min ? sum.min : batch.min;
            batch.max = sum.max > batch.max ? sum.max : batch.max;
        }
        if (record->observer == QGC_OBSERVER_MINMAX)
            widen(record, batch.min, batch.max);
        if (record->observer == QGC_OBSERVER_MOVING_AVERAGE)
            average(record, &batch);
    }
}

qgc_stats_fault qgc_stats_merge(qgc_stats *stats, const qgc_stats *other)
{
    if (stats->observer != other->observer)
        return QGC_STATS_OBSERVER;
    if (stats->observer == QGC_OBSERVER_MOVING_AVERAGE)
        return QGC_STATS_ORDER;
    uint64_t total; /* bounds every other count */
    if (__builtin_add_overflow(stats->count, other->count, &total))
        return QGC_STATS_OVERFLOW;
    float min = other->min < stats->min ? other->min : stats->min;
    float max = other->max > stats->max ? other->max : stats->max;
    if (stats->observer == QGC_OBSERVER_HISTOGRAM && min <= max) {
        window window;
        open_window(&window, stats, min, max);
        add_bins(&window, other->bins, other->num_bins, other->first, other->exp);
        close_window(&window, stats);
    }
    const summary counts = {other->zeros, other->nan, other->pos_inf, other->neg_inf, 0.0f, 0.0f};
    add_counts(stats, &counts, 0);
    stats->count = total;
    stats->min = min;
    stats->max = max;
    return QGC_STATS_OK;
}

bool qgc_stats_equal(const qgc_stats *a, const qgc_stats *b)
{
    return a->observer == b->observer && a->count == b->count && a->zeros == b->zeros &&
           a->nan == b->nan && a->pos_inf == b->pos_inf && a->neg_inf == b->neg_inf &&
           memcmp(&a->min, &b->min, sizeof a->min) == 0 &&
           memcmp(&a->max, &b->max, sizeof a->max) == 0 && a->exp == b->exp &&
           a->first == b->first && a->num_bins == b->num_bins &&
           (a->num_bins == 0 || memcmp(a->bins, b->bins, a->num_bins * sizeof *a->bins) == 0);
}

/* ---- validity ---- */

/* Finite values that are not zero; false where the special counts exceed the total. */
static bool count_nonzero(const qgc_stats *stats, uint64_t *out)
{
    uint64_t sum = stats->zeros;
    if (__builtin_add_overflow(sum, stats->nan, &sum) ||
        __builtin_add_overflow(sum, stats->pos_inf, &sum) ||
        __builtin_add_overflow(sum, stats->neg_inf, &sum) || sum > stats->count)
        return false;
    *out = stats->count - sum;
    return true;
}

static bool is_range_possible(const qgc_stats *stats, uint64_t num_nonzero)
{
    bool is_empty = stats->min == INF && stats->max == -INF;
    if (num_nonzero == 0 && stats->zeros == 0)
        return is_empty;
    if (!(stats->min <= stats->max) || stats->min < -FLT_MAX || stats->max > FLT_MAX)
        return false;
    if (__builtin_signbit(stats->min + 0.0f) != __builtin_signbit(stats->min) ||
        __builtin_signbit(stats->max + 0.0f) != __builtin_signbit(stats->max))
        return false; /* -0 */
    if (stats->observer == QGC_OBSERVER_MOVING_AVERAGE)
        return true;
    if (stats->zeros > 0 && (stats->min > 0.0f || stats->max < 0.0f))
        return false;
    if (num_nonzero == 0)
        return stats->min == 0.0f && stats->max == 0.0f;
    /* An end at zero needs a zero; an end away from it a value. */
    bool lone_zero = stats->zeros == 0 && (stats->min == 0.0f || stats->max == 0.0f);
    bool no_other = stats->min == 0.0f && stats->max == 0.0f;
    bool too_few =
        num_nonzero == 1 && stats->min < stats->max && stats->min != 0.0f && stats->max != 0.0f;
    return !lone_zero && !no_other && !too_few;
}

static qgc_stats_fault check_bins(const qgc_stats *stats, uint64_t num_nonzero)
{
    bool is_empty = stats->min > stats->max;
    if (stats->exp != (is_empty ? 0 : qgc_stats_exponent(stats->min, stats->max)))
        return QGC_STATS_BAD_EXPONENT;
    uint32_t num = stats->num_bins;
    if (num == 0)
        return stats->first != 0 ? QGC_STATS_BAD_BINS
               : num_nonzero     ? QGC_STATS_BAD_COUNT
                                 : QGC_STATS_OK;
    if (num > QGC_STATS_MAX_BINS || stats->bins[0] == 0 || stats->bins[num - 1] == 0 || is_empty)
        return QGC_STATS_BAD_BINS;
    double inverse_width = ldexp(1.0, -stats->exp);
    int64_t low = bin_of(stats->min, inverse_width), high = bin_of(stats->max, inverse_width);
    int64_t last = (int64_t)stats->first + num - 1;
    bool low_fits = stats->min == 0.0f ? stats->first >= 0 : stats->first == low;
    bool high_fits = stats->max == 0.0f ? last < 0 : last == high;
    if (!low_fits || !high_fits || stats->first < low || last > high)
        return QGC_STATS_BAD_BINS;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < num; ++i) {
        if (__builtin_add_overflow(sum, stats->bins[i], &sum))
            return QGC_STATS_OVERFLOW;
    }
    return sum == num_nonzero ? QGC_STATS_OK : QGC_STATS_BAD_COUNT;
}

qgc_stats_fault qgc_stats_check(const qgc_stats *stats)
{
    uint64_t num_nonzero;
    if (!count_nonzero(stats, &num_nonzero))
        return QGC_STATS_BAD_COUNT;
    if (!is_range_possible(stats, num_nonzero))
        return QGC_STATS_BAD_RANGE;
    if (stats->observer == QGC_OBSERVER_HISTOGRAM)
        return check_bins(stats, num_nonzero);
    bool has_bins = stats->num_bins || stats->exp || stats->first;
    return has_bins ? QGC_STATS_BAD_BINS : QGC_STATS_OK;
}

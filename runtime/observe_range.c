/* Ranges from observer records: minmax, percentile, mean squared error, entropy. */
#include "runtime/observe.h"

#include <float.h>
#include <math.h>

/* x of the lower edge of bin k. Exact but for magnitudes below 2^-149. */
static float edge(const qgc_stats *stats, int64_t k)
{
    return (float)ldexp((double)k, stats->exp);
}

static qgc_stats_fault check_histogram(const qgc_stats *stats)
{
    if (stats->observer != QGC_OBSERVER_HISTOGRAM)
        return QGC_STATS_NO_HISTOGRAM;
    return stats->min <= stats->max ? QGC_STATS_OK : QGC_STATS_EMPTY;
}

qgc_stats_fault qgc_stats_range_minmax(const qgc_stats *stats, qgc_range *out)
{
    if (!(stats->min <= stats->max))
        return QGC_STATS_EMPTY;
    *out = (qgc_range){stats->min, stats->max};
    return QGC_STATS_OK;
}

/* ---- percentile ---- */

/* The edge of the bin that holds the value of |rank| in ascending order: the lower one, or with
 * |upper| = 1 the upper one. */
static float edge_of_rank(const qgc_stats *stats, uint64_t rank, int32_t upper)
{
    uint32_t i = 0;
    for (; i < stats->num_bins && stats->first + (int32_t)i < 0; ++i) {
        if (rank < stats->bins[i])
            return edge(stats, stats->first + (int64_t)i + upper);
        rank -= stats->bins[i];
    }
    if (rank < stats->zeros)
        return 0.0f;
    rank -= stats->zeros;
    while (i + 1 < stats->num_bins && rank >= stats->bins[i])
        rank -= stats->bins[i++];
    return edge(stats, stats->first + (int64_t)i + upper);
}

qgc_stats_fault qgc_stats_range_percentile(const qgc_stats *stats, double p, qgc_range *out)
{
    qgc_stats_fault fault = check_histogram(stats);
    if (fault != QGC_STATS_OK)
        return fault;
    if (!(p > 0.0 && p <= 1.0))
        return QGC_STATS_PERCENTILE;
    uint64_t num = stats->count - stats->nan - stats->pos_inf - stats->neg_inf;
    double cut = floor((double)num * ((1.0 - p) / 2.0));
    uint64_t most = (num - 1) / 2; /* rounding in |cut| must not cross the middle */
    uint64_t drop = cut < (double)most ? (uint64_t)cut : most;
    float lo = edge_of_rank(stats, drop, 0), hi = edge_of_rank(stats, num - 1 - drop, 1);
    *out = (qgc_range){lo < stats->min ? stats->min : lo, hi > stats->max ? stats->max : hi};
    return QGC_STATS_OK;
}

/* ---- the search for mse and entropy ---- */

enum { PARTS = 16 }; /* candidates and steps count sixteenths of a bin */

/* x at |parts| sixteenths of a bin; rounded where bins are as fine as f32. */
static float edge_of_part(const qgc_stats *stats, int64_t parts)
{
    return (float)(ldexp((double)parts, stats->exp) / PARTS);
}

typedef struct search {
    const qgc_stats *stats;
    const qgc_quant_spec *spec;
    qgc_range full;
    int64_t num_steps[2];     /* candidates are 0..num_steps on each axis */
    int64_t last_step;        /* where the search ends */
    int64_t top;              /* symmetric: the greatest magnitude's outer edge */
    const double *log_counts; /* entropy only: ln(bins[i]) */
} search;

typedef struct candidate {
    double score;
    int64_t i, j;
} candidate;

typedef double score_function(const search *search, qgc_range range);

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a < b ? b : a;
}

static float larger_float(float a, float b)
{
    return a < b ? b : a;
}

static search start_search(const qgc_stats *stats, const qgc_quant_spec *spec, int64_t last_step)
{
    search search = {.stats = stats, .spec = spec, .last_step = last_step};
    search.full.lo = stats->min < 0.0f ? stats->min : 0.0f;
    search.full.hi = stats->max > 0.0f ? stats->max : 0.0f;
    if (stats->num_bins == 0)
        return search;
    int64_t first = stats->first, num = stats->num_bins, end = first + num;
    if (spec->scheme == QGC_QUANT_SYMMETRIC) {
        search.top = PARTS * larger(end, -first);
        int64_t least = first >= 0 ? first : end <= 0 ? -end : 0;
        search.num_steps[0] = search.top - PARTS * larger(least, 1);
        return search;
    }
    search.num_steps[0] = first < 0 ? PARTS * smaller(num, -first) : 0;
    search.num_steps[1] = end > 0 ? PARTS * smaller(num, end) : 0;
    return search;
}

static qgc_range range_of(const search *search, int64_t i, int64_t j)
{
    const qgc_stats *stats = search->stats;
    qgc_range range = search->full;
    if (search->spec->scheme == QGC_QUANT_SYMMETRIC) {
        float magnitude = i == 0 ? FLT_MAX : edge_of_part(stats, search->top - i);
        range.lo = range.lo < -magnitude ? -magnitude : range.lo;
        range.hi = range.hi > magnitude ? magnitude : range.hi;
        return range;
    }
    int64_t first = PARTS * (int64_t)stats->first, end = first + PARTS * (int64_t)stats->num_bins;
    if (i > 0) /* min and max lie within their bins */
        range.lo = larger_float(range.lo, edge_of_part(stats, first + i));
    if (j > 0)
        range.hi = -larger_float(-range.hi, -edge_of_part(stats, end - j));
    return range;
}

static bool is_better(const candidate *a, const candidate *b)
{
    if (a->score != b->score)
        return a->score < b->score;
    if (a->i + a->j != b->i + b->j)
        return a->i + a->j < b->i + b->j;
    return a->i < b->i;
}

/* Scores all (i, j) at multiples of |step| from |from| up to |to|. */
static void score_grid(const search *search, score_function *score, const int64_t from[2],
                       const int64_t to[2], int64_t step, candidate *best)
{
    for (int64_t i = from[0]; i <= to[0]; i += step) {
        for (int64_t j = from[1]; j <= to[1]; j += step) {
            candidate here = {score(search, range_of(search, i, j)), i, j};
            if (is_better(&here, best))
                *best = here;
        }
    }
}

static int64_t first_step(const int64_t num_steps[2])
{
    int64_t most = num_steps[0] == 0 || num_steps[1] == 0 ? 64 : 16;
    int64_t step = PARTS;
    while (larger(num_steps[0], num_steps[1]) > most * step)
        step *= 2;
    return step;
}

/* How many steps of the axis leave the full range as it is: min and max lie somewhere in the
 * outermost bins. */
static int64_t idle_steps(const search *search, int axis)
{
    int64_t at[2] = {0, 0};
    for (at[axis] = 1; at[axis] <= search->num_steps[axis]; ++at[axis]) {
        qgc_range range = range_of(search, at[0], at[1]);
        if (range.lo != search->full.lo || range.hi != search->full.hi)
            break;
    }
    return at[axis] - 1;
}

static void score_around(const search *search, score_function *score, const int64_t least[2],
                         int64_t step, candidate *best)
{
    const int64_t center[2] = {larger(best->i, least[0]), larger(best->j, least[1])};
    int64_t from[2], to[2];
    for (int axis = 0; axis < 2; ++axis) {
        from[axis] = center[axis] - smaller((center[axis] - least[axis]) / step, 4) * step;
        to[axis] = smaller(center[axis] + 4 * step, search->num_steps[axis]);
    }
    best->i = center[0];
    best->j = center[1];
    score_grid(search, score, from, to, step, best);
}

static qgc_range find_best(const search *search, score_function *score)
{
    const int64_t origin[2] = {0, 0};
    int64_t step = first_step(search->num_steps);
    candidate best = {score(search, search->full), 0, 0};
    score_grid(search, score, origin, search->num_steps, step, &best);
    while (step > PARTS) {
        step = larger(PARTS, step / 4);
        score_around(search, score, origin, step, &best);
    }
    const int64_t idle[2] = {idle_steps(search, 0), idle_steps(search, 1)};
    while (step > search->last_step) {
        step /= 4;
        score_around(search, score, idle, step, &best);
    }
    return range_of(search, best.i, best.j);
}

/* ---- quantization levels ---- */

/* Level n stands for n * scale, low <= n <= high. */
typedef struct levels {
    double scale, inverse, low, high;
} levels;

static levels levels_of(const qgc_quant_spec *spec, qgc_range range)
{
    qgc_qparams params = {1.0f, 0};
    qgc_qparams_from_range(spec, range.lo, range.hi, &params); /* finite, spec checked: no fault */
    double zero_point = params.zero_point;
    return (levels){(double)params.scale, 1.0 / (double)params.scale, spec->range.lo - zero_point,
                    spec->range.hi - zero_point};
}

/* clamp(rne(u), low, high); beyond 2^51 only the sign of |u| matters. */
static double level_of(const levels *levels, double u)
{
    double rounded = (u + 0x1.8p52) - 0x1.8p52;
    double above = rounded < levels->low ? levels->low : rounded;
    return above > levels->high ? levels->high : above;
}

/* ---- mean squared error ---- */

/* Integral of (u - level(u))^2 from 0 to n + t, where n = level(n + t): every whole step is 1/12.
 */
static double error_integral(double n, double t)
{
    return n / 12.0 + t * t * t / 3.0;
}

/* Mean of (u - level(u))^2 over [a, b]. */
static double mean_error(const levels *levels, double a, double b)
{
    double n_a = level_of(levels, a), n_b = level_of(levels, b);
    double t_a = a - n_a, t_b = b - n_b;
    if (n_a == n_b) /* the integral over the width, without its cancellation; also for a = b */
        return (t_a * t_a + t_a * t_b + t_b * t_b) / 3.0;
    return (error_integral(n_b, t_b) - error_integral(n_a, t_a)) / (b - a);
}

static double squared_error(const search *search, qgc_range range)
{
    const qgc_stats *stats = search->stats;
    levels levels = levels_of(search->spec, range);
    double width = ldexp(1.0, stats->exp), min = (double)stats->min, max = (double)stats->max;
    double sum = 0.0;
    for (uint32_t i = 0; i < stats->num_bins; ++i) {
        if (stats->bins[i] == 0)
            continue;
        double a = (double)(stats->first + (int32_t)i) * width, b = a + width;
        a = a < min ? min : a;
        b = b > max ? max : b;
        sum += (double)stats->bins[i] * mean_error(&levels, a * levels.inverse, b * levels.inverse);
    }
    return sum * levels.scale * levels.scale;
}

static qgc_stats_fault check_search(const qgc_stats *stats, const qgc_quant_spec *spec)
{
    qgc_stats_fault fault = check_histogram(stats);
    if (fault != QGC_STATS_OK)
        return fault;
    return qgc_quant_check_spec(spec) == QGC_QUANT_OK ? QGC_STATS_OK : QGC_STATS_SPEC;
}

qgc_stats_fault qgc_stats_range_mse(const qgc_stats *stats, const qgc_quant_spec *spec,
                                    qgc_range *out)
{
    qgc_stats_fault fault = check_search(stats, spec);
    if (fault != QGC_STATS_OK)
        return fault;
    search search = start_search(stats, spec, 1);
    *out = find_best(&search, squared_error);
    return QGC_STATS_OK;
}

qgc_stats_fault qgc_stats_mean_squared_error(const qgc_stats *stats, const qgc_quant_spec *spec,
                                             qgc_range range, double *out_error)
{
    qgc_stats_fault fault = check_search(stats, spec);
    if (fault != QGC_STATS_OK)
        return fault;
    qgc_qparams params;
    if (qgc_qparams_from_range(spec, range.lo, range.hi, &params) != QGC_QUANT_OK)
        return QGC_STATS_BAD_RANGE;
    search search = start_search(stats, spec, 1);
    uint64_t num = stats->count - stats->nan - stats->pos_inf - stats->neg_inf;
    *out_error = squared_error(&search, range) / (double)num;
    return QGC_STATS_OK;
}

/* ---- entropy ---- */

/* Natural logarithm of a positive finite normal number to about 1e-15: libm's may differ between
 * machines. ln(m) = 2 atanh((m - 1) / (m + 1)). */
static double natural_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2.0;
        --exponent;
    }
    double s = (m - 1.0) / (m + 1.0), z = s * s, sum = 0.0;
    for (int i = 23; i >= 1; i -= 2)
        sum = sum * z + 2.0 / i;
    return s * sum + exponent * 0.69314718055994531;
}

/* The bins inside a range, [from, to), and the counts outside. */
typedef struct inside {
    uint32_t from, to;
    double below, above, count;
} inside;

static inside find_inside(const qgc_stats *stats, qgc_range range)
{
    inside inside = {0, 0, 0.0, 0.0, 0.0};
    double width = ldexp(1.0, stats->exp);
    for (uint32_t i = 0; i < stats->num_bins; ++i) {
        double center = ((double)(stats->first + (int32_t)i) + 0.5) * width;
        double count = (double)stats->bins[i];
        if (center < (double)range.lo) {
            inside.below += count;
            inside.from = inside.to = i + 1;
        } else if (center > (double)range.hi) {
            inside.above += count;
        } else {
            inside.count += count;
            inside.to = i + 1;
        }
    }
    return inside;
}

/* Values outside need a bin inside that has their sign. */
static bool has_place_for_outliers(const qgc_stats *stats, const inside *inside)
{
    if (inside->from == inside->to)
        return false;
    bool below_fits = inside->below == 0.0 || stats->first + (int64_t)inside->from < 0;
    bool above_fits = inside->above == 0.0 || stats->first + (int64_t)inside->to > 0;
    return below_fits && above_fits;
}

/* Counts of one level: |mass| of those inside, |weighted| = sum c ln c and |sum| = sum c of those
 * with outliers added, over |num| bins where c > 0. */
typedef struct level_sums {
    double mass, sum, weighted;
    uint32_t num;
} level_sums;

static void add_bin(level_sums *sums, double count, double outliers, double log_count)
{
    double c = count + outliers;
    if (c == 0.0)
        return;
    sums->mass += count;
    sums->sum += c;
    sums->weighted += c * (outliers > 0.0 ? natural_log(c) : log_count);
    ++sums->num;
}

/* sum c ln(c * num / mass) */
static double level_divergence(const level_sums *sums)
{
    if (sums->num == 0)
        return 0.0;
    if (sums->mass == 0.0)
        return INFINITY;
    if (sums->num == 1 && sums->sum == sums->mass)
        return 0.0;
    return sums->weighted + sums->sum * natural_log((double)sums->num / sums->mass);
}

static double divergence(const search *search, qgc_range range)
{
    const qgc_stats *stats = search->stats;
    inside inside = find_inside(stats, range);
    if (!has_place_for_outliers(stats, &inside))
        return stats->num_bins == 0 ? 0.0 : INFINITY;
    levels levels = levels_of(search->spec, range);
    double bins_per_level = ldexp(levels.inverse, stats->exp);
    double sum = 0.0, level = -INFINITY;
    level_sums sums = {0.0, 0.0, 0.0, 0};
    for (uint32_t i = inside.from; i < inside.to; ++i) {
        double center = (double)(stats->first + (int32_t)i) + 0.5;
        double here = level_of(&levels, center * bins_per_level);
        if (here != level) {
            sum += level_divergence(&sums);
            sums = (level_sums){0.0, 0.0, 0.0, 0};
            level = here;
        }
        double outliers =
            (i == inside.from ? inside.below : 0.0) + (i + 1 == inside.to ? inside.above : 0.0);
        add_bin(&sums, (double)stats->bins[i], outliers, search->log_counts[i]);
    }
    sum += level_divergence(&sums);
    double total = inside.count + inside.below + inside.above;
    double correction = total == inside.count ? 0.0 : natural_log(inside.count / total);
    return inside.count == 0.0 ? INFINITY : sum / total + correction;
}

qgc_stats_fault qgc_stats_range_entropy(const qgc_stats *stats, const qgc_quant_spec *spec,
                                        qgc_range *out)
{
    qgc_stats_fault fault = check_search(stats, spec);
    if (fault != QGC_STATS_OK)
        return fault;
    double log_counts[QGC_STATS_MAX_BINS];
    for (uint32_t i = 0; i < stats->num_bins; ++i)
        log_counts[i] = stats->bins[i] > 0 ? natural_log((double)stats->bins[i]) : 0.0;
    search search = start_search(stats, spec, PARTS);
    search.log_counts = log_counts;
    *out = find_best(&search, divergence);
    return QGC_STATS_OK;
}

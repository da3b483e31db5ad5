#include "passes/compare_row.h"

#include "runtime/interp_mismatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double qgc_ratio_db(double signal, double error)
{
    if (error == 0)
        return INFINITY;
    return signal == 0 ? -INFINITY : 10 * log10(signal / error);
}

/* ---- adding ---- */

/* The channel axis: the second of images and rows, the last of sequences; of constants the axis of
 * their scales, else the first. */
static uint32_t channel_axis(const qgc_row *row, uint32_t rank)
{
    if (row->key_b.has_params && row->key_b.params.per_channel && row->key_b.params.axis < rank)
        return row->key_b.params.axis;
    if (row->key_a.is_constant)
        return 0;
    return rank == 3 ? 2 : 1;
}

typedef struct layout {
    size_t outer, channels, inner;
} layout;

static layout read_layout(const qgc_row *row, const qgc_row_data *data)
{
    uint32_t axis = channel_axis(row, data->rank);
    if (axis >= data->rank || !data->num)
        return (layout){1, 1, data->num};
    layout l = {1, (size_t)data->shape[axis], 1};
    for (uint32_t i = 0; i < data->rank; i++)
        if (i != axis)
            *(i < axis ? &l.outer : &l.inner) *= (size_t)data->shape[i];
    return l;
}

/* What one channel's values can be when stored. */
typedef struct grid {
    bool is_known;
    double lo, hi, half; /* ends, half a step beyond the last values; half a step */
    double step;
} grid;

static grid read_grid(const qgc_row *row, size_t channel)
{
    const qgc_value_key *key = &row->key_b;
    if (!key->is_stored || !key->has_params)
        return (grid){0};
    size_t index = key->params.per_channel && channel < key->params.num ? channel : 0;
    double step = (double)key->params.scales[index], half = step / 2;
    int32_t zero_point = key->params.zero_points[index];
    return (grid){true, ((double)key->range.lo - zero_point) * step - half,
                  ((double)key->range.hi - zero_point) * step + half, half, step};
}

static double clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* The unrounded value behind |b|: what an integer op rounded is not known, so the nearest to |a|
 * that is stored as |b|. */
static double unrounded(const grid *g, double a, double b)
{
    double lo = b - g->half, hi = b + g->half;
    if (lo <= g->lo)
        lo = -INFINITY;
    if (hi >= g->hi)
        hi = INFINITY;
    return clamp(a, lo, hi);
}

/* Clipped: from the computed value to the range's end; rounded: from there to what is stored;
 * inherited: what the computed value is off. The ends are taken half a step further, where values
 * still are rounded to them. */
static void add_parts(qgc_row *row, const grid *g, double a, double computed, double b)
{
    double inside = g->is_known ? clamp(computed, g->lo, g->hi) : computed;
    double clipped = inside - computed, rounded = b - inside, inherited = computed - a;
    row->clipped += clipped * clipped;
    row->rounded += rounded * rounded;
    row->inherited += inherited * inherited;
    row->num_clipped += clipped != 0;
}

typedef struct sums {
    double signal, error, squares_b, product, abs_error;
} sums;

static bool is_same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void add_element(qgc_row *row, const grid *g, sums *s, const qgc_row_data *data, size_t i)
{
    float a = data->a[i], b = data->b[i];
    row->differing += !is_same(a, b);
    if (!isfinite(a) || !isfinite(b)) {
        if (qgc_is_mismatch((double)b, (double)a))
            qgc_mismatch_add(&row->broken, (double)b, (double)a, 0, i);
        return;
    }
    double x = (double)a, y = (double)b, error = y - x, size = fabs(error);
    s->signal += x * x;
    s->error += error * error;
    s->squares_b += y * y;
    s->product += x * y;
    s->abs_error += size;
    row->count++;
    if (size > row->max_abs)
        row->max_abs = size;
    if (size > row->max_rel * fabs(x) && x != 0)
        row->max_rel = size / fabs(x);
    if (g->is_known && size > row->max_steps * g->step)
        row->max_steps = size / g->step;
    if (!row->key_b.is_stored)
        return;
    double computed = data->computed ? (double)data->computed[i]
                      : g->is_known  ? unrounded(g, x, y)
                                     : y;
    if (isfinite(computed))
        add_parts(row, g, x, computed, y);
}

/* |shared|: the grid of all channels, or NULL. */
static void add_block(qgc_row *row, const qgc_row_data *data, const grid *shared, size_t channel,
                      size_t first, size_t num)
{
    grid own = {0};
    sums s = {0};
    if (!shared)
        own = read_grid(row, channel);
    for (size_t i = first; i < first + num; i++)
        add_element(row, shared ? shared : &own, &s, data, i);
    row->signal[channel] += s.signal;
    row->error[channel] += s.error;
    row->squares_b += s.squares_b;
    row->product += s.product;
    row->abs_error += s.abs_error;
}

void qgc_row_init(qgc_row *row, qgc_arena *arena)
{
    qgc_stats_init(&row->stats_a, QGC_OBSERVER_HISTOGRAM, arena);
    qgc_stats_init(&row->stats_b, QGC_OBSERVER_HISTOGRAM, arena);
}

/* The first broken element, found at a place of this batch. A constant has no samples. */
static void place_broken(qgc_row *row, const qgc_row_data *data, size_t samples, size_t num)
{
    qgc_mismatch *found = &row->broken;
    if (!data->rank || (size_t)data->shape[0] != num)
        return;
    size_t each = data->num / num;
    found->sample = samples + found->element / each;
    found->element %= each;
}

void qgc_row_add(qgc_row *row, const qgc_row_data *data, size_t samples, size_t num,
                 qgc_arena *arena)
{
    bool was_broken = row->broken.num > 0;
    layout l = read_layout(row, data);
    if (!row->signal) {
        row->channels = l.channels;
        row->signal = QGC_NEW_ARRAY(arena, double, l.channels);
        row->error = QGC_NEW_ARRAY(arena, double, l.channels);
    }
    grid shared = read_grid(row, 0);
    const grid *all = row->key_b.params.per_channel ? NULL : &shared;
    for (size_t o = 0; o < l.outer; o++)
        for (size_t c = 0; c < l.channels; c++)
            add_block(row, data, all, c < row->channels ? c : 0, (o * l.channels + c) * l.inner,
                      l.inner);
    if (row->broken.num && !was_broken)
        place_broken(row, data, samples, num);
    qgc_stats_update(&row->stats_a, data->a, data->num);
    qgc_stats_update(&row->stats_b, data->b, data->num);
}

/* ---- finishing ---- */

static void count_zeros(const qgc_stats *stats, qgc_compare_row *out, uint64_t *bins)
{
    if (!stats->zeros)
        return;
    double at = out->bin_width > 0 ? floor(-out->bin_lo / out->bin_width) : 0;
    bins[(size_t)clamp(at, 0, QGC_COMPARE_BINS - 1)] += stats->zeros;
}

/* Bins of the record by their centres. */
static void fill_bins(const qgc_stats *stats, qgc_compare_row *out, uint64_t *bins)
{
    double width = ldexp(1.0, stats->exp);
    for (uint32_t i = 0; i < stats->num_bins; i++) {
        double lo = fmax((stats->first + (double)i) * width, (double)stats->min);
        double hi = fmin((stats->first + (double)i + 1) * width, (double)stats->max);
        double at = floor(((lo + hi) / 2 - out->bin_lo) / out->bin_width);
        bins[(size_t)clamp(at, 0, QGC_COMPARE_BINS - 1)] += stats->bins[i];
    }
    count_zeros(stats, out, bins);
}

static double divergence(const qgc_compare_row *out)
{
    double sum_a = QGC_COMPARE_BINS / 2.0, sum_b = sum_a, kl = 0;
    for (int i = 0; i < QGC_COMPARE_BINS; i++) {
        sum_a += (double)out->bins_a[i];
        sum_b += (double)out->bins_b[i];
    }
    for (int i = 0; i < QGC_COMPARE_BINS; i++) {
        double p = ((double)out->bins_a[i] + 0.5) / sum_a,
               q = ((double)out->bins_b[i] + 0.5) / sum_b;
        kl += p * log(p / q);
    }
    return kl > 0 ? kl : 0; /* rounding can leave -1e-17 */
}

static void set_range(const qgc_stats *stats, double *min, double *max)
{
    bool any = stats->min <= stats->max;
    *min = any ? (double)stats->min : (double)NAN;
    *max = any ? (double)stats->max : (double)NAN;
}

static void finish_histograms(const qgc_row *row, qgc_compare_row *out)
{
    set_range(&row->stats_a, &out->min_a, &out->max_a);
    set_range(&row->stats_b, &out->min_b, &out->max_b);
    double lo = fmin(out->min_a, out->min_b), hi = fmax(out->max_a, out->max_b);
    if (!(lo <= hi))
        return;
    out->bin_lo = lo;
    out->bin_width = hi > lo ? (hi - lo) / QGC_COMPARE_BINS : 1;
    fill_bins(&row->stats_a, out, out->bins_a);
    fill_bins(&row->stats_b, out, out->bins_b);
    out->kl = divergence(out);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Channels without signal and without error do not count. */
static void finish_channels(const qgc_row *row, qgc_arena *arena, qgc_compare_row *out)
{
    double *list = QGC_NEW_ARRAY(arena, double, row->channels ? row->channels : 1);
    size_t num = 0;
    out->num_channels = row->channels;
    out->channel_sqnr = out->worst_channel_sqnr = INFINITY;
    for (size_t c = 0; c < row->channels; c++) {
        if (row->signal[c] == 0 && row->error[c] == 0)
            continue;
        double sqnr = list[num++] = qgc_ratio_db(row->signal[c], row->error[c]);
        if (sqnr < out->worst_channel_sqnr) {
            out->worst_channel_sqnr = sqnr;
            out->worst_channel = c;
        }
    }
    qsort(list, num, sizeof *list, by_size);
    if (num)
        out->channel_sqnr = list[num / 2];
}

static void finish_parts(const qgc_row *row, qgc_compare_row *out)
{
    const qgc_value_key *key = &row->key_b;
    double num = row->count ? (double)row->count : 1;
    out->has_step = key->is_stored && key->has_params && !key->params.per_channel;
    if (out->has_step) {
        out->step = (double)key->params.scales[0];
        out->zero_point = key->params.zero_points[0];
    }
    out->max_steps = row->max_steps;
    out->has_parts = key->is_stored && row->count;
    out->clipped = row->clipped / num;
    out->rounded = row->rounded / num;
    out->inherited = row->inherited / num;
    out->mixed = out->has_parts ? out->mse - out->clipped - out->rounded - out->inherited : 0;
    out->clipped_share = (double)row->num_clipped / num;
}

void qgc_row_finish(const qgc_row *row, qgc_arena *arena, qgc_compare_row *out)
{
    double signal = 0, error = 0, num = row->count ? (double)row->count : 1;
    for (size_t c = 0; c < row->channels; c++) {
        signal += row->signal[c];
        error += row->error[c];
    }
    out->count = row->count;
    out->differing = row->differing;
    out->broken = row->broken;
    out->energy = signal / num;
    out->mse = error / num;
    out->l1 = row->abs_error / num;
    out->max_abs = row->max_abs;
    out->max_rel = row->max_rel;
    out->sqnr = qgc_ratio_db(signal, error);
    double norm = sqrt(signal) * sqrt(row->squares_b);
    out->cosine = norm > 0 ? row->product / norm : error == 0 ? 1 : 0;
    out->cosine = out->cosine > 1 ? 1 : out->cosine;
    finish_channels(row, arena, out);
    finish_histograms(row, out);
    finish_parts(row, out);
}

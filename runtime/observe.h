/* Observer statistics: what a calibration keeps of the values it sees, and the ranges that can be
 * had from it afterwards (docs/quantization.md, section 3). State and method are separate: one
 * calibration, any method later, without data.
 *
 * The histogram merges exactly. Bin k covers [k * 2^exp, (k + 1) * 2^exp) and exp is a function of
 * min and max alone: the smallest with floor(max / 2^exp) - floor(min / 2^exp) < 4096 and
 * exp >= floor(log2(max(-min, max))) - 23; 0 where only zeros were seen. It can only grow as the
 * range grows, and floor(floor(x / 2^a) / 2^b) = floor(x / 2^(a + b)), so bins are re-binned
 * without loss: any order, any split into shards and any merge tree give the same record.
 * Decisions:
 *  - min and max are those of all finite values, zeros included (-0 is +0): exp follows from the
 *    printed fields, and ranges contain zero anyway.
 *  - Exact zeros are counted apart and are in no bin (a quantized input has an atom there).
 *  - NaN and infinities are counted, and are in neither min, max nor bins; whoever uses the record
 *    may refuse them.
 *  - The bins are trimmed: the first and the last are not empty. One record, one representation. */
#ifndef QGC_RUNTIME_OBSERVE_H
#define QGC_RUNTIME_OBSERVE_H

#include "base/arena.h"
#include "runtime/quant.h"

enum { QGC_STATS_MAX_BINS = 4096 };

typedef enum qgc_observer {
    QGC_OBSERVER_MINMAX,         /* least and greatest value */
    QGC_OBSERVER_MOVING_AVERAGE, /* of the batches' min and max; the first batch copies, then
                                    m = m + c * (batch - m) in f32, c = 0.01f: order-dependent */
    QGC_OBSERVER_HISTOGRAM,
} qgc_observer;

#define QGC_STATS_AVERAGE_CONSTANT 0.01f

/* One record. Public, because readers and printers of text fill and read it: qgc_stats_check tells
 * whether the fields agree. A record without a finite value has min = +inf, max = -inf. */
typedef struct qgc_stats {
    qgc_observer observer;
    uint64_t count; /* values seen: zeros + nan + pos_inf + neg_inf + other finite ones */
    uint64_t zeros, nan, pos_inf, neg_inf;
    float min, max;
    /* HISTOGRAM only; otherwise 0, NULL */
    int32_t exp;
    int32_t first;     /* k of bins[0]; 0 where there are no bins */
    uint32_t num_bins; /* at most QGC_STATS_MAX_BINS */
    uint64_t *bins;    /* room for QGC_STATS_MAX_BINS, in the arena given to init */
} qgc_stats;

/* Why a record or a request is refused: id, text for messages. */
#define QGC_STATS_FAULTS(X)                                                                        \
    X(EMPTY, "no finite value has been seen")                                                      \
    X(ORDER, "moving averages depend on the order of the data and cannot be merged")               \
    X(OBSERVER, "records of different observers cannot be merged")                                 \
    X(OVERFLOW, "counts exceed 64 bits")                                                           \
    X(NO_HISTOGRAM, "the method needs a histogram")                                                \
    X(PERCENTILE, "percentile is not above 0 and at most 1")                                       \
    X(SPEC, "bad quantization spec")                                                               \
    X(BAD_RANGE, "minimum and maximum do not agree with the counts")                               \
    X(BAD_EXPONENT, "exponent is not the one that follows from minimum and maximum")               \
    X(BAD_BINS, "bins are not trimmed, or lie outside minimum and maximum")                        \
    X(BAD_COUNT, "counts do not add up")

typedef enum qgc_stats_fault {
    QGC_STATS_OK,
#define QGC_STATS_FAULT_ID(id, text) QGC_STATS_##id,
    QGC_STATS_FAULTS(QGC_STATS_FAULT_ID)
#undef QGC_STATS_FAULT_ID
} qgc_stats_fault;

/* Static text, no full stop; "" for QGC_STATS_OK. */
const char *qgc_stats_fault_text(qgc_stats_fault fault);

/* ---- state ---- */

/* An empty record. Histogram bins (32 KiB) come from |arena|; others need none (NULL is fine). */
void qgc_stats_init(qgc_stats *stats, qgc_observer observer, qgc_arena *arena);

/* Adds x[0..n), one batch where the observer counts batches (one without a finite value is none).
 * Not thread-safe on one record: give each thread its own and merge. */
void qgc_stats_update(qgc_stats *stats, const float *x, size_t n);

/* One record per channel: x has the shape [outer, channels, inner]; one batch for each channel. */
void qgc_stats_update_channels(qgc_stats *stats, size_t channels, const float *x, size_t outer,
                               size_t inner);

/* Adds |other|'s data to |stats|: as if |stats| had seen it. Faults: OBSERVER, ORDER (always for
 * moving averages), OVERFLOW; |stats| is then unchanged. Both records are valid (qgc_stats_check).
 */
qgc_stats_fault qgc_stats_merge(qgc_stats *stats, const qgc_stats *other);

/* Whether the fields can have come from data; to be asked of records read from a file before any
 * other use. Faults: OVERFLOW, BAD_*. A moving average's min and max are only checked for order. */
qgc_stats_fault qgc_stats_check(const qgc_stats *stats);

/* All fields equal to the bit (bins compared by value, not by address). */
bool qgc_stats_equal(const qgc_stats *a, const qgc_stats *b);

/* exp of a histogram over finite min <= max (the rule above). */
int32_t qgc_stats_exponent(float min, float max);

/* ---- methods: a range [lo, hi] from a record ----
 * qgc_qparams_from_range makes scale and zero point of it. Faults: EMPTY; NO_HISTOGRAM for all but
 * minmax; *out is then untouched. The results are the same on every machine (IEEE double + - * / in
 * a fixed order, own logarithm). */

typedef struct qgc_range {
    float lo, hi;
} qgc_range;

/* min and max. */
qgc_stats_fault qgc_stats_range_minmax(const qgc_stats *stats, qgc_range *out);

/* Keeps the share p of the finite values (zeros too), cutting both ends alike: with N of them and
 * d = floor(N * ((1 - p) / 2)) in double, lo is the lower edge of the bin that holds the value of
 * rank d in ascending order, hi the upper edge of the one of rank N - 1 - d (0 where that value is
 * an exact zero); both then clamped into [min, max]. p = 1 gives min and max. Fault: PERCENTILE. */
qgc_stats_fault qgc_stats_range_percentile(const qgc_stats *stats, double p, qgc_range *out);

/* Search for mse and entropy. Candidates are cuts at bin edges of the full range [lo, hi] =
 * [min(min, 0), max(max, 0)]:
 *  - affine: (i, j) moves lo up to the i-th next bin edge and hi down to the j-th next one, as far
 *    as there are bins below (above) zero.
 *  - symmetric: i moves the greater magnitude down to the i-th next edge m > 0, as far as there are
 *    bins; the range is [max(min, -m), min(max, m)].
 * The step h is the smallest power of two that leaves at most 16 steps per axis (64 where the
 * other axis has none). All multiples of h are scored; then h becomes max(1, h / 4) and the 9
 * (times 9) points at distance up to 4 h around the best are, and so on to h = 1. So the full range
 * (0, 0) is always scored, and with at most 16 (64) edges so is every candidate. The least score
 * wins; equal scores: least i + j, then least i (the widest range). For mse the search goes on
 * inside the bins: h = 1/4, then 1/16 of a bin, around the best and no wider than min and max; the
 * error knows where in a bin a range ends, entropy does not. Fault: SPEC. */

/* Score: the expected squared error of quantize + dequantize with the scale and zero point that
 * |spec| gives for the candidate. Values are taken as uniform within their bin (clipped to
 * [min, max]; a bin of width 0 is a point), the integral is exact over the steps and the saturated
 * ends; zeros cost nothing. */
qgc_stats_fault qgc_stats_range_mse(const qgc_stats *stats, const qgc_quant_spec *spec,
                                    qgc_range *out);
/* The score of one range, per finite value, for reports. Faults as above. */
qgc_stats_fault qgc_stats_mean_squared_error(const qgc_stats *stats, const qgc_quant_spec *spec,
                                             qgc_range range, double *out_error);

/* The share, 0 to 1, of the values that lie outside [lo, hi]: infinities do, NaNs do not count;
 * values are taken as uniform within their bin, clipped to [min, max]. False where the record does
 * not tell: a moving average, or minimum and maximum outside the range. */
bool qgc_stats_share_outside(const qgc_stats *stats, double lo, double hi, double *out);

/* Score: Kullback-Leibler divergence sum P ln(P / Q) over the bins. A bin belongs to the level its
 * centre is quantized to. P: the counts in the bins inside the range, those of the bins outside
 * added to the outermost bin inside on their side, divided by their sum. Q: the counts inside the
 * range (nothing added), spread for each level evenly over its bins where P > 0, divided by their
 * sum. A bin with P > 0 and Q = 0, or a side with counts outside and no bin inside, makes the score
 * infinite. A bin is inside where its centre is. Zeros are left out: every candidate has them
 * exactly. */
qgc_stats_fault qgc_stats_range_entropy(const qgc_stats *stats, const qgc_quant_spec *spec,
                                        qgc_range *out);

#endif

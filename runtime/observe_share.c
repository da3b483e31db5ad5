/* What a range does to the values of a record. */
#include "runtime/observe.h"

#include <math.h>

/* The part of [a, b] that lies below |lo| or above |hi|, from 0 to 1; a point is in or out. */
static double part_outside(double a, double b, double lo, double hi)
{
    if (a >= lo && b <= hi)
        return 0;
    if (b < lo || a > hi || !(a < b))
        return 1;
    double below = lo > a ? lo - a : 0, above = b > hi ? b - hi : 0;
    return (below + above) / (b - a);
}

bool qgc_stats_share_outside(const qgc_stats *stats, double lo, double hi, double *out)
{
    uint64_t num = stats->count - stats->nan;
    double outside = (double)stats->pos_inf + (double)stats->neg_inf;
    bool is_inside = stats->min >= lo && stats->max <= hi;
    if (stats->observer == QGC_OBSERVER_MOVING_AVERAGE ||
        (stats->observer == QGC_OBSERVER_MINMAX && !is_inside && stats->min <= stats->max))
        return false;
    outside += lo > 0 || hi < 0 ? (double)stats->zeros : 0;
    for (uint32_t i = 0; i < stats->num_bins; i++) {
        double a = ldexp((double)stats->first + i, stats->exp);
        double b = ldexp((double)stats->first + i + 1, stats->exp);
        a = a > (double)stats->min ? a : (double)stats->min;
        b = b < (double)stats->max ? b : (double)stats->max;
        outside += (double)stats->bins[i] * part_outside(a, b, lo, hi);
    }
    *out = num ? outside / (double)num : 0;
    return true;
}

/* Finding values that are NaN or infinite in one of two graphs only. */
#ifndef QGC_RUNTIME_INTERP_MISMATCH_H
#define QGC_RUNTIME_INTERP_MISMATCH_H

#include "qgc/mismatch.h"

#include <math.h>

/* Infinities of one sign are the same, and so are NaNs. */
static inline bool qgc_is_mismatch(double ours, double theirs)
{
    if (isfinite(ours) && isfinite(theirs))
        return false;
    return ours != theirs && !(isnan(ours) && isnan(theirs));
}

/* Counts one, and keeps it where it is the first. */
void qgc_mismatch_add(qgc_mismatch *found, double ours, double theirs, size_t sample,
                      size_t element);

#endif

/* Weights of a lowered graph: codes whose scales went into multipliers. */
#ifndef QGC_PASSES_COMPARE_FIT_H
#define QGC_PASSES_COMPARE_FIT_H

#include "passes/compare_row.h"

/* A constant whose codes can be read by fitting: of more than one dimension, so that a channel has
 * several of them. */
bool qgc_can_fit(const qgc_value *codes, const qgc_value_key *key, const qgc_value_key *other);

/* The axis of the scales that |value|, a constant, gets as a weight: that of its first use as one.
 */
uint32_t qgc_weight_axis(const qgc_value *value, const qgc_value_key *key);

/* Gives |key| parameters: those of |other|, where it has some; else for each channel the scale with
 * the least squared error against |values|, sum(q v) / sum(q q), 0 where that is negative; no zero
 * points. Memory in |arena|. */
void qgc_fit_scales(const qgc_tensor *codes, const float *values, const qgc_value_key *other,
                    uint32_t axis, qgc_arena *arena, qgc_value_key *key);

/* The elements of |codes| by parameters per channel; |out| is as long. False: the parameters are
 * not for its shape. */
bool qgc_read_channels(const qgc_tensor *codes, const qgc_view_params *params, float *out);

#endif

/* One dimension of a convolution, or of a phase of a transposed one: the outputs whose positions
 * agree modulo the stride, which are a convolution of stride 1 with the taps that meet them.
 *
 * Tap j of output i reads input i * stride - begin + j * dilation, where that is in [0, size). It
 * is tap |tap_first| + j * |tap_step| of the kernel; the output's position is first + i * step. Of
 * a transposed convolution, input and tap go against each other: the dilation is negative. */
#ifndef QGC_CODEGEN_PHASE_H
#define QGC_CODEGEN_PHASE_H

#include "base/arena.h"
#include "runtime/ref/window.h"

typedef struct qgc_phase {
    int64_t size, kernel, out;
    int64_t stride, dilation, begin;
    int64_t tap_first, tap_step;
    int64_t first, step;
} qgc_phase;

typedef struct qgc_phases {
    int64_t num;
    qgc_phase *list;
} qgc_phases;

/* A convolution is one phase. False where some output has no tap in bounds. */
bool qgc_list_phases(const qgc_window_dim *dim, bool transposed, qgc_arena *arena, qgc_phases *out);
/* The taps [*first, *end) of output |i| in bounds. */
void qgc_phase_taps(const qgc_phase *phase, int64_t i, int64_t *first, int64_t *end);

static inline int64_t qgc_phase_tap(const qgc_phase *phase, int64_t j)
{
    return phase->tap_first + j * phase->tap_step;
}

#endif

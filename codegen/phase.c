#include "codegen/phase.h"

void qgc_phase_taps(const qgc_phase *phase, int64_t i, int64_t *first, int64_t *end)
{
    *first = *end = 0;
    for (int64_t j = 0; j < phase->kernel; j++) {
        int64_t at = i * phase->stride - phase->begin + j * phase->dilation;
        if (at < 0 || at >= phase->size)
            continue;
        if (*first == *end)
            *first = j;
        *end = j + 1;
    }
}

static bool has_empty_window(const qgc_phase *phase)
{
    for (int64_t i = 0; i < phase->out; i++) {
        int64_t first, end;
        qgc_phase_taps(phase, i, &first, &end);
        if (first == end)
            return true;
    }
    return false;
}

static qgc_phase whole(const qgc_window_dim *dim)
{
    return (qgc_phase){.size = dim->size,
                       .kernel = dim->kernel,
                       .out = dim->out,
                       .stride = dim->stride,
                       .dilation = dim->dilation,
                       .begin = dim->begin,
                       .tap_step = 1,
                       .step = 1};
}

/* Tap k of output o reads input (o + begin - k * dilation) / stride where that is whole. */
static qgc_phase transposed_phase(const qgc_window_dim *dim, int64_t first)
{
    qgc_phase phase = {.size = dim->size, .stride = 1, .first = first, .step = dim->stride};
    phase.out = (dim->out - first + dim->stride - 1) / dim->stride;
    phase.tap_step = 1;
    while (phase.tap_step * dim->dilation % dim->stride)
        phase.tap_step++;
    while (phase.tap_first < dim->kernel &&
           (first + dim->begin - phase.tap_first * dim->dilation) % dim->stride)
        phase.tap_first++;
    if (phase.tap_first < dim->kernel)
        phase.kernel = (dim->kernel - phase.tap_first + phase.tap_step - 1) / phase.tap_step;
    phase.begin = -(first + dim->begin - phase.tap_first * dim->dilation) / dim->stride;
    phase.dilation = -(phase.tap_step * dim->dilation / dim->stride);
    return phase;
}

bool qgc_list_phases(const qgc_window_dim *dim, bool transposed, qgc_arena *arena, qgc_phases *out)
{
    out->num = !transposed ? 1 : dim->stride < dim->out ? dim->stride : dim->out;
    out->list = QGC_NEW_ARRAY(arena, qgc_phase, (size_t)out->num);
    bool all_have_taps = true;
    for (int64_t i = 0; i < out->num; i++) {
        out->list[i] = transposed ? transposed_phase(dim, i) : whole(dim);
        all_have_taps = all_have_taps && !has_empty_window(&out->list[i]);
    }
    return all_have_taps;
}

/* Plans int_conv_transpose1d and int_conv_transpose2d + requantize: each phase (codegen/phase.h) is
 * a dense convolution that writes every stride-th pixel of every stride-th row. Order does not
 * matter to integers, so its taps are turned over: they then go the way of the input. */
#include "codegen/conv.h"
#include "codegen/phase.h"
#include "ir/view.h"

#include <string.h>

enum { MOST_PHASES = 16 }; /* each is code of its own */

typedef struct transposed {
    qgc_planner *p;
    const qgc_product *m;
    qgc_add_conv_fn *add;
    qgc_window_dim dims[QGC_MAX_SPATIAL];
    qgc_window whole;
    qgc_conv_buffers buffers;
} transposed;

static void turn_over(qgc_phase *phase)
{
    int64_t last = phase->kernel - 1;
    phase->begin -= last * phase->dilation;
    phase->dilation = -phase->dilation;
    phase->tap_first += last * phase->tap_step;
    phase->tap_step = -phase->tap_step;
}

/* From [C, O / groups, taps] to [O, C / groups, the phase's taps]. */
static qgc_tensor *phase_weights(const transposed *t, const qgc_phase *h, const qgc_phase *v)
{
    qgc_arena *arena = &t->p->plan->arena;
    const qgc_tensor *w = t->m->weights;
    int64_t groups = qgc_node_int(t->m->node, "groups"),
            all = t->dims[1].kernel * t->dims[2].kernel;
    int64_t channels = w->shape[0] / groups, outputs = w->shape[1];
    int64_t shape[] = {outputs * groups, channels, h->kernel, v->kernel};
    size_t size = qgc_dtype_bytes(w->dtype);
    size_t bytes = (size_t)(shape[0] * channels * h->kernel * v->kernel) * size;
    qgc_tensor *out = QGC_NEW(arena, qgc_tensor);
    uint8_t *to = qgc_arena_alloc(arena, bytes);
    *out = (qgc_tensor){.dtype = w->dtype, .rank = 4, .bytes = bytes, .data = to};
    for (uint32_t i = 0; i < 4; i++)
        out->shape[i] = shape[i];
    for (int64_t o = 0; o < shape[0]; o++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t i = 0; i < h->kernel; i++)
                for (int64_t j = 0; j < v->kernel; j++) {
                    int64_t row = (o / outputs * channels + c) * outputs + o % outputs;
                    int64_t tap = qgc_phase_tap(h, i) * t->dims[2].kernel + qgc_phase_tap(v, j);
                    const uint8_t *from = w->data;
                    memcpy(to, from + (size_t)(row * all + tap) * size, size);
                    to += size;
                }
    return out;
}

static void place(qgc_pixels *pixels, const qgc_phase *h, const qgc_phase *v)
{
    pixels->first += h->first * pixels->row + v->first * pixels->pixel;
    pixels->row *= h->step;
    pixels->pixel *= v->step;
}

static void add_phase(const transposed *t, const qgc_phase *h, const qgc_phase *v)
{
    qgc_product m = *t->m;
    qgc_conv_buffers b = t->buffers;
    qgc_window window = {{1, 1}, {h->dilation, v->dilation}, {.top = h->begin, .left = v->begin}};
    m.weights = phase_weights(t, h, v);
    b.in_pixels.first += (t->whole.border.top - h->begin) * b.in_pixels.row +
                         (t->whole.border.left - v->begin) * b.in_pixels.pixel;
    place(&b.out_pixels, h, v);
    place(&b.addend_pixels, h, v);
    t->add(t->p, &m, &window, &b, (int64_t[]){h->out, v->out});
}

static bool list_phases(const transposed *t, uint32_t dim, qgc_phases *out)
{
    if (!qgc_list_phases(&t->dims[dim], true, &t->p->plan->arena, out))
        return false;
    for (int64_t i = 0; i < out->num; i++)
        turn_over(&out->list[i]);
    return true;
}

const char *qgc_plan_phases(qgc_planner *p, const qgc_product *m, qgc_add_conv_fn *add)
{
    transposed t = {.p = p, .m = m, .add = add};
    qgc_phases h, v;
    qgc_read_window_dims(m->node, true, t.dims);
    if (!list_phases(&t, 1, &h) || !list_phases(&t, 2, &v))
        return "a window lies out of bounds";
    if (h.num * v.num > MOST_PHASES)
        return "its strides are large";
    t.whole = qgc_read_window(m->node);
    t.buffers = qgc_make_buffers(p, m, &t.whole);
    for (int64_t i = 0; i < h.num; i++)
        for (int64_t j = 0; j < v.num; j++)
            add_phase(&t, &h.list[i], &v.list[j]);
    qgc_planner_set_phases(p, h.num * v.num);
    return NULL;
}

const char *qgc_plan_conv_transpose(qgc_planner *p, const qgc_node *node)
{
    qgc_product m = {.node = node, .is_raw = qgc_map_get(&p->raw, node) != NULL};
    const char *why = qgc_match_conv(&m);
    return why ? why : qgc_plan_phases(p, &m, qgc_add_conv);
}

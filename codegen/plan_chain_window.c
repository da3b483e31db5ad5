/* Plans float convolutions and their transposes as fma chains.
 *
 * Taps out of bounds are left out, not read as zeros: an fma with zero turns a sum of -0 into +0.
 *
 * The outputs of a transposed convolution whose positions agree modulo the stride are a convolution
 * of stride 1, with the taps that meet them: a phase. Each is a step of its own. */
#include "codegen/chain.h"
#include "codegen/conv.h"
#include "codegen/phase.h"
#include "ir/view.h"

typedef struct window {
    qgc_planner *p;
    const qgc_node *node;
    const qgc_tensor *w;
    bool is_transposed, is_depthwise;
    int64_t groups, channels, outputs; /* of a group */
    qgc_window_dim dims[QGC_MAX_SPATIAL];
    qgc_buffer *in, *out;
    const qgc_chain_group *group; /* or NULL */
} window;

/* ---- taps in bounds ---- */

/* Lists them. */
static void list_taps(const window *win, const qgc_phase *phase, qgc_chain_kernel *k,
                      uint32_t constant)
{
    int64_t *first = qgc_planner_constant(win->p, (size_t)phase->out, sizeof(int64_t));
    int64_t *end = qgc_planner_constant(win->p, (size_t)phase->out, sizeof(int64_t));
    for (int64_t o = 0; o < phase->out; o++)
        qgc_phase_taps(phase, o, &first[o], &end[o]);
    k->base.constants[constant] = first;
    k->base.constants[constant + 1] = end;
    for (int64_t o = 0; o < phase->out; o++)
        k->may_miss = k->may_miss || first[o] == end[o];
}

/* ---- weights ---- */

/* Where tap |tap| of the phase is in the kernel. */
static int64_t weight_of(const window *win, const qgc_phase *const *phase, int64_t tap)
{
    int64_t at[QGC_MAX_SPATIAL], weight = 0;
    for (uint32_t d = QGC_MAX_SPATIAL; d-- > 0; tap /= phase[d]->kernel)
        at[d] = qgc_phase_tap(phase[d], tap % phase[d]->kernel);
    for (uint32_t d = 0; d < QGC_MAX_SPATIAL; d++)
        weight = weight * win->dims[d].kernel + at[d];
    return weight;
}

/* To [group][tap][channel][output, padded], of the phase's taps. */
static const float *list_weights(const window *win, const qgc_phase *const *phase,
                                 const qgc_chain_kernel *k, qgc_arena *arena)
{
    int64_t width = qgc_chain_padded(win->p, k->out_c);
    int64_t taps = k->kernel_d * k->kernel_h * k->kernel_w;
    float *list = QGC_NEW_ARRAY(arena, float, (size_t)(k->groups * taps * k->channels * width));
    float *to = list;
    const float *from = win->w->data;
    int64_t all = win->dims[0].kernel * win->dims[1].kernel * win->dims[2].kernel;
    for (int64_t g = 0; g < k->groups; g++)
        for (int64_t tap = 0; tap < taps; tap++) {
            int64_t at = weight_of(win, phase, tap);
            for (int64_t c = 0; c < k->channels; c++, to += width)
                for (int64_t o = 0; o < k->out_c; o++) {
                    int64_t row = win->is_transposed && !win->is_depthwise
                                      ? (g * k->channels + c) * k->out_c + o
                                      : (g * k->out_c + o) * k->channels + c;
                    to[o] = from[row * all + at];
                }
        }
    return list;
}

/* ---- steps ---- */

/* From the pixels of all outputs to those of a phase. */
static void place_outputs(const qgc_phase *const *phase, qgc_pixels *out)
{
    out->first +=
        phase[0]->first * out->plane + phase[1]->first * out->row + phase[2]->first * out->pixel;
    out->plane *= phase[0]->step;
    out->row *= phase[1]->step;
    out->pixel *= phase[2]->step;
}

static void place(const window *win, const qgc_phase *const *phase, qgc_chain_kernel *k)
{
    qgc_border none = {0};
    k->in = qgc_buffer_pixels(win->in, &none);
    k->out = qgc_buffer_pixels(win->out, &none);
    k->tap_plane = phase[0]->dilation * k->in.plane;
    k->tap_row = phase[1]->dilation * k->in.row;
    k->tap_column = phase[2]->dilation * k->in.pixel;
    k->in.first -=
        phase[0]->begin * k->in.plane + phase[1]->begin * k->in.row + phase[2]->begin * k->in.pixel;
    k->in.plane *= phase[0]->stride;
    k->in.row *= phase[1]->stride;
    k->in.pixel *= phase[2]->stride;
    place_outputs(phase, &k->out);
}

/* Planes that do not meet are images. */
static void split_planes(qgc_chain_kernel *k, qgc_pixels *operands, uint32_t num_operands)
{
    if (k->images > 1 || k->kernel_d != 1 || k->may_miss)
        return;
    k->images = k->out_d;
    k->out_d = 1;
    k->in.image = k->in.plane;
    k->out.image = k->out.plane;
    for (uint32_t i = 0; i < num_operands; i++)
        operands[i].image = operands[i].plane;
}

static void add_phase(const window *win, const qgc_phase *const *phase)
{
    qgc_arena scratch = {0};
    qgc_pixels operands[QGC_FUSED_MAX_INPUTS];
    qgc_chain_group group = {0};
    qgc_chain_kernel *k = qgc_new_chain(win->p);
    qgc_chain c = {.p = win->p, .node = win->node, .k = k, .inputs = {win->in}, .out = win->out};
    k->images = win->out->n;
    k->groups = win->is_depthwise ? 1 : win->groups;
    k->out_c = win->is_depthwise ? win->groups : win->outputs;
    k->out_d = phase[0]->out;
    k->out_h = phase[1]->out;
    k->out_w = phase[2]->out;
    k->channels = win->channels;
    k->kernel_d = phase[0]->kernel;
    k->kernel_h = phase[1]->kernel;
    k->kernel_w = phase[2]->kernel;
    k->is_depthwise = win->is_depthwise;
    list_taps(win, phase[0], k, QGC_CHAIN_PLANE_FIRST);
    list_taps(win, phase[1], k, QGC_CHAIN_ROW_FIRST);
    list_taps(win, phase[2], k, QGC_CHAIN_COLUMN_FIRST);
    k->first_columns = k->base.constants[QGC_CHAIN_COLUMN_FIRST];
    k->end_columns = k->base.constants[QGC_CHAIN_COLUMN_END];
    place(win, phase, k);
    if (win->group) {
        group = *win->group;
        for (uint32_t i = 0; i < group.functions->num_inputs; i++) {
            operands[i] = group.pixels[i];
            place_outputs(phase, &operands[i]);
        }
        group.pixels = operands;
        c.group = &group;
    }
    split_planes(k, operands, qgc_chain_num_operands(&c));
    c.weights = list_weights(win, phase, k, &scratch);
    qgc_add_chain(&c);
    qgc_arena_destroy(&scratch);
}

static window read_window(qgc_planner *p, const qgc_node *node)
{
    window win = {.p = p, .node = node, .w = qgc_constant_operand(node, QGC_CHAIN_W)};
    win.is_transposed = node->op >= QGC_OP_CONV_TRANSPOSE1D && node->op <= QGC_OP_CONV_TRANSPOSE3D;
    win.groups = qgc_node_int(node, "groups");
    win.channels = node->operands[QGC_CHAIN_X].value->type->dims[1].value / win.groups;
    win.outputs = node->results[0].type->dims[1].value / win.groups;
    win.is_depthwise = win.groups > 1 && win.channels == 1 && win.outputs == 1;
    if (win.w)
        qgc_read_window_dims(node, win.is_transposed, win.dims);
    return win;
}

const char *qgc_chain_window_declines(qgc_planner *p, const qgc_node *node)
{
    enum { MOST_PHASES = 4096 }; /* each is code of its own, if it differs from the others */
    window win = read_window(p, node);
    int64_t phases = 1;
    for (uint32_t d = 0; win.w && win.is_transposed && d < QGC_MAX_SPATIAL; d++) {
        const qgc_window_dim *dim = &win.dims[d];
        phases *= dim->stride < dim->out ? dim->stride : dim->out;
        if (phases > MOST_PHASES)
            return "it has too many phases";
    }
    return win.w ? NULL : "w is not constant";
}

void qgc_plan_chain_window(qgc_planner *p, const qgc_node *node, const qgc_chain_group *group)
{
    window win = read_window(p, node);
    qgc_phases all[QGC_MAX_SPATIAL];
    for (uint32_t d = 0; d < QGC_MAX_SPATIAL; d++)
        (void)qgc_list_phases(&win.dims[d], win.is_transposed, &p->plan->arena, &all[d]);
    win.group = group;
    win.in = qgc_planner_nhwc(p, node->operands[QGC_CHAIN_X].value, (qgc_border){0}, 0);
    win.out = qgc_make_output(p, group ? group->result : &node->results[0]);
    for (int64_t i = 0; i < all[0].num; i++)
        for (int64_t j = 0; j < all[1].num; j++)
            for (int64_t l = 0; l < all[2].num; l++)
                add_phase(&win, (const qgc_phase *const[]){&all[0].list[i], &all[1].list[j],
                                                           &all[2].list[l]});
    qgc_planner_set_phases(p, all[0].num * all[1].num * all[2].num);
}

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
static void list_taps(const window *win, const qgc_phase *phase, const void **constants)
{
    int64_t *first = qgc_planner_constant(win->p, (size_t)phase->out, sizeof(int64_t));
    int64_t *end = qgc_planner_constant(win->p, (size_t)phase->out, sizeof(int64_t));
    for (int64_t o = 0; o < phase->out; o++)
        qgc_phase_taps(phase, o, &first[o], &end[o]);
    constants[0] = first;
    constants[1] = end;
}

/* ---- weights ---- */

/* To [group][tap][channel][output, padded], of the phase's taps. */
static const float *list_weights(const window *win, const qgc_phase *h, const qgc_phase *v,
                                 const qgc_chain_kernel *k, qgc_arena *arena)
{
    int64_t width = qgc_chain_padded(win->p, k->out_c), taps = h->kernel * v->kernel;
    float *list = QGC_NEW_ARRAY(arena, float, (size_t)(k->groups * taps * k->channels * width));
    float *to = list;
    const float *from = win->w->data;
    int64_t all = win->dims[1].kernel * win->dims[2].kernel;
    for (int64_t g = 0; g < k->groups; g++)
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t c = 0; c < k->channels; c++, to += width)
                for (int64_t o = 0; o < k->out_c; o++) {
                    int64_t row = win->is_transposed && !win->is_depthwise
                                      ? (g * k->channels + c) * k->out_c + o
                                      : (g * k->out_c + o) * k->channels + c;
                    int64_t at = qgc_phase_tap(h, tap / v->kernel) * win->dims[2].kernel +
                                 qgc_phase_tap(v, tap % v->kernel);
                    to[o] = from[row * all + at];
                }
    return list;
}

/* ---- steps ---- */

static void place(const window *win, const qgc_phase *h, const qgc_phase *v, qgc_chain_kernel *k)
{
    qgc_border none = {0};
    k->in = qgc_buffer_pixels(win->in, &none);
    k->out = qgc_buffer_pixels(win->out, &none);
    k->tap_row = h->dilation * k->in.row;
    k->tap_column = v->dilation * k->in.pixel;
    k->in.first -= h->begin * k->in.row + v->begin * k->in.pixel;
    k->in.row *= h->stride;
    k->in.pixel *= v->stride;
    k->out.first += h->first * k->out.row + v->first * k->out.pixel;
    k->out.row *= h->step;
    k->out.pixel *= v->step;
}

/* The operands' pixels are those of the outputs. */
static void place_operands(const qgc_phase *h, const qgc_phase *v, const qgc_chain_group *group,
                           qgc_pixels *out)
{
    for (uint32_t i = 0; i < group->functions->num_inputs; i++) {
        out[i] = group->pixels[i];
        out[i].first += h->first * out[i].row + v->first * out[i].pixel;
        out[i].row *= h->step;
        out[i].pixel *= v->step;
    }
}

static void add_phase(const window *win, const qgc_phase *h, const qgc_phase *v)
{
    qgc_arena scratch = {0};
    qgc_pixels operands[QGC_FUSED_MAX_INPUTS];
    qgc_chain_group group = {0};
    qgc_chain_kernel *k = qgc_new_chain(win->p);
    qgc_chain c = {.p = win->p, .node = win->node, .k = k, .inputs = {win->in}, .out = win->out};
    k->images = win->out->n;
    k->groups = win->is_depthwise ? 1 : win->groups;
    k->out_c = win->is_depthwise ? win->groups : win->outputs;
    k->out_h = h->out;
    k->out_w = v->out;
    k->channels = win->channels;
    k->kernel_h = h->kernel;
    k->kernel_w = v->kernel;
    k->is_depthwise = win->is_depthwise;
    list_taps(win, h, &k->base.constants[QGC_CHAIN_ROW_FIRST]);
    list_taps(win, v, &k->base.constants[QGC_CHAIN_COLUMN_FIRST]);
    k->first_columns = k->base.constants[QGC_CHAIN_COLUMN_FIRST];
    k->end_columns = k->base.constants[QGC_CHAIN_COLUMN_END];
    place(win, h, v, k);
    if (win->group) {
        place_operands(h, v, win->group, operands);
        group = *win->group;
        group.pixels = operands;
        c.group = &group;
    }
    c.weights = list_weights(win, h, v, k, &scratch);
    qgc_add_chain(&c);
    qgc_arena_destroy(&scratch);
}

static window read_window(qgc_planner *p, const qgc_node *node)
{
    window win = {.p = p, .node = node, .w = qgc_constant_operand(node, QGC_CHAIN_W)};
    win.is_transposed = node->op == QGC_OP_CONV_TRANSPOSE1D || node->op == QGC_OP_CONV_TRANSPOSE2D;
    win.groups = qgc_node_int(node, "groups");
    win.channels = node->operands[QGC_CHAIN_X].value->type->dims[1].value / win.groups;
    win.outputs = node->results[0].type->dims[1].value / win.groups;
    win.is_depthwise = win.groups > 1 && win.channels == 1 && win.outputs == 1;
    if (win.w)
        qgc_read_window_dims(node, win.is_transposed, win.dims);
    return win;
}

static bool list_phases(const window *win, qgc_arena *arena, qgc_phases *h, qgc_phases *v)
{
    return qgc_list_phases(&win->dims[1], win->is_transposed, arena, h) &&
           qgc_list_phases(&win->dims[2], win->is_transposed, arena, v);
}

const char *qgc_chain_window_declines(qgc_planner *p, const qgc_node *node)
{
    qgc_arena scratch = {0};
    qgc_phases h, v;
    window win = read_window(p, node);
    if (!win.w)
        return "w is not constant";
    bool is_inside = list_phases(&win, &scratch, &h, &v);
    qgc_arena_destroy(&scratch);
    return is_inside ? NULL : "a window lies out of bounds";
}

void qgc_plan_chain_window(qgc_planner *p, const qgc_node *node, const qgc_chain_group *group)
{
    window win = read_window(p, node);
    qgc_phases h = {0}, v = {0};
    (void)list_phases(&win, &p->plan->arena, &h, &v);
    win.group = group;
    win.in = qgc_planner_nhwc(p, node->operands[QGC_CHAIN_X].value, (qgc_border){0}, 0);
    win.out = qgc_make_output(p, group ? group->result : &node->results[0]);
    for (int64_t i = 0; i < h.num; i++)
        for (int64_t j = 0; j < v.num; j++)
            add_phase(&win, &h.list[i], &v.list[j]);
    qgc_planner_set_phases(p, h.num * v.num);
}

/* Plans int_conv2d, int_linear + requantize as one generated kernel: folds zero points, packs
 * weights.
 *
 * acc = bias + sum (x - zx) * w = (bias - zx * sum w) + sum x * w, where a tap out of bounds reads
 * the border, which holds zx: it contributes zx * w - zx * w = 0. All of it modulo 2^32. */
#include "codegen/planner.h"
#include "ir/view.h"

#include <string.h>

/* The weights as the packer sees them. */
typedef struct weights {
    const qgc_tensor *tensor;
    int64_t out_c, in_c, kernel_h, kernel_w; /* linear: in_c alone */
    int32_t shift;                           /* subtracted to make them signed: 128 for u8 */
    bool merged;                             /* a run is a whole kernel row */
} weights;

typedef struct match {
    const qgc_node *node, *epilogue;
    const qgc_value *x;
    weights w;
    int32_t x_zero_point; /* of the unsigned form */
    const qgc_tensor *bias;
    const qgc_tensor *multipliers; /* f32[1,C], or NULL: multiplier */
    float multiplier;
    const qgc_tensor *c_list;
    float c;
} match;

static const qgc_tensor *constant_operand(const qgc_node *node, uint32_t index)
{
    const qgc_value *value = node->operands[index].value;
    return value && value->def ? value->def->constant : NULL;
}

static int32_t unsigned_shift(qgc_dtype dtype)
{
    return dtype == QGC_DTYPE_I8 ? 128 : 0;
}

static bool is_8bit(qgc_dtype dtype)
{
    return dtype == QGC_DTYPE_I8 || dtype == QGC_DTYPE_U8;
}

enum { X, W, BIAS, X_ZERO_POINT, W_ZERO_POINT };

static const char *match_operands(match *m)
{
    const qgc_node *node = m->node;
    m->x = node->operands[X].value;
    if (!is_8bit(m->x->type->dtype))
        return "x has 16 bits";
    m->w.tensor = constant_operand(node, W);
    if (!m->w.tensor)
        return "w is not constant";
    if (!is_8bit(m->w.tensor->dtype))
        return "w has 16 bits";
    if (node->operands[X_ZERO_POINT].value || node->operands[W_ZERO_POINT].value)
        return "a zero point is an operand";
    m->w.shift = m->w.tensor->dtype == QGC_DTYPE_U8 ? 128 : 0;
    if (qgc_node_int(node, "w_zero_point") != m->w.shift)
        return "w has a zero point";
    m->x_zero_point =
        (int32_t)qgc_node_int(node, "x_zero_point") + unsigned_shift(m->x->type->dtype);
    m->bias = constant_operand(node, BIAS);
    if (node->operands[BIAS].value && !m->bias)
        return "bias is not constant";
    return NULL;
}

/* Per tensor, or per channel along |axis| of the result. */
static const char *match_multipliers(match *m, uint32_t operand, int64_t channels)
{
    const qgc_node *node = m->epilogue;
    if (qgc_node_has(node, "multipliers")) {
        m->multiplier = qgc_node_attr(node, "multipliers")->floats[0];
        return NULL;
    }
    m->multipliers = constant_operand(node, operand);
    if (!m->multipliers)
        return "multipliers are not constant";
    size_t num = m->multipliers->bytes / sizeof(float);
    if (num == 1)
        m->multiplier = *(const float *)m->multipliers->data;
    if (num == 1)
        m->multipliers = NULL;
    return num == 1 || (num == (size_t)channels && qgc_node_has(node, "axis"))
               ? NULL
               : "multipliers differ by position";
}

static const char *match_c(match *m, uint32_t operand, int64_t channels)
{
    m->c = qgc_node_float(m->epilogue, "c");
    if (!m->epilogue->operands[operand].value)
        return NULL;
    m->c_list = constant_operand(m->epilogue, operand);
    if (!m->c_list)
        return "c is not constant";
    size_t num = m->c_list->bytes / sizeof(float);
    if (num == 1)
        m->c = *(const float *)m->c_list->data;
    if (num == 1)
        m->c_list = NULL;
    return num == 1 || (num == (size_t)channels && qgc_node_has(m->epilogue, "axis"))
               ? NULL
               : "c differs by position";
}

static const char *match_epilogue(match *m, int64_t channels, uint32_t channel_axis)
{
    const qgc_value *acc = &m->node->results[0];
    const qgc_node *user = acc->num_uses == 1 ? acc->first_use->user : NULL;
    if (!user || user->op != QGC_OP_REQUANTIZE)
        return "its sum is used by something else than one requantize";
    m->epilogue = user;
    if (user->num_operands != 3)
        return "its requantize has several terms";
    if (!is_8bit(user->results[0].type->dtype))
        return "its result has more than 8 bits";
    if (qgc_node_word(user, "mode") != 0)
        return "its requantize adds zero points first";
    if (qgc_node_has(user, "term_zero_points") && qgc_node_int_at(user, "term_zero_points", 0) != 0)
        return "its requantize has a term zero point";
    if (user->results[0].type != qgc_type_with_dtype(&user->func->module->context->types, acc->type,
                                                     user->results[0].type->dtype))
        return "its requantize broadcasts";
    int64_t axis = qgc_node_has(user, "axis") ? qgc_node_int(user, "axis") : (int64_t)channel_axis;
    if (axis != channel_axis && axis + (int64_t)acc->type->rank != (int64_t)channel_axis)
        return "its requantize is along another axis";
    const char *why = match_multipliers(m, 1, channels);
    return why ? why : match_c(m, 2, channels);
}

/* ---- packing ---- */

/* Weight of byte |k| of run |run|, as s8; 0 behind the run's end. */
static int8_t weight_at(const weights *w, int64_t out, int64_t run, int64_t k)
{
    int64_t column = w->merged ? k / w->in_c : run % w->kernel_w;
    int64_t row = w->merged ? run : run / w->kernel_w;
    int64_t channel = k % w->in_c;
    int64_t index = ((out * w->in_c + channel) * w->kernel_h + row) * w->kernel_w + column;
    const uint8_t *bytes = w->tensor->data;
    return (int8_t)(w->shift ? bytes[index] - w->shift : ((const int8_t *)bytes)[index]);
}

static uint32_t block_vectors(const qgc_conv_kernel *k, uint32_t lanes, int64_t first)
{
    int64_t vectors = (k->out_c - first + lanes - 1) / lanes;
    return vectors < k->tile_vectors ? (uint32_t)vectors : k->tile_vectors;
}

/* Channels padded to whole blocks. */
static size_t padded_channels(const qgc_planner *p, const qgc_conv_kernel *k)
{
    int64_t block = (int64_t)k->tile_vectors * p->target->lanes;
    return (size_t)((k->out_c + block - 1) / block * block);
}

static void pack(qgc_planner *p, const weights *w, int64_t run_bytes, qgc_conv_kernel *k,
                 int32_t *sums)
{
    uint32_t lanes = p->target->lanes;
    int64_t block = (int64_t)k->tile_vectors * lanes, steps = k->num_runs * k->run_steps;
    int8_t *to = qgc_planner_constant(p, padded_channels(p, k) * 4, (size_t)steps);
    k->base.constants[QGC_CONV_WEIGHTS] = to;
    for (int64_t first = 0; first < k->out_c; first += block) {
        int64_t width = (int64_t)block_vectors(k, lanes, first) * lanes;
        for (int64_t i = 0; i < steps; i++)
            for (int64_t lane = 0; lane < width; lane++)
                for (int64_t b = 0; b < 4; b++, to++) {
                    int64_t byte = i % k->run_steps * 4 + b, out = first + lane;
                    if (out >= k->out_c || byte >= run_bytes)
                        continue;
                    *to = weight_at(w, out, i / k->run_steps, byte);
                    sums[out] += *to;
                }
    }
}

static float *channel_list(qgc_planner *p, const qgc_conv_kernel *k, const qgc_tensor *list,
                           float value)
{
    float *out = qgc_planner_constant(p, padded_channels(p, k), sizeof *out);
    for (int64_t i = 0; i < k->out_c; i++)
        out[i] = list ? ((const float *)list->data)[i] : value;
    return out;
}

static void fill_constants(qgc_planner *p, const match *m, int64_t run_bytes, qgc_conv_kernel *k)
{
    int32_t *start = qgc_planner_constant(p, padded_channels(p, k), sizeof *start);
    pack(p, &m->w, run_bytes, k, start);
    for (int64_t i = 0; i < k->out_c; i++) {
        uint32_t bias = m->bias ? (uint32_t)((const int32_t *)m->bias->data)[i] : 0;
        start[i] = (int32_t)(bias - (uint32_t)m->x_zero_point * (uint32_t)start[i]);
    }
    k->base.constants[QGC_CONV_START] = start;
    k->base.constants[QGC_CONV_MULTIPLIERS] = channel_list(p, k, m->multipliers, m->multiplier);
    k->epilogue.has_bias = m->c_list || m->c != 0.0f;
    if (k->epilogue.has_bias)
        k->base.constants[QGC_CONV_BIAS] = channel_list(p, k, m->c_list, m->c);
}

static qgc_epilogue make_epilogue(const qgc_node *node)
{
    qgc_dtype dtype = node->results[0].type->dtype;
    int32_t shift = unsigned_shift(dtype);
    int64_t lo = qgc_node_has(node, "lo") ? qgc_node_int(node, "lo") : -shift;
    int64_t hi = qgc_node_has(node, "hi") ? qgc_node_int(node, "hi") : 255 - shift;
    return (qgc_epilogue){.zero_point = (int32_t)qgc_node_int(node, "zero_point") + shift,
                          .lo = (int32_t)lo + shift,
                          .hi = (int32_t)hi + shift};
}

/* Balanced for the registers: accumulators + weights + two temporaries. */
static void choose_tile(const qgc_planner *p, qgc_conv_kernel *k)
{
    uint32_t lanes = p->target->lanes, registers = p->target->registers;
    uint32_t most = registers >= 32 ? 4 : 2, limit = registers >= 32 ? 6 : 5;
    uint32_t vectors = (uint32_t)((k->out_c + lanes - 1) / lanes);
    k->tile_vectors = vectors < most ? vectors : most;
    uint32_t pixels = (registers - 2 - k->tile_vectors) / k->tile_vectors;
    k->tile_pixels = pixels < limit ? pixels : limit;
}

static void add_step(qgc_planner *p, const match *m, qgc_buffer *in, qgc_buffer *out,
                     int64_t run_bytes, qgc_conv_kernel kernel)
{
    qgc_arena *arena = &p->plan->arena;
    qgc_conv_kernel *k = QGC_NEW(arena, qgc_conv_kernel);
    *k = kernel;
    k->base.kind = QGC_KERNEL_CONV;
    k->base.num_constants = QGC_CONV_NUM_CONSTANTS;
    k->base.constants = QGC_NEW_ARRAY(arena, const void *, QGC_CONV_NUM_CONSTANTS);
    k->run_steps = (run_bytes + 3) / 4;
    k->epilogue = make_epilogue(m->epilogue);
    choose_tile(p, k);
    fill_constants(p, m, run_bytes, k);
    qgc_step *step = qgc_planner_add_kernel(p, m->node, &k->base, 1, 1);
    step->inputs[0] = in;
    step->outputs[0] = out;
    step->note = qgc_arena_printf(
        arena, "rows = %lld, width = %lld, channels = %lld, runs = %lldx%lld, tile = %ux%u",
        (long long)k->base.units, (long long)k->out_w, (long long)k->out_c, (long long)k->num_runs,
        (long long)k->run_steps * 4, k->tile_pixels, k->tile_vectors);
    qgc_planner_take(p, m->epilogue);
}

/* ---- linear ---- */

static const char *plan_linear(qgc_planner *p, const qgc_node *node)
{
    match m = {.node = node};
    const char *why = match_operands(&m);
    if (why)
        return why;
    const qgc_tensor *w = m.w.tensor;
    m.w.out_c = w->shape[0];
    m.w.in_c = w->shape[1];
    m.w.kernel_h = m.w.kernel_w = 1;
    m.w.merged = true;
    why = match_epilogue(&m, m.w.out_c, m.x->type->rank - 1);
    if (why)
        return why;
    size_t bytes = w->bytes;
    int64_t num_x;
    if (!bytes || !qgc_type_num_elements(m.x->type, &num_x) || !num_x)
        return "it is empty";
    int64_t *offsets = QGC_NEW(&p->plan->arena, int64_t);
    qgc_conv_kernel k = {.base.units = 1,
                         .rows_per_image = 1,
                         .out_w = num_x / m.w.in_c,
                         .out_c = m.w.out_c,
                         .in_image = num_x,
                         .in_row = num_x,
                         .in_pixel = m.w.in_c,
                         .out_row = num_x / m.w.in_c * m.w.out_c,
                         .out_pixel = m.w.out_c,
                         .num_runs = 1,
                         .run_offsets = offsets};
    qgc_buffer *in = qgc_planner_rows(p, m.x);
    add_step(p, &m, in, qgc_planner_new_rows(p, &m.epilogue->results[0]), m.w.in_c, k);
    return NULL;
}

/* ---- conv2d ---- */

typedef struct window {
    int64_t stride[2], dilation[2];
    qgc_border border;
} window;

/* The amount that makes |out| positions of the kernel fit, split as auto_pad says. */
static void same_padding(const match *m, const window *w, int axis, bool upper, int64_t *begin,
                         int64_t *end)
{
    int64_t kernel = axis ? m->w.kernel_w : m->w.kernel_h;
    int64_t extent = w->dilation[axis] * (kernel - 1) + 1;
    int64_t size = m->x->type->dims[2 + axis].value;
    int64_t out = m->node->results[0].type->dims[2 + axis].value;
    int64_t total = (out - 1) * w->stride[axis] + extent - size;
    total = total > 0 ? total : 0;
    *begin = upper ? total / 2 : total - total / 2;
    *end = total - *begin;
}

static window read_window(const match *m)
{
    enum { NONE, SAME_UPPER, SAME_LOWER };
    window w = {0};
    for (uint32_t i = 0; i < 2; i++) {
        w.stride[i] = qgc_node_int_at(m->node, "stride", i);
        w.dilation[i] = qgc_node_int_at(m->node, "dilation", i);
    }
    int mode = qgc_node_word(m->node, "auto_pad");
    if (mode == NONE)
        w.border = (qgc_border){
            qgc_node_int_at(m->node, "padding", 0), qgc_node_int_at(m->node, "padding", 1),
            qgc_node_int_at(m->node, "padding", 2), qgc_node_int_at(m->node, "padding", 3)};
    if (mode == SAME_UPPER || mode == SAME_LOWER) {
        same_padding(m, &w, 0, mode == SAME_UPPER, &w.border.top, &w.border.bottom);
        same_padding(m, &w, 1, mode == SAME_UPPER, &w.border.left, &w.border.right);
    }
    return w;
}

/* Byte offsets of the runs from a pixel's first tap. */
static int64_t *run_offsets(qgc_planner *p, const match *m, const window *win, int64_t row_bytes,
                            int64_t num_runs)
{
    int64_t *offsets = QGC_NEW_ARRAY(&p->plan->arena, int64_t, (size_t)num_runs);
    for (int64_t r = 0; r < num_runs; r++) {
        int64_t row = m->w.merged ? r : r / m->w.kernel_w;
        int64_t column = m->w.merged ? 0 : r % m->w.kernel_w;
        offsets[r] = row * win->dilation[0] * row_bytes + column * win->dilation[1] * m->w.in_c;
    }
    return offsets;
}

static const char *plan_conv2d(qgc_planner *p, const qgc_node *node)
{
    match m = {.node = node};
    const char *why = match_operands(&m);
    if (why)
        return why;
    if (qgc_node_int(node, "groups") != 1)
        return "groups are not 1";
    const qgc_tensor *w = m.w.tensor;
    m.w.out_c = w->shape[0];
    m.w.in_c = w->shape[1];
    m.w.kernel_h = w->shape[2];
    m.w.kernel_w = w->shape[3];
    why = match_epilogue(&m, m.w.out_c, 1);
    if (why)
        return why;
    const qgc_type *y = m.epilogue->results[0].type;
    int64_t num_y, num_x;
    if (!w->bytes || !qgc_type_num_elements(y, &num_y) || !num_y ||
        !qgc_type_num_elements(m.x->type, &num_x) || !num_x)
        return "it is empty";
    window win = read_window(&m);
    m.w.merged = win.dilation[1] == 1;
    int64_t run_bytes = m.w.merged ? m.w.kernel_w * m.w.in_c : m.w.in_c;
    int64_t num_runs = m.w.merged ? m.w.kernel_h : m.w.kernel_h * m.w.kernel_w;
    bool padded = win.border.top || win.border.left || win.border.bottom || win.border.right;
    qgc_buffer *in = qgc_planner_nhwc(p, m.x, win.border, (uint8_t)(padded ? m.x_zero_point : 0));
    int64_t row_bytes = (in->w + in->border.left + in->border.right) * in->c;
    qgc_conv_kernel k = {.base.units = y->dims[0].value * y->dims[2].value,
                         .rows_per_image = y->dims[2].value,
                         .out_w = y->dims[3].value,
                         .out_c = m.w.out_c,
                         .in_image = row_bytes * (in->h + in->border.top + in->border.bottom),
                         .in_row = row_bytes * win.stride[0],
                         .in_pixel = win.stride[1] * m.w.in_c,
                         .out_row = y->dims[3].value * m.w.out_c,
                         .out_pixel = m.w.out_c,
                         .num_runs = num_runs,
                         .run_offsets = run_offsets(p, &m, &win, row_bytes, num_runs)};
    qgc_border none = {0};
    qgc_buffer *out = qgc_planner_new_nhwc(p, &m.epilogue->results[0], none, 0);
    add_step(p, &m, in, out, run_bytes, k);
    return NULL;
}

const char *qgc_plan_conv(qgc_planner *p, const qgc_node *node)
{
    if (node->op == QGC_OP_INT_CONV2D)
        return plan_conv2d(p, node);
    if (node->op == QGC_OP_INT_LINEAR)
        return plan_linear(p, node);
    return "";
}

/* Plans convolutions, linear and matmul of 16 bits, or with zero points of weights, + requantize.
 *
 * (x - zx) * (w - zw), summed, is sum of x * (w - zw) less zx times the sum of (w - zw), which the
 * start has: taps out of bounds read the border, which holds zx. */
#include "codegen/chain.h"
#include "codegen/conv.h"
#include "ir/view.h"
#include "runtime/ref/int.h"
#include "runtime/ref/ref.h"

#include <math.h>

typedef struct words {
    qgc_planner *p;
    const qgc_product *m;
    qgc_words_kernel *k;
    int64_t channels, kernel_h, kernel_w; /* of w: [O, channels, kernel_h, kernel_w] */
    bool is_turned;                       /* of a matmul: [channels, O] */
    bool is_merged;                       /* a run is a whole kernel row */
    int64_t run_length;                   /* elements of x */
    int64_t outputs;                      /* of all groups */
    const int32_t *weights;               /* [O, run, run_length], less their zero points */
    int32_t x_zero_point;                 /* of x as the kernel takes it */
    int64_t largest_x;                    /* by magnitude */
    int64_t largest_sum;                  /* of an output's weights, by magnitude */
} words;

/* ---- matching ---- */

static const char *match_zero_point(qgc_product *m)
{
    const qgc_tensor *x = qgc_constant_operand(m->node, QGC_INT_XZ);
    qgc_dtype dtype = m->x->type->dtype;
    if (m->node->operands[QGC_INT_XZ].value && !x)
        return "x's zero point is computed";
    int64_t zero_point = x ? *(const int32_t *)x->data : qgc_node_int(m->node, "x_zero_point");
    zero_point += qgc_unsigned_shift(dtype);
    int64_t lo = dtype == QGC_DTYPE_I16 ? INT16_MIN : 0;
    int64_t hi = lo + (qgc_is_8bit(dtype) ? UINT8_MAX : UINT16_MAX);
    if (zero_point < lo || zero_point > hi)
        return "x's zero point is not a value of x";
    m->x_stored_zero_point = (int32_t)zero_point;
    return NULL;
}

const char *qgc_match_words(qgc_product *m)
{
    const qgc_node *node = m->node;
    m->x = node->operands[QGC_INT_X].value;
    m->weights = qgc_constant_operand(node, QGC_INT_W);
    m->bias = qgc_constant_operand(node, QGC_INT_BIAS);
    m->takes_16_bits = true;
    if (!m->weights)
        return "w is not constant";
    if (node->operands[QGC_INT_WZ].value && !qgc_constant_operand(node, QGC_INT_WZ))
        return "w's zero point is computed";
    if (node->operands[QGC_INT_BIAS].value && !m->bias)
        return "bias is not constant";
    return match_zero_point(m);
}

/* ---- weights ---- */

static int32_t zero_point_of(const qgc_node *node, int64_t output)
{
    const qgc_tensor *list = qgc_constant_operand(node, QGC_INT_WZ);
    if (!list)
        return (int32_t)qgc_node_int(node, "w_zero_point");
    return ((const int32_t *)list->data)[qgc_int_length(list) > 1 ? output : 0];
}

static int32_t read_weight(const words *c, int64_t output, int64_t run, int64_t i)
{
    int64_t row = run / c->k->runs;
    int64_t column = c->is_merged ? i / c->channels : run % c->k->runs, channel = i % c->channels;
    int64_t index = ((output * c->channels + channel) * c->kernel_h + row) * c->kernel_w + column;
    if (c->is_turned)
        index = channel * c->outputs + output;
    return (int32_t)qgc_get_int(c->m->weights, (size_t)index);
}

static void read_weights(words *c)
{
    int64_t runs = c->k->rows * c->k->runs, length = c->run_length;
    int32_t *to = QGC_NEW_ARRAY(&c->p->plan->arena, int32_t, (size_t)(c->outputs * runs * length));
    c->weights = to;
    for (int64_t output = 0; output < c->outputs; output++) {
        int32_t zero_point = zero_point_of(c->m->node, output);
        for (int64_t run = 0; run < runs; run++)
            for (int64_t i = 0; i < length; i++)
                *to++ = read_weight(c, output, run, i) - zero_point;
    }
}

static int32_t weight_at(const words *c, int64_t output, int64_t run, int64_t i)
{
    return c->weights[(output * c->k->rows * c->k->runs + run) * c->run_length + i];
}

/* The part of a weight that plane |plane| of |planes| has. */
static int32_t plane_of(int32_t w, uint32_t planes, uint32_t plane)
{
    int32_t low = ((w + 128) & 255) - 128;
    return planes == 1 ? w : plane ? (w - low) / 256 : low;
}

/* The largest sums of magnitudes, of any output, in one plane. */
typedef struct bounds {
    int64_t weight, run, row, all;
} bounds;

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void bound_output(const words *c, int64_t output, uint32_t planes, uint32_t plane, bounds *b)
{
    int64_t row = 0, all = 0;
    for (int64_t run = 0; run < c->k->rows * c->k->runs; run++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < c->run_length; i++) {
            int32_t w = plane_of(weight_at(c, output, run, i), planes, plane);
            w = w < 0 ? -w : w;
            sum += w;
            b->weight = larger(b->weight, w);
        }
        row = run % c->k->runs ? row + sum : sum;
        all += sum;
        b->run = larger(b->run, sum);
        b->row = larger(b->row, row);
    }
    b->all = larger(b->all, all);
}

static bounds find_bounds(const words *c, uint32_t planes)
{
    bounds b = {0};
    for (int64_t output = 0; output < c->outputs; output++)
        for (uint32_t plane = 0; plane < planes; plane++)
            bound_output(c, output, planes, plane, &b);
    return b;
}

/* The longest stretch that i32 holds. False: two planes are better. */
static bool choose_flush(words *c, const bounds *b)
{
    enum { LONG = 32 };
    qgc_words_kernel *k = c->k;
    int64_t limit = INT32_MAX / c->largest_x;
    k->flush_steps = b->weight ? limit / b->weight / 2 : k->run_steps;
    k->flush = b->all <= limit   ? QGC_WORDS_AT_END
               : b->row <= limit ? QGC_WORDS_BY_ROW
               : b->run <= limit ? QGC_WORDS_BY_RUN
                                 : QGC_WORDS_BY_STEPS;
    int64_t steps = k->flush == QGC_WORDS_BY_ROW   ? k->runs * k->run_steps
                    : k->flush == QGC_WORDS_BY_RUN ? k->run_steps
                                                   : k->flush_steps;
    return k->flush == QGC_WORDS_AT_END || steps >= LONG;
}

static void choose_planes(words *c)
{
    bounds whole = find_bounds(c, 1);
    c->largest_sum = whole.all;
    c->k->planes = 1;
    if (choose_flush(c, &whole))
        return;
    bounds halves = find_bounds(c, 2);
    c->k->planes = 2;
    choose_flush(c, &halves);
}

static void pack_step(const words *c, int64_t group, int64_t first, uint32_t vectors, int64_t step,
                      int16_t **to)
{
    const qgc_words_kernel *k = c->k;
    uint32_t lanes = c->p->target->lanes;
    int64_t run = step / k->run_steps, at = step % k->run_steps * 2;
    for (uint32_t v = 0; v < vectors; v++)
        for (uint32_t plane = 0; plane < k->planes; plane++)
            for (uint32_t lane = 0; lane < lanes; lane++)
                for (int64_t i = at; i < at + 2; i++, ++*to) {
                    int64_t output = first + (int64_t)v * lanes + lane;
                    if (output >= k->out_c || i >= c->run_length)
                        continue;
                    int32_t w = weight_at(c, group * k->out_c + output, run, i);
                    **to = (int16_t)plane_of(w, k->planes, plane);
                }
}

static void pack_weights(const words *c)
{
    const qgc_words_kernel *k = c->k;
    int64_t lanes = c->p->target->lanes, vectors = (k->out_c + lanes - 1) / lanes;
    int64_t steps = k->rows * k->runs * k->run_steps;
    int16_t *to = qgc_planner_constant(
        c->p, (size_t)(k->groups * vectors * steps * k->planes * lanes * 2), sizeof *to);
    k->base.constants[QGC_WORDS_WEIGHTS] = to;
    for (int64_t group = 0; group < k->groups; group++)
        for (int64_t v = 0; v < vectors; v += k->tile_vectors) {
            int64_t num = vectors - v < k->tile_vectors ? vectors - v : k->tile_vectors;
            for (int64_t step = 0; step < steps; step++)
                pack_step(c, group, v * lanes, (uint32_t)num, step, &to);
        }
}

/* ---- lists ---- */

static int64_t start_of(const words *c, int64_t output)
{
    uint64_t sum = 0, bias = 0;
    for (int64_t run = 0; run < c->k->rows * c->k->runs; run++)
        for (int64_t i = 0; i < c->run_length; i++)
            sum += (uint64_t)(int64_t)weight_at(c, output, run, i);
    if (c->m->bias)
        bias = (uint64_t)qgc_get_int(c->m->bias, (size_t)output);
    return (int64_t)(bias - (uint64_t)(int64_t)c->x_zero_point * sum);
}

/* Which numbers hold all sums. */
static void choose_sums(words *c, const int64_t *starts)
{
    qgc_words_kernel *k = c->k;
    double most = 0;
    for (int64_t i = 0; i < c->outputs; i++) {
        double start = starts[i] < 0 ? -(double)starts[i] : (double)starts[i];
        most = start > most ? start : most;
    }
    most += (double)c->largest_sum * (double)c->largest_x;
    bool at_end = k->flush == QGC_WORDS_AT_END;
    k->is_narrow = at_end && k->planes == 1 && most < 0x1p31;
    k->is_double = at_end && !k->is_narrow && c->m->epilogue && most < 0x1p52;
}

static void put_start(const qgc_words_kernel *k, void *list, int64_t at, int64_t start)
{
    if (k->is_narrow)
        ((int32_t *)list)[at] = (int32_t)start;
    else if (k->is_double)
        ((double *)list)[at] = (double)start;
    else
        ((int64_t *)list)[at] = start;
}

static void fill_lists(words *c, const int64_t *starts)
{
    qgc_words_kernel *k = c->k;
    int64_t width = qgc_chain_padded(c->p, k->out_c);
    size_t num = (size_t)(k->groups * width);
    void *start = qgc_planner_constant(c->p, num, k->is_narrow ? sizeof(int32_t) : sizeof(int64_t));
    k->base.constants[QGC_WORDS_START] = start;
    for (int64_t i = 0; i < c->outputs; i++)
        put_start(k, start, i / k->out_c * width + i % k->out_c, starts[i]);
    if (!c->m->epilogue)
        return;
    bool has_bias = c->m->c.list || c->m->c.value != 0.0f;
    float *multipliers = qgc_planner_constant(c->p, num, sizeof *multipliers);
    float *bias = has_bias ? qgc_planner_constant(c->p, num, sizeof *bias) : NULL;
    k->base.constants[QGC_WORDS_MULTIPLIERS] = multipliers;
    k->base.constants[QGC_WORDS_BIAS] = bias;
    for (int64_t i = 0; i < c->outputs; i++) {
        int64_t at = i / k->out_c * width + i % k->out_c;
        multipliers[at] = qgc_channel_value(&c->m->multipliers, i);
        if (bias)
            bias[at] = qgc_channel_value(&c->m->c, i);
    }
}

/* ---- the step ---- */

/* Sums, weights, a broadcast within the registers. */
static void choose_tile(const words *c)
{
    qgc_words_kernel *k = c->k;
    uint32_t registers = c->p->target->registers, lanes = c->p->target->lanes;
    uint32_t most = (registers >= 32 ? 4 : 2) / k->planes;
    uint32_t vectors = (uint32_t)((k->out_c + lanes - 1) / lanes), limit = 6;
    if (k->is_depthwise) { /* each pixel has its own x */
        most = registers >= 32 ? 2 : 1;
        limit = 4;
    }
    k->tile_vectors = vectors < most ? vectors : most;
    uint32_t width = k->tile_vectors * k->planes, pixels = (registers - 2 - width) / width;
    k->tile_pixels = pixels < limit ? pixels : limit;
}

/* Pixels that follow one another are rows as long as threads allow. */
static void join_rows(const words *c)
{
    qgc_words_kernel *k = c->k;
    if (!qgc_pixels_are_flat(&k->in, k->images, k->out_h, k->out_w) ||
        !qgc_pixels_are_flat(&k->out, k->images, k->out_h, k->out_w))
        return;
    int64_t pixels = k->images * k->out_h * k->out_w;
    k->images = 1;
    k->out_h = qgc_split_rows(c->p, 1, pixels);
    k->out_w = pixels / k->out_h;
    k->in.row = k->out_w * k->in.pixel;
    k->out.row = k->out_w * k->out.pixel;
}

static const char *describe(const words *c)
{
    static const char *const flushes[] = {"", ", by row", ", by run", ", by steps"};
    const qgc_words_kernel *k = c->k;
    qgc_arena *arena = &c->p->plan->arena;
    const char *groups =
        k->groups > 1 ? qgc_arena_printf(arena, "groups = %lld, ", (long long)k->groups) : "";
    return qgc_arena_printf(
        arena,
        "pixels = %lldx%lldx%lld, %schannels = %lld, runs = %lldx%lldx%lld%s, tile = %ux%ux%u%s%s",
        (long long)k->images, (long long)k->out_h, (long long)k->out_w, groups, (long long)k->out_c,
        (long long)k->rows, (long long)k->runs, (long long)c->run_length,
        k->is_depthwise ? " depthwise" : "", k->tile_pixels, k->tile_vectors, k->planes,
        flushes[k->flush], c->m->epilogue ? "" : ", raw");
}

/* All that follows from the geometry, which |c->k| has. */
static void prepare(words *c)
{
    qgc_words_kernel *k = c->k;
    qgc_arena *arena = &c->p->plan->arena;
    k->base.kind = QGC_KERNEL_WORDS;
    k->base.num_constants = QGC_WORDS_NUM_CONSTANTS;
    k->base.constants = QGC_NEW_ARRAY(arena, const void *, QGC_WORDS_NUM_CONSTANTS);
    read_weights(c);
    choose_planes(c);
    choose_tile(c);
    int64_t *starts = QGC_NEW_ARRAY(arena, int64_t, (size_t)c->outputs);
    for (int64_t i = 0; i < c->outputs; i++)
        starts[i] = start_of(c, i);
    choose_sums(c, starts);
    fill_lists(c, starts);
    pack_weights(c);
    k->epilogue = qgc_make_epilogue(c->m, 1e30);
}

static void add_step(words *c, qgc_buffer *in, qgc_buffer *out)
{
    qgc_planner *p = c->p;
    join_rows(c);
    c->k->base.units = c->k->images * c->k->out_h;
    qgc_step *step = qgc_planner_add_kernel(p, c->m->node, &c->k->base, 1, 1);
    step->inputs[0] = in;
    step->outputs[0] = out;
    step->note = describe(c);
    qgc_planner_take(p, c->m->node);
    if (c->m->epilogue)
        qgc_planner_take(p, c->m->epilogue);
}

static words new_words(qgc_planner *p, const qgc_product *m)
{
    words c = {.p = p, .m = m, .k = QGC_NEW(&p->plan->arena, qgc_words_kernel)};
    qgc_dtype dtype = m->x->type->dtype;
    bool is_u16 = dtype == QGC_DTYPE_U16;
    c.x_zero_point = m->x_stored_zero_point - (is_u16 ? 32768 : 0);
    c.largest_x = qgc_is_16bit(dtype) ? 32768 : 255;
    c.k->x = qgc_is_16bit(dtype) ? dtype : QGC_DTYPE_U8;
    c.k->out_bytes = (uint32_t)qgc_dtype_bytes(qgc_product_result(m)->type->dtype);
    c.k->rows = c.k->runs = c.k->groups = 1;
    return c;
}

/* ---- convolutions ---- */

static void add_conv(qgc_planner *p, const qgc_product *m, const qgc_window *win,
                     const qgc_conv_buffers *b, const int64_t *out_size)
{
    words c = new_words(p, m);
    qgc_words_kernel *k = c.k;
    const qgc_tensor *w = m->weights;
    int64_t groups = qgc_node_int(m->node, "groups"), x = (int64_t)qgc_dtype_bytes(k->x);
    c.outputs = w->shape[0];
    c.channels = w->shape[1];
    c.kernel_h = w->rank == 4 ? w->shape[2] : 1;
    c.kernel_w = w->shape[w->rank - 1];
    k->is_depthwise = groups > 1 && c.channels == 1 && c.outputs == groups;
    k->groups = k->is_depthwise ? 1 : groups;
    k->out_c = c.outputs / k->groups;
    k->group_bytes = c.channels * x;
    c.is_merged = win->dilation[1] == 1 && groups == 1;
    c.run_length = c.is_merged ? c.kernel_w * c.channels : c.channels;
    k->rows = c.kernel_h;
    k->runs = c.is_merged ? 1 : c.kernel_w;
    k->run_steps = (c.run_length + 1) / 2;
    k->images = b->in->n;
    k->out_h = out_size[0];
    k->out_w = out_size[1];
    k->in = b->in_pixels;
    k->row_bytes = win->dilation[0] * k->in.row;
    k->run_bytes = win->dilation[1] * k->in.pixel;
    k->in.row *= win->stride[0];
    k->in.pixel *= win->stride[1];
    k->out = b->out_pixels;
    prepare(&c);
    add_step(&c, b->in, b->out);
}

typedef struct int_range {
    int64_t lo, hi;
} int_range;

static int_range range_of(const qgc_tensor *t)
{
    int_range r = {qgc_get_int(t, 0), qgc_get_int(t, 0)};
    for (size_t i = 1; i < t->bytes / qgc_dtype_bytes(t->dtype); i++) {
        int64_t x = qgc_get_int(t, i);
        r.lo = x < r.lo ? x : r.lo;
        r.hi = x > r.hi ? x : r.hi;
    }
    return r;
}

static int_range zero_points_of(const qgc_node *node)
{
    const qgc_tensor *list = qgc_constant_operand(node, QGC_INT_WZ);
    int64_t one = zero_point_of(node, 0);
    return list ? range_of(list) : (int_range){one, one};
}

/* Each weight fits i16 less any zero point; a requantize behind sums of i32 needs them never to
 * wrap. */
static const char *check_weights(const qgc_product *m, int64_t outputs)
{
    int_range w = range_of(m->weights), zero = zero_points_of(m->node);
    int64_t lo = w.lo - zero.hi, hi = w.hi - zero.lo;
    double num = (double)m->weights->bytes / (double)qgc_dtype_bytes(m->weights->dtype);
    double most = fmax(fabs((double)lo), fabs((double)hi)), bias = 0;
    if (lo < INT16_MIN || hi > INT16_MAX)
        return "a weight less its zero point has more than 16 bits";
    for (int64_t i = 0; m->bias && i < outputs; i++)
        bias = fmax(bias, fabs((double)qgc_get_int(m->bias, (size_t)i)));
    bool is_i32 = m->node->results[0].type->dtype == QGC_DTYPE_I32;
    double bound = 255.0 * 2 * most * num / (double)outputs + bias;
    return is_i32 && m->epilogue && bound >= 0x1p31 ? "its sums may be taken modulo 2^32" : NULL;
}

static const char *match_all(qgc_product *m, int64_t channels, uint32_t axis)
{
    int64_t num_x, num_y;
    const char *why = qgc_match_words(m);
    if (!why)
        why = qgc_match_epilogue(m, channels, axis);
    if (why)
        return why;
    bool counts = qgc_type_num_elements(m->x->type, &num_x) &&
                  qgc_type_num_elements(m->node->results[0].type, &num_y);
    return counts && num_x && num_y && m->weights->bytes ? check_weights(m, channels)
                                                         : "it is empty";
}

static const char *plan_window(qgc_planner *p, const qgc_node *node)
{
    qgc_product m = {.node = node, .is_raw = qgc_map_get(&p->raw, node) != NULL};
    const char *why = match_all(&m, node->results[0].type->dims[1].value, 1);
    int64_t shape[4];
    if (why)
        return why;
    if (qgc_is_transposed(node->op))
        return qgc_plan_phases(p, &m, add_conv);
    qgc_window win = qgc_read_window(node);
    qgc_nchw_shape(node->results[0].type, shape);
    qgc_conv_buffers b = qgc_make_buffers(p, &m, &win);
    add_conv(p, &m, &win, &b, shape + 2);
    return NULL;
}

/* ---- linear, matmul ---- */

static const char *plan_rows(qgc_planner *p, const qgc_node *node)
{
    qgc_product m = {.node = node, .is_raw = qgc_map_get(&p->raw, node) != NULL};
    const qgc_type *y = node->results[0].type;
    uint32_t axis = y->rank - 1;
    int64_t outputs = y->dims[axis].value, num;
    const char *why = match_all(&m, outputs, axis);
    if (why)
        return why;
    if (m.weights->rank != 2)
        return "w has more than two dimensions";
    bool is_8bit = qgc_is_8bit(m.x->type->dtype);
    if (!is_8bit && m.x->def && m.x->def->constant)
        return "x is constant";
    words c = new_words(p, &m);
    qgc_words_kernel *k = c.k;
    c.is_turned = node->op == QGC_OP_INT_MATMUL;
    c.is_merged = true;
    c.outputs = k->out_c = outputs;
    c.channels = c.run_length = m.weights->shape[!c.is_turned];
    c.kernel_h = c.kernel_w = 1;
    k->run_steps = (c.run_length + 1) / 2;
    if (!qgc_type_num_elements(y, &num))
        return "it is too large";
    int64_t in = c.channels * (int64_t)qgc_dtype_bytes(k->x), out = outputs * k->out_bytes;
    k->images = k->out_h = 1;
    k->out_w = num / outputs;
    k->in = (qgc_pixels){.image = k->out_w * in, .row = k->out_w * in, .pixel = in};
    k->out = (qgc_pixels){.image = k->out_w * out, .row = k->out_w * out, .pixel = out};
    prepare(&c);
    const qgc_value *result = qgc_product_result(&m);
    qgc_buffer *from = is_8bit ? qgc_planner_rows(p, m.x) : qgc_planner_plain(p, m.x);
    bool is_byte = qgc_is_8bit(result->type->dtype);
    add_step(&c, from, is_byte ? qgc_planner_new_rows(p, result) : qgc_planner_plain(p, result));
    return NULL;
}

static const char *plan_sum(qgc_planner *p, const qgc_node *node)
{
    switch ((int)node->op) {
    case QGC_OP_INT_CONV1D:
    case QGC_OP_INT_CONV2D:
    case QGC_OP_INT_CONV_TRANSPOSE1D:
    case QGC_OP_INT_CONV_TRANSPOSE2D:
        return plan_window(p, node);
    case QGC_OP_INT_LINEAR:
    case QGC_OP_INT_MATMUL:
        return plan_rows(p, node);
    default:
        return "";
    }
}

const char *qgc_plan_words(qgc_planner *p, const qgc_node *node)
{
    return qgc_plan_terms(p, node, plan_sum);
}

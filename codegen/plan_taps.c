/* Plans integer sums of products in general: any spatial rank, transposed, 16 bits, zero points of
 * weights, a zero point computed at run time, products of two activations, sums of windows. The
 * faster kernels are asked before. */
#include "codegen/move.h"
#include "codegen/product.h"
#include "ir/view.h"
#include "runtime/ref/int.h"
#include "runtime/ref/window.h"

typedef struct taps {
    qgc_planner *p;
    const qgc_node *node;
    const qgc_type *x, *w, *y;
    const qgc_tensor *weights; /* NULL: an activation */
    uint32_t x_zero_point;     /* operand */
    qgc_taps_kernel *k;
    bool transposed;
    qgc_window_dim dims[QGC_MAX_SPATIAL];
} taps;

enum { CONSTANTS = 10, ROWS = 4 };

static uint32_t add_constant(taps *t, const void *data)
{
    t->k->base.constants[t->k->base.num_constants] = data;
    return t->k->base.num_constants++;
}

static int64_t size_of(const qgc_type *type, uint32_t dim)
{
    return type->dims[dim].value;
}

static int64_t bytes_of(const qgc_type *type)
{
    return (int64_t)qgc_dtype_bytes(type->dtype);
}

/* ---- positions ---- */

typedef struct lists {
    int64_t *positions, *taps;
    int64_t num_positions, num_taps;
} lists;

static lists new_lists(taps *t, int64_t out, int64_t most_taps)
{
    return (lists){qgc_planner_constant(t->p, (size_t)(3 * out + 1), sizeof(int64_t)),
                   qgc_planner_constant(t->p, (size_t)(2 * out * most_taps + 1), sizeof(int64_t)),
                   0, 0};
}

static void begin_position(lists *l, int64_t out_bytes)
{
    int64_t *position = l->positions + 3 * l->num_positions++;
    position[0] = position[1] = l->num_taps;
    position[2] = out_bytes;
}

static void add_tap(lists *l, int64_t in_bytes, int64_t w_bytes)
{
    l->taps[2 * l->num_taps] = in_bytes;
    l->taps[2 * l->num_taps + 1] = w_bytes;
    l->positions[3 * l->num_positions - 2] = ++l->num_taps;
}

static void set_dim(taps *t, uint32_t d, const lists *l)
{
    t->k->dims[d].out = l->num_positions;
    t->k->dims[d].positions = add_constant(t, l->positions);
    t->k->dims[d].taps = add_constant(t, l->taps);
}

static void set_single(taps *t, uint32_t d)
{
    lists l = new_lists(t, 1, 1);
    begin_position(&l, 0);
    add_tap(&l, 0, 0);
    set_dim(t, d, &l);
}

/* ---- zero points, bias ---- */

static const char *read_zero_points(taps *t)
{
    const qgc_node *node = t->node;
    qgc_taps_kernel *k = t->k;
    const qgc_tensor *x = qgc_constant_operand(node, QGC_INT_XZ);
    const qgc_tensor *w = qgc_constant_operand(node, QGC_INT_WZ);
    const qgc_tensor *bias = qgc_constant_operand(node, QGC_INT_BIAS);
    if (node->operands[QGC_INT_WZ].value && !w)
        return "w's zero point is computed";
    if (node->operands[QGC_INT_BIAS].value && !bias)
        return "bias is not constant";
    k->x_zero_point_is_input = node->operands[QGC_INT_XZ].value && !x;
    k->x_zero_point = (int32_t)(x ? *(const int32_t *)x->data : qgc_node_int(node, "x_zero_point"));
    k->w_zero_point = (int32_t)(w ? 0 : qgc_node_int(node, "w_zero_point"));
    size_t num = (size_t)(k->groups * k->padded);
    int64_t channels = k->groups * k->outputs;
    int32_t *zeros = w ? qgc_planner_constant(t->p, num, sizeof *zeros) : NULL;
    for (int64_t i = 0; w && i < channels; i++)
        zeros[i / k->outputs * k->padded + i % k->outputs] =
            ((const int32_t *)w->data)[qgc_int_length(w) > 1 ? i : 0];
    k->w_zero_points = zeros ? add_constant(t, zeros) : 0;
    size_t size = k->is_wide ? sizeof(int64_t) : sizeof(int32_t);
    uint8_t *starts = bias ? qgc_planner_constant(t->p, num, size) : NULL;
    for (int64_t i = 0; bias && i < channels; i++) {
        size_t to = (size_t)(i / k->outputs * k->padded + i % k->outputs) * size;
        const uint8_t *from = (const uint8_t *)bias->data + (size_t)i * size;
        for (size_t b = 0; b < size; b++)
            starts[to + b] = from[b];
    }
    k->bias = starts ? add_constant(t, starts) : 0;
    return NULL;
}

/* ---- weights ---- */

/* Constant weights as [group][tap][channel][output, padded]; |at|: the element of (output, channel,
 * tap). */
static void pack(taps *t, int64_t num_taps, int64_t (*at)(const taps *, int64_t, int64_t, int64_t))
{
    qgc_taps_kernel *k = t->k;
    size_t size = (size_t)bytes_of(t->w);
    size_t num = (size_t)(k->groups * num_taps * k->channels * k->padded);
    uint8_t *to = qgc_planner_constant(t->p, num, size);
    k->weights = add_constant(t, to);
    k->w_channel = k->padded * (int64_t)size;
    k->w_group = num_taps * k->channels * k->w_channel;
    for (int64_t g = 0; g < k->groups; g++)
        for (int64_t tap = 0; tap < num_taps; tap++)
            for (int64_t c = 0; c < k->channels; c++)
                for (int64_t o = 0; o < k->padded; o++, to += size) {
                    if (o >= k->outputs)
                        continue;
                    int64_t from = at(t, g * k->outputs + o, c, tap);
                    const uint8_t *w = (const uint8_t *)t->weights->data + (size_t)from * size;
                    for (size_t b = 0; b < size; b++)
                        to[b] = w[b];
                }
}

static int64_t conv_weight(const taps *t, int64_t output, int64_t channel, int64_t tap)
{
    const qgc_taps_kernel *k = t->k;
    int64_t num = t->dims[0].kernel * t->dims[1].kernel * t->dims[2].kernel;
    int64_t row = t->transposed ? (output / k->outputs * k->channels + channel) * k->outputs +
                                      output % k->outputs
                                : output * k->channels + channel;
    return row * num + tap;
}

static int64_t linear_weight(const taps *t, int64_t output, int64_t channel, int64_t tap)
{
    (void)tap;
    return output * t->k->channels + channel;
}

/* ---- convolutions ---- */

/* The input along one dimension that tap |k| of output |o| reads, or -1. */
static int64_t input_of(const taps *t, const qgc_window_dim *dim, int64_t o, int64_t k)
{
    int64_t at = o * dim->stride - dim->begin + k * dim->dilation;
    if (t->transposed) {
        at = o + dim->begin - k * dim->dilation;
        if (at < 0 || at % dim->stride)
            return -1;
        at /= dim->stride;
    }
    return at >= 0 && at < dim->size ? at : -1;
}

static void list_windows(taps *t, uint32_t d, int64_t in_stride, int64_t w_stride,
                         int64_t out_stride)
{
    const qgc_window_dim *dim = &t->dims[d];
    lists l = new_lists(t, dim->out, dim->kernel < dim->size ? dim->kernel : dim->size);
    for (int64_t o = 0; o < dim->out; o++) {
        int64_t first = 0, end = dim->kernel;
        begin_position(&l, o * out_stride);
        if (!t->transposed)
            qgc_window_taps(dim, o, &first, &end);
        for (int64_t k = first; k < end; k++) {
            int64_t at = input_of(t, dim, o, k);
            if (at >= 0)
                add_tap(&l, at * in_stride, k * w_stride);
        }
    }
    set_dim(t, d, &l);
}

static const char *plan_conv(taps *t)
{
    qgc_taps_kernel *k = t->k;
    int64_t in[3], kernel[3], out[3], x = bytes_of(t->x), y = bytes_of(t->y);
    uint32_t num = t->x->rank - 2;
    if (!t->weights)
        return "w is not constant";
    for (uint32_t i = 0; i < num; i++) {
        in[i] = size_of(t->x, 2 + i);
        kernel[i] = size_of(t->w, 2 + i);
        out[i] = size_of(t->y, 2 + i);
    }
    qgc_window_read(t->node, num, &(qgc_window_sizes){in, kernel, out}, t->transposed, t->dims);
    k->images = size_of(t->y, 0);
    k->groups = qgc_node_int(t->node, "groups");
    k->channels = size_of(t->x, 1) / k->groups;
    k->outputs = size_of(t->y, 1) / k->groups;
    k->padded = (k->outputs + 63) / 64 * 64;
    const qgc_window_dim *d = t->dims;
    k->in_channel = d[0].size * d[1].size * d[2].size * x;
    k->out_step = d[0].out * d[1].out * d[2].out * y;
    k->in_group = k->channels * k->in_channel;
    k->out_group = k->outputs * k->out_step;
    k->in_image = k->groups * k->in_group;
    k->out_image = k->groups * k->out_group;
    const char *why = read_zero_points(t);
    if (why)
        return why;
    int64_t taps = d[0].kernel * d[1].kernel * d[2].kernel;
    pack(t, taps, conv_weight);
    int64_t w = k->channels * k->w_channel, in_row = d[2].size * x, out_row = d[2].out * y;
    list_windows(t, 2, x, w, y);
    list_windows(t, 1, in_row, d[2].kernel * w, out_row);
    list_windows(t, 0, d[1].size * in_row, d[1].kernel * d[2].kernel * w, d[1].out * out_row);
    return NULL;
}

/* ---- sums of windows ---- */

/* Images of one channel each, times one weight of 1. */
static const char *plan_pool(taps *t)
{
    enum { PADDED = 64 };
    const qgc_node *node = t->node;
    qgc_taps_kernel *k = t->k;
    int64_t in[3], kernel[3], out[3], x = bytes_of(t->x), y = bytes_of(t->y);
    uint32_t num = t->x->rank - 2;
    for (uint32_t i = 0; i < num; i++) {
        in[i] = size_of(t->x, 2 + i);
        kernel[i] = qgc_node_int_at(node, "kernel", i);
        out[i] = size_of(t->y, 2 + i);
    }
    qgc_window_read(node, num, &(qgc_window_sizes){in, kernel, out}, false, t->dims);
    const qgc_window_dim *d = t->dims;
    const qgc_tensor *zero = qgc_constant_operand(node, t->x_zero_point);
    k->x_zero_point_is_input = node->operands[t->x_zero_point].value && !zero;
    k->x_zero_point =
        (int32_t)(zero ? *(const int32_t *)zero->data : qgc_node_int(node, "x_zero_point"));
    k->images = size_of(t->x, 0) * size_of(t->x, 1);
    k->groups = k->channels = k->outputs = 1;
    k->padded = PADDED;
    k->w = QGC_DTYPE_I8;
    int8_t *one = qgc_planner_constant(t->p, PADDED, sizeof *one);
    *one = 1;
    k->weights = add_constant(t, one);
    k->out_step = y;
    int64_t in_row = d[2].size * x, out_row = d[2].out * y;
    k->in_image = d[0].size * d[1].size * in_row;
    k->out_image = d[0].out * d[1].out * out_row;
    list_windows(t, 2, x, 0, y);
    list_windows(t, 1, in_row, 0, out_row);
    list_windows(t, 0, d[1].size * in_row, 0, d[1].out * out_row);
    return NULL;
}

/* ---- matrices ---- */

/* Rows in tiles of k->rows; the last one reaches back over the one before. */
static void list_rows(taps *t, int64_t rows)
{
    qgc_taps_kernel *k = t->k;
    k->rows = rows < ROWS ? rows : ROWS;
    lists l = new_lists(t, (rows + k->rows - 1) / k->rows, 1);
    for (int64_t i = 0; i < rows; i += k->rows) {
        int64_t first = i + k->rows > rows ? rows - k->rows : i;
        begin_position(&l, first * k->out_row);
        add_tap(&l, first * k->in_row, 0);
    }
    set_dim(t, 1, &l);
}

/* The number of |type|'s matrix for matrix |index| of the result. */
static int64_t matrix_of(const taps *t, const qgc_type *type, int64_t index)
{
    int64_t number = 0, stride = 1;
    for (uint32_t i = 3; i <= t->y->rank; i++) {
        int64_t size = size_of(t->y, t->y->rank - i), at = index % size;
        index /= size;
        if (i > type->rank)
            continue;
        int64_t own = size_of(type, type->rank - i);
        number += own == 1 ? 0 : at * stride;
        stride *= own;
    }
    return number;
}

static const char *plan_matrices(taps *t)
{
    qgc_taps_kernel *k = t->k;
    bool is_linear = t->node->op == QGC_OP_INT_LINEAR;
    int64_t num;
    k->channels = size_of(t->x, t->x->rank - 1);
    k->outputs = size_of(t->y, t->y->rank - 1);
    k->padded = (k->outputs + 63) / 64 * 64;
    k->in_channel = bytes_of(t->x);
    k->out_step = bytes_of(t->y);
    k->in_row = k->channels * k->in_channel;
    k->out_row = k->outputs * k->out_step;
    k->images = k->groups = 1;
    if (is_linear && !t->weights)
        return "w is not constant";
    const char *why = read_zero_points(t);
    if (why || !qgc_type_num_elements(t->y, &num))
        return why ? why : "it is too large";
    set_single(t, 2);
    if (is_linear) {
        pack(t, 1, linear_weight);
        list_rows(t, num / k->outputs);
        set_single(t, 0);
        return NULL;
    }
    int64_t rows = size_of(t->y, t->y->rank - 2), batches = num / k->outputs / rows;
    k->w_is_input = true;
    k->w_channel = k->outputs * bytes_of(t->w);
    list_rows(t, rows);
    lists l = new_lists(t, batches, 1);
    for (int64_t b = 0; b < batches; b++) {
        begin_position(&l, b * rows * k->out_row);
        add_tap(&l, matrix_of(t, t->x, b) * rows * k->in_row,
                matrix_of(t, t->w, b) * k->channels * k->w_channel);
    }
    set_dim(t, 0, &l);
    return NULL;
}

/* ---- the step ---- */

/* A copy of a constant, with room behind it. */
static qgc_buffer *w_buffer(qgc_planner *p, const qgc_value *w)
{
    qgc_buffer *b = qgc_planner_plain(p, w);
    if (!b->data)
        return b;
    qgc_buffer *copy = qgc_planner_scratch(p, w);
    qgc_move_part part = {.in = w, .out = w, .rank = 1};
    int64_t num = (int64_t)(b->bytes / qgc_dtype_bytes(w->type->dtype));
    part.axes[0] = (qgc_move_axis){num, QGC_MOVE_FLAT, QGC_MOVE_FLAT, 1, 1, NULL, false};
    qgc_planner_copy(p, &part, b, copy);
    return copy;
}

static void add_step(taps *t)
{
    qgc_planner *p = t->p;
    qgc_taps_kernel *k = t->k;
    const qgc_node *node = t->node;
    uint32_t num = 1;
    qgc_buffer *inputs[3] = {qgc_planner_plain(p, node->operands[QGC_INT_X].value)};
    if (k->w_is_input)
        inputs[num++] = w_buffer(p, node->operands[QGC_INT_W].value);
    if (k->x_zero_point_is_input)
        inputs[num++] = qgc_planner_plain(p, node->operands[t->x_zero_point].value);
    k->base.units = k->images * k->groups * k->dims[0].out * k->dims[1].out;
    qgc_buffer *out = qgc_planner_plain(p, &node->results[0]);
    qgc_step *step = qgc_planner_add_kernel(p, node, &k->base, num, 1);
    for (uint32_t i = 0; i < num; i++)
        step->inputs[i] = inputs[i];
    step->outputs[0] = out;
    step->note = qgc_arena_printf(
        &p->plan->arena, "%s, units = %lld, outputs = %lld, channels = %lld, rows = %lld",
        qgc_op(node->op)->mnemonic, (long long)k->base.units, (long long)k->outputs,
        (long long)k->channels, (long long)k->rows);
}

static bool is_empty(const qgc_type *type)
{
    int64_t num;
    return !qgc_type_num_elements(type, &num) || !num;
}

typedef const char *plan_fn(taps *t);

static plan_fn *find_plan(qgc_opcode op)
{
    switch ((int)op) {
    case QGC_OP_INT_LINEAR:
    case QGC_OP_INT_MATMUL:
        return plan_matrices;
    case QGC_OP_INT_CONV1D:
    case QGC_OP_INT_CONV2D:
    case QGC_OP_INT_CONV3D:
    case QGC_OP_INT_CONV_TRANSPOSE1D:
    case QGC_OP_INT_CONV_TRANSPOSE2D:
    case QGC_OP_INT_CONV_TRANSPOSE3D:
        return plan_conv;
    case QGC_OP_INT_SUM_POOL:
        return plan_pool;
    default:
        return NULL;
    }
}

const char *qgc_plan_taps(qgc_planner *p, const qgc_node *node)
{
    plan_fn *plan = find_plan(node->op);
    if (!plan)
        return "";
    bool is_pool = node->op == QGC_OP_INT_SUM_POOL;
    taps t = {.p = p,
              .node = node,
              .x = node->operands[QGC_INT_X].value->type,
              .y = node->results[0].type,
              .weights = is_pool ? NULL : qgc_constant_operand(node, QGC_INT_W),
              .x_zero_point = is_pool ? 1 : QGC_INT_XZ,
              .transposed = node->op >= QGC_OP_INT_CONV_TRANSPOSE1D &&
                            node->op <= QGC_OP_INT_CONV_TRANSPOSE3D};
    t.w = is_pool ? t.x : node->operands[QGC_INT_W].value->type;
    if (is_empty(t.x) || is_empty(t.w) || is_empty(t.y))
        return "it is empty";
    t.k = QGC_NEW(&p->plan->arena, qgc_taps_kernel);
    *t.k = (qgc_taps_kernel){.base = {.kind = QGC_KERNEL_TAPS, .num_constants = 1},
                             .rows = 1,
                             .x = t.x->dtype,
                             .w = t.w->dtype,
                             .is_wide = t.y->dtype == QGC_DTYPE_I64};
    t.k->base.constants = QGC_NEW_ARRAY(&p->plan->arena, const void *, CONSTANTS);
    const char *why = plan(&t);
    if (why)
        return why;
    add_step(&t);
    return NULL;
}

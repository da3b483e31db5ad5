/* Convolution and its transpose over one to three spatial dimensions. Each output is one chain:
 * from the bias (or +0), over the taps that read an input in bounds, in the order kernel depth,
 * row, column, then input channel. x is brought into the order [N, spatial, C] first, so that the
 * input channels of a tap lie together. */
#include "runtime/ref/chain.h"
#include "runtime/ref/window.h"

typedef struct conv {
    qgc_ref_call *call;
    qgc_window_dim dims[QGC_MAX_SPATIAL];
    bool transposed;
    size_t groups, channels, outputs;         /* of x, of y */
    size_t group_channels, group_outputs;     /* of one group */
    size_t in_positions, out_positions, taps; /* products over the spatial dimensions */
    qgc_dtype type;
    size_t element_bytes, width, blocks, block_elements;
    qgc_tensor x, w; /* packed: [N, spatial, C], [group, block, tap, channel, width] */
} conv;

/* The taps of an output along one dimension that read an input in bounds, and which. */
typedef struct tap_list {
    int64_t num, *taps, *inputs;
} tap_list;

static void list_taps(const conv *c, const qgc_window_dim *dim, int64_t o, tap_list *out)
{
    out->num = 0;
    for (int64_t k = 0; k < dim->kernel; k++) {
        int64_t at = c->transposed ? o + dim->begin - k * dim->dilation
                                   : o * dim->stride - dim->begin + k * dim->dilation;
        if (at < 0 || (c->transposed && at % dim->stride))
            continue;
        at = c->transposed ? at / dim->stride : at;
        if (at >= dim->size)
            continue;
        out->taps[out->num] = k;
        out->inputs[out->num++] = at;
    }
}

static void read_shapes(conv *c)
{
    const qgc_tensor *x = c->call->operands[0], *w = c->call->operands[1];
    const qgc_tensor *y = &c->call->results[0];
    uint32_t spatial = x->rank - 2;
    qgc_window_sizes sizes = {x->shape + 2, w->shape + 2, y->shape + 2};
    qgc_window_read(c->call->node, spatial, &sizes, c->transposed, c->dims);
    c->groups = (size_t)qgc_node_int(c->call->node, "groups");
    c->channels = (size_t)x->shape[1];
    c->outputs = (size_t)y->shape[1];
    c->group_channels = c->channels / c->groups;
    c->group_outputs = c->outputs / c->groups;
    c->in_positions = c->out_positions = c->taps = 1;
    for (uint32_t i = 0; i < QGC_MAX_SPATIAL; i++) {
        if (!c->group_channels) /* no taps either, however many w says */
            c->dims[i].kernel = 0;
        c->in_positions *= (size_t)c->dims[i].size;
        c->out_positions *= (size_t)c->dims[i].out;
        c->taps *= (size_t)c->dims[i].kernel;
    }
    c->type = qgc_chain_dtype(x->dtype);
    c->element_bytes = qgc_dtype_bytes(c->type);
    c->width = qgc_chain_width(c->group_outputs);
    c->blocks = (c->group_outputs + c->width - 1) / c->width;
    c->block_elements = c->taps * c->group_channels * c->width;
}

static qgc_result pack_x(conv *c)
{
    const qgc_tensor *x = c->call->operands[0];
    int64_t count = (int64_t)qgc_tensor_count(x);
    QGC_TRY(qgc_tensor_create(&c->call->context->diag, c->type, 1, &count, &c->x));
    for (size_t from = 0; from < (size_t)count; from++) {
        size_t position = from % c->in_positions, plane = from / c->in_positions;
        size_t n = plane / c->channels, channel = plane % c->channels;
        qgc_chain_load(c->x.data, (n * c->in_positions + position) * c->channels + channel, x,
                       from);
    }
    return QGC_OK;
}

/* w is [O, C/groups, taps], of the transpose [C, O/groups, taps]. */
static qgc_chain_matrix tap_matrix(const conv *c, size_t group, size_t tap, size_t block)
{
    size_t first = block * c->width, left = c->group_outputs - first;
    qgc_chain_matrix m = {.rows = c->group_channels, .columns = left < c->width ? left : c->width};
    m.row_step = c->transposed ? c->group_outputs * c->taps : c->taps;
    m.column_step = c->transposed ? c->taps : c->group_channels * c->taps;
    size_t group_step =
        c->transposed ? c->group_channels * m.row_step : c->group_outputs * m.column_step;
    m.base = group * group_step + first * m.column_step + tap;
    return m;
}

static qgc_result pack_w(conv *c)
{
    size_t total;
    if (!qgc_checked_mul(c->groups * c->blocks, c->block_elements, &total) || total > INT64_MAX)
        return qgc_ref_fail(c->call, "the weights are too large");
    int64_t count = (int64_t)total;
    QGC_TRY(qgc_tensor_create(&c->call->context->diag, c->type, 1, &count, &c->w));
    for (size_t group = 0; group < c->groups; group++)
        for (size_t block = 0; block < c->blocks; block++)
            for (size_t tap = 0; tap < c->taps; tap++) {
                qgc_chain_matrix m = tap_matrix(c, group, tap, block);
                size_t to = (group * c->blocks + block) * c->block_elements +
                            tap * c->group_channels * c->width;
                qgc_chain_pack(c->w.data, to, c->width, c->call->operands[1], &m);
            }
    return QGC_OK;
}

/* Neighbouring taps of a kernel row that read neighbouring inputs are one stretch of x and of w. */
static int64_t stretch(const conv *c, const tap_list *row, int64_t i)
{
    int64_t num = 1;
    while (c->groups == 1 && i + num < row->num && row->taps[i + num] == row->taps[i] + num &&
           row->inputs[i + num] == row->inputs[i] + num)
        num++;
    return num;
}

/* All taps of one output position, for one block of channels. |x|: of the sample and group; |w|: of
 * the block. */
static void run_taps(const conv *c, const tap_list *lists, const char *x, const char *w, void *acc)
{
    const qgc_window_dim *dims = c->dims;
    const tap_list *row = &lists[2];
    for (int64_t i = 0; i < lists[0].num; i++)
        for (int64_t j = 0; j < lists[1].num; j++) {
            int64_t tap = (lists[0].taps[i] * dims[1].kernel + lists[1].taps[j]) * dims[2].kernel;
            int64_t in = (lists[0].inputs[i] * dims[1].size + lists[1].inputs[j]) * dims[2].size;
            for (int64_t k = 0, num; k < row->num; k += num) {
                num = stretch(c, row, k);
                size_t from = (size_t)(in + row->inputs[k]) * c->channels;
                size_t with = (size_t)(tap + row->taps[k]) * c->group_channels * c->width;
                qgc_chain_run(c->type, c->width, acc, x + from * c->element_bytes,
                              (size_t)num * c->group_channels, w + with * c->element_bytes);
            }
        }
}

/* Output channels [first, first + num) of sample |n| at |position|. */
static void run_position(const conv *c, const tap_list *lists, size_t n, size_t block,
                         size_t position)
{
    uint64_t acc[QGC_CHAIN_MAX_WIDTH] = {0};
    const qgc_tensor *b = c->call->operands[2];
    size_t group = block / c->blocks, lane = block % c->blocks * c->width;
    size_t left = c->group_outputs - lane, num = left < c->width ? left : c->width;
    size_t first = group * c->group_outputs + lane;
    for (size_t j = 0; b && j < num; j++)
        qgc_chain_load(acc, j, b, first + j);
    const char *x =
        (const char *)c->x.data +
        (n * c->in_positions * c->channels + group * c->group_channels) * c->element_bytes;
    const char *w = (const char *)c->w.data + block * c->block_elements * c->element_bytes;
    run_taps(c, lists, x, w, acc);
    for (size_t j = 0; j < num; j++)
        qgc_chain_store(&c->call->results[0],
                        (n * c->outputs + first + j) * c->out_positions + position, acc, j);
}

static void run_block(const conv *c, tap_list *lists, size_t n, size_t block)
{
    size_t position = 0;
    for (int64_t z = 0; z < c->dims[0].out; z++) {
        list_taps(c, &c->dims[0], z, &lists[0]);
        for (int64_t y = 0; y < c->dims[1].out; y++) {
            list_taps(c, &c->dims[1], y, &lists[1]);
            for (int64_t x = 0; x < c->dims[2].out; x++) {
                list_taps(c, &c->dims[2], x, &lists[2]);
                run_position(c, lists, n, block, position++);
            }
        }
    }
}

static qgc_result run_conv(qgc_ref_call *call, bool transposed)
{
    conv c = {.call = call, .transposed = transposed};
    read_shapes(&c);
    if (!qgc_tensor_count(&call->results[0]))
        return QGC_OK;
    tap_list lists[QGC_MAX_SPATIAL];
    for (uint32_t i = 0; i < QGC_MAX_SPATIAL; i++) {
        lists[i].taps = QGC_NEW_ARRAY(call->scratch, int64_t, (size_t)c.dims[i].kernel);
        lists[i].inputs = QGC_NEW_ARRAY(call->scratch, int64_t, (size_t)c.dims[i].kernel);
    }
    qgc_result result = pack_x(&c);
    if (result == QGC_OK)
        result = pack_w(&c);
    size_t samples = (size_t)call->results[0].shape[0];
    for (size_t n = 0; n < samples && result == QGC_OK; n++)
        for (size_t block = 0; block < c.groups * c.blocks; block++)
            run_block(&c, lists, n, block);
    qgc_tensor_destroy(&c.x);
    qgc_tensor_destroy(&c.w);
    return result;
}

qgc_result ref_conv(qgc_ref_call *call)
{
    return run_conv(call, false);
}

qgc_result ref_conv_transpose(qgc_ref_call *call)
{
    return run_conv(call, true);
}

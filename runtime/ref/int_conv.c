/* Integer convolution and its transpose over one to three spatial dimensions: for each output
 * position the taps that read an input in bounds, then a sum over them and the input channels. */
#include "runtime/ref/int.h"
#include "runtime/ref/window.h"

/* A tap in bounds: where in the kernel, where in a channel of x. */
typedef struct tap {
    size_t kernel, input;
} tap;

typedef struct conv {
    qgc_ref_call *call;
    qgc_window_dim dims[QGC_MAX_SPATIAL];
    bool transposed;
    size_t groups, group_channels, group_outputs;
    size_t in_positions, out_positions, num_taps; /* products over the spatial dimensions */
    const int32_t *x, *w;                         /* x less its zero point */
    tap *taps;                                    /* those in bounds of the position at hand */
    size_t num;
} conv;

/* The input along one dimension that tap |k| of output |o| reads, or -1. */
static int64_t input_of(const conv *c, const qgc_window_dim *dim, int64_t o, int64_t k)
{
    int64_t at = o * dim->stride - dim->begin + k * dim->dilation;
    if (c->transposed) {
        at = o + dim->begin - k * dim->dilation;
        if (at < 0 || at % dim->stride)
            return -1;
        at /= dim->stride;
    }
    return at >= 0 && at < dim->size ? at : -1;
}

static void list_taps(conv *c, const int64_t *position)
{
    int64_t kernel[QGC_MAX_SPATIAL] = {0}, shape[QGC_MAX_SPATIAL];
    for (uint32_t i = 0; i < QGC_MAX_SPATIAL; i++)
        shape[i] = c->dims[i].kernel;
    c->num = 0;
    for (size_t k = 0; k < c->num_taps; k++) {
        int64_t input = 0;
        for (uint32_t i = 0; i < QGC_MAX_SPATIAL && input >= 0; i++) {
            int64_t at = input_of(c, &c->dims[i], position[i], kernel[i]);
            input = at < 0 ? -1 : input * c->dims[i].size + at;
        }
        if (input >= 0)
            c->taps[c->num++] = (tap){k, (size_t)input};
        qgc_next_index(QGC_MAX_SPATIAL, shape, kernel);
    }
}

/* w is [O, C/groups, taps], of the transpose [C, O/groups, taps]. */
static const int32_t *weights(const conv *c, size_t output, size_t channel)
{
    size_t group = output / c->group_outputs;
    if (!c->transposed)
        return c->w + (output * c->group_channels + channel) * c->num_taps;
    size_t row = group * c->group_channels + channel;
    return c->w + (row * c->group_outputs + output % c->group_outputs) * c->num_taps;
}

static uint64_t sum_taps(const conv *c, size_t sample, size_t output)
{
    int64_t zero_point = qgc_int_zero_point(c->call, "w_zero_point", QGC_INT_WZ, output);
    size_t first = (sample * c->groups + output / c->group_outputs) * c->group_channels;
    uint64_t sum = qgc_int_bias(c->call, output);
    for (size_t channel = 0; channel < c->group_channels; channel++) {
        const int32_t *x = c->x + (first + channel) * c->in_positions;
        const int32_t *w = weights(c, output, channel);
        for (size_t i = 0; i < c->num; i++)
            sum += (uint64_t)(x[c->taps[i].input] * (w[c->taps[i].kernel] - zero_point));
    }
    return sum;
}

static void read_shapes(conv *c)
{
    const qgc_tensor *x = c->call->operands[QGC_INT_X], *w = c->call->operands[QGC_INT_W];
    const qgc_tensor *acc = &c->call->results[0];
    qgc_window_sizes sizes = {x->shape + 2, w->shape + 2, acc->shape + 2};
    qgc_window_read(c->call->node, x->rank - 2, &sizes, c->transposed, c->dims);
    c->groups = (size_t)qgc_node_int(c->call->node, "groups");
    c->group_channels = (size_t)x->shape[1] / c->groups;
    c->group_outputs = (size_t)acc->shape[1] / c->groups;
    c->in_positions = c->out_positions = c->num_taps = 1;
    for (uint32_t i = 0; i < QGC_MAX_SPATIAL; i++) {
        if (!c->group_channels) /* no taps either, however many w says */
            c->dims[i].kernel = 0;
        c->in_positions *= (size_t)c->dims[i].size;
        c->out_positions *= (size_t)c->dims[i].out;
        c->num_taps *= (size_t)c->dims[i].kernel;
    }
}

static qgc_result run(qgc_ref_call *call, bool transposed)
{
    conv c = {.call = call, .transposed = transposed};
    qgc_tensor *acc = &call->results[0];
    if (!qgc_tensor_count(acc))
        return QGC_OK;
    read_shapes(&c);
    c.x = qgc_int_shifted(call, QGC_INT_X, qgc_int_zero_point(call, "x_zero_point", QGC_INT_XZ, 0));
    c.w = qgc_int_shifted(call, QGC_INT_W, 0);
    c.taps = QGC_NEW_ARRAY(call->scratch, tap, c.num_taps);
    int64_t position[QGC_MAX_SPATIAL] = {0}, shape[QGC_MAX_SPATIAL];
    for (uint32_t i = 0; i < QGC_MAX_SPATIAL; i++)
        shape[i] = c.dims[i].out;
    size_t samples = (size_t)acc->shape[0], outputs = (size_t)acc->shape[1];
    for (size_t at = 0; at < c.out_positions; at++) {
        list_taps(&c, position);
        for (size_t i = 0; i < samples * outputs; i++)
            qgc_set_int(acc, i * c.out_positions + at,
                        (int64_t)sum_taps(&c, i / outputs, i % outputs));
        qgc_next_index(QGC_MAX_SPATIAL, shape, position);
    }
    return QGC_OK;
}

qgc_result ref_int_conv(qgc_ref_call *call)
{
    return run(call, false);
}

qgc_result ref_int_conv_transpose(qgc_ref_call *call)
{
    return run(call, true);
}

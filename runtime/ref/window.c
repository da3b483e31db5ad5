#include "runtime/ref/window.h"

static bool is_same(qgc_auto_pad auto_pad)
{
    return auto_pad == QGC_PAD_SAME_UPPER || auto_pad == QGC_PAD_SAME_LOWER;
}

static void split_padding(qgc_window_dim *dim, qgc_auto_pad auto_pad, int64_t total)
{
    total = total > 0 ? total : 0;
    dim->begin = auto_pad == QGC_PAD_SAME_UPPER ? total / 2 : total - total / 2;
    dim->end = total - dim->begin;
}

static void read_padding(const qgc_node *node, uint32_t axis, bool transposed, qgc_window_dim *dim)
{
    qgc_auto_pad auto_pad = (qgc_auto_pad)qgc_node_word(node, "auto_pad");
    int64_t extent = dim->dilation * (dim->kernel - 1) + 1;
    if (!transposed && is_same(auto_pad))
        split_padding(dim, auto_pad, (dim->out - 1) * dim->stride - dim->size + extent);
    if (!transposed || (!is_same(auto_pad) && !qgc_node_has(node, "output_size")))
        return;
    int64_t whole = (dim->size - 1) * dim->stride + extent;
    split_padding(dim, auto_pad, whole + qgc_node_int_at(node, "output_padding", axis) - dim->out);
}

void qgc_window_read(const qgc_node *node, uint32_t num, const qgc_window_sizes *sizes,
                     bool transposed, qgc_window_dim *dims)
{
    uint32_t lead = QGC_MAX_SPATIAL - num;
    for (uint32_t i = 0; i < lead; i++)
        dims[i] = (qgc_window_dim){.size = 1, .kernel = 1, .out = 1, .stride = 1, .dilation = 1};
    for (uint32_t i = 0; i < num; i++) {
        dims[lead + i] = (qgc_window_dim){.size = sizes->in[i],
                                          .kernel = sizes->kernel[i],
                                          .out = sizes->out[i],
                                          .stride = qgc_node_int_at(node, "stride", i),
                                          .dilation = qgc_node_int_at(node, "dilation", i),
                                          .begin = qgc_node_int_at(node, "padding", i),
                                          .end = qgc_node_int_at(node, "padding", num + i)};
        read_padding(node, i, transposed, &dims[lead + i]);
    }
}

void qgc_window_taps(const qgc_window_dim *dim, int64_t o, int64_t *first, int64_t *last)
{
    int64_t start = o * dim->stride - dim->begin, step = dim->dilation;
    int64_t below = start < 0 ? (-start + step - 1) / step : 0;
    int64_t inside = start < dim->size ? (dim->size - start + step - 1) / step : 0;
    *first = below < dim->kernel ? below : dim->kernel;
    *last = inside < dim->kernel ? inside : dim->kernel;
}

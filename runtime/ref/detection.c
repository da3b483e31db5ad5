/* Sampling at computed places (grid_sample, roi_align), choosing boxes. */
#include "ir/nms.h"
#include "runtime/ref/ref.h"

#include <math.h>

typedef enum padding { ZEROS, BORDER, REFLECTION } padding;
typedef enum sample_mode { LINEAR, NEAREST, CUBIC } sample_mode;

/* One dimension of the image. */
typedef struct extent {
    int64_t size;
    float low, high; /* of coordinates inside */
} extent;

typedef struct sampler {
    const qgc_tensor *x;
    size_t plane; /* index of the first pixel */
    extent rows, columns;
    sample_mode mode;
    padding padding;
    bool align;
} sampler;

static extent make_extent(int64_t size, bool align)
{
    return align ? (extent){size, 0, (float)(size - 1)} : (extent){size, -0.5f, (float)size - 0.5f};
}

/* Mirrored at both ends as often as it takes. */
static float reflect(float x, extent e)
{
    float range = e.high - e.low;
    if (range <= 0)
        return e.low;
    float beyond = x < e.low ? e.low - x : x > e.high ? x - e.high : -1;
    if (beyond < 0)
        return x;
    float turns = truncf(beyond / range), rest = beyond - turns * range;
    bool from_low = (x < e.low) == (fmodf(turns, 2) == 0);
    return from_low ? e.low + rest : e.high - rest;
}

static float clamp(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

static float coordinate(const sampler *s, float place, extent e)
{
    const float far = 0x1p24f;
    float at =
        s->align ? (place + 1) / 2 * (float)(e.size - 1) : ((place + 1) * (float)e.size - 1) / 2;
    at = at != at ? -far : clamp(at, -far, far);
    if (s->mode == NEAREST)
        at = nearbyintf(at);
    if (s->mode == CUBIC) /* pixels are treated singly, as in PyTorch and ONNX Runtime */
        return at;
    if (s->padding == BORDER && (at < e.low || at > e.high))
        return clamp(at, 0, (float)(e.size - 1));
    return s->padding == REFLECTION ? reflect(at, e) : at;
}

/* The pixel's index in its dimension, or -1: outside. */
static int64_t inside(const sampler *s, int64_t at, extent e)
{
    if (at >= 0 && at < e.size)
        return at;
    if (s->padding == ZEROS)
        return -1;
    if (s->padding == BORDER)
        return at < 0 ? 0 : e.size - 1;
    return (int64_t)clamp(truncf(reflect((float)at, e)), 0, (float)(e.size - 1));
}

static float pixel(const sampler *s, int64_t row, int64_t column)
{
    int64_t i = inside(s, row, s->rows), j = inside(s, column, s->columns);
    return i < 0 || j < 0 ? 0 : qgc_get_f32(s->x, s->plane + (size_t)(i * s->columns.size + j));
}

static float linear_at(const sampler *s, float y, float x)
{
    float top = floorf(y), left = floorf(x), wy1 = y - top, wx1 = x - left;
    float wy2 = top + 1 - y, wx2 = left + 1 - x;
    int64_t i = (int64_t)top, j = (int64_t)left;
    float upper = wx2 * pixel(s, i, j) + wx1 * pixel(s, i, j + 1);
    float lower = wx2 * pixel(s, i + 1, j) + wx1 * pixel(s, i + 1, j + 1);
    return wy2 * upper + wy1 * lower;
}

static void cubic_weights(float r, float *w)
{
    const float a = -0.75f;
    w[0] = ((a * (r + 1) - 5 * a) * (r + 1) + 8 * a) * (r + 1) - 4 * a;
    w[1] = ((a + 2) * r - (a + 3)) * r * r + 1;
    w[2] = ((a + 2) * (1 - r) - (a + 3)) * (1 - r) * (1 - r) + 1;
    w[3] = ((a * (2 - r) - 5 * a) * (2 - r) + 8 * a) * (2 - r) - 4 * a;
}

static float cubic_at(const sampler *s, float y, float x)
{
    float wx[4], wy[4], sum = 0;
    float top = floorf(y), left = floorf(x);
    cubic_weights(x - left, wx);
    cubic_weights(y - top, wy);
    for (int i = 0; i < 4; i++) {
        float row = 0;
        for (int j = 0; j < 4; j++)
            row += wx[j] * pixel(s, (int64_t)top - 1 + i, (int64_t)left - 1 + j);
        sum += wy[i] * row;
    }
    return sum;
}

static float sample(const sampler *s, float y, float x)
{
    if (s->mode == NEAREST)
        return pixel(s, (int64_t)y, (int64_t)x);
    return s->mode == LINEAR ? linear_at(s, y, x) : cubic_at(s, y, x);
}

qgc_result ref_grid_sample(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *grid = call->operands[1];
    qgc_tensor *y = &call->results[0];
    bool align = qgc_node_flag(call->node, "align_corners");
    sampler s = {.x = x,
                 .rows = make_extent(x->shape[2], align),
                 .columns = make_extent(x->shape[3], align),
                 .mode = (sample_mode)qgc_node_word(call->node, "mode"),
                 .padding = (padding)qgc_node_word(call->node, "padding"),
                 .align = align};
    size_t places = (size_t)(y->shape[2] * y->shape[3]), area = (size_t)(x->shape[2] * x->shape[3]);
    size_t channels = (size_t)x->shape[1], planes = (size_t)x->shape[0] * channels;
    for (size_t p = 0; p < planes && places; p++)
        for (size_t i = 0; i < places; i++) {
            size_t at = (p / channels * places + i) * 2;
            s.plane = p * area;
            float column = coordinate(&s, qgc_get_f32(grid, at), s.columns);
            float row = coordinate(&s, qgc_get_f32(grid, at + 1), s.rows);
            qgc_set_f32(y, p * places + i, sample(&s, row, column));
        }
    return QGC_OK;
}

/* ---- roi_align ---- */

typedef struct region {
    float top, left, bin_height, bin_width;
    int64_t samples_y, samples_x; /* per bin */
} region;

static int64_t sample_count(int64_t ratio, float bin)
{
    enum { MOST = 4096 };
    float wanted = ratio ? (float)ratio : ceilf(bin);
    return wanted >= 1 ? (int64_t)clamp(wanted, 1, MOST) : 0;
}

static region read_region(qgc_ref_call *call, size_t index)
{
    const qgc_tensor *rois = call->operands[1];
    float scale = qgc_node_float(call->node, "spatial_scale"), at[4];
    bool half = qgc_node_word(call->node, "coordinates") == 0;
    for (size_t i = 0; i < 4; i++)
        at[i] = qgc_get_f32(rois, index * 4 + i) * scale - (half ? 0.5f : 0);
    float width = at[2] - at[0], height = at[3] - at[1];
    if (!half) {
        width = width < 1 ? 1 : width;
        height = height < 1 ? 1 : height;
    }
    float bin_height = height / (float)qgc_node_int(call->node, "output_height");
    float bin_width = width / (float)qgc_node_int(call->node, "output_width");
    int64_t ratio = qgc_node_int(call->node, "sampling_ratio");
    return (region){at[1],
                    at[0],
                    bin_height,
                    bin_width,
                    sample_count(ratio, bin_height),
                    sample_count(ratio, bin_width)};
}

/* The lower neighbour, and the weight of the upper one. */
static int64_t split(float at, int64_t size, float *out_upper)
{
    at = at > 0 ? at : 0;
    int64_t low = (int64_t)at;
    if (low >= size - 1) {
        *out_upper = 0;
        return size - 1;
    }
    *out_upper = at - (float)low;
    return low;
}

static float weigh(const qgc_tensor *x, size_t plane, float y, float column)
{
    int64_t rows = x->shape[2], columns = x->shape[3];
    if (!(y >= -1 && y <= (float)rows && column >= -1 && column <= (float)columns))
        return 0;
    float ly, lx;
    int64_t i = split(y, rows, &ly), j = split(column, columns, &lx);
    int64_t below = i + (i < rows - 1), beside = j + (j < columns - 1);
    float hy = 1 - ly, hx = 1 - lx;
    float sum = hy * hx * qgc_get_f32(x, plane + (size_t)(i * columns + j));
    sum += hy * lx * qgc_get_f32(x, plane + (size_t)(i * columns + beside));
    sum += ly * hx * qgc_get_f32(x, plane + (size_t)(below * columns + j));
    return sum + ly * lx * qgc_get_f32(x, plane + (size_t)(below * columns + beside));
}

static float bin_mean(const qgc_tensor *x, size_t plane, const region *r, int64_t row,
                      int64_t column)
{
    float sum = 0;
    for (int64_t i = 0; i < r->samples_y; i++) {
        float y = r->top + (float)row * r->bin_height +
                  ((float)i + 0.5f) * r->bin_height / (float)r->samples_y;
        for (int64_t j = 0; j < r->samples_x; j++) {
            float at = r->left + (float)column * r->bin_width +
                       ((float)j + 0.5f) * r->bin_width / (float)r->samples_x;
            sum += weigh(x, plane, y, at);
        }
    }
    float count = (float)(r->samples_y * r->samples_x);
    return sum / (count > 1 ? count : 1);
}

qgc_result ref_roi_align(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *batch = call->operands[2];
    qgc_tensor *y = &call->results[0];
    int64_t channels = x->shape[1], rows = y->shape[2], columns = y->shape[3];
    size_t area = (size_t)(x->shape[2] * x->shape[3]), at = 0;
    for (int64_t r = 0; r < y->shape[0]; r++) {
        int64_t image = qgc_get_int(batch, (size_t)r);
        if (image < 0 || image >= x->shape[0])
            return qgc_ref_fail(call, "region %lld is in image %lld of %lld", (long long)r,
                                (long long)image, (long long)x->shape[0]);
        region region = read_region(call, (size_t)r);
        for (int64_t c = 0; c < channels; c++)
            for (int64_t bin = 0; bin < rows * columns; bin++) {
                size_t plane = (size_t)(image * channels + c) * area;
                float mean = bin_mean(x, plane, &region, bin / columns, bin % columns);
                qgc_set_f32(y, at++, mean);
            }
    }
    return QGC_OK;
}

qgc_result ref_nms(qgc_ref_call *call)
{
    qgc_nms_list list = {{0}};
    qgc_nms_select(call->operands, qgc_node_flag(call->node, "center"), call->scratch, &list);
    for (size_t i = 0; i < list.kept.size; i++) {
        qgc_set_int(&call->results[0], 3 * i, list.kept.data[i].image);
        qgc_set_int(&call->results[0], 3 * i + 1, list.kept.data[i].label);
        qgc_set_int(&call->results[0], 3 * i + 2, list.kept.data[i].box);
    }
    return QGC_OK;
}

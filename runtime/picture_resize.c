#include "runtime/picture.h"

#include <math.h>

/* What one output pixel takes from a row or column: weights of |num| inputs from |first| on. */
typedef struct span {
    int64_t first, num;
    double *weights; /* sum 1 */
} span;

static span *make_spans(int64_t in, int64_t out, qgc_arena *scratch)
{
    double ratio = (double)in / (double)out, support = ratio > 1 ? ratio : 1;
    span *spans = QGC_NEW_ARRAY(scratch, span, (size_t)out);
    for (int64_t i = 0; i < out; i++) {
        double center = ((double)i + 0.5) * ratio, sum = 0;
        int64_t first = (int64_t)floor(center - support), end = (int64_t)ceil(center + support);
        first = first < 0 ? 0 : first;
        end = end > in ? in : end;
        span *s = &spans[i];
        *s = (span){first, end - first, QGC_NEW_ARRAY(scratch, double, (size_t)(end - first))};
        for (int64_t k = 0; k < s->num; k++) {
            double distance = fabs((double)(first + k) + 0.5 - center) / support;
            s->weights[k] = distance < 1 ? 1 - distance : 0;
            sum += s->weights[k];
        }
        for (int64_t k = 0; k < s->num; k++)
            s->weights[k] /= sum;
    }
    return spans;
}

/* One row of the input, |out->width| pixels of it. */
static void resize_row(const uint8_t *in, const span *columns, const qgc_pixels *out, double *row)
{
    int64_t channels = out->channels;
    for (int64_t x = 0; x < out->width; x++)
        for (int64_t c = 0; c < channels; c++) {
            double sum = 0;
            const span *s = &columns[x];
            for (int64_t k = 0; k < s->num; k++)
                sum += s->weights[k] * in[(s->first + k) * channels + c];
            row[x * channels + c] = sum;
        }
}

void qgc_pixels_resize(const qgc_pixels *in, qgc_arena *scratch, qgc_pixels *out)
{
    size_t row = (size_t)(out->width * out->channels);
    const span *columns = make_spans(in->width, out->width, scratch);
    const span *lines = make_spans(in->height, out->height, scratch);
    double *rows = QGC_NEW_ARRAY(scratch, double, row *(size_t)in->height);
    for (int64_t y = 0; y < in->height; y++)
        resize_row(in->bytes + y * in->width * in->channels, columns, out, rows + (size_t)y * row);
    for (int64_t y = 0; y < out->height; y++)
        for (size_t i = 0; i < row; i++) {
            double sum = 0;
            for (int64_t k = 0; k < lines[y].num; k++)
                sum += lines[y].weights[k] * rows[(size_t)(lines[y].first + k) * row + i];
            out->bytes[(size_t)y * row + i] = (uint8_t)nearbyint(sum);
        }
}

#include "runtime/picture.h"

#include <math.h>
#include <string.h>

const qgc_picture_format qgc_picture_default = {
    .dtype = QGC_DTYPE_F32, .scale = 255, .std = {1, 1, 1}};

typedef struct picture {
    const qgc_file *file;
    const qgc_picture_decoder *decoder;
    const qgc_picture_format *format;
    qgc_arena *arena;
    int64_t height, width;           /* of the file */
    int64_t to_height, to_width;     /* resized */
    int64_t crop_height, crop_width; /* of the tensor */
    uint8_t *elements;               /* of the tensor, once it was read */
} picture;

static int64_t num_channels(const picture *p)
{
    return p->format->color == QGC_PICTURE_GRAY ? 1 : 3;
}

/* ---- sizes ---- */

static void choose_size(picture *p)
{
    const qgc_picture_format *f = p->format;
    p->to_height = f->height ? f->height : p->height;
    p->to_width = f->width ? f->width : p->width;
    if (f->resize && p->height <= p->width) {
        p->to_height = f->resize;
        p->to_width = f->resize * p->width / p->height;
    } else if (f->resize) {
        p->to_width = f->resize;
        p->to_height = f->resize * p->height / p->width;
    }
    p->crop_height = f->crop_height ? f->crop_height : p->to_height;
    p->crop_width = f->crop_width ? f->crop_width : p->to_width;
}

static bool is_fine(int64_t height, int64_t width)
{
    return height > 0 && width > 0 && height <= QGC_PICTURE_MAX_SIDE &&
           width <= QGC_PICTURE_MAX_SIDE && height * width <= QGC_PICTURE_MAX_PIXELS;
}

static qgc_result check_size(qgc_diag *diag, const picture *p)
{
    if (!is_fine(p->height, p->width) || !is_fine(p->to_height, p->to_width))
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected a picture of at most %d x %d and %d pixels, found %lld x "
                          "%lld, made %lld x %lld",
                          p->file->name, QGC_PICTURE_MAX_SIDE, QGC_PICTURE_MAX_SIDE,
                          QGC_PICTURE_MAX_PIXELS, (long long)p->height, (long long)p->width,
                          (long long)p->to_height, (long long)p->to_width);
    if (p->crop_height > p->to_height || p->crop_width > p->to_width)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected at least %lld x %lld pixels to crop, found %lld x %lld",
                          p->file->name, (long long)p->crop_height, (long long)p->crop_width,
                          (long long)p->to_height, (long long)p->to_width);
    return QGC_OK;
}

/* ---- elements ---- */

/* Where the element of a pixel stands in the tensor. */
static size_t element_at(const picture *p, int64_t y, int64_t x, int64_t channel)
{
    size_t pixel = (size_t)(y * p->crop_width + x);
    if (p->format->layout == QGC_PICTURE_NHWC)
        return pixel * (size_t)num_channels(p) + (size_t)channel;
    return (size_t)(channel * p->crop_height * p->crop_width) + pixel;
}

static void put_element(const picture *p, size_t at, int64_t channel, uint8_t value)
{
    const qgc_picture_format *f = p->format;
    if (f->dtype == QGC_DTYPE_U8) {
        p->elements[at] = value;
        return;
    }
    float normal = (float)((value / f->scale - f->mean[channel]) / f->std[channel]);
    memcpy(p->elements + at * sizeof normal, &normal, sizeof normal);
}

/* The middle; a half goes to the even side, as torchvision's. */
static void fill_elements(const picture *p, const qgc_pixels *pixels)
{
    int64_t channels = pixels->channels;
    int64_t top = (int64_t)nearbyint((double)(pixels->height - p->crop_height) / 2);
    int64_t left = (int64_t)nearbyint((double)(pixels->width - p->crop_width) / 2);
    for (int64_t y = 0; y < p->crop_height; y++)
        for (int64_t x = 0; x < p->crop_width; x++)
            for (int64_t c = 0; c < channels; c++) {
                const uint8_t *from =
                    pixels->bytes + ((y + top) * pixels->width + x + left) * channels;
                int64_t to = p->format->color == QGC_PICTURE_BGR ? channels - 1 - c : c;
                put_element(p, element_at(p, y, x, to), to, from[c]);
            }
}

static qgc_pixels make_pixels(const picture *p, int64_t height, int64_t width, qgc_arena *arena)
{
    qgc_pixels pixels = {height, width, num_channels(p), NULL};
    pixels.bytes = qgc_arena_alloc(arena, (size_t)(height * width * pixels.channels));
    return pixels;
}

static qgc_result load(qgc_diag *diag, picture *p, size_t bytes)
{
    qgc_arena scratch = {0};
    qgc_pixels file = make_pixels(p, p->height, p->width, &scratch);
    qgc_result result = p->decoder->decode(diag, p->file, &file);
    if (result == QGC_OK) {
        bool is_same = p->to_height == p->height && p->to_width == p->width;
        qgc_pixels resized = is_same ? file : make_pixels(p, p->to_height, p->to_width, &scratch);
        if (!is_same)
            qgc_pixels_resize(&file, &scratch, &resized);
        p->elements = qgc_arena_alloc(p->arena, bytes);
        fill_elements(p, &resized);
    }
    qgc_arena_destroy(&scratch);
    return result;
}

static qgc_result read_elements(qgc_diag *diag, qgc_array *array, size_t first, size_t num,
                                void *dest)
{
    picture *p = array->state;
    size_t size = qgc_dtype_bytes(array->dtype);
    size_t all = (size_t)(p->crop_height * p->crop_width * num_channels(p));
    if (!p->elements)
        QGC_TRY(load(diag, p, all * size));
    memcpy(dest, p->elements + first * size, num * size);
    return QGC_OK;
}

/* ---- opening ---- */

static void set_shape(const picture *p, qgc_array *array)
{
    const int64_t c = num_channels(p), h = p->crop_height, w = p->crop_width;
    const int64_t shapes[][4] = {[QGC_PICTURE_NCHW] = {1, c, h, w},
                                 [QGC_PICTURE_NHWC] = {1, h, w, c},
                                 [QGC_PICTURE_NHW] = {1, h, w}};
    array->rank = p->format->layout == QGC_PICTURE_NHW ? 3 : 4;
    memcpy(array->shape, shapes[p->format->layout], sizeof shapes[0]);
}

static qgc_result open_picture(qgc_diag *diag, qgc_array_file *file,
                               const qgc_picture_decoder *decoder)
{
    picture *p = QGC_NEW(&file->arena, picture);
    *p = (picture){.file = &file->file,
                   .decoder = decoder,
                   .format = file->pictures ? file->pictures : &qgc_picture_default,
                   .arena = &file->arena};
    if (p->format->is_used)
        *p->format->is_used = true;
    QGC_TRY(decoder->measure(diag, &file->file, &p->height, &p->width));
    choose_size(p);
    QGC_TRY(check_size(diag, p));
    file->picture =
        qgc_arena_printf(&file->arena, "%lld x %lld", (long long)p->height, (long long)p->width);
    file->num_arrays = 1;
    file->arrays = QGC_NEW_ARRAY(&file->arena, qgc_array, 1);
    file->arrays[0] =
        (qgc_array){.name = {"", 0}, .dtype = p->format->dtype, .read = read_elements, .state = p};
    set_shape(p, &file->arrays[0]);
    return QGC_OK;
}

qgc_result qgc_png_open_arrays(qgc_diag *diag, qgc_array_file *file)
{
    return open_picture(diag, file, &qgc_png);
}

qgc_result qgc_jpeg_open_arrays(qgc_diag *diag, qgc_array_file *file)
{
    return open_picture(diag, file, &qgc_jpeg);
}

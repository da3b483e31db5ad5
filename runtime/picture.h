/* PNG and JPEG files as arrays of one sample: what --image describes. */
#ifndef QGC_RUNTIME_PICTURE_H
#define QGC_RUNTIME_PICTURE_H

#include "runtime/array.h"

typedef enum qgc_picture_color {
    QGC_PICTURE_RGB,
    QGC_PICTURE_BGR,
    QGC_PICTURE_GRAY
} qgc_picture_color;
typedef enum qgc_picture_layout {
    QGC_PICTURE_NCHW,
    QGC_PICTURE_NHWC,
    QGC_PICTURE_NHW /* gray only */
} qgc_picture_layout;

/* How a picture becomes a tensor, in this order. Sizes are 0 where nothing is asked. */
typedef struct qgc_picture_format {
    qgc_picture_color color;
    int64_t resize;                  /* the shorter side; the other keeps the ratio, rounded down */
    int64_t height, width;           /* both sides, whatever the ratio */
    int64_t crop_height, crop_width; /* around the middle */
    qgc_dtype dtype;                 /* U8: as it is; F32: (value / scale - mean) / std */
    double scale, mean[3], std[3];   /* per channel */
    qgc_picture_layout layout;
    bool *is_used; /* set where a picture is read so; or NULL */
} qgc_picture_format;

/* RGB, f32 in [0, 1], NCHW, the size of the file. */
extern const qgc_picture_format qgc_picture_default;

/* "size=224,mean=0.485/0.456/0.406,...": docs/driver.md has the keys. What is malformed or
 * contradicts itself is reported as QGC_D_USAGE. */
qgc_result qgc_picture_format_parse(qgc_diag *diag, const char *text, qgc_picture_format *out);

enum { QGC_PICTURE_MAX_SIDE = 1 << 15, QGC_PICTURE_MAX_PIXELS = 1 << 26 };

/* Pixels of a decoded file: rows of |channels| bytes each, no gaps. */
typedef struct qgc_pixels {
    int64_t height, width, channels;
    uint8_t *bytes;
} qgc_pixels;

/* Height and width from the header; the pixels, |channels| (1: gray, 3: RGB) being given. What is
 * wrong with a file is reported as QGC_D_FILE_FORMAT. Alpha is laid over black; a 16-bit or
 * palette PNG becomes 8 bits of sRGB. */
typedef struct qgc_picture_decoder {
    const char *name;
    qgc_result (*measure)(qgc_diag *diag, const qgc_file *file, int64_t *height, int64_t *width);
    qgc_result (*decode)(qgc_diag *diag, const qgc_file *file, qgc_pixels *out);
} qgc_picture_decoder;

extern const qgc_picture_decoder qgc_png, qgc_jpeg;

/* Rows of data_kind.c. */
bool qgc_png_detect(const qgc_file *file);
bool qgc_jpeg_detect(const qgc_file *file);
qgc_array_open_fn qgc_png_open_arrays, qgc_jpeg_open_arrays;

/* Linear interpolation between the centers of pixels, over all that an output pixel covers where
 * the picture shrinks (a triangle of twice the ratio, as Pillow's BILINEAR); half to even. |out|
 * has its size and memory. */
void qgc_pixels_resize(const qgc_pixels *in, qgc_arena *scratch, qgc_pixels *out);

#endif

/* The text of --image: "size=224,mean=0.485/0.456/0.406,layout=nhwc". */
#include "base/number.h"
#include "runtime/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    qgc_diag *diag;
    qgc_picture_format *out;
    bool is_normalized, has_shape; /* scale, mean or std given; size or resize */
} parser;

typedef struct key {
    const char *name, *expected;
    bool (*read)(parser *p, const char *value);
} key;

static bool choose(const char *value, const char *const *words, int num, int *out)
{
    for (int i = 0; i < num; i++)
        if (strcmp(value, words[i]) == 0) {
            *out = i;
            return true;
        }
    return false;
}

static bool read_side(const char **text, int64_t *out)
{
    char *end;
    if (**text < '1' || **text > '9')
        return false;
    *out = strtoll(*text, &end, 10);
    *text = end;
    return *out <= QGC_PICTURE_MAX_SIDE;
}

/* "224" or "224x320": height, width. */
static bool read_sides(const char *value, int64_t *height, int64_t *width)
{
    if (!read_side(&value, height))
        return false;
    *width = *height;
    if (*value == 'x') {
        value++;
        return read_side(&value, width) && !*value;
    }
    return !*value;
}

static bool read_number(qgc_str text, double *out)
{
    return qgc_parse_f64(text, out) && isfinite(*out);
}

/* One number for all channels, or three. */
static bool read_numbers(const char *value, double out[3])
{
    int num = 0;
    for (const char *end = value; end; value = end + 1) {
        end = strchr(value, '/');
        size_t size = end ? (size_t)(end - value) : strlen(value);
        if (num == 3 || !read_number((qgc_str){value, size}, &out[num++]))
            return false;
        if (!end)
            break;
    }
    if (num == 1)
        out[1] = out[2] = out[0];
    return num != 2;
}

static bool read_size_key(parser *p, const char *value)
{
    bool is_first = !p->has_shape;
    p->has_shape = true;
    return is_first && read_sides(value, &p->out->height, &p->out->width);
}

static bool read_resize(parser *p, const char *value)
{
    bool is_first = !p->has_shape;
    p->has_shape = true;
    return is_first && read_side(&value, &p->out->resize) && !*value;
}

static bool read_crop(parser *p, const char *value)
{
    return read_sides(value, &p->out->crop_height, &p->out->crop_width);
}

static bool read_color(parser *p, const char *value)
{
    static const char *const words[] = {"rgb", "bgr", "gray"};
    int index = 0;
    bool found = choose(value, words, 3, &index);
    p->out->color = (qgc_picture_color)index;
    return found;
}

static bool read_layout(parser *p, const char *value)
{
    static const char *const words[] = {"nchw", "nhwc", "nhw"};
    int index = 0;
    bool found = choose(value, words, 3, &index);
    p->out->layout = (qgc_picture_layout)index;
    return found;
}

static bool read_dtype(parser *p, const char *value)
{
    static const char *const words[] = {"f32", "u8"};
    int index = 0;
    bool found = choose(value, words, 2, &index);
    p->out->dtype = index ? QGC_DTYPE_U8 : QGC_DTYPE_F32;
    return found;
}

static bool read_scale(parser *p, const char *value)
{
    p->is_normalized = true;
    return read_number(qgc_str_from(value), &p->out->scale) && p->out->scale > 0;
}

static bool read_mean(parser *p, const char *value)
{
    p->is_normalized = true;
    return read_numbers(value, p->out->mean);
}

static bool read_std(parser *p, const char *value)
{
    const double *s = p->out->std;
    p->is_normalized = true;
    return read_numbers(value, p->out->std) && s[0] > 0 && s[1] > 0 && s[2] > 0;
}

static const key keys[] = {
    {"size", "H or HxW, and no resize beside it", read_size_key},
    {"resize", "a number of pixels, and no size beside it", read_resize},
    {"crop", "H or HxW", read_crop},
    {"color", "rgb, bgr or gray", read_color},
    {"dtype", "f32 or u8", read_dtype},
    {"scale", "a positive number", read_scale},
    {"mean", "a number, or three in the order of the channels", read_mean},
    {"std", "a positive number, or three in the order of the channels", read_std},
    {"layout", "nchw, nhwc or nhw", read_layout},
};

enum { NUM_KEYS = sizeof keys / sizeof *keys };

static qgc_result unknown_key(qgc_diag *diag, const char *found)
{
    qgc_text text = {.arena = diag->arena};
    for (int i = 0; i < NUM_KEYS; i++)
        qgc_text_printf(&text, "%s%s", i ? ", " : "", keys[i].name);
    return qgc_report(diag, QGC_NO_LOC, QGC_D_USAGE, "image '%s': expected KEY=VALUE with %s",
                      found, qgc_text_str(&text).data);
}

/* |item| is cut at its '='. */
static qgc_result read_item(parser *p, char *item, unsigned *seen)
{
    char *value = strchr(item, '=');
    if (value)
        *value++ = 0;
    for (int i = 0; value && i < NUM_KEYS; i++) {
        if (strcmp(item, keys[i].name) != 0)
            continue;
        if (*seen & 1U << i)
            return qgc_report(p->diag, QGC_NO_LOC, QGC_D_USAGE, "image: %s is given twice", item);
        *seen |= 1U << i;
        if (keys[i].read(p, value))
            return QGC_OK;
        return qgc_report(p->diag, QGC_NO_LOC, QGC_D_USAGE, "image %s=%s: expected %s", item, value,
                          keys[i].expected);
    }
    return unknown_key(p->diag, item);
}

static qgc_result check(const parser *p)
{
    const qgc_picture_format *f = p->out;
    const char *why = NULL;
    if (f->dtype == QGC_DTYPE_U8 && p->is_normalized)
        why = "dtype=u8 takes pixels as they are: no scale, mean or std";
    if (f->layout == QGC_PICTURE_NHW && f->color != QGC_PICTURE_GRAY)
        why = "layout=nhw has no channels: it needs color=gray";
    return why ? qgc_report(p->diag, QGC_NO_LOC, QGC_D_USAGE, "image: %s", why) : QGC_OK;
}

qgc_result qgc_picture_format_parse(qgc_diag *diag, const char *text, qgc_picture_format *out)
{
    parser p = {.diag = diag, .out = out};
    unsigned seen = 0;
    *out = qgc_picture_default;
    char *copy = qgc_arena_strdup(diag->arena, qgc_str_from(text)), *rest;
    for (char *item = copy; item; item = rest) {
        rest = strchr(item, ',');
        if (rest)
            *rest++ = 0;
        QGC_TRY(read_item(&p, item, &seen));
    }
    return check(&p);
}

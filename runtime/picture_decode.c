/* Files to pixels, by libpng and libjpeg-turbo. */
#include "runtime/picture.h"

#include <png.h>
#include <string.h>
#include <turbojpeg.h>

static qgc_result defect(qgc_diag *diag, const qgc_file *file, const char *kind, const char *found)
{
    return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT, "%s: expected a %s picture, found: %s",
                      file->name, kind, found);
}

static bool starts_with(const qgc_file *file, const char *magic, size_t size)
{
    return file->size >= size && memcmp(file->data, magic, size) == 0;
}

/* ---- PNG ---- */

bool qgc_png_detect(const qgc_file *file)
{
    return starts_with(file, "\x89PNG\r\n\x1a\n", 8);
}

static qgc_result begin_png(qgc_diag *diag, const qgc_file *file, png_image *image)
{
    *image = (png_image){.version = PNG_IMAGE_VERSION};
    if (png_image_begin_read_from_memory(image, file->data, file->size))
        return QGC_OK;
    return defect(diag, file, "PNG", image->message);
}

static qgc_result measure_png(qgc_diag *diag, const qgc_file *file, int64_t *height, int64_t *width)
{
    png_image image;
    QGC_TRY(begin_png(diag, file, &image));
    *height = image.height;
    *width = image.width;
    png_image_free(&image);
    return QGC_OK;
}

static qgc_result decode_png(qgc_diag *diag, const qgc_file *file, qgc_pixels *out)
{
    png_image image;
    const png_color black = {0, 0, 0};
    QGC_TRY(begin_png(diag, file, &image));
    image.format = out->channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    if (png_image_finish_read(&image, &black, out->bytes, 0, NULL) &&
        !(image.warning_or_error & PNG_IMAGE_ERROR))
        return QGC_OK;
    png_image_free(&image);
    return defect(diag, file, "PNG", image.message);
}

const qgc_picture_decoder qgc_png = {"PNG", measure_png, decode_png};

/* ---- JPEG ---- */

bool qgc_jpeg_detect(const qgc_file *file)
{
    return starts_with(file, "\xff\xd8\xff", 3);
}

static qgc_result finish_jpeg(qgc_diag *diag, const qgc_file *file, tjhandle handle, int status)
{
    qgc_result result = QGC_OK;
    if (!handle || status != 0)
        result = defect(diag, file, "JPEG", tjGetErrorStr2(handle));
    if (handle)
        tjDestroy(handle);
    return result;
}

static qgc_result measure_jpeg(qgc_diag *diag, const qgc_file *file, int64_t *height,
                               int64_t *width)
{
    int w = 0, h = 0, sampling, space, status = -1;
    tjhandle handle = tjInitDecompress();
    if (handle)
        status = tjDecompressHeader3(handle, file->data, file->size, &w, &h, &sampling, &space);
    *height = h;
    *width = w;
    return finish_jpeg(diag, file, handle, status);
}

static qgc_result decode_jpeg(qgc_diag *diag, const qgc_file *file, qgc_pixels *out)
{
    int status = -1;
    tjhandle handle = tjInitDecompress();
    if (handle)
        status = tjDecompress2(handle, file->data, file->size, out->bytes, (int)out->width, 0,
                               (int)out->height, out->channels == 1 ? TJPF_GRAY : TJPF_RGB,
                               TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING);
    return finish_jpeg(diag, file, handle, status);
}

const qgc_picture_decoder qgc_jpeg = {"JPEG", measure_jpeg, decode_jpeg};

#include "runtime/data_kind.h"

#include "runtime/idx.h"
#include "runtime/npy.h"
#include "runtime/npz.h"
#include "runtime/picture.h"
#include "runtime/safetensors.h"

#include <string.h>

/* safetensors stands before IDX: the length of a header may begin like an IDX magic, but an IDX
 * file does not have '{' behind zero bytes of dimensions. */
static const qgc_data_kind kinds[] = {
    {"npy", {".npy"}, qgc_npy_detect, qgc_npy_open_arrays},
    {"npz", {".npz"}, qgc_npz_detect, qgc_npz_open_arrays},
    {"safetensors", {".safetensors"}, qgc_safetensors_detect, qgc_safetensors_open_arrays},
    {"IDX", {"-ubyte", ".idx"}, qgc_idx_detect, qgc_idx_open_arrays},
    {"gzipped IDX", {"-ubyte.gz", ".idx.gz"}, qgc_idx_gzip_detect, qgc_idx_gzip_open_arrays},
    {"PNG", {".png"}, qgc_png_detect, qgc_png_open_arrays},
    {"JPEG", {".jpg", ".jpeg"}, qgc_jpeg_detect, qgc_jpeg_open_arrays},
};

enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

static bool has_suffix(const char *name, const char *suffix)
{
    size_t size = strlen(name), suffix_size = strlen(suffix);
    return size >= suffix_size && strcmp(name + size - suffix_size, suffix) == 0;
}

static bool is_named_like(const qgc_data_kind *kind, const char *name)
{
    for (size_t i = 0; i < sizeof kind->suffixes / sizeof *kind->suffixes; i++)
        if (kind->suffixes[i] && has_suffix(name, kind->suffixes[i]))
            return true;
    return false;
}

static void unknown_kind(qgc_diag *diag, const char *name)
{
    qgc_text text = {.arena = diag->arena};
    for (int i = 0; i < NUM_KINDS; i++)
        qgc_text_printf(&text, "%s%s",
                        i == 0              ? ""
                        : i + 1 < NUM_KINDS ? ", "
                                            : " or ",
                        kinds[i].name);
    qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_UNKNOWN,
               "%s: expected %s data, found neither the content nor the name of any", name,
               qgc_text_str(&text).data);
}

const qgc_data_kind *qgc_data_find_kind(qgc_diag *diag, const qgc_file *file)
{
    for (int i = 0; i < NUM_KINDS; i++)
        if (kinds[i].detect(file))
            return &kinds[i];
    for (int i = 0; i < NUM_KINDS; i++)
        if (is_named_like(&kinds[i], file->name))
            return &kinds[i];
    unknown_kind(diag, file->name);
    return NULL;
}

/* The target "onednn": convolution, linear, matmul, pools and add, of 8-bit and of f32 values, by
 * Intel's oneAPI Deep Neural Network Library, versions 2 and 3. */
#include "onednn.h"

#include <stdio.h>
#include <stdlib.h>

static int open_onednn(const char *options, void **out_state, char *error, size_t error_size)
{
    onednn *dnn = (onednn *)calloc(1, sizeof *dnn);
    if (options[0]) {
        snprintf(error, error_size, "unknown option '%s': there are none", options);
        free(dnn);
        return QGC_BACKEND_FAILED;
    }
    if (!dnn || dnn_open(dnn)) {
        snprintf(error, error_size, "oneDNN has no CPU engine");
        free(dnn);
        return QGC_BACKEND_FAILED;
    }
    *out_state = dnn;
    return QGC_BACKEND_OK;
}

static void close_onednn(void *state)
{
    dnn_close((onednn *)state);
    free(state);
}

#define CONV(op)                                                                                   \
    "claim " op "(x: u8|i8, w: const i8.ch|const i8, add?, clip?, bias?, y: u8|i8|f32)"            \
    " where groups_divide, k_fits_i32, scales_known, w_symmetric, add_in_8_bits benefit 20\n"      \
    "claim " op "(x: f32, w: const f32, bias?, y: f32) benefit 20\n"
#define POOL(op)                                                                                   \
    "claim " op "(x: u8|i8, clip?, y: u8|i8) where integer benefit 20\n"                           \
    "claim " op "(x: f32, y: f32) benefit 20\n"

static const qgc_backend_pattern patterns[] = {
    {CONV("conv1d") CONV("conv2d") CONV("conv3d"), lower_conv},
    {"claim linear(x: u8|i8, w: const i8.ch|const i8, add?, clip?, bias?, y: u8|i8|f32)"
     " where k_fits_i32, scales_known, w_symmetric, add_in_8_bits benefit 20\n"
     "claim linear(x: f32, w: const f32, bias?, y: f32) benefit 20\n"
     "claim matmul(a: u8|i8, b: const i8.ch|const i8, add?, clip?, bias?, y: u8|i8|f32)"
     " where k_fits_i32, scales_known, w_symmetric, add_in_8_bits, b_is_matrix benefit 20\n"
     "claim matmul(a: f32, b: f32|const f32, y: f32) where b_is_matrix benefit 20\n",
     lower_matmul},
    {"claim max_pool(x: u8|i8) benefit 20\nclaim max_pool(x: f32, y: f32) benefit 20\n"
     "claim global_max_pool(x: u8|i8) benefit 20\nclaim global_max_pool(x: f32, y: f32) benefit "
     "20\n",
     lower_max_pool},
    {POOL("avg_pool") POOL("global_avg_pool"), lower_avg_pool},
    {"claim add(a: u8|i8, b: u8|i8, clip?, y: u8|i8) where integer, same_shapes benefit 20\n"
     "claim add(a: f32, b: f32, y: f32) where same_shapes benefit 20\n",
     lower_add},
};

/* Weights around zero: oneDNN has zero points for activations only. */
static const char quantizer[] =
    "spec act = u8.affine.hist\n"
    "spec weight = i8.sym.ch.minmax\n"
    "take conv1d|conv2d|conv3d|linear(x: act, w: weight) -> add(other: act) -> relu|clip(y: act) "
    "where single_use\n"
    "take conv1d|conv2d|conv3d|linear(x: act, w: weight) -> add(other: act, y: act) where "
    "single_use\n"
    "take conv1d|conv2d|conv3d|linear(x: act, w: weight) -> relu|clip(y: act) where single_use\n"
    "take conv1d|conv2d|conv3d|linear(x: act, w: weight, y: act)\n"
    "take matmul(a: act, b: weight, y: act)\n"
    "take add(a: act, b: act) -> relu|clip(y: act) where single_use, same_shapes\n"
    "take add(a: act, b: act, y: act) where same_shapes\n"
    "take avg_pool|global_avg_pool(x: act, y: act)\n"
    "sweep max_pool|global_max_pool|reshape|flatten|transpose|relu|clip(x: producer, y: "
    "share(x))\n";

static const qgc_backend_legal legals[] = {
    {"conv1d", "x", "u8|i8"},     {"conv2d", "x", "u8|i8"},     {"conv3d", "x", "u8|i8"},
    {"conv1d", "y", "u8|i8|f32"}, {"conv2d", "y", "u8|i8|f32"}, {"conv3d", "y", "u8|i8|f32"},
    {"linear", "x", "u8|i8"},     {"linear", "y", "u8|i8|f32"}, {"matmul", "a", "u8|i8"},
    {"matmul", "y", "u8|i8|f32"}, {"add", "a", "u8|i8"},        {"add", "b", "u8|i8"},
    {"add", "y", "u8|i8"},
};

static const qgc_backend backend = {
    .abi = QGC_BACKEND_ABI,
    .struct_size = sizeof backend,
    .pattern_size = sizeof *patterns,
    .legal_size = sizeof *legals,
    .name = "onednn",
    .summary = "oneDNN: convolution, linear, matmul, pools, add; 8 bits and f32",
    .patterns = patterns,
    .num_patterns = sizeof patterns / sizeof *patterns,
    .quantizer = quantizer,
    .legals = legals,
    .num_legals = sizeof legals / sizeof *legals,
    .tolerance_steps = 1,
    .tolerance_float = 1e-4f,
    .open = open_onednn,
    .close = close_onednn,
};

QGC_BACKEND_EXPORT const qgc_backend *qgc_backend_query(uint32_t host_abi)
{
    (void)host_abi;
    return &backend;
}

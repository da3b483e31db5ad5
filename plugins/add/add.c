/* A backend that lowers add to a loop in C, and nothing else: what docs/adding-a-backend.md ends
 * with.
 *
 *   y = clamp(rne((a - za) * ma + (b - zb) * mb) + zy, lo, hi),  ma = sa / sy, mb = sb / sy
 */
#include "qgc/backend.h"

#include <math.h>

typedef struct add_kernel {
    int64_t num;
    int is_signed[3]; /* a, b, y */
    int32_t zero_points[3];
    float multipliers[2];
    int32_t lo, hi;
} add_kernel;

static int32_t load(const void *data, int64_t i, int is_signed)
{
    return is_signed ? ((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
}

static int run_add(void *user, const void *const *inputs, void *const *outputs, int64_t begin,
                   int64_t end)
{
    const add_kernel *k = (const add_kernel *)user;
    (void)begin;
    (void)end; /* one unit of work: everything */
    for (int64_t i = 0; i < k->num; i++) {
        int32_t a = load(inputs[0], i, k->is_signed[0]) - k->zero_points[0];
        int32_t b = load(inputs[1], i, k->is_signed[1]) - k->zero_points[1];
        float sum = rintf((float)a * k->multipliers[0] + (float)b * k->multipliers[1]);
        float lo = (float)(k->lo - k->zero_points[2]), hi = (float)(k->hi - k->zero_points[2]);
        sum = sum < lo ? lo : sum > hi ? hi : sum;
        ((uint8_t *)outputs[0])[i] = (uint8_t)((int32_t)sum + k->zero_points[2]);
    }
    return QGC_BACKEND_OK;
}

static int lower_add(void *state, const qgc_backend_host *host, qgc_backend_region *region,
                     const qgc_backend_op *op)
{
    qgc_backend_tensor t[3] = {
        {.struct_size = sizeof *t}, {.struct_size = sizeof *t}, {.struct_size = sizeof *t}};
    add_kernel *k = (add_kernel *)host->allocate(region, sizeof *k);
    (void)state;
    if (host->operand(op, 0, &t[0]) || host->operand(op, 1, &t[1]) || host->result(op, 0, &t[2]))
        return host->fail(region, op, "a tensor cannot be read");
    for (int i = 0; i < 3; i++) {
        k->is_signed[i] = t[i].dtype == QGC_BACKEND_I8;
        k->zero_points[i] = t[i].zero_points[0];
    }
    for (int i = 0; i < 2; i++)
        k->multipliers[i] = t[i].scales[0] / t[2].scales[0];
    k->num = (int64_t)t[2].bytes;
    k->lo = t[2].lo;
    k->hi = t[2].hi;
    return host->emit_kernel(region, op, run_add, k, NULL, 1);
}

static const qgc_backend_pattern patterns[] = {
    {"claim add(a: u8|i8, b: u8|i8, clip?, y: u8|i8) where integer, same_shapes\n", lower_add},
};

static const qgc_backend backend = {
    .abi = QGC_BACKEND_ABI,
    .struct_size = sizeof backend,
    .pattern_size = sizeof *patterns,
    .legal_size = sizeof(qgc_backend_legal),
    .name = "add",
    .summary = "add, as a loop in C",
    .patterns = patterns,
    .num_patterns = sizeof patterns / sizeof *patterns,
};

QGC_BACKEND_EXPORT const qgc_backend *qgc_backend_query(uint32_t host_abi)
{
    (void)host_abi;
    return &backend;
}

/* A backend to copy: it takes relu and add of 8-bit values, relu as LLVM IR that the host compiles,
 * add as a kernel of its own. Search for "template" and give your backend its name; then see
 * docs/adding-a-backend.md.
 *
 * Option "bug=1" plants a defect in add, "bug=2" one in relu: qgc verify-backend finds them. */
#include "qgc/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the state: what lives as long as the plug-in is loaded ---- */

typedef struct template_state {
    int bug; /* planted, 0: none */
} template_state;

static int open_template(const char *options, void **out_state, char *error, size_t error_size)
{
    int bug = 0;
    if (options[0] && sscanf(options, "bug=%d", &bug) != 1) {
        snprintf(error, error_size, "unknown option '%s', expected bug=N", options);
        return QGC_BACKEND_FAILED;
    }
    template_state *state = (template_state *)malloc(sizeof *state);
    if (!state) {
        snprintf(error, error_size, "no memory");
        return QGC_BACKEND_FAILED;
    }
    state->bug = bug;
    *out_state = state;
    return QGC_BACKEND_OK;
}

static void close_template(void *state)
{
    free(state);
}

/* ---- reading an op ---- */

/* Operands, then the result. */
static int read_tensors(const qgc_backend_host *host, const qgc_backend_op *op,
                        qgc_backend_tensor *out, size_t num_operands)
{
    for (size_t i = 0; i <= num_operands; i++) {
        memset(&out[i], 0, sizeof out[i]);
        out[i].struct_size = sizeof out[i];
        int failed =
            i < num_operands ? host->operand(op, i, &out[i]) : host->result(op, 0, &out[i]);
        if (failed)
            return QGC_BACKEND_FAILED;
    }
    return QGC_BACKEND_OK;
}

/* ---- add: a kernel of the plug-in ---- */

enum { ADD_BLOCK = 4096 }; /* elements of a unit of work */

/* y = clamp(rne((a - za) * ma + (b - zb) * mb) + zy, lo, hi) */
typedef struct add_kernel {
    int64_t num;
    int32_t za, zb, zy, lo, hi;
    float ma, mb;
} add_kernel;

static int run_add(void *user, const void *const *inputs, void *const *outputs, int64_t begin,
                   int64_t end)
{
    const add_kernel *k = (const add_kernel *)user;
    const uint8_t *a = (const uint8_t *)inputs[0], *b = (const uint8_t *)inputs[1];
    uint8_t *y = (uint8_t *)outputs[0];
    int64_t last = end * ADD_BLOCK < k->num ? end * ADD_BLOCK : k->num;
    for (int64_t i = begin * ADD_BLOCK; i < last; i++) {
        float sum = rintf((float)(a[i] - k->za) * k->ma + (float)(b[i] - k->zb) * k->mb);
        float lo = (float)(k->lo - k->zy), hi = (float)(k->hi - k->zy);
        sum = sum < lo ? lo : sum > hi ? hi : sum;
        y[i] = (uint8_t)((int32_t)sum + k->zy);
    }
    return QGC_BACKEND_OK;
}

static int lower_add(void *state, const qgc_backend_host *host, qgc_backend_region *region,
                     const qgc_backend_op *op)
{
    qgc_backend_tensor t[3];
    add_kernel *k = (add_kernel *)host->allocate(region, sizeof *k);
    if (read_tensors(host, op, t, 2))
        return host->fail(region, op, "a tensor cannot be read");
    k->num = (int64_t)t[2].bytes;
    k->za = t[0].zero_points[0];
    k->zb = t[1].zero_points[0];
    k->zy = t[2].zero_points[0];
    k->lo = t[2].lo;
    k->hi = t[2].hi;
    k->ma = t[0].scales[0] / t[2].scales[0];
    k->mb = t[1].scales[0] / t[2].scales[0];
    if (((const template_state *)state)->bug == 1)
        k->mb *= 1.5f;
    return host->emit_kernel(region, op, run_add, k, NULL, (k->num + ADD_BLOCK - 1) / ADD_BLOCK);
}

/* ---- relu: LLVM IR ---- */

/* y = lo > x + dz ? lo : x + dz, of equal scales: relu is the lower bound of the quantized values.
 */
static const char relu_ir[] =
    "define i32 @relu(ptr %%user, ptr %%inputs, ptr %%outputs, i64 %%begin, i64 %%end) {\n"
    "entry:\n"
    "  %%x = load ptr, ptr %%inputs\n"
    "  %%y = load ptr, ptr %%outputs\n"
    "  br label %%loop\n"
    "loop:\n"
    "  %%i = phi i64 [ %%begin, %%entry ], [ %%next, %%loop ]\n"
    "  %%xi = getelementptr i8, ptr %%x, i64 %%i\n"
    "  %%v = load i8, ptr %%xi\n"
    "  %%above = icmp ugt i8 %%v, %d\n"
    "  %%r = select i1 %%above, i8 %%v, i8 %d\n"
    "  %%yi = getelementptr i8, ptr %%y, i64 %%i\n"
    "  store i8 %%r, ptr %%yi\n"
    "  %%next = add i64 %%i, 1\n"
    "  %%done = icmp eq i64 %%next, %%end\n"
    "  br i1 %%done, label %%exit, label %%loop\n"
    "exit:\n"
    "  ret i32 0\n"
    "}\n";

static int lower_relu(void *state, const qgc_backend_host *host, qgc_backend_region *region,
                      const qgc_backend_op *op)
{
    char ir[sizeof relu_ir + 64];
    qgc_backend_tensor t[2];
    if (read_tensors(host, op, t, 1))
        return host->fail(region, op, "a tensor cannot be read");
    if (t[0].scales[0] != t[1].scales[0] || t[0].zero_points[0] != t[1].zero_points[0])
        return host->fail(region, op, "input and output have other parameters");
    int lo = t[1].lo + (((const template_state *)state)->bug == 2 ? 3 : 0);
    int size = snprintf(ir, sizeof ir, relu_ir, (int)(int8_t)lo, (int)(int8_t)lo);
    return host->emit_llvm(region, op, ir, (size_t)size, "relu", (int64_t)t[1].bytes);
}

/* ---- what the backend takes ---- */

static const qgc_backend_pattern patterns[] = {
    {"claim add(a: u8, b: u8, clip?, y: u8) where integer, same_shapes benefit 10\n", lower_add},
    {"claim relu(x: u8, y: u8) where integer, same_parameters benefit 10\n", lower_relu},
};

/* Where a graph has i8, the host requantizes at the edge. */
static const qgc_backend_legal legals[] = {
    {"add", "a", "u8"},  {"add", "b", "u8"},  {"add", "y", "u8"},
    {"relu", "x", "u8"}, {"relu", "y", "u8"},
};

/* What `annotate` does for this target: these two ops, and nothing else. */
static const char quantizer[] =
    "spec act = u8.affine.hist\n"
    "take add(a: act, b: act) -> relu(y: act) where single_use, same_shapes\n"
    "take add(a: act, b: act, y: act) where same_shapes\n"
    "take relu(x: act, y: share(x))\n";

static const qgc_backend backend = {
    .abi = QGC_BACKEND_ABI,
    .struct_size = sizeof backend,
    .pattern_size = sizeof *patterns,
    .legal_size = sizeof *legals,
    .name = "template",
    .summary = "relu and add on u8, to copy",
    .patterns = patterns,
    .num_patterns = sizeof patterns / sizeof *patterns,
    .quantizer = quantizer,
    .legals = legals,
    .num_legals = sizeof legals / sizeof *legals,
    .tolerance_steps = 0,
    .tolerance_float = 0,
    .open = open_template,
    .close = close_template,
};

QGC_BACKEND_EXPORT const qgc_backend *qgc_backend_query(uint32_t host_abi)
{
    (void)host_abi;
    return &backend;
}

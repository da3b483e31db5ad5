/* Ops as oneDNN primitives. Quantized products accumulate in s32, exactly; scales, bias, a fused
 * add and bounds follow in a loop, so that the result is that of qgc's own integer ops. */
#include "onednn.h"

#include <string.h>

typedef struct lowering {
    const qgc_backend_host *host;
    qgc_backend_region *region;
    const qgc_backend_op *op;
    qgc_backend_tensor x, w, add, y; /* w: the second operand, where there is one */
    int is_quantized;
} lowering;

/* ---- reading the op ---- */

static int fail(const lowering *l, const char *why)
{
    return l->host->fail(l->region, l->op, why);
}

static int is_8_bit(const qgc_backend_tensor *t)
{
    return t->dtype == QGC_BACKEND_I8 || t->dtype == QGC_BACKEND_U8;
}

static int begin(lowering *l, const qgc_backend_host *host, qgc_backend_region *region,
                 const qgc_backend_op *op)
{
    memset(l, 0, sizeof *l);
    l->host = host;
    l->region = region;
    l->op = op;
    l->x.struct_size = l->w.struct_size = l->add.struct_size = l->y.struct_size = sizeof l->x;
    if (host->operand(op, 0, &l->x) || host->result(op, 0, &l->y))
        return fail(l, "a tensor cannot be read");
    if (host->num_operands(op) > 1 && host->operand(op, 1, &l->w))
        return fail(l, "a tensor cannot be read");
    if (host->parts(op) & QGC_BACKEND_HAS_ADD && host->operand(op, 2, &l->add))
        return fail(l, "a tensor cannot be read");
    l->is_quantized = is_8_bit(&l->x);
    return l->x.bytes && l->y.bytes ? QGC_BACKEND_OK : fail(l, "a tensor is empty");
}

static void *new_memory(const lowering *l, size_t num, size_t size)
{
    return l->host->allocate(l->region, num * size);
}

static int64_t count(const qgc_backend_tensor *t)
{
    int64_t num = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        num *= t->shape[i];
    return num;
}

/* ---- arrays ---- */

static void set_dense(dnn_array *a)
{
    dnnl_dim_t stride = 1;
    for (int i = a->rank; i-- > 0; stride *= a->dims[i])
        a->strides[i] = stride;
}

static dnnl_data_type_t type_of(const qgc_backend_tensor *t)
{
    return t->dtype == QGC_BACKEND_I8 ? dnnl_s8 : t->dtype == QGC_BACKEND_U8 ? dnnl_u8 : dnnl_f32;
}

static dnn_array array_of(const qgc_backend_tensor *t)
{
    dnn_array a = {.rank = (int)t->rank, .type = type_of(t), .data = t->data};
    memcpy(a.dims, t->shape, t->rank * sizeof *a.dims);
    set_dense(&a);
    return a;
}

/* ---- emitting ---- */

static int emit(const lowering *l, onednn *dnn, const dnn_problem *p, dnn_kernel *k)
{
    if (dnn_create(dnn, p, k) != 0)
        return fail(l, "oneDNN has no primitive for it");
    return l->host->emit_kernel(l->region, l->op, dnn_run, k, dnn_release, 1);
}

/* s_x * s_w[c] / s_y, and bias / s_y; s_y is 1 where the result is float. */
static void set_multipliers(const lowering *l, dnn_epilogue *e)
{
    float *m = (float *)new_memory(l, (size_t)e->num_channels, sizeof *m);
    const float *bias;
    size_t num = l->host->bias(l->op, &bias);
    float *steps = num ? (float *)new_memory(l, (size_t)e->num_channels, sizeof *steps) : NULL;
    float scale = e->is_float_result ? 1.0f : l->y.scales[0];
    for (int64_t c = 0; c < e->num_channels; c++) {
        float w = l->w.num_scales ? l->w.scales[l->w.num_scales > 1 ? c : 0] : 1.0f;
        m[c] = l->x.scales[0] * w / scale;
        if (steps)
            steps[c] = bias[c] / scale;
    }
    e->multipliers = m;
    e->bias = steps;
}

static void set_result(const lowering *l, dnn_epilogue *e)
{
    e->is_used = 1;
    e->num = count(&l->y);
    e->is_float_result = l->y.dtype == QGC_BACKEND_F32;
    e->lo = l->y.lo;
    e->hi = l->y.hi;
    if (!e->is_float_result)
        e->zero_point = l->y.zero_points[0];
    if (!(l->host->parts(l->op) & QGC_BACKEND_HAS_ADD))
        return;
    e->has_add = 1;
    e->add_is_signed = l->add.dtype == QGC_BACKEND_I8;
    e->add_zero_point = l->add.zero_points[0];
    e->add_multiplier = l->add.scales[0] / l->y.scales[0];
}

/* The quantized product: sums to memory of their own, then the loop. */
static void set_product(const lowering *l, dnn_problem *p, dnn_kernel *k, int channel_axis)
{
    dnn_epilogue *e = &k->epilogue;
    p->source_zero_point = l->x.zero_points[0];
    p->result.type = dnnl_s32;
    k->sum = new_memory(l, (size_t)count(&l->y), sizeof(int32_t));
    e->num_channels = l->y.shape[channel_axis];
    e->inner = 1;
    for (uint32_t i = (uint32_t)channel_axis + 1; i < l->y.rank; i++)
        e->inner *= l->y.shape[i];
    set_result(l, e);
    set_multipliers(l, e);
}

/* The bias of an f32 op. */
static void set_bias(const lowering *l, dnn_problem *p, dnn_array *bias, int rank)
{
    const float *values;
    size_t num = l->is_quantized ? 0 : l->host->bias(l->op, &values);
    if (!num)
        return;
    *bias = (dnn_array){.rank = rank, .type = dnnl_f32, .data = values};
    for (int i = 0; i < rank; i++)
        bias->dims[i] = 1;
    bias->dims[rank - 1] = (dnnl_dim_t)num;
    set_dense(bias);
    p->bias = bias;
}

/* ---- windows ---- */

/* |kernel|: taps per dimension. The end is padded as far as the last window reaches. */
static int set_window(const lowering *l, dnn_problem *p, const int64_t *kernel)
{
    int64_t padding[6] = {0}, stride[3], dilation[3];
    size_t num = l->x.rank - 2;
    l->host->ints(l->op, "padding", padding, 6);
    l->host->ints(l->op, "stride", stride, num);
    l->host->ints(l->op, "dilation", dilation, num);
    for (size_t i = 0; i < num; i++) {
        int64_t extent = dilation[i] * (kernel[i] - 1) + 1;
        int64_t reach = (l->y.shape[i + 2] - 1) * stride[i] + extent - l->x.shape[i + 2];
        p->strides[i] = stride[i];
        p->dilations[i] = dilation[i] - 1;
        p->window[i] = kernel[i];
        p->pad_begin[i] = padding[i];
        p->pad_end[i] =
            reach - padding[i] > padding[num + i] ? reach - padding[i] : padding[num + i];
        if (p->pads_count && p->pad_end[i] > padding[num + i])
            return fail(l, "a window reaches over the padding that is counted");
    }
    return QGC_BACKEND_OK;
}

static int set_pool(const lowering *l, dnn_problem *p)
{
    int64_t kernel[3];
    size_t num = l->x.rank - 2;
    if (num < 1 || num > 3)
        return fail(l, "it has other than 1 to 3 spatial dimensions");
    if (l->host->ints(l->op, "kernel", kernel, num) == num)
        return set_window(l, p, kernel);
    for (size_t i = 0; i < num; i++) { /* a global pool */
        p->window[i] = l->x.shape[i + 2];
        p->strides[i] = 1;
    }
    return QGC_BACKEND_OK;
}

/* ---- ops ---- */

int lower_conv(void *state, const qgc_backend_host *host, qgc_backend_region *region,
               const qgc_backend_op *op)
{
    lowering l;
    dnn_problem p = {.kind = DNN_CONV};
    dnn_array bias;
    int64_t groups = 1;
    if (begin(&l, host, region, op))
        return QGC_BACKEND_FAILED;
    dnn_kernel *k = (dnn_kernel *)new_memory(&l, 1, sizeof *k);
    host->ints(op, "groups", &groups, 1);
    p.source = array_of(&l.x);
    p.weights = array_of(&l.w);
    p.result = array_of(&l.y);
    if (set_window(&l, &p, l.w.shape + 2))
        return QGC_BACKEND_FAILED;
    if (groups > 1) { /* [O, C/g, ...] is [g, O/g, C/g, ...] */
        memmove(p.weights.dims + 1, p.weights.dims, l.w.rank * sizeof *p.weights.dims);
        p.weights.rank++;
        p.weights.dims[0] = groups;
        p.weights.dims[1] /= groups;
        set_dense(&p.weights);
    }
    set_bias(&l, &p, &bias, 1);
    if (l.is_quantized)
        set_product(&l, &p, k, 1);
    return emit(&l, (onednn *)state, &p, k);
}

/* [M, K] by [K, N]: linear has its weights as [N, K]. */
static void set_matrices(const lowering *l, dnn_problem *p)
{
    int is_linear = strcmp(l->host->op_name(l->op), "linear") == 0;
    int64_t depth = l->x.shape[l->x.rank - 1], width = l->y.shape[l->y.rank - 1];
    p->source = (dnn_array){.rank = 2, .type = type_of(&l->x), .data = l->x.data};
    p->source.dims[0] = count(&l->x) / depth;
    p->source.dims[1] = depth;
    set_dense(&p->source);
    p->weights = (dnn_array){.rank = 2, .type = type_of(&l->w), .data = l->w.data};
    p->weights.dims[0] = depth;
    p->weights.dims[1] = width;
    set_dense(&p->weights);
    if (is_linear) {
        p->weights.strides[0] = 1;
        p->weights.strides[1] = depth;
    }
    p->result = (dnn_array){.rank = 2, .type = type_of(&l->y)};
    p->result.dims[0] = p->source.dims[0];
    p->result.dims[1] = width;
    set_dense(&p->result);
}

int lower_matmul(void *state, const qgc_backend_host *host, qgc_backend_region *region,
                 const qgc_backend_op *op)
{
    lowering l;
    dnn_problem p = {.kind = DNN_MATMUL};
    dnn_array bias;
    if (begin(&l, host, region, op))
        return QGC_BACKEND_FAILED;
    set_matrices(&l, &p);
    dnn_kernel *k = (dnn_kernel *)new_memory(&l, 1, sizeof *k);
    set_bias(&l, &p, &bias, p.source.rank);
    if (l.is_quantized)
        set_product(&l, &p, k, (int)l.y.rank - 1);
    return emit(&l, (onednn *)state, &p, k);
}

int lower_max_pool(void *state, const qgc_backend_host *host, qgc_backend_region *region,
                   const qgc_backend_op *op)
{
    lowering l;
    dnn_problem p = {.kind = DNN_MAX_POOL};
    if (begin(&l, host, region, op) || set_pool(&l, &p))
        return QGC_BACKEND_FAILED;
    dnn_kernel *k = (dnn_kernel *)new_memory(&l, 1, sizeof *k);
    p.source = array_of(&l.x);
    p.result = array_of(&l.y);
    return emit(&l, (onednn *)state, &p, k);
}

static void set_real(const lowering *l, const qgc_backend_tensor *x, float multiplier, dnn_real *r)
{
    r->num = count(x);
    r->values = (float *)new_memory(l, (size_t)r->num, sizeof *r->values);
    r->is_signed = x->dtype == QGC_BACKEND_I8;
    r->zero_point = x->zero_points[0];
    r->multiplier = multiplier;
}

static void set_real_sum(const lowering *l, dnn_kernel *k)
{
    k->sum = new_memory(l, (size_t)count(&l->y), sizeof(float));
    k->epilogue.is_float_sum = 1;
    k->epilogue.num_channels = k->epilogue.inner = 1;
    set_result(l, &k->epilogue);
}

/* Quantized: of the real values, in units of the input's step. */
int lower_avg_pool(void *state, const qgc_backend_host *host, qgc_backend_region *region,
                   const qgc_backend_op *op)
{
    lowering l;
    dnn_problem p = {.kind = DNN_AVG_POOL};
    int64_t pads = 0;
    if (begin(&l, host, region, op))
        return QGC_BACKEND_FAILED;
    host->ints(op, "count_include_pad", &pads, 1);
    p.pads_count = pads != 0;
    if (set_pool(&l, &p))
        return QGC_BACKEND_FAILED;
    dnn_kernel *k = (dnn_kernel *)new_memory(&l, 1, sizeof *k);
    p.source = array_of(&l.x);
    p.result = array_of(&l.y);
    p.source.type = p.result.type = dnnl_f32;
    if (l.is_quantized) {
        set_real(&l, &l.x, 1.0f, &k->real[0]);
        set_real_sum(&l, k);
        set_multipliers(&l, &k->epilogue);
    }
    return emit(&l, (onednn *)state, &p, k);
}

/* Quantized: oneDNN's binary primitive has no zero points, so of real numbers in steps of the
 * result. */
int lower_add(void *state, const qgc_backend_host *host, qgc_backend_region *region,
              const qgc_backend_op *op)
{
    lowering l;
    dnn_problem p = {.kind = DNN_ADD};
    if (begin(&l, host, region, op))
        return QGC_BACKEND_FAILED;
    dnn_kernel *k = (dnn_kernel *)new_memory(&l, 1, sizeof *k);
    p.source = array_of(&l.x);
    p.weights = array_of(&l.w);
    p.result = array_of(&l.y);
    if (l.is_quantized) {
        static const float one = 1.0f;
        p.source.type = p.weights.type = p.result.type = dnnl_f32;
        p.source.data = p.weights.data = NULL; /* constants are converted as they are read */
        set_real(&l, &l.x, l.x.scales[0] / l.y.scales[0], &k->real[0]);
        set_real(&l, &l.w, l.w.scales[0] / l.y.scales[0], &k->real[1]);
        set_real_sum(&l, k);
        k->epilogue.multipliers = &one;
    }
    return emit(&l, (onednn *)state, &p, k);
}

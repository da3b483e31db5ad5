/* Primitives, their memory, running them; for the APIs of oneDNN 2 and 3. */
#include "onednn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Version 2 has descriptors by value and operation descriptors, version 3 handles. */
#if DNNL_VERSION_MAJOR < 3
typedef dnnl_memory_desc_t layout;
typedef const dnnl_memory_desc_t *layout_ref;
#define REF(l) (&(l))
#else
typedef dnnl_memory_desc_t layout;
typedef const_dnnl_memory_desc_t layout_ref;
#define REF(l) (l)
#endif

int dnn_open(onednn *dnn)
{
    if (dnnl_engine_create(&dnn->engine, dnnl_cpu, 0) != dnnl_success)
        return 1;
    if (dnnl_stream_create(&dnn->stream, dnn->engine, dnnl_stream_default_flags) == dnnl_success)
        return 0;
    dnnl_engine_destroy(dnn->engine);
    return 1;
}

void dnn_close(onednn *dnn)
{
    dnnl_stream_destroy(dnn->stream);
    dnnl_engine_destroy(dnn->engine);
}

/* ---- layouts ---- */

static dnnl_status_t make_plain(const dnn_array *a, layout *out)
{
#if DNNL_VERSION_MAJOR < 3
    return dnnl_memory_desc_init_by_strides(out, a->rank, a->dims, a->type, a->strides);
#else
    return dnnl_memory_desc_create_with_strides(out, a->rank, a->dims, a->type, a->strides);
#endif
}

/* Channels last, or what the primitive likes best. */
static dnnl_status_t make_inner(const dnn_array *a, int any, layout *out)
{
    static const dnnl_format_tag_t last[] = {dnnl_a,   dnnl_a,    dnnl_ab,
                                             dnnl_acb, dnnl_acdb, dnnl_acdeb};
    dnnl_format_tag_t tag = any ? dnnl_format_tag_any : last[a->rank];
#if DNNL_VERSION_MAJOR < 3
    return dnnl_memory_desc_init_by_tag(out, a->rank, a->dims, a->type, tag);
#else
    return dnnl_memory_desc_create_with_tag(out, a->rank, a->dims, a->type, tag);
#endif
}

static void drop(layout *l)
{
#if DNNL_VERSION_MAJOR < 3
    (void)l;
#else
    if (*l)
        dnnl_memory_desc_destroy(*l);
#endif
}

static layout_ref query(dnnl_primitive_desc_t pd, dnnl_query_t what)
{
    return dnnl_primitive_desc_query_md(pd, what, 0);
}

/* ---- primitives ---- */

typedef struct layouts {
    layout source, weights, bias, result;
} layouts;

/* |any|: the primitive chooses. Pools and sums are given theirs. */
static dnnl_status_t make_layouts(const dnn_problem *p, layouts *l)
{
    int is_pool = p->kind == DNN_MAX_POOL || p->kind == DNN_AVG_POOL;
    int any = p->kind == DNN_CONV || p->kind == DNN_MATMUL;
    dnnl_status_t s = p->kind == DNN_ADD ? make_plain(&p->source, &l->source)
                                         : make_inner(&p->source, any, &l->source);
    if (s == dnnl_success)
        s = p->kind == DNN_ADD ? make_plain(&p->result, &l->result)
                               : make_inner(&p->result, any, &l->result);
    if (s == dnnl_success && !is_pool)
        s = any ? make_inner(&p->weights, 1, &l->weights) : make_plain(&p->weights, &l->weights);
    if (s == dnnl_success && p->bias)
        s = make_plain(p->bias, &l->bias);
    return s;
}

static void drop_layouts(layouts *l)
{
    drop(&l->source);
    drop(&l->weights);
    drop(&l->bias);
    drop(&l->result);
}

static dnnl_alg_kind_t pool_algorithm(const dnn_problem *p)
{
    if (p->kind == DNN_MAX_POOL)
        return dnnl_pooling_max;
    return p->pads_count ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding;
}

#if DNNL_VERSION_MAJOR < 3
static dnnl_status_t describe(onednn *dnn, const dnn_problem *p, const layouts *l,
                              dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out)
{
    union {
        dnnl_convolution_desc_t conv;
        dnnl_matmul_desc_t matmul;
        dnnl_pooling_v2_desc_t pool;
        dnnl_binary_desc_t binary;
    } d;
    const dnnl_memory_desc_t *bias = p->bias ? &l->bias : NULL;
    dnnl_status_t s;
    if (p->kind == DNN_CONV)
        s = dnnl_dilated_convolution_forward_desc_init(
            &d.conv, dnnl_forward_inference, dnnl_convolution_direct, &l->source, &l->weights, bias,
            &l->result, p->strides, p->dilations, p->pad_begin, p->pad_end);
    else if (p->kind == DNN_MATMUL)
        s = dnnl_matmul_desc_init(&d.matmul, &l->source, &l->weights, bias, &l->result);
    else if (p->kind == DNN_ADD)
        s = dnnl_binary_desc_init(&d.binary, dnnl_binary_add, &l->source, &l->weights, &l->result);
    else
        s = dnnl_pooling_v2_forward_desc_init(&d.pool, dnnl_forward_inference, pool_algorithm(p),
                                              &l->source, &l->result, p->strides, p->window,
                                              p->dilations, p->pad_begin, p->pad_end);
    return s == dnnl_success ? dnnl_primitive_desc_create(out, &d, attr, dnn->engine, NULL) : s;
}
#else
static dnnl_status_t describe(onednn *dnn, const dnn_problem *p, const layouts *l,
                              dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out)
{
    const_dnnl_memory_desc_t bias = p->bias ? l->bias : NULL;
    if (p->kind == DNN_CONV)
        return dnnl_convolution_forward_primitive_desc_create(
            out, dnn->engine, dnnl_forward_inference, dnnl_convolution_direct, l->source,
            l->weights, bias, l->result, p->strides, p->dilations, p->pad_begin, p->pad_end, attr);
    if (p->kind == DNN_MATMUL)
        return dnnl_matmul_primitive_desc_create(out, dnn->engine, l->source, l->weights, bias,
                                                 l->result, attr);
    if (p->kind == DNN_ADD)
        return dnnl_binary_primitive_desc_create(out, dnn->engine, dnnl_binary_add, l->source,
                                                 l->weights, l->result, attr);
    return dnnl_pooling_forward_primitive_desc_create(
        out, dnn->engine, dnnl_forward_inference, pool_algorithm(p), l->source, l->result,
        p->strides, p->window, p->dilations, p->pad_begin, p->pad_end, attr);
}
#endif

static dnnl_status_t make_attr(const dnn_problem *p, dnnl_primitive_attr_t *out)
{
    dnnl_status_t s = dnnl_primitive_attr_create(out);
    if (s != dnnl_success || !p->source_zero_point)
        return s;
#if DNNL_VERSION_MAJOR < 3
    return dnnl_primitive_attr_set_zero_points(*out, DNNL_ARG_SRC, 1, 0, &p->source_zero_point);
#else
    return dnnl_primitive_attr_set_zero_points_mask(*out, DNNL_ARG_SRC, 0);
#endif
}

/* ---- memory ---- */

static dnnl_status_t make_memory(onednn *dnn, layout_ref l, void *handle, dnnl_memory_t *out)
{
    return dnnl_memory_create(out, l, dnn->engine, handle);
}

static dnnl_status_t make_reorder(onednn *dnn, layout_ref from, layout_ref to,
                                  dnnl_primitive_t *out)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t s =
        dnnl_reorder_primitive_desc_create(&pd, from, dnn->engine, to, dnn->engine, NULL);
    if (s == dnnl_success)
        s = dnnl_primitive_create(out, pd);
    if (pd)
        dnnl_primitive_desc_destroy(pd);
    return s;
}

static dnnl_status_t reorder(onednn *dnn, dnnl_primitive_t primitive, dnnl_memory_t from,
                             dnnl_memory_t to)
{
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return dnnl_primitive_execute(primitive, dnn->stream, 2, args);
}

/* An argument whose layout is |inner| in the primitive. |input|: see dnn_argument. */
static dnnl_status_t add_argument(dnn_kernel *k, int arg, int input, const dnn_array *a,
                                  layout_ref inner)
{
    dnn_argument *out = &k->args[k->num_args++];
    layout plain;
    void *handle = a->data ? (void *)(uintptr_t)a->data : DNNL_MEMORY_NONE;
    *out = (dnn_argument){.arg = arg, .input = input};
    memset(&plain, 0, sizeof plain);
    dnnl_status_t s = make_plain(a, &plain);
    if (s == dnnl_success)
        s = make_memory(k->dnn, REF(plain), handle, &out->plain);
    if (s == dnnl_success && !dnnl_memory_desc_equal(REF(plain), inner)) {
        s = make_memory(k->dnn, inner, DNNL_MEMORY_ALLOCATE, &out->inner);
        if (s == dnnl_success)
            s = input == -2 ? make_reorder(k->dnn, inner, REF(plain), &out->reorder)
                            : make_reorder(k->dnn, REF(plain), inner, &out->reorder);
    }
    drop(&plain);
    if (s == dnnl_success && a->data && out->reorder) /* once and for all */
        s = reorder(k->dnn, out->reorder, out->plain, out->inner);
    return s;
}

static dnnl_status_t add_arguments(dnn_kernel *k, const dnn_problem *p, dnnl_primitive_desc_t pd)
{
    int is_add = p->kind == DNN_ADD;
    int second = is_add ? DNNL_ARG_SRC_1 : DNNL_ARG_WEIGHTS;
    dnnl_status_t s =
        add_argument(k, is_add ? DNNL_ARG_SRC_0 : DNNL_ARG_SRC, p->source.data ? -1 : 0, &p->source,
                     query(pd, dnnl_query_src_md));
    if (s == dnnl_success && p->kind != DNN_MAX_POOL && p->kind != DNN_AVG_POOL)
        s = add_argument(k, second, p->weights.data ? -1 : 1, &p->weights,
                         is_add ? dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 1)
                                : query(pd, dnnl_query_weights_md));
    if (s == dnnl_success && p->bias)
        s = add_argument(k, DNNL_ARG_BIAS, -1, p->bias,
                         dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1));
    if (s == dnnl_success)
        s = add_argument(k, DNNL_ARG_DST, -2, &p->result, query(pd, dnnl_query_dst_md));
    return s;
}

/* Version 3 wants the zero point while running. */
static dnnl_status_t add_zero_point(dnn_kernel *k, const dnn_problem *p)
{
#if DNNL_VERSION_MAJOR < 3
    (void)k;
    (void)p;
    return dnnl_success;
#else
    dnn_array a = {.rank = 1, .dims = {1}, .strides = {1}, .type = dnnl_s32};
    layout l = NULL;
    if (!p->source_zero_point)
        return dnnl_success;
    k->source_zero_point = p->source_zero_point;
    dnnl_status_t s = make_plain(&a, &l);
    if (s == dnnl_success)
        s = make_memory(k->dnn, l, &k->source_zero_point, &k->zero_point);
    drop(&l);
    return s;
#endif
}

int dnn_create(onednn *dnn, const dnn_problem *p, dnn_kernel *out)
{
    layouts l;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    memset(&l, 0, sizeof l);
    out->dnn = dnn;
    out->kind = p->kind;
    dnnl_status_t s = make_layouts(p, &l);
    if (s == dnnl_success)
        s = make_attr(p, &attr);
    if (s == dnnl_success)
        s = describe(dnn, p, &l, attr, &pd);
    if (s == dnnl_success)
        s = dnnl_primitive_create(&out->primitive, pd);
    if (s == dnnl_success)
        s = add_arguments(out, p, pd);
    if (s == dnnl_success)
        s = add_zero_point(out, p);
    if (pd)
        dnnl_primitive_desc_destroy(pd);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    drop_layouts(&l);
    if (s != dnnl_success)
        dnn_release(out);
    return (int)s;
}

void dnn_release(void *kernel)
{
    dnn_kernel *k = (dnn_kernel *)kernel;
    for (int i = 0; i < k->num_args; i++) {
        if (k->args[i].reorder)
            dnnl_primitive_destroy(k->args[i].reorder);
        if (k->args[i].inner)
            dnnl_memory_destroy(k->args[i].inner);
        if (k->args[i].plain)
            dnnl_memory_destroy(k->args[i].plain);
    }
    if (k->zero_point)
        dnnl_memory_destroy(k->zero_point);
    if (k->primitive)
        dnnl_primitive_destroy(k->primitive);
    k->num_args = 0;
    k->zero_point = NULL;
    k->primitive = NULL;
}

/* ---- running ---- */

static int32_t load(const void *data, int64_t i, int is_signed)
{
    return is_signed ? ((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
}

static float value_at(const dnn_epilogue *e, const void *sum, const void *addend, int64_t i)
{
    int64_t c = e->num_channels > 1 ? i / e->inner % e->num_channels : 0;
    float v = e->is_float_sum ? ((const float *)sum)[i] : (float)((const int32_t *)sum)[i];
    v *= e->multipliers[c];
    if (e->has_add)
        v += (float)(load(addend, i, e->add_is_signed) - e->add_zero_point) * e->add_multiplier;
    return e->bias ? v + e->bias[c] : v;
}

static void finish(const dnn_epilogue *e, const void *sum, const void *addend, void *y)
{
    float lo = (float)(e->lo - e->zero_point), hi = (float)(e->hi - e->zero_point);
    for (int64_t i = 0; i < e->num; i++) {
        float v = value_at(e, sum, addend, i);
        if (e->is_float_result) {
            ((float *)y)[i] = v;
            continue;
        }
        v = rintf(v);
        v = v < lo ? lo : v > hi ? hi : v;
        ((uint8_t *)y)[i] = (uint8_t)((int32_t)v + e->zero_point);
    }
}

static void make_real(const dnn_real *r, const void *input)
{
    for (int64_t i = 0; i < r->num; i++)
        r->values[i] = (float)(load(input, i, r->is_signed) - r->zero_point) * r->multiplier;
}

/* The caller's data for an argument. */
static void *data_for(const dnn_kernel *k, const dnn_argument *a, const void *const *inputs,
                      void *const *outputs)
{
    if (a->input == -2)
        return k->sum ? k->sum : outputs[0];
    const dnn_real *real = &k->real[a->input];
    return real->values ? (void *)real->values : (void *)(uintptr_t)inputs[a->input];
}

static dnnl_status_t execute(const dnn_kernel *k)
{
    dnnl_exec_arg_t args[DNN_MAX_ARGS + 1];
    int num = 0;
    for (int i = 0; i < k->num_args; i++) {
        const dnn_argument *a = &k->args[i];
        args[num++] = (dnnl_exec_arg_t){a->arg, a->reorder ? a->inner : a->plain};
    }
    if (k->zero_point)
        args[num++] = (dnnl_exec_arg_t){DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, k->zero_point};
    return dnnl_primitive_execute(k->primitive, k->dnn->stream, num, args);
}

int dnn_run(void *kernel, const void *const *inputs, void *const *outputs, int64_t begin,
            int64_t end)
{
    dnn_kernel *k = (dnn_kernel *)kernel;
    dnnl_status_t s = dnnl_success;
    (void)begin;
    (void)end; /* one unit: oneDNN has threads of its own */
    for (int i = 0; i < 2; i++)
        if (k->real[i].values)
            make_real(&k->real[i], inputs[i]);
    for (int i = 0; i < k->num_args && s == dnnl_success; i++) {
        dnn_argument *a = &k->args[i];
        if (a->input == -1)
            continue;
        s = dnnl_memory_set_data_handle(a->plain, data_for(k, a, inputs, outputs));
        if (s == dnnl_success && a->reorder && a->input >= 0)
            s = reorder(k->dnn, a->reorder, a->plain, a->inner);
    }
    if (s == dnnl_success)
        s = execute(k);
    dnn_argument *result = &k->args[k->num_args - 1];
    if (s == dnnl_success && result->reorder)
        s = reorder(k->dnn, result->reorder, result->inner, result->plain);
    if (s == dnnl_success)
        s = dnnl_stream_wait(k->dnn->stream);
    if (s == dnnl_success && k->epilogue.is_used)
        finish(&k->epilogue, k->sum, k->epilogue.has_add ? inputs[2] : NULL, outputs[0]);
    return s == dnnl_success ? QGC_BACKEND_OK : QGC_BACKEND_FAILED;
}

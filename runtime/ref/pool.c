/* Pools. A pool lists the elements of each window, in row-major order, and folds the list. */
#include "runtime/math.h"
#include "runtime/ref/int.h"
#include "runtime/ref/ref.h"
#include "runtime/ref/window.h"

#include <math.h>
#include <string.h>

/* Where the windows of one dimension lie. */
typedef enum pool_kind {
    POOL_WINDOW,   /* by kernel, stride, padding, dilation */
    POOL_GLOBAL,   /* all positions */
    POOL_ADAPTIVE, /* [floor(o * size / out), ceil((o + 1) * size / out)) */
} pool_kind;

/* Positions begin, begin + step, ... of one dimension; |padded|: how many the window has inside the
 * padded input. */
typedef struct range {
    int64_t begin, step, num, padded;
} range;

typedef struct window {
    size_t num;      /* elements of x in it */
    size_t *indices; /* of x, flat */
    double padded;   /* positions in the padded input */
    size_t to;       /* element of y */
} window;

typedef struct pool {
    qgc_ref_call *call;
    pool_kind kind;
    qgc_window_dim dims[QGC_MAX_SPATIAL];
    float power; /* lp */
} pool;

typedef void pool_fold(const pool *p, const window *w);

static range window_range(const qgc_window_dim *dim, int64_t o)
{
    int64_t first, last, start = o * dim->stride - dim->begin;
    qgc_window_taps(dim, o, &first, &last);
    int64_t room = dim->size + dim->end - start;
    int64_t padded = (room + dim->dilation - 1) / dim->dilation;
    return (range){start + first * dim->dilation, dim->dilation, last - first,
                   padded < dim->kernel ? padded : dim->kernel};
}

static range get_range(const pool *p, uint32_t axis, int64_t o)
{
    const qgc_window_dim *dim = &p->dims[axis];
    if (p->kind == POOL_WINDOW)
        return window_range(dim, o);
    if (p->kind == POOL_GLOBAL)
        return (range){0, 1, dim->size, dim->size};
    int64_t begin = o * dim->size / dim->out;
    int64_t end = ((o + 1) * dim->size + dim->out - 1) / dim->out;
    return (range){begin, 1, end - begin, end - begin};
}

static void list_window(const pool *p, size_t plane, const range *r, window *w)
{
    const qgc_window_dim *dims = p->dims;
    w->num = 0;
    w->padded = (double)r[0].padded * (double)r[1].padded * (double)r[2].padded;
    for (int64_t i = 0; i < r[0].num; i++)
        for (int64_t j = 0; j < r[1].num; j++)
            for (int64_t k = 0; k < r[2].num; k++) {
                int64_t z = r[0].begin + i * r[0].step, y = r[1].begin + j * r[1].step;
                int64_t x = r[2].begin + k * r[2].step;
                w->indices[w->num++] = plane + (size_t)((z * dims[1].size + y) * dims[2].size + x);
            }
}

static void run_plane(const pool *p, size_t plane, pool_fold *fold, window *w)
{
    range r[QGC_MAX_SPATIAL];
    for (int64_t z = 0; z < p->dims[0].out; z++) {
        r[0] = get_range(p, 0, z);
        for (int64_t y = 0; y < p->dims[1].out; y++) {
            r[1] = get_range(p, 1, y);
            for (int64_t x = 0; x < p->dims[2].out; x++) {
                r[2] = get_range(p, 2, x);
                list_window(p, plane, r, w);
                fold(p, w);
                w->to++;
            }
        }
    }
}

/* More than three spatial dimensions (of global pools only) count as one. */
static void read_dims(pool *p)
{
    const qgc_tensor *x = p->call->operands[0], *y = &p->call->results[0];
    uint32_t spatial = x->rank - 2;
    int64_t kernel[QGC_MAX_SPATIAL] = {0};
    if (p->kind == POOL_WINDOW) {
        for (uint32_t i = 0; i < spatial; i++)
            kernel[i] = qgc_node_int_at(p->call->node, "kernel", i);
        qgc_window_sizes sizes = {x->shape + 2, kernel, y->shape + 2};
        qgc_window_read(p->call->node, spatial, &sizes, false, p->dims);
        return;
    }
    for (uint32_t i = 0; i < QGC_MAX_SPATIAL; i++)
        p->dims[i] = (qgc_window_dim){.size = 1, .out = 1};
    for (uint32_t i = 0; i < spatial; i++) {
        bool own = p->kind == POOL_ADAPTIVE;
        qgc_window_dim *dim = &p->dims[own ? QGC_MAX_SPATIAL - spatial + i : 2];
        dim->size *= x->shape[2 + i];
        dim->out *= y->shape[2 + i];
    }
}

static qgc_result run_pool(qgc_ref_call *call, pool_kind kind, float power, pool_fold *fold)
{
    pool p = {.call = call, .kind = kind, .power = power};
    const qgc_tensor *y = &call->results[0];
    if (!qgc_tensor_count(y))
        return QGC_OK;
    read_dims(&p);
    size_t positions = (size_t)(p.dims[0].size * p.dims[1].size * p.dims[2].size);
    size_t planes = (size_t)(y->shape[0] * y->shape[1]);
    window w = {.indices = QGC_NEW_ARRAY(call->scratch, size_t, positions)};
    for (size_t i = 0; i < planes; i++)
        run_plane(&p, i * positions, fold, &w);
    return QGC_OK;
}

/* ---- max ---- */

/* Whether element |b| replaces |a|: it is larger, or the first NaN. */
static bool takes_over(const qgc_tensor *t, size_t a, size_t b)
{
    qgc_dtype_kind kind = qgc_dtype_get_kind(t->dtype);
    if (kind == QGC_FLOAT) {
        double x = qgc_get_f64(t, a), y = qgc_get_f64(t, b);
        return !isnan(x) && (isnan(y) || x < y);
    }
    int64_t x = qgc_get_int(t, a), y = qgc_get_int(t, b);
    return kind == QGC_UNSIGNED ? (uint64_t)x < (uint64_t)y : x < y;
}

static void set_lowest(qgc_tensor *t, size_t index)
{
    qgc_dtype_kind kind = qgc_dtype_get_kind(t->dtype);
    if (t->dtype == QGC_DTYPE_F64)
        qgc_set_f64(t, index, -INFINITY);
    else if (kind == QGC_FLOAT)
        qgc_set_f32(t, index, -INFINITY);
    else if (kind == QGC_SIGNED)
        qgc_set_int(t, index, INT64_MIN >> (64 - 8 * qgc_dtype_bytes(t->dtype)));
    else
        qgc_set_int(t, index, 0);
}

/* The element of x that a window gives; false where it has none. */
static bool find_max(const pool *p, const window *w, size_t *out)
{
    for (size_t i = 0; i < w->num; i++)
        if (i == 0 || takes_over(p->call->operands[0], *out, w->indices[i]))
            *out = w->indices[i];
    return w->num > 0;
}

static void fold_max(const pool *p, const window *w)
{
    size_t best = 0, bytes = qgc_dtype_bytes(p->call->operands[0]->dtype);
    qgc_tensor *y = &p->call->results[0];
    if (find_max(p, w, &best))
        memcpy((char *)y->data + w->to * bytes,
               (const char *)p->call->operands[0]->data + best * bytes, bytes);
    else
        set_lowest(y, w->to);
}

static int64_t column_major(const pool *p, size_t index)
{
    int64_t planes = p->dims[0].size, rows = p->dims[1].size, columns = p->dims[2].size;
    int64_t position = (int64_t)index % (planes * rows * columns), x = position % columns;
    int64_t y = position / columns % rows, z = position / columns / rows;
    return (int64_t)index - position + (x * rows + y) * planes + z;
}

static void fold_max_index(const pool *p, const window *w)
{
    size_t best = 0;
    fold_max(p, w);
    int64_t index = find_max(p, w, &best) ? (int64_t)best : -1;
    if (index >= 0 && qgc_node_word(p->call->node, "storage_order") == 1)
        index = column_major(p, best);
    ((int64_t *)p->call->results[1].data)[w->to] = index;
}

/* ---- avg ---- */

static void divide_sum(const pool *p, const window *w, double count)
{
    const qgc_tensor *x = p->call->operands[0];
    qgc_tensor *y = &p->call->results[0];
    float sum = 0;
    double wide_sum = 0;
    bool wide = x->dtype == QGC_DTYPE_F64;
    for (size_t i = 0; i < w->num; i++)
        if (wide)
            wide_sum += qgc_get_f64(x, w->indices[i]);
        else
            sum += qgc_get_f32(x, w->indices[i]);
    if (wide)
        qgc_set_f64(y, w->to, w->num ? wide_sum / count : 0);
    else
        qgc_set_f32(y, w->to, w->num ? sum / (float)count : 0);
}

static void fold_avg(const pool *p, const window *w)
{
    divide_sum(p, w, (double)w->num);
}

static void fold_avg_padded(const pool *p, const window *w)
{
    divide_sum(p, w, w->padded);
}

/* ---- lp ---- */

static float raise_f32(float v, float power)
{
    return power == 1 ? fabsf(v) : power == 2 ? v * v : qgc_f32_pow(fabsf(v), power);
}

static float root_f32(float v, float power)
{
    return power == 1 ? v : power == 2 ? sqrtf(v) : qgc_f32_pow(v, 1 / power);
}

static double raise_f64(double v, double power)
{
    return power == 1 ? fabs(v) : power == 2 ? v * v : pow(fabs(v), power);
}

static double root_f64(double v, double power)
{
    return power == 1 ? v : power == 2 ? sqrt(v) : pow(v, 1 / power);
}

static void fold_lp(const pool *p, const window *w)
{
    const qgc_tensor *x = p->call->operands[0];
    float sum = 0;
    double wide_sum = 0;
    bool wide = x->dtype == QGC_DTYPE_F64;
    for (size_t i = 0; i < w->num; i++)
        if (wide)
            wide_sum += raise_f64(qgc_get_f64(x, w->indices[i]), p->power);
        else
            sum += raise_f32(qgc_get_f32(x, w->indices[i]), p->power);
    if (wide)
        qgc_set_f64(&p->call->results[0], w->to, root_f64(wide_sum, p->power));
    else
        qgc_set_f32(&p->call->results[0], w->to, root_f32(sum, p->power));
}

/* ---- the ops ---- */

qgc_result ref_max_pool(qgc_ref_call *call)
{
    return run_pool(call, POOL_WINDOW, 0, fold_max);
}

qgc_result ref_max_pool_with_indices(qgc_ref_call *call)
{
    return run_pool(call, POOL_WINDOW, 0, fold_max_index);
}

qgc_result ref_avg_pool(qgc_ref_call *call)
{
    bool include = qgc_node_flag(call->node, "count_include_pad");
    return run_pool(call, POOL_WINDOW, 0, include ? fold_avg_padded : fold_avg);
}

qgc_result ref_lp_pool(qgc_ref_call *call)
{
    return run_pool(call, POOL_WINDOW, qgc_node_float(call->node, "p"), fold_lp);
}

qgc_result ref_global_avg_pool(qgc_ref_call *call)
{
    return run_pool(call, POOL_GLOBAL, 0, fold_avg);
}

qgc_result ref_global_max_pool(qgc_ref_call *call)
{
    return run_pool(call, POOL_GLOBAL, 0, fold_max);
}

qgc_result ref_global_lp_pool(qgc_ref_call *call)
{
    return run_pool(call, POOL_GLOBAL, qgc_node_float(call->node, "p"), fold_lp);
}

qgc_result ref_adaptive_avg_pool(qgc_ref_call *call)
{
    return run_pool(call, POOL_ADAPTIVE, 0, fold_avg);
}

qgc_result ref_adaptive_max_pool(qgc_ref_call *call)
{
    return run_pool(call, POOL_ADAPTIVE, 0, fold_max);
}

/* ---- sums of integers ---- */

static void fold_int_sum(const pool *p, const window *w)
{
    const qgc_tensor *x = p->call->operands[0];
    int64_t zero_point = qgc_int_zero_point(p->call, "x_zero_point", 1, 0);
    int64_t sum = 0; /* far from overflow: at most 2^17 each */
    for (size_t i = 0; i < w->num; i++)
        sum += qgc_get_int(x, w->indices[i]) - zero_point;
    qgc_set_int(&p->call->results[0], w->to, sum);
}

qgc_result ref_int_sum_pool(qgc_ref_call *call)
{
    return run_pool(call, POOL_WINDOW, 0, fold_int_sum);
}

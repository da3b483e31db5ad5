/* resize: along each axis an output position is a point of the input, and that a weighted sum of
 * up to four elements. Coordinates and weights are f32, each step rounded, for every element type.
 */
#include "runtime/ref/resize.h"

#include "runtime/ref/move.h"

#include <math.h>
#include <string.h>

typedef enum mode { NEAREST, LINEAR, CUBIC } mode;
typedef enum coordinates {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    ALIGN_CORNERS,
    ASYMMETRIC,
    TF_CROP_AND_RESIZE,
    TF_HALF_PIXEL_FOR_NN,
} coordinates;
typedef enum nearest { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL } nearest;

typedef qgc_resize_taps taps;
enum { MAX_TAPS = QGC_RESIZE_MAX_TAPS };

typedef struct axis_info {
    int64_t in, out;
    float scale, roi_start, roi_end;
    bool is_kept; /* not resized: positions are the input's */
} axis_info;

typedef struct job {
    const qgc_tensor *x;
    const float *f32; /* x as f32, unless it is f64 */
    mode mode;
    coordinates coordinates;
    nearest nearest;
    float cubic_a;
    bool excludes_outside;
    taps *taps[QGC_MAX_RANK]; /* per axis and output position */
    int64_t strides[QGC_MAX_RANK];
} job;

static float coordinate(coordinates how, const axis_info *a, int64_t position)
{
    float at = (float)position, in = (float)a->in, out = (float)a->out;
    switch (how) {
    case PYTORCH_HALF_PIXEL:
        return a->out > 1 ? (at + 0.5F) / a->scale - 0.5F : 0;
    case HALF_PIXEL_SYMMETRIC: {
        float adjustment = out / (a->scale * in), center = in / 2;
        return center * (1 - adjustment) + (at + 0.5F) / a->scale - 0.5F;
    }
    case ALIGN_CORNERS:
        return a->out == 1 ? 0 : at * (in - 1) / (out - 1);
    case ASYMMETRIC:
        return at / a->scale;
    case TF_HALF_PIXEL_FOR_NN:
        return (at + 0.5F) / a->scale;
    case TF_CROP_AND_RESIZE:
        if (a->out <= 1)
            return 0.5F * (a->roi_start + a->roi_end) * (in - 1);
        return a->roi_start * (in - 1) + at * (a->roi_end - a->roi_start) * (in - 1) / (out - 1);
    default:
        return (at + 0.5F) / a->scale - 0.5F;
    }
}

/* |at| as an index in [0, size). NaN: 0. */
static int64_t clamp(float at, int64_t size)
{
    return at >= (float)(size - 1) ? size - 1 : at > 0 ? (int64_t)at : 0;
}

static float round_nearest(nearest how, float at)
{
    switch (how) {
    case PREFER_FLOOR:
        return ceilf(at - 0.5F);
    case PREFER_CEIL:
        return floorf(at + 0.5F);
    case FLOOR:
        return floorf(at);
    default:
        return ceilf(at);
    }
}

static void linear_taps(const axis_info *a, float at, taps *t)
{
    float inside = at > 0 ? at : 0;
    int64_t first = clamp(inside, a->in);
    float rest = inside - (float)first;
    bool is_last = first == a->in - 1;
    *t = (taps){.num = is_last ? 1 : 2,
                .position = {first, is_last ? 0 : first + 1},
                .weight = {is_last ? 1 : 1 - rest, rest}};
}

/* Keys' kernel with parameter A at distances 1 + r, r, 1 - r, 2 - r. */
static void cubic_weights(float A, float r, float *w)
{
    float s = 1 - r;
    w[0] = ((A * (r + 1) - 5 * A) * (r + 1) + 8 * A) * (r + 1) - 4 * A;
    w[1] = ((A + 2) * r - (A + 3)) * r * r + 1;
    w[2] = ((A + 2) * s - (A + 3)) * s * s + 1;
    w[3] = ((A * (s + 1) - 5 * A) * (s + 1) + 8 * A) * (s + 1) - 4 * A;
}

static void cubic_taps(const job *j, const axis_info *a, float at, taps *t)
{
    float first = floorf(at), sum = 0;
    t->num = MAX_TAPS;
    cubic_weights(j->cubic_a, at - first, t->weight);
    for (uint32_t i = 0; i < MAX_TAPS; i++) {
        float tap = first + (float)i - 1;
        t->position[i] = clamp(tap, a->in);
        if (j->excludes_outside && (tap < 0 || tap >= (float)a->in))
            t->weight[i] = 0;
        sum += t->weight[i];
    }
    for (uint32_t i = 0; i < MAX_TAPS && j->excludes_outside; i++)
        t->weight[i] /= sum;
}

static void find_taps(const job *j, const axis_info *a, int64_t position, taps *t)
{
    *t = (taps){.num = 1, .position = {position}, .weight = {1}};
    if (!a->is_kept) {
        float at = coordinate(j->coordinates, a, position);
        bool crops = j->coordinates == TF_CROP_AND_RESIZE;
        if (j->mode == NEAREST)
            t->position[0] = clamp(round_nearest(j->nearest, at), a->in);
        else if (j->mode == LINEAR)
            linear_taps(a, at, t);
        else
            cubic_taps(j, a, at, t);
        t->is_outside = crops && !(at >= 0 && at <= (float)(a->in - 1));
    }
}

/* The weighted sum over axes d, d + 1, ...; taps of weight 0 do not count. */
static float sample_f32(const job *j, const taps *const *at, uint32_t d, int64_t base)
{
    if (d == j->x->rank)
        return j->f32[base];
    const taps *t = at[d];
    if (t->num == 1)
        return sample_f32(j, at, d + 1, base + t->position[0] * j->strides[d]);
    float sum = 0;
    for (uint32_t i = 0; i < t->num; i++)
        if (t->weight[i] != 0)
            sum += t->weight[i] * sample_f32(j, at, d + 1, base + t->position[i] * j->strides[d]);
    return sum;
}

static double sample_f64(const job *j, const taps *const *at, uint32_t d, int64_t base)
{
    if (d == j->x->rank)
        return qgc_get_f64(j->x, (size_t)base);
    const taps *t = at[d];
    if (t->num == 1)
        return sample_f64(j, at, d + 1, base + t->position[0] * j->strides[d]);
    double sum = 0;
    for (uint32_t i = 0; i < t->num; i++)
        if (t->weight[i] != 0)
            sum += (double)t->weight[i] *
                   sample_f64(j, at, d + 1, base + t->position[i] * j->strides[d]);
    return sum;
}

static void set_number(qgc_tensor *y, size_t i, float value)
{
    if (y->dtype == QGC_DTYPE_F64)
        qgc_set_f64(y, i, (double)value);
    else if (qgc_dtype_get_kind(y->dtype) == QGC_FLOAT)
        qgc_set_f32(y, i, value);
    else
        qgc_set_int(y, i, isnan(value) ? 0 : (int64_t)value);
}

static void write_element(const job *j, const taps *const *at, bool is_outside, float extrapolated,
                          qgc_tensor *y, size_t i)
{
    int64_t from = 0;
    if (is_outside) {
        set_number(y, i, extrapolated);
    } else if (j->mode == NEAREST) {
        for (uint32_t d = 0; d < y->rank; d++)
            from += at[d]->position[0] * j->strides[d];
        qgc_ref_copy_element(y, i, j->x, (size_t)from);
    } else if (j->f32) {
        qgc_set_f32(y, i, sample_f32(j, at, 0, 0));
    } else {
        qgc_set_f64(y, i, sample_f64(j, at, 0, 0));
    }
}

/* ---- the parameters ---- */

static float float_at(qgc_ref_call *call, const char *name, uint32_t operand, uint32_t i)
{
    if (qgc_node_has(call->node, name))
        return qgc_node_float_at(call->node, name, i);
    return qgc_get_f32(call->operands[operand], i);
}

static void read_axes(qgc_ref_call *call, axis_info *axes)
{
    const qgc_tensor *x = call->operands[0], *y = &call->results[0];
    uint32_t num;
    const int64_t *list = qgc_ref_list(call, "axes", UINT32_MAX, &num);
    bool has_scales = qgc_node_has(call->node, "scales") || call->operands[2];
    bool crops = qgc_node_word(call->node, "coordinates") == TF_CROP_AND_RESIZE;
    num = list ? num : x->rank;
    for (uint32_t d = 0; d < x->rank; d++)
        axes[d] = (axis_info){.in = x->shape[d], .out = y->shape[d], .scale = 1, .is_kept = true};
    for (uint32_t i = 0; i < num; i++) {
        axis_info *a = &axes[qgc_ref_axis_at(list, i, x->rank)];
        a->scale = has_scales ? float_at(call, "scales", 2, i) : (float)a->out / (float)a->in;
        a->is_kept = a->scale == 1 && !crops;
        if (!crops)
            continue;
        a->roi_start = float_at(call, "roi", 1, i);
        a->roi_end = float_at(call, "roi", 1, num + i);
    }
}

static void load(qgc_ref_call *call, job *j)
{
    size_t num = qgc_tensor_count(j->x);
    if (j->mode == NEAREST || j->x->dtype == QGC_DTYPE_F64)
        return;
    j->f32 = j->x->data;
    if (j->x->dtype == QGC_DTYPE_F32)
        return;
    float *converted = QGC_NEW_ARRAY(call->scratch, float, num);
    for (size_t i = 0; i < num; i++)
        converted[i] = qgc_get_f32(j->x, i);
    j->f32 = converted;
}

/* Everything but the elements. */
static void read_job(qgc_ref_call *call, job *out)
{
    const qgc_node *node = call->node;
    const qgc_tensor *y = &call->results[0];
    axis_info axes[QGC_MAX_RANK];
    *out = (job){.x = call->operands[0],
                 .mode = (mode)qgc_node_word(node, "mode"),
                 .coordinates = (coordinates)qgc_node_word(node, "coordinates"),
                 .nearest = (nearest)qgc_node_word(node, "nearest"),
                 .cubic_a = qgc_node_float(node, "cubic_coeff_a"),
                 .excludes_outside = qgc_node_flag(node, "exclude_outside")};
    read_axes(call, axes);
    qgc_strides(out->x, out->strides);
    for (uint32_t d = 0; d < y->rank; d++) {
        out->taps[d] = QGC_NEW_ARRAY(call->scratch, taps, (size_t)y->shape[d]);
        for (int64_t o = 0; o < y->shape[d]; o++)
            find_taps(out, &axes[d], o, &out->taps[d][o]);
    }
}

qgc_result ref_resize(qgc_ref_call *call)
{
    qgc_tensor *y = &call->results[0];
    float extrapolated = qgc_node_float(call->node, "extrapolation_value");
    const taps *at[QGC_MAX_RANK];
    int64_t index[QGC_MAX_RANK] = {0};
    size_t num = qgc_tensor_count(y);
    job j;
    read_job(call, &j);
    load(call, &j);
    for (size_t i = 0; i < num; i++) {
        bool is_outside = false;
        for (uint32_t d = 0; d < y->rank; d++) {
            at[d] = &j.taps[d][index[d]];
            is_outside |= at[d]->is_outside;
        }
        write_element(&j, at, is_outside, extrapolated, y, i);
        qgc_next_index(y->rank, y->shape, index);
    }
    return QGC_OK;
}

/* ---- for plans ---- */

static qgc_tensor shape_of(const qgc_type *type)
{
    qgc_tensor t = {.dtype = type->dtype, .rank = type->rank};
    for (uint32_t i = 0; i < type->rank; i++)
        t.shape[i] = type->dims[i].value;
    return t;
}

const char *qgc_resize_of_node(const qgc_node *node, qgc_arena *arena,
                               const qgc_resize_taps **out_taps)
{
    qgc_tensor x = shape_of(node->operands[0].value->type), y = shape_of(node->results[0].type);
    const qgc_tensor *operands[QGC_MAX_OPERANDS] = {&x};
    for (uint32_t i = 1; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        operands[i] = value && value->def ? value->def->constant : NULL;
        bool is_needed = i < 3; /* sizes are the result's shape */
        if (value && !operands[i] && is_needed)
            return i == 1 ? "roi is not constant" : "scales are not constant";
    }
    qgc_ref_call call = {.node = node,
                         .num_operands = node->num_operands,
                         .num_results = 1,
                         .operands = operands,
                         .results = &y,
                         .scratch = arena};
    job j;
    read_job(&call, &j);
    for (uint32_t d = 0; d < y.rank; d++)
        out_taps[d] = j.taps[d];
    return NULL;
}

bool qgc_resize_inside(const qgc_resize_taps *taps, int64_t out, int64_t *first, int64_t *size)
{
    int64_t num = 0;
    *first = *size = 0;
    while (*first < out && taps[*first].is_outside)
        ++*first;
    while (*first + *size < out && !taps[*first + *size].is_outside)
        ++*size;
    for (int64_t o = 0; o < out; o++)
        num += !taps[o].is_outside;
    return num == *size;
}

uint64_t qgc_resize_fill(const qgc_node *node)
{
    uint64_t element = 0;
    qgc_tensor one = {.dtype = node->results[0].type->dtype, .data = &element};
    set_number(&one, 0, qgc_node_float(node, "extrapolation_value"));
    return element;
}

/* Converters: Fourier transforms as products with a constant matrix, mel filter banks as constants.
 */
#include "frontend/onnx/import.h"

#include <math.h>
#include <string.h>

/* Room for a matrix of 0, of what a model may have for tables that are not in its file. */
static double *new_table(onnx_import *im, int64_t rows, int64_t columns)
{
    if (rows > im->table_budget || columns > im->table_budget / rows) {
        onnx_refuse(im, "a table of %lld by %lld numbers", (long long)rows, (long long)columns);
        return NULL;
    }
    im->table_budget -= rows * columns;
    return QGC_NEW_ARRAY(im->arena, double, (size_t)(rows * columns));
}

/* cos(2 pi turns / whole); the C library's, rounded to the signal's type later; exact at quarters.
 */
static double cosine(int64_t turns, int64_t whole)
{
    static const double quarters[] = {1, 0, -1, 0};
    turns %= whole;
    if (turns * 4 % whole == 0)
        return quarters[turns * 4 / whole];
    return cos(2 * 3.14159265358979323846 * (double)turns / (double)whole);
}

static double sine(int64_t turns, int64_t whole)
{
    /* sin(a) = cos(a - a quarter turn), in units of a quarter of 1 / whole */
    return cosine(turns * 4 + whole * 3, whole * 4);
}

static qgc_value *constant(onnx_import *im, double *data, const int64_t *shape, uint32_t rank,
                           qgc_dtype dtype)
{
    if (!data)
        return NULL;
    qgc_tensor *tensor = QGC_NEW(im->arena, qgc_tensor);
    *tensor = (qgc_tensor){.dtype = QGC_DTYPE_F64, .rank = rank, .data = data};
    tensor->bytes = sizeof(double);
    for (uint32_t i = 0; i < rank; i++) {
        tensor->shape[i] = shape[i];
        tensor->bytes *= (size_t)shape[i];
    }
    return onnx_cast(im, onnx_const(im, tensor, NULL), dtype);
}

static bool is_signal(onnx_import *im, const qgc_value *x)
{
    if (!x)
        return false;
    if (x->type->dtype == QGC_DTYPE_F32 || x->type->dtype == QGC_DTYPE_F64)
        return true;
    onnx_refuse(im, "a signal of %s", qgc_dtype_name(x->type->dtype));
    return false;
}

/* The one integer of an input; refused where it is not constant. */
static bool known_int(onnx_import *im, uint32_t input, const char *name, int64_t *out)
{
    uint32_t num;
    const int64_t *ints;
    qgc_value *value = onnx_need(im, input);
    if (!value)
        return false;
    if (!onnx_ints_of(im, value, &num, &ints) || num != 1) {
        onnx_refuse_open(im, value, name);
        return false;
    }
    *out = ints[0];
    return true;
}

/* ---- DFT ---- */

typedef struct dft {
    int64_t axis, length, bins;
    int64_t taken; /* elements of the axis that count; the rest up to length is 0 */
    int64_t parts; /* 1: real, 2: complex */
    bool inverse;
} dft;

static bool read_axis(onnx_import *im, uint32_t rank, int64_t *axis)
{
    *axis = im->version < 20 ? onnx_int(im, "axis", 1) : -2;
    if (im->version >= 20 && onnx_in(im, 2) && !known_int(im, 2, "axis", axis))
        return false;
    *axis += *axis < 0 ? rank : 0;
    if (*axis >= 0 && *axis < (int64_t)rank - 1)
        return true;
    onnx_refuse(im, "axis is outside of the signal's dimensions");
    return false;
}

static bool read_dft(onnx_import *im, const qgc_type *type, dft *d)
{
    uint32_t rank = type->rank;
    if (rank < 2 || !read_axis(im, rank, &d->axis))
        return false;
    qgc_dim size = type->dims[d->axis], parts = type->dims[rank - 1];
    if (!qgc_dim_is_number(size) || !qgc_dim_is_number(parts)) {
        onnx_refuse(im, "the transformed dimension is not a number (--set)");
        return false;
    }
    d->length = size.value;
    d->parts = parts.value;
    if (onnx_in(im, 1) && !known_int(im, 1, "dft_length", &d->length))
        return false;
    bool onesided = onnx_int(im, "onesided", 0) != 0;
    d->inverse = onnx_int(im, "inverse", 0) != 0;
    d->taken = size.value < d->length ? size.value : d->length;
    d->bins = onesided ? d->length / 2 + 1 : d->length;
    if ((d->parts == 1 || (d->parts == 2 && !onesided)) && !(onesided && d->inverse) &&
        d->taken > 0 && d->length <= INT32_MAX)
        return true;
    onnx_refuse(im, "a signal of %lld parts and length %lld%s%s", (long long)d->parts,
                (long long)d->length, onesided ? ", onesided" : "", d->inverse ? ", inverse" : "");
    return false;
}

/* [taken, parts, bins, 2]: what each part of each element adds to real and imaginary part. */
static qgc_value *dft_matrix(onnx_import *im, const dft *d, qgc_dtype dtype)
{
    const int64_t shape[] = {d->taken * d->parts, d->bins * 2};
    double *data = new_table(im, shape[0], shape[1]), *at = data;
    double scale = d->inverse ? 1.0 / (double)d->length : 1, sign = d->inverse ? 1 : -1;
    for (int64_t n = 0; data && n < d->taken; n++)
        for (int64_t part = 0; part < d->parts; part++)
            for (int64_t k = 0; k < d->bins; k++) {
                double re = scale * cosine(n * k, d->length);
                double im_ = scale * sign * sine(n * k, d->length);
                *at++ = part ? -im_ : re;
                *at++ = part ? re : im_;
            }
    return constant(im, data, shape, 2, dtype);
}

static qgc_value *first_elements(onnx_import *im, qgc_value *x, int64_t axis, int64_t num)
{
    int64_t zero = 0;
    qgc_node *node = onnx_begin(im, "slice", 1, &x, 1);
    onnx_set_ints(im, node, "starts", &zero, 1);
    onnx_set_ints(im, node, "ends", &num, 1);
    onnx_set_ints(im, node, "axes", &axis, 1);
    return onnx_end(im, node);
}

/* The axis becomes the last but one, or goes back there: its own inverse. */
static qgc_value *swap_axis(onnx_import *im, qgc_value *x, int64_t axis, uint32_t rank)
{
    int64_t perm[QGC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = i;
    perm[axis] = rank - 2;
    perm[rank - 2] = axis;
    return axis == rank - 2 ? x : onnx_transpose(im, x, perm, rank);
}

qgc_result convert_dft(onnx_import *im)
{
    dft d;
    qgc_dim dims[QGC_MAX_RANK];
    qgc_value *x = onnx_need(im, 0);
    if (!is_signal(im, x) || !read_dft(im, x->type, &d))
        return onnx_refuse(im, "a signal without a dimension");
    uint32_t rank = x->type->rank;
    if (!qgc_dim_equal(x->type->dims[d.axis], qgc_dim_number(d.taken)))
        x = first_elements(im, x, d.axis, d.taken);
    x = x ? swap_axis(im, x, d.axis, rank) : NULL;
    if (!x)
        return QGC_FAILED;
    for (uint32_t i = 0; i + 2 < rank; i++)
        dims[i] = x->type->dims[i];
    dims[rank - 2] = qgc_dim_number(d.taken * d.parts);
    qgc_value *rows = onnx_reshape(im, x, dims, rank - 1);
    qgc_value *matrix = dft_matrix(im, &d, x->type->dtype);
    qgc_value *y = onnx_binary(im, "matmul", rows, matrix);
    dims[rank - 2] = qgc_dim_number(d.bins);
    dims[rank - 1] = qgc_dim_number(2);
    y = onnx_reshape(im, y, dims, rank);
    return onnx_define(im, 0, y ? swap_axis(im, y, d.axis, rank) : NULL);
}

/* ---- STFT ---- */

static bool frame_length(onnx_import *im, const qgc_value *window, int64_t *out)
{
    if (onnx_in(im, 3))
        return known_int(im, 3, "frame_length", out);
    if (window && window->type->rank == 1 && qgc_dim_is_number(window->type->dims[0])) {
        *out = window->type->dims[0].value;
        return true;
    }
    onnx_refuse(im, "the length of a frame is not known");
    return false;
}

/* Kernels of a convolution, [bins * 2, 1, length]: real and imaginary part of each bin. */
static qgc_value *stft_kernels(onnx_import *im, int64_t bins, int64_t length, qgc_value *window,
                               qgc_dtype dtype)
{
    const int64_t shape[] = {bins * 2, 1, length};
    double *data = new_table(im, bins * 2, length), *at = data;
    for (int64_t k = 0; data && k < bins; k++)
        for (int64_t part = 0; part < 2; part++)
            for (int64_t n = 0; n < length; n++)
                *at++ = part ? -sine(n * k, length) : cosine(n * k, length);
    qgc_value *kernels = constant(im, data, shape, 3, dtype);
    return window && kernels ? onnx_binary(im, "mul", kernels, window) : kernels;
}

/* [N, L] to [N, frames, bins, 2]: a convolution with the frame's step as stride. */
static qgc_value *stft(onnx_import *im, qgc_value *x, qgc_value *kernels, int64_t step,
                       int64_t bins)
{
    const qgc_dim signal[] = {x->type->dims[0], qgc_dim_number(1), x->type->dims[1]};
    qgc_value *rows = onnx_reshape(im, x, signal, 3), *operands[] = {rows, kernels};
    qgc_node *node = rows && kernels ? onnx_begin(im, "conv1d", 2, operands, 1) : NULL;
    onnx_set_ints(im, node, "stride", &step, 1);
    qgc_value *y = onnx_end(im, node);
    if (!y)
        return NULL;
    const qgc_dim split[] = {y->type->dims[0], qgc_dim_number(bins), qgc_dim_number(2),
                             y->type->dims[2]};
    return onnx_transpose(im, onnx_reshape(im, y, split, 4), (const int64_t[]){0, 3, 1, 2}, 4);
}

qgc_result convert_stft(onnx_import *im)
{
    int64_t step, length;
    qgc_value *x = onnx_need(im, 0), *window = onnx_in(im, 2);
    if (!is_signal(im, x) || !known_int(im, 1, "frame_step", &step) ||
        !frame_length(im, window, &length))
        return onnx_refuse(im, "the signal is missing");
    uint32_t rank = x->type->rank;
    bool is_real = rank == 2 || (rank == 3 && qgc_dim_equal(x->type->dims[2], qgc_dim_number(1)));
    if (!is_real)
        return onnx_refuse(im, "a complex signal");
    int64_t bins = onnx_int(im, "onesided", 1) ? length / 2 + 1 : length;
    if (step < 1 || length < 1 || length > INT32_MAX)
        return onnx_refuse(im, "frames of length %lld, step %lld", (long long)length,
                           (long long)step);
    x = rank == 3 ? onnx_reshape(im, x, x->type->dims, 2) : x;
    if (!x)
        return QGC_FAILED;
    qgc_value *kernels = stft_kernels(im, bins, length, window, x->type->dtype);
    return onnx_define(im, 0, stft(im, x, kernels, step, bins));
}

/* ---- MelWeightMatrix ---- */

/* The rise to the center of a triangle and the fall behind it, as ONNX defines them. */
static void fill_triangle(double *matrix, int64_t num, const int64_t *corners, int64_t column)
{
    int64_t low = corners[0], center = corners[1], high = corners[2];
    for (int64_t row = low; row <= center; row++)
        matrix[row * num + column] =
            center == low ? 1 : (double)(row - low) / (double)(center - low);
    for (int64_t row = center; row < high; row++)
        matrix[row * num + column] = (double)(high - row) / (double)(high - center);
}

static bool known_hertz(onnx_import *im, uint32_t input, const char *name, double *out)
{
    const qgc_value *value = onnx_cast(im, onnx_need(im, input), QGC_DTYPE_F64);
    const qgc_tensor *known = onnx_constant(value);
    if (known && known->bytes == sizeof *out) {
        memcpy(out, known->data, sizeof *out);
        if (*out >= 0 && *out <= 1e9)
            return true;
    }
    onnx_refuse(im, known ? "%s is out of range" : "%s is not constant", name);
    return false;
}

qgc_result convert_mel_weights(onnx_import *im)
{
    int64_t num, length, rate;
    double edges[2];
    qgc_dtype dtype;
    if (!known_int(im, 0, "num_mel_bins", &num) || !known_int(im, 1, "dft_length", &length) ||
        !known_int(im, 2, "sample_rate", &rate) ||
        !known_hertz(im, 3, "lower_edge_hertz", &edges[0]) ||
        !known_hertz(im, 4, "upper_edge_hertz", &edges[1]))
        return QGC_FAILED;
    if (!qgc_onnx_dtype(onnx_int(im, "output_datatype", 1), &dtype))
        return onnx_refuse(im, "output_datatype does not exist here");
    int64_t rows = length / 2 + 1;
    if (num < 1 || length < 1 || rate < 1 || num > INT32_MAX - 2 || length > INT32_MAX)
        return onnx_refuse(im, "%lld bins of a transform of length %lld", (long long)num,
                           (long long)length);
    double *matrix = new_table(im, rows, num);
    if (!matrix)
        return QGC_FAILED;
    int64_t *corners = QGC_NEW_ARRAY(im->arena, int64_t, (size_t)num + 2);
    double low = 2595 * log1p(edges[0] / 700) / log(10),
           high = 2595 * log1p(edges[1] / 700) / log(10);
    for (int64_t i = 0; i < num + 2; i++) {
        double mel = (double)i * ((high - low) / (double)(num + 2)) + low;
        double hertz = 700 * expm1(mel / 2595 * log(10));
        corners[i] = (int64_t)floor((double)(length + 1) * hertz / (double)rate);
        if (corners[i] >= rows)
            return onnx_refuse(im, "upper_edge_hertz is above half the sample rate");
    }
    for (int64_t i = 0; i < num; i++)
        fill_triangle(matrix, num, corners + i, i);
    return onnx_define(im, 0, constant(im, matrix, (const int64_t[]){rows, num}, 2, dtype));
}

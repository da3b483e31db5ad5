/* Converter: determinants of small matrices, written out. */
#include "frontend/onnx/import.h"

/* [..., n * n] as columns of [..., 1]. */
typedef struct matrices {
    qgc_value *rows;
    int64_t n;
} matrices;

static qgc_value *element(onnx_import *im, const matrices *m, int64_t i, int64_t k)
{
    int64_t start = i * m->n + k, end = start + 1, axis = -1;
    qgc_value *rows = m->rows;
    qgc_node *node = rows ? onnx_begin(im, "slice", 1, &rows, 1) : NULL;
    onnx_set_ints(im, node, "starts", &start, 1);
    onnx_set_ints(im, node, "ends", &end, 1);
    onnx_set_ints(im, node, "axes", &axis, 1);
    return onnx_end(im, node);
}

static qgc_value *product(onnx_import *im, const matrices *m, const int64_t at[4])
{
    qgc_value *a = element(im, m, at[0], at[1]), *b = element(im, m, at[2], at[3]);
    return onnx_binary(im, "mul", a, b);
}

/* Of rows |i| and |i| + 1, columns |j| and |k|. */
static qgc_value *minor(onnx_import *im, const matrices *m, int64_t i, int64_t j, int64_t k)
{
    qgc_value *down = product(im, m, (const int64_t[]){i, j, i + 1, k});
    qgc_value *up = product(im, m, (const int64_t[]){i, k, i + 1, j});
    return onnx_binary(im, "sub", down, up);
}

/* Along the first row. */
static qgc_value *expand_3(onnx_import *im, const matrices *m)
{
    static const int64_t others[3][2] = {{1, 2}, {0, 2}, {0, 1}};
    qgc_value *sum = NULL;
    for (int64_t k = 0; k < 3; k++) {
        qgc_value *a = element(im, m, 0, k), *rest = minor(im, m, 1, others[k][0], others[k][1]);
        qgc_value *term = onnx_binary(im, "mul", a, rest);
        sum = k ? onnx_binary(im, k == 1 ? "sub" : "add", sum, term) : term;
    }
    return sum;
}

qgc_result convert_det(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0), *y;
    uint32_t rank = x ? x->type->rank : 0;
    const qgc_dim *dims = x ? x->type->dims : NULL;
    if (rank < 2 || !qgc_dim_is_number(dims[rank - 1]) ||
        !qgc_dim_equal(dims[rank - 1], dims[rank - 2]) || dims[rank - 1].value < 1 ||
        dims[rank - 1].value > 3)
        return onnx_refuse(im, "matrices that are not 1x1, 2x2 or 3x3");
    matrices m = {.n = dims[rank - 1].value};
    qgc_dim flat[QGC_MAX_RANK];
    for (uint32_t i = 0; i + 2 < rank; i++)
        flat[i] = dims[i];
    flat[rank - 2] = qgc_dim_number(m.n * m.n);
    m.rows = onnx_reshape(im, x, flat, rank - 1);
    y = m.n == 1 ? m.rows : m.n == 2 ? minor(im, &m, 0, 0, 1) : expand_3(im, &m);
    return onnx_define(im, 0, onnx_reshape(im, y, flat, rank - 2));
}

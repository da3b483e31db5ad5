#include "runtime/ref/elementwise.h"

#include <string.h>

qgc_compute qgc_compute_type(qgc_dtype dtype)
{
    qgc_dtype_kind kind = qgc_dtype_get_kind(dtype);
    if (kind == QGC_FLOAT)
        return dtype == QGC_DTYPE_F64 ? QGC_COMPUTE_F64 : QGC_COMPUTE_F32;
    return kind == QGC_UNSIGNED ? QGC_COMPUTE_U64 : QGC_COMPUTE_I64;
}

/* ---- rows ---- */

static bool same_shape(const qgc_tensor *a, const qgc_tensor *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

/* The whole result is one row where every operand has its shape or is a single element. */
static bool is_one_row(qgc_rows *rows, const qgc_tensor *y, const qgc_tensor *const *operands)
{
    for (uint32_t i = 0; i < rows->num; i++) {
        if (!same_shape(operands[i], y) && qgc_tensor_count(operands[i]) != 1)
            return false;
        rows->step[i] = same_shape(operands[i], y);
    }
    return true;
}

bool qgc_rows_begin(qgc_rows *rows, const qgc_tensor *y, uint32_t num,
                    const qgc_tensor *const *operands)
{
    *rows = (qgc_rows){.num = num, .length = qgc_tensor_count(y)};
    if (rows->length == 0 || is_one_row(rows, y, operands))
        return rows->length != 0;
    rows->rank = y->rank - 1; /* two shapes differ: there is a dimension */
    rows->length = (size_t)y->shape[rows->rank];
    memcpy(rows->shape, y->shape, rows->rank * sizeof *rows->shape);
    for (uint32_t i = 0; i < num; i++) {
        qgc_broadcast_strides(operands[i], y->rank, y->shape, rows->strides[i]);
        rows->step[i] = (size_t)rows->strides[i][rows->rank];
    }
    return true;
}

bool qgc_rows_next(qgc_rows *rows)
{
    rows->at += rows->length;
    if (!qgc_next_index(rows->rank, rows->shape, rows->index))
        return false;
    for (uint32_t i = 0; i < rows->num; i++) {
        int64_t offset = 0;
        for (uint32_t d = 0; d < rows->rank; d++)
            offset += rows->index[d] * rows->strides[i][d];
        rows->from[i] = (size_t)offset;
    }
    return true;
}

/* ---- one operand ---- */

static void unary_element(const qgc_unary_row *row, qgc_tensor *y, const qgc_tensor *x, size_t i)
{
    switch (qgc_compute_type(x->dtype)) {
    case QGC_COMPUTE_F32:
        qgc_set_f32(y, i, row->f32(qgc_get_f32(x, i)));
        break;
    case QGC_COMPUTE_F64:
        qgc_set_f64(y, i, row->f64(qgc_get_f64(x, i)));
        break;
    case QGC_COMPUTE_I64:
        qgc_set_int(y, i, row->i64(qgc_get_int(x, i)));
        break;
    case QGC_COMPUTE_U64:
        qgc_set_int(y, i, (int64_t)row->u64((uint64_t)qgc_get_int(x, i)));
        break;
    }
}

void qgc_ref_unary(const qgc_unary_row *row, qgc_tensor *y, const qgc_tensor *x)
{
    size_t num = qgc_tensor_count(y);
    if (x->dtype != QGC_DTYPE_F32) {
        for (size_t i = 0; i < num; i++)
            unary_element(row, y, x, i);
        return;
    }
    const float *from = x->data;
    float *to = y->data;
    for (size_t i = 0; i < num; i++)
        to[i] = row->f32(from[i]);
}

void qgc_ref_scaled(const qgc_scaled_row *row, const qgc_node *node, qgc_tensor *y,
                    const qgc_tensor *x)
{
    float p = row->p ? qgc_node_float(node, row->p) : 0;
    float q = row->q ? qgc_node_float(node, row->q) : 0;
    size_t num = qgc_tensor_count(y);
    for (size_t i = 0; i < num; i++) {
        if (x->dtype == QGC_DTYPE_F64)
            qgc_set_f64(y, i, row->f64(qgc_get_f64(x, i), (double)p, (double)q));
        else
            qgc_set_f32(y, i, row->f32(qgc_get_f32(x, i), p, q));
    }
}

/* ---- two operands ---- */

static void binary_element(const qgc_binary_row *row, qgc_tensor *y, size_t i, const qgc_tensor *a,
                           size_t ia, const qgc_tensor *b, size_t ib)
{
    switch (qgc_compute_type(a->dtype)) {
    case QGC_COMPUTE_F32:
        qgc_set_f32(y, i, row->f32(qgc_get_f32(a, ia), qgc_get_f32(b, ib)));
        break;
    case QGC_COMPUTE_F64:
        qgc_set_f64(y, i, row->f64(qgc_get_f64(a, ia), qgc_get_f64(b, ib)));
        break;
    case QGC_COMPUTE_I64:
        qgc_set_int(y, i, row->i64(qgc_get_int(a, ia), qgc_get_int(b, ib)));
        break;
    case QGC_COMPUTE_U64:
        qgc_set_int(y, i,
                    (int64_t)row->u64((uint64_t)qgc_get_int(a, ia), (uint64_t)qgc_get_int(b, ib)));
        break;
    }
}

static void binary_f32(const qgc_binary_row *row, const qgc_rows *rows, qgc_tensor *y,
                       const qgc_tensor *a, const qgc_tensor *b)
{
    float *to = (float *)y->data + rows->at;
    const float *left = (const float *)a->data + rows->from[0];
    const float *right = (const float *)b->data + rows->from[1];
    for (size_t i = 0; i < rows->length; i++)
        to[i] = row->f32(left[i * rows->step[0]], right[i * rows->step[1]]);
}

static void binary_any(const qgc_binary_row *row, const qgc_rows *rows, qgc_tensor *y,
                       const qgc_tensor *a, const qgc_tensor *b)
{
    for (size_t i = 0; i < rows->length; i++)
        binary_element(row, y, rows->at + i, a, rows->from[0] + i * rows->step[0], b,
                       rows->from[1] + i * rows->step[1]);
}

void qgc_ref_binary(const qgc_binary_row *row, qgc_tensor *y, const qgc_tensor *a,
                    const qgc_tensor *b)
{
    qgc_rows rows;
    bool more = qgc_rows_begin(&rows, y, 2, (const qgc_tensor *[]){a, b});
    for (; more; more = qgc_rows_next(&rows))
        (y->dtype == QGC_DTYPE_F32 ? binary_f32 : binary_any)(row, &rows, y, a, b);
}

static bool compare_element(const qgc_compare_row *row, const qgc_tensor *a, size_t ia,
                            const qgc_tensor *b, size_t ib)
{
    switch (qgc_compute_type(a->dtype)) {
    case QGC_COMPUTE_F32:
        return row->f32(qgc_get_f32(a, ia), qgc_get_f32(b, ib));
    case QGC_COMPUTE_F64:
        return row->f64(qgc_get_f64(a, ia), qgc_get_f64(b, ib));
    case QGC_COMPUTE_I64:
        return row->i64(qgc_get_int(a, ia), qgc_get_int(b, ib));
    default:
        return row->u64((uint64_t)qgc_get_int(a, ia), (uint64_t)qgc_get_int(b, ib));
    }
}

void qgc_ref_compare(const qgc_compare_row *row, qgc_tensor *y, const qgc_tensor *a,
                     const qgc_tensor *b)
{
    qgc_rows rows;
    bool more = qgc_rows_begin(&rows, y, 2, (const qgc_tensor *[]){a, b});
    for (; more; more = qgc_rows_next(&rows))
        for (size_t i = 0; i < rows.length; i++)
            qgc_set_int(y, rows.at + i,
                        compare_element(row, a, rows.from[0] + i * rows.step[0], b,
                                        rows.from[1] + i * rows.step[1]));
}

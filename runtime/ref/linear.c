/* Linear and matmul: one chain per output, k = 0 .. K-1. */
#include "runtime/ref/chain.h"

/* y = a b + bias: a is rows of K elements each, |b| a matrix [K, columns] of a tensor. */
typedef struct product {
    qgc_ref_call *call;
    const qgc_tensor *a, *b, *bias;
    qgc_dtype type;
    size_t element_bytes, width;
    qgc_tensor row, packed; /* one row of a; the matrix of b, */
    size_t packed_base;     /* which starts at this element, or SIZE_MAX */
} product;

static qgc_result open_product(product *p, size_t depth, size_t columns)
{
    p->type = qgc_chain_dtype(p->a->dtype);
    p->element_bytes = qgc_dtype_bytes(p->type);
    p->width = qgc_chain_width(columns);
    p->packed_base = SIZE_MAX;
    size_t total, rounded = (columns + p->width - 1) / p->width * p->width;
    if (!qgc_checked_mul(rounded, depth, &total) || total > INT64_MAX)
        return qgc_ref_fail(p->call, "an operand is too large");
    qgc_diag *diag = &p->call->context->diag;
    int64_t count = (int64_t)total, row = (int64_t)depth;
    QGC_TRY(qgc_tensor_create(diag, p->type, 1, &count, &p->packed));
    return qgc_tensor_create(diag, p->type, 1, &row, &p->row);
}

static void close_product(product *p)
{
    qgc_tensor_destroy(&p->packed);
    qgc_tensor_destroy(&p->row);
}

static void run_row(product *p, size_t columns, size_t depth, size_t to)
{
    for (size_t first = 0; first < columns; first += p->width) {
        uint64_t acc[QGC_CHAIN_MAX_WIDTH] = {0};
        size_t num = columns - first < p->width ? columns - first : p->width;
        for (size_t j = 0; p->bias && j < num; j++)
            qgc_chain_load(acc, j, p->bias, first + j);
        qgc_chain_run(p->type, p->width, acc, p->row.data, depth,
                      (const char *)p->packed.data + first * depth * p->element_bytes);
        for (size_t j = 0; j < num; j++)
            qgc_chain_store(&p->call->results[0], to + first + j, acc, j);
    }
}

/* |rows| rows of a from element |from|; y from element |to|. */
static void run_rows(product *p, const qgc_chain_matrix *b, size_t rows, size_t from, size_t to)
{
    if (p->packed_base != b->base)
        qgc_chain_pack(p->packed.data, 0, p->width, p->b, b);
    p->packed_base = b->base;
    for (size_t r = 0; r < rows; r++) {
        for (size_t k = 0; k < b->rows; k++)
            qgc_chain_load(p->row.data, k, p->a, from + r * b->rows + k);
        run_row(p, b->columns, b->rows, to + r * b->columns);
    }
}

qgc_result ref_linear(qgc_ref_call *call)
{
    const qgc_tensor *w = call->operands[1];
    product p = {.call = call, .a = call->operands[0], .b = w, .bias = call->operands[2]};
    size_t out = (size_t)w->shape[0], in = (size_t)w->shape[1];
    size_t rows = out ? qgc_tensor_count(&call->results[0]) / out : 0;
    if (!rows)
        return QGC_OK;
    qgc_chain_matrix matrix = {.row_step = 1, .column_step = in, .rows = in, .columns = out};
    qgc_result result = open_product(&p, in, out);
    if (result == QGC_OK)
        run_rows(&p, &matrix, rows, 0, 0);
    close_product(&p);
    return result;
}

/* An operand's leading dimensions, seen with rank - 2 of them as those of y: a view without its
 * matrix. */
static qgc_tensor batch_of(const qgc_tensor *t)
{
    qgc_tensor batch = *t;
    batch.rank = t->rank > 2 ? t->rank - 2 : 0;
    return batch;
}

/* Every batch of y. */
static void run_batches(product *p, const qgc_tensor *y_batch, qgc_chain_matrix *matrix,
                        size_t rows)
{
    int64_t a_steps[QGC_MAX_RANK], b_steps[QGC_MAX_RANK], index[QGC_MAX_RANK] = {0};
    qgc_tensor a_batch = batch_of(p->a), b_batch = batch_of(p->b);
    qgc_broadcast_strides(&a_batch, y_batch->rank, y_batch->shape, a_steps);
    qgc_broadcast_strides(&b_batch, y_batch->rank, y_batch->shape, b_steps);
    size_t to = 0;
    do {
        size_t a = 0, b = 0;
        for (uint32_t i = 0; i < y_batch->rank; i++) {
            a += (size_t)(index[i] * a_steps[i]);
            b += (size_t)(index[i] * b_steps[i]);
        }
        matrix->base = b * matrix->rows * matrix->columns;
        run_rows(p, matrix, rows, a * rows * matrix->rows, to);
        to += rows * matrix->columns;
    } while (qgc_next_index(y_batch->rank, y_batch->shape, index));
}

qgc_result ref_matmul(qgc_ref_call *call)
{
    const qgc_tensor *a = call->operands[0], *b = call->operands[1];
    qgc_tensor *y = &call->results[0];
    if (!qgc_tensor_count(y))
        return QGC_OK;
    size_t rows = a->rank > 1 ? (size_t)a->shape[a->rank - 2] : 1;
    qgc_chain_matrix matrix = {.column_step = 1, .rows = (size_t)a->shape[a->rank - 1]};
    matrix.columns = b->rank > 1 ? (size_t)b->shape[b->rank - 1] : 1;
    matrix.row_step = matrix.columns;
    qgc_tensor y_batch = *y;
    y_batch.rank -= (uint32_t)(a->rank > 1) + (uint32_t)(b->rank > 1);
    product p = {.call = call, .a = a, .b = b};
    qgc_result result = open_product(&p, matrix.rows, matrix.columns);
    if (result == QGC_OK)
        run_batches(&p, &y_batch, &matrix, rows);
    close_product(&p);
    return result;
}

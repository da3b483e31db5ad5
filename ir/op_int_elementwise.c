/* Infer hooks: integer ops that compute an element from an element. */
#include "ir/quant_params.h"

qgc_result infer_int_mul(qgc_infer *in)
{
    const qgc_type *a = qgc_in(in, 0), *b = qgc_in(in, 1);
    qgc_dim dims[QGC_MAX_RANK];
    uint32_t rank;
    QGC_RULE(in, 1, qgc_broadcast(in, a, b, &rank, dims), "a is %s, b is %s",
             qgc_in_type_str(in, a), qgc_in_type_str(in, b));
    QGC_TRY(qgc_check_zero_point(in, "a_zero_point", in->num_operands, a->dtype, NULL, 2));
    QGC_TRY(qgc_check_zero_point(in, "b_zero_point", in->num_operands, b->dtype, NULL, 3));
    in->results[0] = qgc_in_type(in, qgc_accumulator_dtype(a, b), rank, dims);
    return QGC_OK;
}

qgc_result infer_lookup(qgc_infer *in)
{
    const qgc_type *table = qgc_in(in, 1);
    QGC_RULE(in, 1, table->rank == 1 && !qgc_dim_conflict(table->dims[0], qgc_dim_number(256)),
             "table is %s", qgc_in_type_str(in, table));
    in->results[0] = qgc_type_with_dtype(&in->context->types, qgc_in(in, 0), table->dtype);
    return QGC_OK;
}

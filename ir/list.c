#include "ir/list.h"

#include "ir/contents.h"

enum { MAX_ITEMS = 65536 }; /* longer lists of unknown items are treated as of unknown length */

static bool are_numbers(const qgc_list *list)
{
    for (uint32_t i = 0; i < list->num; i++)
        if (!qgc_dim_is_number(list->dims[i]))
            return false;
    return true;
}

static void list_of_attr(qgc_infer *in, const qgc_attr *attr, const char *name, qgc_list *out)
{
    *out = (qgc_list){.given = true, .has_num = true, .is_number = true, .num = attr->num};
    if (attr->kind == QGC_ATTR_DIMS) {
        out->dims = qgc_in_dims(in, name, &out->num);
        out->is_number = are_numbers(out);
        return;
    }
    bool is_one = attr->kind == QGC_ATTR_INT;
    out->num = is_one ? 1 : attr->num;
    qgc_dim *dims = QGC_NEW_ARRAY(in->arena, qgc_dim, out->num);
    for (uint32_t i = 0; i < out->num; i++)
        dims[i] = qgc_dim_number(is_one ? attr->i : attr->ints[i]);
    out->dims = dims;
}

static void list_of_operand(qgc_infer *in, uint32_t operand, qgc_list *out)
{
    const qgc_type *type = qgc_in(in, operand);
    const int64_t *ints = NULL;
    *out = (qgc_list){.given = true, .has_num = true, .num = 1};
    out->is_number = qgc_in_const_ints(in, operand, &out->num, &ints);
    if (!out->is_number &&
        qgc_value_contents(in->context, in->arena, in->node->operands[operand].value, &out->num,
                           &out->dims)) {
        out->is_number = are_numbers(out);
        return;
    }
    if (!out->is_number && type->rank) {
        qgc_dim length = type->dims[0];
        out->has_num = qgc_dim_is_number(length) && length.value <= MAX_ITEMS;
        out->num = out->has_num ? (uint32_t)length.value : 0;
    }
    qgc_dim *dims = QGC_NEW_ARRAY(in->arena, qgc_dim, out->num);
    for (uint32_t i = 0; i < out->num; i++)
        dims[i] = ints ? qgc_dim_number(ints[i]) : qgc_dim_unknown(&in->context->dims);
    out->is_number |= out->has_num && out->num == 0;
    out->dims = dims;
}

qgc_result qgc_in_list(qgc_infer *in, const char *name, uint32_t operand, int rule, qgc_list *out)
{
    bool has_row = qgc_op_attr_index(in->op, qgc_str_from(name)) >= 0;
    const qgc_attr *attr = has_row ? qgc_node_attr(in->node, name) : NULL;
    const qgc_type *type = qgc_in(in, operand);
    *out = (qgc_list){0};
    QGC_RULE(in, rule, !attr || !type, "%s is given both as attribute and as operand", name);
    QGC_RULE(in, rule, !type || type->rank <= 1, "operand %s is %s", name,
             type ? qgc_in_type_str(in, type) : "");
    if (attr)
        list_of_attr(in, attr, name, out);
    else if (type)
        list_of_operand(in, operand, out);
    return QGC_OK;
}

qgc_dim qgc_dims_product(qgc_infer *in, const qgc_dim *dims, uint32_t begin, uint32_t end,
                         uint32_t skip)
{
    qgc_dim product = qgc_dim_number(1);
    for (uint32_t i = begin; i < end; i++)
        if (i != skip)
            product = qgc_dim_mul(&in->context->dims, product, dims[i]);
    return product;
}

qgc_result qgc_in_axes(qgc_infer *in, const qgc_list *list, uint32_t rank, int rule, uint32_t *out)
{
    *out = 0;
    for (uint32_t i = 0; i < list->num; i++) {
        uint32_t axis;
        QGC_TRY(qgc_in_axis(in, list->dims[i].value, rank, rule, &axis));
        QGC_RULE(in, rule, !(*out >> axis & 1), "axis %u is named twice", axis);
        *out |= 1u << axis;
    }
    return QGC_OK;
}

qgc_dim qgc_in_size(qgc_infer *in, qgc_dim dim)
{
    return qgc_dim_is_number(dim) && dim.value < 0 ? qgc_dim_unknown(&in->context->dims) : dim;
}

qgc_result qgc_in_written_rank(qgc_infer *in, const char *why, uint32_t *out)
{
    const qgc_type *written = in->num_results ? in->node->results[0].type : NULL;
    *out = written ? written->rank : 0;
    return written ? QGC_OK : qgc_infer_unknown(in, "%s: write the type of the result", why);
}

qgc_result qgc_in_rank(qgc_infer *in, const char *name, const qgc_list *list, uint32_t *out)
{
    *out = list->num;
    if (list->has_num)
        return QGC_OK;
    const char *why = qgc_arena_printf(in->arena, "the length of %s is not known", name);
    return qgc_in_written_rank(in, why, out);
}

qgc_result qgc_in_unknown_dims(qgc_infer *in, qgc_dtype dtype, uint32_t rank)
{
    qgc_dim dims[QGC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = qgc_dim_unknown(&in->context->dims);
    in->results[0] = qgc_in_type(in, dtype, rank, dims);
    return QGC_OK;
}

qgc_dim qgc_dim_merge(qgc_dim a, qgc_dim b)
{
    bool takes_b = qgc_dim_is_unknown(a) || (qgc_dim_is_number(b) && !qgc_dim_is_number(a));
    return takes_b ? b : a;
}

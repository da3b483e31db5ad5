#include "ir/infer.h"

#include <string.h>

qgc_result qgc_infer_fail(qgc_infer *in, int rule, const char *format, ...)
{
    if (in->quiet)
        return QGC_FAILED;
    va_list args;
    va_start(args, format);
    const char *message = qgc_arena_vprintf(in->arena, format, args);
    va_end(args);
    qgc_report(&in->context->diag, in->node->loc, QGC_D_OP_RULE, "%s: %s", in->op->mnemonic,
               message);
    qgc_note_rule(in->context, in->node, rule);
    return QGC_FAILED;
}

void qgc_note_rule(qgc_context *context, const qgc_node *node, int rule)
{
    const qgc_op_info *op = qgc_node_op(node);
    qgc_note(&context->diag, node->loc, "rule %s_c%d: %s", op->mnemonic, rule,
             qgc_op_rule_text(op, rule, &context->arena));
}

qgc_result qgc_infer_unknown(qgc_infer *in, const char *format, ...)
{
    if (in->quiet)
        return QGC_FAILED;
    va_list args;
    va_start(args, format);
    const char *message = qgc_arena_vprintf(in->arena, format, args);
    va_end(args);
    return qgc_report(&in->context->diag, in->node->loc, QGC_D_NO_TYPE, "%s: %s", in->op->mnemonic,
                      message);
}

qgc_result qgc_in_ints(qgc_infer *in, const char *name, int rule, uint32_t *num,
                       const int64_t **out)
{
    const qgc_attr *attr = qgc_node_attr(in->node, name);
    if (*num == UINT32_MAX)
        *num = attr ? attr->num : 0;
    if (attr) {
        QGC_RULE(in, rule, attr->num == *num, "%s has %u entries, expected %u", name, attr->num,
                 *num);
        *out = attr->ints;
        return QGC_OK;
    }
    int64_t *filled = QGC_NEW_ARRAY(in->arena, int64_t, *num);
    for (uint32_t i = 0; i < *num; i++)
        filled[i] = qgc_node_int_at(in->node, name, i);
    *out = filled;
    return QGC_OK;
}

qgc_result qgc_in_axis(qgc_infer *in, int64_t axis, uint32_t rank, int rule, uint32_t *out)
{
    QGC_RULE(in, rule, axis >= -(int64_t)rank && axis < (int64_t)rank,
             "axis %lld is not in [-%u, %u)", (long long)axis, rank, rank);
    *out = (uint32_t)(axis < 0 ? axis + rank : axis);
    return QGC_OK;
}

const qgc_dim *qgc_in_dims(qgc_infer *in, const char *name, uint32_t *out_num)
{
    const qgc_attr *attr = qgc_node_attr(in->node, name);
    *out_num = attr ? attr->num : 0;
    if (!attr || !in->lookup)
        return attr ? attr->dims : NULL;
    qgc_dim *dims = QGC_NEW_ARRAY(in->arena, qgc_dim, attr->num);
    for (uint32_t i = 0; i < attr->num; i++)
        dims[i] = qgc_dim_bind(&in->context->dims, attr->dims[i], in->lookup, in->lookup_user);
    return dims;
}

bool qgc_in_const_ints(qgc_infer *in, uint32_t index, uint32_t *out_num, const int64_t **out)
{
    const qgc_tensor *value = qgc_in_value(in, index);
    if (!value || value->rank > 1 || !(1u << value->dtype & (QGC_T_INDEX | QGC_BIT(I16))))
        return false;
    uint32_t num = value->rank ? (uint32_t)value->shape[0] : 1;
    int64_t *ints = QGC_NEW_ARRAY(in->arena, int64_t, num);
    for (uint32_t i = 0; i < num; i++)
        ints[i] = value->dtype == QGC_DTYPE_I64   ? ((const int64_t *)value->data)[i]
                  : value->dtype == QGC_DTYPE_I32 ? ((const int32_t *)value->data)[i]
                                                  : ((const int16_t *)value->data)[i];
    *out_num = num;
    *out = ints;
    return true;
}

/* One broadcast dimension: 1 gives way; a number against a symbol wins (the symbol must be it or
 * 1); two different symbols are left unknown. */
static bool broadcast_dim(qgc_infer *in, qgc_dim a, qgc_dim b, qgc_dim *out)
{
    qgc_dim one = qgc_dim_number(1);
    *out = a;
    if (qgc_dim_equal(a, b) || qgc_dim_equal(b, one))
        return true;
    *out = b;
    if (qgc_dim_equal(a, one))
        return true;
    if (qgc_dim_conflict(a, b))
        return false;
    if (qgc_dim_is_number(a))
        *out = a;
    else if (!qgc_dim_is_number(b))
        *out = qgc_dim_unknown(&in->context->dims);
    return true;
}

bool qgc_broadcast(qgc_infer *in, const qgc_type *a, const qgc_type *b, uint32_t *out_rank,
                   qgc_dim *dims)
{
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t from_end = rank - 1 - i;
        qgc_dim one = qgc_dim_number(1);
        qgc_dim x = from_end < a->rank ? a->dims[a->rank - 1 - from_end] : one;
        qgc_dim y = from_end < b->rank ? b->dims[b->rank - 1 - from_end] : one;
        if (!broadcast_dim(in, x, y, &dims[i]))
            return false;
    }
    *out_rank = rank;
    return true;
}

qgc_result qgc_check_operand_types(qgc_infer *in)
{
    for (uint32_t i = 0; i < in->num_operands; i++) {
        const qgc_operand_spec *row = &in->op->operands[qgc_node_operand_row(in->node, i)];
        if (!in->operands[i] || row->types >> in->operands[i]->dtype & 1)
            continue;
        if (in->quiet)
            return QGC_FAILED;
        return qgc_report(&in->context->diag, in->node->loc, QGC_D_TYPE_MISMATCH,
                          "%s: operand %s is %s, expected element type %s", in->op->mnemonic,
                          row->name, qgc_in_type_str(in, in->operands[i]),
                          qgc_dtype_set_str(row->types, in->arena));
    }
    return QGC_OK;
}

static const qgc_tensor *constant_of(const qgc_value *value)
{
    return value && value->def ? value->def->constant : NULL;
}

static qgc_result infer_node(const qgc_node *node, const qgc_type **results, bool quiet,
                             bool *asks_unknown)
{
    qgc_module *module = node->func->module;
    qgc_arena *arena = &module->arena;
    qgc_arena_mark mark = qgc_arena_get_mark(arena);
    const qgc_type **types = QGC_NEW_ARRAY(arena, const qgc_type *, node->num_operands);
    const qgc_tensor **values = QGC_NEW_ARRAY(arena, const qgc_tensor *, node->num_operands);
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        types[i] = value ? value->type : NULL;
        values[i] = constant_of(value);
    }
    qgc_infer in = {.context = module->context,
                    .node = node,
                    .op = qgc_op(node->op),
                    .num_operands = node->num_operands,
                    .num_results = node->num_results,
                    .operands = types,
                    .values = values,
                    .results = results,
                    .arena = arena,
                    .asks_unknown = asks_unknown,
                    .quiet = quiet};
    qgc_result result = qgc_check_operand_types(&in);
    if (result == QGC_OK)
        result = in.op->infer(&in);
    qgc_arena_reset(arena, mark);
    return result;
}

qgc_result qgc_node_infer(qgc_node *node, const qgc_type **results, bool quiet)
{
    return infer_node(node, results, quiet, NULL);
}

bool qgc_node_needs_contents(const qgc_node *node)
{
    bool asks = false;
    qgc_arena scratch = {0};
    const qgc_type **types = QGC_NEW_ARRAY(&scratch, const qgc_type *, node->num_results);
    qgc_result result = infer_node(node, types, true, &asks);
    qgc_arena_destroy(&scratch);
    return asks || result != QGC_OK;
}

const qgc_type *qgc_type_refine(qgc_types *types, const qgc_type *inferred, const qgc_type *written)
{
    qgc_dim dims[QGC_MAX_RANK];
    if (!written || !qgc_type_compatible(inferred, written))
        return inferred;
    for (uint32_t i = 0; i < inferred->rank; i++) {
        bool is_unknown = qgc_dim_is_unknown(inferred->dims[i]);
        dims[i] = is_unknown ? written->dims[i] : inferred->dims[i];
    }
    return qgc_type_get(types, inferred->dtype, inferred->rank, dims);
}

qgc_result qgc_node_refine(qgc_node *node, qgc_arena *scratch, bool *out_changed)
{
    qgc_types *types = &node->func->module->context->types;
    const qgc_type **inferred = QGC_NEW_ARRAY(scratch, const qgc_type *, node->num_results);
    *out_changed = false;
    QGC_TRY(qgc_node_infer(node, inferred, false));
    for (uint32_t i = 0; i < node->num_results; i++) {
        qgc_value *value = &node->results[i];
        const qgc_type *type =
            inferred[i] ? qgc_type_refine(types, inferred[i], value->type) : value->type;
        *out_changed |= type != value->type;
        value->type = type;
    }
    return QGC_OK;
}

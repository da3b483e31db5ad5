#include "codegen/product.h"

#include "ir/view.h"

enum { X, W, BIAS, X_ZERO_POINT, W_ZERO_POINT };

const qgc_tensor *qgc_constant_operand(const qgc_node *node, uint32_t index)
{
    const qgc_value *value = node->operands[index].value;
    return value && value->def ? value->def->constant : NULL;
}

int32_t qgc_unsigned_shift(qgc_dtype dtype)
{
    return dtype == QGC_DTYPE_I8 ? 128 : 0;
}

bool qgc_is_8bit(qgc_dtype dtype)
{
    return dtype == QGC_DTYPE_I8 || dtype == QGC_DTYPE_U8;
}

bool qgc_is_16bit(qgc_dtype dtype)
{
    return dtype == QGC_DTYPE_I16 || dtype == QGC_DTYPE_U16;
}

const qgc_node *qgc_epilogue_of(const qgc_node *node)
{
    const qgc_value *sum = &node->results[0];
    const qgc_node *user = sum->num_uses == 1 ? sum->first_use->user : NULL;
    return user && user->op == QGC_OP_REQUANTIZE ? user : NULL;
}

const char *qgc_match_x(qgc_product *m)
{
    m->x = m->node->operands[X].value;
    if (!qgc_is_8bit(m->x->type->dtype))
        return "x has 16 bits";
    m->x_stored_zero_point =
        (int32_t)qgc_node_int(m->node, "x_zero_point") + qgc_unsigned_shift(m->x->type->dtype);
    return NULL;
}

const char *qgc_match_weights(qgc_product *m)
{
    const qgc_node *node = m->node;
    m->weights = qgc_constant_operand(node, W);
    if (!m->weights)
        return "w is not constant";
    if (!qgc_is_8bit(m->weights->dtype))
        return "w has 16 bits";
    m->x_zero_point = node->operands[X_ZERO_POINT].value;
    if ((m->x_zero_point && !m->takes_zero_point) || node->operands[W_ZERO_POINT].value)
        return "a zero point is an operand";
    m->weight_shift = m->weights->dtype == QGC_DTYPE_U8 ? 128 : 0;
    if (qgc_node_int(node, "w_zero_point") != m->weight_shift)
        return "w has a zero point";
    m->bias = qgc_constant_operand(node, BIAS);
    if (node->operands[BIAS].value && !m->bias)
        return "bias is not constant";
    return NULL;
}

/* ---- epilogue ---- */

/* |list|'s entries for one of |parts| terms. */
static const char *read_list(const qgc_product *m, const qgc_tensor *list, size_t parts,
                             size_t part, int64_t channels, qgc_channel_values *out)
{
    const float *data = list->data;
    size_t num = list->bytes / sizeof *data / parts;
    if (num == 1) {
        out->value = data[part];
        return NULL;
    }
    if (num != (size_t)channels || !qgc_node_has(m->epilogue, "axis"))
        return "its constants differ by position";
    out->list = data + part * num;
    return NULL;
}

static const char *match_multipliers(qgc_product *m, uint32_t num, int64_t channels)
{
    const qgc_node *node = m->epilogue;
    uint32_t other = 1 - m->term;
    if (qgc_node_has(node, "multipliers")) {
        m->multipliers.value = qgc_node_float_at(node, "multipliers", m->term);
        if (num == 2)
            m->addend_multipliers.value = qgc_node_float_at(node, "multipliers", other);
        return NULL;
    }
    const qgc_tensor *list = qgc_constant_operand(node, num);
    if (!list)
        return "multipliers are not constant";
    const char *why = read_list(m, list, num, m->term, channels, &m->multipliers);
    if (why || num == 1)
        return why;
    return read_list(m, list, num, other, channels, &m->addend_multipliers);
}

static const char *match_c(qgc_product *m, uint32_t operand, int64_t channels)
{
    m->c.value = qgc_node_float(m->epilogue, "c");
    if (!m->epilogue->operands[operand].value)
        return NULL;
    const qgc_tensor *list = qgc_constant_operand(m->epilogue, operand);
    return list ? read_list(m, list, 1, 0, channels, &m->c) : "c is not constant";
}

static const qgc_type *with_dtype(const qgc_value *value, qgc_dtype dtype)
{
    const qgc_func *func = value->def ? value->def->func : NULL;
    return func ? qgc_type_with_dtype(&func->module->context->types, value->type, dtype) : NULL;
}

/* The other of two terms. */
static const char *match_addend(qgc_product *m)
{
    const qgc_node *node = m->epilogue;
    m->addend = node->operands[1 - m->term].value;
    qgc_dtype dtype = m->addend->type->dtype;
    if (!qgc_is_8bit(dtype))
        return "the other term has more than 8 bits";
    if (m->addend->type != with_dtype(&node->results[0], dtype))
        return "the other term broadcasts";
    int64_t zero_point = qgc_node_int_at(node, "term_zero_points", 1 - m->term);
    if (zero_point < -65536 || zero_point > 65536)
        return "the other term's zero point is out of range";
    m->addend_zero_point = (int32_t)zero_point + qgc_unsigned_shift(dtype);
    return NULL;
}

const char *qgc_match_epilogue(qgc_product *m, int64_t channels, uint32_t channel_axis)
{
    const qgc_value *acc = &m->node->results[0];
    const qgc_node *user = m->epilogue = m->is_raw ? NULL : qgc_epilogue_of(m->node);
    if (!user)
        return NULL;
    uint32_t begin, num = qgc_node_operand_range(user, 0, &begin);
    const qgc_value *result = &user->results[0];
    if (num > 2)
        return "its requantize has more than two terms";
    m->term = user->operands[0].value == acc ? 0 : 1;
    if (m->takes_16_bits && num > 1)
        return "its requantize has two terms";
    if (!qgc_is_8bit(result->type->dtype) &&
        !(m->takes_16_bits && qgc_is_16bit(result->type->dtype)))
        return "its result has more than 8 bits";
    if (qgc_node_word(user, "mode") != 0)
        return "its requantize adds zero points first";
    if (qgc_node_int_at(user, "term_zero_points", m->term) != 0)
        return "its requantize has a term zero point";
    if (result->type != with_dtype(acc, result->type->dtype))
        return "its requantize broadcasts";
    int64_t axis = qgc_node_has(user, "axis") ? qgc_node_int(user, "axis") : (int64_t)channel_axis;
    if (axis != channel_axis && axis + (int64_t)acc->type->rank != (int64_t)channel_axis)
        return "its requantize is along another axis";
    const char *why = num == 2 ? match_addend(m) : NULL;
    if (!why)
        why = match_multipliers(m, num, channels);
    return why ? why : match_c(m, num + 1, channels);
}

/* ---- numbers ---- */

qgc_epilogue qgc_make_epilogue(const qgc_product *m, double max_sum)
{
    const qgc_node *node = m->epilogue;
    if (!node)
        return (qgc_epilogue){.is_raw = true};
    qgc_dtype dtype = node->results[0].type->dtype;
    int32_t shift = qgc_unsigned_shift(dtype);
    int64_t lowest = dtype == QGC_DTYPE_I16 ? INT16_MIN : -shift;
    int64_t highest = lowest + (qgc_is_8bit(dtype) ? UINT8_MAX : UINT16_MAX);
    int64_t lo = qgc_node_has(node, "lo") ? qgc_node_int(node, "lo") : lowest;
    int64_t hi = qgc_node_has(node, "hi") ? qgc_node_int(node, "hi") : highest;
    return (qgc_epilogue){.has_bias = m->c.list || m->c.value != 0.0f,
                          .has_addend = m->addend != NULL,
                          .addend_zero_point = m->addend_zero_point,
                          .is_small = max_sum < 0x1p29,
                          .has_nan = m->addend && !(max_sum < 0x1p100),
                          .zero_point = (int32_t)qgc_node_int(node, "zero_point") + shift,
                          .lo = (int32_t)lo + shift,
                          .hi = (int32_t)hi + shift};
}

void qgc_fill_block(const qgc_channel_values *values, int64_t first, int64_t end, uint32_t vectors,
                    uint32_t lanes, float *out)
{
    for (uint32_t v = 0; v < vectors; v++)
        for (uint32_t l = 0; l < lanes; l++) {
            int64_t channel = first + qgc_block_channel(vectors, lanes, v, l);
            out[v * lanes + l] = channel < end ? qgc_channel_value(values, channel) : 0.0f;
        }
}

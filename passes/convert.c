/* Observers become quantize and dequantize, weights integer constants. Requires form calibrated
 * (prepared where no observer needs data), provides quantized. Everything is decided before
 * anything changes. */
#include "base/number.h"
#include "passes/constants.h"
#include "passes/convert_warn.h"
#include "runtime/tensor.h"

#include <math.h>
#include <string.h>

typedef struct converter {
    const qgc_pass_env *env;
    qgc_func *func;
    qgc_node *observer; /* at hand; new nodes stand before it */
    const qgc_decision *decision;
    qgc_value *quantized;
    qgc_value *scales, *zero_points; /* per channel, or NULL */
} converter;

/* ---- nodes ---- */

/* Names the only result after the observed value: %c.q. */
static qgc_value *finish(converter *c, qgc_node *node, const char *suffix, const qgc_type *type)
{
    const char *name = qgc_arena_printf(c->env->scratch, "%s.%s", c->decision->base->data, suffix);
    qgc_value *result = &node->results[0];
    result->type = type;
    node->scope = c->observer->scope;
    qgc_value_set_name(c->func, result, qgc_func_unique_name(c->func, qgc_str_from(name)));
    return result;
}

static qgc_value *insert_const(converter *c, const char *suffix, const qgc_tensor *tensor)
{
    qgc_node *node =
        qgc_node_create(c->func, QGC_OP_CONST, 0, NULL, 1, c->observer, c->observer->loc);
    node->attrs[0] = (qgc_attr){.kind = QGC_ATTR_TENSOR, .tensor = tensor};
    node->constant = tensor;
    return finish(c, node, suffix, qgc_type_of_tensor(&c->env->context->types, tensor));
}

static qgc_tensor *new_tensor(converter *c, qgc_dtype dtype, uint32_t rank, const int64_t *shape,
                              size_t count)
{
    qgc_arena *arena = &c->func->module->arena;
    qgc_tensor *tensor = QGC_NEW(arena, qgc_tensor);
    tensor->dtype = dtype;
    tensor->rank = rank;
    memcpy(tensor->shape, shape, rank * sizeof *shape);
    tensor->bytes = count * qgc_dtype_bytes(dtype);
    tensor->data = qgc_arena_alloc(arena, tensor->bytes);
    return tensor;
}

static void set_params(const converter *c, qgc_node *node)
{
    const qgc_decision *d = c->decision;
    if (d->axis >= 0) {
        qgc_node_set_attr(node, "axis", qgc_attr_from_int(d->axis));
        return;
    }
    qgc_node_set_attr(node, "scale", qgc_attr_from_float(d->params[0].scale));
    qgc_node_set_attr(node, "zero_point", qgc_attr_from_int(d->params[0].zero_point));
}

/* ---- constants ---- */

static void store(qgc_tensor *tensor, size_t index, int32_t value)
{
    size_t bytes = qgc_dtype_bytes(tensor->dtype);
    memcpy((char *)tensor->data + index * bytes, &value, bytes); /* little-endian: the low bytes */
}

static void fold_constant(converter *c)
{
    const qgc_decision *d = c->decision;
    const qgc_tensor *data = d->constant;
    size_t count = qgc_tensor_count(data), inner = 1;
    qgc_tensor *q = new_tensor(c, d->spec->dtype, data->rank, data->shape, count);
    for (uint32_t i = (uint32_t)(d->axis + 1); d->axis >= 0 && i < data->rank; i++)
        inner *= (size_t)data->shape[i];
    for (size_t i = 0; i < count; i++) {
        qgc_qparams params = d->params[i / inner % d->num];
        store(
            q, i,
            qgc_quantize(((const float *)data->data)[i], params, d->range, QGC_QUANTIZE_MULTIPLY));
    }
    c->quantized = insert_const(c, "q", q);
}

/* Zero points that are all 0 are left out. */
static void insert_channel_params(converter *c)
{
    const qgc_decision *d = c->decision;
    int64_t num = d->num;
    bool any = false;
    qgc_tensor *scales = new_tensor(c, QGC_DTYPE_F32, 1, &num, d->num);
    qgc_tensor *zero_points = new_tensor(c, QGC_DTYPE_I32, 1, &num, d->num);
    for (uint32_t i = 0; i < d->num; i++) {
        ((float *)scales->data)[i] = d->params[i].scale;
        ((int32_t *)zero_points->data)[i] = d->params[i].zero_point;
        any |= d->params[i].zero_point != 0;
    }
    c->scales = insert_const(c, "scale", scales);
    if (any)
        c->zero_points = insert_const(c, "zero_point", zero_points);
}

/* ---- observers ---- */

static void insert_quantize(converter *c)
{
    const qgc_decision *d = c->decision;
    qgc_value *operands[] = {c->observer->operands[0].value, NULL, NULL};
    qgc_node *node =
        qgc_node_create(c->func, QGC_OP_QUANTIZE, 3, operands, 1, c->observer, c->observer->loc);
    qgc_int_range full;
    set_params(c, node);
    qgc_quant_dtype_range(d->spec->dtype, &full);
    int64_t range[] = {d->range.lo, d->range.hi};
    if (d->range.lo != full.lo || d->range.hi != full.hi)
        qgc_node_set_attr(node, "range", qgc_attr_from_ints(&c->func->module->arena, range, 2));
    c->quantized =
        finish(c, node, "q",
               qgc_type_with_dtype(&c->env->context->types, operands[0]->type, d->spec->dtype));
}

static qgc_value *insert_dequantize(converter *c)
{
    qgc_value *operands[] = {c->quantized, c->scales, c->zero_points};
    qgc_node *node =
        qgc_node_create(c->func, QGC_OP_DEQUANTIZE, 3, operands, 1, c->observer, c->observer->loc);
    set_params(c, node);
    return finish(c, node, "dq", c->observer->results[0].type);
}

/* Whether the use is one by an op that computes on quantized operands: it gets a dequantize of its
 * own, so that it can be lowered alone. */
static bool is_quantized_use(const qgc_use *use)
{
    uint32_t slot = (uint32_t)(use - use->user->operands);
    return qgc_node_op(use->user)->operands[qgc_node_operand_row(use->user, slot)].quant !=
           QGC_Q_NONE;
}

/* One dequantize for each op that computes, one for all other uses. */
static void replace_uses(converter *c)
{
    qgc_value *observed = &c->observer->results[0], *shared = NULL;
    while (observed->first_use) {
        qgc_use *use = observed->first_use;
        qgc_node *user = use->user;
        bool own = is_quantized_use(use);
        qgc_value *to = own || !shared ? insert_dequantize(c) : shared;
        if (!own)
            shared = to;
        qgc_node_set_operand(user, (uint32_t)(use - user->operands), to);
        for (uint32_t i = 0; own && i < user->num_operands; i++)
            if (user->operands[i].value == observed)
                qgc_node_set_operand(user, i, to);
    }
}

static void insert_fake_cast(converter *c)
{
    qgc_value *input = c->observer->operands[0].value;
    qgc_node *node =
        qgc_node_create(c->func, QGC_OP_FAKE_CAST, 1, &input, 1, c->observer, c->observer->loc);
    qgc_node_set_attr(node, "to", (qgc_attr){.kind = QGC_ATTR_DTYPE, .dtype = QGC_DTYPE_F16});
    qgc_value *result = finish(c, node, "f16", input->type);
    qgc_value_replace_uses(&c->observer->results[0], result);
}

static void convert_observer(converter *c)
{
    qgc_value *input = c->observer->operands[0].value;
    bool has_uses = c->observer->results[0].num_uses != 0;
    if (has_uses && c->decision->spec->dtype == QGC_DTYPE_F16) {
        insert_fake_cast(c);
    } else if (has_uses) {
        if (c->decision->constant)
            fold_constant(c);
        else
            insert_quantize(c);
        if (c->decision->axis >= 0)
            insert_channel_params(c);
        replace_uses(c);
    }
    qgc_node_erase(c->observer);
    if (c->decision->constant)
        qgc_erase_unused(input);
}

/* ---- warnings ---- */

/* max|w| of the channels that are furthest apart. */
static float channel_ratio(const qgc_tensor *data, uint32_t axis)
{
    size_t inner = 1, channels = (size_t)data->shape[axis], count = qgc_tensor_count(data);
    float least = INFINITY, most = 0;
    for (uint32_t i = axis + 1; i < data->rank; i++)
        inner *= (size_t)data->shape[i];
    for (size_t channel = 0; channel < channels; channel++) {
        float extreme = 0;
        for (size_t i = channel * inner; i < count; i += channels * inner)
            for (size_t k = 0; k < inner; k++)
                extreme = fmaxf(extreme, fabsf(((const float *)data->data)[i + k]));
        least = extreme > 0 && extreme < least ? extreme : least;
        most = extreme > most ? extreme : most;
    }
    return most > 0 ? most / least : 1;
}

static void warn_uneven(const converter *c)
{
    const qgc_decision *d = c->decision;
    const qgc_value *observed = &c->observer->results[0];
    if (!d->constant || !d->params || d->axis >= 0)
        return;
    for (const qgc_use *use = observed->first_use; use; use = use->next) {
        uint32_t row = qgc_node_operand_row(use->user, (uint32_t)(use - use->user->operands));
        const qgc_operand_spec *spec = &qgc_node_op(use->user)->operands[row];
        int64_t axis = spec->channel_axis + (spec->channel_axis < 0 ? d->constant->rank : 0);
        if (spec->quant != QGC_Q_WEIGHT || d->constant->rank < 2 || axis >= d->constant->rank)
            continue;
        float ratio = channel_ratio(d->constant, (uint32_t)axis);
        if (ratio > 16)
            qgc_report(&c->env->context->diag, c->observer->loc, QGC_D_UNEVEN_CHANNELS,
                       "%%%s has one scale, but the ranges of its channels differ %.0f times",
                       d->base->data, (double)ratio);
        return;
    }
}

static void convert_func(const qgc_pass_env *env, qgc_func *func, const qgc_map *decisions)
{
    for (qgc_node *node = func->first, *next; node; node = next) {
        next = node->next;
        if (node->op != QGC_OP_OBSERVE)
            continue;
        converter c = {env, func, node, qgc_map_get(decisions, node), NULL, NULL, NULL};
        warn_uneven(&c);
        convert_observer(&c);
    }
}

/* An option that is a number of at least 0. */
static bool read_number(const qgc_pass_env *env, int option, const char *name, double *out)
{
    if (qgc_parse_f64(qgc_str_from(env->options[option]), out) && *out >= 0)
        return true;
    qgc_report(&env->context->diag, QGC_NO_LOC, QGC_D_BAD_PIPELINE,
               "convert: %s=%s: expected a number of at least 0", name, env->options[option]);
    return false;
}

qgc_pass_status pass_convert(qgc_module *module, const qgc_pass_env *env)
{
    enum { METHOD, SHARING_DB, MAX_CLIPPED }; /* options */
    qgc_method method;
    qgc_cost_limits limits;
    qgc_map decisions = {.arena = env->scratch};
    if (!qgc_method_read(qgc_str_from(env->options[METHOD]), &method)) {
        qgc_report(&env->context->diag, QGC_NO_LOC, QGC_D_BAD_PIPELINE,
                   "method=%s: expected minmax, percentile:P with 0 < P <= 1, entropy or mse",
                   env->options[METHOD]);
        return QGC_PASS_FAILED;
    }
    if (!read_number(env, SHARING_DB, "sharing-db", &limits.sharing_db) ||
        !read_number(env, MAX_CLIPPED, "max-clipped", &limits.clipped) ||
        qgc_decide(module, &method, env->scratch, &decisions) != QGC_OK ||
        qgc_warn_costs(module, &method, &decisions, &limits, env->scratch) != QGC_OK)
        return QGC_PASS_FAILED;
    QGC_EACH_FUNC (func, module)
        convert_func(env, func, &decisions);
    module->stats.size = 0;
    return QGC_PASS_CHANGED;
}

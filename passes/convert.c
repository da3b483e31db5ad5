/* Observers become quantize and dequantize, weights integer constants. Requires form calibrated
 * (prepared where no observer needs data), provides quantized. Everything is decided before
 * anything changes. */
#include "base/number.h"
#include "passes/constants.h"
#include "passes/convert_nodes.h"
#include "passes/convert_warn.h"
#include "passes/provenance.h"
#include "passes/stubs.h"
#include "runtime/tensor.h"

#include <math.h>

/* ---- observers ---- */

static void insert_fake_cast(converter *c)
{
    qgc_value *input = c->observer->operands[0].value;
    qgc_node *node =
        qgc_node_create(c->func, QGC_OP_FAKE_CAST, 1, &input, 1, c->observer, c->observer->loc);
    qgc_node_set_attr(node, "to", (qgc_attr){.kind = QGC_ATTR_DTYPE, .dtype = QGC_DTYPE_F16});
    qgc_value *result = qgc_convert_finish(c, node, "f16", input->type);
    qgc_value_replace_uses(&c->observer->results[0], result);
}

/* choose_qparams; its results are the parameters of quantize and dequantize. */
static void convert_dynamic(converter *c)
{
    qgc_module *module = c->func->module;
    qgc_context *context = module->context;
    qgc_value *input = c->observer->operands[0].value;
    qgc_node *node = qgc_node_create(c->func, QGC_OP_CHOOSE_QPARAMS, 1, &input, 2, c->observer,
                                     c->observer->loc);
    qgc_spec *spec = QGC_NEW(&module->arena, qgc_spec);
    *spec = *c->decision->spec;
    spec->dynamic = false;
    qgc_node_set_attr(node, "spec", (qgc_attr){.kind = QGC_ATTR_SPEC, .spec = spec});
    node->results[1].type = qgc_type_get(&context->types, QGC_DTYPE_I32, 0, NULL);
    const char *name = qgc_arena_printf(c->env->scratch, "%s.zero_point", c->decision->base->data);
    c->scales =
        qgc_convert_finish(c, node, "scale", qgc_type_get(&context->types, QGC_DTYPE_F32, 0, NULL));
    c->zero_points = &node->results[1];
    qgc_value_set_name(c->func, c->zero_points, qgc_func_unique_name(c->func, qgc_str_from(name)));
    qgc_convert_quantize(c);
    qgc_convert_uses(c);
}

static void convert_observer(converter *c)
{
    qgc_value *input = c->observer->operands[0].value;
    bool has_uses = c->observer->results[0].num_uses != 0;
    if (has_uses && c->decision->spec->dtype == QGC_DTYPE_F16) {
        insert_fake_cast(c);
    } else if (has_uses && c->decision->spec->dynamic) {
        convert_dynamic(c);
    } else if (has_uses) {
        if (c->decision->constant)
            qgc_convert_fold(c);
        else
            qgc_convert_quantize(c);
        if (c->decision->axis >= 0)
            qgc_convert_channels(c);
        qgc_convert_uses(c);
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

/* Boundaries have done their work; one that is returned keeps the output's name. */
static void remove_stub(qgc_node *node)
{
    qgc_value *result = &node->results[0];
    for (const qgc_use *use = result->first_use; use; use = use->next)
        if (qgc_node_op(use->user)->traits & QGC_TRAIT_TERMINATOR)
            return;
    qgc_value_replace_uses(result, node->operands[0].value);
    qgc_node_erase(node);
}

static qgc_result convert_func(const qgc_pass_env *env, qgc_func *func, const qgc_map *decisions)
{
    for (qgc_node *node = func->first, *next; node; node = next) {
        next = node->next;
        qgc_opcode op = node->op;
        if (qgc_is_stub(node))
            remove_stub(node);
        else if (op == QGC_OP_FAKE_QUANT)
            QGC_TRY(qgc_convert_fake_quant(env, node));
        if (op != QGC_OP_OBSERVE)
            continue;
        converter c = {
            .env = env, .func = func, .observer = node, .decision = qgc_map_get(decisions, node)};
        warn_uneven(&c);
        convert_observer(&c);
    }
    return QGC_OK;
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
    if (module->form == QGC_FORM_FLOAT && !qgc_has_fake_quant(module)) {
        qgc_report(
            &env->context->diag, QGC_NO_LOC, QGC_D_BAD_FORM,
            "convert needs a graph of form prepared or calibrated, here it is float and has no "
            "fake_quant (run prepare first)");
        return QGC_PASS_FAILED;
    }
    if (!read_number(env, SHARING_DB, "sharing-db", &limits.sharing_db) ||
        !read_number(env, MAX_CLIPPED, "max-clipped", &limits.clipped) ||
        qgc_decide(module, &method, env->scratch, &decisions) != QGC_OK ||
        qgc_warn_costs(module, &method, &decisions, &limits, env->scratch) != QGC_OK)
        return QGC_PASS_FAILED;
    QGC_EACH_FUNC (func, module)
        if (convert_func(env, func, &decisions) != QGC_OK)
            return QGC_PASS_FAILED;
    module->stats.size = 0;
    qgc_provenance_set_method(module, env->options[METHOD]);
    return QGC_PASS_CHANGED;
}

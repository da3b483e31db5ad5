#include "passes/sens_trial.h"

#include "passes/observers.h"
#include "passes/recorders.h"
#include "runtime/tensor.h"

#include <math.h>
#include <string.h>

/* ---- candidates ---- */

static const char *op_of(const qgc_candidate *c)
{
    const qgc_node *observer = c->observers.data[0];
    if (!c->decision->constant)
        return c->value->def ? qgc_node_op(c->value->def)->mnemonic : "input";
    const qgc_use *use = observer->results[0].first_use;
    return use ? qgc_node_op(use->user)->mnemonic : "";
}

static qgc_candidate *new_candidate(qgc_trials *t, const qgc_node *observer)
{
    qgc_candidate *c = QGC_NEW(t->arena, qgc_candidate);
    qgc_text text = {.arena = t->arena};
    c->value = qgc_observed_value(observer);
    c->decision = qgc_map_get(&t->decisions, observer);
    c->constants.arena = c->funcs.arena = t->arena;
    qgc_func_name_print(&text, qgc_value_func(t->module, c->value)->name);
    qgc_text_putc(&text, '.');
    qgc_value_name_print(&text, c->value->name);
    c->text = qgc_context_name(t->module->context, text.data);
    c->position = t->list.size;
    qgc_vec_push(t->arena, &t->list, c);
    return c;
}

static void list_candidates(qgc_trials *t)
{
    qgc_map of_value = {.arena = t->arena};
    QGC_EACH_FUNC (func, t->module)
        QGC_EACH_NODE (node, func) {
            if (node->op != QGC_OP_OBSERVE || !node->results[0].num_uses)
                continue;
            void **slot = qgc_map_at(&of_value, qgc_observed_value(node));
            if (!*slot)
                *slot = new_candidate(t, node);
            qgc_candidate *c = *slot;
            qgc_vec_push(t->arena, &c->observers, node);
            *qgc_map_at(&t->of_observer, node) = c;
        }
    for (size_t i = 0; i < t->list.size; i++)
        t->list.data[i]->op = op_of(t->list.data[i]);
}

qgc_result qgc_trials_init(qgc_trials *t, qgc_module *module, qgc_func *func, const char *text,
                           qgc_arena *arena)
{
    qgc_method method;
    qgc_diag *diag = &module->context->diag;
    *t = (qgc_trials){.module = module,
                      .func = func,
                      .arena = arena,
                      .decisions = {.arena = arena},
                      .of_observer = {.arena = arena},
                      .cache = {.arena = arena}};
    if (!qgc_method_read(qgc_str_from(text), &method))
        return qgc_report(
            diag, QGC_NO_LOC, QGC_D_USAGE,
            "method %s: expected minmax, percentile:P with 0 < P <= 1, entropy or mse", text);
    if (module->form != QGC_FORM_PREPARED && module->form != QGC_FORM_CALIBRATED)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_BAD_FORM,
                          "one value is quantized in a graph of form calibrated, here it is %s",
                          qgc_form_name(module->form));
    QGC_TRY(qgc_decide(module, &method, arena, &t->decisions));
    list_candidates(t);
    return QGC_OK;
}

/* ---- the quantized value ---- */

static void quantize_integers(const qgc_decision *d, const qgc_tensor *from, float *out)
{
    size_t inner = 1, count = qgc_tensor_count(from);
    const float *x = from->data;
    for (uint32_t i = (uint32_t)(d->axis + 1); d->axis >= 0 && i < from->rank; i++)
        inner *= (size_t)from->shape[i];
    for (size_t i = 0; i < count; i++)
        out[i] = qgc_fake_quant(x[i], d->params[i / inner % d->num], d->range, d->mode);
}

static void quantize_dynamic(const qgc_decision *d, const qgc_tensor *from, float *out)
{
    qgc_quant_spec spec = qgc_spec_quant(d->spec);
    qgc_qparams params = {1, 0};
    size_t count = qgc_tensor_count(from);
    const float *x = from->data;
    qgc_choose_qparams(&spec, x, count, &params);
    for (size_t i = 0; i < count; i++)
        out[i] = qgc_fake_quant(x[i], params, spec.range, QGC_QUANTIZE_MULTIPLY);
}

/* As convert: quantize and dequantize, or fake_cast. */
static qgc_result quantize(qgc_trials *t, const qgc_decision *d, const qgc_tensor *from,
                           qgc_tensor *out)
{
    QGC_TRY(qgc_tensor_copy(&t->module->context->diag, from, out));
    float *values = out->data;
    if (from->dtype != QGC_DTYPE_F32)
        return QGC_OK; /* stays: annotate gives such values no spec */
    if (d->spec->dtype == QGC_DTYPE_F16)
        for (size_t i = 0; i < qgc_tensor_count(from); i++)
            values[i] = qgc_fake_cast_f16(values[i]);
    else if (d->spec->dynamic || !d->params)
        quantize_dynamic(d, from, values);
    else
        quantize_integers(d, from, values);
    return QGC_OK;
}

/* ---- cones ---- */

/* Whether |func|, or one that it calls, is changed for the candidate. */
static bool reaches(const qgc_func *func, const qgc_map *changed)
{
    if (qgc_map_get(changed, func))
        return true;
    QGC_EACH_NODE (node, func) {
        bool calls = qgc_node_op(node)->traits & QGC_TRAIT_CALL;
        const qgc_func *callee =
            calls ? qgc_module_find_func(func->module, node->attrs[0].name) : NULL;
        if (callee && reaches(callee, changed))
            return true;
    }
    return false;
}

static bool is_seed(const qgc_trials *t, const qgc_candidate *c, const qgc_node *node)
{
    if (node->op == QGC_OP_OBSERVE)
        return qgc_map_get(&t->of_observer, node) == c;
    if (!(qgc_node_op(node)->traits & QGC_TRAIT_CALL))
        return false;
    return reaches(qgc_module_find_func(t->module, node->attrs[0].name), &c->funcs);
}

static void find_cone(qgc_trials *t, qgc_candidate *c)
{
    c->is_in_cone = QGC_NEW_ARRAY(t->arena, bool, qgc_func_number(t->func));
    QGC_EACH_NODE (node, t->func) {
        bool is_in = is_seed(t, c, node);
        for (uint32_t i = 0; i < node->num_operands && !is_in; i++) {
            const qgc_value *value = qgc_node_operand(node, i);
            is_in = value && value->def && c->is_in_cone[value->def->id];
        }
        c->is_in_cone[node->id] = is_in;
    }
}

static void find_constants(qgc_trials *t, qgc_candidate *c, const qgc_node *observer)
{
    const qgc_decision *d = qgc_map_get(&t->decisions, observer);
    const qgc_outlined_constant *at = qgc_map_get(&t->outline.constants, observer);
    for (; at; at = at->next) {
        qgc_tensor *tensor = QGC_NEW(t->arena, qgc_tensor);
        if (quantize(t, d, at->constant->constant, tensor) != QGC_OK)
            t->result = QGC_FAILED;
        *qgc_map_at(&c->constants, at->constant) = tensor;
        *qgc_map_at(&c->funcs, at->constant->func) = at->constant->func;
    }
}

static bool is_seen(void *user, const qgc_value *value)
{
    (void)user;
    (void)value;
    return false; /* observers, which stay, see what has to be seen */
}

void qgc_trials_outline(qgc_trials *t)
{
    qgc_arena scratch = {0};
    t->outline.is_kept = is_seen;
    qgc_outline_all(t->module, &t->outline, &scratch);
    qgc_arena_destroy(&scratch);
    for (size_t i = 0; i < t->list.size; i++) {
        qgc_candidate *c = t->list.data[i];
        for (size_t k = 0; k < c->observers.size; k++) {
            const qgc_node *observer = c->observers.data[k];
            find_constants(t, c, observer);
            *qgc_map_at(&c->funcs, observer->func) = observer->func;
        }
        *qgc_map_at(&c->funcs, t->func) = NULL; /* its nodes are looked at one by one */
        find_cone(t, c);
    }
}

/* ---- running ---- */

static bool execute(void *user, const qgc_execution *x, qgc_result *out_result)
{
    const qgc_trials *t = user;
    if (!t->engine || (t->current && qgc_map_get(&t->current->funcs, x->func)))
        return false;
    return t->engine->execute(t->engine->user, x, out_result);
}

static void watch(void *user, const qgc_node *call, const qgc_value *value,
                  const qgc_tensor *tensor)
{
    qgc_trials *t = user;
    if (call || !value->def || value->def->constant)
        return;
    qgc_tensor **slot = (qgc_tensor **)qgc_map_at(&t->cache, value);
    if (!*slot)
        *slot = QGC_NEW(t->arena, qgc_tensor);
    qgc_tensor_destroy(*slot);
    if (qgc_tensor_copy(&t->module->context->diag, tensor, *slot) != QGC_OK)
        t->result = QGC_FAILED;
}

qgc_result qgc_trials_run_float(qgc_trials *t, const qgc_tensor *inputs, qgc_tensor *outputs)
{
    qgc_engine engine = {execute, t};
    qgc_interp_options options = {.engine = &engine, .watch = watch, .user = t};
    t->current = NULL;
    QGC_TRY(qgc_interp_run(t->func, inputs, outputs, &options));
    return t->result;
}

static bool from_cache(qgc_trials *t, const qgc_node *node, qgc_tensor *results)
{
    if (node->func != t->func || t->current->is_in_cone[node->id] || !node->num_results)
        return false;
    for (uint32_t i = 0; i < node->num_results; i++) {
        const qgc_tensor *known = qgc_map_get(&t->cache, &node->results[i]);
        if (!known)
            return false; /* a constant */
        results[i] = *known;
    }
    return true;
}

static bool substitute(void *user, const qgc_node *node, const qgc_tensor *const *operands,
                       qgc_tensor *results)
{
    qgc_trials *t = user;
    const qgc_tensor *constant = qgc_map_get(&t->current->constants, node);
    if (constant) {
        results[0] = *constant;
        return true;
    }
    if (node->op != QGC_OP_OBSERVE || qgc_map_get(&t->of_observer, node) != t->current)
        return from_cache(t, node, results);
    qgc_tensor made = {0};
    if (quantize(t, qgc_map_get(&t->decisions, node), operands[0], &made) != QGC_OK) {
        t->result = QGC_FAILED;
        return false;
    }
    qgc_vec_push(t->arena, &t->made, made);
    results[0] = made;
    return true;
}

static void drop_made(qgc_trials *t)
{
    for (size_t i = 0; i < t->made.size; i++)
        qgc_tensor_destroy(&t->made.data[i]);
    t->made.size = 0;
}

qgc_result qgc_trials_run(qgc_trials *t, const qgc_candidate *candidate, const qgc_tensor *inputs,
                          qgc_tensor *outputs)
{
    qgc_engine engine = {execute, t};
    qgc_interp_options options = {.engine = &engine, .substitute = substitute, .user = t};
    t->current = candidate;
    qgc_result result = qgc_interp_run(t->func, inputs, outputs, &options);
    drop_made(t);
    return result == QGC_OK ? t->result : QGC_FAILED;
}

/* ---- the value itself ---- */

static double noise(const qgc_tensor *a, const qgc_tensor *b)
{
    double signal = 0, error = 0;
    for (size_t i = 0; i < qgc_tensor_count(a); i++) {
        double x = (double)((const float *)a->data)[i], y = (double)((const float *)b->data)[i];
        signal += x * x;
        error += (y - x) * (y - x);
    }
    return error == 0 ? 0 : signal > 0 ? error / signal : INFINITY;
}

double qgc_trials_own_noise(qgc_trials *t, const qgc_candidate *c)
{
    qgc_tensor made = {0};
    const qgc_tensor *value =
        c->decision->constant ? c->decision->constant : qgc_map_get(&t->cache, c->value);
    double result = INFINITY;
    if (!value || value->dtype != QGC_DTYPE_F32)
        return INFINITY;
    if (quantize(t, c->decision, value, &made) == QGC_OK)
        result = noise(value, &made);
    qgc_tensor_destroy(&made);
    return result;
}

void qgc_trials_destroy(qgc_trials *t)
{
    for (size_t i = 0; i < t->cache.capacity; i++)
        if (t->cache.keys[i] && t->cache.values[i])
            qgc_tensor_destroy(t->cache.values[i]);
    for (size_t i = 0; i < t->list.size; i++)
        for (size_t k = 0; k < t->list.data[i]->constants.capacity; k++)
            if (t->list.data[i]->constants.keys[k] && t->list.data[i]->constants.values[k])
                qgc_tensor_destroy(t->list.data[i]->constants.values[k]);
    drop_made(t);
    qgc_engine_destroy(t->engine);
}

/* qgc_module_verify_backend: one module runs on the reference; where it calls a region, each of the
 * backend's kernels runs on the operands that the reference has computed. */
#include "qgc/verify.h"

#include "codegen/foreign.h"
#include "qgc/pass.h"
#include "runtime/interp.h"
#include "runtime/interp_feed.h"
#include "runtime/ref/ref.h"
#include "runtime/tensor.h"

#include <math.h>
#include <string.h>

/* What is known of one op after all data. */
typedef struct tally {
    const qgc_foreign *foreign;
    size_t index;
    uint64_t elements, differing;
    double worst; /* steps; of float results the share of the largest |reference| */
    bool is_quantized, is_beyond;
    size_t at; /* the first element beyond, and what it is */
    double found, expected;
} tally;

typedef struct verifier {
    qgc_context *context;
    qgc_arena arena;
    const qgc_backend *backend;
    QGC_VEC(qgc_foreign *) foreign;
    qgc_map by_name; /* name of a function -> qgc_foreign */
    QGC_VEC(tally *) tallies;
    qgc_verify_report *report;
    qgc_result result; /* of what runs below the interpreter */
} verifier;

/* ---- the values that the reference computes ---- */

typedef struct capture {
    qgc_arena arena;
    qgc_map values; /* name -> qgc_tensor * */
} capture;

static void watch(void *user, const qgc_node *call, const qgc_value *value,
                  const qgc_tensor *tensor)
{
    capture *c = user;
    (void)call;
    qgc_tensor *copy = QGC_NEW(&c->arena, qgc_tensor);
    *copy = *tensor;
    copy->data = qgc_arena_alloc(&c->arena, tensor->bytes + 64);
    copy->data = (void *)(((uintptr_t)copy->data + 63) / 64 * 64);
    if (tensor->bytes)
        memcpy(copy->data, tensor->data, tensor->bytes);
    c->values.arena = &c->arena;
    *qgc_map_at(&c->values, value->name) = copy;
}

/* A value of the region as the reference has it; constants it may have folded otherwise. */
static const qgc_tensor *find(const capture *c, const qgc_value *value)
{
    const qgc_tensor *found = qgc_map_get(&c->values, value->name);
    if (found && found->dtype == value->type->dtype)
        return found;
    return value->def ? value->def->constant : NULL;
}

/* ---- comparing ---- */

static double largest(const qgc_tensor *t)
{
    double most = 0;
    size_t num = qgc_tensor_count(t);
    for (size_t i = 0; i < num; i++) {
        double value = fabs((double)qgc_get_f32(t, i));
        most = isfinite(value) && value > most ? value : most;
    }
    return most;
}

static double difference(const qgc_tensor *a, const qgc_tensor *b, size_t i, double unit)
{
    if (qgc_dtype_get_kind(a->dtype) != QGC_FLOAT)
        return fabs((double)qgc_get_int(a, i) - (double)qgc_get_int(b, i));
    double x = (double)qgc_get_f32(a, i), y = (double)qgc_get_f32(b, i);
    if (x == y || (isnan(x) && isnan(y)))
        return 0;
    double d = fabs(x - y) / (unit > 0 ? unit : 1);
    return isnan(d) ? INFINITY : d;
}

static double value_at(const qgc_tensor *t, size_t i)
{
    return qgc_dtype_get_kind(t->dtype) == QGC_FLOAT ? (double)qgc_get_f32(t, i)
                                                     : (double)qgc_get_int(t, i);
}

static void compare(verifier *v, tally *t, const qgc_tensor *found, const qgc_tensor *expected)
{
    size_t num = qgc_tensor_count(found);
    t->is_quantized = qgc_dtype_get_kind(found->dtype) != QGC_FLOAT;
    double unit = t->is_quantized ? 1 : largest(expected);
    double allowed =
        t->is_quantized ? v->backend->tolerance_steps : (double)v->backend->tolerance_float;
    t->elements += num;
    v->report->quantized += t->is_quantized ? num : 0;
    for (size_t i = 0; i < num; i++) {
        double d = difference(found, expected, i, unit);
        t->differing += d > 0;
        v->report->off_by_one += t->is_quantized && d == 1;
        t->worst = d > t->worst ? d : t->worst;
        if (d <= allowed || t->is_beyond)
            continue;
        t->is_beyond = true;
        t->at = i;
        t->found = value_at(found, i);
        t->expected = value_at(expected, i);
    }
}

/* ---- one op ---- */

static qgc_result missing(verifier *v, const qgc_value *value)
{
    return qgc_report(&v->context->diag, value->loc, QGC_D_RUN_FAILED,
                      "the reference computes no %%%s", value->name->data);
}

static qgc_result make_output(verifier *v, const qgc_tensor *like, qgc_tensor *out)
{
    return qgc_tensor_create(&v->context->diag, like->dtype, like->rank, like->shape, out);
}

static qgc_result run_op(verifier *v, tally *t, const capture *c, const void **in, void **out,
                         qgc_tensor *results)
{
    const qgc_foreign *f = t->foreign;
    uint32_t num_inputs = qgc_foreign_num_inputs(f, t->index);
    uint32_t num_outputs = qgc_foreign_num_outputs(f, t->index);
    for (uint32_t i = 0; i < num_inputs; i++) {
        const qgc_value *value = qgc_foreign_input(f, t->index, i);
        const qgc_tensor *input = find(c, value);
        if (!input)
            return missing(v, value);
        in[i] = input->data;
    }
    for (uint32_t i = 0; i < num_outputs; i++) {
        const qgc_value *value = qgc_foreign_output(f, t->index, i);
        const qgc_tensor *expected = find(c, value);
        if (!expected)
            return missing(v, value);
        QGC_TRY(make_output(v, expected, &results[i]));
        out[i] = results[i].data;
    }
    QGC_TRY(qgc_foreign_run_op(f, t->index, in, out));
    for (uint32_t i = 0; i < num_outputs; i++)
        compare(v, t, &results[i], find(c, qgc_foreign_output(f, t->index, i)));
    return QGC_OK;
}

static qgc_result verify_op(verifier *v, tally *t, const capture *c)
{
    qgc_arena scratch = {0};
    uint32_t num_inputs = qgc_foreign_num_inputs(t->foreign, t->index);
    uint32_t num_outputs = qgc_foreign_num_outputs(t->foreign, t->index);
    qgc_tensor *results = QGC_NEW_ARRAY(&scratch, qgc_tensor, num_outputs);
    qgc_result result = run_op(v, t, c, QGC_NEW_ARRAY(&scratch, const void *, num_inputs),
                               QGC_NEW_ARRAY(&scratch, void *, num_outputs), results);
    for (uint32_t i = 0; i < num_outputs; i++)
        qgc_tensor_destroy(&results[i]);
    qgc_arena_destroy(&scratch);
    return result;
}

/* ---- regions ---- */

static qgc_result verify_region(verifier *v, const qgc_foreign *f, const qgc_func *func,
                                const qgc_tensor *inputs, qgc_tensor *outputs)
{
    capture c = {0};
    qgc_result result =
        qgc_interp_run(func, inputs, outputs, &(qgc_interp_options){.watch = watch, .user = &c});
    for (size_t i = 0; i < v->tallies.size && result == QGC_OK; i++)
        if (v->tallies.data[i]->foreign == f)
            v->result = verify_op(v, v->tallies.data[i], &c) == QGC_OK ? v->result : QGC_FAILED;
    qgc_arena_destroy(&c.arena);
    return result;
}

/* A qgc_execute: the function is of the reference. */
static bool execute(void *user, const qgc_execution *x, qgc_result *out_result)
{
    verifier *v = user;
    const qgc_foreign *f = qgc_map_get(&v->by_name, x->func->name);
    if (!f)
        return false;
    *out_result = verify_region(v, f, x->func, x->inputs, x->outputs);
    return true;
}

/* ---- the two modules ---- */

static qgc_result run_passes(qgc_module *module, const char *passes)
{
    return qgc_pipeline_run(module, passes, &(qgc_pipeline_options){.verify_each = true});
}

static qgc_result prepare(verifier *v, qgc_module *module, const char *target, bool is_reference)
{
    const char *partition = qgc_arena_printf(&v->arena, "partition{target=%s}", target);
    if (module->form < QGC_FORM_PARTITIONED)
        QGC_TRY(run_passes(module, partition));
    if (!is_reference)
        return QGC_OK;
    module->form = QGC_FORM_PARTITIONED; /* what is lowered already stays as it is */
    return run_passes(module, "lower-integer{all=true}");
}

static void add_tallies(verifier *v, const qgc_foreign *f)
{
    for (size_t i = 0; i < qgc_foreign_num_ops(f); i++) {
        tally *t = QGC_NEW(&v->arena, tally);
        *t = (tally){.foreign = f, .index = i};
        qgc_vec_push(&v->arena, &v->tallies, t);
    }
}

static qgc_result lower_all(verifier *v, const qgc_module *module, const char *target)
{
    const qgc_level *level = qgc_level_find(qgc_str_from("native"));
    qgc_name name = qgc_context_name(v->context, target);
    v->by_name.arena = &v->arena;
    QGC_EACH_FUNC (func, module) {
        if (func->target != name)
            continue;
        qgc_foreign *f = qgc_foreign_create(func, level);
        if (!f)
            return qgc_report(&v->context->diag, func->loc, QGC_D_RUN_FAILED,
                              "the target '%s' does not lower region @%s", target,
                              func->name->data);
        v->backend = qgc_foreign_backend(f);
        qgc_vec_push(&v->arena, &v->foreign, f);
        *qgc_map_at(&v->by_name, func->name) = f;
        add_tallies(v, f);
    }
    if (v->foreign.size)
        return QGC_OK;
    return qgc_report(&v->context->diag, QGC_NO_LOC, QGC_D_RUN_FAILED,
                      "the graph has no region for target '%s'", target);
}

/* ---- data ---- */

static qgc_result run_batch(verifier *v, const qgc_func *func, const qgc_tensor *inputs)
{
    qgc_arena scratch = {0};
    struct qgc_engine engine = {execute, v};
    qgc_tensor *outputs = QGC_NEW_ARRAY(&scratch, qgc_tensor, func->num_results);
    qgc_result result =
        qgc_interp_run(func, inputs, outputs, &(qgc_interp_options){.engine = &engine});
    for (uint32_t i = 0; i < func->num_results && result == QGC_OK; i++)
        qgc_tensor_destroy(&outputs[i]);
    qgc_arena_destroy(&scratch);
    return result == QGC_OK ? v->result : result;
}

static qgc_result run_feed(verifier *v, const qgc_func *func, qgc_feed *feed,
                           const qgc_verify_options *options)
{
    size_t num, total = qgc_feed_end(feed) - qgc_feed_begin(feed);
    qgc_tensor *inputs = QGC_NEW_ARRAY(&v->arena, qgc_tensor, func->num_params);
    for (;;) {
        QGC_TRY(qgc_feed_next(feed, inputs, &num));
        if (!num)
            return QGC_OK;
        QGC_TRY(run_batch(v, func, inputs));
        v->report->samples += num;
        if (options->progress)
            options->progress(options->user, v->report->samples, total);
    }
}

static qgc_result run_data(verifier *v, const qgc_module *reference, const qgc_samples *samples,
                           const qgc_verify_options *options)
{
    qgc_func *func;
    qgc_feed *feed = NULL;
    QGC_TRY(qgc_module_require_func(reference, options->func, &func));
    qgc_result result = qgc_feed_open(func, samples, &feed);
    if (result == QGC_OK)
        result = run_feed(v, func, feed, options);
    qgc_feed_close(feed);
    return result;
}

/* ---- the report ---- */

static const char *tally_name(verifier *v, const tally *t)
{
    const qgc_view *view = qgc_foreign_view(t->foreign, t->index);
    return qgc_arena_printf(&v->arena, "@%s.%%%s", view->op->func->name->data,
                            view->result->name->data);
}

static void print_tally(verifier *v, const tally *t, FILE *out)
{
    const qgc_view *view = qgc_foreign_view(t->foreign, t->index);
    const char *worst =
        t->is_quantized
            ? qgc_arena_printf(&v->arena, t->worst == 1 ? "%.0f step" : "%.0f steps", t->worst)
            : qgc_arena_printf(&v->arena, "%.3g", t->worst);
    fprintf(out, "%-40s %-16s %11llu %11llu %12s%s\n", tally_name(v, t),
            qgc_node_op(view->op)->mnemonic, (unsigned long long)t->elements,
            (unsigned long long)t->differing, worst, t->is_beyond ? "  beyond" : "");
}

static void warn_first(verifier *v, const tally *t)
{
    const qgc_view *view = qgc_foreign_view(t->foreign, t->index);
    const char *allowed =
        t->is_quantized
            ? qgc_arena_printf(&v->arena, "%d steps", (int)v->backend->tolerance_steps)
            : qgc_arena_printf(&v->arena, "%g of the largest", (double)v->backend->tolerance_float);
    qgc_report(&v->context->diag, view->op->loc, QGC_D_BEYOND_TOLERANCE,
               "%s: the first op beyond the tolerance (%s) is %s to %%%s: element %zu is %.9g, the "
               "reference has %.9g",
               v->backend->name, allowed, qgc_node_op(view->op)->mnemonic, view->result->name->data,
               t->at, t->found, t->expected);
}

static void finish(verifier *v, const qgc_verify_options *options, FILE *out)
{
    const tally *first = NULL;
    bool has_title = false;
    for (size_t i = 0; i < v->tallies.size; i++) {
        const tally *t = v->tallies.data[i];
        v->report->elements += t->elements;
        v->report->differing += t->differing;
        v->report->ops_beyond += t->is_beyond;
        first = !first && t->is_beyond ? t : first;
        if (!options->all && !t->differing)
            continue;
        if (!has_title)
            fprintf(out, "%-40s %-16s %11s %11s %12s\n", "value", "op", "elements", "differing",
                    "worst");
        has_title = true;
        print_tally(v, t, out);
    }
    v->report->regions = v->foreign.size;
    v->report->ops = v->tallies.size;
    if (first)
        warn_first(v, first);
}

qgc_result qgc_module_verify_backend(qgc_module *module, qgc_module *reference, const char *target,
                                     const qgc_samples *samples, const qgc_verify_options *options,
                                     FILE *out, qgc_verify_report *report)
{
    verifier v = {.context = module->context, .report = report};
    *report = (qgc_verify_report){0};
    qgc_result result = prepare(&v, module, target, false);
    if (result == QGC_OK)
        result = prepare(&v, reference, target, true);
    if (result == QGC_OK)
        result = lower_all(&v, module, target);
    if (result == QGC_OK)
        result = run_data(&v, reference, samples, options);
    if (result == QGC_OK)
        finish(&v, options, out);
    for (size_t i = 0; i < v.foreign.size; i++)
        qgc_foreign_destroy(v.foreign.data[i]);
    qgc_arena_destroy(&v.arena);
    return result;
}

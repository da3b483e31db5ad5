#include "qgc/eval.h"

#include "ir/macs.h"
#include "runtime/interp.h"
#include "runtime/interp_mismatch.h"
#include "runtime/interp_observed.h"
#include "runtime/labels.h"
#include "runtime/ref/ref.h"

#include <math.h>
#include <string.h>
#include <time.h>

typedef struct evaluator {
    qgc_module *module;
    const qgc_eval_options *options;
    const qgc_func *func, *reference;
    qgc_arena arena;
    qgc_feed *feed;
    qgc_labels *labels;
    qgc_scores scores; /* of this batch */
    qgc_eval_report report;
    double squares, peak; /* sum of squared errors, largest |reference| */
    size_t elements;
} evaluator;

static qgc_diag *diag_of(const evaluator *e)
{
    return &e->module->context->diag;
}

static bool has_nan(const qgc_tensor *t, size_t first, size_t num)
{
    for (size_t i = first; i < first + num; i++)
        if (isnan(qgc_get_f64(t, i)))
            return true;
    return false;
}

static qgc_result judge_labels(evaluator *e, const qgc_tensor *scores)
{
    int64_t *labels;
    QGC_TRY(qgc_labels_next(e->labels, &e->scores, &e->arena, &labels));
    for (size_t i = 0; i < e->scores.samples * e->scores.positions; i++) {
        size_t rank = qgc_scores_rank(&e->scores, scores, i, (size_t)labels[i]);
        e->report.top1 += rank < 1;
        e->report.top5 += rank < 5;
    }
    size_t each = qgc_tensor_count(scores) / e->scores.samples;
    for (size_t i = 0; i < e->scores.samples; i++)
        e->report.nan_samples += has_nan(scores, i * each, each);
    return QGC_OK;
}

/* The sums are of what is finite in both. */
static void judge_error(evaluator *e, double ours, double theirs, size_t sample, size_t element)
{
    double error = ours - theirs;
    if (qgc_is_mismatch(ours, theirs))
        qgc_mismatch_add(&e->report.broken, ours, theirs, sample, element);
    if (!isfinite(ours) || !isfinite(theirs))
        return;
    e->squares += error * error;
    e->peak = fmax(e->peak, fabs(theirs));
    e->report.max_abs = fmax(e->report.max_abs, fabs(error));
}

static void judge_errors(evaluator *e, const qgc_tensor *ours, const qgc_tensor *theirs)
{
    size_t num = qgc_tensor_count(ours), each = num / e->scores.samples;
    for (size_t i = 0; i < num; i++)
        judge_error(e, qgc_get_f64(ours, i), qgc_get_f64(theirs, i), e->report.samples + i / each,
                    i % each);
    e->report.agree += qgc_scores_count_equal(&e->scores, ours, theirs);
    e->elements += num;
}

static qgc_result check_scores(const evaluator *e, const qgc_func *func, const qgc_tensor *scores,
                               size_t num)
{
    size_t count = qgc_tensor_count(scores);
    if (scores->rank && (size_t)scores->shape[0] == num && count)
        return QGC_OK;
    return qgc_report(diag_of(e), func->loc, QGC_D_BAD_INPUT,
                      "the first result of @%s is %s[%s], expected scores of %zu samples",
                      func->name->data, qgc_dtype_name(scores->dtype),
                      qgc_shape_text(&e->module->context->arena, scores->rank, scores->shape), num);
}

static qgc_result check_alike(const evaluator *e, const qgc_tensor *ours, const qgc_tensor *theirs)
{
    qgc_arena *arena = &e->module->context->arena;
    qgc_scores a = qgc_scores_of(ours), b = qgc_scores_of(theirs);
    if (a.classes == b.classes && a.positions == b.positions && a.stride == b.stride)
        return QGC_OK;
    return qgc_report(diag_of(e), e->reference->loc, QGC_D_BAD_INPUT,
                      "the graphs give results of %s and %s",
                      qgc_shape_text(arena, ours->rank, ours->shape),
                      qgc_shape_text(arena, theirs->rank, theirs->shape));
}

static qgc_result judge_reference(evaluator *e, const qgc_tensor *inputs, const qgc_tensor *scores,
                                  size_t num)
{
    qgc_tensor *theirs = QGC_NEW_ARRAY(&e->arena, qgc_tensor, e->reference->num_results);
    qgc_interp_options options = {.engine = e->options->reference_engine};
    QGC_TRY(qgc_interp_run(e->reference, inputs, theirs, &options));
    qgc_result result = check_scores(e, e->reference, &theirs[0], num);
    if (result == QGC_OK)
        result = check_alike(e, scores, &theirs[0]);
    if (result == QGC_OK)
        judge_errors(e, scores, &theirs[0]);
    for (uint32_t i = 0; i < e->reference->num_results; i++)
        qgc_tensor_destroy(&theirs[i]);
    return result;
}

static qgc_result judge(evaluator *e, const qgc_tensor *inputs, const qgc_tensor *scores,
                        size_t num)
{
    QGC_TRY(check_scores(e, e->func, scores, num));
    QGC_TRY(qgc_labels_fit(e->labels, e->func, scores, &e->scores));
    e->report.classes = e->scores.classes;
    e->report.answers += e->scores.samples * e->scores.positions;
    if (e->labels)
        QGC_TRY(judge_labels(e, scores));
    return e->reference ? judge_reference(e, inputs, scores, num) : QGC_OK;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static qgc_result run_batch(evaluator *e, const qgc_tensor *inputs, size_t num)
{
    qgc_tensor *outputs = QGC_NEW_ARRAY(&e->arena, qgc_tensor, e->func->num_results);
    qgc_interp_options options = {.engine = e->options->engine};
    double start = now();
    QGC_TRY(qgc_interp_run(e->func, inputs, outputs, &options));
    e->report.seconds += now() - start;
    qgc_result result = judge(e, inputs, &outputs[0], num);
    for (uint32_t i = 0; i < e->func->num_results; i++)
        qgc_tensor_destroy(&outputs[i]);
    return result;
}

static qgc_result run_all(evaluator *e)
{
    qgc_tensor *inputs = QGC_NEW_ARRAY(&e->arena, qgc_tensor, e->func->num_params);
    size_t total = qgc_feed_end(e->feed) - qgc_feed_begin(e->feed), num;
    do {
        qgc_arena_mark mark = qgc_arena_get_mark(&e->arena);
        QGC_TRY(qgc_feed_next(e->feed, inputs, &num));
        if (num)
            QGC_TRY(run_batch(e, inputs, num));
        qgc_arena_reset(&e->arena, mark);
        e->report.samples += num;
        if (num && e->options->progress)
            e->options->progress(e->options->user, e->report.samples, total);
    } while (num);
    return QGC_OK;
}

static qgc_result find_func(const qgc_module *module, const char *name, const qgc_func **out)
{
    qgc_func *func;
    QGC_TRY(qgc_module_require_func(module, name, &func));
    *out = func;
    if (func->num_results)
        return QGC_OK;
    return qgc_report(&module->context->diag, QGC_NO_LOC, QGC_D_UNDEFINED, "@%s has no results",
                      func->name->data);
}

static void finish_errors(evaluator *e)
{
    qgc_eval_report *r = &e->report;
    r->mse = e->elements ? e->squares / (double)e->elements : 0;
    r->psnr = r->mse > 0 ? 10 * log10(e->peak * e->peak / r->mse) : INFINITY;
    if (!r->broken.num)
        return;
    r->mse = r->max_abs = INFINITY;
    r->psnr = -INFINITY;
}

static void name_result(evaluator *e)
{
    qgc_text text = {.arena = &e->arena};
    qgc_func_name_print(&text, e->func->name);
    qgc_text_putc(&text, '.');
    qgc_value_name_print(&text, qgc_node_operand(e->func->last, 0)->name);
    e->report.result = qgc_context_name(e->module->context, text.data)->data;
}

static void warn_nan(const evaluator *e)
{
    if (e->report.nan_samples)
        qgc_report(diag_of(e), QGC_NO_LOC, QGC_D_NAN_SCORES,
                   "%s: %zu of %zu samples have a NaN among their scores, which counts as the "
                   "lowest",
                   e->report.result, e->report.nan_samples, e->report.samples);
}

static qgc_result evaluate(evaluator *e, const qgc_samples *samples)
{
    QGC_TRY(find_func(e->module, e->options->func, &e->func));
    if (!e->options->as_is)
        QGC_TRY(qgc_refuse_observed(e->module));
    qgc_warn_observed(e->module, "its accuracy");
    if (e->options->reference)
        QGC_TRY(find_func(e->options->reference, e->options->func, &e->reference));
    name_result(e);
    QGC_TRY(qgc_feed_open(e->func, samples, &e->feed));
    QGC_TRY(qgc_labels_open(e->options->labels, e->feed, &e->labels));
    e->report.folders =
        qgc_labels_folders(e->labels, &e->module->context->arena, &e->report.num_folders);
    QGC_TRY(run_all(e));
    qgc_macs macs = qgc_count_macs(e->module);
    double batch = qgc_feed_fixed_batch(e->feed) ? (double)qgc_feed_fixed_batch(e->feed) : 1;
    e->report.macs = macs.total / batch;
    e->report.quantized_macs = macs.quantized / batch;
    e->report.has_labels = e->labels != NULL;
    e->report.has_reference = e->reference != NULL;
    finish_errors(e);
    warn_nan(e);
    return QGC_OK;
}
qgc_result qgc_module_eval(qgc_module *module, const qgc_samples *samples,
                           const qgc_eval_options *options, qgc_eval_report *out)
{
    evaluator e = {.module = module, .options = options};
    qgc_result result = evaluate(&e, samples);
    *out = e.report;
    qgc_labels_close(e.labels);
    qgc_feed_close(e.feed);
    qgc_arena_destroy(&e.arena);
    return result;
}

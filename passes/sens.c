/* Sensitivity by ablation: all trials of a batch while its float values are at hand. */
#include "qgc/sens.h"
#include "passes/batches.h"
#include "passes/compare_row.h"
#include "passes/sens_trial.h"
#include "runtime/interp_mismatch.h"
#include "runtime/labels.h"
#include "runtime/ref/ref.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is summed up of one candidate. */
typedef struct sums {
    const qgc_candidate *candidate;
    double own_noise;
    double signal, error, squares, product;
    size_t elements, agree, top1;
    qgc_mismatch broken;
} sums;

typedef struct sensitivity {
    const qgc_sens_options *options;
    qgc_samples samples;
    qgc_sens_report *report;
    qgc_context *context;
    qgc_arena arena; /* lives with the report */
    qgc_arena batch;
    qgc_trials trials;
    qgc_func *func;
    qgc_feed *feed;
    qgc_labels *labels;
    QGC_VEC(sums) list;
    size_t done, total;
} sensitivity;

/* ---- judging ---- */

static bool has_samples(const qgc_tensor *t, size_t num)
{
    return t->rank && (size_t)t->shape[0] == num && qgc_tensor_count(t);
}

/* Samples from |first| on, |num| of them. */
static void add_errors(sums *s, const qgc_tensor *a, const qgc_tensor *b, size_t first, size_t num)
{
    size_t count = qgc_tensor_count(a), each = has_samples(a, num) ? count / num : count;
    for (size_t i = 0; i < count; i++) {
        double x = qgc_get_f64(a, i), y = qgc_get_f64(b, i);
        if (qgc_is_mismatch(y, x))
            qgc_mismatch_add(&s->broken, y, x, first + i / each, i % each);
        if (!isfinite(x) || !isfinite(y))
            continue;
        s->signal += x * x;
        s->error += (y - x) * (y - x);
        s->squares += y * y;
        s->product += x * y;
        s->elements++;
    }
}

static void judge(sensitivity *s, sums *sum, const qgc_tensor *a, const qgc_tensor *b, size_t num,
                  const qgc_scores *scores, const int64_t *labels)
{
    for (uint32_t i = 0; i < s->func->num_results; i++)
        add_errors(sum, &a[i], &b[i], s->report->samples, num);
    if (!scores->samples)
        return;
    sum->agree += qgc_scores_count_equal(scores, &a[0], &b[0]);
    sum->top1 += labels ? qgc_scores_count_right(scores, &b[0], labels) : 0;
}

/* ---- choosing ---- */

static bool is_wanted(const sensitivity *s, const qgc_candidate *c)
{
    return c->decision->constant ? s->options->weights : s->options->activations;
}

static int by_noise(const void *a, const void *b)
{
    const sums *x = a, *y = b;
    if (x->own_noise != y->own_noise)
        return x->own_noise > y->own_noise ? -1 : 1;
    return 0;
}

/* All candidates, or as many as the budget allows: those with the most noise of their own on the
 * first batch. Sorting is made stable by the order they come in. */
static void choose(sensitivity *s)
{
    size_t budget = s->options->budget;
    qgc_trials *t = &s->trials;
    for (size_t i = 0; i < t->list.size; i++) {
        sums sum = {.candidate = t->list.data[i]};
        sum.own_noise = budget ? qgc_trials_own_noise(t, sum.candidate) : 0;
        if (is_wanted(s, sum.candidate))
            qgc_vec_push(&s->arena, &s->list, sum);
    }
    if (!budget || s->list.size <= budget)
        return;
    for (size_t i = 1; i < s->list.size; i++) { /* few: insertion keeps equal ones in order */
        sums sum = s->list.data[i];
        size_t at = i;
        for (; at && by_noise(&s->list.data[at - 1], &sum) > 0; at--)
            s->list.data[at] = s->list.data[at - 1];
        s->list.data[at] = sum;
    }
    s->report->num_left = s->list.size - budget;
    s->list.size = budget;
}

static void begin(sensitivity *s)
{
    const qgc_sens_options *o = s->options;
    size_t samples = qgc_feed_end(s->feed) - qgc_feed_begin(s->feed), num = 0;
    for (size_t i = 0; i < s->trials.list.size; i++)
        num += is_wanted(s, s->trials.list.data[i]);
    size_t trials = o->budget && o->budget < num ? o->budget : num;
    s->total = samples * trials;
    if (o->begin)
        o->begin(o->user, num, trials, samples);
}

/* ---- running ---- */

static void destroy_all(qgc_tensor *tensors, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++)
        qgc_tensor_destroy(&tensors[i]);
}

static qgc_result try_all(sensitivity *s, const qgc_tensor *inputs, const qgc_tensor *floats,
                          size_t num, const qgc_scores *scores, const int64_t *labels)
{
    const qgc_sens_options *o = s->options;
    uint32_t results = s->func->num_results;
    for (size_t i = 0; i < s->list.size; i++) {
        qgc_arena_mark mark = qgc_arena_get_mark(&s->batch);
        qgc_tensor *outputs = QGC_NEW_ARRAY(&s->batch, qgc_tensor, results);
        QGC_TRY(qgc_trials_run(&s->trials, s->list.data[i].candidate, inputs, outputs));
        judge(s, &s->list.data[i], floats, outputs, num, scores, labels);
        destroy_all(outputs, results);
        qgc_arena_reset(&s->batch, mark);
        s->done += num;
        if (o->progress)
            o->progress(o->user, s->done, s->total);
    }
    return QGC_OK;
}

/* Where the scores of the first result lie, and their labels. */
static qgc_result read_labels(sensitivity *s, const qgc_tensor *floats, size_t num, qgc_scores *out,
                              int64_t **labels)
{
    *labels = NULL;
    *out = (qgc_scores){.samples = 0};
    if (!s->func->num_results || !has_samples(&floats[0], num))
        return QGC_OK;
    QGC_TRY(qgc_labels_fit(s->labels, s->func, &floats[0], out));
    QGC_TRY(qgc_labels_next(s->labels, out, &s->batch, labels));
    s->report->answers += num * out->positions;
    s->report->top1 += *labels ? qgc_scores_count_right(out, &floats[0], *labels) : 0;
    return QGC_OK;
}

static qgc_result run_batch(sensitivity *s, const qgc_tensor *inputs, size_t num)
{
    int64_t *labels;
    qgc_scores scores;
    uint32_t results = s->func->num_results;
    qgc_tensor *floats = QGC_NEW_ARRAY(&s->batch, qgc_tensor, results);
    QGC_TRY(qgc_trials_run_float(&s->trials, inputs, floats));
    if (!s->report->samples)
        choose(s);
    qgc_result result = read_labels(s, floats, num, &scores, &labels);
    if (result == QGC_OK)
        result = try_all(s, inputs, floats, num, &scores, labels);
    destroy_all(floats, results);
    s->report->samples += num;
    return result;
}

static qgc_result run_all(sensitivity *s)
{
    size_t num;
    qgc_tensor *inputs = QGC_NEW_ARRAY(&s->arena, qgc_tensor, s->func->num_params);
    do {
        qgc_arena_mark mark = qgc_arena_get_mark(&s->batch);
        QGC_TRY(qgc_feed_next(s->feed, inputs, &num));
        if (num)
            QGC_TRY(run_batch(s, inputs, num));
        qgc_arena_reset(&s->batch, mark);
    } while (num);
    return QGC_OK;
}

/* ---- the report ---- */

static void finish_row(const sums *s, qgc_sens_row *out)
{
    const qgc_candidate *c = s->candidate;
    double norm = sqrt(s->signal) * sqrt(s->squares);
    *out = (qgc_sens_row){.name = c->text->data,
                          .is_weight = c->decision->constant != NULL,
                          .op = c->op,
                          .dtype = qgc_dtype_name(c->decision->spec->dtype),
                          .sqnr = qgc_ratio_db(s->signal, s->error),
                          .mse = s->elements ? s->error / (double)s->elements : 0,
                          .cosine = norm > 0 ? fmin(s->product / norm, 1) : s->error == 0,
                          .broken = s->broken,
                          .agree = s->agree,
                          .top1 = s->top1};
    if (!s->broken.num)
        return;
    out->sqnr = -INFINITY;
    out->mse = INFINITY;
    out->cosine = -1;
}

/* Greater is worse. */
static double badness(const qgc_sens_row *row, qgc_sens_metric metric)
{
    switch (metric) {
    case QGC_SENS_MSE:
        return row->mse;
    case QGC_SENS_COSINE:
        return -row->cosine;
    case QGC_SENS_ACCURACY:
        return -(double)row->top1;
    case QGC_SENS_SQNR:
        break;
    }
    return -row->sqnr;
}

static bool is_worse(const qgc_sens_row *a, const qgc_sens_row *b, qgc_sens_metric metric)
{
    double x = badness(a, metric), y = badness(b, metric);
    return x != y ? x > y : a->sqnr < b->sqnr;
}

static int by_position(const void *a, const void *b)
{
    const sums *x = a, *y = b;
    return x->candidate->position < y->candidate->position ? -1 : 1;
}

static void warn_broken(const sensitivity *s, const qgc_sens_row *row)
{
    if (row->broken.num)
        qgc_report(&s->context->diag, QGC_NO_LOC, QGC_D_BROKEN_ALONE,
                   "%s: quantized alone, it makes %" PRIu64
                   " results NaN or infinite that are not so in floats, the first in sample %zu",
                   row->name, row->broken.num, row->broken.sample);
}

static void finish(sensitivity *s)
{
    qgc_sens_report *r = s->report;
    r->has_labels = s->labels != NULL;
    r->folders = qgc_labels_folders(s->labels, &s->arena, &r->num_folders);
    r->rows = QGC_NEW_ARRAY(&s->arena, qgc_sens_row, s->list.size);
    if (s->list.size)
        qsort(s->list.data, s->list.size, sizeof *s->list.data, by_position);
    for (size_t i = 0; i < s->list.size; i++) {
        qgc_sens_row row;
        size_t at = r->num_rows++;
        finish_row(&s->list.data[i], &row);
        warn_broken(s, &row);
        for (; at && is_worse(&row, &r->rows[at - 1], s->options->metric); at--)
            r->rows[at] = r->rows[at - 1];
        r->rows[at] = row;
    }
}

static qgc_result run(sensitivity *s, qgc_module *module)
{
    const qgc_sens_options *o = s->options;
    QGC_TRY(qgc_module_require_func(module, o->func, &s->func));
    QGC_TRY(qgc_trials_init(&s->trials, module, s->func, o->method ? o->method : "mse", &s->arena));
    QGC_TRY(qgc_open_batches(&s->func, 1, &s->samples, o->create_engine != NULL, &s->feed));
    QGC_TRY(qgc_labels_open(o->labels, s->feed, &s->labels));
    qgc_trials_outline(&s->trials);
    if (o->create_engine)
        QGC_TRY(o->create_engine(module, o->cpu ? o->cpu : "native", &s->trials.engine));
    begin(s);
    QGC_TRY(run_all(s));
    finish(s);
    return QGC_OK;
}

qgc_result qgc_sens(qgc_module *module, const qgc_samples *samples, const qgc_sens_options *options,
                    qgc_sens_report *out)
{
    *out = (qgc_sens_report){0};
    sensitivity s = {
        .options = options, .samples = *samples, .report = out, .context = module->context};
    qgc_result result = run(&s, module);
    qgc_trials_destroy(&s.trials);
    qgc_labels_close(s.labels);
    qgc_feed_close(s.feed);
    qgc_arena_destroy(&s.batch);
    if (result != QGC_OK) {
        qgc_arena_destroy(&s.arena);
        *out = (qgc_sens_report){0};
        return QGC_FAILED;
    }
    qgc_arena *owner = QGC_NEW(&s.arena, qgc_arena);
    *owner = s.arena;
    out->owner = owner;
    return QGC_OK;
}

void qgc_sens_report_free(qgc_sens_report *report)
{
    if (!report->owner)
        return;
    qgc_arena arena = *(qgc_arena *)report->owner;
    *report = (qgc_sens_report){0};
    qgc_arena_destroy(&arena);
}

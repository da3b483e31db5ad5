#include "passes/compare_samples.h"

#include "runtime/interp_mismatch.h"

#include <math.h>
#include <string.h>

qgc_output_ranks *qgc_ranks_create(qgc_arena *arena, qgc_name name,
                                   const qgc_compare_options *options)
{
    qgc_output_ranks *ranks = QGC_NEW(arena, qgc_output_ranks);
    *ranks = (qgc_output_ranks){.name = name, .metric = options->metric, .most = options->worst};
    ranks->list = QGC_NEW_ARRAY(arena, qgc_compare_sample, options->worst + 1);
    return ranks;
}

/* Greater is worse. */
static double badness(const qgc_compare_sample *s, qgc_compare_metric metric)
{
    switch (metric) {
    case QGC_COMPARE_SQNR:
        return -s->sqnr;
    case QGC_COMPARE_MSE:
        return s->mse;
    case QGC_COMPARE_COSINE:
        return -s->cosine;
    case QGC_COMPARE_MAX_ABS:
    case QGC_COMPARE_NUM_METRICS:
        break;
    }
    return s->max_abs;
}

/* A NaN is the lowest score. */
static bool is_higher(float score, float than)
{
    return score > than || (isnan(than) && !isnan(score));
}

/* A value that is not finite in one graph only makes the sample the worst of all. */
static qgc_compare_sample measure(const float *a, const float *b, size_t num)
{
    qgc_compare_sample s = {0};
    double signal = 0, error = 0, squares = 0, product = 0;
    for (size_t i = 0; i < num; i++) {
        double x = (double)a[i], y = (double)b[i];
        bool is_finite = isfinite(x) && isfinite(y);
        double difference = is_finite ? fabs(y - x) : qgc_is_mismatch(y, x) ? INFINITY : 0;
        s.max_abs = fmax(s.max_abs, difference);
        error += difference * difference;
        signal += isfinite(x) ? x * x : 0;
        squares += isfinite(y) ? y * y : 0;
        product += is_finite ? x * y : 0;
        s.top_a = is_higher(a[i], a[s.top_a]) ? i : s.top_a;
        s.top_b = is_higher(b[i], b[s.top_b]) ? i : s.top_b;
    }
    double norm = sqrt(signal) * sqrt(squares);
    s.mse = num ? error / (double)num : 0;
    s.sqnr = error == 0 ? INFINITY : signal == 0 ? -INFINITY : 10 * log10(signal / error);
    s.cosine = isinf(error) ? -1 : norm > 0 ? fmin(product / norm, 1) : error == 0 ? 1 : 0;
    return s;
}

static void insert(qgc_output_ranks *r, const qgc_compare_sample *s)
{
    size_t at = r->num;
    while (at && badness(&r->list[at - 1], r->metric) < badness(s, r->metric))
        at--;
    if (at >= r->most)
        return;
    memmove(&r->list[at + 1], &r->list[at], (r->num - at) * sizeof *r->list);
    r->list[at] = *s;
    r->num += r->num < r->most;
}

static qgc_tensor tensor_of(const qgc_row_data *data, const float *values)
{
    qgc_tensor t = {.dtype = QGC_DTYPE_F32,
                    .rank = data->rank,
                    .data = (void *)(uintptr_t)values,
                    .bytes = data->num * sizeof *values};
    memcpy(t.shape, data->shape, data->rank * sizeof *data->shape);
    return t;
}

static size_t count_unlike(const qgc_scores *s, const qgc_tensor *a, const qgc_tensor *b,
                           size_t sample)
{
    size_t unlike = 0;
    for (size_t i = sample * s->positions; i < (sample + 1) * s->positions; i++)
        unlike += qgc_scores_top(s, a, i) != qgc_scores_top(s, b, i);
    return unlike;
}

qgc_result qgc_ranks_add(qgc_output_ranks *r, const qgc_row_data *data, size_t first, size_t num,
                         qgc_arena *scratch)
{
    int64_t *labels;
    qgc_scores scores;
    if (!data->rank || (size_t)data->shape[0] != num || !data->num)
        return QGC_OK;
    const qgc_tensor a = tensor_of(data, data->a), b = tensor_of(data, data->b);
    QGC_TRY(qgc_labels_fit(r->labels, r->func, &a, &scores));
    QGC_TRY(qgc_labels_next(r->labels, &scores, scratch, &labels));
    r->classes = scores.classes;
    r->answers += num * scores.positions;
    if (labels) {
        r->top1_a += qgc_scores_count_right(&scores, &a, labels);
        r->top1_b += qgc_scores_count_right(&scores, &b, labels);
    }
    size_t each = data->num / num;
    for (size_t i = 0; i < num; i++) {
        qgc_compare_sample s = measure(data->a + i * each, data->b + i * each, each);
        s.index = first + i;
        s.unlike = count_unlike(&scores, &a, &b, i);
        r->agree += scores.positions - s.unlike;
        insert(r, &s);
    }
    return QGC_OK;
}

void qgc_ranks_finish(qgc_output_ranks *r, qgc_compare_output *out)
{
    *out = (qgc_compare_output){.name = r->name->data,
                                .classes = r->classes,
                                .answers = r->answers,
                                .agree = r->agree,
                                .top1_a = r->top1_a,
                                .top1_b = r->top1_b,
                                .num_worst = r->num,
                                .worst = r->list};
}

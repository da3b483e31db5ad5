#include "runtime/scores.h"

#include "runtime/ref/ref.h"

#include <math.h>

static qgc_scores scores_on(const qgc_tensor *t, uint32_t axis)
{
    qgc_scores s = {.samples = t->rank ? (size_t)t->shape[0] : 1,
                    .classes = axis ? (size_t)t->shape[axis] : 1,
                    .positions = 1,
                    .stride = 1,
                    .axis = axis};
    for (uint32_t i = 1; i < t->rank; i++) {
        s.positions *= i == axis ? 1 : (size_t)t->shape[i];
        s.stride *= i > axis ? (size_t)t->shape[i] : 1;
    }
    return s;
}

static uint32_t usual_axis(const qgc_tensor *t)
{
    return t->rank < 2 ? 0 : t->rank < 4 ? t->rank - 1 : 1;
}

qgc_scores qgc_scores_of(const qgc_tensor *tensor)
{
    return scores_on(tensor, usual_axis(tensor));
}

/* Whether the dimensions behind the first are alike, |axis| of |t| and those of 1 left out. */
static bool is_shape_without(const qgc_tensor *t, uint32_t axis, const qgc_tensor *labels)
{
    uint32_t k = 1;
    for (uint32_t i = 1; i < t->rank; i++) {
        if (i == axis || t->shape[i] == 1)
            continue;
        while (k < labels->rank && labels->shape[k] == 1)
            k++;
        if (k == labels->rank || labels->shape[k++] != t->shape[i])
            return false;
    }
    while (k < labels->rank && labels->shape[k] == 1)
        k++;
    return k == labels->rank;
}

bool qgc_scores_fit(const qgc_tensor *tensor, const qgc_tensor *labels, qgc_scores *out)
{
    uint32_t axis = usual_axis(tensor);
    bool fits = is_shape_without(tensor, axis, labels);
    for (uint32_t i = 1; i < tensor->rank && !fits; i++) {
        axis = i;
        fits = is_shape_without(tensor, axis, labels);
    }
    *out = fits ? scores_on(tensor, axis) : qgc_scores_of(tensor);
    return fits;
}

size_t qgc_scores_at(const qgc_scores *s, size_t answer, size_t class)
{
    size_t outer = answer / s->stride, inner = answer % s->stride;
    return (outer * s->classes + class) * s->stride + inner;
}

static double score(const qgc_tensor *t, size_t index)
{
    double value = qgc_get_f64(t, index);
    return isnan(value) ? -INFINITY : value;
}

size_t qgc_scores_top(const qgc_scores *s, const qgc_tensor *tensor, size_t answer)
{
    size_t best = 0, at = qgc_scores_at(s, answer, 0);
    double highest = score(tensor, at);
    for (size_t c = 1; c < s->classes; c++) {
        double value = score(tensor, at + c * s->stride);
        best = value > highest ? c : best;
        highest = value > highest ? value : highest;
    }
    return best;
}

size_t qgc_scores_rank(const qgc_scores *s, const qgc_tensor *tensor, size_t answer, size_t class)
{
    size_t higher = 0, at = qgc_scores_at(s, answer, 0);
    double own = score(tensor, at + class * s->stride);
    for (size_t c = 0; c < s->classes; c++) {
        double other = score(tensor, at + c * s->stride);
        higher += other > own || (other == own && c < class);
    }
    return higher;
}

size_t qgc_scores_count_right(const qgc_scores *s, const qgc_tensor *tensor, const int64_t *labels)
{
    size_t right = 0;
    for (size_t i = 0; i < s->samples * s->positions; i++)
        right += (int64_t)qgc_scores_top(s, tensor, i) == labels[i];
    return right;
}

size_t qgc_scores_count_equal(const qgc_scores *s, const qgc_tensor *a, const qgc_tensor *b)
{
    size_t equal = 0;
    for (size_t i = 0; i < s->samples * s->positions; i++)
        equal += qgc_scores_top(s, a, i) == qgc_scores_top(s, b, i);
    return equal;
}

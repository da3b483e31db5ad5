#include "runtime/ref/lanes.h"

#include <math.h>

enum { LANES = 16 };

static float step_f32(qgc_fold fold, float a, float b)
{
    switch (fold) {
    case QGC_FOLD_SUM:
        return a + b;
    case QGC_FOLD_PROD:
        return a * b;
    case QGC_FOLD_MAX:
        return isnan(a) ? a : isnan(b) || a < b ? b : a;
    default:
        return isnan(a) ? a : isnan(b) || b < a ? b : a;
    }
}

static double step_f64(qgc_fold fold, double a, double b)
{
    switch (fold) {
    case QGC_FOLD_SUM:
        return a + b;
    case QGC_FOLD_PROD:
        return a * b;
    case QGC_FOLD_MAX:
        return isnan(a) ? a : isnan(b) || a < b ? b : a;
    default:
        return isnan(a) ? a : isnan(b) || b < a ? b : a;
    }
}

float qgc_fold_f32(qgc_fold fold, const float *values, size_t num)
{
    static const float identity[] = {0, 1, -INFINITY, INFINITY};
    float lanes[LANES];
    for (size_t i = 0; i < LANES; i++)
        lanes[i] = identity[fold];
    for (size_t i = 0; i < num; i++)
        lanes[i % LANES] = step_f32(fold, lanes[i % LANES], values[i]);
    for (size_t half = LANES / 2; half; half /= 2)
        for (size_t i = 0; i < half; i++)
            lanes[i] = step_f32(fold, lanes[i], lanes[i + half]);
    return lanes[0];
}

double qgc_fold_f64(qgc_fold fold, const double *values, size_t num)
{
    static const double identity[] = {0, 1, -INFINITY, INFINITY};
    double lanes[LANES];
    for (size_t i = 0; i < LANES; i++)
        lanes[i] = identity[fold];
    for (size_t i = 0; i < num; i++)
        lanes[i % LANES] = step_f64(fold, lanes[i % LANES], values[i]);
    for (size_t half = LANES / 2; half; half /= 2)
        for (size_t i = 0; i < half; i++)
            lanes[i] = step_f64(fold, lanes[i], lanes[i + half]);
    return lanes[0];
}

static bool less(bool is_unsigned, int64_t a, int64_t b)
{
    return is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t step_int(qgc_fold fold, bool is_unsigned, int64_t a, int64_t b)
{
    switch (fold) {
    case QGC_FOLD_SUM:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case QGC_FOLD_PROD:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case QGC_FOLD_MAX:
        return less(is_unsigned, a, b) ? b : a;
    default:
        return less(is_unsigned, b, a) ? b : a;
    }
}

int64_t qgc_fold_int(qgc_fold fold, bool is_unsigned, const int64_t *values, size_t num)
{
    const int64_t identity[] = {0, 1, is_unsigned ? 0 : INT64_MIN, is_unsigned ? -1 : INT64_MAX};
    int64_t total = identity[fold];
    for (size_t i = 0; i < num; i++)
        total = step_int(fold, is_unsigned, total, values[i]);
    return total;
}

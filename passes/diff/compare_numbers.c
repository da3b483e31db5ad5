/* How far apart numbers are: weights by their elements, parameters of quantization in steps. */
#include "passes/diff/diff.h"
#include "runtime/quant.h"
#include "runtime/ref/ref.h"
#include "runtime/tensor.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

double qgc_diff_steps(double ratio, double zero_left, double zero_right, double low, double high)
{
    double at_low = fabs((low - zero_right) * ratio - (low - zero_left));
    double at_high = fabs((high - zero_right) * ratio - (high - zero_left));
    return at_low > at_high ? at_low : at_high;
}

/* ---- what a constant is for ---- */

typedef enum role { ROLE_WEIGHT, ROLE_SCALE, ROLE_ZERO_POINT, ROLE_OFFSET } role;

static const struct {
    const char *operand;
    role role;
} roles[] = {
    {"scale", ROLE_SCALE},
    {"multipliers", ROLE_SCALE},
    {"zero_point", ROLE_ZERO_POINT},
    {"x_zero_point", ROLE_ZERO_POINT},
    {"w_zero_point", ROLE_ZERO_POINT},
    {"c", ROLE_OFFSET},
};

static bool has_parameters(const qgc_node *node)
{
    return qgc_diff_is_step(node) || node->op == QGC_OP_REQUANTIZE ||
           strcmp(qgc_node_op(node)->family, "integer") == 0;
}

/* The role of a constant in its first use, and that use. */
static role role_of(const qgc_node *node, const qgc_use **out_use)
{
    const qgc_use *use = *out_use = node->results[0].first_use;
    if (!use || !has_parameters(use->user))
        return ROLE_WEIGHT;
    uint32_t row = qgc_node_operand_row(use->user, (uint32_t)(use - use->user->operands));
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].operand, qgc_node_op(use->user)->operands[row].name) == 0)
            return roles[i].role;
    return ROLE_WEIGHT;
}

bool qgc_diff_quantized_range(const qgc_node *node, double *low, double *high)
{
    const qgc_attr *to = node->op == QGC_OP_FAKE_QUANT ? qgc_node_attr(node, "to") : NULL;
    qgc_dtype dtype = node->op == QGC_OP_DEQUANTIZE ? qgc_node_operand(node, 0)->type->dtype
                      : to                          ? to->dtype
                                                    : node->results[0].type->dtype;
    qgc_int_range range;
    if (!qgc_quant_dtype_range(dtype, &range))
        return false;
    *low = range.lo;
    *high = range.hi;
    return true;
}

/* ---- two tensors of one type ---- */

typedef struct distance {
    size_t count, different;
    double relative, largest; /* L2 of the difference by that of the left; of one element */
    double ratio_low, ratio_high;
} distance;

static distance measure(const qgc_tensor *a, const qgc_tensor *b)
{
    distance d = {.count = qgc_tensor_count(a), .ratio_low = 1, .ratio_high = 1};
    double square = 0, norm = 0;
    for (size_t i = 0; i < d.count; i++) {
        double x = qgc_get_f64(a, i), y = qgc_get_f64(b, i), gap = fabs(y - x);
        norm += x * x;
        if (x == y || (isnan(x) && isnan(y)))
            continue;
        d.different++;
        square += gap * gap;
        d.largest = gap > d.largest ? gap : d.largest;
        d.ratio_low = fmin(d.ratio_low, y / x);
        d.ratio_high = fmax(d.ratio_high, y / x);
    }
    d.relative = norm > 0 ? sqrt(square / norm) : square > 0 ? INFINITY : 0;
    return d;
}

static const char *describe_weights(qgc_arena *arena, const distance *d, uint64_t left,
                                    uint64_t right)
{
    return qgc_arena_printf(arena,
                            "%zu of %zu elements differ, by %.3g at most; relative distance %.3g; "
                            "hash %016" PRIx64 " -> %016" PRIx64,
                            d->different, d->count, d->largest, d->relative, left, right);
}

static double scale_steps(const qgc_use *use, const distance *d)
{
    double low, high;
    if (!qgc_diff_quantized_range(use->user, &low, &high))
        return NAN;
    double reach = fmax(fabs(low), fabs(high));
    return reach * fmax(fabs(d->ratio_low - 1), fabs(d->ratio_high - 1));
}

static const char *describe_parameters(qgc_arena *arena, const distance *d, const qgc_use *use,
                                       double steps)
{
    const qgc_node *user = use->user;
    uint32_t row = qgc_node_operand_row(user, (uint32_t)(use - user->operands));
    const char *name = qgc_node_op(user)->operands[row].name;
    const char *text = qgc_arena_printf(arena, "%s: %zu of %zu differ, by %.3g at most", name,
                                        d->different, d->count, d->largest);
    return isnan(steps) ? text : qgc_arena_printf(arena, "%s, %.3g steps", text, steps);
}

void qgc_diff_compare_constants(qgc_diff_pair *pair, const qgc_node *a, const qgc_node *b,
                                qgc_difference *out)
{
    qgc_arena *arena = &pair->diff->arena;
    uint64_t left = pair->left.content[a->id], right = pair->right.content[b->id];
    const qgc_use *use;
    role what_for = role_of(a, &use);
    *out = (qgc_difference){.kind = what_for == ROLE_WEIGHT ? QGC_DIFF_WEIGHTS : QGC_DIFF_SCALE,
                            .distance = NAN};
    if (!a->constant || !b->constant) {
        out->what = "other elements, of a file that is not open";
        return;
    }
    distance d = measure(a->constant, b->constant);
    if (what_for == ROLE_WEIGHT) {
        out->distance = d.relative;
        out->what = describe_weights(arena, &d, left, right);
        return;
    }
    out->distance = what_for == ROLE_SCALE        ? scale_steps(use, &d)
                    : what_for == ROLE_ZERO_POINT ? d.largest
                                                  : NAN;
    out->what = describe_parameters(arena, &d, use, out->distance);
}

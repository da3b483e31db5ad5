/* Weights that go through fake_quant or fake_cast, as training leaves them: what the op computes
 * with is s(w), not w, so that y = s(w) * f[c] folds into a step s' and a constant w' with
 *
 *     s'(w') = w' = s(w) * f[c]        in real numbers; one rounding to f32 for each op that folds
 *
 * fake_quant: the integers stay and the scale takes the factor, scale' = f32(scale * |f|). A
 * negative factor mirrors the integers about the zero point: q' = 2 zp - q where all of them fit,
 * else about the middle of the range, q' = lo + hi - q and zp' = lo + hi - zp. A factor of 0 gives
 * the zero point. w' is what q' stands for: so convert finds just these integers, whatever the
 * rounding of scale' (the integers of w * f with scale' could differ where w lies between two).
 * fake_cast: only where the products are numbers of f16.
 *
 * Every element is tried: what the new step would change is not folded. */
#include "passes/fuse_affine.h"

#include <math.h>

enum { X, SCALE, ZERO_POINT }; /* operands of fake_quant */

qgc_node *qgc_find_fake_step(const qgc_value *weights)
{
    qgc_node *node = weights ? weights->def : NULL;
    return node && (node->op == QGC_OP_FAKE_QUANT || node->op == QGC_OP_FAKE_CAST) ? node : NULL;
}

static bool refuse(const qgc_affine *a, const char *condition, const char *found)
{
    if (qgc_no_match(a->env, a->node, "not folded into %s: %s", qgc_node_op(a->head)->mnemonic,
                     found))
        qgc_diag_add(&a->env->context->diag, "condition", "%s", condition);
    return false;
}

/* ---- along which dimension the factors go ---- */

static int64_t count(const qgc_tensor *w)
{
    return (int64_t)(w->bytes / sizeof(float));
}

/* Where in the parameters along |axis| element |index| of w looks. */
static int64_t place(const qgc_tensor *w, int64_t axis, int64_t index)
{
    if (axis < 0)
        return 0;
    int64_t inner = 1;
    for (uint32_t i = (uint32_t)axis + 1; i < w->rank; i++)
        inner *= w->shape[i];
    return index / inner % w->shape[axis];
}

/* One factor for each place along |axis|, 1 where no element is; false where elements of one place
 * want different ones: channels of a transposed convolution with groups. */
static bool read_factors(const qgc_affine *a, int64_t axis, int64_t num, double *factors)
{
    for (int64_t i = 0; i < num; i++)
        factors[i] = NAN;
    for (int64_t i = 0; i < count(a->w); i++) {
        double *at = &factors[place(a->w, axis, i)], f = a->f[qgc_weight_channel(a, i)];
        if (!isnan(*at) && *at != f)
            return false;
        *at = f;
    }
    for (int64_t i = 0; i < num; i++)
        factors[i] = isnan(factors[i]) ? 1 : factors[i];
    return true;
}

/* Parameters per channel stay on their axis; one for all stays so where one factor is. */
static bool choose_axis(const qgc_affine *a, qgc_faked *out, double **factors)
{
    const qgc_attr *axis = qgc_node_attr(a->step, "axis");
    int64_t rank = a->w->rank, fixed = !axis ? -1 : axis->i + (axis->i < 0 ? rank : 0);
    int64_t last = axis ? fixed : rank > 1 ? 1 : 0;
    for (out->axis = fixed; out->axis <= last; out->axis++) {
        out->num = out->axis < 0 ? 1 : a->w->shape[out->axis];
        *factors = QGC_NEW_ARRAY(a->env->scratch, double, (size_t)out->num);
        if (read_factors(a, out->axis, out->num, *factors))
            return true;
    }
    return refuse(a, "axis_of_scales",
                  "its factors differ within what one scale of the weight is for");
}

/* ---- fake_quant ---- */

typedef struct kind {
    qgc_int_range range, full;
    qgc_quantize_mode mode;
    const qgc_tensor *scale, *zero_point; /* or NULL: the attribute */
} kind;

/* NULL where |value| is there and no constant of |dtype|. */
static bool read_param(const qgc_affine *a, uint32_t slot, qgc_dtype dtype, const qgc_tensor **out)
{
    const qgc_value *value = a->step->operands[slot].value;
    *out = value && value->def ? value->def->constant : NULL;
    if (!value || (*out && (*out)->dtype == dtype))
        return true;
    return refuse(a, slot == SCALE ? "constant_scale" : "constant_zero_point",
                  qgc_arena_printf(a->env->scratch, "%%%s, of %%%s, is no constant",
                                   value->name->data, a->step->results[0].name->data));
}

static bool read_kind(const qgc_affine *a, kind *out)
{
    const qgc_node *step = a->step;
    const qgc_attr *range = qgc_node_attr(step, "range");
    qgc_quant_dtype_range(qgc_node_dtype(step, "to"), &out->full);
    out->range = out->full;
    if (range)
        out->range = (qgc_int_range){(int32_t)range->ints[0], (int32_t)range->ints[1]};
    out->mode = (qgc_quantize_mode)qgc_node_word(step, "mode");
    return read_param(a, SCALE, QGC_DTYPE_F32, &out->scale) &&
           read_param(a, ZERO_POINT, QGC_DTYPE_I32, &out->zero_point);
}

/* The parameters before, at |place| along the new axis. */
static qgc_qparams old_params(const qgc_affine *a, const kind *k, int64_t at)
{
    bool is_list = qgc_node_has(a->step, "axis");
    size_t index = is_list ? (size_t)at : 0;
    qgc_qparams p = {.zero_point = (int32_t)qgc_node_int(a->step, "zero_point")};
    p.scale = k->scale ? ((const float *)k->scale->data)[index] : qgc_node_float(a->step, "scale");
    if (k->zero_point)
        p.zero_point = ((const int32_t *)k->zero_point->data)[index];
    return p;
}

static int32_t old_integer(const qgc_affine *a, const kind *k, const qgc_faked *faked, int64_t i)
{
    qgc_qparams p = old_params(a, k, place(a->w, faked->axis, i));
    return qgc_quantize(((const float *)a->w->data)[i], p, k->range, k->mode);
}

/* Least and greatest integer at each place. */
static qgc_int_range *find_extremes(const qgc_affine *a, const kind *k, const qgc_faked *faked)
{
    qgc_int_range *extremes = QGC_NEW_ARRAY(a->env->scratch, qgc_int_range, (size_t)faked->num);
    for (int64_t i = 0; i < faked->num; i++)
        extremes[i] = (qgc_int_range){INT32_MAX, INT32_MIN};
    for (int64_t i = 0; i < count(a->w); i++) {
        qgc_int_range *at = &extremes[place(a->w, faked->axis, i)];
        int32_t q = old_integer(a, k, faked, i);
        at->lo = q < at->lo ? q : at->lo;
        at->hi = q > at->hi ? q : at->hi;
    }
    return extremes;
}

/* The zero point that the integers |seen| of a place have when they are mirrored. */
static int32_t mirror(const kind *k, int32_t zero_point, qgc_int_range seen)
{
    int64_t twice = 2 * (int64_t)zero_point;
    bool fits =
        seen.lo > seen.hi || (twice - seen.lo <= k->range.hi && twice - seen.hi >= k->range.lo);
    return fits ? zero_point : (int32_t)((int64_t)k->range.lo + k->range.hi - zero_point);
}

static bool fold_params(const qgc_affine *a, const kind *k, qgc_faked *faked, const double *factors)
{
    const qgc_int_range *seen = find_extremes(a, k, faked);
    faked->params = QGC_NEW_ARRAY(a->env->scratch, qgc_qparams, (size_t)faked->num);
    for (int64_t i = 0; i < faked->num; i++) {
        qgc_qparams *p = &faked->params[i];
        *p = old_params(a, k, i);
        if (factors[i] != 0)
            p->scale = (float)((double)p->scale * fabs(factors[i]));
        if (factors[i] < 0)
            p->zero_point = mirror(k, p->zero_point, seen[i]);
        qgc_quant_fault fault = qgc_quant_check(*p, k->full);
        if (fault)
            return refuse(a, "scale",
                          qgc_arena_printf(a->env->scratch, "scale %lld of %%%s would be %g: %s",
                                           (long long)i, a->step->results[0].name->data,
                                           (double)p->scale, qgc_quant_fault_text(fault)));
    }
    return true;
}

static bool refuse_element(const qgc_affine *a, int64_t i, double value)
{
    return refuse(a, "step_keeps",
                  qgc_arena_printf(a->env->scratch,
                                   "element %lld of its weight would be %.9g, which %%%s (%s) "
                                   "cannot hold",
                                   (long long)i, value, a->step->results[0].name->data,
                                   qgc_node_op(a->step)->mnemonic));
}

static bool fold_quantized(const qgc_affine *a, qgc_faked *faked, const double *factors)
{
    kind k;
    if (!read_kind(a, &k) || !fold_params(a, &k, faked, factors))
        return false;
    for (int64_t i = 0; i < count(a->w); i++) {
        int64_t at = place(a->w, faked->axis, i);
        double f = factors[at];
        int64_t steps = (int64_t)old_integer(a, &k, faked, i) - old_params(a, &k, at).zero_point;
        qgc_qparams p = faked->params[at];
        int32_t q = (int32_t)(p.zero_point + (f > 0 ? steps : f < 0 ? -steps : 0));
        faked->data[i] = qgc_dequantize(q, p);
        if (!isfinite(faked->data[i]) || qgc_quantize(faked->data[i], p, k.range, k.mode) != q)
            return refuse_element(a, i, (double)faked->data[i]);
    }
    return true;
}

/* ---- fake_cast ---- */

static bool fold_cast(const qgc_affine *a, qgc_faked *faked)
{
    faked->axis = -1;
    for (int64_t i = 0; i < count(a->w); i++) {
        double w = (double)qgc_fake_cast_f16(((const float *)a->w->data)[i]);
        double folded = w * a->f[qgc_weight_channel(a, i)];
        faked->data[i] = (float)folded;
        if (!isfinite(folded) || (double)qgc_fake_cast_f16(faked->data[i]) != folded)
            return refuse_element(a, i, folded);
    }
    return true;
}

bool qgc_fold_fake(const qgc_affine *a, qgc_faked *out)
{
    double *factors;
    *out = (qgc_faked){.data = QGC_NEW_ARRAY(a->env->scratch, float, (size_t)count(a->w))};
    if (a->step->op == QGC_OP_FAKE_CAST)
        return fold_cast(a, out);
    return choose_axis(a, out, &factors) && fold_quantized(a, out, factors);
}

/* ---- the new step ---- */

qgc_value *qgc_make_fake_step(const qgc_affine *a, const qgc_faked *faked, qgc_value *data,
                              qgc_value *scales, qgc_value *zero_points)
{
    static const char *const kept[] = {"to", "range", "mode"};
    qgc_value *operands[] = {data, scales, zero_points};
    bool is_cast = a->step->op == QGC_OP_FAKE_CAST;
    qgc_node *node = qgc_node_create(a->head->func, a->step->op, is_cast ? 1 : 3, operands, 1,
                                     a->head, a->step->loc);
    node->scope = a->step->scope;
    node->results[0].type = data->type;
    for (size_t i = 0; i < (is_cast ? 1 : sizeof kept / sizeof *kept); i++) {
        const qgc_attr *attr = qgc_node_attr(a->step, kept[i]);
        if (attr)
            qgc_node_set_attr(node, kept[i], *attr);
    }
    if (is_cast)
        return &node->results[0];
    if (scales) {
        qgc_node_set_attr(node, "axis", qgc_attr_from_int(faked->axis));
        return &node->results[0];
    }
    qgc_node_set_attr(node, "scale", qgc_attr_from_float(faked->params[0].scale));
    if (faked->params[0].zero_point)
        qgc_node_set_attr(node, "zero_point", qgc_attr_from_int(faked->params[0].zero_point));
    return &node->results[0];
}

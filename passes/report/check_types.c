/* Checks of types, scales and weights. */
#include "ir/view.h"
#include "passes/constants.h"
#include "passes/observers.h"
#include "passes/quantizer.h"
#include "passes/report/check.h"
#include "passes/report/explain.h"
#include "passes/stats_record.h"
#include "passes/view.h"
#include "runtime/tensor.h"

#include <math.h>
#include <stdlib.h>

static bool is_integer(const qgc_value *value)
{
    return qgc_dtype_get_kind(qgc_held_in(value)) != QGC_FLOAT;
}

static bool is_data(const qgc_node *node, uint32_t slot)
{
    return qgc_is_data_operand(node, slot) &&
           qgc_dtype_get_kind(node->operands[slot].value->type->dtype) == QGC_FLOAT;
}

static bool reads_integers(const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (is_data(node, i) && is_integer(node->operands[i].value))
            return true;
    return false;
}

static bool reads_float(const qgc_node *node, const qgc_value **out)
{
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (is_data(node, i) && !is_integer(node->operands[i].value) &&
            !qgc_is_constant(node->operands[i].value))
            return *out = node->operands[i].value, true;
    return false;
}

/* Whether what reads the value, through steps, computes on integers. */
static bool feeds_integers(const qgc_value *value)
{
    for (const qgc_use *use = value->first_use; use; use = use->next) {
        const qgc_node *user = use->user;
        bool is_step = user->op == QGC_OP_OBSERVE || user->op == QGC_OP_QUANTIZE ||
                       user->op == QGC_OP_DEQUANTIZE;
        if (is_step ? feeds_integers(&user->results[0])
                    : qgc_explains(user) && reads_integers(user))
            return true;
    }
    return false;
}

static bool is_in_float_chain(const qgc_node *node, const qgc_value *x)
{
    qgc_name mark = qgc_context_name(node->func->module->context, "fuse.into");
    return x->def && qgc_node_extra(x->def, mark) != NULL;
}

/* A weight in floats beside data in integers: the op reads the integers as floats. NULL: none. */
static const qgc_value *float_weight(const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        if (is_data(node, i) && value->type->rank >= 2 && !is_integer(value) &&
            qgc_is_constant(value) &&
            qgc_node_op(node)->operands[qgc_node_operand_row(node, i)].quant == QGC_Q_WEIGHT)
            return value;
    }
    return NULL;
}

void qgc_check_float_between(qgc_checker *c)
{
    QGC_EACH_FUNC (func, c->graph)
        QGC_EACH_NODE (node, func) {
            const qgc_value *x = NULL, *weight = qgc_explains(node) ? float_weight(node) : NULL;
            qgc_view view;
            if (weight && reads_integers(node))
                qgc_find(c, node,
                         "%s reads integers, but computes in floats: its weight %%%s is %s",
                         qgc_node_op(node)->mnemonic, qgc_bare_value(weight)->name->data,
                         qgc_type_str(c->arena, weight->type));
            if (!qgc_explains(node) || reads_integers(node) || !reads_float(node, &x) ||
                is_in_float_chain(node, x) || !x->def || !qgc_explains(x->def) ||
                !reads_integers(x->def) || !feeds_integers(&node->results[0]))
                continue;
            if (qgc_view_build(x->def, c->arena, &view, NULL) && view.num_nodes > 1 &&
                view.nodes[1] == node)
                continue; /* one island: the function of it */
            qgc_find(c, node, "%s computes in floats between ops on integers: %%%s is %s",
                     qgc_node_op(node)->mnemonic, x->name->data, qgc_type_str(c->arena, x->type));
        }
}

void qgc_check_mixed(qgc_checker *c)
{
    QGC_EACH_FUNC (func, c->graph)
        QGC_EACH_NODE (node, func) {
            const qgc_value *first = NULL, *x = NULL;
            if (!qgc_explains(node) || !reads_integers(node))
                continue;
            if (reads_float(node, &x) && !is_in_float_chain(node, x)) {
                qgc_find(c, node, "%s reads integers, but %%%s is %s", qgc_node_op(node)->mnemonic,
                         x->name->data, qgc_type_str(c->arena, x->type));
                continue;
            }
            for (uint32_t i = 0; i < node->num_operands; i++) {
                const qgc_value *value = node->operands[i].value;
                if (!is_data(node, i) || !is_integer(value) || qgc_is_constant(value))
                    continue;
                first = first ? first : value;
                qgc_dtype a = qgc_held_in(first), b = qgc_held_in(value);
                if (qgc_dtype_bytes(a) == qgc_dtype_bytes(b))
                    continue;
                qgc_find(c, node, "%s reads %s (%%%s) and %s (%%%s)", qgc_node_op(node)->mnemonic,
                         qgc_dtype_name(a), qgc_bare_value(first)->name->data, qgc_dtype_name(b),
                         qgc_bare_value(value)->name->data);
                break;
            }
        }
}

void qgc_check_fixed(qgc_checker *c)
{
    QGC_EACH_FUNC (func, c->graph)
        QGC_EACH_NODE (node, func)
            if (node->op == QGC_OP_OBSERVE &&
                qgc_node_attr(node, "spec")->spec->kind == QGC_SPEC_FIXED) {
                const qgc_spec *spec = qgc_node_attr(node, "spec")->spec;
                qgc_find(c, node, "%%%s has the fixed scale %g, zero point %lld",
                         qgc_observed_value(node)->name->data, (double)spec->scale,
                         (long long)spec->zero_point);
            }
}

/* ---- scales ---- */

static const qgc_record *record_of(const qgc_checker *c, const qgc_func *func,
                                   const qgc_value *value)
{
    for (size_t i = 0; i < c->stats->stats.size; i++) {
        const qgc_record *record = &c->stats->stats.data[i];
        if (record->func == func->name && record->value == value->name && !record->site)
            return record;
    }
    return NULL;
}

/* The range of the type against what calibration has seen. */
static void check_coverage(qgc_checker *c, const qgc_node *quantize, const qgc_view_params *p)
{
    const qgc_value *x = qgc_node_operand(quantize, 0);
    const qgc_record *record = record_of(c, quantize->func, x);
    qgc_int_range range;
    qgc_stats stats;
    double outside;
    qgc_quant_dtype_range(quantize->results[0].type->dtype, &range);
    if (!record || qgc_stats_from_record(c->module, record, c->arena, &stats) != QGC_OK ||
        !(stats.min <= stats.max))
        return;
    double lo = (range.lo - (double)p->zero_points[0]) * (double)p->scales[0];
    double hi = (range.hi - (double)p->zero_points[0]) * (double)p->scales[0];
    double seen = fmax((double)stats.max, 0) - fmin((double)stats.min, 0);
    if (seen > 0 && seen * 4 < hi - lo)
        qgc_find(c, quantize, "%%%s is from %g to %g, the scale %g covers %g to %g", x->name->data,
                 (double)stats.min, (double)stats.max, (double)p->scales[0], lo, hi);
    else if (qgc_stats_share_outside(&stats, lo - (double)p->scales[0] / 2,
                                     hi + (double)p->scales[0] / 2, &outside) &&
             outside > 0.05)
        qgc_find(c, quantize, "the scale %g of %%%s clips %.1f %% of the values",
                 (double)p->scales[0], x->name->data, 100 * outside);
}

/* An op that only moves elements has one scale. */
static void check_move(qgc_checker *c, const qgc_node *quantize, const qgc_view_params *p)
{
    const qgc_node *moves = qgc_node_operand(quantize, 0)->def;
    for (uint32_t i = 0; moves && qgc_view_moves(moves) && i < moves->num_operands; i++) {
        const qgc_node *step = is_data(moves, i) ? qgc_node_operand(moves, i)->def : NULL;
        qgc_view_params x;
        if (!step || step->op != QGC_OP_DEQUANTIZE ||
            !qgc_view_read_params(step, c->arena, &x, NULL) || qgc_view_same_params(&x, p) ||
            !x.scales || x.per_channel)
            continue;
        qgc_find(c, moves, "%s only moves elements, but its result has the scale %g, %%%s %g",
                 qgc_node_op(moves)->mnemonic, (double)p->scales[0],
                 step->operands[0].value->name->data, (double)x.scales[0]);
    }
}

/* Whether two steps have parameters that are known and differ. */
static bool differ(qgc_checker *c, const qgc_node *a, const qgc_node *b, qgc_view_params *p,
                   qgc_view_params *q)
{
    return qgc_view_read_params(a, c->arena, p, NULL) &&
           qgc_view_read_params(b, c->arena, q, NULL) && p->scales && q->scales && p->zero_points &&
           q->zero_points && !p->per_channel && !q->per_channel && !qgc_view_same_params(p, q);
}

static const char *params_text(const qgc_checker *c, const qgc_view_params *p)
{
    return qgc_arena_printf(c->arena, "the scale %g and the zero point %d", (double)p->scales[0],
                            (int)p->zero_points[0]);
}

/* Integers of one tensor have one scale. |origins|: by value, the `quantize` that they come from.
 */
static void check_moved_integers(qgc_checker *c, const qgc_node *node, qgc_map *origins)
{
    const qgc_node *first = NULL;
    qgc_view_params p, q;
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *x = node->operands[i].value;
        const qgc_node *from = x && qgc_is_data_operand(node, i) ? qgc_map_get(origins, x) : NULL;
        if (first && from && differ(c, first, from, &p, &q))
            qgc_find(c, node, "%s puts together integers with %s and %%%s with %s",
                     qgc_node_op(node)->mnemonic, params_text(c, &p), x->name->data,
                     params_text(c, &q));
        first = first ? first : from;
    }
    if (first)
        *qgc_map_at(origins, &node->results[0]) = (void *)(uintptr_t)first;
}

static void check_read(qgc_checker *c, const qgc_node *dequantize, const qgc_map *origins)
{
    const qgc_value *x = qgc_node_operand(dequantize, 0);
    const qgc_node *from = qgc_map_get(origins, x);
    qgc_view_params p, q;
    if (from && differ(c, from, dequantize, &p, &q))
        qgc_find(c, dequantize, "%%%s was quantized with %s, but is read with %s", x->name->data,
                 params_text(c, &p), params_text(c, &q));
}

static void check_quantize(qgc_checker *c, const qgc_node *node)
{
    qgc_view_params p;
    if (!qgc_view_read_params(node, c->arena, &p, NULL) || p.per_channel || !p.scales ||
        !p.zero_points)
        return;
    check_move(c, node, &p);
    check_coverage(c, node, &p);
}

void qgc_check_odd_scale(qgc_checker *c)
{
    QGC_EACH_FUNC (func, c->module) {
        qgc_map origins = {.arena = c->arena};
        QGC_EACH_NODE (node, func)
            if (node->op == QGC_OP_QUANTIZE) {
                check_quantize(c, node);
                *qgc_map_at(&origins, &node->results[0]) = node;
            } else if (node->op == QGC_OP_DEQUANTIZE) {
                check_read(c, node, &origins);
            } else if (qgc_view_moves(node)) {
                check_moved_integers(c, node, &origins);
            }
    }
}

/* ---- weights ---- */

static double magnitude(const qgc_tensor *t, size_t i)
{
    switch (t->dtype) {
    case QGC_DTYPE_F32:
        return fabs((double)((const float *)t->data)[i]);
    case QGC_DTYPE_I8:
        return fabs((double)((const int8_t *)t->data)[i]);
    case QGC_DTYPE_I16:
        return fabs((double)((const int16_t *)t->data)[i]);
    default:
        return 0;
    }
}

/* The channels' greatest magnitudes. */
typedef struct peaks {
    size_t num, greatest; /* index of the greatest */
    double least, median; /* channels of zeros aside */
    double *of;
} peaks;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Least and median of those that are not 0. */
static void rank_peaks(peaks *p, qgc_arena *arena)
{
    double *sorted = QGC_NEW_ARRAY(arena, double, p->num);
    size_t num = 0;
    for (size_t i = 0; i < p->num; i++) {
        if (p->of[i] > 0)
            sorted[num++] = p->of[i];
        if (p->of[i] > p->of[p->greatest])
            p->greatest = i;
    }
    qsort(sorted, num, sizeof *sorted, compare_doubles);
    p->least = num ? sorted[0] : 0;
    p->median = num ? sorted[(num - 1) / 2] : 0;
}

static peaks find_peaks(const qgc_tensor *t, uint32_t axis, qgc_arena *arena)
{
    size_t inner = 1, count = qgc_tensor_count(t);
    peaks p = {.num = (size_t)t->shape[axis]};
    p.of = QGC_NEW_ARRAY(arena, double, p.num + 1);
    for (uint32_t i = axis + 1; i < t->rank; i++)
        inner *= (size_t)t->shape[i];
    for (size_t i = 0; i < count; i++) {
        size_t channel = i / inner % p.num;
        p.of[channel] = fmax(p.of[channel], magnitude(t, i));
    }
    rank_peaks(&p, arena);
    return p;
}

/* The data of a weight with one scale, or NULL. */
static const qgc_tensor *tensor_wise(const qgc_value *value)
{
    const qgc_node *def = value->def;
    bool is_step = def && (def->op == QGC_OP_DEQUANTIZE || def->op == QGC_OP_OBSERVE);
    const qgc_node *source = is_step ? qgc_node_operand(def, 0)->def : NULL;
    if (!source || !source->constant || source->constant->rank < 2 || qgc_node_attr(def, "axis"))
        return NULL;
    return source->constant;
}

static void report_uneven(qgc_checker *c, const qgc_node *node, const qgc_value *weight, peaks p)
{
    enum { UNEVEN = 16 };
    double greatest = p.num ? p.of[p.greatest] : 0;
    const char *name = qgc_bare_value(weight)->name->data, *outlier = "";
    if (!(greatest > UNEVEN * p.least))
        return;
    if (greatest > UNEVEN * p.median)
        outlier = qgc_arena_printf(c->arena, ", channel %zu is %.3g times the median one",
                                   p.greatest, greatest / p.median);
    if (greatest > 1000 * p.least)
        qgc_find(c, node, "%%%s has one scale, its channels differ more than 1000 times%s", name,
                 outlier);
    else
        qgc_find(c, node, "%%%s has one scale, its channels differ %.3g times%s", name,
                 greatest / p.least, outlier);
}

void qgc_check_uneven(qgc_checker *c)
{
    QGC_EACH_FUNC (func, c->graph)
        QGC_EACH_NODE (node, func)
            for (uint32_t i = 0; i < node->num_operands; i++) {
                const qgc_value *value = node->operands[i].value;
                const qgc_operand_spec *row =
                    &qgc_node_op(node)->operands[qgc_node_operand_row(node, i)];
                const qgc_tensor *t =
                    value && row->quant == QGC_Q_WEIGHT ? tensor_wise(value) : NULL;
                int64_t axis = t ? row->channel_axis : -1;
                axis += t && axis < 0 ? (int64_t)t->rank : 0;
                if (!t || axis < 0 || axis >= t->rank)
                    continue;
                report_uneven(c, node, value, find_peaks(t, (uint32_t)axis, c->arena));
            }
}

#include "passes/compare_advice.h"

#include "base/number.h"

#include <math.h>
#include <string.h>

enum { POOR_DB = 20 }; /* below, a value is worth a remark */

typedef struct adviser {
    qgc_compare_report *report;
    const qgc_row **from;
    double start_db;
    qgc_arena *arena;
} adviser;

/* ---- loss ---- */

static double quality_of(const qgc_compare_row *row)
{
    if (row->broken.num)
        return -INFINITY;
    return fmin(row->sqnr, row->channel_sqnr);
}

static double allowed(const qgc_row *row)
{
    if (!row->key_b.is_stored)
        return 100;
    size_t bytes = qgc_dtype_bytes(row->key_b.dtype);
    return bytes == 1 ? 30 : bytes == 2 ? 60 : 100;
}

/* ---- the parameters, whatever comes in ---- */

static qgc_quant_spec spec_of(const qgc_value_key *key)
{
    bool is_sym = key->params.zero_points[0] == (key->range.lo + key->range.hi + 1) / 2;
    return (qgc_quant_spec){.dtype = key->dtype,
                            .scheme = is_sym ? QGC_QUANT_SYMMETRIC : QGC_QUANT_AFFINE,
                            .range = key->range,
                            .eps = QGC_QUANT_EPS};
}

/* What the first graph's values alone would lose by the second one's parameters, beyond what the
 * type allows. Errors that come in can carry values out of a good range: they do not count. */
static double own_loss(const qgc_row *row, const qgc_compare_row *out)
{
    double error;
    const qgc_value_key *key = &row->key_b;
    if (!key->has_params || key->params.per_channel || key->is_constant)
        return 0;
    qgc_quant_spec spec = spec_of(key);
    double scale = (double)key->params.scales[0], zero = (double)key->params.zero_points[0];
    qgc_range range = {(float)(scale * (key->range.lo - zero)),
                       (float)(scale * (key->range.hi - zero))};
    if (qgc_quant_check_spec(&spec) != QGC_QUANT_OK ||
        qgc_stats_mean_squared_error(&row->stats_a, &spec, range, &error) != QGC_STATS_OK)
        return 0;
    return error > 0 ? allowed(row) - qgc_ratio_db(out->energy, error) : 0;
}

static void find_loss(adviser *a, size_t index)
{
    qgc_compare_row *row = &a->report->rows[index];
    const qgc_entry *e = a->from[index]->entry_b;
    double best = allowed(a->from[index]);
    for (size_t i = 0; i < e->inputs.size; i++)
        best = fmin(best, e->inputs.data[i]->quality); /* NaN: no row, does not count */
    double quality = quality_of(row);
    double loss = fmax(best - quality, own_loss(a->from[index], row));
    row->loss = quality == INFINITY ? 0 : fmax(loss, 0);
}

/* ---- causes ---- */

/* |own|: of the two that are not inherited. */
static const char *greatest_part(const qgc_compare_row *row, bool own)
{
    if (!own && row->inherited > row->clipped && row->inherited > row->rounded)
        return "inherited";
    return row->clipped >= row->rounded ? "clipped" : "rounded";
}

/* What is off before rounding although all that it is made of is good, the op itself computes;
 * where both graphs have that op, its operands' errors weigh more behind it than before it. */
static const char *cause_of(const adviser *a, size_t index)
{
    const qgc_compare_row *row = &a->report->rows[index];
    if (!row->differing)
        return "";
    bool own = own_loss(a->from[index], row) >= a->start_db;
    const char *part = row->has_parts ? greatest_part(row, own) : "inherited";
    if (strcmp(part, "inherited") != 0 || row->loss < a->start_db)
        return part;
    return a->from[index]->entry_b->is_same_op ? "magnified" : "computed";
}

static bool is_cause(const qgc_compare_row *row, const char *cause)
{
    return strcmp(row->cause, cause) == 0;
}

/* ---- remedies ---- */

/* The best range of the same type for what the first graph gives, as parameters; false where there
 * is none. *out_error: the mean square that is then expected of clipping and rounding. */
static bool best_params(const qgc_row *row, qgc_qparams *out, double *out_error)
{
    qgc_range range;
    qgc_quant_spec spec = spec_of(&row->key_b);
    return qgc_quant_check_spec(&spec) == QGC_QUANT_OK &&
           qgc_stats_range_mse(&row->stats_a, &spec, &range) == QGC_STATS_OK &&
           qgc_stats_mean_squared_error(&row->stats_a, &spec, range, out_error) == QGC_STATS_OK &&
           qgc_qparams_from_range(&spec, range.lo, range.hi, out) == QGC_QUANT_OK;
}

/* `value "%c" => ACTION`, in a rules file. */
static const char *rule(adviser *a, const qgc_value_key *key, const char *why, const char *action)
{
    qgc_text name = {.arena = a->arena};
    const char *value = qgc_arena_printf(a->arena, "@%s.%%%s", key->func->data, key->value->data);
    qgc_text_put_quoted(&name, qgc_str_from(value));
    return qgc_arena_printf(a->arena, "%s: value %s => %s", why, qgc_text_str(&name).data, action);
}

/* Own error: a better range where that halves it, else a scale per channel, else more bits. */
static const char *requantize(adviser *a, const qgc_row *row, const qgc_compare_row *out)
{
    qgc_qparams params;
    double expected, own = out->clipped + out->rounded;
    const char *dtype = qgc_dtype_name(row->key_b.dtype);
    bool per_tensor = row->key_b.has_params && !row->key_b.params.per_channel;
    if (per_tensor && best_params(row, &params, &expected) && expected < own / 2) {
        char scale[QGC_NUMBER_CHARS];
        qgc_print_f32(scale, params.scale);
        const char *action =
            qgc_arena_printf(a->arena, "fixed(%s, %d, %s)", scale, (int)params.zero_point, dtype);
        bool widens = params.scale > row->key_b.params.scales[0];
        return rule(a, &row->key_b, widens ? "widen its range" : "narrow its range", action);
    }
    if (per_tensor && row->key_b.is_constant && row->channels > 1)
        return rule(a, &row->key_b, "a scale per channel",
                    qgc_arena_printf(a->arena, "weight %s.sym.ch.minmax", dtype));
    if (qgc_dtype_bytes(row->key_b.dtype) == 1)
        return rule(a, &row->key_b, "more bits", "i16");
    return rule(a, &row->key_b, "floats", "float");
}

/* The worst of the values it is made of; NULL: none has an error. */
static const qgc_entry *worst_input(const adviser *a, size_t index)
{
    const qgc_entry *e = a->from[index]->entry_b, *worst = NULL;
    double quality = INFINITY;
    for (size_t i = 0; i < e->inputs.size; i++)
        if (e->inputs.data[i]->quality < quality) {
            worst = e->inputs.data[i];
            quality = worst->quality;
        }
    return worst;
}

static const char *blame(adviser *a, size_t index)
{
    const qgc_entry *worst = worst_input(a, index);
    return worst ? qgc_arena_printf(a->arena, "see %s", worst->text->data) : "";
}

/* More bits for what it reads, where that is stored in few. */
static const char *refine_input(adviser *a, size_t index)
{
    const qgc_entry *worst = worst_input(a, index);
    bool is_coarse = worst && worst->stored && qgc_dtype_bytes(worst->stored_key.dtype) == 1;
    return is_coarse ? rule(a, &worst->stored_key, "more bits for what it reads", "i16")
                     : blame(a, index);
}

static const char *remedy_of(adviser *a, size_t index)
{
    const qgc_compare_row *row = &a->report->rows[index];
    const qgc_row *from = a->from[index];
    if (row->stays_float)
        return "it stays float: qgc opt --remarks=annotate says why";
    if (is_cause(row, "inherited"))
        return quality_of(row) < POOR_DB ? blame(a, index) : "";
    if (row->loss < a->start_db || !row->cause[0])
        return "";
    if (is_cause(row, "clipped") || is_cause(row, "rounded"))
        return requantize(a, from, row);
    if (is_cause(row, "magnified"))
        return refine_input(a, index);
    return row->is_constant ? "the constant is another one: qgc diff"
                            : "the op or its constants are others: qgc diff";
}

/* Where an error is made comes before where one only grows. */
static size_t find_start(const qgc_compare_report *report, double start_db)
{
    size_t magnified = SIZE_MAX;
    for (size_t i = 0; i < report->num_rows; i++) {
        const qgc_compare_row *row = &report->rows[i];
        if (row->loss < start_db)
            continue;
        if (!is_cause(row, "magnified"))
            return i;
        if (magnified == SIZE_MAX)
            magnified = i;
    }
    return magnified;
}

void qgc_compare_advise(qgc_compare_report *report, const qgc_row **from, double start_db,
                        qgc_arena *arena)
{
    adviser a = {report, from, start_db, arena};
    for (size_t i = 0; i < report->num_rows; i++) {
        qgc_entry *e = from[i]->entry_b;
        e->quality = fmin(e->quality, quality_of(&report->rows[i]));
    }
    for (size_t i = 0; i < report->num_rows; i++) {
        qgc_compare_row *row = &report->rows[i];
        find_loss(&a, i);
        row->cause = cause_of(&a, i);
        row->remedy = remedy_of(&a, i);
        if (row->differing && report->first_difference == SIZE_MAX)
            report->first_difference = i;
    }
    report->start = find_start(report, start_db);
}

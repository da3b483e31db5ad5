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
    if (row->broken)
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

static void find_loss(adviser *a, size_t index)
{
    qgc_compare_row *row = &a->report->rows[index];
    const qgc_entry *e = a->from[index]->entry_b;
    double best = allowed(a->from[index]);
    for (size_t i = 0; i < e->inputs.size; i++)
        best = fmin(best, e->inputs.data[i]->quality); /* NaN: no row, does not count */
    double quality = quality_of(row);
    row->loss = quality == INFINITY ? 0 : fmax(best - quality, 0);
}

/* ---- causes ---- */

static const char *greatest_part(const qgc_compare_row *row)
{
    if (row->clipped >= row->rounded && row->clipped >= row->inherited)
        return "clipped";
    return row->rounded >= row->inherited ? "rounded" : "inherited";
}

/* What is off before rounding although all that it is made of is good, the op itself computes. */
static const char *cause_of(const adviser *a, const qgc_compare_row *row)
{
    if (!row->differing)
        return "";
    const char *part = row->has_parts ? greatest_part(row) : "inherited";
    return strcmp(part, "inherited") == 0 && row->loss >= a->start_db ? "computed" : part;
}

/* ---- remedies ---- */

/* The best range of the same type for what the first graph gives, as parameters; false where there
 * is none. *out_error: the mean square that is then expected of clipping and rounding. */
static bool best_params(const qgc_row *row, qgc_qparams *out, double *out_error)
{
    const qgc_value_key *key = &row->key_b;
    qgc_range range;
    bool is_sym = key->params.zero_points[0] == (key->range.lo + key->range.hi + 1) / 2;
    qgc_quant_spec spec = {.dtype = key->dtype,
                           .scheme = is_sym ? QGC_QUANT_SYMMETRIC : QGC_QUANT_AFFINE,
                           .range = key->range,
                           .eps = QGC_QUANT_EPS};
    return qgc_quant_check_spec(&spec) == QGC_QUANT_OK &&
           qgc_stats_range_mse(&row->stats_a, &spec, &range) == QGC_STATS_OK &&
           qgc_stats_mean_squared_error(&row->stats_a, &spec, range, out_error) == QGC_STATS_OK &&
           qgc_qparams_from_range(&spec, range.lo, range.hi, out) == QGC_QUANT_OK;
}

/* `value "%c" => ACTION`, in a rules file. */
static const char *rule(adviser *a, const qgc_row *row, const char *why, const char *action)
{
    qgc_text name = {.arena = a->arena};
    const char *value =
        qgc_arena_printf(a->arena, "@%s.%%%s", row->key_b.func->data, row->key_b.value->data);
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
        return rule(a, row, widens ? "widen its range" : "narrow its range", action);
    }
    if (per_tensor && row->key_b.is_constant && row->channels > 1)
        return rule(a, row, "a scale per channel",
                    qgc_arena_printf(a->arena, "weight %s.sym.ch.minmax", dtype));
    if (qgc_dtype_bytes(row->key_b.dtype) == 1)
        return rule(a, row, "more bits", "i16");
    return rule(a, row, "floats", "float");
}

/* Back along the worst values it is made of, to where error has another cause. */
static const char *blame(adviser *a, size_t index)
{
    const qgc_entry *e = a->from[index]->entry_b, *worst = NULL;
    double quality = INFINITY;
    for (size_t i = 0; i < e->inputs.size; i++)
        if (e->inputs.data[i]->quality < quality) {
            worst = e->inputs.data[i];
            quality = worst->quality;
        }
    return worst ? qgc_arena_printf(a->arena, "see %s", worst->text->data) : "";
}

static const char *remedy_of(adviser *a, size_t index)
{
    const qgc_compare_row *row = &a->report->rows[index];
    const qgc_row *from = a->from[index];
    if (row->stays_float)
        return "it stays float: qgc opt --remarks=annotate says why";
    if (strcmp(row->cause, "inherited") == 0)
        return quality_of(row) < POOR_DB ? blame(a, index) : "";
    if (row->loss < a->start_db || !row->cause[0])
        return "";
    if (strcmp(row->cause, "clipped") == 0 || strcmp(row->cause, "rounded") == 0)
        return requantize(a, from, row);
    return row->is_constant ? "the constant is another one: qgc diff"
                            : "the op or its constants are others: qgc diff";
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
        row->cause = cause_of(&a, row);
        row->remedy = remedy_of(&a, i);
        if (row->differing && report->first_difference == SIZE_MAX)
            report->first_difference = i;
        if (row->loss >= start_db && report->start == SIZE_MAX)
            report->start = i;
    }
}

/* Calibration: runs the prepared graph on data and turns what the observers saw into statistics.
 *
 * A record belongs to a value, not to an observer: values that share parameters have records of
 * their own, which convert merges (histograms merge exactly). So one calibration serves any method,
 * and any sharing, later.
 * Does not handle: more data for a graph that has statistics already (merge two calibrations). */
#include "qgc/calibrate.h"

#include "passes/checkpoint.h"
#include "passes/provenance.h"
#include "passes/stats_record.h"

#include <time.h>

typedef struct calibrator {
    qgc_module *module;
    const qgc_calibrate_options *options;
    qgc_recorders recorders;
    uint64_t graph_hash;
    size_t batches; /* since the last checkpoint */
    double saved;   /* when that was, in seconds */
} calibrator;

/* ---- checkpoints ---- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static qgc_result save(calibrator *c, const qgc_data_pass *pass)
{
    QGC_TRY(qgc_checkpoint_write(c->options->state, c->graph_hash, pass));
    c->batches = 0;
    c->saved = now();
    return QGC_OK;
}

static qgc_result after_batch(void *user, const qgc_data_pass *pass)
{
    enum { SECONDS = 5 };
    calibrator *c = user;
    size_t every = c->options->checkpoint_batches;
    c->batches++;
    bool is_time = every ? c->batches >= every : now() - c->saved >= SECONDS;
    return is_time ? save(c, pass) : QGC_OK;
}

static qgc_result run(calibrator *c, qgc_data_pass *pass)
{
    if (!c->options->state)
        return qgc_data_pass_run(pass);
    QGC_TRY(qgc_checkpoint_read(c->options->state, c->graph_hash, pass));
    pass->after_batch = after_batch;
    pass->after_user = c;
    c->saved = now();
    QGC_TRY(qgc_data_pass_run(pass));
    return c->batches ? save(c, pass) : QGC_OK;
}

/* ---- results ---- */

static void warn(const calibrator *c, size_t num_samples)
{
    qgc_diag *diag = &c->module->context->diag;
    if (num_samples < 8)
        qgc_report(diag, QGC_NO_LOC, QGC_D_FEW_SAMPLES, "calibrated with %zu sample%s", num_samples,
                   num_samples == 1 ? "" : "s");
    for (size_t i = 0; i < c->recorders.list.size; i++) {
        const qgc_recorder *r = c->recorders.list.data[i];
        const qgc_stats *s = &r->stats;
        if (!r->site && s->nan + s->pos_inf + s->neg_inf)
            qgc_report(diag, r->value->loc, QGC_D_NOT_FINITE,
                       "%%%s had %llu NaN, %llu inf and %llu -inf among %llu values",
                       r->value->name->data, (unsigned long long)s->nan,
                       (unsigned long long)s->pos_inf, (unsigned long long)s->neg_inf,
                       (unsigned long long)s->count);
    }
}

static qgc_result check_form(const qgc_module *module)
{
    if (module->form == QGC_FORM_PREPARED)
        return QGC_OK;
    return qgc_report(&module->context->diag, QGC_NO_LOC, QGC_D_BAD_FORM,
                      "calibrate needs a graph of form prepared, here it is %s",
                      qgc_form_name(module->form));
}

static qgc_result calibrate(calibrator *c, const qgc_samples *samples, qgc_arena *arena)
{
    const qgc_calibrate_options *o = c->options;
    QGC_TRY(check_form(c->module));
    QGC_TRY(qgc_recorders_build(&c->recorders, c->module, arena, false));
    c->graph_hash = qgc_graph_hash(c->module);
    qgc_data_pass pass = {.recorders = &c->recorders,
                          .func = o->func,
                          .samples = samples,
                          .engine = o->engine,
                          .progress = o->progress,
                          .user = o->user};
    QGC_TRY(run(c, &pass));
    warn(c, pass.num_samples);
    /* Values that no run came by get no record: convert names them. */
    qgc_recorders_write(&c->recorders, c->module);
    qgc_provenance_set(c->module, c->graph_hash, pass.data_hash, pass.num_samples);
    c->module->form = QGC_FORM_CALIBRATED;
    return QGC_OK;
}

qgc_result qgc_module_calibrate(qgc_module *module, const qgc_samples *samples,
                                const qgc_calibrate_options *options)
{
    static const qgc_calibrate_options defaults = {0};
    qgc_arena arena = {0};
    calibrator c = {.module = module, .options = options ? options : &defaults};
    qgc_result result = calibrate(&c, samples, &arena);
    qgc_arena_destroy(&arena);
    return result;
}

/* ---- the statistics of another preparation ---- */

static const qgc_record *find_record(const qgc_module *from, const qgc_module *module,
                                     const qgc_recorder *r)
{
    qgc_name func = qgc_value_func(module, r->value)->name;
    for (size_t i = 0; i < from->stats.size; i++) {
        const qgc_record *record = &from->stats.data[i];
        if (record->func == func && record->value == r->value->name && record->site == r->site)
            return record;
    }
    return NULL;
}

/* What observes less was there on the way to what observes more. */
static void drop_histogram(qgc_stats *stats)
{
    stats->observer = QGC_OBSERVER_MINMAX;
    stats->exp = stats->first = 0;
    stats->num_bins = 0;
    stats->bins = NULL;
}

typedef struct lack {
    const qgc_value *value; /* NULL: all records are there */
    const char *why;
} lack;

static qgc_result take_records(qgc_recorders *recorders, const qgc_module *from, qgc_arena *arena,
                               lack *out)
{
    *out = (lack){NULL, NULL};
    for (size_t i = 0; i < recorders->list.size; i++) {
        qgc_recorder *r = recorders->list.data[i];
        qgc_observer wanted = r->stats.observer;
        const qgc_record *record = find_record(from, recorders->module, r);
        *out = (lack){r->value, "has no statistics in the file"};
        if (!record)
            return QGC_OK;
        QGC_TRY(qgc_stats_from_record(recorders->module, record, arena, &r->stats));
        if (wanted == QGC_OBSERVER_MINMAX && r->stats.observer == QGC_OBSERVER_HISTOGRAM)
            drop_histogram(&r->stats);
        out->why = "was observed otherwise: hist needs a histogram, avg the order of the samples";
        if (r->stats.observer != wanted)
            return QGC_OK;
    }
    *out = (lack){NULL, NULL};
    return QGC_OK;
}

/* |module| is as it was where something lacks. */
static qgc_result take(qgc_module *module, const qgc_module *from, lack *out)
{
    qgc_arena arena = {0};
    qgc_recorders recorders = {0};
    qgc_result result = qgc_recorders_build(&recorders, module, &arena, false);
    if (result == QGC_OK)
        result = take_records(&recorders, from, &arena, out);
    if (result == QGC_OK && !out->value) {
        qgc_recorders_write(&recorders, module);
        qgc_provenance_take(module, from);
        module->form = QGC_FORM_CALIBRATED;
    }
    qgc_arena_destroy(&arena);
    return result;
}

qgc_result qgc_module_reuse_stats(qgc_module *module, const qgc_module *from, bool *out_done)
{
    lack lacking;
    *out_done = false;
    QGC_TRY(check_form(module));
    if (from->form != QGC_FORM_CALIBRATED || !from->provenance.size)
        return QGC_OK;
    QGC_TRY(take(module, from, &lacking));
    *out_done = !lacking.value;
    return QGC_OK;
}

qgc_result qgc_module_take_stats(qgc_module *module, const qgc_module *from)
{
    lack lacking;
    qgc_diag *diag = &module->context->diag;
    QGC_TRY(check_form(module));
    QGC_TRY(qgc_stats_check_source(module, from));
    qgc_provenance_warn_unsealed(from);
    if (!from->provenance.size)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_BAD_STATS,
                          "the statistics have no provenance: expected graph, data and samples");
    QGC_TRY(take(module, from, &lacking));
    if (!lacking.value)
        return QGC_OK;
    return qgc_report(diag, lacking.value->loc, QGC_D_UNCALIBRATED, "%%%s of @%s %s",
                      lacking.value->name->data, qgc_value_func(module, lacking.value)->name->data,
                      lacking.why);
}

/* Calibration: runs the prepared graph on data and turns what the observers saw into statistics.
 *
 * A record belongs to a value, not to an observer: values that share parameters have records of
 * their own, which convert merges (histograms merge exactly). So one calibration serves any method,
 * and any sharing, later.
 * Does not handle: statistics per call site; more data for a graph that has statistics already. */
#include "qgc/calibrate.h"

#include "passes/observers.h"
#include "passes/provenance.h"
#include "passes/stats_record.h"
#include "runtime/hash.h"
#include "runtime/interp.h"
#include "runtime/interp_feed.h"

#include <string.h>

typedef struct recorder {
    const qgc_value *value;
    qgc_stats stats;
} recorder;

typedef struct calibrator {
    qgc_module *module;
    const qgc_func *func;
    const qgc_calibrate_options *options;
    qgc_arena arena;
    qgc_feed *feed;
    qgc_map of_observer;      /* observer's result -> recorder * */
    QGC_VEC(recorder *) list; /* in program order */
    uint64_t data_hash;
    size_t num_samples;
} calibrator;

/* ---- what is recorded ---- */

static qgc_observer observer_kind(const qgc_spec *spec)
{
    static const qgc_observer kinds[] = {
        [QGC_OBSERVE_NONE] = QGC_OBSERVER_HISTOGRAM, /* not reached: such a spec does not verify */
        [QGC_OBSERVE_MINMAX] = QGC_OBSERVER_MINMAX,
        [QGC_OBSERVE_AVG] = QGC_OBSERVER_MOVING_AVERAGE,
        [QGC_OBSERVE_HIST] = QGC_OBSERVER_HISTOGRAM,
    };
    return kinds[spec->observer];
}

/* Two observers of one value record once; a histogram holds what minmax needs. */
static qgc_result add_observer(calibrator *c, qgc_map *of_value, const qgc_node *node)
{
    const qgc_spec *spec = qgc_observer_spec(node);
    qgc_observer kind = observer_kind(spec);
    const qgc_value *value = qgc_observed_value(node);
    qgc_diag *diag = &c->module->context->diag;
    if (spec->per_channel)
        return qgc_report(diag, node->loc, QGC_D_BAD_ANNOTATION,
                          "%%%s is not constant: only constants have ranges per channel",
                          value->name->data);
    recorder **slot = (recorder **)qgc_map_at(of_value, value);
    if (!*slot) {
        *slot = QGC_NEW(&c->arena, recorder);
        (*slot)->value = value;
        qgc_stats_init(&(*slot)->stats, kind, &c->arena);
        qgc_vec_push(&c->arena, &c->list, *slot);
        *qgc_map_at(&c->of_observer, &node->results[0]) = *slot;
        return QGC_OK;
    }
    qgc_observer old = (*slot)->stats.observer;
    bool averages = old == QGC_OBSERVER_MOVING_AVERAGE || kind == QGC_OBSERVER_MOVING_AVERAGE;
    if (averages && old != kind)
        return qgc_report(diag, node->loc, QGC_D_BAD_ANNOTATION,
                          "%%%s is observed by a moving average and otherwise too",
                          value->name->data);
    if (kind == QGC_OBSERVER_HISTOGRAM && old != kind)
        qgc_stats_init(&(*slot)->stats, kind, &c->arena);
    return QGC_OK;
}

static qgc_result add_observers(calibrator *c)
{
    qgc_map of_value = {.arena = &c->arena};
    c->of_observer.arena = &c->arena;
    QGC_EACH_FUNC (func, c->module)
        QGC_EACH_NODE (node, func)
            if (node->op == QGC_OP_OBSERVE && qgc_observer_records(node))
                QGC_TRY(add_observer(c, &of_value, node));
    return QGC_OK;
}

static void watch(void *user, const qgc_value *value, const qgc_tensor *tensor)
{
    calibrator *c = user;
    recorder *r = qgc_map_get(&c->of_observer, value);
    if (r)
        qgc_stats_update(&r->stats, tensor->data, qgc_tensor_count(tensor));
}

/* ---- data ---- */

/* Adds the hashes of the samples up: any order and any split into shards gives the same sum. */
static void hash_samples(calibrator *c, const qgc_tensor *inputs, size_t num)
{
    for (size_t sample = 0; sample < num; sample++) {
        uint64_t hash = 0;
        for (uint32_t i = 0; i < c->func->num_params; i++) {
            qgc_name name = c->func->params[i].name;
            size_t bytes = inputs[i].bytes / num;
            hash = qgc_hash(hash, name->data, name->size);
            hash = qgc_hash(hash, (const char *)inputs[i].data + sample * bytes, bytes);
        }
        c->data_hash += hash;
    }
}

static qgc_result run_batch(calibrator *c, const qgc_tensor *inputs, size_t num)
{
    uint32_t results = c->func->num_results;
    qgc_arena_mark mark = qgc_arena_get_mark(&c->arena);
    qgc_tensor *outputs = QGC_NEW_ARRAY(&c->arena, qgc_tensor, results);
    qgc_interp_options options = {.watch = watch, .user = c};
    qgc_result result = qgc_interp_run(c->func, inputs, outputs, &options);
    if (result == QGC_OK)
        hash_samples(c, inputs, num);
    for (uint32_t i = 0; i < results && result == QGC_OK; i++)
        qgc_tensor_destroy(&outputs[i]);
    qgc_arena_reset(&c->arena, mark);
    c->num_samples += num;
    return result;
}

static qgc_result run_samples(calibrator *c)
{
    qgc_tensor *inputs = QGC_NEW_ARRAY(&c->arena, qgc_tensor, c->func->num_params);
    size_t total = qgc_feed_end(c->feed) - qgc_feed_begin(c->feed);
    for (;;) {
        size_t num;
        QGC_TRY(qgc_feed_next(c->feed, inputs, &num));
        if (!num)
            return QGC_OK;
        QGC_TRY(run_batch(c, inputs, num));
        if (c->options->progress)
            c->options->progress(c->options->user, c->num_samples, total);
    }
}

/* ---- results ---- */

static void warn(calibrator *c)
{
    qgc_diag *diag = &c->module->context->diag;
    if (c->num_samples < 8)
        qgc_report(diag, QGC_NO_LOC, QGC_D_FEW_SAMPLES, "calibrated with %zu sample%s",
                   c->num_samples, c->num_samples == 1 ? "" : "s");
    for (size_t i = 0; i < c->list.size; i++) {
        const recorder *r = c->list.data[i];
        const qgc_stats *s = &r->stats;
        if (s->nan + s->pos_inf + s->neg_inf)
            qgc_report(diag, r->value->loc, QGC_D_NOT_FINITE,
                       "%%%s had %llu NaN, %llu inf and %llu -inf among %llu values",
                       r->value->name->data, (unsigned long long)s->nan,
                       (unsigned long long)s->pos_inf, (unsigned long long)s->neg_inf,
                       (unsigned long long)s->count);
    }
}

static qgc_func *func_of(const qgc_module *module, const qgc_value *value)
{
    if (value->def)
        return value->def->func;
    QGC_EACH_FUNC (func, module)
        if (qgc_func_find_value(func, value->name) == value)
            return func;
    return NULL;
}

/* Values that no run came by get no record: convert names them. */
static void write_records(calibrator *c)
{
    c->module->stats.size = 0;
    for (size_t i = 0; i < c->list.size; i++) {
        const recorder *r = c->list.data[i];
        if (!r->stats.count)
            continue;
        qgc_record record = {.func = func_of(c->module, r->value)->name,
                             .value = r->value->name,
                             .fields = qgc_stats_to_attr(c->module, &r->stats)};
        qgc_vec_push(&c->module->arena, &c->module->stats, record);
    }
    qgc_provenance_set(c->module, qgc_graph_hash(c->module), c->data_hash, c->num_samples);
    c->module->form = QGC_FORM_CALIBRATED;
}

static qgc_result find_func(calibrator *c)
{
    qgc_context *context = c->module->context;
    const char *name = c->options->func ? c->options->func : "main";
    c->func = qgc_module_find_func(c->module, qgc_context_name(context, name));
    if (c->func)
        return QGC_OK;
    return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_UNDEFINED, "the module has no function @%s",
                      name);
}

static qgc_result calibrate(calibrator *c, const char *path)
{
    qgc_diag *diag = &c->module->context->diag;
    if (c->module->form != QGC_FORM_PREPARED)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_BAD_FORM,
                          "calibrate needs a graph of form prepared, here it is %s",
                          qgc_form_name(c->module->form));
    QGC_TRY(find_func(c));
    QGC_TRY(add_observers(c));
    const qgc_calibrate_options *o = c->options;
    qgc_feed_options feed = {o->batch, o->limit, o->shard, o->num_shards};
    QGC_TRY(qgc_feed_open(c->func, path, &feed, &c->feed));
    QGC_TRY(run_samples(c));
    warn(c);
    write_records(c);
    return QGC_OK;
}

qgc_result qgc_module_calibrate(qgc_module *module, const char *path,
                                const qgc_calibrate_options *options)
{
    static const qgc_calibrate_options defaults = {0};
    calibrator c = {.module = module, .options = options ? options : &defaults};
    qgc_result result = calibrate(&c, path);
    qgc_feed_close(c.feed);
    qgc_arena_destroy(&c.arena);
    return result;
}

#include "passes/data_pass.h"

#include "runtime/hash.h"
#include "runtime/interp.h"

typedef struct runner {
    qgc_data_pass *pass;
    qgc_diag *diag;
    qgc_func *func;
    qgc_arena arena;
    qgc_feed *feed;
} runner;

static void watch(void *user, const qgc_node *call, const qgc_value *value,
                  const qgc_tensor *tensor)
{
    qgc_recorders_update(user, call, value, tensor);
}

static void hash_samples(runner *r, const qgc_tensor *inputs, size_t num)
{
    for (size_t sample = 0; sample < num; sample++) {
        uint64_t hash = 0;
        for (uint32_t i = 0; i < r->func->num_params; i++) {
            qgc_name name = r->func->params[i].name;
            size_t bytes = inputs[i].bytes / num;
            hash = qgc_hash(hash, name->data, name->size);
            hash = qgc_hash(hash, (const char *)inputs[i].data + sample * bytes, bytes);
        }
        r->pass->data_hash += hash;
    }
}

static qgc_result run_batch(runner *r, const qgc_tensor *inputs)
{
    uint32_t results = r->func->num_results;
    qgc_arena_mark mark = qgc_arena_get_mark(&r->arena);
    qgc_tensor *outputs = QGC_NEW_ARRAY(&r->arena, qgc_tensor, results);
    qgc_interp_options options = {.engine = r->pass->engine,
                                  .watch = watch,
                                  .watches_observers = true,
                                  .user = r->pass->recorders};
    qgc_result result = qgc_interp_run(r->func, inputs, outputs, &options);
    for (uint32_t i = 0; i < results && result == QGC_OK; i++)
        qgc_tensor_destroy(&outputs[i]);
    qgc_arena_reset(&r->arena, mark);
    return result;
}

/* One batch; *out_num = 0 at the end of the data. */
static qgc_result step(runner *r, qgc_tensor *inputs, size_t total, size_t *out_num)
{
    qgc_data_pass *pass = r->pass;
    QGC_TRY(qgc_feed_next(r->feed, inputs, out_num));
    if (!*out_num)
        return QGC_OK;
    bool is_new = pass->num_samples >= pass->skip;
    if (is_new)
        QGC_TRY(run_batch(r, inputs));
    hash_samples(r, inputs, *out_num);
    pass->num_samples += *out_num;
    if (pass->progress)
        pass->progress(pass->user, pass->num_samples, total);
    if (is_new)
        return pass->after_batch ? pass->after_batch(pass->after_user, pass) : QGC_OK;
    bool is_same = pass->num_samples < pass->skip ||
                   (pass->num_samples == pass->skip && pass->data_hash == pass->skip_hash);
    return is_same ? QGC_OK
                   : qgc_report(r->diag, QGC_NO_LOC, QGC_D_BAD_STATE,
                                "the first %zu samples of %s are not those that were seen before",
                                pass->skip, qgc_samples_text(r->diag->arena, pass->samples));
}

static qgc_result run(runner *r)
{
    size_t num = 1;
    const qgc_data_pass *pass = r->pass;
    QGC_TRY(qgc_feed_open(r->func, pass->samples, &r->feed));
    size_t total = qgc_feed_end(r->feed) - qgc_feed_begin(r->feed);
    qgc_tensor *inputs = QGC_NEW_ARRAY(&r->arena, qgc_tensor, r->func->num_params);
    while (num)
        QGC_TRY(step(r, inputs, total, &num));
    if (pass->num_samples >= pass->skip)
        return QGC_OK;
    return qgc_report(
        r->diag, QGC_NO_LOC, QGC_D_BAD_STATE, "%s has %zu samples here, %zu were seen before",
        qgc_samples_text(r->diag->arena, pass->samples), pass->num_samples, pass->skip);
}

qgc_result qgc_data_pass_run(qgc_data_pass *pass)
{
    runner r = {.pass = pass, .diag = &pass->recorders->module->context->diag};
    pass->num_samples = 0;
    pass->data_hash = 0;
    qgc_result result = qgc_module_require_func(pass->recorders->module, pass->func, &r.func);
    if (result == QGC_OK)
        result = run(&r);
    qgc_feed_close(r.feed);
    qgc_arena_destroy(&r.arena);
    return result;
}

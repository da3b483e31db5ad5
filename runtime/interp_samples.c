/* Running a function on samples of data files: batch by batch, the results in one. */
#include "qgc/run.h"
#include "runtime/interp.h"
#include "runtime/interp_feed.h"

#include <string.h>

typedef struct gatherer {
    const qgc_func *func;
    qgc_diag *diag;
    qgc_tensor *results; /* of all samples; without data until the first batch has come */
    size_t done, total;  /* samples */
} gatherer;

static const qgc_value *result_at(const gatherer *g, uint32_t index)
{
    return g->func->last->operands[index].value;
}

static qgc_result not_per_sample(const gatherer *g, uint32_t index, const qgc_tensor *part,
                                 size_t num)
{
    return qgc_report(g->diag, g->func->loc, QGC_D_BAD_INPUT,
                      "result %%%s of %zu samples is %s %s: it cannot be put together from batches",
                      result_at(g, index)->name->data, num, qgc_dtype_name(part->dtype),
                      qgc_shape_text(g->diag->arena, part->rank, part->shape));
}

static qgc_result begin_result(const gatherer *g, const qgc_tensor *part, qgc_tensor *out)
{
    int64_t shape[QGC_MAX_RANK];
    memcpy(shape, part->shape, sizeof shape);
    shape[0] = (int64_t)g->total;
    return qgc_tensor_create(g->diag, part->dtype, part->rank, shape, out);
}

/* |part|: of |num| samples. */
static qgc_result add_part(const gatherer *g, uint32_t index, const qgc_tensor *part, size_t num)
{
    qgc_tensor *whole = &g->results[index];
    if (!part->rank || (size_t)part->shape[0] != num)
        return not_per_sample(g, index, part, num);
    if (!g->done)
        QGC_TRY(begin_result(g, part, whole));
    size_t each = part->bytes / num;
    if (whole->rank != part->rank || each * g->total != whole->bytes ||
        memcmp(whole->shape + 1, part->shape + 1, (part->rank - 1) * sizeof *part->shape) != 0)
        return not_per_sample(g, index, part, num);
    if (part->bytes)
        memcpy((uint8_t *)whole->data + g->done * each, part->data, part->bytes);
    return QGC_OK;
}

static qgc_result run_batch(const gatherer *g, const qgc_tensor *inputs, size_t num,
                            const qgc_engine *engine, qgc_arena *scratch)
{
    qgc_tensor *outputs = QGC_NEW_ARRAY(scratch, qgc_tensor, g->func->num_results);
    QGC_TRY(qgc_interp_run(g->func, inputs, outputs, &(qgc_interp_options){.engine = engine}));
    qgc_result result = QGC_OK;
    for (uint32_t i = 0; i < g->func->num_results; i++) {
        if (num == g->total) {
            g->results[i] = outputs[i];
            continue;
        }
        if (result == QGC_OK)
            result = add_part(g, i, &outputs[i], num);
        qgc_tensor_destroy(&outputs[i]);
    }
    return result;
}

static qgc_result run_all(gatherer *g, qgc_feed *feed, const qgc_engine *engine, qgc_arena *scratch)
{
    size_t num;
    qgc_tensor *inputs = QGC_NEW_ARRAY(scratch, qgc_tensor, g->func->num_params);
    do {
        qgc_arena_mark mark = qgc_arena_get_mark(scratch);
        QGC_TRY(qgc_feed_next(feed, inputs, &num));
        if (num)
            QGC_TRY(run_batch(g, inputs, num, engine, scratch));
        qgc_arena_reset(scratch, mark);
        g->done += num;
    } while (num);
    return QGC_OK;
}

static qgc_result add_results(const gatherer *g, qgc_context *context, qgc_tensors *add_to)
{
    for (uint32_t i = 0; i < g->func->num_results; i++)
        QGC_TRY(qgc_tensors_add(context, result_at(g, i)->name->data, &g->results[i], add_to));
    return QGC_OK;
}

static qgc_result run(const qgc_func *func, const qgc_engine *engine, qgc_samples *samples,
                      qgc_arena *scratch, qgc_tensors *outputs)
{
    qgc_feed *feed;
    qgc_context *context = func->module->context;
    gatherer g = {.func = func, .diag = &context->diag};
    QGC_TRY(qgc_feed_open(func, samples, &feed));
    size_t total = qgc_feed_end(feed) - qgc_feed_begin(feed), fixed = qgc_feed_fixed_batch(feed);
    samples->batch = samples->batch ? samples->batch : total;
    g.total = fixed ? total - total % fixed : total;
    g.results = QGC_NEW_ARRAY(scratch, qgc_tensor, func->num_results);
    qgc_result result = run_all(&g, feed, engine, scratch);
    if (result == QGC_OK)
        result = add_results(&g, context, outputs);
    for (uint32_t i = 0; i < func->num_results; i++)
        qgc_tensor_destroy(&g.results[i]);
    qgc_feed_close(feed);
    return result;
}

qgc_result qgc_module_run_samples(qgc_module *module, const char *name, const qgc_engine *engine,
                                  const qgc_samples *samples, qgc_tensors *outputs)
{
    qgc_func *func;
    QGC_TRY(qgc_module_require_func(module, name, &func));
    qgc_arena scratch = {0};
    qgc_samples chosen = *samples;
    qgc_result result = run(func, engine, &chosen, &scratch, outputs);
    qgc_arena_destroy(&scratch);
    return result;
}

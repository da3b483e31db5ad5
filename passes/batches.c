#include "passes/batches.h"

#include "ir/type.h"

enum { MOST = 32 };
#define ROOM 0x1p26 /* bytes that the values of all functions may take, each once */

/* Of a value of one sample: symbolic dimensions count as 1. */
static double bytes_of(const qgc_type *type)
{
    double bytes = (double)qgc_dtype_bytes(type->dtype);
    for (uint32_t i = 0; i < type->rank; i++)
        bytes *= qgc_dim_is_number(type->dims[i]) ? (double)type->dims[i].value : 1;
    return bytes;
}

static double bytes_of_sample(const qgc_module *module)
{
    double bytes = 0;
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            for (uint32_t i = 0; i < node->num_results && !node->constant; i++)
                bytes += node->results[i].type ? bytes_of(node->results[i].type) : 0;
    return bytes;
}

/* As many samples as there is room for. */
static size_t usual_batch(qgc_func *const *funcs, size_t num)
{
    double bytes = 1;
    for (size_t i = 0; i < num; i++)
        bytes += bytes_of_sample(funcs[i]->module);
    return bytes * MOST < ROOM ? MOST : bytes < ROOM ? (size_t)(ROOM / bytes) : 1;
}

static qgc_result count_samples(const qgc_func *func, const qgc_samples *samples, size_t *out)
{
    qgc_feed *feed;
    QGC_TRY(qgc_feed_open(func, samples, &feed));
    *out = qgc_feed_end(feed) - qgc_feed_begin(feed);
    qgc_feed_close(feed);
    return QGC_OK;
}

qgc_result qgc_open_batches(qgc_func *const *funcs, size_t num, qgc_samples *samples, bool compiles,
                            qgc_feed **out)
{
    size_t total, fixed = 0, batch = samples->batch ? samples->batch : usual_batch(funcs, num);
    QGC_TRY(count_samples(funcs[0], samples, &total));
    for (size_t i = 0; i < num && !fixed; i++)
        fixed = qgc_func_fixed_batch(funcs[i]);
    while (!fixed && compiles && total % batch)
        batch--;
    samples->batch = fixed ? fixed : batch;
    for (size_t i = 0; i < num && (fixed || compiles); i++)
        if (qgc_func_batch_symbol(funcs[i]))
            QGC_TRY(qgc_module_bind(funcs[i]->module, qgc_func_batch_symbol(funcs[i])->data,
                                    (int64_t)samples->batch));
    return qgc_feed_open(funcs[0], samples, out);
}

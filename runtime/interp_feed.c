#include "runtime/interp_feed.h"

#include "runtime/data.h"

struct qgc_feed {
    const qgc_func *func;
    qgc_feed_options options;
    qgc_arena arena;
    qgc_data *data;
    size_t *arrays; /* of each parameter: which of the source's */
    qgc_tensor *batch;
    size_t begin, end, at, fixed; /* fixed: the batch that the graph asks for, or 0 */
};

static qgc_result match_arrays(qgc_feed *f, const char *path)
{
    qgc_diag *diag = &f->func->module->context->diag;
    const qgc_func *func = f->func;
    size_t num = qgc_data_num_arrays(f->data);
    f->arrays = QGC_NEW_ARRAY(&f->arena, size_t, func->num_params);
    for (uint32_t i = 0; i < func->num_params; i++) {
        f->arrays[i] = qgc_data_find(f->data, qgc_name_str(func->params[i].name));
        if (f->arrays[i] == SIZE_MAX && func->num_params == 1 && num == 1 &&
            !qgc_data_array(f->data, 0).name.size)
            f->arrays[i] = 0;
        if (f->arrays[i] == SIZE_MAX)
            return qgc_report(diag, func->params[i].loc, QGC_D_BAD_INPUT,
                              "%s has no array for input %%%s of @%s", path,
                              func->params[i].name->data, func->name->data);
    }
    if (num == func->num_params)
        return QGC_OK;
    return qgc_report(diag, func->loc, QGC_D_BAD_INPUT, "%s has %zu arrays, @%s has %u inputs",
                      path, num, func->name->data, func->num_params);
}

/* The first dimension of the inputs, where it is a number: the batch that the graph asks for. */
static size_t fixed_batch(const qgc_func *func)
{
    const qgc_type *type = func->params[0].type;
    bool fixed = type->rank && qgc_dim_is_number(type->dims[0]) && type->dims[0].value > 0;
    return fixed ? (size_t)type->dims[0].value : 0;
}

/* [begin, end) of the samples, after shard and limit. */
static qgc_result choose_samples(qgc_feed *f)
{
    size_t total, shards = f->options.num_shards ? f->options.num_shards : 1;
    size_t skipped = f->options.first;
    QGC_TRY(qgc_data_num_samples(f->data, &total));
    total -= skipped < total ? skipped : total;
    if (f->options.limit && f->options.limit < total)
        total = f->options.limit;
    size_t part = total / shards, rest = total % shards, shard = f->options.shard;
    f->begin = skipped + shard * part + (shard < rest ? shard : rest);
    f->end = f->begin + part + (shard < rest);
    if (f->begin < f->end)
        return qgc_data_seek(f->data, f->begin);
    return qgc_report(&f->func->module->context->diag, QGC_NO_LOC, QGC_D_BAD_INPUT,
                      "the data has no samples (%zu in %zu parts)", total, shards);
}

static qgc_result open_feed(qgc_feed *f, const char *path)
{
    qgc_diag *diag = &f->func->module->context->diag;
    if (!f->func->num_params)
        return qgc_report(diag, f->func->loc, QGC_D_BAD_INPUT,
                          "@%s has no inputs: there is nothing to run it on", f->func->name->data);
    QGC_TRY(qgc_data_open_with(diag, path, f->func->module->context->pictures, &f->data));
    QGC_TRY(match_arrays(f, path));
    QGC_TRY(choose_samples(f));
    f->fixed = fixed_batch(f->func);
    f->at = f->begin;
    f->batch = QGC_NEW_ARRAY(&f->arena, qgc_tensor, qgc_data_num_arrays(f->data));
    return QGC_OK;
}

qgc_result qgc_feed_open(const qgc_func *func, const char *path, const qgc_feed_options *options,
                         qgc_feed **out)
{
    qgc_arena arena = {0};
    qgc_feed *f = QGC_NEW(&arena, qgc_feed);
    f->arena = arena;
    f->func = func;
    f->options = *options;
    if (open_feed(f, path) != QGC_OK) {
        qgc_feed_close(f);
        return QGC_FAILED;
    }
    *out = f;
    return QGC_OK;
}

void qgc_feed_close(qgc_feed *feed)
{
    if (!feed)
        return;
    qgc_data_close(feed->data);
    qgc_arena arena = feed->arena;
    qgc_arena_destroy(&arena);
}

size_t qgc_feed_begin(const qgc_feed *feed)
{
    return feed->begin;
}

size_t qgc_feed_end(const qgc_feed *feed)
{
    return feed->end;
}

size_t qgc_feed_fixed_batch(const qgc_feed *feed)
{
    return feed->fixed;
}

qgc_result qgc_feed_next(qgc_feed *f, qgc_tensor *out_inputs, size_t *out_num)
{
    qgc_diag *diag = &f->func->module->context->diag;
    size_t left = f->end - f->at, num = 0;
    size_t wanted = f->fixed ? f->fixed : f->options.batch ? f->options.batch : 1;
    *out_num = 0;
    if (f->fixed && left && left < f->fixed) {
        qgc_report(diag, f->func->loc, QGC_D_PARTIAL_BATCH,
                   "@%s takes batches of %zu: the last %zu samples are left out",
                   f->func->name->data, f->fixed, left);
        f->at = f->end;
        return QGC_OK;
    }
    if (!left)
        return QGC_OK;
    QGC_TRY(qgc_data_next_batch(f->data, left < wanted ? left : wanted, f->batch, &num));
    if (f->fixed && num < f->fixed) /* a file of a folder ends here */
        return qgc_report(diag, f->func->loc, QGC_D_BAD_INPUT,
                          "@%s takes batches of %zu samples, a file of the data ends with %zu",
                          f->func->name->data, f->fixed, num);
    for (uint32_t i = 0; i < f->func->num_params; i++)
        out_inputs[i] = f->batch[f->arrays[i]];
    f->at += num;
    *out_num = num;
    return QGC_OK;
}

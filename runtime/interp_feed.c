#include "runtime/interp_feed.h"

typedef struct source {
    const qgc_data_file *file;
    qgc_data *data;
    qgc_tensor *batch; /* of each array */
    size_t num_used;   /* arrays that are for an input */
} source;

typedef struct array {
    source *from;
    size_t index;
} array;

struct qgc_feed {
    const qgc_func *func;
    const qgc_samples *samples;
    qgc_arena arena;
    source *sources;
    size_t num_sources;
    array *arrays;                /* of each parameter */
    size_t begin, end, at, fixed; /* fixed: the batch that the graph asks for, or 0 */
};

static qgc_diag *diag_of(const qgc_feed *f)
{
    return &f->func->module->context->diag;
}

static bool has_name(const source *s)
{
    return s->file->input.data != NULL;
}

const char *qgc_samples_text(qgc_arena *arena, const qgc_samples *samples)
{
    qgc_text text = {.arena = arena};
    qgc_text_puts(&text, "");
    for (size_t i = 0; i < samples->num_files; i++) {
        const qgc_data_file *file = &samples->files[i];
        qgc_text_printf(&text, "%s%.*s%s%s", i ? ", " : "", QGC_STR_ARG(file->input),
                        file->input.data ? "=" : "", file->path);
    }
    return text.data;
}

/* ---- which array is for which input ---- */

static bool is_nameless(const source *s)
{
    return qgc_data_num_arrays(s->data) == 1 && !qgc_data_array(s->data, 0).name.size;
}

/* SIZE_MAX: none. */
static size_t array_for(const qgc_feed *f, const source *s, qgc_name input)
{
    if (has_name(s))
        return qgc_str_equal(s->file->input, qgc_name_str(input)) ? 0 : SIZE_MAX;
    size_t index = qgc_data_find(s->data, qgc_name_str(input));
    return index == SIZE_MAX && f->func->num_params == 1 && is_nameless(s) ? 0 : index;
}

static qgc_result no_array(const qgc_feed *f, const qgc_value *input)
{
    const source *s = f->num_sources == 1 && !has_name(f->sources) ? f->sources : NULL;
    if (s && is_nameless(s))
        return qgc_report(diag_of(f), input->loc, QGC_D_BAD_INPUT,
                          "%s holds one array without a name, @%s has %u inputs: each needs a "
                          "file (--input NAME=FILE), or an array of its name",
                          s->file->path, f->func->name->data, f->func->num_params);
    return qgc_report(
        diag_of(f), input->loc, QGC_D_BAD_INPUT, "%s has no array for input %%%s of @%s",
        qgc_samples_text(diag_of(f)->arena, f->samples), input->name->data, f->func->name->data);
}

static qgc_result match_input(qgc_feed *f, const qgc_value *input, array *out)
{
    for (size_t i = 0; i < f->num_sources; i++) {
        source *s = &f->sources[i];
        size_t index = array_for(f, s, input->name);
        if (index == SIZE_MAX)
            continue;
        if (out->from)
            return qgc_report(diag_of(f), input->loc, QGC_D_BAD_INPUT,
                              "input '%s' of @%s is given twice, by %s and by %s",
                              input->name->data, f->func->name->data, out->from->file->path,
                              s->file->path);
        *out = (array){s, index};
        s->num_used++;
    }
    return out->from ? QGC_OK : no_array(f, input);
}

static qgc_str param_name(void *user, size_t index)
{
    const qgc_func *func = user;
    return qgc_name_str(func->params[index].name);
}

static qgc_result check_used(const qgc_feed *f, const source *s)
{
    const qgc_func *func = f->func;
    if (s->num_used == qgc_data_num_arrays(s->data))
        return QGC_OK;
    if (has_name(s))
        return qgc_report(diag_of(f), func->loc, QGC_D_BAD_INPUT, "@%s has no input named '%.*s'%s",
                          func->name->data, QGC_STR_ARG(s->file->input),
                          qgc_str_did_you_mean(diag_of(f)->arena, s->file->input, param_name,
                                               (void *)(uintptr_t)func, func->num_params));
    return qgc_report(diag_of(f), func->loc, QGC_D_BAD_INPUT,
                      f->num_sources == 1 ? "%s has %zu arrays, @%s has %u inputs"
                                          : "%s has %zu arrays, @%s has %u inputs, some of them "
                                            "given by other files",
                      s->file->path, qgc_data_num_arrays(s->data), func->name->data,
                      func->num_params);
}

/* A name that is wrong says more than the input that it leaves without data. */
static qgc_result check_names(const qgc_feed *f)
{
    for (size_t i = 0; i < f->num_sources; i++) {
        const source *s = &f->sources[i];
        bool is_known = !has_name(s);
        for (uint32_t k = 0; k < f->func->num_params; k++)
            is_known |= qgc_str_equal(s->file->input, qgc_name_str(f->func->params[k].name));
        if (!is_known)
            return check_used(f, s);
    }
    return QGC_OK;
}

static qgc_result match_arrays(qgc_feed *f)
{
    f->arrays = QGC_NEW_ARRAY(&f->arena, array, f->func->num_params);
    QGC_TRY(check_names(f));
    for (uint32_t i = 0; i < f->func->num_params; i++)
        QGC_TRY(match_input(f, &f->func->params[i], &f->arrays[i]));
    for (size_t i = 0; i < f->num_sources; i++)
        QGC_TRY(check_used(f, &f->sources[i]));
    return QGC_OK;
}

/* ---- which samples ---- */

static const qgc_value *input_of(const qgc_feed *f, const source *s)
{
    uint32_t i = 0;
    while (f->arrays[i].from != s)
        i++;
    return &f->func->params[i];
}

static qgc_result count_samples(const qgc_feed *f, size_t *out)
{
    const source *first = &f->sources[0];
    QGC_TRY(qgc_data_num_samples(first->data, out));
    for (size_t i = 1; i < f->num_sources; i++) {
        const source *s = &f->sources[i];
        size_t num;
        QGC_TRY(qgc_data_num_samples(s->data, &num));
        if (num != *out)
            return qgc_report(diag_of(f), input_of(f, s)->loc, QGC_D_BAD_INPUT,
                              "input %%%s has %zu samples (%s), input %%%s has %zu (%s)",
                              input_of(f, s)->name->data, num, s->file->path,
                              input_of(f, first)->name->data, *out, first->file->path);
    }
    return QGC_OK;
}

/* [begin, end) of the samples, after shard and limit. */
static qgc_result choose_samples(qgc_feed *f)
{
    size_t total, shards = f->samples->num_shards ? f->samples->num_shards : 1;
    size_t skipped = f->samples->first;
    QGC_TRY(count_samples(f, &total));
    total -= skipped < total ? skipped : total;
    if (f->samples->limit && f->samples->limit < total)
        total = f->samples->limit;
    size_t part = total / shards, rest = total % shards, shard = f->samples->shard;
    f->begin = f->at = skipped + shard * part + (shard < rest ? shard : rest);
    f->end = f->begin + part + (shard < rest);
    if (f->begin == f->end)
        return qgc_report(diag_of(f), QGC_NO_LOC, QGC_D_BAD_INPUT,
                          "the data has no samples (%zu in %zu parts)", total, shards);
    if (f->end - f->begin < f->fixed)
        return qgc_report(diag_of(f), f->func->loc, QGC_D_BAD_INPUT,
                          "@%s takes batches of %zu samples, here are %zu", f->func->name->data,
                          f->fixed, f->end - f->begin);
    for (size_t i = 0; i < f->num_sources; i++)
        QGC_TRY(qgc_data_seek(f->sources[i].data, f->begin));
    return QGC_OK;
}

/* ---- opening ---- */

static qgc_result open_source(qgc_feed *f, source *s)
{
    QGC_TRY(qgc_data_open_with(diag_of(f), s->file->path, f->func->module->context->pictures,
                               &s->data));
    size_t num = qgc_data_num_arrays(s->data);
    s->batch = QGC_NEW_ARRAY(&f->arena, qgc_tensor, num);
    if (!has_name(s) || num == 1)
        return QGC_OK;
    return qgc_report(diag_of(f), QGC_NO_LOC, QGC_D_USAGE,
                      "input %.*s: %s holds %zu tensors, expected 1", QGC_STR_ARG(s->file->input),
                      s->file->path, num);
}

static qgc_result open_feed(qgc_feed *f)
{
    if (!f->func->num_params)
        return qgc_report(diag_of(f), f->func->loc, QGC_D_BAD_INPUT,
                          "@%s has no inputs: there is nothing to run it on", f->func->name->data);
    if (!f->samples->num_files)
        return qgc_report(diag_of(f), QGC_NO_LOC, QGC_D_USAGE, "no data is given for @%s",
                          f->func->name->data);
    f->num_sources = f->samples->num_files;
    f->sources = QGC_NEW_ARRAY(&f->arena, source, f->num_sources);
    for (size_t i = 0; i < f->num_sources; i++) {
        f->sources[i].file = &f->samples->files[i];
        QGC_TRY(open_source(f, &f->sources[i]));
    }
    QGC_TRY(match_arrays(f));
    f->fixed = qgc_func_fixed_batch(f->func);
    return choose_samples(f);
}

qgc_result qgc_feed_open(const qgc_func *func, const qgc_samples *samples, qgc_feed **out)
{
    qgc_arena arena = {0};
    qgc_feed *f = QGC_NEW(&arena, qgc_feed);
    f->arena = arena;
    f->func = func;
    f->samples = samples;
    if (open_feed(f) != QGC_OK) {
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
    for (size_t i = 0; i < feed->num_sources; i++)
        qgc_data_close(feed->sources[i].data);
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

const qgc_func *qgc_feed_func(const qgc_feed *feed)
{
    return feed->func;
}

const qgc_data *qgc_feed_data(const qgc_feed *feed, size_t index)
{
    return index < feed->num_sources ? feed->sources[index].data : NULL;
}

size_t qgc_feed_fixed_batch(const qgc_feed *feed)
{
    return feed->fixed;
}

/* ---- batches ---- */

qgc_result qgc_feed_next(qgc_feed *f, qgc_tensor *out_inputs, size_t *out_num)
{
    size_t left = f->end - f->at, num = 0;
    size_t wanted = f->fixed ? f->fixed : f->samples->batch ? f->samples->batch : 1;
    *out_num = 0;
    if (f->fixed && left && left < f->fixed) {
        qgc_report(diag_of(f), f->func->loc, QGC_D_PARTIAL_BATCH,
                   "@%s takes batches of %zu: the last %zu samples are left out",
                   f->func->name->data, f->fixed, left);
        f->at = f->end;
        return QGC_OK;
    }
    if (!left)
        return QGC_OK;
    wanted = left < wanted ? left : wanted;
    for (size_t i = 0; i < f->num_sources; i++) {
        QGC_TRY(qgc_data_next_batch(f->sources[i].data, wanted, f->sources[i].batch, &num));
        QGC_ASSERT(num == wanted, "%zu of %zu samples", num, wanted);
    }
    for (uint32_t i = 0; i < f->func->num_params; i++)
        out_inputs[i] = f->arrays[i].from->batch[f->arrays[i].index];
    f->at += wanted;
    *out_num = wanted;
    return QGC_OK;
}

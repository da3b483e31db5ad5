#include "runtime/labels.h"

#include "runtime/ref/ref.h"

#include <string.h>

struct qgc_labels {
    qgc_diag *diag;
    qgc_arena arena;
    const char *text;
    const qgc_data *folders; /* the feed's, or NULL */
    qgc_data *file;          /* or NULL */
    size_t next;             /* sample */
    size_t part, part_begin; /* of folders: the one with the next sample, its first */
    bool is_compared;        /* the number of folders was, with that of classes */
};

/* ---- opening ---- */

static qgc_result open_file(qgc_labels *l, const qgc_feed *feed)
{
    size_t num;
    QGC_TRY(qgc_data_open(l->diag, l->text, &l->file));
    qgc_tensor t = qgc_data_array(l->file, 0).tensor;
    bool is_list =
        qgc_data_num_arrays(l->file) == 1 && t.rank > 0 && qgc_dtype_get_kind(t.dtype) != QGC_FLOAT;
    if (!is_list)
        return qgc_report(l->diag, QGC_NO_LOC, QGC_D_BAD_INPUT,
                          "%s: expected labels, one array of integers, found %zu of %s %s", l->text,
                          qgc_data_num_arrays(l->file), qgc_dtype_name(t.dtype),
                          qgc_shape_text(l->diag->arena, t.rank, t.shape));
    QGC_TRY(qgc_data_num_samples(l->file, &num));
    if (num >= qgc_feed_end(feed))
        return qgc_data_seek(l->file, qgc_feed_begin(feed));
    return qgc_report(l->diag, QGC_NO_LOC, QGC_D_BAD_INPUT,
                      "%s has labels of %zu samples, the data goes on to sample %zu", l->text, num,
                      qgc_feed_end(feed));
}

/* Each file has to lie in one of the folders. */
static qgc_result check_folders(qgc_labels *l)
{
    for (size_t i = 0; i < qgc_data_num_parts(l->folders); i++)
        if (qgc_data_part_at(l->folders, i).folder == SIZE_MAX)
            return qgc_report(l->diag, QGC_NO_LOC, QGC_D_BAD_INPUT,
                              "%s lies beside the folders of classes, expected FOLDER/CLASS/FILE",
                              qgc_data_part_at(l->folders, i).path);
    return QGC_OK;
}

static qgc_result open_folders(qgc_labels *l, const qgc_feed *feed)
{
    const qgc_data *data;
    for (size_t i = 0; (data = qgc_feed_data(feed, i)); i++) {
        if (!qgc_data_num_folders(data))
            continue;
        if (l->folders)
            return qgc_report(l->diag, QGC_NO_LOC, QGC_D_BAD_INPUT,
                              "labels by-folder: the files of two inputs lie in folders");
        l->folders = data;
    }
    if (!l->folders)
        return qgc_report(l->diag, QGC_NO_LOC, QGC_D_BAD_INPUT,
                          "labels by-folder: expected data in folders, FOLDER/CLASS/FILE, found "
                          "none");
    return check_folders(l);
}

qgc_result qgc_labels_open(const char *text, const qgc_feed *feed, qgc_labels **out)
{
    qgc_arena arena = {0};
    *out = NULL;
    if (!text)
        return QGC_OK;
    qgc_labels *l = QGC_NEW(&arena, qgc_labels);
    *l = (qgc_labels){.diag = &qgc_feed_func(feed)->module->context->diag,
                      .arena = arena,
                      .text = text,
                      .next = qgc_feed_begin(feed)};
    *out = l;
    return strcmp(text, "by-folder") == 0 ? open_folders(l, feed) : open_file(l, feed);
}

void qgc_labels_close(qgc_labels *labels)
{
    if (!labels)
        return;
    qgc_data_close(labels->file);
    qgc_arena arena = labels->arena;
    qgc_arena_destroy(&arena);
}

const char *const *qgc_labels_folders(const qgc_labels *l, qgc_arena *arena, size_t *out_num)
{
    *out_num = l && l->folders ? qgc_data_num_folders(l->folders) : 0;
    const char **names = QGC_NEW_ARRAY(arena, const char *, *out_num + 1);
    for (size_t i = 0; i < *out_num; i++)
        names[i] = qgc_arena_strdup(arena, qgc_str_from(qgc_data_folder(l->folders, i)));
    return *out_num ? names : NULL;
}

/* ---- shapes ---- */

/* A folder has one label for each sample. */
static qgc_tensor type_of(const qgc_labels *l, size_t num)
{
    qgc_tensor type = {.dtype = QGC_DTYPE_I64, .rank = 1};
    if (l->file)
        type = qgc_data_array(l->file, 0).tensor;
    type.shape[0] = (int64_t)num;
    return type;
}

/* The shape of |t| without its classes. */
static const char *expected_shape(qgc_arena *arena, const qgc_tensor *t, uint32_t axis)
{
    int64_t shape[QGC_MAX_RANK] = {0};
    uint32_t rank = 0;
    for (uint32_t i = 0; i < t->rank; i++)
        if (i != axis || !axis)
            shape[rank++] = t->shape[i];
    return qgc_shape_text(arena, rank, shape);
}

qgc_result qgc_labels_fit(const qgc_labels *l, const qgc_func *func, const qgc_tensor *tensor,
                          qgc_scores *out)
{
    *out = qgc_scores_of(tensor);
    if (!l)
        return QGC_OK;
    qgc_arena *arena = l->diag->arena;
    qgc_tensor labels = type_of(l, out->samples);
    if (qgc_scores_fit(tensor, &labels, out))
        return QGC_OK;
    return qgc_report(l->diag, func->loc, QGC_D_BAD_INPUT,
                      "the first result of @%s is %s %s, the labels of as many samples are %s: "
                      "expected %s, a label for each place of its %zu classes on axis %u",
                      func->name->data, qgc_dtype_name(tensor->dtype),
                      qgc_shape_text(arena, tensor->rank, tensor->shape),
                      qgc_shape_text(arena, labels.rank, labels.shape),
                      expected_shape(arena, tensor, out->axis), out->classes, out->axis);
}

/* ---- reading ---- */

static qgc_result read_file(qgc_labels *l, size_t num, size_t each, int64_t *out)
{
    for (size_t done = 0; done < num;) {
        qgc_tensor t;
        size_t size;
        QGC_TRY(qgc_data_next_batch(l->file, num - done, &t, &size));
        QGC_ASSERT(size, "the labels were counted");
        for (size_t i = 0; i < size * each; i++)
            out[done * each + i] = qgc_get_int(&t, i);
        done += size;
    }
    return QGC_OK;
}

static void read_folders(qgc_labels *l, size_t num, int64_t *out)
{
    for (size_t i = 0; i < num; i++) {
        size_t sample = l->next + i;
        while (sample >= l->part_begin + qgc_data_part_at(l->folders, l->part).num_samples)
            l->part_begin += qgc_data_part_at(l->folders, l->part++).num_samples;
        out[i] = (int64_t)qgc_data_part_at(l->folders, l->part).folder;
    }
}

static qgc_result check_range(const qgc_labels *l, const qgc_scores *s, const int64_t *values)
{
    for (size_t i = 0; i < s->samples * s->positions; i++)
        if (values[i] < 0 || (uint64_t)values[i] >= s->classes)
            return qgc_report(l->diag, QGC_NO_LOC, QGC_D_BAD_INPUT,
                              "label %lld of sample %zu is not one of %zu classes",
                              (long long)values[i], l->next + i / s->positions, s->classes);
    return QGC_OK;
}

/* With fewer folders than classes the numbers are likely to be others than those of the training.
 */
static void compare_folders(qgc_labels *l, const qgc_scores *s)
{
    size_t num = l->folders ? qgc_data_num_folders(l->folders) : s->classes;
    if (num < s->classes && !l->is_compared)
        qgc_report(l->diag, QGC_NO_LOC, QGC_D_FEW_FOLDERS,
                   "%zu folders of classes for %zu scores: labels are the places of the folders in "
                   "the order of names, and a class without pictures needs an empty one",
                   num, s->classes);
    l->is_compared = true;
}

qgc_result qgc_labels_next(qgc_labels *l, const qgc_scores *scores, qgc_arena *arena, int64_t **out)
{
    size_t num = scores->samples * scores->positions;
    *out = l ? QGC_NEW_ARRAY(arena, int64_t, num ? num : 1) : NULL;
    if (!l)
        return QGC_OK;
    if (l->folders)
        read_folders(l, scores->samples, *out);
    else
        QGC_TRY(read_file(l, scores->samples, scores->positions, *out));
    QGC_TRY(check_range(l, scores, *out));
    compare_folders(l, scores);
    l->next += scores->samples;
    return QGC_OK;
}

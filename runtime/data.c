#include "runtime/data.h"

#include "runtime/data_kind.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct part {
    const char *path;
    size_t num_samples;
    size_t folder; /* SIZE_MAX: none */
    bool is_known; /* num_samples is */
} part;

struct qgc_data {
    qgc_diag *diag;
    qgc_arena arena; /* holds this struct as well */
    const char *path;
    const struct qgc_picture_format *pictures;
    QGC_VEC(part) parts; /* files, in order */
    QGC_VEC(const char *) folders;
    const void *memory; /* the only part's content, or NULL: it has a path */
    size_t memory_bytes;
    const char *picture;      /* the size of the first part, where it is one; else NULL */
    qgc_named_tensor *arrays; /* types; the first dimension is that of all parts together */
    size_t num_arrays;
    qgc_interner names;
    qgc_map by_name;  /* to the element of |arrays| */
    bool has_samples; /* all arrays agree in a first dimension */
    size_t num_samples;

    qgc_array_file file; /* of part |current| while |is_open| */
    bool is_open;
    size_t current;
    size_t next;         /* sample within the current part */
    size_t position;     /* the same within the whole source */
    qgc_tensor *buffers; /* one for each array: the last batch */
};

static void close_part(qgc_data *data)
{
    if (!data->is_open)
        return;
    if (data->file.close)
        data->file.close(data->file.state);
    qgc_file_close(&data->file.file);
    qgc_arena_destroy(&data->file.arena);
    data->is_open = false;
}

static bool is_same_sample(const qgc_array *array, const qgc_named_tensor *first)
{
    return qgc_str_equal(array->name, first->name) && array->dtype == first->tensor.dtype &&
           array->rank == first->tensor.rank && array->rank > 0 &&
           memcmp(array->shape + 1, first->tensor.shape + 1,
                  (QGC_MAX_RANK - 1) * sizeof *array->shape) == 0;
}

/* Parts are opened again after they were checked, and the file may be another by then. */
static qgc_result check_unchanged(const qgc_data *data, size_t index)
{
    const part *known = &data->parts.data[index];
    bool is_same = data->file.num_arrays == data->num_arrays;
    for (size_t i = 0; is_same && i < data->num_arrays; i++)
        is_same = is_same_sample(&data->file.arrays[i], &data->arrays[i]) &&
                  (size_t)data->file.arrays[i].shape[0] == known->num_samples;
    if (is_same)
        return QGC_OK;
    return qgc_report(data->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                      "%s: expected what it held at the start, found that it was changed",
                      known->path);
}

static qgc_result open_part(qgc_data *data, size_t index)
{
    qgc_file file;
    if (data->is_open && data->current == index)
        return QGC_OK;
    close_part(data);
    if (data->memory)
        file = qgc_file_from_memory(data->parts.data[index].path, data->memory, data->memory_bytes);
    else
        QGC_TRY(qgc_file_open_stream(data->diag, data->parts.data[index].path, &file));
    data->file = (qgc_array_file){.file = file, .pictures = data->pictures};
    data->is_open = true;
    data->current = index;
    const qgc_data_kind *kind = qgc_data_find_kind(data->diag, &file);
    qgc_result result = kind ? kind->open(data->diag, &data->file) : QGC_FAILED;
    if (result == QGC_OK && data->parts.data[index].is_known)
        result = check_unchanged(data, index);
    if (result != QGC_OK)
        close_part(data);
    return result;
}

static void take_types(qgc_data *data)
{
    const qgc_array_file *file = &data->file;
    data->num_arrays = file->num_arrays;
    if (file->picture)
        data->picture = qgc_arena_strdup(&data->arena, qgc_str_from(file->picture));
    data->arrays = QGC_NEW_ARRAY(&data->arena, qgc_named_tensor, file->num_arrays);
    data->buffers = QGC_NEW_ARRAY(&data->arena, qgc_tensor, file->num_arrays);
    data->has_samples = file->num_arrays > 0;
    for (size_t i = 0; i < file->num_arrays; i++) {
        const qgc_array *array = &file->arrays[i];
        qgc_name name = qgc_intern(&data->names, array->name);
        qgc_named_tensor *to = &data->arrays[i];
        *to = (qgc_named_tensor){qgc_name_str(name), {.dtype = array->dtype, .rank = array->rank}};
        memcpy(to->tensor.shape, array->shape, sizeof to->tensor.shape);
        *qgc_map_at(&data->by_name, name) = to;
        if (!array->rank || array->shape[0] != file->arrays[0].shape[0])
            data->has_samples = false;
    }
    data->num_samples = data->has_samples ? (size_t)file->arrays[0].shape[0] : 0;
    data->parts.data[0].num_samples = data->num_samples;
    data->parts.data[0].is_known = data->has_samples;
}

static const char *type_text(qgc_arena *arena, const qgc_array *array)
{
    return qgc_arena_printf(arena, "%s %s %s", qgc_quoted(arena, array->name),
                            qgc_dtype_name(array->dtype),
                            qgc_shape_text(arena, array->rank, array->shape));
}

static qgc_result disagreement(qgc_data *data, size_t index, const char *expected,
                               const char *found)
{
    return qgc_report(data->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                      "%s: expected %s as in %s, found %s", data->parts.data[index].path, expected,
                      data->parts.data[0].path, found);
}

/* Two pictures can differ in their size only. */
static qgc_result other_size(const qgc_data *data, size_t index)
{
    return qgc_report(data->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                      "%s is a picture of %s pixels, %s one of %s (height x width); --image "
                      "size=HxW, or resize=S,crop=S, makes pictures alike",
                      data->parts.data[index].path, data->file.picture, data->parts.data[0].path,
                      data->picture);
}

static qgc_result other_array(qgc_data *data, size_t index, size_t i)
{
    qgc_arena *arena = data->diag->arena;
    const qgc_tensor *type = &data->arrays[i].tensor;
    qgc_array first = {.name = data->arrays[i].name, .dtype = type->dtype, .rank = type->rank};
    memcpy(first.shape, type->shape, sizeof first.shape);
    first.shape[0] = (int64_t)data->parts.data[0].num_samples;
    if (data->picture && data->file.picture)
        return other_size(data, index);
    return disagreement(data, index,
                        qgc_arena_printf(arena, "an array like %s", type_text(arena, &first)),
                        type_text(arena, &data->file.arrays[i]));
}

/* Compares the open part |index| with the first and adds its samples. */
static qgc_result add_part(qgc_data *data, size_t index)
{
    qgc_arena *arena = data->diag->arena;
    const qgc_array_file *file = &data->file;
    if (file->num_arrays != data->num_arrays)
        return disagreement(data, index, qgc_arena_printf(arena, "%zu arrays", data->num_arrays),
                            qgc_arena_printf(arena, "%zu", file->num_arrays));
    for (size_t i = 0; i < file->num_arrays; i++) {
        const qgc_array *array = &file->arrays[i];
        if (!is_same_sample(array, &data->arrays[i]))
            return other_array(data, index, i);
        if (array->shape[0] != file->arrays[0].shape[0])
            return disagreement(data, index, "one number of samples for all arrays",
                                type_text(arena, array));
    }
    size_t num = (size_t)file->arrays[0].shape[0];
    data->parts.data[index].num_samples = num;
    data->parts.data[index].is_known = true;
    data->num_samples += num;
    for (size_t i = 0; i < data->num_arrays; i++) {
        qgc_tensor *type = &data->arrays[i].tensor;
        if (__builtin_add_overflow(type->shape[0], (int64_t)num, &type->shape[0]))
            return disagreement(data, index, "a number of samples that fits 63 bits", "more");
    }
    return QGC_OK;
}

static qgc_result check_samples(qgc_data *data)
{
    if (data->has_samples)
        return QGC_OK;
    return qgc_report(data->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                      "%s: expected arrays with the same first dimension, the samples, found %s",
                      data->parts.data[0].path, data->num_arrays ? "others" : "no array");
}

static qgc_result open_parts(qgc_data *data)
{
    QGC_TRY(open_part(data, 0));
    take_types(data);
    if (data->parts.size > 1)
        QGC_TRY(check_samples(data));
    for (size_t i = 1; i < data->parts.size; i++) {
        QGC_TRY(open_part(data, i));
        QGC_TRY(add_part(data, i));
    }
    if (data->parts.size > 1)
        close_part(data);
    data->current = 0;
    for (size_t i = 0; i < data->num_arrays; i++) {
        qgc_tensor *type = &data->arrays[i].tensor;
        if (!qgc_shape_bytes(type->dtype, type->rank, type->shape, &type->bytes))
            return qgc_report(data->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                              "%s: expected a size that fits 63 bits, found more", data->path);
    }
    return QGC_OK;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static qgc_result system_error(qgc_diag *diag, const char *path, int error)
{
    char text[128];
    return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_OPEN, "%s: %s", path,
                      strerror_r(error, text, sizeof text));
}

/* The names of a folder, sorted, in the arena. */
static qgc_result list_names(qgc_data *data, const char *path, const char ***out, size_t *out_num)
{
    QGC_VEC(const char *) names = {0};
    DIR *folder = opendir(path);
    if (!folder)
        return system_error(data->diag, path, errno);
    for (const struct dirent *item = readdir(folder); item; item = readdir(folder))
        if (item->d_name[0] != '.') {
            const char *name = qgc_arena_strdup(&data->arena, qgc_str_from(item->d_name));
            qgc_vec_push(&data->arena, &names, name);
        }
    closedir(folder);
    if (names.size)
        qsort(names.data, names.size, sizeof *names.data, compare_names);
    *out = names.data;
    *out_num = names.size;
    return QGC_OK;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Files of |path| and of the folders in it. |folder|: which one of the first level this is. */
static qgc_result walk(qgc_data *data, const char *path, size_t folder, int depth)
{
    enum { MAX_DEPTH = 16 };
    const char **names = NULL, *slash = *path && path[strlen(path) - 1] == '/' ? "" : "/";
    size_t num = 0;
    if (depth > MAX_DEPTH)
        return qgc_report(data->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected folders to a depth of %d, found more", path, MAX_DEPTH);
    QGC_TRY(list_names(data, path, &names, &num));
    for (size_t i = 0; i < num; i++) {
        const char *inner = qgc_arena_printf(&data->arena, "%s%s%s", path, slash, names[i]);
        if (!is_folder(inner)) {
            qgc_vec_push(&data->arena, &data->parts, ((part){.path = inner, .folder = folder}));
            continue;
        }
        if (!depth)
            qgc_vec_push(&data->arena, &data->folders, names[i]);
        QGC_TRY(walk(data, inner, depth ? folder : data->folders.size - 1, depth + 1));
    }
    return QGC_OK;
}

static qgc_result list_folder(qgc_data *data)
{
    QGC_TRY(walk(data, data->path, SIZE_MAX, 0));
    if (data->parts.size)
        return QGC_OK;
    return qgc_report(data->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                      "%s: expected data files in the folder, found none", data->path);
}

static qgc_data *create(qgc_diag *diag, const char *path)
{
    qgc_arena arena = {0};
    qgc_data *data = QGC_NEW(&arena, qgc_data);
    data->arena = arena;
    data->diag = diag;
    data->path = qgc_arena_strdup(&data->arena, qgc_str_from(path));
    data->names.arena = data->by_name.arena = &data->arena;
    return data;
}

static qgc_result finish_open(qgc_data *data, qgc_result result, qgc_data **out)
{
    if (result == QGC_OK)
        result = open_parts(data);
    *out = result == QGC_OK ? data : NULL;
    if (result != QGC_OK)
        qgc_data_close(data);
    return result;
}

qgc_result qgc_data_open(qgc_diag *diag, const char *path, qgc_data **out)
{
    return qgc_data_open_with(diag, path, NULL, out);
}

qgc_result qgc_data_open_with(qgc_diag *diag, const char *path,
                              const struct qgc_picture_format *pictures, qgc_data **out)
{
    qgc_data *data = create(diag, path);
    data->pictures = pictures;
    if (is_folder(path))
        return finish_open(data, list_folder(data), out);
    qgc_vec_push(&data->arena, &data->parts, ((part){.path = data->path, .folder = SIZE_MAX}));
    return finish_open(data, QGC_OK, out);
}

qgc_result qgc_data_open_memory(qgc_diag *diag, const char *name, const void *bytes, size_t size,
                                qgc_data **out)
{
    qgc_data *data = create(diag, name);
    data->memory = size ? bytes : "";
    data->memory_bytes = size;
    qgc_vec_push(&data->arena, &data->parts, ((part){.path = data->path, .folder = SIZE_MAX}));
    return finish_open(data, QGC_OK, out);
}

void qgc_data_close(qgc_data *data)
{
    if (!data)
        return;
    close_part(data);
    for (size_t i = 0; data->buffers && i < data->num_arrays; i++)
        qgc_tensor_destroy(&data->buffers[i]);
    qgc_arena arena = data->arena;
    qgc_arena_destroy(&arena);
}

size_t qgc_data_num_arrays(const qgc_data *data)
{
    return data->num_arrays;
}

qgc_named_tensor qgc_data_array(const qgc_data *data, size_t index)
{
    return data->arrays[index];
}

size_t qgc_data_find(const qgc_data *data, qgc_str name)
{
    qgc_name key = qgc_intern_find(&data->names, name);
    const qgc_named_tensor *array = key ? qgc_map_get(&data->by_name, key) : NULL;
    return array ? (size_t)(array - data->arrays) : SIZE_MAX;
}

size_t qgc_data_num_folders(const qgc_data *data)
{
    return data->folders.size;
}

const char *qgc_data_folder(const qgc_data *data, size_t index)
{
    return data->folders.data[index];
}

size_t qgc_data_num_parts(const qgc_data *data)
{
    return data->parts.size;
}

qgc_data_part qgc_data_part_at(const qgc_data *data, size_t index)
{
    const part *p = &data->parts.data[index];
    return (qgc_data_part){p->path, p->num_samples, p->folder};
}

/* Elements of one sample of array |index|. */
static size_t sample_count(const qgc_data *data, size_t index)
{
    const qgc_tensor *type = &data->arrays[index].tensor;
    size_t count;
    QGC_ASSERT(qgc_shape_count(type->rank - 1, type->shape + 1, &count), "checked at opening");
    return count;
}

/* Samples without elements cost a file nothing: a hundred bytes may claim 2^62 of them. */
static qgc_result check_batches(qgc_data *data)
{
    QGC_TRY(check_samples(data));
    bool is_hollow = data->num_samples > 0;
    for (size_t i = 0; is_hollow && i < data->num_arrays; i++)
        is_hollow = sample_count(data, i) == 0;
    if (!is_hollow)
        return QGC_OK;
    return qgc_report(data->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                      "%s: expected samples with elements, found %zu empty ones", data->path,
                      data->num_samples);
}

qgc_result qgc_data_num_samples(qgc_data *data, size_t *out_num)
{
    *out_num = data->num_samples;
    return check_batches(data);
}

static qgc_result check_bools(qgc_data *data, const qgc_array *array, const void *values,
                              size_t num)
{
    if (array->dtype != QGC_DTYPE_BOOL || qgc_bools_valid(values, num))
        return QGC_OK;
    return qgc_report(data->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                      "%s: expected bytes 0 and 1 in a bool array, found others (array %s)",
                      data->file.file.name, qgc_quoted(data->diag->arena, array->name));
}

/* Elements of the open part to |dest|. */
static qgc_result copy_elements(qgc_data *data, qgc_array *array, size_t first, size_t num,
                                void *dest)
{
    const size_t size = qgc_dtype_bytes(array->dtype);
    if (array->read)
        QGC_TRY(array->read(data->diag, array, first, num, dest));
    else
        QGC_TRY(qgc_file_read(data->diag, &data->file.file, array->offset + first * size,
                              num * size, dest));
    return check_bools(data, array, dest, num);
}

/* Skips parts that are used up. False at the end of the last one. */
static bool find_part(qgc_data *data)
{
    while (data->next == data->parts.data[data->current].num_samples) {
        if (data->current + 1 == data->parts.size)
            return false;
        close_part(data);
        data->current++;
        data->next = 0;
    }
    return true;
}

/* Room for |num| samples of each array. */
static qgc_result prepare_buffers(qgc_data *data, size_t num, qgc_tensor *out_tensors)
{
    for (size_t i = 0; i < data->num_arrays; i++) {
        qgc_tensor *buffer = &data->buffers[i], *out = &out_tensors[i];
        *out = data->arrays[i].tensor;
        out->shape[0] = (int64_t)num;
        if (!buffer->data || buffer->shape[0] < (int64_t)num) {
            qgc_tensor_destroy(buffer);
            QGC_TRY(qgc_tensor_create(data->diag, out->dtype, out->rank, out->shape, buffer));
        }
        out->bytes = num * sample_count(data, i) * qgc_dtype_bytes(out->dtype);
        out->data = buffer->data;
    }
    return QGC_OK;
}

/* Samples [next, next + num) of the open part to place |done| of the batch. */
static qgc_result copy_samples(qgc_data *data, size_t done, size_t num, qgc_tensor *out_tensors)
{
    for (size_t i = 0; i < data->num_arrays; i++) {
        const size_t count = sample_count(data, i);
        QGC_TRY(copy_elements(data, &data->file.arrays[i], data->next * count, num * count,
                              (uint8_t *)out_tensors[i].data +
                                  done * count * qgc_dtype_bytes(out_tensors[i].dtype)));
    }
    data->next += num;
    return QGC_OK;
}

qgc_result qgc_data_next_batch(qgc_data *data, size_t max_samples, qgc_tensor *out_tensors,
                               size_t *out_num)
{
    *out_num = 0;
    QGC_TRY(check_batches(data));
    const size_t left = data->num_samples - data->position;
    const size_t num = left < max_samples ? left : max_samples;
    if (!num || !find_part(data))
        return QGC_OK;
    QGC_TRY(prepare_buffers(data, num, out_tensors));
    for (size_t done = 0; done < num && find_part(data);) {
        size_t part_left = data->parts.data[data->current].num_samples - data->next;
        size_t some = num - done < part_left ? num - done : part_left;
        QGC_TRY(open_part(data, data->current));
        QGC_TRY(copy_samples(data, done, some, out_tensors));
        done += some;
    }
    data->position += num;
    *out_num = num;
    return QGC_OK;
}

qgc_result qgc_data_seek(qgc_data *data, size_t index)
{
    QGC_TRY(check_batches(data));
    QGC_ASSERT(index <= data->num_samples, "sample %zu of %zu", index, data->num_samples);
    size_t to = 0;
    data->position = index;
    while (to + 1 < data->parts.size && index >= data->parts.data[to].num_samples)
        index -= data->parts.data[to++].num_samples;
    if (to != data->current)
        close_part(data);
    data->current = to;
    data->next = index;
    return QGC_OK;
}

qgc_result qgc_data_read_array(qgc_data *data, size_t index, qgc_tensor *out)
{
    const qgc_tensor type = data->arrays[index].tensor;
    QGC_TRY(qgc_tensor_create(data->diag, type.dtype, type.rank, type.shape, out));
    size_t done = 0;
    qgc_result result = QGC_OK;
    for (size_t i = 0; i < data->parts.size && result == QGC_OK; i++) {
        size_t count = qgc_tensor_count(out);
        if (data->parts.size > 1)
            count = data->parts.data[i].num_samples * sample_count(data, index);
        result = open_part(data, i);
        if (result == QGC_OK)
            result = copy_elements(data, &data->file.arrays[index], 0, count,
                                   (uint8_t *)out->data + done * qgc_dtype_bytes(type.dtype));
        done += count;
    }
    if (result != QGC_OK)
        qgc_tensor_destroy(out);
    return result;
}

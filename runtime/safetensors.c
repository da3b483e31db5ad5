#include "runtime/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define METADATA "__metadata__"

enum { LENGTH_BYTES = 8, DATA_ALIGN = 64, MAX_DEFECTS = 20 };

/* By qgc_dtype. */
static const char *const dtype_texts[QGC_NUM_DTYPES] = {
    [QGC_DTYPE_F32] = "F32",   [QGC_DTYPE_F16] = "F16", [QGC_DTYPE_BF16] = "BF16",
    [QGC_DTYPE_F64] = "F64",   [QGC_DTYPE_I8] = "I8",   [QGC_DTYPE_U8] = "U8",
    [QGC_DTYPE_I16] = "I16",   [QGC_DTYPE_U16] = "U16", [QGC_DTYPE_I32] = "I32",
    [QGC_DTYPE_U32] = "U32",   [QGC_DTYPE_I64] = "I64", [QGC_DTYPE_U64] = "U64",
    [QGC_DTYPE_BOOL] = "BOOL",
};

/* What one entry's checks need. */
typedef struct reader {
    qgc_diag *diag;
    qgc_safetensors *out;
    const uint8_t *data; /* behind the header */
    size_t data_bytes;
    qgc_str name;     /* of the tensor at hand */
    bool is_streamed; /* the data is not looked at: qgc_file_read delivers it */
} reader;

static qgc_result defect(reader *r, const char *format, ...) QGC_PRINTF(2, 3);
static qgc_result defect(reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = qgc_arena_vprintf(r->diag->arena, format, args);
    va_end(args);
    if (!r->name.data)
        return qgc_report(r->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT, "%s: %s", r->out->file.name,
                          message);
    return qgc_report(r->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT, "%s: %s (tensor %s)",
                      r->out->file.name, message, qgc_quoted(r->diag->arena, r->name));
}

static uint64_t read_length(const qgc_file *file)
{
    uint64_t length = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        length = length << 8 | file->data[i];
    return length;
}

bool qgc_safetensors_detect(const qgc_file *file)
{
    return file->size > LENGTH_BYTES && file->data[LENGTH_BYTES] == '{' &&
           read_length(file) <= QGC_SAFETENSORS_MAX_HEADER;
}

static const char *kind_text(const json_t *value)
{
    static const char *const kinds[] = {
        [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "an array",     [JSON_STRING] = "a string",
        [JSON_INTEGER] = "an integer", [JSON_REAL] = "a real number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",        [JSON_NULL] = "null",
    };
    return value ? kinds[json_typeof(value)] : "nothing";
}

static qgc_result read_dtype(reader *r, const json_t *entry, qgc_tensor *out)
{
    const json_t *value = json_object_get(entry, "dtype");
    if (!json_is_string(value))
        return defect(r, "expected \"dtype\" as a string, found %s", kind_text(value));
    for (int i = 0; i < QGC_NUM_DTYPES; i++)
        if (strcmp(json_string_value(value), dtype_texts[i]) == 0) {
            out->dtype = (qgc_dtype)i;
            return QGC_OK;
        }
    return defect(r,
                  "expected a dtype of F32 F16 BF16 F64 I8 U8 I16 U16 I32 U32 I64 U64 BOOL, found "
                  "%s",
                  qgc_quoted(r->diag->arena, qgc_str_from(json_string_value(value))));
}

static qgc_result read_shape(reader *r, const json_t *entry, qgc_tensor *out)
{
    const json_t *value = json_object_get(entry, "shape");
    if (!json_is_array(value))
        return defect(r, "expected \"shape\" as an array, found %s", kind_text(value));
    if (json_array_size(value) > QGC_MAX_RANK)
        return defect(r, "expected at most %d dimensions, found %zu", QGC_MAX_RANK,
                      json_array_size(value));
    out->rank = (uint32_t)json_array_size(value);
    for (uint32_t i = 0; i < out->rank; i++) {
        const json_t *dim = json_array_get(value, i);
        if (!json_is_integer(dim))
            return defect(r, "expected integers in \"shape\", found %s", kind_text(dim));
        out->shape[i] = json_integer_value(dim);
        if (out->shape[i] < 0)
            return defect(r, "expected dimensions of 0 or more, found %lld",
                          (long long)out->shape[i]);
    }
    if (!qgc_shape_bytes(out->dtype, out->rank, out->shape, &out->bytes))
        return defect(r, "expected a size that fits 63 bits, found shape %s",
                      qgc_shape_text(r->diag->arena, out->rank, out->shape));
    return QGC_OK;
}

/* data_offsets = [begin, end], counted from the end of the header. */
static qgc_result read_offsets(reader *r, const json_t *entry, const qgc_tensor *tensor,
                               size_t *out_begin)
{
    const json_t *value = json_object_get(entry, "data_offsets");
    const json_t *begin = json_array_get(value, 0), *end = json_array_get(value, 1);
    if (json_array_size(value) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return defect(r, "expected \"data_offsets\" as an array of two integers, found %s%s",
                      kind_text(value), json_is_array(value) ? " of others" : "");
    json_int_t from = json_integer_value(begin), to = json_integer_value(end);
    if (from < 0 || to < from || (uint64_t)to > r->data_bytes)
        return defect(r, "expected offsets inside the %zu data bytes, found [%lld, %lld]",
                      r->data_bytes, (long long)from, (long long)to);
    if ((uint64_t)(to - from) != tensor->bytes)
        return defect(r, "expected %zu bytes for %s of shape %s, found %lld", tensor->bytes,
                      qgc_dtype_name(tensor->dtype),
                      qgc_shape_text(r->diag->arena, tensor->rank, tensor->shape),
                      (long long)(to - from));
    *out_begin = (size_t)from;
    return QGC_OK;
}

static void make_view(reader *r, qgc_safetensors_entry *entry, size_t begin)
{
    const uint8_t *data = r->data + begin;
    entry->offset = (size_t)(data - r->out->file.data);
    /* Views are read-only by contract; qgc_tensor has one pointer type for both. */
    entry->tensor.data = (void *)(uintptr_t)data;
    if (r->is_streamed || (uintptr_t)data % qgc_dtype_bytes(entry->tensor.dtype) == 0)
        return;
    entry->tensor.data = qgc_arena_alloc(&r->out->arena, entry->tensor.bytes);
    memcpy(entry->tensor.data, data, entry->tensor.bytes);
}

static qgc_result read_entry(reader *r, const json_t *value, qgc_safetensors_entry *entry)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    if (!json_is_object(value))
        return defect(r, "expected an object, found %s", kind_text(value));
    QGC_TRY(read_dtype(r, value, &entry->tensor));
    QGC_TRY(read_shape(r, value, &entry->tensor));
    size_t begin = 0;
    QGC_TRY(read_offsets(r, value, &entry->tensor, &begin));
    if (json_object_size(value) != sizeof keys / sizeof *keys)
        return defect(r, "expected the keys \"dtype\", \"shape\", \"data_offsets\", found %zu keys",
                      json_object_size(value));
    make_view(r, entry, begin);
    if (!r->is_streamed && entry->tensor.dtype == QGC_DTYPE_BOOL &&
        !qgc_bools_valid(entry->tensor.data, entry->tensor.bytes))
        return defect(r, "expected bytes 0 and 1 in a BOOL tensor, found others");
    entry->name = qgc_intern(&r->out->names, r->name);
    return QGC_OK;
}

static qgc_result read_metadata(reader *r, const json_t *value)
{
    const char *key;
    json_t *item;
    if (!json_is_object(value))
        return defect(r, "expected an object of strings, found %s", kind_text(value));
    json_object_foreach((json_t *)(uintptr_t)value, key, item) if (
        !json_is_string(item)) return defect(r, "expected an object of strings, found %s under %s",
                                             kind_text(item),
                                             qgc_quoted(r->diag->arena, qgc_str_from(key)));
    return QGC_OK;
}

static qgc_result read_entries(reader *r, json_t *root)
{
    const char *key;
    json_t *value;
    qgc_safetensors *out = r->out;
    qgc_result result = QGC_OK;
    const size_t errors_before = r->diag->num_errors;
    out->entries = QGC_NEW_ARRAY(&out->arena, qgc_safetensors_entry, json_object_size(root));
    json_object_foreach(root, key, value)
    {
        r->name = qgc_str_from(key);
        if (strcmp(key, METADATA) == 0)
            result |= read_metadata(r, value);
        else if (read_entry(r, value, &out->entries[out->num_entries]) == QGC_OK)
            out->num_entries++;
        else
            result = QGC_FAILED;
        if (r->diag->num_errors - errors_before >= MAX_DEFECTS)
            break;
    }
    return result;
}

static int compare_entries(const void *left, const void *right)
{
    const qgc_safetensors_entry *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->tensor.bytes != b->tensor.bytes)
        return a->tensor.bytes < b->tensor.bytes ? -1 : 1;
    int order = memcmp(a->name->data, b->name->data,
                       a->name->size < b->name->size ? a->name->size : b->name->size);
    return order ? order : (a->name->size > b->name->size) - (a->name->size < b->name->size);
}

/* The format wants the data indexed entirely: each tensor begins where the one before ends. */
static qgc_result check_layout(reader *r)
{
    qgc_safetensors *out = r->out;
    const size_t start = (size_t)(r->data - out->file.data);
    size_t end = start;
    qsort(out->entries, out->num_entries, sizeof *out->entries, compare_entries);
    for (size_t i = 0; i < out->num_entries; i++) {
        const qgc_safetensors_entry *entry = &out->entries[i];
        r->name = qgc_name_str(entry->name);
        if (entry->offset < end)
            return defect(r, "expected data from offset %zu on, found %zu: it overlaps tensor %s",
                          end - start, entry->offset - start,
                          qgc_quoted(r->diag->arena, qgc_name_str(out->entries[i - 1].name)));
        if (entry->offset > end)
            return defect(r, "expected data from offset %zu on, found %zu: a hole", end - start,
                          entry->offset - start);
        end += entry->tensor.bytes;
        *qgc_map_at(&out->by_name, entry->name) = &out->entries[i];
    }
    r->name = (qgc_str){NULL, 0};
    if (end != start + r->data_bytes)
        return defect(r, "expected %zu data bytes as the header says, found %zu", end - start,
                      r->data_bytes);
    return QGC_OK;
}

static qgc_result parse_header(reader *r, qgc_str header)
{
    json_error_t error;
    json_t *root = json_loadb(header.data, header.size, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return defect(r, "expected a JSON header, found an error at byte %d: %s",
                      error.position + LENGTH_BYTES,
                      qgc_quoted(r->diag->arena, qgc_str_from(error.text)));
    qgc_result result;
    if (json_is_object(root))
        result = read_entries(r, root);
    else
        result = defect(r, "expected a JSON object as header, found %s", kind_text(root));
    if (result == QGC_OK)
        result = check_layout(r);
    json_decref(root);
    return result;
}

static qgc_result read_header(reader *r)
{
    const qgc_file *file = &r->out->file;
    if (file->size < LENGTH_BYTES)
        return defect(r, "expected at least %d bytes, found %zu", LENGTH_BYTES, file->size);
    uint64_t length = read_length(file);
    if (length > QGC_SAFETENSORS_MAX_HEADER)
        return defect(r, "expected a header of at most %d bytes, found %llu",
                      QGC_SAFETENSORS_MAX_HEADER, (unsigned long long)length);
    if (length > file->size - LENGTH_BYTES)
        return defect(r, "expected a header of %llu bytes, found the end of the file after %zu",
                      (unsigned long long)length, file->size - LENGTH_BYTES);
    r->data = file->data + LENGTH_BYTES + length;
    r->data_bytes = file->size - LENGTH_BYTES - (size_t)length;
    return parse_header(r, (qgc_str){(const char *)file->data + LENGTH_BYTES, (size_t)length});
}

static qgc_result take(qgc_diag *diag, qgc_file file, bool is_streamed, qgc_safetensors *out)
{
    *out = (qgc_safetensors){.file = file};
    out->names.arena = &out->arena;
    out->by_name.arena = &out->arena;
    reader r = {.diag = diag, .out = out, .is_streamed = is_streamed};
    if (read_header(&r) == QGC_OK)
        return QGC_OK;
    qgc_safetensors_close(out);
    return QGC_FAILED;
}

qgc_result qgc_safetensors_take(qgc_diag *diag, qgc_file file, qgc_safetensors *out)
{
    return take(diag, file, false, out);
}

qgc_result qgc_safetensors_open(qgc_diag *diag, const char *path, qgc_safetensors *out)
{
    qgc_file file;
    *out = (qgc_safetensors){0};
    QGC_TRY(qgc_file_open(diag, path, &file));
    return qgc_safetensors_take(diag, file, out);
}

void qgc_safetensors_close(qgc_safetensors *file)
{
    qgc_file_close(&file->file);
    qgc_arena_destroy(&file->arena);
    *file = (qgc_safetensors){0};
}

const qgc_safetensors_entry *qgc_safetensors_find(const qgc_safetensors *file, qgc_str name)
{
    qgc_name key = qgc_intern_find(&file->names, name);
    return key ? qgc_map_get(&file->by_name, key) : NULL;
}

static void close_arrays(void *state)
{
    qgc_safetensors_close(state);
}

qgc_result qgc_safetensors_open_arrays(qgc_diag *diag, qgc_array_file *file)
{
    qgc_safetensors *state = QGC_NEW(&file->arena, qgc_safetensors);
    const qgc_file borrowed =
        qgc_file_from_memory(file->file.name, file->file.data, file->file.size);
    QGC_TRY(take(diag, borrowed, true, state));
    file->state = state;
    file->close = close_arrays;
    file->num_arrays = state->num_entries;
    file->arrays = QGC_NEW_ARRAY(&file->arena, qgc_array, state->num_entries);
    for (size_t i = 0; i < state->num_entries; i++) {
        const qgc_safetensors_entry *entry = &state->entries[i];
        qgc_array *to = &file->arrays[i];
        *to = (qgc_array){.name = qgc_name_str(entry->name), .dtype = entry->tensor.dtype};
        to->rank = entry->tensor.rank;
        memcpy(to->shape, entry->tensor.shape, sizeof to->shape);
        to->offset = entry->offset;
    }
    return QGC_OK;
}

/* Offsets of the data of each tensor: by falling element size, in the given order within one. */
static bool place(const qgc_named_tensor *tensors, size_t num_tensors, size_t *offsets,
                  size_t *order)
{
    size_t end = 0, placed = 0;
    for (size_t size = 8; size; size /= 2)
        for (size_t i = 0; i < num_tensors; i++) {
            if (qgc_dtype_bytes(tensors[i].tensor.dtype) != size)
                continue;
            offsets[i] = end;
            order[placed++] = i;
            if (!qgc_checked_add(end, tensors[i].tensor.bytes, &end))
                return false;
        }
    return end <= INT64_MAX;
}

static json_t *entry_json(const qgc_tensor *tensor, size_t offset)
{
    json_t *shape = json_array();
    for (uint32_t i = 0; i < tensor->rank; i++)
        json_array_append_new(shape, json_integer(tensor->shape[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_texts[tensor->dtype], "shape", shape,
                     "data_offsets", (json_int_t)offset, (json_int_t)(offset + tensor->bytes));
}

static qgc_result add_entry(qgc_diag *diag, const char *path, json_t *root,
                            const qgc_named_tensor *item, size_t offset)
{
    const char *fault = NULL;
    const char *name = qgc_arena_strdup(diag->arena, item->name);
    if (strlen(name) != item->name.size)
        fault = "expected tensor names without NUL bytes";
    else if (strcmp(name, METADATA) == 0)
        fault = "the format reserves this tensor name";
    else if (json_object_get(root, name))
        fault = "expected tensor names that differ";
    else if (json_object_set_new(root, name, entry_json(&item->tensor, offset)) != 0)
        fault = "expected tensor names in UTF-8";
    if (fault)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_WRITE, "%s: %s, found %s", path, fault,
                          qgc_quoted(diag->arena, item->name));
    return QGC_OK;
}

static qgc_str dump(qgc_arena *arena, const json_t *root)
{
    qgc_str text = {NULL, json_dumpb(root, NULL, 0, JSON_COMPACT)};
    char *data = qgc_arena_alloc(arena, text.size);
    json_dumpb(root, data, text.size, JSON_COMPACT);
    text.data = data;
    return text;
}

static qgc_result write_file(qgc_diag *diag, const char *path, const qgc_named_tensor *tensors,
                             size_t num_tensors, const size_t *order, qgc_str header)
{
    qgc_output output;
    QGC_TRY(qgc_output_open(diag, path, &output));
    uint64_t padded = (header.size + LENGTH_BYTES + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN;
    uint64_t length = padded - LENGTH_BYTES;
    uint8_t prefix[LENGTH_BYTES];
    for (int i = 0; i < LENGTH_BYTES; i++)
        prefix[i] = (uint8_t)(length >> (8 * i));
    qgc_output_put(&output, prefix, sizeof prefix);
    qgc_output_put(&output, header.data, header.size);
    for (uint64_t i = header.size; i < length; i++)
        qgc_output_put(&output, " ", 1);
    for (size_t i = 0; i < num_tensors; i++)
        qgc_output_put(&output, tensors[order[i]].tensor.data, tensors[order[i]].tensor.bytes);
    return qgc_output_close(diag, &output);
}

qgc_result qgc_safetensors_write(qgc_diag *diag, const char *path, const qgc_named_tensor *tensors,
                                 size_t num_tensors)
{
    size_t *offsets = QGC_NEW_ARRAY(diag->arena, size_t, num_tensors);
    size_t *order = QGC_NEW_ARRAY(diag->arena, size_t, num_tensors);
    if (!place(tensors, num_tensors, offsets, order))
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_WRITE, "%s: the tensors exceed 2^63 bytes",
                          path);
    json_t *root = json_object();
    qgc_result result = QGC_OK;
    for (size_t i = 0; i < num_tensors && result == QGC_OK; i++)
        result = add_entry(diag, path, root, &tensors[i], offsets[i]);
    qgc_str header = result == QGC_OK ? dump(diag->arena, root) : (qgc_str){NULL, 0};
    json_decref(root);
    QGC_TRY(result);
    if (header.size > QGC_SAFETENSORS_MAX_HEADER - DATA_ALIGN)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_WRITE,
                          "%s: expected a header of at most %d bytes, found %zu", path,
                          QGC_SAFETENSORS_MAX_HEADER - DATA_ALIGN, header.size);
    return write_file(diag, path, tensors, num_tensors, order, header);
}

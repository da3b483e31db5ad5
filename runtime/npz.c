#include "runtime/npz.h"

#include "runtime/npy.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

enum { DEFLATE_RATIO = 1032 };

typedef struct entry_state {
    qgc_npy_header header;
    zip_t *archive;
    zip_uint64_t index;
    const char *label; /* "FILE: entry NAME" for messages */
    zip_file_t *stream;
    size_t next;      /* element that |stream| stands at */
    qgc_tensor whole; /* the stored elements, where the order is Fortran's */
} entry_state;

typedef struct archive_state {
    zip_t *archive;
    entry_state *entries;
    size_t num_entries;
} archive_state;

bool qgc_npz_detect(const qgc_file *file)
{
    return file->size >= 4 &&
           (memcmp(file->data, "PK\x03\x04", 4) == 0 || memcmp(file->data, "PK\x05\x06", 4) == 0);
}

static void close_archive(void *opaque)
{
    archive_state *state = opaque;
    for (size_t i = 0; i < state->num_entries; i++) {
        if (state->entries[i].stream)
            zip_fclose(state->entries[i].stream);
        qgc_tensor_destroy(&state->entries[i].whole);
    }
    zip_discard(state->archive);
}

static qgc_result read_exactly(qgc_diag *diag, const entry_state *entry, void *dest, size_t size)
{
    uint8_t *to = dest;
    while (size) {
        zip_int64_t got = zip_fread(entry->stream, to, size);
        if (got < 0)
            return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                              "%s: expected sound data, found: %s", entry->label,
                              zip_file_strerror(entry->stream));
        if (got == 0)
            return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                              "%s: expected %zu bytes more, found the end of the data",
                              entry->label, size);
        to += got;
        size -= (size_t)got;
    }
    return QGC_OK;
}

/* At the end of an entry libzip compares the CRC. */
static qgc_result check_end(qgc_diag *diag, const entry_state *entry)
{
    uint8_t byte;
    zip_int64_t got = zip_fread(entry->stream, &byte, 1);
    if (got == 0)
        return QGC_OK;
    return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT, "%s: expected the end of the data%s%s",
                      entry->label, got < 0 ? ", found: " : ", found more",
                      got < 0 ? zip_file_strerror(entry->stream) : "");
}

static qgc_result open_stream(qgc_diag *diag, entry_state *entry)
{
    if (entry->stream)
        zip_fclose(entry->stream);
    entry->next = 0;
    entry->stream = zip_fopen_index(entry->archive, entry->index, 0);
    if (entry->stream)
        return QGC_OK;
    return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT, "%s: cannot be opened: %s", entry->label,
                      zip_strerror(entry->archive));
}

static qgc_result skip(qgc_diag *diag, const entry_state *entry, size_t size)
{
    uint8_t buffer[4096];
    while (size) {
        size_t part = size < sizeof buffer ? size : sizeof buffer;
        QGC_TRY(read_exactly(diag, entry, buffer, part));
        size -= part;
    }
    return QGC_OK;
}

/* Brings |stream| to element |first|. */
static qgc_result seek(qgc_diag *diag, entry_state *entry, size_t first)
{
    const size_t size = qgc_dtype_bytes(entry->header.dtype);
    if (!entry->stream || first < entry->next) {
        QGC_TRY(open_stream(diag, entry));
        QGC_TRY(skip(diag, entry, entry->header.header_bytes));
    }
    QGC_TRY(skip(diag, entry, (first - entry->next) * size));
    entry->next = first;
    return QGC_OK;
}

static qgc_result read_stored(qgc_diag *diag, entry_state *entry, size_t first, size_t num,
                              void *dest)
{
    const size_t size = qgc_dtype_bytes(entry->header.dtype);
    QGC_TRY(seek(diag, entry, first));
    QGC_TRY(read_exactly(diag, entry, dest, num * size));
    entry->next += num;
    if (entry->next * size == entry->header.data_bytes)
        QGC_TRY(check_end(diag, entry));
    return QGC_OK;
}

static qgc_result read_elements(qgc_diag *diag, qgc_array *array, size_t first, size_t num,
                                void *dest)
{
    entry_state *entry = array->state;
    const qgc_npy_header *header = &entry->header;
    if (!header->is_fortran) {
        QGC_TRY(read_stored(diag, entry, first, num, dest));
        if (header->is_big_endian)
            qgc_swap_bytes(dest, qgc_dtype_bytes(header->dtype), num);
        return QGC_OK;
    }
    if (!entry->whole.data) {
        QGC_TRY(qgc_tensor_create(diag, header->dtype, header->rank, header->shape, &entry->whole));
        QGC_TRY(read_stored(diag, entry, 0, qgc_tensor_count(&entry->whole), entry->whole.data));
    }
    qgc_npy_convert(header, entry->whole.data, first, num, dest);
    return QGC_OK;
}

static qgc_result read_header(qgc_diag *diag, qgc_arena *arena, entry_state *entry,
                              const zip_stat_t *info)
{
    size_t prefix = QGC_NPY_PREFIX_BYTES, size;
    uint8_t start[QGC_NPY_PREFIX_BYTES];
    if (info->size < prefix)
        prefix = (size_t)info->size;
    QGC_TRY(open_stream(diag, entry));
    QGC_TRY(read_exactly(diag, entry, start, prefix));
    QGC_TRY(qgc_npy_header_size(diag, entry->label, start, prefix, &size));
    uint8_t *header = qgc_arena_alloc(arena, size < prefix ? prefix : size);
    memcpy(header, start, prefix);
    if (size > prefix)
        QGC_TRY(read_exactly(diag, entry, header + prefix, size - prefix));
    QGC_TRY(qgc_npy_parse_header(diag, entry->label, header, size, &entry->header));
    zip_fclose(entry->stream); /* thousands of entries need not hold a window each */
    entry->stream = NULL;
    if (info->size - size != entry->header.data_bytes)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected %zu bytes of data for %s of shape %s, found %llu",
                          entry->label, entry->header.data_bytes,
                          qgc_dtype_name(entry->header.dtype),
                          qgc_shape_text(diag->arena, entry->header.rank, entry->header.shape),
                          (unsigned long long)(info->size - size));
    return QGC_OK;
}

static qgc_result check_entry(qgc_diag *diag, const entry_state *entry, const zip_stat_t *info)
{
    const zip_uint64_t needed =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    const char *fault = NULL;
    if ((info->valid & needed) != needed)
        fault = "expected a name, sizes and a method, found an incomplete entry";
    else if ((info->valid & ZIP_STAT_ENCRYPTION_METHOD) && info->encryption_method != ZIP_EM_NONE)
        fault = "expected plain data, found encryption";
    else if (info->comp_method != ZIP_CM_STORE && info->comp_method != ZIP_CM_DEFLATE)
        fault = "expected stored or deflated data, found another compression method";
    else if (info->comp_method == ZIP_CM_STORE && info->size != info->comp_size)
        fault = "expected one size for stored data, found two";
    else if (info->size / DEFLATE_RATIO > info->comp_size)
        fault = "expected a size that the compressed data can have, found a larger one";
    if (fault)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT, "%s: %s", entry->label, fault);
    return QGC_OK;
}

static qgc_result open_entry(qgc_diag *diag, qgc_array_file *file, qgc_interner *names,
                             entry_state *entry, qgc_array *out)
{
    static const char suffix[] = ".npy";
    zip_stat_t info;
    if (zip_stat_index(entry->archive, entry->index, 0, &info) != 0)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT, "%s: entry %llu: %s",
                          file->file.name, (unsigned long long)entry->index,
                          zip_strerror(entry->archive));
    qgc_str name = qgc_str_from((info.valid & ZIP_STAT_NAME) && info.name ? info.name : "");
    entry->label = qgc_arena_printf(&file->arena, "%s: entry %s", file->file.name,
                                    qgc_quoted(&file->arena, name));
    QGC_TRY(check_entry(diag, entry, &info));
    size_t stem = name.size - (sizeof suffix - 1);
    if (name.size < sizeof suffix - 1 || strcmp(name.data + stem, suffix) != 0)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected entries NAME.npy, found another name", entry->label);
    name.size = stem;
    if (qgc_intern_find(names, name))
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected names that differ, found this one twice", entry->label);
    QGC_TRY(read_header(diag, &file->arena, entry, &info));
    *out = qgc_npy_array(qgc_name_str(qgc_intern(names, name)), &entry->header);
    out->read = read_elements;
    out->state = entry;
    return QGC_OK;
}

static zip_source_t *open_source(const qgc_file *file, zip_error_t *error)
{
    if (!file->is_streamed)
        return zip_source_buffer_create(file->data, file->size, 0, error);
    int descriptor = dup(file->descriptor);
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, "rb");
    zip_source_t *source =
        stream ? zip_source_filep_create(stream, 0, (zip_int64_t)file->size, error) : NULL;
    if (!stream)
        zip_error_set(error, ZIP_ER_OPEN, errno);
    if (source)
        return source; /* it closes the stream. NOLINT(clang-analyzer-unix.Stream) */
    if (stream)
        fclose(stream);
    else if (descriptor >= 0)
        close(descriptor);
    return NULL;
}

static zip_t *open_zip(qgc_diag *diag, const qgc_file *file)
{
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = open_source(file, &error);
    zip_t *archive = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
    if (!archive) {
        qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                   "%s: expected a zip archive, found a broken one: %s", file->name,
                   zip_error_strerror(&error));
        zip_source_free(source);
    }
    zip_error_fini(&error);
    return archive;
}

qgc_result qgc_npz_open_arrays(qgc_diag *diag, qgc_array_file *file)
{
    zip_t *archive = open_zip(diag, &file->file);
    if (!archive)
        return QGC_FAILED;
    archive_state *state = QGC_NEW(&file->arena, archive_state);
    file->state = state;
    file->close = close_archive;
    state->archive = archive;
    const size_t num = (size_t)zip_get_num_entries(archive, 0);
    state->entries = QGC_NEW_ARRAY(&file->arena, entry_state, num);
    state->num_entries = num;
    file->arrays = QGC_NEW_ARRAY(&file->arena, qgc_array, num);
    qgc_interner names = {.arena = &file->arena};
    for (size_t i = 0; i < num; i++) {
        state->entries[i] = (entry_state){.archive = archive, .index = i};
        QGC_TRY(open_entry(diag, file, &names, &state->entries[i], &file->arrays[i]));
        file->num_arrays++;
    }
    return QGC_OK;
}

static qgc_result zip_write_error(qgc_diag *diag, const char *path, const char *what)
{
    return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_WRITE, "%s: %s", path, what);
}

static qgc_result add_entry(qgc_diag *diag, const char *path, zip_t *archive,
                            const qgc_named_tensor *item, bool is_compressed)
{
    enum { DOS_1980_01_01 = 1 << 5 | 1 };
    qgc_str header;
    QGC_TRY(qgc_npy_format_header(diag, path, &item->tensor, &header));
    char *name = qgc_arena_printf(diag->arena, "%.*s.npy", QGC_STR_ARG(item->name));
    if (strlen(name) != item->name.size + 4)
        return zip_write_error(diag, path, "expected tensor names without NUL bytes");
    zip_buffer_fragment_t parts[] = {
        {(zip_uint8_t *)(uintptr_t)header.data, header.size},
        {item->tensor.data, item->tensor.bytes},
    };
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source =
        zip_source_buffer_fragment_create(parts, item->tensor.bytes ? 2 : 1, 0, &error);
    zip_error_fini(&error);
    if (!source)
        return zip_write_error(diag, path, "libzip cannot take the data");
    zip_int64_t index = zip_file_add(archive, name, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) { /* also: a name given twice */
        zip_source_free(source);
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_WRITE, "%s: entry %s: %s", path,
                          qgc_quoted(diag->arena, item->name), zip_strerror(archive));
    }
    const zip_uint32_t mode = (zip_uint32_t)0100644 << 16; /* else it is the library's choice */
    if (zip_file_set_external_attributes(archive, (zip_uint64_t)index, 0, ZIP_OPSYS_UNIX, mode) !=
            0 ||
        zip_set_file_compression(archive, (zip_uint64_t)index,
                                 is_compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 6) != 0 ||
        zip_file_set_dostime(archive, (zip_uint64_t)index, 0, DOS_1980_01_01, 0) != 0)
        return zip_write_error(diag, path, zip_strerror(archive));
    return QGC_OK;
}

/* Fills |archive|, which writes itself to its source, and closes it in any case. */
static qgc_result fill(qgc_diag *diag, const char *path, zip_t *archive,
                       const qgc_named_tensor *tensors, size_t num_tensors, bool is_compressed)
{
    qgc_result result = QGC_OK;
    for (size_t i = 0; i < num_tensors && result == QGC_OK; i++)
        result = add_entry(diag, path, archive, &tensors[i], is_compressed);
    if (result == QGC_OK && zip_close(archive) == 0)
        return QGC_OK;
    if (result == QGC_OK)
        result = zip_write_error(diag, path, zip_strerror(archive));
    zip_discard(archive);
    return result;
}

static qgc_result copy_source(qgc_diag *diag, const char *path, zip_source_t *source)
{
    uint8_t buffer[4096];
    qgc_output output;
    zip_int64_t got = 0;
    QGC_TRY(qgc_output_open(diag, path, &output));
    if (zip_source_open(source) != 0) {
        qgc_output_discard(&output);
        return zip_write_error(diag, path, zip_error_strerror(zip_source_error(source)));
    }
    while ((got = zip_source_read(source, buffer, sizeof buffer)) > 0)
        qgc_output_put(&output, buffer, (size_t)got);
    zip_source_close(source);
    if (got == 0)
        return qgc_output_close(diag, &output);
    qgc_output_discard(&output);
    return zip_write_error(diag, path, zip_error_strerror(zip_source_error(source)));
}

qgc_result qgc_npz_write(qgc_diag *diag, const char *path, const qgc_named_tensor *tensors,
                         size_t num_tensors, bool is_compressed)
{
    /* What libzip leaves when it writes no entries is no archive: an end record alone. */
    static const char empty[22] = "PK\x05\x06";
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = num_tensors ? zip_source_buffer_create(NULL, 0, 0, &error)
                                       : zip_source_buffer_create(empty, sizeof empty, 0, &error);
    if (source)
        zip_source_keep(source); /* the archive takes one reference, we read through the other */
    zip_t *archive = NULL;
    if (source && num_tensors)
        archive = zip_open_from_source(source, ZIP_TRUNCATE, &error);
    zip_error_fini(&error);
    qgc_result result = QGC_OK;
    if (!source || (num_tensors && !archive))
        result = zip_write_error(diag, path, "libzip cannot create an archive");
    else if (num_tensors)
        result = fill(diag, path, archive, tensors, num_tensors, is_compressed);
    if (result == QGC_OK)
        result = copy_source(diag, path, source);
    if (source && !archive)
        zip_source_free(source);
    zip_source_free(source);
    return result;
}

#include "runtime/idx.h"

#include "runtime/npy.h"
#include "runtime/tensor.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

static const struct {
    uint8_t code;
    qgc_dtype dtype;
} types[] = {
    {0x08, QGC_DTYPE_U8},  {0x09, QGC_DTYPE_I8},  {0x0b, QGC_DTYPE_I16},
    {0x0c, QGC_DTYPE_I32}, {0x0d, QGC_DTYPE_F32}, {0x0e, QGC_DTYPE_F64},
};

enum {
    NUM_TYPES = sizeof types / sizeof *types,
    MAGIC_BYTES = 4,
    DIMENSION_BYTES = 4,
    DEFLATE_RATIO = 1032,
    CHUNK_BYTES = 1 << 16,
};

static int find_type(uint8_t code)
{
    int i = 0;
    while (i < NUM_TYPES && types[i].code != code)
        i++;
    return i;
}

bool qgc_idx_detect(const qgc_file *file)
{
    const uint8_t *data = file->data;
    return file->size >= MAGIC_BYTES && !data[0] && !data[1] && find_type(data[2]) < NUM_TYPES &&
           data[3] >= 1 && data[3] <= QGC_MAX_RANK &&
           file->size >= MAGIC_BYTES + (size_t)data[3] * DIMENSION_BYTES;
}

bool qgc_idx_gzip_detect(const qgc_file *file)
{
    return file->size >= 2 && file->data[0] == 0x1f && file->data[1] == 0x8b;
}

/* Fills the type of |out| but for its dimensions. */
static qgc_result parse_magic(qgc_diag *diag, const char *name, const uint8_t *magic,
                              qgc_array *out)
{
    int type = find_type(magic[2]);
    if (magic[0] || magic[1] || type == NUM_TYPES || !magic[3] || magic[3] > QGC_MAX_RANK)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected an IDX header 00 00, type 08 09 0b 0c 0d 0e, rank 1 to %d, "
                          "found %02x %02x %02x %02x",
                          name, QGC_MAX_RANK, magic[0], magic[1], magic[2], magic[3]);
    *out = (qgc_array){.name = {"", 0}, .dtype = types[type].dtype, .rank = magic[3]};
    return QGC_OK;
}

static qgc_result parse_dimensions(qgc_diag *diag, const char *name, const uint8_t *data,
                                   qgc_array *array, size_t *out_bytes)
{
    for (uint32_t i = 0; i < array->rank; i++, data += DIMENSION_BYTES)
        array->shape[i] = (int64_t)((uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 |
                                    (uint32_t)data[2] << 8 | data[3]);
    if (!qgc_shape_bytes(array->dtype, array->rank, array->shape, out_bytes))
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected a size that fits 63 bits, found shape %s", name,
                          qgc_shape_text(diag->arena, array->rank, array->shape));
    return QGC_OK;
}

static qgc_result size_error(qgc_diag *diag, const char *name, const qgc_array *array,
                             size_t expected, const char *found)
{
    return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                      "%s: expected %zu bytes of data for %s of shape %s, found %s", name, expected,
                      qgc_dtype_name(array->dtype),
                      qgc_shape_text(diag->arena, array->rank, array->shape), found);
}

/* |state|: the file. */
static qgc_result read_swapped(qgc_diag *diag, qgc_array *array, size_t first, size_t num,
                               void *dest)
{
    const size_t size = qgc_dtype_bytes(array->dtype);
    QGC_TRY(qgc_file_read(diag, array->state, array->offset + first * size, num * size, dest));
    qgc_swap_bytes(dest, size, num);
    return QGC_OK;
}

qgc_result qgc_idx_open_arrays(qgc_diag *diag, qgc_array_file *file)
{
    const qgc_file *in = &file->file;
    qgc_array *array = file->arrays = QGC_NEW(&file->arena, qgc_array);
    size_t bytes;
    if (in->size < MAGIC_BYTES)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected an IDX header, found %zu bytes", in->name, in->size);
    QGC_TRY(parse_magic(diag, in->name, in->data, array));
    const size_t header = MAGIC_BYTES + (size_t)array->rank * DIMENSION_BYTES;
    if (in->size < header)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected %u dimensions, found the end of the file", in->name,
                          array->rank);
    QGC_TRY(parse_dimensions(diag, in->name, in->data + MAGIC_BYTES, array, &bytes));
    if (in->size - header != bytes)
        return size_error(diag, in->name, array, bytes,
                          qgc_arena_printf(diag->arena, "%zu", in->size - header));
    array->offset = header;
    array->state = &file->file;
    if (qgc_dtype_bytes(array->dtype) > 1)
        array->read = read_swapped;
    file->num_arrays = 1;
    return QGC_OK;
}

typedef struct gzip_state {
    const qgc_file *file;
    z_stream stream;
    bool is_open;
    size_t taken;            /* bytes of the file given to |stream| */
    size_t header_bytes;     /* of the inflated data */
    size_t data_bytes, next; /* element that |stream| stands at */
    uint8_t *chunk;          /* of the file, for |stream| */
} gzip_state;

static qgc_result gzip_error(qgc_diag *diag, const gzip_state *state, const char *what)
{
    return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT, "%s: expected gzip data, found: %s",
                      state->file->name, what ? what : "broken data");
}

static void close_gzip(void *opaque)
{
    gzip_state *state = opaque;
    if (state->is_open)
        inflateEnd(&state->stream);
    state->is_open = false;
}

static qgc_result start(qgc_diag *diag, gzip_state *state)
{
    enum { GZIP_ONLY = 16 };
    close_gzip(state);
    state->stream = (z_stream){0};
    state->taken = state->next = 0;
    if (inflateInit2(&state->stream, MAX_WBITS + GZIP_ONLY) != Z_OK)
        return gzip_error(diag, state, state->stream.msg);
    state->is_open = true;
    return QGC_OK;
}

static qgc_result refill(qgc_diag *diag, gzip_state *state)
{
    size_t size = state->file->size - state->taken;
    if (state->stream.avail_in || !size)
        return QGC_OK;
    size = size < CHUNK_BYTES ? size : CHUNK_BYTES;
    QGC_TRY(qgc_file_read(diag, state->file, state->taken, size, state->chunk));
    state->stream.next_in = state->chunk;
    state->stream.avail_in = (uInt)size;
    state->taken += size;
    return QGC_OK;
}

/* Up to |size| bytes; fewer only at the end of the file's last member. */
static qgc_result inflate_some(qgc_diag *diag, gzip_state *state, uint8_t *dest, size_t size,
                               size_t *out_size)
{
    z_stream *stream = &state->stream;
    size_t done = 0;
    *out_size = 0;
    while (done < size) {
        size_t part = size - done < UINT_MAX ? size - done : UINT_MAX;
        QGC_TRY(refill(diag, state));
        stream->next_out = dest + done;
        stream->avail_out = (uInt)part;
        int code = inflate(stream, Z_NO_FLUSH);
        done += part - stream->avail_out;
        if (code == Z_STREAM_END) {
            QGC_TRY(refill(diag, state));
            if (!stream->avail_in)
                break;
            code = inflateReset(stream);
        }
        if (code == Z_BUF_ERROR)
            return gzip_error(diag, state, "the end of the file");
        if (code != Z_OK)
            return gzip_error(diag, state, stream->msg);
    }
    *out_size = done;
    return QGC_OK;
}

static qgc_result inflate_exactly(qgc_diag *diag, gzip_state *state, uint8_t *dest, size_t size)
{
    size_t got;
    QGC_TRY(inflate_some(diag, state, dest, size, &got));
    if (got == size)
        return QGC_OK;
    return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                      "%s: expected %zu bytes more of IDX data, found the end of it",
                      state->file->name, size - got);
}

static qgc_result skip(qgc_diag *diag, gzip_state *state, size_t size)
{
    uint8_t buffer[4096];
    while (size) {
        size_t part = size < sizeof buffer ? size : sizeof buffer;
        QGC_TRY(inflate_exactly(diag, state, buffer, part));
        size -= part;
    }
    return QGC_OK;
}

static qgc_result read_gzip(qgc_diag *diag, qgc_array *array, size_t first, size_t num, void *dest)
{
    gzip_state *state = array->state;
    const size_t size = qgc_dtype_bytes(array->dtype);
    if (first < state->next || !state->is_open) {
        QGC_TRY(start(diag, state));
        QGC_TRY(skip(diag, state, state->header_bytes));
    }
    QGC_TRY(skip(diag, state, (first - state->next) * size));
    QGC_TRY(inflate_exactly(diag, state, dest, num * size));
    qgc_swap_bytes(dest, size, num);
    state->next = first + num;
    if (state->next * size != state->data_bytes)
        return QGC_OK;
    uint8_t byte;
    size_t more;
    QGC_TRY(inflate_some(diag, state, &byte, 1, &more)); /* compares the CRC, too */
    return more ? size_error(diag, state->file->name, array, state->data_bytes, "more") : QGC_OK;
}

qgc_result qgc_idx_gzip_open_arrays(qgc_diag *diag, qgc_array_file *file)
{
    uint8_t header[MAGIC_BYTES + QGC_MAX_RANK * DIMENSION_BYTES];
    gzip_state *state = QGC_NEW(&file->arena, gzip_state);
    qgc_array *array = file->arrays = QGC_NEW(&file->arena, qgc_array);
    state->file = &file->file;
    state->chunk = qgc_arena_alloc(&file->arena, CHUNK_BYTES);
    file->state = state;
    file->close = close_gzip;
    QGC_TRY(start(diag, state));
    QGC_TRY(inflate_exactly(diag, state, header, MAGIC_BYTES));
    QGC_TRY(parse_magic(diag, file->file.name, header, array));
    const size_t size = (size_t)array->rank * DIMENSION_BYTES;
    QGC_TRY(inflate_exactly(diag, state, header, size));
    QGC_TRY(parse_dimensions(diag, file->file.name, header, array, &state->data_bytes));
    if (state->data_bytes / DEFLATE_RATIO > file->file.size)
        return size_error(diag, file->file.name, array, state->data_bytes,
                          "fewer: that much does not fit the compressed file");
    state->header_bytes = MAGIC_BYTES + size;
    array->read = read_gzip;
    array->state = state;
    file->num_arrays = 1;
    return QGC_OK;
}

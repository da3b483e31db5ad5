#include "runtime/npy.h"

#include <string.h>

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* Type letters and sizes of .npy; the order of a row in the file follows from the element size. */
static const struct {
    const char *text;
    qgc_dtype dtype;
} types[] = {
    {"f4", QGC_DTYPE_F32}, {"f2", QGC_DTYPE_F16}, {"f8", QGC_DTYPE_F64}, {"i1", QGC_DTYPE_I8},
    {"u1", QGC_DTYPE_U8},  {"i2", QGC_DTYPE_I16}, {"u2", QGC_DTYPE_U16}, {"i4", QGC_DTYPE_I32},
    {"u4", QGC_DTYPE_U32}, {"i8", QGC_DTYPE_I64}, {"u8", QGC_DTYPE_U64}, {"b1", QGC_DTYPE_BOOL},
};

enum { NUM_TYPES = sizeof types / sizeof *types, MAX_MAJOR = 3, SIZE_AT = 8 };

/* The header text is a Python dictionary literal; this is what is left of it. */
typedef struct parser {
    qgc_diag *diag;
    const char *name;
    const char *at, *end;
} parser;

static qgc_result defect(const parser *p, const char *expected)
{
    size_t left = (size_t)(p->end - p->at);
    return qgc_report(p->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                      "%s: expected %s in the header, found %s", p->name, expected,
                      left ? qgc_quoted(p->diag->arena, (qgc_str){p->at, left < 40 ? left : 40})
                           : "its end");
}

static void skip_spaces(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t'))
        p->at++;
}

static bool accept(parser *p, const char *word)
{
    size_t size = strlen(word);
    skip_spaces(p);
    if ((size_t)(p->end - p->at) < size || memcmp(p->at, word, size) != 0)
        return false;
    p->at += size;
    return true;
}

/* 'text' or "text" without escapes: no field that is accepted has any. */
static qgc_result parse_string(parser *p, const char *expected, qgc_str *out)
{
    parser start = *p;
    skip_spaces(&start);
    *p = start;
    char quote = p->at < p->end ? *p->at : 0;
    if (quote != '\'' && quote != '"')
        return defect(&start, expected);
    const char *close = memchr(p->at + 1, quote, (size_t)(p->end - p->at - 1));
    if (!close)
        return defect(&start, expected);
    *out = (qgc_str){p->at + 1, (size_t)(close - p->at - 1)};
    p->at = close + 1;
    return QGC_OK;
}

static qgc_result parse_descr(parser *p, qgc_npy_header *out)
{
    static const char expected[] = "a type of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1";
    qgc_str text;
    skip_spaces(p);
    const parser start = *p;
    QGC_TRY(parse_string(p, expected, &text));
    if (text.size != 3 || !memchr("<>|=", text.data[0], 4))
        return defect(&start, expected);
    out->is_big_endian = text.data[0] == '>';
    for (int i = 0; i < NUM_TYPES; i++)
        if (memcmp(text.data + 1, types[i].text, 2) == 0) {
            out->dtype = types[i].dtype;
            return QGC_OK;
        }
    return defect(&start, expected);
}

static qgc_result parse_order(parser *p, qgc_npy_header *out)
{
    out->is_fortran = accept(p, "True");
    if (!out->is_fortran && !accept(p, "False"))
        return defect(p, "True or False for fortran_order");
    return QGC_OK;
}

/* Decimal digits; Python 2 wrote an L after them. */
static qgc_result parse_dimension(parser *p, int64_t *out)
{
    skip_spaces(p);
    const parser start = *p;
    int64_t value = 0;
    bool fits = true;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        fits = fits && !__builtin_mul_overflow(value, (int64_t)10, &value) &&
               !__builtin_add_overflow(value, (int64_t)(*p->at - '0'), &value);
    if (p->at == start.at || !fits)
        return defect(&start, "a dimension from 0 to 2^63 - 1");
    if (p->at < p->end && *p->at == 'L')
        p->at++;
    *out = value;
    return QGC_OK;
}

static qgc_result parse_shape(parser *p, qgc_npy_header *out)
{
    bool has_comma = true;
    if (!accept(p, "("))
        return defect(p, "a tuple for shape");
    for (out->rank = 0; !accept(p, ")"); out->rank++) {
        if (!has_comma)
            return defect(p, "',' or ')' in shape");
        if (out->rank == QGC_MAX_RANK)
            return defect(p, "at most 8 dimensions");
        QGC_TRY(parse_dimension(p, &out->shape[out->rank]));
        has_comma = accept(p, ",");
    }
    if (out->rank == 1 && !has_comma)
        return defect(p, "a tuple for shape (it needs a comma)");
    return QGC_OK;
}

static const struct {
    const char *key;
    qgc_result (*parse)(parser *p, qgc_npy_header *out);
} fields[] = {{"descr", parse_descr}, {"fortran_order", parse_order}, {"shape", parse_shape}};

enum { NUM_FIELDS = sizeof fields / sizeof *fields };

static qgc_result parse_field(parser *p, qgc_npy_header *out, bool *seen)
{
    static const char expected[] = "the keys descr, fortran_order and shape, once each,";
    qgc_str key;
    skip_spaces(p);
    const parser start = *p;
    QGC_TRY(parse_string(p, expected, &key));
    for (int i = 0; i < NUM_FIELDS; i++) {
        if (!qgc_str_equal(key, qgc_str_from(fields[i].key)))
            continue;
        if (seen[i])
            return defect(&start, expected);
        seen[i] = true;
        return accept(p, ":") ? fields[i].parse(p, out) : defect(p, "':'");
    }
    return defect(&start, expected);
}

static qgc_result parse_dictionary(parser *p, qgc_npy_header *out)
{
    bool seen[NUM_FIELDS] = {false}, has_comma = true;
    if (!accept(p, "{"))
        return defect(p, "a dictionary");
    while (!accept(p, "}")) {
        if (!has_comma)
            return defect(p, "',' or '}'");
        QGC_TRY(parse_field(p, out, seen));
        has_comma = accept(p, ",");
    }
    for (int i = 0; i < NUM_FIELDS; i++)
        if (!seen[i])
            return qgc_report(p->diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                              "%s: expected the key %s in the header, found none", p->name,
                              fields[i].key);
    skip_spaces(p);
    return p->at == p->end ? QGC_OK : defect(p, "nothing after the dictionary");
}

qgc_result qgc_npy_header_size(qgc_diag *diag, const char *name, const uint8_t *data, size_t size,
                               size_t *out_bytes)
{
    if (size < sizeof magic || memcmp(data, magic, sizeof magic) != 0)
        return qgc_report(
            diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
            "%s: expected the bytes \\x93NUMPY at the start, found %s", name,
            size ? qgc_quoted(diag->arena, (qgc_str){(const char *)data, size < 6 ? size : 6})
                 : "an empty file");
    int major = size > 6 ? data[6] : 0, minor = size > 7 ? data[7] : 0;
    if (major < 1 || major > MAX_MAJOR || minor != 0)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected version 1.0, 2.0 or 3.0, found %d.%d", name, major, minor);
    size_t size_bytes = major == 1 ? 2 : 4, length = 0;
    if (size < SIZE_AT + size_bytes)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected a header, found the end of the file", name);
    for (size_t i = size_bytes; i-- > 0;)
        length = length << 8 | data[SIZE_AT + i];
    if (length > QGC_NPY_MAX_HEADER)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected a header of at most %d bytes, found %zu", name,
                          QGC_NPY_MAX_HEADER, length);
    *out_bytes = SIZE_AT + size_bytes + length;
    return QGC_OK;
}

qgc_result qgc_npy_parse_header(qgc_diag *diag, const char *name, const uint8_t *data, size_t size,
                                qgc_npy_header *out)
{
    *out = (qgc_npy_header){0};
    QGC_TRY(qgc_npy_header_size(diag, name, data, size, &out->header_bytes));
    if (out->header_bytes > size)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected a header of %zu bytes, found the end of the file after %zu",
                          name, out->header_bytes, size);
    const char *text = (const char *)data + SIZE_AT + (data[6] == 1 ? 2 : 4);
    parser p = {diag, name, text, (const char *)data + out->header_bytes};
    QGC_TRY(parse_dictionary(&p, out));
    if (!qgc_shape_bytes(out->dtype, out->rank, out->shape, &out->data_bytes))
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected a size that fits 63 bits, found shape %s", name,
                          qgc_shape_text(diag->arena, out->rank, out->shape));
    return QGC_OK;
}

bool qgc_npy_detect(const qgc_file *file)
{
    return file->size >= sizeof magic && memcmp(file->data, magic, sizeof magic) == 0;
}

void qgc_swap_bytes(void *data, size_t size, size_t num)
{
    uint8_t *element = data;
    for (size_t i = 0; i < num; i++, element += size)
        for (size_t low = 0, high = size - 1; low < high; low++, high--) {
            uint8_t byte = element[low];
            element[low] = element[high];
            element[high] = byte;
        }
}

/* Column-major place of the element whose row-major number is |index|. */
static size_t fortran_index(const qgc_npy_header *header, size_t index)
{
    size_t place[QGC_MAX_RANK], result = 0;
    for (uint32_t i = header->rank; i-- > 0;) {
        place[i] = index % (size_t)header->shape[i];
        index /= (size_t)header->shape[i];
    }
    for (uint32_t i = header->rank; i-- > 0;)
        result = result * (size_t)header->shape[i] + place[i];
    return result;
}

void qgc_npy_convert(const qgc_npy_header *header, const uint8_t *stored, size_t first, size_t num,
                     void *dest)
{
    size_t size = qgc_dtype_bytes(header->dtype);
    uint8_t *to = dest;
    if (!num)
        return;
    if (!header->is_fortran)
        memcpy(to, stored + first * size, num * size);
    for (size_t i = 0; header->is_fortran && i < num; i++)
        memcpy(to + i * size, stored + fortran_index(header, first + i) * size, size);
    if (header->is_big_endian)
        qgc_swap_bytes(dest, size, num);
}

static qgc_result parse_file(qgc_diag *diag, const qgc_file *file, qgc_npy_header *out)
{
    QGC_TRY(qgc_npy_parse_header(diag, file->name, file->data, file->size, out));
    if (file->size - out->header_bytes != out->data_bytes)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected %zu bytes of data for %s of shape %s, found %zu",
                          file->name, out->data_bytes, qgc_dtype_name(out->dtype),
                          qgc_shape_text(diag->arena, out->rank, out->shape),
                          file->size - out->header_bytes);
    return QGC_OK;
}

qgc_result qgc_npy_parse(qgc_diag *diag, const qgc_file *file, qgc_tensor *out)
{
    qgc_npy_header header;
    *out = (qgc_tensor){0};
    QGC_TRY(parse_file(diag, file, &header));
    const uint8_t *stored = file->data + header.header_bytes;
    if (header.dtype == QGC_DTYPE_BOOL && !qgc_bools_valid(stored, header.data_bytes))
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_FORMAT,
                          "%s: expected bytes 0 and 1 in a bool array, found others", file->name);
    QGC_TRY(qgc_tensor_create(diag, header.dtype, header.rank, header.shape, out));
    qgc_npy_convert(&header, stored, 0, qgc_tensor_count(out), out->data);
    return QGC_OK;
}

typedef struct npy_state {
    qgc_npy_header header;
    const qgc_file *file;
    uint8_t *block; /* of Fortran's order: some samples, in ours */
    size_t block_first, block_samples, most_samples;
} npy_state;

static size_t count_inner(const qgc_npy_header *header)
{
    size_t inner = 1;
    for (uint32_t i = 1; i < header->rank; i++)
        inner *= (size_t)header->shape[i];
    return inner;
}

/* A column of the file has one element of every sample: as many of them as the block has are read
 * at once. */
static qgc_result read_block(qgc_diag *diag, npy_state *s, size_t sample, uint8_t *column)
{
    const size_t size = qgc_dtype_bytes(s->header.dtype), inner = count_inner(&s->header);
    const size_t left = (size_t)s->header.shape[0] - sample;
    s->block_samples = 0;
    const size_t num = left < s->most_samples ? left : s->most_samples;
    for (size_t i = 0; i < inner; i++) {
        const size_t at = fortran_index(&s->header, sample * inner + i);
        QGC_TRY(
            qgc_file_read(diag, s->file, s->header.header_bytes + at * size, num * size, column));
        for (size_t k = 0; k < num; k++)
            memcpy(s->block + (k * inner + i) * size, column + k * size, size);
    }
    s->block_first = sample;
    s->block_samples = num;
    return QGC_OK;
}

static qgc_result read_fortran(qgc_diag *diag, npy_state *s, size_t first, size_t num,
                               uint8_t *dest)
{
    const size_t bytes = qgc_dtype_bytes(s->header.dtype) * count_inner(&s->header);
    uint8_t *column = s->block + s->most_samples * bytes;
    for (size_t i = 0; i < num; i++, dest += bytes) {
        const size_t sample = first + i;
        if (sample < s->block_first || sample - s->block_first >= s->block_samples)
            QGC_TRY(read_block(diag, s, sample, column));
        memcpy(dest, s->block + (sample - s->block_first) * bytes, bytes);
    }
    return QGC_OK;
}

static qgc_result read_elements(qgc_diag *diag, qgc_array *array, size_t first, size_t num,
                                void *dest)
{
    npy_state *s = array->state;
    const size_t size = qgc_dtype_bytes(array->dtype), inner = count_inner(&s->header);
    if (!num)
        return QGC_OK;
    if (s->block)
        QGC_TRY(read_fortran(diag, s, first / inner, num / inner, dest));
    else
        QGC_TRY(
            qgc_file_read(diag, s->file, s->header.header_bytes + first * size, num * size, dest));
    if (s->header.is_big_endian)
        qgc_swap_bytes(dest, size, num);
    return QGC_OK;
}

/* Room for the block and a column of it: at least one sample. */
static void create_block(npy_state *s, qgc_arena *arena)
{
    enum { BLOCK_BYTES = 1 << 18 };
    const size_t size = qgc_dtype_bytes(s->header.dtype);
    const size_t bytes = size * count_inner(&s->header), all = (size_t)s->header.shape[0];
    s->most_samples = bytes < BLOCK_BYTES ? BLOCK_BYTES / bytes : 1;
    if (s->most_samples > all)
        s->most_samples = all;
    s->block = qgc_arena_alloc(arena, s->most_samples * (bytes + size));
}

qgc_result qgc_npy_open_arrays(qgc_diag *diag, qgc_array_file *file)
{
    npy_state *state = QGC_NEW(&file->arena, npy_state);
    const qgc_npy_header *header = &state->header;
    QGC_TRY(parse_file(diag, &file->file, &state->header));
    state->file = &file->file;
    file->arrays = QGC_NEW(&file->arena, qgc_array);
    file->num_arrays = 1;
    *file->arrays = qgc_npy_array((qgc_str){"", 0}, header);
    file->arrays->state = state;
    file->arrays->offset = header->header_bytes;
    bool is_fortran = header->is_fortran && header->rank > 1 && header->data_bytes;
    if (is_fortran)
        create_block(state, &file->arena);
    if (is_fortran || header->is_big_endian)
        file->arrays->read = read_elements;
    return QGC_OK;
}

qgc_array qgc_npy_array(qgc_str name, const qgc_npy_header *header)
{
    qgc_array array = {.name = name, .dtype = header->dtype, .rank = header->rank};
    memcpy(array.shape, header->shape, sizeof array.shape);
    return array;
}

qgc_result qgc_npy_read(qgc_diag *diag, const char *path, qgc_tensor *out)
{
    qgc_file file;
    *out = (qgc_tensor){0};
    QGC_TRY(qgc_file_open(diag, path, &file));
    qgc_result result = qgc_npy_parse(diag, &file, out);
    qgc_file_close(&file);
    return result;
}

qgc_result qgc_npy_format_header(qgc_diag *diag, const char *name, const qgc_tensor *tensor,
                                 qgc_str *out)
{
    enum { ALIGN = 64, PREFIX = SIZE_AT + 2 };
    int type = 0;
    while (type < NUM_TYPES && types[type].dtype != tensor->dtype)
        type++;
    if (type == NUM_TYPES)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_WRITE,
                          "%s: .npy has no type for %s; .safetensors has", name,
                          qgc_dtype_name(tensor->dtype));
    qgc_text text = {.arena = diag->arena};
    qgc_text_put(&text, (qgc_str){magic, sizeof magic});
    qgc_text_put(&text, (qgc_str){"\x01\x00\x00\x00", 4});
    qgc_text_printf(&text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                    qgc_dtype_bytes(tensor->dtype) == 1 ? '|' : '<', types[type].text);
    for (uint32_t i = 0; i < tensor->rank; i++)
        qgc_text_printf(&text, "%s%lld", i ? ", " : "", (long long)tensor->shape[i]);
    qgc_text_puts(&text, tensor->rank == 1 ? ",), }" : "), }");
    if (tensor->rank) /* NumPy leaves room for the first dimension to grow in place to 21 digits */
        for (int digits = snprintf(NULL, 0, "%lld", (long long)tensor->shape[0]); digits < 21;
             digits++)
            qgc_text_putc(&text, ' ');
    do /* NumPy pads 64 bytes where none are needed; the bytes are to be the same */
        qgc_text_putc(&text, ' ');
    while ((text.size + 1) % ALIGN);
    qgc_text_putc(&text, '\n');
    text.data[SIZE_AT] = (char)((text.size - PREFIX) & 0xff);
    text.data[SIZE_AT + 1] = (char)((text.size - PREFIX) >> 8);
    *out = qgc_text_str(&text);
    return QGC_OK;
}

qgc_result qgc_npy_write(qgc_diag *diag, const char *path, const qgc_tensor *tensor)
{
    qgc_str header;
    qgc_output output;
    QGC_TRY(qgc_npy_format_header(diag, path, tensor, &header));
    QGC_TRY(qgc_output_open(diag, path, &output));
    qgc_output_put(&output, header.data, header.size);
    qgc_output_put(&output, tensor->data, tensor->bytes);
    return qgc_output_close(diag, &output);
}

/* Changing a value's form: order of elements, sign bit, border. */
#include "codegen/region.h"

#include <string.h>

/* Byte strides of (image, channel, row, column) and where the first element lies. */
typedef struct layout {
    int64_t n, c, h, w, first;
} layout;

static layout get_layout(const qgc_buffer *b, const int64_t *shape, int64_t element)
{
    int64_t plane = shape[2] * shape[3] * element;
    if (b->form != QGC_BUFFER_NHWC)
        return (layout){shape[1] * plane, plane, shape[3] * element, element, 0};
    int64_t pixel = b->c * element, row = (b->w + b->border.left + b->border.right) * pixel;
    return (layout){row * (b->h + b->border.top + b->border.bottom), element, row, pixel,
                    b->border.top * row + b->border.left * pixel};
}

/* PLAIN holds signed bytes as such, the other forms with 128 added: the top bit flips. */
static uint8_t sign_flip(const qgc_buffer *from, const qgc_buffer *to)
{
    bool is_signed = from->value->type->dtype == QGC_DTYPE_I8;
    bool from_plain = from->form == QGC_BUFFER_PLAIN, to_plain = to->form == QGC_BUFFER_PLAIN;
    return is_signed && from_plain != to_plain ? 0x80 : 0;
}

static void copy_flat(const uint8_t *from, uint8_t *to, size_t bytes, uint8_t flip)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[i] ^ flip;
}

/* ---- turning a matrix of bytes over: to[x * t + c] = from[c * f + x] ---- */

enum { SIDE = 16 };
typedef uint8_t bytes16 __attribute__((vector_size(SIDE)));

/* The first halves of two lines, byte by byte in turns, and the last ones. */
static bytes16 first_bytes(bytes16 a, bytes16 b)
{
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

static bytes16 last_bytes(bytes16 a, bytes16 b)
{
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
}

/* Four rounds of interleaving line i with line i + 8 leave columns where lines were. */
static void turn_tile(const uint8_t *from, int64_t f, uint8_t *to, int64_t t, uint8_t flip)
{
    bytes16 lines[SIDE], next[SIDE], sign = (bytes16){0} + flip;
    for (int64_t i = 0; i < SIDE; i++)
        memcpy(&lines[i], from + i * f, SIDE);
    for (int round = 0; round < 4; round++) {
        for (int64_t i = 0; i < SIDE / 2; i++) {
            bytes16 a = lines[i], b = lines[i + SIDE / 2];
            next[2 * i] = first_bytes(a, b);
            next[2 * i + 1] = last_bytes(a, b);
        }
        memcpy(lines, next, sizeof lines);
    }
    for (int64_t i = 0; i < SIDE; i++) {
        lines[i] ^= sign;
        memcpy(to + i * t, &lines[i], SIDE);
    }
}

/* ---- images of three channels ---- */

typedef uint64_t halves __attribute__((vector_size(SIDE)));

/* Of eight pixels, |ab| has the first two channels and |c0| the third with a zero: the first or the
 * |last| four of them, of each two the six bytes at the lower end of a half. */
static halves squeeze(bytes16 ab, bytes16 c0, bool last)
{
    bytes16 four = last ? __builtin_shufflevector(ab, c0, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28,
                                                  29, 14, 15, 30, 31)
                        : __builtin_shufflevector(ab, c0, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21,
                                                  6, 7, 22, 23);
    halves x;
    memcpy(&x, &four, sizeof x);
    return (x & 0xffffff) | ((x >> 8) & 0xffffff000000);
}

/* Sixteen pixels whose channels are |f| apart. Of eight bytes the next six replace the last two. */
static void mix_three(const uint8_t *from, int64_t f, uint8_t *to, uint8_t flip)
{
    enum { TWO = 6 };
    bytes16 channels[3], none = {0};
    uint64_t twos[8];
    for (int64_t c = 0; c < 3; c++) {
        memcpy(&channels[c], from + c * f, SIDE);
        channels[c] ^= none + flip;
    }
    bytes16 ab[] = {first_bytes(channels[0], channels[1]), last_bytes(channels[0], channels[1])};
    bytes16 c0[] = {first_bytes(channels[2], none), last_bytes(channels[2], none)};
    for (int i = 0; i < 4; i++) {
        halves x = squeeze(ab[i / 2], c0[i / 2], i % 2);
        memcpy(twos + (size_t)2 * i, &x, sizeof x);
    }
    for (int64_t i = 0; i < 7; i++)
        memcpy(to + i * TWO, &twos[i], sizeof twos[i]);
    memcpy(to + (size_t)7 * TWO, &twos[7], TWO);
}

/* The last pixels overlap the ones before them. */
static void mix_row(const uint8_t *from, int64_t f, uint8_t *to, int64_t columns, uint8_t flip)
{
    for (int64_t x = 0; x < columns; x += SIDE) {
        int64_t at = x + SIDE < columns ? x : columns - SIDE;
        mix_three(from + at, f, to + 3 * at, flip);
    }
}

/* The last tiles overlap the ones before them. */
static void turn_over(const uint8_t *from, int64_t f, uint8_t *to, int64_t t, int64_t rows,
                      int64_t columns, uint8_t flip)
{
    if (rows < SIDE || columns < SIDE) {
        for (int64_t x = 0; x < columns; x++)
            for (int64_t c = 0; c < rows; c++)
                to[x * t + c] = from[c * f + x] ^ flip;
        return;
    }
    for (int64_t x = 0; x < columns; x += SIDE)
        for (int64_t c = 0; c < rows; c += SIDE) {
            int64_t at = x + SIDE < columns ? x : columns - SIDE;
            int64_t row = c + SIDE < rows ? c : rows - SIDE;
            turn_tile(from + row * f + at, f, to + at * t + row, t, flip);
        }
}

static void copy_row(const uint8_t *from, const layout *f, uint8_t *to, const layout *t,
                     int64_t channels, int64_t width, uint8_t flip)
{
    if (f->c == 1 && t->c == 1) {
        copy_flat(from, to, (size_t)(channels * width), flip);
        return;
    }
    bool is_turned = f->w == 1 && t->c == 1;
    if (is_turned && channels == 3 && t->w == 3 && width >= SIDE)
        mix_row(from, f->c, to, width, flip);
    else if (is_turned)
        turn_over(from, f->c, to, t->w, channels, width, flip);
    else
        turn_over(from, f->w, to, t->c, width, channels, flip);
}

/* ---- the same of elements of four bytes ---- */

enum { WORD = 4, WORDS = 4, BLOCK = 16 };
typedef uint32_t words __attribute__((vector_size(WORDS * WORD)));

static void turn_words(const uint8_t *from, int64_t f, uint8_t *to, int64_t t)
{
    words lines[WORDS], next[WORDS];
    for (int64_t i = 0; i < WORDS; i++)
        memcpy(&lines[i], from + i * f, sizeof lines[i]);
    for (int round = 0; round < 2; round++) {
        for (int64_t i = 0; i < WORDS / 2; i++) {
            words a = lines[i], b = lines[i + WORDS / 2];
            next[2 * i] = __builtin_shufflevector(a, b, 0, 4, 1, 5);
            next[2 * i + 1] = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        }
        memcpy(lines, next, sizeof lines);
    }
    for (int64_t i = 0; i < WORDS; i++)
        memcpy(to + i * t, &lines[i], sizeof lines[i]);
}

/* Where tile |i| of |num| begins: the last ones overlap those before them. */
static int64_t word_tile(int64_t i, int64_t num)
{
    return i + WORDS < num ? i : num - WORDS;
}

/* In blocks, whole lines of the cache on both sides. */
static void turn_words_over(const uint8_t *from, int64_t f, uint8_t *to, int64_t t, int64_t rows,
                            int64_t columns)
{
    if (rows < WORDS || columns < WORDS) {
        for (int64_t c = 0; c < rows; c++)
            for (int64_t x = 0; x < columns; x++)
                memcpy(to + x * t + c * WORD, from + c * f + x * WORD, WORD);
        return;
    }
    for (int64_t x0 = 0; x0 < columns; x0 += BLOCK)
        for (int64_t c0 = 0; c0 < rows; c0 += BLOCK)
            for (int64_t x = x0; x < columns && x < x0 + BLOCK; x += WORDS)
                for (int64_t c = c0; c < rows && c < c0 + BLOCK; c += WORDS) {
                    int64_t at = word_tile(x, columns), row = word_tile(c, rows);
                    turn_words(from + row * f + at * WORD, f, to + at * t + row * WORD, t);
                }
}

/* Elements of |size| bytes; 4 is the case that has to be fast. */
static void copy_wide_row(const uint8_t *from, const layout *f, uint8_t *to, const layout *t,
                          int64_t channels, int64_t width, size_t size)
{
    if (channels == 1 && f->w == (int64_t)size && t->w == (int64_t)size) {
        memcpy(to, from, (size_t)width * size);
        return;
    }
    if (size == WORD && f->w == WORD && t->c == WORD) {
        turn_words_over(from, f->c, to, t->w, channels, width);
        return;
    }
    if (size == WORD && f->c == WORD && t->w == WORD) {
        turn_words_over(from, f->w, to, t->c, width, channels);
        return;
    }
    for (int64_t c = 0; c < channels; c++) {
        const uint8_t *source = from + c * f->c;
        uint8_t *target = to + c * t->c;
        for (int64_t x = 0; x < width; x++, source += f->w, target += t->w)
            memcpy(target, source, size);
    }
}

void qgc_nchw_shape(const qgc_type *type, int64_t *out_shape)
{
    out_shape[0] = type->dims[0].value;
    out_shape[1] = type->dims[1].value;
    out_shape[2] = 1;
    for (uint32_t i = 2; i + 1 < type->rank; i++)
        out_shape[2] *= type->dims[i].value;
    out_shape[3] = type->dims[type->rank - 1].value;
}

int qgc_border_byte(const qgc_buffer *b)
{
    uint16_t value = b->border_value;
    bool is_byte = qgc_dtype_bytes(b->value->type->dtype) == 1;
    return is_byte || value >> 8 == (value & 0xff) ? value & 0xff : -1;
}

static void fill(const qgc_buffer *b, uint8_t *data, size_t bytes)
{
    int byte = qgc_border_byte(b);
    if (byte >= 0)
        memset(data, byte, bytes);
    for (size_t i = 0; byte < 0 && i < bytes; i += sizeof b->border_value)
        memcpy(data + i, &b->border_value, sizeof b->border_value);
}

/* What lies between two rows is filled at once. */
void qgc_fill_border(const qgc_buffer *b, uint8_t *data, int64_t begin, int64_t end)
{
    int64_t pixel = b->c * (int64_t)qgc_dtype_bytes(b->value->type->dtype);
    int64_t width = b->w * pixel, left = b->border.left * pixel, right = b->border.right * pixel;
    int64_t row = left + width + right, height = b->border.top + b->h + b->border.bottom;
    for (int64_t at = begin; at < end; at++) {
        int64_t n = at / b->h, y = at % b->h;
        int64_t before = left + (!y ? row * b->border.top : at > begin ? right : 0);
        int64_t after = y == b->h - 1 ? right + row * b->border.bottom : at == end - 1 ? right : 0;
        uint8_t *inside = data + (n * height + b->border.top + y) * row + left;
        fill(b, inside - before, (size_t)before);
        fill(b, inside + width, (size_t)after);
    }
}

/* Rows of images where one form has its channels last, else blocks of bytes. */
enum { FLAT_BLOCK = 16384 };

static bool is_flat(const qgc_buffer *from, const qgc_buffer *to)
{
    return from->form != QGC_BUFFER_NHWC && to->form != QGC_BUFFER_NHWC;
}

int64_t qgc_form_units(const qgc_buffer *from, const qgc_buffer *to)
{
    int64_t shape[4];
    if (is_flat(from, to))
        return ((int64_t)to->bytes + FLAT_BLOCK - 1) / FLAT_BLOCK;
    qgc_nchw_shape(from->value->type, shape);
    return shape[0] * shape[2];
}

static void change_flat(const uint8_t *from, uint8_t *to, size_t bytes, uint8_t flip, int64_t begin,
                        int64_t end)
{
    size_t first = (size_t)begin * FLAT_BLOCK, last = (size_t)end * FLAT_BLOCK;
    copy_flat(from + first, to + first, (last < bytes ? last : bytes) - first, flip);
}

void qgc_change_form(const qgc_buffer *from, const uint8_t *from_data, const qgc_buffer *to,
                     uint8_t *to_data, int64_t begin, int64_t end)
{
    const qgc_type *type = from->value->type;
    uint8_t flip = sign_flip(from, to);
    if (is_flat(from, to)) {
        change_flat(from_data, to_data, to->bytes, flip, begin, end);
        return;
    }
    int64_t shape[4];
    size_t size = qgc_dtype_bytes(type->dtype);
    qgc_nchw_shape(type, shape);
    layout f = get_layout(from, shape, (int64_t)size), t = get_layout(to, shape, (int64_t)size);
    if (to->form == QGC_BUFFER_NHWC)
        qgc_fill_border(to, to_data, begin, end);
    int64_t height = shape[2], width = shape[3];
    bool is_long = f.h == width * f.w && t.h == width * t.w; /* no borders: one long row */
    for (int64_t at = begin, rows; at < end; at += rows) {
        int64_t n = at / height, y = at % height, left = height - y;
        rows = !is_long ? 1 : left < end - at ? left : end - at;
        const uint8_t *source = from_data + f.first + n * f.n + y * f.h;
        uint8_t *target = to_data + t.first + n * t.n + y * t.h;
        if (size == 1)
            copy_row(source, &f, target, &t, shape[1], width * rows, flip);
        else
            copy_wide_row(source, &f, target, &t, shape[1], width * rows, size);
    }
}

/* What codegen/form.c does, as code. */
#include "codegen/llvm/emit_entry.h"
#include "codegen/planner.h"

/* Byte strides of (image, channel, row, column) and where the first element lies. */
typedef struct layout {
    int64_t image, channel, row, column, first;
} layout;

typedef struct form {
    qgc_emitter *e;
    layout from, to;
    int64_t shape[4], size; /* N, C, H, W; bytes of an element */
    uint8_t flip;
} form;

static layout get_layout(const qgc_buffer *b, const int64_t *shape, int64_t element)
{
    int64_t plane = shape[2] * shape[3] * element;
    if (b->form != QGC_BUFFER_NHWC)
        return (layout){shape[1] * plane, plane, shape[3] * element, element, 0};
    qgc_border none = {0};
    qgc_pixels pixels = qgc_buffer_pixels(b, &none);
    return (layout){pixels.image, element, pixels.row, pixels.pixel, pixels.first};
}

/* The top bit of signed bytes, where one form has 128 added and the other has not. */
static uint8_t sign_flip(const qgc_buffer *from, const qgc_buffer *to)
{
    bool is_signed = from->value->type->dtype == QGC_DTYPE_I8;
    bool from_plain = from->form == QGC_BUFFER_PLAIN, to_plain = to->form == QGC_BUFFER_PLAIN;
    return is_signed && from_plain != to_plain ? 0x80 : 0;
}

static LLVMValueRef flipped(qgc_emitter *e, LLVMValueRef bytes, uint32_t num, uint8_t flip)
{
    LLVMValueRef mask = LLVMConstInt(e->i8, flip, false);
    return flip ? LLVMBuildXor(e->builder, bytes, num ? qgc_emit_splat(e, mask, num) : mask, "")
                : bytes;
}

static void emit_bytes(qgc_emitter *e, LLVMValueRef from, LLVMValueRef to, LLVMValueRef index,
                       uint32_t num, uint8_t flip)
{
    LLVMTypeRef type = LLVMVectorType(e->i8, num);
    LLVMValueRef bytes = qgc_emit_load(e, type, qgc_emit_at(e, from, index), 1);
    qgc_emit_store(e, flipped(e, bytes, num, flip), qgc_emit_at(e, to, index), 1);
}

/* |bytes| that lie together on both sides. */
static void emit_flat(qgc_emitter *e, LLVMValueRef from, LLVMValueRef to, int64_t bytes,
                      uint8_t flip)
{
    uint32_t vector = 4 * e->level->lanes;
    int64_t whole = bytes / vector * vector;
    if (whole) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), vector);
        emit_bytes(e, from, to, loop.index, vector, flip);
        qgc_loop_end(e, &loop);
    }
    for (uint32_t part = vector / 2; part; part /= 2)
        if ((bytes - whole) & part) {
            emit_bytes(e, from, to, qgc_emit_i64(e, whole), part, flip);
            whole += part;
        }
}

static LLVMValueRef emit_offset(qgc_emitter *e, LLVMValueRef base, LLVMValueRef index,
                                int64_t stride)
{
    return qgc_emit_at(e, base, qgc_emit_mul_const(e, index, stride));
}

/* Element by element; the inner loop is the one that writes on. */
static void emit_elements(form *f, LLVMValueRef from, LLVMValueRef to)
{
    qgc_emitter *e = f->e;
    LLVMTypeRef element = LLVMIntTypeInContext(e->context, (unsigned)f->size * 8);
    bool by_channel = f->to.channel < f->to.column;
    int64_t outer_num = by_channel ? f->shape[3] : f->shape[1];
    int64_t inner_num = by_channel ? f->shape[1] : f->shape[3];
    qgc_loop outer = {0}, inner = {0};
    qgc_loop_begin(e, &outer, qgc_emit_i64(e, 0), qgc_emit_i64(e, outer_num), 1);
    from = emit_offset(e, from, outer.index, by_channel ? f->from.column : f->from.channel);
    to = emit_offset(e, to, outer.index, by_channel ? f->to.column : f->to.channel);
    qgc_loop_begin(e, &inner, qgc_emit_i64(e, 0), qgc_emit_i64(e, inner_num), 1);
    LLVMValueRef at =
        emit_offset(e, from, inner.index, by_channel ? f->from.channel : f->from.column);
    LLVMValueRef value = qgc_emit_load(e, element, at, 1);
    at = emit_offset(e, to, inner.index, by_channel ? f->to.channel : f->to.column);
    qgc_emit_store(e, flipped(e, value, 0, f->flip), at, 1);
    qgc_loop_end(e, &inner);
    qgc_loop_end(e, &outer);
}

static void emit_row(form *f, LLVMValueRef from, LLVMValueRef to)
{
    bool both_nhwc = f->from.channel == f->size && f->to.channel == f->size;
    bool one_channel = f->shape[1] == 1 && f->from.column == f->size && f->to.column == f->size;
    if (both_nhwc || one_channel)
        emit_flat(f->e, from, to, f->shape[1] * f->shape[3] * f->size, f->flip);
    else
        emit_elements(f, from, to);
}

static void emit_rows(form *f, LLVMValueRef from, LLVMValueRef to)
{
    qgc_emitter *e = f->e;
    if (!f->shape[0] || !f->shape[1] || !f->shape[2] || !f->shape[3])
        return;
    qgc_loop images = {0}, rows = {0};
    from = qgc_emit_at_const(e, from, f->from.first);
    to = qgc_emit_at_const(e, to, f->to.first);
    qgc_loop_begin(e, &images, qgc_emit_i64(e, 0), qgc_emit_i64(e, f->shape[0]), 1);
    from = emit_offset(e, from, images.index, f->from.image);
    to = emit_offset(e, to, images.index, f->to.image);
    qgc_loop_begin(e, &rows, qgc_emit_i64(e, 0), qgc_emit_i64(e, f->shape[2]), 1);
    emit_row(f, emit_offset(e, from, rows.index, f->from.row),
             emit_offset(e, to, rows.index, f->to.row));
    qgc_loop_end(e, &rows);
    qgc_loop_end(e, &images);
}

/* ---- borders ---- */

static void emit_fill(qgc_emitter *e, const qgc_buffer *b, LLVMValueRef at, int64_t bytes)
{
    int byte = qgc_border_byte(b);
    if (!bytes)
        return;
    if (byte >= 0) {
        LLVMBuildMemSet(e->builder, at, LLVMConstInt(e->i8, (unsigned)byte, false),
                        qgc_emit_i64(e, bytes), 1);
        return;
    }
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, bytes), 2);
    qgc_emit_store(e, LLVMConstInt(e->i16, b->border_value, false), qgc_emit_at(e, at, loop.index),
                   1);
    qgc_loop_end(e, &loop);
}

/* Around each image: what lies before its first row's pixels, between its rows, behind its last. */
static void emit_border(qgc_emitter *e, const qgc_buffer *b, LLVMValueRef to)
{
    int64_t pixel = b->c * (int64_t)qgc_dtype_bytes(b->value->type->dtype);
    int64_t width = b->w * pixel, left = b->border.left * pixel;
    int64_t row = left + width + b->border.right * pixel;
    int64_t first = row * b->border.top + left,
            last = row * b->border.bottom + (row - width - left);
    if (!b->bytes || !b->h || qgc_border_is_empty(&b->border))
        return;
    qgc_loop images = {0}, rows = {0};
    qgc_loop_begin(e, &images, qgc_emit_i64(e, 0), qgc_emit_i64(e, b->n), 1);
    to = emit_offset(e, to, images.index, row * (b->border.top + b->h + b->border.bottom));
    emit_fill(e, b, to, first);
    if (b->h > 1 && row > width) {
        LLVMValueRef from = qgc_emit_at_const(e, to, first + width);
        qgc_loop_begin(e, &rows, qgc_emit_i64(e, 0), qgc_emit_i64(e, b->h - 1), 1);
        emit_fill(e, b, emit_offset(e, from, rows.index, row), row - width);
        qgc_loop_end(e, &rows);
    }
    emit_fill(e, b, qgc_emit_at_const(e, to, first + width + (b->h - 1) * row), last);
    qgc_loop_end(e, &images);
}

LLVMValueRef qgc_emit_border(qgc_emitter *e, const char *name, const qgc_buffer *to)
{
    qgc_emit_function(e, name, &e->ptr, 1);
    emit_border(e, to, qgc_emit_param(e, 0));
    LLVMBuildRetVoid(e->builder);
    return e->function;
}

LLVMValueRef qgc_emit_form(qgc_emitter *e, const char *name, const qgc_buffer *from,
                           const qgc_buffer *to)
{
    LLVMTypeRef params[] = {e->ptr, e->ptr};
    const qgc_type *type = from->value->type;
    form f = {.e = e, .size = (int64_t)qgc_dtype_bytes(type->dtype), .flip = sign_flip(from, to)};
    qgc_emit_function(e, name, params, 2);
    LLVMValueRef to_data = qgc_emit_param(e, 0), from_data = qgc_emit_param(e, 1);
    if (from->form != QGC_BUFFER_NHWC && to->form != QGC_BUFFER_NHWC) {
        emit_flat(e, from_data, to_data, (int64_t)to->bytes, f.flip);
    } else {
        qgc_nchw_shape(type, f.shape);
        f.from = get_layout(from, f.shape, f.size);
        f.to = get_layout(to, f.shape, f.size);
        if (to->form == QGC_BUFFER_NHWC)
            emit_border(e, to, to_data);
        emit_rows(&f, from_data, to_data);
    }
    LLVMBuildRetVoid(e->builder);
    return e->function;
}

/* Sums of products in general: for position: for block of outputs: for tap: for channel: for row:
 * acc[row] += (x - zx) * (w - zw), vectors of outputs. Between taps the sums lie in memory: an
 * output may have none. */
#include "codegen/llvm/emit.h"

enum { MAX_ROWS = 8 };

typedef struct taps {
    qgc_emitter *e;
    const qgc_taps_kernel *k;
    LLVMValueRef in, w, out, constants; /* in, w, out: at image and group */
    LLVMValueRef x_zero_point;          /* i32 */
    LLVMValueRef lists;                 /* bytes of the group's first output in lists of i32 */
    LLVMValueRef sums[MAX_ROWS];        /* room for a vector each */
    LLVMTypeRef sum, vector;
    uint32_t lanes;
} taps;

typedef struct position {
    LLVMValueRef first[3], end[3], out;
} position;

typedef struct block {
    LLVMValueRef output; /* the first one */
    int64_t num;
    LLVMValueRef zero_points; /* or NULL */
} block;

static LLVMValueRef widen(const taps *t, LLVMValueRef x, qgc_dtype dtype, LLVMTypeRef type)
{
    bool is_unsigned = dtype == QGC_DTYPE_U8 || dtype == QGC_DTYPE_U16;
    return is_unsigned ? LLVMBuildZExt(t->e->builder, x, type, "")
                       : LLVMBuildSExt(t->e->builder, x, type, "");
}

static LLVMTypeRef int_type(const taps *t, qgc_dtype dtype)
{
    return LLVMIntTypeInContext(t->e->context, (unsigned)qgc_dtype_bytes(dtype) * 8);
}

static LLVMValueRef entry(const taps *t, uint32_t constant, LLVMValueRef index, int64_t width,
                          int64_t item)
{
    qgc_emitter *e = t->e;
    LLVMValueRef list = qgc_emit_argument(e, t->constants, constant);
    LLVMValueRef at = qgc_emit_at(e, list, qgc_emit_mul_const(e, index, width * 8));
    return qgc_emit_load(e, e->i64, qgc_emit_at_const(e, at, item * 8), 8);
}

/* ---- one tap ---- */

static LLVMValueRef weight(const taps *t, const block *b, LLVMValueRef at)
{
    qgc_emitter *e = t->e;
    LLVMTypeRef ints = LLVMVectorType(e->i32, t->lanes);
    LLVMValueRef w = qgc_emit_load(e, LLVMVectorType(int_type(t, t->k->w), t->lanes), at, 1);
    w = widen(t, w, t->k->w, ints);
    if (b->zero_points)
        w = LLVMBuildSub(e->builder, w, b->zero_points, "");
    else if (t->k->w_zero_point)
        w = LLVMBuildSub(e->builder, w,
                         qgc_emit_splat(e, qgc_emit_i32(e, t->k->w_zero_point), t->lanes), "");
    return t->k->is_wide ? LLVMBuildSExt(e->builder, w, t->vector, "") : w;
}

static LLVMValueRef activation(const taps *t, LLVMValueRef at)
{
    qgc_emitter *e = t->e;
    LLVMValueRef x = qgc_emit_load(e, int_type(t, t->k->x), at, 1);
    x = LLVMBuildSub(e->builder, widen(t, x, t->k->x, e->i32), t->x_zero_point, "");
    x = t->k->is_wide ? LLVMBuildSExt(e->builder, x, e->i64, "") : x;
    return qgc_emit_splat(e, x, t->lanes);
}

static void add_channels(const taps *t, const block *b, LLVMValueRef in, LLVMValueRef w)
{
    qgc_emitter *e = t->e;
    const qgc_taps_kernel *k = t->k;
    uint32_t rows = (uint32_t)k->rows;
    w = qgc_emit_at(e, w, qgc_emit_mul_const(e, b->output, (int64_t)qgc_dtype_bytes(k->w)));
    qgc_loop loop = {.num_carried = rows};
    for (uint32_t i = 0; i < rows; i++)
        loop.carried[i] = qgc_emit_load(e, t->vector, t->sums[i], 8);
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, k->channels), 1);
    LLVMValueRef weights =
        weight(t, b, qgc_emit_at(e, w, qgc_emit_mul_const(e, loop.index, k->w_channel)));
    LLVMValueRef from = qgc_emit_at(e, in, qgc_emit_mul_const(e, loop.index, k->in_channel));
    for (uint32_t i = 0; i < rows; i++) {
        LLVMValueRef x = activation(t, qgc_emit_at_const(e, from, i * k->in_row));
        LLVMValueRef product = LLVMBuildMul(e->builder, x, weights, "");
        loop.carried[i] = LLVMBuildAdd(e->builder, loop.carried[i], product, "");
    }
    qgc_loop_end(e, &loop);
    for (uint32_t i = 0; i < rows; i++)
        qgc_emit_store(e, loop.carried[i], t->sums[i], 8);
}

static void add_taps(const taps *t, const block *b, const position *p, uint32_t dim,
                     LLVMValueRef in, LLVMValueRef w)
{
    qgc_emitter *e = t->e;
    if (dim == 3) {
        add_channels(t, b, in, w);
        return;
    }
    qgc_loop loop = {.may_be_empty = true};
    uint32_t list = t->k->dims[dim].taps;
    qgc_loop_begin(e, &loop, p->first[dim], p->end[dim], 1);
    add_taps(t, b, p, dim + 1, qgc_emit_at(e, in, entry(t, list, loop.index, 2, 0)),
             qgc_emit_at(e, w, entry(t, list, loop.index, 2, 1)));
    qgc_loop_end(e, &loop);
}

/* ---- a block of outputs ---- */

static LLVMValueRef list_at(const taps *t, const block *b, uint32_t constant, LLVMTypeRef element)
{
    qgc_emitter *e = t->e;
    int64_t scale = LLVMGetIntTypeWidth(element) / 32;
    LLVMValueRef list = qgc_emit_argument(e, t->constants, constant);
    LLVMValueRef bytes =
        LLVMBuildAdd(e->builder, t->lists, qgc_emit_mul_const(e, b->output, 4), "");
    list = qgc_emit_at(e, list, qgc_emit_mul_const(e, bytes, scale));
    return qgc_emit_load(e, LLVMVectorType(element, t->lanes), list, 4);
}

static void store_sums(const taps *t, const block *b, const position *p)
{
    qgc_emitter *e = t->e;
    const qgc_taps_kernel *k = t->k;
    int64_t bytes = k->is_wide ? 8 : 4;
    LLVMValueRef out = qgc_emit_at(e, qgc_emit_at(e, t->out, p->out),
                                   qgc_emit_mul_const(e, b->output, k->out_step));
    for (uint32_t i = 0; i < k->rows; i++) {
        LLVMValueRef sum = qgc_emit_load(e, t->vector, t->sums[i], 8);
        LLVMValueRef row = qgc_emit_at_const(e, out, i * k->out_row);
        if (k->out_step == bytes) {
            qgc_emit_store_part(e, sum, t->lanes, b->num, row);
            continue;
        }
        for (uint32_t l = 0; l < t->lanes && l < b->num; l++)
            qgc_emit_store(
                e, LLVMBuildExtractElement(e->builder, sum, qgc_emit_i32(e, (int32_t)l), ""),
                qgc_emit_at_const(e, row, l * k->out_step), 1);
    }
}

static void emit_block(const taps *t, const position *p, LLVMValueRef output, int64_t num)
{
    qgc_emitter *e = t->e;
    const qgc_taps_kernel *k = t->k;
    block b = {output, num, NULL};
    if (k->w_zero_points)
        b.zero_points = list_at(t, &b, k->w_zero_points, e->i32);
    LLVMValueRef start = k->bias ? list_at(t, &b, k->bias, t->sum) : LLVMConstNull(t->vector);
    for (uint32_t i = 0; i < k->rows; i++)
        qgc_emit_store(e, start, t->sums[i], 8);
    add_taps(t, &b, p, 0, t->in, t->w);
    store_sums(t, &b, p);
}

static void emit_outputs(const taps *t, const position *p)
{
    qgc_emitter *e = t->e;
    int64_t rest = t->k->outputs % t->lanes, whole = t->k->outputs - rest;
    if (whole) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), t->lanes);
        emit_block(t, p, loop.index, t->lanes);
        qgc_loop_end(e, &loop);
    }
    if (rest)
        emit_block(t, p, qgc_emit_i64(e, whole), rest);
}

/* ---- units ---- */

static void set_position(const taps *t, position *p, uint32_t dim, LLVMValueRef index)
{
    uint32_t list = t->k->dims[dim].positions;
    LLVMValueRef out = entry(t, list, index, 3, 2);
    p->first[dim] = entry(t, list, index, 3, 0);
    p->end[dim] = entry(t, list, index, 3, 1);
    p->out = p->out ? LLVMBuildAdd(t->e->builder, p->out, out, "") : out;
}

static LLVMValueRef next_digit(qgc_emitter *e, LLVMValueRef *rest, int64_t size)
{
    LLVMValueRef digit = LLVMBuildURem(e->builder, *rest, qgc_emit_i64(e, size), "");
    *rest = LLVMBuildUDiv(e->builder, *rest, qgc_emit_i64(e, size), "");
    return digit;
}

static void emit_unit(const taps *all, LLVMValueRef unit)
{
    qgc_emitter *e = all->e;
    const qgc_taps_kernel *k = all->k;
    taps t = *all;
    position outer = {.out = NULL};
    set_position(&t, &outer, 1, next_digit(e, &unit, k->dims[1].out));
    set_position(&t, &outer, 0, next_digit(e, &unit, k->dims[0].out));
    LLVMValueRef group = next_digit(e, &unit, k->groups);
    t.in = qgc_emit_at(e, t.in, qgc_emit_mul_const(e, unit, k->in_image));
    t.in = qgc_emit_at(e, t.in, qgc_emit_mul_const(e, group, k->in_group));
    t.w = qgc_emit_at(e, t.w, qgc_emit_mul_const(e, group, k->w_group));
    t.out = qgc_emit_at(e, t.out, qgc_emit_mul_const(e, unit, k->out_image));
    t.out = qgc_emit_at(e, t.out, qgc_emit_mul_const(e, group, k->out_group));
    t.lists = qgc_emit_mul_const(e, group, k->padded * 4);
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, k->dims[2].out), 1);
    position p = outer;
    set_position(&t, &p, 2, loop.index);
    emit_outputs(&t, &p);
    qgc_loop_end(e, &loop);
}

void qgc_emit_taps(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    const qgc_taps_kernel *k = (const qgc_taps_kernel *)kernel;
    taps t = {.e = e, .k = k, .constants = args.constants, .lanes = e->level->lanes};
    t.sum = k->is_wide ? e->i64 : e->i32;
    t.vector = LLVMVectorType(t.sum, t.lanes);
    for (uint32_t i = 0; i < k->rows; i++)
        t.sums[i] = LLVMBuildAlloca(e->builder, t.vector, "");
    t.in = qgc_emit_argument(e, args.in, 0);
    t.out = qgc_emit_argument(e, args.out, 0);
    t.w = k->w_is_input ? qgc_emit_argument(e, args.in, 1)
                        : qgc_emit_argument(e, args.constants, k->weights);
    t.x_zero_point = qgc_emit_i32(e, k->x_zero_point);
    if (k->x_zero_point_is_input)
        t.x_zero_point =
            qgc_emit_load(e, e->i32, qgc_emit_argument(e, args.in, 1 + k->w_is_input), 4);
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, args.begin, args.end, 1);
    emit_unit(&t, loop.index);
    qgc_loop_end(e, &loop);
    LLVMBuildRetVoid(e->builder);
}

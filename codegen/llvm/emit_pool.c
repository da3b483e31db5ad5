/* Pools: for row: for column: for vector of channels: for the window's taps in bounds. */
#include "codegen/llvm/emit.h"

typedef struct pool {
    qgc_emitter *e;
    const qgc_pool_kernel *k;
    LLVMValueRef in, out, multipliers;
} pool;

/* A window: addresses, and the taps [first, end) of each dimension. */
typedef struct window {
    LLVMValueRef in, out, multiplier, divisor, first[2], end[2];
} window;

/* Windows may begin out of bounds: not as qgc_emit_at. */
static LLVMValueRef emit_offset(pool *l, LLVMValueRef base, LLVMValueRef index, int64_t stride)
{
    return LLVMBuildGEP2(l->e->builder, l->e->i8, base,
                         (LLVMValueRef[]){qgc_emit_mul_const(l->e, index, stride)}, 1, "");
}

static LLVMValueRef emit_choose(qgc_emitter *e, LLVMIntPredicate take, LLVMValueRef a,
                                LLVMValueRef b)
{
    return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, take, a, b, ""), a, b, "");
}

/* ceil(x / dilation) of what may be negative, which then counts as 0. */
static LLVMValueRef emit_steps(pool *l, int dim, LLVMValueRef x)
{
    qgc_emitter *e = l->e;
    int64_t dilation = l->k->dilation[dim];
    x = LLVMBuildAdd(e->builder, x, qgc_emit_i64(e, dilation - 1), "");
    x = emit_choose(e, LLVMIntSGT, x, qgc_emit_i64(e, 0));
    return LLVMBuildUDiv(e->builder, x, qgc_emit_i64(e, dilation), "");
}

/* Whether all windows of the dimension lie in bounds. */
static bool is_inside(const pool *l, int dim)
{
    const qgc_pool_kernel *k = l->k;
    int64_t out = dim ? k->out_w : k->out_h, in = dim ? k->in_w : k->in_h;
    QGC_ASSERT(!k->is_adaptive, "windows of several sizes");
    int64_t last = (out - 1) * k->stride[dim] + (k->kernel[dim] - 1) * k->dilation[dim];
    return k->begin[dim] == 0 && last < in;
}

/* What an average divides by: see qgc_pool_kernel. */
static LLVMValueRef emit_count(pool *l, int dim, LLVMValueRef start, const window *w)
{
    qgc_emitter *e = l->e;
    const qgc_pool_kernel *k = l->k;
    if (!k->counts_border)
        return LLVMBuildSub(e->builder, w->end[dim], w->first[dim], "");
    int64_t size = (dim ? k->in_w : k->in_h) + k->end[dim];
    LLVMValueRef room =
        emit_steps(l, dim, LLVMBuildSub(e->builder, qgc_emit_i64(e, size), start, ""));
    return emit_choose(e, LLVMIntSLT, room, qgc_emit_i64(e, k->kernel[dim]));
}

/* The taps of output |o|, whose window begins at |start|. */
static void emit_taps(pool *l, int dim, LLVMValueRef o, LLVMValueRef start, window *w)
{
    qgc_emitter *e = l->e;
    w->first[dim] = qgc_emit_i64(e, 0);
    w->end[dim] = qgc_emit_i64(e, l->k->kernel[dim]);
    LLVMValueRef size = qgc_emit_i64(e, dim ? l->k->in_w : l->k->in_h);
    if (l->k->is_adaptive) {
        int64_t out = dim ? l->k->out_w : l->k->out_h;
        LLVMValueRef end = LLVMBuildAdd(e->builder, o, qgc_emit_i64(e, 1), "");
        end = LLVMBuildMul(e->builder, end, size, "");
        end = LLVMBuildAdd(e->builder, end, qgc_emit_i64(e, out - 1), "");
        end = LLVMBuildUDiv(e->builder, end, qgc_emit_i64(e, out), "");
        w->end[dim] = LLVMBuildSub(e->builder, end, start, "");
        return;
    }
    if (is_inside(l, dim))
        return;
    w->first[dim] = emit_steps(l, dim, LLVMBuildNeg(e->builder, start, ""));
    LLVMValueRef inside = emit_steps(l, dim, LLVMBuildSub(e->builder, size, start, ""));
    w->end[dim] = emit_choose(e, LLVMIntSLT, inside, w->end[dim]);
}

static bool is_float(const pool *l)
{
    return l->k->dtype == QGC_DTYPE_F32;
}

static LLVMTypeRef element_type(const pool *l)
{
    qgc_emitter *e = l->e;
    return is_float(l) ? e->f32 : qgc_dtype_bytes(l->k->dtype) == 2 ? e->i16 : e->i8;
}

/* The larger one; a NaN stays, of equal ones the first does. */
static LLVMValueRef emit_larger(pool *l, LLVMValueRef a, LLVMValueRef b)
{
    qgc_emitter *e = l->e;
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef args[] = {a, b};
    if (!is_float(l))
        return qgc_emit_intrinsic(e, l->k->dtype == QGC_DTYPE_I16 ? "llvm.smax" : "llvm.umax",
                                  &type, 1, args, 2);
    LLVMValueRef takes = LLVMBuildAnd(e->builder, LLVMBuildFCmp(e->builder, LLVMRealORD, a, a, ""),
                                      LLVMBuildFCmp(e->builder, LLVMRealULT, a, b, ""), "");
    return LLVMBuildSelect(e->builder, takes, b, a, "");
}

static LLVMValueRef emit_fold(pool *l, LLVMValueRef acc, LLVMValueRef at, uint32_t lanes)
{
    qgc_emitter *e = l->e;
    LLVMValueRef x = qgc_emit_load(e, LLVMVectorType(element_type(l), lanes), at, 1);
    if (l->k->fold == QGC_POOL_MAX)
        return emit_larger(l, acc, x);
    if (l->k->fold == QGC_POOL_AVERAGE)
        return LLVMBuildFAdd(e->builder, acc, x, "");
    return LLVMBuildAdd(e->builder, acc, LLVMBuildZExt(e->builder, x, LLVMTypeOf(acc), ""), "");
}

/* What a fold begins with. */
static LLVMValueRef emit_first(pool *l, uint32_t lanes)
{
    qgc_emitter *e = l->e;
    LLVMTypeRef element = l->k->fold == QGC_POOL_SUM ? e->i32 : element_type(l);
    LLVMValueRef first = LLVMConstNull(element);
    if (l->k->fold == QGC_POOL_MAX && is_float(l))
        first = LLVMConstReal(element, -__builtin_inf());
    if (l->k->fold == QGC_POOL_MAX && l->k->dtype == QGC_DTYPE_I16)
        first = LLVMConstInt(element, 0x8000, false);
    return qgc_emit_splat(e, first, lanes);
}

/* The fold of |lanes| channels over the window; no window is empty. */
static LLVMValueRef emit_window(pool *l, const window *w, LLVMValueRef channel, uint32_t lanes)
{
    qgc_emitter *e = l->e;
    const qgc_pool_kernel *k = l->k;
    LLVMValueRef in = emit_offset(l, w->in, channel, (int64_t)qgc_dtype_bytes(k->dtype));
    qgc_loop rows = {.carried = {emit_first(l, lanes)}, .num_carried = 1};
    qgc_loop_begin(e, &rows, w->first[0], w->end[0], 1);
    LLVMValueRef row = emit_offset(l, in, rows.index, k->dilation[0] * k->in.row);
    qgc_loop columns = {.carried = {rows.carried[0]}, .num_carried = 1};
    qgc_loop_begin(e, &columns, w->first[1], w->end[1], 1);
    LLVMValueRef at = emit_offset(l, row, columns.index, k->dilation[1] * k->in.pixel);
    columns.carried[0] = emit_fold(l, columns.carried[0], at, lanes);
    qgc_loop_end(e, &columns);
    rows.carried[0] = columns.carried[0];
    qgc_loop_end(e, &rows);
    return rows.carried[0];
}

/* clamp(rne(f32(sum - count * zero point) * multiplier + c) + zero point): modulo 2^32 as defined.
 */
static LLVMValueRef emit_epilogue(pool *l, const window *w, LLVMValueRef sum, uint32_t lanes)
{
    qgc_emitter *e = l->e;
    LLVMBuilderRef b = e->builder;
    const qgc_epilogue *p = &l->k->epilogue;
    LLVMValueRef rows = LLVMBuildSub(b, w->end[0], w->first[0], "");
    LLVMValueRef columns = LLVMBuildSub(b, w->end[1], w->first[1], "");
    LLVMValueRef count = LLVMBuildTrunc(b, LLVMBuildMul(b, rows, columns, ""), e->i32, "");
    LLVMValueRef zeros = LLVMBuildMul(b, count, qgc_emit_i32(e, l->k->zero_point), "");
    sum = LLVMBuildSub(b, sum, qgc_emit_splat(e, zeros, lanes), "");
    LLVMValueRef f = LLVMBuildSIToFP(b, sum, LLVMVectorType(e->f32, lanes), "");
    f = LLVMBuildFMul(b, f, qgc_emit_splat(e, w->multiplier, lanes), "");
    if (l->k->c != 0.0f)
        f = LLVMBuildFAdd(b, f, qgc_emit_splat(e, qgc_emit_f32(e, l->k->c), lanes), "");
    LLVMValueRef i = qgc_emit_round(e, p, lanes, f);
    i = LLVMBuildAdd(b, i, qgc_emit_splat(e, qgc_emit_i32(e, p->zero_point), lanes), "");
    return LLVMBuildTrunc(b, i, LLVMVectorType(e->i8, lanes), "");
}

static void emit_lanes(pool *l, const window *w, LLVMValueRef channel, uint32_t lanes)
{
    qgc_emitter *e = l->e;
    LLVMValueRef value = emit_window(l, w, channel, lanes);
    if (l->k->fold == QGC_POOL_SUM)
        value = emit_epilogue(l, w, value, lanes);
    if (l->k->fold == QGC_POOL_AVERAGE)
        value = LLVMBuildFDiv(e->builder, value, qgc_emit_splat(e, w->divisor, lanes), "");
    qgc_emit_store(e, value, emit_offset(l, w->out, channel, (int64_t)qgc_dtype_bytes(l->k->dtype)),
                   1);
}

/* Whole vectors of channels, then halves of one. */
static void emit_channels(pool *l, const window *w)
{
    qgc_emitter *e = l->e;
    uint32_t per_lane = l->k->fold == QGC_POOL_MAX ? 4 / (uint32_t)qgc_dtype_bytes(l->k->dtype) : 1;
    uint32_t lanes = e->level->lanes * per_lane;
    int64_t rest = l->k->channels % lanes, whole = l->k->channels - rest;
    if (whole) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), lanes);
        emit_lanes(l, w, loop.index, lanes);
        qgc_loop_end(e, &loop);
    }
    for (uint32_t part = lanes / 2; part; part /= 2)
        if (rest & part) {
            emit_lanes(l, w, qgc_emit_i64(e, whole), part);
            whole += part;
        }
}

/* Where the window of output |o| begins in the input; may be out of bounds. */
static LLVMValueRef emit_start(pool *l, int dim, LLVMValueRef o)
{
    if (l->k->is_adaptive) {
        int64_t in = dim ? l->k->in_w : l->k->in_h, out = dim ? l->k->out_w : l->k->out_h;
        return LLVMBuildUDiv(l->e->builder, qgc_emit_mul_const(l->e, o, in),
                             qgc_emit_i64(l->e, out), "");
    }
    LLVMValueRef at = qgc_emit_mul_const(l->e, o, l->k->stride[dim]);
    return LLVMBuildSub(l->e->builder, at, qgc_emit_i64(l->e, l->k->begin[dim]), "");
}

static void emit_row(pool *l, LLVMValueRef unit)
{
    qgc_emitter *e = l->e;
    const qgc_pool_kernel *k = l->k;
    LLVMValueRef height = qgc_emit_i64(e, k->out_h);
    LLVMValueRef image = LLVMBuildUDiv(e->builder, unit, height, "");
    LLVMValueRef y = LLVMBuildURem(e->builder, unit, height, "");
    LLVMValueRef y_start = emit_start(l, 0, y);
    LLVMValueRef in = qgc_emit_at_const(e, l->in, k->in.first);
    LLVMValueRef out = qgc_emit_at_const(e, l->out, k->out.first);
    in = emit_offset(l, emit_offset(l, in, image, k->in.image), y_start, k->in.row);
    out = emit_offset(l, emit_offset(l, out, image, k->out.image), y, k->out.row);
    window w = {.multiplier = qgc_emit_f32(e, k->multiplier)};
    emit_taps(l, 0, y, y_start, &w);
    qgc_loop columns = {0};
    qgc_loop_begin(e, &columns, qgc_emit_i64(e, 0), qgc_emit_i64(e, k->out_w), 1);
    LLVMValueRef x_start = emit_start(l, 1, columns.index);
    emit_taps(l, 1, columns.index, x_start, &w);
    if (k->fold == QGC_POOL_AVERAGE) {
        LLVMValueRef count = LLVMBuildMul(e->builder, emit_count(l, 0, y_start, &w),
                                          emit_count(l, 1, x_start, &w), "");
        w.divisor = LLVMBuildSIToFP(e->builder, count, e->f32, "");
    }
    w.in = emit_offset(l, in, x_start, k->in.pixel);
    w.out = emit_offset(l, out, columns.index, k->out.pixel);
    if (k->has_multipliers) {
        LLVMValueRef at = emit_offset(l, l->multipliers, y, k->out_w * 4);
        w.multiplier = qgc_emit_load(e, e->f32, emit_offset(l, at, columns.index, 4), 4);
    }
    emit_channels(l, &w);
    qgc_loop_end(e, &columns);
}

void qgc_emit_pool(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    pool l = {.e = e,
              .k = (const qgc_pool_kernel *)kernel,
              .in = qgc_emit_argument(e, args.in, 0),
              .out = qgc_emit_argument(e, args.out, 0)};
    if (l.k->has_multipliers)
        l.multipliers = qgc_emit_argument(e, args.in, 1);
    qgc_loop rows = {0};
    qgc_loop_begin(e, &rows, args.begin, args.end, 1);
    emit_row(&l, rows.index);
    qgc_loop_end(e, &rows);
    LLVMBuildRetVoid(e->builder);
}

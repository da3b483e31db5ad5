/* Products of 16 bits: for group: for block of outputs: for row of pixels: for tile: for kernel
 * row: for run: for step: acc[p][v][plane] += pairs of x[p] * pairs of w[v][plane], in registers;
 * where i32 cannot hold it all, stretches of it are added to sums of i64 in memory. */
#include "codegen/llvm/emit.h"

enum { MAX_SUMS = 32, MAX_VECTORS = 4 };

typedef struct words {
    qgc_emitter *e;
    const qgc_words_kernel *k;
    const qgc_kernel_args *args;
    LLVMValueRef in, out, weights, start, multipliers, bias; /* at group, block, row as they go */
    LLVMValueRef sums[MAX_SUMS];                             /* memory: i64 vectors */
    LLVMTypeRef wide;
    uint32_t lanes, vectors; /* of the block */
    int64_t num;             /* its outputs */
} words;

/* Where a tile's products stand. */
typedef struct place {
    uint32_t pixels;
    LLVMValueRef in, w;
    LLVMValueRef *acc;
} place;

static uint32_t num_sums(const words *c, uint32_t pixels)
{
    return pixels * c->vectors * c->k->planes;
}

static int64_t step_bytes(const words *c)
{
    return (int64_t)c->vectors * c->k->planes * c->lanes * 4;
}

/* ---- one step ---- */

/* The sign bit of stored u16 turned over. */
static LLVMValueRef signed_words(const words *c, LLVMValueRef x, int64_t mask)
{
    if (c->k->x != QGC_DTYPE_U16)
        return x;
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef bits = LLVMConstInt(LLVMGetElementType(type), (unsigned long long)mask, false);
    return LLVMBuildXor(c->e->builder, x, qgc_emit_splat(c->e, bits, LLVMGetVectorSize(type)), "");
}

/* Two neighbours, in all lanes. */
static LLVMValueRef pair_at(const words *c, LLVMValueRef at)
{
    qgc_emitter *e = c->e;
    if (c->k->x != QGC_DTYPE_U8)
        return signed_words(c, qgc_emit_splat(e, qgc_emit_load(e, e->i32, at, 1), c->lanes),
                            0x80008000);
    LLVMValueRef x = qgc_emit_load(e, LLVMVectorType(e->i8, 2), at, 1);
    x = LLVMBuildZExt(e->builder, x, LLVMVectorType(e->i16, 2), "");
    return qgc_emit_splat(e, LLVMBuildBitCast(e->builder, x, e->i32, ""), c->lanes);
}

/* A channel per lane, and 0 beside it. */
static LLVMValueRef channels_at(const words *c, LLVMValueRef at)
{
    qgc_emitter *e = c->e;
    LLVMTypeRef element = c->k->x == QGC_DTYPE_U8 ? e->i8 : e->i16;
    LLVMValueRef x = qgc_emit_load(e, LLVMVectorType(element, c->lanes), at, 1);
    return LLVMBuildZExt(e->builder, signed_words(c, x, 0x8000), e->vi32, "");
}

static void emit_step(const words *c, const place *t, LLVMValueRef in, LLVMValueRef w)
{
    qgc_emitter *e = c->e;
    const qgc_words_kernel *k = c->k;
    LLVMValueRef weights[2 * MAX_VECTORS], *acc = t->acc;
    uint32_t width = c->vectors * k->planes;
    int64_t vector_bytes = (int64_t)c->lanes * (int64_t)qgc_dtype_bytes(k->x);
    for (uint32_t i = 0; i < width; i++)
        weights[i] = qgc_emit_load(e, e->vi32, qgc_emit_at_const(e, w, (int64_t)i * c->lanes * 4),
                                   4 * c->lanes);
    for (uint32_t p = 0; p < t->pixels; p++) {
        LLVMValueRef at = qgc_emit_at_const(e, in, p * k->in.pixel), x = NULL;
        if (!k->is_depthwise)
            x = pair_at(c, at);
        for (uint32_t i = 0; i < width; i++, acc++) {
            if (k->is_depthwise && i % k->planes == 0)
                x = channels_at(c, qgc_emit_at_const(e, at, i / k->planes * vector_bytes));
            *acc = qgc_emit_pair_dot(e, c->lanes, *acc, x, weights[i]);
        }
    }
}

/* ---- sums in memory ---- */

static void clear(const words *c, const place *t)
{
    for (uint32_t i = 0; i < num_sums(c, t->pixels); i++)
        t->acc[i] = LLVMConstNull(c->e->vi32);
}

/* low + 256 * high, as i64 */
static LLVMValueRef whole(const words *c, LLVMValueRef const *planes)
{
    LLVMBuilderRef b = c->e->builder;
    LLVMValueRef sum = LLVMBuildSExt(b, planes[0], c->wide, "");
    if (c->k->planes == 1)
        return sum;
    LLVMValueRef eight = qgc_emit_splat(c->e, qgc_emit_i64(c->e, 8), c->lanes);
    LLVMValueRef high = LLVMBuildSExt(b, planes[1], c->wide, "");
    return LLVMBuildAdd(b, sum, LLVMBuildShl(b, high, eight, ""), "");
}

static void flush(const words *c, const place *t)
{
    qgc_emitter *e = c->e;
    for (uint32_t i = 0; i < t->pixels * c->vectors; i++) {
        LLVMValueRef sum = qgc_emit_load(e, c->wide, c->sums[i], 8);
        sum = LLVMBuildAdd(e->builder, sum, whole(c, t->acc + (size_t)i * c->k->planes), "");
        qgc_emit_store(e, sum, c->sums[i], 8);
    }
    clear(c, t);
}

/* ---- runs ---- */

typedef void inner_fn(const words *c, const place *t);

/* |inner| for |num| times |in_bytes| and |w_bytes| apart. What it flushes itself is not carried. */
static void repeat(const words *c, const place *t, int64_t num, int64_t in_bytes, int64_t w_bytes,
                   bool flushes, inner_fn *inner)
{
    qgc_emitter *e = c->e;
    if (num == 1) {
        inner(c, t);
        return;
    }
    qgc_loop loop = {.num_carried = flushes ? 0 : num_sums(c, t->pixels)};
    for (uint32_t i = 0; i < loop.num_carried; i++)
        loop.carried[i] = t->acc[i];
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, num), 1);
    place at = *t;
    LLVMValueRef acc[MAX_SUMS];
    at.acc = flushes ? acc : loop.carried;
    if (flushes)
        clear(c, &at);
    at.in = qgc_emit_at(e, t->in, qgc_emit_mul_const(e, loop.index, in_bytes));
    at.w = qgc_emit_at(e, t->w, qgc_emit_mul_const(e, loop.index, w_bytes));
    inner(c, &at);
    qgc_loop_end(e, &loop);
    for (uint32_t i = 0; i < loop.num_carried; i++)
        t->acc[i] = loop.carried[i];
}

static void emit_one(const words *c, const place *t)
{
    emit_step(c, t, t->in, t->w);
}

static int64_t pair_bytes(const words *c)
{
    return 2 * (int64_t)qgc_dtype_bytes(c->k->x);
}

/* |num| steps, two at a time. */
static void emit_steps(const words *c, const place *t, int64_t num)
{
    enum { STRAIGHT = 4 };
    qgc_emitter *e = c->e;
    int64_t in = pair_bytes(c), w = step_bytes(c);
    if (num <= STRAIGHT) {
        for (int64_t s = 0; s < num; s++)
            emit_step(c, t, qgc_emit_at_const(e, t->in, s * in), qgc_emit_at_const(e, t->w, s * w));
        return;
    }
    repeat(c, t, num, in, w, false, emit_one);
}

static void emit_stretch(const words *c, const place *t)
{
    emit_steps(c, t, c->k->flush_steps);
    flush(c, t);
}

static void emit_run(const words *c, const place *t)
{
    qgc_emitter *e = c->e;
    const qgc_words_kernel *k = c->k;
    if (k->flush != QGC_WORDS_BY_STEPS) {
        emit_steps(c, t, k->run_steps);
        if (k->flush == QGC_WORDS_BY_RUN)
            flush(c, t);
        return;
    }
    int64_t stretches = k->run_steps / k->flush_steps, done = stretches * k->flush_steps;
    if (stretches)
        repeat(c, t, stretches, k->flush_steps * pair_bytes(c), k->flush_steps * step_bytes(c),
               true, emit_stretch);
    if (done == k->run_steps)
        return;
    place rest = *t;
    rest.in = qgc_emit_at_const(e, t->in, done * pair_bytes(c));
    rest.w = qgc_emit_at_const(e, t->w, done * step_bytes(c));
    emit_steps(c, &rest, k->run_steps - done);
    flush(c, &rest);
}

static void emit_row(const words *c, const place *t)
{
    const qgc_words_kernel *k = c->k;
    bool flushes = k->flush == QGC_WORDS_BY_RUN || k->flush == QGC_WORDS_BY_STEPS;
    repeat(c, t, k->runs, k->run_bytes, k->run_steps * step_bytes(c), flushes, emit_run);
    if (k->flush == QGC_WORDS_BY_ROW)
        flush(c, t);
}

/* ---- finish ---- */

static LLVMValueRef list_at(const words *c, LLVMValueRef list, LLVMTypeRef element, uint32_t v)
{
    int64_t bytes = element == c->e->f32 || element == c->e->i32 ? 4 : 8;
    return qgc_emit_load(c->e, LLVMVectorType(element, c->lanes),
                         qgc_emit_at_const(c->e, list, (int64_t)v * c->lanes * bytes), 4);
}

/* The whole sum in f64, each step of it exact. */
static LLVMValueRef double_sum(const words *c, LLVMValueRef const *planes, uint32_t v)
{
    LLVMBuilderRef b = c->e->builder;
    LLVMTypeRef f64 = LLVMDoubleTypeInContext(c->e->context);
    LLVMTypeRef type = LLVMVectorType(f64, c->lanes);
    LLVMValueRef sum = LLVMBuildSIToFP(b, planes[0], type, "");
    if (c->k->planes == 2) {
        LLVMValueRef factor = qgc_emit_splat(c->e, LLVMConstReal(f64, 256), c->lanes);
        LLVMValueRef high = LLVMBuildSIToFP(b, planes[1], type, "");
        sum = LLVMBuildFAdd(b, sum, LLVMBuildFMul(b, high, factor, ""), "");
    }
    return LLVMBuildFAdd(b, sum, list_at(c, c->start, f64, v), "");
}

/* As i64, or of a narrow one i32. */
static LLVMValueRef int_sum(const words *c, const place *t, uint32_t p, uint32_t v)
{
    qgc_emitter *e = c->e;
    uint32_t i = p * c->vectors + v;
    LLVMValueRef start = list_at(c, c->start, c->k->is_narrow ? e->i32 : e->i64, v), sum;
    if (c->k->is_narrow)
        sum = t->acc[i];
    else if (c->k->flush == QGC_WORDS_AT_END)
        sum = whole(c, t->acc + (size_t)i * c->k->planes);
    else
        sum = qgc_emit_load(e, c->wide, c->sums[i], 8);
    return LLVMBuildAdd(e->builder, sum, start, "");
}

static LLVMValueRef raw(const words *c, LLVMValueRef sum)
{
    LLVMTypeRef type = LLVMVectorType(c->k->out_bytes == 8 ? c->e->i64 : c->e->i32, c->lanes);
    if (LLVMTypeOf(sum) == type)
        return sum;
    return c->k->out_bytes == 8 ? LLVMBuildSExt(c->e->builder, sum, type, "")
                                : LLVMBuildTrunc(c->e->builder, sum, type, "");
}

static LLVMValueRef quantized(const words *c, const place *t, uint32_t p, uint32_t v)
{
    qgc_emitter *e = c->e;
    LLVMBuilderRef b = e->builder;
    const qgc_words_kernel *k = c->k;
    size_t first = (size_t)(p * c->vectors + v) * k->planes;
    LLVMValueRef f = k->is_double
                         ? LLVMBuildFPTrunc(b, double_sum(c, t->acc + first, v), e->vf32, "")
                         : LLVMBuildSIToFP(b, int_sum(c, t, p, v), e->vf32, "");
    f = LLVMBuildFMul(b, f, list_at(c, c->multipliers, e->f32, v), "");
    if (c->bias)
        f = LLVMBuildFAdd(b, f, list_at(c, c->bias, e->f32, v), "");
    LLVMValueRef i = qgc_emit_round(e, &k->epilogue, c->lanes, f);
    i = LLVMBuildAdd(b, i, qgc_emit_splat(e, qgc_emit_i32(e, k->epilogue.zero_point), c->lanes),
                     "");
    LLVMTypeRef element = LLVMIntTypeInContext(e->context, 8 * k->out_bytes);
    return LLVMBuildTrunc(b, i, LLVMVectorType(element, c->lanes), "");
}

static void finish(const words *c, const place *t, LLVMValueRef out)
{
    qgc_emitter *e = c->e;
    const qgc_words_kernel *k = c->k;
    for (uint32_t p = 0; p < t->pixels; p++)
        for (uint32_t v = 0; v < c->vectors; v++) {
            int64_t first = (int64_t)v * c->lanes;
            LLVMValueRef y =
                k->epilogue.is_raw ? raw(c, int_sum(c, t, p, v)) : quantized(c, t, p, v);
            qgc_emit_store_part(e, y, c->lanes, c->num - first,
                                qgc_emit_at_const(e, out, p * k->out.pixel + first * k->out_bytes));
        }
}

/* ---- tiles ---- */

static void emit_tile(const words *c, uint32_t pixels, LLVMValueRef x)
{
    qgc_emitter *e = c->e;
    const qgc_words_kernel *k = c->k;
    LLVMValueRef acc[MAX_SUMS];
    place t = {pixels, qgc_emit_at(e, c->in, qgc_emit_mul_const(e, x, k->in.pixel)), c->weights,
               acc};
    clear(c, &t);
    for (uint32_t i = 0; k->flush != QGC_WORDS_AT_END && i < pixels * c->vectors; i++)
        qgc_emit_store(e, LLVMConstNull(c->wide), c->sums[i], 8);
    repeat(c, &t, k->rows, k->row_bytes, k->runs * k->run_steps * step_bytes(c),
           k->flush != QGC_WORDS_AT_END, emit_row);
    finish(c, &t, qgc_emit_at(e, c->out, qgc_emit_mul_const(e, x, k->out.pixel)));
}

static void emit_pixels(const words *c)
{
    qgc_emitter *e = c->e;
    int64_t width = c->k->out_w, tile = c->k->tile_pixels, whole_width = width / tile * tile;
    if (whole_width) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole_width), tile);
        emit_tile(c, (uint32_t)tile, loop.index);
        qgc_loop_end(e, &loop);
    }
    if (width > whole_width)
        emit_tile(c, (uint32_t)(width - whole_width), qgc_emit_i64(e, whole_width));
}

/* The units of a block of |num| outputs from |output|. */
static void emit_block(const void *user, LLVMValueRef output, uint32_t vectors, int64_t num)
{
    const words *base = user;
    qgc_emitter *e = base->e;
    const qgc_words_kernel *k = base->k;
    words c = *base;
    c.vectors = vectors;
    c.num = num;
    int64_t steps = k->rows * k->runs * k->run_steps;
    c.weights = qgc_emit_at(e, base->weights,
                            qgc_emit_mul_const(e, output, 4 * (int64_t)k->planes * steps));
    LLVMValueRef floats = qgc_emit_mul_const(e, output, 4);
    c.start = qgc_emit_at(e, base->start, qgc_emit_mul_const(e, output, k->is_narrow ? 4 : 8));
    c.multipliers = qgc_emit_at(e, base->multipliers, floats);
    c.bias = base->bias ? qgc_emit_at(e, base->bias, floats) : NULL;
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, base->args->begin, base->args->end, 1);
    LLVMValueRef height = qgc_emit_i64(e, k->out_h);
    LLVMValueRef image = LLVMBuildUDiv(e->builder, loop.index, height, "");
    LLVMValueRef row = LLVMBuildURem(e->builder, loop.index, height, "");
    c.in = qgc_emit_row_address(e, &k->in, base->in, image, row);
    if (k->is_depthwise)
        c.in = qgc_emit_at(e, c.in, qgc_emit_mul_const(e, output, (int64_t)qgc_dtype_bytes(k->x)));
    c.out = qgc_emit_row_address(e, &k->out, base->out, image, row);
    c.out = qgc_emit_at(e, c.out, qgc_emit_mul_const(e, output, k->out_bytes));
    emit_pixels(&c);
    qgc_loop_end(e, &loop);
}

static void emit_groups(const words *c)
{
    qgc_emitter *e = c->e;
    const qgc_words_kernel *k = c->k;
    if (k->groups == 1) {
        qgc_emit_blocks(e, k->out_c, k->tile_vectors, emit_block, c);
        return;
    }
    words g = *c;
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, k->groups), 1);
    int64_t padded = (k->out_c + c->lanes - 1) / c->lanes * c->lanes;
    int64_t steps = k->rows * k->runs * k->run_steps;
    LLVMValueRef first = qgc_emit_mul_const(e, loop.index, padded);
    LLVMValueRef floats = qgc_emit_mul_const(e, first, 4);
    g.in = qgc_emit_at(e, c->in, qgc_emit_mul_const(e, loop.index, k->group_bytes));
    g.out = qgc_emit_at(e, c->out, qgc_emit_mul_const(e, loop.index, k->out_c * k->out_bytes));
    g.weights =
        qgc_emit_at(e, c->weights, qgc_emit_mul_const(e, first, 4 * (int64_t)k->planes * steps));
    g.start = qgc_emit_at(e, c->start, qgc_emit_mul_const(e, first, k->is_narrow ? 4 : 8));
    g.multipliers = qgc_emit_at(e, c->multipliers, floats);
    g.bias = c->bias ? qgc_emit_at(e, c->bias, floats) : NULL;
    qgc_emit_blocks(e, k->out_c, k->tile_vectors, emit_block, &g);
    qgc_loop_end(e, &loop);
}

void qgc_emit_words(qgc_emitter *e, const qgc_kernel *kernel)
{
    const qgc_words_kernel *k = (const qgc_words_kernel *)kernel;
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    words c = {.e = e, .k = k, .args = &args, .lanes = e->level->lanes};
    c.wide = LLVMVectorType(e->i64, c.lanes);
    for (uint32_t i = 0; k->flush != QGC_WORDS_AT_END && i < k->tile_pixels * k->tile_vectors; i++)
        c.sums[i] = LLVMBuildAlloca(e->builder, c.wide, "");
    c.in = qgc_emit_argument(e, args.in, 0);
    c.out = qgc_emit_argument(e, args.out, 0);
    c.weights = qgc_emit_argument(e, args.constants, QGC_WORDS_WEIGHTS);
    c.start = qgc_emit_argument(e, args.constants, QGC_WORDS_START);
    c.multipliers = qgc_emit_argument(e, args.constants, QGC_WORDS_MULTIPLIERS);
    if (kernel->constants[QGC_WORDS_BIAS])
        c.bias = qgc_emit_argument(e, args.constants, QGC_WORDS_BIAS);
    emit_groups(&c);
    LLVMBuildRetVoid(e->builder);
}

/* Rows: folds in 16 lanes and a tree over them, elementwise passes between. */
#include "codegen/llvm/emit_math.h"

enum { FOLD_LANES = 16 };

typedef struct rows {
    qgc_emitter *e;
    const qgc_rows_kernel *k;
    LLVMValueRef in, out; /* at the row */
    LLVMValueRef scale, bias;
} rows;

/* Of one element, widened: what a fold takes, or what a pass stores. */
typedef struct numbers {
    LLVMValueRef a, b; /* splats, as the function needs them */
} numbers;
typedef LLVMValueRef row_fn(rows *r, LLVMValueRef x, const numbers *n);

/* ---- loading ---- */

static LLVMTypeRef element_type(qgc_emitter *e, qgc_dtype dtype)
{
    return dtype == QGC_DTYPE_F32
               ? e->f32
               : LLVMIntTypeInContext(e->context, (unsigned)qgc_dtype_bytes(dtype) * 8);
}

static LLVMValueRef lane_mask(qgc_emitter *e, uint32_t lanes, int64_t num)
{
    LLVMValueRef bits[FOLD_LANES];
    for (uint32_t i = 0; i < lanes; i++)
        bits[i] = LLVMConstInt(LLVMInt1TypeInContext(e->context), i < num, false);
    return LLVMConstVector(bits, lanes);
}

/* |num| of |lanes| elements from |index|; nothing behind them is touched. */
static LLVMValueRef load(rows *r, qgc_dtype dtype, LLVMValueRef base, LLVMValueRef index,
                         uint32_t lanes, int64_t num)
{
    qgc_emitter *e = r->e;
    LLVMTypeRef element = element_type(e, dtype), type = LLVMVectorType(element, lanes);
    LLVMValueRef at =
        qgc_emit_at(e, base, qgc_emit_mul_const(e, index, (int64_t)qgc_dtype_bytes(dtype)));
    if (num >= lanes)
        return qgc_emit_load(e, type, at, 1);
    LLVMTypeRef overloads[] = {type, e->ptr};
    LLVMValueRef args[] = {at, qgc_emit_i32(e, 1), lane_mask(e, lanes, num), LLVMConstNull(type)};
    return qgc_emit_intrinsic(e, "llvm.masked.load", overloads, 2, args, 4);
}

static LLVMValueRef widen(rows *r, LLVMValueRef x)
{
    qgc_emitter *e = r->e;
    qgc_dtype dtype = r->k->dtype;
    uint32_t lanes = LLVMGetVectorSize(LLVMTypeOf(x));
    if (dtype == QGC_DTYPE_F32)
        return x;
    bool is_wide = r->k->out == QGC_DTYPE_I64;
    LLVMTypeRef type = LLVMVectorType(is_wide ? e->i64 : e->i32, lanes);
    bool is_unsigned = dtype == QGC_DTYPE_U8 || dtype == QGC_DTYPE_U16;
    x = is_unsigned ? LLVMBuildZExt(e->builder, x, type, "")
                    : LLVMBuildSExt(e->builder, x, type, "");
    if (!r->k->zero_point)
        return x;
    LLVMValueRef zero_point =
        LLVMConstInt(LLVMGetElementType(type), (unsigned long long)(int64_t)r->k->zero_point, true);
    return LLVMBuildSub(e->builder, x, qgc_emit_splat(e, zero_point, lanes), "");
}

/* ---- folding ---- */

static bool is_float(LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        type = LLVMGetElementType(type);
    return LLVMGetTypeKind(type) == LLVMFloatTypeKind;
}

/* The greater or lesser one; NaN where either is, of equal ones the first. */
static LLVMValueRef extreme(qgc_emitter *e, bool is_max, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef build = e->builder;
    if (!is_float(a))
        return LLVMBuildSelect(
            build, LLVMBuildICmp(build, is_max ? LLVMIntSLT : LLVMIntSGT, a, b, ""), b, a, "");
    LLVMValueRef is_number = LLVMBuildFCmp(build, LLVMRealORD, a, a, "");
    LLVMValueRef is_less = LLVMBuildFCmp(build, is_max ? LLVMRealULT : LLVMRealUGT, a, b, "");
    return LLVMBuildSelect(build, LLVMBuildAnd(build, is_number, is_less, ""), b, a, "");
}

static LLVMValueRef combine(qgc_emitter *e, qgc_rows_fold fold, LLVMValueRef a, LLVMValueRef b)
{
    if (fold == QGC_ROWS_SUM)
        return is_float(a) ? LLVMBuildFAdd(e->builder, a, b, "")
                           : LLVMBuildAdd(e->builder, a, b, "");
    if (fold == QGC_ROWS_PROD)
        return LLVMBuildFMul(e->builder, a, b, "");
    return extreme(e, fold == QGC_ROWS_MAX, a, b);
}

static LLVMValueRef identity(rows *r, qgc_rows_fold fold, LLVMTypeRef type)
{
    static const double floats[] = {0, 1, -__builtin_inf(), __builtin_inf()};
    static const long long ints[] = {0, 1, -65536, 65536};
    LLVMTypeRef element = LLVMGetElementType(type);
    LLVMValueRef one = LLVMGetTypeKind(element) == LLVMFloatTypeKind
                           ? LLVMConstReal(element, floats[fold])
                           : LLVMConstInt(element, (unsigned long long)ints[fold], true);
    return qgc_emit_splat(r->e, one, LLVMGetVectorSize(type));
}

static LLVMValueRef fold_tree(rows *r, qgc_rows_fold fold, LLVMValueRef acc)
{
    qgc_emitter *e = r->e;
    for (uint32_t half = FOLD_LANES / 2; half; half /= 2)
        acc = combine(e, fold, qgc_emit_part(e, acc, 0, half), qgc_emit_part(e, acc, half, half));
    return LLVMBuildExtractElement(e->builder, acc, qgc_emit_i32(e, 0), "");
}

static LLVMValueRef fold_value(rows *r, LLVMValueRef base, LLVMValueRef index, int64_t num,
                               row_fn *prepare, const numbers *n)
{
    LLVMValueRef x = widen(r, load(r, r->k->dtype, base, index, FOLD_LANES, num));
    return prepare ? prepare(r, x, n) : x;
}

/* The fold of prepare(x) over the row at |base|. */
static LLVMValueRef fold_row(rows *r, qgc_rows_fold fold, LLVMValueRef base, row_fn *prepare,
                             const numbers *n)
{
    qgc_emitter *e = r->e;
    int64_t num = r->k->num, whole = num / FOLD_LANES * FOLD_LANES;
    LLVMTypeRef element = r->k->dtype == QGC_DTYPE_F32 ? e->f32
                          : r->k->out == QGC_DTYPE_I64 ? e->i64
                                                       : e->i32;
    LLVMValueRef acc = identity(r, fold, LLVMVectorType(element, FOLD_LANES));
    if (whole) {
        qgc_loop loop = {.num_carried = 1, .carried = {acc}};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), FOLD_LANES);
        LLVMValueRef x = fold_value(r, base, loop.index, FOLD_LANES, prepare, n);
        loop.carried[0] = combine(e, fold, loop.carried[0], x);
        qgc_loop_end(e, &loop);
        acc = loop.carried[0];
    }
    if (whole < num) {
        LLVMValueRef x = fold_value(r, base, qgc_emit_i64(e, whole), num - whole, prepare, n);
        acc = LLVMBuildSelect(e->builder, lane_mask(e, FOLD_LANES, num - whole),
                              combine(e, fold, acc, x), acc, "");
    }
    return fold_tree(r, fold, acc);
}

/* ---- passes ---- */

static void pass_step(rows *r, LLVMValueRef from, LLVMValueRef index, int64_t num, row_fn *function,
                      const numbers *n)
{
    qgc_emitter *e = r->e;
    uint32_t lanes = e->level->lanes;
    numbers here = *n;
    if (r->k->kind == QGC_ROWS_NORM && !r->k->by_channel) {
        if (r->scale)
            r->scale = load(r, QGC_DTYPE_F32, r->scale, index, lanes, num);
        if (r->bias)
            r->bias = load(r, QGC_DTYPE_F32, r->bias, index, lanes, num);
    }
    LLVMValueRef y = function(r, load(r, QGC_DTYPE_F32, from, index, lanes, num), &here);
    y = LLVMBuildBitCast(e->builder, y, LLVMVectorType(e->i32, lanes), "");
    qgc_emit_store_part(e, y, lanes, num, qgc_emit_at(e, r->out, qgc_emit_mul_const(e, index, 4)));
}

/* out[i] = function(from[i]) for |num| elements. */
static void pass(rows *r, LLVMValueRef from, int64_t num, row_fn *function, const numbers *n)
{
    qgc_emitter *e = r->e;
    int64_t lanes = e->level->lanes, whole = num / lanes * lanes;
    LLVMValueRef scale = r->scale, bias = r->bias;
    if (whole) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), lanes);
        pass_step(r, from, loop.index, lanes, function, n);
        qgc_loop_end(e, &loop);
    }
    r->scale = scale;
    r->bias = bias;
    if (whole < num)
        pass_step(r, from, qgc_emit_i64(e, whole), num - whole, function, n);
    r->scale = scale;
    r->bias = bias;
}

static LLVMValueRef splat(rows *r, LLVMValueRef x)
{
    return qgc_emit_splat(r->e, x, r->e->level->lanes);
}

/* ---- softmax ---- */

static LLVMValueRef exponential(rows *r, LLVMValueRef x, const numbers *n)
{
    return qgc_emit_exp(r->e, LLVMBuildFSub(r->e->builder, x, n->a, ""));
}

static LLVMValueRef quotient(rows *r, LLVMValueRef x, const numbers *n)
{
    return LLVMBuildFDiv(r->e->builder, x, n->a, "");
}

static LLVMValueRef difference(rows *r, LLVMValueRef x, const numbers *n)
{
    x = LLVMBuildFSub(r->e->builder, x, n->a, "");
    return LLVMBuildFSub(r->e->builder, x, n->b, "");
}

static void emit_softmax(rows *r)
{
    numbers n = {.a = splat(r, fold_row(r, QGC_ROWS_MAX, r->in, NULL, NULL))};
    pass(r, r->in, r->k->num, exponential, &n);
    LLVMValueRef sum = splat(r, fold_row(r, QGC_ROWS_SUM, r->out, NULL, NULL));
    if (r->k->kind == QGC_ROWS_SOFTMAX) {
        n.a = sum;
        pass(r, r->out, r->k->num, quotient, &n);
        return;
    }
    n.b = qgc_emit_log(r->e, sum);
    pass(r, r->in, r->k->num, difference, &n);
}

/* ---- normalization ---- */

static LLVMValueRef squared_difference(rows *r, LLVMValueRef x, const numbers *n)
{
    LLVMValueRef mean = qgc_emit_splat(r->e, n->a, LLVMGetVectorSize(LLVMTypeOf(x)));
    x = LLVMBuildFSub(r->e->builder, x, mean, "");
    return LLVMBuildFMul(r->e->builder, x, x, "");
}

static LLVMValueRef normalized(rows *r, LLVMValueRef x, const numbers *n)
{
    LLVMBuilderRef b = r->e->builder;
    x = LLVMBuildFMul(b, LLVMBuildFSub(b, x, n->a, ""), n->b, "");
    x = r->scale ? LLVMBuildFMul(b, x, r->scale, "") : x;
    return r->bias ? LLVMBuildFAdd(b, x, r->bias, "") : x;
}

static LLVMValueRef channel_value(rows *r, LLVMValueRef list, LLVMValueRef channel)
{
    qgc_emitter *e = r->e;
    LLVMValueRef at = qgc_emit_at(e, list, qgc_emit_mul_const(e, channel, 4));
    return splat(r, qgc_emit_load(e, e->f32, at, 4));
}

/* Each channel of the row with its scale and bias. */
static void normalize_channels(rows *r, LLVMValueRef row, const numbers *n)
{
    qgc_emitter *e = r->e;
    const qgc_rows_kernel *k = r->k;
    int64_t plane = k->num / k->row_channels;
    LLVMValueRef group = LLVMBuildURem(e->builder, row, qgc_emit_i64(e, k->groups), "");
    LLVMValueRef first = qgc_emit_mul_const(e, group, k->row_channels);
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, k->row_channels), 1);
    LLVMValueRef offset = qgc_emit_mul_const(e, loop.index, plane * 4);
    LLVMValueRef channel = LLVMBuildAdd(e->builder, first, loop.index, "");
    rows part = *r;
    part.in = qgc_emit_at(e, r->in, offset);
    part.out = qgc_emit_at(e, r->out, offset);
    part.scale = r->scale ? channel_value(r, r->scale, channel) : NULL;
    part.bias = r->bias ? channel_value(r, r->bias, channel) : NULL;
    pass(&part, part.in, plane, normalized, n);
    qgc_loop_end(e, &loop);
}

static LLVMValueRef average(rows *r, LLVMValueRef sum)
{
    return LLVMBuildFDiv(r->e->builder, sum, qgc_emit_f32(r->e, (float)r->k->num), "");
}

static void emit_norm(rows *r, LLVMValueRef row)
{
    qgc_emitter *e = r->e;
    numbers n = {.a = average(r, fold_row(r, QGC_ROWS_SUM, r->in, NULL, NULL))};
    LLVMValueRef variance = average(r, fold_row(r, QGC_ROWS_SUM, r->in, squared_difference, &n));
    LLVMValueRef sum = LLVMBuildFAdd(e->builder, variance, qgc_emit_f32(e, r->k->epsilon), "");
    LLVMValueRef one = splat(r, qgc_emit_f32(e, 1));
    n.a = splat(r, n.a);
    n.b = LLVMBuildFDiv(e->builder, one, qgc_emit_sqrt(e, splat(r, sum)), "");
    if (r->k->by_channel)
        normalize_channels(r, row, &n);
    else
        pass(r, r->in, r->k->num, normalized, &n);
}

/* ---- reductions ---- */

static LLVMValueRef absolute(rows *r, LLVMValueRef x, const numbers *n)
{
    (void)n;
    return qgc_emit_abs(r->e, x);
}

static LLVMValueRef squared(rows *r, LLVMValueRef x, const numbers *n)
{
    (void)n;
    return LLVMBuildFMul(r->e->builder, x, x, "");
}

static LLVMValueRef raised(rows *r, LLVMValueRef x, const numbers *n)
{
    (void)n;
    return qgc_emit_exp(r->e, x);
}

static void emit_fold(rows *r)
{
    qgc_emitter *e = r->e;
    static row_fn *const prepare[] = {NULL, absolute, squared, raised};
    LLVMValueRef y = fold_row(r, r->k->fold, r->in, prepare[r->k->prepare], NULL);
    LLVMValueRef first = qgc_emit_i32(e, 0);
    if (r->k->finish == QGC_ROWS_AVERAGE)
        y = average(r, y);
    else if (r->k->finish == QGC_ROWS_ROOT)
        y = LLVMBuildExtractElement(e->builder, qgc_emit_sqrt(e, splat(r, y)), first, "");
    else if (r->k->finish == QGC_ROWS_LOGARITHM)
        y = LLVMBuildExtractElement(e->builder, qgc_emit_log(e, splat(r, y)), first, "");
    LLVMTypeRef type = element_type(e, r->k->out);
    if (LLVMTypeOf(y) != type)
        y = LLVMBuildTrunc(e->builder, y, type, "");
    qgc_emit_store(e, y, r->out, 1);
}

/* ---- units ---- */

void qgc_emit_rows(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    const qgc_rows_kernel *k = (const qgc_rows_kernel *)kernel;
    rows r = {.e = e, .k = k};
    LLVMValueRef in = qgc_emit_argument(e, args.in, 0), out = qgc_emit_argument(e, args.out, 0);
    r.scale = k->has_scale ? qgc_emit_argument(e, args.in, 1) : NULL;
    r.bias = k->has_bias ? qgc_emit_argument(e, args.in, 1 + k->has_scale) : NULL;
    int64_t out_row = k->kind == QGC_ROWS_FOLD ? 1 : k->num;
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, args.begin, args.end, 1);
    r.in = qgc_emit_at(
        e, in, qgc_emit_mul_const(e, loop.index, k->num * (int64_t)qgc_dtype_bytes(k->dtype)));
    r.out = qgc_emit_at(
        e, out, qgc_emit_mul_const(e, loop.index, out_row * (int64_t)qgc_dtype_bytes(k->out)));
    if (k->kind == QGC_ROWS_FOLD)
        emit_fold(&r);
    else if (k->kind == QGC_ROWS_NORM)
        emit_norm(&r, loop.index);
    else
        emit_softmax(&r);
    qgc_loop_end(e, &loop);
    LLVMBuildRetVoid(e->builder);
}

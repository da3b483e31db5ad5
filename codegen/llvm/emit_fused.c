/* Fused elementwise functions: for each row of the outer loops, for each vector of the innermost
 * one: load, compute, store. What does not change along a row is loaded before it. */
#include "codegen/llvm/emit_fused_ops.h"

enum { MAX_VALUES = QGC_FUSED_MAX_INPUTS + QGC_FUSED_MAX_STEPS };

typedef struct fused {
    qgc_emitter *e;
    const qgc_fused_kernel *k;
    uint32_t lanes;
    LLVMValueRef in[QGC_FUSED_MAX_INPUTS], out; /* at the row */
    LLVMValueRef values[MAX_VALUES];
} fused;

static uint32_t inner(const fused *f)
{
    return f->k->rank - 1;
}

static LLVMTypeRef element_type(qgc_emitter *e, qgc_dtype dtype)
{
    if (dtype == QGC_DTYPE_F32)
        return e->f32;
    return LLVMIntTypeInContext(e->context, (unsigned)qgc_dtype_bytes(dtype) * 8);
}

/* ---- loading ---- */

static LLVMValueRef lane_mask(qgc_emitter *e, uint32_t lanes, int64_t num)
{
    LLVMValueRef bits[64];
    for (uint32_t i = 0; i < lanes; i++)
        bits[i] = LLVMConstInt(LLVMInt1TypeInContext(e->context), i < num, false);
    return LLVMConstVector(bits, lanes);
}

/* |num| elements that lie contiguously; nothing behind them is touched. */
static LLVMValueRef load_contiguous(fused *f, LLVMTypeRef element, LLVMValueRef at, int64_t num)
{
    qgc_emitter *e = f->e;
    LLVMTypeRef type = LLVMVectorType(element, f->lanes);
    if (num >= f->lanes)
        return qgc_emit_load(e, type, at, 1);
    LLVMTypeRef overloads[] = {type, e->ptr};
    LLVMValueRef args[] = {at, qgc_emit_i32(e, 1), lane_mask(e, f->lanes, num),
                           LLVMConstNull(type)};
    return qgc_emit_intrinsic(e, "llvm.masked.load", overloads, 2, args, 4);
}

static LLVMValueRef load_strided(fused *f, LLVMTypeRef element, LLVMValueRef at, int64_t stride,
                                 int64_t num)
{
    LLVMValueRef all = LLVMConstNull(LLVMVectorType(element, f->lanes));
    for (uint32_t i = 0; i < f->lanes && i < num; i++) {
        LLVMValueRef from = qgc_emit_at_const(f->e, at, (int64_t)i * stride);
        LLVMValueRef one = qgc_emit_load(f->e, element, from, 1);
        all = LLVMBuildInsertElement(f->e->builder, all, one, qgc_emit_i32(f->e, (int32_t)i), "");
    }
    return all;
}

/* As stored to f32, i1, i32 or i64. */
static LLVMValueRef widen(fused *f, const qgc_fused_operand *o, LLVMValueRef x)
{
    LLVMBuilderRef b = f->e->builder;
    LLVMTypeRef type = LLVMTypeOf(x), ints = LLVMVectorType(f->e->i32, f->lanes);
    switch (o->dtype) {
    case QGC_DTYPE_F32:
    case QGC_DTYPE_I32:
    case QGC_DTYPE_I64:
        return x;
    case QGC_DTYPE_BOOL:
        return LLVMBuildICmp(b, LLVMIntNE, x, LLVMConstNull(type), "");
    case QGC_DTYPE_U8:
    case QGC_DTYPE_U16:
        return LLVMBuildZExt(b, x, ints, "");
    default:
        if (!o->flip)
            return LLVMBuildSExt(b, x, ints, "");
        x = LLVMBuildZExt(b, x, ints, "");
        return LLVMBuildSub(b, x, qgc_emit_like_i32(f->e, x, 128), "");
    }
}

static LLVMValueRef load(fused *f, uint32_t index, LLVMValueRef position, int64_t num)
{
    const qgc_fused_operand *o = &f->k->inputs[index];
    int64_t stride = o->strides[inner(f)], bytes = (int64_t)qgc_dtype_bytes(o->dtype);
    LLVMTypeRef element = element_type(f->e, o->dtype);
    if (!stride) {
        LLVMValueRef one = qgc_emit_load(f->e, element, f->in[index], 1);
        return widen(f, o, qgc_emit_splat(f->e, one, f->lanes));
    }
    LLVMValueRef at = qgc_emit_at(f->e, f->in[index], qgc_emit_mul_const(f->e, position, stride));
    return widen(f, o,
                 stride == bytes ? load_contiguous(f, element, at, num)
                                 : load_strided(f, element, at, stride, num));
}

/* ---- storing ---- */

static LLVMValueRef narrow(fused *f, LLVMValueRef x)
{
    qgc_emitter *e = f->e;
    const qgc_fused_operand *o = &f->k->out;
    if (o->dtype == QGC_DTYPE_F32) /* parts are stored as integers */
        return LLVMBuildBitCast(e->builder, x, LLVMVectorType(e->i32, f->lanes), "");
    LLVMTypeRef type = LLVMVectorType(element_type(e, o->dtype), f->lanes);
    if (o->dtype == QGC_DTYPE_BOOL)
        return LLVMBuildZExt(e->builder, x, type, "");
    if (o->flip)
        x = LLVMBuildAdd(e->builder, x, qgc_emit_like_i32(e, x, 128), "");
    return LLVMTypeOf(x) == type ? x : LLVMBuildTrunc(e->builder, x, type, "");
}

static void store(fused *f, LLVMValueRef x, LLVMValueRef position, int64_t num)
{
    qgc_emitter *e = f->e;
    int64_t stride = f->k->out.strides[inner(f)];
    int64_t bytes = (int64_t)qgc_dtype_bytes(f->k->out.dtype);
    LLVMValueRef at = qgc_emit_at(e, f->out, qgc_emit_mul_const(e, position, stride));
    x = narrow(f, x);
    if (stride == bytes || num == 1) {
        qgc_emit_store_part(e, x, f->lanes, num, at);
        return;
    }
    for (uint32_t i = 0; i < f->lanes && i < num; i++)
        qgc_emit_store(e, LLVMBuildExtractElement(e->builder, x, qgc_emit_i32(e, (int32_t)i), ""),
                       qgc_emit_at_const(e, at, (int64_t)i * stride), 1);
}

/* ---- computing ---- */

static LLVMValueRef compute(fused *f, const qgc_fused_step *s)
{
    qgc_emitter *e = f->e;
    LLVMValueRef args[QGC_FUSED_MAX_ARGS] = {NULL};
    if (s->op == QGC_OP_CONST)
        return qgc_emit_splat(
            e, s->dtype == QGC_DTYPE_F32 ? qgc_emit_f32(e, s->p) : qgc_emit_i32(e, s->lo),
            f->lanes);
    for (uint32_t i = 0; i < s->num_args; i++)
        if (s->args[i] >= 0)
            args[i] = f->values[s->args[i]];
    return qgc_fused_function(s->op)(e, s, args);
}

/* |num| elements (at most a vector) from |position| of the row. */
static void emit_vector(fused *f, LLVMValueRef position, int64_t num)
{
    const qgc_fused_kernel *k = f->k;
    for (uint32_t i = 0; i < k->num_inputs; i++)
        if (k->inputs[i].strides[inner(f)])
            f->values[i] = load(f, i, position, num);
    for (uint32_t i = 0; i < k->num_steps; i++)
        f->values[k->num_inputs + i] = compute(f, &k->steps[i]);
    store(f, f->values[k->num_inputs + k->num_steps - 1], position, num);
}

static void load_invariants(fused *f)
{
    for (uint32_t i = 0; i < f->k->num_inputs; i++)
        if (!f->k->inputs[i].strides[inner(f)])
            f->values[i] = load(f, i, NULL, 1);
}

/* ---- loops ---- */

static void emit_vectors(fused *f, LLVMValueRef begin, LLVMValueRef end)
{
    qgc_loop loop = {.may_be_empty = true};
    qgc_loop_begin(f->e, &loop, begin, end, f->lanes);
    emit_vector(f, loop.index, f->lanes);
    qgc_loop_end(f->e, &loop);
}

static void emit_row(fused *f)
{
    int64_t size = f->k->dims[inner(f)], whole = size / f->lanes * f->lanes;
    load_invariants(f);
    if (whole)
        emit_vectors(f, qgc_emit_i64(f->e, 0), qgc_emit_i64(f->e, whole));
    if (size > whole)
        emit_vector(f, qgc_emit_i64(f->e, whole), size - whole);
}

/* Of one loop alone: units are blocks, the last one ends in the tail. */
static void emit_blocks(fused *f, const qgc_kernel_args *args)
{
    qgc_emitter *e = f->e;
    int64_t size = f->k->dims[0], whole = size / f->lanes * f->lanes;
    LLVMValueRef end = qgc_emit_mul_const(e, args->end, QGC_FUSED_BLOCK);
    LLVMValueRef limit = qgc_emit_i64(e, whole);
    LLVMValueRef is_last = LLVMBuildICmp(e->builder, LLVMIntSGE, end, limit, "");
    load_invariants(f);
    emit_vectors(f, qgc_emit_mul_const(e, args->begin, QGC_FUSED_BLOCK),
                 LLVMBuildSelect(e->builder, is_last, limit, end, ""));
    if (size == whole)
        return;
    qgc_loop tail = {.may_be_empty = true};
    LLVMValueRef last =
        LLVMBuildICmp(e->builder, LLVMIntEQ, args->end, qgc_emit_i64(e, f->k->base.units), "");
    qgc_loop_begin(e, &tail, qgc_emit_i64(e, 0), LLVMBuildZExt(e->builder, last, e->i64, ""), 1);
    emit_vector(f, limit, size - whole);
    qgc_loop_end(e, &tail);
}

/* base + the offset of row |index| */
static LLVMValueRef at_row(const fused *f, LLVMValueRef base, const int64_t *strides,
                           LLVMValueRef *indices)
{
    for (uint32_t d = 0; d < inner(f); d++)
        if (strides[d])
            base = qgc_emit_at(f->e, base, qgc_emit_mul_const(f->e, indices[d], strides[d]));
    return base;
}

static void emit_rows(fused *f, const qgc_kernel_args *args)
{
    qgc_emitter *e = f->e;
    const qgc_fused_kernel *k = f->k;
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, args->begin, args->end, 1);
    LLVMValueRef indices[QGC_FUSED_MAX_DIMS] = {NULL}, rest = loop.index;
    for (uint32_t d = inner(f); d-- > 0;) {
        LLVMValueRef size = qgc_emit_i64(e, k->dims[d]);
        indices[d] = d ? LLVMBuildURem(e->builder, rest, size, "") : rest;
        rest = d ? LLVMBuildUDiv(e->builder, rest, size, "") : rest;
    }
    fused row = {.e = e, .k = k, .lanes = f->lanes};
    for (uint32_t i = 0; i < k->num_inputs; i++)
        row.in[i] = at_row(f, f->in[i], k->inputs[i].strides, indices);
    row.out = at_row(f, f->out, k->out.strides, indices);
    emit_row(&row);
    qgc_loop_end(e, &loop);
}

void qgc_emit_epilogue(qgc_emitter *e, const qgc_epilogue_vector *p, LLVMValueRef out, int64_t num)
{
    const qgc_fused_kernel *k = p->functions;
    fused f = {.e = e, .k = k, .lanes = e->level->lanes, .out = out};
    LLVMValueRef start = qgc_emit_i64(e, 0);
    for (uint32_t i = 0; i < k->num_inputs; i++) {
        f.in[i] = p->in[i];
        f.values[i] = i == p->given ? p->value : load(&f, i, start, num);
    }
    for (uint32_t i = 0; i < k->num_steps; i++)
        f.values[k->num_inputs + i] = compute(&f, &k->steps[i]);
    store(&f, f.values[k->num_inputs + k->num_steps - 1], start, num);
}

void qgc_emit_fused(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    const qgc_fused_kernel *k = (const qgc_fused_kernel *)kernel;
    fused f = {.e = e, .k = k, .lanes = e->level->lanes};
    for (uint32_t i = 0; i < k->num_inputs; i++)
        f.in[i] = qgc_emit_at_const(e, qgc_emit_argument(e, args.in, i), k->inputs[i].first);
    f.out = qgc_emit_at_const(e, qgc_emit_argument(e, args.out, 0), k->out.first);
    if (k->rank == 1)
        emit_blocks(&f, &args);
    else
        emit_rows(&f, &args);
    LLVMBuildRetVoid(e->builder);
}

#include "codegen/llvm/emit_fused_ops.h"

typedef LLVMValueRef vector;

static vector constant(qgc_emitter *e, vector like, float value)
{
    return qgc_emit_like_f32(e, like, value);
}

static vector compare(qgc_emitter *e, LLVMRealPredicate predicate, vector a, vector b)
{
    return LLVMBuildFCmp(e->builder, predicate, a, b, "");
}

static bool is_float(vector x)
{
    return LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(x))) == LLVMFloatTypeKind;
}

/* Of floats the first opcode, of integers the second, modulo 2^bits. */
static vector arithmetic(qgc_emitter *e, LLVMOpcode floats, LLVMOpcode ints, vector a, vector b)
{
    return LLVMBuildBinOp(e->builder, is_float(a) ? floats : ints, a, b, "");
}

/* Integers are widened to signed ones. */
static vector relate(qgc_emitter *e, LLVMRealPredicate floats, LLVMIntPredicate ints, vector a,
                     vector b)
{
    return is_float(a) ? compare(e, floats, a, b) : LLVMBuildICmp(e->builder, ints, a, b, "");
}

static vector choose(qgc_emitter *e, vector condition, vector a, vector b)
{
    return LLVMBuildSelect(e->builder, condition, a, b, "");
}

/* x < bound */
static vector is_below(qgc_emitter *e, vector x, float bound)
{
    return compare(e, LLVMRealOLT, x, constant(e, x, bound));
}

/* x < 0 ? p * expm1(inner) : x */
static vector elu(qgc_emitter *e, vector x, float p, vector inner)
{
    vector curve = LLVMBuildFMul(e->builder, constant(e, x, p), qgc_emit_expm1(e, inner), "");
    return choose(e, is_below(e, x, 0), curve, x);
}

#define FUSED(name, expression)                                                                    \
    static vector fused_##name(qgc_emitter *e, const qgc_fused_step *s, vector *args)              \
    {                                                                                              \
        vector a = args[0], b = args[1];                                                           \
        (void)s, (void)a, (void)b;                                                                 \
        return expression;                                                                         \
    }

// clang-format off
FUSED(add, arithmetic(e, LLVMFAdd, LLVMAdd, a, b))
FUSED(sub, arithmetic(e, LLVMFSub, LLVMSub, a, b))
FUSED(mul, arithmetic(e, LLVMFMul, LLVMMul, a, b))
FUSED(div, LLVMBuildFDiv(e->builder, a, b, ""))
FUSED(pow, qgc_emit_pow(e, a, b))
FUSED(prelu, choose(e, is_below(e, a, 0), LLVMBuildFMul(e->builder, b, a, ""), a))
FUSED(neg, LLVMBuildFNeg(e->builder, a, ""))
FUSED(abs, qgc_emit_abs(e, a))
FUSED(relu, choose(e, is_below(e, a, 0), constant(e, a, 0), a))
FUSED(sqrt, qgc_emit_sqrt(e, a))
FUSED(rsqrt, LLVMBuildFDiv(e->builder, constant(e, a, 1), qgc_emit_sqrt(e, a), ""))
FUSED(reciprocal, LLVMBuildFDiv(e->builder, constant(e, a, 1), a, ""))
FUSED(floor, qgc_emit_floor(e, a))
FUSED(ceil, qgc_emit_ceil(e, a))
FUSED(round, qgc_emit_rne(e, a))
FUSED(exp, qgc_emit_exp(e, a))
FUSED(expm1, qgc_emit_expm1(e, a))
FUSED(log, qgc_emit_log(e, a))
FUSED(log1p, qgc_emit_log1p(e, a))
FUSED(erf, qgc_emit_erf(e, a))
FUSED(sin, qgc_emit_sin(e, a))
FUSED(cos, qgc_emit_cos(e, a))
FUSED(tan, qgc_emit_tan(e, a))
FUSED(asin, qgc_emit_asin(e, a))
FUSED(acos, qgc_emit_acos(e, a))
FUSED(atan, qgc_emit_atan(e, a))
FUSED(sinh, qgc_emit_sinh(e, a))
FUSED(cosh, qgc_emit_cosh(e, a))
FUSED(asinh, qgc_emit_asinh(e, a))
FUSED(acosh, qgc_emit_acosh(e, a))
FUSED(atanh, qgc_emit_atanh(e, a))
FUSED(tanh, qgc_emit_tanh(e, a))
FUSED(sigmoid, qgc_emit_sigmoid(e, a))
FUSED(silu, qgc_emit_silu(e, a))
FUSED(softplus, qgc_emit_softplus(e, a))
FUSED(mish, qgc_emit_mish(e, a))
FUSED(gelu, s->word ? qgc_emit_gelu_tanh(e, a) : qgc_emit_gelu(e, a))
FUSED(leaky_relu, choose(e, is_below(e, a, 0), LLVMBuildFMul(e->builder, constant(e, a, s->p), a, ""), a))
FUSED(elu, elu(e, a, s->p, a))
FUSED(selu, LLVMBuildFMul(e->builder, constant(e, a, s->q), elu(e, a, s->p, a), ""))
FUSED(celu, elu(e, a, s->p, LLVMBuildFDiv(e->builder, a, constant(e, a, s->p), "")))
FUSED(thresholded_relu, choose(e, compare(e, LLVMRealOLE, a, constant(e, a, s->p)), constant(e, a, 0), a))
FUSED(is_nan, qgc_emit_is_nan(e, a))
FUSED(equal, relate(e, LLVMRealOEQ, LLVMIntEQ, a, b))
FUSED(not_equal, relate(e, LLVMRealUNE, LLVMIntNE, a, b))
FUSED(less, relate(e, LLVMRealOLT, LLVMIntSLT, a, b))
FUSED(less_equal, relate(e, LLVMRealOLE, LLVMIntSLE, a, b))
FUSED(greater, relate(e, LLVMRealOGT, LLVMIntSGT, a, b))
FUSED(greater_equal, relate(e, LLVMRealOGE, LLVMIntSGE, a, b))
FUSED(and, LLVMBuildAnd(e->builder, a, b, ""))
FUSED(or, LLVMBuildOr(e->builder, a, b, ""))
FUSED(xor, LLVMBuildXor(e->builder, a, b, ""))
FUSED(not, LLVMBuildNot(e->builder, a, ""))
FUSED(where, choose(e, a, b, args[2]))
// clang-format on

/* a, unless b is NaN or on b's side of it; a NaN of a stays. */
static vector extreme(qgc_emitter *e, LLVMRealPredicate below, vector a, vector b)
{
    vector takes_b =
        LLVMBuildAnd(e->builder, compare(e, LLVMRealORD, a, a), compare(e, below, a, b), "");
    return choose(e, takes_b, b, a);
}

/* b where it is on its side of a. */
static vector extreme_int(qgc_emitter *e, LLVMIntPredicate below, vector a, vector b)
{
    return choose(e, LLVMBuildICmp(e->builder, below, a, b, ""), b, a);
}

// clang-format off
FUSED(min, is_float(a) ? extreme(e, LLVMRealUGT, a, b) : extreme_int(e, LLVMIntSGT, a, b))
FUSED(max, is_float(a) ? extreme(e, LLVMRealULT, a, b) : extreme_int(e, LLVMIntSLT, a, b))
// clang-format on

static vector fused_clip(qgc_emitter *e, const qgc_fused_step *s, vector *args)
{
    (void)s;
    vector x = args[0];
    if (args[1])
        x = choose(e, compare(e, LLVMRealOLT, x, args[1]), args[1], x);
    if (args[2])
        x = choose(e, compare(e, LLVMRealOLT, args[2], x), args[2], x);
    return x;
}

static vector fused_sign(qgc_emitter *e, const qgc_fused_step *s, vector *args)
{
    (void)s;
    vector x = args[0], zero = constant(e, x, 0);
    vector low = choose(e, is_below(e, x, 0), constant(e, x, -1), x);
    return choose(e, compare(e, LLVMRealOGT, x, zero), constant(e, x, 1), low);
}

/* A NaN stays. */
static vector fused_shrink(qgc_emitter *e, const qgc_fused_step *s, vector *args)
{
    vector x = args[0], q = constant(e, x, s->q), limit = constant(e, x, s->p);
    vector middle = choose(e, qgc_emit_is_nan(e, x), x, constant(e, x, 0));
    vector down = LLVMBuildFSub(e->builder, x, q, "");
    vector above = choose(e, compare(e, LLVMRealOGT, x, limit), down, middle);
    return choose(e, is_below(e, x, -s->p), LLVMBuildFAdd(e->builder, x, q, ""), above);
}

static vector fused_softsign(qgc_emitter *e, const qgc_fused_step *s, vector *args)
{
    (void)s;
    vector x = args[0];
    vector sum = LLVMBuildFAdd(e->builder, constant(e, x, 1), qgc_emit_abs(e, x), "");
    return LLVMBuildFDiv(e->builder, x, sum, "");
}

/* p * x + q within 0..1 */
static vector unit(qgc_emitter *e, vector x, float p, float q)
{
    vector t = LLVMBuildFMul(e->builder, constant(e, x, p), x, "");
    t = LLVMBuildFAdd(e->builder, t, constant(e, x, q), "");
    vector one = constant(e, x, 1), zero = constant(e, x, 0);
    vector capped = choose(e, compare(e, LLVMRealOGT, t, one), one, t);
    return choose(e, is_below(e, t, 0), zero, capped);
}

FUSED(hardsigmoid, unit(e, a, s->p, s->q))
FUSED(hardswish, LLVMBuildFMul(e->builder, a, unit(e, a, 1.0f / 6, 0.5f), ""))

static vector fused_batch_norm(qgc_emitter *e, const qgc_fused_step *s, vector *args)
{
    enum { X, SCALE, BIAS, MEAN, VARIANCE };
    LLVMBuilderRef b = e->builder;
    vector sum = LLVMBuildFAdd(b, args[VARIANCE], constant(e, args[VARIANCE], s->p), "");
    vector inverse = LLVMBuildFDiv(b, constant(e, sum, 1), qgc_emit_sqrt(e, sum), "");
    vector y = LLVMBuildFMul(b, LLVMBuildFSub(b, args[X], args[MEAN], ""), inverse, "");
    if (args[SCALE])
        y = LLVMBuildFMul(b, y, args[SCALE], "");
    return args[BIAS] ? LLVMBuildFAdd(b, y, args[BIAS], "") : y;
}

/* ---- conversion ---- */

static vector fused_cast(qgc_emitter *e, const qgc_fused_step *s, vector *args)
{
    (void)s;
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    LLVMTypeRef floats = LLVMVectorType(e->f32, LLVMGetVectorSize(type));
    bool is_bool = LLVMGetIntTypeWidth(LLVMGetElementType(type)) == 1;
    return is_bool ? LLVMBuildUIToFP(e->builder, args[0], floats, "")
                   : LLVMBuildSIToFP(e->builder, args[0], floats, "");
}

static vector fused_dequantize(qgc_emitter *e, const qgc_fused_step *s, vector *args)
{
    (void)s;
    LLVMTypeRef floats = LLVMTypeOf(args[1]);
    vector difference = LLVMBuildSub(e->builder, args[0], args[2], "");
    difference = LLVMBuildSIToFP(e->builder, difference, floats, "");
    return LLVMBuildFMul(e->builder, difference, args[1], "");
}

/* A bound minus the zero point, as f32: exact, both are of 16 bits. */
static vector relative(qgc_emitter *e, int32_t bound, vector zero_point, LLVMTypeRef floats)
{
    vector limit = qgc_emit_like_i32(e, zero_point, bound);
    return LLVMBuildSIToFP(e->builder, LLVMBuildSub(e->builder, limit, zero_point, ""), floats, "");
}

/* The bounds are integers, so clamping before rounding is clamping after it. */
static vector fused_quantize(qgc_emitter *e, const qgc_fused_step *s, vector *args)
{
    enum { MULTIPLY, DIVIDE };
    LLVMBuilderRef b = e->builder;
    vector x = args[0], scale = args[1], zero_point = args[2];
    LLVMTypeRef floats = LLVMTypeOf(x);
    vector value;
    if (s->word == DIVIDE)
        value = LLVMBuildFDiv(b, x, scale, "");
    else
        value = LLVMBuildFMul(b, x, LLVMBuildFDiv(b, constant(e, x, 1), scale, ""), "");
    value = choose(e, qgc_emit_is_nan(e, value), constant(e, x, 0), value);
    vector lo = relative(e, s->lo, zero_point, floats);
    vector hi = relative(e, s->hi, zero_point, floats);
    value = qgc_emit_choose(e, LLVMRealOGT, value, lo);
    value = qgc_emit_choose(e, LLVMRealOLT, value, hi);
    uint32_t lanes = LLVMGetVectorSize(floats);
    return LLVMBuildAdd(b, qgc_emit_convert(e, lanes, value), zero_point, "");
}

static vector fused_fake_quant(qgc_emitter *e, const qgc_fused_step *s, vector *args)
{
    vector quantized[] = {fused_quantize(e, s, args), args[1], args[2]};
    return fused_dequantize(e, s, quantized);
}

qgc_fused_fn *qgc_fused_function(qgc_opcode op)
{
    static qgc_fused_fn *const functions[QGC_NUM_OPS] = {
#define QGC_FUSED(op, first, others, result, emitter, p, q, word) [QGC_OP_##op] = emitter,
#include "codegen/fused.def"
    };
    return functions[op];
}

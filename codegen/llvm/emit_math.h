/* Elementary functions on vectors of f32: the steps of runtime/math_exp.c, math_log.c and
 * math_trig.c, one instruction for each of their operations, so the same bits. No fma, no
 * fast-math. */
#ifndef QGC_CODEGEN_LLVM_EMIT_MATH_H
#define QGC_CODEGEN_LLVM_EMIT_MATH_H

#include "codegen/llvm/emit.h"

/* |value| in every lane of a vector like |like|. */
LLVMValueRef qgc_emit_like_f32(qgc_emitter *e, LLVMValueRef like, float value);
LLVMValueRef qgc_emit_like_i32(qgc_emitter *e, LLVMValueRef like, int32_t value);
/* a PREDICATE b ? a : b; the operands' NaN and zeros as C has it. */
LLVMValueRef qgc_emit_choose(qgc_emitter *e, LLVMRealPredicate predicate, LLVMValueRef a,
                             LLVMValueRef b);
LLVMValueRef qgc_emit_is_nan(qgc_emitter *e, LLVMValueRef x);

typedef LLVMValueRef qgc_emit_unary_fn(qgc_emitter *e, LLVMValueRef x);
qgc_emit_unary_fn qgc_emit_abs, qgc_emit_sqrt, qgc_emit_rne, qgc_emit_floor, qgc_emit_ceil;
qgc_emit_unary_fn qgc_emit_exp, qgc_emit_expm1, qgc_emit_tanh, qgc_emit_sigmoid, qgc_emit_silu;
qgc_emit_unary_fn qgc_emit_erf, qgc_emit_gelu, qgc_emit_gelu_tanh;
qgc_emit_unary_fn qgc_emit_log, qgc_emit_log1p, qgc_emit_softplus, qgc_emit_mish;
qgc_emit_unary_fn qgc_emit_sin, qgc_emit_cos, qgc_emit_tan, qgc_emit_asin, qgc_emit_acos;
qgc_emit_unary_fn qgc_emit_atan, qgc_emit_sinh, qgc_emit_cosh;
qgc_emit_unary_fn qgc_emit_asinh, qgc_emit_acosh, qgc_emit_atanh;
LLVMValueRef qgc_emit_pow(qgc_emitter *e, LLVMValueRef x, LLVMValueRef y);

#endif

/* The functions of codegen/fused.def on vectors. Values are f32, i1 (bool) or i32 (integers). */
#ifndef QGC_CODEGEN_LLVM_EMIT_FUSED_OPS_H
#define QGC_CODEGEN_LLVM_EMIT_FUSED_OPS_H

#include "codegen/llvm/emit_math.h"

/* |args|: by the step's arguments, NULL where absent. */
typedef LLVMValueRef qgc_fused_fn(qgc_emitter *e, const qgc_fused_step *s, LLVMValueRef *args);
qgc_fused_fn *qgc_fused_function(qgc_opcode op);

#endif

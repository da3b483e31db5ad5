/* The functions of codegen/fused.def on vectors. Values are f32, i1 (bool) or i32 (integers). */
#ifndef QGC_CODEGEN_LLVM_EMIT_FUSED_OPS_H
#define QGC_CODEGEN_LLVM_EMIT_FUSED_OPS_H

#include "codegen/llvm/emit_math.h"

/* |args|: by the step's arguments, NULL where absent. */
typedef LLVMValueRef qgc_fused_fn(qgc_emitter *e, const qgc_fused_step *s, LLVMValueRef *args);
qgc_fused_fn *qgc_fused_function(qgc_opcode op);

/* The functions of a kernel of rank 1 for one vector, whose input |given| is |value|. The other
 * inputs are at |in|; at most |num| elements are read and written, at |out|. */
typedef struct qgc_epilogue_vector {
    const qgc_fused_kernel *functions;
    uint32_t given;
    LLVMValueRef value, in[QGC_FUSED_MAX_INPUTS];
} qgc_epilogue_vector;
void qgc_emit_epilogue(qgc_emitter *e, const qgc_epilogue_vector *p, LLVMValueRef out, int64_t num);

#endif

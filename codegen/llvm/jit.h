/* Machine code in memory through ORC. */
#ifndef QGC_CODEGEN_LLVM_JIT_H
#define QGC_CODEGEN_LLVM_JIT_H

#include "base/diag.h"
#include "codegen/llvm/emit.h"

typedef struct qgc_jit qgc_jit;

/* Code for |level|, which the host must support. Failures are reported (code LLVM_FAILED). */
qgc_result qgc_jit_create(qgc_diag *diag, const qgc_level *level, qgc_jit **out);
/* NULL is fine. Functions die with it. */
void qgc_jit_destroy(qgc_jit *jit);

/* An emitter for a new module; hand it to qgc_jit_add, which takes it over. */
void qgc_jit_begin(qgc_jit *jit, const char *name, qgc_emitter *out);
/* Verifies, runs the passes ("" for none), compiles. */
qgc_result qgc_jit_add(qgc_jit *jit, qgc_emitter *e, const char *passes);
/* Adds an object file of qgc_object, of the jit's level; copied. */
qgc_result qgc_jit_add_object(qgc_jit *jit, qgc_str object);
/* Adds a module given as IR, text or bitcode, from elsewhere: checked, its |function| (of the type
 * i32 (ptr, ptr, ptr, i64, i64)) renamed to |name|, all others made private, |passes| run. */
qgc_result qgc_jit_add_ir(qgc_jit *jit, qgc_str ir, const char *function, const char *name,
                          const char *passes);
/* The function's address, or NULL (reported). */
void *qgc_jit_find(qgc_jit *jit, const char *name);
/* The module as assembly text, in the diag's arena; before qgc_jit_add. NULL: reported. */
char *qgc_jit_assembly(qgc_jit *jit, qgc_emitter *e);

#endif

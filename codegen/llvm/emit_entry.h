/* A whole plan as code: its kernels, its changes of form, and the C function that runs them in
 * order. The plan has no step of the reference interpreter. */
#ifndef QGC_CODEGEN_LLVM_EMIT_ENTRY_H
#define QGC_CODEGEN_LLVM_EMIT_ENTRY_H

#include "codegen/interface.h"
#include "codegen/llvm/emit.h"

/* The entry's function and its query functions are visible, all else is internal; constants are
 * read-only data. */
void qgc_emit_entry(qgc_emitter *e, const qgc_entry *entry);

/* void name(to, from): the value of |from| in the form of |to|, with its border. */
LLVMValueRef qgc_emit_form(qgc_emitter *e, const char *name, const qgc_buffer *from,
                           const qgc_buffer *to);
/* void name(to): the border of |to|. */
LLVMValueRef qgc_emit_border(qgc_emitter *e, const char *name, const qgc_buffer *to);

#endif

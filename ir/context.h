/* The context: everything that lives as long as a compilation session. Nothing is global; two
 * contexts on two threads do not meet. */
#ifndef QGC_IR_CONTEXT_H
#define QGC_IR_CONTEXT_H

#include "base/diag.h"
#include "ir/ops.h"
#include "ir/plugin.h"
#include "qgc/context.h"

struct qgc_context {
    qgc_arena arena;
    qgc_sources sources;
    qgc_diag diag;
    qgc_interner names;
    qgc_types types;
    qgc_dims dims;
    qgc_map ops; /* interned mnemonic -> (void *)(opcode + 1) */
    qgc_plugins plugins;
    const struct qgc_picture_format *pictures; /* how data files that are pictures become tensors */
};

static inline qgc_name qgc_context_name(qgc_context *context, const char *text)
{
    return qgc_intern(&context->names, qgc_str_from(text));
}

#endif

/* Shared libraries through the system's linker. */
#ifndef QGC_CODEGEN_LINK_H
#define QGC_CODEGEN_LINK_H

#include "base/diag.h"
#include "codegen/llvm/level.h"

typedef struct qgc_link {
    qgc_diag *diag;
    qgc_arch arch;
    const char
        *linker; /* a program that takes the arguments of cc; NULL: the system's for |arch| */
    const char *soname;  /* what the library is called */
    const char *version; /* of its symbols */
    const char *symbols; /* those that it shows: "a; b; " */
} qgc_link;

/* The bytes of the library made from those of |object|, in |arena|. Works in a folder of its own
 * under TMPDIR, which it removes. Failures are reported (code LINK_FAILED, FILE_WRITE). */
qgc_result qgc_link_shared(const qgc_link *link, qgc_str object, qgc_arena *arena, qgc_str *out);

#endif

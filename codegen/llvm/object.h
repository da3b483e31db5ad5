/* Machine code as bytes: one LLVM module for a level, as an object file, IR or assembly text. The
 * level need not be one that the host has. */
#ifndef QGC_CODEGEN_LLVM_OBJECT_H
#define QGC_CODEGEN_LLVM_OBJECT_H

#include "base/diag.h"
#include "codegen/llvm/emit.h"
#include "runtime/hash.h"

typedef struct qgc_object qgc_object;

typedef enum qgc_object_format {
    QGC_OBJECT_CODE,     /* relocatable, position independent */
    QGC_OBJECT_IR,       /* LLVM IR, text */
    QGC_OBJECT_ASSEMBLY, /* text */
} qgc_object_format;

/* A kernel that stores vectors to the stack, although it could have a smaller tile. */
typedef struct qgc_spill {
    const qgc_kernel *kernel;
    uint32_t frame_bytes, stores; /* of vectors, in its code */
    bool is_costly;               /* more than a few of them in a loop of dot products */
} qgc_spill;
typedef QGC_VEC(qgc_spill) qgc_spills;

/* A module called |name|, empty. Failures are reported (code LLVM_FAILED). */
qgc_result qgc_object_create(qgc_diag *diag, const qgc_level *level, const char *name,
                             qgc_object **out);
/* NULL is fine. */
void qgc_object_destroy(qgc_object *object);

/* Builds the module, until qgc_object_finish. */
qgc_emitter *qgc_object_emitter(qgc_object *object);
/* Of all that decides about the code: the module before qgc_object_finish, the level, |passes|,
 * versions of LLVM and qgc. */
qgc_hash128 qgc_object_key(qgc_object *object, const char *passes);
/* Verifies the module and runs the passes ("" for none); once, when all is emitted. */
qgc_result qgc_object_finish(qgc_object *object, const char *passes);
/* The finished module as bytes, in |arena|. The same module gives the same bytes. */
qgc_result qgc_object_write(qgc_object *object, qgc_object_format format, qgc_arena *arena,
                            qgc_str *out);
/* What |code|, which qgc_object_write has just made, spills; added to |out|. In spills.c. */
void qgc_object_find_spills(const qgc_object *object, qgc_str code, qgc_arena *arena,
                            qgc_spills *out);
/* Of |num| functions of an object file, into the |stores| and |is_costly| of one of |out| each. */
void qgc_look_for_spills(const qgc_level *level, qgc_str code, const char *const *functions,
                         size_t num, qgc_spill *out);

#endif

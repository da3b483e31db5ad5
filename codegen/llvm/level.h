/* CPU levels: what machine code may use. Any level can be forced on a host that has it. */
#ifndef QGC_CODEGEN_LLVM_LEVEL_H
#define QGC_CODEGEN_LLVM_LEVEL_H

#include "base/diag.h"
#include "codegen/plan.h"

typedef enum qgc_arch { QGC_ARCH_X86_64, QGC_ARCH_AARCH64 } qgc_arch;

/* How four u8 * s8 products are added to an i32 lane. Every way is exact modulo 2^32. */
typedef enum qgc_dot {
    QGC_DOT_WIDEN,   /* products of i16, added pairwise in i32 (pmaddwd) */
    QGC_DOT_VNNI256, /* vpdpbusd ymm */
    QGC_DOT_VNNI512, /* vpdpbusd zmm */
    QGC_DOT_SMULL,   /* s8 * s8 to i16, added pairwise in i32 */
    QGC_DOT_SDOT,    /* s8 * s8 */
    QGC_DOT_USDOT,   /* u8 * s8 */
} qgc_dot;

typedef struct qgc_level {
    const char *name; /* of --cpu= */
    qgc_arch arch;
    const char *triple;
    const char *llvm_cpu; /* LLVM's -mcpu */
    const char *features; /* LLVM's -mattr */
    uint32_t lanes;       /* 32-bit lanes of a vector register */
    uint32_t registers;   /* vector registers */
    bool has_fma;
    bool has_ssse3; /* or more: pmaddubsw */
    qgc_dot dot;
    bool unoptimized; /* for tests, of a copy: no passes, the code generator's quickest way */
} qgc_level;

/* Four products of bytes are one instruction. Elsewhere they are widened, and a tile that fits the
 * registers is slower than one that spills. */
bool qgc_level_has_dot(const qgc_level *level);
/* The level as planners see it. */
qgc_plan_target qgc_level_target(const qgc_level *level);

/* By name, "native" being the best that this host has. NULL: no such level (or none here). */
const qgc_level *qgc_level_find(qgc_str name);
/* The same for running here; NULL is "native". Reports what there is not. */
qgc_result qgc_level_find_here(qgc_diag *diag, const char *name, const qgc_level **out);
bool qgc_level_is_supported(const qgc_level *level);
/* Lowest first; NULL after the last. */
const qgc_level *qgc_level_at(size_t index);

#endif

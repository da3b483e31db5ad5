/* The spill guard. Tiles are chosen so that what a kernel adds up stays in registers; whether it
 * does is LLVM's to decide. A kernel whose loops store vectors to the stack, more often than can be
 * told from noise, is planned again with the next smaller tile, and a remark (TILE_SPILLS) says so.
 * Results do not depend on tiles.
 *
 * One guard serves all plans of a compilation. */
#ifndef QGC_CODEGEN_GUARD_H
#define QGC_CODEGEN_GUARD_H

#include "codegen/llvm/object.h"

/* A kernel that goes down, as the remark has it. */
typedef struct qgc_guard_step {
    const qgc_node *node;
    const char *tile;
    uint32_t frame_bytes, stores;
} qgc_guard_step;

typedef struct qgc_guard {
    qgc_diag *diag;
    qgc_arena *arena;
    qgc_map smaller; /* node -> tiles that it goes down: of qgc_plan_target */
    qgc_map changed; /* nodes that did so last: true */
    QGC_VEC(qgc_guard_step) steps;
} qgc_guard;

qgc_guard qgc_guard_make(qgc_diag *diag, qgc_arena *arena);
/* Those of |spills| that cost something and are kernels of |plan| go down. False: there are none.
 */
bool qgc_guard_look(qgc_guard *guard, const qgc_plan *plan, const qgc_spills *spills);
/* Remarks of what |plan|, which was made after that, has in place of them. */
void qgc_guard_remark(qgc_guard *guard, const qgc_plan *plan);

/* An object and the costly spills of its kernels, which are one plan's, as bytes; and back, |code|
 * being the bytes and then the object. False: not of this plan. */
qgc_str qgc_guard_write(qgc_arena *arena, const qgc_spills *spills, qgc_str code);
bool qgc_guard_read(qgc_arena *arena, const qgc_plan *plan, qgc_str *code, qgc_spills *out);

#endif

/* Building LLVM IR: a thin layer over the C API. One emitter, one module. */
#ifndef QGC_CODEGEN_LLVM_EMIT_H
#define QGC_CODEGEN_LLVM_EMIT_H

#include "codegen/kernel.h"
#include "codegen/llvm/level.h"
#include "codegen/plan.h"

#include <llvm-c/Core.h>

/* A kernel that is watched, and what its function is called. */
typedef struct qgc_emit_watched {
    const qgc_kernel *kernel;
    const char *function;
} qgc_emit_watched;

typedef struct qgc_emitter {
    const qgc_level *level;
    qgc_arena *arena; /* not NULL: LLVM says how large the stacks of kernels with tiles are */
    QGC_VEC(qgc_emit_watched) watched;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function; /* under construction */
    LLVMTypeRef i8, i16, i32, i64, f32, ptr, void_type;
    LLVMTypeRef vi32, vf32, vi8; /* of level->lanes elements */
} qgc_emitter;

void qgc_emitter_init(qgc_emitter *e, LLVMContextRef context, const char *name,
                      const qgc_level *level);
/* Disposes of the builder; the module goes to whoever took it. */
void qgc_emitter_finish(qgc_emitter *e);

/* Begins a function; positions the builder in its entry block. */
void qgc_emit_function_of(qgc_emitter *e, const char *name, LLVMTypeRef type);
/* void name(params), which do not alias. */
void qgc_emit_function(qgc_emitter *e, const char *name, LLVMTypeRef *params, unsigned num_params);
static inline LLVMValueRef qgc_emit_param(qgc_emitter *e, unsigned index)
{
    return LLVMGetParam(e->function, index);
}

LLVMValueRef qgc_emit_i64(qgc_emitter *e, int64_t value);
LLVMValueRef qgc_emit_i32(qgc_emitter *e, int32_t value);
LLVMValueRef qgc_emit_f32(qgc_emitter *e, float value);
LLVMValueRef qgc_emit_splat(qgc_emitter *e, LLVMValueRef scalar, uint32_t lanes);
/* base + offset bytes */
LLVMValueRef qgc_emit_at(qgc_emitter *e, LLVMValueRef base, LLVMValueRef offset);
LLVMValueRef qgc_emit_at_const(qgc_emitter *e, LLVMValueRef base, int64_t offset);
LLVMValueRef qgc_emit_load(qgc_emitter *e, LLVMTypeRef type, LLVMValueRef address, unsigned align);
void qgc_emit_store(qgc_emitter *e, LLVMValueRef value, LLVMValueRef address, unsigned align);
LLVMValueRef qgc_emit_mul_const(qgc_emitter *e, LLVMValueRef value, int64_t factor);
/* |x| where |keep| holds of it and |limit|, else |limit|. */
LLVMValueRef qgc_emit_limit(qgc_emitter *e, LLVMIntPredicate keep, LLVMValueRef x, int64_t limit);
/* Loads stay on their side of it. It costs no instruction: the scheduler otherwise brings loads so
 * far forward that what they hold no longer fits the registers. */
void qgc_emit_fence(qgc_emitter *e);
/* A fence that also has the |num| values, of one vector type and in registers, computed before it:
 * else what computes them may be put off behind the next loads. */
void qgc_emit_pin(qgc_emitter *e, LLVMValueRef *values, unsigned num);
/* An intrinsic by name, with its overload types. */
LLVMValueRef qgc_emit_intrinsic(qgc_emitter *e, const char *name, LLVMTypeRef *overloads,
                                unsigned num_overloads, LLVMValueRef *args, unsigned num_args);

/* for (index = begin; index < end; index += step). It runs at least once unless |may_be_empty|.
 * |carried| values live in registers across iterations. */
enum { QGC_MAX_CARRIED = 64 };
typedef struct qgc_loop {
    bool may_be_empty;
    LLVMBasicBlockRef before, body, after;
    LLVMValueRef index, end, step;
    LLVMValueRef carried[QGC_MAX_CARRIED]; /* in: initial; in the body: current; after: final */
    unsigned num_carried;
    LLVMValueRef phi_index, phis[QGC_MAX_CARRIED], initial[QGC_MAX_CARRIED];
} qgc_loop;
void qgc_loop_begin(qgc_emitter *e, qgc_loop *loop, LLVMValueRef begin, LLVMValueRef end,
                    int64_t step);
/* |loop->carried| holds the next values. */
void qgc_loop_end(qgc_emitter *e, qgc_loop *loop);

/* Begins the function of a kernel (qgc_kernel_fn). The arguments are noalias: a step's buffers do
 * not overlap. Runs with at least one unit. */
typedef struct qgc_kernel_args {
    LLVMValueRef in, out, constants; /* arrays of addresses */
    LLVMValueRef begin, end;         /* i64 */
} qgc_kernel_args;
qgc_kernel_args qgc_emit_kernel_begin(qgc_emitter *e, const qgc_kernel *kernel);
/* Entry |index| of one of the arrays. */
LLVMValueRef qgc_emit_argument(qgc_emitter *e, LLVMValueRef array, uint32_t index);

/* ---- vectors of |lanes| elements ---- */

LLVMTypeRef qgc_emit_vector(LLVMTypeRef element, uint32_t lanes);
/* Of i32 |lanes|: acc + the sum of four u8 * s8 products per lane; |a| and |w| as i32 lanes. */
LLVMValueRef qgc_emit_dot(qgc_emitter *e, uint32_t lanes, LLVMValueRef acc, LLVMValueRef a,
                          LLVMValueRef w);
/* The same as fast as the level has it: where its target has_signed_dot, of |a| less 128, for which
 * the sums' starts make up. */
LLVMValueRef qgc_emit_raw_dot(qgc_emitter *e, uint32_t lanes, LLVMValueRef acc, LLVMValueRef a,
                              LLVMValueRef w);
/* As qgc_emit_dot by pmaddubsw, where x86 has no dot product of bytes: only exact where no pair of
 * products passes 16 bits. */
LLVMValueRef qgc_emit_byte_pair_dot(qgc_emitter *e, uint32_t lanes, LLVMValueRef acc,
                                    LLVMValueRef a, LLVMValueRef w);
/* Of i32 |lanes|: acc + the sum of two i16 * i16 products per lane; |a| and |w| as i32 lanes. */
LLVMValueRef qgc_emit_pair_dot(qgc_emitter *e, uint32_t lanes, LLVMValueRef acc, LLVMValueRef a,
                               LLVMValueRef w);
/* Elements [first, first + num) of |vector|. */
LLVMValueRef qgc_emit_part(qgc_emitter *e, LLVMValueRef vector, uint32_t first, uint32_t num);
/* Weights to come, into the second level of the cache: while a tile goes through its own, it asks
 * for a share of |bytes| from |ahead| on, 1 / 2^shift of them, at most one share for each tile. */
uint32_t qgc_emit_share_shift(int64_t tiles);
/* Where the share of tile |index| begins. */
LLVMValueRef qgc_emit_share(qgc_emitter *e, LLVMValueRef ahead, LLVMValueRef index, int64_t bytes,
                            uint32_t shift);
/* Asks for what falls to the next |bytes| of a tile that has gone through |done| of its weights, in
 * whole lines. */
void qgc_emit_fetch(qgc_emitter *e, LLVMValueRef share, uint32_t shift, LLVMValueRef done,
                    int64_t bytes);
/* The first |num| elements of |vector|, which has |size| of them, and nothing behind. */
void qgc_emit_store_part(qgc_emitter *e, LLVMValueRef vector, uint32_t size, int64_t num,
                         LLVMValueRef address);
/* Float lanes as i32, rounded half to even; within +-2^31. */
LLVMValueRef qgc_emit_convert(qgc_emitter *e, uint32_t lanes, LLVMValueRef f);
/* Float lanes within the epilogue's bounds, rounded, as i32 without the zero point. */
LLVMValueRef qgc_emit_round(qgc_emitter *e, const qgc_epilogue *p, uint32_t lanes, LLVMValueRef f);

/* Tables of 256 bytes, aligned, where the level's target has_table: QGC_TABLE_BYTES through one at
 * a time. In emit_table.c. */
enum { QGC_TABLE_BYTES = 64 };
void qgc_emit_load_table(qgc_emitter *e, LLVMValueRef address, LLVMValueRef table[4]);
LLVMValueRef qgc_emit_table(qgc_emitter *e, LLVMValueRef bytes, const LLVMValueRef table[4]);

/* The epilogue of a tile: of each of |pixels| pixels, |vectors| vectors of i32 sums to |channels|
 * bytes. */
typedef struct qgc_emit_channels {
    const qgc_epilogue *epilogue;
    uint32_t lanes, vectors;
    LLVMValueRef multipliers, bias, addend_multipliers; /* addresses at the block, f32 */
} qgc_emit_channels;
typedef struct qgc_emit_place {
    LLVMValueRef out,
        addend; /* addresses of a pixel's channels; addend: where the epilogue has it */
} qgc_emit_place;
void qgc_emit_finish_tile(qgc_emitter *e, const qgc_emit_channels *c, uint32_t pixels,
                          LLVMValueRef *acc, const qgc_emit_place *places, int64_t channels);

/* Offsets of the pixel with this flat index in an image of |width|. */
typedef struct qgc_emit_image {
    int64_t images, height, width;
} qgc_emit_image;
LLVMValueRef qgc_emit_pixel(qgc_emitter *e, const qgc_emit_image *map, const qgc_pixels *pixels,
                            LLVMValueRef base, LLVMValueRef index);
/* The first pixel of row |row| of image |image|, NULL: the first one. */
LLVMValueRef qgc_emit_row_address(qgc_emitter *e, const qgc_pixels *pixels, LLVMValueRef base,
                                  LLVMValueRef image, LLVMValueRef row);

/* Code for |num| outputs from |first| on, in |vectors| vectors; |user| is the kernel's emitter. */
typedef void qgc_emit_block_fn(const void *user, LLVMValueRef first, uint32_t vectors, int64_t num);
/* A loop over blocks of |tile_vectors| vectors, then a smaller block where some are left. */
void qgc_emit_blocks(qgc_emitter *e, int64_t outputs, uint32_t tile_vectors,
                     qgc_emit_block_fn *block, const void *user);

/* The emitters of codegen/kernels.def. */
typedef void qgc_emit_fn(qgc_emitter *e, const qgc_kernel *kernel);
#define QGC_KERNEL(id, name, planner, emitter) qgc_emit_fn emitter;
#include "codegen/kernels.def"

/* The functions of all kernels of a plan. |out_functions|: one per step, NULL where it has no
 * kernel; may be NULL. */
void qgc_emit_kernels(qgc_emitter *e, const qgc_plan *plan, LLVMValueRef *out_functions);
/* Those with tiles of |nodes|, which have others than in an earlier plan. */
void qgc_emit_tiles(qgc_emitter *e, const qgc_plan *plan, const qgc_map *nodes);
/* The passes that the emitted IR wants. */
#define QGC_EMIT_PASSES "function(early-cse,instcombine<no-verify-fixpoint>)"

#endif

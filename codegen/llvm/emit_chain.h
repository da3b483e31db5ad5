/* Float products under construction: what emit_chain.c and emit_chain_chunks.c share. */
#ifndef QGC_CODEGEN_LLVM_EMIT_CHAIN_H
#define QGC_CODEGEN_LLVM_EMIT_CHAIN_H

#include "codegen/llvm/emit_fused_ops.h"

enum { QGC_CHAIN_MAX_SUMS = 32, QGC_CHAIN_MAX_VECTORS = 4 };

typedef struct qgc_chain_emitter {
    qgc_emitter *e;
    const qgc_chain_kernel *k;
    const qgc_kernel_args *args;
    LLVMValueRef in, w, out; /* of the row; w: of the block */
    LLVMValueRef operands[QGC_FUSED_MAX_INPUTS];
    LLVMValueRef bias;                           /* of the block */
    LLVMValueRef planes[2], rows[2], columns[2]; /* lists of taps: first, end */
    LLVMValueRef plane_taps[2], row_taps[2];     /* of the row */
    uint32_t lanes, vectors;                     /* of the block */
    int64_t num;                                 /* its channels */
    int64_t w_row;                               /* bytes, from channel to channel of its weights */
    LLVMValueRef begin, end; /* rows of all images that the block's weights meet */
    LLVMValueRef unit;       /* the row */
    LLVMValueRef next;       /* what a tile prefetches; or NULL */
    LLVMValueRef sums;       /* between chunks: f32 [unit][column][vector][lane] */
    int64_t chunk_column;    /* the chunk at hand: its kernel column, and */
    LLVMValueRef chunk_tap;  /* where it is in the input, in bytes from a pixel's first tap */
} qgc_chain_emitter;

typedef struct qgc_chain_tile {
    uint32_t pixels;
    int64_t column;  /* its first pixel's, where it is known; else no pixel is at a border */
    LLVMValueRef in; /* first tap of its first pixel */
    LLVMValueRef columns[2]; /* taps in bounds, of a tile of one pixel; NULL: by |column| */
} qgc_chain_tile;

/* Kernel columns [first, end) for the pixels [from, to) of a tile. */
typedef struct qgc_chain_columns {
    int64_t first, end;
    uint32_t from, to;
} qgc_chain_columns;

/* The pixels of a tile that have kernel column |tap| in bounds. */
qgc_chain_columns qgc_chain_pixels_of(const qgc_chain_emitter *c, const qgc_chain_tile *t,
                                      int64_t tap);

/* |num| channels that lie together in the input and in the weights, into the sums |acc|,
 * [pixel][vector] of the whole tile. */
void qgc_emit_chain_run(qgc_chain_emitter *c, const qgc_chain_tile *t, const qgc_chain_columns *s,
                        LLVMValueRef in, LLVMValueRef w, int64_t num, LLVMValueRef *acc);

/* Has the tile of |pixels| at column |x| prefetch its share of |bytes| of weights, which lie
 * |ahead| bytes behind |c->w|, while it goes through as many from there. */
void qgc_emit_chain_next(qgc_chain_emitter *c, uint32_t pixels, LLVMValueRef x, int64_t bytes,
                         int64_t ahead);

/* Vector |v| of pixel |p| of the tile that begins at column |x|: its epilogue, to the result. */
void qgc_emit_chain_result(qgc_chain_emitter *c, LLVMValueRef sum, LLVMValueRef x, uint32_t p,
                           uint32_t v);

/* |emit| for all tiles of a row. */
typedef void qgc_chain_tile_fn(qgc_chain_emitter *c, qgc_chain_tile *t, LLVMValueRef x);
void qgc_emit_chain_tiles(qgc_chain_emitter *c, qgc_chain_tile_fn *emit);

/* Sets what is of a row, for the block that begins with |channel|; |base|: of the kernel. */
void qgc_emit_chain_enter(qgc_chain_emitter *c, const qgc_chain_emitter *base, LLVMValueRef channel,
                          LLVMValueRef unit);

/* All rows of a block whose weights are at |c->w|, chunk by chunk: in emit_chain_chunks.c. */
LLVMValueRef qgc_emit_chain_sums(qgc_emitter *e, const qgc_chain_kernel *k);
void qgc_emit_chain_chunks(qgc_chain_emitter *c, const qgc_chain_emitter *base,
                           LLVMValueRef channel);

#endif

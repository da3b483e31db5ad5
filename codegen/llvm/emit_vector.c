/* What the kernels share: dot products, rounding, the epilogue of a tile. */
#include "codegen/llvm/emit.h"

LLVMTypeRef qgc_emit_vector(LLVMTypeRef element, uint32_t lanes)
{
    return LLVMVectorType(element, lanes);
}

/* Of i16 pairs. */
static const char *multiply_add(uint32_t lanes)
{
    return lanes == 4   ? "llvm.x86.sse2.pmadd.wd"
           : lanes == 8 ? "llvm.x86.avx2.pmadd.wd"
                        : "llvm.x86.avx512.pmaddw.d.512";
}

/* Widened: even and odd bytes as i16 pairs; u8 * s8 fits i16 * i16 -> i32 exactly. */
static LLVMValueRef emit_widened_dot(qgc_emitter *e, uint32_t lanes, LLVMValueRef acc,
                                     LLVMValueRef a, LLVMValueRef w)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef vi16 = LLVMVectorType(e->i16, lanes * 2);
    LLVMValueRef a16 = LLVMBuildBitCast(b, a, vi16, "");
    LLVMValueRef w16 = LLVMBuildBitCast(b, w, vi16, "");
    LLVMValueRef eight = qgc_emit_splat(e, LLVMConstInt(e->i16, 8, false), lanes * 2);
    LLVMValueRef low_byte = qgc_emit_splat(e, LLVMConstInt(e->i16, 255, false), lanes * 2);
    LLVMValueRef even_args[] = {LLVMBuildAnd(b, a16, low_byte, ""),
                                LLVMBuildAShr(b, LLVMBuildShl(b, w16, eight, ""), eight, "")};
    LLVMValueRef odd_args[] = {LLVMBuildLShr(b, a16, eight, ""), LLVMBuildAShr(b, w16, eight, "")};
    const char *madd = multiply_add(lanes);
    LLVMValueRef even = qgc_emit_intrinsic(e, madd, NULL, 0, even_args, 2);
    LLVMValueRef odd = qgc_emit_intrinsic(e, madd, NULL, 0, odd_args, 2);
    return LLVMBuildAdd(b, acc, LLVMBuildAdd(b, even, odd, ""), "");
}

static LLVMValueRef emit_x86_dot(qgc_emitter *e, uint32_t lanes, LLVMValueRef acc, LLVMValueRef a,
                                 LLVMValueRef w)
{
    LLVMValueRef args[] = {acc, a, w};
    const char *dot = lanes == 4   ? "llvm.x86.avx512.vpdpbusd.128"
                      : lanes == 8 ? "llvm.x86.avx512.vpdpbusd.256"
                                   : "llvm.x86.avx512.vpdpbusd.512";
    return qgc_emit_intrinsic(e, dot, NULL, 0, args, 3);
}

/* NEON: vectors of 16 bytes. */

static LLVMValueRef emit_neon_dot(qgc_emitter *e, const char *name, LLVMValueRef acc,
                                  LLVMValueRef a, LLVMValueRef w)
{
    LLVMTypeRef types[] = {LLVMVectorType(e->i32, 4), LLVMVectorType(e->i8, 16)};
    LLVMValueRef args[] = {acc, a, w};
    return qgc_emit_intrinsic(e, name, types, 2, args, 3);
}

/* s8 * s8 fits i16; pairs are added in i32, twice. */
static LLVMValueRef emit_smull_dot(qgc_emitter *e, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef w)
{
    LLVMTypeRef types[] = {LLVMVectorType(e->i32, 4), LLVMVectorType(e->i16, 8)};
    LLVMValueRef pairs[2];
    for (uint32_t half = 0; half < 2; half++) {
        LLVMValueRef args[] = {qgc_emit_part(e, a, 8 * half, 8), qgc_emit_part(e, w, 8 * half, 8)};
        LLVMValueRef products =
            qgc_emit_intrinsic(e, "llvm.aarch64.neon.smull", &types[1], 1, args, 2);
        pairs[half] = qgc_emit_intrinsic(e, "llvm.aarch64.neon.saddlp", types, 2, &products, 1);
    }
    LLVMValueRef sums = qgc_emit_intrinsic(e, "llvm.aarch64.neon.addp", types, 1, pairs, 2);
    return LLVMBuildAdd(e->builder, acc, sums, "");
}

static LLVMValueRef emit_signed_dot(qgc_emitter *e, LLVMValueRef acc, LLVMValueRef a,
                                    LLVMValueRef w)
{
    return e->level->dot == QGC_DOT_SMULL ? emit_smull_dot(e, acc, a, w)
                                          : emit_neon_dot(e, "llvm.aarch64.neon.sdot", acc, a, w);
}

LLVMValueRef qgc_emit_raw_dot(qgc_emitter *e, uint32_t lanes, LLVMValueRef acc, LLVMValueRef a,
                              LLVMValueRef w)
{
    if (e->level->dot == QGC_DOT_WIDEN)
        return emit_widened_dot(e, lanes, acc, a, w);
    if (e->level->arch == QGC_ARCH_X86_64)
        return emit_x86_dot(e, lanes, acc, a, w);
    LLVMTypeRef bytes = LLVMVectorType(e->i8, 16);
    a = LLVMBuildBitCast(e->builder, a, bytes, "");
    w = LLVMBuildBitCast(e->builder, w, bytes, "");
    if (e->level->dot == QGC_DOT_USDOT)
        return emit_neon_dot(e, "llvm.aarch64.neon.usdot", acc, a, w);
    LLVMValueRef sign = qgc_emit_splat(e, LLVMConstInt(e->i8, 0x80, false), 16);
    return emit_signed_dot(e, acc, LLVMBuildXor(e->builder, a, sign, ""), w);
}

LLVMValueRef qgc_emit_dot(qgc_emitter *e, uint32_t lanes, LLVMValueRef acc, LLVMValueRef a,
                          LLVMValueRef w)
{
    acc = qgc_emit_raw_dot(e, lanes, acc, a, w);
    if (!qgc_level_target(e->level).has_signed_dot)
        return acc;
    /* - (-128 * w) */
    LLVMValueRef low = qgc_emit_splat(e, LLVMConstInt(e->i8, 0x80, false), 16);
    w = LLVMBuildBitCast(e->builder, w, LLVMTypeOf(low), "");
    LLVMValueRef more = emit_signed_dot(e, LLVMConstNull(LLVMTypeOf(acc)), low, w);
    return LLVMBuildSub(e->builder, acc, more, "");
}

LLVMValueRef qgc_emit_byte_pair_dot(qgc_emitter *e, uint32_t lanes, LLVMValueRef acc,
                                    LLVMValueRef a, LLVMValueRef w)
{
    const char *name = lanes == 4   ? "llvm.x86.ssse3.pmadd.ub.sw.128"
                       : lanes == 8 ? "llvm.x86.avx2.pmadd.ub.sw"
                                    : "llvm.x86.avx512.pmaddubs.w.512";
    LLVMTypeRef bytes = LLVMVectorType(e->i8, 4 * lanes);
    LLVMValueRef args[] = {LLVMBuildBitCast(e->builder, a, bytes, ""),
                           LLVMBuildBitCast(e->builder, w, bytes, "")};
    LLVMValueRef sums = qgc_emit_intrinsic(e, name, NULL, 0, args, 2);
    LLVMValueRef ones = qgc_emit_splat(e, LLVMConstInt(e->i16, 1, false), 2 * lanes);
    LLVMValueRef pairs[] = {sums, ones};
    return LLVMBuildAdd(e->builder, acc,
                        qgc_emit_intrinsic(e, multiply_add(lanes), NULL, 0, pairs, 2), "");
}

static LLVMValueRef emit_neon_pair_dot(qgc_emitter *e, LLVMValueRef acc, LLVMValueRef a,
                                       LLVMValueRef w)
{
    LLVMTypeRef vi32 = LLVMVectorType(e->i32, 4);
    LLVMValueRef products[2];
    for (uint32_t half = 0; half < 2; half++) {
        LLVMValueRef args[] = {qgc_emit_part(e, a, 4 * half, 4), qgc_emit_part(e, w, 4 * half, 4)};
        products[half] = qgc_emit_intrinsic(e, "llvm.aarch64.neon.smull", &vi32, 1, args, 2);
    }
    LLVMValueRef sums = qgc_emit_intrinsic(e, "llvm.aarch64.neon.addp", &vi32, 1, products, 2);
    return LLVMBuildAdd(e->builder, acc, sums, "");
}

LLVMValueRef qgc_emit_pair_dot(qgc_emitter *e, uint32_t lanes, LLVMValueRef acc, LLVMValueRef a,
                               LLVMValueRef w)
{
    static const char *const dots[] = {"llvm.x86.avx512.vpdpwssd.128",
                                       "llvm.x86.avx512.vpdpwssd.256",
                                       "llvm.x86.avx512.vpdpwssd.512"};
    LLVMTypeRef words = LLVMVectorType(e->i16, 2 * lanes);
    bool has_dot = e->level->dot == QGC_DOT_VNNI256 || e->level->dot == QGC_DOT_VNNI512;
    if (has_dot) {
        LLVMValueRef args[] = {acc, a, w};
        return qgc_emit_intrinsic(e, dots[lanes / 8], NULL, 0, args, 3);
    }
    a = LLVMBuildBitCast(e->builder, a, words, "");
    w = LLVMBuildBitCast(e->builder, w, words, "");
    if (e->level->arch == QGC_ARCH_AARCH64)
        return emit_neon_pair_dot(e, acc, a, w);
    LLVMValueRef args[] = {a, w};
    return LLVMBuildAdd(e->builder, acc,
                        qgc_emit_intrinsic(e, multiply_add(lanes), NULL, 0, args, 2), "");
}

LLVMValueRef qgc_emit_part(qgc_emitter *e, LLVMValueRef vector, uint32_t first, uint32_t num)
{
    LLVMValueRef indices[64];
    for (uint32_t i = 0; i < num; i++)
        indices[i] = qgc_emit_i32(e, (int32_t)(first + i));
    return LLVMBuildShuffleVector(e->builder, vector, LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(indices, num), "");
}

void qgc_emit_store_part(qgc_emitter *e, LLVMValueRef vector, uint32_t size, int64_t num,
                         LLVMValueRef address)
{
    if (num >= size) {
        qgc_emit_store(e, vector, address, 1);
        return;
    }
    int64_t bytes = LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(vector))) / 8;
    uint32_t first = 0;
    for (uint32_t part = size / 2; part; part /= 2) {
        if (!(num & part))
            continue;
        qgc_emit_store(e, qgc_emit_part(e, vector, first, part),
                       qgc_emit_at_const(e, address, first * bytes), 1);
        first += part;
    }
}

/* ---- weights to come ---- */

uint32_t qgc_emit_share_shift(int64_t tiles)
{
    uint32_t shift = 0;
    while (tiles >> (shift + 1))
        shift++;
    return shift;
}

LLVMValueRef qgc_emit_share(qgc_emitter *e, LLVMValueRef ahead, LLVMValueRef index, int64_t bytes,
                            uint32_t shift)
{
    return qgc_emit_at(e, ahead, qgc_emit_mul_const(e, index, bytes >> shift));
}

void qgc_emit_fetch(qgc_emitter *e, LLVMValueRef share, uint32_t shift, LLVMValueRef done,
                    int64_t bytes)
{
    enum { READ, L2 = 2, DATA = 1, LINE = 64 };
    LLVMValueRef at = LLVMBuildLShr(e->builder, done, qgc_emit_i64(e, shift), "");
    for (int64_t line = 0; line == 0 || line < bytes >> shift; line += LINE) {
        LLVMValueRef args[] = {qgc_emit_at_const(e, qgc_emit_at(e, share, at), line),
                               qgc_emit_i32(e, READ), qgc_emit_i32(e, L2), qgc_emit_i32(e, DATA)};
        qgc_emit_intrinsic(e, "llvm.prefetch", &e->ptr, 1, args, 4);
    }
}

/* ---- rounding ---- */

LLVMValueRef qgc_emit_convert(qgc_emitter *e, uint32_t lanes, LLVMValueRef f)
{
    if (lanes < 4) { /* in the low lanes: the others of what is widened do not matter */
        LLVMValueRef indices[4];
        for (uint32_t i = 0; i < 4; i++)
            indices[i] = qgc_emit_i32(e, (int32_t)(i < lanes ? i : 0));
        f = LLVMBuildShuffleVector(e->builder, f, LLVMGetPoison(LLVMTypeOf(f)),
                                   LLVMConstVector(indices, 4), "");
        return qgc_emit_part(e, qgc_emit_convert(e, 4, f), 0, lanes);
    }
    LLVMTypeRef overloads[] = {LLVMVectorType(e->i32, lanes), LLVMVectorType(e->f32, lanes)};
    if (e->level->arch == QGC_ARCH_AARCH64)
        return qgc_emit_intrinsic(e, "llvm.aarch64.neon.fcvtns", overloads, 2, &f, 1);
    if (lanes == 4)
        return qgc_emit_intrinsic(e, "llvm.x86.sse2.cvtps2dq", NULL, 0, &f, 1);
    if (lanes == 8)
        return qgc_emit_intrinsic(e, "llvm.x86.avx.cvt.ps2dq.256", NULL, 0, &f, 1);
    return qgc_emit_intrinsic(e, "llvm.lrint", overloads, 2, &f, 1);
}

/* a < b ? a : b and its like are one instruction each. */
static LLVMValueRef emit_select(qgc_emitter *e, LLVMRealPredicate predicate, LLVMValueRef a,
                                LLVMValueRef b)
{
    return LLVMBuildSelect(e->builder, LLVMBuildFCmp(e->builder, predicate, a, b, ""), a, b, "");
}

static LLVMValueRef emit_clamp(qgc_emitter *e, const qgc_epilogue *p, uint32_t lanes,
                               LLVMValueRef f)
{
    if (p->has_nan) {
        LLVMValueRef nan = qgc_emit_splat(e, qgc_emit_f32(e, (float)p->nan), lanes);
        LLVMValueRef is_nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, f, f, "");
        f = LLVMBuildSelect(e->builder, is_nan, nan, f, "");
    }
    LLVMValueRef lo = qgc_emit_splat(e, qgc_emit_f32(e, (float)(p->lo - p->zero_point)), lanes);
    LLVMValueRef hi = qgc_emit_splat(e, qgc_emit_f32(e, (float)(p->hi - p->zero_point)), lanes);
    return emit_select(e, LLVMRealOLT, emit_select(e, LLVMRealOGT, f, lo), hi);
}

LLVMValueRef qgc_emit_round(qgc_emitter *e, const qgc_epilogue *p, uint32_t lanes, LLVMValueRef f)
{
    return qgc_emit_convert(e, lanes, emit_clamp(e, p, lanes, f));
}

/* ---- the epilogue of a block ---- */

/* Bytes of a block in natural order to the i32 lanes of vector |v|. */
static LLVMValueRef emit_spread(qgc_emitter *e, const qgc_emit_channels *c, LLVMValueRef bytes,
                                uint32_t v)
{
    LLVMValueRef indices[16];
    for (uint32_t l = 0; l < c->lanes; l++)
        indices[l] = qgc_emit_i32(e, (int32_t)qgc_block_channel(c->vectors, c->lanes, v, l));
    LLVMValueRef some = LLVMBuildShuffleVector(e->builder, bytes, LLVMGetPoison(LLVMTypeOf(bytes)),
                                               LLVMConstVector(indices, c->lanes), "");
    return LLVMBuildZExt(e->builder, some, LLVMVectorType(e->i32, c->lanes), "");
}

/* What vector |v| of a block is multiplied with and shifted by; NULL: by nothing. */
typedef struct factors {
    LLVMValueRef multiplier, bias, addend_multiplier;
} factors;

static LLVMValueRef emit_list(qgc_emitter *e, const qgc_emit_channels *c, LLVMValueRef list,
                              uint32_t v)
{
    LLVMTypeRef vf32 = LLVMVectorType(e->f32, c->lanes);
    return qgc_emit_load(e, vf32, qgc_emit_at_const(e, list, (int64_t)v * c->lanes * 4), 4);
}

static factors emit_factors(qgc_emitter *e, const qgc_emit_channels *c, uint32_t v)
{
    const qgc_epilogue *p = c->epilogue;
    return (factors){emit_list(e, c, c->multipliers, v),
                     p->is_shifted || p->has_bias ? emit_list(e, c, c->bias, v) : NULL,
                     p->has_addend ? emit_list(e, c, c->addend_multipliers, v) : NULL};
}

/* f32(acc) * m */
static LLVMValueRef emit_product(qgc_emitter *e, const qgc_emit_channels *c, LLVMValueRef acc,
                                 const factors *by)
{
    LLVMTypeRef vf32 = LLVMTypeOf(by->multiplier);
    if (!c->epilogue->is_shifted)
        return LLVMBuildFMul(e->builder, LLVMBuildSIToFP(e->builder, acc, vf32, ""), by->multiplier,
                             "");
    LLVMValueRef args[] = {LLVMBuildBitCast(e->builder, acc, vf32, ""), by->multiplier, by->bias};
    return qgc_emit_intrinsic(e, "llvm.fma", &vf32, 1, args, 3);
}

/* Vector |v| of a pixel's sums to integers without the zero point. */
static LLVMValueRef emit_integers(qgc_emitter *e, const qgc_emit_channels *c, LLVMValueRef acc,
                                  const factors *by, LLVMValueRef addend, uint32_t v)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef vf32 = LLVMTypeOf(by->multiplier);
    LLVMValueRef f = emit_product(e, c, acc, by);
    if (addend) {
        LLVMValueRef q = emit_spread(e, c, addend, v);
        LLVMValueRef z =
            qgc_emit_splat(e, qgc_emit_i32(e, c->epilogue->addend_zero_point), c->lanes);
        q = LLVMBuildSIToFP(b, LLVMBuildSub(b, q, z, ""), vf32, "");
        f = LLVMBuildFAdd(b, f, LLVMBuildFMul(b, q, by->addend_multiplier, ""), "");
    }
    if (c->epilogue->has_bias)
        f = LLVMBuildFAdd(b, f, by->bias, "");
    if (!c->epilogue->is_small)
        f = emit_clamp(e, c->epilogue, c->lanes, f);
    return qgc_emit_convert(e, c->lanes, f);
}

/* i32 to i16 or i16 to u8, saturating: on x86 within each 16 bytes. */
typedef struct narrowing {
    const char *x86[3], *neon;
} narrowing;
static const narrowing to_i16 = {
    {"llvm.x86.sse2.packssdw.128", "llvm.x86.avx2.packssdw", "llvm.x86.avx512.packssdw.512"},
    "llvm.aarch64.neon.sqxtn"};
static const narrowing to_u8 = {
    {"llvm.x86.sse2.packuswb.128", "llvm.x86.avx2.packuswb", "llvm.x86.avx512.packuswb.512"},
    "llvm.aarch64.neon.sqxtun"};

static LLVMValueRef emit_neon_pack(qgc_emitter *e, const char *name, LLVMValueRef low,
                                   LLVMValueRef high)
{
    unsigned num = LLVMGetVectorSize(LLVMTypeOf(low));
    LLVMTypeRef half = LLVMVectorType(num == 4 ? e->i16 : e->i8, num);
    LLVMValueRef halves[] = {qgc_emit_intrinsic(e, name, &half, 1, &low, 1),
                             qgc_emit_intrinsic(e, name, &half, 1, &high, 1)};
    LLVMValueRef indices[16];
    for (unsigned i = 0; i < 2 * num; i++)
        indices[i] = qgc_emit_i32(e, (int32_t)i);
    return LLVMBuildShuffleVector(e->builder, halves[0], halves[1],
                                  LLVMConstVector(indices, 2 * num), "");
}

static LLVMValueRef emit_pack(qgc_emitter *e, const narrowing *names, LLVMValueRef low,
                              LLVMValueRef high)
{
    if (e->level->arch == QGC_ARCH_AARCH64)
        return emit_neon_pack(e, names->neon, low, high);
    uint32_t bits = LLVMGetVectorSize(LLVMTypeOf(low)) *
                    LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(low)));
    LLVMValueRef args[] = {low, high};
    return qgc_emit_intrinsic(e, names->x86[bits / 256], NULL, 0, args, 2);
}

static LLVMValueRef emit_bound(qgc_emitter *e, const char *name, LLVMValueRef x, int32_t bound)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef constant =
        LLVMConstInt(LLVMGetElementType(type), (unsigned long long)(int64_t)bound, true);
    LLVMValueRef args[] = {x, qgc_emit_splat(e, constant, LLVMGetVectorSize(type))};
    return qgc_emit_intrinsic(e, name, &type, 1, args, 2);
}

/* i32 -> i16 -> u8, saturating: four vectors in natural order. */
static LLVMValueRef emit_half(qgc_emitter *e, const qgc_epilogue *p, LLVMValueRef *i)
{
    LLVMValueRef half = emit_pack(e, &to_i16, i[0], i[1]);
    return p->zero_point ? emit_bound(e, "llvm.sadd.sat", half, p->zero_point) : half;
}

static LLVMValueRef emit_halves(qgc_emitter *e, const qgc_epilogue *p, LLVMValueRef low,
                                LLVMValueRef high)
{
    LLVMValueRef bytes = emit_pack(e, &to_u8, low, high);
    if (p->lo > 0)
        bytes = emit_bound(e, "llvm.umax", bytes, p->lo);
    return p->hi < 255 ? emit_bound(e, "llvm.umin", bytes, p->hi) : bytes;
}

static LLVMValueRef emit_pack2(qgc_emitter *e, const qgc_epilogue *p, LLVMValueRef *i)
{
    LLVMValueRef x = emit_pack(e, &to_i16, i[0], i[1]);
    x = emit_bound(e, "llvm.sadd.sat", x, p->zero_point);
    x = emit_bound(e, "llvm.smin", emit_bound(e, "llvm.smax", x, p->lo), p->hi);
    LLVMTypeRef bytes = LLVMVectorType(e->i8, LLVMGetVectorSize(LLVMTypeOf(x)));
    return LLVMBuildTrunc(e->builder, x, bytes, "");
}

static LLVMValueRef emit_narrow(qgc_emitter *e, const qgc_emit_channels *c, LLVMValueRef i)
{
    const qgc_epilogue *p = c->epilogue;
    LLVMValueRef zero_point = qgc_emit_splat(e, qgc_emit_i32(e, p->zero_point), c->lanes);
    i = LLVMBuildAdd(e->builder, i, zero_point, "");
    if (p->is_small)
        i = emit_bound(e, "llvm.smin", emit_bound(e, "llvm.smax", i, p->lo), p->hi);
    return LLVMBuildTrunc(e->builder, i, LLVMVectorType(e->i8, c->lanes), "");
}

/* The sums in natural order: runs of four channels. */
static void emit_store_sums(qgc_emitter *e, const qgc_emit_channels *c, LLVMValueRef *acc,
                            LLVMValueRef out, int64_t channels)
{
    uint32_t run = c->vectors == 2 || c->vectors == 4 ? 4 : c->lanes;
    for (uint32_t v = 0; v < c->vectors; v++)
        for (uint32_t l = 0; l < c->lanes; l += run) {
            int64_t first = qgc_block_channel(c->vectors, c->lanes, v, l);
            if (first < channels)
                qgc_emit_store_part(e, qgc_emit_part(e, acc[v], l, run), run, channels - first,
                                    qgc_emit_at_const(e, out, first * 4));
        }
}

/* A pixel's integers as bytes at |out|. */
static void emit_store_bytes(qgc_emitter *e, const qgc_emit_channels *c, LLVMValueRef *i,
                             LLVMValueRef out, int64_t channels)
{
    uint32_t size = c->vectors * c->lanes;
    if (c->vectors == 2 || c->vectors == 4) {
        LLVMValueRef bytes = c->vectors == 2
                                 ? emit_pack2(e, c->epilogue, i)
                                 : emit_halves(e, c->epilogue, emit_half(e, c->epilogue, i),
                                               emit_half(e, c->epilogue, i + 2));
        qgc_emit_store_part(e, bytes, size, channels, out);
        return;
    }
    for (uint32_t v = 0; v < c->vectors; v++) {
        int64_t first = (int64_t)v * c->lanes;
        if (first < channels)
            qgc_emit_store_part(e, emit_narrow(e, c, i[v]), c->lanes, channels - first,
                                qgc_emit_at_const(e, out, first));
    }
}

/* A vector's factors are loaded once for all pixels. */
static void emit_by_vector(qgc_emitter *e, const qgc_emit_channels *c, uint32_t pixels,
                           LLVMValueRef *acc, const qgc_emit_place *places, int64_t channels)
{
    for (uint32_t v = 0; v < c->vectors; v++) {
        factors by = emit_factors(e, c, v);
        for (uint32_t i = v; i < pixels * c->vectors; i += c->vectors)
            acc[i] = emit_integers(e, c, acc[i], &by, NULL, v);
    }
    for (uint32_t p = 0; p < pixels; p++)
        emit_store_bytes(e, c, acc + (size_t)p * c->vectors, places[p].out, channels);
}

/* Of four vectors those of two at a time, so that packing, which has one port, is spread. */
static void emit_by_half(qgc_emitter *e, const qgc_emit_channels *c, uint32_t pixels,
                         LLVMValueRef *acc, const qgc_emit_place *places, int64_t channels)
{
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t v = 2 * half;
        factors by[] = {emit_factors(e, c, v), emit_factors(e, c, v + 1)};
        for (uint32_t p = 0; p < pixels; p++) {
            LLVMValueRef *sums = acc + (size_t)4 * p + v;
            for (uint32_t i = 0; i < 2; i++)
                sums[i] = emit_integers(e, c, sums[i], &by[i], NULL, v + i);
            *sums = emit_half(e, c->epilogue, sums);
            if (half)
                qgc_emit_store_part(e, emit_halves(e, c->epilogue, sums[-2], *sums), 4 * c->lanes,
                                    channels, places[p].out);
        }
        qgc_emit_fence(e);
    }
}

/* With an addend there are no registers for both its bytes and all the sums. */
static void emit_by_pixel(qgc_emitter *e, const qgc_emit_channels *c, LLVMValueRef *acc,
                          const qgc_emit_place *place, int64_t channels)
{
    LLVMTypeRef type = LLVMVectorType(e->i8, c->vectors * c->lanes);
    LLVMValueRef addend = place->addend ? qgc_emit_load(e, type, place->addend, 1) : NULL;
    for (uint32_t v = 0; v < c->vectors; v++) {
        factors by = emit_factors(e, c, v);
        acc[v] = emit_integers(e, c, acc[v], &by, addend, v);
    }
    emit_store_bytes(e, c, acc, place->out, channels);
}

void qgc_emit_finish_tile(qgc_emitter *e, const qgc_emit_channels *c, uint32_t pixels,
                          LLVMValueRef *acc, const qgc_emit_place *places, int64_t channels)
{
    const qgc_epilogue *epilogue = c->epilogue;
    /* narrowing on aarch64 takes a register more than its operands have */
    bool by_pixel = epilogue->has_addend || e->level->arch == QGC_ARCH_AARCH64;
    if (!epilogue->is_raw && !by_pixel) {
        (c->vectors == 4 ? emit_by_half : emit_by_vector)(e, c, pixels, acc, places, channels);
        return;
    }
    for (uint32_t p = 0; p < pixels; p++, acc += c->vectors)
        if (epilogue->is_raw)
            emit_store_sums(e, c, acc, places[p].out, channels);
        else
            emit_by_pixel(e, c, acc, &places[p], channels);
}

/* ---- pixels ---- */

LLVMValueRef qgc_emit_pixel(qgc_emitter *e, const qgc_emit_image *map, const qgc_pixels *pixels,
                            LLVMValueRef base, LLVMValueRef index)
{
    base = qgc_emit_at_const(e, base, pixels->first);
    if (qgc_pixels_are_flat(pixels, map->images, map->height, map->width))
        return qgc_emit_at(e, base, qgc_emit_mul_const(e, index, pixels->pixel));
    LLVMValueRef width = qgc_emit_i64(e, map->width), height = qgc_emit_i64(e, map->height);
    LLVMValueRef row = LLVMBuildUDiv(e->builder, index, width, "");
    LLVMValueRef x = LLVMBuildURem(e->builder, index, width, "");
    LLVMValueRef image = LLVMBuildUDiv(e->builder, row, height, "");
    row = LLVMBuildURem(e->builder, row, height, "");
    base = qgc_emit_at(e, base, qgc_emit_mul_const(e, image, pixels->image));
    base = qgc_emit_at(e, base, qgc_emit_mul_const(e, row, pixels->row));
    return qgc_emit_at(e, base, qgc_emit_mul_const(e, x, pixels->pixel));
}

LLVMValueRef qgc_emit_row_address(qgc_emitter *e, const qgc_pixels *pixels, LLVMValueRef base,
                                  LLVMValueRef image, LLVMValueRef row)
{
    base = qgc_emit_at_const(e, base, pixels->first);
    if (image)
        base = qgc_emit_at(e, base, qgc_emit_mul_const(e, image, pixels->image));
    return qgc_emit_at(e, base, qgc_emit_mul_const(e, row, pixels->row));
}

void qgc_emit_blocks(qgc_emitter *e, int64_t outputs, uint32_t tile_vectors,
                     qgc_emit_block_fn *block, const void *user)
{
    int64_t lanes = e->level->lanes, size = tile_vectors * lanes, rest = outputs % size;
    if (outputs > rest) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, outputs - rest), size);
        block(user, loop.index, tile_vectors, size);
        qgc_loop_end(e, &loop);
    }
    if (rest)
        block(user, qgc_emit_i64(e, outputs - rest), (uint32_t)((rest + lanes - 1) / lanes), rest);
}

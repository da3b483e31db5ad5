/* What the kernels share: dot products, rounding, the epilogue of a block of channels. */
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

/* f32(acc) * m */
static LLVMValueRef emit_product(qgc_emitter *e, const qgc_emit_channels *c, LLVMValueRef acc,
                                 LLVMValueRef m, int64_t offset)
{
    LLVMTypeRef vf32 = LLVMTypeOf(m);
    if (!c->epilogue->is_shifted)
        return LLVMBuildFMul(e->builder, LLVMBuildSIToFP(e->builder, acc, vf32, ""), m, "");
    LLVMValueRef shift = qgc_emit_load(e, vf32, qgc_emit_at_const(e, c->bias, offset), 4);
    LLVMValueRef args[] = {LLVMBuildBitCast(e->builder, acc, vf32, ""), m, shift};
    return qgc_emit_intrinsic(e, "llvm.fma", &vf32, 1, args, 3);
}

static LLVMValueRef emit_float(qgc_emitter *e, const qgc_emit_channels *c, LLVMValueRef acc,
                               LLVMValueRef addend, uint32_t v)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef vf32 = LLVMVectorType(e->f32, c->lanes);
    int64_t offset = (int64_t)v * c->lanes * 4;
    LLVMValueRef m = qgc_emit_load(e, vf32, qgc_emit_at_const(e, c->multipliers, offset), 4);
    LLVMValueRef f = emit_product(e, c, acc, m, offset);
    if (addend) {
        LLVMValueRef q = emit_spread(e, c, addend, v);
        LLVMValueRef z =
            qgc_emit_splat(e, qgc_emit_i32(e, c->epilogue->addend_zero_point), c->lanes);
        m = qgc_emit_load(e, vf32, qgc_emit_at_const(e, c->addend_multipliers, offset), 4);
        q = LLVMBuildSIToFP(b, LLVMBuildSub(b, q, z, ""), vf32, "");
        f = LLVMBuildFAdd(b, f, LLVMBuildFMul(b, q, m, ""), "");
    }
    if (c->epilogue->has_bias)
        f = LLVMBuildFAdd(b, f, qgc_emit_load(e, vf32, qgc_emit_at_const(e, c->bias, offset), 4),
                          "");
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
static LLVMValueRef emit_pack4(qgc_emitter *e, const qgc_epilogue *p, LLVMValueRef *i)
{
    LLVMValueRef half[2];
    for (size_t k = 0; k < 2; k++) {
        half[k] = emit_pack(e, &to_i16, i[2 * k], i[2 * k + 1]);
        if (p->zero_point)
            half[k] = emit_bound(e, "llvm.sadd.sat", half[k], p->zero_point);
    }
    LLVMValueRef bytes = emit_pack(e, &to_u8, half[0], half[1]);
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

void qgc_emit_finish_block(qgc_emitter *e, const qgc_emit_channels *c, LLVMValueRef *acc,
                           LLVMValueRef addend, LLVMValueRef out, int64_t channels)
{
    enum { MAX_VECTORS = 4 };
    LLVMValueRef i[MAX_VECTORS], bytes = NULL;
    uint32_t size = c->vectors * c->lanes;
    if (c->epilogue->is_raw) {
        emit_store_sums(e, c, acc, out, channels);
        return;
    }
    if (addend)
        bytes = qgc_emit_load(e, LLVMVectorType(e->i8, size), addend, 1);
    for (uint32_t v = 0; v < c->vectors; v++)
        i[v] = emit_float(e, c, acc[v], bytes, v);
    if (c->vectors == 2 || c->vectors == 4) {
        bytes = c->vectors == 4 ? emit_pack4(e, c->epilogue, i) : emit_pack2(e, c->epilogue, i);
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

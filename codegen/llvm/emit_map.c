/* Elementwise requantize: rows of vectors, then of what is left of them in halves. */
#include "codegen/llvm/emit.h"

enum { MAX_INPUTS = QGC_MAP_MAX_TERMS + 2 };

typedef struct map {
    qgc_emitter *e;
    const qgc_map_kernel *k;
    LLVMValueRef in[MAX_INPUTS], out;
    const qgc_map_operand *operands[MAX_INPUTS];
    uint32_t num_inputs;
} map;

/* Addresses at the start of a row. */
typedef struct row {
    LLVMValueRef in[MAX_INPUTS], out;
} row;

static LLVMTypeRef element_type(qgc_emitter *e, qgc_dtype dtype)
{
    if (dtype == QGC_DTYPE_F32)
        return e->f32;
    return LLVMIntTypeInContext(e->context, (unsigned)qgc_dtype_bytes(dtype) * 8);
}

/* |lanes| elements from |index| (of the innermost loop). |more|: bytes further. */
static LLVMValueRef emit_elements(map *m, const qgc_map_operand *o, LLVMValueRef base,
                                  LLVMValueRef index, uint32_t lanes, int64_t more)
{
    qgc_emitter *e = m->e;
    int64_t stride = o->strides[m->k->rank - 1];
    LLVMTypeRef type = element_type(e, o->dtype);
    base = qgc_emit_at_const(e, base, more);
    if (!stride)
        return qgc_emit_splat(e, qgc_emit_load(e, type, base, 1), lanes);
    LLVMValueRef at = qgc_emit_at(e, base, qgc_emit_mul_const(e, index, stride));
    return qgc_emit_load(e, LLVMVectorType(type, lanes), at, 1);
}

static bool is_unsigned(qgc_dtype dtype)
{
    return dtype == QGC_DTYPE_U8 || dtype == QGC_DTYPE_U16;
}

/* t - z as integers: exact, in i64 where i32 might not hold it or |is_wide|. */
static LLVMValueRef emit_difference(map *m, uint32_t t, const row *r, LLVMValueRef index,
                                    uint32_t lanes, bool is_wide)
{
    qgc_emitter *e = m->e;
    const qgc_map_operand *o = &m->k->terms[t];
    int64_t zero_point = m->k->term_zero_points[t], limit = 1 << 30;
    bool is_narrow = qgc_dtype_bytes(o->dtype) <= 2 && -limit <= zero_point && zero_point <= limit;
    bool fits = is_narrow || (o->dtype == QGC_DTYPE_I32 && !zero_point);
    LLVMTypeRef type = LLVMVectorType(fits && !is_wide ? e->i32 : e->i64, lanes);
    LLVMValueRef x = emit_elements(m, o, r->in[t], index, lanes, 0);
    if (LLVMTypeOf(x) != type)
        x = is_unsigned(o->dtype) ? LLVMBuildZExt(e->builder, x, type, "")
                                  : LLVMBuildSExt(e->builder, x, type, "");
    if (!zero_point)
        return x;
    LLVMValueRef z = LLVMConstInt(LLVMGetElementType(type), (unsigned long long)zero_point, true);
    return LLVMBuildSub(e->builder, x, qgc_emit_splat(e, z, lanes), "");
}

/* Of 8-bit factors in i32, else in i64. */
static LLVMValueRef emit_product(map *m, const row *r, LLVMValueRef index, uint32_t lanes)
{
    const qgc_map_operand *terms = m->k->terms;
    bool is_wide = qgc_dtype_bytes(terms[0].dtype) > 1 || qgc_dtype_bytes(terms[1].dtype) > 1;
    LLVMValueRef a = emit_difference(m, 0, r, index, lanes, is_wide);
    LLVMValueRef b = emit_difference(m, 1, r, index, lanes, is_wide);
    return LLVMBuildMul(m->e->builder, a, b, "");
}

static LLVMValueRef emit_term(map *m, uint32_t t, const row *r, LLVMValueRef index, uint32_t lanes)
{
    LLVMValueRef x = m->k->is_product ? emit_product(m, r, index, lanes)
                                      : emit_difference(m, t, r, index, lanes, false);
    return LLVMBuildSIToFP(m->e->builder, x, LLVMVectorType(m->e->f32, lanes), "");
}

static LLVMValueRef emit_sum(map *m, const row *r, LLVMValueRef index, uint32_t lanes)
{
    qgc_emitter *e = m->e;
    const qgc_map_kernel *k = m->k;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef sum = NULL;
    if (k->has_before)
        sum = qgc_emit_splat(e, qgc_emit_f32(e, k->before), lanes);
    for (uint32_t t = 0; t < (k->is_product ? 1 : k->num_terms); t++) {
        LLVMValueRef by = k->has_multipliers
                              ? emit_elements(m, &k->multipliers, r->in[k->num_terms], index, lanes,
                                              t * k->multiplier_step)
                              : qgc_emit_splat(e, qgc_emit_f32(e, k->multiplier_values[t]), lanes);
        LLVMValueRef product = LLVMBuildFMul(b, emit_term(m, t, r, index, lanes), by, "");
        sum = sum ? LLVMBuildFAdd(b, sum, product, "") : product;
    }
    if (k->has_c)
        return LLVMBuildFAdd(
            b, sum, emit_elements(m, &k->c, r->in[m->num_inputs - 1], index, lanes, 0), "");
    if (k->c_value != 0.0f)
        return LLVMBuildFAdd(b, sum, qgc_emit_splat(e, qgc_emit_f32(e, k->c_value), lanes), "");
    return sum;
}

static void emit_lanes(map *m, const row *r, LLVMValueRef index, uint32_t lanes)
{
    qgc_emitter *e = m->e;
    const qgc_map_operand *out = &m->k->out;
    const qgc_epilogue *p = &m->k->epilogue;
    int64_t bytes = (int64_t)qgc_dtype_bytes(out->dtype);
    if (p->is_raw) {
        qgc_emit_store(e, emit_product(m, r, index, lanes),
                       qgc_emit_at(e, r->out, qgc_emit_mul_const(e, index, bytes)), 1);
        return;
    }
    LLVMValueRef i = qgc_emit_round(e, p, lanes, emit_sum(m, r, index, lanes));
    i = LLVMBuildAdd(e->builder, i, qgc_emit_splat(e, qgc_emit_i32(e, p->zero_point), lanes), "");
    i = LLVMBuildTrunc(e->builder, i, LLVMVectorType(element_type(e, out->dtype), lanes), "");
    qgc_emit_store(e, i, qgc_emit_at(e, r->out, qgc_emit_mul_const(e, index, bytes)), 1);
}

/* The |rest| elements from |first|, fewer than a vector. */
static void emit_rest(map *m, const row *r, int64_t first, int64_t rest)
{
    for (uint32_t part = m->e->level->lanes / 2; part; part /= 2)
        if (rest & part) {
            emit_lanes(m, r, qgc_emit_i64(m->e, first), part);
            first += part;
        }
}

/* The address in each operand of row |index|: the outer loops' indices are digits of it. */
static row emit_row(map *m, LLVMValueRef index)
{
    qgc_emitter *e = m->e;
    row r = {.out = qgc_emit_at_const(e, m->out, m->k->out.first)};
    for (uint32_t i = 0; i < m->num_inputs; i++)
        r.in[i] = qgc_emit_at_const(e, m->in[i], m->operands[i]->first);
    for (uint32_t d = m->k->rank - 1; d-- > 0;) {
        LLVMValueRef size = qgc_emit_i64(e, m->k->dims[d]);
        LLVMValueRef digit = d ? LLVMBuildURem(e->builder, index, size, "") : index;
        index = d ? LLVMBuildUDiv(e->builder, index, size, "") : index;
        r.out = qgc_emit_at(e, r.out, qgc_emit_mul_const(e, digit, m->k->out.strides[d]));
        for (uint32_t i = 0; i < m->num_inputs; i++)
            r.in[i] =
                qgc_emit_at(e, r.in[i], qgc_emit_mul_const(e, digit, m->operands[i]->strides[d]));
    }
    return r;
}

static void emit_rows(map *m, LLVMValueRef begin, LLVMValueRef end)
{
    qgc_emitter *e = m->e;
    int64_t size = m->k->dims[m->k->rank - 1], lanes = e->level->lanes,
            whole = size / lanes * lanes;
    qgc_loop rows = {0};
    qgc_loop_begin(e, &rows, begin, end, 1);
    row r = emit_row(m, rows.index);
    if (whole) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), lanes);
        emit_lanes(m, &r, loop.index, (uint32_t)lanes);
        qgc_loop_end(e, &loop);
    }
    emit_rest(m, &r, whole, size - whole);
    qgc_loop_end(e, &rows);
}

/* One loop alone: units are blocks of it, the last of which has the rest. */
static void emit_flat(map *m, LLVMValueRef begin, LLVMValueRef end)
{
    qgc_emitter *e = m->e;
    int64_t size = m->k->dims[0], lanes = e->level->lanes, whole = size / lanes * lanes;
    row r = emit_row(m, begin);
    LLVMValueRef last = qgc_emit_mul_const(e, end, QGC_MAP_BLOCK), all = qgc_emit_i64(e, whole);
    LLVMValueRef is_inside = LLVMBuildICmp(e->builder, LLVMIntSLT, last, all, "");
    qgc_loop loop = {.may_be_empty = true};
    qgc_loop_begin(e, &loop, qgc_emit_mul_const(e, begin, QGC_MAP_BLOCK),
                   LLVMBuildSelect(e->builder, is_inside, last, all, ""), lanes);
    emit_lanes(m, &r, loop.index, (uint32_t)lanes);
    qgc_loop_end(e, &loop);
    if (whole == size)
        return;
    LLVMValueRef units = qgc_emit_i64(e, m->k->base.units);
    qgc_loop rest = {.may_be_empty = true}; /* once, for the last unit */
    qgc_loop_begin(e, &rest, LLVMBuildSub(e->builder, units, qgc_emit_i64(e, 1), ""), end, 1);
    emit_rest(m, &r, whole, size - whole);
    qgc_loop_end(e, &rest);
}

void qgc_emit_map(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    map m = {.e = e, .k = (const qgc_map_kernel *)kernel};
    for (uint32_t i = 0; i < m.k->num_terms; i++)
        m.operands[m.num_inputs++] = &m.k->terms[i];
    if (m.k->has_multipliers)
        m.operands[m.num_inputs++] = &m.k->multipliers;
    if (m.k->has_c)
        m.operands[m.num_inputs++] = &m.k->c;
    for (uint32_t i = 0; i < m.num_inputs; i++)
        m.in[i] = qgc_emit_argument(e, args.in, i);
    m.out = qgc_emit_argument(e, args.out, 0);
    if (m.k->rank == 1)
        emit_flat(&m, args.begin, args.end);
    else
        emit_rows(&m, args.begin, args.end);
    LLVMBuildRetVoid(e->builder);
}

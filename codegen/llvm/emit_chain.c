/* Float convolution, linear and matmul: for block of channels: for row: for tile of pixels: for
 * kernel plane: for kernel row: for kernel column: for channel: acc[p][v] = fma(x[p], w[v],
 * acc[p][v]).
 *
 * Each sum is one chain in the defined order; tiles only put chains side by side. In a tile at the
 * left or right border, a kernel column goes to those of its pixels that have it in bounds. */
#include "codegen/llvm/emit_chain.h"

enum { STRAIGHT_STEPS = 4, MAX_BORDER_TILES = 6 };

typedef qgc_chain_emitter chain;
typedef qgc_chain_tile tile;
typedef qgc_chain_columns columns;

/* ---- loads ---- */

static LLVMValueRef vector_at(chain *c, LLVMValueRef base, uint32_t v)
{
    qgc_emitter *e = c->e;
    LLVMValueRef at = qgc_emit_at_const(e, base, (int64_t)v * c->lanes * 4);
    int64_t left = c->num - (int64_t)v * c->lanes;
    if (!c->k->w_is_input || left >= c->lanes)
        return qgc_emit_load(e, e->vf32, at, 4);
    LLVMValueRef bits[16];
    for (uint32_t i = 0; i < c->lanes; i++)
        bits[i] = LLVMConstInt(LLVMInt1TypeInContext(e->context), i < left, false);
    LLVMTypeRef overloads[] = {e->vf32, e->ptr};
    LLVMValueRef args[] = {at, qgc_emit_i32(e, 4), LLVMConstVector(bits, c->lanes),
                           LLVMConstNull(e->vf32)};
    return qgc_emit_intrinsic(e, "llvm.masked.load", overloads, 2, args, 4);
}

static LLVMValueRef fma_of(chain *c, LLVMValueRef x, LLVMValueRef w, LLVMValueRef acc)
{
    LLVMValueRef args[] = {x, w, acc};
    return qgc_emit_intrinsic(c->e, "llvm.fma", &c->e->vf32, 1, args, 3);
}

/* ---- chains ---- */

/* How many pixels may be read ahead of their products. */
static uint32_t pixels_ahead(const chain *c, const tile *t)
{
    uint32_t used = t->pixels * c->vectors + c->vectors, all = c->e->level->registers;
    uint32_t left = all > used ? all - used : 1;
    QGC_ASSERT(c->vectors, "a block without vectors");
    if (c->vectors == 1) /* the sum may go into what was read */
        left = (left + 1) / 2;
    return c->k->is_depthwise ? (left + c->vectors - 1) / c->vectors : left;
}

/* A tile goes through its share of the next block's weights 2^|shift| times slower than through its
 * own. */
static uint32_t next_shift(const chain *c)
{
    const qgc_chain_kernel *k = c->k;
    int64_t tiles = qgc_chain_rows(k) * ((k->out_w + k->tile_pixels - 1) / k->tile_pixels);
    return qgc_emit_share_shift(tiles);
}

void qgc_emit_chain_next(chain *c, uint32_t pixels, LLVMValueRef x, int64_t bytes, int64_t ahead)
{
    qgc_emitter *e = c->e;
    const qgc_chain_kernel *k = c->k;
    int64_t tiles = (k->out_w + k->tile_pixels - 1) / k->tile_pixels;
    LLVMValueRef tile = LLVMBuildUDiv(e->builder, x, qgc_emit_i64(e, pixels), "");
    tile = LLVMBuildAdd(e->builder, tile, qgc_emit_mul_const(e, c->unit, tiles), "");
    c->next = qgc_emit_share(e, qgc_emit_at_const(e, c->w, ahead), tile, bytes, next_shift(c));
}

/* Where few pixels meet each weight, the next block's have to come while this one's are in use:
 * networks' weights are in no cache that is theirs. */
static void ask_for_next_block(chain *c, uint32_t pixels, LLVMValueRef x)
{
    enum { FEW = 1024 };
    const qgc_chain_kernel *k = c->k;
    int64_t block = qgc_chain_depth(k) * c->vectors * c->lanes * 4;
    bool is_alone = k->out_c <= (int64_t)k->tile_vectors * c->lanes;
    if (!k->w_is_input && !k->is_depthwise && !k->pixels_first && !is_alone &&
        qgc_chain_rows(k) * k->out_w <= FEW)
        qgc_emit_chain_next(c, pixels, x, block, block);
}

/* At the weights |w| of a tile. */
static void prefetch_next(const chain *c, LLVMValueRef w)
{
    qgc_emitter *e = c->e;
    if (!c->next)
        return;
    LLVMValueRef done = LLVMBuildSub(e->builder, LLVMBuildPtrToInt(e->builder, w, e->i64, ""),
                                     LLVMBuildPtrToInt(e->builder, c->w, e->i64, ""), "");
    qgc_emit_fetch(e, c->next, next_shift(c), done, 0);
}

/* One channel of one tap, of some pixels. */
static void emit_channel(chain *c, const tile *t, const columns *s, LLVMValueRef in, LLVMValueRef w,
                         LLVMValueRef *acc)
{
    qgc_emitter *e = c->e;
    LLVMValueRef weights[QGC_CHAIN_MAX_VECTORS];
    for (uint32_t v = 0; v < c->vectors; v++)
        weights[v] = vector_at(c, w, v);
    uint32_t ahead = pixels_ahead(c, t);
    acc += (size_t)s->from * c->vectors;
    for (uint32_t p = s->from; p < s->to; p++) {
        if (p > s->from && (p - s->from) % ahead == 0)
            qgc_emit_pin(e, acc - (size_t)ahead * c->vectors, ahead * c->vectors);
        LLVMValueRef at = qgc_emit_at_const(e, in, p * c->k->in.pixel), x = NULL;
        if (!c->k->is_depthwise)
            x = qgc_emit_splat(e, qgc_emit_load(e, e->f32, at, 4), c->lanes);
        for (uint32_t v = 0; v < c->vectors; v++, acc++) {
            if (c->k->is_depthwise)
                x = qgc_emit_load(e, e->vf32, qgc_emit_at_const(e, at, (int64_t)v * c->lanes * 4),
                                  4);
            *acc = fma_of(c, x, weights[v], *acc);
        }
    }
}

/* |num| channels that lie together; pinned, or their loads would all come first. */
static void emit_straight(chain *c, const tile *t, const columns *s, LLVMValueRef in,
                          LLVMValueRef w, int64_t num, LLVMValueRef *acc)
{
    for (int64_t i = 0; i < num; i++) {
        qgc_emit_pin(c->e, acc + (size_t)s->from * c->vectors, (s->to - s->from) * c->vectors);
        if (i % 2 == 0)
            prefetch_next(c, qgc_emit_at_const(c->e, w, c->w_row * i));
        emit_channel(c, t, s, qgc_emit_at_const(c->e, in, 4 * i),
                     qgc_emit_at_const(c->e, w, c->w_row * i), acc);
    }
}

void qgc_emit_chain_run(chain *c, const tile *t, const columns *s, LLVMValueRef in, LLVMValueRef w,
                        int64_t num, LLVMValueRef *acc)
{
    enum { UNROLL = 4 };
    qgc_emitter *e = c->e;
    if (num <= STRAIGHT_STEPS) {
        emit_straight(c, t, s, in, w, num, acc);
        return;
    }
    int64_t whole = num / UNROLL * UNROLL;
    uint32_t first = s->from * c->vectors, sums = (s->to - s->from) * c->vectors;
    qgc_loop loop = {.num_carried = sums};
    LLVMValueRef inside[QGC_CHAIN_MAX_SUMS] = {NULL};
    for (uint32_t i = 0; i < sums; i++)
        loop.carried[i] = acc[first + i];
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), UNROLL);
    for (uint32_t i = 0; i < sums; i++)
        inside[first + i] = loop.carried[i];
    emit_straight(c, t, s, qgc_emit_at(e, in, qgc_emit_mul_const(e, loop.index, 4)),
                  qgc_emit_at(e, w, qgc_emit_mul_const(e, loop.index, c->w_row)), UNROLL, inside);
    for (uint32_t i = 0; i < sums; i++)
        loop.carried[i] = inside[first + i];
    qgc_loop_end(e, &loop);
    for (uint32_t i = 0; i < sums; i++)
        acc[first + i] = loop.carried[i];
    emit_straight(c, t, s, qgc_emit_at_const(e, in, 4 * whole),
                  qgc_emit_at_const(e, w, c->w_row * whole), num - whole, acc);
}

/* ---- taps ---- */

/* Taps [range[0], range[1]) of one dimension; inside of them |inner|, at the tap. */
typedef void tap_fn(chain *c, const tile *t, const columns *s, LLVMValueRef in, LLVMValueRef w,
                    LLVMValueRef *acc);

static void emit_taps(chain *c, const tile *t, const columns *s, LLVMValueRef const *range,
                      int64_t in_step, int64_t w_step, LLVMValueRef in, LLVMValueRef w,
                      LLVMValueRef *acc, tap_fn *inner)
{
    qgc_emitter *e = c->e;
    uint32_t num = t->pixels * c->vectors;
    qgc_loop loop = {.num_carried = num, .may_be_empty = c->k->may_miss};
    for (uint32_t i = 0; i < num; i++)
        loop.carried[i] = acc[i];
    qgc_loop_begin(e, &loop, range[0], range[1], 1);
    in = qgc_emit_at(e, in, qgc_emit_mul_const(e, loop.index, in_step));
    w = qgc_emit_at(e, w, qgc_emit_mul_const(e, loop.index, w_step));
    inner(c, t, s, in, w, loop.carried);
    qgc_loop_end(e, &loop);
    for (uint32_t i = 0; i < num; i++)
        acc[i] = loop.carried[i];
}

static void emit_tap(chain *c, const tile *t, const columns *s, LLVMValueRef in, LLVMValueRef w,
                     LLVMValueRef *acc)
{
    qgc_emit_chain_run(c, t, s, in, w, c->k->channels, acc);
}

columns qgc_chain_pixels_of(const chain *c, const tile *t, int64_t tap)
{
    const qgc_chain_kernel *k = c->k;
    columns s = {tap, tap + 1, 0, t->pixels};
    if (!k->first_columns || t->column < 0)
        return s;
    while (s.from < s.to && (tap < k->first_columns[t->column + s.from] ||
                             tap >= k->end_columns[t->column + s.from]))
        s.from++;
    while (s.to > s.from && (tap < k->first_columns[t->column + s.to - 1] ||
                             tap >= k->end_columns[t->column + s.to - 1]))
        s.to--;
    return s;
}

/* Kernel columns that the same pixels have; what lies together in the input is one run. */
static void emit_columns(chain *c, const tile *t, const columns *s, LLVMValueRef in, LLVMValueRef w,
                         LLVMValueRef *acc)
{
    enum { UNROLLED = 8 };
    qgc_emitter *e = c->e;
    const qgc_chain_kernel *k = c->k;
    int64_t num = s->end - s->first, w_tap = k->channels * c->w_row;
    in = qgc_emit_at_const(e, in, s->first * k->tap_column);
    w = qgc_emit_at_const(e, w, s->first * w_tap);
    if (num == 1 || (!k->is_depthwise && k->tap_column == k->channels * 4))
        qgc_emit_chain_run(c, t, s, in, w, num * k->channels, acc);
    else if (k->channels <= 4 && num <= UNROLLED)
        for (int64_t i = 0; i < num; i++)
            qgc_emit_chain_run(c, t, s, qgc_emit_at_const(e, in, i * k->tap_column),
                               qgc_emit_at_const(e, w, i * w_tap), k->channels, acc);
    else
        emit_taps(c, t, s, (LLVMValueRef[]){qgc_emit_i64(e, 0), qgc_emit_i64(e, num)},
                  k->tap_column, w_tap, in, w, acc, emit_tap);
}

static void emit_kernel_row(chain *c, const tile *t, const columns *all, LLVMValueRef in,
                            LLVMValueRef w, LLVMValueRef *acc)
{
    const qgc_chain_kernel *k = c->k;
    if (t->columns[0]) {
        emit_taps(c, t, all, t->columns, k->tap_column, k->channels * c->w_row, in, w, acc,
                  emit_tap);
        return;
    }
    for (int64_t tap = 0; tap < k->kernel_w;) {
        columns s = qgc_chain_pixels_of(c, t, tap), next = s;
        for (; next.from == s.from && next.to == s.to && s.end < k->kernel_w;
             s.end += next.from == s.from && next.to == s.to)
            next = qgc_chain_pixels_of(c, t, s.end);
        if (s.from < s.to)
            emit_columns(c, t, &s, in, w, acc);
        tap = s.end;
    }
}

static void emit_kernel_plane(chain *c, const tile *t, const columns *all, LLVMValueRef in,
                              LLVMValueRef w, LLVMValueRef *acc)
{
    const qgc_chain_kernel *k = c->k;
    if (c->row_taps[0])
        emit_taps(c, t, all, c->row_taps, k->tap_row, k->kernel_w * k->channels * c->w_row, in, w,
                  acc, emit_kernel_row);
    else
        emit_kernel_row(c, t, all, in, w, acc);
}

static void emit_window(chain *c, const tile *t, LLVMValueRef *acc)
{
    const qgc_chain_kernel *k = c->k;
    columns all = {0, k->kernel_w, 0, t->pixels};
    if (c->plane_taps[0])
        emit_taps(c, t, &all, c->plane_taps, k->tap_plane,
                  k->kernel_h * k->kernel_w * k->channels * c->w_row, t->in, c->w, acc,
                  emit_kernel_plane);
    else
        emit_kernel_plane(c, t, &all, t->in, c->w, acc);
}

/* ---- tiles ---- */

static int64_t out_bytes(const qgc_chain_kernel *k)
{
    return k->epilogue ? k->epilogue->out.strides[0] : 4;
}

void qgc_emit_chain_result(chain *c, LLVMValueRef sum, LLVMValueRef x, uint32_t p, uint32_t v)
{
    qgc_emitter *e = c->e;
    const qgc_chain_kernel *k = c->k;
    int64_t first = (int64_t)v * c->lanes;
    LLVMValueRef out = qgc_emit_at(e, c->out, qgc_emit_mul_const(e, x, k->out.pixel));
    out = qgc_emit_at_const(e, out, p * k->out.pixel + first * out_bytes(k));
    if (!k->epilogue) {
        qgc_emit_store_part(e, LLVMBuildBitCast(e->builder, sum, e->vi32, ""), c->lanes,
                            c->num - first, out);
        return;
    }
    qgc_emit_fence(e);
    qgc_epilogue_vector epilogue = {k->epilogue, k->sum_input, sum, {NULL}};
    for (uint32_t i = 0; i < k->epilogue->num_inputs; i++) {
        if (i == k->sum_input)
            continue;
        const qgc_pixels *at = &k->operands[i];
        LLVMValueRef base = qgc_emit_at(e, c->operands[i], qgc_emit_mul_const(e, x, at->pixel));
        epilogue.in[i] =
            qgc_emit_at_const(e, base, p * at->pixel + first * k->epilogue->inputs[i].strides[0]);
    }
    qgc_emit_epilogue(e, &epilogue, out, c->num - first);
}

static void emit_tile(chain *c, tile *t, LLVMValueRef x)
{
    qgc_emitter *e = c->e;
    LLVMValueRef acc[QGC_CHAIN_MAX_SUMS];
    for (uint32_t v = 0; v < c->vectors; v++) {
        LLVMValueRef start = LLVMConstNull(e->vf32);
        if (c->k->has_bias)
            start = qgc_emit_load(e, e->vf32,
                                  qgc_emit_at_const(e, c->bias, (int64_t)v * c->lanes * 4), 4);
        for (uint32_t p = 0; p < t->pixels; p++)
            acc[p * c->vectors + v] = start;
    }
    t->in = qgc_emit_at(e, c->in, qgc_emit_mul_const(e, x, c->k->in.pixel));
    ask_for_next_block(c, t->pixels, x);
    emit_window(c, t, acc);
    for (uint32_t i = 0; i < t->pixels * c->vectors; i++)
        qgc_emit_chain_result(c, acc[i], x, i / c->vectors, i % c->vectors);
}

static LLVMValueRef entry(chain *c, LLVMValueRef list, LLVMValueRef index)
{
    LLVMValueRef at = qgc_emit_at(c->e, list, qgc_emit_mul_const(c->e, index, 8));
    return qgc_emit_load(c->e, c->e->i64, at, 8);
}

/* Columns whose taps are looked up, one by one. */
static void emit_border(chain *c, int64_t first, int64_t end)
{
    if (first >= end)
        return;
    qgc_loop loop = {0};
    qgc_loop_begin(c->e, &loop, qgc_emit_i64(c->e, first), qgc_emit_i64(c->e, end), 1);
    tile t = {.pixels = 1, .column = -1};
    for (int i = 0; i < 2; i++)
        t.columns[i] = entry(c, c->columns[i], loop.index);
    emit_tile(c, &t, loop.index);
    qgc_loop_end(c->e, &loop);
}

/* ---- rows ---- */

/* Tiles of the columns [first, end), as equal as can be; the first |num_large| have one more. */
typedef struct tiling {
    int64_t first, num, small, num_large;
} tiling;

static tiling get_tiling(const qgc_chain_kernel *k, int64_t first, int64_t end)
{
    int64_t columns = end - first, num = (columns + k->tile_pixels - 1) / k->tile_pixels;
    int64_t small = num ? columns / num : 0;
    return (tiling){first, num, small, columns - small * num};
}

static int64_t tile_column(const tiling *l, int64_t index)
{
    return l->first + index * l->small + (index < l->num_large ? index : l->num_large);
}

/* Tiles [index, *end) have the same size and no border. */
static bool find_alike(const chain *c, const tiling *l, int64_t index, int64_t *end)
{
    int64_t first, last, size = tile_column(l, index + 1) - tile_column(l, index);
    qgc_chain_inner(c->k, &first, &last);
    for (*end = index; *end < l->num; ++*end) {
        int64_t from = tile_column(l, *end), to = tile_column(l, *end + 1);
        if (from < first || to > last || to - from != size)
            break;
    }
    return *end > index;
}

static int64_t num_border_tiles(const chain *c, const tiling *l)
{
    int64_t num = 0, end;
    for (int64_t i = 0; i < l->num; i = end)
        if (!find_alike(c, l, i, &end)) {
            num++;
            end = i + 1;
        }
    return num;
}

static void emit_tiles(chain *c, const tiling *l, qgc_chain_tile_fn *emit)
{
    qgc_emitter *e = c->e;
    for (int64_t i = 0, end; i < l->num; i = end) {
        int64_t from = tile_column(l, i);
        tile t = {.pixels = (uint32_t)(tile_column(l, i + 1) - from), .column = -1};
        if (!find_alike(c, l, i, &end)) {
            t.column = from;
            end = i + 1;
        }
        if (end == i + 1) {
            emit(c, &t, qgc_emit_i64(e, from));
            continue;
        }
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, from), qgc_emit_i64(e, tile_column(l, end)),
                       t.pixels);
        emit(c, &t, loop.index);
        qgc_loop_end(e, &loop);
    }
}

void qgc_emit_chain_tiles(chain *c, qgc_chain_tile_fn *emit)
{
    tiling all = get_tiling(c->k, 0, c->k->out_w);
    emit_tiles(c, &all, emit);
}

static void emit_row(chain *c)
{
    const qgc_chain_kernel *k = c->k;
    int64_t first, end;
    tiling all = get_tiling(k, 0, k->out_w);
    if (num_border_tiles(c, &all) <= MAX_BORDER_TILES) {
        emit_tiles(c, &all, emit_tile);
        return;
    }
    qgc_chain_inner(k, &first, &end);
    tiling inner = get_tiling(k, first, end);
    emit_border(c, 0, first);
    emit_tiles(c, &inner, emit_tile);
    emit_border(c, end, k->out_w);
}

/* ---- blocks ---- */

/* The weights of the block that begins with |channel|. */
static LLVMValueRef block_weights(const chain *base, LLVMValueRef channel)
{
    const qgc_chain_kernel *k = base->k;
    int64_t depth = k->w_is_input ? 1 : qgc_chain_depth(k);
    return qgc_emit_at(base->e, base->w, qgc_emit_mul_const(base->e, channel, 4 * depth));
}

typedef struct place {
    LLVMValueRef image, plane, row; /* plane NULL: there is one */
} place;

static place place_of(const chain *c, LLVMValueRef unit)
{
    LLVMBuilderRef b = c->e->builder;
    LLVMValueRef height = qgc_emit_i64(c->e, c->k->out_h), depth = qgc_emit_i64(c->e, c->k->out_d);
    LLVMValueRef image = LLVMBuildUDiv(b, unit, height, "");
    place at = {image, NULL, LLVMBuildURem(b, unit, height, "")};
    if (c->k->out_d == 1 && c->k->kernel_d == 1 && !c->k->may_miss)
        return at;
    at.image = LLVMBuildUDiv(b, image, depth, "");
    at.plane = LLVMBuildURem(b, image, depth, "");
    return at;
}

static LLVMValueRef row_address(qgc_emitter *e, const qgc_pixels *pixels, LLVMValueRef base,
                                const place *at)
{
    LLVMValueRef row = qgc_emit_row_address(e, pixels, base, at->image, at->row);
    return at->plane ? qgc_emit_at(e, row, qgc_emit_mul_const(e, at->plane, pixels->plane)) : row;
}

void qgc_emit_chain_enter(chain *c, const chain *base, LLVMValueRef channel, LLVMValueRef unit)
{
    qgc_emitter *e = c->e;
    c->unit = unit;
    const qgc_chain_kernel *k = c->k;
    place at = place_of(c, unit);
    c->in = row_address(e, &k->in, base->in, &at);
    if (k->is_depthwise)
        c->in = qgc_emit_at(e, c->in, qgc_emit_mul_const(e, channel, 4));
    c->out = qgc_emit_at(e, row_address(e, &k->out, base->out, &at),
                         qgc_emit_mul_const(e, channel, out_bytes(k)));
    c->w =
        qgc_emit_at(e, block_weights(base, channel), qgc_emit_mul_const(e, at.image, k->w_image));
    for (uint32_t i = 0; k->epilogue && i < k->epilogue->num_inputs; i++)
        if (i != k->sum_input)
            c->operands[i] =
                qgc_emit_at(e, row_address(e, &k->operands[i], base->operands[i], &at),
                            qgc_emit_mul_const(e, channel, k->epilogue->inputs[i].strides[0]));
    for (int i = 0; i < 2; i++) {
        if (k->kernel_h != 1 || k->may_miss)
            c->row_taps[i] = entry(c, c->rows[i], at.row);
        if (k->kernel_d != 1 || k->may_miss)
            c->plane_taps[i] = entry(c, c->planes[i], at.plane);
    }
}

/* Of the units asked for, those of the block that begins with |channel|: its rows [*begin, *end).
 */
static void block_rows(const chain *c, LLVMValueRef channel, LLVMValueRef *begin, LLVMValueRef *end)
{
    qgc_emitter *e = c->e;
    const qgc_chain_kernel *k = c->k;
    int64_t rows = qgc_chain_rows(k), channels = (int64_t)k->tile_vectors * c->lanes;
    LLVMValueRef block = LLVMBuildUDiv(e->builder, channel, qgc_emit_i64(e, channels), "");
    LLVMValueRef first = qgc_emit_mul_const(e, block, rows);
    *begin = LLVMBuildSub(e->builder, c->args->begin, first, "");
    *begin = qgc_emit_limit(e, LLVMIntSGT, *begin, 0);
    *end = LLVMBuildSub(e->builder, c->args->end, first, "");
    *end = qgc_emit_limit(e, LLVMIntSLT, *end, rows);
}

/* All rows of a block of channels from |channel|; |base|: addresses of the whole kernel's. */
static void emit_block(const void *user, LLVMValueRef channel, uint32_t vectors, int64_t num)
{
    const chain *base = user;
    qgc_emitter *e = base->e;
    const qgc_chain_kernel *k = base->k;
    chain c = *base;
    c.vectors = vectors;
    c.num = num;
    c.w_row = k->w_is_input ? k->w_row : (int64_t)vectors * c.lanes * 4;
    if (k->has_bias)
        c.bias = qgc_emit_at(e, base->bias, qgc_emit_mul_const(e, channel, 4));
    c.begin = base->args->begin;
    c.end = base->args->end;
    if (k->by_block)
        block_rows(base, channel, &c.begin, &c.end);
    if (k->chunk) {
        c.w = block_weights(base, channel);
        qgc_emit_chain_chunks(&c, base, channel);
        return;
    }
    qgc_loop loop = {.may_be_empty = k->by_block};
    qgc_loop_begin(e, &loop, c.begin, c.end, 1);
    qgc_emit_chain_enter(&c, base, channel, loop.index);
    emit_row(&c);
    qgc_loop_end(e, &loop);
}

static void emit_groups(const chain *c)
{
    qgc_emitter *e = c->e;
    const qgc_chain_kernel *k = c->k;
    if (k->groups == 1) {
        qgc_emit_blocks(e, k->out_c, k->tile_vectors, emit_block, c);
        return;
    }
    chain g = *c;
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, k->groups), 1);
    int64_t list = (k->out_c + c->lanes - 1) / c->lanes * c->lanes * 4;
    int64_t weights = qgc_chain_depth(k) * list;
    LLVMValueRef channel = qgc_emit_mul_const(e, loop.index, k->out_c);
    g.in = qgc_emit_at(e, c->in, qgc_emit_mul_const(e, loop.index, k->channels * 4));
    g.out = qgc_emit_at(e, c->out, qgc_emit_mul_const(e, channel, out_bytes(k)));
    g.w = qgc_emit_at(e, c->w, qgc_emit_mul_const(e, loop.index, weights));
    if (k->has_bias)
        g.bias = qgc_emit_at(e, c->bias, qgc_emit_mul_const(e, loop.index, list));
    for (uint32_t i = 0; k->epilogue && i < k->epilogue->num_inputs; i++)
        if (i != k->sum_input)
            g.operands[i] =
                qgc_emit_at(e, c->operands[i],
                            qgc_emit_mul_const(e, channel, k->epilogue->inputs[i].strides[0]));
    qgc_emit_blocks(e, k->out_c, k->tile_vectors, emit_block, &g);
    qgc_loop_end(e, &loop);
}

static void read_arguments(chain *c)
{
    const qgc_kernel_args *args = c->args;
    qgc_emitter *e = c->e;
    const qgc_chain_kernel *k = c->k;
    uint32_t input = 1;
    c->in = qgc_emit_argument(e, args->in, 0);
    c->out = qgc_emit_argument(e, args->out, 0);
    c->w = k->w_is_input ? qgc_emit_argument(e, args->in, input++)
                         : qgc_emit_argument(e, args->constants, QGC_CHAIN_WEIGHTS);
    for (uint32_t i = 0; k->epilogue && i < k->epilogue->num_inputs; i++)
        if (i != k->sum_input)
            c->operands[i] = qgc_emit_argument(e, args->in, input++);
    c->bias = qgc_emit_argument(e, args->constants, QGC_CHAIN_BIAS);
    for (uint32_t i = 0; i < 2; i++) {
        c->planes[i] = qgc_emit_argument(e, args->constants, QGC_CHAIN_PLANE_FIRST + i);
        c->rows[i] = qgc_emit_argument(e, args->constants, QGC_CHAIN_ROW_FIRST + i);
        c->columns[i] = qgc_emit_argument(e, args->constants, QGC_CHAIN_COLUMN_FIRST + i);
    }
}

/* All blocks of a unit, then the next unit. */
static void emit_units(const chain *c)
{
    chain one = *c;
    qgc_kernel_args args = *c->args;
    qgc_loop loop = {0};
    qgc_loop_begin(c->e, &loop, c->args->begin, c->args->end, 1);
    args.begin = loop.index;
    args.end = LLVMBuildAdd(c->e->builder, loop.index, qgc_emit_i64(c->e, 1), "");
    one.args = &args;
    emit_groups(&one);
    qgc_loop_end(c->e, &loop);
}

void qgc_emit_chain(qgc_emitter *e, const qgc_kernel *kernel)
{
    const qgc_chain_kernel *k = (const qgc_chain_kernel *)kernel;
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    chain c = {.e = e, .k = k, .args = &args, .lanes = e->level->lanes};
    read_arguments(&c);
    if (k->chunk)
        c.sums = qgc_emit_chain_sums(e, k);
    if (k->pixels_first)
        emit_units(&c);
    else
        emit_groups(&c);
    LLVMBuildRetVoid(e->builder);
}

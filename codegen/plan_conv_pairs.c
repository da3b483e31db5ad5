/* Convolutions where no instruction takes dot products of bytes exactly: which of their steps
 * pmaddubsw may take, and how the weights then lie.
 *
 * pmaddubsw adds two products u8 * s8 and saturates at 16 bits. It is exact for weights w0, w1 with
 *     most * (max(w0, 0) + max(w1, 0)) <= 32767, most * (min(w0, 0) + min(w1, 0)) >= -32768
 * where no activation is larger than |most|. A step goes that way if all pairs of its block of
 * channels hold to that: three instructions for four products of each lane, where words take four.
 * Which bytes are a pair is the input's order of channels, which all blocks share; the order of
 * steps is free, so that those of one kind follow one another. */
#include "codegen/product.h"
#include "ir/view.h"

#include <string.h>

enum {
    WIDE_PIXELS = 8, /* fewer do not repay that weights are read as i16 */
    LISTED_STEPS = 8 /* runs with fewer do not repay two loops */
};

/* One block of channels, as it is packed. */
typedef struct block {
    const uint32_t *packed; /* [run][step][lane] */
    bool *words;            /* [run][step]: it is no byte step */
    uint32_t lanes;
} block;

typedef struct pairs {
    qgc_conv_kernel *k;
    uint32_t lanes;
    int64_t steps, num_blocks; /* steps: of a block */
    block *blocks;
    int64_t words;   /* steps of all blocks that are no byte steps */
    double in_bytes; /* of x */
    int32_t most;    /* that a byte of x can be */
    int64_t channel; /* of the first pair that is none, and the pair */
    int32_t first[2];
    bool splits; /* what is no byte step becomes two that are */
} pairs;

static int32_t weight(uint32_t packed, int byte)
{
    return (int8_t)(packed >> 8 * byte);
}

static bool is_exact(int32_t w0, int32_t w1, int32_t most)
{
    int32_t above = (w0 > 0 ? w0 : 0) + (w1 > 0 ? w1 : 0);
    int32_t below = (w0 < 0 ? w0 : 0) + (w1 < 0 ? w1 : 0);
    return most * above <= INT16_MAX && most * below >= INT16_MIN;
}

/* The first of its two pairs that is not exact; 2: both are. */
static int find_pair(uint32_t packed, int32_t most)
{
    for (int pair = 0; pair < 2; pair++)
        if (!is_exact(weight(packed, 2 * pair), weight(packed, 2 * pair + 1), most))
            return pair;
    return 2;
}

/* ---- the proof ---- */

/* The largest byte that |x| can be where a convolution reads it, with the border's. */
static int32_t largest_byte(const qgc_value *x, int32_t zero_point)
{
    const qgc_node *def = x->def;
    if (!def || def->op != QGC_OP_REQUANTIZE || !qgc_node_has(def, "hi"))
        return UINT8_MAX;
    int64_t hi = qgc_node_int(def, "hi") + qgc_unsigned_shift(x->type->dtype);
    return (int32_t)(hi > zero_point ? hi : zero_point);
}

static int64_t channel_of(const pairs *c, int64_t index, uint32_t lane)
{
    const qgc_conv_kernel *k = c->k;
    int64_t per_group = c->num_blocks / k->groups, block = index % per_group;
    uint32_t vectors = c->blocks[index].lanes / c->lanes;
    return index / per_group * k->out_c + block * k->tile_vectors * c->lanes +
           qgc_block_channel(vectors, c->lanes, lane / c->lanes, lane % c->lanes);
}

static void check_step(pairs *c, int64_t index, int64_t step)
{
    block *b = &c->blocks[index];
    const uint32_t *packed = b->packed + step * b->lanes;
    for (uint32_t lane = 0; lane < b->lanes; lane++) {
        int pair = find_pair(packed[lane], c->most);
        if (pair == 2)
            continue;
        b->words[step] = true;
        if (!c->words++) {
            c->channel = channel_of(c, index, lane);
            c->first[0] = weight(packed[lane], 2 * pair);
            c->first[1] = weight(packed[lane], 2 * pair + 1);
        }
        return;
    }
}

static void check_blocks(pairs *c, const uint32_t *packed, qgc_arena *scratch)
{
    uint32_t lanes = c->lanes;
    const qgc_conv_kernel *k = c->k;
    int64_t vectors = (k->out_c + lanes - 1) / lanes;
    int64_t per_group = (vectors + k->tile_vectors - 1) / k->tile_vectors;
    c->num_blocks = per_group * k->groups;
    c->blocks = QGC_NEW_ARRAY(scratch, block, (size_t)c->num_blocks);
    for (int64_t i = 0; i < c->num_blocks; i++) {
        int64_t left = vectors - i % per_group * k->tile_vectors;
        uint32_t num = left < k->tile_vectors ? (uint32_t)left : k->tile_vectors;
        c->blocks[i] = (block){packed, QGC_NEW_ARRAY(scratch, bool, (size_t)c->steps), num * lanes};
        for (int64_t step = 0; step < c->steps; step++)
            check_step(c, i, step);
        packed += c->steps * c->blocks[i].lanes;
    }
}

/* ---- layout ---- */

/* The four weights of a lane as two halves of i16. */
static void put_words(const uint32_t *packed, uint32_t lanes, int16_t *to)
{
    for (int half = 0; half < 2; half++)
        for (uint32_t lane = 0; lane < lanes; lane++) {
            *to++ = (int16_t)weight(packed[lane], 2 * half);
            *to++ = (int16_t)weight(packed[lane], 2 * half + 1);
        }
}

/* Of each pair that is not exact one weight in |to| and the other in |more|: alone each is. */
static void split(const uint32_t *packed, uint32_t lanes, int32_t most, uint32_t *to,
                  uint32_t *more)
{
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t moved = 0;
        for (int pair = 0; pair < 2; pair++)
            if (!is_exact(weight(packed[lane], 2 * pair), weight(packed[lane], 2 * pair + 1), most))
                moved |= UINT32_C(0xff00) << 16 * pair;
        to[lane] = packed[lane] & ~moved;
        more[lane] = packed[lane] & moved;
    }
}

/* All of one kind, in order. */
static void *lay_out_plain(const pairs *c, qgc_planner *p, const uint32_t *packed, size_t lanes)
{
    size_t num = lanes * (size_t)c->steps;
    if (!c->k->pairs.is_wide) {
        void *to = qgc_planner_constant(p, num, 4);
        memcpy(to, packed, num * 4);
        return to;
    }
    int16_t *all = qgc_planner_constant(p, num, 8), *to = all;
    for (int64_t i = 0; i < c->num_blocks; i++) {
        const block *b = &c->blocks[i];
        for (int64_t step = 0; step < c->steps; step++, to += (size_t)4 * b->lanes)
            put_words(b->packed + step * b->lanes, b->lanes, to);
    }
    return all;
}

/* Where the next step of a kind goes. */
typedef struct place {
    uint8_t *weights;
    int32_t *starts, *offsets;
    int32_t num;
} place;

static void put_step(const pairs *c, const block *b, int64_t step, int32_t offset, place *bytes,
                     place *words)
{
    const uint32_t *packed = b->packed + step * b->lanes;
    uint32_t *to = (uint32_t *)bytes->weights + (size_t)bytes->num * b->lanes;
    bool is_wide = c->k->pairs.is_wide;
    if (b->words[step] && !c->splits) {
        uint8_t *at = words->weights + (size_t)words->num * b->lanes * (is_wide ? 8 : 4);
        words->offsets[words->num++] = is_wide ? 2 * offset : offset;
        if (is_wide)
            put_words(packed, b->lanes, (int16_t *)at);
        else
            memcpy(at, packed, (size_t)b->lanes * 4);
        return;
    }
    bytes->offsets[bytes->num++] = offset;
    memcpy(to, packed, (size_t)b->lanes * 4);
    if (b->words[step]) {
        split(packed, b->lanes, c->most, to, to + b->lanes);
        bytes->offsets[bytes->num++] = offset;
    }
}

/* A loop runs at least once: a run without steps of a kind has one of zeros. */
static void end_run(place *place, int32_t offset)
{
    if (place->num == *place->starts)
        place->offsets[place->num++] = offset;
    *++place->starts = place->num;
}

static void put_block(const pairs *c, const block *b, uint8_t *weights, int32_t *list)
{
    const qgc_conv_kernel *k = c->k;
    int64_t runs = k->num_runs, byte_steps = k->pairs.byte_steps;
    int32_t *offsets = list + 2 * (runs + 1);
    place bytes = {weights, list, offsets, 0};
    place words = {weights + byte_steps * 4 * b->lanes, list + runs + 1, offsets + byte_steps, 0};
    for (int64_t run = 0; run < runs; run++) {
        int32_t offset = (int32_t)k->run_offsets[run];
        for (int64_t s = 0; s < k->run_steps; s++)
            put_step(c, b, run * k->run_steps + s, offset + 4 * (int32_t)s, &bytes, &words);
        end_run(&bytes, offset);
        if (!c->splits)
            end_run(&words, offset * (k->pairs.is_wide ? 2 : 1));
    }
}

/* The most of either kind that a block has. */
static void count_steps(const pairs *c)
{
    qgc_conv_kernel *k = c->k;
    for (int64_t i = 0; i < c->num_blocks; i++) {
        int64_t bytes = 0, words = 0;
        for (int64_t run = 0; run < k->num_runs; run++) {
            int64_t num = 0;
            for (int64_t s = 0; s < k->run_steps; s++)
                num += c->blocks[i].words[run * k->run_steps + s];
            int64_t others = c->splits ? k->run_steps + num : k->run_steps - num;
            bytes += others ? others : 1;
            words += c->splits ? 0 : num ? num : 1;
        }
        if (bytes > k->pairs.byte_steps)
            k->pairs.byte_steps = bytes;
        if (words > k->pairs.word_steps)
            k->pairs.word_steps = words;
    }
}

static void *lay_out_listed(const pairs *c, qgc_planner *p, size_t lanes)
{
    qgc_conv_kernel *k = c->k;
    count_steps(c);
    size_t list = (size_t)qgc_conv_list_size(k), bytes = (size_t)qgc_conv_lane_bytes(k);
    uint8_t *weights = qgc_planner_constant(p, lanes, bytes), *to = weights;
    int32_t *lists = qgc_planner_constant(p, (size_t)c->num_blocks * list, sizeof *lists);
    for (int64_t i = 0; i < c->num_blocks; i++) {
        put_block(c, &c->blocks[i], to, lists + (size_t)i * list);
        to += c->blocks[i].lanes * bytes;
    }
    k->base.constants[QGC_CONV_STEPS] = lists;
    return weights;
}

/* ---- the choice ---- */

static bool fits_lists(const qgc_conv_kernel *k)
{
    int64_t last = k->run_offsets[0];
    for (int64_t run = 0; run < k->num_runs; run++)
        last = k->run_offsets[run] > last ? k->run_offsets[run] : last;
    return last + 4 * k->run_steps < INT32_MAX / 2;
}

/* What a form costs: instructions of vectors for each step of a vector of channels and a pixel, and
 * to read and write x where it is widened, as measured. */
static double cost_of(const pairs *c, const qgc_conv_pairs *form, bool splits)
{
    const qgc_conv_kernel *k = c->k;
    double share = (double)c->words / (double)(c->steps * c->num_blocks);
    double step = 3, word = form->is_wide ? 4 : 5.5, listed = 0.15, widened_byte = 2;
    double pixels = (double)k->images * (double)k->out_h * (double)k->out_w;
    int64_t vectors = (k->out_c + c->lanes - 1) / c->lanes * k->groups;
    double cost = splits            ? step * (1 + share)
                  : form->has_bytes ? step * (1 - share) + word * share
                                    : word;
    cost = (cost + (form->is_listed ? listed : 0)) * pixels * (double)vectors * (double)c->steps;
    return cost + (form->is_wide ? widened_byte * c->in_bytes : 0);
}

/* The cheapest form that there is. */
static void choose(pairs *c, const qgc_plan_target *target)
{
    qgc_conv_kernel *k = c->k;
    bool is_wide = k->images * k->out_h * k->out_w >= WIDE_PIXELS;
    bool has_bytes = target->has_byte_pairs && !c->words;
    bool is_listed = target->has_byte_pairs && c->words && k->run_steps >= LISTED_STEPS;
    k->pairs = (qgc_conv_pairs){.has_bytes = has_bytes, .is_wide = is_wide && !has_bytes};
    if (!is_listed || !fits_lists(k))
        return;
    qgc_conv_pairs some = {.has_bytes = true, .is_wide = is_wide, .is_listed = true};
    qgc_conv_pairs all = {.has_bytes = true, .is_listed = true};
    double cost = cost_of(c, &k->pairs, false), of_some = cost_of(c, &some, false);
    if (of_some < cost) {
        k->pairs = some;
        cost = of_some;
    }
    c->splits = is_wide && cost_of(c, &all, true) < cost; /* few pixels wait for weights */
    if (c->splits)
        k->pairs = all;
}

/* For plans: the form, and the first pair that was in its way. */
static const char *describe(const pairs *c, const qgc_plan_target *target, qgc_arena *arena)
{
    const qgc_conv_kernel *k = c->k;
    const char *form = k->pairs.has_bytes ? "bytes" : k->pairs.is_wide ? "words" : "widened";
    if (!target->has_byte_pairs || !c->words)
        return qgc_arena_printf(arena, ", dot = %s", form);
    if (k->pairs.is_listed)
        form = qgc_arena_printf(arena, "bytes but %lld of %lld steps %s", (long long)c->words,
                                (long long)(c->steps * c->num_blocks),
                                c->splits          ? "split"
                                : k->pairs.is_wide ? "words"
                                                   : "widened");
    return qgc_arena_printf(arena, ", dot = %s: %d, %d of channel %lld times %d pass 16 bits", form,
                            c->first[0], c->first[1], (long long)c->channel, c->most);
}

const char *qgc_plan_pairs(qgc_planner *p, const qgc_node *node, int32_t x_zero_point,
                           size_t in_bytes, qgc_conv_kernel *k, const uint32_t *packed)
{
    uint32_t lanes = p->target->lanes;
    size_t all = (size_t)((k->out_c + lanes - 1) / lanes * lanes * k->groups);
    qgc_arena scratch = {0};
    pairs c = {.k = k,
               .lanes = lanes,
               .in_bytes = (double)in_bytes,
               .steps = k->num_runs * k->run_steps,
               .most = largest_byte(node->operands[0].value, x_zero_point)};
    check_blocks(&c, packed, &scratch);
    choose(&c, p->target);
    void *weights =
        k->pairs.is_listed ? lay_out_listed(&c, p, all) : lay_out_plain(&c, p, packed, all);
    k->base.constants[QGC_CONV_WEIGHTS] = weights;
    const char *note = describe(&c, p->target, &p->plan->arena);
    qgc_arena_destroy(&scratch);
    return note;
}

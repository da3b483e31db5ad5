/* How threads share the steps of a plan. Which thread runs what never changes a result, since units
 * are computed each by itself: here is only what is worth it, by what steps cost
 * (codegen/plan_cost.c).
 *
 * All times are cycles of one core. A step in parts costs a hand-over. Threads that wait for the
 * next step look for it without pause and begin at once; where none is near they sleep, and to wake
 * them costs much more. So steps are seen together: a stretch is of steps between which the threads
 * stay awake. One that is too short to wake them for is shared with those that still are, of the
 * run before. */
#include "codegen/planner.h"

#include "runtime/pool.h"

enum {
    LEAST_PART = 2000, /* of work, that a thread is called for */
    HAND_OVER = 4000, /* a step to threads that are awake, and what it and the next one find cold */
    CALL = 80000,     /* of threads that sleep: what it takes the caller */
    WAKE = 100000,    /* until they work */
    AWAKE = 300000    /* the longest time alone for which the others do not sleep */
};

static bool is_conv(const qgc_step *step)
{
    return step->kind == QGC_STEP_KERNEL && step->kernel->kind == QGC_KERNEL_CONV;
}

static int64_t units_of(const qgc_step *step)
{
    switch (step->kind) {
    case QGC_STEP_KERNEL:
        return step->kernel->units;
    case QGC_STEP_FORM:
        return qgc_form_units(step->inputs[0], step->outputs[0]);
    case QGC_STEP_BORDER:
        return step->outputs[0]->n * step->outputs[0]->h;
    case QGC_STEP_REF:
        return 1;
    }
    return 1;
}

/* ---- where parts end ---- */

/* Convolutions have parts whose units do not take the same time. */
static double conv_unit_cost(const qgc_conv_kernel *k, const qgc_conv_part *part)
{
    double runs = (double)(part->end_run - part->first_run) / (double)k->num_runs;
    double steps = (double)(part->end_step - part->first_step) / (double)k->run_steps;
    return runs * steps * (part->by_row ? (double)part->tiles : 1);
}

/* Of the first |num| tiles of a block. */
static double cost_of_tiles(const qgc_conv_kernel *k, int64_t num)
{
    double cost = 0;
    for (uint32_t i = 0; i < k->num_parts && num > 0; i++) {
        int64_t units = num < k->parts[i].units ? num : k->parts[i].units;
        cost += conv_unit_cost(k, &k->parts[i]) * (double)units;
        num -= units;
    }
    return cost;
}

/* Vectors of channels before block |block|: the last one has fewer than the others. */
static double vectors_before(const qgc_conv_kernel *k, int64_t block, uint32_t lanes)
{
    int64_t all = (k->out_c + lanes - 1) / lanes, before = block * k->tile_vectors;
    return (double)(before < all ? before : all);
}

/* Lanes of vectors in the first |num| chunks of channels: the last one may have fewer. */
static int64_t lanes_before(const qgc_depthwise_kernel *k, uint32_t lanes, int64_t num)
{
    int64_t whole = k->channels / (4 * (int64_t)lanes), rest = k->channels - whole * 4 * lanes;
    return num <= whole ? num * lanes : whole * lanes + qgc_chunk_lanes(rest, lanes);
}

/* Of the first |num| chunks of blocks of rows, of which the short ones come last. */
static double depthwise_before(const qgc_depthwise_kernel *k, uint32_t lanes, int64_t num)
{
    int64_t chunks = qgc_depthwise_chunks(k, lanes), block = num / chunks;
    int64_t whole = k->images * (k->out_h / k->rows), rest = k->out_h % k->rows;
    int64_t before = block < whole ? block : whole;
    double rows = (double)(before * k->rows + (block - before) * rest);
    double of_block = (double)lanes_before(k, lanes, num % chunks);
    double at = block < whole ? k->rows : (double)rest;
    return rows * (double)lanes_before(k, lanes, chunks) + at * of_block;
}

static double conv_before(const qgc_conv_kernel *k, uint32_t lanes, int64_t num)
{
    int64_t tiles = qgc_conv_tiles(k);
    if (!k->by_block || tiles < 1)
        return cost_of_tiles(k, num);
    int64_t block = num / tiles;
    double first = vectors_before(k, block, lanes);
    double vectors = vectors_before(k, block + 1, lanes) - first;
    return first * cost_of_tiles(k, tiles) + vectors * cost_of_tiles(k, num % tiles);
}

/* What the first |num| units of a step take, in a unit of the step's own. */
static double cost_before(const qgc_step *step, uint32_t lanes, int64_t num)
{
    if (is_conv(step))
        return conv_before((const qgc_conv_kernel *)step->kernel, lanes, num);
    if (step->kind == QGC_STEP_KERNEL && step->kernel->kind == QGC_KERNEL_DEPTHWISE)
        return depthwise_before((const qgc_depthwise_kernel *)step->kernel, lanes, num);
    return (double)num;
}

/* The unit before which about |share| of the step's work is done. */
static int64_t find_bound(const qgc_step *step, uint32_t lanes, double share)
{
    double wanted = share * cost_before(step, lanes, step->units);
    int64_t low = 0, high = step->units; /* what is before |low| is not more than wanted */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(cost_before(step, lanes, middle) <= wanted ? &low : &high) = middle;
    }
    double below = wanted - cost_before(step, lanes, low);
    return below <= cost_before(step, lanes, high) - wanted ? low : high;
}

static double find_balance(const qgc_step *step, uint32_t lanes)
{
    double longest = 0, last = 0;
    for (uint32_t i = 1; i <= step->parts; i++) {
        double next = cost_before(step, lanes, step->bounds[i]);
        longest = next - last > longest ? next - last : longest;
        last = next;
    }
    return longest > 0 ? last / longest / step->parts : 1;
}

static void set_bounds(qgc_plan *plan, qgc_step *step, uint32_t lanes)
{
    int64_t *bounds = QGC_NEW_ARRAY(&plan->arena, int64_t, step->parts + 1);
    for (uint32_t i = 1; i < step->parts; i++)
        bounds[i] = find_bound(step, lanes, (double)i / step->parts);
    bounds[step->parts] = step->units;
    step->bounds = bounds;
    step->balance = find_balance(step, lanes);
}

/* ---- what is shared ---- */

/* Parts that a step is worth, |most| at most. */
static uint32_t count_parts(const qgc_step *step, double most)
{
    double num = step->cost.cycles / LEAST_PART;
    num = num < most ? num : most;
    num = num < (double)step->units ? num : (double)step->units;
    return num > 1 ? (uint32_t)num : 1;
}

static uint32_t count_threads(const qgc_step *step, const qgc_plan_target *target)
{
    uint32_t threads = target->threads > 1 ? target->threads : 1;
    if (target->shares_all)
        return step->units < threads ? step->units > 1 ? (uint32_t)step->units : 1 : threads;
    return count_parts(step, threads);
}

/* Another function may want the threads for itself. */
static bool is_call(const qgc_step *step)
{
    return step->kind == QGC_STEP_REF && (qgc_op(step->node->op)->traits & QGC_TRAIT_CALL);
}

/* Steps [first, end): behind them comes one that takes a thread alone too long, or none. */
static size_t find_stretch(const qgc_plan *plan, size_t first)
{
    double alone = 0;
    size_t end = first;
    for (size_t i = first; i < plan->steps.size && alone <= AWAKE; i++) {
        const qgc_step *step = plan->steps.data[i];
        alone = step->threads > 1 ? 0 : is_call(step) ? 2.0 * AWAKE : alone + step->cost.cycles;
        end = i + 1;
    }
    return end;
}

/* What sharing a step costs. Where its parts end and those of the next step is seldom the same, so
 * that some of the bytes go from one core's cache to another's. */
static double price_of(const qgc_step *step)
{
    static const double bytes_in_a_cycle = 32;
    return step->flows ? 0 : HAND_OVER + step->cost.bytes / bytes_in_a_cycle;
}

/* Cycles that threads save in steps [first, end), if they begin to work |asleep| cycles later than
 * the first of them. */
static double gain_of(const qgc_plan *plan, size_t first, size_t end, double asleep)
{
    double gain = 0;
    for (size_t i = first; i < end; i++) {
        const qgc_step *step = plan->steps.data[i];
        double awake = step->cost.cycles > asleep ? step->cost.cycles - asleep : 0;
        asleep -= step->cost.cycles - awake;
        if (step->threads > 1)
            gain += awake * (1 - 1.0 / step->threads) - price_of(step);
    }
    return gain;
}

/* While the others wake, steps are in many parts, of which one thread does more. */
static void share_stretch(qgc_plan *plan, size_t first, size_t end, bool shares_all)
{
    qgc_step *woken = plan->steps.data[first];
    woken->wakes = shares_all || gain_of(plan, first, end, WAKE) > CALL;
    double asleep = shares_all || !woken->wakes ? 0 : WAKE;
    for (size_t i = first; i < end; i++) {
        qgc_step *step = plan->steps.data[i];
        step->parts = step->threads;
        if (step->threads > 1 && asleep > 0)
            step->parts = count_parts(step, (double)QGC_POOL_FINEST * step->threads);
        asleep -= step->cost.cycles;
        if (step->threads > 1)
            woken->together = (uint32_t)(i + 1 - first);
    }
}

static void share_none(qgc_plan *plan, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        qgc_step *step = plan->steps.data[i];
        step->threads = step->parts = 1;
    }
}

/* Borders go with the step that writes what they are around: to the same threads, which need not
 * wait between the two. */
static void share_borders(qgc_plan *plan)
{
    for (size_t i = plan->steps.size; i-- > 1;) {
        qgc_step *border = plan->steps.data[i - 1];
        const qgc_step *next = plan->steps.data[i];
        if (border->kind != QGC_STEP_BORDER || !next->num_outputs ||
            next->outputs[0] != border->outputs[0])
            continue;
        border->threads = border->units < next->threads ? 1 : next->threads;
        border->flows = true;
    }
}

void qgc_plan_share(qgc_plan *plan, const qgc_plan_target *target)
{
    plan->threads = target->threads > 1 ? target->threads : 1;
    for (size_t i = 0; i < plan->steps.size; i++) {
        qgc_step *step = plan->steps.data[i];
        step->cost = qgc_plan_cost(step, target);
        step->units = units_of(step);
        step->threads = count_threads(step, target);
    }
    share_borders(plan);
    for (size_t first = 0, end; first < plan->steps.size; first = end) {
        end = find_stretch(plan, first);
        if (target->shares_all || gain_of(plan, first, end, 0) > 0)
            share_stretch(plan, first, end, target->shares_all);
        else
            share_none(plan, first, end);
    }
    for (size_t i = 0; i < plan->steps.size; i++)
        set_bounds(plan, plan->steps.data[i], target->lanes);
}

/* How threads share the steps of a plan. Which thread runs what never changes a result, since units
 * are computed each by itself: here is only what is worth it, by what steps cost
 * (codegen/plan_cost.c).
 *
 * All times are cycles of one core. A step in parts costs a hand-over. Threads that wait for the
 * next step look for it without pause and begin at once; where none is near they sleep, and to wake
 * them costs much more. So steps are seen together: a stretch is of steps between which the threads
 * stay awake. */
#include "codegen/planner.h"

enum {
    LEAST_PART = 4000, /* of work, that a thread is called for */
    HAND_OVER = 2500,  /* a step to threads that are awake, and back */
    WAKE = 100000,     /* to the same from sleep */
    AWAKE = 300000,    /* the longest time alone for which the others do not sleep */
    FINE = 8           /* parts for each thread of a step for which it is woken */
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
    case QGC_STEP_REF:
    case QGC_STEP_BORDER:
        return 1;
    }
    return 1;
}

/* ---- where parts end ---- */

/* Convolutions have parts whose units do not take the same time. */
static double conv_unit_cost(const qgc_conv_kernel *k, const qgc_conv_part *part)
{
    double runs = (double)(part->end_run - part->first_run) / (double)k->num_runs;
    return runs * (part->by_row ? (double)part->tiles : 1);
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

/* The tile before which |share| of a block's work is done. */
static int64_t find_tile_bound(const qgc_conv_kernel *k, double share)
{
    double wanted = cost_of_tiles(k, qgc_conv_tiles(k)) * share;
    int64_t first = 0;
    for (uint32_t i = 0; i < k->num_parts; i++) {
        double unit = conv_unit_cost(k, &k->parts[i]), cost = unit * (double)k->parts[i].units;
        if (wanted < cost)
            return first + (int64_t)(wanted / unit + 0.5);
        wanted -= cost;
        first += k->parts[i].units;
    }
    return first;
}

/* Vectors of channels before block |block|: the last one has fewer than the others. */
static double vectors_before(const qgc_conv_kernel *k, int64_t block, uint32_t lanes)
{
    int64_t all = (k->out_c + lanes - 1) / lanes, before = block * k->tile_vectors;
    return (double)(before < all ? before : all);
}

/* The unit before which |share| of a convolution's work is done. */
static int64_t find_conv_bound(const qgc_conv_kernel *k, uint32_t lanes, double share)
{
    if (!k->by_block)
        return find_tile_bound(k, share);
    double at = share * vectors_before(k, k->out_c, lanes);
    int64_t block = (int64_t)(at / k->tile_vectors);
    double first = vectors_before(k, block, lanes);
    double vectors = vectors_before(k, block + 1, lanes) - first;
    return block * qgc_conv_tiles(k) + find_tile_bound(k, (at - first) / vectors);
}

/* Rows in the first |num| blocks of them: the short ones come last. */
static double rows_before(const qgc_depthwise_kernel *k, int64_t num)
{
    int64_t whole = k->images * (k->out_h / k->rows), rest = k->out_h % k->rows;
    int64_t before = num < whole ? num : whole;
    return (double)(before * k->rows + (num - before) * rest);
}

/* What the first |num| units of a step take, in a unit of the step's own. */
static double cost_before(const qgc_step *step, uint32_t lanes, int64_t num)
{
    const qgc_conv_kernel *k = (const qgc_conv_kernel *)step->kernel;
    if (step->kind == QGC_STEP_KERNEL && step->kernel->kind == QGC_KERNEL_DEPTHWISE)
        return rows_before((const qgc_depthwise_kernel *)step->kernel, num);
    if (!is_conv(step))
        return (double)num;
    int64_t tiles = qgc_conv_tiles(k);
    if (!k->by_block || tiles < 1)
        return cost_of_tiles(k, num);
    int64_t block = num / tiles;
    double first = vectors_before(k, block, lanes);
    double vectors = vectors_before(k, block + 1, lanes) - first;
    return first * cost_of_tiles(k, tiles) + vectors * cost_of_tiles(k, num % tiles);
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
    const qgc_conv_kernel *k = (const qgc_conv_kernel *)step->kernel;
    for (uint32_t i = 1; i < step->parts; i++)
        bounds[i] = is_conv(step) ? find_conv_bound(k, lanes, (double)i / step->parts)
                                  : step->units * i / step->parts;
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

/* Steps [first, end): behind them comes one that takes a thread alone too long, or none. */
static size_t find_stretch(const qgc_plan *plan, size_t first)
{
    double alone = 0;
    size_t end = first;
    for (size_t i = first; i < plan->steps.size && alone <= AWAKE; i++) {
        const qgc_step *step = plan->steps.data[i];
        alone = step->threads > 1 ? 0 : alone + step->cost.cycles;
        end = i + 1;
    }
    return end;
}

/* What a shared step takes less than alone. */
static double gain_of(const qgc_step *step)
{
    bool is_shared = step->threads > 1;
    return is_shared ? step->cost.cycles * (1 - 1.0 / step->threads) - HAND_OVER : 0;
}

/* What the first shared step of a stretch takes more than the others: it is done when all are
 * awake, and until then one thread works. */
static double wake_of(const qgc_step *step)
{
    double share = 1.0 / step->threads;
    return step->cost.cycles > WAKE ? WAKE * (1 - share) : WAKE - step->cost.cycles * share;
}

/* The step of a stretch from which on its steps are shared, so that it takes the least time; |end|:
 * none is. */
static size_t find_start(const qgc_plan *plan, size_t first, size_t end)
{
    size_t start = end;
    double gain = 0, best = 0;
    for (size_t i = end; i-- > first;) {
        const qgc_step *step = plan->steps.data[i];
        gain += gain_of(step);
        if (step->threads < 2 || gain - wake_of(step) <= best)
            continue;
        best = gain - wake_of(step);
        start = i;
    }
    return start;
}

/* The first shared step is in many parts, of which one thread does more until the others wake. */
static void share_stretch(qgc_plan *plan, size_t first, size_t start, size_t end, bool shares_all)
{
    qgc_step *last = NULL;
    for (size_t i = first; i < end; i++) {
        qgc_step *step = plan->steps.data[i];
        if (i < start)
            step->threads = 1;
        step->parts = step->threads;
        if (step->threads == 1)
            continue;
        if (last)
            last->more_soon = true;
        else if (!shares_all)
            step->parts = count_parts(step, (double)FINE * step->threads);
        last = step;
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
    for (size_t first = 0, end; first < plan->steps.size; first = end) {
        end = find_stretch(plan, first);
        size_t start = target->shares_all ? first : find_start(plan, first, end);
        share_stretch(plan, first, start, end, target->shares_all);
    }
    for (size_t i = 0; i < plan->steps.size; i++)
        set_bounds(plan, plan->steps.data[i], target->lanes);
}

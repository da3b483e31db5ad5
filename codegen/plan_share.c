/* How threads share the steps of a plan. Parts are as equal as units allow, and a step is divided
 * only as far as each part is worth waking a thread for: which thread runs what never changes a
 * result, since units are computed each by itself. */
#include "codegen/planner.h"

#include "ir/macs.h"

/* Of one part at least: some microseconds of work. */
enum { PART_COST = 400000 };

/* About 64 multiply-adds of 8 bits, 16 of floats go in the time of one byte from the cache. */
static double cost_of(const qgc_step *step)
{
    double cost = 0;
    for (uint32_t i = 0; i < step->num_inputs; i++)
        cost += step->inputs[i] ? (double)step->inputs[i]->bytes : 0;
    for (uint32_t i = 0; i < step->num_outputs; i++)
        cost += (double)step->outputs[i]->bytes;
    double phases = step->phases ? step->phases : 1;
    return cost + (step->node ? qgc_count_node_macs(step->node).total / phases : 0);
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

/* Convolutions have parts whose units do not take the same time. */
static double conv_unit_cost(const qgc_conv_kernel *k, const qgc_conv_part *part)
{
    double runs = (double)(part->end_run - part->first_run) / (double)k->num_runs;
    return runs * (part->by_row ? (double)part->tiles : 1);
}

/* The tile before which |share| of a block's work is done. */
static int64_t find_tile_bound(const qgc_conv_kernel *k, double share)
{
    double total = 0, wanted;
    int64_t first = 0;
    for (uint32_t i = 0; i < k->num_parts; i++)
        total += conv_unit_cost(k, &k->parts[i]) * (double)k->parts[i].units;
    wanted = total * share;
    for (uint32_t i = 0; i < k->num_parts; i++) {
        double unit = conv_unit_cost(k, &k->parts[i]), cost = unit * (double)k->parts[i].units;
        if (wanted < cost)
            return first + (int64_t)(wanted / unit + 0.5);
        wanted -= cost;
        first += k->parts[i].units;
    }
    return first;
}

/* The unit before which |share| of a convolution's work is done. */
static int64_t find_conv_bound(const qgc_conv_kernel *k, uint32_t lanes, double share)
{
    if (!k->by_block)
        return find_tile_bound(k, share);
    int64_t all = (k->out_c + lanes - 1) / lanes;
    int64_t whole = all / k->tile_vectors, tiles = qgc_conv_tiles(k);
    double vectors = (double)all;
    double at = share * vectors, of_block = k->tile_vectors;
    int64_t block = (int64_t)(at / of_block);
    if (block == whole) /* the last one has fewer */
        of_block = vectors - (double)whole * of_block;
    return block * tiles + find_tile_bound(k, (at - (double)block * k->tile_vectors) / of_block);
}

static void set_bounds(qgc_plan *plan, qgc_step *step, uint32_t lanes)
{
    bool is_conv = step->kind == QGC_STEP_KERNEL && step->kernel->kind == QGC_KERNEL_CONV;
    int64_t *bounds = QGC_NEW_ARRAY(&plan->arena, int64_t, step->parts + 1);
    for (uint32_t i = 1; i < step->parts; i++)
        bounds[i] = is_conv ? find_conv_bound((const qgc_conv_kernel *)step->kernel, lanes,
                                              (double)i / step->parts)
                            : step->units * i / step->parts;
    bounds[step->parts] = step->units;
    step->bounds = bounds;
}

void qgc_plan_share(qgc_plan *plan, const qgc_plan_target *target)
{
    double threads = target->threads > 1 ? target->threads : 1;
    for (size_t i = 0; i < plan->steps.size; i++) {
        qgc_step *step = plan->steps.data[i];
        double worth = target->shares_all ? threads : cost_of(step) / PART_COST;
        step->units = units_of(step);
        double parts = threads < worth ? threads : worth;
        parts = parts < (double)step->units ? parts : (double)step->units;
        step->parts = parts > 1 ? (uint32_t)parts : 1;
        set_bounds(plan, step, target->lanes);
    }
}

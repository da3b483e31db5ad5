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
    }
}

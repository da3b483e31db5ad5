/* What a step costs: the bytes that it moves and its multiply-adds, each by how many go in a cycle
 * of one core. Close enough to tell what is worth a thread, a factor of two or three from the
 * clock's word: measured are 22 bytes for a pool, 10 for an addition, 4 for a softmax; 110
 * multiply-adds of bytes where the level has 128. */
#include "codegen/planner.h"
#include "codegen/product.h"

#include "ir/macs.h"

/* The interpreter's kernels look at each element by itself. */
static const double bytes_in_a_cycle = 8, ref_bytes_in_a_cycle = 0.25;

static double macs_in_a_cycle(const qgc_step *step, const qgc_plan_target *target)
{
    double bytes = target->byte_macs > 0 ? target->byte_macs : 1;
    double floats = target->float_macs > 0 ? target->float_macs : 1;
    if (step->kind != QGC_STEP_KERNEL)
        return 0;
    switch (step->kernel->kind) {
    case QGC_KERNEL_CONV:
        return bytes;
    case QGC_KERNEL_MATMUL:
        return ((const qgc_matmul_kernel *)step->kernel)->packs ? 0 : bytes;
    case QGC_KERNEL_DEPTHWISE: /* three shuffles and an epilogue for each four taps */
        return bytes / 4;
    case QGC_KERNEL_CHAIN:
    case QGC_KERNEL_WORDS:
        return floats;
    case QGC_KERNEL_TAPS:
        return 1;
    default: /* a step beside the one that multiplies */
        return 0;
    }
}

/* What lies in the graph as constants, packed for the kernel. */
static double constant_bytes(const qgc_step *step)
{
    double bytes = 0;
    for (uint32_t i = 0; step->kernel && i < step->node->num_operands; i++) {
        const qgc_tensor *constant = qgc_constant_operand(step->node, i);
        bytes += constant ? (double)constant->bytes : 0;
    }
    return bytes;
}

/* Of a buffer whose border alone is written. */
static double border_bytes(const qgc_buffer *b)
{
    double inside = (double)(b->n * b->h * b->w * b->c);
    return (double)b->bytes - inside * (double)qgc_dtype_bytes(b->value->type->dtype);
}

/* A move reads what it writes, not all of its input. */
static double moved_bytes(const qgc_move_kernel *k)
{
    double bytes = 2 * (double)k->element_bytes;
    for (uint32_t d = 0; d < k->rank; d++)
        bytes *= (double)k->dims[d].size;
    return bytes;
}

static double bytes_of(const qgc_step *step)
{
    double bytes = 0;
    if (step->kind == QGC_STEP_KERNEL && step->kernel->kind == QGC_KERNEL_MOVE)
        return moved_bytes((const qgc_move_kernel *)step->kernel);
    if (step->kind == QGC_STEP_BORDER)
        return border_bytes(step->outputs[0]);
    for (uint32_t i = 0; i < step->num_inputs; i++)
        bytes += step->inputs[i] ? (double)step->inputs[i]->bytes : 0;
    for (uint32_t i = 0; i < step->num_outputs; i++)
        bytes += (double)step->outputs[i]->bytes;
    return bytes;
}

qgc_step_cost qgc_plan_cost(const qgc_step *step, const qgc_plan_target *target)
{
    qgc_step_cost cost = {.bytes = bytes_of(step)};
    double rate = macs_in_a_cycle(step, target);
    if (rate > 0) {
        cost.macs = qgc_count_node_macs(step->node).total / (step->phases ? step->phases : 1);
        cost.bytes += constant_bytes(step);
        cost.cycles = cost.macs / rate;
    }
    cost.cycles +=
        cost.bytes / (step->kind == QGC_STEP_REF ? ref_bytes_in_a_cycle : bytes_in_a_cycle);
    return cost;
}

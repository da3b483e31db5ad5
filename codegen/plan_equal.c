/* Kernels that are one function: equal but for what their constants hold. Networks repeat their
 * blocks; of ResNet-50's 72 kernels 42 are compiled.
 *
 * Field by field: what lies between fields is not defined. A kind that is not listed equals none.
 */
#include "codegen/planner.h"

#include <string.h>

/* Whoever adds a field finds this, and adds it below. */
_Static_assert(sizeof(qgc_epilogue) == 28, "is_same_epilogue compares all fields");
_Static_assert(sizeof(void *) != 8 || sizeof(qgc_conv_part) == 88, "is_same_part does, too");
_Static_assert(sizeof(void *) != 8 || sizeof(qgc_conv_kernel) == 1112, "is_same_conv does, too");
_Static_assert(sizeof(void *) != 8 || sizeof(qgc_depthwise_kernel) == 312, "and is_same_depthwise");
_Static_assert(sizeof(void *) != 8 || sizeof(qgc_chain_kernel) == 880, "and is_same_chain");
_Static_assert(sizeof(void *) != 8 || sizeof(qgc_resize_kernel) == 120, "and is_same_resize");
_Static_assert(sizeof(qgc_fused_operand) == 80, "and is_same_operand");
_Static_assert(sizeof(qgc_fused_step) == 52, "and is_same_function");
_Static_assert(sizeof(void *) != 8 || sizeof(qgc_fused_kernel) == 4664, "and is_same_functions");

static bool is_same_epilogue(const qgc_epilogue *a, const qgc_epilogue *b)
{
    return a->is_raw == b->is_raw && a->has_bias == b->has_bias && a->has_addend == b->has_addend &&
           a->is_small == b->is_small && a->is_shifted == b->is_shifted &&
           a->has_nan == b->has_nan && a->nan == b->nan &&
           a->addend_zero_point == b->addend_zero_point && a->zero_point == b->zero_point &&
           a->lo == b->lo && a->hi == b->hi;
}

static bool is_same_pixels(const qgc_pixels *a, const qgc_pixels *b)
{
    return a->first == b->first && a->image == b->image && a->row == b->row &&
           a->pixel == b->pixel && a->plane == b->plane;
}

static bool is_same_part(const qgc_conv_part *a, const qgc_conv_part *b)
{
    return a->first_row == b->first_row && a->rows == b->rows &&
           a->first_column == b->first_column && a->columns == b->columns &&
           a->first_run == b->first_run && a->end_run == b->end_run &&
           a->first_step == b->first_step && a->end_step == b->end_step && a->tiles == b->tiles &&
           a->units == b->units && a->by_row == b->by_row;
}

static bool is_same_pairs(const qgc_conv_pairs *a, const qgc_conv_pairs *b)
{
    return a->has_bytes == b->has_bytes && a->is_wide == b->is_wide &&
           a->is_listed == b->is_listed && a->byte_steps == b->byte_steps &&
           a->word_steps == b->word_steps;
}

static bool is_same_conv(const qgc_conv_kernel *a, const qgc_conv_kernel *b)
{
    bool is_same = a->images == b->images && a->out_h == b->out_h && a->out_w == b->out_w &&
                   a->out_c == b->out_c && is_same_pixels(&a->in, &b->in) &&
                   is_same_pixels(&a->out, &b->out) && is_same_pixels(&a->addend, &b->addend) &&
                   a->groups == b->groups && a->group_bytes == b->group_bytes &&
                   a->num_runs == b->num_runs && a->run_steps == b->run_steps &&
                   a->num_parts == b->num_parts && is_same_epilogue(&a->epilogue, &b->epilogue) &&
                   a->tile_vectors == b->tile_vectors && a->tile_pixels == b->tile_pixels &&
                   a->by_block == b->by_block && a->zero_point_is_input == b->zero_point_is_input &&
                   is_same_pairs(&a->pairs, &b->pairs);
    for (uint32_t i = 0; is_same && i < a->num_parts; i++)
        is_same = is_same_part(&a->parts[i], &b->parts[i]);
    return is_same && memcmp(a->run_offsets, b->run_offsets,
                             (size_t)a->num_runs * sizeof *a->run_offsets) == 0;
}

static bool is_same_depthwise(const qgc_depthwise_kernel *a, const qgc_depthwise_kernel *b)
{
    return a->images == b->images && a->out_h == b->out_h && a->out_w == b->out_w &&
           a->channels == b->channels && is_same_pixels(&a->in, &b->in) &&
           is_same_pixels(&a->out, &b->out) && is_same_pixels(&a->addend, &b->addend) &&
           a->stride == b->stride && a->kernel_h == b->kernel_h && a->row_stride == b->row_stride &&
           a->row_dilation == b->row_dilation && a->width == b->width && a->taps == b->taps &&
           a->dilation == b->dilation && a->group_channels == b->group_channels &&
           a->pixels == b->pixels && a->rows == b->rows && a->outputs == b->outputs &&
           a->groups == b->groups && is_same_epilogue(&a->epilogue, &b->epilogue);
}

static bool is_same_operand(const qgc_fused_operand *a, const qgc_fused_operand *b)
{
    return a->dtype == b->dtype && a->flip == b->flip && a->first == b->first &&
           memcmp(a->strides, b->strides, sizeof a->strides) == 0;
}

/* Floats by their bits: -0 is not +0. */
static bool is_same_function(const qgc_fused_step *a, const qgc_fused_step *b)
{
    return a->op == b->op && a->dtype == b->dtype && a->num_args == b->num_args &&
           memcmp(a->args, b->args, a->num_args * sizeof *a->args) == 0 &&
           memcmp(&a->p, &b->p, sizeof a->p) == 0 && memcmp(&a->q, &b->q, sizeof a->q) == 0 &&
           a->word == b->word && a->lo == b->lo && a->hi == b->hi;
}

static bool is_same_functions(const qgc_fused_kernel *a, const qgc_fused_kernel *b)
{
    bool is_same = a->rank == b->rank && a->num_inputs == b->num_inputs &&
                   a->num_steps == b->num_steps && is_same_operand(&a->out, &b->out) &&
                   memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
    for (uint32_t i = 0; is_same && i < a->num_inputs; i++)
        is_same = is_same_operand(&a->inputs[i], &b->inputs[i]);
    for (uint32_t i = 0; is_same && i < a->num_steps; i++)
        is_same = is_same_function(&a->steps[i], &b->steps[i]);
    return is_same;
}

static bool is_same_list(const int64_t *a, const int64_t *b, int64_t num)
{
    return a && b ? memcmp(a, b, (size_t)num * sizeof *a) == 0 : a == b;
}

static bool is_same_chain(const qgc_chain_kernel *a, const qgc_chain_kernel *b)
{
    bool is_same =
        a->images == b->images && a->out_d == b->out_d && a->out_h == b->out_h &&
        a->out_w == b->out_w && a->out_c == b->out_c && a->groups == b->groups &&
        a->channels == b->channels && a->kernel_d == b->kernel_d && a->kernel_h == b->kernel_h &&
        a->kernel_w == b->kernel_w && a->may_miss == b->may_miss && a->tap_plane == b->tap_plane &&
        a->chunk == b->chunk && is_same_list(a->first_columns, b->first_columns, a->out_w) &&
        is_same_list(a->end_columns, b->end_columns, a->out_w) && is_same_pixels(&a->in, &b->in) &&
        is_same_pixels(&a->out, &b->out) && a->tap_row == b->tap_row &&
        a->tap_column == b->tap_column && a->is_depthwise == b->is_depthwise &&
        a->pixels_first == b->pixels_first && a->by_block == b->by_block &&
        a->has_bias == b->has_bias && a->w_is_input == b->w_is_input && a->w_row == b->w_row &&
        a->w_image == b->w_image && a->tile_vectors == b->tile_vectors &&
        a->tile_pixels == b->tile_pixels && !a->epilogue == !b->epilogue &&
        a->sum_input == b->sum_input;
    if (!is_same || !a->epilogue)
        return is_same;
    is_same = is_same_functions(a->epilogue, b->epilogue);
    for (uint32_t i = 0; is_same && i < a->epilogue->num_inputs; i++)
        is_same = is_same_pixels(&a->operands[i], &b->operands[i]);
    return is_same;
}

static bool is_same_resize(const qgc_resize_kernel *a, const qgc_resize_kernel *b)
{
    return a->outer == b->outer && a->in == b->in && a->out == b->out && a->inner == b->inner &&
           a->taps == b->taps && a->full == b->full && a->by_element == b->by_element &&
           a->width == b->width && a->per_unit == b->per_unit && a->vectors == b->vectors &&
           a->sources == b->sources;
}

static bool is_same(const qgc_kernel *a, const qgc_kernel *b)
{
    if (a->kind != b->kind || a->units != b->units || a->num_constants != b->num_constants)
        return false;
    for (uint32_t i = 0; i < a->num_constants; i++)
        if (!a->constants[i] != !b->constants[i])
            return false;
    if (a->kind == QGC_KERNEL_CONV)
        return is_same_conv((const qgc_conv_kernel *)a, (const qgc_conv_kernel *)b);
    if (a->kind == QGC_KERNEL_DEPTHWISE)
        return is_same_depthwise((const qgc_depthwise_kernel *)a, (const qgc_depthwise_kernel *)b);
    if (a->kind == QGC_KERNEL_CHAIN)
        return is_same_chain((const qgc_chain_kernel *)a, (const qgc_chain_kernel *)b);
    if (a->kind == QGC_KERNEL_RESIZE)
        return is_same_resize((const qgc_resize_kernel *)a, (const qgc_resize_kernel *)b);
    if (a->kind == QGC_KERNEL_WIDEN)
        return ((const qgc_widen_kernel *)a)->bytes == ((const qgc_widen_kernel *)b)->bytes;
    return false;
}

const char *qgc_plan_find_equal(const qgc_plan *plan, const qgc_kernel *kernel)
{
    for (size_t i = 0; i < plan->steps.size; i++) {
        const qgc_kernel *earlier = plan->steps.data[i]->kernel;
        if (earlier && earlier != kernel && earlier->name && is_same(earlier, kernel))
            return earlier->name;
    }
    return NULL;
}

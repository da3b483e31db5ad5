/* Adds steps that make indices known at run time the bytes to what they choose. */
#include "codegen/move.h"

/* A position of |index| in bytes of |x|. */
static qgc_indices_dim in_bytes(const qgc_move_index *index, const qgc_move_strides *x)
{
    int64_t stride = index->in_dim == QGC_MOVE_NO_DIM ? 0 : x->bytes[index->in_dim];
    return (qgc_indices_dim){index->size, index->in_step * stride};
}

static qgc_buffer *add_output(qgc_planner *p, const qgc_value *value, int64_t num)
{
    qgc_buffer *out = qgc_planner_scratch(p, value);
    if (!qgc_checked_mul((size_t)num, sizeof(int64_t), &out->bytes))
        p->failed = true;
    return out;
}

qgc_buffer *qgc_planner_indices(qgc_planner *p, const qgc_node *node,
                                const qgc_move_indices *indices, const qgc_buffer *x)
{
    const qgc_value *value = indices->value;
    qgc_move_strides strides = qgc_move_strides_of(x);
    qgc_indices_kernel *k = QGC_NEW(&p->plan->arena, qgc_indices_kernel);
    *k = (qgc_indices_kernel){.base = {.kind = QGC_KERNEL_INDICES, .units = 1},
                              .rank = indices->rank,
                              .num_columns = indices->num_columns,
                              .index_bytes = (uint32_t)qgc_dtype_bytes(value->type->dtype)};
    int64_t num = 1;
    for (uint32_t d = 0; d < k->rank; d++) {
        k->dims[d] = in_bytes(&indices->dims[d], &strides);
        num *= k->dims[d].size;
    }
    for (uint32_t c = 0; c < k->num_columns; c++)
        k->columns[c] = in_bytes(&indices->columns[c], &strides);
    qgc_buffer *in = qgc_planner_plain(p, value);
    qgc_step *step = qgc_planner_add_kernel(p, node, &k->base, 1, 2);
    step->inputs[0] = in;
    step->outputs[0] = add_output(p, value, num);
    step->outputs[1] = add_output(p, value, 1);
    step->can_fail = true;
    step->note =
        qgc_arena_printf(&p->plan->arena, "tuples = %lld of %u", (long long)num, k->num_columns);
    return step->outputs[0];
}

/* No op is one: steps of this kind come with moves. */
const char *qgc_plan_indices(qgc_planner *p, const qgc_node *node)
{
    (void)p;
    (void)node;
    return "";
}

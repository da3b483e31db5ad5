/* Plans lookup with a constant table: on NHWC where its operand lies so, else on ROWS. The
 * table is that of the unsigned forms. */
#include "codegen/conv.h"

static const void *make_table(qgc_planner *p, const qgc_tensor *table)
{
    size_t bytes = 256 * qgc_dtype_bytes(table->dtype);
    uint8_t *out = qgc_planner_constant(p, bytes, 1),
            flip = table->dtype == QGC_DTYPE_I8 ? 0x80 : 0;
    for (size_t i = 0; i < bytes; i++)
        out[i] = ((const uint8_t *)table->data)[i] ^ flip;
    return out;
}

static void use_nhwc(qgc_planner *p, const qgc_node *node, qgc_lookup_kernel *k,
                     qgc_buffer **buffers)
{
    qgc_border none = {0};
    buffers[0] = qgc_planner_nhwc(p, node->operands[0].value, none, 0);
    buffers[1] = qgc_make_output(p, &node->results[0]);
    k->in = qgc_buffer_pixels(buffers[0], &none);
    k->out = qgc_buffer_pixels(buffers[1], &none);
    k->rows_per_image = buffers[0]->h;
    k->row_bytes = buffers[0]->w * buffers[0]->c;
    k->base.units = buffers[0]->n * buffers[0]->h;
}

/* Equal rows, that threads share them; not so short that their ends would count. */
static int64_t count_rows(const qgc_planner *p, int64_t num)
{
    enum { LEAST = 4096, MOST_EACH = 4 };
    int64_t threads = p->target->threads > 1 ? p->target->threads : 1;
    for (int64_t rows = threads; rows <= MOST_EACH * threads && rows * LEAST <= num; rows++)
        if (num % rows == 0)
            return rows;
    return 1;
}

static void use_rows(qgc_planner *p, const qgc_node *node, int64_t num, qgc_lookup_kernel *k,
                     qgc_buffer **buffers)
{
    buffers[0] = qgc_planner_rows(p, node->operands[0].value);
    const qgc_value *y = &node->results[0];
    buffers[1] = qgc_is_8bit(y->type->dtype) ? qgc_planner_new_rows(p, y) : qgc_planner_plain(p, y);
    k->rows_per_image = k->base.units = count_rows(p, num);
    k->row_bytes = num / k->base.units;
    k->in.row = k->row_bytes;
    k->out.row = k->row_bytes * k->element_bytes;
}

const char *qgc_plan_lookup(qgc_planner *p, const qgc_node *node)
{
    if (node->op != QGC_OP_LOOKUP)
        return "";
    const qgc_value *q = node->operands[0].value;
    const qgc_tensor *table = qgc_constant_operand(node, 1);
    qgc_border none = {0};
    int64_t num;
    if (!table)
        return "its table is not constant";
    if (qgc_dtype_bytes(table->dtype) > 2 || !qgc_is_8bit(q->type->dtype))
        return "its table is larger";
    if (!qgc_type_num_elements(q->type, &num) || !num)
        return "it is empty";
    qgc_lookup_kernel *k = QGC_NEW(&p->plan->arena, qgc_lookup_kernel);
    qgc_buffer *buffers[2];
    k->element_bytes = (uint32_t)qgc_dtype_bytes(table->dtype);
    if (qgc_planner_find_nhwc(p, q, none, 0))
        use_nhwc(p, node, k, buffers);
    else
        use_rows(p, node, num, k, buffers);
    k->base.kind = QGC_KERNEL_LOOKUP;
    k->base.num_constants = 1;
    k->base.constants = QGC_NEW(&p->plan->arena, const void *);
    k->base.constants[0] = make_table(p, table);
    qgc_step *step = qgc_planner_add_kernel(p, node, &k->base, 1, 1);
    step->inputs[0] = buffers[0];
    step->outputs[0] = buffers[1];
    step->note = qgc_arena_printf(&p->plan->arena, "rows = %lldx%lld", (long long)k->base.units,
                                  (long long)k->row_bytes);
    return NULL;
}

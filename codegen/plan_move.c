/* Plans ops that move elements: as a name for memory that has the result already, or as copies from
 * where the operands lie, in whatever form. NHWC stays NHWC where the op leaves channels what they
 * are. */
#include "codegen/conv.h"
#include "codegen/move.h"

#include <string.h>

typedef struct copy {
    qgc_planner *p;
    const qgc_node *node;
    const qgc_move *move;
    const qgc_move_part *part;
    qgc_move_kernel *k;
} copy;

static int64_t element_bytes(const qgc_value *value)
{
    return (int64_t)qgc_dtype_bytes(value->type->dtype);
}

qgc_move_strides qgc_move_strides_of(const qgc_buffer *b)
{
    qgc_value_strides of = qgc_buffer_strides(b);
    qgc_move_strides s = {.first = of.first};
    memcpy(s.bytes, of.bytes, sizeof of.bytes);
    if (b->form != QGC_BUFFER_NHWC)
        s.bytes[QGC_MOVE_FLAT] = element_bytes(b->value);
    return s;
}

/* i8 with 128 added. */
static bool is_shifted(const qgc_buffer *b)
{
    return b->value->type->dtype == QGC_DTYPE_I8 &&
           (b->form == QGC_BUFFER_ROWS || b->form == QGC_BUFFER_NHWC);
}

/* ---- loops ---- */

static uint32_t add_table(copy *c, const int64_t *positions, int64_t size, int64_t stride)
{
    int64_t *table = qgc_planner_constant(c->p, (size_t)size, sizeof *table);
    for (int64_t i = 0; i < size; i++)
        table[i] = positions[i] * stride;
    c->k->base.constants[c->k->base.num_constants] = table;
    return c->k->base.num_constants++;
}

/* One step between all positions makes a loop without a table. */
static bool is_regular(const int64_t *positions, int64_t size, int64_t *out_step)
{
    *out_step = size > 1 ? positions[1] - positions[0] : 0;
    for (int64_t i = 1; i < size; i++)
        if (positions[i] - positions[i - 1] != *out_step)
            return false;
    return true;
}

static void add_dim(copy *c, const qgc_move_axis *axis, const qgc_move_strides *in,
                    const qgc_move_strides *out)
{
    int64_t in_stride = axis->in_dim < 0 ? 0 : in->bytes[axis->in_dim], step = axis->in_step;
    qgc_move_dim dim = {.size = axis->size, .out = axis->out_step * out->bytes[axis->out_dim]};
    if (axis->is_computed) {
        dim.table = QGC_MOVE_COMPUTED;
        in_stride = 0;
    } else if (axis->positions) {
        if (is_regular(axis->positions, axis->size, &step)) {
            c->k->in_first += axis->positions[0] * in_stride;
        } else {
            dim.table = add_table(c, axis->positions, axis->size, in_stride);
            in_stride = 0;
        }
    }
    dim.in = step * in_stride;
    if (axis->is_computed && axis->size == 1)
        dim.out = INT64_MAX; /* the outermost loop: looked up once */
    if (axis->size != 1 || axis->is_computed)
        c->k->dims[c->k->rank++] = dim;
}

/* Outermost first: by how far the output's elements are apart. */
static void sort_dims(qgc_move_kernel *k)
{
    for (uint32_t i = 1; i < k->rank; i++) {
        qgc_move_dim dim = k->dims[i];
        uint32_t at = i;
        for (; at > 0 && k->dims[at - 1].out < dim.out; at--)
            k->dims[at] = k->dims[at - 1];
        k->dims[at] = dim;
    }
}

static void join_dims(qgc_move_kernel *k)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < k->rank; i++) {
        qgc_move_dim dim = k->dims[i], *outer = rank ? &k->dims[rank - 1] : NULL;
        bool continues = outer && !outer->table && !dim.table && outer->in == dim.in * dim.size &&
                         outer->out == dim.out * dim.size;
        if (continues) {
            dim.size *= outer->size;
            rank--;
        }
        k->dims[rank++] = dim;
    }
    k->rank = rank;
    if (!rank)
        k->dims[k->rank++] = (qgc_move_dim){1, k->element_bytes, k->element_bytes, 0};
}

/* An input whose elements lie together along another loop: it becomes the last but one, so that a
 * tile of both can be transposed. */
static void pair_dims(qgc_move_kernel *k)
{
    for (uint32_t i = 0; i + 2 < k->rank; i++) {
        if (k->dims[i].table || k->dims[i].in != k->element_bytes)
            continue;
        qgc_move_dim dim = k->dims[i];
        memmove(&k->dims[i], &k->dims[i + 1], (k->rank - 2 - i) * sizeof dim);
        k->dims[k->rank - 2] = dim;
        break;
    }
    const qgc_move_dim *a = &k->dims[k->rank - (k->rank > 1 ? 2 : 1)], *b = &k->dims[k->rank - 1];
    int64_t element = k->element_bytes, tile = 16 / element;
    k->is_tiled = k->rank > 1 && !a->table && !b->table && a->in == element && b->out == element &&
                  a->size >= tile && b->size >= tile;
}

/* What runs within a unit: the innermost loop, and the one around it where enough are left; of
 * tiles, one row of them. */
static void choose_units(qgc_move_kernel *k)
{
    enum { ENOUGH = 8 };
    int64_t outer = 1, tile = 16 / k->element_bytes;
    for (uint32_t i = 0; i + 2 < k->rank; i++)
        outer *= k->dims[i].size;
    k->num_outer = k->rank - 1;
    k->base.units = outer;
    if (k->rank == 1)
        k->base.units = (k->dims[0].size + QGC_MOVE_BLOCK - 1) / QGC_MOVE_BLOCK;
    else if (k->is_tiled)
        k->base.units *= (k->dims[k->rank - 2].size + tile - 1) / tile;
    else if (k->rank == 2 || outer < ENOUGH)
        k->base.units *= k->dims[k->rank - 2].size;
    if (k->rank > 1 && (k->is_tiled || (k->rank > 2 && outer >= ENOUGH)))
        k->num_outer = k->rank - 2;
}

/* ---- steps ---- */

static bool is_empty(const qgc_move_part *part)
{
    for (uint32_t i = 0; i < part->rank; i++)
        if (!part->axes[i].size)
            return true;
    return false;
}

static const char *describe(const copy *c)
{
    const qgc_move_kernel *k = c->k;
    qgc_text text = {.arena = &c->p->plan->arena};
    if (c->node)
        qgc_text_printf(&text, "%s, ", qgc_op(c->node->op)->mnemonic);
    qgc_text_puts(&text, k->is_fill ? "fill, loops = " : "loops = ");
    for (uint32_t i = 0; i < k->rank; i++)
        qgc_text_printf(&text, "%s%lld", i ? "x" : "", (long long)k->dims[i].size);
    return text.data;
}

static void add_copy(copy *c, qgc_buffer *in, qgc_buffer *table, qgc_buffer *out)
{
    qgc_planner *p = c->p;
    const qgc_move_part *part = c->part;
    qgc_move_kernel *k = c->k = QGC_NEW(&p->plan->arena, qgc_move_kernel);
    k->base.kind = QGC_KERNEL_MOVE;
    k->base.constants = QGC_NEW_ARRAY(&p->plan->arena, const void *, part->rank + 1);
    k->base.num_constants = 1;
    k->element_bytes = (uint32_t)element_bytes(out->value);
    k->is_fill = part->has_fill;
    k->flip = in ? is_shifted(in) != is_shifted(out) : is_shifted(out);
    qgc_move_strides to = qgc_move_strides_of(out),
                     from = in ? qgc_move_strides_of(in) : (qgc_move_strides){0};
    k->in_first = from.first;
    k->out_first = to.first;
    for (uint32_t d = 0; d <= QGC_MAX_RANK; d++) {
        k->in_first += part->in_first[d] * from.bytes[d];
        k->out_first += part->out_first[d] * to.bytes[d];
    }
    for (uint32_t i = 0; i < part->rank; i++)
        add_dim(c, &part->axes[i], &from, &to);
    sort_dims(k);
    join_dims(k);
    pair_dims(k);
    choose_units(k);
    if (k->is_fill) {
        uint64_t *element = qgc_planner_constant(p, 1, sizeof *element);
        *element = part->fill ^ (k->flip ? 0x80 : 0);
        k->flip = false;
        k->base.constants[0] = element;
    }
    qgc_step *step = qgc_planner_add_kernel(p, c->node, &k->base, !!in + !!table, 1);
    if (in)
        step->inputs[0] = in;
    if (table)
        step->inputs[1] = table;
    step->outputs[0] = out;
    step->note = describe(c);
}

void qgc_planner_copy(qgc_planner *p, const qgc_move_part *part, qgc_buffer *in, qgc_buffer *out)
{
    copy c = {.p = p, .part = part};
    add_copy(&c, in, NULL, out);
}

/* ---- names ---- */

/* Where the part's elements lie one after the other in its input, in the order of the output. */
static bool is_contiguous(const qgc_move_part *part, const qgc_buffer *in, int64_t *out_first)
{
    qgc_move_strides from = qgc_move_strides_of(in);
    int64_t stride = element_bytes(in->value);
    *out_first = from.first;
    for (uint32_t d = 0; d <= QGC_MAX_RANK; d++)
        *out_first += part->in_first[d] * from.bytes[d];
    for (uint32_t i = part->rank; i-- > 0;) {
        const qgc_move_axis *axis = &part->axes[i];
        bool is_next = axis->in_dim >= 0 && !axis->positions &&
                       axis->in_step * from.bytes[axis->in_dim] == stride;
        if (axis->is_computed || (axis->size != 1 && !is_next))
            return false;
        if (axis->positions && axis->in_dim >= 0)
            *out_first += axis->positions[0] * from.bytes[axis->in_dim];
        stride *= axis->size;
    }
    return true;
}

/* The loops go through the output in the order of its elements. */
static bool follows_output(const qgc_move_part *part)
{
    for (uint32_t i = 0; i < part->rank; i++) {
        const qgc_move_axis *axis = &part->axes[i];
        if (axis->out_step != 1 || (i && axis[-1].out_dim >= axis->out_dim))
            return false;
    }
    return true;
}

static bool plan_name(qgc_planner *p, const qgc_move_part *part, bool is_only)
{
    qgc_buffer *in = part->in ? qgc_planner_lying(p, part->in) : NULL;
    int64_t first;
    if (!in || in->data || !is_only || !follows_output(part) || !is_contiguous(part, in, &first))
        return false;
    qgc_planner_alias(p, part->out, in, (size_t)first);
    return true;
}

/* ---- forms ---- */

static bool lies_nhwc(qgc_planner *p, const qgc_value *value)
{
    return qgc_has_nhwc(value->type) && qgc_planner_find_nhwc(p, value, (qgc_border){0}, 0) != NULL;
}

static bool is_scalar(const qgc_value *value)
{
    int64_t num;
    return qgc_type_num_elements(value->type, &num) && num == 1;
}

/* All inputs lie so that are no scalars, and the result can. */
static bool chooses_nhwc(qgc_planner *p, const qgc_node *node, const qgc_move *move)
{
    bool any = false;
    if (!move->keeps_layout || !qgc_has_nhwc(node->results[0].type))
        return false;
    for (size_t i = 0; i < move->parts.size; i++) {
        const qgc_value *in = move->parts.data[i]->in;
        bool lies_so = in && lies_nhwc(p, in);
        if (in && !lies_so && !is_scalar(in))
            return false;
        any = any || lies_so;
    }
    return any;
}

static qgc_buffer *flat_input(qgc_planner *p, const qgc_value *value)
{
    qgc_buffer *in = qgc_planner_lying(p, value);
    if (in->form != QGC_BUFFER_NHWC)
        return in;
    return value->type->dtype == QGC_DTYPE_I8 ? qgc_planner_rows(p, value)
                                              : qgc_planner_plain(p, value);
}

static qgc_buffer *find_input(qgc_planner *p, const qgc_move *move, const qgc_move_part *part,
                              bool is_nhwc)
{
    if (!part->in)
        return NULL;
    if (is_nhwc && lies_nhwc(p, part->in))
        return qgc_planner_nhwc(p, part->in, (qgc_border){0}, 0);
    return move->in_is_flat ? flat_input(p, part->in) : qgc_planner_lying(p, part->in);
}

static qgc_buffer *make_output(qgc_planner *p, const qgc_move_part *part, const qgc_buffer *in,
                               bool is_nhwc)
{
    if (is_nhwc)
        return qgc_make_output(p, part->out);
    bool unsigned_form = in && is_shifted(in);
    return unsigned_form ? qgc_planner_new_rows(p, part->out) : qgc_planner_plain(p, part->out);
}

static void plan_parts(qgc_planner *p, const qgc_node *node, const qgc_move *move)
{
    copy c = {.p = p, .node = node, .move = move};
    bool is_nhwc = chooses_nhwc(p, node, move), is_split = node->num_results > 1;
    const qgc_move_part *last = move->parts.data[move->parts.size - 1];
    qgc_buffer *out = NULL;
    for (size_t i = 0; i < move->parts.size; i++) {
        c.part = move->parts.data[i];
        if (!is_nhwc && plan_name(p, c.part, is_split || move->parts.size == 1))
            continue;
        qgc_buffer *in = find_input(p, move, c.part, is_nhwc);
        if (!out || is_split)
            out = make_output(p, c.part, find_input(p, move, last, is_nhwc), is_nhwc);
        if (is_empty(c.part))
            continue;
        qgc_buffer *table =
            move->indices.value ? qgc_planner_indices(p, node, &move->indices, in) : NULL;
        add_copy(&c, in, table, out);
    }
}

const char *qgc_plan_move(qgc_planner *p, const qgc_node *node)
{
    qgc_move move = {0};
    const char *why = qgc_move_describe(p, node, &move);
    if (why)
        return why;
    if (move.parts.size)
        plan_parts(p, node, &move);
    for (uint32_t i = 0; i < node->num_results && !move.parts.size; i++)
        qgc_planner_plain(p, &node->results[i]); /* empty */
    return NULL;
}

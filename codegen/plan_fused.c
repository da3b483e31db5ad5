/* Plans elementwise functions of f32 as fused kernels.
 *
 * A group is a root and the nodes of the root's shape whose results only the group uses; it runs at
 * the root's place as one loop. A dequantize whose uses all are in groups belongs to each of them:
 * to read an integer and convert it is no more work than to read a float.
 *
 * In the order NHWC where the inputs lie so, otherwise PLAIN.
 *
 * Where a float product's sum is read by a group of a few cheap functions alone, the group is the
 * product's epilogue (codegen/plan_chain.c): the sums never lie in memory. */
#include "codegen/chain.h"
#include "codegen/conv.h"
#include "ir/view.h"
#include "runtime/quant.h"

#include <string.h>

/* ---- what can be fused ---- */

typedef struct fused_row {
    qgc_dtype_set first, others, result;
    const char *p, *q, *word;
} fused_row;

static const fused_row rows[QGC_NUM_OPS] = {
#define QGC_FUSED(op, first, others, result, emitter, p, q, word)                                  \
    [QGC_OP_##op] = {first, others, result, p, q, word},
#include "codegen/fused.def"
};

static bool has_dtype(const qgc_value *value, qgc_dtype_set set)
{
    return set >> value->type->dtype & 1;
}

/* Operands that have an axis of their own: scales, zero points, statistics. */
static bool is_step_of_quantization(qgc_opcode op)
{
    return op == QGC_OP_QUANTIZE || op == QGC_OP_DEQUANTIZE || op == QGC_OP_FAKE_QUANT;
}

static bool has_channel_operands(qgc_opcode op)
{
    return is_step_of_quantization(op) || op == QGC_OP_BATCH_NORM;
}

static bool can_be_fused(const qgc_node *node)
{
    const fused_row *row = &rows[node->op];
    int64_t num;
    if (!row->result || node->num_results != 1 || !has_dtype(&node->results[0], row->result))
        return false;
    if (node->num_operands > QGC_FUSED_MAX_ARGS || node->results[0].type->rank > QGC_FUSED_MAX_DIMS)
        return false;
    if (!qgc_type_num_elements(node->results[0].type, &num) || !num)
        return false;
    if (node->op == QGC_OP_FAKE_QUANT && qgc_node_dtype(node, "to") == QGC_DTYPE_I32)
        return false;
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (node->operands[i].value &&
            !has_dtype(node->operands[i].value, i ? row->others : row->first))
            return false;
    return true;
}

/* ---- groups ---- */

typedef struct group {
    const qgc_node *root; /* NULL: a dequantize that is part of each user's group */
    uint32_t num_inputs;  /* at most */
    uint32_t num_steps;
} group;

static bool same_shape(const qgc_type *a, const qgc_type *b)
{
    if (a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->dims[i].value != b->dims[i].value)
            return false;
    return true;
}

/* Constants among the operands count as a step, too. */
static bool has_room(const group *g, const qgc_node *node)
{
    return g->num_inputs + node->num_operands - 1 <= QGC_FUSED_MAX_INPUTS &&
           g->num_steps + 3 + node->num_operands <= QGC_FUSED_MAX_STEPS;
}

/* |uses| of the node's result in the group are no inputs any longer. */
static void enlarge(group *g, const qgc_node *node, uint32_t uses)
{
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        int64_t num;
        bool is_scalar = value && value->def && value->def->constant &&
                         qgc_type_num_elements(value->type, &num) && num == 1;
        g->num_inputs += value && !is_scalar;
    }
    g->num_inputs -= uses;
    g->num_steps += 3 + node->num_operands;
}

/* The group that one use of |node| puts it into, or NULL. */
static group *group_of_use(qgc_planner *p, const qgc_node *node, const qgc_use *use)
{
    group *g = qgc_map_get(&p->fused, use->user);
    if (!g || !g->root || !same_shape(node->results[0].type, g->root->results[0].type))
        return NULL;
    if (has_channel_operands(use->user->op) && use != &use->user->operands[0])
        return NULL;
    return has_room(g, node) ? g : NULL;
}

/* All users are of one group with room. */
static group *only_group(qgc_planner *p, const qgc_node *node)
{
    const qgc_use *use = node->results[0].first_use;
    group *g = use ? group_of_use(p, node, use) : NULL;
    for (; use && g; use = use->next)
        if (group_of_use(p, node, use) != g)
            return NULL;
    return g;
}

/* A dequantize in several groups: whether each has room. */
static bool joins_all(qgc_planner *p, const qgc_node *node)
{
    if (node->op != QGC_OP_DEQUANTIZE || !node->results[0].first_use)
        return false;
    for (const qgc_use *use = node->results[0].first_use; use; use = use->next)
        if (!group_of_use(p, node, use))
            return false;
    for (const qgc_use *use = node->results[0].first_use; use; use = use->next)
        enlarge(qgc_map_get(&p->fused, use->user), node, 1);
    return true;
}

static void find_group(qgc_planner *p, const qgc_node *node)
{
    static group everywhere;
    group *g = only_group(p, node);
    if (!g && joins_all(p, node))
        g = &everywhere;
    else if (g)
        enlarge(g, node, node->results[0].num_uses);
    if (!g) {
        g = QGC_NEW(&p->plan->arena, group);
        g->root = node;
        enlarge(g, node, 0);
    }
    *qgc_map_at(&p->fused, node) = g;
}

static void find_groups(qgc_planner *p)
{
    if (p->has_fused)
        return;
    p->has_fused = true;
    for (const qgc_node *node = p->plan->func->last; node; node = node->previous)
        if (can_be_fused(node))
            find_group(p, node);
}

/* ---- inputs ---- */

enum { NO_AXIS = -1 };

typedef struct input {
    const qgc_value *value;
    int64_t axis; /* of a list of channels, else NO_AXIS */
    int32_t index;
} input;

typedef struct fusion {
    qgc_planner *p;
    const group *group;
    const qgc_type *type; /* the shape of all values */
    qgc_fused_kernel *k;
    bool is_nhwc;
    input inputs[QGC_FUSED_MAX_INPUTS];
    qgc_buffer *buffers[QGC_FUSED_MAX_INPUTS];
    const qgc_node *nodes[QGC_FUSED_MAX_STEPS]; /* of the steps; NULL: constants */
} fusion;

static const qgc_tensor *scalar_of(const qgc_value *value)
{
    const qgc_tensor *t = value->def ? value->def->constant : NULL;
    return t && t->bytes == qgc_dtype_bytes(t->dtype) &&
                   (t->dtype == QGC_DTYPE_F32 || t->dtype == QGC_DTYPE_I32)
               ? t
               : NULL;
}

static int32_t add_input(fusion *f, const qgc_value *value, int64_t axis)
{
    uint32_t n = f->k->num_inputs;
    for (uint32_t i = 0; i < n; i++)
        if (f->inputs[i].value == value && f->inputs[i].axis == axis)
            return (int32_t)i;
    QGC_ASSERT(n < QGC_FUSED_MAX_INPUTS, "%u inputs", n);
    f->inputs[n] = (input){value, axis, (int32_t)n};
    return (int32_t)f->k->num_inputs++;
}

/* ---- steps: values are numbered with inputs from 0, steps from MAX_INPUTS; renumbered at the end
 */

static qgc_fused_step *new_step(fusion *f, qgc_opcode op, qgc_dtype dtype, int32_t *out_value)
{
    uint32_t n = f->k->num_steps++;
    QGC_ASSERT(n < QGC_FUSED_MAX_STEPS, "%u steps", n);
    *out_value = (int32_t)n + QGC_FUSED_MAX_INPUTS;
    f->k->steps[n] = (qgc_fused_step){.op = op, .dtype = dtype};
    return &f->k->steps[n];
}

static int32_t add_constant(fusion *f, qgc_dtype dtype, float p, int32_t lo)
{
    int32_t value;
    qgc_fused_step *s = new_step(f, QGC_OP_CONST, dtype, &value);
    s->p = p;
    s->lo = lo;
    return value;
}

static int32_t add_scalar(fusion *f, const qgc_tensor *t)
{
    float p = 0;
    int32_t i = 0;
    memcpy(t->dtype == QGC_DTYPE_F32 ? (void *)&p : (void *)&i, t->data, sizeof i);
    return add_constant(f, t->dtype, p, i);
}

static int32_t add_node(fusion *f, const qgc_node *node);

/* The dimension that a channel operand runs along. */
static int64_t channel_axis(const fusion *f, const qgc_node *node)
{
    if (node->op == QGC_OP_BATCH_NORM)
        return 1;
    if (!qgc_node_has(node, "axis"))
        return NO_AXIS;
    int64_t axis = qgc_node_int(node, "axis");
    return axis < 0 ? axis + f->type->rank : axis;
}

static int32_t add_operand(fusion *f, const qgc_node *node, uint32_t index)
{
    const qgc_value *value = node->operands[index].value;
    if (!value)
        return -1;
    if (scalar_of(value))
        return add_scalar(f, scalar_of(value));
    if (index && has_channel_operands(node->op))
        return add_input(f, value, channel_axis(f, node));
    const group *g = value->def ? qgc_map_get(&f->p->fused, value->def) : NULL;
    if (g && (g == f->group || !g->root) && value->def != f->group->root)
        return add_node(f, value->def);
    return add_input(f, value, NO_AXIS);
}

/* Scale and zero point of a step of quantization, where they are attributes. */
static void add_parameters(fusion *f, const qgc_node *node, int32_t *args)
{
    if (args[1] < 0)
        args[1] = add_constant(f, QGC_DTYPE_F32, qgc_node_float(node, "scale"), 0);
    if (args[2] < 0)
        args[2] = add_constant(f, QGC_DTYPE_I32, 0, (int32_t)qgc_node_int(node, "zero_point"));
}

static void set_bounds(qgc_fused_step *s, const qgc_node *node)
{
    bool is_fake = node->op == QGC_OP_FAKE_QUANT;
    qgc_int_range range = {0, 0};
    qgc_quant_dtype_range(is_fake ? qgc_node_dtype(node, "to") : node->results[0].type->dtype,
                          &range);
    if (qgc_node_has(node, "range"))
        range = (qgc_int_range){(int32_t)qgc_node_int_at(node, "range", 0),
                                (int32_t)qgc_node_int_at(node, "range", 1)};
    s->lo = range.lo;
    s->hi = range.hi;
}

static int32_t find_node(const fusion *f, const qgc_node *node)
{
    for (uint32_t i = 0; i < f->k->num_steps; i++)
        if (f->nodes[i] == node)
            return (int32_t)i + QGC_FUSED_MAX_INPUTS;
    return -1;
}

static int32_t add_node(fusion *f, const qgc_node *node)
{
    const fused_row *row = &rows[node->op];
    int32_t args[QGC_FUSED_MAX_ARGS] = {-1, -1, -1, -1, -1}, value = find_node(f, node);
    if (value >= 0)
        return value;
    for (uint32_t i = 0; i < node->num_operands; i++)
        args[i] = add_operand(f, node, i);
    if (is_step_of_quantization(node->op))
        add_parameters(f, node, args);
    qgc_fused_step *s = new_step(f, node->op, node->results[0].type->dtype, &value);
    f->nodes[f->k->num_steps - 1] = node;
    s->num_args = QGC_FUSED_MAX_ARGS;
    memcpy(s->args, args, sizeof args);
    s->p = row->p ? qgc_node_float(node, row->p) : 0;
    s->q = row->q ? qgc_node_float(node, row->q) : 0;
    s->word = row->word ? qgc_node_word(node, row->word) : 0;
    if (node->op == QGC_OP_QUANTIZE || node->op == QGC_OP_FAKE_QUANT)
        set_bounds(s, node);
    return value;
}

static void renumber(fusion *f)
{
    int32_t shift = QGC_FUSED_MAX_INPUTS - (int32_t)f->k->num_inputs;
    for (uint32_t i = 0; i < f->k->num_steps; i++)
        for (uint32_t a = 0; a < f->k->steps[i].num_args; a++)
            if (f->k->steps[i].args[a] >= QGC_FUSED_MAX_INPUTS)
                f->k->steps[i].args[a] -= shift;
}

/* ---- layout ---- */

static bool is_full(const fusion *f, const input *in)
{
    return in->axis == NO_AXIS && same_shape(in->value->type, f->type);
}

static int64_t element_bytes(const qgc_value *value)
{
    return (int64_t)qgc_dtype_bytes(value->type->dtype);
}

/* NHWC where at least as many bytes of the inputs lie so as lie otherwise. */
static bool prefers_nhwc(const fusion *f)
{
    int64_t nhwc = 0, plain = 0;
    if (!qgc_has_nhwc(f->type))
        return false;
    for (uint32_t i = 0; i < f->k->num_inputs; i++) {
        const input *in = &f->inputs[i];
        if (!is_full(f, in))
            continue;
        bool is_nhwc = qgc_planner_find_nhwc(f->p, in->value, (qgc_border){0}, 0) != NULL;
        *(is_nhwc ? &nhwc : &plain) += element_bytes(in->value);
    }
    return nhwc > 0 && nhwc >= plain;
}

/* Byte strides of the result's dimensions in a buffer of a whole tensor. */
static void set_strides(const fusion *f, const qgc_buffer *b, qgc_fused_operand *o)
{
    const qgc_type *type = b->value->type;
    qgc_value_strides of = qgc_buffer_strides(b);
    o->first = of.first;
    for (uint32_t i = 0; i < type->rank; i++)
        o->strides[i + f->type->rank - type->rank] = type->dims[i].value == 1 ? 0 : of.bytes[i];
}

static void set_operand(const fusion *f, const qgc_buffer *b, int64_t axis, qgc_fused_operand *o)
{
    *o = (qgc_fused_operand){.dtype = b->value->type->dtype};
    o->flip = b->form != QGC_BUFFER_PLAIN && o->dtype == QGC_DTYPE_I8;
    if (axis == NO_AXIS)
        set_strides(f, b, o);
    else if (b->value->type->rank)
        o->strides[axis] = element_bytes(b->value);
}

static void place_inputs(fusion *f)
{
    for (uint32_t i = 0; i < f->k->num_inputs; i++) {
        const input *in = &f->inputs[i];
        f->buffers[i] = f->is_nhwc && is_full(f, in)
                            ? qgc_planner_nhwc(f->p, in->value, (qgc_border){0}, 0)
                            : qgc_planner_plain(f->p, in->value);
        set_operand(f, f->buffers[i], in->axis, &f->k->inputs[i]);
    }
}

/* ---- loops ---- */

/* The operands' strides along dimension |from| become those along |to|. */
static void move_dim(qgc_fused_kernel *k, uint32_t to, uint32_t from, const qgc_fused_kernel *old)
{
    k->dims[to] = old->dims[from];
    k->out.strides[to] = old->out.strides[from];
    for (uint32_t i = 0; i < k->num_inputs; i++)
        k->inputs[i].strides[to] = old->inputs[i].strides[from];
}

static bool continues(const qgc_fused_operand *o, const qgc_fused_kernel *k, uint32_t outer)
{
    return o->strides[outer] == o->strides[outer + 1] * k->dims[outer + 1];
}

static bool can_be_joined(const qgc_fused_kernel *k, uint32_t outer)
{
    for (uint32_t i = 0; i < k->num_inputs; i++)
        if (!continues(&k->inputs[i], k, outer))
            return false;
    return continues(&k->out, k, outer);
}

/* Channels last; without dimensions of 1; neighbours that lie contiguously become one. */
static void order_loops(fusion *f)
{
    qgc_fused_kernel *k = f->k, old = *k, sorted;
    uint32_t rank = f->type->rank, order[QGC_FUSED_MAX_DIMS], num = 0;
    for (uint32_t i = 0; i < rank; i++) {
        old.dims[i] = f->type->dims[i].value;
        uint32_t d = f->is_nhwc && i ? (i + 1 < rank ? i + 1 : 1) : i;
        if (f->type->dims[d].value != 1)
            order[num++] = d;
    }
    sorted = old;
    for (uint32_t i = 0; i < num; i++)
        move_dim(&sorted, i, order[i], &old);
    k->rank = 0;
    for (uint32_t i = 0; i < num; i++) {
        int64_t joined = i && can_be_joined(&sorted, i - 1) ? k->dims[--k->rank] : 1;
        move_dim(k, k->rank, i, &sorted);
        k->dims[k->rank++] *= joined;
    }
    if (!k->rank) {
        k->rank = 1;
        k->dims[0] = 1;
    }
    k->base.units = k->rank == 1 ? (k->dims[0] + QGC_FUSED_BLOCK - 1) / QGC_FUSED_BLOCK : 1;
    for (uint32_t i = 0; i + 1 < k->rank; i++)
        k->base.units *= k->dims[i];
}

/* ---- the step ---- */

static const char *describe(const fusion *f)
{
    qgc_text text = {.arena = &f->p->plan->arena};
    const qgc_fused_kernel *k = f->k;
    for (uint32_t i = 0; i < k->rank; i++)
        qgc_text_printf(&text, "%s%lld", i ? "x" : "loops = ", (long long)k->dims[i]);
    const char *before = ": ";
    for (uint32_t i = 0; i < k->num_steps; i++) {
        if (!f->nodes[i])
            continue;
        qgc_text_printf(&text, "%s%s", before, qgc_op(f->nodes[i]->op)->mnemonic);
        before = ", ";
    }
    return text.data;
}

/* ---- as the epilogue of a product ---- */

/* Functions that take about as long as a load and a store, which they save. */
static bool is_cheap(qgc_opcode op)
{
    static const qgc_opcode cheap[] = {
        QGC_OP_CONST,       QGC_OP_ADD,       QGC_OP_SUB,      QGC_OP_MUL,
        QGC_OP_MIN,         QGC_OP_MAX,       QGC_OP_CLIP,     QGC_OP_NEG,
        QGC_OP_ABS,         QGC_OP_RELU,      QGC_OP_PRELU,    QGC_OP_LEAKY_RELU,
        QGC_OP_HARDSIGMOID, QGC_OP_HARDSWISH, QGC_OP_QUANTIZE, QGC_OP_DEQUANTIZE};
    for (size_t i = 0; i < sizeof cheap / sizeof *cheap; i++)
        if (cheap[i] == op)
            return true;
    return false;
}

static bool is_epilogue(const qgc_fused_kernel *k)
{
    enum { MOST_STEPS = 10 };
    bool ok = k->num_steps <= MOST_STEPS;
    for (uint32_t i = 0; i < k->num_steps && ok; i++)
        ok = is_cheap(k->steps[i].op);
    return ok;
}

bool qgc_fused_takes(qgc_planner *p, const qgc_node *node)
{
    if (qgc_chain_declines(p, node) || node->results[0].num_uses != 1)
        return false;
    find_groups(p);
    const qgc_use *use = node->results[0].first_use;
    const group *g = qgc_map_get(&p->fused, use->user);
    return g && g->root && same_shape(node->results[0].type, g->root->results[0].type) &&
           (use == &use->user->operands[0] || !has_channel_operands(use->user->op));
}

/* Where |in| lies for a tile of the product; false where a vector of channels of it does not lie
 * together. */
static bool find_pixels(const fusion *f, const input *in, bool is_conv, qgc_pixels *out)
{
    qgc_buffer plain = {.value = in->value};
    qgc_fused_operand o;
    uint32_t last = f->type->rank - 1, channel = is_conv ? 1 : last;
    int64_t bytes = element_bytes(in->value);
    *out = (qgc_pixels){.pixel = f->type->dims[channel].value * bytes};
    if (is_full(f, in))
        return true;
    set_operand(f, &plain, in->axis, &o);
    *out = (qgc_pixels){.image = o.strides[0], .pixel = o.strides[last]};
    if (is_conv && last > 2)
        out->row = o.strides[last - 1];
    if (is_conv && last > 3)
        out->plane = o.strides[2];
    if (!is_conv)
        *out = (qgc_pixels){0};
    for (uint32_t i = 0; i < last && !is_conv; i++)
        if (o.strides[i])
            return false;
    return o.strides[channel] == 0 || o.strides[channel] == bytes;
}

/* The input that is a product's put-off sum, or the number of inputs. */
static uint32_t find_sum(const fusion *f)
{
    for (uint32_t i = 0; i < f->k->num_inputs; i++) {
        const qgc_node *node = f->inputs[i].value->def;
        if (node && is_full(f, &f->inputs[i]) && qgc_map_get(&f->p->put_off, node))
            return i;
    }
    return f->k->num_inputs;
}

/* Strides along channels alone. */
static void flatten_operand(qgc_fused_operand *o, uint32_t channel)
{
    int64_t stride = o->strides[channel];
    memset(o->strides, 0, sizeof o->strides);
    o->strides[0] = stride;
    o->first = 0;
}

static void plan_with_sum(fusion *f, uint32_t sum, qgc_pixels *pixels)
{
    qgc_fused_kernel *k = f->k;
    const qgc_node *node = f->inputs[sum].value->def;
    const qgc_value *result = &f->group->root->results[0];
    uint32_t channel = f->is_nhwc ? 1 : f->type->rank - 1;
    for (uint32_t i = 0; i < k->num_inputs; i++) {
        if (i == sum) {
            k->inputs[i] = (qgc_fused_operand){.dtype = QGC_DTYPE_F32};
            continue;
        }
        const input *in = &f->inputs[i];
        bool is_nhwc = f->is_nhwc && is_full(f, in);
        f->buffers[i] = is_nhwc ? qgc_planner_nhwc(f->p, in->value, (qgc_border){0}, 0)
                                : qgc_planner_plain(f->p, in->value);
        set_operand(f, f->buffers[i], in->axis, &k->inputs[i]);
        if (is_nhwc)
            pixels[i] = qgc_buffer_pixels(f->buffers[i], &(qgc_border){0});
        flatten_operand(&k->inputs[i], channel);
    }
    qgc_dtype dtype = result->type->dtype;
    k->out = (qgc_fused_operand){.dtype = dtype, .flip = f->is_nhwc && dtype == QGC_DTYPE_I8};
    k->out.strides[0] = element_bytes(result);
    k->rank = 1;
    k->dims[0] = f->type->dims[channel].value;
    *qgc_map_at(&f->p->put_off, node) = NULL;
    qgc_plan_chain_group(f->p, node,
                         &(qgc_chain_group){.result = result,
                                            .functions = k,
                                            .sum_input = sum,
                                            .buffers = f->buffers,
                                            .pixels = pixels});
}

/* Whether the group has become a product's epilogue. Put-off sums are planned in any case. */
static bool join_product(fusion *f)
{
    qgc_pixels pixels[QGC_FUSED_MAX_INPUTS] = {{0}};
    uint32_t sum = find_sum(f), num = f->k->num_inputs;
    bool fits = sum < num && is_epilogue(f->k);
    bool is_conv = fits && qgc_chain_is_conv(f->inputs[sum].value->def);
    for (uint32_t i = 0; i < num && fits; i++)
        fits = find_pixels(f, &f->inputs[i], is_conv, &pixels[i]);
    for (uint32_t i = 0; i < num; i++)
        if (i != sum || !fits)
            qgc_planner_settle(f->p, f->inputs[i].value);
    f->is_nhwc = is_conv;
    if (fits)
        plan_with_sum(f, sum, pixels);
    return fits;
}

static void plan_group(qgc_planner *p, const group *g)
{
    const qgc_value *result = &g->root->results[0];
    fusion f = {.p = p, .group = g, .type = result->type};
    f.k = QGC_NEW(&p->plan->arena, qgc_fused_kernel);
    f.k->base.kind = QGC_KERNEL_FUSED;
    add_node(&f, g->root);
    renumber(&f);
    if (join_product(&f))
        return;
    f.is_nhwc = prefers_nhwc(&f);
    place_inputs(&f);
    qgc_buffer *out = f.is_nhwc ? qgc_make_output(p, result) : qgc_planner_plain(p, result);
    set_operand(&f, out, NO_AXIS, &f.k->out);
    order_loops(&f);
    qgc_step *step = qgc_planner_add_kernel(p, g->root, &f.k->base, f.k->num_inputs, 1);
    for (uint32_t i = 0; i < f.k->num_inputs; i++)
        step->inputs[i] = f.buffers[i];
    step->outputs[0] = out;
    step->note = describe(&f);
}

const char *qgc_plan_fused(qgc_planner *p, const qgc_node *node)
{
    find_groups(p);
    const group *g = qgc_map_get(&p->fused, node);
    if (!g)
        return "";
    if (g->root == node)
        plan_group(p, g);
    return NULL;
}

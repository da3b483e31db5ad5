/* Plans int_matmul of two activations of 8 bits, with its requantize: a step that packs w, one that
 * multiplies, and where w has a zero point one before that sums x's rows. */
#include "codegen/conv.h"
#include "runtime/ref/int.h"

typedef struct matmul {
    qgc_planner *p;
    qgc_product m;
    const qgc_value *w;
    qgc_matmul_kernel k;
    int64_t (*operands)[2]; /* of each result */
} matmul;

static int64_t size_of(const qgc_type *type, uint32_t from_last)
{
    return type->dims[type->rank - from_last].value;
}

static int64_t num_of(const qgc_type *type)
{
    int64_t num;
    return qgc_type_num_elements(type, &num) ? num : 0;
}

static const char *match(matmul *t)
{
    const qgc_node *node = t->m.node;
    const char *why = qgc_match_x(&t->m);
    if (why)
        return why;
    t->w = node->operands[QGC_INT_W].value;
    if (!qgc_is_8bit(t->w->type->dtype))
        return "w has 16 bits";
    if (node->operands[QGC_INT_XZ].value || node->operands[QGC_INT_WZ].value)
        return "a zero point is an operand";
    t->m.bias = qgc_constant_operand(node, QGC_INT_BIAS);
    if (node->operands[QGC_INT_BIAS].value && !t->m.bias)
        return "bias is not constant";
    const qgc_type *y = node->results[0].type;
    if (!num_of(t->m.x->type) || !num_of(t->w->type) || !num_of(y))
        return "it is empty";
    return qgc_match_epilogue(&t->m, size_of(y, 1), y->rank - 1);
}

/* ---- which matrices ---- */

/* The number of |type|'s matrix for matrix |index| of the result. */
static int64_t matrix_of(const qgc_type *y, const qgc_type *type, int64_t index)
{
    int64_t number = 0, stride = 1;
    for (uint32_t i = 3; i <= y->rank; i++) {
        int64_t size = size_of(y, i), at = index % size;
        index /= size;
        if (i > type->rank)
            continue;
        int64_t own = size_of(type, i);
        number += own == 1 ? 0 : at * stride;
        stride *= own;
    }
    return number;
}

static void read_shape(matmul *t)
{
    qgc_matmul_kernel *k = &t->k;
    const qgc_type *x = t->m.x->type, *w = t->w->type, *y = t->m.node->results[0].type;
    k->rows = size_of(y, 2);
    k->columns = size_of(y, 1);
    k->depth = size_of(x, 1);
    k->batches = num_of(y) / k->rows / k->columns;
    k->w_matrices = num_of(w) / k->depth / k->columns;
    bool is_one = k->w_matrices == 1 && num_of(x) == k->batches * k->rows * k->depth;
    if (is_one) { /* their rows lie together */
        k->rows *= k->batches;
        k->batches = 1;
    }
    t->operands = qgc_planner_constant(t->p, (size_t)k->batches, sizeof *t->operands);
    for (int64_t b = 0; b < k->batches && !is_one; b++) {
        t->operands[b][0] = matrix_of(y, x, b) * k->rows * k->depth;
        t->operands[b][1] = matrix_of(y, w, b);
    }
}

/* ---- tiles and lists ---- */

/* As those of conv; of the heights that fit, the one that computes the fewest rows twice. */
static void choose_tile(matmul *t)
{
    qgc_matmul_kernel *k = &t->k;
    const qgc_plan_target *target = t->p->target;
    const qgc_tile_limits most = qgc_plan_tile_limits(target);
    uint32_t down = qgc_planner_steps_down(t->p, t->m.node);
    int64_t vectors = qgc_matmul_vectors(k, target->lanes), best = 0;
    k->tile_vectors = vectors < most.vectors ? (uint32_t)vectors : most.vectors;
    for (uint32_t rows = most.pixels; rows > most.pixels - 3; rows--) {
        int64_t computed = (k->rows + rows - 1) / rows * rows;
        if (!best || computed < best) {
            best = computed;
            k->tile_rows = k->rows < rows ? (uint32_t)k->rows : rows;
        }
    }
    int64_t most_rows = k->tile_rows + (int64_t)target->extra_pixels;
    k->tile_rows = (uint32_t)(most_rows < k->rows ? most_rows : k->rows);
    k->tile_rows = down < k->tile_rows ? k->tile_rows - down : 1;
    k->base.has_smaller_tile = k->tile_rows > 1;
    k->base.tile = qgc_arena_printf(&t->p->plan->arena, "%ux%u", k->tile_rows, k->tile_vectors);
}

static void fill_lists(matmul *t)
{
    qgc_matmul_kernel *k = &t->k;
    uint32_t lanes = t->p->target->lanes;
    int64_t vectors = qgc_matmul_vectors(k, lanes);
    k->base.num_constants = QGC_CONV_NUM_CONSTANTS;
    k->base.constants = QGC_NEW_ARRAY(&t->p->plan->arena, const void *, QGC_CONV_NUM_CONSTANTS);
    k->base.constants[QGC_MATMUL_OPERANDS] = t->operands;
    qgc_lists lists = qgc_new_lists(t->p, &t->m, (size_t)(vectors * lanes), 1, k->base.constants);
    k->dot_zero_point = lists.dot_zero_point;
    qgc_channel_sum sums[QGC_MAX_BLOCK] = {{0}};
    for (uint32_t i = 0; i < QGC_MAX_BLOCK; i++) /* differences from zero points within +-255 */
        sums[i].magnitude = 255 * k->depth;
    for (int64_t v = 0; v < vectors; v += k->tile_vectors) {
        uint32_t num = vectors - v < k->tile_vectors ? (uint32_t)(vectors - v) : k->tile_vectors;
        qgc_block block = {v * lanes, k->columns, num, lanes};
        qgc_fill_lists(&t->m, &lists, &block, sums);
    }
    k->epilogue = qgc_finish_lists(&t->m, &lists);
}

/* ---- steps ---- */

static void add_step(matmul *t, const qgc_matmul_kernel *k, qgc_buffer *const *inputs, uint32_t num,
                     qgc_buffer *out)
{
    qgc_planner *p = t->p;
    qgc_matmul_kernel *kernel = QGC_NEW(&p->plan->arena, qgc_matmul_kernel);
    *kernel = *k;
    kernel->base.kind = QGC_KERNEL_MATMUL;
    qgc_step *step = qgc_planner_add_kernel(p, t->m.node, &kernel->base, num, 1);
    for (uint32_t i = 0; i < num; i++)
        step->inputs[i] = inputs[i];
    step->outputs[0] = out;
    if (k->packs)
        step->note =
            qgc_arena_printf(&p->plan->arena, "pack, matrices = %lldx%lldx%lld",
                             (long long)k->w_matrices, (long long)k->depth, (long long)k->columns);
    else
        step->note = qgc_arena_printf(
            &p->plan->arena, "rows = %lldx%lld, depth = %lld, columns = %lld, tile = %ux%u%s%s",
            (long long)k->batches, (long long)k->rows, (long long)k->depth, (long long)k->columns,
            k->tile_rows, k->tile_vectors, k->epilogue.has_addend ? ", add" : "",
            k->epilogue.is_raw ? ", raw" : "");
}

/* w as it lies, where that is plain signed bytes; else unsigned. */
static qgc_buffer *w_buffer(matmul *t)
{
    bool is_signed = t->w->type->dtype == QGC_DTYPE_I8 && !(t->w->def && t->w->def->constant);
    qgc_buffer *lies = is_signed ? qgc_planner_lying(t->p, t->w) : NULL;
    t->k.flip = !lies || lies->form != QGC_BUFFER_PLAIN;
    return t->k.flip ? qgc_planner_rows(t->p, t->w) : lies;
}

static qgc_buffer *pack_w(matmul *t)
{
    uint32_t lanes = t->p->target->lanes;
    int64_t vectors = qgc_matmul_vectors(&t->k, lanes);
    qgc_buffer *w = w_buffer(t), *packed = qgc_planner_scratch(t->p, t->w);
    int64_t bytes = qgc_matmul_packed_bytes(&t->k, lanes) + vectors * lanes * 4;
    if (!qgc_checked_mul((size_t)bytes, (size_t)t->k.w_matrices, &packed->bytes))
        t->p->failed = true;
    qgc_matmul_kernel pack = t->k;
    int64_t blocks = (vectors + pack.tile_vectors - 1) / pack.tile_vectors;
    pack.packs = true;
    pack.base.tile = NULL;
    pack.base.has_smaller_tile = false;
    pack.base.units = blocks * pack.w_matrices;
    add_step(t, &pack, &w, 1, packed);
    return packed;
}

/* Of each row of x, the sum of its elements less the zero point. */
static qgc_buffer *sum_rows(matmul *t, qgc_buffer *x)
{
    qgc_planner *p = t->p;
    qgc_rows_kernel *k = QGC_NEW(&p->plan->arena, qgc_rows_kernel);
    *k = (qgc_rows_kernel){
        .base = {.kind = QGC_KERNEL_ROWS, .units = num_of(t->m.x->type) / t->k.depth},
        .kind = QGC_ROWS_FOLD,
        .fold = QGC_ROWS_SUM,
        .num = t->k.depth,
        .dtype = QGC_DTYPE_U8,
        .out = QGC_DTYPE_I32,
        .zero_point = t->m.x_stored_zero_point};
    qgc_buffer *sums = qgc_planner_scratch(p, t->m.x);
    sums->bytes = (size_t)k->base.units * sizeof(int32_t);
    qgc_step *step = qgc_planner_add_kernel(p, t->m.node, &k->base, 1, 1);
    step->inputs[0] = x;
    step->outputs[0] = sums;
    step->note = qgc_arena_printf(&p->plan->arena, "sums of x, rows = %lldx%lld",
                                  (long long)k->base.units, (long long)k->num);
    return sums;
}

static const char *plan_sum(qgc_planner *p, const qgc_node *node)
{
    if (node->op != QGC_OP_INT_MATMUL)
        return "";
    matmul t = {.p = p, .m = {.node = node, .is_raw = qgc_map_get(&p->raw, node) != NULL}};
    const char *why = match(&t);
    if (why)
        return why;
    int32_t shift = t.w->type->dtype == QGC_DTYPE_U8 ? 128 : 0;
    t.k.w_zero_point = (int32_t)qgc_node_int(node, "w_zero_point") - shift;
    read_shape(&t);
    choose_tile(&t);
    fill_lists(&t);
    t.k.base.units = (t.k.rows + t.k.tile_rows - 1) / t.k.tile_rows * t.k.batches;
    qgc_buffer *inputs[4] = {qgc_planner_rows(p, t.m.x)};
    uint32_t num = 1;
    inputs[num++] = pack_w(&t);
    if (t.k.w_zero_point)
        inputs[num++] = sum_rows(&t, inputs[0]);
    if (t.m.addend)
        inputs[num++] = qgc_planner_rows(p, t.m.addend);
    const qgc_value *y = qgc_product_result(&t.m);
    add_step(&t, &t.k, inputs, num,
             t.m.epilogue ? qgc_planner_new_rows(p, y) : qgc_planner_plain(p, y));
    qgc_planner_take(p, node);
    if (t.m.epilogue)
        qgc_planner_take(p, t.m.epilogue);
    return NULL;
}

const char *qgc_plan_matmul(qgc_planner *p, const qgc_node *node)
{
    return qgc_plan_terms(p, node, plan_sum);
}

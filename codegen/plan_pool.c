/* Plans pools of floats, max pools of 8 and 16 bits, int_sum_pool + requantize and int_sum +
 * requantize. */
#include "codegen/conv.h"
#include "ir/view.h"
#include "runtime/ref/window.h"

typedef struct pool {
    qgc_planner *p;
    qgc_product m;
    const qgc_value *result; /* the requantize's, or the pool's own */
    qgc_pool_kernel *k;
    qgc_buffer *in, *out, *multipliers;
} pool;

/* ---- windows ---- */

static bool has_empty_window(const qgc_window_dim *dim)
{
    for (int64_t o = 0; o < dim->out; o++) {
        int64_t first, last;
        qgc_window_taps(dim, o, &first, &last);
        if (first >= last)
            return true;
    }
    return false;
}

static const char *read_window(pool *l)
{
    const qgc_node *node = l->m.node;
    const qgc_type *x = l->m.x->type, *y = node->results[0].type;
    uint32_t num = x->rank - 2;
    int64_t in[2], kernel[2], out[2];
    if (num > 2)
        return "it has three spatial dimensions";
    for (uint32_t i = 0; i < num; i++) {
        in[i] = x->dims[2 + i].value;
        out[i] = y->dims[2 + i].value;
        kernel[i] = qgc_node_int_at(node, "kernel", i);
    }
    qgc_window_dim dims[QGC_MAX_SPATIAL];
    qgc_window_read(node, num, &(qgc_window_sizes){in, kernel, out}, false, dims);
    for (uint32_t i = 0; i < 2; i++) {
        const qgc_window_dim *dim = &dims[1 + i];
        if (has_empty_window(dim))
            return "a window is out of bounds";
        l->k->kernel[i] = dim->kernel;
        l->k->stride[i] = dim->stride;
        l->k->dilation[i] = dim->dilation;
        l->k->begin[i] = dim->begin;
        l->k->end[i] = dim->end;
    }
    return NULL;
}

/* Everything is one window, or those of an adaptive pool, which are never empty. */
static const char *read_whole(pool *l, bool is_adaptive)
{
    int64_t in[4], out[4];
    if (l->m.x->type->rank > 4)
        return "it has three spatial dimensions";
    qgc_nchw_shape(l->m.x->type, in);
    qgc_nchw_shape(l->result->type, out);
    l->k->is_adaptive = is_adaptive;
    for (uint32_t i = 0; i < 2; i++) {
        l->k->kernel[i] = is_adaptive ? (in[2 + i] + out[2 + i] - 1) / out[2 + i] : in[2 + i];
        l->k->stride[i] = l->k->dilation[i] = 1;
    }
    return NULL;
}

static void use_nhwc(pool *l)
{
    qgc_border none = {0};
    int64_t in[4], out[4];
    qgc_nchw_shape(l->m.x->type, in);
    qgc_nchw_shape(l->result->type, out);
    l->in = qgc_planner_nhwc(l->p, l->m.x, none, 0);
    l->out = qgc_make_output(l->p, l->result);
    l->k->in = qgc_buffer_pixels(l->in, &none);
    l->k->out = qgc_buffer_pixels(l->out, &none);
    l->k->images = in[0];
    l->k->channels = in[1];
    l->k->in_h = in[2];
    l->k->in_w = in[3];
    l->k->out_h = out[2];
    l->k->out_w = out[3];
}

/* ---- sums over axes ---- */

/* The axes as one range of dimensions. */
static bool read_axes(const qgc_node *node, uint32_t rank, uint32_t *first, uint32_t *end)
{
    uint32_t bits = 0, num = qgc_node_list_size(node, "axes");
    for (uint32_t i = 0; i < num; i++) {
        int64_t axis = qgc_node_int_at(node, "axes", i);
        bits |= 1u << (axis < 0 ? axis + rank : axis);
    }
    if (!qgc_node_has(node, "axes"))
        bits = (1u << rank) - 1;
    for (*first = 0; *first < rank && !(bits >> *first & 1);)
        ++*first;
    for (*end = *first; *end < rank && bits >> *end & 1;)
        ++*end;
    return *first < *end && bits >> *end == 0;
}

/* [N, C, H, W] to [N, C]: reads NHWC, where channels lie together. */
static void use_nhwc_to_rows(pool *l)
{
    qgc_border none = {0};
    qgc_pool_kernel *k = l->k;
    l->in = qgc_planner_nhwc(l->p, l->m.x, none, 0);
    l->out = qgc_planner_new_rows(l->p, l->result);
    k->images = l->in->n;
    k->channels = l->in->c;
    k->in_h = l->in->h;
    k->in_w = l->in->w;
    k->out_h = k->out_w = 1;
    k->in = qgc_buffer_pixels(l->in, &none);
    k->out = (qgc_pixels){.image = k->channels, .row = k->channels, .pixel = k->channels};
}

static void use_rows(pool *l, uint32_t first, uint32_t end)
{
    const qgc_type *x = l->m.x->type;
    qgc_pool_kernel *k = l->k;
    int64_t size[3] = {1, 1, 1};
    for (uint32_t i = 0; i < x->rank; i++)
        size[i < first ? 0 : i < end ? 1 : 2] *= x->dims[i].value;
    l->in = qgc_planner_rows(l->p, l->m.x);
    l->out = qgc_planner_new_rows(l->p, l->result);
    k->images = size[0];
    k->channels = size[2];
    k->in_h = k->out_h = k->out_w = 1;
    k->in_w = size[1];
    int64_t image = size[1] * size[2];
    k->in = (qgc_pixels){.image = image, .row = image, .pixel = size[2]};
    k->out = (qgc_pixels){.image = size[2], .row = size[2], .pixel = size[2]};
}

static const char *read_sum(pool *l)
{
    uint32_t first, end, rank = l->m.x->type->rank;
    if (rank > 31 || !read_axes(l->m.node, rank, &first, &end))
        return "its axes do not lie together";
    qgc_pool_kernel *k = l->k;
    bool spatial = rank == 4 && first == 2 && end == 4;
    if (spatial && l->result->type->rank == 4)
        use_nhwc(l);
    else if (spatial)
        use_nhwc_to_rows(l);
    else
        use_rows(l, first, end);
    k->kernel[0] = k->in_h;
    k->kernel[1] = k->in_w;
    for (int i = 0; i < 2; i++)
        k->stride[i] = k->dilation[i] = 1;
    return NULL;
}

/* ---- the epilogue of a sum ---- */

/* One multiplier for all, or one per position. */
static const char *match_multipliers(pool *l, const qgc_value *value)
{
    const qgc_tensor *list = qgc_constant_operand(l->m.epilogue, 1);
    if (!value) {
        l->k->multiplier = qgc_node_float_at(l->m.epilogue, "multipliers", 0);
        return NULL;
    }
    if (!list)
        return "multipliers are not constant";
    if (list->bytes == sizeof(float)) {
        l->k->multiplier = *(const float *)list->data;
        return NULL;
    }
    const qgc_type *y = l->result->type;
    bool by_position = list->rank == y->rank + 1 && y->rank > 2 && list->shape[1] == 1 &&
                       list->shape[2] == 1 && l->m.node->op == QGC_OP_INT_SUM_POOL;
    for (uint32_t i = 2; i < y->rank && by_position; i++)
        by_position = list->shape[i + 1] == y->dims[i].value;
    l->k->has_multipliers = by_position;
    return by_position ? NULL : "multipliers differ by channel";
}

static const char *match_sum(pool *l)
{
    const qgc_node *node = l->m.node, *user = l->m.epilogue = qgc_epilogue_of(node);
    if (!user)
        return "its sum is used by something else than one requantize";
    const qgc_type *acc = node->results[0].type, *y = user->results[0].type;
    l->result = &user->results[0];
    if (user->num_operands != 3)
        return "its requantize has several terms";
    if (!qgc_is_8bit(y->dtype))
        return "its result has more than 8 bits";
    if (acc != qgc_type_with_dtype(&node->func->module->context->types, y, acc->dtype))
        return "its requantize broadcasts";
    if (qgc_node_word(user, "mode") != 0 || qgc_node_int_at(user, "term_zero_points", 0) != 0)
        return "its requantize has a term zero point";
    if (user->operands[2].value)
        return "c is an operand";
    if (node->operands[1].value)
        return "a zero point is an operand";
    l->k->c = qgc_node_float(user, "c");
    return match_multipliers(l, user->operands[1].value);
}

static qgc_epilogue no_epilogue(void)
{
    return (qgc_epilogue){.lo = 0, .hi = 255};
}

/* ---- the step ---- */

static void add_step(pool *l)
{
    static const char *const words[] = {"sum", "max", "average"};
    qgc_pool_kernel *k = l->k;
    k->base.kind = QGC_KERNEL_POOL;
    k->base.units = k->images * k->out_h;
    k->epilogue = k->fold == QGC_POOL_SUM ? qgc_make_epilogue(&l->m, 1e30) : no_epilogue();
    QGC_ASSERT(!k->has_multipliers || l->m.epilogue, "only a requantize has multipliers");
    if (k->has_multipliers)
        l->multipliers = qgc_planner_plain(l->p, l->m.epilogue->operands[1].value);
    qgc_step *step =
        qgc_planner_add_kernel(l->p, l->m.node, &k->base, k->has_multipliers ? 2 : 1, 1);
    step->inputs[0] = l->in;
    if (k->has_multipliers)
        step->inputs[1] = l->multipliers;
    step->outputs[0] = l->out;
    step->note = qgc_arena_printf(
        &l->p->plan->arena, "%s, pixels = %lldx%lldx%lld, channels = %lld, window = %lldx%lld",
        words[k->fold], (long long)k->images, (long long)k->out_h, (long long)k->out_w,
        (long long)k->channels, (long long)k->kernel[0], (long long)k->kernel[1]);
    qgc_planner_take(l->p, l->m.node);
    if (l->m.epilogue)
        qgc_planner_take(l->p, l->m.epilogue);
}

/* What each op folds and over which windows. */
typedef enum windows { WINDOW, GLOBAL, ADAPTIVE, AXES } windows;
typedef struct row {
    qgc_opcode op;
    qgc_pool_fold fold;
    windows windows;
} row;

static const row *find_row(qgc_opcode op)
{
    static const row table[] = {
        {QGC_OP_INT_SUM, QGC_POOL_SUM, AXES},
        {QGC_OP_INT_SUM_POOL, QGC_POOL_SUM, WINDOW},
        {QGC_OP_MAX_POOL, QGC_POOL_MAX, WINDOW},
        {QGC_OP_GLOBAL_MAX_POOL, QGC_POOL_MAX, GLOBAL},
        {QGC_OP_ADAPTIVE_MAX_POOL, QGC_POOL_MAX, ADAPTIVE},
        {QGC_OP_AVG_POOL, QGC_POOL_AVERAGE, WINDOW},
        {QGC_OP_GLOBAL_AVG_POOL, QGC_POOL_AVERAGE, GLOBAL},
        {QGC_OP_ADAPTIVE_AVG_POOL, QGC_POOL_AVERAGE, ADAPTIVE},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].op == op)
            return &table[i];
    return NULL;
}

static const char *check_dtype(qgc_dtype dtype, qgc_pool_fold fold)
{
    if (fold == QGC_POOL_SUM)
        return qgc_is_8bit(dtype) ? NULL : "x has more than 8 bits";
    if (dtype == QGC_DTYPE_F32)
        return NULL;
    if (fold == QGC_POOL_AVERAGE)
        return "x is not f32";
    return qgc_is_8bit(dtype) || qgc_is_16bit(dtype) ? NULL : "x is not f32 nor of 8 or 16 bits";
}

static const char *read_windows(pool *l, const row *how)
{
    switch (how->windows) {
    case AXES:
        return read_sum(l);
    case WINDOW:
        return read_window(l);
    default:
        return read_whole(l, how->windows == ADAPTIVE);
    }
}

static const char *plan_node(qgc_planner *p, const qgc_node *node)
{
    const row *how = find_row(node->op);
    if (!how)
        return "";
    pool l = {.p = p, .m = {.node = node}, .result = &node->results[0]};
    l.m.x = node->operands[0].value;
    qgc_dtype dtype = l.m.x->type->dtype;
    int64_t num_x, num_y;
    const char *why = check_dtype(dtype, how->fold);
    if (why)
        return why;
    if (!qgc_type_num_elements(l.m.x->type, &num_x) || !num_x ||
        !qgc_type_num_elements(l.result->type, &num_y) || !num_y)
        return "it is empty";
    l.k = QGC_NEW(&p->plan->arena, qgc_pool_kernel);
    l.k->fold = how->fold;
    l.k->dtype = qgc_is_8bit(dtype) ? QGC_DTYPE_U8 : dtype;
    l.k->counts_border = node->op == QGC_OP_AVG_POOL && qgc_node_flag(node, "count_include_pad");
    if (how->fold == QGC_POOL_SUM)
        why = match_sum(&l);
    if (!why && how->fold == QGC_POOL_SUM)
        why = qgc_match_x(&l.m);
    l.k->zero_point = l.m.x_stored_zero_point;
    if (!why)
        why = read_windows(&l, how);
    if (why)
        return why;
    if (how->windows != AXES)
        use_nhwc(&l);
    add_step(&l);
    return NULL;
}

const char *qgc_plan_pool(qgc_planner *p, const qgc_node *node)
{
    return qgc_plan_terms(p, node, plan_node);
}

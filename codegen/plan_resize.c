/* Plans linear and cubic resize of f32: one step per axis that changes, the last axis first, as the
 * sums are defined to nest. Each is in the form in which the operand lies, where an axis is one of
 * three loops: what is outside of it, itself, what is within. Nearest is codegen/move.c. */
#include "codegen/conv.h"
#include "codegen/move.h"
#include "ir/view.h"
#include "runtime/ref/resize.h"

#include <string.h>

typedef qgc_resize_taps taps;

/* Positions [first, first + size) of an axis of the result are inside. */
typedef struct axis {
    int64_t first, size;
    bool changes;
} axis;

typedef struct resize {
    qgc_planner *p;
    const qgc_node *node;
    const qgc_type *x, *y;
    const taps *taps[QGC_MAX_RANK];
    axis axes[QGC_MAX_RANK];
    bool is_outside, is_nhwc;     /* is_outside: some element is extrapolated */
    uint32_t order[QGC_MAX_RANK]; /* dimensions as they lie, outermost first */
    const int64_t
        *used[QGC_MAX_RANK];     /* of x's positions, those that the first step keeps; NULL: all */
    int64_t sizes[QGC_MAX_RANK]; /* of what there is so far */
} resize;

static int64_t size_of(const qgc_type *type, uint32_t dim)
{
    return type->dims[dim].value;
}

/* ---- what changes ---- */

static bool changes(const resize *r, uint32_t d)
{
    int64_t out = size_of(r->y, d);
    bool is_same = r->axes[d].size == out && size_of(r->x, d) == out;
    for (int64_t o = 0; o < out && is_same; o++)
        is_same = r->taps[d][o].num == 1 && r->taps[d][o].position[0] == o;
    return !is_same;
}

static void read_order(resize *r)
{
    uint32_t num = 0, rank = r->x->rank;
    for (uint32_t d = 0; d < rank; d++)
        if (!r->is_nhwc || d != 1)
            r->order[num++] = d;
    if (r->is_nhwc)
        r->order[num] = 1;
}

static const char *read_axes(resize *r)
{
    for (uint32_t d = 0; d < r->x->rank; d++) {
        axis *a = &r->axes[d];
        if (!qgc_resize_inside(r->taps[d], size_of(r->y, d), &a->first, &a->size))
            return "what it extrapolates lies between what it does not";
        a->changes = changes(r, d);
        r->is_outside = r->is_outside || a->size != size_of(r->y, d);
        r->sizes[d] = size_of(r->x, d);
    }
    return NULL;
}

/* ---- tables ---- */

/* The taps that count. Their number 0: a sum of nothing. */
static taps present(const taps *t)
{
    taps all = *t;
    if (t->num == 1)
        return all;
    all.num = 0;
    for (uint32_t i = 0; i < t->num; i++)
        if (t->weight[i] != 0) {
            all.position[all.num] = t->position[i];
            all.weight[all.num++] = t->weight[i];
        }
    return all;
}

static void count_taps(const taps *list, qgc_resize_kernel *k)
{
    k->full = QGC_RESIZE_MAX_TAPS;
    k->taps = 1;
    for (int64_t o = 0; o < k->out; o++) {
        uint32_t num = present(&list[o]).num;
        k->taps = num > k->taps ? num : k->taps;
        k->full = num < k->full ? num : k->full;
    }
}

typedef struct tables {
    float *start, *weights;
    uint32_t *masks;
    int64_t *bytes;    /* positions, by group of one o */
    int32_t *elements; /* by_element */
    int64_t *bases;
} tables;

static tables new_tables(qgc_planner *p, qgc_resize_kernel *k)
{
    size_t groups = (size_t)qgc_resize_groups(k), all = groups * k->taps * k->width;
    tables t = {.start = qgc_planner_constant(p, groups * k->width, sizeof *t.start),
                .weights = qgc_planner_constant(p, all, sizeof *t.weights)};
    if (k->full < k->taps)
        t.masks = qgc_planner_constant(p, all, sizeof *t.masks);
    if (k->by_element)
        t.elements = qgc_planner_constant(p, all, sizeof *t.elements);
    else
        t.bytes = qgc_planner_constant(p, all, sizeof *t.bytes);
    if (k->sources)
        t.bases = qgc_planner_constant(p, groups, sizeof *t.bases);
    k->base.constants[QGC_RESIZE_START] = t.start;
    k->base.constants[QGC_RESIZE_WEIGHTS] = t.weights;
    k->base.constants[QGC_RESIZE_MASKS] = t.masks;
    k->base.constants[QGC_RESIZE_POSITIONS] = t.elements ? (const void *)t.elements : t.bytes;
    k->base.constants[QGC_RESIZE_BASES] = t.bases;
    return t;
}

/* Element |i| of a row of the result: which o it is of, and where it is in inner. Behind the last
 * one, its own. */
static int64_t position_of(const qgc_resize_kernel *k, int64_t i, int64_t *out_inner)
{
    int64_t last = k->out * k->inner - 1, at = i < last ? i : last;
    *out_inner = at % k->inner;
    return at / k->inner;
}

/* The elements [*lo, *hi] of x's row that group |g| takes. */
static void bounds_of(const taps *list, const qgc_resize_kernel *k, int64_t g, int64_t *lo,
                      int64_t *hi)
{
    *lo = k->in * k->inner;
    *hi = 0;
    for (uint32_t lane = 0; lane < k->width; lane++) {
        int64_t inner, o = position_of(k, qgc_resize_first(k, g) + lane, &inner);
        taps t = present(&list[o]);
        for (uint32_t n = 0; n < t.num; n++) {
            int64_t at = t.position[n] * k->inner + inner;
            *lo = at < *lo ? at : *lo;
            *hi = at > *hi ? at : *hi;
        }
    }
}

/* Where the vectors that group |g| takes its elements from begin: inside of the row. False: they
 * lie further apart than |sources| vectors reach. */
static bool find_base(const taps *list, const qgc_resize_kernel *k, int64_t g, uint32_t sources,
                      int64_t *out)
{
    int64_t lo, hi, reach = (int64_t)sources * k->width, last = k->in * k->inner - reach;
    bounds_of(list, k, g, &lo, &hi);
    *out = lo < last ? lo : last;
    return last >= 0 && hi - *out < reach;
}

/* Permutations by variable are of vectors of eight lanes and more. */
static void choose_sources(const qgc_planner *p, const taps *list, qgc_resize_kernel *k)
{
    enum { LEAST_LANES = 8, MOST = 4 };
    if (p->target->lanes < LEAST_LANES)
        return;
    for (uint32_t sources = 1; sources <= MOST && !k->sources; sources++) {
        bool reaches = true;
        int64_t base;
        for (int64_t g = 0; g < qgc_resize_groups(k) && reaches; g++)
            reaches = find_base(list, k, g, sources, &base);
        k->sources = reaches ? sources : 0;
    }
}

static void fill_number(const qgc_resize_kernel *k, const tables *t, int64_t g, uint32_t lane,
                        const taps *all, int64_t inner)
{
    taps some = present(all);
    int64_t base = t->bases ? t->bases[g] / (int64_t)sizeof(float) : 0;
    t->start[g * k->width + lane] = all->num == 1 ? -0.0F : 0;
    for (uint32_t n = 0; n < k->taps; n++) {
        int64_t at = (g * k->taps + n) * k->width + lane;
        bool is_there = n < some.num;
        t->weights[at] = is_there ? some.weight[n] : -0.0F;
        if (t->masks)
            t->masks[at] = is_there ? UINT32_MAX : 0;
        int64_t element = is_there ? some.position[n] * k->inner + inner : base;
        if (t->elements)
            t->elements[at] = (int32_t)(element - base);
        else
            t->bytes[at] = element * (int64_t)sizeof(float);
    }
}

static void fill_tables(qgc_planner *p, const taps *list, qgc_resize_kernel *k)
{
    tables t = new_tables(p, k);
    for (int64_t g = 0; g < qgc_resize_groups(k); g++) {
        if (t.bases) {
            (void)find_base(list, k, g, k->sources, &t.bases[g]);
            t.bases[g] *= (int64_t)sizeof(float);
        }
        for (uint32_t lane = 0; lane < k->width; lane++) {
            int64_t inner = 0, o = g;
            if (k->by_element)
                o = position_of(k, qgc_resize_first(k, g) + lane, &inner);
            fill_number(k, &t, g, lane, &list[o], inner);
        }
    }
}

/* ---- loops ---- */

/* The tile that goes through |inner| elements in the fewest vectors, itself within them: the last
 * one reaches back. */
static uint32_t choose_vectors(int64_t inner, int64_t lanes)
{
    enum { MOST = 4 };
    int64_t best = 1, least = INT64_MAX;
    for (int64_t vectors = 1; vectors <= MOST && (vectors == 1 || vectors * lanes <= inner);
         vectors++) {
        int64_t size = vectors * lanes, all = (inner + size - 1) / size * vectors;
        if (all > least)
            continue;
        least = all;
        best = vectors;
    }
    return (uint32_t)best;
}

/* Units of whole rows where there are enough of them. */
static void choose_units(qgc_resize_kernel *k)
{
    enum { ENOUGH = 16, GROUPS = 64 };
    int64_t rows = k->by_element ? (k->outer + k->vectors - 1) / k->vectors : k->outer;
    int64_t groups = qgc_resize_groups(k), few = k->by_element ? GROUPS : 1;
    k->per_unit = rows >= ENOUGH || groups < few ? groups : few;
    k->base.units = rows * ((groups + k->per_unit - 1) / k->per_unit);
}

static void choose_loops(const qgc_planner *p, const taps *list, qgc_resize_kernel *k)
{
    enum { ROWS = 4 };
    int64_t lanes = p->target->lanes;
    k->by_element = 2 * k->inner <= lanes;
    k->width = k->by_element ? (uint32_t)lanes : 1;
    count_taps(list, k);
    if (k->by_element)
        choose_sources(p, list, k);
    k->vectors = k->by_element ? (k->outer < ROWS ? 1 : ROWS) : choose_vectors(k->inner, lanes);
    choose_units(k);
}

static const char *describe(const resize *r, uint32_t d, const qgc_resize_kernel *k)
{
    const char *sources = "";
    if (k->by_element)
        sources = k->sources ? qgc_arena_printf(&r->p->plan->arena, ", sources = %u", k->sources)
                             : ", gathered";
    return qgc_arena_printf(&r->p->plan->arena,
                            "axis = %u, %lld to %lld, loops = %lldx%lldx%lld, taps = %u%s", d,
                            (long long)k->in, (long long)k->out, (long long)k->outer,
                            (long long)k->out, (long long)k->inner, k->taps, sources);
}

/* ---- positions that no sum takes ---- */

/* Where there are enough others, keeps the positions of x along |d| that some sum takes, and has
 * the taps count them. */
static void leave_out(resize *r, uint32_t d)
{
    enum { WORTH = 16 }; /* one in so many */
    qgc_arena *arena = &r->p->plan->arena;
    int64_t in = size_of(r->x, d), first = r->axes[d].first, end = first + r->axes[d].size, num = 0;
    int64_t *used = QGC_NEW_ARRAY(arena, int64_t, (size_t)in);
    int64_t *place = QGC_NEW_ARRAY(arena, int64_t, (size_t)in);
    taps *list = QGC_NEW_ARRAY(arena, taps, (size_t)end);
    for (int64_t o = first; o < end; o++) {
        list[o] = present(&r->taps[d][o]);
        for (uint32_t t = 0; t < list[o].num; t++)
            place[list[o].position[t]] = 1;
    }
    for (int64_t i = 0; i < in; i++)
        if (place[i]) {
            place[i] = num;
            used[num++] = i;
        }
    if (num == in || num > in - in / WORTH)
        return;
    for (int64_t o = first; o < end; o++) {
        list[o] = r->taps[d][o];
        for (uint32_t t = 0; t < list[o].num; t++)
            list[o].position[t] = place[list[o].position[t]];
    }
    r->taps[d] = list;
    r->used[d] = used;
    r->sizes[d] = num;
}

/* Of the loops around |d|, which is the first to be done. */
static void leave_out_around(resize *r, uint32_t d)
{
    for (uint32_t i = 0; r->order[i] != d; i++)
        if (r->axes[r->order[i]].changes)
            leave_out(r, r->order[i]);
}

/* Where in x the rows begin that are left, |row| elements each; NULL: all are. */
static const int64_t *list_rows(const resize *r, uint32_t d, int64_t outer, int64_t row)
{
    bool any = false;
    uint32_t before = 0;
    for (; r->order[before] != d; before++)
        any = any || r->used[r->order[before]];
    if (!any)
        return NULL;
    int64_t *rows = qgc_planner_constant(r->p, (size_t)outer, sizeof *rows);
    for (int64_t o = 0; o < outer; o++) {
        int64_t rest = o, stride = row * (int64_t)sizeof(float);
        for (uint32_t i = before; i-- > 0;) {
            uint32_t e = r->order[i];
            int64_t at = rest % r->sizes[e];
            rest /= r->sizes[e];
            rows[o] += (r->used[e] ? r->used[e][at] : at) * stride;
            stride *= size_of(r->x, e);
        }
    }
    return rows;
}

/* ---- a step ---- */

/* Along dimension |d|, from |in| to |out|. */
static void add_step(resize *r, uint32_t d, bool is_first, qgc_buffer *in, qgc_buffer *out)
{
    qgc_planner *p = r->p;
    qgc_arena *arena = &p->plan->arena;
    const taps *list = r->taps[d] + r->axes[d].first;
    qgc_resize_kernel *k = QGC_NEW(arena, qgc_resize_kernel);
    k->base.kind = QGC_KERNEL_RESIZE;
    k->base.num_constants = QGC_RESIZE_NUM_CONSTANTS;
    k->base.constants = QGC_NEW_ARRAY(arena, const void *, QGC_RESIZE_NUM_CONSTANTS);
    k->outer = k->inner = 1;
    bool is_outer = true;
    for (uint32_t i = 0; i < r->x->rank; i++) {
        if (r->order[i] == d)
            is_outer = false;
        else
            *(is_outer ? &k->outer : &k->inner) *= r->sizes[r->order[i]];
    }
    k->in = r->sizes[d];
    k->out = r->sizes[d] = r->axes[d].size;
    choose_loops(p, list, k);
    fill_tables(p, list, k);
    if (is_first)
        k->base.constants[QGC_RESIZE_ROWS] = list_rows(r, d, k->outer, k->in * k->inner);
    qgc_step *step = qgc_planner_add_kernel(p, r->node, &k->base, 1, 1);
    step->inputs[0] = in;
    step->outputs[0] = out;
    step->note = describe(r, d, k);
}

/* Room for what there is when dimension |d| is done. */
static qgc_buffer *new_scratch(resize *r, uint32_t d)
{
    qgc_buffer *b = qgc_planner_scratch(r->p, &r->node->results[0]);
    b->bytes = sizeof(float);
    for (uint32_t i = 0; i < r->x->rank; i++) {
        int64_t size = i == d ? r->axes[d].size : r->sizes[i];
        if (!qgc_checked_mul(b->bytes, (size_t)size, &b->bytes))
            r->p->failed = true;
    }
    return b;
}

/* ---- extrapolation ---- */

/* Everything gets the value, then what is inside its own. |inside| NULL: nothing is. */
static void extrapolate(resize *r, qgc_buffer *inside, qgc_buffer *out)
{
    const qgc_value *y = &r->node->results[0];
    qgc_move_part fill = {.out = y, .has_fill = true, .fill = qgc_resize_fill(r->node)};
    for (uint32_t d = 0; d < r->y->rank; d++)
        fill.axes[fill.rank++] =
            (qgc_move_axis){size_of(r->y, d), QGC_MOVE_NO_DIM, (int32_t)d, 1, 1, NULL, false};
    qgc_planner_copy(r->p, &fill, NULL, out);
    if (!inside)
        return;
    qgc_move_part part = {.in = y, .out = y};
    int64_t step = 1;
    for (uint32_t i = r->y->rank; i-- > 0;) {
        uint32_t d = r->order[i];
        part.axes[part.rank++] =
            (qgc_move_axis){r->axes[d].size, QGC_MOVE_FLAT, (int32_t)d, step, 1, NULL, false};
        part.out_first[d] = r->axes[d].first;
        step *= r->axes[d].size;
    }
    qgc_planner_copy(r->p, &part, inside, out);
}

/* ---- all axes ---- */

static qgc_buffer *output_of(resize *r)
{
    const qgc_value *y = &r->node->results[0];
    return r->is_nhwc ? qgc_make_output(r->p, y) : qgc_planner_plain(r->p, y);
}

/* Nothing changes. */
static void copy(resize *r, qgc_buffer *in)
{
    const qgc_value *y = &r->node->results[0];
    qgc_move_part part = {.in = r->node->operands[0].value, .out = y};
    for (uint32_t d = 0; d < r->y->rank; d++)
        part.axes[part.rank++] =
            (qgc_move_axis){size_of(r->y, d), (int32_t)d, (int32_t)d, 1, 1, NULL, false};
    qgc_planner_copy(r->p, &part, in, output_of(r));
}

static void add_steps(resize *r, qgc_buffer *in)
{
    uint32_t left = 0;
    bool is_empty = false;
    for (uint32_t d = 0; d < r->x->rank; d++) {
        left += r->axes[d].changes;
        is_empty = is_empty || !r->axes[d].size;
    }
    if (is_empty) {
        extrapolate(r, NULL, output_of(r));
        return;
    }
    if (!left) {
        copy(r, in);
        return;
    }
    for (uint32_t d = r->x->rank, num = left; d-- > 0;) {
        if (!r->axes[d].changes)
            continue;
        bool is_first = left == num;
        if (is_first)
            leave_out_around(r, d);
        qgc_buffer *out = --left || r->is_outside ? new_scratch(r, d) : output_of(r);
        add_step(r, d, is_first, in, out);
        in = out;
    }
    if (r->is_outside)
        extrapolate(r, in, output_of(r));
}

/* Tables by element count in i32. */
static bool is_too_large(const resize *r)
{
    int64_t num;
    bool fits = qgc_type_num_elements(r->x, &num) && num <= INT32_MAX;
    return !fits || !qgc_type_num_elements(r->y, &num) || num > INT32_MAX;
}

const char *qgc_plan_resize(qgc_planner *p, const qgc_node *node)
{
    enum { NEAREST = 0 };
    if (node->op != QGC_OP_RESIZE || qgc_node_word(node, "mode") == NEAREST)
        return "";
    const qgc_value *x = node->operands[0].value, *y = &node->results[0];
    resize r = {.p = p, .node = node, .x = x->type, .y = y->type};
    int64_t num;
    if (r.x->dtype != QGC_DTYPE_F32)
        return "it is not f32";
    if (is_too_large(&r))
        return "it is too large";
    if (qgc_type_num_elements(r.y, &num) && !num) {
        qgc_planner_plain(p, y);
        return NULL;
    }
    const char *why = qgc_resize_of_node(node, &p->plan->arena, r.taps);
    if (!why)
        why = read_axes(&r);
    if (why)
        return why;
    qgc_buffer *in = qgc_planner_lying(p, x);
    if (in->form == QGC_BUFFER_NHWC)
        in = qgc_planner_nhwc(p, x, (qgc_border){0}, 0);
    r.is_nhwc = in->form == QGC_BUFFER_NHWC;
    read_order(&r);
    add_steps(&r, in);
    return NULL;
}

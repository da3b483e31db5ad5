/* Recurrent layers: one sequence after another, step by step. */
#include "runtime/math.h"
#include "runtime/ref/ref.h"

#include <math.h>

enum { X, W, R, B, LENGTHS, H0, C0, P };

typedef struct layer {
    qgc_ref_call *call;
    size_t steps, batch, features, hidden, gates, directions;
    const float *x, *w, *r, *b, *h0, *c0, *p; /* whole operands; NULL: absent */
    bool has_clip, reset_after;
    float clip;
    float (*activation)(float); /* of rnn */
} layer;

/* One sequence in one direction. */
typedef struct cell {
    const layer *l;
    const float *w, *r, *b, *p; /* of the direction */
    float *h, *c;               /* the state */
    float *next, *gated;        /* scratch, [H] each */
} cell;

typedef void step_fn(cell *cell, const float *x);

static const float *floats(qgc_ref_call *call, const qgc_tensor *t)
{
    if (t->dtype == QGC_DTYPE_F32)
        return t->data;
    size_t num = qgc_tensor_count(t);
    float *copy = QGC_NEW_ARRAY(call->scratch, float, num);
    for (size_t i = 0; i < num; i++)
        copy[i] = qgc_get_f32(t, i);
    return copy;
}

static const float *optional(qgc_ref_call *call, uint32_t index)
{
    const qgc_tensor *t = index < call->num_operands ? call->operands[index] : NULL;
    return t ? floats(call, t) : NULL;
}

static float bias(const cell *cell, size_t row, bool recurrent)
{
    const layer *l = cell->l;
    return cell->b ? cell->b[row + (recurrent ? l->gates * l->hidden : 0)] : 0;
}

static float chain(const float *weights, const float *values, size_t num, float sum)
{
    for (size_t k = 0; k < num; k++)
        sum = fmaf(values[k], weights[k], sum);
    return sum;
}

static float over_x(const cell *cell, size_t row, const float *x, float start)
{
    return chain(cell->w + row * cell->l->features, x, cell->l->features, start);
}

static float over_h(const cell *cell, size_t row, const float *h, float start)
{
    return chain(cell->r + row * cell->l->hidden, h, cell->l->hidden, start);
}

static float clipped(const layer *l, float sum)
{
    if (!l->has_clip)
        return sum;
    return sum < -l->clip ? -l->clip : sum > l->clip ? l->clip : sum;
}

/* The sum of gate |row| before clipping. */
static float gate(const cell *cell, size_t row, const float *x, const float *h)
{
    float start = bias(cell, row, false) + bias(cell, row, true);
    return over_h(cell, row, h, over_x(cell, row, x, start));
}

static float peephole(const cell *cell, size_t index, float c, float sum)
{
    return cell->p ? fmaf(cell->p[index], c, sum) : sum;
}

static void keep_next(cell *cell)
{
    float *old = cell->h;
    cell->h = cell->next;
    cell->next = old;
}

static void step_lstm(cell *cell, const float *x)
{
    const layer *l = cell->l;
    size_t num = l->hidden;
    for (size_t j = 0; j < num; j++) {
        float old = cell->c[j];
        float i = clipped(l, peephole(cell, j, old, gate(cell, j, x, cell->h)));
        float f = clipped(l, peephole(cell, 2 * num + j, old, gate(cell, 2 * num + j, x, cell->h)));
        float g = clipped(l, gate(cell, 3 * num + j, x, cell->h));
        float kept = qgc_f32_sigmoid(f) * old, added = qgc_f32_sigmoid(i) * qgc_f32_tanh(g);
        cell->c[j] = kept + added;
        float o = clipped(l, peephole(cell, num + j, cell->c[j], gate(cell, num + j, x, cell->h)));
        cell->next[j] = qgc_f32_sigmoid(o) * qgc_f32_tanh(cell->c[j]);
    }
    keep_next(cell);
}

static float candidate(const cell *cell, size_t j, const float *x, float reset)
{
    const layer *l = cell->l;
    size_t row = 2 * l->hidden + j;
    if (!l->reset_after) {
        float start = bias(cell, row, false) + bias(cell, row, true);
        return over_h(cell, row, cell->gated, over_x(cell, row, x, start));
    }
    float from_h = reset * over_h(cell, row, cell->h, bias(cell, row, true));
    return over_x(cell, row, x, bias(cell, row, false)) + from_h;
}

static void step_gru(cell *cell, const float *x)
{
    const layer *l = cell->l;
    size_t num = l->hidden;
    for (size_t j = 0; j < num; j++) { /* the candidate needs r * h of all units */
        cell->next[j] = qgc_f32_sigmoid(clipped(l, gate(cell, num + j, x, cell->h)));
        cell->gated[j] = cell->next[j] * cell->h[j];
    }
    for (size_t j = 0; j < num; j++) {
        float z = qgc_f32_sigmoid(clipped(l, gate(cell, j, x, cell->h)));
        float n = qgc_f32_tanh(clipped(l, candidate(cell, j, x, cell->next[j])));
        float fresh = (1 - z) * n, old = z * cell->h[j];
        cell->next[j] = fresh + old;
    }
    keep_next(cell);
}

static float relu(float x)
{
    return x < 0 ? 0 : x;
}

static void step_rnn(cell *cell, const float *x)
{
    const layer *l = cell->l;
    for (size_t j = 0; j < l->hidden; j++)
        cell->next[j] = l->activation(clipped(l, gate(cell, j, x, cell->h)));
    keep_next(cell);
}

/* ---- sequences ---- */

static void begin_cell(const layer *l, size_t direction, size_t sequence, cell *out)
{
    size_t num = l->hidden, rows = l->gates * num, state = (direction * l->batch + sequence) * num;
    qgc_arena *scratch = l->call->scratch;
    *out = (cell){.l = l,
                  .w = l->w + direction * rows * l->features,
                  .r = l->r + direction * rows * num,
                  .b = l->b ? l->b + direction * 2 * rows : NULL,
                  .p = l->p ? l->p + direction * 3 * num : NULL,
                  .h = QGC_NEW_ARRAY(scratch, float, num),
                  .c = QGC_NEW_ARRAY(scratch, float, num),
                  .next = QGC_NEW_ARRAY(scratch, float, num),
                  .gated = QGC_NEW_ARRAY(scratch, float, num)};
    for (size_t j = 0; j < num; j++) {
        out->h[j] = l->h0 ? l->h0[state + j] : 0;
        out->c[j] = l->c0 ? l->c0[state + j] : 0;
    }
}

static void store(qgc_tensor *to, size_t first, const float *values, size_t num)
{
    for (size_t j = 0; j < num; j++)
        qgc_set_f32(to, first + j, values[j]);
}

static void run_sequence(const layer *l, size_t direction, size_t sequence, size_t length,
                         bool reverse, step_fn *step)
{
    cell cell;
    size_t num = l->hidden;
    begin_cell(l, direction, sequence, &cell);
    for (size_t i = 0; i < length; i++) {
        size_t t = reverse ? length - 1 - i : i;
        step(&cell, l->x + (t * l->batch + sequence) * l->features);
        size_t at = ((t * l->directions + direction) * l->batch + sequence) * num;
        store(&l->call->results[0], at, cell.h, num);
    }
    size_t state = (direction * l->batch + sequence) * num;
    store(&l->call->results[1], state, cell.h, num);
    if (l->call->num_results > 2)
        store(&l->call->results[2], state, cell.c, num);
}

static qgc_result run_layer(layer *l, step_fn *step)
{
    qgc_ref_call *call = l->call;
    const qgc_tensor *lengths = call->operands[LENGTHS];
    int direction = qgc_node_word(call->node, "direction");
    for (size_t n = 0; n < l->batch; n++) {
        int64_t length = lengths ? qgc_get_int(lengths, n) : (int64_t)l->steps;
        if (length < 0 || length > (int64_t)l->steps)
            return qgc_ref_fail(call, "length %zu is %lld, there are %zu steps", n,
                                (long long)length, l->steps);
        for (size_t d = 0; d < l->directions; d++) {
            qgc_arena_mark mark = qgc_arena_get_mark(call->scratch);
            run_sequence(l, d, n, (size_t)length, d == 1 || direction == 1, step);
            qgc_arena_reset(call->scratch, mark);
        }
    }
    return QGC_OK;
}

static layer read_layer(qgc_ref_call *call, size_t gates)
{
    const qgc_tensor *x = call->operands[X], *r = call->operands[R];
    bool has_clip = qgc_node_has(call->node, "clip");
    return (layer){.call = call,
                   .steps = (size_t)x->shape[0],
                   .batch = (size_t)x->shape[1],
                   .features = (size_t)x->shape[2],
                   .hidden = (size_t)r->shape[2],
                   .directions = (size_t)r->shape[0],
                   .gates = gates,
                   .x = floats(call, call->operands[X]),
                   .w = floats(call, call->operands[W]),
                   .r = floats(call, call->operands[R]),
                   .b = optional(call, B),
                   .h0 = optional(call, H0),
                   .c0 = optional(call, C0),
                   .p = optional(call, P),
                   .has_clip = has_clip,
                   .clip = has_clip ? qgc_node_float(call->node, "clip") : 0};
}

qgc_result ref_lstm(qgc_ref_call *call)
{
    layer l = read_layer(call, 4);
    return run_layer(&l, step_lstm);
}

qgc_result ref_gru(qgc_ref_call *call)
{
    layer l = read_layer(call, 3);
    l.reset_after = qgc_node_flag(call->node, "reset_after");
    return run_layer(&l, step_gru);
}

qgc_result ref_rnn(qgc_ref_call *call)
{
    static float (*const activations[])(float) = {qgc_f32_tanh, relu, qgc_f32_sigmoid};
    layer l = read_layer(call, 1);
    l.activation = activations[qgc_node_word(call->node, "activation")];
    return run_layer(&l, step_rnn);
}

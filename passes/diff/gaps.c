/* Local alignment: the nodes between anchors that neither hashes nor edges could pair, as two
 * sequences. The pairs are those of the greatest sum of likeness; ops that are not alike are gaps.
 * Constants and steps of quantization follow from the ops that they belong to. */
#include "passes/diff/diff.h"

#include <string.h>

/* Cells of one table; a larger gap is left to names and edges. */
enum { MAX_CELLS = 1 << 26 };

typedef QGC_VEC(uint32_t) ids;

typedef struct gaps {
    const qgc_diff_pair *pair;
    qgc_arena *arena;
    qgc_diff_matches *out;
    ids left, right; /* the free nodes of one gap */
} gaps;

static bool is_op(const qgc_node *node)
{
    return !qgc_diff_is_constant(node) && !qgc_diff_is_step(node);
}

/* ---- likeness ---- */

bool qgc_diff_types_alike(const qgc_node *left, const qgc_node *right)
{
    if (left->num_results != right->num_results)
        return false;
    for (uint32_t i = 0; i < left->num_results; i++) {
        const qgc_type *l = left->results[i].type, *r = right->results[i].type;
        if (l->dtype != r->dtype || l->rank != r->rank)
            return false;
        for (uint32_t k = 0; k < l->rank; k++)
            if (qgc_dim_conflict(l->dims[k], r->dims[k]))
                return false;
    }
    return true;
}

static uint32_t operand_likeness(const qgc_diff_pair *pair, const qgc_value *l, const qgc_value *r)
{
    l = qgc_diff_base(l);
    r = qgc_diff_base(r);
    if (!l || !r)
        return l == r;
    if (qgc_diff_counterpart(pair, l) == r)
        return 3;
    bool constants =
        l->def && r->def && qgc_diff_is_constant(l->def) && qgc_diff_is_constant(r->def);
    if (!constants)
        return 0;
    if (pair->left.content[l->def->id] == pair->right.content[r->def->id])
        return 4;
    return (l->name == r->name) + 2 * qgc_diff_types_alike(l->def, r->def);
}

uint32_t qgc_diff_likeness(const qgc_diff_pair *pair, const qgc_node *left, const qgc_node *right)
{
    uint32_t sum = 4, most = left->num_operands < 4 ? left->num_operands : 4;
    if (qgc_diff_kind(left) != qgc_diff_kind(right))
        return 0;
    for (uint32_t i = 0; i < most && i < right->num_operands; i++)
        sum += operand_likeness(pair, qgc_node_operand(left, i), qgc_node_operand(right, i));
    if (left->num_results && right->num_results && left->results[0].name == right->results[0].name)
        sum += 3;
    return sum + (qgc_diff_types_alike(left, right) ? 4 : 0);
}

/* ---- one gap ---- */

enum { SKIP_LEFT, SKIP_RIGHT, TAKE };

static void trace(gaps *g, const uint8_t *moves, size_t rows, size_t columns)
{
    size_t i = 0, k = 0;
    while (i < rows && k < columns) {
        uint8_t move = moves[i * columns + k];
        if (move == TAKE) {
            qgc_diff_match match = {g->left.data[i], g->right.data[k]};
            qgc_vec_push(g->arena, g->out, match);
        }
        i += move != SKIP_RIGHT;
        k += move != SKIP_LEFT;
    }
}

/* sums[k]: the best from (i, k) on. */
static void align(gaps *g)
{
    size_t rows = g->left.size, columns = g->right.size;
    if (!rows || !columns || rows > MAX_CELLS / columns)
        return;
    qgc_arena_mark mark = qgc_arena_get_mark(&g->pair->diff->scratch);
    uint8_t *moves = QGC_NEW_ARRAY(&g->pair->diff->scratch, uint8_t, rows *columns);
    uint32_t *sums = QGC_NEW_ARRAY(&g->pair->diff->scratch, uint32_t, columns + 1);
    for (size_t i = rows; i-- > 0;) {
        const qgc_node *left = g->pair->left.nodes[g->left.data[i]];
        uint32_t diagonal = 0; /* the sum at (i + 1, k + 1) */
        for (size_t k = columns; k-- > 0;) {
            uint32_t below = sums[k];
            uint32_t like =
                qgc_diff_likeness(g->pair, left, g->pair->right.nodes[g->right.data[k]]);
            uint32_t best = below > sums[k + 1] ? below : sums[k + 1];
            uint8_t move = below > sums[k + 1] ? SKIP_LEFT : SKIP_RIGHT;
            bool takes = like && diagonal + like >= best;
            moves[i * columns + k] = takes ? TAKE : move;
            sums[k] = takes ? diagonal + like : best;
            diagonal = below;
        }
    }
    trace(g, moves, rows, columns);
    qgc_arena_reset(&g->pair->diff->scratch, mark);
}

static void collect(const qgc_diff_graph *graph, qgc_arena *arena, uint32_t begin, uint32_t end,
                    ids *out)
{
    out->size = 0;
    for (uint32_t i = begin; i < end; i++)
        if (graph->partner[i] == QGC_DIFF_NONE && is_op(graph->nodes[i]))
            qgc_vec_push(arena, out, i);
}

static void align_between(gaps *g, qgc_diff_match first, qgc_diff_match last)
{
    collect(&g->pair->left, g->arena, first.left, last.left, &g->left);
    collect(&g->pair->right, g->arena, first.right, last.right, &g->right);
    align(g);
}

/* ---- anchors in order ---- */

/* The longest run of pairs that rise on both sides (patience sorting); the rest is reordered. */
static void find_rising(const qgc_diff_graph *left, qgc_arena *arena, qgc_diff_matches *out)
{
    qgc_diff_matches all = {0};
    ids tops = {0},
        previous = {0}; /* per length: the pair that ends it; per pair: the one before */
    for (uint32_t i = 0; i < left->num; i++) {
        if (left->partner[i] == QGC_DIFF_NONE || !is_op(left->nodes[i]))
            continue;
        qgc_diff_match match = {i, left->partner[i]};
        size_t low = 0, high = tops.size;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (all.data[tops.data[middle]].right < match.right)
                low = middle + 1;
            else
                high = middle;
        }
        uint32_t index = (uint32_t)all.size, before = low ? tops.data[low - 1] : QGC_DIFF_NONE;
        qgc_vec_push(arena, &all, match);
        qgc_vec_push(arena, &previous, before);
        if (low == tops.size)
            qgc_vec_push(arena, &tops, index);
        else
            tops.data[low] = index;
    }
    out->size = 0;
    for (size_t i = 0; i < tops.size; i++)
        qgc_vec_push(arena, out, ((qgc_diff_match){0, 0}));
    uint32_t at = tops.size ? tops.data[tops.size - 1] : QGC_DIFF_NONE;
    for (size_t i = tops.size; i-- > 0; at = previous.data[at])
        out->data[i] = all.data[at];
}

void qgc_diff_align_gaps(const qgc_diff_pair *pair, qgc_arena *arena, qgc_diff_matches *out)
{
    gaps g = {.pair = pair, .arena = arena, .out = out};
    qgc_diff_matches anchors = {0};
    find_rising(&pair->left, arena, &anchors);
    qgc_diff_match before = {0, 0};
    for (size_t i = 0; i < anchors.size; i++) {
        align_between(&g, before, anchors.data[i]);
        before = anchors.data[i];
    }
    align_between(&g, before, (qgc_diff_match){pair->left.num, pair->right.num});
}

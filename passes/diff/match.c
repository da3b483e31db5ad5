/* Aligns the nodes of two functions. Level by level (hash.c), from exact to coarse: nodes whose
 * hashes up and down leave one possible partner are anchors; from every pair the alignment spreads
 * to operands and users; what is ambiguous is decided by names, then by order. All of it is sorting
 * and following edges: n log n. Names and local alignment (gaps.c) pair what is left. */
#include "passes/diff/diff.h"

#include <stdlib.h>

typedef struct entry {
    uint64_t key, second; /* |second| decides within a key */
    uint32_t id;
} entry;

typedef QGC_VEC(entry) entries;

typedef struct aligner {
    qgc_diff_pair *pair;
    qgc_arena *arena;
    QGC_VEC(uint32_t) queue; /* left ids of pairs whose neighbours are still to be looked at */
    size_t done;
    QGC_VEC(const qgc_value *) pending; /* scratch of collect_users */
    entries users[2], nodes[2];         /* scratch, per side */
    bool is_loose; /* last resort: types need not fit, users alike are paired in order */
} aligner;

static qgc_diff_graph *side(const aligner *a, int i)
{
    return i == 0 ? &a->pair->left : &a->pair->right;
}

static bool is_free(const qgc_diff_graph *graph, const qgc_node *node)
{
    return graph->partner[node->id] == QGC_DIFF_NONE;
}

static bool can_pair(const aligner *a, const qgc_node *left, const qgc_node *right)
{
    return is_free(&a->pair->left, left) && is_free(&a->pair->right, right) &&
           (qgc_diff_kind(left) == qgc_diff_kind(right) ||
            (qgc_diff_is_constant(left) && qgc_diff_is_constant(right)));
}

static void join(aligner *a, const qgc_node *left, const qgc_node *right)
{
    a->pair->left.partner[left->id] = right->id;
    a->pair->right.partner[right->id] = left->id;
    qgc_vec_push(a->arena, &a->queue, left->id);
}

static void join_entries(aligner *a, const entry *left, const entry *right)
{
    const qgc_node *l = side(a, 0)->nodes[left->id], *r = side(a, 1)->nodes[right->id];
    if (can_pair(a, l, r))
        join(a, l, r);
}

static int compare_entries(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->second != b->second)
        return a->second < b->second ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static void sort_entries(entries *list)
{
    if (list->size)
        qsort(list->data, list->size, sizeof *list->data, compare_entries);
}

static size_t run_length(const entries *list, size_t at)
{
    size_t i = at;
    while (i < list->size && list->data[i].key == list->data[at].key)
        i++;
    return i - at;
}

typedef struct run {
    const entry *data;
    size_t num;
} run;

/* Calls |each| for the runs of one key that both sorted lists have. */
static void each_common_run(aligner *a, const entries *left, const entries *right,
                            void (*each)(aligner *a, run left, run right))
{
    for (size_t i = 0, k = 0; i < left->size && k < right->size;) {
        uint64_t x = left->data[i].key, y = right->data[k].key;
        size_t num_left = run_length(left, i), num_right = run_length(right, k);
        if (x == y)
            each(a, (run){left->data + i, num_left}, (run){right->data + k, num_right});
        i += x <= y ? num_left : 0;
        k += y <= x ? num_right : 0;
    }
}

/* Entries of a key whose |second| is the same, too. */
static void join_equal(aligner *a, run left, run right)
{
    for (size_t i = 0, k = 0; i < left.num && k < right.num;) {
        uint64_t x = left.data[i].second, y = right.data[k].second;
        if (x == y)
            join_entries(a, &left.data[i], &right.data[k]);
        i += x <= y;
        k += y <= x;
    }
}

static void join_in_order(aligner *a, run left, run right)
{
    size_t k = 0;
    for (size_t i = 0; i < left.num; i++) {
        while (k < right.num && !is_free(side(a, 1), side(a, 1)->nodes[right.data[k].id]))
            k++;
        if (k < right.num)
            join_entries(a, &left.data[i], &right.data[k]);
    }
}

/* ---- spreading ---- */

/* Along edges. */
static void try_join_nodes(aligner *a, const qgc_node *left, const qgc_node *right)
{
    if (can_pair(a, left, right) && (a->is_loose || qgc_diff_types_alike(left, right)))
        join(a, left, right);
}

static void try_join(aligner *a, const qgc_value *left, const qgc_value *right)
{
    if (left && right && left->def && right->def && left->index == right->index)
        try_join_nodes(a, left->def, right->def);
}

static uint32_t likeness(const aligner *a, const qgc_value *left, const qgc_value *right)
{
    left = qgc_diff_base(left);
    right = qgc_diff_base(right);
    if (!left || !right || !left->def || !right->def)
        return 0;
    return qgc_diff_likeness(a->pair, left->def, right->def);
}

typedef enum order { IN_ORDER, SWAPPED, UNDECIDED } order;

/* Which operands of a commutative op belong together. */
static order order_of(const aligner *a, const qgc_node *left, const qgc_node *right)
{
    if (!(qgc_node_op(left)->traits & QGC_TRAIT_COMMUTATIVE) || left->num_operands < 2 ||
        right->num_operands < 2)
        return IN_ORDER;
    const qgc_value *l0 = qgc_node_operand(left, 0), *l1 = qgc_node_operand(left, 1);
    const qgc_value *r0 = qgc_node_operand(right, 0), *r1 = qgc_node_operand(right, 1);
    uint32_t straight = likeness(a, l0, r0) + likeness(a, l1, r1);
    uint32_t crossed = likeness(a, l0, r1) + likeness(a, l1, r0);
    if (straight == crossed && !a->is_loose)
        return UNDECIDED;
    return straight >= crossed ? IN_ORDER : SWAPPED;
}

static void spread_to_operands(aligner *a, const qgc_node *left, const qgc_node *right)
{
    order taken = order_of(a, left, right);
    for (uint32_t i = taken == UNDECIDED ? 2 : 0; i < left->num_operands && i < right->num_operands;
         i++) {
        const qgc_value *l = qgc_node_operand(left, i);
        const qgc_value *r = qgc_node_operand(right, taken == SWAPPED && i < 2 ? 1 - i : i);
        try_join(a, l, r);
        try_join(a, qgc_diff_base(l), qgc_diff_base(r));
    }
}

/* The free users of |value|, by op and slot. With |through| steps are looked through. */
static void collect_users(aligner *a, int s, const qgc_value *value, bool through)
{
    const qgc_diff_graph *graph = side(a, s);
    a->users[s].size = a->pending.size = 0;
    qgc_vec_push(a->arena, &a->pending, value);
    while (a->pending.size) {
        const qgc_value *at = a->pending.data[--a->pending.size];
        for (const qgc_use *use = at->first_use; use; use = use->next) {
            const qgc_node *user = use->user;
            uint32_t slot = (uint32_t)(use - user->operands);
            if (through && slot == 0 && qgc_diff_is_step(user))
                qgc_vec_push(a->arena, &a->pending, &user->results[0]);
            else if (is_free(graph, user))
                qgc_vec_push(a->arena, &a->users[s],
                             ((entry){(uint64_t)qgc_diff_kind(user) << 32 | slot,
                                      graph->down[user->id], user->id}));
        }
    }
    sort_entries(&a->users[s]);
}

/* Users of one op and slot: one on each side; or such as compute the same from there on. */
static void join_users(aligner *a, run left, run right)
{
    if (left.num == 1 && right.num == 1)
        try_join_nodes(a, side(a, 0)->nodes[left.data->id], side(a, 1)->nodes[right.data->id]);
    join_equal(a, left, right);
    if (a->is_loose)
        join_in_order(a, left, right);
}

static void spread_to_users(aligner *a, const qgc_value *left, const qgc_value *right)
{
    for (int through = 0; through <= 1; through++) {
        collect_users(a, 0, left, through);
        collect_users(a, 1, right, through);
        each_common_run(a, &a->users[0], &a->users[1], join_users);
    }
}

/* Operands first: an operand's place is certain, that of a user is not. */
static void spread(aligner *a)
{
    while (a->done < a->queue.size) {
        size_t begin = a->done, end = a->queue.size;
        for (size_t i = begin; i < a->queue.size; i++) {
            const qgc_node *left = side(a, 0)->nodes[a->queue.data[i]];
            const qgc_node *right = side(a, 1)->nodes[side(a, 0)->partner[left->id]];
            spread_to_operands(a, left, right);
            end = i + 1;
        }
        for (size_t i = begin; i < end; i++) {
            const qgc_node *left = side(a, 0)->nodes[a->queue.data[i]];
            const qgc_node *right = side(a, 1)->nodes[side(a, 0)->partner[left->id]];
            for (uint32_t k = 0; k < left->num_results && k < right->num_results; k++)
                spread_to_users(a, &left->results[k], &right->results[k]);
        }
        a->done = end;
    }
}

static void spread_from_parameters(aligner *a)
{
    const qgc_func *left = side(a, 0)->func, *right = side(a, 1)->func;
    for (uint32_t i = 0; i < left->num_params && i < right->num_params; i++)
        spread_to_users(a, &left->params[i], &right->params[i]);
    spread(a);
}

/* ---- anchors ---- */

typedef enum direction { BOTH_WAYS, UPWARDS, DOWNWARDS } direction;

static uint64_t key_of(const qgc_diff_graph *graph, uint32_t i, direction way)
{
    if (way == BOTH_WAYS)
        return graph->up[i] * 0x9e3779b97f4a7c15u + graph->down[i];
    return way == UPWARDS ? graph->up[i] : graph->down[i];
}

/* Constants are alike upwards where their contents are not looked at; steps have no hash of their
 * own where they are looked through. */
static bool has_key(const qgc_node *node, qgc_diff_level level, direction way)
{
    if (qgc_diff_is_constant(node))
        return level == QGC_DIFF_EXACT || way != UPWARDS;
    return level != QGC_DIFF_STRIPPED || !qgc_diff_is_step(node);
}

static void collect_nodes(aligner *a, int s, qgc_diff_level level, direction way)
{
    const qgc_diff_graph *graph = side(a, s);
    a->nodes[s].size = 0;
    for (uint32_t i = 0; i < graph->num; i++) {
        const qgc_node *node = graph->nodes[i];
        uint64_t name = node->num_results ? node->results[0].name->hash : 0;
        if (is_free(graph, node) && has_key(node, level, way))
            qgc_vec_push(a->arena, &a->nodes[s], ((entry){key_of(graph, i, way), name, i}));
    }
    sort_entries(&a->nodes[s]);
}

static void join_unique(aligner *a, run left, run right)
{
    if (left.num == 1 && right.num == 1)
        join_entries(a, left.data, right.data);
}

/* One pair at a time: what spreads from it may decide the others. */
static void join_ambiguous(aligner *a, run left, run right)
{
    join_equal(a, left, right);
    spread(a);
    for (size_t i = 0, k = 0; i < left.num; i++) {
        if (!is_free(side(a, 0), side(a, 0)->nodes[left.data[i].id]))
            continue;
        while (k < right.num && !is_free(side(a, 1), side(a, 1)->nodes[right.data[k].id]))
            k++;
        if (k == right.num)
            return;
        join_entries(a, &left.data[i], &right.data[k]);
        spread(a);
    }
}

/* Names of one hash are one name but by bad luck. */
static void join_named(aligner *a, run left, run right)
{
    const qgc_node *l = side(a, 0)->nodes[left.data->id], *r = side(a, 1)->nodes[right.data->id];
    if (left.num == 1 && right.num == 1 && l->results[0].name == r->results[0].name)
        try_join_nodes(a, l, r);
}

static void anchor(aligner *a, qgc_diff_level level, direction way,
                   void (*each)(aligner *a, run left, run right))
{
    collect_nodes(a, 0, level, way);
    collect_nodes(a, 1, level, way);
    each_common_run(a, &a->nodes[0], &a->nodes[1], each);
}

static void align_level(aligner *a, qgc_diff_level level)
{
    for (int s = 0; s < 2; s++)
        qgc_diff_graph_hash(a->pair->diff, side(a, s), level);
    anchor(a, level, BOTH_WAYS, join_unique);
    anchor(a, level, UPWARDS, join_unique);
    anchor(a, level, DOWNWARDS, join_unique);
    spread(a);
    spread_from_parameters(a);
    anchor(a, level, BOTH_WAYS, join_ambiguous);
}

/* Nodes of one name, op and type: a float value keeps its name in every form. */
static void anchor_names(aligner *a)
{
    for (int s = 0; s < 2; s++) {
        a->nodes[s].size = 0;
        for (uint32_t i = 0; i < side(a, s)->num; i++) {
            const qgc_node *node = side(a, s)->nodes[i];
            if (is_free(side(a, s), node) && node->num_results)
                qgc_vec_push(
                    a->arena, &a->nodes[s],
                    ((entry){node->results[0].name->hash, (uint64_t)qgc_diff_kind(node), i}));
        }
        sort_entries(&a->nodes[s]);
    }
    each_common_run(a, &a->nodes[0], &a->nodes[1], join_named);
    spread(a);
}

static void join_gaps(aligner *a)
{
    qgc_diff_matches matches = {0};
    qgc_diff_align_gaps(a->pair, a->arena, &matches);
    for (size_t i = 0; i < matches.size; i++)
        join(a, side(a, 0)->nodes[matches.data[i].left], side(a, 1)->nodes[matches.data[i].right]);
    spread(a);
}

/* ---- replaced ops ---- */

/* Whether a result of |left| is read where |right| is read. */
static bool are_read_alike(const aligner *a, const qgc_node *left, const qgc_node *right)
{
    const qgc_value *l = &left->results[0], *r = &right->results[0];
    for (const qgc_use *use = l->first_use; use; use = use->next) {
        uint32_t partner = side(a, 0)->partner[use->user->id];
        if (partner == QGC_DIFF_NONE)
            continue;
        const qgc_node *user = side(a, 1)->nodes[partner];
        for (uint32_t i = 0; i < user->num_operands; i++)
            if (qgc_diff_base(qgc_node_operand(user, i)) == r)
                return true;
    }
    return false;
}

static const qgc_node *find_replacement(aligner *a, const qgc_node *left)
{
    const qgc_value *base = left->num_operands ? qgc_diff_base(qgc_node_operand(left, 0)) : NULL;
    const qgc_value *counterpart = base ? qgc_diff_counterpart(a->pair, base) : NULL;
    if (!counterpart)
        return NULL;
    collect_users(a, 1, counterpart, true);
    for (size_t i = 0; i < a->users[1].size; i++) {
        const qgc_node *user = side(a, 1)->nodes[a->users[1].data[i].id];
        if (user->num_results && !qgc_diff_is_step(user) && are_read_alike(a, left, user))
            return user;
    }
    return NULL;
}

/* Ops between the same neighbours on both sides, though other ones. */
static void pair_replaced(aligner *a)
{
    for (uint32_t i = 0; i < side(a, 0)->num; i++) {
        const qgc_node *left = side(a, 0)->nodes[i];
        if (!is_free(side(a, 0), left) || !left->num_results || qgc_diff_is_step(left) ||
            qgc_diff_is_constant(left))
            continue;
        const qgc_node *right = find_replacement(a, left);
        if (!right)
            continue;
        join(a, left, right);
        spread(a);
    }
}

/* `return` ends both functions. */
static void join_ends(aligner *a)
{
    const qgc_node *left = side(a, 0)->func->last, *right = side(a, 1)->func->last;
    if (left && right && can_pair(a, left, right))
        join(a, left, right);
    spread(a);
}

void qgc_diff_align(qgc_diff_pair *pair)
{
    qgc_arena scratch = {0};
    aligner a = {.pair = pair, .arena = &scratch};
    for (int level = 0; level < QGC_DIFF_NUM_LEVELS; level++)
        align_level(&a, (qgc_diff_level)level);
    join_ends(&a);
    anchor_names(&a);
    join_gaps(&a);
    a.is_loose = true;
    a.done = 0;
    spread(&a);
    spread_from_parameters(&a);
    pair_replaced(&a);
    qgc_arena_destroy(&scratch);
}

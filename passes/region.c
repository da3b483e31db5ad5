/* Forming regions. Islands that no foreign op separates get the same stage: a stage is convex, its
 * connected parts are regions; then neighbours of different stages join where no path leads around.
 */
#include "passes/region.h"

typedef struct former {
    qgc_func *func;
    qgc_islands *islands;
    qgc_map *owners;
    qgc_arena *scratch;
    uint32_t *stages;  /* per node id; of an island's nodes: its stage; else what is behind it */
    uint32_t *parents; /* union-find over islands */
    uint32_t *rings;   /* the next island of the same region; the last one leads to the first */
    qgc_map indices;   /* island -> (void *)(1 + index) */
    uint32_t *marks;   /* per node id: round in which a search came by */
    uint32_t round;
    QGC_VEC(qgc_node *) stack;
} former;

static qgc_island *owner_of(const former *f, const qgc_node *node)
{
    return node ? qgc_map_get(f->owners, node) : NULL;
}

static uint32_t index_of(const former *f, const qgc_island *island)
{
    return (uint32_t)(uintptr_t)qgc_map_get(&f->indices, island) - 1;
}

static uint32_t find(former *f, uint32_t i)
{
    while (f->parents[i] != i)
        i = f->parents[i] = f->parents[f->parents[i]];
    return i;
}

static void join(former *f, uint32_t a, uint32_t b)
{
    a = find(f, a);
    b = find(f, b);
    if (a == b)
        return;
    uint32_t behind = f->rings[a];
    f->rings[a] = f->rings[b];
    f->rings[b] = behind;
    f->parents[a < b ? b : a] = a < b ? a : b;
}

/* ---- stages ---- */

/* A dequantize is copied into the region that reads it: it stands for what it reads. */
static uint32_t stage_behind(const former *f, const qgc_value *value, bool for_island)
{
    const qgc_node *def = value->def;
    if (!def)
        return 0;
    uint32_t most = 0;
    if (def->op == QGC_OP_DEQUANTIZE && !owner_of(f, def) && for_island) {
        for (uint32_t i = 0; i < def->num_operands; i++) {
            const qgc_value *operand = qgc_node_operand(def, i);
            uint32_t stage = operand ? stage_behind(f, operand, true) : 0;
            most = stage > most ? stage : most;
        }
        return most;
    }
    return f->stages[def->id] + (owner_of(f, def) && !for_island);
}

static uint32_t node_stage(const former *f, const qgc_node *node, const qgc_island *self)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = qgc_node_operand(node, i);
        if (!value || (self && owner_of(f, value->def) == self))
            continue;
        uint32_t stage = stage_behind(f, value, self != NULL);
        most = stage > most ? stage : most;
    }
    return most;
}

static void find_stages(former *f)
{
    QGC_EACH_NODE (node, f->func) {
        qgc_island *island = owner_of(f, node);
        if (!island) {
            f->stages[node->id] = node_stage(f, node, NULL);
            continue;
        }
        const qgc_view *view = &island->view;
        if (node != view->nodes[view->num_nodes - 1])
            continue; /* known when the last one is reached */
        uint32_t stage = 0;
        for (uint32_t i = 0; i < view->num_nodes; i++) {
            uint32_t own = node_stage(f, view->nodes[i], island);
            stage = own > stage ? own : stage;
        }
        for (uint32_t i = 0; i < view->num_nodes; i++)
            f->stages[view->nodes[i]->id] = stage;
    }
}

/* ---- edges between islands ---- */

typedef void edge_fn(former *f, qgc_island *from, qgc_island *to);

static void edges_of_value(former *f, qgc_value *value, qgc_island *to, edge_fn *visit)
{
    qgc_node *def = value->def;
    qgc_island *from = owner_of(f, def);
    if (from && from != to)
        visit(f, from, to);
    if (from || !def || def->op != QGC_OP_DEQUANTIZE)
        return;
    for (uint32_t i = 0; i < def->num_operands; i++)
        if (qgc_node_operand(def, i))
            edges_of_value(f, qgc_node_operand(def, i), to, visit);
}

static void each_edge(former *f, edge_fn *visit)
{
    for (size_t k = 0; k < f->islands->size; k++) {
        qgc_island *to = f->islands->data[k];
        for (uint32_t n = 0; n < to->view.num_nodes; n++) {
            qgc_node *node = to->view.nodes[n];
            for (uint32_t i = 0; i < node->num_operands; i++)
                if (qgc_node_operand(node, i))
                    edges_of_value(f, qgc_node_operand(node, i), to, visit);
        }
    }
}

static void join_same_stage(former *f, qgc_island *from, qgc_island *to)
{
    if (f->stages[from->view.op->id] == f->stages[to->view.op->id])
        join(f, index_of(f, from), index_of(f, to));
}

/* ---- joining stages ---- */

static uint32_t region_of(former *f, const qgc_node *node)
{
    qgc_island *island = owner_of(f, node);
    return island ? find(f, index_of(f, island)) : UINT32_MAX;
}

static void push_node(former *f, qgc_node *node)
{
    if (f->marks[node->id] == f->round)
        return;
    f->marks[node->id] = f->round;
    qgc_vec_push(f->scratch, &f->stack, node);
}

/* Puts |node| on the search's stack, with its whole region. */
static void push(former *f, qgc_node *node)
{
    uint32_t region = region_of(f, node), i = region;
    if (f->marks[node->id] == f->round)
        return;
    push_node(f, node);
    if (region == UINT32_MAX)
        return;
    do {
        const qgc_view *view = &f->islands->data[i]->view;
        for (uint32_t n = 0; n < view->num_nodes; n++)
            push_node(f, view->nodes[n]);
        i = f->rings[i];
    } while (i != region);
}

/* Looks at the users of |value|, those behind dequantizes too. |direct|: |value| is from region
 * |from|. True: |to| is reached by a path that is not a direct edge. */
static bool reaches(former *f, const qgc_value *value, bool direct, uint32_t from, uint32_t to)
{
    for (const qgc_use *use = value->first_use; use; use = use->next) {
        qgc_node *user = use->user;
        uint32_t region = region_of(f, user);
        if (user->op == QGC_OP_DEQUANTIZE && region == UINT32_MAX) {
            if (reaches(f, &user->results[0], direct, from, to))
                return true;
            continue;
        }
        if (region == to && !direct)
            return true;
        if (region == to || region == from)
            continue;
        push(f, user);
    }
    return false;
}

static bool leaves_and_returns(former *f, const qgc_node *node, bool direct, uint32_t from,
                               uint32_t to)
{
    for (uint32_t r = 0; r < node->num_results; r++)
        if (reaches(f, &node->results[r], direct, from, to))
            return true;
    return false;
}

static bool has_way_around(former *f, uint32_t from, uint32_t to)
{
    uint32_t i = from;
    f->round++;
    f->stack.size = 0;
    do {
        const qgc_view *view = &f->islands->data[i]->view;
        if (leaves_and_returns(f, view->nodes[view->num_nodes - 1], true, from, to))
            return true;
        i = f->rings[i];
    } while (i != from);
    while (f->stack.size)
        if (leaves_and_returns(f, f->stack.data[--f->stack.size], false, from, to))
            return true;
    return false;
}

static void join_neighbours(former *f, qgc_island *from, qgc_island *to)
{
    uint32_t a = find(f, index_of(f, from)), b = find(f, index_of(f, to));
    if (a != b && !has_way_around(f, a, b))
        join(f, a, b);
}

/* ---- */

/* Numbers regions in the order of their first nodes. */
static uint32_t number_regions(former *f)
{
    uint32_t num = 0, *numbers = QGC_NEW_ARRAY(f->scratch, uint32_t, f->islands->size);
    QGC_EACH_NODE (node, f->func) {
        qgc_island *island = owner_of(f, node);
        if (!island)
            continue;
        uint32_t root = find(f, index_of(f, island));
        if (!numbers[root])
            numbers[root] = ++num;
        island->region = numbers[root] - 1;
    }
    return num;
}

uint32_t qgc_regions_form(qgc_func *func, qgc_islands *islands, qgc_map *owners, qgc_arena *scratch)
{
    uint32_t num_nodes = qgc_func_number(func);
    former f = {.func = func, .islands = islands, .owners = owners, .scratch = scratch};
    f.indices.arena = scratch;
    f.stages = QGC_NEW_ARRAY(scratch, uint32_t, num_nodes);
    f.marks = QGC_NEW_ARRAY(scratch, uint32_t, num_nodes);
    f.parents = QGC_NEW_ARRAY(scratch, uint32_t, islands->size);
    f.rings = QGC_NEW_ARRAY(scratch, uint32_t, islands->size);
    for (size_t i = 0; i < islands->size; i++) {
        f.parents[i] = f.rings[i] = (uint32_t)i;
        *qgc_map_at(&f.indices, islands->data[i]) = (void *)(uintptr_t)(i + 1);
    }
    find_stages(&f);
    each_edge(&f, join_same_stage);
    each_edge(&f, join_neighbours);
    return number_regions(&f);
}

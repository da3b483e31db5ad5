/* `qgc diff`: which functions are compared with which, and the public view of the result. */
#include "passes/diff/diff.h"
#include "passes/value_key.h"

/* ---- functions ---- */

static void mark_called(qgc_module *module, qgc_map *called)
{
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func) {
            bool calls = qgc_node_op(node)->traits & QGC_TRAIT_CALL;
            qgc_func *callee = calls ? qgc_module_find_func(module, node->attrs[0].name) : NULL;
            if (callee)
                *qgc_map_at(called, callee) = callee;
        }
}

static bool is_open(const qgc_diff *diff, int side, qgc_func *func)
{
    return !qgc_map_get(&diff->funcs[side], func);
}

/* The first function of the right module that fits, or NULL. */
static qgc_func *find_partner(qgc_diff *diff, qgc_func *left, bool by_name)
{
    QGC_EACH_FUNC (right, diff->right)
        if (is_open(diff, 1, right) &&
            (by_name ? right->name == left->name
                     : qgc_diff_func_hash(diff, right) == qgc_diff_func_hash(diff, left)))
            return right;
    return NULL;
}

/* Open functions, those that nothing calls first: of equal content, then of equal name. */
static bool pair_open(qgc_diff *diff, const qgc_map *called, bool by_name, bool roots_only)
{
    bool any = false;
    QGC_EACH_FUNC (left, diff->left) {
        if (!is_open(diff, 0, left) || (roots_only && qgc_map_get(called, left)))
            continue;
        qgc_func *right = find_partner(diff, left, by_name);
        if (right && !(roots_only && qgc_map_get(called, right))) {
            qgc_diff_pair_funcs(diff, left, right, false);
            any = true;
        }
    }
    return any;
}

/* The only open one on either side. */
static bool pair_last(qgc_diff *diff, const qgc_map *called)
{
    qgc_func *open[2] = {NULL, NULL};
    qgc_module *modules[] = {diff->left, diff->right};
    for (int s = 0; s < 2; s++)
        QGC_EACH_FUNC (func, modules[s]) {
            if (!is_open(diff, s, func) || qgc_map_get(called, func))
                continue;
            if (open[s])
                return false;
            open[s] = func;
        }
    if (!open[0] || !open[1])
        return false;
    qgc_diff_pair_funcs(diff, open[0], open[1], false);
    return true;
}

static void compare_pair(qgc_diff_pair *pair)
{
    qgc_func *left = pair->left.func, *right = pair->right.func;
    qgc_diff_graph_init(pair->diff, left, &pair->left);
    qgc_diff_graph_init(pair->diff, right, &pair->right);
    qgc_diff_align(pair);
    qgc_diff_find_moves(pair);
    qgc_diff_write_pair(pair);
}

/* Comparing calls pairs the callees and queues them. */
static void run_queue(qgc_diff_pair **next)
{
    for (; *next; next = &(*next)->next)
        compare_pair(*next);
}

static void compare_modules(qgc_diff *diff)
{
    qgc_map called = {.arena = &diff->arena};
    mark_called(diff->left, &called);
    mark_called(diff->right, &called);
    pair_open(diff, &called, true, true);
    pair_open(diff, &called, false, true);
    pair_last(diff, &called);
    qgc_diff_pair **next = &diff->first;
    do {
        run_queue(next);
        next = diff->last ? &diff->last->next : &diff->first;
    } while (pair_open(diff, &called, false, false) || pair_open(diff, &called, true, false));
    QGC_EACH_FUNC (func, diff->left)
        if (is_open(diff, 0, func))
            qgc_diff_write_single(diff, func, true);
    QGC_EACH_FUNC (func, diff->right)
        if (is_open(diff, 1, func))
            qgc_diff_write_single(diff, func, false);
}

/* ---- the public view ---- */

static const struct {
    const char *name, *summary;
} classes[QGC_NUM_DIFF_CLASSES] = {
    [QGC_DIFF_OPERATOR] = {"operator", "an op is added, removed or another one"},
    [QGC_DIFF_ATTRIBUTE] = {"attribute", "an attribute of an op or a function"},
    [QGC_DIFF_STRUCTURE] = {"structure", "an op reads another value"},
    [QGC_DIFF_DTYPE] = {"dtype", "an element type"},
    [QGC_DIFF_SHAPE] = {"shape", "a shape"},
    [QGC_DIFF_SCALE] = {"scale", "a scale, zero point or another parameter of quantization"},
    [QGC_DIFF_PLACEMENT] = {"placement", "a step of quantization is added, removed or moved"},
    [QGC_DIFF_WEIGHTS] = {"weights", "the elements of a constant"},
    [QGC_DIFF_STATISTICS] = {"statistics", "what calibration has seen of a value"},
};

const char *qgc_diff_class_name(qgc_diff_class kind)
{
    return classes[kind].name;
}

const char *qgc_diff_class_summary(qgc_diff_class kind)
{
    return classes[kind].summary;
}

qgc_diff *qgc_diff_create(qgc_module *left, qgc_module *right)
{
    qgc_arena arena = {0};
    qgc_diff *diff = QGC_NEW(&arena, qgc_diff);
    diff->given[0] = left;
    diff->given[1] = right;
    diff->context = left->context;
    diff->arena = arena;
    diff->originals.arena = diff->regions.arena = diff->owners.arena = &diff->arena;
    qgc_find_owners(left, &diff->owners);
    qgc_find_owners(right, &diff->owners);
    diff->left = qgc_diff_flatten(diff, left);
    diff->right = qgc_diff_flatten(diff, right);
    for (int s = 0; s < 2; s++)
        diff->funcs[s].arena = diff->symbols[s].arena = &diff->arena;
    diff->hashes.arena = &diff->arena;
    qgc_diff_index_statistics(diff);
    compare_modules(diff);
    return diff;
}

void qgc_diff_destroy(qgc_diff *diff)
{
    if (!diff)
        return;
    qgc_arena arena = diff->arena; /* the diff lies in it */
    qgc_module_destroy(diff->right);
    qgc_module_destroy(diff->left);
    qgc_arena_destroy(&diff->scratch);
    qgc_arena_destroy(&arena);
}

size_t qgc_diff_num_rows(const qgc_diff *diff)
{
    return diff->rows.size;
}

const qgc_diff_row *qgc_diff_row_at(const qgc_diff *diff, size_t index)
{
    return &diff->rows.data[index];
}

size_t qgc_diff_num_differences(const qgc_diff *diff)
{
    return diff->differences.size;
}

const qgc_difference *qgc_diff_difference_at(const qgc_diff *diff, size_t index)
{
    return &diff->differences.data[index];
}

size_t qgc_diff_count(const qgc_diff *diff, qgc_diff_class kind)
{
    return diff->counts[kind];
}

size_t qgc_diff_num_renamed(const qgc_diff *diff)
{
    return diff->num_renamed;
}

const char *qgc_module_form(const qgc_module *module)
{
    return qgc_form_name(module->form);
}

/* Hashes of nodes by what they are computed from and by what is computed from them, at three levels
 * of detail. Names take part nowhere. */
#include "passes/diff/diff.h"

#include "runtime/hash.h"

#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

bool qgc_diff_is_step(const qgc_node *node)
{
    switch (node->op) {
    case QGC_OP_QUANTIZE:
    case QGC_OP_DEQUANTIZE:
    case QGC_OP_OBSERVE:
    case QGC_OP_FAKE_QUANT:
    case QGC_OP_FAKE_CAST:
    case QGC_OP_QUANT_STUB:
    case QGC_OP_DEQUANT_STUB:
        return true;
    case QGC_OP_REQUANTIZE: { /* of one sum; of several it is an addition */
        uint32_t begin;
        return qgc_node_operand_range(node, 0, &begin) == 1;
    }
    default:
        return false;
    }
}

bool qgc_diff_is_label(qgc_name name)
{
    return qgc_str_starts_with(qgc_name_str(name), "origin");
}

qgc_opcode qgc_diff_kind(const qgc_node *node)
{
    static const char INTEGER[] = "int_";
    const char *mnemonic = qgc_node_op(node)->mnemonic;
    qgc_opcode op;
    if (strncmp(mnemonic, INTEGER, sizeof INTEGER - 1) == 0 &&
        qgc_op_find(qgc_str_from(mnemonic + sizeof INTEGER - 1), &op))
        return op;
    return node->op;
}

bool qgc_diff_is_constant(const qgc_node *node)
{
    return qgc_node_op(node)->traits & QGC_TRAIT_CONSTANT;
}

const qgc_value *qgc_diff_base(const qgc_value *value)
{
    while (value && value->def && qgc_diff_is_step(value->def))
        value = qgc_node_operand(value->def, 0);
    return value;
}

/* ---- what a node is by itself ---- */

typedef struct hasher {
    qgc_diff *diff;
    qgc_module *module; /* that callees are looked up in */
} hasher;

static uint64_t hash_dims(uint64_t hash, uint32_t num, const qgc_dim *dims)
{
    for (uint32_t i = 0; i < num; i++)
        hash = mix(hash, qgc_dim_is_number(dims[i]) ? (uint64_t)dims[i].value : UINT64_MAX);
    return hash;
}

static uint64_t hash_spec(uint64_t hash, const qgc_spec *spec)
{
    const int64_t parts[] = {spec->kind,     spec->has_dtype,   spec->dtype,     spec->scheme,
                             spec->dynamic,  spec->per_channel, spec->has_range, spec->qmin,
                             spec->observer, spec->qmax,        spec->zero_point};
    hash = mix(hash, qgc_hash(0, parts, sizeof parts));
    return mix(hash, qgc_hash(0, &spec->scale, sizeof spec->scale));
}

static uint64_t hash_attr(const hasher *h, uint64_t hash, const qgc_attr *a);

static uint64_t hash_items(const hasher *h, uint64_t hash, const qgc_attr *a)
{
    for (uint32_t i = 0; i < a->num; i++)
        hash = a->kind == QGC_ATTR_LIST
                   ? hash_attr(h, hash, &a->list[i])
                   : hash_attr(h, mix(hash, a->map[i].name->hash), &a->map[i].value);
    return hash;
}

static uint64_t hash_callee(const hasher *h, uint64_t hash, qgc_name name)
{
    qgc_func *func = qgc_module_find_func(h->module, name);
    return func ? mix(hash, qgc_diff_func_hash(h->diff, func)) : hash;
}

static uint64_t hash_attr(const hasher *h, uint64_t hash, const qgc_attr *a)
{
    hash = mix(hash, (uint64_t)a->kind << 32 | a->num);
    switch (a->kind) {
    case QGC_ATTR_INT:
        return mix(hash, (uint64_t)a->i);
    case QGC_ATTR_FLOAT:
        return mix(hash, qgc_hash(0, &a->f, sizeof a->f));
    case QGC_ATTR_BOOL:
        return mix(hash, a->b);
    case QGC_ATTR_DTYPE:
        return mix(hash, (uint64_t)a->dtype);
    case QGC_ATTR_STRING:
    case QGC_ATTR_WORD:
        return mix(hash, a->name->hash);
    case QGC_ATTR_INTS:
        return mix(hash, qgc_hash(0, a->ints, a->num * sizeof *a->ints));
    case QGC_ATTR_FLOATS:
        return mix(hash, qgc_hash(0, a->floats, a->num * sizeof *a->floats));
    case QGC_ATTR_DIMS:
        return hash_dims(hash, a->num, a->dims);
    case QGC_ATTR_TENSOR:
        return mix(hash, qgc_hash(0, a->tensor->data, a->tensor->bytes));
    case QGC_ATTR_FUNC:
        return hash_callee(h, hash, a->name);
    case QGC_ATTR_SPEC:
        return hash_spec(hash, a->spec);
    case QGC_ATTR_LIST:
    case QGC_ATTR_MAP:
        return hash_items(h, hash, a);
    case QGC_ATTR_VALUE:
    case QGC_ATTR_NONE:
    case QGC_NUM_ATTR_KINDS:
        return hash;
    }
    return hash;
}

/* The type and the elements; of a weight whose file is not open, its name. */
static uint64_t hash_constant(const qgc_node *node)
{
    const qgc_tensor *t = node->constant;
    if (!t)
        return mix(1, qgc_node_attr(node, "name")->name->hash);
    uint64_t hash = mix(t->dtype + 2, qgc_hash(0, t->shape, t->rank * sizeof *t->shape));
    return mix(hash, qgc_hash(0, t->data, t->bytes));
}

/* The same for an attribute that is absent and one that is written as its default. */
static uint64_t hash_attrs(const hasher *h, uint64_t hash, const qgc_node *node)
{
    static const qgc_attr ABSENT = {.kind = QGC_ATTR_NONE};
    const qgc_op_info *op = qgc_node_op(node);
    for (uint32_t i = 0; i < qgc_op_num_attrs(op); i++)
        if (!qgc_diff_attr_equal(NULL, &op->attrs[i], &node->attrs[i], &ABSENT))
            hash = hash_attr(h, mix(hash, i), &node->attrs[i]);
    uint64_t extra = 0;
    for (uint32_t i = 0; i < node->num_extra; i++)
        if (!qgc_diff_is_label(node->extra[i].name))
            extra += hash_attr(h, node->extra[i].name->hash, &node->extra[i].value);
    return mix(hash, extra);
}

/* Exact hashes leave the shapes aside: with another batch size they would all differ. */
static uint64_t hash_type(uint64_t hash, const qgc_type *type, qgc_diff_level level)
{
    hash = mix(hash, type->dtype);
    return level == QGC_DIFF_EXACT ? hash : hash_dims(hash, type->rank, type->dims);
}

static uint64_t own_hash(const hasher *h, const qgc_diff_graph *graph, const qgc_node *node,
                         qgc_diff_level level)
{
    bool is_constant = qgc_diff_is_constant(node);
    if (level >= QGC_DIFF_SKELETON)
        return is_constant ? 3 : mix(5, (uint64_t)qgc_diff_kind(node));
    uint64_t hash = is_constant ? 3 : mix(5, (uint64_t)node->op);
    if (is_constant && level == QGC_DIFF_EXACT)
        return mix(hash, graph->content[node->id]);
    if (!is_constant && (level == QGC_DIFF_EXACT || !qgc_diff_is_step(node)))
        hash = hash_attrs(h, hash, node);
    for (uint32_t i = 0; i < node->num_results; i++)
        hash = hash_type(hash, node->results[i].type, level);
    return hash;
}

/* ---- upwards ---- */

static bool is_transparent(const qgc_node *node, qgc_diff_level level)
{
    return level == QGC_DIFF_STRIPPED && qgc_diff_is_step(node);
}

static uint64_t value_hash(const uint64_t *up, const qgc_value *value, qgc_diff_level level)
{
    if (!value)
        return 7;
    if (!value->def)
        return mix(11 + value->index, level == QGC_DIFF_EXACT ? value->type->dtype : 0);
    uint64_t hash = up[value->def->id];
    return is_transparent(value->def, level) ? hash : mix(hash, value->index);
}

uint64_t qgc_diff_value_hash(const qgc_diff_graph *graph, const qgc_value *value)
{
    return value_hash(graph->exact, value, QGC_DIFF_EXACT);
}

static uint64_t hash_up(const uint64_t *up, uint64_t own, const qgc_node *node,
                        qgc_diff_level level)
{
    uint32_t i = 0;
    if (is_transparent(node, level))
        return value_hash(up, qgc_node_operand(node, 0), level);
    if (qgc_node_op(node)->traits & QGC_TRAIT_COMMUTATIVE && node->num_operands >= 2) {
        own = mix(own, value_hash(up, qgc_node_operand(node, 0), level) +
                           value_hash(up, qgc_node_operand(node, 1), level));
        i = 2;
    }
    for (; i < node->num_operands; i++)
        own = mix(own, value_hash(up, qgc_node_operand(node, i), level));
    return own;
}

/* ---- downwards ---- */

/* Where a use stands among the operands; the first two of a commutative op are the same. */
static uint32_t slot_of(const qgc_use *use)
{
    uint32_t slot = (uint32_t)(use - use->user->operands);
    return slot == 1 && qgc_node_op(use->user)->traits & QGC_TRAIT_COMMUTATIVE ? 0 : slot;
}

/* A sum: the order of uses does not matter. */
static uint64_t hash_uses(const qgc_diff_graph *graph, const qgc_value *value, qgc_diff_level level)
{
    uint64_t sum = 0;
    for (const qgc_use *use = value->first_use; use; use = use->next) {
        uint64_t below = graph->down[use->user->id];
        bool is_passed = is_transparent(use->user, level) && slot_of(use) == 0;
        sum += is_passed ? below : mix(below, slot_of(use) + 1);
    }
    return sum;
}

static uint64_t hash_down(const qgc_diff_graph *graph, uint64_t own, const qgc_node *node,
                          qgc_diff_level level)
{
    if (is_transparent(node, level))
        return hash_uses(graph, &node->results[0], level);
    for (uint32_t i = 0; i < node->num_results; i++)
        own = mix(own, hash_uses(graph, &node->results[i], level));
    return own;
}

/* ---- graphs ---- */

void qgc_diff_graph_hash(qgc_diff *diff, qgc_diff_graph *graph, qgc_diff_level level)
{
    hasher h = {diff, graph->func->module};
    for (uint32_t i = 0; i < graph->num; i++) {
        uint64_t own = own_hash(&h, graph, graph->nodes[i], level);
        graph->down[i] = own; /* for now */
        graph->up[i] = hash_up(graph->up, own, graph->nodes[i], level);
    }
    for (uint32_t i = graph->num; i-- > 0;)
        graph->down[i] = hash_down(graph, graph->down[i], graph->nodes[i], level);
}

void qgc_diff_graph_init(qgc_diff *diff, qgc_func *func, qgc_diff_graph *out)
{
    qgc_arena *arena = &diff->arena;
    uint32_t num = qgc_func_number(func);
    *out = (qgc_diff_graph){.func = func, .num = num};
    out->nodes = QGC_NEW_ARRAY(arena, qgc_node *, num);
    out->exact = QGC_NEW_ARRAY(arena, uint64_t, num);
    out->up = QGC_NEW_ARRAY(arena, uint64_t, num);
    out->down = QGC_NEW_ARRAY(arena, uint64_t, num);
    out->content = QGC_NEW_ARRAY(arena, uint64_t, num);
    out->is_explained = QGC_NEW_ARRAY(arena, bool, num);
    out->partner = QGC_NEW_ARRAY(arena, uint32_t, num);
    QGC_EACH_NODE (node, func) {
        out->nodes[node->id] = node;
        out->partner[node->id] = QGC_DIFF_NONE;
        out->content[node->id] = qgc_diff_is_constant(node) ? hash_constant(node) : 0;
    }
    qgc_diff_graph_hash(diff, out, QGC_DIFF_EXACT);
    if (num)
        memcpy(out->exact, out->up, num * sizeof *out->exact);
}

uint64_t qgc_diff_func_hash(qgc_diff *diff, qgc_func *func)
{
    uint64_t **slot = (uint64_t **)qgc_map_at(&diff->hashes, func);
    if (*slot)
        return **slot;
    qgc_diff_graph graph;
    qgc_diff_graph_init(diff, func, &graph); /* may grow the map: |slot| is lost */
    uint64_t *hash = QGC_NEW(&diff->arena, uint64_t);
    *hash = mix(graph.num ? graph.exact[graph.num - 1] : 0, func->num_params);
    *qgc_map_at(&diff->hashes, func) = hash;
    return *hash;
}

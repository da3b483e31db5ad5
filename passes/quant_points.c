#include "passes/quant_points.h"

#include "ir/quant_spec.h"
#include "passes/constants.h"

uint32_t qgc_points_leader(const qgc_points *points, uint32_t index)
{
    while (points->list.data[index].parent != index)
        index = points->list.data[index].parent;
    return index;
}

uint32_t qgc_points_of(const qgc_points *points, const qgc_value *value)
{
    const qgc_point_chain *chain = qgc_map_get(&points->of_value, value);
    return chain ? chain->first : QGC_NO_POINT;
}

qgc_name qgc_annotation_name(const qgc_node *node, uint32_t slot, qgc_arena *scratch)
{
    qgc_interner *names = &node->func->module->context->names;
    if (slot == UINT32_MAX)
        return qgc_intern(names, qgc_str_from("quant.out"));
    uint32_t row = qgc_node_operand_row(node, slot), begin;
    const qgc_operand_spec *operand = &qgc_node_op(node)->operands[row];
    qgc_node_operand_range(node, row, &begin);
    const char *text = operand->arity == QGC_VARIADIC
                           ? qgc_arena_printf(scratch, "quant.%s.%u", operand->name, slot - begin)
                           : qgc_arena_printf(scratch, "quant.%s", operand->name);
    return qgc_intern(names, qgc_str_from(text));
}

/* ---- collecting ---- */

static qgc_result bad_annotation(const qgc_pass_env *env, const qgc_node *node, qgc_name name,
                                 const char *why)
{
    return qgc_report(&env->context->diag, node->loc, QGC_D_BAD_ANNOTATION, "%s: %s: %s",
                      qgc_node_op(node)->mnemonic, name->data, why);
}

static void add_point(qgc_points *points, qgc_point point)
{
    uint32_t index = (uint32_t)points->list.size;
    point.parent = index;
    point.decides = QGC_NO_POINT;
    point.next_of_value = QGC_NO_POINT;
    qgc_point_chain **chain = (qgc_point_chain **)qgc_map_at(&points->of_value, point.value);
    if (*chain) {
        points->list.data[(*chain)->last].next_of_value = index;
    } else {
        *chain = QGC_NEW(points->arena, qgc_point_chain);
        (*chain)->first = index;
    }
    (*chain)->last = index;
    qgc_vec_push(points->arena, &points->list, point);
}

/* The channel axis of an operand, or -1. */
static int64_t channel_axis(const qgc_node *node, uint32_t slot)
{
    const qgc_operand_spec *row = &qgc_node_op(node)->operands[qgc_node_operand_row(node, slot)];
    const qgc_type *type = node->operands[slot].value->type;
    int64_t axis =
        row->channel_axis < 0 ? row->channel_axis + (int64_t)type->rank : row->channel_axis;
    bool has_axis = row->quant == QGC_Q_WEIGHT && axis >= 0 && axis < (int64_t)type->rank;
    return has_axis ? axis : -1;
}

static qgc_result check_spec(const qgc_pass_env *env, const qgc_point *point, qgc_name name)
{
    const qgc_spec *spec = point->spec;
    if (point->value->type->dtype != QGC_DTYPE_F32)
        return bad_annotation(env, point->node, name,
                              qgc_arena_printf(env->scratch, "the value is %s, expected f32",
                                               qgc_type_str(env->scratch, point->value->type)));
    const char *fault = spec->kind == QGC_SPEC_OWN ? qgc_spec_fault(spec) : NULL;
    if (spec->kind == QGC_SPEC_FIXED && !spec->has_dtype)
        fault = "a fixed spec needs its type: fixed(scale, zero_point, type)";
    if (spec->kind == QGC_SPEC_DERIVE && !point->use)
        fault = "only an operand can be derived";
    if (spec->kind == QGC_SPEC_OWN && spec->dynamic && !fault)
        fault = !point->use ? "only an operand can be dynamic"
                : qgc_is_constant(point->value)
                    ? "the range of a constant is known: it is not dynamic"
                    : NULL;
    if (spec->kind == QGC_SPEC_OWN && spec->per_channel && point->axis < 0)
        fault = "no channel axis here, so no range per channel";
    if (point->axis >= 0 && !qgc_is_constant(point->value))
        fault = "only constants have ranges per channel";
    return fault ? bad_annotation(env, point->node, name, fault) : QGC_OK;
}

static qgc_result collect_slot(qgc_points *points, qgc_node *node, uint32_t slot,
                               const qgc_pass_env *env, uint32_t *num_seen)
{
    qgc_use *use = &node->operands[slot];
    if (!use->value)
        return QGC_OK;
    qgc_name name = qgc_annotation_name(node, slot, env->scratch);
    const qgc_attr *attr = qgc_node_extra(node, name);
    *num_seen += attr != NULL;
    if (!attr || attr->spec->kind == QGC_SPEC_FLOAT)
        return QGC_OK;
    qgc_point point = {node, use->value, use, attr->spec, -1, 0, 0, 0};
    if (attr->spec->kind == QGC_SPEC_OWN && attr->spec->per_channel)
        point.axis = channel_axis(node, slot);
    QGC_TRY(check_spec(env, &point, name));
    add_point(points, point);
    return QGC_OK;
}

static qgc_result collect_results(qgc_points *points, qgc_node *node, const qgc_pass_env *env,
                                  uint32_t *num_seen)
{
    qgc_name name = qgc_annotation_name(node, UINT32_MAX, env->scratch);
    const qgc_attr *attr = qgc_node_extra(node, name);
    *num_seen += attr != NULL;
    if (!attr || attr->spec->kind == QGC_SPEC_FLOAT)
        return QGC_OK;
    for (uint32_t i = 0; i < node->num_results; i++) {
        const qgc_op_info *op = qgc_node_op(node);
        uint32_t rows = qgc_op_num_results(op);
        if (op->results[i < rows ? i : rows - 1].quant == QGC_Q_NONE)
            continue;
        qgc_point point = {node, &node->results[i], NULL, attr->spec, -1, 0, 0, 0};
        QGC_TRY(check_spec(env, &point, name));
        add_point(points, point);
    }
    return QGC_OK;
}

/* Every quant. attribute has been met as that of a port. */
static qgc_result check_names(const qgc_node *node, const qgc_pass_env *env, uint32_t num_seen)
{
    uint32_t num = 0;
    qgc_name last = NULL;
    for (uint32_t i = 0; i < node->num_extra; i++) {
        qgc_name name = node->extra[i].name;
        if (!qgc_str_starts_with(qgc_name_str(name), "quant."))
            continue;
        num++;
        bool known = name == qgc_annotation_name(node, UINT32_MAX, env->scratch);
        for (uint32_t slot = 0; slot < node->num_operands && !known; slot++)
            known =
                node->operands[slot].value && name == qgc_annotation_name(node, slot, env->scratch);
        last = known ? last : name;
    }
    return num == num_seen ? QGC_OK
                           : bad_annotation(env, node, last, "the op has no such operand here");
}

static qgc_result collect(qgc_points *points, qgc_func *func, const qgc_pass_env *env)
{
    QGC_EACH_NODE (node, func) {
        uint32_t num_seen = 0;
        if (!node->num_extra)
            continue;
        for (uint32_t slot = 0; slot < node->num_operands; slot++)
            QGC_TRY(collect_slot(points, node, slot, env, &num_seen));
        QGC_TRY(collect_results(points, node, env, &num_seen));
        QGC_TRY(check_names(node, env, num_seen));
    }
    return QGC_OK;
}

/* ---- grouping ---- */

static void unite(qgc_points *points, uint32_t a, uint32_t b)
{
    a = qgc_points_leader(points, a);
    b = qgc_points_leader(points, b);
    if (a < b)
        points->list.data[b].parent = a;
    else
        points->list.data[a].parent = b;
}

/* The first point from |index| on, of its value, that a share of it, or of its use by |user|,
 * names. */
static uint32_t next_named(const qgc_points *points, uint32_t index, const qgc_node *user)
{
    for (; index != QGC_NO_POINT; index = points->list.data[index].next_of_value) {
        const qgc_use *use = points->list.data[index].use;
        if (user ? use && use->user == user : !use)
            return index;
    }
    return QGC_NO_POINT;
}

/* The point that a share names, or QGC_NO_POINT. */
static uint32_t shared_point(const qgc_points *points, const qgc_func *func, const qgc_spec *spec)
{
    const qgc_value *value = qgc_func_find_value(func, spec->values[0]);
    const qgc_value *user = spec->values[1] ? qgc_func_find_value(func, spec->values[1]) : NULL;
    uint32_t index = value ? qgc_points_of(points, value) : QGC_NO_POINT;
    if (spec->values[1] && !(user && user->def))
        return QGC_NO_POINT;
    return next_named(points, index, user ? user->def : NULL);
}

static bool same_spec(const qgc_point *a, const qgc_point *b)
{
    qgc_attr x = {.kind = QGC_ATTR_SPEC, .spec = a->spec};
    qgc_attr y = {.kind = QGC_ATTR_SPEC, .spec = b->spec};
    return a->axis == b->axis && qgc_attr_equal(&x, &y);
}

/* "quant.a = u8.affine.hist" */
static const char *site_text(const qgc_point *point, qgc_arena *scratch)
{
    qgc_text text = {.arena = scratch};
    uint32_t slot = point->use ? (uint32_t)(point->use - point->node->operands) : UINT32_MAX;
    qgc_text_printf(&text, "%s = ", qgc_annotation_name(point->node, slot, scratch)->data);
    qgc_spec_print(&text, point->spec);
    return text.data;
}

/* An op may use a value twice. A share of that use names both, so they must have one spec, or one
 * of them none of its own. */
static qgc_result check_one_meaning(const qgc_points *points, uint32_t from, uint32_t named,
                                    const qgc_pass_env *env)
{
    const qgc_point *first = &points->list.data[named];
    if (!first->use)
        return QGC_OK;
    for (uint32_t i = named; i != QGC_NO_POINT; i = points->list.data[i].next_of_value) {
        const qgc_point *other = &points->list.data[i];
        if (!other->use || other->use->user != first->node || i == from ||
            other->spec->kind == QGC_SPEC_SHARE || same_spec(first, other))
            continue;
        qgc_report(&env->context->diag, points->list.data[from].node->loc, QGC_D_BAD_SHARING,
                   "%s: %s names two uses of %%%s that contradict: %s, and %s",
                   qgc_node_op(points->list.data[from].node)->mnemonic,
                   site_text(&points->list.data[from], env->scratch), first->value->name->data,
                   site_text(first, env->scratch), site_text(other, env->scratch));
        qgc_note(&env->context->diag, first->node->loc, "these uses");
        return QGC_FAILED;
    }
    return QGC_OK;
}

static qgc_result unite_explicit(qgc_points *points, const qgc_func *func, const qgc_pass_env *env)
{
    for (uint32_t i = 0; i < points->list.size; i++) {
        const qgc_point *point = &points->list.data[i];
        if (point->spec->kind != QGC_SPEC_SHARE)
            continue;
        uint32_t other = shared_point(points, func, point->spec);
        if (other == QGC_NO_POINT) {
            qgc_text text = {.arena = env->scratch};
            qgc_spec_print(&text, point->spec);
            return qgc_report(&env->context->diag, point->node->loc, QGC_D_BAD_SHARING,
                              "%s: %s names nothing that has a spec",
                              qgc_node_op(point->node)->mnemonic, text.data);
        }
        QGC_TRY(check_one_meaning(points, i, other, env));
        unite(points, i, other);
    }
    return QGC_OK;
}

/* Names the other members: any of them could have the spec. */
static qgc_result report_circle(const qgc_points *points, uint32_t leader, const qgc_pass_env *env)
{
    const qgc_point *first = &points->list.data[leader];
    qgc_report(&env->context->diag, first->node->loc, QGC_D_BAD_SHARING,
               "%%%s shares its parameters in a circle, none of which has a spec",
               first->value->name->data);
    for (uint32_t i = leader + 1, num = 0; i < points->list.size && num < 8; i++) {
        if (qgc_points_leader(points, i) != leader)
            continue;
        const qgc_point *member = &points->list.data[i];
        qgc_note(&env->context->diag, member->node->loc, "with %%%s here: %s",
                 member->value->name->data, site_text(member, env->scratch));
        num++;
    }
    return QGC_FAILED;
}

static bool shares_dynamic(const qgc_points *points, uint32_t index)
{
    uint32_t decides = points->list.data[qgc_points_leader(points, index)].decides;
    const qgc_spec *spec = decides == QGC_NO_POINT ? NULL : points->list.data[decides].spec;
    return spec && spec->kind == QGC_SPEC_OWN && spec->dynamic;
}

/* A point has one spec and a share joins one other, so a group has one that is no share, or is a
 * circle. */
static qgc_result resolve(qgc_points *points, const qgc_pass_env *env)
{
    for (uint32_t i = 0; i < points->list.size; i++)
        if (points->list.data[i].spec->kind != QGC_SPEC_SHARE)
            points->list.data[qgc_points_leader(points, i)].decides = i;
    for (uint32_t i = 0; i < points->list.size; i++) {
        const qgc_point *point = &points->list.data[i];
        if (point->spec->kind == QGC_SPEC_SHARE && shares_dynamic(points, i))
            return qgc_report(&env->context->diag, point->node->loc, QGC_D_BAD_SHARING,
                              "%%%s: dynamic parameters cannot be shared",
                              point->value->name->data);
        if (point->parent == i && point->decides == QGC_NO_POINT)
            return report_circle(points, i, env);
    }
    return QGC_OK;
}

static const qgc_point *decider(const qgc_points *points, uint32_t leader)
{
    return &points->list.data[points->list.data[leader].decides];
}

/* Joins |index| to an earlier point of its value whose group has the same spec. */
static void unite_with_earlier(qgc_points *points, uint32_t index)
{
    uint32_t own = qgc_points_leader(points, index);
    if (points->list.data[index].spec->kind == QGC_SPEC_DERIVE)
        return; /* what it derives from is its op's own */
    uint32_t other = qgc_points_of(points, points->list.data[index].value);
    for (; other != index; other = points->list.data[other].next_of_value) {
        uint32_t leader = qgc_points_leader(points, other);
        if (leader == own)
            return;
        if (same_spec(decider(points, leader), decider(points, own))) {
            unite(points, leader, own);
            return;
        }
    }
}

qgc_result qgc_points_build(qgc_points *points, qgc_func *func, const qgc_pass_env *env)
{
    *points = (qgc_points){.arena = env->scratch, .of_value = {.arena = env->scratch}};
    QGC_TRY(collect(points, func, env));
    QGC_TRY(unite_explicit(points, func, env));
    QGC_TRY(resolve(points, env));
    for (uint32_t i = 0; i < points->list.size; i++)
        unite_with_earlier(points, i);
    return QGC_OK;
}

/* Graph invariants. Every pass may rely on them, and the pass manager checks them after each pass.
 *
 *  (V1) function names are unique; a module may be empty.
 *  (V2) value names are unique in their function and never empty.
 *  (V3) a function ends in exactly one terminator, and has none before.
 *  (V4) every operand is a parameter or a result of an earlier node of the same function (SSA).
 *  (V5) operands fit the row: number, none absent but optional ones, element types.
 *  (V6) required attributes are there; kinds and words are the row's.
 *  (V7) the op's labelled rules hold, and each result's type is the inferred one; '?' fits any.
 *  (V8) calls do not recurse.
 *  (V9) use lists are exactly the operand slots.
 *  (V10) the module's form allows what it holds: `observe` only in prepared and calibrated graphs,
 *        `quant.` attributes only in annotated ones, targets of functions only from partitioned on.
 *  (V11) no value has two stats records for the same call site.
 */
#include "ir/infer.h"

#include <string.h>

typedef struct verifier {
    qgc_module *module;
    qgc_diag *diag;
    qgc_map positions; /* value -> (void *)(1 + position of its definition) */
    qgc_result result;
} verifier;

static void fail(verifier *v)
{
    v->result = QGC_FAILED;
}

static void check_arity(verifier *v, const qgc_node *node, const qgc_op_info *op)
{
    uint32_t rows = qgc_op_num_operands(op);
    bool variadic = qgc_op_variadic(op) >= 0;
    if (variadic ? node->num_operands + 1 < rows : node->num_operands != rows) {
        qgc_report(v->diag, node->loc, QGC_D_BAD_OPERANDS, "%s has %u operands, expected %s%u",
                   op->mnemonic, node->num_operands, variadic ? "at least " : "",
                   variadic ? rows - 1 : rows);
        fail(v);
        return;
    }
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_operand_spec *row = &op->operands[qgc_node_operand_row(node, i)];
        if (node->operands[i].value || row->arity == QGC_OPTIONAL)
            continue;
        qgc_report(v->diag, node->loc, QGC_D_BAD_OPERANDS, "%s: operand %s is missing",
                   op->mnemonic, row->name);
        fail(v);
    }
}

static void check_dominance(verifier *v, const qgc_node *node)
{
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        if (!value || qgc_map_get(&v->positions, value))
            continue;
        qgc_report(v->diag, node->loc, QGC_D_UNDEFINED, "%%%s is used before its definition",
                   value->name ? value->name->data : "?");
        fail(v);
    }
}

static bool word_is_in(qgc_name word, const char *words)
{
    for (const char *w = words; *w;) {
        size_t size = strcspn(w, "|");
        if (qgc_str_equal(qgc_name_str(word), (qgc_str){w, size}))
            return true;
        w += size + (w[size] == '|');
    }
    return false;
}

static void check_attrs(verifier *v, const qgc_node *node, const qgc_op_info *op)
{
    for (uint32_t i = 0; i < qgc_op_num_attrs(op); i++) {
        const qgc_attr_spec *row = &op->attrs[i];
        const qgc_attr *attr = &node->attrs[i];
        if (attr->kind == QGC_ATTR_NONE && row->required)
            qgc_report(v->diag, node->loc, QGC_D_BAD_ATTR, "%s: attribute %s is missing",
                       op->mnemonic, row->name);
        else if (attr->kind != QGC_ATTR_NONE && attr->kind != row->kind)
            qgc_report(v->diag, node->loc, QGC_D_BAD_ATTR, "%s: attribute %s is a %s, expected %s",
                       op->mnemonic, row->name, qgc_attr_kind_name(attr->kind),
                       qgc_attr_kind_name(row->kind));
        else if (attr->kind == QGC_ATTR_WORD && !word_is_in(attr->name, row->words))
            qgc_report(v->diag, node->loc, QGC_D_BAD_ATTR, "%s: %s is '%s', expected one of %s",
                       op->mnemonic, row->name, attr->name->data, row->words);
        else
            continue;
        fail(v);
    }
}

static void check_results(verifier *v, qgc_node *node, const qgc_op_info *op)
{
    uint32_t rows = qgc_op_num_results(op);
    bool variadic = rows && op->results[rows - 1].variadic;
    if (variadic ? node->num_results + 1 < rows : node->num_results != rows) {
        qgc_report(v->diag, node->loc, QGC_D_BAD_RESULTS, "%s has %u results, expected %u",
                   op->mnemonic, node->num_results, rows);
        fail(v);
        return;
    }
    qgc_arena *arena = &v->module->arena;
    qgc_arena_mark mark = qgc_arena_get_mark(arena);
    const qgc_type **types = QGC_NEW_ARRAY(arena, const qgc_type *, node->num_results);
    if (qgc_node_infer(node, types, false) != QGC_OK)
        fail(v);
    else
        for (uint32_t i = 0; i < node->num_results; i++) {
            const qgc_type *written = node->results[i].type;
            if (types[i] && written && qgc_type_compatible(types[i], written))
                continue;
            qgc_report(v->diag, node->loc, QGC_D_TYPE_MISMATCH,
                       "%s: result %%%s is %s, but its operands give %s", op->mnemonic,
                       node->results[i].name->data, written ? qgc_type_str(arena, written) : "?",
                       types[i] ? qgc_type_str(arena, types[i]) : "nothing");
            fail(v);
        }
    qgc_arena_reset(arena, mark);
}

static void check_uses(const qgc_value *value)
{
    uint32_t num = 0;
    for (const qgc_use *use = value->first_use; use; use = use->next, num++) {
        const qgc_node *user = use->user;
        QGC_ASSERT(use->value == value && use >= user->operands &&
                       use < user->operands + user->num_operands,
                   "use list of %%%s", value->name->data);
    }
    QGC_ASSERT(num == value->num_uses, "use count of %%%s", value->name->data);
}

static void define(verifier *v, const qgc_func *func, const qgc_value *value, size_t position)
{
    QGC_ASSERT(value->name && qgc_func_find_value(func, value->name) == value,
               "a value of @%s has no name of its own", func->name->data);
    *qgc_map_at(&v->positions, value) = (void *)(uintptr_t)(position + 1);
    check_uses(value);
}

static void check_form(verifier *v, const qgc_node *node, const qgc_op_info *op)
{
    qgc_form form = v->module->form;
    bool observes = form == QGC_FORM_PREPARED || form == QGC_FORM_CALIBRATED;
    if (op->traits & QGC_TRAIT_OBSERVER && !observes) {
        qgc_report(v->diag, node->loc, QGC_D_BAD_FORM, "%s stands in a graph of form %s",
                   op->mnemonic, qgc_form_name(form));
        fail(v);
    }
    for (uint32_t i = 0; i < node->num_extra; i++) {
        qgc_name name = node->extra[i].name;
        if (form == QGC_FORM_ANNOTATED || !qgc_str_starts_with(qgc_name_str(name), "quant."))
            continue;
        qgc_report(v->diag, node->loc, QGC_D_BAD_FORM, "attribute %s stands in a graph of form %s",
                   name->data, qgc_form_name(form));
        fail(v);
    }
}

static void check_node(verifier *v, qgc_node *node)
{
    const qgc_op_info *op = qgc_op(node->op);
    qgc_result before = v->result;
    v->result = QGC_OK;
    check_arity(v, node, op);
    check_dominance(v, node);
    check_attrs(v, node, op);
    check_form(v, node, op);
    if ((op->traits & QGC_TRAIT_TERMINATOR) && node->next) {
        qgc_report(v->diag, node->loc, QGC_D_BAD_STRUCTURE, "%s is not the function's last op",
                   op->mnemonic);
        fail(v);
    }
    if (v->result == QGC_OK) /* inference needs a well-formed node */
        check_results(v, node, op);
    if (before != QGC_OK)
        fail(v);
}

static void check_func(verifier *v, qgc_func *func)
{
    size_t position = 0;
    if (func->target && v->module->form < QGC_FORM_PARTITIONED) {
        qgc_report(v->diag, func->loc, QGC_D_BAD_FORM,
                   "@%s has a target, in a graph of form %s (expected partitioned or lowered)",
                   func->name->data, qgc_form_name(v->module->form));
        fail(v);
    }
    for (uint32_t i = 0; i < func->num_params; i++)
        define(v, func, &func->params[i], position++);
    QGC_EACH_NODE (node, func) {
        check_node(v, node);
        for (uint32_t i = 0; i < node->num_results; i++)
            define(v, func, &node->results[i], position++);
    }
    if (!func->last || !(qgc_op(func->last->op)->traits & QGC_TRAIT_TERMINATOR)) {
        qgc_report(v->diag, func->loc, QGC_D_BAD_STRUCTURE, "@%s does not end in return",
                   func->name->data);
        fail(v);
    }
}

/* One record for each value and call site. That a record's value exists is not asked: statistics
 * of another graph are convert's to refuse. */
static void check_stats(verifier *v, qgc_arena *scratch)
{
    qgc_context *context = v->module->context;
    qgc_map seen = {.arena = scratch};
    for (size_t i = 0; i < v->module->stats.size; i++) {
        const qgc_record *r = &v->module->stats.data[i];
        const char *key = qgc_arena_printf(scratch, "%s %s %s", r->func->data, r->value->data,
                                           r->site ? r->site->data : "");
        void **entry = qgc_map_at(&seen, qgc_context_name(context, key));
        if (*entry) {
            qgc_report(v->diag, r->loc, QGC_D_REDEFINED, "statistics of @%s.%%%s are given twice",
                       r->func->data, r->value->data);
            qgc_note(v->diag, ((const qgc_record *)*entry)->loc, "first given here");
            fail(v);
        }
        *entry = (void *)r;
    }
}

typedef enum visit_state { UNSEEN, ACTIVE, DONE } visit_state;

/* Depth-first over calls; the call chain is as deep as the module has functions at most. */
static void check_recursion(verifier *v, qgc_map *states, qgc_func *func, uint32_t depth)
{
    enum { MAX_CALL_DEPTH = 1000 };
    *qgc_map_at(states, func) = (void *)(intptr_t)ACTIVE;
    QGC_EACH_NODE (node, func) {
        const qgc_op_info *op = qgc_op(node->op);
        if (!(op->traits & QGC_TRAIT_CALL) || node->attrs[0].kind != QGC_ATTR_FUNC)
            continue;
        qgc_func *callee = qgc_module_find_func(v->module, node->attrs[0].name);
        visit_state state = callee ? (visit_state)(intptr_t)qgc_map_get(states, callee) : DONE;
        if (state == ACTIVE) {
            qgc_report(v->diag, node->loc, QGC_D_OP_RULE, "%s: @%s calls itself through @%s",
                       op->mnemonic, callee->name->data, func->name->data);
            qgc_note_rule(v->module->context, node, node->op == QGC_OP_CALL ? 2 : 3);
            fail(v);
        } else if (depth >= MAX_CALL_DEPTH) {
            qgc_report(v->diag, node->loc, QGC_D_TOO_DEEP, "calls nest deeper than %d",
                       MAX_CALL_DEPTH);
            fail(v);
            return;
        } else if (state == UNSEEN) {
            check_recursion(v, states, callee, depth + 1);
        }
    }
    *qgc_map_at(states, func) = (void *)(intptr_t)DONE;
}

qgc_result qgc_module_verify(qgc_module *module)
{
    qgc_arena scratch = {0};
    verifier v = {.module = module,
                  .diag = &module->context->diag,
                  .positions = {.arena = &scratch},
                  .result = QGC_OK};
    qgc_map states = {.arena = &scratch};
    QGC_EACH_FUNC (func, module)
        if (!qgc_map_get(&states, func))
            check_recursion(&v, &states, func, 0);
    QGC_EACH_FUNC (func, module)
        check_func(&v, func);
    check_stats(&v, &scratch);
    qgc_arena_destroy(&scratch);
    return v.result;
}

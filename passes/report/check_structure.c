/* Checks of chains, functions and stubs. */
#include "ir/copy.h"
#include "passes/fuse.h"
#include "passes/report/check.h"
#include "passes/report/explain.h"
#include "passes/stubs.h"
#include "qgc/pass.h"

#include <string.h>

/* ---- chains ---- */

/* Observers go, used or not; what is left of steps is dead. */
static void strip_func(qgc_func *func)
{
    for (qgc_node *node = func->first, *next; node; node = next) {
        next = node->next;
        if (node->op != QGC_OP_OBSERVE && node->op != QGC_OP_DEQUANTIZE)
            continue;
        qgc_value *bare = (qgc_value *)qgc_bare_value(&node->results[0]);
        if (bare->type == node->results[0].type)
            qgc_value_replace_uses(&node->results[0], bare);
        if (node->op == QGC_OP_OBSERVE && !node->results[0].num_uses)
            qgc_node_erase(node);
    }
}

/* Observers and steps are taken out: the graph of ops. */
static void strip(qgc_module *module)
{
    QGC_EACH_FUNC (func, module)
        strip_func(func);
    module->form = QGC_FORM_FLOAT;
}

static const qgc_node *twin(const qgc_checker *c, const qgc_node *node)
{
    const qgc_func *func = qgc_module_find_func(c->module, node->func->name);
    const qgc_value *value = func ? qgc_func_find_value(func, node->results[0].name) : NULL;
    return value ? value->def : NULL;
}

/* The op of the field user is in a chain after all: with another operand. */
static bool is_in_chain(const qgc_module *stripped, qgc_context *context, const char *user)
{
    qgc_name mark = qgc_context_name(context, "fuse.into");
    const char *percent = strstr(user, ".%");
    QGC_EACH_FUNC (func, stripped) {
        if (strlen(func->name->data) + 1 != (size_t)(percent - user) ||
            strncmp(func->name->data, user + 1, (size_t)(percent - user) - 1) != 0)
            continue;
        const qgc_value *value = qgc_func_find_value(func, qgc_context_name(context, percent + 2));
        for (uint32_t i = 0; value && value->def && i < value->def->num_operands; i++) {
            const qgc_value *x = value->def->operands[i].value;
            if (x && x->def && qgc_node_extra(x->def, mark))
                return true;
        }
    }
    return false;
}

typedef struct miss {
    qgc_loc loc;
    const char *message, *value, *condition, *fix;
} miss;

static void report_miss(qgc_checker *c, const miss *m)
{
    qgc_diag *diag = &c->context->diag;
    qgc_report(diag, m->loc, QGC_D_UNFUSED, "%s", m->message);
    qgc_diag_add(diag, "check", "%s", qgc_diag_title(QGC_D_UNFUSED));
    qgc_diag_add(diag, "value", "%s", m->value);
    qgc_diag_add(diag, "condition", "%s", m->condition);
    qgc_diag_add_shown(diag, "help", "%s", m->fix ? m->fix : c->check->help);
}

/* Remarks of fuse about ops that are in no chain. */
static void report_near_misses(qgc_checker *c, const qgc_module *stripped, size_t first)
{
    qgc_diag *diag = &c->context->diag;
    QGC_VEC(miss) misses = {0};
    for (size_t i = first; i < diag->list.size; i++) {
        const qgc_diagnostic *item = &diag->list.data[i];
        const char *user = qgc_diag_field_of(item, "user");
        if (item->id != QGC_D_NO_MATCH || !user || is_in_chain(stripped, c->context, user))
            continue;
        miss m = {item->loc, item->message, user, qgc_diag_field_of(item, "condition"),
                  qgc_diag_field_of(item, "fix")};
        qgc_vec_push(c->arena, &misses, m);
    }
    qgc_diag_rollback(diag, first);
    for (size_t i = 0; i < misses.size; i++)
        report_miss(c, &misses.data[i]);
}

static bool is_rounded(const qgc_value *value)
{
    for (const qgc_use *use = value->first_use; use; use = use->next)
        if ((use->user->op == QGC_OP_OBSERVE || use->user->op == QGC_OP_QUANTIZE) &&
            use->user->results[0].num_uses)
            return true;
    return false;
}

/* A value inside of a chain that is rounded nevertheless. */
static void report_rounded(qgc_checker *c, const qgc_module *stripped)
{
    qgc_name mark = qgc_context_name(c->context, "fuse.into");
    if (c->module->form == QGC_FORM_FLOAT)
        return;
    QGC_EACH_FUNC (func, stripped)
        QGC_EACH_NODE (node, func) {
            const qgc_node *own = qgc_node_extra(node, mark) ? twin(c, node) : NULL;
            if (own && is_rounded(&own->results[0]))
                qgc_find(c, own, "%s is not fused with what follows: %%%s is rounded in between",
                         qgc_node_op(own)->mnemonic, own->results[0].name->data);
        }
}

void qgc_check_unfused(qgc_checker *c)
{
    qgc_diag *diag = &c->context->diag;
    if (c->module->form > QGC_FORM_QUANTIZED)
        return;
    qgc_module *stripped = qgc_module_copy(c->module);
    size_t first = diag->list.size;
    qgc_pipeline_options options = {0};
    strip(stripped);
    bool is_float = c->module->form == QGC_FORM_FLOAT; /* then nothing was recognized yet */
    qgc_result result =
        qgc_pipeline_run(stripped, is_float ? QGC_PIPELINE_FLOAT : "const-fold,dce,fuse", &options);
    diag->origin = "check";
    if (result == QGC_OK) {
        report_near_misses(c, stripped, first);
        report_rounded(c, stripped);
    }
    qgc_module_destroy(stripped);
}

/* ---- functions ---- */

void qgc_check_uncalled(qgc_checker *c)
{
    if (!qgc_module_find_func(c->module, qgc_context_name(c->context, "main")))
        return;
    QGC_EACH_FUNC (func, c->module)
        if (strcmp(func->name->data, "main") != 0 && !qgc_count_calls(c->module, func))
            qgc_find(c, func->first, "@%s is never called", func->name->data);
}

/* ---- stubs ---- */

/* An op between the stubs that reads what did not come by one. */
void qgc_check_stub_missing(qgc_checker *c)
{
    qgc_stubs stubs;
    qgc_stubs_find(c->module, c->arena, &stubs);
    if (!stubs.any)
        return;
    QGC_EACH_FUNC (func, c->module)
        QGC_EACH_NODE (node, func) {
            if (!qgc_map_get(&stubs.inside, node))
                continue;
            for (uint32_t i = 0; i < node->num_operands; i++) {
                const qgc_value *value = node->operands[i].value;
                const qgc_value *bare = value ? qgc_bare_value(value) : NULL;
                if (bare && !bare->def && bare->type->dtype == QGC_DTYPE_F32 && func->num_params &&
                    strcmp(func->name->data, "main") == 0)
                    qgc_find(c, node, "%s reads %%%s, which came by no quant_stub",
                             qgc_node_op(node)->mnemonic, bare->name->data);
            }
        }
}

static const char *redundancy(const qgc_node *stub)
{
    const qgc_node *def = stub->operands[0].value->def;
    if (stub->op == QGC_OP_QUANT_STUB && def && def->op == QGC_OP_QUANT_STUB)
        return "it follows another quant_stub";
    if (stub->op == QGC_OP_QUANT_STUB && def && def->op == QGC_OP_DEQUANT_STUB)
        return "it takes back the dequant_stub before it";
    if (stub->op == QGC_OP_DEQUANT_STUB && def && qgc_is_stub(def))
        return "nothing lies between it and the stub before it";
    return stub->results[0].num_uses ? NULL : "nothing reads it";
}

void qgc_check_stub_redundant(qgc_checker *c)
{
    QGC_EACH_FUNC (func, c->module)
        QGC_EACH_NODE (node, func) {
            const char *why = qgc_is_stub(node) ? redundancy(node) : NULL;
            if (why)
                qgc_find(c, node, "%s is redundant: %s", qgc_node_op(node)->mnemonic, why);
        }
}

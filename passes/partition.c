/* What backends claim goes into functions of its own. Requires form float or quantized, gives
 * partitioned. Steps: seams are moved to where islands end; each op's view is matched with the rows
 * of the targets; the islands that a target claimed form regions, one target after the other. One
 * remark for each op that is left. Does not handle: claims across functions; loop bodies are
 * functions like any other. */
#include "passes/claims.h"
#include "passes/fix.h"
#include "passes/legalize.h"
#include "passes/region.h"
#include "passes/rules.h"
#include "passes/seams.h"
#include "passes/targets.h"

#include <string.h>

enum { TARGET, CLAIMS, RULES };
enum { MAX_TARGETS = 8 };

typedef struct target {
    qgc_name name;
    const qgc_rules *rows;
    const qgc_backend *backend; /* NULL: only the rows of a file */
    bool lowers;                /* itself: it may take ops on f32, too */
} target;

typedef struct partitioner {
    const qgc_pass_env *env;
    uint32_t num_targets, num_listed; /* behind those listed: those that only rules name */
    target targets[MAX_TARGETS];
    qgc_rule_list *rules; /* or NULL */
    uint32_t num_regions; /* in the module */
} partitioner;

/* The ops of one function that are claimed: op node -> (void *)(1 + target). */
typedef struct claims {
    qgc_map targets;
    qgc_map covered; /* nodes of islands */
} claims;

/* The line of the row, as it is written. */
static const char *row_text(const partitioner *p, qgc_loc loc)
{
    return qgc_arena_strdup(p->env->scratch,
                            qgc_source_position(&p->env->context->sources, loc).text);
}

static void add_row(const partitioner *p, const qgc_why *why)
{
    qgc_diag *diag = &p->env->context->diag;
    const qgc_source *source = qgc_source_get(&p->env->context->sources, why->row.source);
    if (!source)
        return;
    qgc_diag_add_shown(diag, "row", "%s", row_text(p, why->row));
    qgc_diag_add(diag, "row_at", "%s:%u", source->name,
                 qgc_source_position(&p->env->context->sources, why->row).line);
    qgc_diag_add_shown(diag, "fitted", "%s", why->fitted);
}

/* |why|: of target |t|. */
static void report_unclaimed(const partitioner *p, const target *t, const qgc_node *node,
                             const qgc_why *why)
{
    qgc_diag *diag = &p->env->context->diag;
    const char *word = qgc_view_fault_word(why->fault);
    qgc_fix fix;
    if (!qgc_wants_remarks(diag))
        return;
    qgc_report(diag, node->loc, QGC_D_UNCLAIMED, "%s: not claimed [%s]: %s",
               qgc_node_op(node)->mnemonic, word, why->text);
    qgc_report_node(diag, node);
    qgc_diag_add(diag, "target", "%s", t->name->data);
    add_row(p, why);
    qgc_diag_add(diag, "reason", "%s", word);
    qgc_diag_add(diag, "condition", "%s", why->condition ? why->condition : word);
    qgc_diag_add(diag, "found", "%s", why->found ? why->found : why->text);
    if (!qgc_fix_find(t->rows, t->lowers, node, p->env->scratch, &fix))
        return;
    qgc_diag_add_shown(diag, "fix", "%s", fix.text);
    if (fix.rule)
        qgc_diag_add_shown(diag, "rule", "%s", fix.rule);
}

/* ---- choosing a target for an op ---- */

static const qgc_claim *match(const partitioner *p, const target *t, qgc_node *node, qgc_view *view,
                              qgc_why *why)
{
    if (!qgc_claims_view(node, t->lowers, p->env->scratch, view, why))
        return NULL;
    return qgc_claims_match(t->rows, view, p->env->scratch, why);
}

/* The same with what the target's legality table asks for. */
static bool match_legalized(const partitioner *p, const target *t, qgc_node *node)
{
    qgc_view view;
    qgc_why why = {.fault = QGC_FAULT_NOT_AN_OP, .text = ""};
    qgc_edges edges;
    if (!t->backend || !t->backend->num_legals ||
        !qgc_view_build(node, p->env->scratch, &view, &why) ||
        !qgc_legalize(node->func, &view, t->backend, p->env, &edges))
        return false;
    if (match(p, t, node, &view, &why)) {
        qgc_legalize_report(&edges, node, p->env);
        return true;
    }
    qgc_legalize_undo(&edges);
    return false;
}

/* The target that a rule names for the op; -1: none. */
static int ruled_target(const partitioner *p, const qgc_node *node)
{
    const qgc_rule_row *row = p->rules ? qgc_rules_target(p->rules, node) : NULL;
    for (uint32_t i = 0; row && i < p->num_targets; i++)
        if (qgc_str_equal(row->text, qgc_name_str(p->targets[i].name)))
            return (int)i;
    return -1;
}

/* The listed target with the highest benefit; of equals the first. |why|: of the first. */
static int best_target(const partitioner *p, qgc_node *node, qgc_why *why)
{
    int best = -1;
    int64_t benefit = 0;
    for (uint32_t i = 0; i < p->num_listed; i++) {
        qgc_view view;
        qgc_why reason = {.fault = QGC_FAULT_NOT_AN_OP, .text = ""};
        const qgc_claim *claim = match(p, &p->targets[i], node, &view, &reason);
        if (i == 0)
            *why = reason;
        if (claim && (best < 0 || claim->benefit > benefit)) {
            best = (int)i;
            benefit = claim->benefit;
        }
    }
    for (uint32_t i = 0; best < 0 && i < p->num_listed; i++)
        if (match_legalized(p, &p->targets[i], node))
            best = (int)i;
    return best;
}

/* -1: nobody takes it, |why| says why the first one asked does not. */
static int choose(const partitioner *p, qgc_node *node, qgc_why *why)
{
    int ruled = ruled_target(p, node);
    qgc_view view;
    qgc_why ignored;
    if (ruled < 0)
        return best_target(p, node, why);
    if (match(p, &p->targets[ruled], node, &view, why) ||
        match_legalized(p, &p->targets[ruled], node))
        return ruled;
    return best_target(p, node, &ignored);
}

static const target *asked_first(const partitioner *p, const qgc_node *node)
{
    int ruled = ruled_target(p, node);
    return &p->targets[ruled < 0 ? 0 : ruled];
}

static void claim(const partitioner *p, qgc_node *node, claims *c)
{
    qgc_why why = {.fault = QGC_FAULT_NOT_AN_OP, .text = ""};
    int chosen = choose(p, node, &why);
    qgc_view view;
    if (chosen < 0) {
        if (!qgc_view_is_plumbing(node))
            report_unclaimed(p, asked_first(p, node), node, &why);
        return;
    }
    qgc_claims_view(node, p->targets[chosen].lowers, p->env->scratch, &view, &why);
    for (uint32_t i = 0; i < view.num_nodes; i++)
        *qgc_map_at(&c->covered, view.nodes[i]) = node;
    *qgc_map_at(&c->targets, node) = (void *)(uintptr_t)(1 + chosen);
}

/* ---- regions ---- */

/* @cpu.0, @cpu.1 ...: the first that is free. */
static qgc_name region_name(partitioner *p, const target *t, const qgc_module *module)
{
    for (;;) {
        const char *text =
            qgc_arena_printf(p->env->scratch, "%s.%u", t->name->data, p->num_regions++);
        qgc_name name = qgc_context_name(p->env->context, text);
        if (!qgc_module_find_func(module, name))
            return name;
    }
}

static uint32_t extract(partitioner *p, uint32_t index, qgc_func *func, const claims *c)
{
    qgc_arena *scratch = p->env->scratch;
    const target *t = &p->targets[index];
    qgc_islands islands = {0};
    qgc_map owners = {.arena = scratch};
    QGC_EACH_NODE (node, func) {
        qgc_why why;
        if ((uintptr_t)qgc_map_get(&c->targets, node) != index + 1)
            continue;
        qgc_island *island = QGC_NEW(scratch, qgc_island);
        bool built = qgc_claims_view(node, t->lowers, scratch, &island->view, &why);
        QGC_ASSERT(built, "the view of %%%s is gone", node->results[0].name->data);
        for (uint32_t i = 0; i < island->view.num_nodes; i++)
            *qgc_map_at(&owners, island->view.nodes[i]) = island;
        qgc_vec_push(scratch, &islands, island);
    }
    uint32_t num = qgc_regions_form(func, &islands, &owners, scratch);
    for (uint32_t i = 0; i < num; i++)
        qgc_region_extract(func, &owners, i, region_name(p, t, func->module), t->name, scratch);
    return num;
}

static bool partition_func(partitioner *p, qgc_func *func)
{
    claims c = {.targets = {.arena = p->env->scratch}, .covered = {.arena = p->env->scratch}};
    uint32_t num = 0;
    bool changed = qgc_seams_move(func, p->env);
    changed |= qgc_seams_sweep(func);
    QGC_EACH_NODE (node, func)
        if (!qgc_map_get(&c.covered, node))
            claim(p, node, &c);
    for (uint32_t i = 0; i < p->num_targets; i++)
        num += extract(p, i, func, &c);
    changed |= qgc_seams_sweep(func);
    return changed || num;
}

/* ---- targets ---- */

static qgc_result add_target(partitioner *p, qgc_str name)
{
    qgc_context *context = p->env->context;
    const char *text = qgc_arena_strdup(p->env->scratch, name);
    const char *file = p->num_targets ? "" : p->env->options[CLAIMS];
    target t = {.name = qgc_intern(&context->names, name)};
    void *state;
    for (uint32_t i = 0; i < p->num_targets; i++)
        if (p->targets[i].name == t.name)
            return QGC_OK;
    if (p->num_targets == MAX_TARGETS)
        return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_BAD_PIPELINE,
                          "partition: more than %d targets", MAX_TARGETS);
    t.rows = qgc_claims_load(p->env, text, file);
    if (!t.rows || (!*file && qgc_target_find(context, text, &t.backend, &state) != QGC_OK))
        return QGC_FAILED;
    t.lowers = t.backend && qgc_backend_lowers(t.backend);
    p->targets[p->num_targets++] = t;
    return QGC_OK;
}

/* "cpu", "onednn+cpu". */
static qgc_result add_listed(partitioner *p)
{
    for (const char *at = p->env->options[TARGET];;) {
        size_t size = strcspn(at, "+");
        QGC_TRY(add_target(p, (qgc_str){at, size}));
        at += size;
        if (!*at)
            break;
        at++;
    }
    p->num_listed = p->num_targets;
    return QGC_OK;
}

static qgc_result add_ruled(partitioner *p)
{
    const char *path = p->env->options[RULES];
    if (!*path)
        return QGC_OK;
    p->rules = qgc_rule_list_load(p->env, path, NULL);
    for (size_t i = 0; p->rules && i < p->rules->rows.size; i++)
        if (p->rules->rows.data[i].select == QGC_SELECT_TARGET)
            QGC_TRY(add_target(p, p->rules->rows.data[i].text));
    return p->rules ? QGC_OK : QGC_FAILED;
}

static bool any_lowers(const partitioner *p)
{
    for (uint32_t i = 0; i < p->num_targets; i++)
        if (p->targets[i].lowers)
            return true;
    return false;
}

qgc_pass_status pass_partition(qgc_module *module, const qgc_pass_env *env)
{
    partitioner p = {.env = env};
    if (add_listed(&p) != QGC_OK || add_ruled(&p) != QGC_OK)
        return QGC_PASS_FAILED;
    if (module->form == QGC_FORM_FLOAT && !any_lowers(&p)) {
        qgc_report(&env->context->diag, QGC_NO_LOC, QGC_D_BAD_FORM,
                   "partition needs a graph of form quantized, here it is float: the target takes "
                   "no float ops");
        return QGC_PASS_FAILED;
    }
    bool changed = module->form != QGC_FORM_PARTITIONED;
    qgc_func *last = module->last; /* regions come behind it */
    for (qgc_func *func = module->first, *next; func; func = next) {
        next = func == last ? NULL : func->next;
        changed |= partition_func(&p, func);
    }
    if (p.rules)
        qgc_rules_warn(p.rules, true, env);
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}

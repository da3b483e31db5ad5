/* What a backend claims goes into functions of its own. Requires form quantized, gives partitioned.
 * Steps: seams are moved to where islands end; each op's view is matched with the target's rows;
 * the claimed islands form regions. One remark for each op that is left. Does not handle: claims
 * across functions; loop bodies are functions like any other. */
#include "passes/claims.h"
#include "passes/region.h"
#include "passes/seams.h"

enum { TARGET, CLAIMS };

typedef struct partitioner {
    const qgc_pass_env *env;
    const qgc_rules *rows;
    qgc_name target;
    uint32_t num_regions; /* in the module */
} partitioner;

static void report_unclaimed(const partitioner *p, const qgc_node *node, const qgc_why *why)
{
    qgc_report(&p->env->context->diag, node->loc, QGC_D_UNCLAIMED, "%s: not claimed [%s]: %s",
               qgc_node_op(node)->mnemonic, qgc_view_fault_word(why->fault), why->text);
}

static bool claim(const partitioner *p, qgc_node *node, qgc_islands *islands, qgc_map *owners)
{
    qgc_island *island = QGC_NEW(p->env->scratch, qgc_island);
    qgc_why why = {QGC_FAULT_NOT_AN_OP, ""};
    if (!qgc_view_build(node, p->env->scratch, &island->view, &why) ||
        !qgc_claims_match(p->rows, &island->view, p->env->scratch, &why)) {
        if (!qgc_view_is_plumbing(node))
            report_unclaimed(p, node, &why);
        return false;
    }
    for (uint32_t i = 0; i < island->view.num_nodes; i++)
        *qgc_map_at(owners, island->view.nodes[i]) = island;
    qgc_vec_push(p->env->scratch, islands, island);
    return true;
}

/* @cpu.0, @cpu.1 ...: the first that is free. */
static qgc_name region_name(partitioner *p, const qgc_module *module)
{
    for (;;) {
        const char *text =
            qgc_arena_printf(p->env->scratch, "%s.%u", p->target->data, p->num_regions++);
        qgc_name name = qgc_context_name(p->env->context, text);
        if (!qgc_module_find_func(module, name))
            return name;
    }
}

static bool partition_func(partitioner *p, qgc_func *func)
{
    qgc_arena *scratch = p->env->scratch;
    qgc_islands islands = {0};
    qgc_map owners = {.arena = scratch};
    bool changed = qgc_seams_move(func, p->env);
    changed |= qgc_seams_sweep(func);
    QGC_EACH_NODE (node, func)
        if (!qgc_map_get(&owners, node))
            claim(p, node, &islands, &owners);
    uint32_t num = qgc_regions_form(func, &islands, &owners, scratch);
    for (uint32_t i = 0; i < num; i++)
        qgc_region_extract(func, &owners, i, region_name(p, func->module), p->target, scratch);
    changed |= qgc_seams_sweep(func);
    return changed || num;
}

qgc_pass_status pass_partition(qgc_module *module, const qgc_pass_env *env)
{
    partitioner p = {.env = env, .target = qgc_context_name(env->context, env->options[TARGET])};
    p.rows = qgc_claims_load(env, env->options[TARGET], env->options[CLAIMS]);
    if (!p.rows)
        return QGC_PASS_FAILED;
    bool changed = module->form != QGC_FORM_PARTITIONED;
    qgc_func *last = module->last; /* regions come behind it */
    for (qgc_func *func = module->first, *next; func; func = next) {
        next = func == last ? NULL : func->next;
        changed |= partition_func(&p, func);
    }
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}

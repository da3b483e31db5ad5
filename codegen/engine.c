/* The compiling engine: one region per leaf function; the interpreter asks it first. */
#include "qgc/engine.h"

#include "codegen/foreign.h"
#include "codegen/region.h"
#include "runtime/interp.h"

#include <string.h>

typedef struct entry {
    const qgc_func *func;
    qgc_region *region;
} entry;

/* qgc_engine.user */
typedef struct compiled {
    qgc_arena arena;
    qgc_engine engine;
    qgc_map regions; /* qgc_func -> qgc_region */
    QGC_VEC(entry) list;
    qgc_map foreign; /* qgc_func -> qgc_foreign: regions of plug-ins */
    QGC_VEC(qgc_foreign *) foreign_list;
} compiled;

/* The interpreter reports tensors that do not fit. */
static bool fits(const qgc_func *func, const qgc_tensor *inputs)
{
    for (uint32_t i = 0; i < func->num_params; i++) {
        const qgc_type *type = func->params[i].type;
        if (inputs[i].dtype != type->dtype || inputs[i].rank != type->rank)
            return false;
        for (uint32_t d = 0; d < type->rank; d++)
            if (inputs[i].shape[d] != type->dims[d].value)
                return false;
    }
    return true;
}

static bool execute(void *user, const qgc_func *func, const qgc_tensor *inputs, qgc_tensor *outputs,
                    qgc_result *out_result)
{
    const compiled *c = user;
    qgc_region *region = qgc_map_get(&c->regions, func);
    qgc_foreign *foreign = qgc_map_get(&c->foreign, func);
    if ((!region && !foreign) || !fits(func, inputs))
        return false;
    *out_result = foreign ? qgc_foreign_run(foreign, inputs, outputs)
                          : qgc_region_run(region, inputs, outputs);
    return true;
}

/* What a region can be made of: fixed shapes, no calls. */
static bool is_compilable(const qgc_func *func)
{
    for (uint32_t i = 0; i < func->num_params; i++)
        if (!func->params[i].type->is_static)
            return false;
    QGC_EACH_NODE (node, func) {
        uint32_t traits = qgc_op(node->op)->traits;
        if (traits & QGC_TRAIT_CALL || (traits & QGC_TRAIT_CONSTANT && !node->constant))
            return false;
        for (uint32_t i = 0; i < node->num_results; i++)
            if (!node->results[i].type->is_static)
                return false;
    }
    return true;
}

/* A region of a plug-in, unless that cannot lower it. */
static bool add_foreign(compiled *c, const qgc_func *func, const qgc_level *level)
{
    qgc_foreign *foreign = qgc_foreign_create(func, level);
    if (!foreign)
        return false;
    *qgc_map_at(&c->foreign, func) = foreign;
    qgc_vec_push(&c->arena, &c->foreign_list, foreign);
    return true;
}

static qgc_result compile_all(compiled *c, qgc_module *module, const qgc_level *level)
{
    QGC_EACH_FUNC (func, module) {
        qgc_region *region;
        if (add_foreign(c, func, level) || !is_compilable(func))
            continue;
        QGC_TRY(qgc_region_compile(func, level, &region));
        *qgc_map_at(&c->regions, func) = region;
        entry e = {func, region};
        qgc_vec_push(&c->arena, &c->list, e);
    }
    return QGC_OK;
}

static qgc_result find_level(qgc_module *module, const char *cpu, const qgc_level **out)
{
    qgc_diag *diag = &module->context->diag;
    *out = qgc_level_find(qgc_str_from(cpu));
    if (!*out)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_USAGE, "no CPU level '%s'", cpu);
    if (!qgc_level_is_supported(*out))
        return qgc_report(diag, QGC_NO_LOC, QGC_D_USAGE, "this machine has no %s", cpu);
    return QGC_OK;
}

qgc_result qgc_engine_create(qgc_module *module, const char *cpu, qgc_engine **out)
{
    const qgc_level *level;
    QGC_TRY(find_level(module, cpu, &level));
    qgc_arena arena = {0};
    compiled *c = QGC_NEW(&arena, compiled);
    c->arena = arena;
    c->regions.arena = c->foreign.arena = &c->arena;
    c->engine = (qgc_engine){execute, c};
    if (compile_all(c, module, level) != QGC_OK) {
        qgc_engine_destroy(&c->engine);
        return QGC_FAILED;
    }
    *out = &c->engine;
    return QGC_OK;
}

void qgc_engine_destroy(qgc_engine *engine)
{
    if (!engine)
        return;
    compiled *c = engine->user;
    for (size_t i = 0; i < c->list.size; i++)
        qgc_region_destroy(c->list.data[i].region);
    for (size_t i = 0; i < c->foreign_list.size; i++)
        qgc_foreign_destroy(c->foreign_list.data[i]);
    qgc_arena arena = c->arena;
    qgc_arena_destroy(&arena);
}

void qgc_engine_print_plans(const qgc_engine *engine, FILE *out)
{
    const compiled *c = engine->user;
    qgc_arena arena = {0};
    qgc_text text = {.arena = &arena};
    for (size_t i = 0; i < c->list.size; i++)
        qgc_plan_print(qgc_region_plan(c->list.data[i].region), &text);
    for (size_t i = 0; i < c->foreign_list.size; i++)
        qgc_foreign_print(c->foreign_list.data[i], &text);
    fputs(text.size ? text.data : "", out);
    qgc_arena_destroy(&arena);
}

void qgc_engine_print_steps(const qgc_engine *engine, const char *value, FILE *out)
{
    const compiled *c = engine->user;
    qgc_arena arena = {0};
    qgc_text text = {.arena = &arena};
    const char *percent = strchr(value, '%');
    for (size_t i = 0; percent && i < c->list.size; i++) {
        qgc_name name = qgc_context_name(c->list.data[i].func->module->context, percent + 1);
        qgc_plan_print_steps(qgc_region_plan(c->list.data[i].region), name, &text);
    }
    fputs(text.size ? text.data : "", out);
    qgc_arena_destroy(&arena);
}

const char *qgc_cpu_level(size_t index, bool *out_supported)
{
    const qgc_level *level = qgc_level_at(index);
    if (level)
        *out_supported = qgc_level_is_supported(level);
    return level ? level->name : NULL;
}

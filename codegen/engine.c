/* The compiling engine: functions become regions when the interpreter is about to run them, one for
 * each set of shapes. */
#include "qgc/engine.h"

#include "codegen/foreign.h"
#include "codegen/region.h"
#include "codegen/specialize.h"

#include <string.h>

/* A function for shapes. Lists are kept short: the one that has not run for longest goes. */
enum { MAX_PER_FUNC = 16 };

typedef struct entry {
    const qgc_func *func;
    qgc_tensor *shapes; /* of the inputs, without data */
    bool is_inlined;    /* what it calls is in it */
    qgc_special special;
    qgc_region *region;
    qgc_foreign *foreign; /* a plug-in's, in place of the region */
    uint64_t last_run;
    qgc_arena arena;
    struct entry *next; /* of the function */
} entry;

typedef struct func_entries {
    const qgc_func *func;
    entry *first;
    size_t num;
} func_entries;

/* qgc_engine.user */
typedef struct compiled {
    qgc_arena arena;
    qgc_engine engine;
    qgc_module *module;
    qgc_cache cache;
    qgc_region_options options;
    qgc_map by_name; /* of functions -> func_entries */
    QGC_VEC(func_entries *) list;
    uint64_t num_runs;
} compiled;

static func_entries *entries_of(compiled *c, qgc_name name)
{
    func_entries **slot = (func_entries **)qgc_map_at(&c->by_name, name);
    if (*slot)
        return *slot;
    *slot = QGC_NEW(&c->arena, func_entries);
    (*slot)->func = qgc_module_find_func(c->module, name);
    qgc_vec_push(&c->arena, &c->list, *slot);
    return *slot;
}

static void destroy_entry(entry *e)
{
    qgc_region_destroy(e->region);
    qgc_foreign_destroy(e->foreign);
    qgc_module_destroy(e->special.module);
    qgc_arena arena = e->arena;
    qgc_arena_destroy(&arena);
}

/* ---- compiling ---- */

static void remark(const entry *e, const char *why)
{
    qgc_diag *diag = &e->func->module->context->diag;
    const char *origin = diag->origin;
    diag->origin = "engine";
    if (qgc_wants_remarks(diag))
        qgc_report(diag, e->func->loc, QGC_D_INTERPRETED, "@%s is interpreted: %s",
                   e->func->name->data, why);
    diag->origin = origin;
}

/* Warned of, but it does not matter: the interpreter can always do it. */
static void compile_region(const compiled *c, entry *e)
{
    qgc_diag *diag = &c->module->context->diag;
    size_t reported = diag->list.size;
    if (qgc_region_compile(e->special.func, &c->options, &e->region) == QGC_OK)
        return;
    e->region = NULL;
    const char *why = diag->list.data[diag->list.size - 1].message;
    qgc_diag_rollback(diag, reported);
    e->special.why = why;
    qgc_report(diag, e->func->loc, QGC_D_KERNEL_FAILED, "@%s is interpreted: %s",
               e->func->name->data, why);
}

static void compile(const compiled *c, entry *e)
{
    e->special = qgc_specialize(e->func, e->shapes, e->is_inlined, &e->arena);
    if (!e->special.func) {
        if (e->special.why)
            remark(e, e->special.why);
        return;
    }
    if (qgc_is_foreign(e->special.func))
        e->foreign = qgc_foreign_create(e->special.func, c->options.level);
    if (!e->foreign)
        compile_region(c, e);
}

static entry *create_entry(const compiled *c, const qgc_func *func, const qgc_tensor *inputs,
                           bool is_inlined)
{
    qgc_arena arena = {0};
    entry *e = QGC_NEW(&arena, entry);
    e->arena = arena;
    e->func = func;
    e->is_inlined = is_inlined;
    e->shapes = QGC_NEW_ARRAY(&e->arena, qgc_tensor, func->num_params);
    for (uint32_t i = 0; i < func->num_params; i++) {
        e->shapes[i] = inputs[i];
        e->shapes[i].data = NULL;
    }
    compile(c, e);
    return e;
}

static bool is_for(const entry *e, const qgc_tensor *inputs, bool is_inlined)
{
    for (uint32_t i = 0; i < e->func->num_params; i++)
        if (!qgc_tensor_same_type(&e->shapes[i], &inputs[i]))
            return false;
    return e->is_inlined == is_inlined;
}

static void drop_oldest(func_entries *of)
{
    entry **oldest = &of->first;
    for (entry **at = &of->first; *at; at = &(*at)->next)
        if ((*at)->last_run < (*oldest)->last_run)
            oldest = at;
    entry *gone = *oldest;
    QGC_ASSERT(gone, "a full list is empty");
    *oldest = gone->next;
    of->num--;
    destroy_entry(gone);
}

static entry *find_entry(compiled *c, func_entries *of, const qgc_tensor *inputs, bool is_inlined)
{
    for (entry *e = of->first; e; e = e->next)
        if (is_for(e, inputs, is_inlined))
            return e;
    if (of->num == MAX_PER_FUNC)
        drop_oldest(of);
    entry *e = create_entry(c, of->func, inputs, is_inlined);
    e->next = of->first;
    of->first = e;
    of->num++;
    return e;
}

/* ---- running ---- */

static bool calls_something(const qgc_func *func)
{
    QGC_EACH_NODE (node, func)
        if (qgc_op(node->op)->traits & QGC_TRAIT_CALL)
            return true;
    return false;
}

static bool has_fixed_params(const qgc_func *func)
{
    for (uint32_t i = 0; i < func->num_params; i++)
        if (!func->params[i].type->is_static)
            return false;
    return true;
}

/* Who looks at single values wants all that can be had: only functions that are one step to him are
 * executed whole. Observers are seen from inside. */
static bool may_execute(const qgc_func *func, const qgc_interp_options *options)
{
    bool looks_inside = options->substitute || (options->watch && !options->watches_observers);
    return !looks_inside || (has_fixed_params(func) && !calls_something(func));
}

static bool execute(void *user, const qgc_execution *x, qgc_result *out_result)
{
    compiled *c = user;
    func_entries *of = entries_of(c, x->func->name);
    if (!of->func || !may_execute(of->func, x->options))
        return false;
    bool is_watched = x->options->watch && x->options->watches_observers;
    entry *e = find_entry(c, of, x->inputs, !is_watched);
    e->last_run = ++c->num_runs;
    if (!e->region && !e->foreign)
        return false;
    *out_result = e->foreign
                      ? qgc_foreign_run(e->foreign, c->options.pool, x->inputs, x->outputs)
                      : qgc_region_run(e->region, x, is_watched ? &e->special.originals : NULL);
    return true;
}

/* ---- creation ---- */

/* Regions whose plug-in is not there run as literal ops; lowering them has nothing to do but say
 * so. */
static void remark_missing(const compiled *c)
{
    QGC_EACH_FUNC (func, c->module)
        if (func->target && !qgc_is_foreign(func))
            qgc_foreign_destroy(qgc_foreign_create(func, c->options.level));
}

qgc_result qgc_engine_create_with(qgc_module *module, const qgc_engine_options *options,
                                  qgc_engine **out)
{
    const qgc_level *level;
    QGC_TRY(qgc_level_find_here(&module->context->diag, options->cpu, &level));
    qgc_arena arena = {0};
    compiled *c = QGC_NEW(&arena, compiled);
    c->arena = arena;
    c->module = module;
    c->by_name.arena = &c->arena;
    c->engine = (qgc_engine){execute, c};
    c->options = (qgc_region_options){.level = level, .pool = qgc_pool_create(options->threads)};
    if (options->cache) {
        c->cache = qgc_cache_make(&module->context->diag, &c->arena, options);
        c->options.cache = &c->cache;
    }
    *out = &c->engine;
    remark_missing(c);
    return QGC_OK;
}

qgc_result qgc_engine_create(qgc_module *module, const char *cpu, qgc_engine **out)
{
    return qgc_engine_create_with(module, &(qgc_engine_options){.cpu = cpu, .threads = 1}, out);
}

void qgc_engine_destroy(qgc_engine *engine)
{
    if (!engine)
        return;
    compiled *c = engine->user;
    for (size_t i = 0; i < c->list.size; i++)
        for (entry *e = c->list.data[i]->first, *next; e; e = next) {
            next = e->next;
            destroy_entry(e);
        }
    qgc_pool_destroy(c->options.pool);
    qgc_arena arena = c->arena;
    qgc_arena_destroy(&arena);
}

/* ---- looking at it ---- */

static bool is_called(const qgc_module *module, const qgc_func *callee)
{
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func) {
            uint32_t traits = qgc_op(node->op)->traits;
            if (traits & QGC_TRAIT_CALL && node->attrs[0].name == callee->name)
                return true;
        }
    return false;
}

static void compile_fixed(compiled *c, const qgc_func *func)
{
    qgc_arena scratch = {0};
    func_entries *of = entries_of(c, func->name);
    qgc_tensor *shapes = QGC_NEW_ARRAY(&scratch, qgc_tensor, func->num_params);
    for (uint32_t i = 0; i < func->num_params; i++) {
        const qgc_type *type = func->params[i].type;
        shapes[i] = (qgc_tensor){.dtype = type->dtype, .rank = type->rank};
        for (uint32_t d = 0; d < type->rank; d++)
            shapes[i].shape[d] = type->dims[d].value;
    }
    if (!of->first)
        find_entry(c, of, shapes, true);
    qgc_arena_destroy(&scratch);
}

/* What runs would compile in any case, in the order of the module. */
static void compile_all_fixed(compiled *c)
{
    QGC_EACH_FUNC (func, c->module)
        if (has_fixed_params(func) && (!is_called(c->module, func) || qgc_is_foreign(func)))
            compile_fixed(c, func);
}

static void print_shapes(const entry *e, qgc_text *out)
{
    if (has_fixed_params(e->func))
        return;
    qgc_text_printf(out, "// @%s of", e->func->name->data);
    for (uint32_t i = 0; i < e->func->num_params; i++) {
        qgc_text_puts(out, i ? ", " : " ");
        qgc_value_name_print(out, e->func->params[i].name);
        qgc_text_puts(out, ": ");
        qgc_type_print(out, qgc_type_of_tensor(&e->func->module->context->types, &e->shapes[i]));
    }
    qgc_text_putc(out, '\n');
}

static void print_entry(const entry *e, qgc_text *out)
{
    print_shapes(e, out);
    if (e->region)
        qgc_plan_print(qgc_region_plan(e->region), out);
    else if (e->foreign)
        qgc_foreign_print(e->foreign, out);
    else
        qgc_text_printf(out, "// @%s is interpreted: %s\n", e->func->name->data,
                        e->special.why ? e->special.why : "it could not be compiled");
}

void qgc_engine_print_plans(qgc_engine *engine, FILE *out)
{
    compiled *c = engine->user;
    qgc_arena arena = {0};
    qgc_text text = {.arena = &arena};
    compile_all_fixed(c);
    for (size_t i = 0; i < c->list.size; i++)
        for (const entry *e = c->list.data[i]->first; e; e = e->next)
            print_entry(e, &text);
    fputs(text.size ? text.data : "", out);
    qgc_arena_destroy(&arena);
}

void qgc_engine_print_steps(qgc_engine *engine, const char *value, FILE *out)
{
    compiled *c = engine->user;
    qgc_arena arena = {0};
    qgc_text text = {.arena = &arena};
    const char *percent = strchr(value, '%');
    compile_all_fixed(c);
    for (size_t i = 0; percent && i < c->list.size; i++)
        for (const entry *e = c->list.data[i]->first; e; e = e->next)
            if (e->region)
                qgc_plan_print_steps(qgc_region_plan(e->region),
                                     qgc_context_name(c->module->context, percent + 1), &text);
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

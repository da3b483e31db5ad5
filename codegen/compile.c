/* Ahead-of-time output: plans the functions, emits them into one module, writes it out. */
#include "codegen/compile.h"

#include "codegen/fold_weights.h"
#include "codegen/guard.h"
#include "codegen/link.h"
#include "codegen/llvm/emit_entry.h"
#include "codegen/llvm/object.h"
#include "ir/inline.h"
#include "runtime/file.h"

#include <string.h>

typedef enum format {
    FORMAT_OBJECT,
    FORMAT_SHARED,
    FORMAT_IR,
    FORMAT_ASSEMBLY,
    NUM_FORMATS
} format;

static const struct {
    const char *ending;
    qgc_object_format object;
    bool has_header;
} formats[] = {
    [FORMAT_OBJECT] = {"o", QGC_OBJECT_CODE, true},
    [FORMAT_SHARED] = {"so", QGC_OBJECT_CODE, true},
    [FORMAT_IR] = {"ll", QGC_OBJECT_IR, false},
    [FORMAT_ASSEMBLY] = {"s", QGC_OBJECT_ASSEMBLY, false},
};

typedef struct compilation {
    qgc_module *module;
    qgc_diag *diag;
    qgc_arena arena;
    const qgc_compile_options *options;
    const char *path, *header_path;
    const qgc_level *level;
    format format;
    uint32_t extra_pixels; /* for tests */
    bool is_smaller;       /* than planned are tiles */
    qgc_interface interface;
    qgc_guard guard;
    QGC_VEC(qgc_func *) funcs;
    QGC_VEC(qgc_plan *) plans;
} compilation;

/* ---- what is asked for ---- */

/* The last part of a path. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static qgc_str without_ending(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? (qgc_str){name, (size_t)(dot - name)} : qgc_str_from(name);
}

static qgc_result find_format(compilation *c)
{
    const char *dot = strrchr(base_name(c->path), '.'), *name = c->options->format;
    if (!name)
        name = dot ? dot + 1 : "";
    for (int i = 0; i < NUM_FORMATS; i++)
        if (strcmp(name, formats[i].ending) == 0) {
            c->format = (format)i;
            return QGC_OK;
        }
    return qgc_report(c->diag, QGC_NO_LOC, QGC_D_USAGE,
                      "%s: expected a name that ends in .o, .so, .ll or .s, or --emit", c->path);
}

static qgc_result check_linker(const compilation *c)
{
    return !c->options->linker || c->format == FORMAT_SHARED
               ? QGC_OK
               : qgc_report(c->diag, QGC_NO_LOC, QGC_D_USAGE,
                            "%s: a linker is for shared libraries, not for format %s", c->path,
                            formats[c->format].ending);
}

static qgc_result find_header(compilation *c)
{
    const char *name = base_name(c->path);
    qgc_str stem = without_ending(name);
    if (!formats[c->format].has_header)
        return QGC_OK;
    c->header_path = qgc_arena_printf(&c->arena, "%.*s%.*s.h", (int)(name - c->path), c->path,
                                      QGC_STR_ARG(stem));
    if (strcmp(c->header_path, c->path) != 0)
        return QGC_OK;
    return qgc_report(c->diag, QGC_NO_LOC, QGC_D_USAGE, "%s: the header would have the same name",
                      c->path);
}

static qgc_result find_level(compilation *c)
{
    const char *cpu = c->options->cpu ? c->options->cpu : "native";
    c->level = qgc_level_find(qgc_str_from(cpu));
    return c->level ? QGC_OK
                    : qgc_report(c->diag, QGC_NO_LOC, QGC_D_USAGE, "no CPU level '%s'", cpu);
}

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

static qgc_result find_funcs(compilation *c)
{
    const qgc_compile_options *options = c->options;
    for (size_t i = 0; i < options->num_funcs; i++) {
        qgc_name name = qgc_context_name(c->module->context, options->funcs[i]);
        qgc_func *func = qgc_module_find_func(c->module, name);
        if (!func)
            return qgc_report(c->diag, QGC_NO_LOC, QGC_D_UNDEFINED, "no function @%s", name->data);
        qgc_vec_push(&c->arena, &c->funcs, func);
    }
    if (!options->num_funcs)
        QGC_EACH_FUNC (func, c->module)
            if (!is_called(c->module, func))
                qgc_vec_push(&c->arena, &c->funcs, func);
    if (!c->funcs.size)
        return qgc_report(c->diag, QGC_NO_LOC, QGC_D_USAGE, "the graph has no functions");
    return QGC_OK;
}

/* ---- plans ---- */

static qgc_result check_weights(compilation *c, const qgc_func *func)
{
    QGC_EACH_NODE (node, func)
        if (qgc_op(node->op)->traits & QGC_TRAIT_CONSTANT && !node->constant)
            return qgc_report(c->diag, node->loc, QGC_D_NOT_COMPILED, "%%%s of @%s has no data",
                              node->results[0].name->data, func->name->data);
    return QGC_OK;
}

/* Every step needs a kernel; each that has none is reported. */
static qgc_result check_steps(compilation *c, const qgc_plan *plan)
{
    qgc_result result = QGC_OK;
    for (size_t i = 0; i < plan->steps.size; i++) {
        const qgc_step *step = plan->steps.data[i];
        if (step->kind != QGC_STEP_REF)
            continue;
        result = qgc_report(c->diag, step->node->loc, QGC_D_NOT_COMPILED,
                            "no generated kernel takes %s %%%s of @%s%s%s",
                            qgc_op(step->node->op)->mnemonic, step->node->results[0].name->data,
                            plan->func->name->data, step->why[0] ? ": " : "", step->why);
    }
    if (result != QGC_OK && c->module->form == QGC_FORM_QUANTIZED)
        qgc_diag_add_shown(c->diag, "help",
                           "the graph is quantized, not lowered: partition and lower-integer, or "
                           "--target=cpu of qgc compile, make integer ops of it");
    return result;
}

/* Regions of plug-ins are compiled from their literal ops: an object file has no plug-ins. */
static void remark_regions(const compilation *c)
{
    const char *origin = c->diag->origin;
    c->diag->origin = "backend";
    QGC_EACH_FUNC (func, c->module) {
        const qgc_plugin *plugin = NULL;
        size_t reported = c->diag->list.size;
        if (func->target &&
            qgc_plugin_find(c->module->context, qgc_name_str(func->target), &plugin) != QGC_OK)
            qgc_diag_rollback(c->diag, reported); /* it does not matter here */
        if (plugin && qgc_backend_lowers(plugin->backend))
            qgc_report(c->diag, func->loc, QGC_D_NOT_ON_TARGET,
                       "@%s is compiled from its literal ops: the file has no plug-in '%s'",
                       func->name->data, func->target->data);
    }
    c->diag->origin = origin;
}

static qgc_result plan_func(compilation *c, qgc_func *func)
{
    qgc_plan_target target = qgc_level_target(c->level);
    target.smaller = &c->guard.smaller;
    target.extra_pixels = c->extra_pixels;
    QGC_TRY(qgc_func_inline(func));
    QGC_TRY(check_weights(c, func));
    qgc_fold_weights(func);
    qgc_plan *plan = qgc_plan_create(func, &target);
    if (!plan)
        return QGC_FAILED;
    qgc_guard_remark(&c->guard, plan);
    qgc_vec_push(&c->arena, &c->plans, plan);
    qgc_interface_add(&c->interface, plan);
    return check_steps(c, plan);
}

/* What names begin with: of the output, or of the graph where that goes to a device. */
static qgc_str find_stem(const compilation *c)
{
    const qgc_compile_options *options = c->options;
    bool is_device = options->source && strncmp(c->path, "/dev/", 5) == 0;
    return options->name ? qgc_str_from(options->name)
                         : without_ending(base_name(is_device ? options->source : c->path));
}

static qgc_result plan_all(compilation *c)
{
    const char *source = c->options->source;
    qgc_str stem = find_stem(c);
    qgc_result result = QGC_OK;
    qgc_interface_init(&c->interface, &c->arena, stem, source ? base_name(source) : "a graph",
                       c->level->name);
    for (size_t i = 0; i < c->funcs.size; i++)
        if (plan_func(c, c->funcs.data[i]) != QGC_OK)
            result = QGC_FAILED;
    return result;
}

/* ---- output ---- */

static void destroy_plans(compilation *c)
{
    for (size_t i = 0; i < c->plans.size; i++)
        qgc_plan_destroy(c->plans.data[i]);
    c->plans.size = 0;
}

/* Every format is made from the tiles that the object file has. */
static qgc_result generate(compilation *c, qgc_object *object, qgc_str *out)
{
    qgc_object_format format = formats[c->format].object;
    qgc_spills spills = {0};
    QGC_TRY(qgc_object_finish(object, QGC_EMIT_PASSES));
    QGC_TRY(qgc_object_write(object, QGC_OBJECT_CODE, &c->arena, out));
    qgc_object_find_spills(object, *out, &c->arena, &spills);
    c->is_smaller = false;
    for (size_t i = 0; i < c->plans.size; i++)
        if (qgc_guard_look(&c->guard, c->plans.data[i], &spills))
            c->is_smaller = true;
    if (c->is_smaller || format == QGC_OBJECT_CODE)
        return QGC_OK;
    return qgc_object_write(object, format, &c->arena, out);
}

static qgc_result emit(compilation *c, qgc_str *out)
{
    qgc_object *object;
    QGC_TRY(qgc_object_create(c->diag, c->level, c->interface.prefix, &object));
    for (size_t i = 0; i < c->interface.entries.size; i++)
        qgc_emit_entry(qgc_object_emitter(object), &c->interface.entries.data[i]);
    qgc_result result = generate(c, object, out);
    qgc_object_destroy(object);
    return result;
}

/* Plans, and plans again as long as tiles turn out too large. */
static qgc_result plan_and_emit(compilation *c, qgc_str *out)
{
    do {
        destroy_plans(c);
        QGC_TRY(plan_all(c));
        QGC_TRY(emit(c, out));
    } while (c->is_smaller);
    return QGC_OK;
}

static qgc_result make_shared(compilation *c, qgc_str object, qgc_str *out)
{
    qgc_text symbols = {.arena = &c->arena};
    for (size_t i = 0; i < c->interface.entries.size; i++)
        qgc_interface_print_symbols(&c->interface.entries.data[i], &symbols);
    qgc_link link = {.diag = c->diag,
                     .arch = c->level->arch,
                     .linker = c->options->linker,
                     .soname = base_name(c->path),
                     .version = qgc_arena_printf(&c->arena, "%s_1", c->interface.prefix),
                     .symbols = symbols.data};
    return qgc_link_shared(&link, object, &c->arena, out);
}

static qgc_result write_file(compilation *c, const char *path, qgc_str bytes)
{
    qgc_output output;
    QGC_TRY(qgc_output_open(c->diag, path, &output));
    qgc_output_put(&output, bytes.data, bytes.size);
    return qgc_output_close(c->diag, &output);
}

static qgc_result write_header(compilation *c)
{
    qgc_text text = {.arena = &c->arena};
    if (!c->header_path)
        return QGC_OK;
    qgc_interface_print(&c->interface, &text);
    return write_file(c, c->header_path, qgc_text_str(&text));
}

static qgc_result compile(compilation *c)
{
    qgc_str bytes;
    QGC_TRY(find_format(c));
    QGC_TRY(check_linker(c));
    QGC_TRY(find_header(c));
    QGC_TRY(find_level(c));
    QGC_TRY(find_funcs(c));
    remark_regions(c);
    QGC_TRY(plan_and_emit(c, &bytes));
    if (c->format == FORMAT_SHARED)
        QGC_TRY(make_shared(c, bytes, &bytes));
    QGC_TRY(write_header(c));
    return write_file(c, c->path, bytes);
}

qgc_result qgc_module_compile(qgc_module *module, const char *path,
                              const qgc_compile_options *options)
{
    return qgc_compile_larger(module, path, options, 0);
}

qgc_result qgc_compile_larger(qgc_module *module, const char *path,
                              const qgc_compile_options *options, uint32_t extra_pixels)
{
    compilation c = {.module = module,
                     .diag = &module->context->diag,
                     .options = options,
                     .path = path,
                     .extra_pixels = extra_pixels};
    c.guard = qgc_guard_make(c.diag, &c.arena);
    qgc_result result = compile(&c);
    destroy_plans(&c);
    qgc_arena_destroy(&c.arena);
    return result;
}

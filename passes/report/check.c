/* The table of checks, and running it. */
#include "passes/report/check.h"

#include "ir/copy.h"
#include "passes/observers.h"
#include "passes/pass.h"
#include "passes/provenance.h"
#include "passes/report/explain.h"
#include "qgc/pass.h"

static const qgc_check table[] = {
    {QGC_D_UNFUSED, qgc_check_unfused,
     "fuse before annotate; where a value has other users, give them a copy"},
    {QGC_D_SHARED_FUNC, qgc_check_sharing,
     "a function of its own for a call whose values differ much"},
    {QGC_D_SHARING_COSTS, qgc_check_sharing_costs, "a function of its own for this call"},
    {QGC_D_FLOAT_BETWEEN, qgc_check_float_between,
     "a rule that quantizes it, or float for its neighbours, too"},
    {QGC_D_MIXED_OPERANDS, qgc_check_mixed,
     "one type for all operands: a rule for the op, or for the value"},
    {QGC_D_FIXED_SCALE, qgc_check_fixed, "nothing, where it is meant"},
    {QGC_D_ODD_SCALE, qgc_check_odd_scale,
     "calibrate again, or take the scale of the value that is moved"},
    {QGC_D_UNEVEN_CHANNELS, qgc_check_uneven, "a spec with ch: weight i8.sym.ch.minmax"},
    {QGC_D_STUB_MISSING, qgc_check_stub_missing, "a quant_stub on the value"},
    {QGC_D_STUB_REDUNDANT, qgc_check_stub_redundant, "remove it"},
    {QGC_D_UNCALLED, qgc_check_uncalled, "call it, or remove it (dce does)"},
};

const char *qgc_check_row(size_t index, const char **out_summary, const char **out_help)
{
    if (index >= sizeof table / sizeof *table)
        return NULL;
    *out_summary = qgc_diag_text(table[index].id);
    *out_help = table[index].help;
    return qgc_diag_code(table[index].id);
}

static void add_parts(qgc_checker *c, const qgc_node *node)
{
    qgc_diag *diag = &c->context->diag;
    qgc_diag_add(diag, "check", "%s", qgc_diag_title(c->check->id));
    if (node)
        qgc_report_node(diag, node);
    qgc_diag_add_shown(diag, "help", "%s", c->check->help);
}

void qgc_find(qgc_checker *c, const qgc_node *node, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = qgc_arena_vprintf(c->arena, format, args);
    va_end(args);
    qgc_report(&c->context->diag, node->loc, c->check->id, "%s", message);
    add_parts(c, node);
}

qgc_dtype qgc_held_in(const qgc_value *value)
{
    const qgc_node *def = value->def;
    if (def && def->op == QGC_OP_DEQUANTIZE)
        return qgc_node_operand(def, 0)->type->dtype;
    if (def && def->op == QGC_OP_FAKE_CAST)
        return qgc_node_attr(def, "to")->dtype;
    if (def && def->op == QGC_OP_OBSERVE) {
        const qgc_spec *spec = qgc_observer_spec(def);
        bool has_type =
            spec->kind == QGC_SPEC_OWN || (spec->kind == QGC_SPEC_FIXED && spec->has_dtype);
        return has_type ? spec->dtype : QGC_DTYPE_U8;
    }
    return value->type->dtype;
}

const qgc_value *qgc_bare_value(const qgc_value *value)
{
    while (value->def) {
        qgc_opcode op = value->def->op;
        if (op != QGC_OP_OBSERVE && op != QGC_OP_QUANTIZE && op != QGC_OP_DEQUANTIZE)
            break;
        value = qgc_node_operand(value->def, 0);
    }
    return value;
}

/* ---- findings ---- */

static qgc_finding finding_of(qgc_diag *diag, const qgc_diagnostic *item)
{
    qgc_finding f = {.code = qgc_diag_code(item->id),
                     .severity = qgc_severity_name(item->severity),
                     .check = qgc_diag_title(item->id),
                     .message = item->message,
                     .op = qgc_diag_field_of(item, "op"),
                     .value = qgc_diag_field_of(item, "value"),
                     .help = qgc_diag_field_of(item, "help")};
    const qgc_source *source = qgc_source_get(diag->sources, item->loc.source);
    if (source) {
        qgc_position at = qgc_source_position(diag->sources, item->loc);
        f.file = source->name;
        f.line = at.line;
        f.column = at.column;
    }
    return f;
}

/* A note belongs to the diagnostic before it. */
static void hand_on(qgc_diag *diag, size_t first, const qgc_structure_options *options)
{
    for (size_t i = first; i < diag->list.size; i++) {
        const qgc_diagnostic *item = &diag->list.data[i];
        const qgc_diagnostic *next = i + 1 < diag->list.size ? item + 1 : NULL;
        if (item->severity == QGC_NOTE)
            continue;
        qgc_finding f = finding_of(diag, item);
        f.note = next && next->severity == QGC_NOTE ? next->message : NULL;
        options->finding(options->user, &f);
    }
}

/* ---- running ---- */

/* A float graph is checked as it will be: annotated, with observers. Warnings of the rules stay.
 * Steps that it has already are left as they are; where nothing is annotated, nothing is observed.
 */
static qgc_result prepare(qgc_checker *c, const char *rules)
{
    qgc_pipeline_options options = {0};
    qgc_diag *diag = &c->context->diag;
    if (c->module->form == QGC_FORM_FLOAT)
        QGC_TRY(qgc_pipeline_run(c->graph,
                                 qgc_arena_printf(c->arena, QGC_PIPELINE_FLOAT ",annotate%s%s%s",
                                                  rules ? "{rules=" : "", rules ? rules : "",
                                                  rules ? "}" : ""),
                                 &options));
    size_t before = diag->list.size;
    if (qgc_pipeline_run(c->graph, "prepare{partial}", &options) == QGC_OK)
        return QGC_OK;
    if (!diag->list.size || diag->list.data[diag->list.size - 1].id != QGC_D_NOT_PREPARABLE)
        return QGC_FAILED;
    qgc_diag_rollback(diag, before);
    return QGC_OK;
}

static qgc_result run_all(qgc_checker *c, const char *rules)
{
    qgc_diag *diag = &c->context->diag;
    qgc_str remarks = diag->remarks;
    bool was_quiet = diag->is_quiet;
    diag->is_quiet = false;
    qgc_result result = QGC_OK;
    if (c->module->form == QGC_FORM_FLOAT || c->module->form == QGC_FORM_ANNOTATED)
        result = prepare(c, rules);
    if (result == QGC_OK && c->stats != c->module)
        result = qgc_stats_check_source(c->graph, c->stats);
    diag->remarks = qgc_str_from("all");
    diag->origin = "check";
    for (size_t i = 0; result == QGC_OK && i < sizeof table / sizeof *table; i++) {
        c->check = &table[i];
        table[i].run(c);
    }
    diag->origin = NULL;
    diag->remarks = remarks;
    diag->is_quiet = was_quiet;
    return result;
}

qgc_result qgc_module_check(qgc_module *module, const qgc_structure_options *options,
                            size_t *out_warnings)
{
    qgc_arena arena = {0};
    qgc_checker c = {.module = module, .context = module->context, .arena = &arena};
    qgc_diag *diag = &module->context->diag;
    size_t before = diag->num_warnings, first = diag->list.size;
    c.graph = qgc_module_copy(module);
    c.stats = options->stats ? options->stats : module;
    qgc_result result = run_all(&c, options->rules);
    qgc_module_destroy(c.graph);
    qgc_arena_destroy(&arena);
    *out_warnings = diag->num_warnings - before;
    if (result == QGC_OK && options->finding)
        hand_on(diag, first, options);
    if (result == QGC_OK && options->is_silent)
        qgc_diag_rollback(diag, first);
    return result;
}

/* ---- types ---- */

typedef struct types_row {
    qgc_opcode op;
    const char *types;
    size_t num;
} types_row;

static const char *types_of(qgc_arena *arena, const qgc_node *node)
{
    qgc_text text = {.arena = arena};
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = qgc_node_operand(node, i);
        if (value)
            qgc_text_printf(&text, "%s%s", text.size ? ", " : "",
                            qgc_dtype_name(qgc_held_in(value)));
    }
    qgc_text_puts(&text, " ->");
    for (uint32_t i = 0; i < node->num_results; i++) {
        const qgc_value *value = &node->results[i];
        const qgc_node *user = value->num_uses ? value->first_use->user : NULL;
        bool is_step = user && (user->op == QGC_OP_QUANTIZE || user->op == QGC_OP_OBSERVE ||
                                user->op == QGC_OP_FAKE_CAST);
        qgc_dtype dtype = is_step && user->op == QGC_OP_QUANTIZE ? user->results[0].type->dtype
                          : is_step                              ? qgc_held_in(&user->results[0])
                                                                 : value->type->dtype;
        qgc_text_printf(&text, "%s %s", i ? "," : "", qgc_dtype_name(dtype));
    }
    return text.data;
}

void qgc_module_types(qgc_module *module, qgc_types_row *row, void *user)
{
    qgc_arena arena = {0};
    QGC_VEC(types_row) rows = {0};
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func) {
            size_t i = 0;
            const char *types = types_of(&arena, node);
            if (!qgc_explains(node))
                continue;
            while (i < rows.size &&
                   (rows.data[i].op != node->op ||
                    !qgc_str_equal(qgc_str_from(rows.data[i].types), qgc_str_from(types))))
                i++;
            types_row fresh = {node->op, types, 0};
            if (i == rows.size)
                qgc_vec_push(&arena, &rows, fresh);
            rows.data[i].num++;
        }
    for (int op = 0; op < QGC_NUM_OPS; op++)
        for (size_t i = 0; i < rows.size; i++)
            if (rows.data[i].op == (qgc_opcode)op)
                row(user, qgc_op(rows.data[i].op)->mnemonic, rows.data[i].types, rows.data[i].num);
    qgc_arena_destroy(&arena);
}

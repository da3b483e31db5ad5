#include "passes/change_log.h"

#include "ir/quant_spec.h"
#include "passes/quant_points.h"
#include "runtime/file.h"

#include <string.h>

typedef struct logged_port {
    uint32_t slot;
    QGC_VEC(qgc_change) changes;
} logged_port;

typedef struct logged_node {
    QGC_VEC(logged_port) ports; /* in the order in which they were first spoken of */
    const char *stays;          /* or NULL */
} logged_node;

struct qgc_change_log {
    const qgc_pass_env *env;
    qgc_map nodes; /* node -> logged_node */
};

qgc_change_log *qgc_change_log_create(const qgc_pass_env *env)
{
    qgc_change_log *log = QGC_NEW(env->scratch, qgc_change_log);
    *log = (qgc_change_log){.env = env, .nodes = {.arena = env->scratch}};
    return log;
}

static logged_node *node_of(qgc_change_log *log, const qgc_node *node)
{
    logged_node **at = (logged_node **)qgc_map_at(&log->nodes, node);
    if (!*at)
        *at = QGC_NEW(log->env->scratch, logged_node);
    return *at;
}

static const qgc_attr *spec_at(const qgc_node *node, uint32_t slot, qgc_arena *scratch)
{
    return qgc_node_extra(node, qgc_annotation_name(node, slot, scratch));
}

static logged_port *port_of(qgc_change_log *log, const qgc_node *node, uint32_t slot)
{
    qgc_arena *scratch = log->env->scratch;
    logged_node *entry = node_of(log, node);
    for (size_t i = 0; i < entry->ports.size; i++)
        if (entry->ports.data[i].slot == slot)
            return &entry->ports.data[i];
    qgc_vec_push(scratch, &entry->ports, ((logged_port){.slot = slot}));
    logged_port *port = &entry->ports.data[entry->ports.size - 1];
    const qgc_attr *old = spec_at(node, slot, scratch);
    if (old && old->kind == QGC_ATTR_SPEC)
        qgc_vec_push(scratch, &port->changes,
                     ((qgc_change){.spec = *old->spec, .why = "it stood in the graph"}));
    return port;
}

void qgc_change_log_add(qgc_change_log *log, const qgc_node *node, uint32_t slot,
                        const qgc_change *change)
{
    logged_port *port = port_of(log, node, slot);
    qgc_vec_push(log->env->scratch, &port->changes, *change);
}

void qgc_change_log_stays(qgc_change_log *log, const qgc_node *node, const char *why)
{
    node_of(log, node)->stays = why;
}

/* ---- printing ---- */

/* Names and reasons may hold any byte; a comment ends with its line. */
static void put_comment(qgc_text *out, qgc_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        qgc_text_putc(out, c < 0x20 || c == 0x7f ? ' ' : (char)c);
    }
}

static qgc_str trim(qgc_str text)
{
    while (text.size && strchr(" \t\r", text.data[text.size - 1]))
        text.size--;
    while (text.size && strchr(" \t", text.data[0]))
        text = (qgc_str){text.data + 1, text.size - 1};
    return text;
}

/* ": rules.qcfg:3" */
static void put_place(const qgc_change_log *log, qgc_text *out, qgc_loc loc)
{
    qgc_sources *sources = &log->env->context->sources;
    const qgc_source *source = qgc_source_get(sources, loc.source);
    if (!source)
        return;
    qgc_text_puts(out, ": ");
    put_comment(out, qgc_str_from(source->name));
    qgc_text_printf(out, ":%u", qgc_source_position(sources, loc).line);
}

/* "rules.qcfg:3 `op linear => in i16`". */
static void put_row(const qgc_change_log *log, qgc_text *out, qgc_loc loc)
{
    qgc_sources *sources = &log->env->context->sources;
    const qgc_source *source = qgc_source_get(sources, loc.source);
    if (!source)
        return;
    qgc_position at = qgc_source_position(sources, loc);
    put_comment(out, qgc_str_from(source->name));
    qgc_text_printf(out, ":%u `", at.line);
    put_comment(out, trim(at.text));
    qgc_text_putc(out, '`');
}

static void put_spec(qgc_text *out, const qgc_spec *spec)
{
    if (spec->kind == QGC_SPEC_DERIVE && !spec->values[0]) /* a rule does not say of what */
        qgc_text_puts(out, "derive");
    else
        qgc_spec_print(out, spec);
}

static void put_change(const qgc_change_log *log, qgc_text *out, const char *port,
                       const qgc_change *change, const qgc_change *before)
{
    qgc_text_printf(out, "//   %s: ", port);
    put_spec(out, &change->spec);
    qgc_text_puts(out, change->why ? ": " : " by ");
    if (change->why)
        put_comment(out, qgc_str_from(change->why));
    if (change->table.source) {
        put_row(log, out, change->table);
        qgc_text_puts(out, ", taken by ");
    }
    if (change->rule.source)
        put_row(log, out, change->rule);
    if (before) {
        qgc_text_puts(out, "; it was ");
        put_spec(out, &before->spec);
    }
    qgc_text_putc(out, '\n');
}

/* Plain where that is read back as the same two names. */
static void put_name(const qgc_change_log *log, qgc_text *out, const qgc_node *node)
{
    qgc_str func = qgc_name_str(node->func->name), value = qgc_name_str(node->results[0].name);
    bool is_plain = !memchr(func.data, '"', func.size) && !memchr(value.data, '"', value.size) &&
                    !strstr(func.data, ".%") && !memchr(func.data, 0, func.size);
    qgc_text name = {.arena = log->env->scratch};
    qgc_text_putc(&name, '@');
    is_plain ? qgc_text_put(&name, func) : qgc_text_put_quoted(&name, func);
    qgc_text_puts(&name, ".%");
    is_plain ? qgc_text_put(&name, value) : qgc_text_put_quoted(&name, value);
    qgc_text_put_quoted(out, qgc_text_str(&name));
}

static const char *port_name(const qgc_node *node, uint32_t slot, qgc_arena *scratch)
{
    return qgc_annotation_name(node, slot, scratch)->data + strlen("quant.");
}

static const qgc_attr *history_at(const qgc_node *node, const char *port, qgc_arena *scratch)
{
    return qgc_node_extra(node, qgc_context_name(node->func->module->context,
                                                 qgc_arena_printf(scratch, "rules.%s", port)));
}

/* The graph itself says what the port became. */
static void put_rule(const qgc_change_log *log, qgc_text *out, const qgc_node *node, uint32_t slot)
{
    qgc_arena *scratch = log->env->scratch;
    const char *port = port_name(node, slot, scratch);
    const qgc_attr *spec = spec_at(node, slot, scratch), *history = history_at(node, port, scratch);
    qgc_text_puts(out, "port ");
    put_name(log, out, node);
    qgc_text_printf(out, " %s %s => ", qgc_node_op(node)->mnemonic, port);
    if (spec)
        qgc_attr_print(out, spec);
    else
        qgc_text_puts(out, "float");
    if (spec && history) {
        qgc_text_puts(out, ", rules ");
        qgc_attr_print(out, history);
    }
    qgc_text_putc(out, '\n');
}

static void put_node(const qgc_change_log *log, qgc_text *out, const qgc_node *node,
                     const logged_node *entry)
{
    qgc_text_puts(out, "\n// ");
    qgc_value_name_print(out, node->results[0].name);
    qgc_text_printf(out, " = %s", qgc_node_op(node)->mnemonic);
    if (node->scope) {
        qgc_text_puts(out, " @");
        qgc_text_put_quoted(out, qgc_name_str(node->scope));
    }
    if (entry->stays) {
        qgc_text_puts(out, " stays float: ");
        put_comment(out, qgc_str_from(entry->stays));
    }
    qgc_text_putc(out, '\n');
    for (size_t i = 0; i < entry->ports.size; i++) {
        const logged_port *port = &entry->ports.data[i];
        const char *name = port_name(node, port->slot, log->env->scratch);
        for (size_t c = 0; c < port->changes.size; c++)
            put_change(log, out, name, &port->changes.data[c],
                       c ? &port->changes.data[c - 1] : NULL);
        put_rule(log, out, node, port->slot);
    }
}

/* What partition reads from the same file. */
static void put_target(qgc_text *out, const qgc_rule_row *row)
{
    qgc_text_puts(out, "target ");
    qgc_text_put_quoted(out, row->text);
    if (row->has_op)
        qgc_text_printf(out, " op %s", qgc_op(row->op)->mnemonic);
    if (row->under.size) {
        qgc_text_puts(out, " under ");
        qgc_text_put_quoted(out, row->under);
    }
    qgc_text_putc(out, '\n');
}

/* `rules [0, 2]` counts these. A replayed log has lost where they stood. */
static void put_rows(const qgc_change_log *log, qgc_text *out, const qgc_rule_list *rules)
{
    for (size_t r = 0; r < rules->lines.size; r++) {
        qgc_text_puts(out, "row ");
        qgc_text_put_quoted(out, qgc_str_from(rules->lines.data[r]));
        qgc_text_printf(out, " // %zu", r);
        if (!rules->has_ports)
            put_place(log, out, rules->rows.data[r].loc);
        qgc_text_putc(out, '\n');
    }
    for (size_t r = 0; r < rules->rows.size; r++)
        if (rules->rows.data[r].select == QGC_SELECT_TARGET)
            put_target(out, &rules->rows.data[r]);
}

qgc_result qgc_change_log_save(const qgc_change_log *log, const qgc_module *module,
                               const qgc_rule_list *rules, const char *path)
{
    qgc_text out = {.arena = log->env->scratch};
    qgc_output file;
    qgc_text_puts(&out, "// Change log of annotate: what each port was, in order, and what it "
                        "became.\n");
    put_rows(log, &out, rules);
    QGC_EACH_FUNC (func, module) {
        qgc_text_puts(&out, "\n// ---- ");
        qgc_func_name_print(&out, func->name);
        qgc_text_puts(&out, " ----\n");
        QGC_EACH_NODE (node, func) {
            const logged_node *entry = qgc_map_get(&log->nodes, node);
            if (entry)
                put_node(log, &out, node, entry);
        }
    }
    QGC_TRY(qgc_output_open(&log->env->context->diag, path, &file));
    qgc_output_put(&file, out.data, out.size);
    return qgc_output_close(&log->env->context->diag, &file);
}

/* ---- replaying ---- */

typedef struct replayer {
    const qgc_pass_env *env;
    qgc_module *module;
    qgc_change_log *log; /* or NULL */
    qgc_map seen;        /* name of the attribute, of one node -> not NULL */
} replayer;

static bool foreign(const replayer *r, const qgc_rule_row *row, const char *why)
{
    qgc_report(&r->env->context->diag, row->loc, QGC_D_BAD_RULE, "%s: the log is of another graph",
               why);
    return false;
}

static bool find_node(const replayer *r, const qgc_rule_row *row, qgc_node **out)
{
    const qgc_exact_port *exact = row->exact;
    qgc_arena *scratch = r->env->scratch;
    qgc_interner *names = &r->env->context->names;
    qgc_func *func = qgc_module_find_func(r->module, qgc_intern(names, exact->func));
    const qgc_value *value =
        func ? qgc_func_find_value(func, qgc_intern(names, exact->value)) : NULL;
    if (!value || !value->def || value != &value->def->results[0])
        return foreign(r, row, "no op makes this value");
    *out = value->def;
    if (value->def->op != exact->op)
        return foreign(r, row,
                       qgc_arena_printf(scratch, "the op is %s, in the log %s",
                                        qgc_node_op(value->def)->mnemonic,
                                        qgc_op(exact->op)->mnemonic));
    for (uint32_t i = 0; i < 2; i++)
        if (exact->spec.values[i] && !qgc_func_find_value(func, exact->spec.values[i]))
            return foreign(r, row,
                           qgc_arena_printf(scratch, "no value %%%s in the function",
                                            exact->spec.values[i]->data));
    return true;
}

static bool find_slot(const replayer *r, const qgc_rule_row *row, const qgc_node *node,
                      uint32_t *out)
{
    for (uint32_t i = 0; i <= node->num_operands; i++) {
        *out = i < node->num_operands ? i : UINT32_MAX;
        if (*out != UINT32_MAX && !node->operands[i].value)
            continue;
        if (qgc_str_equal(row->exact->port, qgc_str_from(port_name(node, *out, r->env->scratch))))
            return true;
    }
    return foreign(r, row, "the op has no such port");
}

static qgc_attr copy_attr(const qgc_rule_row *row, bool is_history, qgc_arena *arena)
{
    const qgc_attr *history = &row->exact->history;
    qgc_attr copy = {.kind = QGC_ATTR_NONE};
    if (is_history && history->kind == QGC_ATTR_LIST) {
        qgc_attr *items = QGC_NEW_ARRAY(arena, qgc_attr, history->num);
        memcpy(items, history->list, history->num * sizeof *items);
        copy = (qgc_attr){.kind = QGC_ATTR_LIST, .num = history->num, .list = items};
    } else if (!is_history && row->exact->spec.kind != QGC_SPEC_FLOAT) {
        qgc_spec *spec = QGC_NEW(arena, qgc_spec);
        *spec = row->exact->spec;
        copy = (qgc_attr){.kind = QGC_ATTR_SPEC, .spec = spec};
    }
    return copy;
}

static bool replay(replayer *r, const qgc_rule_row *row)
{
    qgc_node *node;
    uint32_t slot;
    if (!find_node(r, row, &node) || !find_slot(r, row, node, &slot))
        return false;
    const char *fault =
        row->exact->spec.kind == QGC_SPEC_OWN ? qgc_spec_fault(&row->exact->spec) : NULL;
    if (fault) {
        qgc_report(&r->env->context->diag, row->loc, QGC_D_BAD_RULE, "%s", fault);
        return false;
    }
    const void *place =
        slot == UINT32_MAX ? (const void *)&node->results[0] : (const void *)&node->operands[slot];
    void **seen = qgc_map_at(&r->seen, place);
    if (*seen) {
        qgc_report(&r->env->context->diag, row->loc, QGC_D_BAD_RULE, "a second row for this port");
        return false;
    }
    *seen = node;
    if (r->log)
        qgc_change_log_add(r->log, node, slot,
                           &(qgc_change){.spec = row->exact->spec, .rule = row->loc});
    qgc_arena *arena = &r->module->arena;
    qgc_name name = qgc_annotation_name(node, slot, r->env->scratch);
    const qgc_attr *old = qgc_node_extra(node, name);
    bool says_float = old && old->kind == QGC_ATTR_SPEC && old->spec->kind == QGC_SPEC_FLOAT;
    if (says_float && row->exact->spec.kind == QGC_SPEC_FLOAT)
        return true; /* written by hand, and kept */
    const char *history = qgc_arena_printf(r->env->scratch, "rules.%s", name->data + 6);
    qgc_node_set_extra(node, name, copy_attr(row, false, arena));
    qgc_node_set_extra(node, qgc_context_name(r->env->context, history),
                       copy_attr(row, true, arena));
    return true;
}

bool qgc_change_log_replay(const qgc_rule_list *rules, qgc_module *module, const qgc_pass_env *env,
                           qgc_change_log *log)
{
    replayer r = {.env = env, .module = module, .log = log, .seen = {.arena = env->scratch}};
    bool good = true;
    for (size_t i = 0; i < rules->rows.size; i++)
        if (rules->rows.data[i].select == QGC_SELECT_PORT)
            good &= replay(&r, &rules->rows.data[i]);
    return good;
}

/* Rules files and backend patterns. */
#include "base/number.h"
#include "frontend/build.h"

#include <string.h>

/* `in [i16, i8]` reads as an index of `in`: a port and a list. A spec has a type's name instead. */
static void split_port_lists(qgc_ast_list actions)
{
    for (qgc_ast *action = actions.first; action; action = action->next) {
        qgc_str text = action->text;
        if (action->kind != QGC_AST_INDEX || !text.size)
            continue;
        const char *dot = memchr(text.data, '.', text.size);
        qgc_str head = {text.data, dot ? (size_t)(dot - text.data) : text.size};
        qgc_dtype dtype;
        if (!qgc_dtype_from_name(head, &dtype))
            action->kind = QGC_AST_PAIR;
    }
}

void qgc_build_rule(qgc_builder *b, qgc_ast_list words, qgc_ast_list actions)
{
    split_port_lists(actions);
    qgc_rule rule = {.words = words, .actions = actions, .loc = words.first->loc};
    qgc_vec_push(b->rules->arena, &b->rules->rules, rule);
}

void qgc_build_claim(qgc_builder *b, const qgc_token *op, qgc_ast_list args, qgc_ast_list where,
                     const qgc_token *benefit)
{
    qgc_claim claim = {.op = op->text, .ports = args, .where = where, .loc = op->loc};
    if (benefit && !qgc_parse_i64(benefit->text, &claim.benefit))
        qgc_build_error(b, benefit->loc, QGC_D_BAD_NUMBER, "benefit does not fit 64 bits");
    qgc_vec_push(b->rules->arena, &b->rules->claims, claim);
}

void qgc_build_table_spec(qgc_builder *b, const qgc_token *name, qgc_ast *spec)
{
    qgc_table_spec row = {.name = name->text, .spec = spec, .loc = name->loc};
    qgc_vec_push(b->rules->arena, &b->rules->specs, row);
}

void qgc_build_take(qgc_builder *b, const qgc_token *row, qgc_ast_list steps, qgc_ast_list where)
{
    bool is_sweep = qgc_str_equal(row->text, qgc_str_from("sweep"));
    qgc_take take = {.is_sweep = is_sweep, .steps = steps, .where = where, .loc = row->loc};
    qgc_vec_push(b->rules->arena, &b->rules->takes, take);
}

qgc_ast *qgc_build_step(qgc_builder *b, const qgc_token *begin, qgc_ast_list ops,
                        qgc_ast_list ports, const qgc_token *end)
{
    qgc_ast_list parts = {0};
    parts = qgc_ast_append(parts, qgc_ast_group(b, QGC_AST_LIST, begin, ops, begin));
    parts = qgc_ast_append(parts, qgc_ast_group(b, QGC_AST_LIST, begin, ports, end));
    return qgc_ast_group(b, QGC_AST_LIST, begin, parts, end);
}

static void print_list(qgc_text *out, qgc_ast_list list, const char *separator)
{
    for (const qgc_ast *item = list.first; item; item = item->next) {
        if (item != list.first)
            qgc_text_puts(out, separator);
        bool is_list =
            item->kind == QGC_AST_PAIR && (item->num > 1 || item->first->kind == QGC_AST_INT);
        if (is_list) { /* port with a list; numbers stand in lists only */
            qgc_text_put(out, item->text);
            qgc_text_puts(out, " [");
            print_list(out, (qgc_ast_list){.first = item->first}, ", ");
            qgc_text_putc(out, ']');
            continue;
        }
        qgc_ast_print(out, item);
    }
}

static void print_claim(qgc_text *out, const qgc_claim *claim)
{
    qgc_text_printf(out, "claim %.*s(", QGC_STR_ARG(claim->op));
    for (const qgc_ast *port = claim->ports.first; port; port = port->next) {
        if (port != claim->ports.first)
            qgc_text_puts(out, ", ");
        if (port->kind == QGC_AST_CALL) /* an optional part */
            qgc_text_printf(out, "%.*s?", QGC_STR_ARG(port->text));
        else
            qgc_ast_print(out, port);
    }
    qgc_text_putc(out, ')');
    if (claim->where.num)
        qgc_text_puts(out, " where ");
    print_list(out, claim->where, ", ");
    if (claim->benefit)
        qgc_text_printf(out, " benefit %lld", (long long)claim->benefit);
    qgc_text_putc(out, '\n');
}

static void print_step(qgc_text *out, const qgc_ast *step)
{
    const qgc_ast *ops = step->first, *ports = ops->next;
    print_list(out, (qgc_ast_list){.first = ops->first}, "|");
    qgc_text_putc(out, '(');
    for (const qgc_ast *port = ports->first; port; port = port->next) {
        qgc_text_printf(out, "%s%.*s: ", port == ports->first ? "" : ", ", QGC_STR_ARG(port->text));
        qgc_ast_print(out, port->first);
    }
    qgc_text_putc(out, ')');
}

static void print_take(qgc_text *out, const qgc_take *take)
{
    qgc_text_puts(out, take->is_sweep ? "sweep " : "take ");
    for (const qgc_ast *step = take->steps.first; step; step = step->next) {
        if (step != take->steps.first)
            qgc_text_puts(out, " -> ");
        print_step(out, step);
    }
    if (take->where.num)
        qgc_text_puts(out, " where ");
    print_list(out, take->where, ", ");
    qgc_text_putc(out, '\n');
}

void qgc_rule_print(qgc_text *out, const qgc_rule *rule)
{
    print_list(out, rule->words, " ");
    if (rule->actions.num)
        qgc_text_puts(out, " => ");
    print_list(out, rule->actions, ", ");
}

/* Specs, claims, takes: each kind in its order; no row of one kind depends on where one of another
 * stands. */
void qgc_rules_print(qgc_text *out, const qgc_rules *rules)
{
    for (size_t i = 0; i < rules->rules.size; i++) {
        qgc_rule_print(out, &rules->rules.data[i]);
        qgc_text_putc(out, '\n');
    }
    for (size_t i = 0; i < rules->specs.size; i++) {
        qgc_text_printf(out, "spec %.*s = ", QGC_STR_ARG(rules->specs.data[i].name));
        qgc_ast_print(out, rules->specs.data[i].spec);
        qgc_text_putc(out, '\n');
    }
    for (size_t i = 0; i < rules->claims.size; i++)
        print_claim(out, &rules->claims.data[i]);
    for (size_t i = 0; i < rules->takes.size; i++)
        print_take(out, &rules->takes.data[i]);
}

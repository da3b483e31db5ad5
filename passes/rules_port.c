/* Reading the rows of a change log: `port "@f.%v" MNEMONIC PORT => SPEC, rules [0, 3]`. */
#include "passes/rules.h"

#include "base/number.h"
#include "frontend/lex.h"
#include "frontend/parse.h"

static bool bad(const qgc_pass_env *env, qgc_loc loc, const char *what)
{
    qgc_report(&env->context->diag, loc, QGC_D_BAD_RULE, "%s", what);
    return false;
}

/* "%v" or "%\"a b\"". */
static bool read_value(const qgc_pass_env *env, const qgc_ast *ast, qgc_name *out)
{
    if (ast->kind != QGC_AST_VALUE)
        return bad(env, ast->loc, "expected the name of a value");
    qgc_str name = {ast->text.data + 1, ast->text.size - 1};
    bool is_quoted = name.size && name.data[0] == '"';
    if (is_quoted && !qgc_decode_string(&env->context->diag, env->scratch, name, ast->loc, &name))
        return false;
    *out = qgc_intern(&env->context->names, name);
    return true;
}

static bool is_call(const qgc_ast *ast, const char *name)
{
    return ast->kind == QGC_AST_CALL && qgc_str_equal(ast->text, qgc_str_from(name));
}

/* Also those that rules cannot ask for: they name values. */
static bool read_spec(const qgc_pass_env *env, const qgc_ast *ast, qgc_spec *out)
{
    *out = (qgc_spec){.kind = QGC_SPEC_SHARE};
    const qgc_ast *first = ast->first, *second = NULL;
    if (is_call(ast, "derive") && ast->num == 2) {
        out->kind = QGC_SPEC_DERIVE;
        second = first->next;
    } else if (is_call(ast, "share") && ast->num == 1) {
        bool is_use = first->kind == QGC_AST_BINARY && first->op == '>';
        second = is_use ? first->first->next : NULL;
        first = is_use ? first->first : first;
    } else {
        return qgc_rule_read_spec(env, ast, out) &&
               (out->kind != QGC_SPEC_DERIVE || bad(env, ast->loc, "expected derive(%a, %b)"));
    }
    return read_value(env, first, &out->values[0]) &&
           (!second || read_value(env, second, &out->values[1]));
}

static bool read_history(const qgc_pass_env *env, const qgc_ast *ast, qgc_attr *out)
{
    qgc_attr *items = QGC_NEW_ARRAY(env->scratch, qgc_attr, ast->num);
    *out = (qgc_attr){.kind = QGC_ATTR_LIST, .num = ast->num, .list = items};
    for (const qgc_ast *item = ast->first; item; item = item->next) {
        int64_t row;
        if (item->kind != QGC_AST_INT || !qgc_parse_i64(item->text, &row))
            return bad(env, item->loc, "expected the number of a row");
        *items++ = qgc_attr_from_int(row);
    }
    return true;
}

static bool read_actions(const qgc_pass_env *env, const qgc_rule *rule, qgc_exact_port *out)
{
    const qgc_ast *spec = rule->actions.first, *history = spec ? spec->next : NULL;
    if (!spec)
        return bad(env, rule->loc, "expected `=>` and a spec");
    if (history && (history->kind != QGC_AST_PAIR || history->next ||
                    !qgc_str_equal(history->text, qgc_str_from("rules"))))
        return bad(env, history->loc, "expected `rules [N, ...]` behind the spec");
    return read_spec(env, spec, &out->spec) &&
           (!history || read_history(env, history, &out->history));
}

bool qgc_rule_read_port(const qgc_pass_env *env, const qgc_rule *rule, qgc_rule_row *row)
{
    const qgc_ast *value = rule->words.first->next, *op = value ? value->next : NULL;
    const qgc_ast *port = op ? op->next : NULL;
    qgc_str name;
    if (!port || port->next || value->kind != QGC_AST_STRING || op->kind != QGC_AST_IDENT ||
        port->kind != QGC_AST_IDENT)
        return bad(env, rule->loc, "expected `port \"@f.%v\" OP PORT`");
    row->select = QGC_SELECT_PORT;
    row->exact = QGC_NEW(env->scratch, qgc_exact_port);
    row->exact->port = port->text;
    if (!qgc_op_find(op->text, &row->exact->op))
        return bad(env, op->loc, "unknown op");
    return qgc_decode_string(&env->context->diag, env->scratch, value->text, value->loc, &name) &&
           qgc_rule_split_name(env, name, value->loc, &row->exact->func, &row->exact->value) &&
           read_actions(env, rule, row->exact);
}

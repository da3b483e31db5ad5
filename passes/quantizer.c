/* Loading quantizer tables: every word is checked, so that matching has nothing to report. */
#include "passes/quantizer.h"

#include "frontend/parse.h"
#include "ir/quant_spec.h"
#include "passes/quantizers.h"
#include "passes/rules.h"
#include "passes/targets.h"

#include <string.h>

typedef struct loader {
    const qgc_pass_env *env;
    qgc_quantizer *out;
} loader;

static bool bad(loader *l, qgc_loc loc, const char *format, ...) QGC_PRINTF(3, 4);
static bool bad(loader *l, qgc_loc loc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = qgc_arena_vprintf(l->env->scratch, format, args);
    va_end(args);
    qgc_report(&l->env->context->diag, loc, QGC_D_BAD_RULE, "%s", message);
    return false;
}

qgc_spec *qgc_quantizer_spec(const qgc_quantizer *quantizer, qgc_str name)
{
    for (size_t i = 0; i < quantizer->specs.size; i++)
        if (qgc_str_equal(quantizer->specs.data[i].name, name))
            return &quantizer->specs.data[i].spec;
    return NULL;
}

static bool read_spec(loader *l, const qgc_ast *ast, qgc_spec *out)
{
    if (!qgc_rule_read_spec(l->env, ast, out))
        return false;
    const char *fault = out->kind == QGC_SPEC_OWN ? qgc_spec_fault(out) : NULL;
    if (out->kind == QGC_SPEC_FIXED && !out->has_dtype)
        fault = "a fixed spec needs its type: fixed(scale, zero_point, type)";
    return !fault || bad(l, ast->loc, "%s", fault);
}

/* ---- ports ---- */

/* Row of the operand; -1: the result; -2: neither. */
static int find_port(qgc_opcode code, qgc_str name)
{
    const qgc_op_info *op = qgc_op(code);
    for (uint32_t i = 0; i < qgc_op_num_operands(op); i++)
        if (qgc_str_equal(name, qgc_str_from(op->operands[i].name)))
            return (int)i;
    return qgc_op_num_results(op) && qgc_str_equal(name, qgc_str_from(op->results[0].name)) ? -1
                                                                                            : -2;
}

static bool is_port_of_all(loader *l, const qgc_take_step *step, qgc_str name, qgc_loc loc)
{
    for (uint32_t i = 0; i < step->num_ops; i++) {
        int row = find_port(step->ops[i], name);
        const qgc_op_info *op = qgc_op(step->ops[i]);
        qgc_quant_rule rule = row >= 0 ? op->operands[row].quant : op->results[0].quant;
        if (row == -2)
            return bad(l, loc, "%s has no operand or result '%.*s'", op->mnemonic,
                       QGC_STR_ARG(name));
        if (rule == QGC_Q_NONE)
            return bad(l, loc, "%.*s of %s is never quantized", QGC_STR_ARG(name), op->mnemonic);
    }
    return true;
}

/* The names between the brackets of share(x), derive(x, w). */
static bool read_ports(loader *l, const qgc_take_step *step, const qgc_ast *ast, uint32_t num,
                       qgc_take_value *out)
{
    const qgc_ast *port = ast->first;
    if (ast->num != num)
        return bad(l, ast->loc, "%.*s: expected %u names of ports, found %u",
                   QGC_STR_ARG(ast->text), num, ast->num);
    for (uint32_t i = 0; i < num; i++, port = port->next) {
        if (port->kind != QGC_AST_IDENT)
            return bad(l, port->loc, "expected the name of a port");
        out->ports[i] = port->text;
        if (!is_port_of_all(l, step, port->text, port->loc))
            return false;
    }
    return true;
}

static bool is_text(const qgc_ast *ast, const char *text)
{
    return qgc_str_equal(ast->text, qgc_str_from(text));
}

static bool read_value(loader *l, const qgc_take_step *step, const qgc_ast *ast,
                       qgc_take_value *out)
{
    if (ast->kind == QGC_AST_CALL && is_text(ast, "share"))
        return out->kind = QGC_TAKE_SHARE, read_ports(l, step, ast, 1, out);
    if (ast->kind == QGC_AST_CALL && is_text(ast, "derive"))
        return out->kind = QGC_TAKE_DERIVE, read_ports(l, step, ast, 2, out);
    if (ast->kind == QGC_AST_IDENT && is_text(ast, "producer"))
        return out->kind = QGC_TAKE_PRODUCER, true;
    out->kind = QGC_TAKE_SPEC;
    if (ast->kind == QGC_AST_IDENT && qgc_quantizer_spec(l->out, ast->text))
        return out->name = ast->text, true;
    return read_spec(l, ast, &out->spec);
}

static bool read_port(loader *l, const qgc_take_step *step, bool is_first, const qgc_ast *ast,
                      qgc_take_port *out)
{
    const qgc_ast *value = ast->first;
    bool is_list = value->kind == QGC_AST_LIST && value->num;
    out->name = ast->text;
    out->num = is_list ? value->num : 1;
    out->values = QGC_NEW_ARRAY(l->env->scratch, qgc_take_value, out->num);
    if (is_text(ast, "other") ? is_first : !is_port_of_all(l, step, ast->text, ast->loc))
        return is_first && is_text(ast, "other")
                   ? bad(l, ast->loc, "other is for ops that the chain enters")
                   : false;
    const qgc_ast *item = is_list ? value->first : value;
    for (uint32_t i = 0; i < out->num; i++, item = item->next)
        if (!read_value(l, step, item, &out->values[i]))
            return false;
    return true;
}

/* ---- rows ---- */

static bool read_step(loader *l, const qgc_ast *ast, bool is_first, qgc_take_step *out)
{
    const qgc_ast *ops = ast->first, *ports = ops->next;
    out->ops = QGC_NEW_ARRAY(l->env->scratch, qgc_opcode, ops->num);
    out->ports = QGC_NEW_ARRAY(l->env->scratch, qgc_take_port, ports->num);
    for (const qgc_ast *op = ops->first; op; op = op->next) {
        qgc_opcode *code = &out->ops[out->num_ops++];
        if (!qgc_op_find(op->text, code))
            return bad(l, op->loc, "no op named '%.*s'", QGC_STR_ARG(op->text));
        if (!qgc_op_num_results(qgc_op(*code)))
            return bad(l, op->loc, "%.*s has no result", QGC_STR_ARG(op->text));
    }
    for (const qgc_ast *port = ports->first; port; port = port->next)
        if (!read_port(l, out, is_first, port, &out->ports[out->num_ports++]))
            return false;
    return true;
}

static bool read_conditions(loader *l, const qgc_take *take, qgc_take_row *out)
{
    out->conditions = QGC_NEW_ARRAY(l->env->scratch, const qgc_take_condition *, take->where.num);
    for (const qgc_ast *name = take->where.first; name; name = name->next) {
        qgc_text known = {.arena = l->env->scratch};
        const qgc_take_condition *found = qgc_take_condition_find(name->text, &known);
        if (!found)
            return bad(l, name->loc, "no condition named '%.*s' (known: %s)",
                       QGC_STR_ARG(name->text), known.data);
        out->conditions[out->num_conditions++] = found;
    }
    return true;
}

static bool read_row(loader *l, const qgc_take *take)
{
    qgc_take_row row = {.is_sweep = take->is_sweep, .loc = take->loc};
    if (take->steps.num > QGC_MAX_STEPS)
        return bad(l, take->loc, "a chain has at most %d ops", QGC_MAX_STEPS);
    for (const qgc_ast *step = take->steps.first; step; step = step->next) {
        bool is_first = row.num_steps == 0;
        if (!read_step(l, step, is_first, &row.steps[row.num_steps++]))
            return false;
    }
    if (!read_conditions(l, take, &row))
        return false;
    qgc_vec_push(l->env->scratch, &l->out->rows, row);
    return true;
}

static bool read_named_spec(loader *l, const qgc_table_spec *from)
{
    qgc_named_spec row = {.name = from->name};
    if (qgc_quantizer_spec(l->out, from->name))
        return bad(l, from->loc, "a second spec '%.*s'", QGC_STR_ARG(from->name));
    if (!read_spec(l, from->spec, &row.spec))
        return false;
    qgc_vec_push(l->env->scratch, &l->out->specs, row);
    return true;
}

/* ---- files ---- */

static bool find_shipped(loader *l, const char *name, qgc_loc loc, qgc_str *out)
{
    qgc_text known = {.arena = l->env->scratch};
    for (size_t i = 0; i < sizeof quantizers / sizeof *quantizers; i++) {
        if (strcmp(quantizers[i].name, name) == 0)
            return *out = (qgc_str){quantizers[i].text, quantizers[i].size}, true;
        qgc_text_printf(&known, "%s%s", i ? ", " : "", quantizers[i].name);
    }
    const qgc_backend *backend = NULL;
    void *state;
    if (qgc_target_find(l->env->context, name, &backend, &state) != QGC_OK)
        return false;
    if (backend && backend->quantizer)
        return *out = qgc_str_from(backend->quantizer), true;
    return bad(l, loc, "no quantizer '%s' (known: %s, and files: \"FILE.qpat\")", name, known.data);
}

qgc_quantizer *qgc_quantizer_load(const qgc_pass_env *env, const char *name, bool is_file,
                                  qgc_loc loc)
{
    loader l = {.env = env, .out = QGC_NEW(env->scratch, qgc_quantizer)};
    qgc_str text;
    l.out->name = qgc_arena_strdup(env->scratch, qgc_str_from(name));
    if (is_file ? qgc_read_file(env->context, name, &text) != QGC_OK
                : !find_shipped(&l, name, loc, &text))
        return NULL;
    const char *title = is_file ? name : qgc_arena_printf(env->scratch, "<quantizer %s>", name);
    uint32_t source = qgc_source_add(&env->context->sources, title, text, 1);
    const qgc_rules *rules = source ? qgc_parse_patterns(env->context, source) : NULL;
    bool good = rules != NULL;
    for (size_t i = 0; rules && i < rules->specs.size; i++)
        good &= read_named_spec(&l, &rules->specs.data[i]);
    for (size_t i = 0; rules && i < rules->takes.size; i++)
        good &= read_row(&l, &rules->takes.data[i]);
    if (good && !rules->takes.size)
        good = bad(&l, loc, "%s has no row: expected `take` or `sweep`", name);
    if (good && rules->claims.size)
        good = bad(&l, rules->claims.data[0].loc, "a claim is no row of a quantizer");
    return good ? l.out : NULL;
}

/* Modules, functions and statements. A statement whose operands failed gives results without a
 * type; what uses those stays silent, so that one mistake gives one error. */
#include "frontend/build.h"

#include "frontend/grammar.h"
#include "frontend/parse.h"

#include <string.h>

/* Whether the mistake that was reported last explains one at |loc|: nothing is certain on a line
 * where a token was left out or an expression was cut off. */
static bool is_explained(const qgc_builder *b, qgc_loc loc)
{
    const qgc_diag *diag = &b->context->diag;
    const qgc_diagnostic *last = diag->list.size ? &diag->list.data[diag->list.size - 1] : NULL;
    if (!last || (last->id != QGC_D_TOO_DEEP && last->id != QGC_D_BAD_TOKEN) || !loc.source ||
        last->loc.source != loc.source)
        return false;
    qgc_str text = qgc_source_get(diag->sources, loc.source)->text;
    uint32_t from = loc.offset, to = last->loc.offset;
    return !(from < to ? memchr(text.data + from, '\n', to - from)
                       : memchr(text.data + to, '\n', from - to));
}

void qgc_build_error(qgc_builder *b, qgc_loc loc, qgc_diag_id id, const char *format, ...)
{
    b->failed = true;
    if (is_explained(b, loc))
        return;
    va_list args;
    va_start(args, format);
    const char *message = qgc_arena_vprintf(&b->context->arena, format, args);
    va_end(args);
    qgc_report(&b->context->diag, loc, id, "%s", message);
}

static const char *token_what(int kind)
{
    switch (kind) {
    case 0:
        return "end of file";
    case QGC_TOK_NEWLINE:
        return "end of line";
    default:
        return NULL;
    }
}

void qgc_build_syntax_error(qgc_builder *b, int kind, const qgc_token *token)
{
    const char *what = token_what(kind);
    if (b->too_deep) /* the parser has lost its place */
        return;
    if (what)
        qgc_build_error(b, token->loc, QGC_D_SYNTAX, "unexpected %s", what);
    else
        qgc_build_error(b, token->loc, QGC_D_SYNTAX, "unexpected '%.*s'", QGC_STR_ARG(token->text));
}

void qgc_build_too_deep(qgc_builder *b)
{
    b->too_deep = true;
    qgc_build_error(b, b->current, QGC_D_TOO_DEEP, "brackets nest too deep");
}

void qgc_build_parse_failure(qgc_builder *b)
{
    if (!b->failed)
        qgc_build_error(b, QGC_NO_LOC, QGC_D_SYNTAX, "the text could not be parsed");
}

const char *qgc_did_you_mean(qgc_builder *b, qgc_str found, qgc_str (*candidate)(void *, size_t),
                             void *user, size_t num)
{
    return qgc_str_did_you_mean(&b->context->arena, found, candidate, user, num);
}

/* ---- module level ---- */

void qgc_build_weights(qgc_builder *b, const qgc_token *self, const qgc_token *name)
{
    qgc_str text;
    if (b->module->first) {
        qgc_build_error(b, name->loc, QGC_D_SYNTAX, "weights stand before the first function");
        return;
    }
    if (self && !qgc_str_equal(self->text, qgc_str_from("self"))) {
        qgc_build_error(b, self->loc, QGC_D_SYNTAX, "expected a file name or 'self'");
        return;
    }
    if (!qgc_decode_string(&b->context->diag, b->scratch, name->text, name->loc, &text)) {
        b->failed = true;
        return;
    }
    qgc_name interned = qgc_intern(&b->context->names, text);
    qgc_weights_file file = {self ? NULL : interned, self ? interned : NULL, name->loc};
    qgc_vec_push(&b->module->arena, &b->module->weights, file);
}

static qgc_str form_candidate(void *user, size_t i)
{
    (void)user;
    return qgc_str_from(qgc_form_name((qgc_form)i));
}

void qgc_build_form(qgc_builder *b, const qgc_token *name)
{
    if (b->has_form)
        qgc_build_error(b, name->loc, QGC_D_REDEFINED, "form is given twice");
    b->has_form = true;
    if (!qgc_form_from_name(name->text, &b->module->form))
        qgc_build_error(b, name->loc, QGC_D_SYNTAX, "unknown form '%.*s'%s",
                        QGC_STR_ARG(name->text),
                        qgc_did_you_mean(b, name->text, form_candidate, NULL, QGC_NUM_FORMS));
}

void qgc_build_provenance(qgc_builder *b, const qgc_ast *map)
{
    qgc_record record = {.loc = map->loc};
    if (b->module->provenance.size) {
        qgc_build_error(b, map->loc, QGC_D_REDEFINED, "provenance is given twice");
        return;
    }
    if (qgc_build_free_attr(b, (qgc_str){"", 0}, map, &record.fields))
        qgc_vec_push(&b->module->arena, &b->module->provenance, record);
}

void qgc_build_stats(qgc_builder *b, const qgc_token *func, const qgc_token *value,
                     const qgc_token *word, const qgc_token *site, const qgc_ast *map)
{
    qgc_record record = {.loc = value->loc};
    if (word && !qgc_str_equal(word->text, qgc_str_from("at"))) {
        qgc_build_error(b, word->loc, QGC_D_SYNTAX, "expected 'at'");
        return;
    }
    if (qgc_build_name(b, func->text, func->loc, &record.func) &&
        qgc_build_name(b, value->text, value->loc, &record.value) &&
        (!site || qgc_build_name(b, site->text, site->loc, &record.site)) &&
        qgc_build_free_attr(b, (qgc_str){"", 0}, map, &record.fields))
        qgc_vec_push(&b->module->arena, &b->module->stats, record);
    qgc_arena_reset(b->scratch, b->mark);
}

/* ---- functions ---- */

qgc_token qgc_build_target(qgc_builder *b, const qgc_token *word, const qgc_token *name)
{
    if (!qgc_str_equal(word->text, qgc_str_from("target")))
        qgc_build_error(b, word->loc, QGC_D_SYNTAX, "expected 'target(\"name\")' or '{'");
    return *name;
}

static bool build_param(qgc_builder *b, qgc_func *func, uint32_t index, const qgc_ast *pair)
{
    qgc_name name;
    const qgc_type *type;
    if (!qgc_build_name(b, pair->text, pair->loc, &name))
        return false;
    if (!qgc_build_type(b, pair->first, &type))
        type = NULL; /* uses of it stay silent */
    if (qgc_func_find_value(func, name)) {
        qgc_build_error(b, pair->loc, QGC_D_REDEFINED, "%%%s is defined twice", name->data);
        return false;
    }
    qgc_func_set_param(func, index, name, type, pair->loc);
    return true;
}

static qgc_name func_name(qgc_builder *b, const qgc_token *token)
{
    qgc_name name;
    if (!qgc_build_name(b, token->text, token->loc, &name))
        return NULL;
    qgc_func *old = qgc_module_find_func(b->module, name);
    if (!old)
        return name;
    qgc_build_error(b, token->loc, QGC_D_REDEFINED, "function @%s is defined twice", name->data);
    qgc_note(&b->context->diag, old->loc, "first defined here");
    /* The body is still checked, under a name that no text can have. */
    return qgc_intern(&b->context->names,
                      qgc_str_from(qgc_arena_printf(b->scratch, "%s duplicate %u", name->data,
                                                    token->loc.offset)));
}

static void open_weights(qgc_builder *b)
{
    if (b->opened_weights || !b->options || !b->options->open_weights || !b->module->weights.size)
        return;
    b->opened_weights = true;
    if (b->options->open_weights(b->options->user, b->module) != QGC_OK)
        b->failed = true;
}

void qgc_build_func(qgc_builder *b, const qgc_token *name_token, qgc_ast_list params,
                    qgc_ast_list results, const qgc_token *target)
{
    qgc_name name = func_name(b, name_token);
    open_weights(b);
    qgc_func *func = qgc_func_create(b->module, name, params.num, results.num, name_token->loc);
    b->func = func;
    uint32_t index = 0;
    for (const qgc_ast *param = params.first; param; param = param->next)
        build_param(b, func, index++, param);
    index = 0;
    for (const qgc_ast *result = results.first; result; result = result->next)
        qgc_build_type(b, result, &func->result_types[index++]);
    qgc_str text;
    if (target->kind &&
        qgc_decode_string(&b->context->diag, b->scratch, target->text, target->loc, &text))
        func->target = qgc_intern(&b->context->names, text);
    qgc_arena_reset(b->scratch, b->mark);
}

void qgc_build_unclosed_func(qgc_builder *b, const qgc_token *next)
{
    qgc_build_error(b, next->loc, QGC_D_SYNTAX, "expected '}' before this: @%s is not closed",
                    b->func->name ? b->func->name->data : "?");
    qgc_note(&b->context->diag, b->func->loc, "the function begins here");
}

void qgc_build_func_end(qgc_builder *b)
{
    b->func = NULL;
}

/* ---- statements ---- */

typedef struct statement {
    const qgc_op_info *op;
    qgc_opcode opcode;
    const qgc_token *token;
    QGC_VEC(qgc_value *) operands; /* flat */
    qgc_attr *attrs;               /* parallel to the row */
    const qgc_ast *literal;        /* TENSOR head, read once the type is known */
    bool failed;                   /* something was reported */
    bool poisoned;                 /* an operand has no type because of an earlier error */
} statement;

static qgc_str op_candidate(void *user, size_t i)
{
    (void)user;
    return qgc_str_from(qgc_op((qgc_opcode)i)->mnemonic);
}

static bool find_op(qgc_builder *b, const qgc_token *token, statement *s)
{
    qgc_name name = qgc_intern_find(&b->context->names, token->text);
    intptr_t entry = name ? (intptr_t)qgc_map_get(&b->context->ops, name) : 0;
    s->token = token;
    if (!entry) {
        qgc_build_error(b, token->loc, QGC_D_UNKNOWN_OP, "unknown op '%.*s'%s",
                        QGC_STR_ARG(token->text),
                        qgc_did_you_mean(b, token->text, op_candidate, NULL, QGC_NUM_OPS));
        return false;
    }
    s->opcode = (qgc_opcode)(entry - 1);
    s->op = qgc_op(s->opcode);
    s->attrs = QGC_NEW_ARRAY(b->scratch, qgc_attr, qgc_op_num_attrs(s->op));
    return true;
}

typedef struct candidates {
    qgc_func *func;
    QGC_VEC(qgc_str) names;
} candidates;

static qgc_str value_candidate(void *user, size_t i)
{
    return ((candidates *)user)->names.data[i];
}

/* Costly, but only on the way to an error. */
static const char *similar_value(qgc_builder *b, qgc_str found)
{
    candidates c = {.func = b->func};
    for (uint32_t i = 0; i < b->func->num_params; i++)
        if (b->func->params[i].name)
            qgc_vec_push(b->scratch, &c.names, qgc_name_str(b->func->params[i].name));
    QGC_EACH_NODE (node, b->func)
        for (uint32_t i = 0; i < node->num_results; i++)
            if (node->results[i].name)
                qgc_vec_push(b->scratch, &c.names, qgc_name_str(node->results[i].name));
    return qgc_did_you_mean(b, found, value_candidate, &c, c.names.size);
}

static void add_value(qgc_builder *b, statement *s, const qgc_ast *ast)
{
    qgc_name name;
    qgc_value *value = NULL;
    if (ast->kind == QGC_AST_ABSENT) {
        qgc_vec_push(b->scratch, &s->operands, NULL);
        return;
    }
    if (ast->kind != QGC_AST_VALUE) {
        qgc_build_error(b, ast->loc, QGC_D_BAD_OPERANDS, "%s: expected a value here",
                        s->op->mnemonic);
        s->failed = true;
        return;
    }
    if (!qgc_build_name(b, ast->text, ast->loc, &name)) {
        s->failed = true;
        return;
    }
    value = qgc_func_find_value(b->func, name);
    if (!value) {
        qgc_build_error(b, ast->loc, QGC_D_UNDEFINED, "%%%s is not defined before this use%s",
                        name->data, similar_value(b, qgc_name_str(name)));
        s->failed = true;
        return;
    }
    s->poisoned |= value->type == NULL;
    qgc_vec_push(b->scratch, &s->operands, value);
}

static const qgc_ast *take_heads(qgc_builder *b, statement *s, const qgc_ast *arg)
{
    for (uint32_t i = 0; i < qgc_op_num_attrs(s->op); i++) {
        const qgc_attr_spec *row = &s->op->attrs[i];
        if (!row->positional)
            continue;
        if (!arg) {
            qgc_build_error(b, s->token->loc, QGC_D_BAD_ATTR, "%s needs a %s here: %s",
                            s->op->mnemonic, qgc_attr_kind_name(row->kind), row->summary);
            s->failed = true;
            return NULL;
        }
        if (row->kind == QGC_ATTR_TENSOR)
            s->literal = arg;
        else if (!qgc_build_attr(b, row, arg, &s->attrs[i]))
            s->failed = true;
        arg = arg->next;
    }
    return arg;
}

static bool takes_bare_group(const qgc_op_info *op)
{
    return op->operands[0].arity == QGC_VARIADIC &&
           op->traits & (QGC_TRAIT_CALL | QGC_TRAIT_TERMINATOR);
}

static void take_operands(qgc_builder *b, statement *s, const qgc_ast *arg)
{
    uint32_t rows = qgc_op_num_operands(s->op), row = 0;
    bool bare = takes_bare_group(s->op);
    for (; arg; arg = arg->next) {
        if (bare) {
            add_value(b, s, arg);
            continue;
        }
        bool variadic = row < rows && s->op->operands[row].arity == QGC_VARIADIC;
        if (row >= rows || variadic != (arg->kind == QGC_AST_LIST)) {
            qgc_build_error(b, arg->loc, QGC_D_BAD_OPERANDS,
                            row >= rows ? "%s: too many operands%s%s"
                                        : "%s: operand %s: expected %s",
                            s->op->mnemonic, row < rows ? s->op->operands[row].name : "",
                            row >= rows ? ""
                            : variadic  ? "a list [%a, %b]"
                                        : "a value");
            s->failed = true;
            return;
        }
        if (variadic)
            for (const qgc_ast *item = arg->first; item; item = item->next)
                add_value(b, s, item);
        else
            add_value(b, s, arg);
        row++;
    }
    if (bare || s->failed)
        return;
    for (; row < rows; row++) {
        if (s->op->operands[row].arity == QGC_OPTIONAL) {
            qgc_vec_push(b->scratch, &s->operands, NULL);
            continue;
        }
        qgc_build_error(b, s->token->loc, QGC_D_BAD_OPERANDS, "%s: operand %s is missing",
                        s->op->mnemonic, s->op->operands[row].name);
        s->failed = true;
        return;
    }
}

static qgc_str attr_candidate(void *user, size_t i)
{
    return qgc_str_from(((const qgc_op_info *)user)->attrs[i].name);
}

static bool is_discardable(qgc_str name)
{
    return memchr(name.data, '.', name.size) || qgc_str_equal(name, qgc_str_from("origin"));
}

static void take_attr(qgc_builder *b, statement *s, const qgc_ast *pair)
{
    int index = qgc_op_attr_index(s->op, pair->text);
    if (index < 0 || s->op->attrs[index].positional) {
        qgc_build_error(b, pair->loc, QGC_D_UNKNOWN_ATTR, "%s has no attribute '%.*s'%s",
                        s->op->mnemonic, QGC_STR_ARG(pair->text),
                        qgc_did_you_mean(b, pair->text, attr_candidate, (void *)s->op,
                                         qgc_op_num_attrs(s->op)));
        s->failed = true;
        return;
    }
    if (s->attrs[index].kind != QGC_ATTR_NONE) {
        qgc_build_error(b, pair->loc, QGC_D_BAD_ATTR, "%s is given twice",
                        s->op->attrs[index].name);
        s->failed = true;
        return;
    }
    if (!qgc_build_attr(b, &s->op->attrs[index], pair->first, &s->attrs[index]))
        s->failed = true;
}

static void take_attrs(qgc_builder *b, statement *s, const qgc_ast *map)
{
    for (const qgc_ast *pair = map ? map->first : NULL; pair; pair = pair->next)
        if (!is_discardable(pair->text))
            take_attr(b, s, pair);
    for (uint32_t i = 0; i < qgc_op_num_attrs(s->op) && !s->failed; i++) {
        const qgc_attr_spec *row = &s->op->attrs[i];
        if (!row->required || row->positional || s->attrs[i].kind != QGC_ATTR_NONE)
            continue;
        qgc_build_error(b, s->token->loc, QGC_D_BAD_ATTR, "%s: attribute %s is missing",
                        s->op->mnemonic, row->name);
        s->failed = true;
    }
}

static void set_extra(qgc_builder *b, qgc_node *node, const qgc_ast *map)
{
    for (const qgc_ast *pair = map ? map->first : NULL; pair; pair = pair->next) {
        qgc_attr value;
        if (!is_discardable(pair->text) || !qgc_build_free_attr(b, pair->text, pair->first, &value))
            continue;
        qgc_name name = qgc_intern(&b->context->names, pair->text);
        if (qgc_node_extra(node, name))
            qgc_build_error(b, pair->loc, QGC_D_BAD_ATTR, "%s is given twice", name->data);
        qgc_node_set_extra(node, name, value);
    }
}

/* Names the results, also of a failed statement: then they have no type. */
static void name_results(qgc_builder *b, qgc_value *values, qgc_ast_list results)
{
    uint32_t index = 0;
    for (const qgc_ast *result = results.first; result; result = result->next, index++) {
        qgc_name name;
        values[index].loc = result->loc;
        if (!qgc_build_name(b, result->text, result->loc, &name))
            continue;
        qgc_value *old = qgc_func_find_value(b->func, name);
        if (old) {
            qgc_build_error(b, result->loc, QGC_D_REDEFINED, "%%%s is defined twice", name->data);
            qgc_note(&b->context->diag, old->loc, "first defined here");
            continue;
        }
        qgc_value_set_name(b->func, &values[index], name);
    }
}

static void poison_results(qgc_builder *b, qgc_ast_list results)
{
    name_results(b, QGC_NEW_ARRAY(&b->module->arena, qgc_value, results.num), results);
}

void qgc_build_failed_statement(qgc_builder *b, qgc_ast_list results)
{
    poison_results(b, results);
    qgc_arena_reset(b->scratch, b->mark);
}

/* The written types, or NULL where none are written. */
static bool build_types(qgc_builder *b, statement *s, qgc_ast_list types, uint32_t num,
                        const qgc_type **out)
{
    if (types.num && types.num != num) {
        qgc_build_error(b, types.first->loc, QGC_D_BAD_RESULTS,
                        "%s: %u result types for %u results", s->op->mnemonic, types.num, num);
        return false;
    }
    uint32_t index = 0;
    for (const qgc_ast *type = types.first; type; type = type->next)
        if (!qgc_build_type(b, type, &out[index++]))
            return false;
    return true;
}

static bool check_result_count(qgc_builder *b, statement *s, uint32_t num)
{
    uint32_t rows = qgc_op_num_results(s->op);
    if (rows && s->op->results[rows - 1].variadic ? num + 1 >= rows : num == rows)
        return true;
    qgc_build_error(b, s->token->loc, QGC_D_BAD_RESULTS, "%s has %u results, found %u names",
                    s->op->mnemonic, rows, num);
    return false;
}

static bool bind_weight(qgc_builder *b, qgc_node *node)
{
    qgc_module *module = b->module;
    if (!module->weights.size || !module->find_weight || node->attrs[0].kind != QGC_ATTR_STRING)
        return true;
    size_t file;
    qgc_name name = node->attrs[0].name;
    node->constant = module->find_weight(module->weights_user, qgc_name_str(name), &file);
    if (!node->constant)
        qgc_build_error(b, node->loc, QGC_D_UNDEFINED, "no weight \"%s\" in the weights files",
                        name->data);
    return node->constant != NULL;
}

static bool bind_literal(qgc_builder *b, statement *s, qgc_node *node, const qgc_type *type)
{
    if (!type) {
        qgc_build_error(b, node->loc, QGC_D_NO_TYPE, "%s needs its type written", s->op->mnemonic);
        return false;
    }
    qgc_attr *attr = &node->attrs[0];
    attr->kind = QGC_ATTR_TENSOR;
    if (!qgc_build_literal(b, s->literal, type, &attr->tensor))
        return attr->kind = QGC_ATTR_NONE, false;
    node->constant = attr->tensor;
    return true;
}

static bool bind_constant(qgc_builder *b, statement *s, qgc_node *node, const qgc_type *type)
{
    if (node->op == QGC_OP_WEIGHT)
        return bind_weight(b, node);
    return !s->literal || bind_literal(b, s, node, type);
}

static void finish_node(qgc_builder *b, statement *s, qgc_ast_list results, const qgc_ast *attrs,
                        const qgc_type **types)
{
    qgc_node *node = qgc_node_create(b->func, s->opcode, (uint32_t)s->operands.size,
                                     s->operands.data, results.num, NULL, s->token->loc);
    memcpy(node->attrs, s->attrs, qgc_op_num_attrs(s->op) * sizeof *s->attrs);
    set_extra(b, node, attrs);
    name_results(b, node->results, results);
    for (uint32_t i = 0; i < results.num; i++)
        node->results[i].type = types[i];
    bool bound = bind_constant(b, s, node, results.num ? types[0] : NULL);
    if (!results.num || types[0] || s->poisoned || !bound)
        return;
    if (qgc_node_infer(node, types, false) != QGC_OK)
        b->failed = true;
    for (uint32_t i = 0; i < results.num; i++)
        node->results[i].type = types[i];
}

void qgc_build_statement(qgc_builder *b, qgc_ast_list results, const qgc_token *op,
                         qgc_ast_list args, const qgc_ast *attrs, qgc_ast_list types,
                         const qgc_token *scope)
{
    statement s = {0};
    if (!find_op(b, op, &s)) {
        qgc_build_failed_statement(b, results);
        return;
    }
    take_operands(b, &s, take_heads(b, &s, args.first));
    take_attrs(b, &s, attrs);
    const qgc_type **written = QGC_NEW_ARRAY(b->scratch, const qgc_type *, results.num);
    if (!check_result_count(b, &s, results.num) || !build_types(b, &s, types, results.num, written))
        s.failed = true;
    if (s.failed)
        poison_results(b, results);
    else
        finish_node(b, &s, results, attrs, written);
    qgc_name name;
    if (scope->kind && !s.failed && qgc_build_name(b, scope->text, scope->loc, &name))
        b->func->last->scope = name;
    qgc_arena_reset(b->scratch, b->mark);
}

/* Loading rules: presets are spelled out, every word is checked. */
#include "passes/rules.h"

#include "base/number.h"
#include "frontend/lex.h"
#include "frontend/parse.h"
#include "ir/quant_spec.h"
#include "runtime/file.h"
#include "runtime/hash.h"

#include <string.h>

typedef struct loader {
    const qgc_pass_env *env;
    qgc_rule_list *list;
    const char *directory; /* of the rules file, with its '/', or "" */
    const char *preset;    /* being spelled out, or NULL */
} loader;

static const struct {
    const char *name, *text;
} presets[] = {
#define QGC_PRESET(name, summary, text) {name, text},
#include "passes/presets.def"
};

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

static bool is_word(const qgc_ast *ast, const char *word)
{
    return ast && ast->kind == QGC_AST_IDENT && qgc_str_equal(ast->text, qgc_str_from(word));
}

/* ---- specs ---- */

/* The tree as text without blanks. */
static qgc_str plain_text(loader *l, const qgc_ast *ast)
{
    qgc_text text = {.arena = l->env->scratch};
    qgc_ast_print(&text, ast);
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] != ' ')
            text.data[size++] = text.data[i];
    return (qgc_str){text.data, size};
}

static bool read_number(loader *l, const qgc_ast *ast, float *scale, int64_t *zero_point)
{
    qgc_str text = plain_text(l, ast);
    if (scale ? qgc_parse_f32(text, scale) : qgc_parse_i64(text, zero_point))
        return true;
    return bad(l, ast->loc, "expected a number, found '%.*s'", QGC_STR_ARG(text));
}

static bool read_fixed(loader *l, const qgc_ast *ast, qgc_spec *out)
{
    out->kind = QGC_SPEC_FIXED;
    if (ast->num != 2 && ast->num != 3)
        return bad(l, ast->loc,
                   "expected fixed(scale, zero_point) or fixed(scale, zero_point, type)");
    const qgc_ast *zero_point = ast->first->next, *dtype = zero_point->next;
    out->has_dtype = dtype != NULL;
    if (dtype && !qgc_dtype_from_name(dtype->text, &out->dtype))
        return bad(l, dtype->loc, "unknown element type '%.*s'", QGC_STR_ARG(dtype->text));
    return read_number(l, ast->first, &out->scale, NULL) &&
           read_number(l, zero_point, NULL, &out->zero_point);
}

static bool read_spec(loader *l, const qgc_ast *ast, qgc_spec *out)
{
    *out = (qgc_spec){.kind = QGC_SPEC_FLOAT};
    if (is_word(ast, "float"))
        return true;
    if (is_word(ast, "derive"))
        return out->kind = QGC_SPEC_DERIVE, true;
    if (ast->kind == QGC_AST_CALL && qgc_str_equal(ast->text, qgc_str_from("fixed")))
        return read_fixed(l, ast, out);
    qgc_str text = plain_text(l, ast);
    bool is_own = ast->kind == QGC_AST_IDENT || ast->kind == QGC_AST_INDEX;
    if (is_own && qgc_spec_read(text, out))
        return true;
    return bad(
        l, ast->loc,
        "'%.*s' is no spec: expected a type with words (u8.affine.hist), fixed(...) or float",
        QGC_STR_ARG(text));
}

bool qgc_rule_read_spec(const qgc_pass_env *env, const qgc_ast *ast, qgc_spec *out)
{
    loader l = {.env = env};
    return read_spec(&l, ast, out);
}

/* ---- actions ---- */

static bool is_operand_name(qgc_str name)
{
    for (int op = 0; op < QGC_NUM_OPS; op++)
        for (uint32_t i = 0; i < qgc_op_num_operands(qgc_op((qgc_opcode)op)); i++)
            if (qgc_str_equal(name, qgc_str_from(qgc_op((qgc_opcode)op)->operands[i].name)))
                return true;
    return false;
}

static bool read_port(loader *l, const qgc_ast *ast, qgc_rule_action *out)
{
    static const char *const ports[] = {[QGC_PORT_ACT] = "act",
                                        [QGC_PORT_IN] = "in",
                                        [QGC_PORT_OUT] = "out",
                                        [QGC_PORT_WEIGHT] = "weight",
                                        [QGC_PORT_BIAS] = "bias"};
    for (int i = QGC_PORT_ACT; i <= QGC_PORT_BIAS; i++)
        if (qgc_str_equal(ast->text, qgc_str_from(ports[i])))
            return out->port = (qgc_rule_port)i, true;
    out->port = QGC_PORT_OPERAND;
    out->operand = ast->text;
    if (is_operand_name(ast->text))
        return true;
    return bad(l, ast->loc,
               "unknown port '%.*s' (known: act, in, out, weight, bias, and names of operands)",
               QGC_STR_ARG(ast->text));
}

static bool read_action(loader *l, const qgc_ast *ast, qgc_rule_action *out)
{
    *out = (qgc_rule_action){.port = QGC_PORT_ANY, .num_specs = 1};
    const qgc_ast *spec = ast;
    if (ast->kind == QGC_AST_PAIR) {
        if (!read_port(l, ast, out))
            return false;
        spec = ast->first;
        out->num_specs = ast->num;
    }
    if (out->num_specs > 1 && out->port != QGC_PORT_IN)
        return bad(l, ast->loc, "a list of specs belongs to `in`");
    qgc_spec *specs = QGC_NEW_ARRAY(l->env->scratch, qgc_spec, out->num_specs);
    out->specs = specs;
    bool is_act =
        out->port == QGC_PORT_ACT || out->port == QGC_PORT_IN || out->port == QGC_PORT_OUT;
    for (uint32_t i = 0; i < out->num_specs; i++, spec = spec->next) {
        if (!read_spec(l, spec, &specs[i]))
            return false;
        if (is_act && specs[i].per_channel)
            return bad(l, spec->loc, "activations have no range per channel");
        bool derives = specs[i].kind == QGC_SPEC_DERIVE, is_bias = out->port == QGC_PORT_BIAS;
        if (is_bias ? !derives && specs[i].kind != QGC_SPEC_FLOAT : derives)
            return bad(l, spec->loc, "a bias is `derive` or `float`, and only a bias is derived");
    }
    return true;
}

static bool read_actions(loader *l, const qgc_rule *rule, qgc_rule_row *row)
{
    if (!rule->actions.num)
        return bad(l, rule->loc, "expected `=>` and what to do");
    row->actions = QGC_NEW_ARRAY(l->env->scratch, qgc_rule_action, rule->actions.num);
    for (const qgc_ast *ast = rule->actions.first; ast; ast = ast->next)
        if (!read_action(l, ast, &row->actions[row->num_actions++]))
            return false;
    return true;
}

/* ---- selectors ---- */

static bool read_string(loader *l, const qgc_ast *ast, qgc_loc after, qgc_str *out)
{
    if (!ast || ast->kind != QGC_AST_STRING)
        return bad(l, ast ? ast->loc : after, "expected a string in quotes");
    return qgc_decode_string(&l->env->context->diag, l->env->scratch, ast->text, ast->loc, out);
}

static bool at_end(loader *l, const qgc_ast *ast)
{
    return !ast || bad(l, ast->loc, "unexpected '%.*s'", QGC_STR_ARG(ast->text));
}

static bool read_op(loader *l, const qgc_ast *word, qgc_rule_row *row)
{
    if (!word || word->kind != QGC_AST_IDENT)
        return bad(l, row->loc, "expected the name of an op after `op`");
    if (!qgc_op_find(word->text, &row->op))
        return bad(l, word->loc, "unknown op '%.*s'", QGC_STR_ARG(word->text));
    const qgc_ast *under = word->next;
    if (!is_word(under, "under"))
        return at_end(l, under);
    return read_string(l, under->next, under->loc, &row->under) && at_end(l, under->next->next);
}

/* ---- names of values: plain, "@f.%/a b", or as graphs and reports print them, `@f.%"/a b"` ----
 */

/* Length of the quoted text that |text| begins with, quotes included; 0 where there is none. */
static size_t quoted_size(qgc_str text)
{
    if (!text.size || text.data[0] != '"')
        return 0;
    for (size_t i = 1; i < text.size; i++) {
        if (text.data[i] == '"')
            return i + 1;
        i += text.data[i] == '\\';
    }
    return 0;
}

/* Appends |text| up to |size|, without quotes. */
static bool put_plain(loader *l, qgc_text *out, qgc_str text, size_t size, qgc_loc loc)
{
    qgc_str part = {text.data, size}, plain;
    if (!quoted_size(part)) {
        qgc_text_put(out, part);
        return true;
    }
    if (!qgc_decode_string(&l->env->context->diag, l->env->scratch, part, loc, &plain))
        return false;
    qgc_text_put(out, plain);
    return true;
}

/* Where the function's name ends, behind '@'. */
static size_t func_size(qgc_str text)
{
    size_t size = quoted_size(text);
    for (; size + 1 < text.size; size++)
        if (text.data[size] == '.' && text.data[size + 1] == '%')
            return size;
    return 0;
}

/* Without quotes: what rules are matched by. */
static bool plain_name(loader *l, qgc_str name, qgc_loc loc, qgc_str *out)
{
    qgc_text text = {.arena = l->env->scratch};
    qgc_str rest = name;
    *out = name;
    if (!memchr(name.data, '"', name.size))
        return true;
    if (rest.data[0] == '@') {
        rest = (qgc_str){rest.data + 1, rest.size - 1};
        size_t size = func_size(rest);
        qgc_text_putc(&text, '@');
        if (!put_plain(l, &text, rest, size, loc))
            return false;
        qgc_text_puts(&text, size ? "." : "");
        size += size != 0;
        rest = (qgc_str){rest.data + size, rest.size - size};
    }
    if (rest.size && rest.data[0] == '%') {
        qgc_text_putc(&text, '%');
        rest = (qgc_str){rest.data + 1, rest.size - 1};
    }
    if (!put_plain(l, &text, rest, rest.size, loc))
        return false;
    *out = qgc_text_str(&text);
    return true;
}

bool qgc_rule_split_name(const qgc_pass_env *env, qgc_str name, qgc_loc loc, qgc_str *func,
                         qgc_str *value)
{
    loader l = {.env = env};
    qgc_str rest = {name.data + 1, name.size ? name.size - 1 : 0};
    size_t size = name.size && name.data[0] == '@' ? func_size(rest) : 0;
    qgc_text texts[2] = {{.arena = env->scratch}, {.arena = env->scratch}};
    if (!size || size + 2 >= rest.size)
        return bad(&l, loc, "expected the name of a value, \"@f.%%v\"");
    qgc_str end = {rest.data + size + 2, rest.size - size - 2}; /* behind ".%" */
    if (!put_plain(&l, &texts[0], rest, size, loc) || !put_plain(&l, &texts[1], end, end.size, loc))
        return false;
    *func = qgc_text_str(&texts[0]);
    *value = qgc_text_str(&texts[1]);
    return true;
}

/* Length of the first word: up to a blank or comma that is not in quotes. */
static size_t word_size(qgc_str line)
{
    size_t size = 0;
    while (size < line.size && !strchr(" \t\r,", line.data[size])) {
        size_t quoted = quoted_size((qgc_str){line.data + size, line.size - size});
        size += quoted ? quoted : 1;
    }
    return size;
}

/* What a rules file says of another one is not all that it says. */
static const char *hash_of(const loader *l, const qgc_file *file)
{
    return qgc_hash_text(l->env->scratch, qgc_hash(0, file->data, file->size));
}

static bool hash_quantizer(loader *l, const char *path, qgc_rule_row *row)
{
    qgc_file file;
    if (qgc_file_open(&l->env->context->diag, path, &file) != QGC_OK)
        return false;
    row->hash = hash_of(l, &file);
    qgc_file_close(&file);
    return true;
}

/* Names of a table file: the first word of each line; '#' begins a comment. */
static bool read_table_file(loader *l, qgc_str path, qgc_loc loc, qgc_rule_row *row, double share,
                            size_t most)
{
    qgc_file file;
    const char *full = qgc_arena_printf(l->env->scratch, "%s%.*s", l->directory, QGC_STR_ARG(path));
    if (qgc_file_open(&l->env->context->diag, full, &file) != QGC_OK) {
        qgc_note(&l->env->context->diag, loc, "named here");
        return false;
    }
    QGC_VEC(qgc_str) names = {0};
    const char *at = (const char *)file.data, *end = at + file.size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line = newline ? (size_t)(newline - at) : (size_t)(end - at);
        qgc_str name = {at, word_size((qgc_str){at, line})};
        if (name.size && at[0] != '#') {
            if (!plain_name(l, name, loc, &name)) {
                qgc_file_close(&file);
                return false;
            }
            qgc_vec_push(l->env->scratch, &names, name);
        }
        at += line + 1;
    }
    size_t num = share >= 0 ? (size_t)((double)names.size * share + 0.5) : most;
    row->values = QGC_NEW(l->env->scratch, qgc_interner);
    row->values->arena = l->env->scratch;
    for (size_t i = 0; i < names.size && i < num; i++)
        qgc_intern(row->values, names.data[i]);
    row->hash = hash_of(l, &file);
    qgc_file_close(&file);
    return true;
}

static bool read_table(loader *l, const qgc_ast *word, qgc_rule_row *row)
{
    qgc_str path;
    if (!read_string(l, word, row->loc, &path))
        return false;
    const qgc_ast *how = word->next, *amount = how ? how->next : NULL;
    int64_t most = 0;
    float share = -1;
    if (is_word(how, "top") && amount && qgc_parse_i64(amount->text, &most) && most > 0)
        return at_end(l, amount->next) &&
               read_table_file(l, path, word->loc, row, -1, (size_t)most);
    if (is_word(how, "ratio") && amount && qgc_parse_f32(amount->text, &share) && share >= 0 &&
        share <= 1)
        return at_end(l, amount->next) &&
               read_table_file(l, path, word->loc, row, (double)share, 0);
    return bad(l, how ? how->loc : word->loc, "expected `top N` or `ratio R` with R in [0, 1]");
}

/* `op MNEMONIC` and `under "scope"`, each once at most. */
static bool read_limits(loader *l, const qgc_ast *next, qgc_rule_row *row)
{
    if (is_word(next, "op")) {
        row->has_op = next->next && qgc_op_find(next->next->text, &row->op);
        if (!row->has_op)
            return bad(l, next->loc, "expected the name of an op after `op`");
        next = next->next->next;
    }
    if (is_word(next, "under")) {
        if (!read_string(l, next->next, next->loc, &row->under))
            return false;
        next = next->next->next;
    }
    return at_end(l, next);
}

static bool read_target(loader *l, const qgc_ast *word, qgc_rule_row *row)
{
    return read_string(l, word, row->loc, &row->text) && read_limits(l, word->next, row);
}

/* NAME or "file", then the limits. */
static bool read_quantizer(loader *l, const qgc_ast *word, qgc_rule_row *row)
{
    bool is_file = word && word->kind == QGC_AST_STRING;
    qgc_str name = word ? word->text : (qgc_str){0};
    if (!word || (!is_file && word->kind != QGC_AST_IDENT))
        return bad(l, row->loc, "expected the name of a quantizer, or a file in quotes");
    if (is_file && !read_string(l, word, word->loc, &name))
        return false;
    bool is_relative = is_file && name.size && name.data[0] != '/';
    const char *path = qgc_arena_printf(l->env->scratch, "%s%.*s", is_relative ? l->directory : "",
                                        QGC_STR_ARG(name));
    row->quantizer = qgc_quantizer_load(l->env, path, is_file, word->loc);
    l->list->has_quantizer = true;
    return row->quantizer && (!is_file || hash_quantizer(l, path, row)) &&
           read_limits(l, word->next, row);
}

/* `quantizer NAME => act i8`: in place of the table's spec of that name. */
static bool override_specs(loader *l, const qgc_rule *rule, qgc_rule_row *row)
{
    for (uint32_t i = 0; i < row->num_actions; i++) {
        const qgc_rule_action *action = &row->actions[i];
        bool is_weight = action->port == QGC_PORT_WEIGHT;
        qgc_spec *spec =
            qgc_quantizer_spec(row->quantizer, qgc_str_from(is_weight ? "weight" : "act"));
        if ((!is_weight && action->port != QGC_PORT_ACT) || !spec)
            return bad(l, rule->loc,
                       "a quantizer takes `act` and `weight`, where it has specs of these names");
        *spec = qgc_rule_merge(spec, &action->specs[0], is_weight);
        const char *fault = spec->kind == QGC_SPEC_OWN ? qgc_spec_fault(spec) : NULL;
        if (fault)
            return bad(l, rule->loc, "%s", fault);
    }
    return true;
}

static bool read_selector(loader *l, const qgc_ast *word, qgc_rule_row *row)
{
    static const char *const names[] = {"all",   "op",        "name",  "value",
                                        "table", "quantizer", "target"};
    int select = 0;
    while (select <= QGC_SELECT_TARGET && !is_word(word, names[select]))
        select++;
    row->select = (qgc_rule_select)select;
    switch (row->select) {
    case QGC_SELECT_ALL:
        return at_end(l, word->next);
    case QGC_SELECT_OP:
        return read_op(l, word->next, row);
    case QGC_SELECT_NAME:
        return read_string(l, word->next, word->loc, &row->text) && at_end(l, word->next->next);
    case QGC_SELECT_VALUE:
        return read_string(l, word->next, word->loc, &row->text) &&
               plain_name(l, row->text, word->next->loc, &row->text) && at_end(l, word->next->next);
    case QGC_SELECT_TABLE:
        return read_table(l, word->next, row);
    case QGC_SELECT_QUANTIZER:
        return read_quantizer(l, word->next, row);
    case QGC_SELECT_TARGET:
        return read_target(l, word->next, row);
    case QGC_SELECT_PORT: /* read before */
        break;
    }
    return bad(l, word->loc,
               "'%.*s': expected preset, quantizer, target, all, op, name, value or "
               "table",
               QGC_STR_ARG(word->text));
}

/* ---- files ---- */

static bool load_source(loader *l, uint32_t source);

enum { NUM_PRESETS = sizeof presets / sizeof *presets };

static qgc_str preset_name(void *user, size_t index)
{
    (void)user;
    return qgc_str_from(presets[index].name);
}

static bool unknown_preset(loader *l, qgc_str name, qgc_loc loc)
{
    qgc_text known = {.arena = l->env->scratch};
    for (size_t i = 0; i < NUM_PRESETS; i++)
        qgc_text_printf(&known, "%s%s", i ? ", " : "", presets[i].name);
    return bad(l, loc, "no preset '%.*s' (known: %s)%s", QGC_STR_ARG(name), known.data,
               qgc_str_did_you_mean(l->env->scratch, name, preset_name, NULL, NUM_PRESETS));
}

static bool load_preset(loader *l, qgc_str name, qgc_loc loc)
{
    if (l->preset)
        return bad(l, loc, "a preset cannot use another");
    for (size_t i = 0; i < NUM_PRESETS; i++) {
        if (!qgc_str_equal(name, qgc_str_from(presets[i].name)))
            continue;
        l->preset = presets[i].name;
        const char *title = qgc_arena_printf(l->env->scratch, "<preset %s>", l->preset);
        uint32_t source =
            qgc_source_add(&l->env->context->sources, title, qgc_str_from(presets[i].text), 1);
        bool loaded = source && load_source(l, source);
        l->preset = NULL;
        return loaded;
    }
    return unknown_preset(l, name, loc);
}

/* `row "all => act u8.affine.hist"`: for what reads the log, none of its own. */
static bool load_line(loader *l, const qgc_rule *rule)
{
    qgc_str text;
    const qgc_ast *word = rule->words.first;
    if (!read_string(l, word->next, rule->loc, &text) || !at_end(l, word->next->next))
        return false;
    if (rule->actions.num)
        return bad(l, rule->loc, "expected `row \"TEXT\"`");
    qgc_vec_push(l->env->scratch, &l->list->lines, qgc_arena_strdup(l->env->scratch, text));
    return l->list->has_ports = true;
}

static void add_row(loader *l, const qgc_rule *rule, qgc_rule_row *row)
{
    qgc_text text = {.arena = l->env->scratch};
    qgc_rule_print(&text, rule);
    if (row->hash)
        qgc_text_printf(&text, " // %s", row->hash);
    row->line = qgc_text_str(&text).data;
    qgc_vec_push(l->env->scratch, &l->list->rows, *row);
}

static bool load_rule(loader *l, const qgc_rule *rule)
{
    const qgc_ast *first = rule->words.first;
    if (is_word(first, "preset")) {
        if (!first->next || first->next->kind != QGC_AST_IDENT || rule->actions.num)
            return bad(l, rule->loc, "expected `preset NAME`");
        return load_preset(l, first->next->text, first->next->loc) && at_end(l, first->next->next);
    }
    qgc_rule_row row = {.loc = rule->loc, .preset = l->preset};
    if (is_word(first, "port")) {
        if (!qgc_rule_read_port(l->env, rule, &row))
            return false;
        add_row(l, rule, &row);
        return l->list->has_ports = true;
    }
    if (is_word(first, "row"))
        return load_line(l, rule);
    if (!read_selector(l, first, &row))
        return false;
    bool is_quantizer = row.select == QGC_SELECT_QUANTIZER;
    bool is_target = row.select == QGC_SELECT_TARGET;
    if (is_target && rule->actions.num)
        return bad(l, rule->loc, "a target row has no `=>`");
    if (!is_target && (!is_quantizer || rule->actions.num) && !read_actions(l, rule, &row))
        return false;
    if (is_quantizer && !override_specs(l, rule, &row))
        return false;
    add_row(l, rule, &row);
    l->list->is_users |= !l->preset;
    return true;
}

/* Goes on after a bad row, so that all are reported. */
static bool load_source(loader *l, uint32_t source)
{
    bool good = true;
    const qgc_rules *rules = qgc_parse_rules(l->env->context, source);
    for (size_t i = 0; rules && i < rules->rules.size; i++)
        good &= load_rule(l, &rules->rules.data[i]);
    return rules && good;
}

static bool load_file(loader *l, const char *path)
{
    qgc_str text;
    if (qgc_read_file(l->env->context, path, &text) != QGC_OK)
        return false;
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) + 1 : 0;
    l->directory = qgc_arena_strdup(l->env->scratch, (qgc_str){path, size});
    uint32_t source = qgc_source_add(&l->env->context->sources, path, text, 1);
    return source ? load_source(l, source) : bad(l, QGC_NO_LOC, "%s: larger than 4 GiB", path);
}

/* Exact rows and others in one file would need an order between them. */
static bool check_log(loader *l)
{
    for (size_t i = 0; l->list->has_ports && i < l->list->rows.size; i++) {
        const qgc_rule_row *row = &l->list->rows.data[i];
        if (row->select != QGC_SELECT_PORT && row->select != QGC_SELECT_TARGET)
            return bad(l, row->loc,
                       "`port` rows are a change log and decide alone: beside them "
                       "only `row` and `target` lines may stand");
    }
    return true;
}

/* A log that was written by hand may leave out what it was made by: its rows are the rules then. */
static qgc_rule_list *finish(loader *l)
{
    for (size_t i = 0, told = l->list->lines.size; !told && i < l->list->rows.size; i++)
        qgc_vec_push(l->env->scratch, &l->list->lines, l->list->rows.data[i].line);
    return l->list;
}

qgc_rule_list *qgc_rule_list_load(const qgc_pass_env *env, const char *path, const char *preset)
{
    loader l = {.env = env, .list = QGC_NEW(env->scratch, qgc_rule_list), .directory = ""};
    bool good = path ? load_file(&l, path) : load_preset(&l, qgc_str_from(preset), QGC_NO_LOC);
    return good && check_log(&l) ? finish(&l) : NULL;
}

qgc_rule_list *qgc_rule_list_from(const qgc_pass_env *env, const char *text)
{
    loader l = {.env = env,
                .list = QGC_NEW(env->scratch, qgc_rule_list),
                .directory = "",
                .preset = "options"};
    uint32_t source = qgc_source_add(&env->context->sources, "<annotate>", qgc_str_from(text), 1);
    return source && load_source(&l, source) ? finish(&l) : NULL;
}

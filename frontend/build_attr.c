/* Trees to attribute values, types, dimensions and specs. */
#include "base/number.h"
#include "frontend/build.h"
#include "ir/quant_spec.h"

#include <string.h>

bool qgc_build_name(qgc_builder *b, qgc_str text, qgc_loc loc, qgc_name *out)
{
    qgc_str name = {text.data + 1, text.size - 1};
    if (name.data[0] == '"' && !qgc_decode_string(&b->context->diag, b->scratch, name, loc, &name))
        return b->failed = true, false;
    if (!name.size)
        return qgc_build_error(b, loc, QGC_D_SYNTAX, "an empty name"), false;
    *out = qgc_intern(&b->context->names, name);
    return true;
}

static bool expected(qgc_builder *b, const qgc_ast *ast, const char *what)
{
    qgc_build_error(b, ast->loc, QGC_D_BAD_ATTR, "expected %s", what);
    return false;
}

bool qgc_build_int(qgc_builder *b, const qgc_ast *ast, int64_t *out)
{
    bool negative = ast->kind == QGC_AST_NEGATE;
    const qgc_ast *digits = negative ? ast->first : ast;
    if (digits->kind != QGC_AST_INT)
        return expected(b, ast, "an integer");
    const char *sign = negative ? "-" : "";
    const char *text = qgc_arena_printf(b->scratch, "%s%.*s", sign, QGC_STR_ARG(digits->text));
    if (qgc_parse_i64(qgc_str_from(text), out))
        return true;
    qgc_build_error(b, ast->loc, QGC_D_BAD_NUMBER, "%s does not fit 64 bits", text);
    return false;
}

static bool build_f32(qgc_builder *b, const qgc_ast *ast, float *out)
{
    bool negative = ast->kind == QGC_AST_NEGATE;
    const qgc_ast *digits = negative ? ast->first : ast;
    if (digits->kind != QGC_AST_INT && digits->kind != QGC_AST_FLOAT &&
        digits->kind != QGC_AST_IDENT)
        return expected(b, ast, "a number");
    const char *sign = negative ? "-" : "";
    const char *text = qgc_arena_printf(b->scratch, "%s%.*s", sign, QGC_STR_ARG(digits->text));
    if (qgc_parse_f32(qgc_str_from(text), out))
        return true;
    qgc_build_error(b, ast->loc, QGC_D_BAD_NUMBER, "'%s' is not an f32", text);
    return false;
}

static qgc_dim combine(qgc_dims *dims, char op, qgc_dim left, qgc_dim right)
{
    switch (op) {
    case '+':
        return qgc_dim_add(dims, left, right);
    case '-':
        return qgc_dim_sub(dims, left, right);
    case '*':
        return qgc_dim_mul(dims, left, right);
    default:
        return qgc_dim_div(dims, left, right);
    }
}

bool qgc_build_dim(qgc_builder *b, const qgc_ast *ast, qgc_dim *out)
{
    qgc_dims *dims = &b->context->dims;
    qgc_dim left, right;
    int64_t value;
    switch (ast->kind) {
    case QGC_AST_INT:
        if (!qgc_build_int(b, ast, &value))
            return false;
        *out = qgc_dim_number(value);
        return true;
    case QGC_AST_IDENT:
        *out = qgc_dim_symbol(dims, qgc_intern(&b->context->names, ast->text));
        return true;
    case QGC_AST_UNKNOWN:
        *out = qgc_dim_unknown(dims);
        return true;
    case QGC_AST_NEGATE:
        if (!qgc_build_dim(b, ast->first, &right))
            return false;
        *out = qgc_dim_sub(dims, qgc_dim_number(0), right);
        return true;
    case QGC_AST_BINARY:
        if (ast->op == '>')
            break;
        if (!qgc_build_dim(b, ast->first, &left) || !qgc_build_dim(b, ast->first->next, &right))
            return false;
        *out = combine(dims, ast->op, left, right);
        return true;
    default:
        break;
    }
    qgc_build_error(b, ast->loc, QGC_D_BAD_TYPE,
                    "expected a dimension: a number or an expression of symbols");
    return false;
}

static qgc_str dtype_candidate(void *user, size_t i)
{
    (void)user;
    return qgc_str_from(qgc_dtype_name((qgc_dtype)i));
}

static bool build_dtype(qgc_builder *b, qgc_str text, qgc_loc loc, qgc_dtype *out)
{
    if (qgc_dtype_from_name(text, out))
        return true;
    qgc_build_error(b, loc, QGC_D_BAD_TYPE, "unknown element type '%.*s'%s", QGC_STR_ARG(text),
                    qgc_did_you_mean(b, text, dtype_candidate, NULL, QGC_NUM_DTYPES));
    return false;
}

bool qgc_build_type(qgc_builder *b, const qgc_ast *ast, const qgc_type **out)
{
    qgc_dtype dtype;
    qgc_dim dims[QGC_MAX_RANK];
    if (ast->kind != QGC_AST_INDEX) {
        qgc_build_error(b, ast->loc, QGC_D_BAD_TYPE, "expected a type such as f32[2,3]");
        return false;
    }
    if (!build_dtype(b, ast->text, ast->loc, &dtype))
        return false;
    if (ast->num > QGC_MAX_RANK) {
        qgc_build_error(b, ast->loc, QGC_D_BAD_TYPE, "rank %u, at most %d is supported", ast->num,
                        QGC_MAX_RANK);
        return false;
    }
    uint32_t rank = 0;
    for (const qgc_ast *child = ast->first; child; child = child->next, rank++) {
        if (!qgc_build_dim(b, child, &dims[rank]))
            return false;
        if (qgc_dim_is_number(dims[rank]) && dims[rank].value < 0) {
            qgc_build_error(b, child->loc, QGC_D_BAD_TYPE, "negative dimension %lld",
                            (long long)dims[rank].value);
            return false;
        }
    }
    *out = qgc_type_get(&b->context->types, dtype, rank, dims);
    return true;
}

static bool build_own_spec(qgc_builder *b, const qgc_ast *ast, qgc_spec *spec)
{
    qgc_str rest = ast->text;
    if (!build_dtype(b, qgc_spec_next_word(&rest), ast->loc, &spec->dtype))
        return false;
    spec->has_dtype = true;
    while (rest.size) {
        qgc_str word = qgc_spec_next_word(&rest);
        if (qgc_spec_apply_word(spec, word))
            continue;
        qgc_build_error(
            b, ast->loc, QGC_D_BAD_ATTR,
            "'%.*s' in a spec (known: sym affine ch dynamic minmax avg hist, once each)",
            QGC_STR_ARG(word));
        return false;
    }
    if (ast->kind != QGC_AST_INDEX)
        return true;
    spec->has_range = true;
    if (ast->num != 2)
        return expected(b, ast, "[qmin,qmax]");
    return qgc_build_int(b, ast->first, &spec->qmin) &&
           qgc_build_int(b, ast->first->next, &spec->qmax);
}

static bool build_value_name(qgc_builder *b, const qgc_ast *ast, qgc_name *out)
{
    return ast->kind == QGC_AST_VALUE ? qgc_build_name(b, ast->text, ast->loc, out)
                                      : expected(b, ast, "a value name");
}

static bool build_share(qgc_builder *b, const qgc_ast *ast, qgc_spec *spec)
{
    spec->kind = QGC_SPEC_SHARE;
    if (ast->num != 1)
        return expected(b, ast, "share(%v) or share(%v -> %user)");
    const qgc_ast *arg = ast->first;
    if (arg->kind != QGC_AST_BINARY || arg->op != '>')
        return build_value_name(b, arg, &spec->values[0]);
    return build_value_name(b, arg->first, &spec->values[0]) &&
           build_value_name(b, arg->first->next, &spec->values[1]);
}

static bool build_fixed(qgc_builder *b, const qgc_ast *ast, qgc_spec *spec)
{
    spec->kind = QGC_SPEC_FIXED;
    if (ast->num != 2 && ast->num != 3)
        return expected(b, ast, "fixed(scale, zero_point) or fixed(scale, zero_point, type)");
    const qgc_ast *zero_point = ast->first->next, *dtype = zero_point->next;
    spec->has_dtype = dtype != NULL;
    return build_f32(b, ast->first, &spec->scale) &&
           qgc_build_int(b, zero_point, &spec->zero_point) &&
           (!dtype || build_dtype(b, dtype->text, dtype->loc, &spec->dtype));
}

static bool build_derive(qgc_builder *b, const qgc_ast *ast, qgc_spec *spec)
{
    spec->kind = QGC_SPEC_DERIVE;
    if (ast->num != 2)
        return expected(b, ast, "derive(%a, %b)");
    return build_value_name(b, ast->first, &spec->values[0]) &&
           build_value_name(b, ast->first->next, &spec->values[1]);
}

bool qgc_build_spec(qgc_builder *b, const qgc_ast *ast, const qgc_spec **out)
{
    static const struct {
        const char *name;
        bool (*build)(qgc_builder *, const qgc_ast *, qgc_spec *);
    } calls[] = {{"share", build_share}, {"fixed", build_fixed}, {"derive", build_derive}};
    qgc_spec *spec = QGC_NEW(b->module ? &b->module->arena : b->scratch, qgc_spec);
    *out = spec;
    if (ast->kind == QGC_AST_IDENT && qgc_str_equal(ast->text, qgc_str_from("float")))
        return spec->kind = QGC_SPEC_FLOAT, true;
    if (ast->kind == QGC_AST_IDENT || ast->kind == QGC_AST_INDEX)
        return build_own_spec(b, ast, spec);
    if (ast->kind == QGC_AST_CALL)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            if (qgc_str_equal(ast->text, qgc_str_from(calls[i].name)))
                return calls[i].build(b, ast, spec);
    return expected(b, ast,
                    "a spec such as u8.affine.hist, share(%v), fixed(0.5, 0) or derive(%a, %b)");
}

static qgc_arena *attr_arena(qgc_builder *b)
{
    return &b->module->arena;
}

static bool build_ints(qgc_builder *b, const qgc_ast *ast, qgc_attr *out)
{
    if (ast->kind != QGC_AST_LIST)
        return expected(b, ast, "a list of integers");
    int64_t *ints = QGC_NEW_ARRAY(attr_arena(b), int64_t, ast->num);
    *out = (qgc_attr){.kind = QGC_ATTR_INTS, .num = ast->num, .ints = ints};
    for (const qgc_ast *child = ast->first; child; child = child->next)
        if (!qgc_build_int(b, child, ints++))
            return false;
    return true;
}

static bool build_floats(qgc_builder *b, const qgc_ast *ast, qgc_attr *out)
{
    if (ast->kind != QGC_AST_LIST)
        return expected(b, ast, "a list of floats");
    float *floats = QGC_NEW_ARRAY(attr_arena(b), float, ast->num);
    *out = (qgc_attr){.kind = QGC_ATTR_FLOATS, .num = ast->num, .floats = floats};
    for (const qgc_ast *child = ast->first; child; child = child->next)
        if (!build_f32(b, child, floats++))
            return false;
    return true;
}

static bool build_dims(qgc_builder *b, const qgc_ast *ast, qgc_attr *out)
{
    if (ast->kind != QGC_AST_LIST)
        return expected(b, ast, "a list of dimensions");
    qgc_dim *dims = QGC_NEW_ARRAY(attr_arena(b), qgc_dim, ast->num);
    *out = (qgc_attr){.kind = QGC_ATTR_DIMS, .num = ast->num, .dims = dims};
    for (const qgc_ast *child = ast->first; child; child = child->next)
        if (!qgc_build_dim(b, child, dims++))
            return false;
    return true;
}

static bool build_bool(qgc_builder *b, const qgc_ast *ast, qgc_attr *out)
{
    out->kind = QGC_ATTR_BOOL;
    out->b = qgc_str_equal(ast->text, qgc_str_from("true"));
    bool known = out->b || qgc_str_equal(ast->text, qgc_str_from("false"));
    return (ast->kind == QGC_AST_IDENT && known) || expected(b, ast, "true or false");
}

static bool build_string(qgc_builder *b, const qgc_ast *ast, qgc_attr *out)
{
    if (ast->kind != QGC_AST_STRING)
        return expected(b, ast, "a string");
    qgc_str text;
    if (!qgc_decode_string(&b->context->diag, b->scratch, ast->text, ast->loc, &text))
        return b->failed = true, false;
    *out = qgc_attr_from_name(QGC_ATTR_STRING, qgc_intern(&b->context->names, text));
    return true;
}

/* The |i|th of "a|b|c"; empty behind the last. */
static qgc_str word_at(void *user, size_t i)
{
    const char *words = user;
    while (i-- && *words) {
        words += strcspn(words, "|");
        words += *words == '|';
    }
    return (qgc_str){words, strcspn(words, "|")};
}

/* |words|: those of the row, or NULL where any word will do. Types are inferred while parsing, and
 * hooks rely on words that exist. */
static bool build_word(qgc_builder *b, const char *words, const qgc_ast *ast, qgc_attr *out)
{
    if (ast->kind != QGC_AST_IDENT)
        return expected(b, ast, "a word");
    size_t num = 0;
    bool found = !words;
    for (qgc_str word; words && (word = word_at((void *)words, num)).size; num++)
        found |= qgc_str_equal(word, ast->text);
    if (!found) {
        qgc_build_error(b, ast->loc, QGC_D_BAD_ATTR, "'%.*s' is none of %s%s",
                        QGC_STR_ARG(ast->text), words,
                        qgc_did_you_mean(b, ast->text, word_at, (void *)words, num));
        return false;
    }
    *out = qgc_attr_from_name(QGC_ATTR_WORD, qgc_intern(&b->context->names, ast->text));
    return true;
}

static bool build_func_name(qgc_builder *b, const qgc_ast *ast, qgc_attr *out)
{
    out->kind = QGC_ATTR_FUNC;
    return ast->kind == QGC_AST_FUNC ? qgc_build_name(b, ast->text, ast->loc, &out->name)
                                     : expected(b, ast, "a function name");
}

bool qgc_build_attr(qgc_builder *b, const qgc_attr_spec *row, const qgc_ast *ast, qgc_attr *out)
{
    *out = (qgc_attr){.kind = row->kind};
    switch (row->kind) {
    case QGC_ATTR_INT:
        return qgc_build_int(b, ast, &out->i);
    case QGC_ATTR_FLOAT:
        return build_f32(b, ast, &out->f);
    case QGC_ATTR_BOOL:
        return build_bool(b, ast, out);
    case QGC_ATTR_STRING:
        return build_string(b, ast, out);
    case QGC_ATTR_WORD:
        return build_word(b, row->words, ast, out);
    case QGC_ATTR_DTYPE:
        return build_dtype(b, ast->text, ast->loc, &out->dtype);
    case QGC_ATTR_INTS:
        return build_ints(b, ast, out);
    case QGC_ATTR_FLOATS:
        return build_floats(b, ast, out);
    case QGC_ATTR_DIMS:
        return build_dims(b, ast, out);
    case QGC_ATTR_FUNC:
        return build_func_name(b, ast, out);
    case QGC_ATTR_VALUE:
        return build_value_name(b, ast, &out->name);
    case QGC_ATTR_SPEC:
        return qgc_build_spec(b, ast, &out->spec);
    case QGC_ATTR_LIST:
    case QGC_ATTR_MAP:
        return qgc_build_free_attr(b, qgc_str_from(row->name), ast, out);
    case QGC_ATTR_TENSOR: /* read against the type: build.c */
    case QGC_ATTR_NONE:
    case QGC_NUM_ATTR_KINDS:
        break;
    }
    return expected(b, ast, qgc_attr_kind_name(row->kind));
}

/* `0*4`: the item four times. */
static bool repeat_count(qgc_builder *b, const qgc_ast **item, int64_t *count)
{
    *count = 1;
    if ((*item)->kind != QGC_AST_BINARY || (*item)->op != '*')
        return true;
    enum { MAX_REPEAT = 1 << 20 };
    if (!qgc_build_int(b, (*item)->first->next, count))
        return false;
    if (*count < 1 || *count > MAX_REPEAT)
        return expected(b, *item, "a repeat count of 1 to 1048576");
    *item = (*item)->first;
    return true;
}

static bool build_free_list(qgc_builder *b, const qgc_ast *ast, qgc_attr *out)
{
    QGC_VEC(qgc_attr) items = {0};
    for (const qgc_ast *child = ast->first; child; child = child->next) {
        const qgc_ast *item = child;
        int64_t count;
        qgc_attr value;
        if (!repeat_count(b, &item, &count) ||
            !qgc_build_free_attr(b, (qgc_str){"", 0}, item, &value))
            return false;
        for (int64_t i = 0; i < count; i++)
            qgc_vec_push(attr_arena(b), &items, value);
    }
    if (items.size > UINT32_MAX)
        return expected(b, ast, "fewer list items");
    *out = (qgc_attr){.kind = QGC_ATTR_LIST, .num = (uint32_t)items.size, .list = items.data};
    return true;
}

static bool build_map(qgc_builder *b, const qgc_ast *ast, qgc_attr *out)
{
    qgc_named_attr *map = QGC_NEW_ARRAY(attr_arena(b), qgc_named_attr, ast->num);
    *out = (qgc_attr){.kind = QGC_ATTR_MAP, .num = ast->num, .map = map};
    for (const qgc_ast *pair = ast->first; pair; pair = pair->next, map++) {
        map->name = qgc_intern(&b->context->names, pair->text);
        for (uint32_t i = 0; &out->map[i] < map; i++) {
            if (out->map[i].name != map->name)
                continue;
            qgc_build_error(b, pair->loc, QGC_D_BAD_ATTR, "%s is given twice", map->name->data);
            return false;
        }
        if (!qgc_build_free_attr(b, pair->text, pair->first, &map->value))
            return false;
    }
    return true;
}

static bool is_number_word(qgc_str text)
{
    return qgc_str_equal(text, qgc_str_from("nan")) || qgc_str_equal(text, qgc_str_from("inf"));
}

bool qgc_build_free_attr(qgc_builder *b, qgc_str name, const qgc_ast *ast, qgc_attr *out)
{
    const qgc_ast *leaf = ast->kind == QGC_AST_NEGATE ? ast->first : ast;
    *out = (qgc_attr){.kind = QGC_ATTR_NONE};
    if (qgc_str_starts_with(name, "quant."))
        return out->kind = QGC_ATTR_SPEC, qgc_build_spec(b, ast, &out->spec);
    if (leaf->kind == QGC_AST_INT)
        return out->kind = QGC_ATTR_INT, qgc_build_int(b, ast, &out->i);
    if (leaf->kind == QGC_AST_FLOAT || (leaf->kind == QGC_AST_IDENT && is_number_word(leaf->text)))
        return out->kind = QGC_ATTR_FLOAT, build_f32(b, ast, &out->f);
    if (ast->kind == QGC_AST_STRING)
        return build_string(b, ast, out);
    if (ast->kind == QGC_AST_VALUE)
        return out->kind = QGC_ATTR_VALUE, build_value_name(b, ast, &out->name);
    if (ast->kind == QGC_AST_FUNC)
        return build_func_name(b, ast, out);
    if (ast->kind == QGC_AST_LIST)
        return build_free_list(b, ast, out);
    if (ast->kind == QGC_AST_MAP)
        return build_map(b, ast, out);
    if (ast->kind != QGC_AST_IDENT)
        return expected(b, ast, "a number, string, word, name, list or map");
    if (qgc_str_equal(ast->text, qgc_str_from("true")) ||
        qgc_str_equal(ast->text, qgc_str_from("false")))
        return build_bool(b, ast, out);
    return build_word(b, NULL, ast, out);
}

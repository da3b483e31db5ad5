/* Tensor literals: nested lists read against a type, element by element, to the exact bits. */
#include "base/number.h"
#include "frontend/build.h"

#include <string.h>

typedef struct literal {
    qgc_builder *b;
    const qgc_type *type;
    char *next; /* where the next element goes */
    size_t element_bytes;
} literal;

static bool bad_element(literal *l, const qgc_ast *ast, const char *text)
{
    qgc_build_error(l->b, ast->loc, QGC_D_BAD_LITERAL, "'%s' is not a value of type %s", text,
                    qgc_dtype_name(l->type->dtype));
    return false;
}

static bool parse_bool(qgc_str text, uint8_t *out)
{
    *out = qgc_str_equal(text, qgc_str_from("true")) || qgc_str_equal(text, qgc_str_from("1"));
    return *out || qgc_str_equal(text, qgc_str_from("false")) ||
           qgc_str_equal(text, qgc_str_from("0"));
}

static bool fits_signed(int64_t value, size_t bytes)
{
    if (bytes == 8)
        return true;
    int64_t limit = (int64_t)1 << (8 * bytes - 1);
    return value >= -limit && value < limit;
}

static bool parse_integer(qgc_str text, qgc_dtype dtype, void *out)
{
    size_t bytes = qgc_dtype_bytes(dtype);
    int64_t s;
    uint64_t u;
    if (qgc_dtype_get_kind(dtype) == QGC_SIGNED) {
        if (!qgc_parse_i64(text, &s) || !fits_signed(s, bytes))
            return false;
        u = (uint64_t)s;
    } else if (!qgc_parse_u64(text, &u) || (bytes < 8 && u >> (8 * bytes))) {
        return false;
    }
    memcpy(out, &u, bytes); /* little-endian: the low bytes */
    return true;
}

static bool parse_element(qgc_str text, qgc_dtype dtype, void *out)
{
    switch (dtype) {
    case QGC_DTYPE_F32:
        return qgc_parse_f32(text, out);
    case QGC_DTYPE_F64:
        return qgc_parse_f64(text, out);
    case QGC_DTYPE_F16:
        return qgc_parse_f16(text, out);
    case QGC_DTYPE_BF16:
        return qgc_parse_bf16(text, out);
    case QGC_DTYPE_BOOL:
        return parse_bool(text, out);
    default:
        return parse_integer(text, dtype, out);
    }
}

static bool fill_element(literal *l, const qgc_ast *ast)
{
    const qgc_ast *leaf = ast->kind == QGC_AST_NEGATE ? ast->first : ast;
    if (leaf->kind != QGC_AST_INT && leaf->kind != QGC_AST_FLOAT && leaf->kind != QGC_AST_IDENT)
        return bad_element(l, ast, "this");
    qgc_str text = leaf->text;
    if (ast->kind == QGC_AST_NEGATE)
        text = qgc_str_from(qgc_arena_printf(l->b->scratch, "-%.*s", QGC_STR_ARG(leaf->text)));
    if (!parse_element(text, l->type->dtype, l->next))
        return bad_element(l, ast, qgc_arena_strdup(l->b->scratch, text));
    l->next += l->element_bytes;
    return true;
}

static bool fill(literal *l, const qgc_ast *ast, uint32_t axis)
{
    if (axis == l->type->rank)
        return fill_element(l, ast);
    int64_t expected = l->type->dims[axis].value;
    if (ast->kind != QGC_AST_LIST || (int64_t)ast->num != expected) {
        bool is_list = ast->kind == QGC_AST_LIST;
        qgc_build_error(l->b, ast->loc, QGC_D_BAD_LITERAL,
                        "dimension %u of %s needs a list of %lld items, found %s%lld", axis,
                        qgc_type_str(l->b->scratch, l->type), (long long)expected,
                        is_list ? "" : "a scalar, ", is_list ? (long long)ast->num : 1);
        return false;
    }
    for (const qgc_ast *child = ast->first; child; child = child->next)
        if (!fill(l, child, axis + 1))
            return false;
    return true;
}

static bool splat(literal *l, const qgc_ast *ast, char *data, size_t num)
{
    if (!fill_element(l, ast))
        return false;
    for (size_t i = 1; i < num; i++)
        memcpy(data + i * l->element_bytes, data, l->element_bytes);
    return true;
}

bool qgc_build_literal(qgc_builder *b, const qgc_ast *ast, const qgc_type *type,
                       const qgc_tensor **out)
{
    enum { MAX_BYTES = 1 << 30 }; /* a splat of a few bytes must not claim more */
    int64_t num;
    size_t bytes;
    if (!qgc_type_num_elements(type, &num) ||
        !qgc_checked_mul((size_t)num, qgc_dtype_bytes(type->dtype), &bytes) || bytes > MAX_BYTES) {
        qgc_build_error(b, ast->loc, QGC_D_BAD_LITERAL,
                        "a literal of type %s: expected numbers as dimensions and at most %d bytes",
                        qgc_type_str(b->scratch, type), MAX_BYTES);
        return false;
    }
    qgc_tensor *tensor = QGC_NEW(&b->module->arena, qgc_tensor);
    tensor->dtype = type->dtype;
    tensor->rank = type->rank;
    for (uint32_t i = 0; i < type->rank; i++)
        tensor->shape[i] = type->dims[i].value;
    tensor->bytes = bytes;
    *out = tensor;
    if (num == 0) { /* any nesting of empty lists */
        tensor->data = qgc_arena_alloc(&b->module->arena, 0);
        if (ast->kind == QGC_AST_LIST)
            return true;
        qgc_build_error(b, ast->loc, QGC_D_BAD_LITERAL, "type %s has no elements: expected []",
                        qgc_type_str(b->scratch, type));
        return false;
    }
    /* A nested literal is checked against the tree before memory is claimed. */
    if (ast->kind == QGC_AST_LIST && type->rank && (int64_t)ast->num != type->dims[0].value)
        return fill(&(literal){.b = b, .type = type}, ast, 0);
    tensor->data = qgc_arena_alloc(&b->module->arena, bytes);
    literal l = {b, type, tensor->data, qgc_dtype_bytes(type->dtype)};
    if (ast->kind != QGC_AST_LIST)
        return splat(&l, ast, tensor->data, (size_t)num);
    return fill(&l, ast, 0);
}

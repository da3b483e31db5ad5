#include "frontend/ast.h"

#include "frontend/build.h"

/* Walks over trees recurse: deeper ones are refused as they are made. */
enum { MAX_DEPTH = 250 };

static qgc_ast *make(qgc_builder *b, qgc_ast_kind kind, const qgc_token *token)
{
    qgc_ast *ast = QGC_NEW(b->scratch, qgc_ast);
    ast->kind = kind;
    ast->text = token->text;
    ast->loc = token->loc;
    return ast;
}

static void set_children(qgc_builder *b, qgc_ast *ast, qgc_ast_list children)
{
    ast->first = children.first;
    ast->num = children.num;
    for (const qgc_ast *child = ast->first; child; child = child->next)
        if (child->depth >= ast->depth)
            ast->depth = (uint16_t)(child->depth + 1);
    if (ast->depth < MAX_DEPTH)
        return;
    qgc_build_error(b, ast->loc, QGC_D_TOO_DEEP, "expression nests deeper than %d", MAX_DEPTH);
    ast->depth = 0; /* cut off, so that the error comes once */
    ast->first = NULL;
    ast->num = 0;
    ast->kind = QGC_AST_ABSENT;
}

qgc_ast *qgc_ast_leaf(qgc_builder *b, qgc_ast_kind kind, const qgc_token *token)
{
    return make(b, kind, token);
}

qgc_ast *qgc_ast_binary(qgc_builder *b, const qgc_token *op, qgc_ast *left, qgc_ast *right)
{
    qgc_ast *ast = make(b, QGC_AST_BINARY, op);
    ast->op = op->text.data[op->text.size - 1]; /* "->" is '>' */
    set_children(b, ast, qgc_ast_append(qgc_ast_append((qgc_ast_list){0}, left), right));
    return ast;
}

qgc_ast *qgc_ast_negate(qgc_builder *b, const qgc_token *op, qgc_ast *operand)
{
    qgc_ast *ast = make(b, QGC_AST_NEGATE, op);
    set_children(b, ast, qgc_ast_append((qgc_ast_list){0}, operand));
    return ast;
}

qgc_ast *qgc_ast_group(qgc_builder *b, qgc_ast_kind kind, const qgc_token *token,
                       qgc_ast_list children, const qgc_token *end)
{
    qgc_ast *ast = make(b, kind, token);
    ast->loc.length = end->loc.offset + end->loc.length - token->loc.offset;
    set_children(b, ast, children);
    return ast;
}

qgc_ast *qgc_ast_pair(qgc_builder *b, const qgc_token *name, qgc_ast *value)
{
    qgc_ast *ast = make(b, QGC_AST_PAIR, name);
    set_children(b, ast, qgc_ast_append((qgc_ast_list){0}, value));
    return ast;
}

qgc_ast_list qgc_ast_append(qgc_ast_list list, qgc_ast *item)
{
    if (list.last)
        list.last->next = item;
    else
        list.first = item;
    list.last = item;
    list.num++;
    return list;
}

qgc_ast_list qgc_ast_prepend(qgc_ast *item, qgc_ast_list list)
{
    item->next = list.first;
    list.first = item;
    if (!list.last)
        list.last = item;
    list.num++;
    return list;
}

static void print_children(qgc_text *out, const qgc_ast *ast, const char *separator)
{
    for (const qgc_ast *child = ast->first; child; child = child->next) {
        if (child != ast->first)
            qgc_text_puts(out, separator);
        qgc_ast_print(out, child);
    }
}

static void print_enclosed(qgc_text *out, const qgc_ast *ast, char open, char close)
{
    qgc_text_putc(out, open);
    print_children(out, ast, ", ");
    qgc_text_putc(out, close);
}

void qgc_ast_print(qgc_text *out, const qgc_ast *ast)
{
    switch (ast->kind) {
    case QGC_AST_INT:
    case QGC_AST_FLOAT:
    case QGC_AST_STRING:
    case QGC_AST_IDENT:
    case QGC_AST_VALUE:
    case QGC_AST_FUNC:
    case QGC_AST_ABSENT:
    case QGC_AST_UNKNOWN:
        qgc_text_put(out, ast->text);
        return;
    case QGC_AST_LIST:
        print_enclosed(out, ast, '[', ']');
        return;
    case QGC_AST_MAP:
        print_enclosed(out, ast, '{', '}');
        return;
    case QGC_AST_PAIR:
        qgc_text_put(out, ast->text);
        qgc_text_putc(out, ' ');
        print_children(out, ast, " ");
        return;
    case QGC_AST_NAMED:
        qgc_text_put(out, ast->text);
        qgc_text_puts(out, ": ");
        print_children(out, ast, "|");
        return;
    case QGC_AST_CALL:
        qgc_text_put(out, ast->text);
        print_enclosed(out, ast, '(', ')');
        return;
    case QGC_AST_INDEX:
        qgc_text_put(out, ast->text);
        print_enclosed(out, ast, '[', ']');
        return;
    case QGC_AST_BINARY:
        print_children(out, ast,
                       ast->op == '>'   ? " -> "
                       : ast->op == '*' ? "*"
                       : ast->op == '/' ? "/"
                       : ast->op == '+' ? "+"
                                        : "-");
        return;
    case QGC_AST_NEGATE:
        qgc_text_putc(out, '-');
        print_children(out, ast, "");
        return;
    }
}

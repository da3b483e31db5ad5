/* Between lexer and grammar: line ends and contextual keywords. */
#include "frontend/grammar.h"
#include "frontend/lex.h"

#include <ctype.h>

/* Words that are keywords in one place only, so that ops and attributes may have the same names. */
static const struct {
    const char *word;
    int token;
    qgc_syntax syntax;
    bool at_line_start;
} keywords[] = {
    {"func", QGC_TOK_FUNC, QGC_SYNTAX_MODULE, true},
    {"weights", QGC_TOK_WEIGHTS, QGC_SYNTAX_MODULE, true},
    {"form", QGC_TOK_FORM, QGC_SYNTAX_MODULE, true},
    {"stats", QGC_TOK_STATS, QGC_SYNTAX_MODULE, true},
    {"provenance", QGC_TOK_PROVENANCE, QGC_SYNTAX_MODULE, true},
    {"claim", QGC_TOK_CLAIM, QGC_SYNTAX_PATTERN, true},
    {"spec", QGC_TOK_SPEC, QGC_SYNTAX_PATTERN, true},
    {"take", QGC_TOK_TAKE, QGC_SYNTAX_PATTERN, true},
    {"sweep", QGC_TOK_SWEEP, QGC_SYNTAX_PATTERN, true},
    {"where", QGC_TOK_WHERE, QGC_SYNTAX_PATTERN, false},
    {"benefit", QGC_TOK_BENEFIT, QGC_SYNTAX_PATTERN, false},
};

static bool at_line_start(const qgc_lexer *lexer)
{
    return lexer->previous.kind == 0 || lexer->previous.kind == QGC_TOK_NEWLINE;
}

static void find_keyword(const qgc_lexer *lexer, qgc_token *token)
{
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (keywords[i].syntax == lexer->syntax &&
            (at_line_start(lexer) || !keywords[i].at_line_start) &&
            qgc_str_equal(token->text, qgc_str_from(keywords[i].word)))
            token->kind = keywords[i].token;
}

/* In rules files names may have hyphens: fp16-first. */
static void join_hyphens(qgc_lexer *lexer, qgc_token *token)
{
    while (lexer->cursor[0] == '-' && isalpha((unsigned char)lexer->cursor[1])) {
        lexer->cursor++;
        while (isalnum((unsigned char)*lexer->cursor) || *lexer->cursor == '_')
            lexer->cursor++;
    }
    token->text.size = (size_t)(lexer->cursor - token->text.data);
    token->loc.length = (uint32_t)token->text.size;
}

static bool continues_line(int kind)
{
    return kind == 0 || kind == QGC_TOK_NEWLINE || kind == QGC_TOK_COMMA || kind == QGC_TOK_EQUAL ||
           kind == QGC_TOK_COLON || kind == QGC_TOK_ARROW || kind == QGC_TOK_FATARROW;
}

static qgc_token emit(qgc_lexer *lexer, qgc_token token)
{
    return lexer->previous = token;
}

/* Delivers a line end now and |token| after it. */
static qgc_token line_end_before(qgc_lexer *lexer, qgc_token token)
{
    lexer->pending = token;
    token.kind = QGC_TOK_NEWLINE;
    token.loc.length = 0;
    return emit(lexer, token);
}

static bool starts_function(qgc_token token)
{
    return token.kind == QGC_TOK_IDENT && qgc_str_equal(token.text, qgc_str_from("func"));
}

/* `func` on a new line inside brackets: one was not closed. Errors must not swallow the rest. */
static qgc_token resynchronize(qgc_lexer *lexer, qgc_token token)
{
    lexer->depth = 0;
    lexer->in_func_header = false;
    lexer->pending = token;
    token.kind = QGC_TOK_NEWLINE;
    token.loc.length = 0;
    return token;
}

static qgc_token next_significant(qgc_lexer *lexer)
{
    if (lexer->pending.kind) {
        qgc_token token = lexer->pending;
        lexer->pending.kind = 0;
        return token;
    }
    qgc_token token = qgc_lex_raw(lexer), line_end = token;
    while (token.kind == QGC_TOK_NEWLINE &&
           (lexer->depth > 0 || continues_line(lexer->previous.kind)))
        token = qgc_lex_raw(lexer);
    bool new_line = line_end.kind == QGC_TOK_NEWLINE && token.kind != QGC_TOK_NEWLINE;
    return new_line && lexer->depth > 0 && starts_function(token) ? resynchronize(lexer, token)
                                                                  : token;
}

static void track_brackets(qgc_lexer *lexer, int kind)
{
    if (kind == QGC_TOK_LPAREN || kind == QGC_TOK_LBRACKET || kind == QGC_TOK_LBRACE)
        lexer->depth++;
    bool closes = kind == QGC_TOK_RPAREN || kind == QGC_TOK_RBRACKET || kind == QGC_TOK_RBRACE;
    if (closes && lexer->depth > 0)
        lexer->depth--;
}

qgc_token qgc_lex(qgc_lexer *lexer)
{
    qgc_token token = next_significant(lexer);
    if (token.kind == QGC_TOK_IDENT) {
        if (lexer->syntax == QGC_SYNTAX_RULES)
            join_hyphens(lexer, &token);
        find_keyword(lexer, &token);
    }
    /* The last line may lack its end; so may the statement before a closing brace. */
    if (!at_line_start(lexer) && token.kind == 0) {
        lexer->depth = 0;
        token.kind = QGC_TOK_NEWLINE;
        return emit(lexer, token);
    }
    bool after_brace = lexer->opened_body && token.kind != QGC_TOK_NEWLINE;
    bool before_brace = token.kind == QGC_TOK_RBRACE && lexer->depth == 0 && !at_line_start(lexer);
    lexer->opened_body = false;
    if (after_brace || before_brace)
        return line_end_before(lexer, token);
    if (token.kind == QGC_TOK_FUNC)
        lexer->in_func_header = true;
    if (token.kind == QGC_TOK_LBRACE && lexer->in_func_header && lexer->depth == 0) {
        lexer->in_func_header = false; /* the lines of the body count */
        lexer->opened_body = true;
        lexer->in_body = true;
        return emit(lexer, token);
    }
    if (token.kind == QGC_TOK_RBRACE && lexer->depth == 0)
        lexer->in_body = false;
    track_brackets(lexer, token.kind);
    return emit(lexer, token);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes the escape whose letter stands at text[*i]; advances *i over further digits. */
static bool decode_escape(qgc_str text, size_t *i, char *out)
{
    char c = text.data[*i];
    *out = c == 'n' ? '\n' : c == 't' ? '\t' : c;
    if (c == 'n' || c == 't' || c == '"' || c == '\\')
        return true;
    if (c != 'x' || *i + 3 >= text.size)
        return false;
    int high = hex_digit(text.data[*i + 1]), low = hex_digit(text.data[*i + 2]);
    if (high < 0 || low < 0)
        return false;
    *out = (char)(high * 16 + low);
    *i += 2;
    return true;
}

bool qgc_decode_string(qgc_diag *diag, qgc_arena *arena, qgc_str quoted, qgc_loc loc, qgc_str *out)
{
    char *data = qgc_arena_alloc(arena, quoted.size);
    size_t size = 0;
    for (size_t i = 1; i + 1 < quoted.size; i++) {
        char c = quoted.data[i];
        if (c == '\\' && (i++, !decode_escape(quoted, &i, &c))) {
            qgc_report(diag, loc, QGC_D_BAD_TOKEN,
                       "bad escape in a string (known: \\\" \\\\ \\n \\t \\xHH)");
            return false;
        }
        data[size++] = c;
    }
    *out = (qgc_str){data, size};
    return true;
}

/* Lexer rules; no semantics. */
#include "frontend/lex.h"

#include "frontend/grammar.h"

static qgc_token make(qgc_lexer *lexer, int kind, const char *start)
{
    qgc_str text = {start, (size_t)(lexer->cursor - start)};
    qgc_loc loc = {lexer->source, (uint32_t)(start - lexer->start), (uint32_t)text.size};
    return (qgc_token){kind, text, loc};
}

static void bad_token(qgc_lexer *lexer, const char *start, const char *what)
{
    lexer->failed = true;
    qgc_report(lexer->diag, make(lexer, 0, start).loc, QGC_D_BAD_TOKEN, "%s", what);
}

qgc_token qgc_lex_raw(qgc_lexer *lexer)
{
    const char *marker = lexer->cursor;
    for (;;) {
        const char *start = lexer->cursor;
        /*!re2c
        re2c:define:YYCTYPE = "unsigned char";
        re2c:define:YYCURSOR = lexer->cursor;
        re2c:define:YYMARKER = marker;
        re2c:yyfill:enable = 0;

        letter  = [A-Za-z_];
        digit   = [0-9];
        word    = [A-Za-z0-9_$]+;
        name    = word ("." word)*;
        quoted  = ["] ([^"\\\n\x00] | "\\" [^\n\x00])* ["];
        integer = digit+ | "0x" [0-9a-fA-F]+;
        decimal = digit+ "." digit+ ([eE] [+-]? digit+)? | digit+ [eE] [+-]? digit+;

        "\x00"              { if (start == lexer->limit) { lexer->cursor = start; return make(lexer, 0, start); }
                              bad_token(lexer, start, "NUL byte in the text"); continue; }
        [ \t\r]+            { continue; }
        "//" [^\n\x00]*     { continue; }
        "\n"                { return make(lexer, QGC_TOK_NEWLINE, start); }
        "_"                 { return make(lexer, QGC_TOK_UNDERSCORE, start); }
        "%" name            { return make(lexer, QGC_TOK_VALUE, start); }
        "%" quoted          { return make(lexer, QGC_TOK_VALUE, start); }
        "@" name            { return make(lexer, QGC_TOK_AT, start); }
        "@" quoted          { return make(lexer, QGC_TOK_SCOPE, start); }
        quoted              { return make(lexer, QGC_TOK_STRING, start); }
        letter [A-Za-z0-9_$]* ("." word)*  { return make(lexer, QGC_TOK_IDENT, start); }
        integer             { return make(lexer, QGC_TOK_INT, start); }
        decimal             { return make(lexer, QGC_TOK_FLOAT, start); }
        (integer | decimal) (letter | digit | ".")+ { bad_token(lexer, start, "malformed number"); continue; }
        "("                 { return make(lexer, QGC_TOK_LPAREN, start); }
        ")"                 { return make(lexer, QGC_TOK_RPAREN, start); }
        "["                 { return make(lexer, QGC_TOK_LBRACKET, start); }
        "]"                 { return make(lexer, QGC_TOK_RBRACKET, start); }
        "{"                 { return make(lexer, QGC_TOK_LBRACE, start); }
        "}"                 { return make(lexer, QGC_TOK_RBRACE, start); }
        ","                 { return make(lexer, QGC_TOK_COMMA, start); }
        ":"                 { return make(lexer, QGC_TOK_COLON, start); }
        "."                 { return make(lexer, QGC_TOK_DOT, start); }
        "="                 { return make(lexer, QGC_TOK_EQUAL, start); }
        "=>"                { return make(lexer, QGC_TOK_FATARROW, start); }
        "->"                { return make(lexer, QGC_TOK_ARROW, start); }
        "+"                 { return make(lexer, QGC_TOK_PLUS, start); }
        "-"                 { return make(lexer, QGC_TOK_MINUS, start); }
        "*"                 { return make(lexer, QGC_TOK_STAR, start); }
        "/"                 { return make(lexer, QGC_TOK_SLASH, start); }
        "|"                 { return make(lexer, QGC_TOK_PIPE, start); }
        "?"                 { return make(lexer, QGC_TOK_QUESTION, start); }
        ["] ([^"\\\n\x00] | "\\" [^\n\x00])*  { bad_token(lexer, start, "unterminated string"); return make(lexer, QGC_TOK_STRING, start); }
        [%@] ["] ([^"\\\n\x00] | "\\" [^\n\x00])*  { bad_token(lexer, start, "unterminated name"); continue; }
        [\x80-\xff]+        { bad_token(lexer, start, "unexpected character"); continue; }
        *                   { bad_token(lexer, start, "unexpected character"); continue; }
        */
    }
}

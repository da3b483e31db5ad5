/* Tokens. lex.re recognizes them; layout.c decides which line ends matter and which words are
 * keywords. */
#ifndef QGC_FRONTEND_LEX_H
#define QGC_FRONTEND_LEX_H

#include "base/diag.h"

typedef struct qgc_token {
    int kind; /* QGC_TOK_*, or 0 at the end */
    qgc_str text;
    qgc_loc loc;
} qgc_token;

typedef enum qgc_syntax { QGC_SYNTAX_MODULE, QGC_SYNTAX_RULES, QGC_SYNTAX_PATTERN } qgc_syntax;

typedef struct qgc_lexer {
    qgc_diag *diag;
    qgc_syntax syntax;
    uint32_t source;
    const char *start, *cursor, *limit; /* *limit == 0 */
    int depth;                          /* of brackets in which line ends do not matter */
    bool in_func_header;                /* from `func` to its body's brace */
    bool opened_body;                   /* the previous token is that brace */
    bool in_body;                       /* from that brace to the one that closes it */
    qgc_token previous;
    qgc_token pending; /* kind 0: none */
    bool failed;       /* a bad token was reported */
} qgc_lexer;

/* QGC_TOK_NEWLINE for a line end; comments and blanks are skipped. Bad bytes are reported and
 * skipped. */
qgc_token qgc_lex_raw(qgc_lexer *lexer);
/* A statement ends with its line, unless inside brackets or after a comma, '=', ':', '->' or '=>'.
 */
qgc_token qgc_lex(qgc_lexer *lexer);

/* Decodes a quoted text (with its quotes); false on a bad escape (reported). */
bool qgc_decode_string(qgc_diag *diag, qgc_arena *arena, qgc_str quoted, qgc_loc loc, qgc_str *out);

#endif

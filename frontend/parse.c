/* Runs lexer and grammar over a source buffer. */
#include "frontend/parse.h"

#include "frontend/build.h"
#include "frontend/grammar.h"
#include "runtime/hash.h"

#include <stdlib.h>
#include <string.h>

/* Lemon's generated entry points. */
void *qgc_grammarAlloc(void *(*allocate)(size_t), qgc_builder *b);
void qgc_grammarFree(void *parser, void (*release)(void *));
void qgc_grammar(void *parser, int kind, qgc_token token);

/* A function begins inside another one: closes that first, so that both are checked. */
static void close_func(qgc_builder *b, void *parser, qgc_token token)
{
    qgc_build_unclosed_func(b, &token);
    qgc_grammar(parser, QGC_TOK_RBRACE, token);
    qgc_grammar(parser, QGC_TOK_NEWLINE, token);
}

static void run(qgc_builder *b, qgc_lexer *lexer, int start)
{
    void *parser = qgc_grammarAlloc(malloc, b);
    QGC_ASSERT(parser, "out of memory");
    qgc_token token = {.loc = {lexer->source, 0, 0}};
    qgc_grammar(parser, start, token);
    do {
        token = qgc_lex(lexer);
        b->current = token.loc;
        if (token.kind == QGC_TOK_FUNC && lexer->in_body && b->func)
            close_func(b, parser, token);
        qgc_grammar(parser, token.kind, token);
    } while (token.kind);
    qgc_grammarFree(parser, free);
    b->failed |= lexer->failed;
}

static qgc_lexer make_lexer(qgc_context *context, uint32_t source, qgc_syntax syntax)
{
    static const char MARK[] = "\xef\xbb\xbf"; /* some editors put it before UTF-8 */
    qgc_str text = qgc_source_get(&context->sources, source)->text;
    bool is_marked = text.size >= 3 && memcmp(text.data, MARK, 3) == 0;
    return (qgc_lexer){.diag = &context->diag,
                       .syntax = syntax,
                       .source = source,
                       .start = text.data,
                       .cursor = text.data + (is_marked ? 3 : 0),
                       .limit = text.data + text.size};
}

/* What says where a graph comes from, and its statistics, are as the program wrote them. */
static qgc_result check_seal(const qgc_module *module)
{
    const qgc_record *record = module->provenance.size ? &module->provenance.data[0] : NULL;
    const qgc_attr *seal = record ? qgc_record_field(record, "seal") : NULL;
    if (!seal)
        return QGC_OK;
    qgc_arena scratch = {0};
    qgc_text text = {.arena = &scratch};
    qgc_module_print_sealed(module, &text);
    const char *found = qgc_hash_text(&scratch, qgc_hash(0, text.data, text.size));
    qgc_result result = QGC_OK;
    if (seal->kind != QGC_ATTR_STRING || strcmp(seal->name->data, found) != 0)
        result = qgc_report(&module->context->diag, record->loc, QGC_D_ALTERED,
                            "the provenance or the statistics were altered: their hash is %s, not "
                            "that of the seal (without `seal` they are used as they stand)",
                            found);
    qgc_arena_destroy(&scratch);
    return result;
}

qgc_module *qgc_parse_module(qgc_context *context, uint32_t source,
                             const qgc_parse_options *options)
{
    qgc_arena scratch = {0};
    qgc_builder b = {.context = context,
                     .module = qgc_module_create(context),
                     .options = options,
                     .scratch = &scratch};
    qgc_lexer lexer = make_lexer(context, source, QGC_SYNTAX_MODULE);
    run(&b, &lexer, QGC_TOK_START_MODULE);
    qgc_arena_destroy(&scratch);
    if (!b.failed && qgc_module_verify(b.module) == QGC_OK && check_seal(b.module) == QGC_OK)
        return b.module;
    qgc_module_destroy(b.module);
    return NULL;
}

static qgc_rules *parse_rows(qgc_context *context, uint32_t source, qgc_syntax syntax, int start)
{
    qgc_rules *rules = QGC_NEW(&context->arena, qgc_rules);
    rules->arena = &context->arena;
    qgc_builder b = {.context = context, .rules = rules, .scratch = &context->arena};
    qgc_lexer lexer = make_lexer(context, source, syntax);
    run(&b, &lexer, start);
    return b.failed ? NULL : rules;
}

qgc_rules *qgc_parse_rules(qgc_context *context, uint32_t source)
{
    return parse_rows(context, source, QGC_SYNTAX_RULES, QGC_TOK_START_RULES);
}

qgc_rules *qgc_parse_patterns(qgc_context *context, uint32_t source)
{
    return parse_rows(context, source, QGC_SYNTAX_PATTERN, QGC_TOK_START_PATTERN);
}

/* Reading the patterns of passes/idioms.def. Recursive descent; mistakes are bugs. */
#include "base/number.h"
#include "passes/idiom.h"

#include <ctype.h>
#include <string.h>

typedef struct reader {
    qgc_arena *arena;
    const char *text, *at;
    uint32_t num_names;
    qgc_str names[QGC_IDIOM_NAMES];
} reader;

static qgc_term *read_term(reader *r);

static void skip_blanks(reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static bool take(reader *r, char c)
{
    skip_blanks(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static qgc_str read_word(reader *r)
{
    skip_blanks(r);
    const char *begin = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_' || *r->at == '.')
        r->at++;
    QGC_ASSERT(r->at > begin, "%s: expected a word at \"%s\"", r->text, begin);
    return (qgc_str){begin, (size_t)(r->at - begin)};
}

static uint32_t name_index(reader *r, qgc_str name)
{
    for (uint32_t i = 0; i < r->num_names; i++)
        if (qgc_str_equal(r->names[i], name))
            return i;
    QGC_ASSERT(r->num_names < QGC_IDIOM_NAMES, "%s: too many names", r->text);
    r->names[r->num_names] = name;
    return r->num_names++;
}

static bool is_nest(qgc_opcode op)
{
    return op == QGC_OP_MUL || op == QGC_OP_ADD;
}

/* A constant among the terms of a nest is the nest's number. */
static void add_item(reader *r, qgc_term *term, qgc_term *item)
{
    if (term->kind == QGC_TERM_NEST && item->kind == QGC_TERM_NUMBER) {
        term->number = item->number;
    } else if (term->kind == QGC_TERM_NEST && item->kind == QGC_TERM_SCALAR) {
        term->has_scalar = true;
        term->name = item->name;
    } else {
        QGC_ASSERT(term->num < QGC_IDIOM_TERMS, "%s: too many terms", r->text);
        term->items[term->num++] = item;
    }
}

static void read_op(reader *r, qgc_str mnemonic, qgc_term *term)
{
    QGC_ASSERT(qgc_op_find(mnemonic, &term->op), "%s: there is no op %.*s", r->text,
               QGC_STR_ARG(mnemonic));
    term->kind = is_nest(term->op) ? QGC_TERM_NEST : QGC_TERM_OP;
    term->number = term->op == QGC_OP_MUL;
    do
        add_item(r, term, read_term(r));
    while (take(r, ','));
    QGC_ASSERT(take(r, ')'), "%s: expected ) at \"%s\"", r->text, r->at);
}

static qgc_term *read_one(reader *r)
{
    qgc_term *term = QGC_NEW(r->arena, qgc_term);
    bool is_scalar = take(r, '#');
    qgc_str word = read_word(r);
    if (isdigit((unsigned char)word.data[0])) {
        term->kind = QGC_TERM_NUMBER;
        QGC_ASSERT(qgc_parse_f64(word, &term->number), "%s: %.*s", r->text, QGC_STR_ARG(word));
    } else if (take(r, '(')) {
        read_op(r, word, term);
    } else {
        term->kind = is_scalar ? QGC_TERM_SCALAR : QGC_TERM_VALUE;
        term->name = name_index(r, word);
    }
    return term;
}

static qgc_term *read_term(reader *r)
{
    qgc_term *first = read_one(r);
    for (qgc_term *last = first; take(r, '|'); last = last->otherwise)
        last->otherwise = read_one(r);
    return first;
}

qgc_term *qgc_term_parse(qgc_arena *arena, const char *text)
{
    reader r = {.arena = arena, .text = text, .at = text};
    qgc_term *term = read_term(&r);
    QGC_ASSERT(*r.at == 0, "%s: expected the end at \"%s\"", text, r.at);
    return term;
}

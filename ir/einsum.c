#include "ir/einsum.h"

#include <string.h>

enum { NUM_LETTERS = 52 };

bool qgc_einsum_is_broadcast(uint8_t label)
{
    return label >= NUM_LETTERS;
}

/* A term as written. */
typedef struct term_text {
    uint32_t num_before, num_after; /* letters before and after '...' */
    bool has_dots;
    uint8_t letters[QGC_MAX_RANK];
} term_text;

static int letter_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

static const char *read_term(qgc_str text, term_text *out)
{
    *out = (term_text){0};
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == ' ')
            continue;
        if (c == '.') {
            if (out->has_dots || i + 3 > text.size || memcmp(text.data + i, "...", 3) != 0)
                return "a '.' that is not one '...'";
            out->has_dots = true;
            i += 2;
            continue;
        }
        int letter = letter_of(c);
        uint32_t num = out->num_before + out->num_after;
        if (letter < 0)
            return "a character that is no letter";
        if (num == QGC_MAX_RANK)
            return "a term with more than 8 letters";
        out->letters[num] = (uint8_t)letter;
        *(out->has_dots ? &out->num_after : &out->num_before) += 1;
    }
    return NULL;
}

/* Puts |num_dots| labels in place of '...': the last ones, so that they align at the end. */
static void expand_term(const term_text *text, uint32_t num_dots, qgc_einsum_term *out)
{
    uint32_t rank = 0, letter = 0;
    while (letter < text->num_before)
        out->labels[rank++] = text->letters[letter++];
    for (uint32_t i = 0; i < num_dots; i++)
        out->labels[rank++] = (uint8_t)(QGC_EINSUM_LABELS - num_dots + i);
    while (letter < text->num_before + text->num_after)
        out->labels[rank++] = text->letters[letter++];
    out->rank = rank;
}

static const char *read_operand(qgc_str text, uint32_t rank, qgc_einsum_term *out,
                                uint32_t *max_dots)
{
    term_text term;
    const char *error = read_term(text, &term);
    if (error)
        return error;
    uint32_t num = term.num_before + term.num_after, dots = rank - num;
    if (num > rank || (dots && !term.has_dots))
        return "a term that does not fit the rank of its operand";
    if (dots > *max_dots)
        *max_dots = dots;
    expand_term(&term, dots, out);
    return NULL;
}

static void count_labels(const qgc_einsum *e, uint32_t *counts)
{
    for (uint32_t i = 0; i < e->num_operands; i++)
        for (uint32_t d = 0; d < e->operands[i].rank; d++)
            counts[e->operands[i].labels[d]]++;
}

static const char *implicit_result(const uint32_t *counts, uint32_t num_dots, qgc_einsum_term *out)
{
    out->rank = 0;
    for (uint32_t i = 0; i < num_dots; i++)
        out->labels[out->rank++] = (uint8_t)(QGC_EINSUM_LABELS - num_dots + i);
    for (uint32_t l = 0; l < NUM_LETTERS; l++) {
        if (counts[l] != 1)
            continue;
        if (out->rank == QGC_MAX_RANK)
            return "a result of more than 8 dimensions";
        out->labels[out->rank++] = (uint8_t)l;
    }
    return NULL;
}

static const char *written_result(qgc_str text, const uint32_t *counts, uint32_t num_dots,
                                  qgc_einsum_term *out)
{
    term_text term;
    uint64_t seen = 0;
    const char *error = read_term(text, &term);
    if (error)
        return error;
    if (num_dots && !term.has_dots)
        return "a result without '...'";
    if (term.num_before + term.num_after + num_dots > QGC_MAX_RANK)
        return "a result of more than 8 dimensions";
    expand_term(&term, num_dots, out);
    for (uint32_t i = 0; i < out->rank; i++) {
        if (!counts[out->labels[i]])
            return "a letter of the result that no operand has";
        if (seen >> out->labels[i] & 1)
            return "a letter that stands twice in the result";
        seen |= (uint64_t)1 << out->labels[i];
    }
    return NULL;
}

static void find_summed(qgc_einsum *e)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < e->result.rank; i++)
        seen |= (uint64_t)1 << e->result.labels[i];
    for (uint32_t i = 0; i < e->num_operands; i++)
        for (uint32_t d = 0; d < e->operands[i].rank; d++) {
            uint8_t label = e->operands[i].labels[d];
            if (seen >> label & 1)
                continue;
            seen |= (uint64_t)1 << label;
            e->summed[e->num_summed++] = label;
        }
}

/* Up to the next comma; |rest| then starts behind it. */
static qgc_str next_part(qgc_str *rest, bool *out_ended)
{
    const char *comma = rest->size ? memchr(rest->data, ',', rest->size) : NULL;
    qgc_str part = {rest->data, comma ? (size_t)(comma - rest->data) : rest->size};
    *out_ended = !comma;
    if (comma)
        *rest = (qgc_str){comma + 1, rest->size - part.size - 1};
    return part;
}

const char *qgc_einsum_parse(qgc_str equation, uint32_t num_operands, const uint32_t *ranks,
                             qgc_einsum *out)
{
    uint32_t num_dots = 0, counts[QGC_EINSUM_LABELS] = {0};
    qgc_str left = equation, right = {0};
    bool ended = false, is_written = false;
    for (size_t i = 0; i + 1 < equation.size && !is_written; i++)
        if (memcmp(equation.data + i, "->", 2) == 0) {
            left.size = i;
            right = (qgc_str){equation.data + i + 2, equation.size - i - 2};
            is_written = true;
        }
    *out = (qgc_einsum){.num_operands = num_operands};
    for (uint32_t i = 0; i < num_operands; i++) {
        if (ended)
            return "fewer terms than operands";
        const char *error =
            read_operand(next_part(&left, &ended), ranks[i], &out->operands[i], &num_dots);
        if (error)
            return error;
    }
    if (!ended)
        return "more terms than operands";
    count_labels(out, counts);
    const char *error = is_written ? written_result(right, counts, num_dots, &out->result)
                                   : implicit_result(counts, num_dots, &out->result);
    if (!error)
        find_summed(out);
    return error;
}

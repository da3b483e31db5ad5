/* --verify-diagnostics: expectations are comments in the source text. */
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

typedef struct expectation {
    qgc_severity severity;
    uint32_t source, line;
    qgc_str text;
    qgc_loc loc;
    bool met;
} expectation;

typedef QGC_VEC(expectation) expectations;

static const char *const words[] = {"expected-error", "expected-warning", "expected-remark",
                                    "expected-note"};

/* "@+1" or "@-2" after the word. */
static const char *parse_offset(const char *at, int *out)
{
    *out = 0;
    if (*at != '@')
        return at;
    char *end;
    *out = (int)strtol(at + 1, &end, 10);
    return end;
}

static void parse_one(qgc_diag *diag, expectations *list, uint32_t source, qgc_severity severity,
                      const char *word)
{
    const char *start = diag->sources->list.data[source - 1].text.data;
    qgc_loc loc = {source, (uint32_t)(word - start), (uint32_t)strlen(words[severity])};
    int offset;
    const char *at = parse_offset(word + strlen(words[severity]), &offset);
    const char *open = at + strspn(at, " ");
    const char *close = strncmp(open, "{{", 2) == 0 ? strstr(open, "}}") : NULL;
    const char *newline = strchr(at, '\n');
    if (!close || (newline && close > newline)) {
        qgc_report(diag, loc, QGC_D_EXPECTATION, "expected {{text}} after %s", words[severity]);
        return;
    }
    uint32_t line = qgc_source_position(diag->sources, loc).line;
    expectation e = {
        severity, source, (uint32_t)((int)line + offset), {open + 2, (size_t)(close - open - 2)},
        loc,      false};
    qgc_vec_push(diag->arena, list, e);
}

static void parse_source(qgc_diag *diag, expectations *list, uint32_t source)
{
    const char *text = diag->sources->list.data[source - 1].text.data;
    for (const char *at = strstr(text, "expected-"); at; at = strstr(at + 1, "expected-"))
        for (int s = QGC_ERROR; s <= QGC_NOTE; s++)
            if (strncmp(at, words[s], strlen(words[s])) == 0)
                parse_one(diag, list, source, (qgc_severity)s, at);
}

static bool contains(const char *message, qgc_str part)
{
    return memmem(message, strlen(message), part.data, part.size) != NULL;
}

static bool take(qgc_diag *diag, expectations *list, const qgc_diagnostic *item)
{
    uint32_t line = qgc_source_position(diag->sources, item->loc).line;
    for (size_t i = 0; i < list->size; i++) {
        expectation *e = &list->data[i];
        if (e->met || e->severity != item->severity || !contains(item->message, e->text))
            continue;
        if (item->loc.source && (e->source != item->loc.source || e->line != line))
            continue;
        return e->met = true;
    }
    return false;
}

qgc_result qgc_diag_verify(qgc_diag *diag)
{
    static const char *const names[] = {"error", "warning", "remark", "note"};
    qgc_diagnostic *items = diag->list.data;
    size_t num = diag->list.size, errors_before = diag->num_errors;
    diag->list.data = NULL; /* differences are reported into a new list */
    diag->list.size = diag->list.capacity = 0;
    expectations list = {0};
    for (uint32_t source = 1; source <= diag->sources->list.size; source++)
        parse_source(diag, &list, source);
    for (size_t i = 0; i < num; i++)
        if (!take(diag, &list, &items[i]) && items[i].severity != QGC_NOTE)
            qgc_report(diag, items[i].loc, QGC_D_EXPECTATION, "unexpected %s: %s",
                       names[items[i].severity], items[i].message);
    for (size_t i = 0; i < list.size; i++)
        if (!list.data[i].met)
            qgc_report(diag, list.data[i].loc, QGC_D_EXPECTATION, "expected %s did not come: %.*s",
                       names[list.data[i].severity], QGC_STR_ARG(list.data[i].text));
    return diag->num_errors == errors_before ? QGC_OK : QGC_FAILED;
}

/* The diagnostics engine: collects, sorts by location, prints as caret text or JSON lines.
 * One engine per context; the only way any part of the library reports. */
#ifndef QGC_BASE_DIAG_H
#define QGC_BASE_DIAG_H

#include "base/source.h"
#include "base/str.h"
#include "base/vec.h"
#include "qgc/diag.h"

#include <stdio.h>

#define QGC_NO_LOC ((qgc_loc){0, 0, 0})

/* What a diagnostic says, in parts: "op", "value", "row", "fix" ... */
typedef struct qgc_diag_field {
    const char *name;
    const char *value;
    bool is_shown; /* in text, too: the message does not have it */
    struct qgc_diag_field *next;
} qgc_diag_field;

typedef struct qgc_diagnostic {
    qgc_diag_id id;
    qgc_severity severity;
    qgc_loc loc;
    const char *message; /* NUL-terminated; lower case, no full stop */
    const char *origin;  /* pass that reported a remark, or NULL; static or in the engine's arena */
    uint32_t order;      /* of reporting; a note has its parent's */
    qgc_diag_field *fields; /* in the order in which they were added */
} qgc_diagnostic;

typedef struct qgc_diag {
    qgc_arena *arena; /* the context's */
    qgc_sources *sources;
    QGC_VEC(qgc_diagnostic) list;
    size_t num_errors, num_warnings;
    uint32_t next_order;
    bool is_quiet;      /* drops warnings and remarks */
    qgc_str remarks;    /* comma-separated pass names or "all"; empty: none */
    const char *origin; /* set by the pass manager around a pass */
} qgc_diag;

/* A row of include/qgc/diags.def. */
const char *qgc_diag_code(qgc_diag_id id);
const char *qgc_diag_title(qgc_diag_id id);
const char *qgc_diag_text(qgc_diag_id id);
qgc_severity qgc_diag_severity(qgc_diag_id id);
const char *qgc_severity_name(qgc_severity severity); /* "warning" */

/* Reports with the row's severity. Returns QGC_FAILED, so that `return qgc_report(...)` reads well
 * for errors. */
qgc_result qgc_report(qgc_diag *diag, qgc_loc loc, qgc_diag_id id, const char *format, ...)
    QGC_PRINTF(4, 5);
/* Attaches to the diagnostic reported last. */
void qgc_note(qgc_diag *diag, qgc_loc loc, const char *format, ...) QGC_PRINTF(3, 4);
/* Adds a field to the diagnostic reported last, or to what follows it (a remark that nobody wanted:
 * nothing). JSON prints fields as members, text only those that are shown. |name| is static. */
void qgc_diag_add(qgc_diag *diag, const char *name, const char *format, ...) QGC_PRINTF(3, 4);
void qgc_diag_add_shown(qgc_diag *diag, const char *name, const char *format, ...) QGC_PRINTF(3, 4);
/* Whether remarks of the current pass are wanted: ask before building costly text. */
bool qgc_wants_remarks(const qgc_diag *diag);

/* Sorts by location (notes stay with their parent), prints and empties the list. */
void qgc_diag_flush(qgc_diag *diag, FILE *out, qgc_diag_format format, bool color);
/* Compares with the `// expected-error {{...}}` comments of all sources; empties the list. In
 * base/expect.c. */
qgc_result qgc_diag_verify(qgc_diag *diag);
/* Drops diagnostics reported since |size| (= diag->list.size earlier). */
void qgc_diag_rollback(qgc_diag *diag, size_t size);

#endif

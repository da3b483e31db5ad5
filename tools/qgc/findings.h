/* Findings of `qgc check` as a page shows them, for its own page and the report. */
#ifndef QGC_TOOLS_FINDINGS_H
#define QGC_TOOLS_FINDINGS_H

#include "html.h"
#include "qgc/qgc.h"

/* In the order of reporting; the strings are the context's. */
typedef struct finding_list {
    qgc_finding *rows;
    size_t num, num_warnings, capacity;
    bool failed; /* no memory */
} finding_list;

/* A qgc_finding_row; |list|: a finding_list. */
void findings_add(void *list, const qgc_finding *finding);
void findings_free(finding_list *list);

/* The section "checks": figures, and a table with the warnings first. |has_places|: with the files
 * and lines, which mean nothing where the file was a temporary one. */
void findings_write_section(html *page, const finding_list *list, const char *title,
                            bool has_places);

/* The page of `qgc check`: the findings, the types of the ops. |path|: of the graph. */
void findings_write_page(FILE *out, const finding_list *list, qgc_module *module, const char *path);

#endif

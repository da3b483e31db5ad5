/* `qgc diff`: the page. */
#ifndef QGC_TOOLS_DIFF_H
#define QGC_TOOLS_DIFF_H

#include "html.h"
#include "qgc/diff.h"

/* Sections "Differences" and "Graphs" of a page: the table, and both graphs side by side. */
void diff_write_sections(html *page, const qgc_diff *diff);
/* The whole page. */
void diff_write_page(FILE *out, const qgc_diff *diff, const char *left, const char *right);

#endif

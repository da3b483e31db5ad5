/* `qgc diff`: the page. */
#ifndef QGC_TOOLS_DIFF_H
#define QGC_TOOLS_DIFF_H

#include "html.h"
#include "qgc/diff.h"

/* Two sections of a page: the differences under |title|, and both graphs side by side. |tone|: what
 * it means that there are some. */
void diff_write_sections(html *page, const qgc_diff *diff, const char *title, html_tone tone);
/* The whole page. */
void diff_write_page(FILE *out, const qgc_diff *diff, const char *left, const char *right);

#endif

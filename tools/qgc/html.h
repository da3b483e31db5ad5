/* Offline HTML pages: one file with style and script inside, nothing is fetched. All pages look and
 * search alike; light and dark follow the system, narrow windows get one column.
 *
 *     html page;
 *     html_begin(&page, out, "qgc check", "net.qir");
 *     html_section(&page, "findings", "Findings");
 *     html_write(&page, "<p>%s has %zu findings.</p>", name, num);
 *     html_end(&page);
 *
 * The script does the rest: a list of the sections, the search box ('/' focuses it), tables that
 * sort by a click on their head, value names (class "v") that are searched by a click. A page that
 * is opened with #q=TEXT searches TEXT. */
#ifndef QGC_TOOLS_HTML_H
#define QGC_TOOLS_HTML_H

#include "qgc/base.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct html {
    FILE *out;
    bool in_section;
} html;

/* |title| is the heading, |subtitle| what the page is about (file names); both are escaped. */
void html_begin(html *page, FILE *out, const char *title, const char *subtitle);
void html_end(html *page);

/* Begins a section, which ends where the next one or the page does. |id| is its anchor. */
void html_section(html *page, const char *id, const char *title);

/* printf whose format is markup and whose arguments are text: everything an argument prints is
 * escaped, for elements and for quoted attributes. No '*' but in "%.*s", no %n and %p. */
void html_write(html *page, const char *markup, ...) QGC_PRINTF(2, 3);
void html_write_list(html *page, const char *markup, va_list *args);
void html_text(html *page, qgc_str text);
/* A line of .qir: value names, op, types and strings are marked. In an element of class "ir". */
void html_ir(html *page, qgc_str line);

/* What a thing means, as colour and word; a class of the style sheet. */
typedef enum html_tone {
    HTML_PLAIN,
    HTML_GOOD,
    HTML_WARN,
    HTML_BAD,
    HTML_MUTED,
    HTML_NUM_TONES
} html_tone;
const char *html_tone_class(html_tone tone);

/* The numbers that are read first, as a row of tiles. */
void html_tiles_begin(html *page);
void html_tile(html *page, html_tone tone, const char *label, const char *value, ...)
    QGC_PRINTF(4, 5);
void html_tiles_end(html *page);

/* A small rounded word. */
void html_badge(html *page, html_tone tone, const char *text);

/* A table that sorts, and whose rows that do not match are hidden while something is searched. A
 * column name that begins with '#' is a column of numbers. Rows are written with html_row and
 * html_write("<td>...") or html_cell; numbers are set right by class "n". */
void html_table_begin(html *page, size_t num_columns, const char *const *columns);
void html_row(html *page); /* ends the row before */
void html_cell(html *page, const char *markup, ...) QGC_PRINTF(2, 3);
/* A number, "-" where it is NaN; |format| as of printf, for one double. */
void html_number(html *page, const char *format, double value);
void html_value(html *page, const char *name); /* a value's name, which a click searches */
void html_table_end(html *page);

/* Something closed that opens: a bar with the title. The search opens it where it finds something.
 */
void html_fold_begin(html *page, const char *title, ...) QGC_PRINTF(2, 3);
void html_fold_end(html *page);

/* ---- plots: inline SVG (html_plot.c) ---- */

/* Bars of |num| equal bins from |first| to |last|. [low, high] is the range that is kept, shown
 * where low < high: what lies outside is drawn as clipped. */
typedef struct html_histogram {
    const double *counts;
    size_t num;
    double first, last;
    double low, high;
    const char *title; /* or NULL */
    bool is_small;     /* for a cell of a table: no axis */
} html_histogram;
void html_plot_histogram(html *page, const html_histogram *plot);

/* A line along the graph: one point per value in order. NaN: a gap; infinities are drawn at the
 * edge. Each point has a tooltip, and a click searches its name. */
typedef struct html_line {
    const char *const *names;
    const double *values;
    size_t num;
    const char *title, *unit; /* or NULL */
    double threshold;         /* a dashed line there; NaN: none */
    bool lower_is_bad;        /* SQNR: points below the threshold are bad; else those above */
    bool is_logarithmic;      /* values > 0 */
} html_line;
void html_plot_line(html *page, const html_line *plot);

/* Bars below each other, with a title; |share| is the length, 0 to 1, and |value| what is written.
 */
void html_bars_begin(html *page, const char *title);
void html_bar(html *page, html_tone tone, const char *label, double share, const char *value, ...)
    QGC_PRINTF(5, 6);
void html_bars_end(html *page);

/* A horizontal bar for a share of 0 to 1, for cells. */
void html_plot_share(html *page, html_tone tone, double share);

#endif

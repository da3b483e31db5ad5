/* What a comparison is written as. */
#ifndef QGC_TOOLS_COMPARE_H
#define QGC_TOOLS_COMPARE_H

#include "html.h"
#include "output.h"

typedef struct comparison {
    const qgc_compare_report *report;
    const char *a, *b; /* file names */
    double start_db;
    const char *metric; /* that samples are ranked by */
} comparison;

/* output_writers; |report| is a comparison. */
void compare_write_text(FILE *out, const void *report);
void compare_write_csv(FILE *out, const void *report);
void compare_write_json(FILE *out, const void *report);
void compare_write_html(FILE *out, const void *report);

/* Sections of a page: where error starts, along the graph, values, worst samples. */
void compare_write_sections(html *page, const comparison *c);

/* dB that a part of the error lies below the values: 10 log10(mean square of the first graph's
 * values / part); infinity where there is none. */
double compare_part_db(const qgc_compare_row *row, double part);

#endif

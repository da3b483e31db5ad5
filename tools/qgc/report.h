/* `qgc quantize --report`: all that is known of one quantization, on one page. */
#ifndef QGC_TOOLS_REPORT_H
#define QGC_TOOLS_REPORT_H

#include "compare.h"
#include "findings.h"

/* The model that was quantized, to be read again: some figures change the graphs they are taken
 * from. */
typedef struct report_source {
    qgc_str text;
    uint32_t first_line;
    const char *directory;
    const char *calibrated; /* file of the graph with its statistics, or NULL */
} report_source;

typedef struct quantize_report {
    const char *model, *output; /* file names */
    qgc_module *left, *right;   /* float and quantized, as read */
    qgc_module *fused;          /* float, as it is before annotate: what the diff is against */
    qgc_summary before, after;  /* of them */
    qgc_eval_report accuracy, float_accuracy;
    qgc_compare_report values;
    qgc_sens_report sensitivity;
    double seconds[2]; /* of machine code for one sample: float, quantized */
    finding_list
        findings; /* of the quantized graph, or where that is lowered, the calibrated one */
    qgc_diff *diff;
    qgc_explain *explain; /* of the float graph */
} quantize_report;

/* Measures and writes the page: the options --report, -o, --data, --limit, --labels, --func. */
qgc_result write_report(invocation *call, const report_source *source);
/* An output_writer. */
void report_write_html(FILE *out, const void *report);

#endif

/* Rankings of values, for qgc sens and qgc tune. */
#ifndef QGC_TOOLS_SENS_H
#define QGC_TOOLS_SENS_H

#include "calibrate.h"
#include "output.h"

/* Prepares a float graph by |rules| (NULL: preset int8) as qgc quantize does, and calibrates it on
 * |samples|, unless |statistics|, a calibration of the same graph by other rules or NULL, has all
 * that it needs; a calibrated graph stays as it is. */
qgc_result make_calibrated(invocation *call, qgc_module *module, const char *rules,
                           const qgc_samples *samples, const qgc_module *statistics);
/* What is ranked and how, from the command's options. */
qgc_result read_sens_options(invocation *call, qgc_sens_options *out);
/* With a progress bar; says on stderr how many trials there are at most. */
qgc_result rank_values(invocation *call, qgc_module *module, const qgc_samples *samples,
                       qgc_sens_options *options, qgc_sens_report *out);

typedef struct ranking {
    const qgc_sens_report *report;
    const char *file, *metric;
} ranking;
/* output_writers; |report| is a ranking. */
void sens_write_table(FILE *out, const void *report);
void sens_write_csv(FILE *out, const void *report);
void sens_write_json(FILE *out, const void *report);

#endif

/* What data the options of a command name. */
#ifndef QGC_TOOLS_SAMPLES_H
#define QGC_TOOLS_SAMPLES_H

#include "command.h"

/* Borrows from the command line. Not to be copied: |samples| points to |files|. */
typedef struct data_source {
    qgc_samples samples;
    qgc_data_file files[MAX_REPEATS + 1];
} data_source;

/* Reports that the command needs --data or --input where it has neither. */
qgc_result require_data(invocation *call);
/* Files of the options |data| (or NULL) and |input|; none is fine. */
qgc_result read_data_files(invocation *call, const char *data, const char *input, data_source *out);
/* The files of --data and --input, and which samples: --batch, --first, --limit, --shard. */
qgc_result read_data(invocation *call, data_source *out);
/* For statistics: all samples of --calibration and --calibration-input, or of the files of |data|
 * where neither is given. */
qgc_result read_calibration_data(invocation *call, const data_source *data, data_source *out);

/* A number of at least 1; |out| stays where the option is not given. */
qgc_result read_size(invocation *call, const char *option, size_t *out);

#endif

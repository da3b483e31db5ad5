/* What the commands that run over data share. */
#ifndef QGC_TOOLS_CALIBRATE_H
#define QGC_TOOLS_CALIBRATE_H

#include "input.h"
#include "samples.h"

#include <time.h>

/* A bar on a terminal's stderr, for work over a second. */
typedef struct progress {
    struct timespec start;
    double last;
    int width; /* of the text on the screen */
    bool is_wanted, shown;
} progress;
void progress_begin(invocation *call, progress *bar);
/* A progress callback; |user| is the bar. */
void progress_show(void *user, size_t done, size_t total);
void progress_end(progress *bar);

/* With the options about data, --func, --resume, --checkpoint. */
qgc_result calibrate_module(invocation *call, qgc_module *module);
/* The file of --resume, once what it is for is written. */
void remove_state(invocation *call);

#endif

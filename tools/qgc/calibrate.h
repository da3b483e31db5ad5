/* What the commands that run over data share. */
#ifndef QGC_TOOLS_CALIBRATE_H
#define QGC_TOOLS_CALIBRATE_H

#include "input.h"

#include <time.h>

/* A bar on a terminal's stderr, for work over a second. */
typedef struct progress {
    struct timespec start;
    double last;
    bool is_wanted, shown;
} progress;
void progress_begin(invocation *call, progress *bar);
/* A progress callback; |user| is the bar. */
void progress_show(void *user, size_t done, size_t total);
void progress_end(progress *bar);

/* A number of at least 1; |out| stays where the option is not given. */
qgc_result read_size(invocation *call, const char *option, size_t *out);

/* --shard: "0/4" is the first of four parts; both stay where it is not given. */
qgc_result read_shard(invocation *call, size_t *out_shard, size_t *out_num);

/* With the options --func, --batch, --limit, --shard, --resume, --checkpoint. */
qgc_result calibrate_module(invocation *call, qgc_module *module, const char *data);
/* The file of --resume, once what it is for is written. */
void remove_state(invocation *call);

#endif

/* Options that become options of passes, and the passes behind --target. */
#ifndef QGC_TOOLS_LOWER_H
#define QGC_TOOLS_LOWER_H

#include "command.h"

/* "{name=value}" of an option, or "" where it is not given. The value must fit a pipeline's text;
 * QGC_FAILED after reporting where it does not. */
qgc_result pass_option(invocation *call, const char *option, const char *name, char *out,
                       size_t size);

/* Runs a pipeline; its one "%s" is replaced by |argument|. */
qgc_result run_formatted(qgc_module *module, const char *format, const char *argument);

/* Partitions and lowers a quantized graph for --target, by the rows of --rules where the command
 * has them; does nothing without --target. */
qgc_result lower_for_target(invocation *call, qgc_module *module);

#endif

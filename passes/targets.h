/* Targets: cpu and ref, which are built in, and plug-ins; all described by qgc/backend.h. */
#ifndef QGC_PASSES_TARGETS_H
#define QGC_PASSES_TARGETS_H

#include "ir/context.h"

/* The backend of that name and its state; *out_state may be NULL. *out NULL: there is none. A
 * plug-in is looked for in the plug-in path where it is not loaded; QGC_FAILED: it cannot be
 * (reported). */
qgc_result qgc_target_find(qgc_context *context, const char *name, const qgc_backend **out,
                           void **out_state);
/* Names of those that are there now; NULL after the last. */
const char *qgc_target_name(const qgc_context *context, size_t index);
/* Whether regions of this target are lowered by a plug-in that is there, not by the host. */
bool qgc_target_lowers_itself(qgc_context *context, qgc_name name);

#endif

/* The weights files of a module. */
#ifndef QGC_FRONTEND_WEIGHTS_H
#define QGC_FRONTEND_WEIGHTS_H

#include "ir/graph.h"

/* Opens each file that the module names and makes its tensors findable. |user| is the directory
 * that relative paths start from, with its final '/', or "". A qgc_open_weights. Paths must stay
 * inside that directory: a model file is untrusted. */
qgc_result qgc_weights_open(void *user, qgc_module *module);

/* Not empty, not absolute, no way up. */
bool qgc_path_stays_inside(qgc_str path);

#endif

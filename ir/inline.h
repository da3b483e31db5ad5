/* Called functions put in place of their calls. */
#ifndef QGC_IR_INLINE_H
#define QGC_IR_INLINE_H

#include "ir/graph.h"

/* Every `call` in |func|, also those that come with a callee's body, becomes the callee's nodes;
 * values whose names are taken get new ones. The callees stay as they are. Reported: a loop, whose
 * number of turns is known at run time only; bodies that grow beyond QGC_INLINE_MAX_NODES. */
enum { QGC_INLINE_MAX_NODES = 1 << 20 };
qgc_result qgc_func_inline(qgc_func *func);
/* The same, but loops stay, and calls of functions that |keeps|. */
qgc_result qgc_func_inline_except(qgc_func *func, bool (*keeps)(const qgc_func *callee));

#endif

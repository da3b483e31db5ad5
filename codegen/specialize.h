/* A function made ready to be compiled: a copy for the shapes of given inputs. */
#ifndef QGC_CODEGEN_SPECIALIZE_H
#define QGC_CODEGEN_SPECIALIZE_H

#include "ir/graph.h"
#include "qgc/tensor.h"

/* What became of a function; the inputs' shapes are in its parameters' types. */
typedef struct qgc_special {
    qgc_module *module; /* to be destroyed; NULL where there is no copy */
    qgc_func *func;     /* of the module; NULL: it cannot be compiled */
    qgc_map originals;  /* values of |func| -> those that they are copies of, where nothing was put
                           in  place */
    const char *why;    /* it cannot, in the arena; NULL: inputs do not fit the parameters */
} qgc_special;

/* Copies |func| and what it calls, gives the parameters the inputs' shapes and all values theirs,
 * and computes what is made of shapes (shape_of and arithmetic on it). Nothing reads what an
 * observer gives, but what it observes. |inlines|: calls are put in place, but loops stay, and
 * calls of regions that a plug-in lowers; observers go. Else they stay, for a watch. The module of
 * |func| stays as it is and must live as long. Nothing is reported. */
qgc_special qgc_specialize(const qgc_func *func, const qgc_tensor *inputs, bool inlines,
                           qgc_arena *arena);

/* Whether a plug-in's backend lowers the function itself. */
bool qgc_is_foreign(const qgc_func *func);

#endif

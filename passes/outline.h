/* Every op a function of its own: an engine then runs each in machine code while all values are
 * seen. */
#ifndef QGC_PASSES_OUTLINE_H
#define QGC_PASSES_OUTLINE_H

#include "ir/graph.h"

/* A constant that stands in an outlined function in place of an observer of it. */
typedef struct qgc_outlined_constant {
    const qgc_node *observer;           /* in the function it comes from */
    const qgc_node *constant;           /* in the outlined one */
    struct qgc_outlined_constant *next; /* the observer's next copy */
} qgc_outlined_constant;

typedef struct qgc_outline {
    /* Whether a value has to be seen; others may stay inside of a function. NULL: all have. */
    bool (*is_kept)(void *user, const qgc_value *value);
    void *user;
    qgc_map constants; /* out: observer node -> qgc_outlined_constant * */
    qgc_map is_made;   /* out: the functions that were made */
} qgc_outline;

/* Moves each op of each function, with those whose results only it reads and nobody has to see,
 * into a new function without a target, and calls that. Constants, and observers of constants as
 * what they observe, are copied into it. Values keep their names, and the functions compute the
 * same. Calls, loops and observers of other values stay where they are. */
void qgc_outline_all(qgc_module *module, qgc_outline *outline, qgc_arena *scratch);

#endif

/* Threads that share work: pthreadpool, behind the little that qgc needs of it. */
#ifndef QGC_RUNTIME_POOL_H
#define QGC_RUNTIME_POOL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct qgc_pool qgc_pool;

/* |threads|: the caller's among them; 0: as many as the process may run at once. NULL: there is one
 * thread only, which needs no pool, or the system has no more (which is no failure: the caller does
 * all). */
qgc_pool *qgc_pool_create(size_t threads);
void qgc_pool_destroy(qgc_pool *pool);         /* NULL is fine */
size_t qgc_pool_threads(const qgc_pool *pool); /* 1 of NULL */
/* What 0 stands for. */
size_t qgc_pool_default_threads(void);

/* Calls |task| for each part, on any thread, in any order, and returns when all have ended.
 * Floating point is in the standard mode (runtime/fp_mode.h). Allocates nothing. |pool| NULL: one
 * after the other. Not from within a task. */
typedef void qgc_pool_task(void *user, size_t part);
void qgc_pool_run(qgc_pool *pool, size_t parts, qgc_pool_task *task, void *user, bool more_soon);

#endif

/* Threads that share work, step by step. Steps take microseconds, so that threads of a call look
 * for the next one without sleeping in between; behind a call they look for another for a while. */
#ifndef QGC_RUNTIME_POOL_H
#define QGC_RUNTIME_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct qgc_pool qgc_pool;

enum {
    QGC_POOL_FINEST = 8, /* parts of a step, at most, for each thread of the pool */
    QGC_POOL_AWAKE =
        100 /* microseconds for which a thread looks for the next call, then it sleeps */
};

/* |threads|: the caller's among them; 0: as many as the process may run at once. NULL: there is one
 * thread only, which needs no pool, or the system has no more (which is no failure: the caller does
 * all). */
qgc_pool *qgc_pool_create(size_t threads);
void qgc_pool_destroy(qgc_pool *pool);         /* NULL is fine */
size_t qgc_pool_threads(const qgc_pool *pool); /* 1 of NULL */
/* What 0 stands for. */
size_t qgc_pool_default_threads(void);

typedef struct qgc_pool_step {
    uint32_t parts;        /* at least 1, at most QGC_POOL_FINEST for each thread */
    bool is_of_the_caller; /* on no other thread */
    bool flows;            /* the next step does not wait for it, the one behind that does */
} qgc_pool_step;

/* Calls |task| for each part of each of |num| |steps|, and returns when all have ended. Parts of a
 * step are called on any thread, in any order, where there are as many as threads mostly part i on
 * thread i; a step begins when the parts of those before have ended, and sees what they wrote. A
 * thread that is late joins the others where they are. Floating point is in the standard mode
 * (runtime/fp_mode.h). Allocates nothing. |pool| NULL: one after the other. Not from within a task.
 * One call at a time. |wakes|: threads that sleep, too; else only such as are awake, or where calls
 * come soon one after another. */
typedef void qgc_pool_task(void *user, size_t step, size_t part);
void qgc_pool_run(qgc_pool *pool, const qgc_pool_step *steps, size_t num, qgc_pool_task *task,
                  void *user, bool wakes);

#endif

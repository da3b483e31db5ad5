#include "runtime/pool.h"

#include "runtime/fp_mode.h"

#include <pthreadpool.h>
#include <sched.h>
#include <unistd.h>

/* The pool is code that the thread sanitizer does not see: it is told of the order that the pool
 * keeps. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif
#if defined(HAS_TSAN) || defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define ACQUIRE(address) __tsan_acquire(address)
#define RELEASE(address) __tsan_release(address)
#else
#define ACQUIRE(address) (void)(address)
#define RELEASE(address) (void)(address)
#endif

/* A qgc_pool is a pthreadpool by another name: there is nothing to add to it. */
static struct pthreadpool *inner(const qgc_pool *pool)
{
    return (struct pthreadpool *)(uintptr_t)pool;
}

typedef struct job {
    qgc_pool_task *task;
    void *user;
    char begun, ended; /* addresses for the sanitizer */
} job;

static void run_part(void *user, size_t part)
{
    job *j = user;
    ACQUIRE(&j->begun);
    qgc_fp_mode mode = qgc_fp_enter();
    j->task(j->user, part);
    qgc_fp_leave(mode);
    RELEASE(&j->ended);
}

size_t qgc_pool_default_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (size_t)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

qgc_pool *qgc_pool_create(size_t threads)
{
    if (!threads)
        threads = qgc_pool_default_threads();
    return threads > 1 ? (qgc_pool *)pthreadpool_create(threads) : NULL;
}

void qgc_pool_destroy(qgc_pool *pool)
{
    if (pool)
        pthreadpool_destroy(inner(pool));
}

size_t qgc_pool_threads(const qgc_pool *pool)
{
    return pool ? pthreadpool_get_threads_count(inner(pool)) : 1;
}

void qgc_pool_run(qgc_pool *pool, size_t parts, qgc_pool_task *task, void *user, bool more_soon)
{
    job j = {task, user, 0, 0};
    if (!pool || parts < 2) {
        for (size_t i = 0; i < parts; i++)
            run_part(&j, i);
        return;
    }
    /* Threads beyond the processors must not spin: the others would wait for them. */
    bool is_crowded = qgc_pool_threads(pool) > qgc_pool_default_threads();
    RELEASE(&j.begun);
    pthreadpool_parallelize_1d(inner(pool), run_part, &j, parts,
                               is_crowded || !more_soon ? PTHREADPOOL_FLAG_YIELD_WORKERS : 0);
    ACQUIRE(&j.ended);
}

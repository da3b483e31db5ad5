#include "runtime/pool.h"

#include "base/arena.h"
#include "runtime/fp_mode.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* What two threads write lies in lines of its own. */
enum { LINE = 64 };

/* The number of the last step whose part of this number somebody has: it only rises in a call. */
typedef struct claim {
    alignas(LINE) atomic_size_t step;
} claim;

/* A thread beside the caller's. */
typedef struct worker {
    alignas(LINE) atomic_bool is_asleep; /* who makes it false posts |wake| */
    sem_t wake;
    pthread_t thread;
    size_t self; /* its number; the caller's is 0 */
    qgc_pool *pool;
} worker;

/* A call of qgc_pool_run. Nobody works on a step before all parts of those before it have ended, so
 * that one number says how far all are. */
typedef struct team {
    const qgc_pool_step *steps;
    size_t num, num_threads;
    qgc_pool_task *task;
    void *user;
    bool wakes;
} team;

struct qgc_pool {
    qgc_arena arena; /* with this */
    size_t num_threads;
    bool is_crowded; /* there are more threads than processors */
    claim *claims;   /* QGC_POOL_FINEST for each thread */
    worker *workers; /* one for each thread but the caller's */
    team team;       /* of the call that is open */
    size_t num_calls;
    double last_call;                      /* when it ended, in microseconds */
    alignas(LINE) atomic_size_t open;      /* the number of that call; 0: none is */
    alignas(LINE) atomic_size_t inside;    /* workers that may look at the team */
    alignas(LINE) atomic_size_t num_ended; /* parts, of all steps of the call */
    atomic_bool ends;
};

/* ---- a thread of a team ---- */

static void pause_briefly(void)
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static size_t count_ended(qgc_pool *pool)
{
    return atomic_load_explicit(&pool->num_ended, memory_order_acquire);
}

/* Between two looks, of which this is the |i|th: at once, since a step takes microseconds; where
 * waiting is long, others may have work for the processor. */
static void pause_before(const qgc_pool *pool, size_t i)
{
    enum { PATIENCE = 2000 };
    pause_briefly();
    if (pool->is_crowded || i >= PATIENCE)
        sched_yield();
}

static void wait_for(qgc_pool *pool, size_t num_ended)
{
    for (size_t i = 0; count_ended(pool) < num_ended; i++)
        pause_before(pool, i);
}

static bool take(claim *part, size_t step)
{
    size_t last = atomic_load_explicit(&part->step, memory_order_relaxed);
    return last < step && atomic_compare_exchange_strong_explicit(
                              &part->step, &last, step, memory_order_relaxed, memory_order_relaxed);
}

/* Parts of a step that nobody has: first those that are this thread's where all are there, since
 * what they read is near it. */
static void share_step(qgc_pool *pool, size_t step, size_t self, size_t num_ended)
{
    const team *t = &pool->team;
    size_t parts = t->steps[step].parts, first = self * parts / t->num_threads;
    for (size_t i = 0; i < parts && count_ended(pool) < num_ended; i++) {
        size_t part = first + i < parts ? first + i : first + i - parts;
        if (!take(&pool->claims[part], step + 1))
            continue;
        t->task(t->user, step, part);
        atomic_fetch_add_explicit(&pool->num_ended, 1, memory_order_acq_rel);
    }
}

static void work(qgc_pool *pool, size_t self)
{
    const team *t = &pool->team;
    qgc_fp_mode mode = qgc_fp_enter();
    size_t num_ended = 0;
    for (size_t i = 0; i < t->num; i++) {
        num_ended += t->steps[i].parts;
        if (!self || !t->steps[i].is_of_the_caller)
            share_step(pool, i, self, num_ended);
        if (!t->steps[i].flows)
            wait_for(pool, num_ended);
    }
    qgc_fp_leave(mode);
}

/* ---- between calls ---- */

static void wake(worker *w)
{
    if (atomic_exchange(&w->is_asleep, false))
        sem_post(&w->wake);
}

/* As a tree: to wake a thread takes some microseconds of the one that does it. */
static void wake_next(qgc_pool *pool, size_t self)
{
    size_t end = pool->team.wakes ? pool->team.num_threads : 0;
    for (size_t next = 2 * self + 1; next <= 2 * self + 2 && next < end; next++)
        wake(&pool->workers[next - 1]);
}

static bool is_called(worker *w, size_t last)
{
    size_t open = atomic_load(&w->pool->open);
    return (open && open != last) || atomic_load(&w->pool->ends);
}

static double microseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

/* The next call often comes soon. To look for it for about as long as waking takes costs at most
 * twice of what knowing the future would. */
static bool look_out(worker *w, size_t last)
{
    enum { LOOKS = 50 };
    double end = w->pool->is_crowded ? 0 : microseconds() + QGC_POOL_AWAKE;
    do
        for (int i = 0; i < LOOKS; i++) {
            if (is_called(w, last))
                return true;
            pause_briefly();
        }
    while (microseconds() < end);
    return false;
}

static void fall_asleep(worker *w, size_t last)
{
    atomic_store(&w->is_asleep, true);
    if (is_called(w, last) && atomic_exchange(&w->is_asleep, false))
        return;
    while (sem_wait(&w->wake) != 0)
        continue;
}

/* Joins the call that is open, if it still is. Returns its number. */
static size_t join(worker *w)
{
    qgc_pool *pool = w->pool;
    atomic_fetch_add(&pool->inside, 1);
    size_t open = atomic_load(&pool->open);
    if (open && w->self < pool->team.num_threads) {
        wake_next(pool, w->self);
        work(pool, w->self);
    }
    atomic_fetch_sub(&pool->inside, 1);
    return open;
}

static void *live(void *user)
{
    worker *w = user;
    size_t last = 0;
    while (!atomic_load(&w->pool->ends)) {
        if (!look_out(w, last))
            fall_asleep(w, last);
        size_t open = join(w);
        last = open ? open : last;
    }
    return NULL;
}

/* ---- the caller ---- */

static void run_alone(const qgc_pool_step *steps, size_t num, qgc_pool_task *task, void *user)
{
    qgc_fp_mode mode = qgc_fp_enter();
    for (size_t i = 0; i < num; i++)
        for (size_t part = 0; part < steps[i].parts; part++)
            task(user, i, part);
    qgc_fp_leave(mode);
}

static size_t count_parts(const qgc_pool_step *steps, size_t num)
{
    size_t most = 1;
    for (size_t i = 0; i < num; i++)
        most = steps[i].parts > most ? steps[i].parts : most;
    return most;
}

void qgc_pool_run(qgc_pool *pool, const qgc_pool_step *steps, size_t num, qgc_pool_task *task,
                  void *user, bool wakes)
{
    size_t most = count_parts(steps, num);
    if (!pool || most < 2) {
        run_alone(steps, num, task, user);
        return;
    }
    size_t num_threads = most < pool->num_threads ? most : pool->num_threads;
    wakes = wakes || microseconds() - pool->last_call < QGC_POOL_AWAKE;
    pool->team = (team){steps, num, num_threads, task, user, wakes};
    for (size_t i = 0; i < most; i++)
        atomic_store_explicit(&pool->claims[i].step, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->num_ended, 0, memory_order_relaxed);
    atomic_store(&pool->open, ++pool->num_calls);
    wake_next(pool, 0);
    work(pool, 0);
    atomic_store(&pool->open, 0);
    pool->last_call = microseconds();
    for (size_t i = 0; atomic_load(&pool->inside); i++)
        pause_before(pool, i);
}

/* ---- */

size_t qgc_pool_default_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (size_t)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

static bool start(qgc_pool *pool, size_t self)
{
    worker *w = &pool->workers[self - 1];
    w->pool = pool;
    w->self = self;
    atomic_init(&w->is_asleep, false);
    if (sem_init(&w->wake, 0, 0) != 0)
        return false;
    if (pthread_create(&w->thread, NULL, live, w) == 0)
        return true;
    sem_destroy(&w->wake);
    return false;
}

/* |bytes| of lines of one's own, zeroed. */
static void *new_lines(qgc_arena *arena, size_t bytes)
{
    uintptr_t at = (uintptr_t)qgc_arena_alloc(arena, bytes + LINE - 1);
    return (void *)((at + LINE - 1) / LINE * LINE);
}

qgc_pool *qgc_pool_create(size_t threads)
{
    if (!threads)
        threads = qgc_pool_default_threads();
    if (threads < 2)
        return NULL;
    qgc_arena arena = {0};
    qgc_pool *pool = new_lines(&arena, sizeof *pool);
    pool->is_crowded = threads > qgc_pool_default_threads();
    pool->claims = new_lines(&arena, threads * QGC_POOL_FINEST * sizeof *pool->claims);
    pool->workers = new_lines(&arena, (threads - 1) * sizeof *pool->workers);
    pool->arena = arena;
    pool->num_threads = 1;
    while (pool->num_threads < threads && start(pool, pool->num_threads))
        pool->num_threads++;
    if (pool->num_threads == threads)
        return pool;
    qgc_pool_destroy(pool);
    return NULL;
}

void qgc_pool_destroy(qgc_pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->ends, true);
    for (size_t i = 1; i < pool->num_threads; i++) {
        worker *w = &pool->workers[i - 1];
        wake(w);
        pthread_join(w->thread, NULL);
        sem_destroy(&w->wake);
    }
    qgc_arena arena = pool->arena;
    qgc_arena_destroy(&arena);
}

size_t qgc_pool_threads(const qgc_pool *pool)
{
    return pool ? pool->num_threads : 1;
}

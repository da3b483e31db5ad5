/* Threads that share steps: each part once, each step behind those that it waits for, awake or
 * woken, more of them than processors or fewer. The thread sanitizer runs this test too: what one
 * step writes, the next one reads without more ado. */
#include "runtime/fp_mode.h"
#include "runtime/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { NUM_STEPS = 60, MOST_PARTS = 64, MOST_THREADS = 8 };

/* Steps, and what their parts left behind. Counters of parts are not atomic: who comes behind a
 * step sees them, nobody else looks. */
typedef struct log {
    qgc_pool_step steps[NUM_STEPS];
    uint32_t calls[NUM_STEPS][MOST_PARTS];
    pthread_t caller;
    atomic_uint num_early, num_elsewhere, num_odd; /* too early, on a thread, in a mode */
} log;

static bool has_ended(const log *l, size_t step)
{
    for (uint32_t i = 0; i < l->steps[step].parts; i++)
        if (l->calls[step][i] != 1)
            return false;
    return true;
}

/* A step that flows is behind those before it, too: only the next one does not wait. */
static void note(void *user, size_t step, size_t part)
{
    log *l = user;
    for (size_t i = 0; i + 1 < step; i++)
        if (!l->steps[i].flows && !has_ended(l, i))
            atomic_fetch_add(&l->num_early, 1);
    if (step && !l->steps[step - 1].flows && !has_ended(l, step - 1))
        atomic_fetch_add(&l->num_early, 1);
    if (l->steps[step].is_of_the_caller && !pthread_equal(pthread_self(), l->caller))
        atomic_fetch_add(&l->num_elsewhere, 1);
#if defined(__x86_64__)
    if ((_mm_getcsr() & ~0x3fU) != 0x1f80)
        atomic_fetch_add(&l->num_odd, 1);
#endif
    l->calls[step][part]++;
}

static void sleep_for(long microseconds)
{
    struct timespec time = {0, microseconds * 1000};
    nanosleep(&time, NULL);
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* No step behind one that flows flows itself, so that two steps on all have ended. */
static void make_steps(log *l, size_t threads, uint32_t *random)
{
    for (size_t i = 0; i < NUM_STEPS; i++) {
        uint32_t kind = next_random(random) % 4, most = (uint32_t)(threads * QGC_POOL_FINEST);
        bool may_flow = i + 1 < NUM_STEPS && (!i || !l->steps[i - 1].flows);
        l->steps[i] = (qgc_pool_step){.parts = 1};
        if (kind == 0)
            l->steps[i].is_of_the_caller = true;
        else if (kind == 1)
            l->steps[i].parts = 1 + next_random(random) % most;
        else
            l->steps[i].parts = (uint32_t)threads;
        l->steps[i].flows = may_flow && kind == 2;
    }
}

static void run_and_check(qgc_pool *pool, log *l, bool wakes)
{
    memset(l->calls, 0, sizeof l->calls);
    l->caller = pthread_self();
    qgc_pool_run(pool, l->steps, NUM_STEPS, note, l, wakes);
    for (size_t i = 0; i < NUM_STEPS; i++)
        assert_true(has_ended(l, i));
    assert_int_equal(atomic_load(&l->num_early), 0);
    assert_int_equal(atomic_load(&l->num_elsewhere), 0);
    assert_int_equal(atomic_load(&l->num_odd), 0);
}

/* Calls at once one after another, and such that threads fell asleep before. */
static void test_steps(void **state)
{
    (void)state;
    uint32_t random = 7;
    log *l = calloc(1, sizeof *l);
    for (size_t threads = 1; threads <= MOST_THREADS; threads++) {
        qgc_pool *pool = qgc_pool_create(threads);
        assert_int_equal(qgc_pool_threads(pool), threads);
        for (int round = 0; round < 60; round++) {
            make_steps(l, threads, &random);
            run_and_check(pool, l, round % 3 != 0);
            if (round % 5 == 0)
                sleep_for(3 * QGC_POOL_AWAKE);
        }
        qgc_pool_destroy(pool);
    }
    free(l);
}

/* Parts that do not end before all of them have begun: so many threads are there, woken or not. */
static void meet(void *user, size_t step, size_t part)
{
    atomic_uint *met = user;
    (void)part;
    atomic_fetch_add(&met[step], 1);
    while (atomic_load(&met[step]) < MOST_THREADS)
        sleep_for(10);
}

static void test_all_come(void **state)
{
    (void)state;
    qgc_pool *pool = qgc_pool_create(MOST_THREADS);
    for (int round = 0; round < 20; round++) {
        atomic_uint met[2] = {0, 0};
        qgc_pool_step steps[] = {{.parts = MOST_THREADS}, {.parts = MOST_THREADS}};
        qgc_pool_run(pool, steps, 2, meet, met, true);
        assert_int_equal(atomic_load(&met[1]), MOST_THREADS);
        if (round % 2)
            sleep_for(3 * QGC_POOL_AWAKE);
    }
    qgc_pool_destroy(pool);
}

/* Threads are born into the caller's mode; all work in the standard one, and the caller keeps its
 * own. */
static void test_mode(void **state)
{
    (void)state;
#if defined(__x86_64__)
    enum { TO_ZERO = 0x1f80 | 0x8040 };
    uint32_t before = _mm_getcsr(), random = 1;
    log *l = calloc(1, sizeof *l);
    _mm_setcsr(TO_ZERO);
    qgc_pool *pools[] = {NULL, qgc_pool_create(2)};
    for (int i = 0; i < 2; i++) {
        make_steps(l, 2, &random);
        _mm_setcsr(TO_ZERO);
        run_and_check(pools[i], l, true);
        uint32_t after = _mm_getcsr();
        _mm_setcsr(before);
        assert_int_equal(after & ~0x3fU, TO_ZERO);
    }
    qgc_pool_destroy(pools[1]);
    free(l);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_all_come),
        cmocka_unit_test(test_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

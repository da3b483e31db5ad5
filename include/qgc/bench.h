/* How fast a graph is, and each step of it, beside what the machine can do. */
#ifndef QGC_BENCH_H
#define QGC_BENCH_H

#include "qgc/engine.h"
#include "qgc/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qgc_bench_options {
    const char *func;          /* NULL: "main" */
    qgc_engine_options engine; /* of machine code */
    bool is_interpreted;       /* the reference interpreter in its place: no steps, no peak */
    double seconds;            /* to measure for, about; 0: 1 */
    size_t rounds; /* so many exactly, whatever they take; 0: at least 5, by |seconds| */
    bool wants_steps;
    const qgc_tensors *inputs; /* by name; those that are not given are random */
    uint64_t seed;             /* of these */
} qgc_bench_options;

/* In seconds, of the rounds: a round is one run, or several where they are short. */
typedef struct qgc_bench_time {
    double median, min;
    double spread; /* the middle half of the rounds, as a share of the median */
} qgc_bench_time;

typedef struct qgc_bench_step {
    const char *value;  /* what it makes, "%y" */
    const char *kernel; /* "conv"; "ref softmax": the interpreter's */
    const char *note;   /* the kernel's parameters; "" */
    const char *why;    /* of ref: why no generated kernel takes it; "" */
    size_t parts;       /* of its work, which threads share */
    size_t threads;     /* that had one */
    double balance;     /* their work on average / that of the thread with the most */
    double busy;        /* their work / the time that all of the threads had for it */
    double macs, bytes; /* multiply-adds (nominal), bytes read and written */
    bool is_integer;    /* the multiply-adds */
    qgc_bench_time time;
} qgc_bench_step;

typedef struct qgc_bench_report {
    const char *cpu; /* CPU level; "interpreter" */
    size_t threads, rounds, runs;
    double compile_seconds; /* until the first run could begin */
    bool is_cached;         /* ... with machine code from the cache */
    double cached_seconds;  /* the same again, with what this run has put there; 0: nothing */
    size_t arena_bytes;
    double integer_macs, float_macs; /* of one run, nominal */
    /* Multiply-adds per second of loops in registers, of all threads, median of the rounds; 0: not
     * measured. Integer: u8 * s8, or what the level has in its place. */
    double integer_peak, float_peak;
    double share; /* of the peak: the time at the peak / the time taken, median of the rounds */
    qgc_bench_time time;
    size_t num_steps;
    const qgc_bench_step *steps;
    void *owner; /* private */
} qgc_bench_report;

/* Shapes must be fixed (qgc_module_bind). A function that cannot be compiled is reported. Peak and
 * graph are measured in turns, so that a change of the clock meets both. */
QGC_API qgc_result qgc_module_bench(qgc_module *module, const qgc_bench_options *options,
                                    qgc_bench_report *out);
QGC_API void qgc_bench_free(qgc_bench_report *report);

#ifdef __cplusplus
}
#endif
#endif

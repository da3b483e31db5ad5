/* One random graph and the ways to execute it. */
#ifndef QGC_TEST_DIFFERENTIAL_H
#define QGC_TEST_DIFFERENTIAL_H

#include "codegen/llvm/level.h"
#include "ir/graph.h"
#include "qgc/qgc.h"

enum { TEST_MAX_PORTS = 8 };

typedef struct test_graph {
    qgc_context *context;
    qgc_module *module;
    const qgc_func *func;
    uint32_t num_inputs, num_outputs;
    qgc_tensor inputs[TEST_MAX_PORTS];
    qgc_tensor other[TEST_MAX_PORTS]; /* inputs of a run before, whose remains must not matter */
    qgc_tensor want[TEST_MAX_PORTS], got[TEST_MAX_PORTS];
} test_graph;

typedef struct test_run {
    qgc_level level; /* a copy, perhaps unoptimized */
    size_t threads;
    bool is_object;
    size_t ref_steps; /* out: steps without a generated kernel */
} test_run;

/* Parses function @g, fills its inputs, runs the reference. |fill|: "random"; "low", "high": the
 * ends of the type's range; "ends": either; "zeros". Floats: "wide", "special", else near zero.
 * Failures are reported; test_close in any case. */
qgc_result test_open(test_graph *t, qgc_str text, uint32_t seed, const char *fill);
void test_close(test_graph *t);

/* "x86-64-v3:jit2:off" */
bool test_parse_run(const char *text, test_run *out);
/* Twice, with the other inputs first; the results are in |t->got|. */
qgc_result test_execute(test_graph *t, test_run *run);
bool test_compare(const test_graph *t, char *detail, size_t size);
/* Frees what test_execute made. */
void test_forget(test_graph *t);
/* PREFIX<index>.qir, .npz: for `qgc run` and `qgc reduce`. */
void test_save(test_graph *t, const char *prefix, unsigned index);

#ifdef QGC_MUTATIONS
extern int qgc_mutation; /* 0: none; in the mutated code */
extern const char *const qgc_mutation_names[], *const qgc_mutation_texts[]; /* NULL at the end */
#endif

#endif

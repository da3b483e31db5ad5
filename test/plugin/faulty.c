/* Plug-ins that break a rule of qgc/backend.h each; FAULT says which. They claim relu and neg. */
#include "qgc/backend.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>

enum {
    NONE,
    VERSION,     /* another ABI */
    NOTHING,     /* the query returns NULL */
    SHORT,       /* the struct lacks fields */
    NAME,        /* a name with a blank */
    NO_ROWS,     /* no patterns */
    BAD_ROW,     /* a claim that does not parse */
    OPEN,        /* open refuses */
    FAIL,        /* lowering fails at the second op, after the first has its kernel */
    SILENT,      /* no kernel is emitted */
    TWICE,       /* two kernels */
    UNITS,       /* a kernel without work */
    BAD_IR,      /* IR that does not parse */
    NO_FUNCTION, /* IR without the function */
    WRONG_TYPE,  /* a function of another type */
    KERNEL,      /* the kernel fails while running */
    REMARK,      /* nothing is wrong: it copies bytes and says something */
    FLOATS,      /* nothing is wrong: it negates f32 values */
    MEET         /* nothing is wrong: the kernel copies bytes once two calls of it have begun */
};

static int copy(void *user, const void *const *inputs, void *const *outputs, int64_t begin,
                int64_t end)
{
    (void)user;
    memcpy((char *)outputs[0] + begin, (const char *)inputs[0] + begin, (size_t)(end - begin));
    return FAULT == KERNEL ? QGC_BACKEND_FAILED : QGC_BACKEND_OK;
}

static int meet(void *user, const void *const *inputs, void *const *outputs, int64_t begin,
                int64_t end)
{
    static atomic_int begun;
    const struct timespec millisecond = {0, 1000000};
    int other = (atomic_fetch_add(&begun, 1) | 1) + 1; /* calls come in pairs */
    for (int i = 0; i < 20000 && atomic_load(&begun) < other; i++)
        thrd_sleep(&millisecond, NULL);
    return atomic_load(&begun) < other ? QGC_BACKEND_FAILED
                                       : copy(user, inputs, outputs, begin, end);
}

static int negate(void *user, const void *const *inputs, void *const *outputs, int64_t begin,
                  int64_t end)
{
    (void)user;
    for (int64_t i = begin; i < end; i++)
        ((float *)outputs[0])[i] = -((const float *)inputs[0])[i];
    return QGC_BACKEND_OK;
}

/* Seen with --plugin=FILE.so: what was emitted is given back. */
static void release(void *user)
{
    fprintf(stderr, "released %s\n", (const char *)user);
}

static int emit_ir(const qgc_backend_host *host, qgc_backend_region *region,
                   const qgc_backend_op *op, const char *ir)
{
    return host->emit_llvm(region, op, ir, strlen(ir), "kernel", 1);
}

static int lower(void *state, const qgc_backend_host *host, qgc_backend_region *region,
                 const qgc_backend_op *op)
{
    static char name[] = "kernel";
    (void)state;
    if (FAULT == FLOATS)
        return host->emit_kernel(region, op, negate, NULL, NULL, 4);
    if (FAULT == MEET)
        return host->emit_kernel(region, op, meet, NULL, NULL, 4);
    if (FAULT == SILENT)
        return QGC_BACKEND_OK;
    if (FAULT == FAIL && host->op_at(region, 1) == op)
        return host->fail(region, op, "the second op is one too many");
    if (FAULT == BAD_IR)
        return emit_ir(host, region, op, "define nonsense");
    if (FAULT == NO_FUNCTION)
        return emit_ir(host, region, op, "define i32 @other() {\n  ret i32 0\n}\n");
    if (FAULT == WRONG_TYPE)
        return emit_ir(host, region, op, "define i32 @kernel() {\n  ret i32 0\n}\n");
    if (FAULT == REMARK)
        host->remark(region, op, "copied");
    if (FAULT == TWICE)
        host->emit_kernel(region, op, copy, NULL, NULL, 1);
    return host->emit_kernel(region, op, copy, name, release, FAULT == UNITS ? 0 : 4);
}

static const qgc_backend_pattern patterns[] = {
    {FAULT == BAD_ROW  ? "claim rely(x: u8)\n"
     : FAULT == FLOATS ? "claim neg(x: f32, y: f32)\n"
                       : "claim relu(x: u8, y: u8)\nclaim neg(x: u8, y: u8)\n",
     lower},
};

static int open_faulty(const char *options, void **out_state, char *error, size_t error_size)
{
    *out_state = NULL;
    snprintf(error, error_size, "it is a bad day for '%s'", options);
    return FAULT == OPEN ? QGC_BACKEND_FAILED : QGC_BACKEND_OK;
}

static const qgc_backend backend = {
    .abi = FAULT == VERSION ? 99 : QGC_BACKEND_ABI,
    .struct_size = FAULT == SHORT ? 16 : sizeof backend,
    .pattern_size = sizeof *patterns,
    .legal_size = sizeof(qgc_backend_legal),
    .name = FAULT == NAME ? "a b" : "faulty",
    .summary = "breaks a rule",
    .patterns = patterns,
    .num_patterns = FAULT == NO_ROWS ? 0 : 1,
    .tolerance_steps = 1,
    .open = open_faulty,
};

#ifndef NO_QUERY
QGC_BACKEND_EXPORT const qgc_backend *qgc_backend_query(uint32_t host_abi)
{
    (void)host_abi;
    return FAULT == NOTHING ? NULL : &backend;
}
#else
QGC_BACKEND_EXPORT const qgc_backend *another_name(void)
{
    return &backend;
}
#endif

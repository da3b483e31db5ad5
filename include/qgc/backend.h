/* The interface between qgc and a backend: version 1. A backend is a shared object with one
 * exported symbol, qgc_backend_query, and data: which ops it takes (claim rows), how they should be
 * quantized (a quantizer table), which element types a port may have (a legality table); and one
 * function per group of rows that turns an op into a kernel. docs/adding-a-backend.md leads through
 * it.
 *
 * This header stands alone: it includes the C library only and compiles as C11 and as C++17. A
 * plug-in links with nothing of qgc; everything it calls comes in the struct qgc_backend_host.
 *
 * Compatibility: within one QGC_BACKEND_ABI, fields are only ever appended to structs, functions to
 * the end of qgc_backend_host, numbers to enums. Every struct that crosses the border has its size
 * in it, so that both sides know what the other one has. Threads: a backend is called by one thread
 * at a time per state; kernels may run on several threads at once, each on other units of work. */
#ifndef QGC_BACKEND_H
#define QGC_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QGC_BACKEND_ABI   1u
#define QGC_BACKEND_QUERY "qgc_backend_query"

#if defined(__GNUC__)
#define QGC_BACKEND_EXPORT __attribute__((visibility("default")))
#else
#define QGC_BACKEND_EXPORT
#endif

/* What functions of both sides return. */
enum { QGC_BACKEND_OK = 0, QGC_BACKEND_FAILED = 1 };

/* Element types. */
typedef enum qgc_backend_dtype {
    QGC_BACKEND_NO_DTYPE = 0,
    QGC_BACKEND_F32 = 1,
    QGC_BACKEND_F16 = 2,
    QGC_BACKEND_BF16 = 3,
    QGC_BACKEND_F64 = 4,
    QGC_BACKEND_I8 = 5,
    QGC_BACKEND_U8 = 6,
    QGC_BACKEND_I16 = 7,
    QGC_BACKEND_U16 = 8,
    QGC_BACKEND_I32 = 9,
    QGC_BACKEND_U32 = 10,
    QGC_BACKEND_I64 = 11,
    QGC_BACKEND_U64 = 12,
    QGC_BACKEND_BOOL = 13
} qgc_backend_dtype;

/* What is fused into an op: bits of qgc_backend_host.parts. */
enum {
    QGC_BACKEND_HAS_ADD = 1,      /* a second term: the operand behind the op's own, port "add" */
    QGC_BACKEND_HAS_CLIP = 2,     /* relu or clip: in lo and hi of the result */
    QGC_BACKEND_HAS_FUNCTION = 4, /* other elementwise functions before the quantize */
    QGC_BACKEND_HAS_BIAS = 8
};

enum { QGC_BACKEND_MAX_RANK = 8 };

/* An operand or a result: row-major, no strides, all dimensions known. q stands for the real number
 * (q - zero_point) * scale. Pointers live as long as the region. */
typedef struct qgc_backend_tensor {
    uint32_t struct_size; /* of the caller's struct: set it before the call */
    int32_t dtype;        /* a qgc_backend_dtype */
    uint32_t rank;
    int32_t channel_axis; /* that the scales run along; -1: one scale for all */
    int64_t shape[QGC_BACKEND_MAX_RANK];
    const char *port;           /* the operand's name: "x", "w", "add" */
    const void *data;           /* a constant's elements, else NULL */
    uint64_t bytes;             /* of all elements */
    uint64_t num_scales;        /* 0: not quantized; 1; or one per channel */
    const float *scales;        /* num_scales; NULL where they are computed while running */
    const int32_t *zero_points; /* num_scales; NULL likewise */
    int32_t lo, hi;             /* results: bounds of q, fused relu and clip in them */
} qgc_backend_tensor;

/* A region: ops that the backend claimed and that run as a whole. An op: one claimed row, with the
 * dequantize ops before it, what is fused behind it, and its quantize. Both are read through
 * qgc_backend_host only. */
typedef struct qgc_backend_region qgc_backend_region;
typedef struct qgc_backend_op qgc_backend_op;

/* A kernel: computes units [begin, end) of its work. |inputs|: addresses of the op's operands in
 * order, constants too, then the fused add's; |outputs|: of its results. Buffers do not overlap.
 * Returns QGC_BACKEND_OK, or QGC_BACKEND_FAILED: the run then fails. */
typedef int qgc_backend_kernel_fn(void *user, const void *const *inputs, void *const *outputs,
                                  int64_t begin, int64_t end);
typedef void qgc_backend_release_fn(void *user);

/* What the host does for a backend. Append-only. Text is NUL-terminated and lives as long as the
 * region; functions with an index return QGC_BACKEND_FAILED beyond the end. */
typedef struct qgc_backend_host {
    uint32_t abi, struct_size;

    /* ---- the region: its ops in execution order ---- */
    const char *(*region_name)(const qgc_backend_region *region);
    size_t (*num_ops)(const qgc_backend_region *region);
    const qgc_backend_op *(*op_at)(const qgc_backend_region *region, size_t index);

    /* ---- an op ---- */
    const char *(*op_name)(const qgc_backend_op *op);    /* "conv2d" */
    const char *(*value_name)(const qgc_backend_op *op); /* of its result, for messages */
    uint32_t (*parts)(const qgc_backend_op *op);         /* QGC_BACKEND_HAS_... */
    size_t (*num_operands)(const qgc_backend_op *op);    /* with the fused add's */
    size_t (*num_results)(const qgc_backend_op *op);
    int (*operand)(const qgc_backend_op *op, size_t index, qgc_backend_tensor *out);
    int (*result)(const qgc_backend_op *op, size_t index, qgc_backend_tensor *out);
    /* The bias in real numbers, one per output channel; their number, 0 where there is none. */
    size_t (*bias)(const qgc_backend_op *op, const float **out);
    /* An attribute by its name in docs/generated/ops.md, defaults applied. Integers (a flag is 0 or
     * 1): copies at most |max|, returns how many there are; a list that is absent has |max| times
     * its default. 0: no such attribute. */
    size_t (*ints)(const qgc_backend_op *op, const char *name, int64_t *out, size_t max);
    size_t (*floats)(const qgc_backend_op *op, const char *name, float *out, size_t max);
    const char *(*word)(const qgc_backend_op *op, const char *name); /* NULL: no such attribute */
    /* What follows the op inside of it, in order: "add", "relu", "hardswish"; NULL after the last.
     */
    const char *(*step_name)(const qgc_backend_op *op, size_t index);

    /* ---- the result: exactly one of these for each op ---- */
    /* A function of the plug-in. |release| (or NULL) is called with |user| when the region dies,
     * also where lowering fails later. |units|: how much work there is, at least 1; parts of it may
     * run at the same time. */
    int (*emit_kernel)(qgc_backend_region *region, const qgc_backend_op *op,
                       qgc_backend_kernel_fn *kernel, void *user, qgc_backend_release_fn *release,
                       int64_t units);
    /* LLVM IR, as text or bitcode of LLVM 19, that defines |function| as
     * `i32 (ptr user, ptr inputs, ptr outputs, i64 begin, i64 end)`, a qgc_backend_kernel_fn whose
     * user is null. The host optimizes and compiles it for the CPU level asked for. */
    int (*emit_llvm)(qgc_backend_region *region, const qgc_backend_op *op, const char *ir,
                     size_t ir_size, const char *function, int64_t units);

    /* ---- memory, messages ---- */
    /* Zeroed, aligned to 64 bytes, lives as long as the region. */
    void *(*allocate)(qgc_backend_region *region, size_t bytes);
    /* Says why |op| cannot be lowered (NULL |op|: the region). Returns QGC_BACKEND_FAILED, so that
     * `return host->fail(...)` reads well. The region then runs as literal ops, with a warning. */
    int (*fail)(qgc_backend_region *region, const qgc_backend_op *op, const char *message);
    /* Something worth telling, shown with --remarks=backend. */
    void (*remark)(qgc_backend_region *region, const qgc_backend_op *op, const char *message);
} qgc_backend_host;

/* Turns |op| into one kernel with emit_kernel or emit_llvm. Returns QGC_BACKEND_OK, or what
 * host->fail returned. |state|: from open. */
typedef int qgc_backend_lower_fn(void *state, const qgc_backend_host *host,
                                 qgc_backend_region *region, const qgc_backend_op *op);

/* Claim rows (docs/lowering.md) and what lowers the ops that they take. Among all rows that fit an
 * op the one with the highest benefit counts, then the first. */
typedef struct qgc_backend_pattern {
    const char *claims;
    qgc_backend_lower_fn *lower; /* NULL: the host's own integer ops, as for the target cpu */
} qgc_backend_pattern;

/* Element types that a port may have in this backend: "u8|i8". Where a graph has another type, the
 * host requantizes at the edge and says so in a remark. What the table does not name is as the
 * claim rows say. */
typedef struct qgc_backend_legal {
    const char *op, *port, *dtypes; /* port: an operand's name or the result's */
} qgc_backend_legal;

/* What the query returns: static, constant data. */
typedef struct qgc_backend {
    uint32_t abi, struct_size;         /* QGC_BACKEND_ABI, sizeof(qgc_backend) */
    uint32_t pattern_size, legal_size; /* sizes of one row */
    const char *name;                  /* of the target: letters, digits, '_', '-' */
    const char *summary;               /* one line */
    const qgc_backend_pattern *patterns;
    size_t num_patterns;
    const char
        *quantizer; /* rows of a quantizer table (docs/quantize.md), or NULL: all that qgc can */
    const qgc_backend_legal *legals; /* may be NULL */
    size_t num_legals;
    /* How far results may be from the reference: steps of quantized ones; of others
     * |difference| <= tolerance_float * the largest |reference| of the result. */
    int32_t tolerance_steps;
    float tolerance_float;
    /* Once for each context that loads the plug-in. |options|: of --plugin=FILE.so{options}, or "".
     * Failing refuses the plug-in: |error|, of |error_size| bytes, says why. NULL: there is no
     * state.
     */
    int (*open)(const char *options, void **out_state, char *error, size_t error_size);
    void (*close)(void *state); /* NULL: nothing to do */
} qgc_backend;

/* The one exported symbol. |host_abi|: the version of the host. A plug-in that has only another one
 * returns that one's struct; its first field tells. */
typedef const qgc_backend *qgc_backend_query_fn(uint32_t host_abi);

#ifdef __cplusplus
}
#endif
#endif

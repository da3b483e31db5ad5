/* A region's plan: what is computed in which order, where each value lies and how. Made from a
 * lowered function with static shapes; prints as text; code generation and execution read nothing
 * else.
 *
 * A value may lie in several forms at once. PLAIN is the graph's own: row-major, the graph's types.
 * Kernels work on 8-bit unsigned values, a signed tensor with 128 added to values and zero points:
 * ROWS is that in the order of PLAIN (for u8 tensors PLAIN serves), NHWC (of rank 3 to 5; H is all
 * of D * H) has the channels last, and
 * a border of its zero point around each image where a kernel pads. Values of other types have the
 * forms PLAIN and NHWC, the latter with a border where they have 16 bits. */
#ifndef QGC_CODEGEN_PLAN_H
#define QGC_CODEGEN_PLAN_H

#include "codegen/kernel.h"
#include "ir/graph.h"

typedef enum qgc_buffer_form {
    QGC_BUFFER_PLAIN,
    QGC_BUFFER_ROWS,
    QGC_BUFFER_NHWC,
    QGC_BUFFER_SCRATCH, /* the value's elements, as it suits the steps between which they lie so */
} qgc_buffer_form;

typedef struct qgc_border {
    int64_t top, left, bottom, right;
} qgc_border;

typedef struct qgc_buffer {
    const qgc_value *value;
    qgc_buffer_form form;
    int64_t n, h, w, c; /* NHWC; w counts without the border */
    qgc_border border;
    uint16_t border_value;          /* an element of one or two bytes */
    size_t offset, bytes;           /* in the region's arena */
    const void *data;               /* a constant's elements: not in the arena */
    struct qgc_buffer *alias;       /* whose memory this is, or NULL */
    size_t alias_offset;            /* bytes into it */
    uint32_t first_step, last_step; /* live range */
} qgc_buffer;

typedef enum qgc_step_kind {
    QGC_STEP_REF,    /* the node's reference kernel, on PLAIN buffers */
    QGC_STEP_FORM,   /* inputs[0] into the form of output */
    QGC_STEP_BORDER, /* the border of output, which has no inputs */
    QGC_STEP_KERNEL, /* a generated kernel */
} qgc_step_kind;

/* What a step takes of the machine. */
typedef struct qgc_step_cost {
    double bytes;  /* read and written, constants among them */
    double macs;   /* multiply-adds, nominal */
    double cycles; /* of one core, about */
} qgc_step_cost;

typedef struct qgc_step {
    qgc_step_kind kind;
    const qgc_node *node; /* REF: the node; KERNEL: its first one; FORM: NULL */
    uint32_t num_inputs, num_outputs;
    qgc_buffer **inputs; /* REF: one per operand, NULL where absent */
    qgc_buffer **outputs;
    const qgc_kernel *kernel; /* KERNEL */
    const char *note;         /* KERNEL: its parameters, for the printed plan */
    uint32_t phases;          /* KERNEL: that share the node's multiply-adds; 0: 1 */
    int64_t units;            /* of work, which threads share; 1: one thread does it all */
    uint32_t threads;         /* that it is worth */
    uint32_t parts;           /* that they share it in: */
    const int64_t *bounds;    /* units [bounds[i], bounds[i + 1]) */
    uint32_t together;        /* steps, this the first, for which they wake once; 0: not here */
    bool wakes;               /* for those, threads that sleep */
    bool flows;               /* the next step does not wait for this one */
    double balance;           /* of the parts: a part's work on average / that of the longest */
    qgc_step_cost cost;
    bool is_checked; /* REF: rules about what operands hold are checked at run time */
    bool can_fail;   /* KERNEL: its last output, an i64, is not 0 where it did: one unit */
    const char *why; /* REF: what kept it from a generated kernel; "" or a reason */
} qgc_step;

/* What a kernel's constant is: 64-byte aligned, in the plan's arena. */
typedef struct qgc_plan_constant {
    const void *data;
    size_t bytes;
} qgc_plan_constant;

typedef struct qgc_plan {
    const qgc_func *func;
    qgc_arena arena;
    qgc_arena weights;                    /* large constants: they fill large pages */
    QGC_VEC(qgc_plan_constant) constants; /* of all kernels */
    QGC_VEC(qgc_step *) steps;
    QGC_VEC(qgc_buffer *) buffers;
    qgc_buffer **params;  /* PLAIN */
    qgc_buffer **results; /* PLAIN; may be params or constants */
    uint32_t threads;     /* that may share a step */
    size_t arena_bytes;   /* peak: buffers share memory when their lives do not meet */
} qgc_plan;

/* [N, C, H, W] of a type of rank 3 (H is 1), 4, or 5: planes are further rows. */
void qgc_nchw_shape(const qgc_type *type, int64_t *out_shape);
/* Units of a step that changes a form. In codegen/form.c. */
int64_t qgc_form_units(const qgc_buffer *from, const qgc_buffer *to);

/* What the planner has to know of the machine. */
typedef struct qgc_plan_target {
    uint32_t lanes, registers; /* as qgc_level */
    bool has_fma;
    uint32_t threads;       /* that share a step's work; 0: 1 */
    bool shares_all;        /* for tests: a step goes to all of them, however small it is */
    const qgc_map *refused; /* nodes that no generated kernel may take; NULL: none */
    const qgc_map *smaller; /* node -> how many tiles it goes below its own; NULL: none does */
    uint32_t extra_pixels;  /* for tests: tiles have more (or rows) than the registers hold */
    double byte_macs, float_macs; /* multiply-adds in a cycle, of bytes and of f32; 0: 1 */
    bool has_table;               /* bytes go through a table of bytes many at a time */
    bool widens_bytes;            /* there is no dot product of bytes: see qgc_conv_pairs */
    bool has_byte_pairs;          /* of those, pmaddubsw */
    bool has_signed_dot; /* raw dot products take activations less 128, and so their zero points */
} qgc_plan_target;

/* NULL: reported (a dimension is no number, sizes overflow). */
qgc_plan *qgc_plan_create(const qgc_func *func, const qgc_plan_target *target);
void qgc_plan_destroy(qgc_plan *plan);
void qgc_plan_print(const qgc_plan *plan, qgc_text *out);
/* "conv", "form", "ref softmax"; static or in |arena|. */
const char *qgc_step_name(qgc_arena *arena, const qgc_step *step);
/* Only the steps that make the value, or what stands for it (`origin`), each behind its function.
 */
void qgc_plan_print_steps(const qgc_plan *plan, qgc_name value, qgc_text *out);

#endif

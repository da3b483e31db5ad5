/* The op table: what each op is. Rows stand in ir/ops/<family>.def; everything that needs to know
 * an op reads the row: parser, printer, verifier, passes, reference interpreter, docs. */
#ifndef QGC_IR_OPS_H
#define QGC_IR_OPS_H

#include "ir/attr.h"

typedef enum qgc_opcode {
#define QGC_OP(id, ...) QGC_OP_##id,
#include "ir/ops.def"
    QGC_NUM_OPS
} qgc_opcode;

/* A set of element types: one bit each. */
typedef uint32_t qgc_dtype_set;
#define QGC_BIT(id)     (1u << QGC_DTYPE_##id)
#define QGC_T_F32       QGC_BIT(F32)
#define QGC_T_FLOATS    (QGC_BIT(F32) | QGC_BIT(F16) | QGC_BIT(BF16) | QGC_BIT(F64))
#define QGC_T_SIGNED    (QGC_BIT(I8) | QGC_BIT(I16) | QGC_BIT(I32) | QGC_BIT(I64))
#define QGC_T_UNSIGNED  (QGC_BIT(U8) | QGC_BIT(U16) | QGC_BIT(U32) | QGC_BIT(U64))
#define QGC_T_INTS      (QGC_T_SIGNED | QGC_T_UNSIGNED)
#define QGC_T_NUMBERS   (QGC_T_FLOATS | QGC_T_INTS)
#define QGC_T_BOOL      QGC_BIT(BOOL)
#define QGC_T_ANY       (QGC_T_NUMBERS | QGC_T_BOOL)
#define QGC_T_INDEX     (QGC_BIT(I32) | QGC_BIT(I64))
#define QGC_T_I64       QGC_BIT(I64)
#define QGC_T_I32       QGC_BIT(I32)
#define QGC_T_Q8        (QGC_BIT(I8) | QGC_BIT(U8))
#define QGC_T_QUANT     (QGC_T_Q8 | QGC_BIT(I16) | QGC_BIT(U16) | QGC_BIT(I32))
#define QGC_T_INT816    (QGC_T_Q8 | QGC_BIT(I16) | QGC_BIT(U16))
#define QGC_T_ACC       (QGC_T_I32 | QGC_T_I64)
#define QGC_T_TERM      (QGC_T_INT816 | QGC_T_ACC)
#define QGC_T_ORDINALS  (QGC_T_FLOATS | QGC_BIT(I16) | QGC_BIT(I32) | QGC_BIT(I64)) /* of range */
#define QGC_T_UP_TO_F32 (QGC_BIT(F32) | QGC_BIT(F16) | QGC_BIT(BF16))

typedef enum qgc_arity { QGC_ONE, QGC_OPTIONAL, QGC_VARIADIC } qgc_arity;

/* What annotate may do with a port (quantization.md §4.2). */
typedef enum qgc_quant_rule {
    QGC_Q_NONE,   /* not quantizable: indices, shapes, masks */
    QGC_Q_ACT,    /* an activation with its own range */
    QGC_Q_WEIGHT, /* a constant: per channel along .channel_axis; computed: as ACT */
    QGC_Q_BIAS,   /* stays float in the literal graph unless derived */
    QGC_Q_SHARE,  /* result: the data operands' parameters (the op only moves or selects) */
} qgc_quant_rule;

typedef struct qgc_operand_spec {
    const char *name, *summary;
    qgc_dtype_set types;
    qgc_arity arity;
    qgc_quant_rule quant;
    int channel_axis; /* WEIGHT: the output-channel axis; negative: from the end */
} qgc_operand_spec;

typedef struct qgc_attr_spec {
    const char *name, *summary;
    qgc_attr_kind kind;
    bool required, positional; /* positional: printed bare before the operands */
    const char *default_text;  /* for docs; NULL: absent has a meaning of its own (say so) */
    int64_t default_int;       /* also the element of an absent INTS list, and BOOL */
    float default_float;
    const char *words; /* WORD: "zeros|edge|reflect"; the first is the default */
} qgc_attr_spec;

typedef struct qgc_result_spec {
    const char *name, *summary;
    qgc_quant_rule quant;
    bool variadic; /* as many results as written (split, call, loop) */
} qgc_result_spec;

typedef enum qgc_trait {
    QGC_TRAIT_CONSTANT = 1 << 0,    /* const, weight: the result is data, not a computation */
    QGC_TRAIT_TERMINATOR = 1 << 1,  /* ends a function */
    QGC_TRAIT_COMMUTATIVE = 1 << 2, /* the first two operands may be swapped */
    QGC_TRAIT_BARRIER = 1 << 3,     /* kept from cse and const-fold: a step of quantization */
    QGC_TRAIT_MOVES = 1 << 4,       /* purely moves or selects elements */
    QGC_TRAIT_ELEMENTWISE = 1 << 5,
    QGC_TRAIT_CALL = 1 << 6,
    QGC_TRAIT_OBSERVER = 1 << 7, /* identity on values, records statistics; never dead */
} qgc_trait;

enum { QGC_MAX_OPERANDS = 10, QGC_MAX_ATTRS = 12, QGC_MAX_RESULTS = 4 };

struct qgc_infer;
/* Checks the labelled constraints, then sets in->results[]. One hook for both: what has to hold is
 * what the result type needs. */
typedef qgc_result qgc_infer_fn(struct qgc_infer *in);

typedef struct qgc_op_info {
    const char *mnemonic, *family, *summary;
    const char *detail;                          /* formula and edge cases, Markdown; or NULL */
    qgc_operand_spec operands[QGC_MAX_OPERANDS]; /* at most one VARIADIC */
    qgc_attr_spec attrs[QGC_MAX_ATTRS];
    qgc_result_spec results[QGC_MAX_RESULTS];
    uint32_t traits;
    const char *rules;   /* "(C1) ...\n(C2) ..." */
    const char *example; /* one line of .qir, or NULL */
    qgc_infer_fn *infer;
} qgc_op_info;

/* Used entries of the row's arrays. */
uint32_t qgc_op_num_operands(const qgc_op_info *op);
uint32_t qgc_op_num_attrs(const qgc_op_info *op);
uint32_t qgc_op_num_results(const qgc_op_info *op);
/* Index of the variadic operand, or -1. */
int qgc_op_variadic(const qgc_op_info *op);

const qgc_op_info *qgc_op(qgc_opcode op);
/* False where the table has no such op. Linear: the context keeps a map. */
bool qgc_op_find(qgc_str mnemonic, qgc_opcode *out);
/* Position of an attribute in the row, or -1. */
int qgc_op_attr_index(const qgc_op_info *op, qgc_str name);
/* The text of rule (C|number|), copied to |arena|; "" where absent. */
const char *qgc_op_rule_text(const qgc_op_info *op, int number, qgc_arena *arena);
/* "f32, f16 or i8" */
const char *qgc_dtype_set_str(qgc_dtype_set set, qgc_arena *arena);
/* "tensor", "list of integers": for messages and docs. */
const char *qgc_attr_kind_name(qgc_attr_kind kind);

#endif

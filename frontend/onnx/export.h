/* From our graph to an ONNX model: what the converters (export_*.c) work with.
 *
 * A converter reads the current node of ours through the getters and appends ONNX nodes; values are
 * known by their ONNX names, NULL is an absent one. The first refusal is the node's reason; what is
 * appended after it goes nowhere. */
#ifndef QGC_FRONTEND_ONNX_EXPORT_H
#define QGC_FRONTEND_ONNX_EXPORT_H

#include "base/vec.h"
#include "frontend/onnx/onnx.pb-c.h"
#include "ir/infer.h"

typedef struct onnx_export onnx_export;
typedef void export_convert(onnx_export *ex);
typedef Onnx__NodeProto onnx_node;

enum { EXPORT_OLDEST = 17, EXPORT_NEWEST = 21, EXPORT_MAX_ATTRS = 6 };

/* How an attribute of ours becomes one of ONNX's. */
typedef enum export_rule {
    EXPORT_NONE,
    EXPORT_INT,
    EXPORT_FLOAT,
    EXPORT_FLAG, /* 0 or 1 */
    EXPORT_INTS,
    EXPORT_WORD,  /* as it is */
    EXPORT_UPPER, /* in capitals */
    EXPORT_TEXT,
    EXPORT_DTYPE,
} export_rule;

typedef struct export_attr {
    const char *from, *to;
    export_rule rule;
} export_attr;

/* An operand of ours that may stand as an attribute instead; ONNX wants an i64 tensor. */
typedef enum export_shape { EXPORT_NO_LIST, EXPORT_LIST, EXPORT_SCALAR, EXPORT_ONE } export_shape;

typedef struct export_list {
    const char *attr;
    export_shape shape; /* [n], [], [1] */
} export_list;

typedef struct export_row {
    const char *op;
    int since;               /* opset that it needs, where that is above EXPORT_OLDEST */
    qgc_dtype_set types;     /* what ONNX allows of the first operand; 0: all that we do */
    export_convert *convert; /* NULL: one node, inputs by position, attributes as mapped */
    export_attr attrs[EXPORT_MAX_ATTRS];
    export_list lists[QGC_MAX_OPERANDS]; /* by operand */
    uint32_t wide;                       /* operands (one bit each) that must be i64 */
    const char *refused;                 /* why there is no counterpart */
} export_row;

/* NULL: the table says nothing about the op. */
const export_row *export_find_row(qgc_opcode op);

/* A function while it is written: main, or one that is called, in place. */
typedef struct export_frame {
    const qgc_func *func;
    struct export_frame *outer;
    const char *prefix; /* of names that are taken already */
    qgc_map values;     /* const qgc_value * -> ONNX name */
} export_frame;

struct onnx_export {
    qgc_context *context;
    const qgc_module *module;
    qgc_arena *arena;
    int version, needed; /* opset; what the nodes so far need */
    qgc_interner names;
    qgc_map taken;   /* interned value name -> itself */
    qgc_map scopes;  /* interned node name -> itself */
    qgc_map symbols; /* symbol -> name of an i64[1] that holds it */
    export_frame *frame;
    QGC_VEC(Onnx__NodeProto *) nodes;
    QGC_VEC(Onnx__TensorProto *) initializers;
    const qgc_node *node;
    const export_row *row;
    const char *reason;
    uint32_t num_refused;
};

/* This node has no counterpart; the first reason stays. */
void export_refuse(onnx_export *ex, const char *format, ...) QGC_PRINTF(2, 3);
/* The model must have this opset at least. */
void export_need(onnx_export *ex, int version);

/* ---- names (export_build.c) ---- */
const char *export_claim(onnx_export *ex, const char *text);
/* "<first result>.<hint>", where free. */
const char *export_fresh(onnx_export *ex, const char *hint);
const char *export_name(onnx_export *ex, const qgc_value *value);
/* Operand by flat index; NULL where absent. */
const char *export_in(onnx_export *ex, uint32_t index);
const qgc_type *export_in_type(onnx_export *ex, uint32_t index);
/* What is known of an operand's elements, or NULL. */
const qgc_tensor *export_known(onnx_export *ex, uint32_t index);
/* As written; of kind NONE where it is absent. */
const qgc_attr *export_attribute(onnx_export *ex, const char *name);
/* Name of a result of the node. */
const char *export_out(onnx_export *ex, uint32_t index);
int32_t export_dtype_code(qgc_dtype dtype);

/* ---- nodes ---- */
onnx_node *export_begin(onnx_export *ex, const char *op, size_t num, const char *const *inputs);
void export_set_int(onnx_export *ex, onnx_node *node, const char *name, int64_t value);
void export_set_float(onnx_export *ex, onnx_node *node, const char *name, float value);
void export_set_text(onnx_export *ex, onnx_node *node, const char *name, const char *text);
void export_set_ints(onnx_export *ex, onnx_node *node, const char *name, const int64_t *values,
                     uint32_t num);
/* An attribute of ours by its rule; nothing where it is absent. */
void export_map(onnx_export *ex, onnx_node *node, const export_attr *map);
/* One more output: a value of ours between ONNX nodes. */
const char *export_result(onnx_export *ex, onnx_node *node);
/* The node gives all results of ours. */
void export_end(onnx_export *ex, onnx_node *node);
/* The node gives result |index|. */
void export_bind(onnx_export *ex, onnx_node *node, uint32_t index);
/* Result |index| is this value. */
void export_alias(onnx_export *ex, uint32_t index, const char *name);
const char *export_cast(onnx_export *ex, const char *value, qgc_dtype to);
const char *export_reshape(onnx_export *ex, const char *value, const int64_t *shape, uint32_t rank);

#define EXPORT_INPUTS(...)                                                                         \
    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), (const char *const[])       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define EXPORT_NODE(ex, op, ...) export_begin((ex), (op), EXPORT_INPUTS(__VA_ARGS__))
/* A node without attributes that gives a value between. Of its inputs one at most may append nodes
 * or constants of its own: C does not say in which order they are evaluated. */
#define EXPORT_OP(ex, op, ...) export_result((ex), EXPORT_NODE((ex), (op), __VA_ARGS__))

/* ---- constants ---- */
/* The elements are borrowed until the model is written. */
const char *export_tensor(onnx_export *ex, const char *name, const qgc_tensor *tensor);
const char *export_ints(onnx_export *ex, const char *hint, const int64_t *values, uint32_t num);
/* A scalar; integers are exact up to 2^53, f16 and bf16 are 0 or 1. */
const char *export_scalar(onnx_export *ex, const char *hint, qgc_dtype dtype, double value);
const char *export_floats(onnx_export *ex, const char *hint, const float *values, uint32_t num);
/* |num| times the same number. */
const char *export_fill(onnx_export *ex, const char *hint, qgc_dtype dtype, uint32_t rank,
                        const int64_t *shape, double value);

/* ---- rows and shapes (export_row.c, export_shape.c) ---- */
void export_convert_row(onnx_export *ex);
/* Operand |index| as i64, or the attribute |name|; NULL where neither is given. */
const char *export_list_of(onnx_export *ex, const char *name, uint32_t index, export_shape shape);
/* An i64 list of dimensions, computed from the inputs' shapes where they have symbols. */
const char *export_dims(onnx_export *ex, const char *hint, const qgc_dim *dims, uint32_t num);

/* ---- quantization (export_quant.c) ---- */
/* Attribute |attr| or i32 operand |index| as a value of the type of operand |of|. */
const char *export_zero_point(onnx_export *ex, const char *attr, uint32_t index, uint32_t of);

/* The ops that are their operand; export_alias. */
export_convert export_identity;

#endif

/* From the ONNX model to our graph: what converters (convert_*.c) work with.
 *
 * A converter reads the current ONNX node through the getters, emits nodes of ours and binds the
 * node's outputs. Getters and emitters accept what a failed emitter gave (NULL), so that a
 * converter reads as a straight line; the first failure is the node's reason. */
#ifndef QGC_FRONTEND_ONNX_IMPORT_H
#define QGC_FRONTEND_ONNX_IMPORT_H

#include "frontend/onnx/model.h"
#include "ir/infer.h"

typedef struct onnx_import onnx_import;
typedef qgc_result onnx_convert(onnx_import *im);

enum { ONNX_OLDEST = 6, ONNX_NEWEST = 21, ONNX_MAX_MAPPED = 8 };

/* How an ONNX attribute becomes one of ours. */
typedef enum onnx_attr_rule {
    ONNX_ATTR_NONE,
    ONNX_ATTR_INT,
    ONNX_ATTR_FLOAT,
    ONNX_ATTR_FLOAT_FROM_INT,
    ONNX_ATTR_DIMS, /* a list of integers that we keep as dimensions */
    ONNX_ATTR_FLAG, /* an integer 0 or 1 */
    ONNX_ATTR_INTS,
    ONNX_ATTR_WORD,  /* a string, lower-cased; |words| maps it: "onnx=ours|..." */
    ONNX_ATTR_TEXT,  /* a string as it is */
    ONNX_ATTR_DTYPE, /* TensorProto.DataType */
} onnx_attr_rule;

typedef struct onnx_attr_map {
    const char *from, *to;
    onnx_attr_rule rule;
    bool has_default; /* ONNX's default, set where the attribute is absent */
    int64_t i;
    float f;
    const char *words;
} onnx_attr_map;

/* An input of integers that is our attribute |to| where its value is known, else our operand of the
 * same position. */
typedef struct onnx_list_map {
    uint32_t input; /* 0 ends the list: no op has a list there */
    const char *to;
} onnx_list_map;

typedef struct onnx_row {
    const char *op, *domain;
    int since, until;      /* opset versions, both included */
    const char *mnemonic;  /* our op, for rows without a function */
    onnx_convert *convert; /* NULL: one op, inputs by position, attributes as mapped */
    onnx_attr_map attrs[ONNX_MAX_MAPPED];
    onnx_list_map lists[ONNX_MAX_MAPPED];
    const char *ignored; /* attributes that change nothing here: "a|b" */
    const char *refused; /* the reason, for what will not be imported */
} onnx_row;

/* The rows, by op; NULL after the last. */
const onnx_row *onnx_table(size_t index);
/* NULL: none, and *out_since is the first version that has a row (0: the op is unknown). */
const onnx_row *onnx_find_row(qgc_str op, qgc_str domain, int64_t version, int *out_since);

/* The elements of an i64 or i32 tensor of rank 0 or 1, as far as they follow from shapes. */
typedef struct onnx_content {
    uint32_t rank, num;
    qgc_dim dims[];
} onnx_content;

struct onnx_import {
    qgc_context *context;
    qgc_module *module;
    qgc_func *func;
    const qgc_onnx_model *model;
    qgc_arena *arena; /* the module's */
    qgc_map values;   /* ONNX name -> qgc_value *, or &poison */
    qgc_map tensors;  /* ONNX name -> const qgc_onnx_tensor *: initializers not used so far */
    qgc_map infos;    /* ONNX name -> const qgc_onnx_type * */
    qgc_map contents; /* qgc_value * -> const onnx_content * */
    qgc_map symbols;  /* symbol name -> ONNX dimension name */
    qgc_value poison; /* what refused nodes give */
    uint32_t depth;   /* of folded `If`s */
    uint32_t num_refused;
    const qgc_binding *bindings;
    size_t num_bindings;
    bool *bound;          /* per binding: the model has that name */
    bool may_miss;        /* it need not */
    int64_t table_budget; /* numbers that converters may still put into tables */
    size_t fold_budget;   /* bytes that folding may still read and write */
    /* the current node */
    const qgc_onnx_node *node;
    const onnx_row *row;
    int64_t version; /* of the node's domain */
    uint64_t used;   /* attributes that have been asked for */
    const char *reason;
};

/* This node cannot be imported. Always QGC_FAILED; the first reason stays. */
qgc_result onnx_refuse(onnx_import *im, const char *format, ...) QGC_PRINTF(2, 3);
/* |value|, which is |what| here, is not constant: says whether a binding could make it so. */
qgc_result onnx_refuse_open(onnx_import *im, qgc_value *value, const char *what);

/* ---- the node's inputs; NULL where absent ---- */
qgc_value *onnx_in(onnx_import *im, uint32_t index);
/* Refuses where absent. */
qgc_value *onnx_need(onnx_import *im, uint32_t index);
/* The first |num| inputs, in order; the first |needed| are not absent. */
void onnx_operands(onnx_import *im, uint32_t needed, uint32_t num, qgc_value **out);
const qgc_tensor *onnx_constant(const qgc_value *value);
/* Elements of a small integer value as dimensions; NULL where not known. */
const onnx_content *onnx_content_of(onnx_import *im, qgc_value *value);
/* Integers of a constant; false where it is none. */
bool onnx_ints_of(onnx_import *im, qgc_value *value, uint32_t *out_num, const int64_t **out);
/* A scalar integer or bool, which a binding could make a constant of. */
bool onnx_is_bindable(const qgc_type *type);
/* What the file says of the node's output, or NULL. */
const qgc_type *onnx_declared(onnx_import *im, qgc_name name);

/* ---- the node's attributes ---- */
bool onnx_has(onnx_import *im, const char *name);
int64_t onnx_int(onnx_import *im, const char *name, int64_t absent);
float onnx_float(onnx_import *im, const char *name, float absent);
/* "" where absent; NUL-terminated, in the arena. */
const char *onnx_string(onnx_import *im, const char *name, const char *absent);
/* False and 0 where absent. */
bool onnx_ints(onnx_import *im, const char *name, uint32_t *out_num, const int64_t **out);
const qgc_onnx_attr *onnx_attr(onnx_import *im, const char *name);

/* ---- emitting ---- */
/* A node at the end of the function, without attributes and types; NULL after a failure. Operands
 * behind the last given one are absent. */
qgc_node *onnx_begin(onnx_import *im, const char *mnemonic, uint32_t num_operands,
                     qgc_value *const *operands, uint32_t num_results);
void onnx_set(onnx_import *im, qgc_node *node, const char *name, qgc_attr value);
void onnx_set_ints(onnx_import *im, qgc_node *node, const char *name, const int64_t *values,
                   uint32_t num);
/* As DIMS. */
void onnx_set_dims(onnx_import *im, qgc_node *node, const char *name, const int64_t *values,
                   uint32_t num);
void onnx_set_int(onnx_import *im, qgc_node *node, const char *name, int64_t value);
void onnx_set_float(onnx_import *im, qgc_node *node, const char *name, float value);
void onnx_set_flag(onnx_import *im, qgc_node *node, const char *name, bool value);
void onnx_set_word(onnx_import *im, qgc_node *node, const char *name, const char *word);
void onnx_set_dtype(onnx_import *im, qgc_node *node, const char *name, qgc_dtype dtype);
/* A list operand: the attribute where the value is known, else operand |index|. */
void onnx_set_list(onnx_import *im, qgc_node *node, const char *name, uint32_t index,
                   qgc_value *list);
/* Infers types, names the results, folds a node of constants. The first result; NULL: failed. */
qgc_value *onnx_end(onnx_import *im, qgc_node *node);
/* One op without attributes. */
qgc_value *onnx_unary(onnx_import *im, const char *mnemonic, qgc_value *x);
qgc_value *onnx_binary(onnx_import *im, const char *mnemonic, qgc_value *a, qgc_value *b);
qgc_value *onnx_reshape(onnx_import *im, qgc_value *x, const qgc_dim *dims, uint32_t rank);
qgc_value *onnx_cast(onnx_import *im, qgc_value *x, qgc_dtype dtype);
qgc_value *onnx_transpose(onnx_import *im, qgc_value *x, const int64_t *perm, uint32_t rank);
/* A constant; the tensor is borrowed for the module's life. |name| may be NULL. */
qgc_value *onnx_const(onnx_import *im, const qgc_tensor *tensor, qgc_name name);
qgc_value *onnx_const_ints(onnx_import *im, const int64_t *values, uint32_t num);
/* A scalar; integers are exact up to 2^53. */
qgc_value *onnx_scalar(onnx_import *im, double value, qgc_dtype dtype);
qgc_value *onnx_scalar_int(onnx_import *im, int64_t value);
void onnx_set_content(onnx_import *im, qgc_value *value, const onnx_content *content);
onnx_content *onnx_new_content(onnx_import *im, uint32_t rank, uint32_t num);

/* What follows of the first output's elements from those of the inputs, where the node is shape
 * arithmetic; a constant takes the output's place where all are known. */
void onnx_propagate(onnx_import *im);

/* Binds output |index| of the node; QGC_FAILED where |value| is NULL. */
qgc_result onnx_define(onnx_import *im, uint32_t index, qgc_value *value);
bool onnx_wants_output(const onnx_import *im, uint32_t index);

/* Strides, dilations, padding and auto_pad of the node's attributes; for convolutions and pools. */
void onnx_set_window(onnx_import *im, qgc_node *node);
/* avg_pool with the node's attributes. */
qgc_node *onnx_begin_avg_pool(onnx_import *im, qgc_value *x);
/* Per tensor, in division mode; without a zero point it is a u8 0. */
qgc_value *onnx_quantize(onnx_import *im, qgc_value *x, qgc_value *scale, qgc_value *zero_point);
qgc_value *onnx_dequantize(onnx_import *im, qgc_value *q, qgc_value *scale, qgc_value *zero_point);
/* The type of |a| op |b|, with a's element type; NULL: they do not broadcast. */
const qgc_type *onnx_broadcast_type(onnx_import *im, const qgc_value *a, const qgc_value *b);

/* A row without a function. */
qgc_result onnx_convert_row(onnx_import *im);
/* The nodes of a graph, in place (the model's, or a branch of a constant `If`). */
qgc_result onnx_import_nodes(onnx_import *im, const qgc_onnx_graph *graph);
qgc_value *onnx_lookup(onnx_import *im, qgc_name name);

/* A whole file as a module. NULL: reported. */
qgc_module *qgc_onnx_import(qgc_context *context, const char *path, const qgc_binding *bindings,
                            size_t num_bindings, bool *found);
/* The same for a file in memory; |directory| of external data, or NULL: there must be none. */
qgc_module *qgc_onnx_import_file(qgc_context *context, const qgc_file *file, const char *directory,
                                 const qgc_binding *bindings, size_t num_bindings, bool *found);

#endif

/* An ONNX model in memory, as read and checked: sizes fit, names are defined once and before their
 * use, tensor data has as many bytes as its shape says. What it means is convert.h's business.
 *
 * Everything lies in the arena it was read into, and so do the protobuf messages behind it. */
#ifndef QGC_FRONTEND_ONNX_MODEL_H
#define QGC_FRONTEND_ONNX_MODEL_H

#include "ir/context.h"
#include "qgc/tensor.h"
#include "runtime/file.h"

typedef struct qgc_onnx_graph qgc_onnx_graph;

typedef enum qgc_onnx_dim_kind { QGC_ONNX_NUMBER, QGC_ONNX_NAMED, QGC_ONNX_ANY } qgc_onnx_dim_kind;

typedef struct qgc_onnx_dim {
    qgc_onnx_dim_kind kind;
    int64_t number;
    qgc_str name;
} qgc_onnx_dim;

typedef struct qgc_onnx_type {
    const char *problem; /* why it is no tensor type of ours ("a sequence"), or NULL */
    bool has_dtype, has_shape;
    qgc_dtype dtype;
    uint32_t rank;
    qgc_onnx_dim dims[QGC_MAX_RANK];
} qgc_onnx_type;

/* A graph input, a graph output, or what the file says of a value between them. */
typedef struct qgc_onnx_value {
    qgc_name name;
    qgc_onnx_type type;
    qgc_loc loc; /* of an input of the model: its line in the listing that diagnostics show */
} qgc_onnx_value;

typedef struct qgc_onnx_tensor {
    qgc_name name;       /* or NULL */
    const char *problem; /* why it is no tensor of ours ("element type string"), or NULL */
    qgc_tensor tensor;
} qgc_onnx_tensor;

typedef enum qgc_onnx_attr_kind {
    QGC_ONNX_FLOAT,
    QGC_ONNX_INT,
    QGC_ONNX_STRING,
    QGC_ONNX_TENSOR,
    QGC_ONNX_GRAPH,
    QGC_ONNX_FLOATS,
    QGC_ONNX_INTS,
    QGC_ONNX_STRINGS,
    QGC_ONNX_OTHER, /* sparse tensors, types, lists of graphs and tensors, references */
} qgc_onnx_attr_kind;

typedef struct qgc_onnx_attr {
    qgc_name name;
    qgc_onnx_attr_kind kind;
    uint32_t num; /* of list items */
    union {
        float f;
        int64_t i;
        qgc_str s;
        const qgc_onnx_tensor *tensor;
        const qgc_onnx_graph *graph;
        const float *floats;
        const int64_t *ints;
        const qgc_str *strings;
    };
} qgc_onnx_attr;

typedef struct qgc_onnx_node {
    qgc_name op, domain; /* the domain "ai.onnx" is "" */
    qgc_name name;       /* or NULL */
    uint32_t num_inputs, num_outputs, num_attrs;
    qgc_name *inputs, *outputs; /* NULL: absent */
    qgc_onnx_attr *attrs;
    qgc_loc loc; /* its line in the listing that diagnostics show */
} qgc_onnx_node;

struct qgc_onnx_graph {
    qgc_name name;
    uint32_t num_nodes, num_initializers, num_inputs, num_outputs, num_values;
    qgc_onnx_node *nodes;
    qgc_onnx_tensor *initializers;
    qgc_onnx_value *inputs, *outputs, *values;
};

typedef struct qgc_onnx_opset {
    qgc_name domain;
    int64_t version;
} qgc_onnx_opset;

typedef struct qgc_onnx_model {
    const char *name; /* the file, for messages */
    qgc_loc loc;      /* the listing's line about the graph */
    uint32_t num_opsets;
    qgc_onnx_opset *opsets;
    qgc_onnx_graph graph;
} qgc_onnx_model;

enum {
    QGC_ONNX_MAX_NESTING = 64, /* messages inside messages: an `If` takes four */
};

/* |file| holds a ModelProto. External data is looked for in |directory| (with its final '/', or "")
 * and mapped into |arena|'s memory. Reports QGC_D_ONNX_FORMAT or QGC_D_ONNX_STRUCTURE, each with
 * the file and the node, tensor or value. */
qgc_result qgc_onnx_read_model(qgc_context *context, qgc_arena *arena, const qgc_file *file,
                               const char *directory, qgc_onnx_model *out);
/* |file| holds one TensorProto. */
qgc_result qgc_onnx_read_tensor(qgc_context *context, qgc_arena *arena, const qgc_file *file,
                                qgc_onnx_tensor *out);

/* Version of a domain's opset; 0 where the model does not import it. */
int64_t qgc_onnx_opset_version(const qgc_onnx_model *model, qgc_name domain);
/* NULL where absent. */
const qgc_onnx_attr *qgc_onnx_find_attr(const qgc_onnx_node *node, const char *name);
/* TensorProto.DataType; false where we have no such element type. */
bool qgc_onnx_dtype(int64_t code, qgc_dtype *out);

#endif

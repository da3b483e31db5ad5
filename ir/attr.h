/* Attribute values. Immutable; lists live in the module's arena. */
#ifndef QGC_IR_ATTR_H
#define QGC_IR_ATTR_H

#include "ir/type.h"

/* Quantization specs (language.md): what an edge is to become. */
typedef enum qgc_spec_kind {
    QGC_SPEC_OWN,    /* u8.affine.hist, i8.sym.ch.minmax[-127,127], f16 */
    QGC_SPEC_SHARE,  /* share(%v), share(%v -> %user) */
    QGC_SPEC_FIXED,  /* fixed(0.0078125, 0) or fixed(0.0078125, 0, u8) */
    QGC_SPEC_DERIVE, /* derive(%a, %b) */
    QGC_SPEC_FLOAT,  /* float: stays as it is */
} qgc_spec_kind;

/* The words of an own spec; QGC_OBSERVE_NONE: not written. */
typedef enum qgc_spec_observer {
    QGC_OBSERVE_NONE,
    QGC_OBSERVE_MINMAX,
    QGC_OBSERVE_AVG,
    QGC_OBSERVE_HIST,
} qgc_spec_observer;

typedef enum qgc_scheme { QGC_SCHEME_NONE, QGC_SCHEME_SYM, QGC_SCHEME_AFFINE } qgc_scheme;

typedef struct qgc_spec {
    qgc_spec_kind kind;
    bool has_dtype;
    qgc_dtype dtype;
    qgc_scheme scheme;
    bool per_channel, dynamic;
    qgc_spec_observer observer;
    bool has_range;
    int64_t qmin, qmax;
    float scale;        /* FIXED */
    int64_t zero_point; /* FIXED */
    qgc_name values[2]; /* SHARE: value, user or NULL; DERIVE: two values */
} qgc_spec;

typedef enum qgc_attr_kind {
    QGC_ATTR_NONE, /* absent */
    QGC_ATTR_INT,
    QGC_ATTR_FLOAT,
    QGC_ATTR_BOOL,
    QGC_ATTR_STRING,
    QGC_ATTR_WORD, /* one of the row's words, or any bare word in a discardable attribute */
    QGC_ATTR_DTYPE,
    QGC_ATTR_INTS,
    QGC_ATTR_FLOATS,
    QGC_ATTR_DIMS, /* integers or dimension expressions */
    QGC_ATTR_TENSOR,
    QGC_ATTR_FUNC,
    QGC_ATTR_VALUE,
    QGC_ATTR_SPEC,
    QGC_ATTR_LIST,
    QGC_ATTR_MAP,
    QGC_NUM_ATTR_KINDS
} qgc_attr_kind;

typedef struct qgc_attr qgc_attr;
struct qgc_attr {
    qgc_attr_kind kind;
    uint32_t num; /* of list items */
    union {
        int64_t i;
        float f;
        bool b;
        qgc_name name; /* STRING, WORD, FUNC, VALUE */
        qgc_dtype dtype;
        const int64_t *ints;
        const float *floats;
        const qgc_dim *dims;
        const qgc_tensor *tensor;
        const qgc_spec *spec;
        const qgc_attr *list;
        const struct qgc_named_attr *map;
    };
};

typedef struct qgc_named_attr {
    qgc_name name;
    qgc_attr value;
} qgc_named_attr;

bool qgc_attr_equal(const qgc_attr *a, const qgc_attr *b);
uint32_t qgc_attr_hash(const qgc_attr *a);

/* In ir/print_attr.c. */
void qgc_attr_print(qgc_text *out, const qgc_attr *attr);
void qgc_spec_print(qgc_text *out, const qgc_spec *spec);
/* Nested lists; a non-scalar whose elements are all the same bits prints as one scalar. */
void qgc_tensor_print(qgc_text *out, const qgc_tensor *tensor);
/* "%x", '%"a b"'; "@f". */
void qgc_value_name_print(qgc_text *out, qgc_name name);
void qgc_func_name_print(qgc_text *out, qgc_name name);

#endif

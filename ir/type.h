/* Tensor types: element type + dimensions, interned in the context (equal types are equal
 * pointers). */
#ifndef QGC_IR_TYPE_H
#define QGC_IR_TYPE_H

#include "ir/dim.h"
#include "qgc/tensor.h"

typedef struct qgc_type {
    qgc_dtype dtype;
    uint32_t rank;
    uint32_t hash;
    bool is_static; /* every dimension is a number */
    qgc_dim dims[];
} qgc_type;

typedef struct qgc_types {
    qgc_arena *arena;
    const qgc_type **slots;
    size_t size, capacity;
} qgc_types;

/* |rank| <= QGC_MAX_RANK; numbers are >= 0. */
const qgc_type *qgc_type_get(qgc_types *types, qgc_dtype dtype, uint32_t rank, const qgc_dim *dims);
const qgc_type *qgc_type_of_tensor(qgc_types *types, const qgc_tensor *tensor);
/* Same dims, other element type. */
const qgc_type *qgc_type_with_dtype(qgc_types *types, const qgc_type *type, qgc_dtype dtype);

/* Number of elements; false where a dimension is no number or the product overflows. */
bool qgc_type_num_elements(const qgc_type *type, int64_t *out);
/* Equal, where an unknown dimension on either side fits anything. */
bool qgc_type_compatible(const qgc_type *a, const qgc_type *b);
/* Dimensions that cannot be told apart: equal, or either unknown. */
bool qgc_dim_compatible(qgc_dim a, qgc_dim b);
/* Certainly different: two different numbers. A symbol against a number is not certain. */
bool qgc_dim_conflict(qgc_dim a, qgc_dim b);

/* "f32[N,3,8,8]". */
void qgc_type_print(qgc_text *out, const qgc_type *type);
const char *qgc_type_str(qgc_arena *arena, const qgc_type *type);
const char *qgc_dim_str(qgc_arena *arena, qgc_dim dim);

/* Element type by name; false where unknown. */
bool qgc_dtype_from_name(qgc_str name, qgc_dtype *out);

typedef enum qgc_dtype_kind { QGC_FLOAT, QGC_SIGNED, QGC_UNSIGNED, QGC_BOOL } qgc_dtype_kind;
qgc_dtype_kind qgc_dtype_get_kind(qgc_dtype dtype);

#endif

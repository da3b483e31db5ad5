/* The graph: modules, functions, nodes, values. Only the functions below change a graph.
 *
 * A module owns an arena; all its parts die with it. A function is a list of nodes in execution
 * order that ends in `return`; values are in SSA form, defined once, by a node or as a parameter.
 */
#ifndef QGC_IR_GRAPH_H
#define QGC_IR_GRAPH_H

#include "ir/context.h"
#include "qgc/module.h"

typedef struct qgc_func qgc_func;
typedef struct qgc_node qgc_node;
typedef struct qgc_value qgc_value;
typedef struct qgc_use qgc_use;

typedef enum qgc_form {
#define QGC_FORM(id, name, summary) QGC_FORM_##id,
#include "ir/forms.def"
    QGC_NUM_FORMS
} qgc_form;
const char *qgc_form_name(qgc_form form);
bool qgc_form_from_name(qgc_str name, qgc_form *out);

/* One operand slot of a node; also a link in the list of the value's uses. */
struct qgc_use {
    qgc_value *value; /* NULL: an absent optional operand */
    qgc_node *user;
    qgc_use *next, *previous;
};

struct qgc_value {
    qgc_name name;        /* unique in the function; never NULL */
    const qgc_type *type; /* NULL only while a parse error is being reported */
    qgc_node *def;        /* NULL: a parameter */
    uint32_t index;       /* among the node's results, or the parameters */
    uint32_t num_uses;
    qgc_use *first_use,
        *last_use; /* in the order in which they were made; see qgc_func_order_uses */
    qgc_loc loc;
};

struct qgc_node {
    qgc_opcode op;
    uint32_t num_operands, num_results, num_extra;
    uint32_t id;           /* position; valid after qgc_func_number */
    qgc_use *operands;     /* flat: one slot per ONE and OPTIONAL, any number for the VARIADIC */
    qgc_value *results;    /* array */
    qgc_attr *attrs;       /* parallel to the row; kind NONE where absent */
    qgc_named_attr *extra; /* discardable attributes: names with a dot, and `origin` */
    const qgc_tensor *constant; /* data of const and of a bound weight, else NULL */
    qgc_name scope;             /* NULL: none */
    qgc_loc loc;
    qgc_func *func;
    qgc_node *next, *previous;
};

struct qgc_func {
    qgc_name name;
    qgc_module *module;
    uint32_t num_params, num_results;
    qgc_value *params;             /* array */
    const qgc_type **result_types; /* as declared */
    qgc_name target;               /* region of this backend, or NULL */
    qgc_node *first, *last;
    qgc_map names; /* name -> qgc_value * */
    qgc_loc loc;
    qgc_func *next;
};

/* A module-level record: `stats @f.%v {...}` or `provenance {...}`. */
typedef struct qgc_record {
    qgc_name func, value; /* stats: whose; NULL in provenance */
    qgc_name site;        /* stats per call site: the call's result, or NULL */
    qgc_attr fields;      /* MAP */
    qgc_loc loc;
} qgc_record;

/* A field of the map, or NULL. */
const qgc_attr *qgc_record_field(const qgc_record *record, const char *name);

typedef struct qgc_weights_file {
    qgc_name path; /* as written; NULL for `weights self "hash"` */
    qgc_name hash;
    qgc_loc loc;
} qgc_weights_file;

struct qgc_module {
    qgc_context *context;
    qgc_arena arena;
    qgc_form form;
    qgc_func *first, *last;
    qgc_map funcs;         /* name -> qgc_func * */
    const char *directory; /* that weights files are relative to; NULL: not from a file */
    QGC_VEC(qgc_weights_file) weights;
    QGC_VEC(qgc_record) stats;
    QGC_VEC(qgc_record) provenance; /* none or one */
    /* Finds the data of a weight, and the index in |weights| of its file; set by whoever opened the
     * files, NULL: none are open. */
    const qgc_tensor *(*find_weight)(void *user, qgc_str name, size_t *out_file);
    void (*close_weights)(void *user);
    void *weights_user;
};

qgc_module *qgc_module_create(qgc_context *context);
qgc_func *qgc_module_find_func(const qgc_module *module, qgc_name name);
/* |name| NULL: "main". Reports that there is none (code UNDEFINED). */
qgc_result qgc_module_require_func(const qgc_module *module, const char *name, qgc_func **out);

/* Appends a function. The name must be new in the module. */
qgc_func *qgc_func_create(qgc_module *module, qgc_name name, uint32_t num_params,
                          uint32_t num_results, qgc_loc loc);
/* No call may refer to it. */
void qgc_module_remove_func(qgc_module *module, qgc_func *func);
void qgc_func_set_param(qgc_func *func, uint32_t index, qgc_name name, const qgc_type *type,
                        qgc_loc loc);
qgc_value *qgc_func_find_value(const qgc_func *func, qgc_name name);
/* |base| where free, else base.1, base.2, ... */
qgc_name qgc_func_unique_name(qgc_func *func, qgc_str base);
/* The first dimension of the first input counts samples: where it is a number, that; else 0. */
size_t qgc_func_fixed_batch(const qgc_func *func);
/* Where it is a symbol, that; else NULL. */
qgc_name qgc_func_batch_symbol(const qgc_func *func);
/* Assigns node ids 0, 1, ... in order; returns their number. */
uint32_t qgc_func_number(qgc_func *func);

/* Uses of each value in the order of the text, as if the function were read from it. */
void qgc_func_order_uses(qgc_func *func);

/* Makes a node before |before| (NULL: at the end). |operands| is flat, NULL for absent ones;
 * results get no name yet (qgc_value_set_name) and no type (qgc_node_infer or direct assignment).
 */
qgc_node *qgc_node_create(qgc_func *func, qgc_opcode op, uint32_t num_operands,
                          qgc_value *const *operands, uint32_t num_results, qgc_node *before,
                          qgc_loc loc);
void qgc_node_set_operand(qgc_node *node, uint32_t index, qgc_value *value);
/* Results must have no uses. */
void qgc_node_erase(qgc_node *node);
void qgc_node_move_before(qgc_node *node, qgc_node *before);

/* The name must be free in the function. */
void qgc_value_set_name(qgc_func *func, qgc_value *value, qgc_name name);
/* Every use of |value| becomes a use of |by|. */
void qgc_value_replace_uses(qgc_value *value, qgc_value *by);
/* |by| takes over uses and name; the node of |value| can then be erased. */
void qgc_value_take_over(qgc_func *func, qgc_value *value, qgc_value *by);

static inline const qgc_op_info *qgc_node_op(const qgc_node *node)
{
    return qgc_op(node->op);
}
static inline qgc_value *qgc_node_operand(const qgc_node *node, uint32_t index)
{
    return node->operands[index].value;
}
/* "conv2d" -> attribute value by row name; NULL where absent. */
const qgc_attr *qgc_node_attr(const qgc_node *node, const char *name);
void qgc_node_set_attr(qgc_node *node, const char *name, qgc_attr value);
const qgc_attr *qgc_node_extra(const qgc_node *node, qgc_name name);
/* Adds or replaces; kind NONE removes. */
void qgc_node_set_extra(qgc_node *node, qgc_name name, qgc_attr value);
/* Flat range of a row operand: [*out_begin, *out_begin + count). */
uint32_t qgc_node_operand_range(const qgc_node *node, uint32_t row, uint32_t *out_begin);
/* The row's operand that a flat index belongs to. */
uint32_t qgc_node_operand_row(const qgc_node *node, uint32_t index);

/* Helpers to build attributes in a module's arena. */
qgc_attr qgc_attr_from_ints(qgc_arena *arena, const int64_t *values, uint32_t num);
qgc_attr qgc_attr_from_int(int64_t value);
qgc_attr qgc_attr_from_float(float value);
qgc_attr qgc_attr_from_name(qgc_attr_kind kind, qgc_name name);

#define QGC_EACH_NODE(node, func)   for (qgc_node *node = (func)->first; node; node = node->next)
#define QGC_EACH_FUNC(func, module) for (qgc_func *func = (module)->first; func; func = func->next)

/* ir/bind.c: as qgc_module_bind; |found|: whether a type mentions the symbol, which it need not. */
qgc_result qgc_module_bind_if_found(qgc_module *module, const char *symbol, int64_t value,
                                    bool *found);

/* ir/verify.c */
qgc_result qgc_module_verify(qgc_module *module);
/* ir/print.c */
void qgc_module_print(qgc_module *module, qgc_text *out);
/* What a seal is the hash of: the fields of the provenance but `seal`, and all statistics. */
void qgc_module_print_sealed(const qgc_module *module, qgc_text *out);
void qgc_node_print(const qgc_node *node, qgc_text *out);
/* "func @main(%x: f32[4]) -> (f32[4])" */
void qgc_func_print_head(const qgc_func *func, qgc_text *out);

#endif

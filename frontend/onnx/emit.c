/* Building our nodes: operands, attributes, types, names, folding. */
#include "frontend/onnx/import.h"

#include "base/number.h"
#include "runtime/interp.h"

#include <string.h>

enum {
    INLINE_ELEMENTS = 16, /* larger constants are weights, in a file of their own */
    FOLD_BYTES = 1 << 20, /* a folded result may be this large, or as large as its operands */
    FOLD_COMPUTED_BYTES = 1 << 14,
    MAX_FOLDED_ELEMENTS = 1 << 28,
};

qgc_node *onnx_begin(onnx_import *im, const char *mnemonic, uint32_t num_operands,
                     qgc_value *const *operands, uint32_t num_results)
{
    qgc_opcode op;
    if (im->reason)
        return NULL;
    if (!qgc_op_find(qgc_str_from(mnemonic), &op)) {
        onnx_refuse(im, "needs the op %s, which does not exist", mnemonic);
        return NULL;
    }
    const qgc_op_info *row = qgc_op(op);
    uint32_t rows = qgc_op_num_operands(row), num = num_operands;
    if (qgc_op_variadic(row) < 0 && num < rows)
        num = rows;
    if (qgc_op_variadic(row) < 0 && num > rows) {
        onnx_refuse(im, "%u inputs, %s takes %u", num, mnemonic, rows);
        return NULL;
    }
    qgc_value **all = QGC_NEW_ARRAY(im->arena, qgc_value *, num);
    if (num_operands)
        memcpy(all, operands, num_operands * sizeof *all);
    return qgc_node_create(im->func, op, num, all, num_results, NULL, im->node->loc);
}

void onnx_set(onnx_import *im, qgc_node *node, const char *name, qgc_attr value)
{
    if (!node)
        return;
    if (qgc_op_attr_index(qgc_node_op(node), qgc_str_from(name)) < 0)
        onnx_refuse(im, "%s has no attribute %s", qgc_node_op(node)->mnemonic, name);
    else
        qgc_node_set_attr(node, name, value);
}

void onnx_set_ints(onnx_import *im, qgc_node *node, const char *name, const int64_t *values,
                   uint32_t num)
{
    onnx_set(im, node, name, qgc_attr_from_ints(im->arena, values, num));
}

void onnx_set_dims(onnx_import *im, qgc_node *node, const char *name, const int64_t *values,
                   uint32_t num)
{
    qgc_dim *dims = QGC_NEW_ARRAY(im->arena, qgc_dim, num);
    for (uint32_t i = 0; i < num; i++)
        dims[i] = qgc_dim_number(values[i]);
    onnx_set(im, node, name, (qgc_attr){.kind = QGC_ATTR_DIMS, .num = num, .dims = dims});
}

void onnx_set_int(onnx_import *im, qgc_node *node, const char *name, int64_t value)
{
    onnx_set(im, node, name, qgc_attr_from_int(value));
}

void onnx_set_float(onnx_import *im, qgc_node *node, const char *name, float value)
{
    onnx_set(im, node, name, qgc_attr_from_float(value));
}

void onnx_set_flag(onnx_import *im, qgc_node *node, const char *name, bool value)
{
    onnx_set(im, node, name, (qgc_attr){.kind = QGC_ATTR_BOOL, .b = value});
}

static bool is_word_of(const qgc_node *node, const char *name, const char *word)
{
    int index = qgc_op_attr_index(qgc_node_op(node), qgc_str_from(name));
    const char *words = index < 0 ? "" : qgc_node_op(node)->attrs[index].words;
    for (const char *w = words ? words : ""; *w;) {
        size_t size = strcspn(w, "|");
        if (strlen(word) == size && strncmp(word, w, size) == 0)
            return true;
        w += size + (w[size] == '|');
    }
    return false;
}

void onnx_set_word(onnx_import *im, qgc_node *node, const char *name, const char *word)
{
    if (node && !is_word_of(node, name, word)) {
        onnx_refuse(im, "%s = %s is not supported", name,
                    qgc_quoted(im->arena, qgc_str_from(word)));
        return;
    }
    onnx_set(im, node, name,
             qgc_attr_from_name(QGC_ATTR_WORD, qgc_context_name(im->context, word)));
}

void onnx_set_dtype(onnx_import *im, qgc_node *node, const char *name, qgc_dtype dtype)
{
    onnx_set(im, node, name, (qgc_attr){.kind = QGC_ATTR_DTYPE, .dtype = dtype});
}

static qgc_attr_kind attr_kind(const qgc_node *node, const char *name)
{
    int index = qgc_op_attr_index(qgc_node_op(node), qgc_str_from(name));
    return index < 0 ? QGC_ATTR_NONE : qgc_node_op(node)->attrs[index].kind;
}

static bool all_numbers(const onnx_content *content)
{
    for (uint32_t i = 0; i < content->num; i++)
        if (!qgc_dim_is_number(content->dims[i]))
            return false;
    return true;
}

static bool none_unknown(const onnx_content *content)
{
    for (uint32_t i = 0; i < content->num; i++)
        if (qgc_dim_is_unknown(content->dims[i]))
            return false;
    return true;
}

/* The content as an attribute of |kind|; false where it does not fit. */
static bool list_attr(onnx_import *im, qgc_attr_kind kind, const onnx_content *content,
                      qgc_attr *out)
{
    if (kind == QGC_ATTR_DIMS && none_unknown(content)) {
        *out = (qgc_attr){.kind = kind, .num = content->num, .dims = content->dims};
        return true;
    }
    if (!all_numbers(content))
        return false;
    if (kind == QGC_ATTR_INT && content->num == 1) {
        *out = qgc_attr_from_int(content->dims[0].value);
        return true;
    }
    int64_t *ints = QGC_NEW_ARRAY(im->arena, int64_t, content->num);
    for (uint32_t i = 0; i < content->num; i++)
        ints[i] = content->dims[i].value;
    *out = qgc_attr_from_ints(im->arena, ints, content->num);
    return kind == QGC_ATTR_INTS;
}

void onnx_set_list(onnx_import *im, qgc_node *node, const char *name, uint32_t index,
                   qgc_value *list)
{
    if (!node || !list)
        return;
    const onnx_content *content = onnx_content_of(im, list);
    qgc_attr attr;
    if (content && list_attr(im, attr_kind(node, name), content, &attr))
        onnx_set(im, node, name, attr);
    else if (index < node->num_operands)
        qgc_node_set_operand(node, index, list);
    else
        onnx_refuse(im, "%s is not known before the run", name);
}

/* ---- ending a node ---- */

static void name_results(onnx_import *im, qgc_node *node)
{
    qgc_name base = im->node && im->node->num_outputs ? im->node->outputs[0] : NULL;
    const char *text = base ? base->data : qgc_node_op(node)->mnemonic;
    qgc_arena_mark mark = qgc_arena_get_mark(im->arena);
    const char *temporary = qgc_arena_printf(im->arena, "%s.%s", text, qgc_node_op(node)->mnemonic);
    qgc_str name = qgc_name_str(qgc_context_name(im->context, temporary));
    qgc_arena_reset(im->arena, mark);
    for (uint32_t i = 0; i < node->num_results; i++)
        qgc_value_set_name(im->func, &node->results[i], qgc_func_unique_name(im->func, name));
}

/* The path of the ONNX node without its last part; a name that is no path stands whole. */
static qgc_name scope_of(onnx_import *im)
{
    if (!im->node || !im->node->name)
        return NULL;
    qgc_str name = qgc_name_str(im->node->name);
    while (name.size && name.data[0] == '/')
        name = (qgc_str){name.data + 1, name.size - 1};
    const char *slash = name.size ? memrchr(name.data, '/', name.size) : NULL;
    size_t size = slash ? (size_t)(slash - name.data) : name.size;
    if (!size)
        return NULL;
    char *text = qgc_arena_strdup(im->arena, (qgc_str){name.data, size});
    for (size_t i = 0; i < size; i++)
        if (text[i] == '/')
            text[i] = '.';
    return qgc_context_name(im->context, text);
}

/* Messages of the failed inference become the node's reason. */
static qgc_result take_reason(onnx_import *im, size_t reported)
{
    qgc_diag *diag = &im->context->diag;
    const char *message = "its types do not follow";
    for (size_t i = reported; i < diag->list.size; i++)
        if (diag->list.data[i].severity == QGC_ERROR)
            message = diag->list.data[i].message;
    qgc_diag_rollback(diag, reported);
    return onnx_refuse(im, "%s", message);
}

/* What the verifier checks before inference, too. */
static qgc_result check_complete(onnx_import *im, const qgc_node *node)
{
    const qgc_op_info *op = qgc_node_op(node);
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_operand_spec *row = &op->operands[qgc_node_operand_row(node, i)];
        if (!node->operands[i].value && row->arity != QGC_OPTIONAL)
            return onnx_refuse(im, "%s: operand %s is missing", op->mnemonic, row->name);
    }
    for (uint32_t i = 0; i < qgc_op_num_attrs(op); i++)
        if (op->attrs[i].required && node->attrs[i].kind == QGC_ATTR_NONE)
            return onnx_refuse(im, "%s: attribute %s is missing", op->mnemonic, op->attrs[i].name);
    return QGC_OK;
}

static qgc_result infer(onnx_import *im, qgc_node *node)
{
    const qgc_type **types = QGC_NEW_ARRAY(im->arena, const qgc_type *, node->num_results);
    size_t reported = im->context->diag.list.size;
    QGC_TRY(check_complete(im, node));
    if (im->node->num_outputs && im->node->outputs[0] && node->num_results &&
        !node->results[0].type)
        node->results[0].type = onnx_declared(im, im->node->outputs[0]);
    if (qgc_node_infer(node, types, false) != QGC_OK)
        return take_reason(im, reported);
    for (uint32_t i = 0; i < node->num_results; i++) {
        if (!types[i])
            return onnx_refuse(im, "%s has no result %u", qgc_node_op(node)->mnemonic, i);
        node->results[i].type = types[i];
    }
    return QGC_OK;
}

/* Work that grows with the elements may fold what is as large as its operands; other work only what
 * is small. */
static bool is_worth_it(const qgc_node *node, size_t given, size_t made)
{
    enum { LINEAR = QGC_TRAIT_MOVES | QGC_TRAIT_ELEMENTWISE };
    if (qgc_node_op(node)->traits & LINEAR)
        return made <= FOLD_BYTES || made <= given;
    return made <= FOLD_COMPUTED_BYTES && given <= FOLD_BYTES;
}

static bool is_foldable(onnx_import *im, const qgc_node *node, const qgc_tensor **operands)
{
    enum { KEPT = QGC_TRAIT_CONSTANT | QGC_TRAIT_BARRIER | QGC_TRAIT_CALL };
    size_t given = 0, made = 0;
    if (qgc_node_op(node)->traits & KEPT)
        return false;
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        operands[i] = value ? onnx_constant(value) : NULL;
        if (value && !operands[i])
            return false;
        given += operands[i] ? operands[i]->bytes : 0;
    }
    for (uint32_t i = 0; i < node->num_results; i++) {
        int64_t num;
        if (!qgc_type_num_elements(node->results[i].type, &num) || num > MAX_FOLDED_ELEMENTS)
            return false;
        made += (size_t)num * qgc_dtype_bytes(node->results[i].type->dtype);
    }
    if (!is_worth_it(node, given, made) || given + made > im->fold_budget)
        return false;
    im->fold_budget -= given + made;
    return true;
}

static const qgc_tensor *keep(onnx_import *im, qgc_tensor *computed)
{
    qgc_tensor *kept = QGC_NEW(im->arena, qgc_tensor);
    *kept = *computed;
    kept->data = qgc_arena_alloc(im->arena, computed->bytes);
    if (computed->bytes)
        memcpy(kept->data, computed->data, computed->bytes);
    qgc_tensor_destroy(computed);
    return kept;
}

/* The first result as a constant; NULL: the node stays. Only single results: a converter holds the
 * node where there are several. */
static qgc_value *fold(onnx_import *im, qgc_node *node)
{
    const qgc_tensor **operands = QGC_NEW_ARRAY(im->arena, const qgc_tensor *, node->num_operands);
    qgc_tensor result;
    size_t reported = im->context->diag.list.size;
    if (node->num_results != 1 || !is_foldable(im, node, operands))
        return NULL;
    if (qgc_interp_node(node, operands, &result) != QGC_OK) {
        qgc_diag_rollback(&im->context->diag, reported); /* it will fail where it runs */
        return NULL;
    }
    qgc_node_erase(node);
    return onnx_const(im, keep(im, &result), NULL);
}

qgc_value *onnx_end(onnx_import *im, qgc_node *node)
{
    if (!node || im->reason)
        return NULL;
    qgc_node_move_before(node, NULL); /* behind operands that came after it */
    node->scope = scope_of(im);
    if (infer(im, node) != QGC_OK)
        return NULL;
    name_results(im, node);
    qgc_value *constant = fold(im, node);
    return constant ? constant : &node->results[0];
}

/* ---- constants ---- */

qgc_value *onnx_const(onnx_import *im, const qgc_tensor *tensor, qgc_name name)
{
    if (im->reason)
        return NULL;
    size_t count = qgc_tensor_count(tensor);
    bool is_small = count <= INLINE_ELEMENTS;
    qgc_loc loc = im->node ? im->node->loc : im->model->loc;
    qgc_node *node =
        qgc_node_create(im->func, is_small ? QGC_OP_CONST : QGC_OP_WEIGHT, 0, NULL, 1, NULL, loc);
    node->constant = tensor;
    node->results[0].type = qgc_type_of_tensor(&im->context->types, tensor);
    if (name)
        qgc_value_set_name(im->func, &node->results[0],
                           qgc_func_unique_name(im->func, qgc_name_str(name)));
    else
        name_results(im, node);
    node->attrs[0] = is_small ? (qgc_attr){.kind = QGC_ATTR_TENSOR, .tensor = tensor}
                              : qgc_attr_from_name(QGC_ATTR_STRING, node->results[0].name);
    return &node->results[0];
}

static qgc_tensor *new_tensor(onnx_import *im, qgc_dtype dtype, uint32_t rank, int64_t size)
{
    qgc_tensor *tensor = QGC_NEW(im->arena, qgc_tensor);
    *tensor = (qgc_tensor){.dtype = dtype, .rank = rank, .shape = {rank ? size : 0}};
    tensor->bytes = (size_t)(rank ? size : 1) * qgc_dtype_bytes(dtype);
    tensor->data = qgc_arena_alloc(im->arena, tensor->bytes);
    return tensor;
}

qgc_value *onnx_const_ints(onnx_import *im, const int64_t *values, uint32_t num)
{
    qgc_tensor *tensor = new_tensor(im, QGC_DTYPE_I64, 1, num);
    if (num)
        memcpy(tensor->data, values, tensor->bytes);
    return onnx_const(im, tensor, NULL);
}

qgc_value *onnx_scalar_int(onnx_import *im, int64_t value)
{
    qgc_tensor *tensor = new_tensor(im, QGC_DTYPE_I64, 0, 1);
    memcpy(tensor->data, &value, sizeof value);
    return onnx_const(im, tensor, NULL);
}

qgc_value *onnx_scalar(onnx_import *im, double value, qgc_dtype dtype)
{
    qgc_tensor *tensor = new_tensor(im, dtype, 0, 1);
    bool fits = value >= -0x1p53 && value <= 0x1p53; /* not NaN, too */
    int64_t integer = fits ? (int64_t)value : 0;
    if (!fits && qgc_dtype_get_kind(dtype) != QGC_FLOAT)
        onnx_refuse(im, "%g does not fit %s", value, qgc_dtype_name(dtype));
    float single = (float)value;
    uint16_t half = dtype == QGC_DTYPE_F16 ? qgc_f16_from_f32(single) : qgc_bf16_from_f32(single);
    const void *bits = dtype == QGC_DTYPE_F32                              ? (void *)&single
                       : dtype == QGC_DTYPE_F64                            ? (void *)&value
                       : dtype == QGC_DTYPE_F16 || dtype == QGC_DTYPE_BF16 ? (void *)&half
                                                                           : (void *)&integer;
    memcpy(tensor->data, bits, tensor->bytes);
    return onnx_const(im, tensor, NULL);
}

/* ---- common nodes ---- */

const qgc_type *onnx_broadcast_type(onnx_import *im, const qgc_value *a, const qgc_value *b)
{
    qgc_infer in = {.context = im->context, .arena = im->arena};
    qgc_dim dims[QGC_MAX_RANK];
    uint32_t rank;
    if (!qgc_broadcast(&in, a->type, b->type, &rank, dims)) {
        onnx_refuse(im, "the shapes do not broadcast");
        return NULL;
    }
    return qgc_type_get(&im->context->types, a->type->dtype, rank, dims);
}

qgc_value *onnx_unary(onnx_import *im, const char *mnemonic, qgc_value *x)
{
    return x ? onnx_end(im, onnx_begin(im, mnemonic, 1, &x, 1)) : NULL;
}

qgc_value *onnx_binary(onnx_import *im, const char *mnemonic, qgc_value *a, qgc_value *b)
{
    qgc_value *operands[] = {a, b};
    return a && b ? onnx_end(im, onnx_begin(im, mnemonic, 2, operands, 1)) : NULL;
}

qgc_value *onnx_reshape(onnx_import *im, qgc_value *x, const qgc_dim *dims, uint32_t rank)
{
    if (!x)
        return NULL;
    qgc_dim *copy = QGC_NEW_ARRAY(im->arena, qgc_dim, rank);
    if (rank)
        memcpy(copy, dims, rank * sizeof *copy);
    qgc_node *node = onnx_begin(im, "reshape", 1, &x, 1);
    onnx_set(im, node, "shape", (qgc_attr){.kind = QGC_ATTR_DIMS, .num = rank, .dims = copy});
    return onnx_end(im, node);
}

qgc_value *onnx_cast(onnx_import *im, qgc_value *x, qgc_dtype dtype)
{
    if (!x || x->type->dtype == dtype)
        return x;
    qgc_node *node = onnx_begin(im, "cast", 1, &x, 1);
    onnx_set_dtype(im, node, "to", dtype);
    return onnx_end(im, node);
}

qgc_value *onnx_transpose(onnx_import *im, qgc_value *x, const int64_t *perm, uint32_t rank)
{
    if (!x)
        return NULL;
    qgc_node *node = onnx_begin(im, "transpose", 1, &x, 1);
    onnx_set_ints(im, node, "perm", perm, rank);
    return onnx_end(im, node);
}

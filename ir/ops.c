#include "ir/ops.h"

#include <string.h>

/* Hook prototypes: a forgotten hook does not link. */
#define QGC_OP(id, mnemonic, infer, ...) qgc_infer_fn infer;
#include "ir/ops.def"

/* The words of the rows; ir/ops.def explains them. */
#define IN(n, t, q, s) {.name = #n, .types = QGC_T_##t, .quant = QGC_Q_##q, .summary = s}
#define OPT(n, t, q, s)                                                                            \
    {.name = #n, .types = QGC_T_##t, .quant = QGC_Q_##q, .summary = s, .arity = QGC_OPTIONAL}
#define VARIADIC(n, t, q, s)                                                                       \
    {.name = #n, .types = QGC_T_##t, .quant = QGC_Q_##q, .summary = s, .arity = QGC_VARIADIC}
#define WEIGHT(n, t, axis, s)                                                                      \
    {.name = #n, .types = QGC_T_##t, .quant = QGC_Q_WEIGHT, .channel_axis = axis, .summary = s}
#define INT(n, d, s)                                                                               \
    {.name = #n, .kind = QGC_ATTR_INT, .default_text = #d, .default_int = d, .summary = s}
#define FLOAT(n, d, s)                                                                             \
    {.name = #n, .kind = QGC_ATTR_FLOAT, .default_text = #d, .default_float = d, .summary = s}
#define FLAG(n, d, s)                                                                              \
    {.name = #n, .kind = QGC_ATTR_BOOL, .default_text = #d, .default_int = d, .summary = s}
#define INTS(n, d, s)                                                                              \
    {.name = #n, .kind = QGC_ATTR_INTS, .default_text = #d " each", .default_int = d, .summary = s}
#define WORD(n, w, s)     {.name = #n, .kind = QGC_ATTR_WORD, .words = w, .summary = s}
#define REQUIRED(n, k, s) {.name = #n, .kind = QGC_ATTR_##k, .required = true, .summary = s}
#define ABSENT(n, k, s)   {.name = #n, .kind = QGC_ATTR_##k, .summary = s}
#define HEAD(n, k, s)                                                                              \
    {.name = #n, .kind = QGC_ATTR_##k, .required = true, .positional = true, .summary = s}
#define OUT(n, q, s)  {.name = #n, .quant = QGC_Q_##q, .summary = s}
#define OUTS(n, q, s) {.name = #n, .quant = QGC_Q_##q, .summary = s, .variadic = true}

static const qgc_op_info table[] = {
#define QGC_OP(id, mnemonic_, infer_, kernel, ...)                                                 \
    [QGC_OP_##id] = {.mnemonic = mnemonic_, .infer = infer_, .family = FAMILY, __VA_ARGS__},
#include "ir/ops.def"
};

const qgc_op_info *qgc_op(qgc_opcode op)
{
    QGC_ASSERT(op < QGC_NUM_OPS, "opcode %d", (int)op);
    return &table[op];
}

bool qgc_op_find(qgc_str mnemonic, qgc_opcode *out)
{
    for (int i = 0; i < QGC_NUM_OPS; i++) {
        if (!qgc_str_equal(mnemonic, qgc_str_from(table[i].mnemonic)))
            continue;
        *out = (qgc_opcode)i;
        return true;
    }
    return false;
}

uint32_t qgc_op_num_operands(const qgc_op_info *op)
{
    uint32_t n = 0;
    while (n < QGC_MAX_OPERANDS && op->operands[n].name)
        n++;
    return n;
}

uint32_t qgc_op_num_attrs(const qgc_op_info *op)
{
    uint32_t n = 0;
    while (n < QGC_MAX_ATTRS && op->attrs[n].name)
        n++;
    return n;
}

uint32_t qgc_op_num_results(const qgc_op_info *op)
{
    uint32_t n = 0;
    while (n < QGC_MAX_RESULTS && op->results[n].name)
        n++;
    return n;
}

int qgc_op_variadic(const qgc_op_info *op)
{
    for (uint32_t i = 0; i < qgc_op_num_operands(op); i++)
        if (op->operands[i].arity == QGC_VARIADIC)
            return (int)i;
    return -1;
}

int qgc_op_attr_index(const qgc_op_info *op, qgc_str name)
{
    for (uint32_t i = 0; i < qgc_op_num_attrs(op); i++)
        if (qgc_str_equal(name, qgc_str_from(op->attrs[i].name)))
            return (int)i;
    return -1;
}

const char *qgc_op_rule_text(const qgc_op_info *op, int number, qgc_arena *arena)
{
    const char *label = qgc_arena_printf(arena, "(C%d) ", number);
    const char *start = op->rules ? strstr(op->rules, label) : NULL;
    if (!start)
        return "";
    start += strlen(label);
    const char *end = strchr(start, '\n');
    return qgc_arena_strdup(arena, (qgc_str){start, end ? (size_t)(end - start) : strlen(start)});
}

const char *qgc_dtype_set_str(qgc_dtype_set set, qgc_arena *arena)
{
    qgc_text text = {.arena = arena};
    int left = __builtin_popcount(set);
    for (int i = 0; i < QGC_NUM_DTYPES; i++) {
        if (!(set >> i & 1))
            continue;
        qgc_text_puts(&text, qgc_dtype_name((qgc_dtype)i));
        left--;
        qgc_text_puts(&text, left > 1 ? ", " : left == 1 ? " or " : "");
    }
    return text.data ? text.data : "";
}

const char *qgc_attr_kind_name(qgc_attr_kind kind)
{
    static const char *const names[QGC_NUM_ATTR_KINDS] = {
        [QGC_ATTR_NONE] = "nothing",
        [QGC_ATTR_INT] = "integer",
        [QGC_ATTR_FLOAT] = "float",
        [QGC_ATTR_BOOL] = "true or false",
        [QGC_ATTR_STRING] = "string",
        [QGC_ATTR_WORD] = "word",
        [QGC_ATTR_DTYPE] = "element type",
        [QGC_ATTR_INTS] = "list of integers",
        [QGC_ATTR_FLOATS] = "list of floats",
        [QGC_ATTR_DIMS] = "list of dimensions",
        [QGC_ATTR_TENSOR] = "tensor literal",
        [QGC_ATTR_FUNC] = "function name",
        [QGC_ATTR_VALUE] = "value name",
        [QGC_ATTR_SPEC] = "quantization spec",
        [QGC_ATTR_LIST] = "list",
        [QGC_ATTR_MAP] = "map",
    };
    return names[kind];
}

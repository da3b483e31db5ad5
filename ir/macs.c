#include "ir/macs.h"

/* What is multiplied: elements of |operand| (or of the result) times what each takes part in. */
typedef enum mac_rule {
    PER_OUTPUT,  /* result elements * (w elements / w channels): convolution */
    PER_INPUT,   /* x elements * (w elements / x channels): transposed convolution */
    PER_REDUCED, /* result elements * last dimension of x: linear, matmul */
} mac_rule;

static const struct {
    qgc_opcode op;
    mac_rule rule;
    bool is_integer;
} rows[] = {
    {QGC_OP_CONV1D, PER_OUTPUT, false},
    {QGC_OP_CONV2D, PER_OUTPUT, false},
    {QGC_OP_CONV3D, PER_OUTPUT, false},
    {QGC_OP_CONV_TRANSPOSE1D, PER_INPUT, false},
    {QGC_OP_CONV_TRANSPOSE2D, PER_INPUT, false},
    {QGC_OP_CONV_TRANSPOSE3D, PER_INPUT, false},
    {QGC_OP_LINEAR, PER_REDUCED, false},
    {QGC_OP_MATMUL, PER_REDUCED, false},
    {QGC_OP_INT_CONV1D, PER_OUTPUT, true},
    {QGC_OP_INT_CONV2D, PER_OUTPUT, true},
    {QGC_OP_INT_CONV3D, PER_OUTPUT, true},
    {QGC_OP_INT_CONV_TRANSPOSE1D, PER_INPUT, true},
    {QGC_OP_INT_CONV_TRANSPOSE2D, PER_INPUT, true},
    {QGC_OP_INT_CONV_TRANSPOSE3D, PER_INPUT, true},
    {QGC_OP_INT_LINEAR, PER_REDUCED, true},
    {QGC_OP_INT_MATMUL, PER_REDUCED, true},
};

static bool one(void *user, qgc_name symbol, int64_t *out)
{
    (void)user;
    (void)symbol;
    return *out = 1, true;
}

static double size_of(const qgc_module *module, qgc_dim dim)
{
    qgc_dim bound = qgc_dim_bind(&module->context->dims, dim, one, NULL);
    return qgc_dim_is_number(bound) && bound.value > 0 ? (double)bound.value : 0;
}

static double num_elements(const qgc_module *module, const qgc_type *type)
{
    double num = 1;
    for (uint32_t i = 0; i < type->rank; i++)
        num *= size_of(module, type->dims[i]);
    return num;
}

static double count(const qgc_module *module, const qgc_node *node, mac_rule rule)
{
    const qgc_type *x = node->operands[0].value->type, *w = node->operands[1].value->type;
    const qgc_type *y = node->results[0].type;
    if (!x->rank || !w->rank)
        return 0;
    double channels = size_of(module, w->dims[0]);
    if (rule == PER_REDUCED)
        return num_elements(module, y) * size_of(module, x->dims[x->rank - 1]);
    double elements = num_elements(module, rule == PER_OUTPUT ? y : x);
    return channels > 0 ? elements * (num_elements(module, w) / channels) : 0;
}

static bool comes_from_dequantize(const qgc_node *node, uint32_t operand)
{
    const qgc_node *def = node->operands[operand].value->def;
    return def && def->op == QGC_OP_DEQUANTIZE;
}

qgc_macs qgc_count_node_macs(const qgc_node *node)
{
    qgc_macs macs = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].op != node->op)
            continue;
        macs.total = count(node->func->module, node, rows[i].rule);
        if (rows[i].is_integer ||
            (comes_from_dequantize(node, 0) && comes_from_dequantize(node, 1)))
            macs.quantized = macs.total;
    }
    return macs;
}

qgc_macs qgc_count_func_macs(const qgc_func *func)
{
    qgc_macs macs = {0};
    QGC_EACH_NODE (node, func) {
        qgc_macs one = qgc_count_node_macs(node);
        macs.total += one.total;
        macs.quantized += one.quantized;
    }
    return macs;
}

qgc_macs qgc_count_macs(const qgc_module *module)
{
    qgc_macs macs = {0};
    QGC_EACH_FUNC (func, module) {
        qgc_macs one_func = qgc_count_func_macs(func);
        macs.total += one_func.total;
        macs.quantized += one_func.quantized;
    }
    return macs;
}

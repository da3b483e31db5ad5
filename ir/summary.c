/* Figures of a module, for reports. */
#include "qgc/summary.h"
#include "ir/macs.h"

static bool is_op(const qgc_node *node)
{
    return !(qgc_node_op(node)->traits & (QGC_TRAIT_CONSTANT | QGC_TRAIT_TERMINATOR));
}

static size_t count_ops(const qgc_func *func)
{
    size_t num = 0;
    QGC_EACH_NODE (node, func)
        num += is_op(node);
    return num;
}

static size_t constant_bytes(const qgc_func *func)
{
    size_t sum = 0;
    QGC_EACH_NODE (node, func) {
        int64_t num;
        if (qgc_node_op(node)->traits & QGC_TRAIT_CONSTANT &&
            qgc_type_num_elements(node->results[0].type, &num))
            sum += (size_t)num * qgc_dtype_bytes(node->results[0].type->dtype);
    }
    return sum;
}

void qgc_module_summarize(const qgc_module *module, const char *func, qgc_summary *out)
{
    qgc_macs macs = qgc_count_macs(module);
    *out = (qgc_summary){.macs = macs.total, .quantized_macs = macs.quantized};
    QGC_EACH_FUNC (each, module) {
        out->ops += count_ops(each);
        out->constant_bytes += constant_bytes(each);
        QGC_EACH_NODE (node, each)
            out->fake_quants += node->op == QGC_OP_FAKE_QUANT;
    }
    qgc_name name = qgc_context_name(module->context, func ? func : "main");
    const qgc_func *taken = qgc_module_find_func(module, name);
    qgc_name symbol = taken ? qgc_func_batch_symbol(taken) : NULL;
    out->batch = symbol ? symbol->data : NULL;
    out->fixed_batch = taken ? qgc_func_fixed_batch(taken) : 0;
}

/* Infer hooks: constants, functions, and the rules shared by many families. */
#include "ir/infer.h"

qgc_result infer_same(qgc_infer *in)
{
    in->results[0] = qgc_in(in, 0);
    return QGC_OK;
}

/* The written type stands: a literal has been read against it. */
qgc_result infer_const(qgc_infer *in)
{
    if (!in->node->constant)
        return qgc_infer_unknown(in, "a constant needs its type written");
    in->results[0] = qgc_type_of_tensor(&in->context->types, in->node->constant);
    return QGC_OK;
}

qgc_result infer_weight(qgc_infer *in)
{
    const qgc_type *written = in->node->results[0].type;
    if (!in->node->constant) {
        if (!written)
            return qgc_infer_unknown(in, "no weights file is open: write the type");
        in->results[0] = written;
        return QGC_OK;
    }
    in->results[0] = qgc_type_of_tensor(&in->context->types, in->node->constant);
    QGC_RULE(in, 1, !written || qgc_type_compatible(written, in->results[0]),
             "\"%s\" is stored as %s, written as %s", in->node->attrs[0].name->data,
             qgc_in_type_str(in, in->results[0]), qgc_in_type_str(in, written));
    return QGC_OK;
}

qgc_result infer_return(qgc_infer *in)
{
    const qgc_func *func = in->node->func;
    QGC_RULE(in, 1, in->num_operands == func->num_results, "%u values returned, @%s declares %u",
             in->num_operands, func->name->data, func->num_results);
    for (uint32_t i = 0; i < in->num_operands; i++)
        QGC_RULE(in, 1, qgc_type_compatible(in->operands[i], func->result_types[i]),
                 "value %u is %s, @%s declares %s", i, qgc_in_type_str(in, in->operands[i]),
                 func->name->data, qgc_in_type_str(in, func->result_types[i]));
    return QGC_OK;
}

static qgc_result find_callee(qgc_infer *in, const qgc_func **out)
{
    qgc_name name = in->node->attrs[0].name;
    *out = qgc_module_find_func(in->node->func->module, name);
    if (*out)
        return QGC_OK;
    if (in->quiet)
        return QGC_FAILED;
    return qgc_report(&in->context->diag, in->node->loc, QGC_D_UNDEFINED, "no function @%s",
                      name->data);
}

qgc_result infer_call(qgc_infer *in)
{
    const qgc_func *callee;
    QGC_TRY(find_callee(in, &callee));
    QGC_RULE(in, 1, in->num_operands == callee->num_params, "%u args, @%s has %u parameters",
             in->num_operands, callee->name->data, callee->num_params);
    for (uint32_t i = 0; i < in->num_operands; i++)
        QGC_RULE(in, 1, qgc_type_compatible(in->operands[i], callee->params[i].type),
                 "arg %u is %s, parameter %%%s of @%s is %s", i,
                 qgc_in_type_str(in, in->operands[i]), callee->params[i].name->data,
                 callee->name->data, qgc_in_type_str(in, callee->params[i].type));
    for (uint32_t i = 0; i < in->num_results && i < callee->num_results; i++)
        in->results[i] = callee->result_types[i];
    return QGC_OK;
}

qgc_result infer_loop(qgc_infer *in)
{
    const qgc_func *body;
    QGC_TRY(find_callee(in, &body));
    QGC_RULE(in, 1, qgc_in(in, 0)->rank == 0, "count is %s", qgc_in_type_str(in, qgc_in(in, 0)));
    uint32_t carried = in->num_operands - 1;
    QGC_RULE(in, 2, body->num_params == carried && body->num_results == carried,
             "%u values carried, @%s has %u parameters and %u results", carried, body->name->data,
             body->num_params, body->num_results);
    for (uint32_t i = 0; i < carried; i++) {
        const qgc_type *type = in->operands[i + 1];
        QGC_RULE(in, 2,
                 qgc_type_compatible(type, body->params[i].type) &&
                     qgc_type_compatible(type, body->result_types[i]),
                 "carried value %u is %s, @%s takes %s and gives %s", i, qgc_in_type_str(in, type),
                 body->name->data, qgc_in_type_str(in, body->params[i].type),
                 qgc_in_type_str(in, body->result_types[i]));
        if (i < in->num_results)
            in->results[i] = type;
    }
    return QGC_OK;
}

#include "passes/legalize.h"

#include "ir/view.h"
#include "passes/seams.h"

#include <math.h>
#include <string.h>

typedef struct legalizer {
    qgc_func *func;
    const qgc_view *view;
    const qgc_backend *backend;
    const qgc_pass_env *env;
    qgc_edges *edges;
} legalizer;

/* ---- the table ---- */

/* What the port may be, a bit per type; 0: the table does not name it. */
static qgc_dtype_set allowed_types(const legalizer *l, const char *port)
{
    for (size_t i = 0; i < l->backend->num_legals; i++) {
        qgc_backend_legal row = qgc_backend_legal_at(l->backend, i);
        qgc_dtype_set set = 0;
        if (strcmp(row.op, qgc_node_op(l->view->op)->mnemonic) != 0 || strcmp(row.port, port) != 0)
            continue;
        for (const char *at = row.dtypes; *at; at += *at == '|') {
            qgc_dtype dtype;
            size_t size = strcspn(at, "|");
            if (qgc_dtype_from_name((qgc_str){at, size}, &dtype))
                set |= 1u << dtype;
            at += size;
        }
        return set;
    }
    return 0;
}

static bool is_narrow(qgc_dtype from, qgc_dtype to)
{
    return qgc_dtype_bytes(from) > qgc_dtype_bytes(to);
}

/* The first allowed type that keeps every value, else the first with fewer bits. */
static bool choose_type(qgc_dtype from, qgc_dtype_set allowed, qgc_dtype *out)
{
    qgc_dtype_set usable = allowed & QGC_T_INT816;
    for (int narrow = 0; narrow < 2; narrow++)
        for (int dtype = 0; dtype < QGC_NUM_DTYPES; dtype++)
            if (usable >> dtype & 1 && is_narrow(from, (qgc_dtype)dtype) == narrow) {
                *out = (qgc_dtype)dtype;
                return true;
            }
    return false;
}

static qgc_qparams convert_params(qgc_qparams from, qgc_dtype from_type, qgc_dtype to_type)
{
    qgc_int_range a, b;
    qgc_quant_dtype_range(from_type, &a);
    qgc_quant_dtype_range(to_type, &b);
    if (!is_narrow(from_type, to_type)) /* 8 to 16 bits: the zero point fits as it is, or shifted */
        return (qgc_qparams){from.scale, from.zero_point - a.lo + b.lo};
    return (qgc_qparams){257 * from.scale,
                         (int32_t)rint((double)(from.zero_point - a.lo) / 257) + b.lo};
}

/* ---- edges ---- */

static qgc_node *add_step(const legalizer *l, qgc_opcode op, qgc_value *x, qgc_qparams params,
                          qgc_node *before)
{
    qgc_value *operands[] = {x, NULL, NULL};
    qgc_node *node = qgc_node_create(l->func, op, 3, operands, 1, before, l->view->op->loc);
    qgc_node_set_attr(node, "scale", qgc_attr_from_float(params.scale));
    if (params.zero_point)
        qgc_node_set_attr(node, "zero_point", qgc_attr_from_int(params.zero_point));
    return node;
}

static void name(const legalizer *l, qgc_node *node, const qgc_value *after, const char *suffix)
{
    const char *text = qgc_arena_printf(l->env->scratch, "%s.%s", after->name->data, suffix);
    qgc_value_set_name(l->func, &node->results[0],
                       qgc_func_unique_name(l->func, qgc_str_from(text)));
}

/* |value|, a float that |user| reads at |slot|, goes through type |to|. */
static void add_edge(legalizer *l, qgc_value *value, qgc_node *user, uint32_t slot,
                     qgc_qparams params, qgc_dtype from, qgc_dtype to, const char *port)
{
    qgc_qparams wanted = convert_params(params, from, to);
    qgc_edge *edge = &l->edges->items[l->edges->num++];
    *edge = (qgc_edge){.user = user, .slot = slot, .before = value};
    edge->quantize = add_step(l, QGC_OP_QUANTIZE, value, wanted, user);
    edge->quantize->results[0].type = qgc_type_with_dtype(&l->env->context->types, value->type, to);
    name(l, edge->quantize, value, qgc_dtype_name(to));
    edge->dequantize = add_step(l, QGC_OP_DEQUANTIZE, &edge->quantize->results[0], wanted, user);
    edge->dequantize->results[0].type = value->type;
    name(l, edge->dequantize, &edge->quantize->results[0], "f");
    qgc_node_set_operand(user, slot, &edge->dequantize->results[0]);
    edge->remark = qgc_arena_printf(
        l->env->scratch, "%s is %s (%%%s), %s takes %s there: requantized at the edge, %s", port,
        qgc_dtype_name(from), value->name->data, l->backend->name, qgc_dtype_name(to),
        is_narrow(from, to) ? "steps are 257 times as large" : "every value stays");
}

static bool is_plain(const qgc_view_operand *x)
{
    return x->dequantize && !x->is_constant && !x->params.per_channel && x->params.scales &&
           x->params.zero_points && QGC_T_INT816 >> x->dtype & 1;
}

/* False: the type is not allowed, and no other one can be had. */
static bool fix_operand(legalizer *l, uint32_t index)
{
    const qgc_view *view = l->view;
    const qgc_view_operand *x = &view->operands[index];
    uint32_t slot = view->slots[index];
    const char *port = qgc_node_op(view->op)->operands[qgc_node_operand_row(view->op, slot)].name;
    qgc_dtype_set allowed = allowed_types(l, port);
    qgc_dtype to;
    if (!allowed || allowed >> x->dtype & 1)
        return true;
    if (!is_plain(x) || !choose_type(x->dtype, allowed, &to))
        return false;
    qgc_qparams params = {x->params.scales[0], x->params.zero_points[0]};
    add_edge(l, qgc_node_operand(view->op, slot), view->op, slot, params, x->dtype, to, port);
    return true;
}

static bool fix_result(legalizer *l)
{
    const qgc_view *view = l->view;
    const char *port = qgc_node_op(view->op)->results[0].name;
    qgc_dtype_set allowed = allowed_types(l, port);
    qgc_dtype to;
    if (!allowed || !view->quantize || allowed >> view->dtype & 1)
        return true;
    if (!choose_type(view->dtype, allowed, &to))
        return false;
    add_edge(l, qgc_node_operand(view->quantize, 0), view->quantize, 0, view->output, view->dtype,
             to, port);
    return true;
}

bool qgc_legalize(qgc_func *func, const qgc_view *view, const qgc_backend *backend,
                  const qgc_pass_env *env, qgc_edges *out)
{
    legalizer l = {func, view, backend, env, out};
    bool done = true;
    out->num = 0;
    for (uint32_t i = 0; i < view->num_operands && out->num < QGC_MAX_OPERANDS; i++)
        done = done && fix_operand(&l, i);
    done = done && fix_result(&l);
    if (!done)
        qgc_legalize_undo(out);
    return done && out->num;
}

void qgc_legalize_undo(const qgc_edges *edges)
{
    for (uint32_t i = edges->num; i-- > 0;) {
        const qgc_edge *edge = &edges->items[i];
        qgc_node_set_operand(edge->user, edge->slot, edge->before);
        qgc_node_erase(edge->dequantize);
        qgc_node_erase(edge->quantize);
    }
}

void qgc_legalize_report(const qgc_edges *edges, const qgc_node *op, const qgc_pass_env *env)
{
    for (uint32_t i = 0; i < edges->num; i++)
        qgc_report(&env->context->diag, op->loc, QGC_D_LEGALIZED, "%s: %s",
                   qgc_node_op(op)->mnemonic, edges->items[i].remark);
}

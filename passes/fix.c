/* Fixes, by what failed: a row says how the copy is changed, and in which words. After each change
 * the op's view is built and matched again; a second condition may need a second fix. */
#include "passes/fix.h"

#include "ir/copy.h"
#include "passes/constants.h"

#include <string.h>

enum { MAX_ROUNDS = 4 };

typedef struct fixer {
    const qgc_rules *rows;
    bool takes_floats;
    qgc_arena *arena;
    qgc_node *op; /* of the copy */
    qgc_view view;
    qgc_why why;
    qgc_text text, rule;
} fixer;

typedef bool fix_fn(fixer *f);

static void say(fixer *f, const char *format, ...) QGC_PRINTF(2, 3);
static void say(fixer *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    qgc_text_printf(&f->text, "%s%s", f->text.size ? "; " : "",
                    qgc_arena_vprintf(f->arena, format, args));
    va_end(args);
}

/* The value of the float graph: %w of convert's %w.q and %w.dq. */
static const char *float_name(fixer *f, const qgc_value *value)
{
    if (value->def && value->def->op == QGC_OP_DEQUANTIZE)
        value = qgc_node_operand(value->def, 0);
    if (value->def && value->def->op == QGC_OP_QUANTIZE)
        return qgc_node_operand(value->def, 0)->name->data;
    qgc_str name = qgc_name_str(value->name);
    bool is_made = name.size > 2 && memcmp(name.data + name.size - 2, ".q", 2) == 0;
    return qgc_arena_strdup(f->arena, (qgc_str){name.data, name.size - (is_made ? 2 : 0)});
}

/* `value "@main.%x" => SPEC`: a later row wins, so it goes to the end of the file. */
static void say_rule(fixer *f, const char *value, const char *spec)
{
    qgc_text_printf(&f->rule, "%svalue \"@%s.%%%s\" => %s", f->rule.size ? "\n" : "",
                    f->op->func->name->data, value, spec);
}

static bool is_weight(const qgc_node *op, uint32_t slot)
{
    return qgc_node_op(op)->operands[qgc_node_operand_row(op, slot)].quant == QGC_Q_WEIGHT;
}

static bool is_data(const qgc_node *op, uint32_t slot)
{
    qgc_quant_rule rule = qgc_node_op(op)->operands[qgc_node_operand_row(op, slot)].quant;
    return qgc_node_operand(op, slot) && (rule == QGC_Q_ACT || rule == QGC_Q_WEIGHT);
}

static bool is_float_here(const qgc_value *value)
{
    return value->type->dtype == QGC_DTYPE_F32 &&
           !(value->def && value->def->op == QGC_OP_DEQUANTIZE);
}

/* ---- operands ---- */

static void quantize_operand(fixer *f, uint32_t slot, qgc_dtype dtype, bool per_channel)
{
    const qgc_value *value = qgc_node_operand(f->op, slot);
    bool is_folded = is_weight(f->op, slot) && qgc_is_constant(value);
    const char *name = float_name(f, value);
    bool is_new = is_float_here(value);
    const char *type = qgc_dtype_name(dtype);
    if (is_new)
        say(f, "quantize %%%s", name);
    else
        say(f, "make %%%s %s%s", name, type, per_channel ? ".ch" : "");
    if (is_folded)
        say_rule(
            f, name,
            qgc_arena_printf(f->arena, "weight %s.sym.%sminmax", type, per_channel ? "ch." : ""));
    else
        say_rule(f, name,
                 qgc_arena_printf(f->arena, "act %s.%s.hist", type,
                                  qgc_dtype_get_kind(dtype) == QGC_SIGNED ? "sym" : "affine"));
    qgc_fix_requantize(f->op, slot, dtype, per_channel);
}

static bool quantize_operands(fixer *f, bool constants)
{
    bool any = false;
    for (uint32_t i = 0; i < f->op->num_operands; i++) {
        if (!is_data(f->op, i) || !is_float_here(qgc_node_operand(f->op, i)))
            continue;
        bool is_folded = is_weight(f->op, i) && qgc_is_constant(qgc_node_operand(f->op, i));
        if (!is_folded && !constants && qgc_is_constant(qgc_node_operand(f->op, i)))
            continue;
        quantize_operand(f, i, is_folded ? QGC_DTYPE_I8 : QGC_DTYPE_U8, is_folded);
        any = true;
    }
    return any;
}

static bool fix_not_quantized(fixer *f)
{
    return quantize_operands(f, false);
}

static bool fix_channels(fixer *f)
{
    for (uint32_t i = 0; i < f->op->num_operands; i++) {
        qgc_value *value = qgc_node_operand(f->op, i);
        bool has_axis = is_data(f->op, i) && value->def && value->def->op == QGC_OP_DEQUANTIZE &&
                        qgc_node_attr(value->def, "axis");
        if (!has_axis || (is_weight(f->op, i) && !qgc_is_constant(qgc_node_operand(value->def, 0))))
            continue;
        qgc_dtype dtype = qgc_node_operand(value->def, 0)->type->dtype;
        if (is_weight(f->op, i))
            say(f, "scales of %%%s along the output channels", float_name(f, value));
        else
            say(f, "one scale for %%%s", float_name(f, value));
        qgc_fix_requantize(f->op, i, dtype, is_weight(f->op, i));
        return true;
    }
    return false;
}

/* A scale that is computed while running, in front of a quantized result. */
static bool fix_dynamic(fixer *f)
{
    for (uint32_t i = 0; i < f->view.num_operands; i++) {
        const qgc_view_operand *operand = &f->view.operands[i];
        if (!operand->params.scale_value && !operand->params.zero_point_value)
            continue;
        say(f, "a spec for %%%s that is not dynamic", float_name(f, operand->value));
        qgc_fix_requantize(f->op, f->view.slots[i], operand->dtype, false);
        return true;
    }
    return false;
}

/* ---- ports and parts ---- */

static bool fix_result(fixer *f, qgc_dtype dtype)
{
    const char *spec = qgc_arena_printf(f->arena, "out %s.affine.hist", qgc_dtype_name(dtype));
    if (!f->view.quantize) {
        qgc_value *result = &f->op->results[0];
        say(f, "quantize %%%s", result->name->data);
        say_rule(f, result->name->data, spec);
        qgc_fix_quantize_result(result, dtype);
        return true;
    }
    qgc_value *q = &f->view.quantize->results[0];
    const char *name = qgc_node_operand(f->view.quantize, 0)->name->data;
    say(f, "make %%%s %s", name, qgc_dtype_name(dtype));
    say_rule(f, name, spec);
    q->type = qgc_type_with_dtype(&f->op->func->module->context->types, q->type, dtype);
    qgc_node_set_attr(f->view.quantize, "zero_point", (qgc_attr){.kind = QGC_ATTR_NONE});
    qgc_node_set_attr(f->view.quantize, "range", (qgc_attr){.kind = QGC_ATTR_NONE});
    return true;
}

static bool fix_port(fixer *f)
{
    const qgc_wanted *wanted = &f->why.wanted;
    if (!wanted->known)
        return false;
    if (wanted->is_result)
        return fix_result(f, wanted->dtype);
    quantize_operand(f, wanted->slot, wanted->dtype, wanted->per_channel);
    return true;
}

/* What the row does not have is a step of its own behind a quantize. */
static bool fix_part(fixer *f)
{
    if (f->view.num_nodes < 3 || !f->view.quantize)
        return false;
    qgc_value *result = &f->op->results[0];
    say(f, "quantize %%%s before the %s %%%s", result->name->data,
        qgc_node_op(f->view.nodes[1])->mnemonic, f->view.nodes[1]->results[0].name->data);
    qgc_fix_quantize_result(result, f->view.dtype);
    return true;
}

static bool fix_users(fixer *f)
{
    qgc_value *result = &f->op->results[0];
    for (const qgc_use *use = result->first_use; use; use = use->next) {
        if (use->user->op != QGC_OP_QUANTIZE)
            continue;
        say(f, "let the other users of %%%s read a dequantize of %%%s", result->name->data,
            use->user->results[0].name->data);
        qgc_fix_join_users(result, use->user);
        return true;
    }
    return false;
}

/* ---- sizes ---- */

typedef struct symbols {
    fixer *f;
    qgc_text list;
} symbols;

static bool note_symbol(void *user, qgc_name symbol, int64_t *out)
{
    symbols *s = user;
    const char *word = qgc_arena_printf(s->f->arena, "--set %s=", symbol->data);
    if (!s->list.size || !strstr(s->list.data, word))
        qgc_text_printf(&s->list, "%s%s...", s->list.size ? " " : "", word);
    return *out = 1, true;
}

/* Adaptive windows fit some sizes only. */
static bool fix_size(fixer *f)
{
    enum { ONE = 24, OTHER = 17 }; /* of a size that is not known yet: neither may matter */
    symbols s = {f, {.arena = f->arena}};
    if (f->op->op == QGC_OP_ADAPTIVE_AVG_POOL)
        return false;
    for (uint32_t i = 0; i < f->op->num_operands; i++)
        for (uint32_t d = 0; f->op->operands[i].value && d < f->op->operands[i].value->type->rank;
             d++)
            qgc_dim_bind(&f->op->func->module->context->dims,
                         f->op->operands[i].value->type->dims[d], note_symbol, &s);
    if (!s.list.size)
        return false;
    say(f, "%s, and infer-shapes", s.list.data);
    return qgc_fix_bind(f->op, ONE);
}

/* ---- conditions ---- */

static bool fix_overflow(fixer *f)
{
    if (f->view.num_operands < 2 || !f->view.operands[1].constant)
        return false;
    const qgc_view_operand *x = &f->view.operands[0], *w = &f->view.operands[1];
    uint64_t most = (uint64_t)qgc_view_extreme(x) * f->view.num_products;
    uint64_t limit = most ? INT32_MAX / most : 0;
    if (!limit || limit > INT16_MAX)
        return false;
    say(f, "narrow the weights %%%s to [-%u,%u]", float_name(f, w->value), (unsigned)limit,
        (unsigned)limit);
    say_rule(f, float_name(f, w->value),
             qgc_arena_printf(f->arena, "weight %s.sym.%sminmax[-%u,%u]", qgc_dtype_name(w->dtype),
                              w->params.per_channel ? "ch." : "", (unsigned)limit,
                              (unsigned)limit));
    qgc_fix_requantize(f->op, f->view.slots[1], w->dtype, w->params.per_channel);
    qgc_fix_fill_constant(f->op, f->view.slots[1], (int32_t)limit);
    return true;
}

static bool fix_symmetric(fixer *f)
{
    uint32_t last = f->view.num_operands - 1;
    const qgc_view_operand *w = &f->view.operands[last];
    if (!w->dequantize || !w->constant || qgc_dtype_get_kind(w->dtype) != QGC_SIGNED)
        return false;
    say(f, "make %%%s symmetric", float_name(f, w->value));
    say_rule(f, float_name(f, w->value),
             qgc_arena_printf(f->arena, "weight %s.sym.%sminmax", qgc_dtype_name(w->dtype),
                              w->params.per_channel ? "ch." : ""));
    qgc_fix_requantize(f->op, f->view.slots[last], w->dtype, w->params.per_channel);
    return true;
}

static bool fix_integer(fixer *f)
{
    return quantize_operands(f, true);
}

static const struct {
    const char *condition;
    fix_fn *fix;
} conditions[] = {
    {"k_fits_i32", fix_overflow}, {"w_symmetric", fix_symmetric}, {"integer", fix_integer},
    {"shape_known", fix_size},    {"groups_divide", fix_size},
};

static bool fix_condition(fixer *f)
{
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
        if (f->why.condition && strcmp(conditions[i].condition, f->why.condition) == 0)
            return conditions[i].fix(f);
    return false;
}

/* ---- */

static const struct {
    qgc_view_fault fault;
    fix_fn *fix;
} fixes[] = {
    {QGC_FAULT_NOT_QUANTIZED, fix_not_quantized},
    {QGC_FAULT_CHANNELS, fix_channels},
    {QGC_FAULT_PARAMETERS, fix_dynamic},
    {QGC_FAULT_PORT, fix_port},
    {QGC_FAULT_PART, fix_part},
    {QGC_FAULT_SEVERAL_USERS, fix_users},
    {QGC_FAULT_SIZE, fix_size},
    {QGC_FAULT_CONDITION, fix_condition},
};

static bool apply(fixer *f)
{
    for (size_t i = 0; i < sizeof fixes / sizeof *fixes; i++)
        if (fixes[i].fault == f->why.fault)
            return fixes[i].fix(f);
    return false;
}

static bool is_claimed(fixer *f)
{
    f->why = (qgc_why){.fault = QGC_FAULT_NOT_AN_OP};
    return qgc_claims_view(f->op, f->takes_floats, f->arena, &f->view, &f->why) &&
           qgc_claims_match(f->rows, &f->view, f->arena, &f->why);
}

static bool find(fixer *f)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        if (is_claimed(f))
            return round > 0;
        if (!apply(f))
            return false;
    }
    return is_claimed(f);
}

bool qgc_fix_find(const qgc_rules *rows, bool takes_floats, const qgc_node *op, qgc_arena *arena,
                  qgc_fix *out)
{
    qgc_map values = {.arena = arena};
    qgc_module *module = qgc_module_create(op->func->module->context);
    qgc_func_copy(op->func, module, &values);
    fixer f = {.rows = rows, .arena = arena, .text = {.arena = arena}, .rule = {.arena = arena}};
    f.takes_floats = takes_floats;
    f.op = op->num_results ? ((qgc_value *)qgc_map_get(&values, &op->results[0]))->def : NULL;
    bool found = f.op && find(&f);
    *out = (qgc_fix){f.text.data, f.rule.data};
    qgc_module_destroy(module);
    return found;
}

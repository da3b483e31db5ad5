/* Claim rows: loaded once per run of partition, checked whole, then matched. */
#include "passes/claims.h"

#include "frontend/parse.h"
#include "passes/targets.h"

#include <string.h>

static const char *const parts[] = {"add", "clip", "bias", "function"};
enum { PART_ADD, PART_CLIP, PART_BIAS, PART_FUNCTION, NUM_PARTS };

static bool has_part(const qgc_view *view, int part)
{
    const bool has[NUM_PARTS] = {[PART_ADD] = view->has_add,
                                 [PART_CLIP] = view->has_clip,
                                 [PART_BIAS] = view->has_bias,
                                 [PART_FUNCTION] = view->has_function};
    return has[part];
}

static int part_of(qgc_str name)
{
    for (int i = 0; i < NUM_PARTS; i++)
        if (qgc_str_equal(name, qgc_str_from(parts[i])))
            return i;
    return -1;
}

/* ---- checking ---- */

static qgc_str op_name(void *user, size_t i)
{
    (void)user;
    return qgc_str_from(qgc_op((qgc_opcode)i)->mnemonic);
}

static qgc_str condition_name(void *user, size_t i)
{
    (void)user;
    return qgc_str_from(qgc_condition_at(i)->name);
}

/* Operands, the result, then the parts. */
static qgc_str port_name(void *user, size_t i)
{
    const qgc_op_info *op = user;
    size_t num = qgc_op_num_operands(op);
    const char *name = i < num    ? op->operands[i].name
                       : i == num ? op->results[0].name
                                  : parts[i - num - 1];
    return qgc_str_from(name);
}

static qgc_result bad_row(const qgc_pass_env *env, qgc_loc loc, const char *format, ...)
    QGC_PRINTF(3, 4);
static qgc_result bad_row(const qgc_pass_env *env, qgc_loc loc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = qgc_arena_vprintf(env->scratch, format, args);
    va_end(args);
    return qgc_report(&env->context->diag, loc, QGC_D_BAD_CLAIM, "%s", message);
}

static bool is_data_row(const qgc_op_info *op, qgc_opcode code, uint32_t row)
{
    if (code == QGC_OP_QUANTIZE)
        return row == 0;
    return op->operands[row].quant == QGC_Q_ACT || op->operands[row].quant == QGC_Q_WEIGHT;
}

static int find_row(const qgc_op_info *op, qgc_str name)
{
    for (uint32_t i = 0; i < qgc_op_num_operands(op); i++)
        if (qgc_str_equal(name, qgc_str_from(op->operands[i].name)))
            return (int)i;
    return -1;
}

/* "i8", "i8.ch", "f32", "any"; behind const. */
static bool read_type(qgc_str text, qgc_dtype *out, bool *out_per_channel)
{
    *out_per_channel = text.size > 3 && memcmp(text.data + text.size - 3, ".ch", 3) == 0;
    qgc_str name = {text.data, text.size - (*out_per_channel ? 3 : 0)};
    if (qgc_str_equal(name, qgc_str_from("any"))) {
        *out = QGC_NUM_DTYPES;
        return !*out_per_channel;
    }
    return qgc_dtype_from_name(name, out);
}

static qgc_result check_alternatives(const qgc_pass_env *env, const qgc_ast *port)
{
    for (const qgc_ast *a = port->first; a; a = a->next) {
        bool per_channel, is_const = a->kind == QGC_AST_PAIR;
        qgc_dtype dtype;
        qgc_str type = is_const ? a->first->text : a->text;
        if (is_const && !qgc_str_equal(a->text, qgc_str_from("const")))
            return bad_row(env, a->loc, "'%.*s' before a type, expected const",
                           QGC_STR_ARG(a->text));
        if (!read_type(type, &dtype, &per_channel))
            return bad_row(env, a->loc,
                           "'%.*s' is no type: expected an element type, with .ch for scales per "
                           "channel, or any",
                           QGC_STR_ARG(type));
    }
    return QGC_OK;
}

static qgc_result check_port(const qgc_pass_env *env, const qgc_claim *claim, qgc_opcode code,
                             const qgc_ast *port, uint32_t *seen)
{
    const qgc_op_info *op = qgc_op(code);
    int row = find_row(op, port->text);
    bool is_result =
        op->results[0].name && qgc_str_equal(port->text, qgc_str_from(op->results[0].name));
    bool is_part = part_of(port->text) >= 0;
    if (row < 0 && !is_result && !is_part)
        return bad_row(env, port->loc, "%.*s has no operand, result or part '%.*s'%s",
                       QGC_STR_ARG(claim->op), QGC_STR_ARG(port->text),
                       qgc_str_did_you_mean(env->scratch, port->text, port_name,
                                            (void *)(uintptr_t)op,
                                            qgc_op_num_operands(op) + 1 + NUM_PARTS));
    if (port->kind == QGC_AST_CALL ? !is_part : is_part && port->kind == QGC_AST_NAMED)
        return bad_row(env, port->loc,
                       is_part ? "part '%.*s' has no type"
                               : "'%.*s' is no part that may be missing",
                       QGC_STR_ARG(port->text));
    if (row >= 0 && !is_data_row(op, code, (uint32_t)row))
        return bad_row(env, port->loc, "operand %.*s of %.*s is never quantized",
                       QGC_STR_ARG(port->text), QGC_STR_ARG(claim->op));
    if (row >= 0)
        *seen |= 1u << row;
    return check_alternatives(env, port);
}

static qgc_result check_claim(const qgc_pass_env *env, const qgc_claim *claim)
{
    qgc_opcode code;
    uint32_t seen = 0;
    if (!qgc_op_find(claim->op, &code))
        return bad_row(env, claim->loc, "no op named '%.*s'%s", QGC_STR_ARG(claim->op),
                       qgc_str_did_you_mean(env->scratch, claim->op, op_name, NULL, QGC_NUM_OPS));
    for (const qgc_ast *port = claim->ports.first; port; port = port->next)
        QGC_TRY(check_port(env, claim, code, port, &seen));
    const qgc_op_info *op = qgc_op(code);
    for (uint32_t i = 0; i < qgc_op_num_operands(op); i++)
        if (is_data_row(op, code, i) && !(seen >> i & 1))
            return bad_row(env, claim->loc, "the row says nothing about operand %s",
                           op->operands[i].name);
    for (const qgc_ast *c = claim->where.first; c; c = c->next)
        if (!qgc_condition_find(c->text))
            return bad_row(env, c->loc, "no condition named '%.*s'%s", QGC_STR_ARG(c->text),
                           qgc_str_did_you_mean(env->scratch, c->text, condition_name, NULL,
                                                qgc_num_conditions()));
    return QGC_OK;
}

static qgc_str target_name(void *user, size_t i)
{
    return qgc_str_from(qgc_target_name(user, i));
}

static qgc_result no_target(const qgc_pass_env *env, const char *name)
{
    size_t num = 0;
    while (qgc_target_name(env->context, num))
        num++;
    return qgc_report(
        &env->context->diag, QGC_NO_LOC, QGC_D_BAD_PIPELINE, "no target named '%s'%s", name,
        qgc_str_did_you_mean(env->scratch, qgc_str_from(name), target_name, env->context, num));
}

/* Parses and checks rows; they join |out|, as those of |pattern|. */
static qgc_result load_rows(const qgc_pass_env *env, const char *name, qgc_str text,
                            uint32_t pattern, qgc_rules *out)
{
    uint32_t source = qgc_source_add(&env->context->sources, name, text, 1);
    const qgc_rules *rows = source ? qgc_parse_patterns(env->context, source) : NULL;
    qgc_result result = rows ? QGC_OK : QGC_FAILED;
    for (size_t i = 0; rows && i < rows->claims.size; i++) {
        qgc_claim claim = rows->claims.data[i];
        claim.pattern = pattern;
        if (check_claim(env, &claim) != QGC_OK)
            result = QGC_FAILED;
        qgc_vec_push(out->arena, &out->claims, claim);
    }
    return result;
}

static qgc_result load_target(const qgc_pass_env *env, const char *target, qgc_rules *out)
{
    const qgc_backend *backend;
    void *state;
    const char *name = qgc_arena_printf(env->scratch, "<target %s>", target);
    qgc_result result = QGC_OK;
    QGC_TRY(qgc_target_find(env->context, target, &backend, &state));
    if (!backend)
        return no_target(env, target);
    for (size_t i = 0; i < backend->num_patterns; i++) {
        qgc_str text = qgc_str_from(qgc_backend_pattern_at(backend, i).claims);
        if (load_rows(env, name, text, (uint32_t)i, out) != QGC_OK)
            result = QGC_FAILED;
    }
    return result;
}

const qgc_rules *qgc_claims_load(const qgc_pass_env *env, const char *target, const char *file)
{
    qgc_str text;
    qgc_rules *rows = QGC_NEW(&env->context->arena, qgc_rules);
    rows->arena = &env->context->arena;
    if (!*file)
        return load_target(env, target, rows) == QGC_OK ? rows : NULL;
    if (qgc_read_file(env->context, file, &text) != QGC_OK)
        return NULL;
    return load_rows(env, file, text, 0, rows) == QGC_OK ? rows : NULL;
}

/* ---- matching ---- */

typedef struct match {
    const qgc_view *view;
    qgc_arena *arena;
    qgc_why *why;
    uint32_t steps;  /* ports, parts and conditions that fitted */
    qgc_text fitted; /* their names */
} match;

static const char *alternatives_text(qgc_arena *arena, const qgc_ast *port)
{
    qgc_text text = {.arena = arena};
    for (const qgc_ast *a = port->first; a; a = a->next) {
        if (a != port->first)
            qgc_text_putc(&text, '|');
        if (a->kind == QGC_AST_PAIR)
            qgc_text_puts(&text, "const ");
        qgc_text_put(&text, a->kind == QGC_AST_PAIR ? a->first->text : a->text);
    }
    return text.data ? text.data : "any quantized type";
}

static bool operand_fits(const qgc_view_operand *operand, const qgc_ast *a)
{
    bool per_channel, is_const = a->kind == QGC_AST_PAIR;
    qgc_dtype dtype;
    read_type(is_const ? a->first->text : a->text, &dtype, &per_channel);
    return (dtype == QGC_NUM_DTYPES || dtype == operand->dtype) &&
           (!is_const || operand->is_constant) &&
           (dtype == QGC_NUM_DTYPES || per_channel == operand->params.per_channel);
}

static bool any_fits(const qgc_view_operand *operand, const qgc_ast *port)
{
    bool is_quantized = operand->dequantize || qgc_dtype_get_kind(operand->dtype) != QGC_FLOAT;
    if (!port->first)
        return is_quantized;
    for (const qgc_ast *a = port->first; a; a = a->next)
        if (operand_fits(operand, a))
            return true;
    return false;
}

static const char *operand_text(qgc_arena *arena, const qgc_view_operand *operand)
{
    return qgc_arena_printf(arena, "%s%s%s (%%%s)", operand->is_constant ? "const " : "",
                            qgc_dtype_name(operand->dtype),
                            operand->params.per_channel ? ".ch" : "", operand->value->name->data);
}

/* The first integer type that the port takes, of a constant or of anything. */
static qgc_wanted wanted_of(const qgc_ast *port, bool is_constant)
{
    qgc_wanted wanted = {.known = !port->first, .dtype = QGC_DTYPE_U8};
    for (const qgc_ast *a = port->first; a && !wanted.known; a = a->next) {
        bool is_const = a->kind == QGC_AST_PAIR;
        if (is_const && !is_constant)
            continue;
        read_type(is_const ? a->first->text : a->text, &wanted.dtype, &wanted.per_channel);
        if (wanted.dtype == QGC_NUM_DTYPES)
            wanted.dtype = QGC_DTYPE_U8;
        wanted.known = qgc_dtype_get_kind(wanted.dtype) != QGC_FLOAT;
    }
    return wanted;
}

/* The failed port, in parts. Always false. */
static bool port_fails(match *m, const qgc_ast *port, const char *verb, const char *found)
{
    const char *wanted = alternatives_text(m->arena, port);
    qgc_why_not(m->arena, m->why, QGC_FAULT_PORT, "%.*s is %s, the row %s %s",
                QGC_STR_ARG(port->text), found, verb, wanted);
    m->why->condition = qgc_arena_printf(m->arena, "%.*s: %s", QGC_STR_ARG(port->text), wanted);
    m->why->found = found;
    return false;
}

static bool match_operands(match *m, const qgc_ast *port, uint32_t row)
{
    const qgc_view *view = m->view;
    for (uint32_t i = 0; i < view->num_operands; i++) {
        const qgc_view_operand *operand = &view->operands[i];
        if (qgc_node_operand_row(view->op, view->slots[i]) != row || any_fits(operand, port))
            continue;
        port_fails(m, port, "takes", operand_text(m->arena, operand));
        m->why->wanted = wanted_of(port, operand->is_constant);
        m->why->wanted.slot = view->slots[i];
        return false;
    }
    return true;
}

static bool match_result(match *m, const qgc_ast *port)
{
    const qgc_view *view = m->view;
    const qgc_view_operand result = {.dtype = view->dtype};
    if (any_fits(&result, port))
        return true;
    port_fails(m, port, "gives",
               qgc_arena_printf(m->arena, "%s (%%%s)", qgc_dtype_name(view->dtype),
                                view->result->name->data));
    m->why->wanted = wanted_of(port, false);
    m->why->wanted.is_result = true;
    return false;
}

static bool part_fails(match *m, int part, bool is_there)
{
    qgc_why_not(m->arena, m->why, QGC_FAULT_PART, is_there ? "the row has no %s" : "there is no %s",
                parts[part]);
    m->why->condition = qgc_arena_printf(m->arena, is_there ? "no %s" : "%s", parts[part]);
    m->why->found = qgc_arena_printf(m->arena, is_there ? "%s" : "no %s", parts[part]);
    return false;
}

static bool match_port(match *m, const qgc_ast *port, uint32_t *parts_seen, bool *result_seen)
{
    const qgc_op_info *op = qgc_node_op(m->view->op);
    int row = find_row(op, port->text);
    if (row >= 0)
        return match_operands(m, port, (uint32_t)row);
    if (qgc_str_equal(port->text, qgc_str_from(op->results[0].name))) {
        *result_seen = true;
        return match_result(m, port);
    }
    int part = part_of(port->text);
    *parts_seen |= 1u << part;
    return port->kind == QGC_AST_CALL || has_part(m->view, part) || part_fails(m, part, false);
}

/* What the row does not mention: a float result, parts. */
static bool match_rest(match *m, uint32_t parts_seen, bool result_seen)
{
    const qgc_op_info *op = qgc_node_op(m->view->op);
    qgc_ast bare = {.text = qgc_str_from(op->results[0].name)};
    if (!result_seen && !match_result(m, &bare))
        return false;
    for (int i = 0; i < NUM_PARTS; i++)
        if (has_part(m->view, i) && !(parts_seen >> i & 1))
            return part_fails(m, i, true);
    return true;
}

static bool match_condition(match *m, const qgc_ast *condition)
{
    if (qgc_condition_find(condition->text)->holds(m->view, m->arena, m->why))
        return true;
    qgc_why *why = m->why;
    why->condition = qgc_arena_strdup(m->arena, condition->text);
    why->found = why->text;
    why->text = qgc_arena_printf(m->arena, "%s does not hold: %s", why->condition, why->found);
    return false;
}

static void note_fitted(match *m, qgc_str name)
{
    qgc_text_printf(&m->fitted, "%s%.*s", m->fitted.size ? ", " : "", QGC_STR_ARG(name));
    m->steps++;
}

static bool match_claim(match *m, const qgc_claim *claim)
{
    uint32_t parts_seen = 0;
    bool result_seen = false;
    for (const qgc_ast *port = claim->ports.first; port; port = port->next) {
        if (!match_port(m, port, &parts_seen, &result_seen))
            return false;
        note_fitted(m, port->text);
    }
    if (!match_rest(m, parts_seen, result_seen))
        return false;
    for (const qgc_ast *c = claim->where.first; c; c = c->next) {
        if (!match_condition(m, c))
            return false;
        note_fitted(m, c->text);
    }
    return true;
}

const qgc_claim *qgc_claims_match(const qgc_rules *rows, const qgc_view *view, qgc_arena *arena,
                                  qgc_why *why)
{
    const qgc_claim *best = NULL;
    uint32_t furthest = 0;
    bool tried = false;
    for (size_t i = 0; i < rows->claims.size; i++) {
        const qgc_claim *claim = &rows->claims.data[i];
        qgc_why reason;
        match m = {.view = view, .arena = arena, .why = &reason, .fitted = {.arena = arena}};
        if (!qgc_str_equal(claim->op, qgc_str_from(qgc_node_op(view->op)->mnemonic)))
            continue;
        if (match_claim(&m, claim)) {
            best = !best || claim->benefit > best->benefit ? claim : best;
        } else if (!tried || m.steps > furthest) {
            furthest = m.steps;
            *why = reason;
            why->row = claim->loc;
            why->fitted = m.fitted.size ? m.fitted.data : "nothing";
        }
        tried = true;
    }
    if (!tried)
        qgc_why_not(arena, why, QGC_FAULT_NO_ROW, "the target has no row for %s",
                    qgc_node_op(view->op)->mnemonic);
    return best;
}

bool qgc_claims_view(qgc_node *node, bool takes_floats, qgc_arena *arena, qgc_view *out,
                     qgc_why *why)
{
    if (qgc_view_build(node, arena, out, why))
        return true;
    return takes_floats && why->fault == QGC_FAULT_NOT_QUANTIZED &&
           qgc_view_build_float(node, arena, out, why);
}

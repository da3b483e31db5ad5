/* Folding y = x * f[c] + g[c] into the op with weights that makes x:
 *
 *     w'[c, ...] = f32(w[c, ...] * f[c])        b'[c] = f32(b[c] * f[c] + g[c])
 *
 * in f64, rounded once for each op that folds. batch_norm has f = scale / sqrt(var + epsilon), g =
 * b - mean * f. New constants are made, so weights that other ops use stay as they are. What
 * PyTorch's fold leaves out is checked: other users of x, epsilon as given, ranks where the channel
 * is not where the norm looks. Weights that go through a step of training: fuse_fake.c. */
#include "passes/fuse_affine.h"

#include "passes/constants.h"

#include <math.h>
#include <string.h>

static const qgc_weighted_op weighted_ops[] = {
    {QGC_OP_CONV1D, false, false, true},          {QGC_OP_CONV2D, false, false, true},
    {QGC_OP_CONV3D, false, false, true},          {QGC_OP_CONV_TRANSPOSE1D, false, true, true},
    {QGC_OP_CONV_TRANSPOSE2D, false, true, true}, {QGC_OP_CONV_TRANSPOSE3D, false, true, true},
    {QGC_OP_LINEAR, true, false, true},
};

const qgc_weighted_op *qgc_find_weighted_op(qgc_opcode op)
{
    for (size_t i = 0; i < sizeof weighted_ops / sizeof *weighted_ops; i++)
        if (weighted_ops[i].op == op)
            return &weighted_ops[i];
    return NULL;
}

/* Operand slots of the ops with weights. */
enum { X, W, B };

static const qgc_tensor *constant_f32(const qgc_value *value)
{
    const qgc_tensor *data = value && value->def ? value->def->constant : NULL;
    return data && data->dtype == QGC_DTYPE_F32 ? data : NULL;
}

static double element(const qgc_tensor *t, int64_t index)
{
    return (double)((const float *)t->data)[index];
}

/* What goes with the remark that |value| is no f32 constant. */
static void say_constant(const qgc_affine *a, const qgc_value *value)
{
    qgc_diag *diag = &a->env->context->diag;
    qgc_diag_add(diag, "condition", "f32_constant");
    qgc_diag_add(diag, "found", "%%%s is %s%s%s", value->name->data,
                 qgc_type_str(a->env->scratch, value->type),
                 value->def ? ", from " : ", a parameter",
                 value->def ? qgc_node_op(value->def)->mnemonic : "");
    if (value->type->dtype == QGC_DTYPE_F32 && value->def && qgc_is_constant(value))
        qgc_diag_add_shown(diag, "fix", "const-fold before fuse");
}

/* ---- what the op does per channel; false: said why ---- */

static bool read_batch_norm(qgc_affine *a)
{
    enum { SCALE = 1, SHIFT, MEAN, VAR };
    const qgc_tensor *t[5] = {0};
    for (uint32_t i = SCALE; i <= VAR; i++) {
        const qgc_value *value = a->node->operands[i].value;
        t[i] = constant_f32(value);
        if (value && !t[i]) {
            if (qgc_no_match(a->env, a->node, "not folded: %%%s is no f32 constant",
                             value->name->data))
                say_constant(a, value);
            return false;
        }
    }
    double epsilon = (double)qgc_node_float(a->node, "epsilon");
    for (int64_t c = 0; c < a->channels; c++) {
        double inverse = 1 / sqrt(element(t[VAR], c) + epsilon);
        a->f[c] = t[SCALE] ? element(t[SCALE], c) * inverse : inverse;
        a->g[c] = (t[SHIFT] ? element(t[SHIFT], c) : 0) - element(t[MEAN], c) * a->f[c];
        if (!isfinite(a->f[c]) || !isfinite(a->g[c])) {
            qgc_no_match(a->env, a->node, "not folded: channel %lld has var %g", (long long)c,
                         element(t[VAR], c));
            return false;
        }
    }
    return true;
}

/* One number, or one per channel: every other dimension is 1, and the result has the shape of x. */
static bool is_per_channel(const qgc_affine *a, const qgc_tensor *t)
{
    uint32_t rank = a->head->results[0].type->rank;
    uint32_t channel = a->op->channels_last ? rank - 1 : 1;
    if (t->rank > rank)
        return false;
    for (uint32_t i = 0; i < t->rank; i++) {
        bool is_channel = i + rank - t->rank == channel;
        if (t->shape[i] != 1 && !(is_channel && t->shape[i] == a->channels))
            return false;
    }
    return true;
}

static void read_binary(qgc_affine *a, const qgc_tensor *t, bool constant_first)
{
    for (int64_t c = 0; c < a->channels; c++) {
        double k = element(t, t->bytes == sizeof(float) ? 0 : c);
        bool divides = a->node->op == QGC_OP_DIV, adds = a->node->op == QGC_OP_ADD;
        bool subtracts = a->node->op == QGC_OP_SUB;
        a->f[c] = divides ? 1 / k : adds ? 1 : subtracts ? (constant_first ? -1 : 1) : k;
        a->g[c] = adds ? k : subtracts ? (constant_first ? k : -k) : 0;
    }
}

/* The other operand of mul, div, add or sub; NULL where it is no per-channel constant. */
static bool read_arithmetic(qgc_affine *a)
{
    bool constant_first = a->node->operands[1].value == &a->head->results[0];
    const qgc_tensor *t = constant_f32(a->node->operands[constant_first ? 0 : 1].value);
    if (!t || !is_per_channel(a, t) || (a->node->op == QGC_OP_DIV && constant_first))
        return false; /* an ordinary op: nobody expects it to fold */
    read_binary(a, t, constant_first);
    for (int64_t c = 0; c < a->channels; c++) {
        if (isfinite(a->f[c]) && isfinite(a->g[c]))
            continue;
        qgc_no_match(a->env, a->node, "not folded: channel %lld has a constant that is not finite",
                     (long long)c);
        return false;
    }
    return true;
}

/* ---- the new constants ---- */

/* Of zeros, unnamed yet. */
static qgc_value *make_constant(const qgc_affine *a, const qgc_type *type, void **out_data)
{
    qgc_func *func = a->head->func;
    qgc_arena *arena = &func->module->arena;
    int64_t num;
    QGC_ASSERT(qgc_type_num_elements(type, &num), "a constant's type is static");
    qgc_tensor *tensor = QGC_NEW(arena, qgc_tensor);
    tensor->dtype = type->dtype;
    tensor->rank = type->rank;
    for (uint32_t i = 0; i < type->rank; i++)
        tensor->shape[i] = type->dims[i].value;
    tensor->bytes = (size_t)num * sizeof(float);
    tensor->data = *out_data = QGC_NEW_ARRAY(arena, float, (size_t)num); /* or i32 */
    qgc_node *node = qgc_node_create(func, QGC_OP_CONST, 0, NULL, 1, a->head, a->node->loc);
    node->attrs[0] = (qgc_attr){.kind = QGC_ATTR_TENSOR, .tensor = tensor};
    node->constant = tensor;
    node->scope = a->head->scope;
    node->results[0].type = type;
    return &node->results[0];
}

static qgc_value *make_list(const qgc_affine *a, qgc_dtype dtype, int64_t num, void **out_data)
{
    qgc_dim dim = qgc_dim_number(num);
    return make_constant(a, qgc_type_get(&a->env->context->types, dtype, 1, &dim), out_data);
}

static void name_unique(const qgc_affine *a, qgc_value *value, const char *name)
{
    qgc_func *func = a->head->func;
    qgc_value_set_name(func, value, qgc_func_unique_name(func, qgc_str_from(name)));
}

/* %w becomes %w.folded, and stays that when it is folded again. */
static void name_folded(const qgc_affine *a, qgc_value *value, qgc_str base)
{
    static const char SUFFIX[] = ".folded";
    size_t size = sizeof SUFFIX - 1;
    bool again = base.size > size && memcmp(base.data + base.size - size, SUFFIX, size) == 0;
    name_unique(
        a, value,
        qgc_arena_printf(a->env->scratch, "%.*s%s", QGC_STR_ARG(base), again ? "" : SUFFIX));
}

int64_t qgc_weight_channel(const qgc_affine *a, int64_t index)
{
    int64_t inner = 1;
    for (uint32_t i = 2; i < a->w->rank; i++)
        inner *= a->w->shape[i];
    if (!a->op->transposed)
        return index / (inner * a->w->shape[1]);
    int64_t groups = qgc_node_int(a->head, "groups");
    int64_t in = index / (inner * a->w->shape[1]), group = in / (a->w->shape[0] / groups);
    return group * a->w->shape[1] + index / inner % a->w->shape[1];
}

static qgc_value *fold_weights(const qgc_affine *a)
{
    void *data;
    qgc_value *folded = make_constant(a, a->head->operands[W].value->type, &data);
    int64_t num = (int64_t)(a->w->bytes / sizeof(float));
    for (int64_t i = 0; i < num; i++)
        ((float *)data)[i] = (float)(element(a->w, i) * a->f[qgc_weight_channel(a, i)]);
    return folded;
}

/* The constant of a step of training, the lists of its parameters, and the step. */
static qgc_value *fold_step(const qgc_affine *a, const qgc_faked *faked)
{
    void *data, *list;
    qgc_value *w = make_constant(a, a->step->operands[0].value->type, &data);
    qgc_value *scales = NULL, *zero_points = NULL;
    if (a->w->bytes)
        memcpy(data, faked->data, a->w->bytes);
    bool is_shifted = false;
    for (int64_t i = 0; faked->axis >= 0 && i < faked->num; i++)
        is_shifted |= faked->params[i].zero_point != 0;
    if (faked->axis >= 0) {
        scales = make_list(a, QGC_DTYPE_F32, faked->num, &list);
        for (int64_t i = 0; i < faked->num; i++)
            ((float *)list)[i] = faked->params[i].scale;
    }
    if (is_shifted) {
        zero_points = make_list(a, QGC_DTYPE_I32, faked->num, &list);
        for (int64_t i = 0; i < faked->num; i++)
            ((int32_t *)list)[i] = faked->params[i].zero_point;
    }
    return qgc_make_fake_step(a, faked, w, scales, zero_points);
}

/* |w|, |w_base|: the new constant, and the old one's name. */
static void name_weights(const qgc_affine *a, qgc_value *w, qgc_str w_base, qgc_str step_base)
{
    static const char *const suffixes[] = {NULL, "scale", "zero_point"};
    name_folded(a, w, w_base);
    if (!a->step)
        return;
    qgc_node *step = w->first_use->user;
    name_folded(a, &step->results[0], step_base);
    for (uint32_t i = 1; i < step->num_operands; i++)
        if (step->operands[i].value)
            name_unique(a, step->operands[i].value,
                        qgc_arena_printf(a->env->scratch, "%s.%s", w->name->data, suffixes[i]));
}

static qgc_value *fold_bias(const qgc_affine *a)
{
    void *data;
    qgc_value *folded = make_list(a, QGC_DTYPE_F32, a->channels, &data);
    for (int64_t c = 0; c < a->channels; c++)
        ((float *)data)[c] = (float)((a->b ? element(a->b, c) : 0) * a->f[c] + a->g[c]);
    return folded;
}

/* ---- matching ---- */

/* A norm is a norm of dimension 1. */
static bool channel_fits(qgc_affine *a)
{
    uint32_t rank = a->head->results[0].type->rank;
    if (a->node->op != QGC_OP_BATCH_NORM || !a->op->channels_last || rank == 2)
        return true;
    if (qgc_no_match(a->env, a->node,
                     "not folded into %s: its channels are dimension %u, the norm's dimension 1",
                     qgc_node_op(a->head)->mnemonic, rank - 1))
        qgc_diag_add(&a->env->context->diag, "condition", "same_channels");
    return false;
}

static bool head_fits(qgc_affine *a)
{
    const qgc_value *x = &a->head->results[0], *b = a->head->operands[B].value;
    const qgc_value *w = a->step ? a->step->operands[0].value : a->head->operands[W].value;
    if (!a->w || (b && !a->b)) {
        if (qgc_no_match(a->env, a->node, "not folded into %s: its %s is no f32 constant",
                         qgc_node_op(a->head)->mnemonic, a->w ? "bias" : "weight"))
            say_constant(a, a->w ? b : w);
        return false;
    }
    if (x->num_uses != 1) {
        if (qgc_no_match(a->env, a->node, "not folded into %s: %%%s has %u uses, expected 1",
                         qgc_node_op(a->head)->mnemonic, x->name->data, x->num_uses))
            qgc_fuse_say_copy(a->env, a->head, a->node, "single_use");
        return false;
    }
    return channel_fits(a);
}

static int64_t count_channels(const qgc_affine *a)
{
    const qgc_tensor *w = a->w;
    return a->op->transposed ? w->shape[1] * qgc_node_int(a->head, "groups") : w->shape[0];
}

static bool is_arithmetic(qgc_opcode op)
{
    return op == QGC_OP_MUL || op == QGC_OP_DIV || op == QGC_OP_ADD || op == QGC_OP_SUB;
}

static qgc_node *find_head(const qgc_node *node)
{
    uint32_t num = is_arithmetic(node->op) ? 2 : node->op == QGC_OP_BATCH_NORM ? 1 : 0;
    for (uint32_t i = 0; i < num; i++) {
        const qgc_value *value = node->operands[i].value;
        if (value->def && qgc_find_weighted_op(value->def->op))
            return value->def;
    }
    return NULL;
}

/* What led to values that nothing uses any more goes, too. */
static void erase_unused(qgc_value *const *values, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++) {
        bool seen = !values[i];
        for (uint32_t k = 0; k < i && !seen; k++)
            seen = values[k] == values[i]; /* one constant may be several operands */
        if (!seen)
            qgc_erase_unused(values[i]);
    }
}

/* The head takes the new constants, and the folded op's name: that is the value it now computes. */
static void rewrite(qgc_affine *a, const qgc_faked *faked)
{
    qgc_node *head = a->head;
    qgc_value *old_w = head->operands[W].value, *old_b = head->operands[B].value;
    qgc_value *new_w = a->step ? fold_step(a, faked) : fold_weights(a), *new_b = fold_bias(a);
    const char *made = qgc_arena_printf(a->env->scratch, "%s.bias", head->results[0].name->data);
    qgc_str step_name = qgc_name_str(old_w->name);
    qgc_str w_name = a->step ? qgc_name_str(a->step->operands[0].value->name) : step_name;
    qgc_str b_name = old_b ? qgc_name_str(old_b->name) : qgc_str_from(made);
    qgc_node_set_operand(head, W, new_w);
    qgc_node_set_operand(head, B, new_b);
    qgc_value_take_over(head->func, &a->node->results[0], &head->results[0]);
    qgc_value *left[8] = {old_b};
    left[7] = old_w; /* a step goes last: until then it uses what others may use, too */
    for (uint32_t i = 0; i < a->node->num_operands && i + 1 < 7; i++)
        if (a->node->operands[i].value != &head->results[0])
            left[i + 1] = a->node->operands[i].value;
    qgc_node_erase(a->node);
    erase_unused(left, 8); /* before the names are given: they may be free then */
    name_weights(a, a->step ? new_w->def->operands[0].value : new_w, w_name, step_name);
    name_folded(a, new_b, b_name);
}

/* An arithmetic op is looked at first: only one that could fold is worth a remark. */
static bool matches(qgc_affine *a)
{
    bool is_norm = a->node->op == QGC_OP_BATCH_NORM;
    if (a->node->results[0].type != a->head->results[0].type)
        return false;
    if (is_norm && !head_fits(a))
        return false;
    if (!a->w)
        return false;
    a->channels = count_channels(a);
    a->f = QGC_NEW_ARRAY(a->env->scratch, double, (size_t)a->channels);
    a->g = QGC_NEW_ARRAY(a->env->scratch, double, (size_t)a->channels);
    return is_norm ? read_batch_norm(a) : read_arithmetic(a) && head_fits(a);
}

bool qgc_fold_affine(qgc_node *node, const qgc_pass_env *env)
{
    qgc_faked faked = {0};
    qgc_affine a = {.env = env, .node = node, .head = find_head(node)};
    if (!a.head && node->op == QGC_OP_BATCH_NORM)
        qgc_no_match(env, node, "not folded: %%%s comes from no op with weights",
                     node->operands[0].value->name->data);
    if (!a.head)
        return false;
    const qgc_value *w = a.head->operands[W].value;
    a.op = qgc_find_weighted_op(a.head->op);
    a.step = qgc_find_fake_step(w);
    a.w = constant_f32(a.step ? a.step->operands[0].value : w);
    a.b = constant_f32(a.head->operands[B].value);
    if (!matches(&a) || (a.step && !qgc_fold_fake(&a, &faked)))
        return false;
    rewrite(&a, &faked);
    return true;
}

/* Two graphs over the same samples, batch by batch: the first one's values are kept for a batch,
 * the second one's are held against them as they come. */
#include "passes/batches.h"
#include "passes/compare_advice.h"
#include "passes/compare_fit.h"
#include "passes/compare_samples.h"
#include "passes/compare_side.h"
#include "qgc/pass.h"
#include "runtime/interp_observed.h"
#include "runtime/ref/ref.h"

#include <math.h>
#include <string.h>

/* The tensors that one value has had in this batch: several where a function is called often. */
typedef struct kept {
    QGC_VEC(qgc_tensor) computed, stored;
} kept;

/* An identifier that both graphs have. */
typedef struct pair {
    qgc_entry *a, *b;
    kept of_a, of_b;
    bool fits_a, fits_b;     /* a weight: codes whose scales are found by fitting */
    uint32_t axis;           /* of these scales */
    size_t num_met;          /* of the second graph's tensors, in this batch */
    QGC_VEC(qgc_row *) rows; /* one, or one for each call site */
    qgc_output_ranks *ranks; /* of outputs */
} pair;

typedef struct comparison comparison;
/* A tensor of one side. |is_last|: of the stage that is compared. */
typedef void show(comparison *c, pair *p, const qgc_entry *e, const qgc_node *call, bool is_last,
                  const qgc_tensor *tensor);

struct comparison {
    const qgc_compare_options *options;
    qgc_compare_report *report;
    qgc_context *context;
    qgc_arena arena; /* lives with the report */
    qgc_arena batch;
    qgc_side a, b;
    QGC_VEC(pair *) pairs;
    pair *first;             /* the first result, or NULL */
    QGC_VEC(qgc_row *) rows; /* in the order of running */
    size_t samples, num;     /* before this batch, in it */
    qgc_labels *labels;
    const qgc_side *running;
    show *show;      /* takes its tensors */
    bool is_watched; /* the side that runs shows values */
    qgc_result result;
};

/* ---- tensors of a batch ---- */

static void drop(kept *k)
{
    for (size_t i = 0; i < k->computed.size; i++)
        qgc_tensor_destroy(&k->computed.data[i]);
    for (size_t i = 0; i < k->stored.size; i++)
        qgc_tensor_destroy(&k->stored.data[i]);
    k->computed.size = k->stored.size = 0;
}

static void keep(comparison *c, kept *k, bool is_stored, const qgc_tensor *tensor)
{
    qgc_tensor copy = {0};
    if (qgc_tensor_copy(&c->context->diag, tensor, &copy) != QGC_OK) {
        c->result = QGC_FAILED;
        return;
    }
    if (is_stored)
        qgc_vec_push(&c->arena, &k->stored, copy);
    else
        qgc_vec_push(&c->arena, &k->computed, copy);
}

/* The elements as floats: codes by the parameters, other integers as they are. */
static const float *read_values(comparison *c, const qgc_tensor *t, const qgc_value_key *key,
                                const qgc_value_key *other)
{
    if (t->dtype == QGC_DTYPE_F32)
        return t->data;
    size_t num = qgc_tensor_count(t);
    float *out = QGC_NEW_ARRAY(&c->batch, float, num ? num : 1);
    const qgc_value_key *reading = key->has_params ? key : other;
    bool is_code = key->is_integer && reading->has_params && !reading->params.per_channel;
    if (key->is_integer && key->has_params && key->params.per_channel &&
        qgc_read_channels(t, &key->params, out))
        return out;
    for (size_t i = 0; i < num; i++) {
        if (!is_code)
            out[i] = (float)qgc_get_f64(t, i);
        else
            out[i] = qgc_dequantize(
                (int32_t)qgc_get_int(t, i),
                (qgc_qparams){reading->params.scales[0], reading->params.zero_points[0]});
    }
    return out;
}

/* ---- rows ---- */

/* The identifier, of one of several call sites: "@f.%c at %r". */
static qgc_name row_name(comparison *c, const pair *p, const qgc_node *call)
{
    if (!call || !p->a->has_sites)
        return p->a->text;
    qgc_text text = {.arena = &c->batch};
    qgc_text_printf(&text, "%s at ", p->a->text->data);
    qgc_value_name_print(&text, call->results[0].name);
    return qgc_context_name(c->context, text.data);
}

static qgc_row *find_row(comparison *c, pair *p, const qgc_node *call)
{
    qgc_name name = row_name(c, p, call);
    for (size_t i = 0; i < p->rows.size; i++)
        if (p->rows.data[i]->name == name)
            return p->rows.data[i];
    qgc_row *row = QGC_NEW(&c->arena, qgc_row);
    row->name = name;
    row->entry_a = p->a;
    row->entry_b = p->b;
    row->key_a = p->a->stored ? p->a->stored_key : p->a->computed_key;
    row->key_b = p->b->stored ? p->b->stored_key : p->b->computed_key;
    row->is_output = p->a->is_output && p->b->is_output;
    qgc_row_init(row, &c->arena);
    qgc_vec_push(&c->arena, &p->rows, row);
    qgc_vec_push(&c->arena, &c->rows, row);
    return row;
}

static bool same_shape(const qgc_tensor *a, const qgc_tensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

static void compare_tensors(comparison *c, pair *p, qgc_row *row, const qgc_tensor *a,
                            const qgc_tensor *computed, const qgc_tensor *b)
{
    qgc_arena_mark mark = qgc_arena_get_mark(&c->batch);
    qgc_row_data data = {.num = qgc_tensor_count(a), .rank = a->rank, .shape = a->shape};
    row->shape_differs |= !same_shape(a, b);
    if (!row->shape_differs) {
        if (p->fits_a)
            qgc_fit_scales(a, read_values(c, b, &row->key_b, &row->key_a), &row->key_b, p->axis,
                           &c->arena, &row->key_a);
        if (p->fits_b)
            qgc_fit_scales(b, read_values(c, a, &row->key_a, &row->key_b), &row->key_a, p->axis,
                           &c->arena, &row->key_b);
        data.a = read_values(c, a, &row->key_a, &row->key_b);
        data.b = read_values(c, b, &row->key_b, &row->key_a);
        if (computed && same_shape(computed, a))
            data.computed = read_values(c, computed, &p->b->computed_key, &row->key_b);
        qgc_row_add(row, &data, c->samples, c->num, &c->arena);
        if (p->ranks && c->result == QGC_OK)
            c->result = qgc_ranks_add(p->ranks, &data, c->samples, c->num, &c->batch);
    }
    qgc_arena_reset(&c->batch, mark);
}

static void forget(qgc_tensor *list, size_t num, size_t index)
{
    if (index < num)
        qgc_tensor_destroy(&list[index]);
}

/* The second graph's last stage of a value has come; nothing of it is needed behind. */
static void meet(comparison *c, pair *p, const qgc_node *call, const qgc_tensor *b)
{
    size_t index = p->num_met++;
    bool has_computed = p->b->stored && index < p->of_b.computed.size;
    size_t num_a = p->a->stored ? p->of_a.stored.size : p->of_a.computed.size;
    qgc_tensor *list_a = p->a->stored ? p->of_a.stored.data : p->of_a.computed.data;
    if (index >= num_a)
        return; /* the first graph did not call as often */
    qgc_row *row = find_row(c, p, call);
    if (!row->is_done)
        compare_tensors(c, p, row, &list_a[index],
                        has_computed ? &p->of_b.computed.data[index] : NULL, b);
    row->is_done = row->key_a.is_constant && row->key_b.is_constant;
    forget(list_a, num_a, index);
    forget(p->of_b.computed.data, p->of_b.computed.size, index);
}

static void show_a(comparison *c, pair *p, const qgc_entry *e, const qgc_node *call, bool is_last,
                   const qgc_tensor *tensor)
{
    find_row(c, p, call);
    if (is_last)
        keep(c, &p->of_a, e->stored != NULL, tensor);
}

static void show_b(comparison *c, pair *p, const qgc_entry *e, const qgc_node *call, bool is_last,
                   const qgc_tensor *tensor)
{
    (void)e;
    if (is_last)
        meet(c, p, call, tensor);
    else
        keep(c, &p->of_b, false, tensor);
}

static void watch(void *user, const qgc_node *call, const qgc_value *value,
                  const qgc_tensor *tensor)
{
    comparison *c = user;
    const qgc_entry *e = qgc_map_get(&c->running->by_value, value);
    c->is_watched = true;
    if (e && e->row)
        c->show(c, e->row, e, call, value == (e->stored ? e->stored : e->computed), tensor);
}

/* ---- running ---- */

static bool is_returned_before(const qgc_node *last, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (qgc_node_operand(last, i) == qgc_node_operand(last, index))
            return true;
    return false;
}

static void show_end(comparison *c, qgc_value *value, const qgc_tensor *tensor)
{
    qgc_value_key key;
    const qgc_side *side = c->running;
    const qgc_entry *e = qgc_map_get(&side->of_value, value);
    if (e && e->row && qgc_value_key_read(&side->owners, side->func, value, &c->batch, &key))
        c->show(c, e->row, e, NULL, key.is_stored == (e->stored != NULL), tensor);
}

/* An engine that ran all of the function shows what went in and out. */
static void show_ends(comparison *c, const qgc_tensor *inputs, const qgc_tensor *outputs)
{
    const qgc_func *func = c->running->func;
    for (uint32_t i = 0; i < func->num_params; i++)
        show_end(c, &func->params[i], &inputs[i]);
    for (uint32_t i = 0; i < func->num_results; i++) {
        qgc_value *value = qgc_node_operand(func->last, i);
        if (value->def && !is_returned_before(func->last, i))
            show_end(c, value, &outputs[i]);
    }
}

static qgc_result run_side(comparison *c, const qgc_side *side, show *how, const qgc_tensor *inputs)
{
    qgc_tensor *outputs = QGC_NEW_ARRAY(&c->batch, qgc_tensor, side->func->num_results);
    qgc_interp_options options = {.engine = side->engine, .watch = watch, .user = c};
    c->is_watched = false;
    c->running = side;
    c->show = how;
    QGC_TRY(qgc_interp_run(side->func, inputs, outputs, &options));
    if (!c->is_watched)
        show_ends(c, inputs, outputs);
    for (uint32_t i = 0; i < side->func->num_results; i++)
        qgc_tensor_destroy(&outputs[i]);
    return c->result;
}

static qgc_result run_batch(comparison *c, const qgc_tensor *inputs_a, const qgc_tensor *inputs_b)
{
    qgc_result result = run_side(c, &c->a, show_a, inputs_a);
    if (result == QGC_OK)
        result = run_side(c, &c->b, show_b, inputs_b);
    for (size_t i = 0; i < c->pairs.size; i++) {
        pair *p = c->pairs.data[i];
        drop(&p->of_a);
        drop(&p->of_b);
        p->num_met = 0;
    }
    return result;
}

/* The second graph's inputs, by name. */
static qgc_result match_inputs(comparison *c, const qgc_tensor *inputs, qgc_tensor *out)
{
    const qgc_func *a = c->a.func, *b = c->b.func;
    for (uint32_t i = 0; i < b->num_params; i++) {
        uint32_t k = 0;
        while (k < a->num_params && a->params[k].name != b->params[i].name)
            k++;
        if (k == a->num_params)
            return qgc_report(&c->context->diag, b->params[i].loc, QGC_D_BAD_INPUT,
                              "the first graph has no input %%%s", b->params[i].name->data);
        out[i] = inputs[k];
    }
    return QGC_OK;
}

static qgc_result run_all(comparison *c, qgc_feed *feed)
{
    qgc_tensor *inputs = QGC_NEW_ARRAY(&c->arena, qgc_tensor, c->a.func->num_params);
    qgc_tensor *inputs_b = QGC_NEW_ARRAY(&c->arena, qgc_tensor, c->b.func->num_params);
    size_t total = qgc_feed_end(feed) - qgc_feed_begin(feed);
    c->samples = qgc_feed_begin(feed);
    do {
        qgc_arena_mark mark = qgc_arena_get_mark(&c->batch);
        QGC_TRY(qgc_feed_next(feed, inputs, &c->num));
        if (c->num) {
            QGC_TRY(match_inputs(c, inputs, inputs_b));
            QGC_TRY(run_batch(c, inputs, inputs_b));
        }
        qgc_arena_reset(&c->batch, mark);
        c->samples += c->num;
        if (c->num && c->options->progress)
            c->options->progress(c->options->user, c->samples - qgc_feed_begin(feed), total);
    } while (c->num);
    c->report->samples = c->samples - qgc_feed_begin(feed);
    return QGC_OK;
}

/* ---- pairs ---- */

static bool is_first_result(const qgc_side *side, const qgc_entry *e)
{
    const qgc_func *func = side->func;
    return func->num_results && qgc_map_get(&side->of_value, qgc_node_operand(func->last, 0)) == e;
}

static void add_pair(comparison *c, qgc_entry *a, qgc_entry *b)
{
    pair *p = QGC_NEW(&c->arena, pair);
    p->a = a;
    p->b = b;
    a->row = b->row = p;
    if (a->is_output && b->is_output)
        p->ranks = qgc_ranks_create(&c->arena, a->text, c->options);
    if (p->ranks && is_first_result(&c->a, a)) {
        p->ranks->func = c->a.func;
        c->first = p;
    }
    qgc_vec_push(&c->arena, &c->pairs, p);
}

static const qgc_value_key *last_key(const qgc_entry *e)
{
    return e->stored ? &e->stored_key : &e->computed_key;
}

/* Codes without parameters are held against codes of the same type, or read as the other side's. */
static bool can_be_read(const qgc_value_key *key, const qgc_value_key *other)
{
    if (!key->is_integer || key->has_params)
        return true;
    bool is_lent = other->has_params && !other->params.per_channel;
    return key->dtype == other->dtype && (other->is_integer || is_lent);
}

static const qgc_value *last_value(const qgc_entry *e)
{
    return e->stored ? e->stored : e->computed;
}

/* Weights whose codes are read by scales that fit; false where they are none. */
static bool add_fitted(comparison *c, qgc_entry *a, qgc_entry *b)
{
    bool fits_a = qgc_can_fit(last_value(a), last_key(a), last_key(b));
    bool fits_b = qgc_can_fit(last_value(b), last_key(b), last_key(a));
    const qgc_entry *known = fits_b ? a : b;
    if (!fits_a && !fits_b)
        return false;
    add_pair(c, a, b);
    pair *p = c->pairs.data[c->pairs.size - 1];
    p->fits_a = fits_a;
    p->fits_b = fits_b;
    p->axis = qgc_weight_axis(known->computed ? known->computed : known->stored, last_key(known));
    return true;
}

static void match_entries(comparison *c)
{
    for (size_t i = 0; i < c->a.list.size; i++) {
        qgc_entry *a = c->a.list.data[i], *b = qgc_map_get(&c->b.by_text, a->text);
        if (!b || !(a->computed || a->stored) || !(b->computed || b->stored) ||
            (c->options->outputs_only && !(a->is_output && b->is_output)))
            continue;
        if (add_fitted(c, a, b))
            continue;
        if (can_be_read(last_key(a), last_key(b)) && can_be_read(last_key(b), last_key(a)))
            add_pair(c, a, b);
        else
            c->report->num_codes++;
    }
}

static bool has_row(const qgc_side *side, const qgc_value *value)
{
    const qgc_entry *e = value ? qgc_map_get(&side->of_value, value) : NULL;
    return !value || (e && e->row);
}

/* An op of the second graph that the first one has, too: what it reads says how good it is. */
static bool is_same_op(const comparison *c, const pair *p)
{
    const qgc_node *a = p->a->computed ? p->a->computed->def : NULL;
    const qgc_node *b = p->b->computed ? p->b->computed->def : NULL;
    if (!a || !b || a->op != b->op || a->num_operands != b->num_operands || a->constant)
        return false;
    for (uint32_t i = 0; i < qgc_op_num_attrs(qgc_node_op(a)); i++)
        if (!qgc_attr_equal(&a->attrs[i], &b->attrs[i]))
            return false;
    for (uint32_t i = 0; i < b->num_operands; i++)
        if (!has_row(&c->b, b->operands[i].value))
            return false;
    return true;
}

static void mark_same_ops(comparison *c)
{
    for (size_t i = 0; i < c->pairs.size; i++)
        c->pairs.data[i]->b->is_same_op = is_same_op(c, c->pairs.data[i]);
}

static size_t list_only(comparison *c, const qgc_side *side, const qgc_side *other,
                        const char ***out)
{
    const char **list = QGC_NEW_ARRAY(&c->arena, const char *, side->list.size + 1);
    size_t num = 0;
    for (size_t i = 0; i < side->list.size; i++)
        if (!qgc_map_get(&other->by_text, side->list.data[i]->text))
            list[num++] = side->list.data[i]->text->data;
    *out = list;
    return num;
}

/* ---- the report ---- */

static const char *op_of(const qgc_entry *e)
{
    return e->is_input ? "input" : qgc_op(e->op)->mnemonic;
}

static void finish_row(comparison *c, const qgc_row *row, qgc_compare_row *out)
{
    *out = (qgc_compare_row){.name = row->name->data,
                             .op_a = op_of(row->entry_a),
                             .op_b = op_of(row->entry_b),
                             .dtype_a = qgc_dtype_name(row->key_a.dtype),
                             .dtype_b = qgc_dtype_name(row->key_b.dtype),
                             .is_constant = row->key_a.is_constant && row->key_b.is_constant,
                             .is_output = row->is_output,
                             .shape_differs = row->shape_differs,
                             .stays_float = row->entry_b->stays_float,
                             .cause = "",
                             .remedy = ""};
    qgc_row_finish(row, &c->arena, out);
}

static void finish_output(comparison *c, const pair *p)
{
    qgc_compare_report *r = c->report;
    if (p && p->ranks && p->rows.size)
        qgc_ranks_finish(p->ranks, &r->outputs[r->num_outputs++]);
}

static void finish(comparison *c)
{
    qgc_compare_report *r = c->report;
    r->num_only_a = list_only(c, &c->a, &c->b, &r->only_a);
    r->num_only_b = list_only(c, &c->b, &c->a, &r->only_b);
    r->rows = QGC_NEW_ARRAY(&c->arena, qgc_compare_row, c->rows.size);
    const qgc_row **from = QGC_NEW_ARRAY(&c->arena, const qgc_row *, c->rows.size);
    for (size_t i = 0; i < c->rows.size; i++) {
        const qgc_row *row = c->rows.data[i];
        if (!row->count && !row->broken.num && !row->shape_differs)
            continue; /* the second graph does not show it */
        from[r->num_rows] = row;
        finish_row(c, row, &r->rows[r->num_rows++]);
    }
    qgc_compare_advise(r, from, c->options->start_db, &c->arena);
    r->outputs = QGC_NEW_ARRAY(&c->arena, qgc_compare_output, c->pairs.size);
    finish_output(c, c->first);
    for (size_t i = 0; i < c->pairs.size; i++)
        if (c->pairs.data[i] != c->first)
            finish_output(c, c->pairs.data[i]);
    r->folders = qgc_labels_folders(c->labels, &c->arena, &r->num_folders);
}

/* What `qgc quantize` does before it annotates: then both graphs have the same values. */
static qgc_result fuse(const qgc_compare_options *o, qgc_module *module, const qgc_module *other)
{
    qgc_pipeline_options options = {.verify_each = false};
    if (o->as_is || module->form != QGC_FORM_FLOAT || other->form == QGC_FORM_FLOAT)
        return QGC_OK;
    return qgc_pipeline_run(module, QGC_PIPELINE_FLOAT, &options);
}

/* Labels are for the first result. */
static qgc_result open_labels(comparison *c, const qgc_feed *feed)
{
    c->report->has_labels = c->options->labels && c->first;
    QGC_TRY(qgc_labels_open(c->options->labels, feed, &c->labels));
    if (c->first)
        c->first->ranks->labels = c->labels;
    if (!c->labels || c->first)
        return QGC_OK;
    return qgc_report(&c->context->diag, c->a.func->loc, QGC_D_BAD_INPUT,
                      "labels are for the first result of @%s, which the graphs do not both have",
                      c->a.func->name->data);
}

static qgc_result compare(comparison *c, const qgc_compare_side *a, const qgc_compare_side *b,
                          qgc_samples *samples)
{
    qgc_feed *feed = NULL;
    qgc_warn_observed(b->module, "its error");
    QGC_TRY(fuse(c->options, a->module, b->module));
    QGC_TRY(fuse(c->options, b->module, a->module));
    QGC_TRY(qgc_side_init(&c->a, a, c->options->func, &c->arena));
    QGC_TRY(qgc_side_init(&c->b, b, c->options->func, &c->arena));
    match_entries(c);
    mark_same_ops(c);
    qgc_side_find_inputs(&c->b);
    qgc_func *const funcs[] = {c->a.func, c->b.func};
    bool compiles =
        c->options->create_engine && (c->a.kind != QGC_COMPARE_REF || c->b.kind != QGC_COMPARE_REF);
    QGC_TRY(qgc_open_batches(funcs, 2, samples, compiles, &feed));
    qgc_result result = open_labels(c, feed);
    if (result == QGC_OK)
        result = qgc_side_compile(&c->a, c->options);
    if (result == QGC_OK)
        result = qgc_side_compile(&c->b, c->options);
    if (result == QGC_OK)
        result = run_all(c, feed);
    if (result == QGC_OK)
        finish(c);
    qgc_labels_close(c->labels);
    qgc_feed_close(feed);
    return result;
}

qgc_result qgc_compare(const qgc_compare_side *a, const qgc_compare_side *b,
                       const qgc_samples *samples, const qgc_compare_options *options,
                       qgc_compare_report *out)
{
    qgc_samples chosen = *samples;
    *out = (qgc_compare_report){.first_difference = SIZE_MAX, .start = SIZE_MAX};
    comparison c = {.options = options, .report = out, .context = a->module->context};
    qgc_result result = compare(&c, a, b, &chosen);
    qgc_side_destroy(&c.a);
    qgc_side_destroy(&c.b);
    qgc_arena_destroy(&c.batch);
    if (result != QGC_OK) {
        qgc_arena_destroy(&c.arena);
        *out = (qgc_compare_report){0};
        return QGC_FAILED;
    }
    qgc_arena *owner = QGC_NEW(&c.arena, qgc_arena);
    *owner = c.arena;
    out->owner = owner;
    return QGC_OK;
}

void qgc_compare_report_free(qgc_compare_report *report)
{
    if (!report->owner)
        return;
    qgc_arena arena = *(qgc_arena *)report->owner;
    *report = (qgc_compare_report){0};
    qgc_arena_destroy(&arena);
}

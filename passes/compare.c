/* Two graphs over the same samples, batch by batch: the first one's values are kept for a batch,
 * the second one's are held against them as they come. */
#include "passes/compare_advice.h"
#include "passes/compare_samples.h"
#include "passes/compare_side.h"
#include "qgc/pass.h"
#include "runtime/interp_feed.h"
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
    size_t num_met;          /* of the second graph's tensors, in this batch */
    QGC_VEC(qgc_row *) rows; /* one, or one for each call site */
    qgc_output_ranks *ranks; /* of outputs */
} pair;

typedef struct comparison {
    const qgc_compare_options *options;
    qgc_compare_report *report;
    qgc_context *context;
    qgc_arena arena; /* lives with the report */
    qgc_arena batch;
    qgc_side a, b;
    QGC_VEC(pair *) pairs;
    QGC_VEC(qgc_row *) rows; /* in the order of running */
    size_t samples, num;     /* before this batch, in it */
    qgc_result result;
} comparison;

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
        data.a = read_values(c, a, &row->key_a, &row->key_b);
        data.b = read_values(c, b, &row->key_b, &row->key_a);
        if (computed && same_shape(computed, a))
            data.computed = read_values(c, computed, &p->b->computed_key, &row->key_b);
        qgc_row_add(row, &data, &c->arena);
        if (p->ranks)
            qgc_ranks_add(p->ranks, &data, c->samples, c->num);
    }
    qgc_arena_reset(&c->batch, mark);
}

/* The second graph's last stage of a value has come. */
static void meet(comparison *c, pair *p, const qgc_node *call, const qgc_tensor *b)
{
    size_t index = p->num_met++;
    const qgc_tensor *computed =
        p->b->stored && index < p->of_b.computed.size ? &p->of_b.computed.data[index] : NULL;
    size_t num_a = p->a->stored ? p->of_a.stored.size : p->of_a.computed.size;
    if (index >= num_a)
        return; /* the first graph did not call as often */
    const qgc_tensor *a =
        p->a->stored ? &p->of_a.stored.data[index] : &p->of_a.computed.data[index];
    qgc_row *row = find_row(c, p, call);
    if (row->is_done)
        return;
    compare_tensors(c, p, row, a, computed, b);
    row->is_done = row->key_a.is_constant && row->key_b.is_constant;
}

static void watch_a(void *user, const qgc_node *call, const qgc_value *value,
                    const qgc_tensor *tensor)
{
    comparison *c = user;
    qgc_entry *e = qgc_map_get(&c->a.by_value, value);
    pair *p = e ? e->row : NULL;
    if (!p)
        return;
    find_row(c, p, call);
    if (value == (e->stored ? e->stored : e->computed))
        keep(c, &p->of_a, e->stored != NULL, tensor);
}

static void watch_b(void *user, const qgc_node *call, const qgc_value *value,
                    const qgc_tensor *tensor)
{
    comparison *c = user;
    qgc_entry *e = qgc_map_get(&c->b.by_value, value);
    pair *p = e ? e->row : NULL;
    if (!p)
        return;
    if (value != (e->stored ? e->stored : e->computed))
        keep(c, &p->of_b, false, tensor);
    else
        meet(c, p, call, tensor);
}

/* ---- running ---- */

static qgc_result run_side(comparison *c, const qgc_side *side, qgc_watch *watch,
                           const qgc_tensor *inputs)
{
    qgc_tensor *outputs = QGC_NEW_ARRAY(&c->batch, qgc_tensor, side->func->num_results);
    qgc_interp_options options = {.engine = side->engine, .watch = watch, .user = c};
    QGC_TRY(qgc_interp_run(side->func, inputs, outputs, &options));
    for (uint32_t i = 0; i < side->func->num_results; i++)
        qgc_tensor_destroy(&outputs[i]);
    return c->result;
}

static qgc_result run_batch(comparison *c, const qgc_tensor *inputs_a, const qgc_tensor *inputs_b)
{
    qgc_result result = run_side(c, &c->a, watch_a, inputs_a);
    if (result == QGC_OK)
        result = run_side(c, &c->b, watch_b, inputs_b);
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

/* ---- shapes ---- */

static qgc_name batch_symbol(const qgc_func *func)
{
    const qgc_type *type = func->num_params ? func->params[0].type : NULL;
    return type && type->rank ? qgc_dim_as_symbol(type->dims[0]) : NULL;
}

static size_t fixed_batch(const qgc_func *func)
{
    const qgc_type *type = func->num_params ? func->params[0].type : NULL;
    bool fixed = type && type->rank && qgc_dim_is_number(type->dims[0]);
    return fixed ? (size_t)type->dims[0].value : 0;
}

/* Machine code has fixed shapes: the greatest divisor of the samples that is no larger than wanted,
 * so that no batch is smaller. */
static qgc_result bind_batch(comparison *c, size_t total, size_t *out)
{
    size_t wanted = *out;
    qgc_name a = batch_symbol(c->a.func), b = batch_symbol(c->b.func);
    size_t fixed = fixed_batch(c->a.func) ? fixed_batch(c->a.func) : fixed_batch(c->b.func);
    bool compiles =
        c->options->create_engine && (c->a.kind != QGC_COMPARE_REF || c->b.kind != QGC_COMPARE_REF);
    if (fixed)
        *out = fixed;
    else
        for (*out = wanted; compiles && total % *out;)
            --*out;
    if (!compiles && !fixed)
        return QGC_OK;
    if (a)
        QGC_TRY(qgc_module_bind(c->a.module, a->data, (int64_t)*out));
    if (b)
        QGC_TRY(qgc_module_bind(c->b.module, b->data, (int64_t)*out));
    return QGC_OK;
}

static qgc_result open_feed(comparison *c, const char *path, qgc_feed **out)
{
    const qgc_compare_options *o = c->options;
    qgc_feed_options options = {
        .batch = o->batch ? o->batch : 32, .limit = o->limit, .first = o->first};
    qgc_feed *feed;
    QGC_TRY(qgc_feed_open(c->a.func, path, &options, &feed));
    size_t total = qgc_feed_end(feed) - qgc_feed_begin(feed);
    qgc_feed_close(feed);
    QGC_TRY(bind_batch(c, total, &options.batch));
    return qgc_feed_open(c->a.func, path, &options, out);
}

/* ---- pairs ---- */

static void add_pair(comparison *c, qgc_entry *a, qgc_entry *b)
{
    pair *p = QGC_NEW(&c->arena, pair);
    p->a = a;
    p->b = b;
    a->row = b->row = p;
    if (a->is_output && b->is_output && c->options->worst)
        p->ranks = qgc_ranks_create(&c->arena, a->text, c->options);
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

static void match_entries(comparison *c)
{
    for (size_t i = 0; i < c->a.list.size; i++) {
        qgc_entry *a = c->a.list.data[i], *b = qgc_map_get(&c->b.by_text, a->text);
        if (!b || !(a->computed || a->stored) || !(b->computed || b->stored))
            continue;
        if (can_be_read(last_key(a), last_key(b)) && can_be_read(last_key(b), last_key(a)))
            add_pair(c, a, b);
        else
            c->report->num_codes++;
    }
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

static void finish(comparison *c)
{
    qgc_compare_report *r = c->report;
    r->num_only_a = list_only(c, &c->a, &c->b, &r->only_a);
    r->num_only_b = list_only(c, &c->b, &c->a, &r->only_b);
    r->rows = QGC_NEW_ARRAY(&c->arena, qgc_compare_row, c->rows.size);
    const qgc_row **from = QGC_NEW_ARRAY(&c->arena, const qgc_row *, c->rows.size);
    for (size_t i = 0; i < c->rows.size; i++) {
        const qgc_row *row = c->rows.data[i];
        if (!row->count && !row->broken && !row->shape_differs)
            continue; /* the second graph does not show it */
        from[r->num_rows] = row;
        finish_row(c, row, &r->rows[r->num_rows++]);
    }
    qgc_compare_advise(r, from, c->options->start_db, &c->arena);
    r->outputs = QGC_NEW_ARRAY(&c->arena, qgc_compare_output, c->pairs.size);
    for (size_t i = 0; i < c->pairs.size; i++)
        if (c->pairs.data[i]->ranks)
            qgc_ranks_finish(c->pairs.data[i]->ranks, &r->outputs[r->num_outputs++]);
}

/* What `qgc quantize` does before it annotates: then both graphs have the same values. */
static qgc_result fuse(const qgc_compare_options *o, qgc_module *module, const qgc_module *other)
{
    qgc_pipeline_options options = {.verify_each = false};
    if (o->as_is || module->form != QGC_FORM_FLOAT || other->form == QGC_FORM_FLOAT)
        return QGC_OK;
    return qgc_pipeline_run(module, QGC_PIPELINE_FLOAT, &options);
}

static qgc_result compare(comparison *c, const qgc_compare_side *a, const qgc_compare_side *b,
                          const char *path)
{
    const char *func = c->options->func ? c->options->func : "main";
    qgc_feed *feed = NULL;
    QGC_TRY(fuse(c->options, a->module, b->module));
    QGC_TRY(fuse(c->options, b->module, a->module));
    QGC_TRY(qgc_side_init(&c->a, a, func, &c->arena));
    QGC_TRY(qgc_side_init(&c->b, b, func, &c->arena));
    match_entries(c);
    qgc_side_find_inputs(&c->b);
    QGC_TRY(open_feed(c, path, &feed));
    qgc_result result = qgc_side_compile(&c->a, c->options);
    if (result == QGC_OK)
        result = qgc_side_compile(&c->b, c->options);
    if (result == QGC_OK)
        result = run_all(c, feed);
    if (result == QGC_OK)
        finish(c);
    qgc_feed_close(feed);
    return result;
}

qgc_result qgc_compare(const qgc_compare_side *a, const qgc_compare_side *b, const char *path,
                       const qgc_compare_options *options, qgc_compare_report *out)
{
    *out = (qgc_compare_report){.first_difference = SIZE_MAX, .start = SIZE_MAX};
    comparison c = {.options = options, .report = out, .context = a->module->context};
    qgc_result result = compare(&c, a, b, path);
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

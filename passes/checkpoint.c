#include "passes/checkpoint.h"

#include "passes/provenance.h"
#include "passes/stats_record.h"
#include "runtime/file.h"
#include "runtime/hash.h"

#include <stdlib.h>
#include <sys/stat.h>

/* ---- what a state is one of ---- */

typedef struct identity {
    qgc_named_attr fields[10];
    uint32_t num;
} identity;

static void put(identity *id, qgc_context *context, const char *name, qgc_attr value)
{
    id->fields[id->num++] = (qgc_named_attr){qgc_context_name(context, name), value};
}

static void put_text(identity *id, qgc_context *context, const char *name, const char *text)
{
    put(id, context, name, qgc_attr_from_name(QGC_ATTR_STRING, qgc_context_name(context, text)));
}

/* The types of what the function takes. The hash of the graph leaves sizes out, but batches of
 * other sizes would not end in the same bytes. */
static const char *inputs_of(const qgc_data_pass *pass, qgc_arena *arena)
{
    const qgc_module *module = pass->recorders->module;
    qgc_name name = qgc_context_name(module->context, pass->func ? pass->func : "main");
    const qgc_func *func = qgc_module_find_func(module, name);
    qgc_text text = {.arena = arena};
    qgc_text_puts(&text, "");
    for (uint32_t i = 0; func && i < func->num_params; i++) {
        qgc_text_puts(&text, i ? ", " : "");
        qgc_type_print(&text, func->params[i].type);
    }
    return text.data;
}

/* The fields that must agree. */
static identity identify(uint64_t graph_hash, const qgc_data_pass *pass, qgc_arena *arena)
{
    identity id = {.num = 0};
    qgc_context *context = pass->recorders->module->context;
    const qgc_samples *feed = pass->samples;
    put_text(&id, context, "graph", qgc_hash_text(arena, graph_hash));
    put_text(&id, context, "func", pass->func ? pass->func : "main");
    put(&id, context, "batch", qgc_attr_from_int((int64_t)(feed->batch ? feed->batch : 1)));
    put(&id, context, "first", qgc_attr_from_int((int64_t)feed->first));
    put(&id, context, "shard", qgc_attr_from_int((int64_t)feed->shard));
    put(&id, context, "shards",
        qgc_attr_from_int((int64_t)(feed->num_shards ? feed->num_shards : 1)));
    put_text(&id, context, "shape", inputs_of(pass, arena));
    put_text(&id, context, "version", "qgc " QGC_VERSION);
    return id;
}

/* ---- reading ---- */

static qgc_result refuse(qgc_context *context, const char *path, const char *why)
{
    return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_BAD_STATE, "%s: %s", path, why);
}

static qgc_result check_identity(const char *path, const identity *id, const qgc_record *record,
                                 qgc_context *context)
{
    for (uint32_t i = 0; i < id->num; i++) {
        const char *name = id->fields[i].name->data;
        const qgc_attr *field = qgc_record_field(record, name);
        if (!field || !qgc_attr_equal(field, &id->fields[i].value))
            return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_BAD_STATE,
                              "%s was made with another %s", path, name);
    }
    return QGC_OK;
}

static bool read_hash(const qgc_attr *attr, uint64_t *out)
{
    char *end = NULL;
    if (!attr || attr->kind != QGC_ATTR_STRING || attr->name->size != 16)
        return false;
    *out = strtoull(attr->name->data, &end, 16);
    return !*end;
}

static qgc_result read_state(const char *path, const identity *id, qgc_module *state,
                             qgc_data_pass *pass)
{
    qgc_context *context = state->context;
    if (!qgc_provenance_is_sealed(state) || state->first)
        return refuse(context, path, "not the state of a calibration");
    const qgc_record *record = state->provenance.data;
    QGC_TRY(check_identity(path, id, record, context));
    const qgc_attr *samples = qgc_record_field(record, "samples");
    bool has_samples = samples && samples->kind == QGC_ATTR_INT && samples->i > 0;
    if (!has_samples || !read_hash(qgc_record_field(record, "data"), &pass->skip_hash))
        return refuse(context, path, "not the state of a calibration");
    pass->skip = (size_t)samples->i;
    return qgc_recorders_add(pass->recorders, state);
}

qgc_result qgc_checkpoint_read(const char *path, uint64_t graph_hash, qgc_data_pass *pass)
{
    struct stat info;
    qgc_arena scratch = {0};
    qgc_remove_stale(&scratch, path, false); /* the rest may be too short for a checkpoint */
    if (stat(path, &info) != 0) {            /* what else is wrong with it, writing will tell */
        qgc_arena_destroy(&scratch);
        return QGC_OK;
    }
    identity id = identify(graph_hash, pass, &scratch);
    qgc_module *state = qgc_module_read(pass->recorders->module->context, path);
    qgc_result result = state ? read_state(path, &id, state, pass) : QGC_FAILED;
    qgc_module_destroy(state);
    qgc_arena_destroy(&scratch);
    return result;
}

/* ---- writing ---- */

static qgc_result write_state(const char *path, const identity *id, const qgc_data_pass *pass,
                              qgc_module *state)
{
    qgc_diag *diag = &state->context->diag;
    qgc_output output;
    qgc_text text = {.arena = &state->arena};
    qgc_record record = {.fields = {.kind = QGC_ATTR_MAP, .num = id->num, .map = id->fields}};
    qgc_vec_push(&state->arena, &state->provenance, record);
    qgc_recorders_write(pass->recorders, state);
    qgc_provenance_seal(state);
    qgc_module_print(state, &text);
    QGC_TRY(qgc_output_open(diag, path, &output));
    qgc_output_put(&output, text.data, text.size);
    return qgc_output_close(diag, &output);
}

qgc_result qgc_checkpoint_write(const char *path, uint64_t graph_hash, const qgc_data_pass *pass)
{
    qgc_context *context = pass->recorders->module->context;
    qgc_module *state = qgc_module_create(context);
    state->form = QGC_FORM_CALIBRATED;
    identity id = identify(graph_hash, pass, &state->arena);
    put_text(&id, context, "data", qgc_hash_text(&state->arena, pass->data_hash));
    put(&id, context, "samples", qgc_attr_from_int((int64_t)pass->num_samples));
    qgc_result result = write_state(path, &id, pass, state);
    qgc_module_destroy(state);
    return result;
}

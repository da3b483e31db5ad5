/* Shards of a calibration become one. */
#include "passes/provenance.h"
#include "passes/recorders.h"
#include "passes/stats_record.h"
#include "qgc/stats.h"
#include "runtime/hash.h"

#include <stdlib.h>
#include <string.h>

typedef struct source {
    qgc_loc loc;
    const char *graph;
    uint64_t data;
    uint64_t samples;
} source;

static const char *text_field(const qgc_record *record, const char *name)
{
    const qgc_attr *attr = qgc_record_field(record, name);
    return attr && attr->kind == QGC_ATTR_STRING ? attr->name->data : NULL;
}

static qgc_result read_source(qgc_module *module, source *out)
{
    qgc_diag *diag = &module->context->diag;
    if (module->form != QGC_FORM_CALIBRATED)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_BAD_FORM,
                          "stats merge needs graphs of form calibrated, here it is %s",
                          qgc_form_name(module->form));
    if (!module->provenance.size)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_BAD_STATS,
                          "a calibrated graph without provenance cannot be merged");
    const qgc_record *record = module->provenance.data;
    const qgc_attr *samples = qgc_record_field(record, "samples");
    const char *data = text_field(record, "data");
    char *end = NULL;
    out->loc = record->loc;
    out->graph = text_field(record, "graph");
    out->data = data ? strtoull(data, &end, 16) : 0;
    bool fits = out->graph && data && strlen(data) == 16 && !*end && samples &&
                samples->kind == QGC_ATTR_INT && samples->i >= 0;
    out->samples = fits ? (uint64_t)samples->i : 0;
    return fits ? QGC_OK
                : qgc_report(diag, record->loc, QGC_D_BAD_STATS,
                             "provenance: expected graph, data and samples");
}

static qgc_result check_graph(qgc_module *into, const source *s, const char *hash)
{
    if (strcmp(s->graph, hash) == 0)
        return QGC_OK;
    return qgc_report(&into->context->diag, s->loc, QGC_D_FOREIGN_STATS,
                      "the statistics are those of another graph, or of other weights");
}

/* What the result says once was said by all: in any order it has the same bytes. */
static qgc_result check_same(const qgc_module *into, const qgc_module *from)
{
    static const char *const NAMES[] = {"rules", "version"};
    static const char *const WORDS[] = {"by other rules", "with another version of qgc"};
    const qgc_record *ours = into->provenance.data, *theirs = from->provenance.data;
    for (int i = 0; i < 2; i++) {
        const qgc_attr *a = qgc_record_field(ours, NAMES[i]);
        const qgc_attr *b = qgc_record_field(theirs, NAMES[i]);
        if (a ? !b || !qgc_attr_equal(a, b) : b != NULL)
            return qgc_report(&into->context->diag, theirs->loc, QGC_D_FOREIGN_STATS,
                              "the statistics were made %s than the first ones", WORDS[i]);
    }
    return QGC_OK;
}

static void warn_equal(qgc_diag *diag, const source *sources, size_t num)
{
    for (size_t i = 1; i < num; i++)
        for (size_t k = 0; k < i; k++)
            if (sources[i].data == sources[k].data && sources[i].samples == sources[k].samples) {
                qgc_report(diag, sources[i].loc, QGC_D_SAME_DATA,
                           "made with the same data as the input before: it counts twice");
                break;
            }
}

static qgc_result merge(qgc_module *into, qgc_module *const *others, size_t num, qgc_arena *arena)
{
    source *sources = QGC_NEW_ARRAY(arena, source, num + 1);
    qgc_recorders recorders;
    uint64_t data = 0, samples = 0;
    bool is_sealed = true;
    const char *hash = qgc_hash_text(arena, qgc_graph_hash(into));
    QGC_TRY(qgc_recorders_build(&recorders, into, arena, false));
    for (size_t i = 0; i <= num; i++) {
        qgc_module *from = i ? others[i - 1] : into;
        QGC_TRY(read_source(from, &sources[i]));
        QGC_TRY(check_graph(into, &sources[i], hash));
        QGC_TRY(check_same(into, from));
        qgc_provenance_warn_unsealed(from);
        is_sealed &= qgc_provenance_is_sealed(from);
        QGC_TRY(qgc_recorders_add(&recorders, from));
        data += sources[i].data;
        if (__builtin_add_overflow(samples, sources[i].samples, &samples) || samples > INT64_MAX)
            return qgc_report(&into->context->diag, sources[i].loc, QGC_D_BAD_STATS,
                              "the numbers of samples exceed 63 bits");
    }
    warn_equal(&into->context->diag, sources, num + 1);
    qgc_recorders_write(&recorders, into);
    qgc_provenance_set(into, qgc_graph_hash(into), data, samples);
    if (!is_sealed) /* what was edited stays so */
        qgc_provenance_unseal(into);
    return QGC_OK;
}

qgc_result qgc_module_merge_stats(qgc_module *into, qgc_module *const *others, size_t num)
{
    qgc_arena arena = {0};
    qgc_result result = merge(into, others, num, &arena);
    qgc_arena_destroy(&arena);
    return result;
}

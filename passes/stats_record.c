#include "passes/stats_record.h"

#include <math.h>
#include <string.h>

/* ---- to text ---- */

typedef struct fields {
    qgc_module *module;
    QGC_VEC(qgc_named_attr) list;
} fields;

static void put(fields *f, const char *name, qgc_attr value)
{
    qgc_named_attr field = {qgc_context_name(f->module->context, name), value};
    qgc_vec_push(&f->module->arena, &f->list, field);
}

static void put_count(fields *f, const char *name, uint64_t count)
{
    put(f, name, qgc_attr_from_int((int64_t)count));
}

static qgc_attr bins_attr(qgc_module *module, const qgc_stats *stats)
{
    qgc_attr *list = QGC_NEW_ARRAY(&module->arena, qgc_attr, stats->num_bins);
    for (uint32_t i = 0; i < stats->num_bins; i++)
        list[i] = qgc_attr_from_int((int64_t)stats->bins[i]);
    return (qgc_attr){.kind = QGC_ATTR_LIST, .num = stats->num_bins, .list = list};
}

qgc_attr qgc_stats_to_attr(qgc_module *module, const qgc_stats *stats)
{
    fields f = {.module = module};
    if (stats->observer == QGC_OBSERVER_MOVING_AVERAGE)
        put(&f, "average", (qgc_attr){.kind = QGC_ATTR_BOOL, .b = true});
    put_count(&f, "count", stats->count);
    put_count(&f, "zeros", stats->zeros);
    if (stats->nan)
        put_count(&f, "nan", stats->nan);
    if (stats->pos_inf)
        put_count(&f, "pos_inf", stats->pos_inf);
    if (stats->neg_inf)
        put_count(&f, "neg_inf", stats->neg_inf);
    if (stats->min <= stats->max) {
        put(&f, "min", qgc_attr_from_float(stats->min));
        put(&f, "max", qgc_attr_from_float(stats->max));
    }
    if (stats->observer == QGC_OBSERVER_HISTOGRAM) {
        put(&f, "exp", qgc_attr_from_int(stats->exp));
        put(&f, "first", qgc_attr_from_int(stats->first));
        put(&f, "bins", bins_attr(module, stats));
    }
    return (qgc_attr){.kind = QGC_ATTR_MAP, .num = (uint32_t)f.list.size, .map = f.list.data};
}

/* ---- from text ---- */

static bool read_count(const qgc_attr *attr, void *out)
{
    if (attr->kind != QGC_ATTR_INT || attr->i < 0)
        return false;
    *(uint64_t *)out = (uint64_t)attr->i;
    return true;
}

static bool read_int(const qgc_attr *attr, void *out)
{
    if (attr->kind != QGC_ATTR_INT || attr->i < INT32_MIN || attr->i > INT32_MAX)
        return false;
    *(int32_t *)out = (int32_t)attr->i;
    return true;
}

static bool read_float(const qgc_attr *attr, void *out)
{
    if (attr->kind != QGC_ATTR_FLOAT && attr->kind != QGC_ATTR_INT)
        return false;
    *(float *)out = attr->kind == QGC_ATTR_INT ? (float)attr->i : attr->f;
    return true;
}

static const struct field {
    const char *name;
    bool (*read)(const qgc_attr *attr, void *out);
    size_t offset;
} plain_fields[] = {
    {"count", read_count, offsetof(qgc_stats, count)},
    {"zeros", read_count, offsetof(qgc_stats, zeros)},
    {"nan", read_count, offsetof(qgc_stats, nan)},
    {"pos_inf", read_count, offsetof(qgc_stats, pos_inf)},
    {"neg_inf", read_count, offsetof(qgc_stats, neg_inf)},
    {"min", read_float, offsetof(qgc_stats, min)},
    {"max", read_float, offsetof(qgc_stats, max)},
    {"exp", read_int, offsetof(qgc_stats, exp)},
    {"first", read_int, offsetof(qgc_stats, first)},
};

static bool read_bins(const qgc_attr *attr, qgc_stats *out)
{
    if (attr->kind != QGC_ATTR_LIST || attr->num > QGC_STATS_MAX_BINS || !out->bins)
        return false;
    out->num_bins = attr->num;
    for (uint32_t i = 0; i < attr->num; i++)
        if (!read_count(&attr->list[i], &out->bins[i]))
            return false;
    return true;
}

static bool read_field(const qgc_named_attr *field, qgc_stats *out)
{
    qgc_str name = qgc_name_str(field->name);
    if (qgc_str_equal(name, qgc_str_from("average")))
        return field->value.kind == QGC_ATTR_BOOL && field->value.b;
    if (qgc_str_equal(name, qgc_str_from("bins")))
        return read_bins(&field->value, out);
    for (size_t i = 0; i < sizeof plain_fields / sizeof *plain_fields; i++)
        if (qgc_str_equal(name, qgc_str_from(plain_fields[i].name)))
            return plain_fields[i].read(&field->value, (char *)out + plain_fields[i].offset);
    return false;
}

static qgc_observer observer_of(const qgc_record *record)
{
    if (qgc_record_field(record, "average"))
        return QGC_OBSERVER_MOVING_AVERAGE;
    return qgc_record_field(record, "bins") ? QGC_OBSERVER_HISTOGRAM : QGC_OBSERVER_MINMAX;
}

qgc_result qgc_stats_from_record(qgc_module *module, const qgc_record *record, qgc_arena *arena,
                                 qgc_stats *out)
{
    qgc_diag *diag = &module->context->diag;
    qgc_stats_init(out, observer_of(record), arena);
    for (uint32_t i = 0; i < record->fields.num; i++)
        if (!read_field(&record->fields.map[i], out))
            return qgc_report(diag, record->loc, QGC_D_BAD_STATS,
                              "statistics of %%%s: field %s is unknown or malformed",
                              record->value->data, record->fields.map[i].name->data);
    qgc_stats_fault fault = qgc_stats_check(out);
    if (fault != QGC_STATS_OK)
        return qgc_report(diag, record->loc, QGC_D_BAD_STATS, "statistics of %%%s: %s",
                          record->value->data, qgc_stats_fault_text(fault));
    return QGC_OK;
}

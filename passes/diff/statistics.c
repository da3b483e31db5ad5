/* What two calibrations have seen of one value. */
#include "passes/diff/diff.h"
#include "passes/stats_record.h"

#include <math.h>

static const qgc_value *value_of(const qgc_module *module, const qgc_record *record)
{
    qgc_func *func = qgc_module_find_func(module, record->func);
    return func ? qgc_func_find_value(func, record->value) : NULL;
}

void qgc_diff_index_statistics(qgc_diff *diff)
{
    qgc_module *const *modules = diff->given;
    diff->records.arena = &diff->arena;
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < modules[s]->stats.size; i++) {
            qgc_record *record = &modules[s]->stats.data[i];
            const qgc_value *value = value_of(modules[s], record);
            if (value && !record->site) /* those of single calls are parts of it */
                *qgc_map_at(&diff->records, value) = record;
        }
}

static const qgc_record *record_of(const qgc_diff *diff, const qgc_value *value)
{
    const qgc_value *original = qgc_map_get(&diff->originals, value);
    return original ? qgc_map_get(&diff->records, original) : NULL;
}

static bool number_of(const qgc_record *record, const char *name, double *out)
{
    const qgc_attr *attr = qgc_record_field(record, name);
    if (!attr || (attr->kind != QGC_ATTR_FLOAT && attr->kind != QGC_ATTR_INT))
        return false;
    *out = attr->kind == QGC_ATTR_FLOAT ? (double)attr->f : (double)attr->i;
    return true;
}

static void put_change(qgc_text *out, const char *name, double left, double right)
{
    if (left != right)
        qgc_text_printf(out, "%s%s %.6g -> %.6g", out->size ? ", " : "", name, left, right);
}

/* How far the ends of the range move, as a share of the left range. */
static double drift(const double *left, const double *right)
{
    double width = left[1] - left[0];
    double move = fmax(fabs(right[0] - left[0]), fabs(right[1] - left[1]));
    return width > 0 ? move / width : NAN;
}

static void compare_records(qgc_diff_pair *pair, const qgc_record *l, const qgc_record *r,
                            qgc_diff_row *row)
{
    static const char *const NAMES[] = {"min", "max", "count"};
    qgc_text text = {.arena = &pair->diff->arena};
    double left[3], right[3];
    bool has_range = true;
    for (int i = 0; i < 3; i++) {
        bool has = number_of(l, NAMES[i], &left[i]) && number_of(r, NAMES[i], &right[i]);
        has_range &= has || i == 2;
        if (has)
            put_change(&text, NAMES[i], left[i], right[i]);
    }
    qgc_diff_add(pair, row, QGC_DIFF_STATISTICS, has_range ? drift(left, right) : NAN, "%s",
                 text.size ? text.data : "other values between the same bounds");
}

void qgc_diff_compare_statistics(qgc_diff_pair *pair, const qgc_value *a, const qgc_value *b,
                                 qgc_diff_row *row)
{
    const qgc_diff *diff = pair->diff;
    if (!diff->given[0]->stats.size || !diff->given[1]->stats.size)
        return; /* only one is calibrated */
    const qgc_record *l = record_of(diff, a), *r = record_of(diff, b);
    if (l && r && !qgc_attr_equal(&l->fields, &r->fields))
        compare_records(pair, l, r, row);
    else if (!l != !r)
        qgc_diff_add(pair, row, QGC_DIFF_STATISTICS, NAN, "statistics %s", l ? "removed" : "added");
}

/* A comparison as text, CSV and JSON. */
#include "compare.h"

#include <math.h>
#include <string.h>

/* ---- text ---- */

double compare_part_db(const qgc_compare_row *row, double part)
{
    if (!(part > 0))
        return INFINITY;
    return row->energy > 0 ? 10 * log10(row->energy / part) : -INFINITY;
}

static void put_db(FILE *out, double value, bool is_there)
{
    if (!is_there)
        fprintf(out, " %6s", "");
    else if (isinf(value))
        fprintf(out, " %6s", value > 0 ? "-" : "-inf");
    else
        fprintf(out, " %6.1f", value);
}

static void put_row(FILE *out, const qgc_compare_row *row, int width)
{
    fprintf(out, "%-*s %-5s", width, row->name, row->dtype_b);
    if (row->shape_differs) {
        fprintf(out, "  another shape\n");
        return;
    }
    put_db(out, row->sqnr, true);
    put_db(out, row->channel_sqnr, row->num_channels > 1);
    fprintf(out, " %9.6f %10.4g", row->cosine, row->max_abs);
    if (row->has_step)
        fprintf(out, " %7.1f", row->max_steps);
    else
        fprintf(out, " %7s", "");
    put_db(out, compare_part_db(row, row->clipped), row->has_parts);
    put_db(out, compare_part_db(row, row->rounded), row->has_parts);
    put_db(out, compare_part_db(row, row->inherited), row->has_parts);
    put_db(out, row->loss == 0 ? (double)NAN : row->loss, row->loss > 0);
    fprintf(out, "%s%s%s\n", row->broken.num ? "  not finite" : "",
            row->stays_float ? "  float" : "", row->is_output ? "  output" : "");
}

static void put_table(FILE *out, const qgc_compare_report *r)
{
    int width = 5;
    for (size_t i = 0; i < r->num_rows; i++) {
        int size = (int)strlen(r->rows[i].name);
        width = size > width ? size : width;
    }
    fprintf(out, "%-*s %-5s %6s %6s %9s %10s %7s %6s %6s %6s %6s\n", width, "value", "type", "SQNR",
            "median", "cosine", "max error", "steps", "clip", "round", "inher.", "loss");
    for (size_t i = 0; i < r->num_rows; i++)
        put_row(out, &r->rows[i], width);
}

static void put_start(FILE *out, const comparison *c)
{
    const qgc_compare_report *r = c->report;
    if (r->first_difference == SIZE_MAX) {
        fprintf(out, "no value differs\n");
        return;
    }
    const qgc_compare_row *first = &r->rows[r->first_difference];
    fprintf(out, "first difference  %s (%s)\n", first->name, first->op_b);
    if (r->start == SIZE_MAX) {
        fprintf(out, "error starts      nowhere: no value loses %g dB\n", c->start_db);
        return;
    }
    const qgc_compare_row *row = &r->rows[r->start];
    fprintf(out, "error starts at   %s (%s): loses %.1f dB, %s\n", row->name, row->op_b, row->loss,
            row->cause[0] ? row->cause : "not finite");
    if (row->worst_channel_sqnr < row->channel_sqnr - c->start_db)
        fprintf(out, "worst channel     %zu of %zu: %.1f dB, the median is %.1f dB\n",
                row->worst_channel, row->num_channels, row->worst_channel_sqnr, row->channel_sqnr);
    if (row->remedy[0])
        fprintf(out, "remedy            %s\n", row->remedy);
}

/* The other values that lose much: rarely more than a few. */
static void put_others(FILE *out, const comparison *c)
{
    const qgc_compare_report *r = c->report;
    for (size_t i = 0; i < r->num_rows; i++) {
        const qgc_compare_row *row = &r->rows[i];
        if (row->stays_float)
            fprintf(out, "left in float     %s (%s)\n", row->name, row->op_b);
        else if (i != r->start && row->loss >= c->start_db)
            fprintf(out, "also loses        %s (%s): %.1f dB, %s; %s\n", row->name, row->op_b,
                    row->loss, row->cause, row->remedy);
    }
}

static void put_agreement(FILE *out, const comparison *c)
{
    const qgc_compare_report *r = c->report;
    put_folders(out, "folders           ", r->folders, r->num_folders);
    for (size_t i = 0; i < r->num_outputs; i++)
        if (r->outputs[i].classes > 1)
            fprintf(out, "same top-1        %zu of %zu (%s)\n", r->outputs[i].agree,
                    r->outputs[i].answers, r->outputs[i].name);
    if (r->has_labels && r->num_outputs)
        fprintf(out, "right             %zu in A, %zu in B\n", r->outputs[0].top1_a,
                r->outputs[0].top1_b);
}

static void put_samples(FILE *out, const comparison *c)
{
    for (size_t i = 0; i < c->report->num_outputs; i++) {
        const qgc_compare_output *o = &c->report->outputs[i];
        fprintf(out, "\nworst samples of %s, by %s\n", o->name, c->metric);
        bool has_positions = o->answers > c->report->samples;
        fprintf(out, "%8s %6s %10s %9s %10s  %s\n", "sample", "SQNR", "MSE", "cosine", "max error",
                has_positions ? "other top-1" : "greatest at");
        for (size_t k = 0; k < o->num_worst; k++) {
            const qgc_compare_sample *s = &o->worst[k];
            fprintf(out, "%8zu", s->index);
            put_db(out, s->sqnr, true);
            fprintf(out, " %10.4g %9.6f %10.4g  %zu", s->mse, s->cosine, s->max_abs,
                    has_positions ? s->unlike : s->top_a);
            if (has_positions) {
                fprintf(out, " of %zu\n", o->answers / c->report->samples);
                continue;
            }
            fprintf(out, s->top_a == s->top_b ? "\n" : ", then %zu\n", s->top_b);
        }
    }
}

void compare_write_text(FILE *out, const void *report)
{
    const comparison *c = report;
    const qgc_compare_report *r = c->report;
    fprintf(out, "samples           %zu\nvalues            %zu in both graphs", r->samples,
            r->num_rows);
    if (r->num_codes)
        fprintf(out, ", %zu more that are integers of no known scale", r->num_codes);
    fprintf(out, "\n                  %zu only in A (%s), %zu only in B (%s)\n", r->num_only_a,
            c->a, r->num_only_b, c->b);
    put_agreement(out, c);
    put_start(out, c);
    put_others(out, c);
    fputc('\n', out);
    put_table(out, r);
    put_samples(out, c);
}

/* ---- the columns of CSV and JSON ---- */

typedef struct column {
    const char *name;
    double (*get)(const qgc_compare_row *row);
} column;

#define COLUMN(field)                                                                              \
    static double get_##field(const qgc_compare_row *row)                                          \
    {                                                                                              \
        return (double)row->field;                                                                 \
    }
#define PART(field, there)                                                                         \
    static double get_##field(const qgc_compare_row *row)                                          \
    {                                                                                              \
        return row->there ? (double)row->field : (double)NAN;                                      \
    }
COLUMN(count)
COLUMN(differing)
COLUMN(min_a)
COLUMN(max_a)
COLUMN(min_b)
COLUMN(max_b)
COLUMN(energy)
COLUMN(mse)
COLUMN(l1)
COLUMN(max_abs)
COLUMN(max_rel)
COLUMN(cosine)
COLUMN(sqnr)
COLUMN(kl)
COLUMN(channel_sqnr)
COLUMN(worst_channel_sqnr)
COLUMN(worst_channel)
COLUMN(loss)
static double get_broken(const qgc_compare_row *row)
{
    return (double)row->broken.num;
}
PART(step, has_step)
PART(zero_point, has_step)
PART(max_steps, has_step)
PART(clipped, has_parts)
PART(rounded, has_parts)
PART(inherited, has_parts)
PART(mixed, has_parts)
PART(clipped_share, has_parts)

#define ENTRY(field) {#field, get_##field}
static const column columns[] = {
    ENTRY(count),        ENTRY(differing),     ENTRY(broken),
    ENTRY(min_a),        ENTRY(max_a),         ENTRY(min_b),
    ENTRY(max_b),        ENTRY(energy),        ENTRY(mse),
    ENTRY(l1),           ENTRY(max_abs),       ENTRY(max_rel),
    ENTRY(cosine),       ENTRY(sqnr),          ENTRY(kl),
    ENTRY(channel_sqnr), ENTRY(worst_channel), ENTRY(worst_channel_sqnr),
    ENTRY(step),         ENTRY(zero_point),    ENTRY(max_steps),
    ENTRY(clipped),      ENTRY(rounded),       ENTRY(inherited),
    ENTRY(mixed),        ENTRY(clipped_share), ENTRY(loss),
};
enum { NUM_COLUMNS = sizeof columns / sizeof *columns };

/* ---- CSV ---- */

void compare_write_csv(FILE *out, const void *report)
{
    const qgc_compare_report *r = ((const comparison *)report)->report;
    fprintf(out, "value,op_a,op_b,dtype_a,dtype_b");
    for (int i = 0; i < NUM_COLUMNS; i++)
        fprintf(out, ",%s", columns[i].name);
    fprintf(out, ",cause,remedy\n");
    for (size_t i = 0; i < r->num_rows; i++) {
        const qgc_compare_row *row = &r->rows[i];
        put_csv_string(out, row->name);
        fprintf(out, ",%s,%s,%s,%s", row->op_a, row->op_b, row->dtype_a, row->dtype_b);
        for (int k = 0; k < NUM_COLUMNS; k++) {
            double value = columns[k].get(row);
            fprintf(out, isnan(value) ? "," : ",%.9g", value);
        }
        fprintf(out, ",%s,", row->cause);
        put_csv_string(out, row->remedy);
        fputc('\n', out);
    }
}

/* ---- JSON ---- */

static void put_field(FILE *out, const char *name, const char *text)
{
    fprintf(out, "\"%s\": ", name);
    put_json_string(out, text);
    fprintf(out, ", ");
}

static void put_json_row(FILE *out, const qgc_compare_row *row)
{
    fprintf(out, "    {");
    put_field(out, "value", row->name);
    put_field(out, "op_a", row->op_a);
    put_field(out, "op_b", row->op_b);
    put_field(out, "dtype_a", row->dtype_a);
    put_field(out, "dtype_b", row->dtype_b);
    put_field(out, "cause", row->cause);
    put_field(out, "remedy", row->remedy);
    fprintf(out, "\"constant\": %s, \"output\": %s, \"stays_float\": %s, \"shape_differs\": %s",
            row->is_constant ? "true" : "false", row->is_output ? "true" : "false",
            row->stays_float ? "true" : "false", row->shape_differs ? "true" : "false");
    for (int k = 0; k < NUM_COLUMNS; k++) {
        fprintf(out, ", \"%s\": ", columns[k].name);
        put_json_number(out, columns[k].get(row));
    }
    fprintf(out, "}");
}

static void put_names(FILE *out, const char *field, const char *const *names, size_t num)
{
    fprintf(out, "  \"%s\": [", field);
    for (size_t i = 0; i < num; i++) {
        fputs(i ? ", " : "", out);
        put_json_string(out, names[i]);
    }
    fprintf(out, "],\n");
}

static void put_name_of(FILE *out, const qgc_compare_report *r, const char *field, size_t index)
{
    fprintf(out, "  \"%s\": ", field);
    if (index == SIZE_MAX)
        fprintf(out, "null");
    else
        put_json_string(out, r->rows[index].name);
    fprintf(out, ",\n");
}

static void put_json_sample(FILE *out, const qgc_compare_sample *s)
{
    fprintf(out, "{\"sample\": %zu, \"sqnr\": ", s->index);
    put_json_number(out, s->sqnr);
    fprintf(out, ", \"mse\": ");
    put_json_number(out, s->mse);
    fprintf(out, ", \"cosine\": ");
    put_json_number(out, s->cosine);
    fprintf(out, ", \"max_abs\": ");
    put_json_number(out, s->max_abs);
    fprintf(out, ", \"top_a\": %zu, \"top_b\": %zu, \"unlike\": %zu}", s->top_a, s->top_b,
            s->unlike);
}

static void put_json_outputs(FILE *out, const comparison *c)
{
    const qgc_compare_report *r = c->report;
    fprintf(out, "  \"by\": \"%s\",\n  \"worst\": [\n", c->metric);
    for (size_t i = 0; i < r->num_outputs; i++) {
        fprintf(out, "    {");
        put_field(out, "value", r->outputs[i].name);
        fprintf(out, "\"answers\": %zu, \"agree\": %zu, ", r->outputs[i].answers,
                r->outputs[i].agree);
        if (r->has_labels)
            fprintf(out, "\"top1_a\": %zu, \"top1_b\": %zu, ", r->outputs[i].top1_a,
                    r->outputs[i].top1_b);
        fprintf(out, "\"samples\": [");
        for (size_t k = 0; k < r->outputs[i].num_worst; k++) {
            fputs(k ? ",\n      " : "\n      ", out);
            put_json_sample(out, &r->outputs[i].worst[k]);
        }
        fprintf(out, "]}%s\n", i + 1 < r->num_outputs ? "," : "");
    }
    fprintf(out, "  ],\n");
}

void compare_write_json(FILE *out, const void *report)
{
    const comparison *c = report;
    const qgc_compare_report *r = c->report;
    fprintf(out, "{\n  \"a\": ");
    put_json_string(out, c->a);
    fprintf(out, ",\n  \"b\": ");
    put_json_string(out, c->b);
    fprintf(out, ",\n  \"samples\": %zu,\n", r->samples);
    put_name_of(out, r, "first_difference", r->first_difference);
    put_name_of(out, r, "start", r->start);
    put_names(out, "only_a", r->only_a, r->num_only_a);
    put_names(out, "only_b", r->only_b, r->num_only_b);
    put_json_outputs(out, c);
    fprintf(out, "  \"values\": [\n");
    for (size_t i = 0; i < r->num_rows; i++) {
        put_json_row(out, &r->rows[i]);
        fputs(i + 1 < r->num_rows ? ",\n" : "\n", out);
    }
    fprintf(out, "  ]\n}\n");
}

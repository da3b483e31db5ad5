/* qgc bench: how fast a graph is, beside what the machine can do. */
#include "calibrate.h"
#include "lower.h"
#include "output.h"
#include "whole.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- text ---- */

/* In a column: "   12.34 us". */
static const char *scaled_time(double seconds, char *out, size_t size)
{
    bool is_short = seconds < 1e-3;
    snprintf(out, size, "%.*f %s", is_short ? 2 : 3, seconds * (is_short ? 1e6 : 1e3),
             is_short ? "us" : "ms");
    return out;
}

static bool writes_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && value[0])
            return strstr(value, "UTF-8") || strstr(value, "utf8");
    }
    return false;
}

/* Eighths of a cell where the terminal has them. */
static void print_bar(double share, int width, bool is_utf8)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighths = (int)lround(share * width * 8), cells = 0;
    if (eighths == 0 && share > 0)
        eighths = 1;
    for (; eighths >= 8 && cells < width; eighths -= 8, cells++)
        fputs(is_utf8 ? "█" : "#", stdout);
    if (eighths > 0 && cells < width && (is_utf8 || eighths >= 4)) {
        fputs(is_utf8 ? parts[eighths] : "#", stdout);
        cells++;
    }
    printf("%*s", width - cells, "");
}

static double total_of(const qgc_bench_report *r)
{
    double total = 0;
    for (size_t i = 0; i < r->num_steps; i++)
        total += r->steps[i].time.median;
    return total;
}

static double peak_of(const qgc_bench_report *r, const qgc_bench_step *s)
{
    return s->is_integer ? r->integer_peak : r->float_peak;
}

/* Steps without multiply-adds are held against memory: what they move. */
static void print_rate(const qgc_bench_report *r, const qgc_bench_step *s)
{
    double rate = s->macs / s->time.median;
    if (s->macs > 0)
        printf("%8.1f GMAC/s %5.1f %%", rate * 1e-9, 100 * rate / peak_of(r, s));
    else
        printf("%8.1f GB/s           ", s->bytes / s->time.median * 1e-9);
}

static void print_steps(const qgc_bench_report *r)
{
    enum { WIDTH = 16 };
    double total = total_of(r), longest = 0;
    bool is_utf8 = writes_utf8();
    for (size_t i = 0; i < r->num_steps; i++)
        longest = fmax(longest, r->steps[i].time.median);
    printf("\n      time   share                  of memory, or of the peak  step\n");
    for (size_t i = 0; i < r->num_steps; i++) {
        const qgc_bench_step *s = &r->steps[i];
        char time[32];
        printf("%10s %5.1f %% ", scaled_time(s->time.median, time, sizeof time),
               100 * s->time.median / total);
        print_bar(s->time.median / longest, WIDTH, is_utf8);
        print_rate(r, s);
        printf("  %s = %s", s->value, s->kernel);
        if (s->note[0])
            printf(" {%s}", s->note);
        if (s->parts > 1)
            printf(" on %zu threads, balance %.0f %%, busy %.0f %%", s->threads, 100 * s->balance,
                   100 * s->busy);
        printf("%s%s\n", s->why[0] ? "  // " : "", s->why);
    }
}

/* Times of a kind of step together. */
static bool is_first_of(const qgc_bench_report *r, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(r->steps[i].kernel, r->steps[index].kernel) == 0)
            return false;
    return true;
}

static void print_kinds(const qgc_bench_report *r)
{
    double total = total_of(r);
    bool is_utf8 = writes_utf8();
    printf("\nby kernel\n");
    for (size_t i = 0; i < r->num_steps; i++) {
        double seconds = 0;
        size_t num = 0;
        char time[32];
        for (size_t k = i; k < r->num_steps && is_first_of(r, i); k++) {
            bool is_same = strcmp(r->steps[i].kernel, r->steps[k].kernel) == 0;
            seconds += is_same ? r->steps[k].time.median : 0;
            num += is_same;
        }
        if (!num)
            continue;
        printf("%10s %5.1f %% ", scaled_time(seconds, time, sizeof time), 100 * seconds / total);
        print_bar(seconds / total, 40, is_utf8);
        printf("  %s (%zu)\n", r->steps[i].kernel, num);
    }
}

static void print_ready(const qgc_bench_report *r)
{
    char compile[32], cached[32];
    printf("ready     after %s%s, ", scaled_time(r->compile_seconds, compile, sizeof compile),
           r->is_cached ? " from the cache" : "");
    if (r->cached_seconds > 0)
        printf("from the cache after %s, ", scaled_time(r->cached_seconds, cached, sizeof cached));
    printf("arena %.4g kB\n", (double)r->arena_bytes * 1e-3);
}

static void print_report(const qgc_bench_report *r)
{
    char median[32], least[32];
    double macs = r->integer_macs + r->float_macs;
    printf("latency   %s median, %s min, spread %.1f %% (%zu runs in %zu rounds)\n",
           scaled_time(r->time.median, median, sizeof median),
           scaled_time(r->time.min, least, sizeof least), 100 * r->time.spread, r->runs, r->rounds);
    printf("on        %s, %zu thread%s\n", r->cpu, r->threads, r->threads == 1 ? "" : "s");
    if (macs > 0)
        printf("work      %.4g M multiply-adds, %.1f %% of them of integers\n", macs * 1e-6,
               100 * r->integer_macs / macs);
    if (macs > 0)
        printf("speed     %.1f GMAC/s", macs / r->time.median * 1e-9);
    if (macs > 0 && r->integer_peak > 0)
        printf(", %.1f %% of the peak", 100 * r->share);
    if (macs > 0)
        printf("\n");
    if (r->integer_peak > 0)
        printf("peak      %.1f GMAC/s of integers, %.1f of f32\n", r->integer_peak * 1e-9,
               r->float_peak * 1e-9);
    if (r->arena_bytes)
        print_ready(r);
    if (r->num_steps) {
        print_kinds(r);
        print_steps(r);
    }
}

/* ---- JSON ---- */

static void put_time(const qgc_bench_time *t)
{
    printf("\"median\": %.9g, \"min\": %.9g, \"spread\": %.4g", t->median, t->min, t->spread);
}

static void put_step(const qgc_bench_step *s)
{
    printf("{\"value\": ");
    put_json_string(stdout, s->value);
    printf(", \"kernel\": ");
    put_json_string(stdout, s->kernel);
    printf(", \"note\": ");
    put_json_string(stdout, s->note);
    printf(", \"why\": ");
    put_json_string(stdout, s->why);
    printf(", \"parts\": %zu, \"threads\": %zu, \"balance\": %.4g, \"busy\": %.4g, ", s->parts,
           s->threads, s->balance, s->busy);
    printf("\"macs\": %.17g, \"integer\": %s, \"bytes\": %.17g, ", s->macs,
           s->is_integer ? "true" : "false", s->bytes);
    put_time(&s->time);
    printf("}");
}

static void write_json(const qgc_bench_report *r)
{
    printf("{\"cpu\": \"%s\", \"threads\": %zu, \"rounds\": %zu, \"runs\": %zu, ", r->cpu,
           r->threads, r->rounds, r->runs);
    put_time(&r->time);
    printf(", \"cached\": %s, \"from_cache\": %.6g", r->is_cached ? "true" : "false",
           r->cached_seconds);
    printf(", \"compile\": %.6g, \"arena\": %zu, \"integer_macs\": %.17g, \"float_macs\": %.17g, "
           "\"integer_peak\": %.6g, \"float_peak\": %.6g, \"share\": %.4g, \"steps\": [",
           r->compile_seconds, r->arena_bytes, r->integer_macs, r->float_macs, r->integer_peak,
           r->float_peak, r->share);
    for (size_t i = 0; i < r->num_steps; i++) {
        printf(i ? ",\n  " : "\n  ");
        put_step(&r->steps[i]);
    }
    printf("]}\n");
}

/* ---- the command ---- */

static qgc_result read_seconds(invocation *call, double *out)
{
    const char *text = get_option(call, "--time");
    char *end;
    if (!text)
        return QGC_OK;
    *out = strtod(text, &end);
    if (text[0] && !*end && isfinite(*out) && *out > 0)
        return QGC_OK;
    return qgc_context_usage_error(call->context, "--time %s: expected seconds, more than 0", text);
}

static qgc_result read_seed(invocation *call, uint64_t *out)
{
    const char *text = get_option(call, "--seed");
    if (!text || parse_whole(text, out))
        return QGC_OK;
    return qgc_context_usage_error(call->context, "--seed %s: expected a number", text);
}

static qgc_result read_options(invocation *call, qgc_bench_options *out)
{
    out->func = get_option(call, "--func");
    out->wants_steps = has_option(call, "--per-op");
    QGC_CHECK(read_engine_options(call, &out->is_interpreted, &out->engine));
    QGC_CHECK(read_size(call, "--rounds", &out->rounds));
    QGC_CHECK(read_seconds(call, &out->seconds));
    QGC_CHECK(read_seed(call, &out->seed));
    if (out->is_interpreted && out->wants_steps)
        return qgc_context_usage_error(call->context, "--per-op needs --engine=jit");
    return QGC_OK;
}

static qgc_result measure(invocation *call, qgc_module *module, const qgc_bench_options *options)
{
    const char *format = get_option(call, "--format");
    qgc_bench_report report;
    QGC_CHECK(lower_for_target(call, module));
    QGC_CHECK(qgc_module_bench(module, options, &report));
    if (format && strcmp(format, "json") == 0)
        write_json(&report);
    else
        print_report(&report);
    qgc_bench_free(&report);
    return QGC_OK;
}

int run_bench(invocation *call)
{
    qgc_bench_options options = {0};
    qgc_tensors inputs = {0};
    if (read_options(call, &options) != QGC_OK)
        return fail(call);
    qgc_module *module = read_module(call, call->files[0]);
    qgc_result result = module ? read_input_options(call, &inputs) : QGC_FAILED;
    options.inputs = &inputs;
    if (result == QGC_OK)
        result = measure(call, module, &options);
    qgc_tensors_free(&inputs);
    qgc_module_destroy(module);
    if (result != QGC_OK)
        return fail(call);
    flush_diagnostics(call);
    return EXIT_DONE;
}

/* Random graphs, executed by the reference interpreter and as machine code: the results must have
 * the same bytes.
 *
 *   differential GRAPHS [--part=I/N] [--save=PREFIX] [--stop] [--mutation=NAME] [--mutations]
 *
 * GRAPHS (of differential.py) has a line "// graph INDEX SEED FILL RUN..." before each function @g.
 * FILL says what its inputs hold; a RUN is LEVEL:HOW:OPT, where HOW is jit1, jit2 (threads) or
 * object, OPT on or off. A line "INDEX RUN WORD REST" is printed for each run: WORD is "equal",
 * "differs", or "failed"; of a jit also how many steps were left to the interpreter's kernels.
 * --part: only every Nth graph, from the Ith on. --stop: at the first that is not equal. A graph
 * that differs is saved with its inputs as PREFIX<INDEX>.qir and .npz. */
#include "test/differential/differential.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the file ---- */

enum { MAX_RUNS = 64, MAX_WORD = 64 };

typedef struct graph {
    unsigned index, seed;
    char fill[MAX_WORD];
    size_t num_runs;
    char runs[MAX_RUNS][MAX_WORD];
    const char *text;
    size_t size;
} graph;

static const char header[] = "// graph ";

static const char *find_header(const char *at)
{
    const char *found =
        strncmp(at, header, sizeof header - 1) == 0 ? at : strstr(at, "\n// graph ");
    return found && *found == '\n' ? found + 1 : found;
}

/* The graph that begins at |at|, and where it ends; NULL: it cannot be read. */
static const char *read_graph(const char *at, graph *g)
{
    int used;
    *g = (graph){0};
    if (sscanf(at, "// graph %u %u %63s%n", &g->index, &g->seed, g->fill, &used) != 3)
        return NULL;
    at += used;
    while (*at == ' ' && g->num_runs < MAX_RUNS &&
           sscanf(at, " %63[^ \n]%n", g->runs[g->num_runs], &used) == 1) {
        g->num_runs++;
        at += used;
    }
    const char *next = find_header(at);
    g->text = at;
    g->size = next ? (size_t)(next - at) : strlen(at);
    return *at == '\n' ? at + g->size : NULL;
}

static char *read_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    char *text = NULL;
    if (in && fseek(in, 0, SEEK_END) == 0) {
        long size = ftell(in);
        rewind(in);
        text = size < 0 ? NULL : malloc((size_t)size + 1);
        if (text)
            text[fread(text, 1, (size_t)size, in)] = '\0';
    }
    if (in)
        fclose(in);
    return text;
}

/* ---- one graph ---- */

typedef struct options {
    unsigned part, parts;
    const char *save;
    bool stops;
} options;

static void print_messages(test_graph *t)
{
    fflush(stdout);
    qgc_context_flush(t->context, stderr, QGC_DIAG_TEXT, false);
}

/* Whether it was equal. */
static bool run_one(test_graph *t, const graph *g, const char *run)
{
    test_run r = {0};
    char detail[256] = "";
    bool is_equal = false, ran = test_parse_run(run, &r) && test_execute(t, &r) == QGC_OK;
    if (ran)
        is_equal = test_compare(t, detail, sizeof detail);
    printf("%u %s %s %zu %s\n", g->index, run,
           !ran       ? "failed"
           : is_equal ? "equal"
                      : "differs",
           r.ref_steps, detail);
    if (!ran)
        print_messages(t);
    test_forget(t);
    return is_equal;
}

static bool run_graph(const graph *g, const options *o)
{
    test_graph t;
    bool all_equal = true;
    if (test_open(&t, (qgc_str){g->text, g->size}, g->seed, g->fill) != QGC_OK) {
        printf("%u - failed 0 the reference\n", g->index);
        print_messages(&t);
        test_close(&t);
        return false;
    }
    for (size_t i = 0; i < g->num_runs && (all_equal || !o->stops); i++)
        all_equal = run_one(&t, g, g->runs[i]) && all_equal;
    if (!all_equal && o->save)
        test_save(&t, o->save, g->index);
    test_close(&t);
    return all_equal;
}

static int run_all(const char *at, const options *o)
{
    int result = 0;
    graph g;
    for (unsigned number = 0; *at; number++) {
        at = read_graph(at, &g);
        if (!at) {
            fprintf(stderr, "differential: not a file of graphs\n");
            return 2;
        }
        if (number % o->parts != o->part)
            continue;
        if (!run_graph(&g, o))
            result = 1;
        fflush(stdout);
        if (result && o->stops)
            break;
    }
    return result;
}

/* ---- mutations ---- */

#ifdef QGC_MUTATIONS
static int print_mutations(void)
{
    for (size_t i = 0; qgc_mutation_names[i]; i++)
        printf("%s: %s\n", qgc_mutation_names[i], qgc_mutation_texts[i]);
    return 0;
}

static bool choose_mutation(const char *name)
{
    for (size_t i = 0; qgc_mutation_names[i]; i++)
        if (strcmp(qgc_mutation_names[i], name) == 0) {
            qgc_mutation = (int)i + 1;
            return true;
        }
    return false;
}
#else
static int print_mutations(void)
{
    return 0;
}

static bool choose_mutation(const char *name)
{
    (void)name;
    return false;
}
#endif

static int print_levels(void)
{
    bool is_supported;
    const char *name;
    for (size_t i = 0; (name = qgc_cpu_level(i, &is_supported)); i++)
        if (is_supported)
            printf("%s\n", name);
    return 0;
}

static int usage(const char *what)
{
    fprintf(stderr, "differential: %s?\n", what);
    return 2;
}

int main(int argc, char **argv)
{
    options o = {.parts = 1};
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (strcmp(a, "--levels") == 0)
            return print_levels();
        if (strcmp(a, "--mutations") == 0)
            return print_mutations();
        if (strcmp(a, "--stop") == 0)
            o.stops = true;
        else if (strncmp(a, "--save=", 7) == 0)
            o.save = a + 7;
        else if (strncmp(a, "--mutation=", 11) == 0 && choose_mutation(a + 11))
            continue;
        else if (sscanf(a, "--part=%u/%u", &o.part, &o.parts) == 2 && o.parts > 0)
            continue;
        else if (a[0] == '-' || path)
            return usage(a);
        else
            path = a;
    }
    char *text = path ? read_file(path) : NULL;
    if (!text)
        return usage(path ? path : "GRAPHS");
    int result = run_all(text, &o);
    free(text);
    return result;
}

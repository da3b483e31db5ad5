/* The driver: one table of commands, each a thin client of include/qgc/. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const option common_options[] = {
    {"--diag-format", "text|json", "how diagnostics are printed", false},
    {"--remarks", "PASS,...|all", "print remarks of these passes", false},
    {"--color", "auto|always|never", "colours in diagnostics", false},
    {"--quiet", NULL, "no warnings and remarks", false},
    {"--plugin", "FILE.so",
     "load a backend: a file, or NAME.so or NAME in $QGC_PLUGIN_PATH; {options} may follow", true},
    {"--help", NULL, "this text", false},
    {NULL, NULL, NULL, false},
};

/* Of commands that execute graphs. */
#define ENGINE_OPTIONS                                                                             \
    {"--engine", "jit|ref",                                                                        \
     "what executes: machine code (the default) or the reference interpreter", false},             \
        {"--cpu", "LEVEL", "code for this CPU level (default native; qgc --version lists them)",   \
         false},                                                                                   \
        {"--threads", "N",                                                                         \
         "threads that share the work (default: $QGC_THREADS, else one per processor)", false},    \
        {"--cache", "DIR",                                                                         \
         "keeps machine code for the next time (default: $QGC_CACHE, else ~/.cache/qgc)", false},  \
        {"--no-cache", NULL, "compile anew, keep nothing", false},                                 \
    {                                                                                              \
        "--print-plan", NULL, "print the plans of the compiled functions to stderr, at the end",   \
            false                                                                                  \
    }

/* Of commands that take a quantized graph and want its lowered form. */
#define LOWER_OPTION                                                                               \
    {"--target", "NAME", "partition and lower a quantized graph for this target first", false}

/* Of commands whose data may be pictures. */
#define IMAGE_OPTION                                                                               \
    {"--image", "KEY=VALUE,...", "how a PNG or JPEG of the data becomes a tensor", false}

/* Which samples of the data; |batch|: how many at a time by default. */
#define SAMPLE_OPTIONS(prefix, batch)                                                              \
    {"--batch", "N", prefix "samples per run, where the graph leaves it open (default " batch ")", \
     false},                                                                                       \
        {"--first", "N", prefix "begin with sample N (0: the first of the data)", false},          \
        {"--limit", "N", prefix "at most so many samples", false},                                 \
    {                                                                                              \
        "--shard", "I/N", prefix "only part I (0 to N-1) of N parts of the samples", false         \
    }

/* Of commands that run over samples. */
#define DATA_OPTIONS(prefix, batch)                                                                \
    {"--data", "FILE|FOLDER",                                                                      \
     prefix "samples: .npy, .npz, .safetensors, IDX, pictures, or a folder of them", false},       \
        {"--input", "NAME=FILE|FOLDER",                                                            \
         prefix "samples of one input, where the graph has several", true},                        \
        IMAGE_OPTION, SAMPLE_OPTIONS(prefix, batch)

const command commands[] = {
    {"opt",
     "FILE",
     "run a pass pipeline over a graph and print it",
     "qgc opt docs/examples/linear.qir --passes=const-fold,dce",
     1,
     1,
     {{"--passes", "A,B{opt=1}", "the pipeline; none: parse, verify and print", false},
      {"-o", "FILE", "where to write (- is stdout, the default)", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--no-verify-each", NULL, "verify only at the end, not after each pass", false},
      {"--print-after", "PASS,...|all", "print the graph after these passes, to stderr", false},
      {"--print-changed", NULL, "print the graph after each pass that changed it", false},
      {"--stop-after", "PASS", "end the pipeline after this pass", false},
      {"--time-passes", NULL, "print a table of times to stderr", false},
      {"--split-input", NULL, "the file holds several inputs, separated by lines `// -----`",
       false},
      {"--verify-diagnostics", NULL, "check diagnostics against `// expected-error {{...}}`",
       false},
      {"--syntax", "module|rules|patterns", "what FILE holds (default: by its ending)", false}},
     run_opt},
    {"run",
     "FILE",
     "execute a graph, in any form",
     "qgc run docs/examples/linear.qir --input x=docs/examples/x.npy",
     1,
     1,
     {{"--input", "NAME=FILE",
       "a tensor (.npy, .npz, .safetensors, IDX, .pb, a picture) for an input", true},
      {"--data", "FILE", "tensors for all inputs, by name", false},
      IMAGE_OPTION,
      SAMPLE_OPTIONS("", "all"),
      {"--func", "NAME|all", "which function (default main); all: each without inputs", false},
      LOWER_OPTION,
      ENGINE_OPTIONS,
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--split-input", NULL, "the file holds several inputs, separated by lines `// -----`",
       false},
      {"--verify-diagnostics", NULL, "check diagnostics against `// expected-error {{...}}`",
       false},
      {"-o", "FILE", "write outputs as .npy, .npz or .safetensors (default: text)", false}},
     run_run},
    {"compile",
     "FILE",
     "write functions as an object file or shared library, with a C header",
     "qgc compile docs/examples/linear.qir --set N=1 --emit=s -o -",
     1,
     1,
     {{"-o", "FILE",
       "where to write (required): FILE.o, FILE.so, FILE.ll or FILE.s; beside the "
       "first two FILE.h",
       false},
      {"--emit", "o|so|ll|s", "what to write, where the name does not say it", false},
      LOWER_OPTION,
      {"--func", "NAME", "this function (default: every function that no other calls)", true},
      {"--cpu", "LEVEL", "code for this CPU level (default native; qgc --version lists them)",
       false},
      {"--name", "NAME", "what the C names begin with (default: the name of the file)", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--linker", "PROGRAM", "makes the shared library; takes the arguments of cc (default: cc)",
       false},
      {"--split-input", NULL, "the file holds several inputs, separated by lines `// -----`",
       false},
      {"--verify-diagnostics", NULL, "check diagnostics against `// expected-error {{...}}`",
       false}},
     run_compile},
    {"reduce",
     "FILE",
     "shrink a graph as long as a command still succeeds on it",
     "qgc reduce docs/examples/linear.qir --test 'grep -q relu' -o /dev/null",
     1,
     1,
     {{"--test", "COMMAND", "is run as COMMAND GRAPH; exit code 0: what is sought is still there",
       false},
      {"-o", "FILE", "where the smallest graph so far is written (required)", false},
      {"--max-trials", "N", "how often the command runs at most (default 1000)", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true}},
     run_reduce},
    {"import",
     "[MODEL.onnx]",
     "write an ONNX model as a graph, its weights beside it",
     "qgc import test/data/onnx/names.onnx",
     0,
     1,
     {{"-o", "FILE", "where to write (- is stdout, the default: without the weights)", false},
      {"--literal", NULL,
       "leave LayerNorm, GELU and their like in pieces where the model has them so", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--ops", NULL, "print the table of ONNX ops instead", false}},
     run_import},
    {"export",
     "FILE",
     "write a graph as an ONNX model, its weights inside",
     "qgc export docs/examples/linear.qir -o /dev/null",
     1,
     1,
     {{"-o", "FILE", "where to write (required)", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--func", "NAME", "which function (default main); what it calls is put in place", false}},
     run_export},
    {"onnx-check",
     "DIRECTORY",
     "run a case of ONNX's test suite: model.onnx on test_data_set_*/",
     "qgc onnx-check test/data/onnx/suite/relu",
     1,
     1,
     {{"--model", "FILE", "this graph in place of DIRECTORY/model.onnx", false},
      {"--rtol", "NUMBER", "relative tolerance (default 0.001)", false},
      {"--atol", "NUMBER", "absolute tolerance (default 1e-7)", false}},
     run_onnx_check},
    {"calibrate",
     "FILE",
     "run a prepared graph on data and record statistics",
     "qgc calibrate docs/examples/prepared.qir --data docs/examples/samples.npy",
     1,
     1,
     {DATA_OPTIONS("", "1"),
      {"-o", "FILE", "where to write (- is stdout, the default)", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--func", "NAME", "which function takes the data (default main)", false},
      {"--resume", "STATE", "a file to go on from after the run was killed; deleted when done",
       false},
      {"--checkpoint", "N", "write it after every N batches (default: every 5 seconds)", false},
      ENGINE_OPTIONS,
      {"--no-progress", NULL, "no progress bar", false}},
     run_calibrate},
    {"stats",
     "merge|print|check FILE...",
     "statistics of calibrated graphs: merge shards, print, hold against other data",
     "qgc stats print docs/examples/calibrated.qir",
     2,
     MAX_FILES,
     {{"-o", "FILE", "merge: where to write (- is stdout, the default)", false},
      DATA_OPTIONS("check: ", "1"),
      {"--max-clipped", "PERCENT", "check: exit code 1 where a value is clipped more", false},
      {"--same-data", NULL, "check: refuse data that the statistics were not made with", false},
      {"--method", "mse|minmax|entropy|percentile:P", "how statistics become ranges (default mse)",
       false},
      {"--func", "NAME", "check: which function takes the data (default main)", false},
      ENGINE_OPTIONS,
      {"--no-progress", NULL, "no progress bar", false}},
     run_stats},
    {"quantize",
     "MODEL",
     "the whole road: prepare, calibrate, convert",
     "qgc quantize docs/examples/linear.qir --data docs/examples/samples.npy",
     1,
     1,
     {DATA_OPTIONS("", "1"),
      {"-o", "FILE", "where to write (- is stdout, the default)", false},
      {"--rules", "FILE.qcfg", "what becomes what (default: preset int8)", false},
      {"--table", "NAME|FILE.qpat", "a quantizer table says it: pt2e-a, pt2e-x, pt2e-i or yours",
       false},
      {"--method", "mse|minmax|entropy|percentile:P", "how statistics become ranges (default mse)",
       false},
      {"--changelog", "FILE.qcfg", "also every decision of annotate, as rules to replay", false},
      {"--target", "NAME", "also partition and lower for this target, or several: A+B", false},
      {"--calibrated", "FILE", "also save the graph with its statistics", false},
      {"--stats", "FILE", "a calibrated graph, in place of data: its statistics, with other rules",
       false},
      {"--report", "FILE.html", "also a page on accuracy, error, time and what changed", false},
      {"--labels", "FILE|by-folder", "integers, one per sample or position, for the report", false},
      {"--resume", "STATE", "a file to go on from after the run was killed; deleted when done",
       false},
      {"--checkpoint", "N", "write it after every N batches (default: every 5 seconds)", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--func", "NAME", "which function takes the data (default main)", false},
      ENGINE_OPTIONS,
      {"--no-progress", NULL, "no progress bar", false}},
     run_quantize},
    {"bench",
     "FILE",
     "how fast a graph is, and each step of it, beside the machine's peak",
     "qgc bench docs/examples/linear.qir --set N=64 --per-op --time 0.1",
     1,
     1,
     {{"--per-op", NULL, "a line for each step, and sums by kernel", false},
      LOWER_OPTION,
      {"--engine", "jit|ref",
       "what executes: machine code (the default) or the reference interpreter", false},
      {"--cpu", "LEVEL", "code for this CPU level (default native; qgc --version lists them)",
       false},
      {"--threads", "N",
       "threads that share the work (default: $QGC_THREADS, else one per processor)", false},
      {"--cache", "DIR",
       "keeps machine code for the next time (default: $QGC_CACHE, else ~/.cache/qgc)", false},
      {"--no-cache", NULL, "compile anew, keep nothing", false},
      {"--time", "SECONDS", "how long to measure, about (default 1)", false},
      {"--rounds", "N", "measure so many rounds, however long they take", false},
      {"--input", "NAME=FILE", "a tensor for an input; the others are random", true},
      {"--data", "FILE", "tensors for inputs, by name", false},
      IMAGE_OPTION,
      {"--seed", "N", "of random inputs", false},
      {"--format", "text|json", "how to print", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--func", "NAME", "which function (default main)", false}},
     run_bench},
    {"eval",
     "FILE",
     "judge a graph on data, by labels or against another graph",
     "qgc eval models/resnet.onnx --data models/fashion-500-images-idx3-ubyte.gz "
     "--labels models/fashion-500-labels-idx1-ubyte.gz --batch 50 --limit 100",
     1,
     1,
     {DATA_OPTIONS("", "1"),
      {"--labels", "FILE|by-folder", "integers, one per sample or position: top-1 and top-5",
       false},
      {"--against", "FILE", "another graph: agreement and error of the first result", false},
      {"--min-top1", "PERCENT", "exit code 1 below this top-1", false},
      {"--min-psnr", "DB", "exit code 1 below this PSNR", false},
      {"--as-is", NULL, "judge a graph with observers, whose values are the float graph's", false},
      LOWER_OPTION,
      ENGINE_OPTIONS,
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--func", "NAME", "which function takes the data (default main)", false},
      {"--no-progress", NULL, "no progress bar", false}},
     run_eval},
    {"compare",
     "A B",
     "hold a graph's values against another's: where error starts, its kind, the remedy",
     "qgc compare docs/examples/linear.qir docs/examples/linear.qir --engine-b jit "
     "--data docs/examples/samples.npy",
     2,
     2,
     {DATA_OPTIONS("", "32"),
      {"-o", "FILE", "also write a .csv, .json, .html or text file, by its ending", true},
      {"--labels", "FILE|by-folder", "integers, one per sample or position: top-1 of both", false},
      {"--worst", "N", "list the N worst samples of each output (default 3)", false},
      {"--by", "sqnr|mse|cosine|max", "what samples are ranked by (default sqnr)", false},
      {"--start", "DB", "error starts where a value loses more than this (default 10)", false},
      {"--min-sqnr", "DB", "exit code 1 where an output has less", false},
      {"--min-cosine", "NUMBER", "exit code 1 where an output has less", false},
      {"--max-mse", "NUMBER", "exit code 1 where an output has more", false},
      {"--max-abs", "NUMBER", "exit code 1 where an error of an output is greater", false},
      {"--max-steps", "NUMBER", "exit code 1 where an error of a stored value is greater", false},
      {"--max-kl", "NUMBER", "exit code 1 where an output has more", false},
      {"--engine", "ops|ref|jit",
       "what executes: machine code op by op (default), the interpreter, whole functions", false},
      {"--engine-b", "ops|ref|jit", "the same for B", false},
      {"--cpu", "LEVEL", "code for this CPU level (default native; qgc --version lists them)",
       false},
      {"--as-is", NULL, "do not fuse a float graph before it is compared with another form", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--func", "NAME", "which function (default main)", false},
      {"--no-progress", NULL, "no progress bar", false}},
     run_compare},
    {"diff",
     "[REFERENCE] FILE",
     "what changed between two graphs, in any forms",
     "qgc diff docs/examples/linear.qir docs/examples/prepared.qir",
     1,
     2,
     {{"--format", "text|json", "of what is printed (default text)", false},
      {"-o", "FILE", "also write a .json, .html or text file, by its ending", true},
      {"--as-is", NULL, "do not fuse a float graph before it is held against another form", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--save-reference", NULL,
       "save FILE as FILE.ref.qir, which later runs without REFERENCE compare with", false}},
     run_diff},
    {"verify-backend",
     "FILE",
     "check a backend: each op that it lowers against the reference, on data",
     "qgc verify-backend --help",
     1,
     1,
     {{"--target", "NAME", "the backend (a plug-in)", false},
      DATA_OPTIONS("", "1"),
      {"--all", NULL, "a line for every op, not only for those that differ", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--func", "NAME", "which function takes the data (default main)", false},
      {"--no-progress", NULL, "no progress bar", false}},
     run_verify_backend},
    {"check",
     "FILE",
     "what looks wrong in a graph, in any form",
     "qgc check docs/examples/linear.qir",
     1,
     1,
     {{"--rules", "FILE.qcfg", "what becomes what, of a graph that is not annotated yet", false},
      {"--stats", "FILE", "a calibrated graph: the statistics of the same values", false},
      {"--strict", NULL, "exit code 1 where there is a warning", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"-o", "FILE.html", "also a page that needs no network", false}},
     run_check},
    {"explain",
     "FILE [%VALUE]",
     "what becomes of each op and why; the story of one value",
     "qgc explain docs/examples/linear.qir",
     1,
     2,
     {{"--target", "NAME", "whose rows decide (default cpu; several: onednn+cpu)", false},
      {"--rules", "FILE.qcfg", "what becomes what, of a graph that is not annotated yet", false},
      {"--method", "mse|minmax|entropy|percentile:P", "how statistics become ranges (default mse)",
       false},
      {"--stats", "FILE", "a calibrated graph: the statistics of the same values", false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--all", NULL, "also list the claimed ops, with what they are lowered to", false},
      {"--format", "text|json", "of what is printed (default text); json: a line for each op",
       false},
      {"-o", "FILE", "where to write (- is stdout, the default)", false}},
     run_explain},
    {"sens",
     "FILE",
     "rank values by what quantizing each one alone costs",
     "qgc sens docs/examples/calibrated.qir --data docs/examples/samples.npy",
     1,
     1,
     {DATA_OPTIONS("", "32"),
      {"--labels", "FILE|by-folder", "integers, one per sample or position: top-1", false},
      {"-o", "FILE", "write the table for rules files, or .csv, .json by the ending", true},
      {"--what", "activation|weight|both", "which values (default both)", false},
      {"--by", "sqnr|mse|cosine|accuracy", "what values are ranked by (default sqnr)", false},
      {"--budget", "N", "at most N trials: the values with the most noise of their own", false},
      {"--rules", "FILE.qcfg", "of a float graph: what becomes what (default: preset int8)", false},
      {"--calibration", "FILE|FOLDER",
       "of a float graph: samples for statistics (default: the files of the data, whole)", false},
      {"--calibration-input", "NAME=FILE|FOLDER", "the same, for one input", true},
      {"--method", "mse|minmax|entropy|percentile:P", "how statistics become ranges (default mse)",
       false},
      {"--engine", "jit|ref", "what executes: machine code (default), the interpreter", false},
      {"--cpu", "LEVEL", "code for this CPU level (default native; qgc --version lists them)",
       false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--func", "NAME", "which function (default main)", false},
      {"--no-progress", NULL, "no progress bar", false}},
     run_sens},
    {"tune",
     "FILE",
     "raise the precision of the values that cost most until a goal holds",
     "qgc tune docs/examples/linear.qir --data docs/examples/samples.npy --min-sqnr 45",
     1,
     1,
     {DATA_OPTIONS("", "32"),
      {"--labels", "FILE|by-folder", "integers, one per sample or position: top-1", false},
      {"--max-drop", "PERCENT",
       "goal: top-1 below the float graph's; without --labels: samples "
       "that it classifies otherwise",
       false},
      {"--min-sqnr", "DB", "goal: of each output, against the float graph's", false},
      {"-o", "FILE.qcfg", "write the rules there (- is stdout, the default)", false},
      {"--graph", "FILE", "also save the graph that they give", false},
      {"--to", "i16|f16|float", "what values are raised to (default i16)", false},
      {"--table", "FILE.sens", "the ranking (default: made here, as qgc sens does)", false},
      {"--what", "activation|weight|both", "which values are ranked (default both)", false},
      {"--by", "sqnr|mse|cosine|accuracy", "what they are ranked by (default sqnr)", false},
      {"--budget", "N", "at most N trials", false},
      {"--rules", "FILE.qcfg", "rules to begin with (default: preset int8)", false},
      {"--calibration", "FILE|FOLDER",
       "samples for statistics (default: the files of the data, whole)", false},
      {"--calibration-input", "NAME=FILE|FOLDER", "the same, for one input", true},
      {"--method", "mse|minmax|entropy|percentile:P", "how statistics become ranges (default mse)",
       false},
      {"--engine", "jit|ref", "what executes: machine code (default), the interpreter", false},
      {"--cpu", "LEVEL", "code for this CPU level (default native; qgc --version lists them)",
       false},
      {"--set", "N=1,H=48", "numbers for symbolic dimensions", true},
      {"--func", "NAME", "which function (default main)", false},
      {"--no-progress", NULL, "no progress bar", false}},
     run_tune},
    {"docs",
     "[PAGE]",
     "print the references that are made from the tables",
     "qgc docs ops",
     0,
     1,
     {{"-o", "DIRECTORY", "write all pages there", false}},
     run_docs},
    {"completion",
     "",
     "print the completion script for bash",
     "qgc completion",
     0,
     0,
     {{0}},
     run_completion},
};
const int num_commands = sizeof commands / sizeof *commands;

static int option_index(const command *c, const char *name, size_t size)
{
    int i = 0;
    for (; c->options[i].name; i++)
        if (strlen(c->options[i].name) == size && strncmp(c->options[i].name, name, size) == 0)
            return i;
    for (int k = 0; common_options[k].name; k++, i++)
        if (strlen(common_options[k].name) == size &&
            strncmp(common_options[k].name, name, size) == 0)
            return i;
    return -1;
}

static const option *option_at(const command *c, int index)
{
    int i = 0;
    for (; c->options[i].name; i++)
        if (i == index)
            return &c->options[i];
    return &common_options[index - i];
}

const option_values *get_options(const invocation *call, const char *name)
{
    int index = option_index(call->command, name, strlen(name));
    return index < 0 ? NULL : &call->options[index];
}

const char *get_option(const invocation *call, const char *name)
{
    const option_values *values = get_options(call, name);
    return values && values->num ? values->values[0] : NULL;
}

bool has_option(const invocation *call, const char *name)
{
    return get_option(call, name) != NULL;
}

static bool wants_color(const invocation *call)
{
    const char *color = get_option(call, "--color");
    if (color && strcmp(color, "auto") != 0)
        return strcmp(color, "always") == 0;
    return isatty(STDERR_FILENO) && !getenv("NO_COLOR");
}

void flush_diagnostics(invocation *call)
{
    const char *format = get_option(call, "--diag-format");
    bool json = format && strcmp(format, "json") == 0;
    qgc_context_flush(call->context, stderr, json ? QGC_DIAG_JSON : QGC_DIAG_TEXT,
                      wants_color(call));
}

int fail(invocation *call)
{
    bool environment = qgc_context_environment_failed(call->context);
    flush_diagnostics(call);
    return environment ? EXIT_ENVIRONMENT : EXIT_BAD_INPUT;
}

static void print_options(const option *options)
{
    for (; options->name; options++) {
        int width = printf("  %s", options->name);
        if (options->value)
            width += printf(options->name[1] == '-' ? "=%s" : " %s", options->value);
        printf("%*s%s%s\n", width < 34 ? 34 - width : 1, "", options->help,
               options->repeats ? " (may repeat)" : "");
    }
}

static int print_command_help(const command *c)
{
    printf("usage: qgc %s %s [options]\n\n%s\n", c->name, c->arguments, c->summary);
    if (c->options[0].name) {
        printf("\noptions:\n");
        print_options(c->options);
    }
    printf("\ncommon options:\n");
    print_options(common_options);
    printf("\nexample:\n  %s\n", c->example);
    return EXIT_DONE;
}

static int print_help(void)
{
    printf("qgc: a quantizing graph compiler\n\nusage: qgc COMMAND [options]\n\n");
    for (int i = 0; i < num_commands; i++)
        printf("  %-14s %s\n", commands[i].name, commands[i].summary);
    printf("\n`qgc COMMAND --help` lists a command's options, with an example.\n");
    return EXIT_DONE;
}

/* Reports an option that the command has not. */
static void unknown_option(invocation *call, const char *name)
{
    const char *names[2 * MAX_OPTIONS];
    size_t num = 0;
    for (const option *o = call->command->options; o->name; o++)
        names[num++] = o->name;
    for (const option *o = common_options; o->name; o++)
        names[num++] = o->name;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "="), name);
    qgc_context_usage_error(call->context, "qgc %s has no option %s%s", call->command->name, name,
                            qgc_context_did_you_mean(call->context, word, names, num));
}

/* One argument, with its value from the next one where it has no '='. Returns how many were used;
 * 0: reported. */
static int parse_argument(invocation *call, char **argv)
{
    const command *c = call->command;
    if (argv[0][0] != '-' || !argv[0][1]) {
        if (call->num_files == c->max_files)
            return qgc_context_usage_error(call->context, "too many files: %s", argv[0]), 0;
        call->files[call->num_files++] = argv[0];
        return 1;
    }
    const char *name = strcmp(argv[0], "-h") == 0 ? "--help" : argv[0];
    const char *equal = name[1] == '-' ? strchr(name, '=') : NULL;
    int index = option_index(c, name, equal ? (size_t)(equal - name) : strlen(name));
    if (index < 0)
        return unknown_option(call, name), 0;
    const option *o = option_at(c, index);
    option_values *values = &call->options[index];
    if (o->value ? !equal && !argv[1] : equal != NULL)
        return qgc_context_usage_error(
                   call->context, o->value ? "%s needs a value" : "%s takes no value", o->name),
               0;
    if (values->num && (!o->repeats || values->num == MAX_REPEATS))
        return qgc_context_usage_error(call->context, "%s is given too often", o->name), 0;
    values->values[values->num++] = !o->value ? "" : equal ? equal + 1 : argv[1];
    return o->value && !equal ? 2 : 1;
}

/* "a|b": the value must be one of the words. Lists with other characters are free text. */
static bool value_is_allowed(const option *o, const char *value)
{
    if (!o->value || strpbrk(o->value, ",=ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        return true;
    size_t size = strlen(value);
    for (const char *word = o->value; *word;) {
        size_t length = strcspn(word, "|");
        if (length == size && strncmp(word, value, size) == 0)
            return true;
        word += length + (word[length] == '|');
    }
    return false;
}

static bool check_values(invocation *call)
{
    for (int i = 0; i < MAX_OPTIONS; i++) {
        if (!call->options[i].num)
            continue;
        const option *o = option_at(call->command, i);
        if (value_is_allowed(o, call->options[i].values[0]))
            continue;
        qgc_context_usage_error(call->context, "%s=%s: expected %s", o->name,
                                call->options[i].values[0], o->value);
        return false;
    }
    return true;
}

static bool parse_arguments(invocation *call, char **argv)
{
    while (*argv) {
        int used = parse_argument(call, argv);
        if (!used)
            return false;
        argv += used;
    }
    if (has_option(call, "--help"))
        return true;
    if (call->num_files < call->command->min_files)
        return qgc_context_usage_error(call->context, "qgc %s needs %s", call->command->name,
                                       call->command->arguments) == QGC_OK;
    return check_values(call) && check_usage_table(call) == QGC_OK;
}

static qgc_result load_plugins(invocation *call)
{
    const option_values *files = get_options(call, "--plugin");
    qgc_plugin_set_path(call->context, getenv("QGC_PLUGIN_PATH"));
    for (int i = 0; i < files->num; i++)
        if (qgc_plugin_load(call->context, files->values[i]) != QGC_OK)
            return QGC_FAILED;
    return QGC_OK;
}

/* What options ask of the context. */
static qgc_result configure(invocation *call)
{
    const char *remarks = get_option(call, "--remarks"), *image = get_option(call, "--image");
    if (remarks)
        qgc_context_set_remarks(call->context, remarks);
    qgc_context_set_quiet(call->context, has_option(call, "--quiet"));
    if (image)
        QGC_CHECK(qgc_context_set_image(call->context, image));
    return load_plugins(call);
}

static int dispatch(const command *c, char **argv)
{
    invocation call = {.command = c, .context = qgc_context_create()};
    int code;
    if (!parse_arguments(&call, argv)) {
        code = fail(&call);
    } else if (has_option(&call, "--help")) {
        code = print_command_help(c);
    } else {
        code = configure(&call) == QGC_OK ? c->run(&call) : fail(&call);
        if (code == EXIT_DONE || code == EXIT_LIMIT) {
            qgc_context_check_image(call.context);
            flush_diagnostics(&call);
        }
    }
    qgc_context_destroy(call.context);
    return code;
}

/* Output that did not arrive is a failure, whatever else happened. */
static int close_stdout(int code)
{
    bool failed = ferror(stdout);
    int reason = 0;
    errno = 0;
    if (fflush(stdout) != 0) {
        failed = true;
        reason = errno;
    }
    if (!failed)
        return code;
    fprintf(stderr, "qgc: error: stdout: %s\n", reason ? strerror(reason) : "writing failed");
    return EXIT_ENVIRONMENT;
}

static int print_version(void)
{
    printf("qgc %s\ncpu levels:", QGC_VERSION);
    bool supported;
    const char *name;
    for (size_t i = 0; (name = qgc_cpu_level(i, &supported)); i++)
        printf(" %s%s", name, supported ? "" : " (not here)");
    printf("\n");
    return EXIT_DONE;
}

static int unknown_command(const char *name)
{
    const char *names[sizeof commands / sizeof *commands];
    qgc_context *context = qgc_context_create();
    for (int i = 0; i < num_commands; i++)
        names[i] = commands[i].name;
    fprintf(stderr, "qgc: error: no command '%s'%s (qgc --help lists them)\n", name,
            qgc_context_did_you_mean(context, name, names, (size_t)num_commands));
    qgc_context_destroy(context);
    return EXIT_BAD_INPUT;
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return argc > 1 ? print_help() : (print_help(), EXIT_BAD_INPUT);
    if (strcmp(name, "--version") == 0) {
        return print_version();
    }
    for (int i = 0; i < num_commands; i++)
        if (strcmp(commands[i].name, name) == 0)
            return dispatch(&commands[i], argv + 2);
    return unknown_command(name);
}

int main(int argc, char **argv)
{
    return close_stdout(run(argc, argv));
}

/* The driver's commands and their common options. */
#ifndef QGC_TOOLS_COMMAND_H
#define QGC_TOOLS_COMMAND_H

#include "qgc/qgc.h"

/* Exit codes of docs/driver.md. */
enum { EXIT_DONE = 0, EXIT_LIMIT = 1, EXIT_BAD_INPUT = 2, EXIT_ENVIRONMENT = 3 };

typedef struct option {
    const char *name;  /* "--passes" */
    const char *value; /* "A,B", or NULL: a flag */
    const char *help;
    bool repeats;
} option;

enum { MAX_REPEATS = 64 };

typedef struct option_values {
    const char *values[MAX_REPEATS]; /* of a flag: "" */
    int num;
} option_values;

enum { MAX_OPTIONS = 48, MAX_FILES = 260 };

typedef struct invocation {
    const struct command *command;
    qgc_context *context;
    option_values options[MAX_OPTIONS]; /* parallel to command->options, then to common_options */
    const char *files[MAX_FILES];
    int num_files;
    char cache[4096]; /* path of the default one, once it was asked for */
} invocation;

typedef struct command {
    const char *name, *arguments, *summary;
    const char *example; /* a real call, runs in the repository's root */
    int min_files, max_files;
    option options[MAX_OPTIONS - 8];
    int (*run)(invocation *call);
} command;

extern const option common_options[];
extern const command commands[];
extern const int num_commands;

/* The value of an option of the command or a common one; NULL where it was not given. */
const char *get_option(const invocation *call, const char *name);
const option_values *get_options(const invocation *call, const char *name);
bool has_option(const invocation *call, const char *name);

/* Refuses options that have nothing to do beside the others that are given (usage.c). */
qgc_result check_usage_table(invocation *call);

/* Prints the diagnostics reported so far as --diag-format and --color say. */
void flush_diagnostics(invocation *call);
/* Flushes; exit code for a failure: 3 where a file could not be read or written, else 2. */
int fail(invocation *call);

int run_opt(invocation *call);
int run_run(invocation *call);
int run_bench(invocation *call);
int run_calibrate(invocation *call);
int run_compile(invocation *call);
int run_import(invocation *call);
int run_export(invocation *call);
int run_onnx_check(invocation *call);
int run_quantize(invocation *call);
int run_eval(invocation *call);
int run_compare(invocation *call);
int run_sens(invocation *call);
int run_tune(invocation *call);
int run_reduce(invocation *call);
int run_stats(invocation *call);
int run_diff(invocation *call);
int run_verify_backend(invocation *call);
int run_check(invocation *call);
int run_explain(invocation *call);
int run_docs(invocation *call);
int run_completion(invocation *call);

/* Hands a failure on, which has been reported. */
#define QGC_CHECK(call)                                                                            \
    do {                                                                                           \
        if ((call) != QGC_OK)                                                                      \
            return QGC_FAILED;                                                                     \
    } while (0)

#endif

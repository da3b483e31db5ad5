/* qgc reduce: the smallest graph on which a command still succeeds. */
#include "input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PATH_BYTES = 4096, MAX_TRIALS = 1000 };

typedef struct reducing {
    invocation *call;
    const char *test, *out;
    char folder[PATH_BYTES];
    char candidate[PATH_BYTES + 32], best[PATH_BYTES + 32];
    long trials, max_trials, kept;
} reducing;

/* ---- the folder of candidates ---- */

static qgc_result make_folder(reducing *r)
{
    const char *root = getenv("TMPDIR");
    int size = snprintf(r->folder, sizeof r->folder, "%s/qgc-reduce-XXXXXX",
                        root && *root ? root : "/tmp");
    if (size < 0 || (size_t)size >= sizeof r->folder || !mkdtemp(r->folder)) {
        r->folder[0] = '\0';
        return qgc_context_usage_error(r->call->context, "a temporary folder: %s", strerror(errno));
    }
    snprintf(r->candidate, sizeof r->candidate, "%s/candidate.qir", r->folder);
    snprintf(r->best, sizeof r->best, "%s/best.qir", r->folder);
    return QGC_OK;
}

/* Removes the files whose names begin so, a graph with its weights. */
static void remove_files(const reducing *r, const char *prefix)
{
    DIR *folder = opendir(r->folder);
    const struct dirent *entry;
    int number = folder ? dirfd(folder) : -1;
    while (number >= 0 && (entry = readdir(folder)))
        if (entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            unlinkat(number, entry->d_name, 0);
    if (folder)
        closedir(folder);
}

static void remove_folder(const reducing *r)
{
    if (!r->folder[0])
        return;
    remove_files(r, "");
    rmdir(r->folder);
}

/* ---- the command ---- */

/* Its exit code; -1: a signal ended it, or it could not be started. */
static int run_test(reducing *r)
{
    size_t size = strlen(r->test) + sizeof " \"$@\"";
    char *script = malloc(size);
    pid_t child;
    int status = 0;
    if (!script)
        return -1;
    snprintf(script, size, "%s \"$@\"", r->test);
    char *arguments[] = {"sh", "-c", script, "qgc-reduce", r->candidate, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawnp(&child, "sh", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    free(script);
    while (!error && waitpid(child, &status, 0) < 0)
        error = errno == EINTR ? 0 : errno;
    r->trials++;
    return !error && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- trials ---- */

/* "best.HASH.safetensors" to "HASH.safetensors"; "" where the best graph has no weights file. */
static void find_weights(const reducing *r, char out[256])
{
    DIR *folder = opendir(r->folder);
    const struct dirent *entry;
    out[0] = '\0';
    while (folder && (entry = readdir(folder)))
        if (strncmp(entry->d_name, "best.", 5) == 0 && has_ending(entry->d_name, ".safetensors"))
            snprintf(out, 256, "%s", entry->d_name + 5);
    if (folder)
        closedir(folder);
}

/* The weights of the graph that was the smallest before: no output refers to them any more. */
static void remove_weights(const reducing *r, const char *weights)
{
    char path[PATH_BYTES];
    const char *dot = has_ending(r->out, ".qir") ? r->out + strlen(r->out) - 4 : NULL;
    int size =
        snprintf(path, sizeof path, "%.*s.%s", (int)(dot ? dot - r->out : 0), r->out, weights);
    if (dot && size > 0 && (size_t)size < sizeof path)
        unlink(path);
}

/* The candidate is the smallest so far: kept, and written out. */
static qgc_result keep(reducing *r, qgc_module *module)
{
    char before[256], after[256];
    find_weights(r, before);
    remove_files(r, "best");
    if (qgc_module_save(module, r->out) != QGC_OK || qgc_module_save(module, r->best) != QGC_OK)
        return QGC_FAILED;
    find_weights(r, after);
    if (before[0] && strcmp(before, after) != 0)
        remove_weights(r, before);
    return QGC_OK;
}

static qgc_result save_candidate(reducing *r, qgc_module *module)
{
    remove_files(r, "candidate");
    return qgc_module_save(module, r->candidate);
}

typedef enum outcome { KEPT, DROPPED, NO_MORE, FAILED } outcome;

static outcome try_module(reducing *r, qgc_module *module, size_t index)
{
    const char *what;
    qgc_reduction reduction = qgc_module_reduce(module, index, &what);
    if (reduction == QGC_REDUCTION_NONE)
        return NO_MORE;
    if (reduction == QGC_REDUCTION_REFUSED)
        return DROPPED;
    if (save_candidate(r, module) != QGC_OK)
        return FAILED;
    if (run_test(r) != 0)
        return DROPPED;
    printf("trial %ld: %s\n", r->trials, what);
    r->kept++;
    return keep(r, module) == QGC_OK ? KEPT : FAILED;
}

/* In a context of its own: what a refused candidate reports is nobody's error. */
static outcome try_candidate(reducing *r, size_t index)
{
    qgc_context *context = qgc_context_create();
    qgc_module *module = qgc_module_read(context, r->best);
    outcome result = module ? try_module(r, module, index) : FAILED;
    qgc_module_destroy(module);
    if (result == FAILED)
        qgc_context_flush(context, stderr, QGC_DIAG_TEXT, false);
    qgc_context_destroy(context);
    return result;
}

/* Round after round, until one keeps nothing. After a success the next candidate has the same
 * number. */
static qgc_result reduce(reducing *r)
{
    long before;
    do {
        before = r->kept;
        for (size_t index = 0; r->trials < r->max_trials;) {
            outcome result = try_candidate(r, index);
            if (result == FAILED)
                return qgc_context_usage_error(r->call->context, "a candidate cannot be tried");
            if (result == NO_MORE)
                break;
            index += result == DROPPED;
        }
    } while (r->kept > before && r->trials < r->max_trials);
    printf("%ld trials, %ld kept%s\n", r->trials, r->kept,
           r->trials < r->max_trials ? "" : "; --max-trials is reached");
    return QGC_OK;
}

static qgc_result start(reducing *r, qgc_module *module)
{
    if (bind_symbols(r->call, module) != QGC_OK)
        return QGC_FAILED;
    if (make_folder(r) != QGC_OK)
        return QGC_FAILED;
    if (save_candidate(r, module) != QGC_OK)
        return QGC_FAILED;
    int code = run_test(r);
    if (code != 0)
        return qgc_context_usage_error(r->call->context,
                                       "--test does not succeed on the graph as it is: %s %d",
                                       code < 0 ? "it ended by a signal," : "exit code", code);
    return keep(r, module);
}

static qgc_result read_trials(reducing *r)
{
    const char *text = get_option(r->call, "--max-trials");
    char *end;
    r->max_trials = text ? strtol(text, &end, 10) : MAX_TRIALS;
    if (r->max_trials > 0 && (!text || !*end))
        return QGC_OK;
    return qgc_context_usage_error(r->call->context, "--max-trials=%s: expected a number", text);
}

static qgc_result reduce_one(invocation *call, qgc_str text, uint32_t first_line,
                             const char *directory)
{
    reducing r = {.call = call, .test = get_option(call, "--test"), .out = get_option(call, "-o")};
    if (!r.test || !r.out)
        return qgc_context_usage_error(call->context, "qgc reduce needs --test and -o");
    if (read_trials(&r) != QGC_OK)
        return QGC_FAILED;
    qgc_module *module = read_part(call, text, first_line, directory);
    qgc_result result = module ? start(&r, module) : QGC_FAILED;
    qgc_module_destroy(module);
    if (result == QGC_OK)
        result = reduce(&r);
    remove_folder(&r);
    return result;
}

int run_reduce(invocation *call)
{
    return for_each_part(call, reduce_one);
}

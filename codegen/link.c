#include "codegen/link.h"

#include "runtime/file.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct linking {
    const qgc_link *link;
    qgc_arena *arena;
    const char *folder, *object, *script, *library, *log;
} linking;

/* The linkers of each architecture, on a machine of the same and on another; the first that is
 * there is taken. */
#if defined(__aarch64__)
#define HOST QGC_ARCH_AARCH64
#else
#define HOST QGC_ARCH_X86_64
#endif
static const char *const native[] = {"cc", "gcc", "clang", NULL};
static const char *const foreign[][2] = {
    [QGC_ARCH_X86_64] = {"x86_64-linux-gnu-gcc", NULL},
    [QGC_ARCH_AARCH64] = {"aarch64-linux-gnu-gcc", NULL},
};

static qgc_result write_file(const linking *l, const char *path, qgc_str bytes)
{
    qgc_output output;
    QGC_TRY(qgc_output_open(l->link->diag, path, &output));
    qgc_output_put(&output, bytes.data, bytes.size);
    return qgc_output_close(l->link->diag, &output);
}

static qgc_result read_file(const linking *l, const char *path, qgc_str *out)
{
    qgc_file file;
    QGC_TRY(qgc_file_open(l->link->diag, path, &file));
    qgc_str bytes = {(const char *)file.data, file.size};
    *out = (qgc_str){qgc_arena_strdup(l->arena, bytes), bytes.size};
    qgc_file_close(&file);
    return QGC_OK;
}

/* Starts the program, its output in the log. Returns errno. */
static int start(const linking *l, const char *program, pid_t *out_child)
{
    const char *soname = qgc_arena_printf(l->arena, "-Wl,-soname,%s", l->link->soname);
    const char *script = qgc_arena_printf(l->arena, "-Wl,--version-script=%s", l->script);
    const char *arguments[] = {
        program, "-shared", "-o",          l->library,           l->object,
        soname,  script,    "-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,--as-needed",
        "-lm",   NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, l->log, O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    int error = posix_spawnp(out_child, program, &actions, NULL,
                             (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static qgc_result start_first(const linking *l, const char *const *programs, pid_t *out_child)
{
    int error = ENOENT;
    const char *last = "";
    for (; *programs && error == ENOENT; programs++)
        error = start(l, last = *programs, out_child);
    if (!error)
        return QGC_OK;
    return qgc_report(l->link->diag, QGC_NO_LOC, QGC_D_LINK_FAILED,
                      "no linker: %s: %s (--linker names another one; --emit=o needs none)", last,
                      strerror(error));
}

static qgc_result failed(const linking *l)
{
    qgc_str log = {0};
    if (read_file(l, l->log, &log) != QGC_OK)
        return QGC_FAILED;
    return qgc_report(l->link->diag, QGC_NO_LOC, QGC_D_LINK_FAILED, "the linker failed: %s",
                      qgc_quoted(l->arena, log));
}

static qgc_result run(const linking *l)
{
    const char *given[] = {l->link->linker, NULL};
    const char *const *programs = given[0]                ? given
                                  : l->link->arch == HOST ? native
                                                          : foreign[l->link->arch];
    pid_t child;
    int status;
    QGC_TRY(start_first(l, programs, &child));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return failed(l);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? QGC_OK : failed(l);
}

static qgc_result link_files(const linking *l, qgc_str object, qgc_str *out)
{
    const char *script = qgc_arena_printf(l->arena, "%s { global: %slocal: *; };\n",
                                          l->link->version, l->link->symbols);
    QGC_TRY(write_file(l, l->object, object));
    QGC_TRY(write_file(l, l->script, qgc_str_from(script)));
    QGC_TRY(run(l));
    return read_file(l, l->library, out);
}

static const char *make_folder(qgc_arena *arena)
{
    const char *root = getenv("TMPDIR");
    char *folder = qgc_arena_printf(arena, "%s/qgc-XXXXXX", root && *root ? root : "/tmp");
    return mkdtemp(folder) ? folder : NULL;
}

qgc_result qgc_link_shared(const qgc_link *link, qgc_str object, qgc_arena *arena, qgc_str *out)
{
    const char *folder = make_folder(arena);
    if (!folder)
        return qgc_report(link->diag, QGC_NO_LOC, QGC_D_FILE_WRITE, "a temporary folder: %s",
                          strerror(errno));
    linking l = {.link = link,
                 .arena = arena,
                 .folder = folder,
                 .object = qgc_arena_printf(arena, "%s/object.o", folder),
                 .script = qgc_arena_printf(arena, "%s/symbols", folder),
                 .library = qgc_arena_printf(arena, "%s/library.so", folder),
                 .log = qgc_arena_printf(arena, "%s/log", folder)};
    qgc_result result = link_files(&l, object, out);
    const char *const files[] = {l.object, l.script, l.library, l.log};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
    rmdir(folder);
    return result;
}

#include "runtime/replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MARK[] = ".tmp-";

static const char *directory_of(qgc_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash          ? "."
           : slash == path ? "/"
                           : qgc_arena_strdup(arena, (qgc_str){path, (size_t)(slash - path)});
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- what others have left ---- */

static bool is_temporary(const char *name, const char *base)
{
    const char *mark = strstr(name, MARK);
    for (const char *next; mark && (next = strstr(mark + 1, MARK));)
        mark = next;
    if (!mark ||
        (base && ((size_t)(mark - name) != strlen(base) || memcmp(name, base, strlen(base)) != 0)))
        return false;
    const char *pid = mark + sizeof MARK - 1;
    size_t first = strspn(pid, "0123456789");
    size_t second = pid[first] == '-' ? strspn(pid + first + 1, "0123456789") : 0;
    return first && second && !pid[first + 1 + second];
}

/* Whether |path| is the file that is open. */
static bool is_same(int descriptor, const char *path)
{
    struct stat here, there;
    return fstat(descriptor, &here) == 0 && lstat(path, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Its writer holds the lock from the moment on that it has a name, or finds the name gone (take),
 * so that a file without a lock has no writer. */
static void remove_unlocked(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_same(descriptor, path))
        unlink(path);
    close(descriptor);
}

void qgc_remove_stale(qgc_arena *arena, const char *final, bool of_any)
{
    const char *directory = directory_of(arena, final), *base = of_any ? NULL : base_of(final);
    DIR *all = opendir(directory);
    if (!all)
        return;
    for (const struct dirent *entry; (entry = readdir(all));)
        if (is_temporary(entry->d_name, base))
            remove_unlocked(qgc_arena_printf(arena, "%s/%s", directory, entry->d_name));
    closedir(all);
}

/* ---- with a name ---- */

/* Locks what has just been made; false where somebody has taken it for stale before. A file system
 * without locks has nobody who could. */
static bool take(int descriptor, const char *path)
{
    while (flock(descriptor, LOCK_EX) != 0)
        if (errno != EINTR)
            return true;
    return is_same(descriptor, path);
}

enum { MAX_TRIES = 1000 };

static char *temporary_name(const qgc_replacement *r, int i)
{
    return qgc_arena_printf(r->arena, "%s%s%ld-%d", r->final, MARK, (long)getpid(), i);
}

/* Not mkstemp: its mode 0600 would ignore the user's umask. */
static int create_named(qgc_replacement *r, mode_t mode)
{
    for (int i = 0; i < MAX_TRIES; i++) {
        char *name = temporary_name(r, i);
        int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (descriptor < 0 && errno != EEXIST)
            return errno;
        if (descriptor >= 0 && take(descriptor, name)) {
            r->descriptor = descriptor;
            r->temporary = name;
            return 0;
        }
        if (descriptor >= 0)
            close(descriptor);
    }
    return EEXIST;
}

/* ---- without a name ---- */

static const char *descriptor_path(const qgc_replacement *r)
{
    return qgc_arena_printf(r->arena, "/proc/self/fd/%d", r->descriptor);
}

/* False where there are no such files, or no way to name one. */
static bool create_unnamed(qgc_replacement *r, mode_t mode)
{
#ifdef O_TMPFILE
    r->descriptor = open(directory_of(r->arena, r->final), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    if (r->descriptor < 0)
        return false;
    if (access(descriptor_path(r), F_OK) == 0) {
        (void)flock(r->descriptor, LOCK_EX); /* nobody else has it: before it gets a name */
        return true;
    }
    close(r->descriptor);
    r->descriptor = -1;
#endif
    (void)mode;
    return false;
}

/* As |name|, which must not be there. */
static int link_as(const qgc_replacement *r, const char *name)
{
    return linkat(AT_FDCWD, descriptor_path(r), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* A link replaces nothing, a rename does: so a file that replaces one has a name in between. */
static int name_it(qgc_replacement *r)
{
    int error = link_as(r, r->final);
    for (int i = 0; error == EEXIST && i < MAX_TRIES; i++) {
        char *name = temporary_name(r, i);
        error = link_as(r, name);
        if (!error)
            r->temporary = name;
    }
    return error;
}

int qgc_replacement_open(qgc_arena *arena, const char *final, mode_t mode, qgc_replacement *out)
{
    *out = (qgc_replacement){.arena = arena, .final = final, .descriptor = -1};
    qgc_remove_stale(arena, final, false);
    return create_unnamed(out, mode) ? 0 : create_named(out, mode);
}

int qgc_replacement_commit(qgc_replacement *r)
{
    int error = r->temporary ? 0 : name_it(r);
    if (!error && r->temporary && rename(r->temporary, r->final) != 0)
        error = errno;
    if (!error)
        r->temporary = NULL;
    qgc_replacement_discard(r);
    return error;
}

void qgc_replacement_discard(qgc_replacement *r)
{
    if (r->temporary)
        unlink(r->temporary);
    if (r->descriptor >= 0)
        close(r->descriptor); /* the lock ends after the name */
    r->temporary = NULL;
    r->descriptor = -1;
}

#include "codegen/cache.h"

#include "runtime/replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char ENDING[] = ".qgco";
enum { KEY_DIGITS = 32, OBJECT_ALIGN = 64 };

/* At the beginning of an entry; the object follows at OBJECT_ALIGN. */
typedef struct header {
    char magic[8];
    qgc_hash128 key;
    uint64_t size;
    qgc_hash128 hash;
} header;

static const char MAGIC[8] = {'q', 'g', 'c', 'o', 'b', 'j', '1', '\n'};

static bool is_equal(qgc_hash128 a, qgc_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

static const char *path_of(const qgc_cache *cache, qgc_hash128 key, qgc_arena *arena)
{
    return qgc_arena_printf(arena, "%s/%016llx%016llx%s", cache->directory,
                            (unsigned long long)key.high, (unsigned long long)key.low, ENDING);
}

static void remark(const qgc_cache *cache, const char *path, const char *what)
{
    qgc_diag *diag = cache->diag;
    const char *origin = diag->origin;
    diag->origin = "cache";
    if (qgc_wants_remarks(diag))
        qgc_report(diag, QGC_NO_LOC, QGC_D_CACHE, "%s: %s", path, what);
    diag->origin = origin;
}

qgc_cache qgc_cache_make(qgc_diag *diag, qgc_arena *arena, const qgc_engine_options *options)
{
    enum { DEFAULT_BYTES = 1 << 30 };
    return (qgc_cache){.diag = diag,
                       .directory = qgc_arena_strdup(arena, qgc_str_from(options->cache)),
                       .max_bytes = options->cache_bytes ? options->cache_bytes : DEFAULT_BYTES};
}

/* ---- loading ---- */

/* What others may write is not run. */
static const char *find_danger(const struct stat *info)
{
    if (!S_ISREG(info->st_mode))
        return "it is no file";
    if (info->st_uid != geteuid() && info->st_uid != 0)
        return "it belongs to somebody else";
    if (info->st_mode & (S_IWGRP | S_IWOTH))
        return "others may write it";
    return NULL;
}

/* Fewer than |size| where the file ends before. */
static size_t read_bytes(int descriptor, uint8_t *to, size_t size)
{
    size_t at = 0;
    while (at < size) {
        ssize_t num = read(descriptor, to + at, size - at);
        if (num <= 0 && !(num < 0 && errno == EINTR))
            break;
        at += num > 0 ? (size_t)num : 0;
    }
    return at;
}

/* |size|: of the whole entry. */
static const char *find_other(const header *h, qgc_hash128 key, size_t size)
{
    if (memcmp(h->magic, MAGIC, sizeof MAGIC) != 0 || !is_equal(h->key, key))
        return "it is another entry: compiled again";
    return h->size == size - OBJECT_ALIGN ? NULL : "it is cut short: compiled again";
}

/* NULL, or what is wrong. It is read, not mapped: who cuts a mapped file makes reads fault, and
 * what is checked here is what is used. */
static const char *read_entry(qgc_hash128 key, int descriptor, qgc_arena *arena, qgc_str *out)
{
    struct stat info;
    uint8_t first[OBJECT_ALIGN];
    header h;
    const char *wrong = fstat(descriptor, &info) == 0 ? find_danger(&info) : "it cannot be read";
    if (wrong)
        return wrong;
    if (read_bytes(descriptor, first, sizeof first) != sizeof first)
        return "it is cut short: compiled again";
    memcpy(&h, first, sizeof h);
    wrong = find_other(&h, key, (size_t)info.st_size);
    if (wrong)
        return wrong;
    char *object = qgc_arena_alloc(arena, h.size + OBJECT_ALIGN);
    object += OBJECT_ALIGN - (uintptr_t)object % OBJECT_ALIGN;
    *out = (qgc_str){object, h.size};
    if (read_bytes(descriptor, (uint8_t *)object, h.size) != h.size)
        return "it is cut short: compiled again";
    return is_equal(h.hash, qgc_hash_all(object, h.size))
               ? NULL
               : "its bytes have changed: compiled again";
}

bool qgc_cache_load(qgc_cache *cache, qgc_hash128 key, qgc_arena *arena, qgc_str *out)
{
    const char *path = path_of(cache, key, arena);
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            remark(cache, path, "it cannot be read");
        return false;
    }
    const char *wrong = read_entry(key, descriptor, arena, out);
    if (wrong)
        remark(cache, path, wrong);
    else
        (void)futimens(descriptor, NULL); /* it is of use; where that is not allowed it stays */
    close(descriptor);
    return !wrong;
}

void qgc_cache_refuse(const qgc_cache *cache, qgc_hash128 key)
{
    qgc_arena scratch = {0};
    remark(cache, path_of(cache, key, &scratch), "it cannot be linked: compiled again");
    qgc_arena_destroy(&scratch);
}

/* ---- the size ---- */

typedef struct item {
    const char *path;
    size_t bytes;
    struct timespec used;
} item;

typedef QGC_VEC(item) items;

static int compare_age(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->path, y->path);
}

static bool is_entry(const char *name)
{
    return strspn(name, "0123456789abcdef") == KEY_DIGITS && strcmp(name + KEY_DIGITS, ENDING) == 0;
}

static void list_entries(const qgc_cache *cache, qgc_arena *arena, items *out)
{
    DIR *directory = opendir(cache->directory);
    const struct dirent *at;
    while (directory && (at = readdir(directory))) {
        const char *path = qgc_arena_printf(arena, "%s/%s", cache->directory, at->d_name);
        struct stat info;
        if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode))
            continue;
        item found = {path, (size_t)info.st_size, info.st_mtim};
        if (is_entry(at->d_name))
            qgc_vec_push(arena, out, found);
    }
    if (directory)
        closedir(directory);
}

static void drop_oldest(const qgc_cache *cache)
{
    qgc_arena scratch = {0};
    items all = {0};
    size_t total = 0;
    list_entries(cache, &scratch, &all);
    for (size_t i = 0; i < all.size; i++)
        total += all.data[i].bytes;
    if (total > cache->max_bytes)
        qsort(all.data, all.size, sizeof *all.data, compare_age);
    for (size_t i = 0; i < all.size && total > cache->max_bytes; i++) {
        unlink(all.data[i].path);
        total -= all.data[i].bytes;
    }
    qgc_arena_destroy(&scratch);
}

/* ---- storing ---- */

/* With the directories above, for this user alone. */
static void make_directory(const char *directory, qgc_arena *arena)
{
    char *path = qgc_arena_strdup(arena, qgc_str_from(directory));
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = 0;
        mkdir(path, S_IRWXU);
        *at = '/';
    }
    mkdir(path, S_IRWXU);
}

static bool write_bytes(int descriptor, const void *from, size_t size)
{
    const uint8_t *bytes = from;
    while (size) {
        ssize_t num = write(descriptor, bytes, size);
        if (num < 0 && errno != EINTR)
            return false;
        bytes += num > 0 ? num : 0;
        size -= num > 0 ? (size_t)num : 0;
    }
    return true;
}

/* On the disk before it has its name: a crash of the machine leaves no part of it there. For this
 * user alone. */
static bool write_entry(const char *path, const header *h, qgc_str object, qgc_arena *arena)
{
    static const char padding[OBJECT_ALIGN - sizeof(header)] = {0};
    qgc_replacement r;
    if (qgc_replacement_open(arena, path, S_IRUSR | S_IWUSR, &r) != 0)
        return false;
    bool is_written = write_bytes(r.descriptor, h, sizeof *h) &&
                      write_bytes(r.descriptor, padding, sizeof padding) &&
                      write_bytes(r.descriptor, object.data, object.size) &&
                      fsync(r.descriptor) == 0;
    if (is_written)
        return qgc_replacement_commit(&r) == 0;
    qgc_replacement_discard(&r);
    return false;
}

void qgc_cache_store(qgc_cache *cache, qgc_hash128 key, qgc_str object)
{
    if (cache->is_broken || object.size + OBJECT_ALIGN > cache->max_bytes)
        return;
    qgc_arena scratch = {0};
    const char *path = path_of(cache, key, &scratch);
    header h = {.key = key, .size = object.size, .hash = qgc_hash_all(object.data, object.size)};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    make_directory(cache->directory, &scratch);
    qgc_remove_stale(&scratch, path, true); /* it may never be written again */
    cache->is_broken = !write_entry(path, &h, object, &scratch);
    if (cache->is_broken)
        remark(cache, path, "it cannot be written");
    else
        drop_oldest(cache);
    qgc_arena_destroy(&scratch);
}

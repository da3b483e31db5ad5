/* For tests of readers and writers: an engine for diagnostics, a temporary folder, bytes of files.
 */
#ifndef QGC_TEST_UNIT_FILES_H
#define QGC_TEST_UNIT_FILES_H

#include "runtime/file.h"
#include "runtime/tensor.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct bench {
    qgc_arena arena;
    qgc_sources sources;
    qgc_diag diag;
    char folder[64]; /* empty when a test begins, gone after it */
} bench;

static inline int bench_setup(void **state)
{
    bench *b = calloc(1, sizeof *b);
    b->sources.arena = &b->arena;
    b->diag.arena = &b->arena;
    b->diag.sources = &b->sources;
    strcpy(b->folder, "/tmp/qgc-unit-XXXXXX");
    *state = b;
    return mkdtemp(b->folder) ? 0 : -1;
}

/* Names in the temporary folder, removed on the way when |is_removed|. */
static inline int count_files(const bench *b, bool is_removed)
{
    int num = 0;
    char path[512];
    DIR *folder = opendir(b->folder);
    for (const struct dirent *item = readdir(folder); item; item = readdir(folder)) {
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
            continue;
        num++;
        snprintf(path, sizeof path, "%s/%s", b->folder, item->d_name);
        if (is_removed)
            unlink(path);
    }
    closedir(folder);
    return num;
}

static inline int bench_teardown(void **state)
{
    bench *b = *state;
    count_files(b, true);
    rmdir(b->folder);
    qgc_arena_destroy(&b->arena);
    free(b);
    return 0;
}

static inline const char *in_folder(bench *b, const char *name)
{
    return qgc_arena_printf(&b->arena, "%s/%s", b->folder, name);
}

/* The last report has this id and holds |text|; forgets all reports. */
static inline void expect_report(bench *b, qgc_diag_id id, const char *text)
{
    if (!b->diag.list.size)
        fail_msg("no report; expected \"%s\"", text);
    const qgc_diagnostic *last = &b->diag.list.data[b->diag.list.size - 1];
    if (!strstr(last->message, text))
        fail_msg("report is \"%s\"; expected \"%s\"", last->message, text);
    assert_string_equal(qgc_diag_code(last->id), qgc_diag_code(id));
    qgc_diag_rollback(&b->diag, 0);
}

static inline void expect_ok(bench *b, qgc_result result)
{
    if (b->diag.list.size)
        fail_msg("unexpected report: %s", b->diag.list.data[0].message);
    assert_int_equal(result, QGC_OK);
}

static inline void write_bytes(const char *path, const void *data, size_t size)
{
    FILE *out = fopen(path, "wb");
    if (!out) {
        fail_msg("%s cannot be written", path);
        return;
    }
    assert_int_equal(fwrite(data, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

static inline qgc_str read_bytes(bench *b, const char *path)
{
    qgc_file file;
    expect_ok(b, qgc_file_open(&b->diag, path, &file));
    qgc_str copy = {qgc_arena_strdup(&b->arena, (qgc_str){(const char *)file.data, file.size}),
                    file.size};
    qgc_file_close(&file);
    return copy;
}

static inline void assert_same_bytes(bench *b, const char *left, const char *right)
{
    qgc_str a = read_bytes(b, left), c = read_bytes(b, right);
    assert_int_equal(a.size, c.size);
    assert_memory_equal(a.data, c.data, a.size);
}

/* Elements 0, 1, 2, ... as make_fixtures.py's counting(): a sum of bits would be the code under
 * test again, so each type is spelled out. */
static inline void set_element(void *data, qgc_dtype dtype, size_t i, unsigned value)
{
    static const uint16_t halves[] = {0,      0x3c00, 0x4000, 0x4200, 0x4400, 0x4500,
                                      0x4600, 0x4700, 0x4800, 0x4880, 0x4900, 0x4980};
    switch (dtype) {
    case QGC_DTYPE_F32:
        ((float *)data)[i] = (float)value;
        break;
    case QGC_DTYPE_F64:
        ((double *)data)[i] = value;
        break;
    case QGC_DTYPE_F16:
        assert_true(value < sizeof halves / sizeof *halves);
        ((uint16_t *)data)[i] = halves[value];
        break;
    case QGC_DTYPE_I8:
    case QGC_DTYPE_U8:
        ((uint8_t *)data)[i] = (uint8_t)value;
        break;
    case QGC_DTYPE_BF16: /* the fixtures hold counted bits */
    case QGC_DTYPE_I16:
    case QGC_DTYPE_U16:
        ((uint16_t *)data)[i] = (uint16_t)value;
        break;
    case QGC_DTYPE_I32:
    case QGC_DTYPE_U32:
        ((uint32_t *)data)[i] = value;
        break;
    case QGC_DTYPE_I64:
    case QGC_DTYPE_U64:
        ((uint64_t *)data)[i] = value;
        break;
    case QGC_DTYPE_BOOL:
        ((uint8_t *)data)[i] = value % 2;
        break;
    case QGC_NUM_DTYPES:
        fail();
    }
}

static inline qgc_tensor counting(bench *b, qgc_dtype dtype, uint32_t rank, const int64_t *shape)
{
    qgc_tensor tensor;
    expect_ok(b, qgc_tensor_create(&b->diag, dtype, rank, shape, &tensor));
    for (size_t i = 0; i < qgc_tensor_count(&tensor); i++)
        set_element(tensor.data, dtype, i, (unsigned)i);
    return tensor;
}

#define SHAPE(...)                                                                                 \
    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[])                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

#endif

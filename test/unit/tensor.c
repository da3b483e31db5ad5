/* Owning tensors, and output files that appear whole or not at all. */
#include "files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Sanitizers would end the process where malloc returns NULL, which test_out_of_memory wants. The
 * names are theirs. NOLINTBEGIN(bugprone-reserved-identifier) */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void test_create(void **state)
{
    bench *b = *state;
    qgc_tensor tensor;
    expect_ok(b, qgc_tensor_create(&b->diag, QGC_DTYPE_F16, SHAPE(3, 5), &tensor));
    assert_int_equal(tensor.bytes, 30);
    assert_int_equal(qgc_tensor_count(&tensor), 15);
    assert_int_equal((uintptr_t)tensor.data % QGC_TENSOR_ALIGN, 0);
    for (size_t i = 0; i < tensor.bytes + QGC_TENSOR_SLACK; i++)
        assert_int_equal(((uint8_t *)tensor.data)[i], 0);
    qgc_tensor_destroy(&tensor);
    assert_null(tensor.data);
    qgc_tensor_destroy(&tensor);
}

static void test_scalar_and_empty(void **state)
{
    bench *b = *state;
    qgc_tensor scalar, empty;
    expect_ok(b, qgc_tensor_create(&b->diag, QGC_DTYPE_F64, 0, NULL, &scalar));
    assert_int_equal(qgc_tensor_count(&scalar), 1);
    expect_ok(b, qgc_tensor_create(&b->diag, QGC_DTYPE_F64, SHAPE(4, 0), &empty));
    assert_int_equal(empty.bytes, 0);
    assert_non_null(empty.data);
    assert_false(qgc_tensor_equal(&scalar, &empty));
    assert_true(qgc_tensor_equal(&empty, &empty));
    qgc_tensor_destroy(&scalar);
    qgc_tensor_destroy(&empty);
}

static void expect_refused(bench *b, uint32_t rank, const int64_t *shape, const char *text)
{
    qgc_tensor tensor;
    assert_int_equal(qgc_tensor_create(&b->diag, QGC_DTYPE_F32, rank, shape, &tensor), QGC_FAILED);
    assert_null(tensor.data);
    expect_report(b, QGC_D_BAD_TYPE, text);
}

static void test_refused_shapes(void **state)
{
    bench *b = *state;
    expect_refused(b, SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1), "found f32 of shape (rank 9)");
    expect_refused(b, SHAPE(2, -1), "found f32 of shape 2x-1");
    expect_refused(b, SHAPE((int64_t)1 << 32, (int64_t)1 << 32), "4294967296x4294967296");
    expect_refused(b, SHAPE((int64_t)1 << 61), "2305843009213693952");
    /* A 0 does not hide the overflow of the others. */
    expect_refused(b, SHAPE(0, (int64_t)1 << 32, (int64_t)1 << 32), "fits 63 bits");
}

static void test_out_of_memory(void **state)
{
    bench *b = *state;
    qgc_tensor tensor;
    assert_int_equal(qgc_tensor_create(&b->diag, QGC_DTYPE_U8, SHAPE((int64_t)1 << 60), &tensor),
                     QGC_FAILED);
    expect_report(b, QGC_D_RUN_FAILED, "out of memory for 1152921504606846976 bytes");
    assert_int_equal(qgc_tensor_create(&b->diag, QGC_DTYPE_U8, SHAPE(INT64_MAX), &tensor),
                     QGC_FAILED);
    expect_report(b, QGC_D_RUN_FAILED, "out of memory");
}

static void test_copy(void **state)
{
    bench *b = *state;
    qgc_tensor first = counting(b, QGC_DTYPE_I32, SHAPE(2, 3)), second;
    expect_ok(b, qgc_tensor_copy(&b->diag, &first, &second));
    assert_true(qgc_tensor_equal(&first, &second));
    ((int32_t *)second.data)[4] = -1;
    assert_int_equal(qgc_tensor_first_difference(&first, &second), 4);
    qgc_tensor view = {
        .dtype = QGC_DTYPE_I32, .rank = 1, .shape = {6}, .data = first.data, .bytes = first.bytes};
    assert_false(qgc_tensor_equal(&first, &view)); /* another rank */
    view.rank = 2;
    view.shape[0] = 3;
    view.shape[1] = 2;
    assert_false(qgc_tensor_equal(&first, &view)); /* another shape */
    expect_ok(b, qgc_tensor_copy(&b->diag, &view, &view));
    assert_ptr_not_equal(view.data, first.data);
    qgc_tensor_destroy(&view);
    qgc_tensor_destroy(&first);
    qgc_tensor_destroy(&second);
}

static void test_nan_equality(void **state)
{
    bench *b = *state;
    uint32_t left32[] = {0x7fc00000, 0xff800001, 0x7f800000, 0x00000000};
    uint32_t right32[] = {0xffffffff, 0x7fc12345, 0x7f800000, 0x80000000};
    qgc_tensor left = {
        .dtype = QGC_DTYPE_F32, .rank = 1, .shape = {4}, .data = left32, .bytes = 16};
    qgc_tensor right = left;
    right.data = right32;
    assert_int_equal(qgc_tensor_first_difference(&left, &right), 3); /* 0.0 is not -0.0 */
    right32[2] = 0x7f800001;                                         /* inf is not a NaN */
    assert_int_equal(qgc_tensor_first_difference(&left, &right), 2);
    left.dtype = right.dtype = QGC_DTYPE_U32;
    assert_int_equal(qgc_tensor_first_difference(&left, &right), 0);
    uint16_t left16[] = {0x7e00, 0xfc01}, right16[] = {0x7fff, 0x7c01};
    left =
        (qgc_tensor){.dtype = QGC_DTYPE_F16, .rank = 1, .shape = {2}, .data = left16, .bytes = 4};
    right = left;
    right.data = right16;
    assert_true(qgc_tensor_equal(&left, &right));
    left.dtype = right.dtype = QGC_DTYPE_BF16; /* 0x7e00 is a number there */
    assert_int_equal(qgc_tensor_first_difference(&left, &right), 0);
    uint64_t left64[] = {0x7ff0000000000001}, right64[] = {0xfff8000000000000};
    left = (qgc_tensor){.dtype = QGC_DTYPE_F64, .rank = 0, .data = left64, .bytes = 8};
    right = left;
    right.data = right64;
    assert_true(qgc_tensor_equal(&left, &right));
    (void)b;
}

static void test_bools(void **state)
{
    (void)state;
    assert_true(qgc_bools_valid("\0\1\1", 3));
    assert_false(qgc_bools_valid("\0\2\1", 3));
    assert_true(qgc_bools_valid("", 0));
}

static void test_output_is_renamed(void **state)
{
    bench *b = *state;
    const char *path = in_folder(b, "out");
    qgc_output output;
    write_bytes(path, "before", 6);
    chmod(path, 0640);
    expect_ok(b, qgc_output_open(&b->diag, path, &output));
    qgc_output_put(&output, "after it", 8);
    assert_int_equal(read_bytes(b, path).size, 6); /* not before it is closed */
    expect_ok(b, qgc_output_close(&b->diag, &output));
    assert_string_equal(read_bytes(b, path).data, "after it");
    assert_int_equal(count_files(b, false), 1);
    struct stat info;
    stat(path, &info);
    assert_int_equal(info.st_mode & 07777, 0640);
}

static void test_output_discarded(void **state)
{
    bench *b = *state;
    qgc_output output;
    expect_ok(b, qgc_output_open(&b->diag, in_folder(b, "out"), &output));
    qgc_output_put(&output, "text", 4);
    qgc_output_discard(&output);
    assert_int_equal(count_files(b, false), 0);
}

static void test_output_through_link(void **state)
{
    bench *b = *state;
    const char *target = in_folder(b, "target"), *name = in_folder(b, "link");
    qgc_output output;
    write_bytes(target, "x", 1);
    assert_int_equal(symlink("target", name), 0);
    expect_ok(b, qgc_output_open(&b->diag, name, &output));
    qgc_output_put(&output, "new", 3);
    expect_ok(b, qgc_output_close(&b->diag, &output));
    struct stat info;
    assert_int_equal(lstat(name, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_string_equal(read_bytes(b, target).data, "new");
}

static void test_output_failures(void **state)
{
    bench *b = *state;
    qgc_output output;
    assert_int_equal(qgc_output_open(&b->diag, "/nowhere/out", &output), QGC_FAILED);
    expect_report(b, QGC_D_FILE_WRITE, "/nowhere/out: No such file or directory");
    assert_int_equal(qgc_output_open(&b->diag, b->folder, &output), QGC_FAILED);
    expect_report(b, QGC_D_FILE_WRITE, "Is a directory");
    /* A device is written in place, and its errors come back. */
    expect_ok(b, qgc_output_open(&b->diag, "/dev/full", &output));
    qgc_output_put(&output, "text", 4);
    assert_int_equal(qgc_output_close(&b->diag, &output), QGC_FAILED);
    expect_report(b, QGC_D_FILE_WRITE, "/dev/full: No space left on device");
}

/* What writers that were killed have left goes; what is being written, and other names, stay. */
static void test_output_removes_stale(void **state)
{
    bench *b = *state;
    static const char *const stay[] = {"out.tmp-1-", "out.tmp-x-0", "out.npy.tmp-1-0",
                                       "xout.tmp-1-0"};
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
        write_bytes(in_folder(b, stay[i]), "x", 1);
    write_bytes(in_folder(b, "out.tmp-1-0"), "x", 1);
    write_bytes(in_folder(b, "out.tmp-99999-12"), "x", 1);
    const char *locked = in_folder(b, "out.tmp-2-0");
    write_bytes(locked, "x", 1);
    int descriptor = open(locked, O_RDONLY);
    assert_int_equal(flock(descriptor, LOCK_EX), 0);
    qgc_output output;
    expect_ok(b, qgc_output_open(&b->diag, in_folder(b, "out"), &output));
    assert_int_equal(count_files(b, false), 5);
    assert_int_equal(access(locked, F_OK), 0);
    expect_ok(b, qgc_output_close(&b->diag, &output));
    assert_int_equal(count_files(b, false), 6);
    close(descriptor);
}

/* A disk that fills up: the old file stays, the temporary one goes. */
static void test_output_runs_full(void **state)
{
    bench *b = *state;
    static char block[100000];
    const char *path = in_folder(b, "out");
    qgc_output output;
    struct rlimit before, small;
    write_bytes(path, "before", 6);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 5000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    expect_ok(b, qgc_output_open(&b->diag, path, &output));
    qgc_output_put(&output, block, sizeof block);
    qgc_output_put(&output, block, 1);
    assert_int_equal(qgc_output_close(&b->diag, &output), QGC_FAILED);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    expect_report(b, QGC_D_FILE_WRITE, "out: File too large");
    assert_string_equal(read_bytes(b, path).data, "before");
    assert_int_equal(count_files(b, false), 1);
}

static void test_input_failures(void **state)
{
    bench *b = *state;
    qgc_file file;
    assert_int_equal(qgc_file_open(&b->diag, in_folder(b, "none"), &file), QGC_FAILED);
    expect_report(b, QGC_D_FILE_OPEN, "none: No such file or directory");
    assert_int_equal(qgc_file_open(&b->diag, b->folder, &file), QGC_FAILED);
    expect_report(b, QGC_D_FILE_OPEN, "Is a directory");
    assert_int_equal(qgc_file_open(&b->diag, "/dev/null", &file), QGC_FAILED);
    expect_report(b, QGC_D_FILE_OPEN, "expected a regular file");
    const char *path = in_folder(b, "empty");
    write_bytes(path, "", 0);
    expect_ok(b, qgc_file_open(&b->diag, path, &file));
    assert_int_equal(file.size, 0);
    assert_non_null(file.data);
    qgc_file_close(&file);
}

static void expect_quoted(bench *b, const char *text, size_t size, const char *want)
{
    assert_string_equal(qgc_quoted(&b->arena, (qgc_str){text, size}), want);
}

static void test_quoted(void **state)
{
    bench *b = *state;
    char text[100];
    memset(text, 'a', sizeof text);
    text[0] = '\n';
    const char *quoted = qgc_quoted(&b->arena, (qgc_str){text, sizeof text});
    assert_string_equal(quoted + strlen(quoted) - 5, "a\"...");
    expect_quoted(b, "", 0, "\"\"");
    expect_quoted(b, "a\n\"\\\x7f\0", 6, "\"a\\x0a\\\"\\\\\\x7f\\x00\"");
    expect_quoted(b, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
                  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    expect_quoted(b, "\x93N\xc3", 3, "\"\\x93N\\xc3\"");
    expect_quoted(b, "\xc3(", 2, "\"\\xc3(\"");
    expect_quoted(b, "\xc0\x80", 2, "\"\\xc0\\x80\"");                   /* overlong */
    expect_quoted(b, "\xe0\x80\x80", 3, "\"\\xe0\\x80\\x80\"");          /* overlong */
    expect_quoted(b, "\xed\xa0\x80", 3, "\"\\xed\\xa0\\x80\"");          /* surrogate */
    expect_quoted(b, "\xf4\x90\x80\x80", 4, "\"\\xf4\\x90\\x80\\x80\""); /* too large */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_create),
        TEST(test_scalar_and_empty),
        TEST(test_refused_shapes),
        TEST(test_out_of_memory),
        TEST(test_copy),
        TEST(test_nan_equality),
        TEST(test_bools),
        TEST(test_output_is_renamed),
        TEST(test_output_discarded),
        TEST(test_output_through_link),
        TEST(test_output_failures),
        TEST(test_input_failures),
        TEST(test_output_removes_stale),
        TEST(test_output_runs_full),
        TEST(test_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

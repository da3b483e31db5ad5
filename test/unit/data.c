/* Streams of samples: kinds, batches, folders, IDX. */
#include "runtime/data.h"

#include "files.h"
#include "runtime/npy.h"

/* Reads everything in batches of |batch| and compares with counting tensors of the same types. */
static void expect_counting(bench *b, qgc_data *data, size_t batch, size_t num_samples)
{
    size_t num, done = 0, num_arrays = qgc_data_num_arrays(data);
    qgc_tensor *want = QGC_NEW_ARRAY(&b->arena, qgc_tensor, num_arrays);
    qgc_tensor *got = QGC_NEW_ARRAY(&b->arena, qgc_tensor, num_arrays);
    for (size_t i = 0; i < num_arrays; i++) {
        const qgc_tensor type = qgc_data_array(data, i).tensor;
        assert_int_equal(type.shape[0], num_samples);
        want[i] = counting(b, type.dtype, type.rank, type.shape);
        assert_int_equal(want[i].bytes, type.bytes);
    }
    expect_ok(b, qgc_data_seek(data, 0));
    do {
        expect_ok(b, qgc_data_next_batch(data, batch, got, &num));
        assert_int_equal(num, num_samples - done < batch ? num_samples - done : batch);
        for (size_t i = 0; num && i < num_arrays; i++) {
            size_t sample_bytes = want[i].bytes / num_samples;
            assert_int_equal(got[i].shape[0], num);
            assert_int_equal(got[i].bytes, num * sample_bytes);
            assert_int_equal((uintptr_t)got[i].data % qgc_dtype_bytes(got[i].dtype), 0);
            assert_memory_equal(got[i].data, (char *)want[i].data + done * sample_bytes,
                                got[i].bytes);
        }
        done += num;
    } while (num);
    assert_int_equal(done, num_samples);
    for (size_t i = 0; i < num_arrays; i++)
        qgc_tensor_destroy(&want[i]);
}

static const struct {
    const char *path;
    size_t num_samples;
} sources[] = {
    {"test/data/f4.npy", 2},
    {"test/data/vector.npy", 10},
    {"test/data/b1.npy", 2},
    {"test/data/big_endian.npy", 2},
    {"test/data/fortran.npy", 2},
    {"test/data/fortran_big.npy", 3},
    {"test/data/stored.npz", 5},
    {"test/data/deflated.npz", 5},
    {"test/data/batch.safetensors", 5},
    {"test/data/images-idx3-ubyte", 7},
    {"test/data/images-idx3-ubyte.gz", 7},
    {"test/data/members-idx3-ubyte.gz", 7},
    {"test/data/i1.idx", 2},
    {"test/data/i2.idx", 2},
    {"test/data/i4.idx", 2},
    {"test/data/f4.idx", 2},
    {"test/data/f8.idx", 2},
    {"test/data/parts", 10},
    {"test/data/parts/", 10},
};

static void test_batches(void **state)
{
    bench *b = *state;
    static const size_t batches[] = {1, 2, 3, 4, 1000, SIZE_MAX};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        qgc_data *data;
        size_t num;
        expect_ok(b, qgc_data_open(&b->diag, sources[i].path, &data));
        expect_ok(b, qgc_data_num_samples(data, &num));
        assert_int_equal(num, sources[i].num_samples);
        for (size_t k = 0; k < sizeof batches / sizeof *batches; k++)
            expect_counting(b, data, batches[k], num);
        qgc_data_close(data);
    }
}

static void test_seek(void **state)
{
    bench *b = *state;
    static const char *const paths[] = {"test/data/parts", "test/data/vector.npy"};
    static const size_t places[] = {3, 0, 9, 4, 10};
    for (int i = 0; i < 2; i++) {
        qgc_data *data;
        qgc_tensor got;
        size_t num;
        expect_ok(b, qgc_data_open(&b->diag, paths[i], &data));
        const int64_t *shape = qgc_data_array(data, 0).tensor.shape;
        const float row = i == 0 ? (float)shape[1] : 1;
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            expect_ok(b, qgc_data_seek(data, places[k]));
            expect_ok(b, qgc_data_next_batch(data, 1, &got, &num));
            assert_int_equal(num, places[k] < 10);
            if (num)
                assert_true(*(float *)got.data == (float)places[k] * row);
        }
        qgc_data_close(data);
    }
}

static void test_seek_back_in_streams(void **state)
{
    bench *b = *state;
    static const char *const paths[] = {"test/data/deflated.npz", "test/data/images-idx3-ubyte.gz"};
    for (int i = 0; i < 2; i++) {
        qgc_data *data;
        qgc_tensor got[3], first[3];
        size_t num;
        expect_ok(b, qgc_data_open(&b->diag, paths[i], &data));
        for (size_t place = 5; place-- > 0;) {
            expect_ok(b, qgc_data_seek(data, place));
            expect_ok(b, qgc_data_next_batch(data, 1, got, &num));
            for (size_t k = 0; k < qgc_data_num_arrays(data); k++) {
                const qgc_tensor type = qgc_data_array(data, k).tensor;
                first[k] = counting(b, type.dtype, type.rank, type.shape);
                assert_memory_equal(got[k].data, (char *)first[k].data + place * got[k].bytes,
                                    got[k].bytes);
                qgc_tensor_destroy(&first[k]);
            }
        }
        qgc_data_close(data);
    }
}

/* A file that loses its end while it is read is an error, not a fault. */
static void test_shortened(void **state)
{
    bench *b = *state;
    const char *path = in_folder(b, "shortened.npy");
    qgc_str bytes = read_bytes(b, "test/data/vector.npy");
    qgc_data *data;
    qgc_tensor got;
    size_t num;
    write_bytes(path, bytes.data, bytes.size);
    expect_ok(b, qgc_data_open(&b->diag, path, &data));
    expect_ok(b, qgc_data_next_batch(data, 2, &got, &num));
    assert_int_equal(num, 2);
    assert_int_equal(truncate(path, 128), 0);
    assert_int_equal(qgc_data_next_batch(data, 1, &got, &num), QGC_FAILED);
    expect_report(b, QGC_D_FILE_OPEN, "found that it was shortened meanwhile");
    qgc_data_close(data);
}

static void test_read_folder_array(void **state)
{
    bench *b = *state;
    qgc_data *data;
    qgc_tensor got, want = counting(b, QGC_DTYPE_F32, SHAPE(10, 2));
    expect_ok(b, qgc_data_open(&b->diag, "test/data/parts", &data));
    assert_int_equal(qgc_data_num_arrays(data), 1);
    assert_int_equal(qgc_data_find(data, qgc_str_from("")), 0);
    assert_int_equal(qgc_data_find(data, qgc_str_from("x")), SIZE_MAX);
    expect_ok(b, qgc_data_read_array(data, 0, &got));
    assert_true(qgc_tensor_equal(&got, &want));
    qgc_tensor_destroy(&got);
    qgc_tensor_destroy(&want);
    qgc_data_close(data);
}

static void expect_open_fails(bench *b, const char *path, qgc_diag_id id, const char *text)
{
    qgc_data *data;
    assert_int_equal(qgc_data_open(&b->diag, path, &data), QGC_FAILED);
    assert_null(data);
    expect_report(b, id, text);
}

static void test_kinds(void **state)
{
    bench *b = *state;
    const char *path = in_folder(b, "file");
    expect_open_fails(b, path, QGC_D_FILE_OPEN, "No such file or directory");
    write_bytes(path, "some text", 9);
    expect_open_fails(
        b, path, QGC_D_FILE_UNKNOWN,
        "file: expected npy, npz, safetensors, IDX, gzipped IDX, PNG or JPEG data, found "
        "neither the content nor the name of any");
    /* Content goes before the name. */
    qgc_data *data;
    qgc_str npy = read_bytes(b, "test/data/f4.npy");
    path = in_folder(b, "wrong.npz");
    write_bytes(path, npy.data, npy.size);
    expect_ok(b, qgc_data_open(&b->diag, path, &data));
    qgc_data_close(data);
    /* The name goes for content that says nothing. */
    static const char *const names[][2] = {
        {"a.npy", "expected the bytes \\x93NUMPY"},
        {"a.npz", "expected a zip archive, found a broken one"},
        {"a.safetensors", "expected a header of"},
        {"a-ubyte", "expected an IDX header 00 00, type 08 09 0b 0c 0d 0e, rank 1 to 8, found 40"},
        {"a-ubyte.gz", "expected gzip data, found: incorrect header check"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        path = in_folder(b, names[i][0]);
        write_bytes(path, "@0000000", 8);
        /* a length that the size limit of safetensors allows */
        if (i == 2)
            write_bytes(path, "\7\0\0\0\0\0\0\0", 8);
        expect_open_fails(b, path, QGC_D_FILE_FORMAT, names[i][1]);
    }
}

static const struct {
    const char *data;
    size_t size;
    const char *report;
} bad_idx[] = {
    {"\0\0\10", 3, "m-ubyte: expected an IDX header, found 3 bytes"},
    {"\0\0\12\1\0\0\0\1x", 9, "rank 1 to 8, found 00 00 0a 01"},
    {"\0\0\10\0x", 5, "rank 1 to 8, found 00 00 08 00"},
    {"\0\0\10\11x", 5, "rank 1 to 8, found 00 00 08 09"},
    {"\0\1\10\1\0\0\0\1x", 9, "rank 1 to 8, found 00 01 08 01"},
    {"\0\0\10\2\0\0\0\1", 8, "m-ubyte: expected 2 dimensions, found the end of the file"},
    {"\0\0\10\1\0\0\0\2x", 9, "m-ubyte: expected 2 bytes of data for u8 of shape 2, found 1"},
    {"\0\0\10\1\0\0\0\1xx", 10, "for u8 of shape 1, found 2"},
    {"\0\0\16\2\377\377\377\377\377\377\377\377", 12, "expected a size that fits 63 bits"},
};

static void test_bad_idx(void **state)
{
    bench *b = *state;
    for (size_t i = 0; i < sizeof bad_idx / sizeof *bad_idx; i++) {
        qgc_data *data;
        assert_int_equal(
            qgc_data_open_memory(&b->diag, "m-ubyte", bad_idx[i].data, bad_idx[i].size, &data),
            QGC_FAILED);
        expect_report(b, QGC_D_FILE_FORMAT, bad_idx[i].report);
    }
}

/* |plain| in gzip's stored form, without a valid checksum: it is not reached. */
static qgc_str wrap_gzip(bench *b, const void *plain, size_t size)
{
    qgc_text text = {.arena = &b->arena};
    qgc_text_put(&text, (qgc_str){"\x1f\x8b\x08\0\0\0\0\0\0\xff\1", 11});
    qgc_text_putc(&text, (char)size);
    qgc_text_putc(&text, 0);
    qgc_text_putc(&text, (char)~size);
    qgc_text_putc(&text, (char)0xff);
    qgc_text_put(&text, (qgc_str){plain, size});
    qgc_text_put(&text, (qgc_str){"\0\0\0\0\0\0\0\0", 8});
    return qgc_text_str(&text);
}

static void test_bad_gzip(void **state)
{
    bench *b = *state;
    static const struct {
        const char *data;
        size_t size;
        const char *report;
    } cases[] = {
        {"\0\0\12\1\0\0\0\1x", 9, "rank 1 to 8, found 00 00 0a 01"},
        {"\0\0\10\1\177\377\377\377x", 9,
         "found fewer: that much does not fit the compressed file"},
        {"\0\0\16\2\377\377\377\377\377\377\377\377x", 13, "expected a size that fits 63 bits"},
    };
    qgc_data *data;
    qgc_tensor tensor;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qgc_str gzip = wrap_gzip(b, cases[i].data, cases[i].size);
        assert_int_equal(qgc_data_open_memory(&b->diag, "m", gzip.data, gzip.size, &data),
                         QGC_FAILED);
        expect_report(b, QGC_D_FILE_FORMAT, cases[i].report);
    }
    expect_ok(b, qgc_data_open(&b->diag, "test/data/short-idx3-ubyte.gz", &data));
    assert_int_equal(qgc_data_read_array(data, 0, &tensor), QGC_FAILED);
    expect_report(b, QGC_D_FILE_FORMAT, "expected 3 bytes more of IDX data, found the end of it");
    qgc_data_close(data);
    /* Cut off, with too little and with too much behind the header. */
    qgc_str good = read_bytes(b, "test/data/images-idx3-ubyte.gz");
    expect_ok(b, qgc_data_open_memory(&b->diag, "m", good.data, good.size - 20, &data));
    assert_int_equal(qgc_data_read_array(data, 0, &tensor), QGC_FAILED);
    expect_report(b, QGC_D_FILE_FORMAT, "m: expected gzip data, found: the end of the file");
    qgc_data_close(data);
    qgc_text text = {.arena = &b->arena};
    qgc_text_put(&text, good);
    qgc_text_put(&text, good);
    qgc_str twice = qgc_text_str(&text);
    expect_ok(b, qgc_data_open_memory(&b->diag, "m", twice.data, twice.size, &data));
    assert_int_equal(qgc_data_read_array(data, 0, &tensor), QGC_FAILED);
    expect_report(b, QGC_D_FILE_FORMAT, "for u8 of shape 7x2x3, found more");
    qgc_data_close(data);
}

static void copy_fixture(bench *b, const char *name, const char *to)
{
    qgc_str bytes = read_bytes(b, qgc_arena_printf(&b->arena, "test/data/%s", name));
    write_bytes(in_folder(b, to), bytes.data, bytes.size);
}

static void test_bad_folders(void **state)
{
    bench *b = *state;
    write_bytes(in_folder(b, ".hidden"), "x", 1);
    expect_open_fails(b, b->folder, QGC_D_FILE_FORMAT, "expected data files in the folder, found");
    copy_fixture(b, "f4.npy", "1.npy");
    copy_fixture(b, "vector.npy", "2.npy");
    expect_open_fails(b, b->folder, QGC_D_FILE_FORMAT,
                      "expected an array like \"\" f32 2x3 as in ");
    copy_fixture(b, "i4.npy", "2.npy");
    expect_open_fails(b, b->folder, QGC_D_FILE_FORMAT, "1.npy, found \"\" i32 2x3");
    copy_fixture(b, "stored.npz", "2.npy");
    expect_open_fails(b, b->folder, QGC_D_FILE_FORMAT, "2.npy: expected 1 arrays as in ");
    write_bytes(in_folder(b, "2.npy"), "text", 4);
    expect_open_fails(b, b->folder, QGC_D_FILE_FORMAT, "2.npy: expected the bytes \\x93NUMPY");
    copy_fixture(b, "f4.npy", "2.npy");
    write_bytes(in_folder(b, "readme"), "text", 4);
    expect_open_fails(b, b->folder, QGC_D_FILE_UNKNOWN, "/readme: expected npy, npz");
    count_files(b, true);
    copy_fixture(b, "scalar.npy", "1.npy");
    copy_fixture(b, "scalar.npy", "2.npy");
    expect_open_fails(b, b->folder, QGC_D_FILE_FORMAT, "expected arrays with the same first dimen");
}

/* Parts without data, so that their sizes can be anything. */
static void write_header(bench *b, const char *name, qgc_dtype dtype, int64_t num_samples)
{
    qgc_tensor type = {.dtype = dtype, .rank = 2, .shape = {num_samples, 0}};
    qgc_str header;
    expect_ok(b, qgc_npy_format_header(&b->diag, name, &type, &header));
    write_bytes(in_folder(b, name), header.data, header.size);
}

static void test_uneven_parts(void **state)
{
    bench *b = *state;
    copy_fixture(b, "stored.npz", "1.npz");
    copy_fixture(b, "uneven.npz", "2.npz");
    expect_open_fails(b, b->folder, QGC_D_FILE_FORMAT,
                      "2.npz: expected one number of samples for all arrays as in ");
    count_files(b, true);
    write_header(b, "1.npy", QGC_DTYPE_U8, (int64_t)1 << 62);
    write_header(b, "2.npy", QGC_DTYPE_U8, (int64_t)1 << 62);
    expect_open_fails(b, b->folder, QGC_D_FILE_FORMAT,
                      "2.npy: expected a number of samples that fits 63 bits as in ");
    write_header(b, "1.npy", QGC_DTYPE_U16, (int64_t)1 << 61);
    write_header(b, "2.npy", QGC_DTYPE_U16, (int64_t)1 << 61);
    expect_open_fails(b, b->folder, QGC_D_FILE_FORMAT,
                      ": expected a size that fits 63 bits, found more");
}

static void test_changed_part(void **state)
{
    bench *b = *state;
    qgc_data *data;
    qgc_tensor got;
    size_t num;
    copy_fixture(b, "f4.npy", "1.npy");
    copy_fixture(b, "f4.npy", "2.npy");
    expect_ok(b, qgc_data_open(&b->diag, b->folder, &data));
    copy_fixture(b, "empty.npy", "2.npy");
    assert_int_equal(qgc_data_next_batch(data, 4, &got, &num), QGC_FAILED);
    expect_report(b, QGC_D_FILE_FORMAT, "2.npy: expected what it held at the start, found that");
    qgc_data_close(data);
}

static void test_no_samples(void **state)
{
    bench *b = *state;
    static const char *const paths[] = {"test/data/scalar.npy", "test/data/all.safetensors"};
    for (int i = 0; i < 2; i++) {
        qgc_data *data;
        qgc_tensor got[16];
        size_t num;
        expect_ok(b, qgc_data_open(&b->diag, paths[i], &data));
        assert_int_equal(qgc_data_num_samples(data, &num), QGC_FAILED);
        expect_report(b, QGC_D_FILE_FORMAT, "the same first dimension, the samples, found others");
        assert_int_equal(qgc_data_next_batch(data, 1, got, &num), QGC_FAILED);
        expect_report(b, QGC_D_FILE_FORMAT, "the same first dimension, the samples, found others");
        expect_ok(b, qgc_data_read_array(data, 0, got));
        qgc_tensor_destroy(got);
        qgc_data_close(data);
    }
}

static void test_hollow_samples(void **state)
{
    bench *b = *state;
    qgc_data *data;
    qgc_tensor got;
    size_t num;
    write_header(b, "1.npy", QGC_DTYPE_U8, (int64_t)1 << 62);
    expect_ok(b, qgc_data_open(&b->diag, in_folder(b, "1.npy"), &data));
    assert_int_equal(qgc_data_num_samples(data, &num), QGC_FAILED);
    expect_report(b, QGC_D_FILE_FORMAT,
                  "expected samples with elements, found 4611686018427387904 empty ones");
    assert_int_equal(qgc_data_next_batch(data, 1, &got, &num), QGC_FAILED);
    expect_report(b, QGC_D_FILE_FORMAT, "expected samples with elements");
    qgc_data_close(data);
}

static void test_bad_bools(void **state)
{
    bench *b = *state;
    qgc_str good = read_bytes(b, "test/data/b1.npy");
    char *bad = qgc_arena_strdup(&b->arena, good);
    bad[good.size - 1] = 2;
    qgc_data *data;
    qgc_tensor got;
    size_t num;
    expect_ok(b, qgc_data_open_memory(&b->diag, "m", bad, good.size, &data));
    expect_ok(b, qgc_data_next_batch(data, 1, &got, &num));
    assert_int_equal(qgc_data_next_batch(data, 1, &got, &num), QGC_FAILED);
    expect_report(b, QGC_D_FILE_FORMAT, "m: expected bytes 0 and 1 in a bool array, found others");
    assert_int_equal(qgc_data_read_array(data, 0, &got), QGC_FAILED);
    expect_report(b, QGC_D_FILE_FORMAT, "expected bytes 0 and 1 in a bool array");
    qgc_data_close(data);
}

static size_t resident_bytes(void)
{
    unsigned long long total, resident;
    FILE *in = fopen("/proc/self/statm", "r");
    if (!in)
        return 0;
    assert_int_equal(fscanf(in, "%llu %llu", &total, &resident), 2);
    fclose(in);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* 128 MB of samples pass through; what stays resident is a few batches. */
static void expect_bounded_memory(bench *b, char byte_order)
{
    enum { NUM = 2048, ROW = 65536 / 4, BATCH = 16 };
    const char *path = in_folder(b, "large.npy");
    qgc_tensor type = {.dtype = QGC_DTYPE_F32, .rank = 2, .shape = {NUM, ROW}, .data = b};
    qgc_str header;
    expect_ok(b, qgc_npy_format_header(&b->diag, path, &type, &header));
    *strchr(header.data + 10, '<') = byte_order;
    write_bytes(path, header.data, header.size);
    assert_int_equal(truncate(path, (off_t)header.size + (off_t)NUM * ROW * 4), 0);
    qgc_data *data;
    qgc_tensor got;
    size_t num, before = resident_bytes(), most = 0;
    volatile float sum = 0;
    expect_ok(b, qgc_data_open(&b->diag, path, &data));
    do {
        expect_ok(b, qgc_data_next_batch(data, BATCH, &got, &num));
        for (size_t i = 0; i < num * ROW; i += 512)
            sum += ((float *)got.data)[i];
        size_t now = resident_bytes();
        most = now > most ? now : most;
    } while (num);
    assert_true(most < before + (32u << 20));
    qgc_data_close(data);
}

static void test_memory_is_bounded(void **state)
{
    expect_bounded_memory(*state, '<');
    expect_bounded_memory(*state, '>');
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_batches),
        TEST(test_seek),
        TEST(test_seek_back_in_streams),
        TEST(test_shortened),
        TEST(test_read_folder_array),
        TEST(test_kinds),
        TEST(test_bad_idx),
        TEST(test_bad_gzip),
        TEST(test_bad_folders),
        TEST(test_changed_part),
        TEST(test_uneven_parts),
        TEST(test_no_samples),
        TEST(test_bad_bools),
        TEST(test_hollow_samples),
        TEST(test_memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

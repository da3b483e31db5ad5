/* .npy, .npz and IDX: files that NumPy wrote, every defect, and what the writers write. */
#include "runtime/npy.h"
#include "runtime/npz.h"

#include "files.h"
#include "runtime/data.h"

static const struct {
    const char *name;
    qgc_dtype dtype;
} types[] = {
    {"f4", QGC_DTYPE_F32}, {"f2", QGC_DTYPE_F16}, {"f8", QGC_DTYPE_F64}, {"i1", QGC_DTYPE_I8},
    {"u1", QGC_DTYPE_U8},  {"i2", QGC_DTYPE_I16}, {"u2", QGC_DTYPE_U16}, {"i4", QGC_DTYPE_I32},
    {"u4", QGC_DTYPE_U32}, {"i8", QGC_DTYPE_I64}, {"u8", QGC_DTYPE_U64}, {"b1", QGC_DTYPE_BOOL},
};

static void expect_file(bench *b, const char *path, qgc_dtype dtype, uint32_t rank,
                        const int64_t *shape)
{
    qgc_tensor got, want = counting(b, dtype, rank, shape);
    expect_ok(b, qgc_npy_read(&b->diag, path, &got));
    assert_true(qgc_tensor_equal(&got, &want));
    qgc_tensor_destroy(&got);
    qgc_tensor_destroy(&want);
}

static void test_read_numpy(void **state)
{
    bench *b = *state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        expect_file(b, qgc_arena_printf(&b->arena, "test/data/%s.npy", types[i].name),
                    types[i].dtype, SHAPE(2, 3));
    expect_file(b, "test/data/vector.npy", QGC_DTYPE_F32, SHAPE(10));
    expect_file(b, "test/data/empty.npy", QGC_DTYPE_F32, SHAPE(0, 3));
    expect_file(b, "test/data/version2.npy", QGC_DTYPE_F32, SHAPE(2, 3));
    expect_file(b, "test/data/version3.npy", QGC_DTYPE_F32, SHAPE(2, 3));
    expect_file(b, "test/data/big_endian.npy", QGC_DTYPE_F32, SHAPE(2, 3));
    expect_file(b, "test/data/fortran.npy", QGC_DTYPE_I32, SHAPE(2, 3, 4));
    expect_file(b, "test/data/fortran_big.npy", QGC_DTYPE_I16, SHAPE(3, 5));
    qgc_tensor scalar;
    expect_ok(b, qgc_npy_read(&b->diag, "test/data/scalar.npy", &scalar));
    assert_int_equal(scalar.rank, 0);
    assert_true(*(float *)scalar.data == 2.5f);
    qgc_tensor_destroy(&scalar);
}

/* The writer's bytes are numpy.save's. */
static void test_write_like_numpy(void **state)
{
    bench *b = *state;
    const char *out = in_folder(b, "out.npy");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        qgc_tensor tensor = counting(b, types[i].dtype, SHAPE(2, 3));
        expect_ok(b, qgc_npy_write(&b->diag, out, &tensor));
        assert_same_bytes(b, out, qgc_arena_printf(&b->arena, "test/data/%s.npy", types[i].name));
        qgc_tensor_destroy(&tensor);
    }
    static const char *const others[] = {"scalar", "empty", "vector"};
    for (int i = 0; i < 3; i++) {
        qgc_tensor tensor;
        const char *in = qgc_arena_printf(&b->arena, "test/data/%s.npy", others[i]);
        expect_ok(b, qgc_npy_read(&b->diag, in, &tensor));
        expect_ok(b, qgc_npy_write(&b->diag, out, &tensor));
        assert_same_bytes(b, out, in);
        qgc_tensor_destroy(&tensor);
    }
    assert_int_equal(count_files(b, false), 1);
}

static void test_write_refuses_bf16(void **state)
{
    bench *b = *state;
    qgc_tensor tensor = counting(b, QGC_DTYPE_BF16, SHAPE(2));
    qgc_named_tensor item = {qgc_str_from("x"), tensor};
    assert_int_equal(qgc_npy_write(&b->diag, in_folder(b, "out.npy"), &tensor), QGC_FAILED);
    expect_report(b, QGC_D_FILE_WRITE, "out.npy: .npy has no type for bf16; .safetensors has");
    assert_int_equal(qgc_npz_write(&b->diag, in_folder(b, "out.npz"), &item, 1, false), QGC_FAILED);
    expect_report(b, QGC_D_FILE_WRITE, "out.npz: .npy has no type for bf16");
    assert_int_equal(count_files(b, false), 0);
    qgc_tensor_destroy(&tensor);
}

/* Version 1.0 with this header and |num_data| bytes 0, 1, 2, ... */
static qgc_file make_npy(bench *b, const char *header, size_t num_data)
{
    size_t size = strlen(header);
    uint8_t *data = qgc_arena_alloc(&b->arena, 10 + size + num_data);
    memcpy(data, "\x93NUMPY\1\0", 8);
    data[8] = (uint8_t)size;
    data[9] = (uint8_t)(size >> 8);
    memcpy(data + 10, header, size);
    for (size_t i = 0; i < num_data; i++)
        data[10 + size + i] = (uint8_t)i;
    return qgc_file_from_memory("m.npy", data, 10 + size + num_data);
}

#define HEADER(descr, order, shape)                                                                \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"

static const char *const accepted[] = {
    HEADER("'<u2'", "False", "(2,)"),
    HEADER("'=u2'", "False", "(2,)"),
    HEADER("'|u2'", "False", "(2,)"),
    HEADER("'<u2'", "True", "(2L,)"),
    HEADER("\"<u2\"", "False", "(1,2)"),
    "{'shape':(2,1,),'fortran_order':False,'descr':'<u2'}",
    "  {  'shape' : ( 2 , ) , 'fortran_order' : False , 'descr' : '<u2' }  \n",
};

static void test_headers(void **state)
{
    bench *b = *state;
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        qgc_tensor tensor;
        qgc_file file = make_npy(b, accepted[i], 4);
        expect_ok(b, qgc_npy_parse(&b->diag, &file, &tensor));
        assert_int_equal(tensor.dtype, QGC_DTYPE_U16);
        assert_memory_equal(tensor.data, "\0\1\2\3", 4);
        qgc_tensor_destroy(&tensor);
    }
}

static const struct {
    const char *header;
    size_t num_data;
    const char *report;
} defects[] = {
    {"", 0, "m.npy: expected a dictionary in the header, found its end"},
    {"()", 0, "m.npy: expected a dictionary in the header, found \"()\""},
    {"{", 0, "once each, in the header, found its end"},
    {"{descr", 0, "once each, in the header, found \"descr\""},
    {"{'descr", 0, "once each, in the header, found \"'descr\""},
    {"{'name': 1}", 0,
     "the keys descr, fortran_order and shape, once each, in the header, found "
     "\"'name': 1}\""},
    {"{'shape': (), 'shape': ()}", 0, "once each, in the header, found \"'shape': ()}\""},
    {"{'shape' ()}", 0, "expected ':' in the header, found \"()}\""},
    {"{'shape': () 'descr': '<f4'}", 0, "expected ',' or '}' in the header, found"},
    {"{'shape': (), 'descr': '<f4'}", 0,
     "expected the key fortran_order in the header, found none"},
    {HEADER("'<c8'", "False", "()"), 0,
     "expected a type of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 in the header, found \"'<c8'"},
    {HEADER("'|O'", "False", "()"), 0, "u8 b1 in the header, found \"'|O'"},
    {HEADER("'<f4x'", "False", "()"), 0, "u8 b1 in the header, found \"'<f4x'"},
    {HEADER("'?f4'", "False", "()"), 0, "u8 b1 in the header, found \"'?f4'"},
    {HEADER("[('a', '<f4')]", "False", "()"), 0, "u8 b1 in the header, found \"[('a', '<f4')]"},
    {HEADER("'<f4'", "0", "()"), 0, "expected True or False for fortran_order in the header"},
    {HEADER("'<f4'", "False", "3"), 0, "expected a tuple for shape in the header, found \"3"},
    {HEADER("'|u1'", "False", "(1)"), 1, "expected a tuple for shape (it needs a comma)"},
    {HEADER("'|u1'", "False", "(1 1)"), 1, "expected ',' or ')' in shape in the header"},
    {HEADER("'|u1'", "False", "(-1,)"), 1, "expected a dimension from 0 to 2^63 - 1 in the header"},
    {HEADER("'|u1'", "False", "(9223372036854775808,)"), 1, "expected a dimension from 0 to"},
    {HEADER("'|u1'", "False", "(1,1,1,1,1,1,1,1,1)"), 1, "expected at most 8 dimensions"},
    {HEADER("'<f4'", "False", "(9223372036854775807,)"), 0,
     "m.npy: expected a size that fits 63 bits, found shape 9223372036854775807"},
    {HEADER("'<f4'", "False", "(0,4294967296,4294967296)"), 0, "a size that fits 63 bits"},
    {HEADER("'<f4'", "False", "()") "x", 4, "expected nothing after the dictionary in the header"},
    {HEADER("'<f4'", "False", "(2,)"), 7,
     "m.npy: expected 8 bytes of data for f32 of shape 2, found 7"},
    {HEADER("'<f4'", "False", "()"), 3, "4 bytes of data for f32 of shape scalar, found 3"},
    {HEADER("'<f4'", "False", "(2,)"), 9, "f32 of shape 2, found 9"},
    {HEADER("'|b1'", "False", "(3,)"), 3, "expected bytes 0 and 1 in a bool array, found others"},
};

static void test_defects(void **state)
{
    bench *b = *state;
    for (size_t i = 0; i < sizeof defects / sizeof *defects; i++) {
        qgc_tensor tensor;
        qgc_file file = make_npy(b, defects[i].header, defects[i].num_data);
        assert_int_equal(qgc_npy_parse(&b->diag, &file, &tensor), QGC_FAILED);
        assert_null(tensor.data);
        expect_report(b, QGC_D_FILE_FORMAT, defects[i].report);
    }
}

static const struct {
    const char *data;
    size_t size;
    const char *report;
} prefixes[] = {
    {"", 0, "m: expected the bytes \\x93NUMPY at the start, found an empty file"},
    {"\x93NUMPX\1\0", 8, "m: expected the bytes \\x93NUMPY at the start, found \""},
    {"\x93NUMPY", 6, "m: expected version 1.0, 2.0 or 3.0, found 0.0"},
    {"\x93NUMPY\4\0\0\0\0\0", 12, "m: expected version 1.0, 2.0 or 3.0, found 4.0"},
    {"\x93NUMPY\1\1\0\0", 10, "m: expected version 1.0, 2.0 or 3.0, found 1.1"},
    {"\x93NUMPY\1\0\0", 9, "m: expected a header, found the end of the file"},
    {"\x93NUMPY\2\0\0\0\0", 11, "m: expected a header, found the end of the file"},
    {"\x93NUMPY\2\0\0\0\0\1", 12, "expected a header of at most 1048576 bytes, found 16777216"},
    {"\x93NUMPY\1\0\5\0{}", 12,
     "m: expected a header of 15 bytes, found the end of the file after"},
};

static void test_bad_prefixes(void **state)
{
    bench *b = *state;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        qgc_tensor tensor;
        qgc_file file = qgc_file_from_memory("m", prefixes[i].data, prefixes[i].size);
        assert_int_equal(qgc_npy_parse(&b->diag, &file, &tensor), QGC_FAILED);
        expect_report(b, QGC_D_FILE_FORMAT, prefixes[i].report);
    }
}

static void expect_array(bench *b, qgc_data *data, const char *name, const qgc_tensor *want)
{
    qgc_tensor got;
    size_t index = qgc_data_find(data, qgc_str_from(name));
    assert_true(index != SIZE_MAX);
    expect_ok(b, qgc_data_read_array(data, index, &got));
    assert_true(qgc_tensor_equal(&got, want));
    qgc_tensor_destroy(&got);
}

static void expect_xyflag(bench *b, const char *path)
{
    qgc_data *data;
    qgc_tensor x = counting(b, QGC_DTYPE_F32, SHAPE(5, 2)),
               y = counting(b, QGC_DTYPE_I64, SHAPE(5));
    qgc_tensor flag = counting(b, QGC_DTYPE_BOOL, SHAPE(5, 3));
    expect_ok(b, qgc_data_open(&b->diag, path, &data));
    assert_int_equal(qgc_data_num_arrays(data), 3);
    for (int again = 0; again < 2; again++) {
        expect_array(b, data, "x", &x);
        expect_array(b, data, "y", &y);
        expect_array(b, data, "flag", &flag);
    }
    qgc_data_close(data);
    qgc_tensor_destroy(&x);
    qgc_tensor_destroy(&y);
    qgc_tensor_destroy(&flag);
}

static void test_read_npz(void **state)
{
    bench *b = *state;
    expect_xyflag(b, "test/data/stored.npz");
    expect_xyflag(b, "test/data/deflated.npz"); /* with a Fortran-order and a big-endian entry */
    qgc_data *data;
    expect_ok(b, qgc_data_open(&b->diag, "test/data/empty.npz", &data));
    assert_int_equal(qgc_data_num_arrays(data), 0);
    qgc_data_close(data);
}

static void test_write_npz(void **state)
{
    bench *b = *state;
    const char *out = in_folder(b, "out.npz"), *again = in_folder(b, "again.npz");
    qgc_named_tensor items[] = {
        {qgc_str_from("x"), counting(b, QGC_DTYPE_F32, SHAPE(5, 2))},
        {qgc_str_from("y"), counting(b, QGC_DTYPE_I64, SHAPE(5))},
        {qgc_str_from("flag"), counting(b, QGC_DTYPE_BOOL, SHAPE(5, 3))},
    };
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        expect_ok(b, qgc_npz_write(&b->diag, out, items, 3, is_compressed));
        expect_xyflag(b, out);
        expect_ok(b, qgc_npz_write(&b->diag, again, items, 3, is_compressed));
        assert_same_bytes(b, out, again);
        /* Time and date of the first local header: not those of this run. */
        assert_memory_equal(read_bytes(b, out).data + 10, "\0\0\x21\0", 4);
    }
    expect_ok(b, qgc_npz_write(&b->diag, out, NULL, 0, false));
    assert_same_bytes(b, out, "test/data/empty.npz");
    assert_int_equal(count_files(b, true), 2);
    items[1].name = items[0].name;
    assert_int_equal(qgc_npz_write(&b->diag, out, items, 3, false), QGC_FAILED);
    expect_report(b, QGC_D_FILE_WRITE, "out.npz: entry \"x\": File already exists");
    items[1].name = (qgc_str){"a\0b", 3};
    assert_int_equal(qgc_npz_write(&b->diag, out, items, 3, false), QGC_FAILED);
    expect_report(b, QGC_D_FILE_WRITE, "expected tensor names without NUL bytes");
    assert_int_equal(count_files(b, false), 0);
    for (int i = 0; i < 3; i++)
        qgc_tensor_destroy(&items[i].tensor);
}

static const struct {
    const char *path, *report;
} bad_archives[] = {
    {"test/data/bzip2.npz", "bzip2.npz: entry \"x.npy\": expected stored or deflated data"},
    {"test/data/other_entry.npz", "entry \"readme.txt\": expected entries NAME.npy"},
    {"test/data/twice.npz", "entry \"x.npy\": expected names that differ, found this one twice"},
    {"test/data/not_npy.npz", "entry \"x.npy\": expected the bytes \\x93NUMPY at the start"},
    {"test/data/short_entry.npz",
     "entry \"x.npy\": expected 24 bytes of data for f32 of shape 2x3, found 20"},
    {"test/data/two_sizes.npz", "entry \"x.npy\": expected one size for stored data, found two"},
    {"test/data/bomb.npz", "expected a size that the compressed data can have, found a larger"},
};

static void test_bad_npz(void **state)
{
    bench *b = *state;
    for (size_t i = 0; i < sizeof bad_archives / sizeof *bad_archives; i++) {
        qgc_data *data;
        assert_int_equal(qgc_data_open(&b->diag, bad_archives[i].path, &data), QGC_FAILED);
        assert_null(data);
        expect_report(b, QGC_D_FILE_FORMAT, bad_archives[i].report);
    }
}

static void test_missing_data(void **state)
{
    bench *b = *state;
    qgc_data *data;
    qgc_tensor tensor;
    expect_ok(b, qgc_data_open(&b->diag, "test/data/missing.npz", &data));
    assert_int_equal(qgc_data_read_array(data, 0, &tensor), QGC_FAILED);
    expect_report(b, QGC_D_FILE_FORMAT,
                  "entry \"x.npy\": expected 4 bytes more, found the end of the data");
    qgc_data_close(data);
}

/* Flips bytes of a sound archive: a reader must refuse it or read what was written. */
static void test_damaged_npz(void **state)
{
    bench *b = *state;
    qgc_str good = read_bytes(b, "test/data/deflated.npz");
    char *bad = qgc_arena_strdup(&b->arena, good);
    size_t num_refused = 0;
    for (size_t i = 0; i < good.size; i++) {
        qgc_data *data;
        qgc_arena_mark mark = qgc_arena_get_mark(&b->arena);
        bad[i] = (char)(good.data[i] ^ 0x41);
        qgc_result result = qgc_data_open_memory(&b->diag, "m.npz", bad, good.size, &data);
        for (size_t k = 0; result == QGC_OK && k < qgc_data_num_arrays(data); k++) {
            qgc_tensor tensor;
            result = qgc_data_read_array(data, k, &tensor);
            qgc_tensor_destroy(&tensor);
        }
        qgc_data_close(data);
        assert_int_equal(result == QGC_FAILED, b->diag.list.size > 0);
        num_refused += result == QGC_FAILED;
        memset(&b->diag.list, 0, sizeof b->diag.list);
        qgc_arena_reset(&b->arena, mark);
        bad[i] = good.data[i];
    }
    assert_true(num_refused > good.size / 2);
}

static void expect_bad_crc(bench *b, const char *path, size_t offset, const char *text)
{
    qgc_str good = read_bytes(b, path);
    char *bad = qgc_arena_strdup(&b->arena, good);
    bad[offset < good.size ? offset : 0] ^= 1;
    qgc_data *data;
    qgc_tensor tensor;
    expect_ok(b, qgc_data_open_memory(&b->diag, path, bad, good.size, &data));
    assert_int_equal(qgc_data_read_array(data, 0, &tensor), QGC_FAILED);
    assert_null(tensor.data);
    expect_report(b, QGC_D_FILE_FORMAT, text);
    qgc_data_close(data);
}

static void test_checksums(void **state)
{
    bench *b = *state;
    qgc_str zip = read_bytes(b, "test/data/stored.npz");
    size_t data = 0; /* the first entry's 40 bytes end at its last element: 9.0f */
    while (memcmp(zip.data + data, "\0\0\x10\x41", 4) != 0)
        data++;
    expect_bad_crc(b, "test/data/stored.npz", data,
                   "stored.npz: entry \"x.npy\": expected the end of the data, found: CRC error");
    qgc_str gzip = read_bytes(b, "test/data/images-idx3-ubyte.gz");
    expect_bad_crc(b, "test/data/images-idx3-ubyte.gz", gzip.size - 8,
                   "expected gzip data, found: incorrect data check");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_read_numpy),   TEST(test_write_like_numpy), TEST(test_write_refuses_bf16),
        TEST(test_headers),      TEST(test_defects),          TEST(test_bad_prefixes),
        TEST(test_read_npz),     TEST(test_write_npz),        TEST(test_bad_npz),
        TEST(test_missing_data), TEST(test_damaged_npz),      TEST(test_checksums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

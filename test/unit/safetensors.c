/* safetensors: the reference layout, every defect, and what the writer writes. */
#include "runtime/safetensors.h"

#include "files.h"

static void test_all_types(void **state)
{
    bench *b = *state;
    qgc_safetensors file;
    expect_ok(b, qgc_safetensors_open(&b->diag, "test/data/all.safetensors", &file));
    assert_int_equal(file.num_entries, QGC_NUM_DTYPES + 2);
    for (int i = 0; i < QGC_NUM_DTYPES; i++) {
        qgc_tensor want = counting(b, (qgc_dtype)i, SHAPE(2, 3));
        const qgc_safetensors_entry *entry =
            qgc_safetensors_find(&file, qgc_str_from(qgc_dtype_name((qgc_dtype)i)));
        assert_non_null(entry);
        assert_true(qgc_tensor_equal(&entry->tensor, &want));
        qgc_tensor_destroy(&want);
    }
    const qgc_safetensors_entry *scalar = qgc_safetensors_find(&file, qgc_str_from("scalar"));
    assert_int_equal(scalar->tensor.rank, 0);
    assert_true(*(float *)scalar->tensor.data == 2.5f);
    assert_string_equal(file.entries[0].name->data, "empty");
    assert_int_equal(file.entries[0].tensor.bytes, 0);
    assert_null(qgc_safetensors_find(&file, qgc_str_from("__metadata__")));
    assert_null(qgc_safetensors_find(&file, qgc_str_from("other")));
    for (size_t i = 1; i < file.num_entries; i++)
        assert_true(file.entries[i - 1].offset <= file.entries[i].offset);
    qgc_safetensors_close(&file);
}

static void test_unaligned_is_copied(void **state)
{
    bench *b = *state;
    qgc_safetensors file;
    expect_ok(b, qgc_safetensors_open(&b->diag, "test/data/unaligned.safetensors", &file));
    qgc_tensor want = counting(b, QGC_DTYPE_F32, SHAPE(2, 2));
    const qgc_safetensors_entry *entry = qgc_safetensors_find(&file, qgc_str_from("b"));
    assert_true(entry->offset % 4 != 0);
    assert_int_equal((uintptr_t)entry->tensor.data % 4, 0);
    assert_true(qgc_tensor_equal(&entry->tensor, &want));
    qgc_tensor_destroy(&want);
    qgc_safetensors_close(&file);
}

/* A file with this header and |num_data| bytes 0, 1, 2, ... */
static qgc_file make_file(bench *b, const char *header, size_t num_data)
{
    size_t size = strlen(header);
    uint8_t *data = qgc_arena_alloc(&b->arena, 8 + size + num_data);
    for (int i = 0; i < 8; i++)
        data[i] = (uint8_t)(size >> (8 * i));
    memcpy(data + 8, header, size);
    for (size_t i = 0; i < num_data; i++)
        data[8 + size + i] = (uint8_t)i;
    return qgc_file_from_memory("m.safetensors", data, 8 + size + num_data);
}

#define ENTRY(dtype, shape, offsets)                                                               \
    "{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const struct {
    const char *header;
    size_t num_data;
    const char *report;
} defects[] = {
    {"{", 0, "m.safetensors: expected a JSON header, found an error at byte"},
    {"[]", 0, "expected a JSON object as header, found an array"},
    {"{\"a\":1}", 0, "expected an object, found an integer (tensor \"a\")"},
    {"{\"a\":{},\"a\":{}}", 0, "duplicate object key"},
    {"{\"a\\u0000b\":{}}", 0, "expected a JSON header"},
    {"{\"a\":{}}", 0, "expected \"dtype\" as a string, found nothing (tensor \"a\")"},
    {"{\"a\":" ENTRY("\"F8_E4M3\"", "[]", "[0,1]") "}", 1,
     "BOOL, found \"F8_E4M3\" (tensor \"a\")"},
    {"{\"a\":" ENTRY("\"F32\"", "4", "[0,4]") "}", 4,
     "expected \"shape\" as an array, found an in"},
    {"{\"a\":" ENTRY("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1,
     "expected at most 8 dimensions, found 9 (tensor \"a\")"},
    {"{\"a\":" ENTRY("\"U8\"", "[1.5]", "[0,1]") "}", 1,
     "expected integers in \"shape\", found a real number (tensor \"a\")"},
    {"{\"a\":" ENTRY("\"U8\"", "[-1]", "[0,1]") "}", 1, "dimensions of 0 or more, found -1"},
    {"{\"a\":" ENTRY("\"U8\"", "[4294967296,4294967296]", "[0,0]") "}", 0,
     "expected a size that fits 63 bits, found shape 4294967296x4294967296 (tensor \"a\")"},
    {"{\"a\":" ENTRY("\"U8\"", "[99999999999999999999]", "[0,0]") "}", 0, "too big integer"},
    {"{\"a\":" ENTRY("\"U8\"", "[1]", "0") "}", 1,
     "\"data_offsets\" as an array of two integers, found an integer (tensor \"a\")"},
    {"{\"a\":" ENTRY("\"U8\"", "[1]", "[0]") "}", 1, "found an array of others (tensor \"a\")"},
    {"{\"a\":" ENTRY("\"U8\"", "[1]", "[0,2]") "}", 1,
     "expected offsets inside the 1 data bytes, found [0, 2] (tensor \"a\")"},
    {"{\"a\":" ENTRY("\"U8\"", "[1]", "[-1,0]") "}", 1, "found [-1, 0]"},
    {"{\"a\":" ENTRY("\"U8\"", "[1]", "[1,0]") "}", 1, "found [1, 0]"},
    {"{\"a\":" ENTRY("\"F32\"", "[2]", "[0,4]") "}", 4,
     "expected 8 bytes for f32 of shape 2, found 4 (tensor \"a\")"},
    {"{\"a\":" ENTRY("\"U8\"", "[2]", "[0,2]") ",\"b\":" ENTRY("\"U8\"", "[2]", "[1,3]") "}", 3,
     "expected data from offset 2 on, found 1: it overlaps tensor \"a\" (tensor \"b\")"},
    {"{\"a\":" ENTRY("\"U8\"", "[1]", "[0,1]") ",\"b\":" ENTRY("\"U8\"", "[1]", "[2,3]") "}", 3,
     "expected data from offset 1 on, found 2: a hole (tensor \"b\")"},
    {"{\"a\":" ENTRY("\"U8\"", "[1]", "[0,1]") "}", 3,
     "m.safetensors: expected 1 data bytes as the header says, found 3"},
    {"{\"a\":" ENTRY("\"BOOL\"", "[3]", "[0,3]") "}", 3,
     "expected bytes 0 and 1 in a BOOL tensor, found others (tensor \"a\")"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"x\":1}}", 0, "found 4 keys"},
    {"{\"__metadata__\":1}", 0, "expected an object of strings, found an integer"},
    {"{\"__metadata__\":{\"k\":1}}", 0, "found an integer under \"k\" (tensor \"__metadata__\")"},
};

static void test_defects(void **state)
{
    bench *b = *state;
    for (size_t i = 0; i < sizeof defects / sizeof *defects; i++) {
        qgc_safetensors file;
        qgc_file bytes = make_file(b, defects[i].header, defects[i].num_data);
        assert_int_equal(qgc_safetensors_take(&b->diag, bytes, &file), QGC_FAILED);
        expect_report(b, QGC_D_FILE_FORMAT, defects[i].report);
    }
}

static void expect_bad_length(bench *b, const void *data, size_t size, const char *text)
{
    qgc_safetensors file;
    assert_int_equal(qgc_safetensors_take(&b->diag, qgc_file_from_memory("m", data, size), &file),
                     QGC_FAILED);
    expect_report(b, QGC_D_FILE_FORMAT, text);
}

static void test_bad_lengths(void **state)
{
    bench *b = *state;
    expect_bad_length(b, "\2\0\0", 3, "m: expected at least 8 bytes, found 3");
    expect_bad_length(b, "\3\0\0\0\0\0\0\0{}", 10,
                      "expected a header of 3 bytes, found the end of the file after 2");
    expect_bad_length(b, "\1\341\365\5\0\0\0\0{}", 10,
                      "expected a header of at most 100000000 bytes, found 100000001");
    expect_bad_length(b, "\377\377\377\377\377\377\377\377{}", 10, "found 18446744073709551615");
}

static void test_deep_nesting(void **state)
{
    bench *b = *state;
    enum { DEPTH = 100000 };
    char *header = qgc_arena_alloc(&b->arena, DEPTH + 1);
    memset(header, '[', DEPTH);
    qgc_safetensors file;
    assert_int_equal(qgc_safetensors_take(&b->diag, make_file(b, header, 0), &file), QGC_FAILED);
    expect_report(b, QGC_D_FILE_FORMAT, "maximum parsing depth reached");
}

static void test_reports_are_limited(void **state)
{
    bench *b = *state;
    qgc_text header = {.arena = &b->arena};
    for (int i = 0; i < 1000; i++)
        qgc_text_printf(&header, "%s\"t%d\":1", i ? "," : "{", i);
    qgc_text_puts(&header, "}");
    qgc_safetensors file;
    assert_int_equal(
        qgc_safetensors_take(&b->diag, make_file(b, qgc_text_str(&header).data, 0), &file),
        QGC_FAILED);
    assert_int_equal(b->diag.num_errors, 20);
}

static void test_write_and_read(void **state)
{
    bench *b = *state;
    const char *path = in_folder(b, "out.safetensors");
    qgc_named_tensor items[] = {
        {qgc_str_from("byte"), counting(b, QGC_DTYPE_U8, SHAPE(3))},
        {qgc_str_from("wide \"\xc3\xa9\"\n"), counting(b, QGC_DTYPE_I64, SHAPE(2, 2))},
        {qgc_str_from("scalar"), counting(b, QGC_DTYPE_F32, 0, NULL)},
        {qgc_str_from("half"), counting(b, QGC_DTYPE_BF16, SHAPE(0, 7))},
    };
    enum { NUM = sizeof items / sizeof *items };
    expect_ok(b, qgc_safetensors_write(&b->diag, path, items, NUM));
    qgc_safetensors file;
    expect_ok(b, qgc_safetensors_open(&b->diag, path, &file));
    assert_int_equal(file.num_entries, NUM);
    for (int i = 0; i < NUM; i++) {
        const qgc_safetensors_entry *entry = qgc_safetensors_find(&file, items[i].name);
        assert_non_null(entry);
        assert_int_equal(entry->offset % qgc_dtype_bytes(entry->tensor.dtype), 0);
        assert_true(qgc_tensor_equal(&entry->tensor, &items[i].tensor));
        qgc_tensor_destroy(&items[i].tensor);
    }
    assert_int_equal(file.entries[0].offset % 64, 0);
    qgc_safetensors_close(&file);
    assert_int_equal(count_files(b, false), 1);
}

static void test_written_bytes(void **state)
{
    bench *b = *state;
    const char *path = in_folder(b, "out.safetensors");
    static const char header[] = "{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[4,6]},"
                                 "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}";
    qgc_named_tensor items[] = {{qgc_str_from("b"), counting(b, QGC_DTYPE_U8, SHAPE(2))},
                                {qgc_str_from("a"), counting(b, QGC_DTYPE_F32, 0, NULL)}};
    expect_ok(b, qgc_safetensors_write(&b->diag, path, items, 2));
    qgc_str got = read_bytes(b, path);
    assert_int_equal(got.size, 128 + 6);
    assert_memory_equal(got.data, "\x78\0\0\0\0\0\0\0", 8);
    assert_memory_equal(got.data + 8, header, strlen(header));
    for (size_t i = 8 + strlen(header); i < 128; i++)
        assert_int_equal(got.data[i], ' ');
    assert_memory_equal(got.data + 128, "\0\0\0\0\0\1", 6);
    qgc_tensor_destroy(&items[0].tensor);
    qgc_tensor_destroy(&items[1].tensor);
}

static void test_refused_names(void **state)
{
    static const struct {
        qgc_str name;
        const char *report;
    } cases[] = {
        {{"x", 1}, "expected tensor names that differ, found \"x\""},
        {{"__metadata__", 12}, "the format reserves this tensor name, found \"__metadata__\""},
        {{"\xff", 1}, "expected tensor names in UTF-8"},
        {{"a\0b", 3}, "expected tensor names without NUL bytes"},
    };
    bench *b = *state;
    const char *path = in_folder(b, "out.safetensors");
    uint8_t byte = 0;
    qgc_tensor tensor = {.dtype = QGC_DTYPE_U8, .data = &byte, .bytes = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qgc_named_tensor items[] = {{{"x", 1}, tensor}, {cases[i].name, tensor}};
        assert_int_equal(qgc_safetensors_write(&b->diag, path, items, 2), QGC_FAILED);
        expect_report(b, QGC_D_FILE_WRITE, cases[i].report);
        assert_int_equal(count_files(b, false), 0);
    }
}

static void test_refused_sizes(void **state)
{
    bench *b = *state;
    const char *path = in_folder(b, "out.safetensors");
    qgc_tensor half = {.dtype = QGC_DTYPE_U8, .rank = 1, .shape = {INT64_MAX}, .bytes = INT64_MAX};
    qgc_named_tensor halves[] = {{{"a", 1}, half}, {{"b", 1}, half}, {{"c", 1}, half}};
    for (size_t num = 2; num <= 3; num++) {
        assert_int_equal(qgc_safetensors_write(&b->diag, path, halves, num), QGC_FAILED);
        expect_report(b, QGC_D_FILE_WRITE, "out.safetensors: the tensors exceed 2^63 bytes");
    }
    char *name = qgc_arena_alloc(&b->arena, QGC_SAFETENSORS_MAX_HEADER);
    memset(name, 'n', QGC_SAFETENSORS_MAX_HEADER);
    qgc_named_tensor named = {{name, QGC_SAFETENSORS_MAX_HEADER}, {.dtype = QGC_DTYPE_U8}};
    assert_int_equal(qgc_safetensors_write(&b->diag, path, &named, 1), QGC_FAILED);
    expect_report(b, QGC_D_FILE_WRITE,
                  "expected a header of at most 99999936 bytes, found 1000000");
    assert_int_equal(count_files(b, false), 0);
}

/* Tensors at one place sort by size, then by name. */
static void test_empty_tensors_sort(void **state)
{
    bench *b = *state;
    static const char *const order[] = {"e", "ea", "f", "a"};
    static const char header[] = "{\"a\":" ENTRY("\"U8\"", "[1]", "[0,1]") //
        ",\"f\":" ENTRY("\"U8\"", "[0]", "[0,0]")                          //
        ",\"ea\":" ENTRY("\"U8\"", "[0]", "[0,0]")                         //
        ",\"e\":" ENTRY("\"U8\"", "[0]", "[0,0]") "}";
    qgc_safetensors file;
    qgc_file bytes = make_file(b, header, 1);
    expect_ok(b, qgc_safetensors_take(&b->diag, bytes, &file));
    for (size_t i = 0; i < file.num_entries; i++)
        assert_string_equal(file.entries[i].name->data, order[i]);
    qgc_safetensors_close(&file);
}

static void test_many_tensors(void **state)
{
    bench *b = *state;
    enum { NUM = 100000 };
    const char *path = in_folder(b, "many.safetensors");
    qgc_named_tensor *items = QGC_NEW_ARRAY(&b->arena, qgc_named_tensor, NUM);
    uint32_t *values = QGC_NEW_ARRAY(&b->arena, uint32_t, NUM);
    for (uint32_t i = 0; i < NUM; i++) {
        values[i] = i;
        items[i].name = qgc_str_from(qgc_arena_printf(&b->arena, "layer.%u.weight", i));
        items[i].tensor = (qgc_tensor){.dtype = QGC_DTYPE_U32, .data = &values[i], .bytes = 4};
    }
    expect_ok(b, qgc_safetensors_write(&b->diag, path, items, NUM));
    qgc_safetensors file;
    expect_ok(b, qgc_safetensors_open(&b->diag, path, &file));
    assert_int_equal(file.num_entries, NUM);
    for (uint32_t i = 0; i < NUM; i++) {
        const qgc_safetensors_entry *entry = qgc_safetensors_find(&file, items[i].name);
        assert_non_null(entry);
        assert_int_equal(*(uint32_t *)entry->tensor.data, i);
        assert_ptr_equal(entry, &file.entries[i]);
    }
    qgc_safetensors_close(&file);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_all_types),      TEST(test_unaligned_is_copied), TEST(test_defects),
        TEST(test_bad_lengths),    TEST(test_deep_nesting),        TEST(test_reports_are_limited),
        TEST(test_write_and_read), TEST(test_written_bytes),       TEST(test_refused_names),
        TEST(test_many_tensors),   TEST(test_refused_sizes),       TEST(test_empty_tensors_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

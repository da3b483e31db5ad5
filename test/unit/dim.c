/* Symbolic dimensions: canonical forms, limits, and random expressions against plain arithmetic. */
#include "ir/dim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { NUM_SYMBOLS = 4, NUM_RANDOM = 20000 };

typedef struct fixture {
    qgc_arena arena;
    qgc_interner names;
    qgc_dims dims;
} fixture;

static void open_fixture(fixture *f)
{
    *f = (fixture){0};
    f->names.arena = &f->arena;
    f->dims.arena = &f->arena;
}

static qgc_name name_of(fixture *f, const char *text)
{
    return qgc_intern(&f->names, qgc_str_from(text));
}

static const char *print(fixture *f, qgc_dim d)
{
    qgc_text text = {.arena = &f->arena};
    qgc_dim_print(&text, d);
    return text.data;
}

/* A reader of the usual grammar, without a unary minus except in front of digits. */
typedef struct reader {
    fixture *f;
    const char *at;
} reader;

static qgc_dim read_sum(reader *r);

static qgc_dim read_primary(reader *r)
{
    const char *start = r->at;
    if (*r->at == '(') {
        r->at++;
        qgc_dim d = read_sum(r);
        assert_int_equal(*r->at, ')');
        r->at++;
        return d;
    }
    if (*r->at == '?') {
        r->at++;
        return qgc_dim_unknown(&r->f->dims);
    }
    if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9')) {
        long long value;
        int used;
        assert_int_equal(sscanf(r->at, "%lld%n", &value, &used), 1);
        r->at += used;
        return qgc_dim_number(value);
    }
    while ((*r->at >= 'A' && *r->at <= 'Z') || (*r->at >= 'a' && *r->at <= 'z'))
        r->at++;
    if (r->at == start)
        fail_msg("operand expected at '%s'", start);
    qgc_str text = {start, (size_t)(r->at - start)};
    return qgc_dim_symbol(&r->f->dims, qgc_intern(&r->f->names, text));
}

static qgc_dim read_product(reader *r)
{
    qgc_dim left = read_primary(r);
    while (*r->at == '*' || *r->at == '/') {
        bool times = *r->at++ == '*';
        qgc_dim right = read_primary(r);
        left =
            times ? qgc_dim_mul(&r->f->dims, left, right) : qgc_dim_div(&r->f->dims, left, right);
    }
    return left;
}

static qgc_dim read_sum(reader *r)
{
    qgc_dim left = read_product(r);
    while (*r->at == '+' || *r->at == '-') {
        bool plus = *r->at++ == '+';
        qgc_dim right = read_product(r);
        left = plus ? qgc_dim_add(&r->f->dims, left, right) : qgc_dim_sub(&r->f->dims, left, right);
    }
    return left;
}

static qgc_dim read_dim(fixture *f, const char *text)
{
    reader r = {f, text};
    qgc_dim d = read_sum(&r);
    assert_int_equal(*r.at, 0);
    return d;
}

static void test_canonical_forms(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"N+N", "2*N"},
        {"(2*H)/2", "H"},
        {"(4*H*W)/(2*W)", "2*H"},
        {"(2*H+4)/2", "H+2"},
        {"(2*H+5)/2", "H+2"},
        {"(2*H-1)/2", "H-1"},
        {"(H/2)/2", "H/4"},
        {"H/2/3", "H/6"},
        {"(H-1)/2+1", "(H-1)/2+1"},
        {"(H+1)/2", "(H-1)/2+1"},
        {"(H+2-3)/2+1", "(H-1)/2+1"},
        {"(H-2)/2+1", "H/2"},
        {"((H-1)/2+1-1)/2+1", "(H-1)/4+1"},
        {"((H-1)/2+1)/2", "(H-3)/4+1"},
        {"(2*H+2)/4", "(H-1)/2+1"},
        {"(2*H-1)/4", "(H-1)/2"},
        {"(3*H)/2", "H+H/2"},
        {"H+H/2", "H+H/2"},
        {"(H*W+K)/W", "H+K/W"},
        {"(3*H*W)/(2*W)", "H+H/2"},
        {"(2*N+2)/(N+1)", "2"},
        {"(N*N-1)/(N-1)", "N+1"},
        {"(N*C*((H-1)/2+1)*W)/((H-1)/2+1)", "C*N*W"},
        {"(H*W)/(N*W+W)", "H/(N+1)"},
        {"W*H+H*W*2+3-W", "3*H*W-W+3"},
        {"(N+1)*(N-1)", "N*N-1"},
        {"0-H", "-1*H"},
        {"5/(0-H)", "(-5)/H"},
        {"H/(-2)", "-1*H+H/2"},
        {"3*(H/4)*W", "3*W*(H/4)"},
        {"2*(H/3)", "2*(H/3)"},
        {"1-H/3", "-1*(H/3)+1"},
        {"H*(N/(H+1))", "H*(N/(H+1))"},
        {"N-N", "0"},
        {"0/N", "0"},
        {"N/0", "?"},
        {"0*?", "?"},
        {"?-?", "?"},
        {"(-7)/2", "-4"},
        {"7/(-2)", "-4"},
        {"(-7)/(-2)", "3"},
    };
    fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        qgc_dim d = read_dim(&f, rows[i][0]);
        if (strcmp(print(&f, d), rows[i][1]) != 0)
            fail_msg("%s: %s instead of %s", rows[i][0], print(&f, d), rows[i][1]);
        assert_true(qgc_dim_equal(d, read_dim(&f, rows[i][1])));
    }
    qgc_arena_destroy(&f.arena);
}

static void test_numbers_beyond_i64(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    qgc_dim min = qgc_dim_number(INT64_MIN), max = qgc_dim_number(INT64_MAX);
    qgc_dim n = read_dim(&f, "N"), minus = qgc_dim_number(-1), two = qgc_dim_number(2);
    assert_true(qgc_dim_is_unknown(qgc_dim_add(&f.dims, max, qgc_dim_number(1))));
    assert_true(qgc_dim_is_unknown(qgc_dim_sub(&f.dims, min, qgc_dim_number(1))));
    assert_true(qgc_dim_is_unknown(qgc_dim_mul(&f.dims, max, two)));
    assert_true(qgc_dim_is_unknown(qgc_dim_div(&f.dims, min, minus)));
    assert_int_equal(qgc_dim_div(&f.dims, min, two).value, INT64_MIN / 2);
    assert_int_equal(qgc_dim_div(&f.dims, qgc_dim_number(1), max).value, 0);
    assert_int_equal(qgc_dim_div(&f.dims, min, max).value, -2);
    assert_int_equal(qgc_dim_div(&f.dims, min, qgc_dim_number(-2)).value, INT64_MAX / 2 + 1);
    assert_int_equal(qgc_dim_div(&f.dims, min, qgc_dim_number(-3)).value, INT64_MAX / 3);
    assert_int_equal(qgc_dim_div(&f.dims, max, min).value, -1);
    assert_int_equal(qgc_dim_div(&f.dims, min, min).value, 1);
    qgc_dim large = qgc_dim_mul(&f.dims, max, n);
    assert_true(qgc_dim_is_unknown(qgc_dim_add(&f.dims, large, n)));
    assert_true(qgc_dim_equal(qgc_dim_div(&f.dims, large, max), n));
    qgc_dim lowest = qgc_dim_mul(&f.dims, min, n);
    assert_string_equal(print(&f, lowest), "-9223372036854775808*N");
    assert_true(qgc_dim_is_unknown(qgc_dim_div(&f.dims, lowest, minus)));
    assert_true(qgc_dim_is_unknown(qgc_dim_div(&f.dims, lowest, min))); /* a step overflows */
    /* merging two divisors would overflow: the quotient stays nested */
    qgc_dim nested = read_dim(&f, "(N/5000000000)/5000000000");
    assert_string_equal(print(&f, nested), "(N/5000000000)/5000000000");
    qgc_arena_destroy(&f.arena);
}

static void test_limits(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    qgc_dim n = read_dim(&f, "N"), power = n, sum = n, chain = n, square = n;
    for (int degree = 2; degree <= 9; degree++) {
        power = qgc_dim_mul(&f.dims, power, n);
        assert_int_equal(qgc_dim_is_unknown(power), degree > 8);
    }
    for (int terms = 2; terms <= 65; terms++) {
        char name[3] = {'s', (char)('a' + terms / 26), (char)('a' + terms % 26)};
        qgc_name symbol = qgc_intern(&f.names, (qgc_str){name, 3});
        sum = qgc_dim_add(&f.dims, sum, qgc_dim_symbol(&f.dims, symbol));
        assert_int_equal(qgc_dim_is_unknown(sum), terms > 64);
    }
    for (int depth = 1; depth <= 17; depth++) {
        chain = qgc_dim_div(&f.dims, chain, read_dim(&f, "M"));
        assert_int_equal(qgc_dim_is_unknown(chain), depth > 16);
    }
    bool stopped = false; /* written out it grows threefold with each step */
    for (int i = 0; i < 16; i++) {
        square = qgc_dim_add(&f.dims, qgc_dim_mul(&f.dims, square, square), square);
        square = qgc_dim_div(&f.dims, square, read_dim(&f, "M+7"));
        if (!qgc_dim_is_unknown(square))
            assert_in_range(strlen(print(&f, square)), 1, 40000);
        else
            stopped = true;
    }
    assert_true(stopped);
    qgc_arena_destroy(&f.arena);
}

static void test_divides(void **state)
{
    (void)state;
    static const struct {
        const char *divisor, *dividend, *quotient; /* NULL: not certain */
    } rows[] = {
        {"2", "2*H+4", "H+2"}, {"2", "2*H+5", NULL},  {"2", "H", NULL},        {"H", "H*W", "W"},
        {"H+1", "H*W+W", "W"}, {"-2", "4*H", "-2*H"}, {"3", "0", "0"},         {"N", "0", "0"},
        {"0", "0", NULL},      {"0", "N", NULL},      {"N", "5", NULL},        {"4", "12", "3"},
        {"5", "12", NULL},     {"?", "?", NULL},      {"2", "2*(H/2)", "H/2"}, {"H/2", "H", NULL},
    };
    fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        qgc_dim a = read_dim(&f, rows[i].dividend), b = read_dim(&f, rows[i].divisor), quotient;
        bool certain = qgc_dim_divides(&f.dims, b, a, &quotient);
        if (certain != (rows[i].quotient != NULL))
            fail_msg("%s | %s", rows[i].divisor, rows[i].dividend);
        if (certain)
            assert_true(qgc_dim_equal(quotient, read_dim(&f, rows[i].quotient)));
    }
    qgc_arena_destroy(&f.arena);
}

static void append_name(void *user, qgc_name symbol)
{
    strncat(user, symbol->data, symbol->size);
    strcat(user, " ");
}

static void test_symbols(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    char names[64] = "";
    qgc_dim_symbols(read_dim(&f, "W*H+(N*H+Ba)/(B+3)+2*W"), append_name, names);
    assert_string_equal(names, "B Ba H N W ");
    names[0] = 0;
    qgc_dim_symbols(qgc_dim_number(3), append_name, names);
    qgc_dim_symbols(qgc_dim_unknown(&f.dims), append_name, names);
    assert_string_equal(names, "");
    assert_ptr_equal(qgc_dim_as_symbol(read_dim(&f, "N")), name_of(&f, "N"));
    assert_null(qgc_dim_as_symbol(read_dim(&f, "2*N")));
    assert_null(qgc_dim_as_symbol(read_dim(&f, "N/2")));
    assert_null(qgc_dim_as_symbol(read_dim(&f, "N*N")));
    assert_null(qgc_dim_as_symbol(read_dim(&f, "?")));
    assert_null(qgc_dim_as_symbol(qgc_dim_number(1)));
    assert_true(qgc_dim_is_unknown(qgc_dim_unknown(&f.dims)));
    assert_true(qgc_dim_equal(qgc_dim_unknown(&f.dims), read_dim(&f, "?+N")));
    qgc_arena_destroy(&f.arena);
}

/* Names order the terms, not the order in which they were met. */
static void test_order_is_independent_of_history(void **state)
{
    (void)state;
    fixture f, g;
    open_fixture(&f);
    open_fixture(&g);
    read_dim(&g, "zeta+beta/3+alpha");
    const char *text = "beta/3+alpha*zeta+zeta/2+alpha/2+alpha/(zeta+1)+1";
    assert_string_equal(print(&f, read_dim(&f, text)), print(&g, read_dim(&g, text)));
    assert_string_equal(print(&f, read_dim(&f, text)),
                        "alpha*zeta+alpha/2+alpha/(zeta+1)+beta/3+zeta/2+1");
    qgc_arena_destroy(&f.arena);
    qgc_arena_destroy(&g.arena);
}

typedef struct values {
    fixture *f;
    int64_t value[NUM_SYMBOLS];
    unsigned bound; /* bit set of symbols */
} values;

static const char *const symbol_names[NUM_SYMBOLS] = {"A", "B", "C", "D"};

static bool look_up(void *user, qgc_name symbol, int64_t *out)
{
    const values *v = user;
    int i = symbol->data[0] - 'A';
    *out = v->value[i];
    return (v->bound >> i & 1) != 0;
}

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* An expression both ways; |defined| is false where a divisor is 0 or a number grows large. */
typedef struct both {
    qgc_dim dim;
    int64_t value;
    bool defined;
} both;

static int64_t floor_quotient(int64_t a, int64_t b)
{
    int64_t quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

static both random_leaf(values *v, uint64_t *random)
{
    int pick = (int)(next_random(random) % (NUM_SYMBOLS * 2));
    if (pick < NUM_SYMBOLS) {
        qgc_name name = name_of(v->f, symbol_names[pick]);
        return (both){qgc_dim_symbol(&v->f->dims, name), v->value[pick], true};
    }
    int64_t number = (int64_t)(next_random(random) % 9) - (pick == NUM_SYMBOLS ? 8 : 0);
    return (both){qgc_dim_number(number), number, true};
}

static both random_expression(values *v, uint64_t *random, int depth)
{
    if (depth == 0 || next_random(random) % 8 == 0)
        return random_leaf(v, random);
    both a = random_expression(v, random, depth - 1);
    int op = (int)(next_random(random) % 5);
    bool small_divisor = op >= 3 && next_random(random) % 2;
    both b = small_divisor ? random_leaf(v, random) : random_expression(v, random, depth - 1);
    qgc_dims *dims = &v->f->dims;
    both out = {.defined = a.defined && b.defined};
    out.dim = op == 0   ? qgc_dim_add(dims, a.dim, b.dim)
              : op == 1 ? qgc_dim_sub(dims, a.dim, b.dim)
              : op == 2 ? qgc_dim_mul(dims, a.dim, b.dim)
                        : qgc_dim_div(dims, a.dim, b.dim);
    out.defined = out.defined && (op < 3 || b.value != 0);
    if (!out.defined)
        return out;
    out.value = op == 0   ? a.value + b.value
                : op == 1 ? a.value - b.value
                : op == 2 ? a.value * b.value
                          : floor_quotient(a.value, b.value);
    out.defined = out.value > -(1 << 30) && out.value < 1 << 30;
    return out;
}

static void check_expression(values *v, both e)
{
    qgc_dims *dims = &v->f->dims;
    const char *text = print(v->f, e.dim);
    if (!qgc_dim_equal(read_dim(v->f, text), e.dim))
        fail_msg("%s reads as %s", text, print(v->f, read_dim(v->f, text)));
    if (!e.defined || qgc_dim_is_unknown(e.dim))
        return;
    v->bound = 5;
    qgc_dim half = qgc_dim_bind(dims, e.dim, look_up, v);
    v->bound = 0;
    assert_true(qgc_dim_equal(qgc_dim_bind(dims, e.dim, look_up, v), e.dim));
    v->bound = 15;
    qgc_dim full = qgc_dim_bind(dims, e.dim, look_up, v);
    qgc_dim stepwise = qgc_dim_bind(dims, half, look_up, v);
    if (!qgc_dim_is_number(full) || full.value != e.value)
        fail_msg("%s: %s instead of %lld", text, print(v->f, full), (long long)e.value);
    if (!qgc_dim_is_unknown(half))
        assert_true(qgc_dim_equal(stepwise, full));
}

/* Counts what the loop really compared, so that it cannot pass by skipping. */
static void test_random_expressions(void **state)
{
    (void)state;
    uint64_t random = 5;
    int compared = 0;
    for (int i = 0; i < NUM_RANDOM; i++) {
        fixture f;
        open_fixture(&f);
        values v = {.f = &f};
        for (int s = 0; s < NUM_SYMBOLS; s++)
            v.value[s] = (int64_t)(next_random(&random) % (i % 2 ? 7 : 100));
        both e = random_expression(&v, &random, 1 + i % 5);
        check_expression(&v, e);
        compared += e.defined && !qgc_dim_is_unknown(e.dim);
        qgc_arena_destroy(&f.arena);
    }
    assert_in_range(compared, NUM_RANDOM / 2, NUM_RANDOM);
}

static void check_equal(fixture *f, qgc_dim a, qgc_dim b)
{
    if (qgc_dim_is_unknown(a) || qgc_dim_is_unknown(b) || qgc_dim_equal(a, b))
        return;
    fail_msg("%s is not %s", print(f, a), print(f, b));
}

/* Laws of arithmetic hold as pointer equality, except where a limit was met. */
static void test_random_laws(void **state)
{
    (void)state;
    uint64_t random = 6;
    for (int i = 0; i < NUM_RANDOM / 4; i++) {
        fixture f;
        open_fixture(&f);
        qgc_dims *dims = &f.dims;
        values v = {.f = &f};
        qgc_dim a = random_expression(&v, &random, 3).dim;
        qgc_dim b = random_expression(&v, &random, 3).dim;
        qgc_dim c = random_expression(&v, &random, 2).dim;
        qgc_dim product = qgc_dim_mul(dims, a, b), quotient;
        check_equal(&f, qgc_dim_add(dims, a, b), qgc_dim_add(dims, b, a));
        check_equal(&f, product, qgc_dim_mul(dims, b, a));
        check_equal(&f, qgc_dim_mul(dims, qgc_dim_add(dims, a, b), c),
                    qgc_dim_add(dims, qgc_dim_mul(dims, a, c), qgc_dim_mul(dims, b, c)));
        check_equal(&f, qgc_dim_sub(dims, qgc_dim_add(dims, a, b), b), a);
        check_equal(&f, qgc_dim_div(dims, product, b), a);
        if (!qgc_dim_is_unknown(product) && !(qgc_dim_is_number(b) && b.value == 0)) {
            assert_true(qgc_dim_divides(dims, b, product, &quotient));
            check_equal(&f, quotient, a);
        }
        qgc_dim number = qgc_dim_number(1 + (int64_t)(next_random(&random) % 6));
        qgc_dim shifted = qgc_dim_add(dims, a, qgc_dim_mul(dims, number, b));
        check_equal(&f, qgc_dim_div(dims, shifted, number),
                    qgc_dim_add(dims, qgc_dim_div(dims, a, number), b));
        qgc_arena_destroy(&f.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical_forms),
        cmocka_unit_test(test_numbers_beyond_i64),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_divides),
        cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_order_is_independent_of_history),
        cmocka_unit_test(test_random_expressions),
        cmocka_unit_test(test_random_laws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

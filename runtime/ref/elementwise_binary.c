/* Arithmetic, bits, comparisons and selection of broadcast operands. */
#include "runtime/math.h"
#include "runtime/ref/elementwise.h"

#include <math.h>
#include <string.h>

/* ---- the functions that are no single expression ---- */

/* The least integer divided by -1 wraps to itself. */
static int64_t div_wrap(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t rem_wrap(int64_t a, int64_t b)
{
    return b == -1 ? 0 : a % b;
}

static int64_t mod_i64(int64_t a, int64_t b)
{
    int64_t r = rem_wrap(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static float mod_f32(float a, float b)
{
    float r = fmodf(a, b);
    if (r == 0)
        return copysignf(r, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

static double mod_f64(double a, double b)
{
    double r = fmod(a, b);
    if (r == 0)
        return copysign(r, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

static uint64_t pow_u64(uint64_t a, uint64_t b)
{
    uint64_t y = 1;
    for (; b; b >>= 1, a *= a)
        if (b & 1)
            y *= a;
    return y;
}

static int64_t pow_i64(int64_t a, int64_t b)
{
    if (b >= 0)
        return (int64_t)pow_u64((uint64_t)a, (uint64_t)b);
    if (a == 1 || a == -1)
        return b & 1 ? a : 1;
    return 0;
}

/* Counts are read as unsigned: a negative one is as good as a large one. */
static uint64_t shift_left(uint64_t a, uint64_t count)
{
    return count < 64 ? a << count : 0;
}

static uint64_t shift_right_u64(uint64_t a, uint64_t count)
{
    return count < 64 ? a >> count : 0;
}

static int64_t shift_right_i64(int64_t a, int64_t count)
{
    return a >> ((uint64_t)count < 64 ? count : 63);
}

/* ---- rows: op, f32, f64, i64, u64 ---- */

/* Operands of modular arithmetic: signed overflow is defined through unsigned. */
#define U(x) ((uint64_t)(x))

#define FLOATS(op, f32_, f64_)                                                                     \
    static float op##_op_f32(float a, float b)                                                     \
    {                                                                                              \
        return f32_;                                                                               \
    }                                                                                              \
    static double op##_op_f64(double a, double b)                                                  \
    {                                                                                              \
        return f64_;                                                                               \
    }
#define INTEGERS(op, i64_, u64_)                                                                   \
    static int64_t op##_op_i64(int64_t a, int64_t b)                                               \
    {                                                                                              \
        return (int64_t)(i64_);                                                                    \
    }                                                                                              \
    static uint64_t op##_op_u64(uint64_t a, uint64_t b)                                            \
    {                                                                                              \
        (void)b; /* prelu: nothing is below 0 */                                                   \
        return u64_;                                                                               \
    }
#define NUMBERS(op, f32_, f64_, i64_, u64_)                                                        \
    FLOATS(op, f32_, f64_)                                                                         \
    INTEGERS(op, i64_, u64_)                                                                       \
    static const qgc_binary_row op##_row = {op##_op_f32, op##_op_f64, op##_op_i64, op##_op_u64};
#define INTEGERS_ONLY(op, i64_, u64_)                                                              \
    INTEGERS(op, i64_, u64_)                                                                       \
    static const qgc_binary_row op##_row = {.i64 = op##_op_i64, .u64 = op##_op_u64};
#define COMPARISON(op, sign)                                                                       \
    static bool op##_f32(float a, float b)                                                         \
    {                                                                                              \
        return a sign b;                                                                           \
    }                                                                                              \
    static bool op##_f64(double a, double b)                                                       \
    {                                                                                              \
        return a sign b;                                                                           \
    }                                                                                              \
    static bool op##_i64(int64_t a, int64_t b)                                                     \
    {                                                                                              \
        return a sign b;                                                                           \
    }                                                                                              \
    static bool op##_u64(uint64_t a, uint64_t b)                                                   \
    {                                                                                              \
        return a sign b;                                                                           \
    }                                                                                              \
    static const qgc_compare_row op##_row = {op##_f32, op##_f64, op##_i64, op##_u64};

/* `b < a ? b : a` with either NaN first. */
#define MIN_FLOAT (a != a || !(b < a || b != b) ? a : b)
#define MAX_FLOAT (a != a || !(a < b || b != b) ? a : b)

// clang-format off
NUMBERS(add, a + b, a + b, U(a) + U(b), a + b)
NUMBERS(sub, a - b, a - b, U(a) - U(b), a - b)
NUMBERS(mul, a * b, a * b, U(a) * U(b), a * b)
NUMBERS(div, a / b, a / b, div_wrap(a, b), a / b)
NUMBERS(pow, qgc_f32_pow(a, b), pow(a, b), pow_i64(a, b), pow_u64(a, b))
NUMBERS(mod, mod_f32(a, b), mod_f64(a, b), mod_i64(a, b), a % b)
NUMBERS(fmod, fmodf(a, b), fmod(a, b), rem_wrap(a, b), a % b)
NUMBERS(min, MIN_FLOAT, MIN_FLOAT, b < a ? b : a, b < a ? b : a)
NUMBERS(max, MAX_FLOAT, MAX_FLOAT, a < b ? b : a, a < b ? b : a)
NUMBERS(raise, a < b ? b : a, a < b ? b : a, a < b ? b : a, a < b ? b : a)
NUMBERS(lower, b < a ? b : a, b < a ? b : a, b < a ? b : a, b < a ? b : a)
NUMBERS(prelu, a < 0 ? b * a : a, a < 0 ? b * a : a, a < 0 ? U(b) * U(a) : U(a), a)
INTEGERS_ONLY(bitwise_and, a & b, a & b)
INTEGERS_ONLY(bitwise_or, a | b, a | b)
INTEGERS_ONLY(bitwise_xor, a ^ b, a ^ b)
INTEGERS_ONLY(shift_left, shift_left(U(a), U(b)), shift_left(a, b))
INTEGERS_ONLY(shift_right, shift_right_i64(a, b), shift_right_u64(a, b))
COMPARISON(equal, ==)
COMPARISON(not_equal, !=)
COMPARISON(less, <)
COMPARISON(less_equal, <=)
COMPARISON(greater, >)
COMPARISON(greater_equal, >=)
// clang-format on

/* ---- kernels ---- */

#define KERNEL(op, loop, row)                                                                      \
    qgc_result ref_##op(qgc_ref_call *call)                                                        \
    {                                                                                              \
        loop(&row, &call->results[0], call->operands[0], call->operands[1]);                       \
        return QGC_OK;                                                                             \
    }

// clang-format off
KERNEL(add, qgc_ref_binary, add_row)
KERNEL(sub, qgc_ref_binary, sub_row)
KERNEL(mul, qgc_ref_binary, mul_row)
KERNEL(pow, qgc_ref_binary, pow_row)
KERNEL(min, qgc_ref_binary, min_row)
KERNEL(max, qgc_ref_binary, max_row)
KERNEL(prelu, qgc_ref_binary, prelu_row)
KERNEL(bitwise_and, qgc_ref_binary, bitwise_and_row)
KERNEL(bitwise_or, qgc_ref_binary, bitwise_or_row)
KERNEL(bitwise_xor, qgc_ref_binary, bitwise_xor_row)
KERNEL(and, qgc_ref_binary, bitwise_and_row)
KERNEL(or, qgc_ref_binary, bitwise_or_row)
KERNEL(xor, qgc_ref_binary, bitwise_xor_row)
KERNEL(shift_left, qgc_ref_binary, shift_left_row)
KERNEL(shift_right, qgc_ref_binary, shift_right_row)
KERNEL(equal, qgc_ref_compare, equal_row)
KERNEL(not_equal, qgc_ref_compare, not_equal_row)
KERNEL(less, qgc_ref_compare, less_row)
KERNEL(less_equal, qgc_ref_compare, less_equal_row)
KERNEL(greater, qgc_ref_compare, greater_row)
KERNEL(greater_equal, qgc_ref_compare, greater_equal_row)
// clang-format on

/* Integers only: every element of b divides something unless the result is empty. */
static qgc_result divide(qgc_ref_call *call, const qgc_binary_row *row)
{
    const qgc_tensor *b = call->operands[1];
    qgc_tensor *y = &call->results[0];
    size_t num = qgc_tensor_count(y) ? qgc_tensor_count(b) : 0;
    if (qgc_dtype_get_kind(b->dtype) != QGC_FLOAT)
        for (size_t i = 0; i < num; i++)
            if (qgc_get_int(b, i) == 0)
                return qgc_ref_fail(call, "integer division by zero, at element %zu of b", i);
    qgc_ref_binary(row, y, call->operands[0], b);
    return QGC_OK;
}

qgc_result ref_div(qgc_ref_call *call)
{
    return divide(call, &div_row);
}

qgc_result ref_mod(qgc_ref_call *call)
{
    return divide(call, qgc_node_flag(call->node, "fmod") ? &fmod_row : &mod_row);
}

qgc_result ref_where(qgc_ref_call *call)
{
    qgc_tensor *y = &call->results[0];
    size_t bytes = qgc_dtype_bytes(y->dtype);
    qgc_rows rows;
    bool more = qgc_rows_begin(&rows, y, 3, call->operands);
    for (; more; more = qgc_rows_next(&rows))
        for (size_t i = 0; i < rows.length; i++) {
            bool cond = qgc_get_int(call->operands[0], rows.from[0] + i * rows.step[0]) != 0;
            uint32_t chosen = cond ? 1 : 2;
            size_t from = rows.from[chosen] + i * rows.step[chosen];
            memcpy((char *)y->data + (rows.at + i) * bytes,
                   (const char *)call->operands[chosen]->data + from * bytes, bytes);
        }
    return QGC_OK;
}

qgc_result ref_clip(qgc_ref_call *call)
{
    static const qgc_binary_row *const bounds[] = {NULL, &raise_row, &lower_row};
    qgc_tensor *y = &call->results[0];
    if (y->bytes)
        memcpy(y->data, call->operands[0]->data, y->bytes);
    for (uint32_t i = 1; i < call->num_operands; i++)
        if (call->operands[i])
            qgc_ref_binary(bounds[i], y, y, call->operands[i]);
    return QGC_OK;
}

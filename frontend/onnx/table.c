/* The rows of frontend/onnx/ops.def. */
#include "frontend/onnx/import.h"

#include <string.h>

#define CONVERT(op, since, until, function, ignored) onnx_convert function;
#define ROW(op, since, until, ...)
#define REFUSE(op, reason)
#define MICROSOFT(op, function, ignored) onnx_convert function;
#include "frontend/onnx/ops.def"

#define INT(name_, to_) {.from = (name_), .to = (to_), .rule = ONNX_ATTR_INT}
#define INT_D(name_, to_, value_)                                                                  \
    {.from = (name_), .to = (to_), .rule = ONNX_ATTR_INT, .has_default = true, .i = (value_)}
#define FLOAT_D(name_, to_, value_)                                                                \
    {.from = (name_), .to = (to_), .rule = ONNX_ATTR_FLOAT, .has_default = true, .f = (value_)}
#define FLOAT_I(name_, to_, value_)                                                                \
    {.from = (name_),                                                                              \
     .to = (to_),                                                                                  \
     .rule = ONNX_ATTR_FLOAT_FROM_INT,                                                             \
     .has_default = true,                                                                          \
     .i = (value_)}
#define DIMS(name_, to_) {.from = (name_), .to = (to_), .rule = ONNX_ATTR_DIMS}
#define TEXT(name_, to_) {.from = (name_), .to = (to_), .rule = ONNX_ATTR_TEXT}
#define FLAG_D(name_, to_, value_)                                                                 \
    {.from = (name_), .to = (to_), .rule = ONNX_ATTR_FLAG, .has_default = true, .i = (value_)}
#define INTS(name_, to_) {.from = (name_), .to = (to_), .rule = ONNX_ATTR_INTS}
#define WORD(name_, to_, words_)                                                                   \
    {.from = (name_), .to = (to_), .rule = ONNX_ATTR_WORD, .words = (words_)}
#define DTYPE(name_, to_) {.from = (name_), .to = (to_), .rule = ONNX_ATTR_DTYPE}
#define OURS(mnemonic_)   .mnemonic = (mnemonic_)
#define NEWEST            ONNX_NEWEST

static const onnx_row rows[] = {
#define CONVERT(op_, since_, until_, function_, ignored_)                                          \
    {.op = (op_),                                                                                  \
     .domain = "",                                                                                 \
     .since = (since_),                                                                            \
     .until = (until_),                                                                            \
     .convert = function_,                                                                         \
     .ignored = (ignored_)},
#define ROW(op_, since_, until_, ...)                                                              \
    {.op = (op_), .domain = "", .since = (since_), .until = (until_), __VA_ARGS__},
#define MICROSOFT(op_, function_, ignored_)                                                        \
    {.op = (op_),                                                                                  \
     .domain = "com.microsoft",                                                                    \
     .since = 1,                                                                                   \
     .until = NEWEST,                                                                              \
     .convert = function_,                                                                         \
     .ignored = (ignored_)},
#define REFUSE(op_, reason_)                                                                       \
    {.op = (op_), .domain = "", .since = 1, .until = NEWEST, .refused = (reason_)},
#include "frontend/onnx/ops.def"
};
enum { NUM_ROWS = sizeof rows / sizeof *rows };

const onnx_row *onnx_table(size_t index)
{
    return index < NUM_ROWS ? &rows[index] : NULL;
}

const onnx_row *onnx_find_row(qgc_str op, qgc_str domain, int64_t version, int *out_since)
{
    *out_since = 0;
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (!qgc_str_equal(op, qgc_str_from(rows[i].op)) ||
            !qgc_str_equal(domain, qgc_str_from(rows[i].domain)))
            continue;
        if (version >= rows[i].since && version <= rows[i].until)
            return &rows[i];
        if (!*out_since || rows[i].since < *out_since)
            *out_since = rows[i].since;
    }
    return NULL;
}

/* Converters: LSTM, GRU, RNN. With layout = 1 the batch comes first, which a transpose undoes. */
#include "frontend/onnx/import.h"

#include <ctype.h>
#include <string.h>

static const int64_t swap3[] = {1, 0, 2};

static bool batch_first(onnx_import *im)
{
    return onnx_int(im, "layout", 0) != 0;
}

static qgc_value *time_first(onnx_import *im, qgc_value *value)
{
    return batch_first(im) && value ? onnx_transpose(im, value, swap3, 3) : value;
}

static void lower(char *text)
{
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

/* The functions of all gates of all directions; each must be the |expected| one of its place. */
static qgc_result check_activations(onnx_import *im, const char *const *expected, uint32_t num)
{
    const qgc_onnx_attr *attr = onnx_attr(im, "activations");
    for (uint32_t i = 0; attr && attr->kind == QGC_ONNX_STRINGS && i < attr->num; i++) {
        char *word = qgc_arena_strdup(im->arena, attr->strings[i]);
        lower(word);
        if (strcmp(word, expected[i % num]) != 0)
            return onnx_refuse(im, "activation %s in place of %s",
                               qgc_quoted(im->arena, attr->strings[i]), expected[i % num]);
    }
    return QGC_OK;
}

static qgc_node *begin_layer(onnx_import *im, const char *mnemonic, uint32_t num_operands,
                             uint32_t num_results)
{
    qgc_value *operands[8];
    onnx_operands(im, 3, num_operands, operands);
    for (uint32_t i = 0; i < num_operands; i++)
        if (i == 0 || i == 5 || i == 6) /* x and the states */
            operands[i] = time_first(im, operands[i]);
    if (im->reason)
        return NULL;
    qgc_node *node = onnx_begin(im, mnemonic, num_operands, operands, num_results);
    char *direction =
        qgc_arena_strdup(im->arena, qgc_str_from(onnx_string(im, "direction", "forward")));
    lower(direction);
    onnx_set_word(im, node, "direction", direction);
    if (onnx_has(im, "clip"))
        onnx_set_float(im, node, "clip", onnx_float(im, "clip", 0));
    return node;
}

/* Y is [T, D, N, H], with layout = 1 [N, T, D, H]. */
static qgc_result end_layer(onnx_import *im, qgc_node *node)
{
    static const int64_t batch_of_y[] = {2, 0, 1, 3};
    qgc_value *y = onnx_end(im, node);
    if (!y)
        return QGC_FAILED;
    for (uint32_t i = 0; i < node->num_results; i++) {
        qgc_value *value = &node->results[i];
        if (batch_first(im) && onnx_wants_output(im, i))
            value = i ? onnx_transpose(im, value, swap3, 3) : onnx_transpose(im, y, batch_of_y, 4);
        QGC_TRY(onnx_define(im, i, value));
    }
    return QGC_OK;
}

qgc_result convert_lstm(onnx_import *im)
{
    static const char *const functions[] = {"sigmoid", "tanh", "tanh"};
    if (onnx_int(im, "input_forget", 0))
        return onnx_refuse(im, "input_forget is not supported");
    QGC_TRY(check_activations(im, functions, 3));
    return end_layer(im, begin_layer(im, "lstm", 8, 3));
}

qgc_result convert_gru(onnx_import *im)
{
    static const char *const functions[] = {"sigmoid", "tanh"};
    QGC_TRY(check_activations(im, functions, 2));
    qgc_node *node = begin_layer(im, "gru", 6, 2);
    onnx_set_flag(im, node, "reset_after", onnx_int(im, "linear_before_reset", 0) != 0);
    return end_layer(im, node);
}

qgc_result convert_rnn(onnx_import *im)
{
    const qgc_onnx_attr *attr = onnx_attr(im, "activations");
    const char *const usual = "tanh";
    char *function = qgc_arena_strdup(im->arena, qgc_str_from(usual));
    if (attr && attr->kind == QGC_ONNX_STRINGS && attr->num)
        function = qgc_arena_strdup(im->arena, attr->strings[0]);
    lower(function);
    const char *const functions[] = {function};
    QGC_TRY(check_activations(im, functions, 1));
    qgc_node *node = begin_layer(im, "rnn", 6, 2);
    onnx_set_word(im, node, "activation", function);
    return end_layer(im, node);
}

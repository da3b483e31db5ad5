/* The declarative rows: one op of ours, inputs by position, attributes as mapped. */
#include "frontend/onnx/import.h"

#include <ctype.h>
#include <string.h>

/* "onnx=ours|..."; a word that is not listed stands for itself. */
static const char *map_word(onnx_import *im, const char *words, const char *text)
{
    char *lower = qgc_arena_strdup(im->arena, qgc_str_from(text));
    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    for (const char *w = words ? words : ""; *w;) {
        size_t size = strcspn(w, "|"), key = strcspn(w, "=");
        if (strlen(lower) == key && strncmp(lower, w, key) == 0)
            return qgc_arena_strdup(im->arena, (qgc_str){w + key + 1, size - key - 1});
        w += size + (w[size] == '|');
    }
    return lower;
}

static void map_dtype(onnx_import *im, qgc_node *node, const onnx_attr_map *map, int64_t code)
{
    qgc_dtype dtype;
    if (qgc_onnx_dtype(code, &dtype))
        onnx_set_dtype(im, node, map->to, dtype);
    else
        onnx_refuse(im, "%s is element type %lld, which does not exist here", map->from,
                    (long long)code);
}

static void map_attr(onnx_import *im, qgc_node *node, const onnx_attr_map *map)
{
    uint32_t num;
    const int64_t *ints;
    if (!onnx_has(im, map->from) && !map->has_default)
        return;
    switch (map->rule) {
    case ONNX_ATTR_INT:
        onnx_set_int(im, node, map->to, onnx_int(im, map->from, map->i));
        return;
    case ONNX_ATTR_FLOAT_FROM_INT:
        onnx_set_float(im, node, map->to, (float)onnx_int(im, map->from, map->i));
        return;
    case ONNX_ATTR_DIMS:
        if (onnx_ints(im, map->from, &num, &ints))
            onnx_set_dims(im, node, map->to, ints, num);
        return;
    case ONNX_ATTR_FLAG:
        onnx_set_flag(im, node, map->to, onnx_int(im, map->from, map->i) != 0);
        return;
    case ONNX_ATTR_FLOAT:
        onnx_set_float(im, node, map->to, onnx_float(im, map->from, map->f));
        return;
    case ONNX_ATTR_INTS:
        if (onnx_ints(im, map->from, &num, &ints))
            onnx_set_ints(im, node, map->to, ints, num);
        return;
    case ONNX_ATTR_WORD:
        onnx_set_word(im, node, map->to, map_word(im, map->words, onnx_string(im, map->from, "")));
        return;
    case ONNX_ATTR_TEXT:
        onnx_set(im, node, map->to,
                 qgc_attr_from_name(QGC_ATTR_STRING,
                                    qgc_context_name(im->context, onnx_string(im, map->from, ""))));
        return;
    case ONNX_ATTR_DTYPE:
        map_dtype(im, node, map, onnx_int(im, map->from, map->i));
        return;
    case ONNX_ATTR_NONE:
        return;
    }
}

static const onnx_list_map *find_list(const onnx_row *row, uint32_t input)
{
    for (int i = 0; i < ONNX_MAX_MAPPED && row->lists[i].input; i++)
        if (row->lists[i].input == input)
            return &row->lists[i];
    return NULL;
}

/* As many as our row has; of an op with any number, as many as the ONNX node names. */
static uint32_t num_results(onnx_import *im)
{
    qgc_opcode op;
    uint32_t wanted = im->node->num_outputs;
    while (wanted && !im->node->outputs[wanted - 1])
        wanted--;
    if (!qgc_op_find(qgc_str_from(im->row->mnemonic), &op))
        return 1; /* onnx_begin reports it */
    uint32_t rows = qgc_op_num_results(qgc_op(op));
    if (qgc_op(op)->results[rows - 1].variadic)
        return wanted ? wanted : 1;
    if (wanted > rows)
        onnx_refuse(im, "%u outputs, expected %u", wanted, rows);
    return rows;
}

qgc_result onnx_convert_row(onnx_import *im)
{
    const onnx_row *row = im->row;
    uint32_t num = im->node->num_inputs;
    qgc_value **operands = QGC_NEW_ARRAY(im->arena, qgc_value *, num);
    while (num && !im->node->inputs[num - 1])
        num--;
    uint32_t given = num;
    for (uint32_t i = 0; i < num; i++)
        operands[i] = find_list(row, i) ? NULL : onnx_in(im, i);
    while (num && find_list(row, num - 1))
        num--;
    qgc_node *node = onnx_begin(im, row->mnemonic, num, operands, num_results(im));
    for (int i = 0; i < ONNX_MAX_MAPPED && row->attrs[i].from; i++)
        map_attr(im, node, &row->attrs[i]);
    for (uint32_t i = 0; i < given; i++)
        if (find_list(row, i))
            onnx_set_list(im, node, find_list(row, i)->to, i, onnx_in(im, i));
    qgc_value *first = onnx_end(im, node);
    if (!first)
        return QGC_FAILED;
    QGC_TRY(onnx_define(im, 0, first));
    for (uint32_t i = 1; i < node->num_results; i++)
        QGC_TRY(onnx_define(im, i, &node->results[i]));
    return QGC_OK;
}

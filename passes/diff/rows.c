/* The rows of a comparison: lines of both graphs side by side, with what differs. */
#include "passes/diff/diff.h"
#include "passes/value_key.h"

#include <math.h>

enum { MAX_LINE = 480, MAX_ELEMENTS = 12, SHOWN_ELEMENTS = 4 };

/* ---- lines ---- */

static const qgc_func *func_of(const qgc_diff *diff, const qgc_func *func, const qgc_value *value)
{
    const qgc_func *region = value->def ? qgc_map_get(&diff->regions, value->def) : NULL;
    return region ? region : func;
}

const char *qgc_diff_value_name(qgc_diff *diff, const qgc_func *func, const qgc_value *value)
{
    qgc_text text = {.arena = &diff->arena};
    const qgc_value *original = qgc_map_get(&diff->originals, value);
    func = func_of(diff, func, value);
    value = original ? original : value;
    qgc_func_name_print(&text, func->name);
    qgc_text_putc(&text, '.');
    qgc_value_name_print(&text, value->name);
    return text.data;
}

/* What reports call it, whatever its form; NULL: it stands for no float value. */
static const char *identifier_of(qgc_diff *diff, const qgc_func *func, const qgc_value *value)
{
    qgc_value_key key;
    qgc_value *original = qgc_map_get(&diff->originals, value);
    const qgc_func *from = func_of(diff, func, value);
    if (!original)
        original = (qgc_value *)value;
    return qgc_value_key_read(&diff->owners, from, original, &diff->arena, &key) ? key.text->data
                                                                                 : NULL;
}

/* "[0.1, 0.2, 0.3, 0.4, ... 432 numbers]" */
static void put_elements(qgc_text *out, const qgc_tensor *t, size_t count)
{
    qgc_tensor first = *t;
    first.rank = 1;
    first.shape[0] = SHOWN_ELEMENTS;
    first.bytes = SHOWN_ELEMENTS * qgc_dtype_bytes(t->dtype);
    qgc_text text = {.arena = out->arena};
    qgc_tensor_print(&text, &first);
    if (text.data[text.size - 1] == ']')
        text.size--;
    if (text.data[0] != '[') /* elements of the same bits are printed as one */
        qgc_text_putc(out, '[');
    qgc_text_put(out, qgc_text_str(&text));
    qgc_text_printf(out, ", ... %zu numbers]", count);
}

static void put_constant(qgc_text *out, const qgc_node *node)
{
    const qgc_tensor *t = node->constant;
    size_t count = t->bytes / qgc_dtype_bytes(t->dtype);
    if (node->op != QGC_OP_CONST || count <= MAX_ELEMENTS) {
        qgc_node_print(node, out);
        return;
    }
    qgc_value_name_print(out, node->results[0].name);
    qgc_text_puts(out, " = const ");
    put_elements(out, t, count);
    qgc_text_puts(out, " : ");
    qgc_type_print(out, node->results[0].type);
}

/* The middle of what is too long goes. */
static const char *shorten(qgc_arena *arena, const qgc_text *text)
{
    if (text->size <= MAX_LINE)
        return text->data;
    return qgc_arena_printf(arena, "%.*s ... %s", MAX_LINE - 160, text->data,
                            text->data + text->size - 150);
}

static const char *node_line(qgc_diff *diff, const qgc_node *node)
{
    qgc_text text = {.arena = &diff->arena};
    if (node->constant)
        put_constant(&text, node);
    else
        qgc_node_print(node, &text);
    return shorten(&diff->arena, &text);
}

static const char *head_line(qgc_diff *diff, const qgc_func *func)
{
    qgc_text text = {.arena = &diff->arena};
    qgc_func_print_head(func, &text);
    return shorten(&diff->arena, &text);
}

/* ---- rows ---- */

static void set_left(qgc_diff_pair *pair, qgc_diff_row *row, const qgc_node *node)
{
    row->left = node_line(pair->diff, node);
    if (!node->num_results)
        return;
    row->left_name = qgc_diff_value_name(pair->diff, pair->left.func, &node->results[0]);
    row->value = identifier_of(pair->diff, pair->left.func, &node->results[0]);
}

static void set_right(qgc_diff_pair *pair, qgc_diff_row *row, const qgc_node *node)
{
    row->right = node_line(pair->diff, node);
    if (!node->num_results)
        return;
    row->right_name = qgc_diff_value_name(pair->diff, pair->right.func, &node->results[0]);
    if (!row->value)
        row->value = identifier_of(pair->diff, pair->right.func, &node->results[0]);
}

static qgc_diff_row new_row(const qgc_diff *diff)
{
    return (qgc_diff_row){.first = diff->differences.size};
}

static void push(qgc_diff *diff, qgc_diff_row row)
{
    row.is_consequence &= row.num == 0;
    qgc_vec_push(&diff->arena, &diff->rows, row);
}

static void write_right(qgc_diff_pair *pair, uint32_t i)
{
    qgc_diff_row row = new_row(pair->diff);
    set_right(pair, &row, pair->right.nodes[i]);
    qgc_diff_compare_single(pair, pair->right.nodes[i], false, &row);
    push(pair->diff, row);
}

/* What only the right graph has, from |next| on up to the next aligned node. */
static void write_rights(qgc_diff_pair *pair, uint32_t next)
{
    for (; next < pair->right.num && pair->right.partner[next] == QGC_DIFF_NONE; next++)
        write_right(pair, next);
}

static void write_left(qgc_diff_pair *pair, uint32_t i)
{
    qgc_node *node = pair->left.nodes[i];
    uint32_t partner = pair->left.partner[i];
    qgc_diff_row row = new_row(pair->diff);
    set_left(pair, &row, node);
    if (partner == QGC_DIFF_NONE) {
        qgc_diff_compare_single(pair, node, true, &row);
        push(pair->diff, row);
        return;
    }
    qgc_node *other = pair->right.nodes[partner];
    set_right(pair, &row, other);
    qgc_diff_compare_nodes(pair, node, other, &row);
    for (uint32_t k = 0; k < node->num_results && k < other->num_results; k++)
        qgc_diff_compare_statistics(pair, &node->results[k], &other->results[k], &row);
    push(pair->diff, row);
    write_rights(pair, partner + 1);
}

void qgc_diff_write_pair(qgc_diff_pair *pair)
{
    qgc_diff *diff = pair->diff;
    qgc_diff_row head = new_row(diff);
    head.is_head = true;
    head.left = head_line(diff, pair->left.func);
    head.right = head_line(diff, pair->right.func);
    qgc_text name = {.arena = &diff->arena};
    qgc_func_name_print(&name, pair->left.func->name);
    head.left_name = name.data;
    qgc_diff_compare_heads(pair, &head);
    push(diff, head);
    write_rights(pair, 0);
    for (uint32_t i = 0; i < pair->left.num; i++)
        write_left(pair, i);
}

void qgc_diff_write_single(qgc_diff *diff, qgc_func *func, bool is_left)
{
    qgc_diff_pair *pair = QGC_NEW(&diff->arena, qgc_diff_pair);
    qgc_diff_row head = new_row(diff);
    qgc_text name = {.arena = &diff->arena};
    *pair = (qgc_diff_pair){.diff = diff};
    qgc_func_name_print(&name, func->name);
    head.is_head = true;
    *(is_left ? &head.left : &head.right) = head_line(diff, func);
    *(is_left ? &head.left_name : &head.right_name) = name.data;
    qgc_diff_add(pair, &head, QGC_DIFF_OPERATOR, NAN, "function %s", is_left ? "removed" : "added");
    push(diff, head);
    QGC_EACH_NODE (node, func) {
        qgc_diff_row row = new_row(diff);
        row.is_consequence = true;
        qgc_diff_graph *graph = is_left ? &pair->left : &pair->right;
        graph->func = func;
        if (is_left)
            set_left(pair, &row, node);
        else
            set_right(pair, &row, node);
        push(diff, row);
    }
}

#include "ir/view.h"

#include <string.h>

static const qgc_attr_spec *row_attr(const qgc_node *node, const char *name, const qgc_attr **out)
{
    const qgc_op_info *op = qgc_op(node->op);
    int index = qgc_op_attr_index(op, qgc_str_from(name));
    QGC_ASSERT(index >= 0, "%s has no attribute %s", op->mnemonic, name);
    *out = &node->attrs[index];
    return &op->attrs[index];
}

int64_t qgc_node_int(const qgc_node *node, const char *name)
{
    const qgc_attr *attr;
    const qgc_attr_spec *spec = row_attr(node, name, &attr);
    return attr->kind == QGC_ATTR_NONE ? spec->default_int : attr->i;
}

float qgc_node_float(const qgc_node *node, const char *name)
{
    const qgc_attr *attr;
    const qgc_attr_spec *spec = row_attr(node, name, &attr);
    return attr->kind == QGC_ATTR_NONE ? spec->default_float : attr->f;
}

bool qgc_node_flag(const qgc_node *node, const char *name)
{
    const qgc_attr *attr;
    const qgc_attr_spec *spec = row_attr(node, name, &attr);
    return attr->kind == QGC_ATTR_NONE ? spec->default_int != 0 : attr->b;
}

int qgc_node_word(const qgc_node *node, const char *name)
{
    const qgc_attr *attr;
    const qgc_attr_spec *spec = row_attr(node, name, &attr);
    if (attr->kind == QGC_ATTR_NONE)
        return 0;
    int index = 0;
    for (const char *word = spec->words; *word; index++) {
        size_t size = strcspn(word, "|");
        if (qgc_str_equal(qgc_name_str(attr->name), (qgc_str){word, size}))
            return index;
        word += size + (word[size] == '|');
    }
    QGC_ASSERT(false, "%s is none of %s", attr->name->data, spec->words);
    return 0;
}

bool qgc_node_has(const qgc_node *node, const char *name)
{
    const qgc_attr *attr;
    row_attr(node, name, &attr);
    return attr->kind != QGC_ATTR_NONE;
}

qgc_dtype qgc_node_dtype(const qgc_node *node, const char *name)
{
    const qgc_attr *attr;
    row_attr(node, name, &attr);
    QGC_ASSERT(attr->kind == QGC_ATTR_DTYPE, "attribute %s", name);
    return attr->dtype;
}

const qgc_spec *qgc_node_spec(const qgc_node *node, const char *name)
{
    const qgc_attr *attr;
    row_attr(node, name, &attr);
    QGC_ASSERT(attr->kind == QGC_ATTR_SPEC, "attribute %s", name);
    return attr->spec;
}

int64_t qgc_node_int_at(const qgc_node *node, const char *name, uint32_t index)
{
    const qgc_attr *attr;
    const qgc_attr_spec *spec = row_attr(node, name, &attr);
    if (attr->kind == QGC_ATTR_NONE)
        return spec->default_int;
    QGC_ASSERT(index < attr->num, "%s[%u]", name, index);
    return attr->ints[index];
}

float qgc_node_float_at(const qgc_node *node, const char *name, uint32_t index)
{
    const qgc_attr *attr;
    row_attr(node, name, &attr);
    QGC_ASSERT(attr->kind == QGC_ATTR_FLOATS && index < attr->num, "%s[%u]", name, index);
    return attr->floats[index];
}

uint32_t qgc_node_list_size(const qgc_node *node, const char *name)
{
    const qgc_attr *attr;
    row_attr(node, name, &attr);
    return attr->kind == QGC_ATTR_NONE ? 0 : attr->num;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    int64_t raised = value < low ? low : value;
    return raised > high ? high : raised;
}

int64_t qgc_slice_count(int64_t size, int64_t *start, int64_t end, int64_t step)
{
    int64_t last = step > 0 ? size : size - 1;
    int64_t from = clamp(*start < 0 ? *start + size : *start, 0, last);
    int64_t to = clamp(end < 0 ? end + size : end, step > 0 ? 0 : -1, last);
    *start = from;
    if (step > 0)
        return to > from ? (to - from - 1) / step + 1 : 0;
    return from > to ? (int64_t)((uint64_t)(from - to - 1) / (0 - (uint64_t)step)) + 1 : 0;
}

void qgc_shape_range(const qgc_node *node, uint32_t rank, int64_t *out_first, int64_t *out_end)
{
    int64_t first = qgc_node_int(node, "start");
    int64_t end = qgc_node_has(node, "end") ? qgc_node_int(node, "end") : rank;
    *out_first = clamp(first < 0 ? first + rank : first, 0, rank);
    end = clamp(end < 0 ? end + rank : end, 0, rank);
    *out_end = end < *out_first ? *out_first : end;
}

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

uint32_t qgc_node_list_size(const qgc_node *node, const char *name)
{
    const qgc_attr *attr;
    row_attr(node, name, &attr);
    return attr->kind == QGC_ATTR_NONE ? 0 : attr->num;
}

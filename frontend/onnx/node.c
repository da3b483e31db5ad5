/* What converters read: inputs, known contents, attributes, outputs. */
#include "frontend/onnx/import.h"

#include <string.h>

qgc_result onnx_refuse(onnx_import *im, const char *format, ...)
{
    if (im->reason)
        return QGC_FAILED;
    va_list args;
    va_start(args, format);
    im->reason = qgc_arena_vprintf(im->arena, format, args);
    va_end(args);
    return QGC_FAILED;
}

/* ---- inputs ---- */

qgc_value *onnx_lookup(onnx_import *im, qgc_name name)
{
    qgc_value *value = qgc_map_get(&im->values, name);
    if (value)
        return value;
    const qgc_onnx_tensor *tensor = qgc_map_get(&im->tensors, name);
    if (!tensor)
        return NULL;
    if (tensor->problem) {
        onnx_refuse(im, "%s has %s", qgc_quoted(im->arena, qgc_name_str(name)), tensor->problem);
        return NULL;
    }
    value = onnx_const(im, &tensor->tensor, name);
    if (value)
        *qgc_map_at(&im->values, name) = value;
    return value;
}

qgc_value *onnx_in(onnx_import *im, uint32_t index)
{
    if (im->reason || index >= im->node->num_inputs || !im->node->inputs[index])
        return NULL;
    return onnx_lookup(im, im->node->inputs[index]);
}

qgc_value *onnx_need(onnx_import *im, uint32_t index)
{
    qgc_value *value = onnx_in(im, index);
    if (!value)
        onnx_refuse(im, "input %u is missing", index);
    return value;
}

void onnx_operands(onnx_import *im, uint32_t needed, uint32_t num, qgc_value **out)
{
    for (uint32_t i = 0; i < num; i++)
        out[i] = i < needed ? onnx_need(im, i) : onnx_in(im, i);
}

const qgc_tensor *onnx_constant(const qgc_value *value)
{
    return value && value->def ? value->def->constant : NULL;
}

onnx_content *onnx_new_content(onnx_import *im, uint32_t rank, uint32_t num)
{
    onnx_content *content =
        qgc_arena_alloc(im->arena, sizeof(onnx_content) + num * sizeof(qgc_dim));
    content->rank = rank;
    content->num = num;
    return content;
}

void onnx_set_content(onnx_import *im, qgc_value *value, const onnx_content *content)
{
    if (value && content)
        *qgc_map_at(&im->contents, value) = (void *)content;
}

const onnx_content *onnx_content_of(onnx_import *im, qgc_value *value)
{
    enum { MAX_ITEMS = 256 };
    uint32_t num;
    const int64_t *ints;
    if (!value)
        return NULL;
    const onnx_content *known = qgc_map_get(&im->contents, value);
    if (known || !onnx_ints_of(im, value, &num, &ints) || num > MAX_ITEMS)
        return known;
    onnx_content *content = onnx_new_content(im, value->type->rank, num);
    for (uint32_t i = 0; i < num; i++)
        content->dims[i] = qgc_dim_number(ints[i]);
    onnx_set_content(im, value, content);
    return content;
}

bool onnx_ints_of(onnx_import *im, qgc_value *value, uint32_t *out_num, const int64_t **out)
{
    const qgc_tensor *tensor = onnx_constant(value);
    if (!tensor || tensor->rank > 1 ||
        (tensor->dtype != QGC_DTYPE_I64 && tensor->dtype != QGC_DTYPE_I32))
        return false;
    uint32_t num = tensor->rank ? (uint32_t)tensor->shape[0] : 1;
    int64_t *ints = QGC_NEW_ARRAY(im->arena, int64_t, num);
    for (uint32_t i = 0; i < num; i++)
        ints[i] = tensor->dtype == QGC_DTYPE_I64 ? ((const int64_t *)tensor->data)[i]
                                                 : ((const int32_t *)tensor->data)[i];
    *out_num = num;
    *out = ints;
    return true;
}

/* ---- attributes ---- */

const qgc_onnx_attr *onnx_attr(onnx_import *im, const char *name)
{
    const qgc_onnx_attr *attr = qgc_onnx_find_attr(im->node, name);
    if (attr && attr - im->node->attrs < 64)
        im->used |= 1ull << (attr - im->node->attrs);
    return attr;
}

static const qgc_onnx_attr *typed(onnx_import *im, const char *name, qgc_onnx_attr_kind kind)
{
    const qgc_onnx_attr *attr = onnx_attr(im, name);
    if (!attr || attr->kind == kind)
        return attr;
    onnx_refuse(im, "attribute %s is of the wrong kind", name);
    return NULL;
}

bool onnx_has(onnx_import *im, const char *name)
{
    return onnx_attr(im, name) != NULL;
}

int64_t onnx_int(onnx_import *im, const char *name, int64_t absent)
{
    const qgc_onnx_attr *attr = typed(im, name, QGC_ONNX_INT);
    return attr ? attr->i : absent;
}

float onnx_float(onnx_import *im, const char *name, float absent)
{
    const qgc_onnx_attr *attr = typed(im, name, QGC_ONNX_FLOAT);
    return attr ? attr->f : absent;
}

const char *onnx_string(onnx_import *im, const char *name, const char *absent)
{
    const qgc_onnx_attr *attr = typed(im, name, QGC_ONNX_STRING);
    return attr ? qgc_arena_strdup(im->arena, attr->s) : absent;
}

bool onnx_ints(onnx_import *im, const char *name, uint32_t *out_num, const int64_t **out)
{
    const qgc_onnx_attr *attr = typed(im, name, QGC_ONNX_INTS);
    *out_num = attr ? attr->num : 0;
    *out = attr ? attr->ints : NULL;
    return attr != NULL;
}

/* ---- outputs ---- */

bool onnx_wants_output(const onnx_import *im, uint32_t index)
{
    return index < im->node->num_outputs && im->node->outputs[index];
}

/* Whether a name was made by us, so that the file's is better. */
static bool is_named_by_file(onnx_import *im, const qgc_value *value)
{
    return !value->def || qgc_map_get(&im->values, value->name) == value ||
           qgc_map_get(&im->tensors, value->name);
}

qgc_result onnx_define(onnx_import *im, uint32_t index, qgc_value *value)
{
    if (!value || im->reason)
        return onnx_refuse(im, "output %u has no value", index);
    if (!onnx_wants_output(im, index))
        return QGC_OK;
    qgc_name name = im->node->outputs[index];
    if (!is_named_by_file(im, value))
        qgc_value_set_name(im->func, value, qgc_func_unique_name(im->func, qgc_name_str(name)));
    if (value->def && value->def->op == QGC_OP_WEIGHT && !is_named_by_file(im, value))
        value->def->attrs[0] = qgc_attr_from_name(QGC_ATTR_STRING, value->name);
    *qgc_map_at(&im->values, name) = value;
    return QGC_OK;
}

/* Attributes, specs and literals as text that the parser reads back to the same bits. */
#include "base/number.h"
#include "ir/attr.h"

#include <ctype.h>
#include <string.h>

static bool is_plain(qgc_name name)
{
    if (!name->size)
        return false;
    for (uint32_t i = 0; i < name->size; i++) {
        char c = name->data[i];
        if (!isalnum((unsigned char)c) && c != '_' && c != '$' && !(c == '.' && i > 0))
            return false;
    }
    return name->data[name->size - 1] != '.' && !strstr(name->data, "..");
}

static void print_name(qgc_text *out, char sigil, qgc_name name)
{
    qgc_text_putc(out, sigil);
    if (is_plain(name))
        qgc_text_put(out, qgc_name_str(name));
    else
        qgc_text_put_quoted(out, qgc_name_str(name));
}

void qgc_value_name_print(qgc_text *out, qgc_name name)
{
    print_name(out, '%', name);
}

void qgc_func_name_print(qgc_text *out, qgc_name name)
{
    print_name(out, '@', name);
}

static void print_int(qgc_text *out, int64_t value)
{
    qgc_text_printf(out, "%lld", (long long)value);
}

static void print_f32(qgc_text *out, float value)
{
    char buffer[QGC_NUMBER_CHARS];
    qgc_text_put(out, (qgc_str){buffer, qgc_print_f32(buffer, value)});
}

static void print_own_spec(qgc_text *out, const qgc_spec *spec)
{
    static const char *const schemes[] = {"", ".sym", ".affine"};
    static const char *const observers[] = {"", ".minmax", ".avg", ".hist"};
    qgc_text_puts(out, qgc_dtype_name(spec->dtype));
    qgc_text_puts(out, schemes[spec->scheme]);
    qgc_text_puts(out, spec->per_channel ? ".ch" : "");
    qgc_text_puts(out, spec->dynamic ? ".dynamic" : "");
    qgc_text_puts(out, observers[spec->observer]);
    if (spec->has_range)
        qgc_text_printf(out, "[%lld,%lld]", (long long)spec->qmin, (long long)spec->qmax);
}

void qgc_spec_print(qgc_text *out, const qgc_spec *spec)
{
    switch (spec->kind) {
    case QGC_SPEC_OWN:
        print_own_spec(out, spec);
        return;
    case QGC_SPEC_FLOAT:
        qgc_text_puts(out, "float");
        return;
    case QGC_SPEC_FIXED:
        qgc_text_puts(out, "fixed(");
        print_f32(out, spec->scale);
        qgc_text_printf(out, ", %lld", (long long)spec->zero_point);
        if (spec->has_dtype)
            qgc_text_printf(out, ", %s", qgc_dtype_name(spec->dtype));
        break;
    case QGC_SPEC_SHARE:
    case QGC_SPEC_DERIVE:
        qgc_text_puts(out, spec->kind == QGC_SPEC_SHARE ? "share(" : "derive(");
        qgc_value_name_print(out, spec->values[0]);
        if (spec->values[1]) {
            qgc_text_puts(out, spec->kind == QGC_SPEC_SHARE ? " -> " : ", ");
            qgc_value_name_print(out, spec->values[1]);
        }
        break;
    }
    qgc_text_putc(out, ')');
}

/* One element of a tensor. */
static void print_element(qgc_text *out, const qgc_tensor *t, size_t i)
{
    char buffer[QGC_NUMBER_CHARS];
    size_t size = 0;
    switch (t->dtype) {
    case QGC_DTYPE_F32:
        size = qgc_print_f32(buffer, ((const float *)t->data)[i]);
        break;
    case QGC_DTYPE_F64:
        size = qgc_print_f64(buffer, ((const double *)t->data)[i]);
        break;
    case QGC_DTYPE_F16:
        size = qgc_print_f16(buffer, ((const uint16_t *)t->data)[i]);
        break;
    case QGC_DTYPE_BF16:
        size = qgc_print_bf16(buffer, ((const uint16_t *)t->data)[i]);
        break;
    case QGC_DTYPE_I8:
        print_int(out, ((const int8_t *)t->data)[i]);
        return;
    case QGC_DTYPE_U8:
        print_int(out, ((const uint8_t *)t->data)[i]);
        return;
    case QGC_DTYPE_I16:
        print_int(out, ((const int16_t *)t->data)[i]);
        return;
    case QGC_DTYPE_U16:
        print_int(out, ((const uint16_t *)t->data)[i]);
        return;
    case QGC_DTYPE_I32:
        print_int(out, ((const int32_t *)t->data)[i]);
        return;
    case QGC_DTYPE_U32:
        print_int(out, ((const uint32_t *)t->data)[i]);
        return;
    case QGC_DTYPE_I64:
        print_int(out, ((const int64_t *)t->data)[i]);
        return;
    case QGC_DTYPE_U64:
        qgc_text_printf(out, "%llu", (unsigned long long)((const uint64_t *)t->data)[i]);
        return;
    case QGC_DTYPE_BOOL:
        qgc_text_puts(out, ((const uint8_t *)t->data)[i] ? "true" : "false");
        return;
    case QGC_NUM_DTYPES:
        break;
    }
    qgc_text_put(out, (qgc_str){buffer, size});
}

static size_t print_nested(qgc_text *out, const qgc_tensor *t, uint32_t axis, size_t index)
{
    if (axis == t->rank) {
        print_element(out, t, index);
        return index + 1;
    }
    qgc_text_putc(out, '[');
    for (int64_t i = 0; i < t->shape[axis]; i++) {
        if (i)
            qgc_text_puts(out, ", ");
        index = print_nested(out, t, axis + 1, index);
    }
    qgc_text_putc(out, ']');
    return index;
}

static bool is_splat(const qgc_tensor *t, size_t num)
{
    size_t bytes = qgc_dtype_bytes(t->dtype);
    const char *data = t->data;
    for (size_t i = 1; i < num; i++)
        if (memcmp(data, data + i * bytes, bytes) != 0)
            return false;
    return true;
}

void qgc_tensor_print(qgc_text *out, const qgc_tensor *tensor)
{
    size_t num = tensor->bytes / qgc_dtype_bytes(tensor->dtype);
    if (num == 0)
        qgc_text_puts(out, "[]");
    else if (num > 1 && is_splat(tensor, num))
        print_element(out, tensor, 0);
    else
        print_nested(out, tensor, 0, 0);
}

static void print_item(qgc_text *out, const qgc_attr *attr, uint32_t i)
{
    switch (attr->kind) {
    case QGC_ATTR_INTS:
        print_int(out, attr->ints[i]);
        return;
    case QGC_ATTR_FLOATS:
        print_f32(out, attr->floats[i]);
        return;
    case QGC_ATTR_DIMS:
        qgc_dim_print(out, attr->dims[i]);
        return;
    default:
        qgc_attr_print(out, &attr->list[i]);
        return;
    }
}

/* Runs of equal integers in LIST print as value*count where that is shorter: histograms. */
static uint32_t run_length(const qgc_attr *attr, uint32_t i)
{
    uint32_t n = 1;
    if (attr->kind == QGC_ATTR_LIST && attr->list[i].kind == QGC_ATTR_INT)
        while (i + n < attr->num && qgc_attr_equal(&attr->list[i], &attr->list[i + n]))
            n++;
    return n > 2 ? n : 1;
}

static void print_list(qgc_text *out, const qgc_attr *attr)
{
    qgc_text_putc(out, '[');
    for (uint32_t i = 0, n; i < attr->num; i += n) {
        if (i)
            qgc_text_puts(out, attr->kind == QGC_ATTR_LIST ? ", " : ",");
        n = run_length(attr, i);
        print_item(out, attr, i);
        if (n > 1)
            qgc_text_printf(out, "*%u", n);
    }
    qgc_text_putc(out, ']');
}

static void print_map(qgc_text *out, const qgc_attr *attr)
{
    qgc_text_putc(out, '{');
    for (uint32_t i = 0; i < attr->num; i++) {
        qgc_text_printf(out, "%s%s = ", i ? ", " : "", attr->map[i].name->data);
        qgc_attr_print(out, &attr->map[i].value);
    }
    qgc_text_putc(out, '}');
}

void qgc_attr_print(qgc_text *out, const qgc_attr *attr)
{
    switch (attr->kind) {
    case QGC_ATTR_INT:
        print_int(out, attr->i);
        return;
    case QGC_ATTR_FLOAT:
        print_f32(out, attr->f);
        return;
    case QGC_ATTR_BOOL:
        qgc_text_puts(out, attr->b ? "true" : "false");
        return;
    case QGC_ATTR_STRING:
        qgc_text_put_quoted(out, qgc_name_str(attr->name));
        return;
    case QGC_ATTR_WORD:
        qgc_text_put(out, qgc_name_str(attr->name));
        return;
    case QGC_ATTR_DTYPE:
        qgc_text_puts(out, qgc_dtype_name(attr->dtype));
        return;
    case QGC_ATTR_FUNC:
        qgc_func_name_print(out, attr->name);
        return;
    case QGC_ATTR_VALUE:
        qgc_value_name_print(out, attr->name);
        return;
    case QGC_ATTR_SPEC:
        qgc_spec_print(out, attr->spec);
        return;
    case QGC_ATTR_TENSOR:
        qgc_tensor_print(out, attr->tensor);
        return;
    case QGC_ATTR_INTS:
    case QGC_ATTR_FLOATS:
    case QGC_ATTR_DIMS:
    case QGC_ATTR_LIST:
        print_list(out, attr);
        return;
    case QGC_ATTR_MAP:
        print_map(out, attr);
        return;
    case QGC_ATTR_NONE:
    case QGC_NUM_ATTR_KINDS:
        return;
    }
}

/* The running part of the public API: tensors by name, files, one run. */
#include "qgc/run.h"
#include "runtime/data.h"
#include "runtime/interp.h"
#include "runtime/npy.h"
#include "runtime/npz.h"
#include "runtime/picture.h"
#include "runtime/ref/ref.h"
#include "runtime/safetensors.h"

#include <math.h>
#include <string.h>

/* qgc_tensors.owner: holds names and the growing array. */
typedef struct owner {
    qgc_arena arena;
    size_t capacity;
} owner;

static owner *get_owner(qgc_tensors *tensors)
{
    if (!tensors->owner) {
        qgc_arena arena = {0};
        owner *o = QGC_NEW(&arena, owner);
        o->arena = arena;
        tensors->owner = o;
    }
    return tensors->owner;
}

static void add(qgc_tensors *tensors, qgc_str name, qgc_tensor tensor)
{
    owner *o = get_owner(tensors);
    if (tensors->num == o->capacity)
        tensors->items =
            qgc_vec_grow(&o->arena, tensors->items, &o->capacity, sizeof *tensors->items);
    tensors->items[tensors->num++] = (qgc_run_tensor){qgc_arena_strdup(&o->arena, name), tensor};
}

void qgc_tensors_free(qgc_tensors *tensors)
{
    owner *o = tensors->owner;
    for (size_t i = 0; i < tensors->num; i++)
        qgc_tensor_destroy(&tensors->items[i].tensor);
    if (o) {
        qgc_arena arena = o->arena;
        qgc_arena_destroy(&arena);
    }
    *tensors = (qgc_tensors){0};
}

qgc_result qgc_tensors_add(qgc_context *context, const char *name, const qgc_tensor *tensor,
                           qgc_tensors *add_to)
{
    qgc_tensor copy;
    QGC_TRY(qgc_tensor_copy(&context->diag, tensor, &copy));
    add(add_to, qgc_str_from(name), copy);
    return QGC_OK;
}

static qgc_result read_all(qgc_data *data, const char *name, qgc_tensors *add_to)
{
    size_t num = qgc_data_num_arrays(data);
    for (size_t i = 0; i < num; i++) {
        qgc_tensor tensor;
        QGC_TRY(qgc_data_read_array(data, i, &tensor));
        add(add_to, name && num == 1 ? qgc_str_from(name) : qgc_data_array(data, i).name, tensor);
    }
    return QGC_OK;
}

qgc_result qgc_context_set_image(qgc_context *context, const char *text)
{
    qgc_picture_format *format = QGC_NEW(&context->arena, qgc_picture_format);
    QGC_TRY(qgc_picture_format_parse(&context->diag, text, format));
    format->is_used = QGC_NEW(&context->arena, bool);
    context->pictures = format;
    return QGC_OK;
}

void qgc_context_check_image(qgc_context *context)
{
    if (context->pictures && !*context->pictures->is_used)
        qgc_report(&context->diag, QGC_NO_LOC, QGC_D_UNUSED_OPTION,
                   "--image is for pictures, and none of the data is one");
}

qgc_result qgc_tensors_read(qgc_context *context, const char *path, const char *name,
                            qgc_tensors *add_to)
{
    qgc_data *data;
    QGC_TRY(qgc_data_open_with(&context->diag, path, context->pictures, &data));
    qgc_result result = QGC_OK;
    if (name && qgc_data_num_arrays(data) != 1)
        result = qgc_report(&context->diag, QGC_NO_LOC, QGC_D_USAGE,
                            "input %s: %s holds %zu tensors, expected 1", name, path,
                            qgc_data_num_arrays(data));
    if (result == QGC_OK)
        result = read_all(data, name, add_to);
    qgc_data_close(data);
    return result;
}

static bool ends_with(const char *path, const char *ending)
{
    size_t size = strlen(path), tail = strlen(ending);
    return size >= tail && strcmp(path + size - tail, ending) == 0;
}

static bool is_taken(const qgc_named_tensor *named, size_t num, const char *name)
{
    for (size_t i = 0; i < num; i++)
        if (qgc_str_equal(named[i].name, qgc_str_from(name)))
            return true;
    return false;
}

/* A value that is returned twice gives two arrays; names in a file differ: y, y.1. */
static void name_all(qgc_arena *arena, const qgc_tensors *tensors, qgc_named_tensor *out)
{
    for (size_t i = 0; i < tensors->num; i++) {
        const char *name = tensors->items[i].name;
        for (unsigned n = 1; is_taken(out, i, name); n++)
            name = qgc_arena_printf(arena, "%s.%u", tensors->items[i].name, n);
        out[i] = (qgc_named_tensor){qgc_str_from(name), tensors->items[i].tensor};
    }
}

qgc_result qgc_tensors_write(qgc_context *context, const char *path, const qgc_tensors *tensors)
{
    qgc_diag *diag = &context->diag;
    qgc_named_tensor *named = QGC_NEW_ARRAY(&context->arena, qgc_named_tensor, tensors->num);
    name_all(&context->arena, tensors, named);
    if (ends_with(path, ".safetensors"))
        return qgc_safetensors_write(diag, path, named, tensors->num);
    if (ends_with(path, ".npz"))
        return qgc_npz_write(diag, path, named, tensors->num, false);
    if (!ends_with(path, ".npy"))
        return qgc_report(diag, QGC_NO_LOC, QGC_D_USAGE,
                          "%s: expected a name that ends in .npy, .npz or .safetensors", path);
    if (tensors->num != 1)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_USAGE,
                          "%s: .npy holds one tensor, there are %zu (use .npz)", path,
                          tensors->num);
    return qgc_npy_write(diag, path, &tensors->items[0].tensor);
}

/* NaNs compare equal whatever their bits, so they print alike: which one an operation gives depends
 * on the machine. */
static void make_nans_equal(qgc_tensor *t)
{
    size_t num = qgc_tensor_count(t);
    for (size_t i = 0; i < num; i++) {
        if (t->dtype == QGC_DTYPE_F64 && isnan(((double *)t->data)[i]))
            ((double *)t->data)[i] = NAN;
        else if (t->dtype != QGC_DTYPE_F64 && isnan(qgc_get_f32(t, i)))
            qgc_set_f32(t, i, NAN);
    }
}

static void print_one(qgc_context *context, const char *func, const qgc_run_tensor *item, FILE *out)
{
    qgc_arena arena = {0};
    qgc_tensor tensor = item->tensor;
    if (qgc_dtype_get_kind(tensor.dtype) == QGC_FLOAT && tensor.bytes) {
        tensor.data = memcpy(qgc_arena_alloc(&arena, tensor.bytes), tensor.data, tensor.bytes);
        make_nans_equal(&tensor);
    }
    qgc_text text = {.arena = &arena};
    qgc_text_printf(&text, "@%s.", func);
    qgc_value_name_print(&text, qgc_context_name(context, item->name));
    qgc_text_puts(&text, " = ");
    qgc_tensor_print(&text, &tensor);
    qgc_text_puts(&text, " : ");
    qgc_type_print(&text, qgc_type_of_tensor(&context->types, &tensor));
    fprintf(out, "%s\n", text.data);
    qgc_arena_destroy(&arena);
}

void qgc_tensors_print(qgc_context *context, const char *func, const qgc_tensors *tensors,
                       FILE *out)
{
    for (size_t i = 0; i < tensors->num; i++)
        print_one(context, func, &tensors->items[i], out);
}

static const qgc_tensor *find_input(const qgc_func *func, const qgc_value *param,
                                    const qgc_tensors *inputs)
{
    for (size_t i = 0; i < inputs->num; i++)
        if (qgc_str_equal(qgc_str_from(inputs->items[i].name), qgc_name_str(param->name)))
            return &inputs->items[i].tensor;
    bool only_one = func->num_params == 1 && inputs->num == 1 && !inputs->items[0].name[0];
    return only_one ? &inputs->items[0].tensor : NULL;
}

static bool is_param(const qgc_func *func, const char *name)
{
    for (uint32_t i = 0; i < func->num_params; i++)
        if (qgc_str_equal(qgc_str_from(name), qgc_name_str(func->params[i].name)))
            return true;
    return !name[0] && func->num_params == 1;
}

static bool is_repeated(const qgc_tensors *tensors, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(tensors->items[i].name, tensors->items[index].name) == 0)
            return true;
    return false;
}

static qgc_result match_inputs(const qgc_func *func, const qgc_tensors *inputs, qgc_tensor *out)
{
    qgc_diag *diag = &func->module->context->diag;
    for (size_t i = 0; i < inputs->num; i++)
        if (!is_param(func, inputs->items[i].name))
            return qgc_report(diag, func->loc, QGC_D_BAD_INPUT, "@%s has no input named '%s'",
                              func->name->data, inputs->items[i].name);
    for (size_t i = 0; i < inputs->num; i++)
        if (is_repeated(inputs, i))
            return qgc_report(diag, func->loc, QGC_D_BAD_INPUT, "input '%s' of @%s is given twice",
                              inputs->items[i].name, func->name->data);
    for (uint32_t i = 0; i < func->num_params; i++) {
        const qgc_tensor *input = find_input(func, &func->params[i], inputs);
        if (!input)
            return qgc_report(diag, func->params[i].loc, QGC_D_BAD_INPUT,
                              "no tensor is given for input %%%s of @%s",
                              func->params[i].name->data, func->name->data);
        out[i] = *input;
    }
    return QGC_OK;
}

qgc_result qgc_module_run(qgc_module *module, const char *name, const qgc_engine *engine,
                          const qgc_tensors *inputs, qgc_tensors *outputs)
{
    qgc_func *func;
    QGC_TRY(qgc_module_require_func(module, name, &func));
    qgc_arena arena = {0};
    qgc_tensor *in = QGC_NEW_ARRAY(&arena, qgc_tensor, func->num_params);
    qgc_tensor *out = QGC_NEW_ARRAY(&arena, qgc_tensor, func->num_results);
    qgc_result result = match_inputs(func, inputs, in);
    if (result == QGC_OK)
        result = qgc_interp_run(func, in, out, &(qgc_interp_options){.engine = engine});
    for (uint32_t i = 0; i < func->num_results && result == QGC_OK; i++)
        add(outputs, qgc_name_str(func->last->operands[i].value->name), out[i]);
    qgc_arena_destroy(&arena);
    return result;
}

const char *qgc_module_param(qgc_module *module, const char *name, size_t index,
                             qgc_dtype *out_dtype)
{
    const qgc_func *func = qgc_module_find_func(module, qgc_context_name(module->context, name));
    if (!func || index >= func->num_params)
        return NULL;
    if (out_dtype)
        *out_dtype = func->params[index].type->dtype;
    return func->params[index].name->data;
}

const char *qgc_module_closed_func(const qgc_module *module, size_t index)
{
    QGC_EACH_FUNC (func, module)
        if (!func->num_params && index-- == 0)
            return func->name->data;
    return NULL;
}

#include "ir/context.h"

qgc_context *qgc_context_create(void)
{
    qgc_arena arena = {0};
    qgc_context *context = QGC_NEW(&arena, qgc_context);
    context->arena = arena;
    context->sources.arena = &context->arena;
    context->diag.arena = &context->arena;
    context->diag.sources = &context->sources;
    context->names.arena = &context->arena;
    context->types.arena = &context->arena;
    context->dims.arena = &context->arena;
    context->ops.arena = &context->arena;
    for (int i = 0; i < QGC_NUM_OPS; i++) {
        qgc_name name = qgc_context_name(context, qgc_op((qgc_opcode)i)->mnemonic);
        *qgc_map_at(&context->ops, name) = (void *)(intptr_t)(i + 1);
    }
    return context;
}

void qgc_context_destroy(qgc_context *context)
{
    if (!context)
        return;
    qgc_plugins_close(&context->plugins);
    qgc_arena arena = context->arena; /* the context lies in its own arena */
    qgc_arena_destroy(&arena);
}

void qgc_context_set_remarks(qgc_context *context, const char *passes)
{
    char *copy = qgc_arena_strdup(&context->arena, qgc_str_from(passes));
    context->diag.remarks = qgc_str_from(copy);
}

void qgc_context_flush(qgc_context *context, FILE *out, qgc_diag_format format, bool color)
{
    qgc_diag_flush(&context->diag, out, format, color);
}

void qgc_context_set_quiet(qgc_context *context, bool quiet)
{
    context->diag.is_quiet = quiet;
}

bool qgc_context_environment_failed(const qgc_context *context)
{
    for (size_t i = 0; i < context->diag.list.size; i++) {
        qgc_diag_id id = context->diag.list.data[i].id;
        if (id == QGC_D_FILE_OPEN || id == QGC_D_FILE_WRITE || id == QGC_D_PLUGIN_LOAD ||
            id == QGC_D_PLUGIN_VERSION || id == QGC_D_PLUGIN_BAD)
            return true;
    }
    return false;
}

size_t qgc_context_num_errors(const qgc_context *context)
{
    return context->diag.num_errors;
}

qgc_result qgc_context_usage_error(qgc_context *context, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = qgc_arena_vprintf(&context->arena, format, args);
    va_end(args);
    return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_USAGE, "%s", message);
}

static qgc_str name_at(void *user, size_t index)
{
    const char *const *names = user;
    return qgc_str_from(names[index]);
}

const char *qgc_context_did_you_mean(qgc_context *context, const char *found,
                                     const char *const *names, size_t num)
{
    return qgc_str_did_you_mean(&context->arena, qgc_str_from(found), name_at,
                                (void *)(uintptr_t)names, num);
}

qgc_result qgc_context_verify_diagnostics(qgc_context *context)
{
    return qgc_diag_verify(&context->diag);
}

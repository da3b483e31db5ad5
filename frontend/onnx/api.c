/* The ONNX part of the public API. */
#include "frontend/onnx/import.h"
#include "qgc/onnx.h"

#include <string.h>

static qgc_result read_tensor(qgc_context *context, qgc_arena *arena, const qgc_file *file,
                              const char *name, qgc_tensors *add_to)
{
    qgc_onnx_tensor read;
    QGC_TRY(qgc_onnx_read_tensor(context, arena, file, &read));
    if (read.problem)
        return qgc_report(&context->diag, QGC_NO_LOC, QGC_D_ONNX_REFUSED, "%s: the tensor has %s",
                          file->name, read.problem);
    return qgc_tensors_add(context,
                           name        ? name
                           : read.name ? read.name->data
                                       : "",
                           &read.tensor, add_to);
}

qgc_result qgc_onnx_tensor_read(qgc_context *context, const char *path, const char *name,
                                qgc_tensors *add_to)
{
    qgc_file file;
    qgc_arena arena = {0};
    QGC_TRY(qgc_file_open(&context->diag, qgc_arena_strdup(&context->arena, qgc_str_from(path)),
                          &file));
    qgc_result result = read_tensor(context, &arena, &file, name, add_to);
    qgc_file_close(&file);
    qgc_arena_destroy(&arena);
    return result;
}

static void write_row(const onnx_row *row, FILE *out)
{
    char range[32];
    if (row->until == ONNX_NEWEST)
        snprintf(range, sizeof range, "%d+", row->since);
    else
        snprintf(range, sizeof range, "%d-%d", row->since, row->until);
    const char *how = row->refused ? row->refused : row->mnemonic ? row->mnemonic : "";
    fprintf(out, "| %s%s%s | %s | %s%s%s |\n", row->domain, row->domain[0] ? "." : "", row->op,
            row->refused ? "-" : range,
            row->refused    ? "refused: "
            : row->mnemonic ? "`"
                            : "",
            row->refused || row->mnemonic ? how : "several ops", row->mnemonic ? "`" : "");
}

void qgc_onnx_ops_write(FILE *out)
{
    fprintf(out, "| ONNX op | opset | becomes |\n|---|---|---|\n");
    for (size_t i = 0; onnx_table(i); i++)
        write_row(onnx_table(i), out);
}

#include "output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

qgc_result write_output(invocation *call, const char *path, output_writer *write,
                        const void *report)
{
    char *text = NULL;
    size_t size = 0;
    if (strcmp(path, "-") == 0) {
        write(stdout, report);
        return QGC_OK;
    }
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return qgc_context_usage_error(call->context, "%s: no memory for it", path);
    write(out, report);
    bool is_whole = !ferror(out);
    is_whole = fclose(out) == 0 && is_whole;
    qgc_result result = is_whole
                            ? qgc_write_file(call->context, path, (qgc_str){text, size})
                            : qgc_context_usage_error(call->context, "%s: no memory for it", path);
    free(text);
    return result;
}

void put_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

void put_json_number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, "%.9g", value);
    else
        fputs("null", out);
}

void put_csv_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void put_folders(FILE *out, const char *before, const char *const *names, size_t num)
{
    enum { MOST = 20 };
    fputs(num ? before : "", out);
    for (size_t i = 0; i < num; i++) {
        if (num > MOST && i == MOST / 2) {
            fputs(", ...", out);
            i = num - 1;
        }
        fprintf(out, "%s%zu %s", i ? ", " : "", i, names[i]);
    }
    fputs(num ? "\n" : "", out);
}

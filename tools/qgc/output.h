/* Reports as files: written to memory, then to the file, whole or not at all. */
#ifndef QGC_TOOLS_OUTPUT_H
#define QGC_TOOLS_OUTPUT_H

#include "command.h"

/* Writes a report. */
typedef void output_writer(FILE *out, const void *report);

/* What |write| writes, to |path| ("-": stdout). */
qgc_result write_output(invocation *call, const char *path, output_writer *write,
                        const void *report);

/* A string with quotes, as JSON has it. */
void put_json_string(FILE *out, const char *text);
/* A number; null where it is not finite. */
void put_json_number(FILE *out, double value);
/* A field of CSV, in quotes. */
void put_csv_string(FILE *out, const char *text);

/* "0 bag, 1 boot, ..., 999 zebra": classes by folder; nothing for none. */
void put_folders(FILE *out, const char *before, const char *const *names, size_t num);

#endif

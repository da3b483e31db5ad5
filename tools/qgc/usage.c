/* Options that have nothing to do beside others, or contradict them: one table for all commands,
 * and every such call is refused. What depends on what a file holds is checked where it is read. */
#include "command.h"

#include <string.h>

typedef enum relation { NEEDS, EXCLUDES } relation;

/* |options|, |others|: one or several, "A|B"; each "--name", "--name=value" (as it is given),
 * "FILE" or "FILE FILE" (so many files or more). NEEDS wants one of |others|. */
static const struct {
    const char *commands; /* between blanks; NULL: all that have the options */
    const char *options;
    relation relation;
    const char *others;
    const char *message; /* of the option and the other one; NULL: the usual one */
} rows[] = {
    {NULL, "--remarks", EXCLUDES, "--quiet", NULL},
    {NULL, "--cache", EXCLUDES, "--no-cache", NULL},
    {NULL, "--image", NEEDS, "--data|--input|--calibration|--calibration-input", NULL},
    {NULL, "--checkpoint", NEEDS, "--resume", NULL},
    {" run calibrate stats quantize bench eval ", "--cpu|--threads|--cache|--no-cache|--print-plan",
     EXCLUDES, "--engine=ref", "%s needs --engine=jit"},
    {" sens tune ", "--cpu", EXCLUDES, "--engine=ref", "%s needs --engine=jit"},
    {" opt ", "--print-after|--print-changed|--stop-after|--time-passes|--no-verify-each", NEEDS,
     "--passes", NULL},
    {" run ", "--func=all", EXCLUDES, "--data|--input|--image|--batch|--first|--limit|--shard",
     NULL},
    {" import ", "--ops", EXCLUDES, "FILE|-o|--literal|--set", NULL},
    {" quantize ", "--report", NEEDS, "-o", "%s needs -o FILE"},
    {" quantize ", "--report", EXCLUDES, "-o=-", "%s needs -o FILE"},
    {" quantize ", "--labels", NEEDS, "--report", "%s is for --report"},
    {" bench ", "--time", EXCLUDES, "--rounds", NULL},
    {" compare ", "--by", EXCLUDES, "--worst=0", NULL},
    {" explain ", "--all", EXCLUDES, "--format=json|FILE FILE", NULL},
    {" tune ", "--table", EXCLUDES, "--by|--what",
     "%s holds a ranking already: %s is for one that is made"},
    {" docs ", "-o", EXCLUDES, "FILE", NULL},
};

/* Whether the call has what the part of |list| that ends at |size| names. */
static bool is_given(const invocation *call, const char *name, size_t size)
{
    char word[64];
    if (strncmp(name, "FILE", 4) == 0)
        return call->num_files >= (size > 4 ? 2 : 1);
    snprintf(word, sizeof word, "%.*s", (int)size, name);
    char *value = strchr(word, '=');
    if (value)
        *value++ = '\0';
    const char *given = get_option(call, word);
    return given && (!value || strcmp(given, value) == 0);
}

/* The first part of |list| that the call has, or NULL. */
static const char *find_given(const invocation *call, const char *list, size_t *out_size)
{
    for (const char *at = list; *at; at += *out_size + (at[*out_size] == '|')) {
        *out_size = strcspn(at, "|");
        if (is_given(call, at, *out_size))
            return at;
    }
    return NULL;
}

/* Any of |list| is an option of the command. */
static bool has_one(const invocation *call, const char *list)
{
    for (const char *at = list; *at;) {
        char word[64];
        size_t size = strcspn(at, "|");
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "|="), at);
        if (get_options(call, word))
            return true;
        at += size + (at[size] == '|');
    }
    return false;
}

static qgc_result report(invocation *call, size_t row, const char *option, const char *other)
{
    static const char *const usual[] = {"%s needs %s", "%s and %s exclude each other"};
    const char *format = rows[row].message ? rows[row].message : usual[rows[row].relation];
    char message[256];
    const char *words[] = {option, other};
    size_t used = 0, word = 0;
    for (; *format && used + 1 < sizeof message; format++) {
        if (format[0] != '%' || word == 2) {
            message[used++] = *format;
            continue;
        }
        int size = snprintf(message + used, sizeof message - used, "%s", words[word++]);
        used = used + (size_t)size < sizeof message ? used + (size_t)size : sizeof message - 1;
        format++;
    }
    message[used] = '\0';
    return qgc_context_usage_error(call->context, "%s", message);
}

static qgc_result check_row(invocation *call, size_t row)
{
    char name[32], option_text[128], other_text[128];
    size_t option_size, other_size;
    snprintf(name, sizeof name, " %s ", call->command->name);
    if (rows[row].commands ? !strstr(rows[row].commands, name) : !has_one(call, rows[row].others))
        return QGC_OK;
    const char *option = find_given(call, rows[row].options, &option_size);
    if (!option)
        return QGC_OK;
    const char *other = find_given(call, rows[row].others, &other_size);
    if ((other != NULL) == (rows[row].relation == NEEDS))
        return QGC_OK;
    if (!other) {
        other = rows[row].others;
        other_size = strcspn(other, "|");
    }
    snprintf(option_text, sizeof option_text, "%.*s", (int)option_size, option);
    snprintf(other_text, sizeof other_text, "%.*s", (int)other_size, other);
    return report(call, row, option_text, other_text);
}

qgc_result check_usage_table(invocation *call)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        QGC_CHECK(check_row(call, i));
    return QGC_OK;
}

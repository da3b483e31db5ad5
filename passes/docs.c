/* Reference pages from the tables. */
#include "qgc/docs.h"
#include "passes/pass.h"

#include <string.h>

static const char *quant_text(qgc_quant_rule rule)
{
    static const char *const texts[] = {"", "activation", "weight", "bias", "shared"};
    return texts[rule];
}

static void write_operands(const qgc_op_info *op, qgc_arena *arena, FILE *out)
{
    static const char *const arity[] = {"", " (optional)", " (any number)"};
    if (op->operands[0].name)
        fprintf(out, "| operand | types | quantized as | |\n|---|---|---|---|\n");
    for (uint32_t i = 0; i < qgc_op_num_operands(op); i++) {
        const qgc_operand_spec *row = &op->operands[i];
        fprintf(out, "| `%s`%s | %s | %s", row->name, arity[row->arity],
                row->types == QGC_T_ANY ? "any" : qgc_dtype_set_str(row->types, arena),
                quant_text(row->quant));
        if (row->quant == QGC_Q_WEIGHT)
            fprintf(out, ", channels on axis %d", row->channel_axis);
        fprintf(out, " | %s |\n", row->summary);
    }
    fputc('\n', out);
}

static void write_default(const qgc_attr_spec *row, FILE *out)
{
    if (row->required)
        fputs("required", out);
    else if (row->words)
        fprintf(out, "%.*s", (int)strcspn(row->words, "|"), row->words);
    else
        fputs(row->default_text ? row->default_text : "absent", out);
}

static void write_words(const char *words, FILE *out)
{
    for (const char *word = words; *word;) {
        size_t size = strcspn(word, "|");
        fprintf(out, "%s`%.*s`", word == words ? "" : ", ", (int)size, word);
        word += size + (word[size] == '|');
    }
}

static void write_attrs(const qgc_op_info *op, FILE *out)
{
    if (op->attrs[0].name)
        fprintf(out, "| attribute | kind | default | |\n|---|---|---|---|\n");
    for (uint32_t i = 0; i < qgc_op_num_attrs(op); i++) {
        const qgc_attr_spec *row = &op->attrs[i];
        fprintf(out, "| `%s`%s | ", row->name, row->positional ? " (before the operands)" : "");
        if (row->words)
            write_words(row->words, out);
        else
            fputs(qgc_attr_kind_name(row->kind), out);
        fputs(" | ", out);
        write_default(row, out);
        fprintf(out, " | %s |\n", row->summary);
    }
    fputc('\n', out);
}

static void write_results(const qgc_op_info *op, FILE *out)
{
    for (uint32_t i = 0; i < qgc_op_num_results(op); i++)
        fprintf(out, "Result `%s`%s: %s%s%s.\n", op->results[i].name,
                op->results[i].variadic ? " (any number)" : "", op->results[i].summary,
                op->results[i].quant ? "; quantized as " : "", quant_text(op->results[i].quant));
    if (op->results[0].name)
        fputc('\n', out);
}

static void write_rules(const char *rules, FILE *out)
{
    for (const char *line = rules; line && *line;) {
        size_t size = strcspn(line, "\n");
        fprintf(out, "- %.*s\n", (int)size, line);
        line += size + (line[size] == '\n');
    }
    if (rules)
        fputc('\n', out);
}

static void write_traits(uint32_t traits, FILE *out)
{
    static const char *const names[] = {"constant",          "terminator",      "commutative",
                                        "quantization step", "moves data only", "elementwise",
                                        "calls a function",  "observer"};
    const char *separator = "Traits: ";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (traits >> i & 1) {
            fprintf(out, "%s%s", separator, names[i]);
            separator = ", ";
        }
    if (traits)
        fputs(".\n\n", out);
}

static void write_op(const qgc_op_info *op, FILE *out)
{
    qgc_arena arena = {0};
    fprintf(out, "### `%s`\n\n%s\n\n", op->mnemonic, op->summary);
    if (op->detail)
        fprintf(out, "%s\n\n", op->detail);
    if (op->example)
        fprintf(out, "```qir fragment\n%s\n```\n\n", op->example);
    write_operands(op, &arena, out);
    write_attrs(op, out);
    write_results(op, out);
    write_rules(op->rules, out);
    write_traits(op->traits, out);
    qgc_arena_destroy(&arena);
}

static void write_ops(FILE *out)
{
    fprintf(out, "# Ops\n\nMade by `qgc docs ops` from `ir/ops/*.def`. %d ops.\n", QGC_NUM_OPS);
    const char *family = "";
    for (int i = 0; i < QGC_NUM_OPS; i++) {
        const qgc_op_info *op = qgc_op((qgc_opcode)i);
        if (strcmp(family, op->family) != 0)
            fprintf(out, "\n## %s\n\n", family = op->family);
        write_op(op, out);
    }
}

/* Two blocks: each is a text of its own (test/docs/ checks them). */
static void write_before_and_after(const char *example, FILE *out)
{
    static const char separator[] = "\n// becomes\n";
    const char *middle = strstr(example, separator);
    int size = middle ? (int)(middle - example) : (int)strlen(example);
    fprintf(out, "```qir fragment\n%.*s\n```\n\n", size, example);
    if (middle)
        fprintf(out, "becomes\n\n```qir fragment\n%s\n```\n\n", middle + sizeof separator - 1);
}

static void write_pass(const qgc_pass_info *pass, FILE *out)
{
    fprintf(out, "## `%s`\n\n%s\n\n", pass->name, pass->summary);
    if (pass->detail)
        fprintf(out, "%s\n\n", pass->detail);
    fputs("Runs on form: ", out);
    const char *separator = "";
    for (int i = 0; i < QGC_NUM_FORMS; i++)
        if (pass->requires >> i & 1) {
            fprintf(out, "%s%s", separator, qgc_form_name((qgc_form)i));
            separator = ", ";
        }
    fprintf(out, ". Gives form: %s.\n\n",
            pass->provides < 0 ? "the same" : qgc_form_name((qgc_form)pass->provides));
    if (pass->options[0].name)
        fputs("| option | default | |\n|---|---|---|\n", out);
    for (int i = 0; i < QGC_MAX_PASS_OPTIONS && pass->options[i].name; i++)
        fprintf(out, "| `%s` | %s | %s |\n", pass->options[i].name, pass->options[i].default_text,
                pass->options[i].summary);
    if (pass->options[0].name)
        fputc('\n', out);
    if (pass->example)
        write_before_and_after(pass->example, out);
}

static void write_passes(FILE *out)
{
    fprintf(out, "# Passes\n\nMade by `qgc docs passes` from `passes/passes.def`.\n\n");
    for (size_t i = 0; i < qgc_num_passes(); i++)
        write_pass(qgc_pass_at(i), out);
}

static void write_diagnostics(FILE *out)
{
    fprintf(out, "# Diagnostics\n\nMade by `qgc docs diagnostics` from `include/qgc/diags.def`. "
                 "Codes never change meaning.\n\n| code | title | |\n|---|---|---|\n");
    for (int i = 0; i < QGC_NUM_DIAGS; i++)
        fprintf(out, "| %s | %s | %s |\n", qgc_diag_code((qgc_diag_id)i),
                qgc_diag_title((qgc_diag_id)i), qgc_diag_text((qgc_diag_id)i));
}

static const struct {
    const char *name;
    void (*write)(FILE *out);
} pages[] = {{"ops", write_ops}, {"passes", write_passes}, {"diagnostics", write_diagnostics}};

const char *qgc_docs_page(size_t index)
{
    return index < sizeof pages / sizeof *pages ? pages[index].name : NULL;
}

qgc_result qgc_docs_write(const char *page, FILE *out)
{
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (strcmp(pages[i].name, page) != 0)
            continue;
        pages[i].write(out);
        return QGC_OK;
    }
    return QGC_FAILED;
}

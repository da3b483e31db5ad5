/* Graph -> text. What is printed here parses back to the same graph, and prints the same again. */
#include "ir/graph.h"

static void print_names(qgc_text *out, const qgc_value *values, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++) {
        if (i)
            qgc_text_puts(out, ", ");
        qgc_value_name_print(out, values[i].name);
    }
}

static void print_operand(qgc_text *out, const qgc_use *use)
{
    if (use->value)
        qgc_value_name_print(out, use->value->name);
    else
        qgc_text_putc(out, '_');
}

/* Absent operands at the end of the row are not written. */
static uint32_t written_rows(const qgc_node *node, const qgc_op_info *op)
{
    uint32_t rows = qgc_op_num_operands(op);
    while (rows) {
        uint32_t begin;
        qgc_node_operand_range(node, rows - 1, &begin);
        if (op->operands[rows - 1].arity != QGC_OPTIONAL || node->operands[begin].value)
            break;
        rows--;
    }
    return rows;
}

/* call and return list their only group bare. */
static bool is_bare_group(const qgc_op_info *op)
{
    return op->operands[0].arity == QGC_VARIADIC &&
           op->traits & (QGC_TRAIT_CALL | QGC_TRAIT_TERMINATOR);
}

static void print_operands(qgc_text *out, const qgc_node *node, const qgc_op_info *op)
{
    uint32_t rows = written_rows(node, op);
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t begin, num = qgc_node_operand_range(node, row, &begin);
        bool brackets = op->operands[row].arity == QGC_VARIADIC && !is_bare_group(op);
        if (num || brackets)
            qgc_text_puts(out, row ? ", " : " ");
        qgc_text_puts(out, brackets ? "[" : "");
        for (uint32_t i = 0; i < num; i++) {
            qgc_text_puts(out, i ? ", " : "");
            print_operand(out, &node->operands[begin + i]);
        }
        qgc_text_puts(out, brackets ? "]" : "");
    }
}

static void print_heads(qgc_text *out, const qgc_node *node, const qgc_op_info *op)
{
    for (uint32_t i = 0; i < qgc_op_num_attrs(op); i++) {
        if (!op->attrs[i].positional || node->attrs[i].kind == QGC_ATTR_NONE)
            continue;
        qgc_text_putc(out, ' ');
        qgc_attr_print(out, &node->attrs[i]);
    }
}

static void print_named(qgc_text *out, const char *name, const qgc_attr *value, bool *any)
{
    qgc_text_puts(out, *any ? ", " : " {");
    qgc_text_puts(out, name);
    qgc_text_puts(out, " = ");
    qgc_attr_print(out, value);
    *any = true;
}

static void print_attrs(qgc_text *out, const qgc_node *node, const qgc_op_info *op)
{
    bool any = false;
    for (uint32_t i = 0; i < qgc_op_num_attrs(op); i++)
        if (!op->attrs[i].positional && node->attrs[i].kind != QGC_ATTR_NONE)
            print_named(out, op->attrs[i].name, &node->attrs[i], &any);
    for (uint32_t i = 0; i < node->num_extra; i++)
        print_named(out, node->extra[i].name->data, &node->extra[i].value, &any);
    qgc_text_puts(out, any ? "}" : "");
}

void qgc_node_print(const qgc_node *node, qgc_text *out)
{
    const qgc_op_info *op = qgc_op(node->op);
    print_names(out, node->results, node->num_results);
    qgc_text_puts(out, node->num_results ? " = " : "");
    qgc_text_puts(out, op->mnemonic);
    print_heads(out, node, op);
    print_operands(out, node, op);
    print_attrs(out, node, op);
    for (uint32_t i = 0; i < node->num_results; i++) {
        qgc_text_puts(out, i ? ", " : " : ");
        if (node->results[i].type)
            qgc_type_print(out, node->results[i].type);
        else
            qgc_text_putc(out, '?');
    }
    if (node->scope) {
        qgc_text_puts(out, " @");
        qgc_text_put_quoted(out, qgc_name_str(node->scope));
    }
}

void qgc_func_print_head(const qgc_func *func, qgc_text *out)
{
    qgc_text_puts(out, "func ");
    qgc_func_name_print(out, func->name);
    qgc_text_putc(out, '(');
    for (uint32_t i = 0; i < func->num_params; i++) {
        qgc_text_puts(out, i ? ", " : "");
        qgc_value_name_print(out, func->params[i].name);
        qgc_text_puts(out, ": ");
        qgc_type_print(out, func->params[i].type);
    }
    qgc_text_puts(out, ") -> (");
    for (uint32_t i = 0; i < func->num_results; i++) {
        qgc_text_puts(out, i ? ", " : "");
        qgc_type_print(out, func->result_types[i]);
    }
    qgc_text_putc(out, ')');
    if (func->target) {
        qgc_text_puts(out, " target(");
        qgc_text_put_quoted(out, qgc_name_str(func->target));
        qgc_text_putc(out, ')');
    }
}

static void print_func(qgc_text *out, const qgc_func *func)
{
    qgc_func_print_head(func, out);
    qgc_text_puts(out, " {\n");
    QGC_EACH_NODE (node, func) {
        qgc_text_puts(out, "  ");
        qgc_node_print(node, out);
        qgc_text_putc(out, '\n');
    }
    qgc_text_puts(out, "}\n");
}

static void print_site(qgc_text *out, qgc_name func, qgc_name value)
{
    qgc_func_name_print(out, func);
    qgc_text_putc(out, '.');
    qgc_value_name_print(out, value);
}

static void print_record(qgc_text *out, const qgc_record *record)
{
    if (record->value) {
        qgc_text_puts(out, "stats ");
        print_site(out, record->func, record->value);
        if (record->site) {
            qgc_text_puts(out, " at ");
            qgc_value_name_print(out, record->site);
        }
        qgc_text_putc(out, ' ');
    } else {
        qgc_text_puts(out, "provenance ");
    }
    qgc_attr_print(out, &record->fields);
    qgc_text_putc(out, '\n');
}

void qgc_module_print_sealed(const qgc_module *module, qgc_text *out)
{
    for (size_t i = 0; i < module->provenance.size; i++) {
        const qgc_attr *fields = &module->provenance.data[i].fields;
        for (uint32_t k = 0; k < fields->num; k++) {
            if (qgc_str_equal(qgc_name_str(fields->map[k].name), qgc_str_from("seal")))
                continue;
            qgc_text_puts(out, fields->map[k].name->data);
            qgc_text_puts(out, " = ");
            qgc_attr_print(out, &fields->map[k].value);
            qgc_text_putc(out, '\n');
        }
    }
    for (size_t i = 0; i < module->stats.size; i++)
        print_record(out, &module->stats.data[i]);
}

static void print_weights(qgc_text *out, const qgc_weights_file *file)
{
    qgc_text_puts(out, file->path ? "weights " : "weights self ");
    qgc_text_put_quoted(out, qgc_name_str(file->path ? file->path : file->hash));
    qgc_text_putc(out, '\n');
}

void qgc_module_print(qgc_module *module, qgc_text *out)
{
    if (module->form != QGC_FORM_FLOAT)
        qgc_text_printf(out, "form %s\n", qgc_form_name(module->form));
    for (size_t i = 0; i < module->weights.size; i++)
        print_weights(out, &module->weights.data[i]);
    for (size_t i = 0; i < module->provenance.size; i++)
        print_record(out, &module->provenance.data[i]);
    QGC_EACH_FUNC (func, module) {
        if (out->size)
            qgc_text_putc(out, '\n');
        print_func(out, func);
    }
    if (module->stats.size)
        qgc_text_putc(out, '\n');
    for (size_t i = 0; i < module->stats.size; i++)
        print_record(out, &module->stats.data[i]);
}

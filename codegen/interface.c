#include "codegen/interface.h"

#include "base/number.h"
#include "ir/view.h"

#include <string.h>

/* ---- names ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Letters, digits, and one underscore for whatever stands between them. */
static qgc_str sanitize(qgc_arena *arena, qgc_str name)
{
    qgc_text text = {.arena = arena};
    for (size_t i = 0; i < name.size; i++)
        if (is_word(name.data[i])) {
            bool is_apart = i && !is_word(name.data[i - 1]) && text.size;
            if (is_apart)
                qgc_text_putc(&text, '_');
            qgc_text_putc(&text, name.data[i]);
        }
    if (!text.size)
        qgc_text_putc(&text, 'x');
    return qgc_text_str(&text);
}

static const char *capitals(qgc_arena *arena, const char *name)
{
    char *copy = qgc_arena_strdup(arena, qgc_str_from(name));
    for (char *c = copy; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    return copy;
}

/* A function's own name and those of its query functions. */
static const char *const suffixes[] = {
    "", "_arena_bytes", "_num_inputs", "_num_outputs", "_input_bytes", "_output_bytes"};
enum { NUM_SUFFIXES = sizeof suffixes / sizeof *suffixes };

static qgc_str with_suffix(qgc_interface *in, const char *name, size_t suffix)
{
    const char *full = qgc_arena_printf(in->arena, "%s%s", name, suffixes[suffix]);
    return qgc_str_from(capitals(in->arena, full));
}

static bool is_free(qgc_interface *in, const char *name)
{
    for (size_t i = 0; i < NUM_SUFFIXES; i++)
        if (qgc_intern_find(&in->taken, with_suffix(in, name, i)))
            return false;
    return true;
}

/* |name|, numbered where its capitals are taken. */
static const char *make_unique(qgc_interface *in, const char *name, const char **out_macro)
{
    const char *unique = name;
    for (uint32_t i = 2; !is_free(in, unique); i++)
        unique = qgc_arena_printf(in->arena, "%s_%u", name, i);
    for (size_t i = 0; i < NUM_SUFFIXES; i++)
        qgc_intern(&in->taken, with_suffix(in, unique, i));
    *out_macro = capitals(in->arena, unique);
    return unique;
}

void qgc_interface_init(qgc_interface *interface, qgc_arena *arena, qgc_str name,
                        const char *source, const char *cpu)
{
    qgc_str prefix = sanitize(arena, name);
    bool is_number = prefix.data[0] >= '0' && prefix.data[0] <= '9';
    *interface = (qgc_interface){.arena = arena,
                                 .prefix = is_number ? qgc_arena_printf(arena, "x%s", prefix.data)
                                                     : prefix.data,
                                 .source = source,
                                 .cpu = cpu,
                                 .taken = {.arena = arena}};
}

static qgc_port make_port(qgc_interface *in, const qgc_entry *entry, const qgc_buffer *buffer,
                          const char *direction)
{
    qgc_str name = sanitize(in->arena, qgc_name_str(buffer->value->name));
    qgc_port port = {.value = buffer->value, .bytes = buffer->bytes};
    size_t prefix = strlen(entry->symbol) + 1;
    const char *full = qgc_arena_printf(in->arena, "%s_%s_%s", entry->symbol, direction, name.data);
    port.name = make_unique(in, full, &port.macro) + prefix;
    return port;
}

void qgc_interface_add(qgc_interface *interface, const qgc_plan *plan)
{
    qgc_arena *arena = interface->arena;
    const qgc_func *func = plan->func;
    qgc_str name = sanitize(arena, qgc_name_str(func->name));
    qgc_entry entry = {.plan = plan,
                       .num_inputs = func->num_params,
                       .num_outputs = func->num_results,
                       .inputs = QGC_NEW_ARRAY(arena, qgc_port, func->num_params),
                       .outputs = QGC_NEW_ARRAY(arena, qgc_port, func->num_results)};
    const char *symbol = qgc_arena_printf(arena, "%s_%s", interface->prefix, name.data);
    entry.symbol = make_unique(interface, symbol, &entry.macro);
    for (uint32_t i = 0; i < entry.num_inputs; i++)
        entry.inputs[i] = make_port(interface, &entry, plan->params[i], "in");
    for (uint32_t i = 0; i < entry.num_outputs; i++)
        entry.outputs[i] = make_port(interface, &entry, plan->results[i], "out");
    qgc_vec_push(arena, &interface->entries, entry);
}

void qgc_interface_print_symbols(const qgc_entry *entry, qgc_text *out)
{
    for (size_t i = 0; i < NUM_SUFFIXES; i++)
        qgc_text_printf(out, "%s%s; ", entry->symbol, suffixes[i]);
}

/* ---- the header ---- */

static const char *c_type(qgc_dtype dtype)
{
    static const char *const types[] = {
        [QGC_DTYPE_F32] = "float",    [QGC_DTYPE_F16] = "uint16_t", [QGC_DTYPE_BF16] = "uint16_t",
        [QGC_DTYPE_F64] = "double",   [QGC_DTYPE_I8] = "int8_t",    [QGC_DTYPE_U8] = "uint8_t",
        [QGC_DTYPE_I16] = "int16_t",  [QGC_DTYPE_U16] = "uint16_t", [QGC_DTYPE_I32] = "int32_t",
        [QGC_DTYPE_U32] = "uint32_t", [QGC_DTYPE_I64] = "int64_t",  [QGC_DTYPE_U64] = "uint64_t",
        [QGC_DTYPE_BOOL] = "uint8_t",
    };
    return types[dtype];
}

/* The step of quantization beside a value, on its other side: where the grid is known. */
static const qgc_node *find_step(const qgc_value *value)
{
    const qgc_node *def = value->def;
    if (def && (def->op == QGC_OP_QUANTIZE || def->op == QGC_OP_DEQUANTIZE))
        return def;
    if (def || value->num_uses != 1)
        return NULL;
    const qgc_node *user = value->first_use->user;
    bool is_step = user->op == QGC_OP_QUANTIZE || user->op == QGC_OP_DEQUANTIZE;
    return is_step && qgc_node_operand(user, 0) == value ? user : NULL;
}

static void print_scale(const qgc_port *port, qgc_text *out)
{
    const qgc_node *step = find_step(port->value);
    char number[QGC_NUMBER_CHARS];
    if (!step || !qgc_node_has(step, "scale") || qgc_node_operand(step, 2))
        return;
    qgc_print_f32(number, qgc_node_float(step, "scale"));
    qgc_text_printf(out, "#define %s_SCALE %sf\n", port->macro, number);
    qgc_text_printf(out, "#define %s_ZERO_POINT %lld\n", port->macro,
                    (long long)qgc_node_int(step, "zero_point"));
}

static void print_port(const qgc_port *port, qgc_text *out)
{
    const qgc_type *type = port->value->type;
    size_t element = qgc_dtype_bytes(type->dtype);
    qgc_text_printf(out, "#define %s_DTYPE \"%s\"\n", port->macro, qgc_dtype_name(type->dtype));
    qgc_text_printf(out, "#define %s_RANK %u\n", port->macro, type->rank);
    if (type->rank) {
        qgc_text_printf(out, "#define %s_SHAPE {", port->macro);
        for (uint32_t i = 0; i < type->rank; i++)
            qgc_text_printf(out, "%s%lld", i ? ", " : "", (long long)type->dims[i].value);
        qgc_text_puts(out, "}\n");
    }
    qgc_text_printf(out, "#define %s_NUM %zu\n", port->macro, port->bytes / element);
    qgc_text_printf(out, "#define %s_BYTES %zu\n", port->macro, port->bytes);
    print_scale(port, out);
}

/* Names come from files: nothing in them ends the comment, or continues a line. */
static void print_comment_text(const char *text, qgc_text *out)
{
    for (; *text; text++)
        qgc_text_putc(out,
                      *text < ' ' || *text == '*' || *text == '\\' || *text == 0x7f ? '?' : *text);
}

static void print_types(const qgc_port *ports, uint32_t num, qgc_arena *arena, qgc_text *out)
{
    for (uint32_t i = 0; i < num; i++)
        qgc_text_printf(out, "%s%s", i ? ", " : "", qgc_type_str(arena, ports[i].value->type));
}

static void print_declaration(const qgc_entry *entry, qgc_text *out)
{
    qgc_text_printf(out, "int %s(", entry->symbol);
    for (uint32_t i = 0; i < entry->num_inputs; i++)
        qgc_text_printf(out, "const %s *%s, ", c_type(entry->inputs[i].value->type->dtype),
                        entry->inputs[i].name);
    for (uint32_t i = 0; i < entry->num_outputs; i++)
        qgc_text_printf(out, "%s *%s, ", c_type(entry->outputs[i].value->type->dtype),
                        entry->outputs[i].name);
    qgc_text_puts(out, "void *arena);\n");
    static const char *const params[] = {"",     "void",         "void",
                                         "void", "size_t index", "size_t index"};
    for (size_t i = 1; i < NUM_SUFFIXES; i++)
        qgc_text_printf(out, "size_t %s%s(%s);\n", entry->symbol, suffixes[i], params[i]);
}

static void print_entry(const qgc_interface *in, const qgc_entry *entry, qgc_text *out)
{
    qgc_text_puts(out, "\n/* @");
    print_comment_text(entry->plan->func->name->data, out);
    qgc_text_puts(out, ": (");
    print_types(entry->inputs, entry->num_inputs, in->arena, out);
    qgc_text_puts(out, ") -> (");
    print_types(entry->outputs, entry->num_outputs, in->arena, out);
    qgc_text_puts(out, ") */\n");
    for (uint32_t i = 0; i < entry->num_inputs; i++)
        print_port(&entry->inputs[i], out);
    for (uint32_t i = 0; i < entry->num_outputs; i++)
        print_port(&entry->outputs[i], out);
    qgc_text_printf(out, "#define %s_ARENA_BYTES %zu\n", entry->macro, entry->plan->arena_bytes);
    print_declaration(entry, out);
}

static const char explanation[] =
    "\n"
    " *\n"
    " * A function computes its results from its inputs: dense row-major tensors, f16 and bf16 as "
    "bits,\n"
    " * bool as one byte, 0 or 1. |arena|: NAME_ARENA_BYTES bytes at a multiple of %s_ARENA_ALIGN, "
    "what\n"
    " * the function works in; calls at the same time need an arena each. Inputs and results may "
    "be the\n"
    " * same memory, but not in the arena. Returns 0; 1 where the arena is NULL or not "
    "aligned,\n"
    " * 2 where an index is out of range: no results are written then.\n"
    " * Nothing else is allocated or kept, and the rounding mode of the caller does not matter.\n"
    " *\n"
    " * SCALE and ZERO_POINT: a real number is SCALE * (integer - ZERO_POINT); of a float tensor, "
    "of the\n"
    " * integers that it is made from or becomes. input_bytes, output_bytes: 0 behind the last. "
    "*/\n";

void qgc_interface_print(const qgc_interface *interface, qgc_text *out)
{
    const char *macro = capitals(interface->arena, interface->prefix);
    qgc_text_puts(out, "/* Made by qgc from ");
    print_comment_text(interface->source, out);
    qgc_text_printf(out, " for %s: do not edit.", interface->cpu);
    qgc_text_printf(out, explanation, macro);
    qgc_text_printf(out, "#ifndef %s_H\n#define %s_H\n\n", macro, macro);
    qgc_text_puts(out, "#include <stddef.h>\n#include <stdint.h>\n\n"
                       "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    qgc_text_printf(out, "#define %s_CPU \"%s\"\n#define %s_ARENA_ALIGN 64\n", macro,
                    interface->cpu, macro);
    for (size_t i = 0; i < interface->entries.size; i++)
        print_entry(interface, &interface->entries.data[i], out);
    qgc_text_puts(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

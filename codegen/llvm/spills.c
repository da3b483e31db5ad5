/* Reads machine code: does a function store vectors to its stack, and does it matter? Asked only of
 * functions whose frames are large enough for one; saved registers and spilled addresses make
 * others as large. */
#include "codegen/llvm/object.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Object.h>
#include <llvm-c/Target.h>

#include <stdlib.h>
#include <string.h>

/* A function in the object, and how its instructions are read. */
typedef struct code {
    const qgc_level *level;
    LLVMDisasmContextRef disassembler;
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
} code;

/* What an instruction is to us. */
typedef struct instruction {
    bool stores, adds; /* a vector to the stack; products to sums */
    size_t at, target; /* in the function; of a jump back, else SIZE_MAX */
} instruction;
typedef QGC_VEC(instruction) instructions;

static bool contains(LLVMSymbolIteratorRef symbol, const char *name)
{
    const char *found = LLVMGetSymbolName(symbol);
    return found && strcmp(found, name) == 0;
}

static bool find_function(LLVMBinaryRef binary, const char *name, code *out)
{
    LLVMSymbolIteratorRef symbol = LLVMObjectFileCopySymbolIterator(binary);
    LLVMSectionIteratorRef section = LLVMObjectFileCopySectionIterator(binary);
    while (!LLVMObjectFileIsSymbolIteratorAtEnd(binary, symbol) && !contains(symbol, name))
        LLVMMoveToNextSymbol(symbol);
    bool is_there = !LLVMObjectFileIsSymbolIteratorAtEnd(binary, symbol);
    if (is_there) {
        LLVMMoveToContainingSection(section, symbol);
        uint64_t begin = LLVMGetSectionAddress(section), at = LLVMGetSymbolAddress(symbol);
        out->bytes = (const uint8_t *)LLVMGetSectionContents(section) + (at - begin);
        out->size = LLVMGetSymbolSize(symbol);
        out->address = at;
    }
    LLVMDisposeSectionIterator(section);
    LLVMDisposeSymbolIterator(symbol);
    return is_there;
}

/* "vmovups %zmm1, 64(%rsp)", "str q1, [sp, #16]", but not "vmovss %xmm1, 4(%rsp)": at the stack
 * pointer, by which LLVM addresses what it spills. */
static bool is_spill(const qgc_level *level, const char *text)
{
    text += strspn(text, " \t");
    size_t mnemonic = strcspn(text, " \t");
    const char *operands = text + mnemonic + strspn(text + mnemonic, " \t");
    if (level->arch == QGC_ARCH_AARCH64)
        return strncmp(text, "st", 2) == 0 && operands[0] == 'q' && strstr(operands, "[sp");
    static const char *const scalars[] = {"ss", "sd", "vd", "vq"}; /* how their moves end */
    size_t size = strlen(operands);
    bool is_vector = size > 6 && operands[0] == '%' && strncmp(operands + 2, "mm", 2) == 0;
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars && mnemonic >= 2; i++)
        if (memcmp(text + mnemonic - 2, scalars[i], 2) == 0)
            is_vector = false;
    return is_vector && strcmp(operands + size - 6, "(%rsp)") == 0;
}

/* "vpdpbusd %zmm1, ...", "sdot v0.4s, ..." */
static bool is_sum(const char *mnemonic)
{
    static const char *const sums[] = {"vpdp", "{vex}\tvpdp", "sdot", "usdot"};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (strncmp(mnemonic, sums[i], strlen(sums[i])) == 0)
            return true;
    return false;
}

/* "jl -16", from the next instruction on; "b.ne #-64", from this one on. */
static size_t find_target(const qgc_level *level, const char *text, size_t at, size_t next)
{
    bool is_arm = level->arch == QGC_ARCH_AARCH64;
    const char *distance = strstr(text, is_arm ? "#-" : "-");
    bool jumps = is_arm ? strncmp(text, "b.", 2) == 0 || strncmp(text, "b\t", 2) == 0 ||
                              strncmp(text, "cb", 2) == 0 || strncmp(text, "tb", 2) == 0
                        : text[0] == 'j';
    if (!jumps || !distance)
        return SIZE_MAX;
    size_t back = strtoul(distance + 1 + is_arm, NULL, 10), from = is_arm ? at : next;
    return back <= from ? from - back : SIZE_MAX;
}

static void read_all(const code *c, qgc_arena *arena, instructions *out)
{
    char text[256];
    for (size_t at = 0, used; at < c->size; at += used) {
        /* It takes bytes that it does not change. */
        used = LLVMDisasmInstruction(c->disassembler, (uint8_t *)(uintptr_t)(c->bytes + at),
                                     c->size - at, c->address + at, text, sizeof text);
        const char *start = text + strspn(text, " \t");
        if (!used) {
            used = 1;
            continue;
        }
        instruction i = {is_spill(c->level, start), is_sum(start), at,
                         find_target(c->level, start, at, at + used)};
        if (i.stores || i.adds || i.target != SIZE_MAX)
            qgc_vec_push(arena, out, i);
    }
}

/* No other loop lies within. */
static bool is_innermost(const instructions *all, const instruction *end)
{
    for (size_t i = 0; i < all->size; i++) {
        const instruction *other = &all->data[i];
        if (other != end && other->target != SIZE_MAX && other->target >= end->target &&
            other->at <= end->at)
            return false;
    }
    return true;
}

/* A store for every so many dot products of its loop, and what it costs can be measured. */
enum { FEW = 16 };

static bool is_costly(const instructions *all, const instruction *end)
{
    size_t stores = 0, sums = 0;
    if (end->target == SIZE_MAX || !is_innermost(all, end))
        return false;
    for (size_t i = 0; i < all->size; i++)
        if (all->data[i].at >= end->target && all->data[i].at <= end->at) {
            stores += all->data[i].stores;
            sums += all->data[i].adds;
        }
    return sums && FEW * stores > sums;
}

static void look(const code *c, qgc_spill *out)
{
    qgc_arena scratch = {0};
    instructions all = {0};
    read_all(c, &scratch, &all);
    for (size_t i = 0; i < all.size; i++) {
        out->stores += all.data[i].stores;
        if (is_costly(&all, &all.data[i]))
            out->is_costly = true;
    }
    qgc_arena_destroy(&scratch);
}

void qgc_look_for_spills(const qgc_level *level, qgc_str object, const char *const *functions,
                         size_t num, qgc_spill *out)
{
    char *message = NULL;
    code c = {.level = level};
    LLVMInitializeX86Disassembler();
    LLVMInitializeAArch64Disassembler();
    c.disassembler = LLVMCreateDisasmCPUFeatures(level->triple, level->llvm_cpu, level->features,
                                                 NULL, 0, NULL, NULL);
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRange(object.data, object.size, "object", false);
    LLVMBinaryRef binary = LLVMCreateBinary(buffer, NULL, &message);
    for (size_t i = 0; binary && c.disassembler && i < num; i++)
        if (find_function(binary, functions[i], &c))
            look(&c, &out[i]);
    if (binary)
        LLVMDisposeBinary(binary);
    if (c.disassembler)
        LLVMDisasmDispose(c.disassembler);
    LLVMDisposeMessage(message);
    LLVMDisposeMemoryBuffer(buffer);
}

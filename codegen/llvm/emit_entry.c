#include "codegen/llvm/emit_entry.h"

#include "codegen/planner.h"

#include <string.h>

typedef struct entry {
    qgc_emitter *e;
    const qgc_plan *plan;
    const char *symbol;
    LLVMValueRef arena;
    qgc_map globals;         /* data -> its constant */
    LLVMValueRef *functions; /* of steps */
    LLVMValueRef in, out;    /* arrays of addresses that kernels take */
    LLVMValueRef state;      /* of floating point, which the caller gets back */
} entry;

static LLVMValueRef internal(LLVMValueRef function)
{
    LLVMSetLinkage(function, LLVMInternalLinkage);
    return function;
}

/* ---- constants ---- */

static LLVMValueRef add_constant(qgc_emitter *e, const char *name, LLVMValueRef value)
{
    LLVMValueRef global = LLVMAddGlobal(e->module, LLVMTypeOf(value), name);
    LLVMSetInitializer(global, value);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(global, QGC_VECTOR_BYTES);
    return global;
}

static LLVMValueRef emit_data(entry *n, const void *data, size_t bytes)
{
    qgc_emitter *e = n->e;
    if (!bytes)
        return LLVMConstNull(e->ptr);
    void **global = qgc_map_at(&n->globals, data);
    if (!*global)
        *global = add_constant(
            e, "data", LLVMConstStringInContext2(e->context, data, bytes, /* no NUL */ true));
    return *global;
}

static size_t constant_bytes(const qgc_plan *plan, const void *data)
{
    for (size_t i = 0; i < plan->constants.size; i++)
        if (plan->constants.data[i].data == data)
            return plan->constants.data[i].bytes;
    QGC_ASSERT(false, "a constant of @%s is not from qgc_planner_constant", plan->func->name->data);
    return 0;
}

/* The array of a kernel's constants. */
static LLVMValueRef emit_constants(entry *n, const qgc_kernel *kernel)
{
    qgc_emitter *e = n->e;
    qgc_arena scratch = {0};
    LLVMValueRef *all = QGC_NEW_ARRAY(&scratch, LLVMValueRef, kernel->num_constants);
    for (uint32_t i = 0; i < kernel->num_constants; i++) {
        const void *data = kernel->constants[i];
        all[i] = data ? emit_data(n, data, constant_bytes(n->plan, data)) : LLVMConstNull(e->ptr);
    }
    LLVMValueRef array =
        kernel->num_constants
            ? add_constant(e, "constants", LLVMConstArray2(e->ptr, all, kernel->num_constants))
            : LLVMConstNull(e->ptr);
    qgc_arena_destroy(&scratch);
    return array;
}

/* ---- the caller's floating-point state ---- */

/* Rounding to nearest, subnormals kept, whatever the caller has set. Returns what it was. */
static LLVMValueRef emit_enter(qgc_emitter *e)
{
    if (e->level->arch == QGC_ARCH_AARCH64) {
        LLVMValueRef old = qgc_emit_intrinsic(e, "llvm.aarch64.get.fpcr", NULL, 0, NULL, 0);
        LLVMValueRef standard = qgc_emit_i64(e, 0);
        qgc_emit_intrinsic(e, "llvm.aarch64.set.fpcr", NULL, 0, &standard, 1);
        return old;
    }
    enum { MXCSR_STANDARD = 0x1f80 };
    LLVMValueRef words[] = {LLVMBuildAlloca(e->builder, e->i32, ""),
                            LLVMBuildAlloca(e->builder, e->i32, "")};
    qgc_emit_intrinsic(e, "llvm.x86.sse.stmxcsr", NULL, 0, &words[0], 1);
    qgc_emit_store(e, qgc_emit_i32(e, MXCSR_STANDARD), words[1], 4);
    qgc_emit_intrinsic(e, "llvm.x86.sse.ldmxcsr", NULL, 0, &words[1], 1);
    return words[0];
}

static void emit_leave(qgc_emitter *e, LLVMValueRef old)
{
    bool is_arm = e->level->arch == QGC_ARCH_AARCH64;
    qgc_emit_intrinsic(e, is_arm ? "llvm.aarch64.set.fpcr" : "llvm.x86.sse.ldmxcsr", NULL, 0, &old,
                       1);
}

/* ---- steps ---- */

static LLVMValueRef address_of(entry *n, const qgc_buffer *buffer)
{
    if (!buffer)
        return LLVMConstNull(n->e->ptr);
    if (buffer->data)
        return emit_data(n, buffer->data, buffer->bytes);
    return qgc_emit_at_const(n->e, n->arena, (int64_t)buffer->offset);
}

static void emit_call(qgc_emitter *e, LLVMValueRef function, LLVMValueRef *args, unsigned num)
{
    LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(function), function, args, num, "");
}

static void store_addresses(entry *n, LLVMValueRef array, qgc_buffer *const *buffers, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++) {
        LLVMValueRef at = qgc_emit_at_const(n->e, array, (int64_t)(i * sizeof(void *)));
        qgc_emit_store(n->e, address_of(n, buffers[i]), at, sizeof(void *));
    }
}

/* return 2 where the step failed */
static void emit_failure(entry *n, const qgc_step *step)
{
    qgc_emitter *e = n->e;
    LLVMValueRef mark = address_of(n, step->outputs[step->num_outputs - 1]);
    LLVMValueRef place = qgc_emit_load(e, e->i64, mark, 8);
    LLVMBasicBlockRef failed = LLVMAppendBasicBlockInContext(e->context, e->function, "failed");
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(e->context, e->function, "next");
    LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntNE, place, qgc_emit_i64(e, 0), ""),
                    failed, next);
    LLVMPositionBuilderAtEnd(e->builder, failed);
    emit_leave(e, n->state);
    LLVMBuildRet(e->builder, qgc_emit_i32(e, 2));
    LLVMPositionBuilderAtEnd(e->builder, next);
}

static void emit_kernel(entry *n, const qgc_step *step, LLVMValueRef function)
{
    qgc_emitter *e = n->e;
    if (step->kernel->units <= 0)
        return;
    store_addresses(n, n->in, step->inputs, step->num_inputs);
    store_addresses(n, n->out, step->outputs, step->num_outputs);
    LLVMValueRef args[] = {n->in, n->out, emit_constants(n, step->kernel), qgc_emit_i64(e, 0),
                           qgc_emit_i64(e, step->kernel->units)};
    emit_call(e, function, args, 5);
    if (step->can_fail)
        emit_failure(n, step);
}

static void emit_step(entry *n, const qgc_step *step, LLVMValueRef function)
{
    LLVMValueRef args[2] = {0};
    switch (step->kind) {
    case QGC_STEP_REF:
        QGC_ASSERT(false, "%s in an object", qgc_op(step->node->op)->mnemonic);
        return;
    case QGC_STEP_FORM:
        args[0] = address_of(n, step->outputs[0]);
        args[1] = address_of(n, step->inputs[0]);
        emit_call(n->e, function, args, 2);
        return;
    case QGC_STEP_BORDER:
        args[0] = address_of(n, step->outputs[0]);
        emit_call(n->e, function, args, 1);
        return;
    case QGC_STEP_KERNEL:
        emit_kernel(n, step, function);
        return;
    }
}

static void emit_step_functions(entry *n)
{
    qgc_emit_kernels(n->e, n->plan, n->functions);
    for (size_t i = 0; i < n->plan->steps.size; i++) {
        const qgc_step *step = n->plan->steps.data[i];
        if (step->kind == QGC_STEP_FORM)
            n->functions[i] = qgc_emit_form(n->e, "form", step->inputs[0], step->outputs[0]);
        if (step->kind == QGC_STEP_BORDER)
            n->functions[i] = qgc_emit_border(n->e, "border", step->outputs[0]);
        if (n->functions[i])
            internal(n->functions[i]);
    }
}

/* ---- the function ---- */

static void begin_function(entry *n, const qgc_entry *entry)
{
    qgc_emitter *e = n->e;
    qgc_arena scratch = {0};
    uint32_t num = entry->num_inputs + entry->num_outputs + 1;
    LLVMTypeRef *params = QGC_NEW_ARRAY(&scratch, LLVMTypeRef, num);
    for (uint32_t i = 0; i < num; i++)
        params[i] = e->ptr;
    qgc_emit_function_of(e, entry->symbol, LLVMFunctionType(e->i32, params, num, false));
    n->arena = qgc_emit_param(e, num - 1);
    qgc_arena_destroy(&scratch);
}

/* return 1 where the arena is NULL or not aligned */
static void emit_check(entry *n)
{
    qgc_emitter *e = n->e;
    if (!n->plan->arena_bytes)
        return;
    LLVMBasicBlockRef bad = LLVMAppendBasicBlockInContext(e->context, e->function, "bad");
    LLVMBasicBlockRef good = LLVMAppendBasicBlockInContext(e->context, e->function, "good");
    LLVMValueRef address = LLVMBuildPtrToInt(e->builder, n->arena, e->i64, "");
    LLVMValueRef low = LLVMBuildAnd(e->builder, address, qgc_emit_i64(e, QGC_VECTOR_BYTES - 1), "");
    LLVMValueRef zero = qgc_emit_i64(e, 0);
    LLVMValueRef is_bad =
        LLVMBuildOr(e->builder, LLVMBuildICmp(e->builder, LLVMIntNE, low, zero, ""),
                    LLVMBuildICmp(e->builder, LLVMIntEQ, address, zero, ""), "");
    LLVMBuildCondBr(e->builder, is_bad, bad, good);
    LLVMPositionBuilderAtEnd(e->builder, bad);
    LLVMBuildRet(e->builder, qgc_emit_i32(e, 1));
    LLVMPositionBuilderAtEnd(e->builder, good);
}

static void emit_copy(qgc_emitter *e, LLVMValueRef to, LLVMValueRef from, size_t bytes)
{
    if (bytes)
        LLVMBuildMemCpy(e->builder, to, 1, from, 1, qgc_emit_i64(e, (int64_t)bytes));
}

static void emit_arrays(entry *n)
{
    qgc_emitter *e = n->e;
    unsigned in = 1, out = 1;
    for (size_t i = 0; i < n->plan->steps.size; i++) {
        const qgc_step *step = n->plan->steps.data[i];
        in = step->num_inputs > in ? step->num_inputs : in;
        out = step->num_outputs > out ? step->num_outputs : out;
    }
    n->in = LLVMBuildAlloca(e->builder, LLVMArrayType2(e->ptr, in), "in");
    n->out = LLVMBuildAlloca(e->builder, LLVMArrayType2(e->ptr, out), "out");
}

static void emit_body(entry *n, const qgc_entry *entry)
{
    qgc_emitter *e = n->e;
    begin_function(n, entry);
    emit_check(n);
    emit_arrays(n);
    n->state = emit_enter(e);
    for (uint32_t i = 0; i < entry->num_inputs; i++)
        emit_copy(e, address_of(n, n->plan->params[i]), qgc_emit_param(e, i),
                  entry->inputs[i].bytes);
    for (size_t i = 0; i < n->plan->steps.size; i++)
        emit_step(n, n->plan->steps.data[i], n->functions[i]);
    for (uint32_t i = 0; i < entry->num_outputs; i++)
        emit_copy(e, qgc_emit_param(e, entry->num_inputs + i), address_of(n, n->plan->results[i]),
                  entry->outputs[i].bytes);
    emit_leave(e, n->state);
    LLVMBuildRet(e->builder, qgc_emit_i32(e, 0));
}

/* ---- queries ---- */

static void begin_query(entry *n, const char *suffix, bool takes_index)
{
    qgc_emitter *e = n->e;
    qgc_arena scratch = {0};
    const char *name = qgc_arena_printf(&scratch, "%s_%s", n->symbol, suffix);
    qgc_emit_function_of(e, name, LLVMFunctionType(e->i64, &e->i64, takes_index, false));
    qgc_arena_destroy(&scratch);
}

static void emit_number(entry *n, const char *suffix, size_t value)
{
    begin_query(n, suffix, false);
    LLVMBuildRet(n->e->builder, qgc_emit_i64(n->e, (int64_t)value));
}

/* bytes of port |index|; 0 behind the last */
static void emit_sizes(entry *n, const char *suffix, const qgc_port *ports, uint32_t num)
{
    qgc_emitter *e = n->e;
    begin_query(n, suffix, true);
    LLVMBasicBlockRef other = LLVMAppendBasicBlockInContext(e->context, e->function, "other");
    LLVMValueRef choice = LLVMBuildSwitch(e->builder, qgc_emit_param(e, 0), other, num);
    for (uint32_t i = 0; i < num; i++) {
        LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(e->context, e->function, "port");
        LLVMAddCase(choice, qgc_emit_i64(e, i), block);
        LLVMPositionBuilderAtEnd(e->builder, block);
        LLVMBuildRet(e->builder, qgc_emit_i64(e, (int64_t)ports[i].bytes));
    }
    LLVMPositionBuilderAtEnd(e->builder, other);
    LLVMBuildRet(e->builder, qgc_emit_i64(e, 0));
}

void qgc_emit_entry(qgc_emitter *e, const qgc_entry *description)
{
    qgc_arena scratch = {0};
    const qgc_plan *plan = description->plan;
    entry n = {.e = e,
               .plan = plan,
               .symbol = description->symbol,
               .globals = {.arena = &scratch},
               .functions = QGC_NEW_ARRAY(&scratch, LLVMValueRef, plan->steps.size)};
    emit_step_functions(&n);
    emit_body(&n, description);
    emit_number(&n, "arena_bytes", plan->arena_bytes);
    emit_number(&n, "num_inputs", description->num_inputs);
    emit_number(&n, "num_outputs", description->num_outputs);
    emit_sizes(&n, "input_bytes", description->inputs, description->num_inputs);
    emit_sizes(&n, "output_bytes", description->outputs, description->num_outputs);
    qgc_arena_destroy(&scratch);
}

#include "codegen/llvm/emit.h"

#include <stdio.h>
#include <string.h>

void qgc_emitter_init(qgc_emitter *e, LLVMContextRef context, const char *name,
                      const qgc_level *level)
{
    *e = (qgc_emitter){.level = level, .context = context};
    e->module = LLVMModuleCreateWithNameInContext(name, context);
    e->builder = LLVMCreateBuilderInContext(context);
    e->i8 = LLVMInt8TypeInContext(context);
    e->i16 = LLVMInt16TypeInContext(context);
    e->i32 = LLVMInt32TypeInContext(context);
    e->i64 = LLVMInt64TypeInContext(context);
    e->f32 = LLVMFloatTypeInContext(context);
    e->ptr = LLVMPointerTypeInContext(context, 0);
    e->void_type = LLVMVoidTypeInContext(context);
    e->vi8 = LLVMVectorType(e->i8, level->lanes);
    e->vi32 = LLVMVectorType(e->i32, level->lanes);
    e->vf32 = LLVMVectorType(e->f32, level->lanes);
}

void qgc_emitter_finish(qgc_emitter *e)
{
    LLVMDisposeBuilder(e->builder);
}

static void add_attribute(qgc_emitter *e, const char *key, const char *value)
{
    LLVMAttributeRef attribute = LLVMCreateStringAttribute(e->context, key, (unsigned)strlen(key),
                                                           value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(e->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

void qgc_emit_function_of(qgc_emitter *e, const char *name, LLVMTypeRef type)
{
    e->function = LLVMAddFunction(e->module, name, type);
    add_attribute(e, "target-cpu", e->level->llvm_cpu);
    add_attribute(e, "target-features", e->level->features);
    LLVMPositionBuilderAtEnd(e->builder,
                             LLVMAppendBasicBlockInContext(e->context, e->function, "entry"));
}

void qgc_emit_function(qgc_emitter *e, const char *name, LLVMTypeRef *params, unsigned num_params)
{
    qgc_emit_function_of(e, name, LLVMFunctionType(e->void_type, params, num_params, false));
    unsigned kind = LLVMGetEnumAttributeKindForName("noalias", 7);
    for (unsigned i = 0; i < num_params; i++)
        if (params[i] == e->ptr)
            LLVMAddAttributeAtIndex(e->function, i + 1,
                                    LLVMCreateEnumAttribute(e->context, kind, 0));
}

LLVMValueRef qgc_emit_i64(qgc_emitter *e, int64_t value)
{
    return LLVMConstInt(e->i64, (unsigned long long)value, true);
}

LLVMValueRef qgc_emit_i32(qgc_emitter *e, int32_t value)
{
    return LLVMConstInt(e->i32, (unsigned long long)value, true);
}

LLVMValueRef qgc_emit_f32(qgc_emitter *e, float value)
{
    return LLVMConstReal(e->f32, (double)value);
}

LLVMValueRef qgc_emit_splat(qgc_emitter *e, LLVMValueRef scalar, uint32_t lanes)
{
    LLVMTypeRef vector = LLVMVectorType(LLVMTypeOf(scalar), lanes);
    LLVMValueRef one =
        LLVMBuildInsertElement(e->builder, LLVMGetPoison(vector), scalar, qgc_emit_i32(e, 0), "");
    LLVMValueRef mask = LLVMConstNull(LLVMVectorType(e->i32, lanes));
    return LLVMBuildShuffleVector(e->builder, one, LLVMGetPoison(vector), mask, "");
}

LLVMValueRef qgc_emit_at(qgc_emitter *e, LLVMValueRef base, LLVMValueRef offset)
{
    return LLVMBuildInBoundsGEP2(e->builder, e->i8, base, &offset, 1, "");
}

LLVMValueRef qgc_emit_at_const(qgc_emitter *e, LLVMValueRef base, int64_t offset)
{
    return offset ? qgc_emit_at(e, base, qgc_emit_i64(e, offset)) : base;
}

LLVMValueRef qgc_emit_load(qgc_emitter *e, LLVMTypeRef type, LLVMValueRef address, unsigned align)
{
    LLVMValueRef value = LLVMBuildLoad2(e->builder, type, address, "");
    LLVMSetAlignment(value, align);
    return value;
}

void qgc_emit_store(qgc_emitter *e, LLVMValueRef value, LLVMValueRef address, unsigned align)
{
    LLVMSetAlignment(LLVMBuildStore(e->builder, value, address), align);
}

LLVMValueRef qgc_emit_mul_const(qgc_emitter *e, LLVMValueRef value, int64_t factor)
{
    return LLVMBuildMul(e->builder, value, qgc_emit_i64(e, factor), "");
}

LLVMValueRef qgc_emit_intrinsic(qgc_emitter *e, const char *name, LLVMTypeRef *overloads,
                                unsigned num_overloads, LLVMValueRef *args, unsigned num_args)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    QGC_ASSERT(id, "LLVM has no intrinsic %s", name);
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(e->module, id, overloads, num_overloads);
    LLVMTypeRef type = LLVMGlobalGetValueType(function);
    return LLVMBuildCall2(e->builder, type, function, args, num_args, "");
}

void qgc_emit_fence(qgc_emitter *e)
{
    static const char clobbers[] = "~{memory}";
    LLVMTypeRef type = LLVMFunctionType(e->void_type, NULL, 0, false);
    LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, clobbers, sizeof clobbers - 1, true, false,
                                            LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(e->builder, type, nothing, NULL, 0, "");
}

void qgc_emit_pin(qgc_emitter *e, LLVMValueRef *values, unsigned num)
{
    enum { MOST = 32 };
    const char *in_register = e->level->arch == QGC_ARCH_AARCH64 ? "=w,"
                              : e->level->registers >= 32        ? "=v,"
                                                                 : "=x,";
    LLVMTypeRef types[MOST];
    char constraints[8 * MOST + 16];
    size_t size = 0;
    QGC_ASSERT(num && num <= MOST, "%u values", num);
    for (unsigned i = 0; i < num; i++) {
        types[i] = LLVMTypeOf(values[i]);
        size += (size_t)snprintf(constraints + size, sizeof constraints - size, "%s", in_register);
    }
    for (unsigned i = 0; i < num; i++)
        size += (size_t)snprintf(constraints + size, sizeof constraints - size, "%u,", i);
    size += (size_t)snprintf(constraints + size, sizeof constraints - size, "~{memory}");
    LLVMTypeRef all = num == 1 ? types[0] : LLVMStructTypeInContext(e->context, types, num, false);
    LLVMTypeRef function = LLVMFunctionType(all, types, num, false);
    LLVMValueRef nothing = LLVMGetInlineAsm(function, "", 0, constraints, size, true, false,
                                            LLVMInlineAsmDialectATT, false);
    LLVMValueRef pinned = LLVMBuildCall2(e->builder, function, nothing, values, num, "");
    for (unsigned i = 0; i < num; i++)
        values[i] = num == 1 ? pinned : LLVMBuildExtractValue(e->builder, pinned, i, "");
}

LLVMValueRef qgc_emit_limit(qgc_emitter *e, LLVMIntPredicate keep, LLVMValueRef x, int64_t limit)
{
    LLVMValueRef bound = qgc_emit_i64(e, limit);
    LLVMValueRef kept = LLVMBuildICmp(e->builder, keep, x, bound, "");
    return LLVMBuildSelect(e->builder, kept, x, bound, "");
}

void qgc_loop_begin(qgc_emitter *e, qgc_loop *loop, LLVMValueRef begin, LLVMValueRef end,
                    int64_t step)
{
    LLVMBasicBlockRef before = loop->before = LLVMGetInsertBlock(e->builder);
    loop->body = LLVMAppendBasicBlockInContext(e->context, e->function, "loop");
    loop->end = end;
    loop->step = qgc_emit_i64(e, step);
    loop->after = LLVMAppendBasicBlockInContext(e->context, e->function, "after");
    if (loop->may_be_empty)
        LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, begin, end, ""),
                        loop->body, loop->after);
    else
        LLVMBuildBr(e->builder, loop->body);
    LLVMPositionBuilderAtEnd(e->builder, loop->body);
    loop->phi_index = LLVMBuildPhi(e->builder, e->i64, "");
    LLVMAddIncoming(loop->phi_index, &begin, &before, 1);
    for (unsigned i = 0; i < loop->num_carried; i++) {
        loop->phis[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(loop->carried[i]), "");
        LLVMAddIncoming(loop->phis[i], &loop->carried[i], &before, 1);
        loop->initial[i] = loop->carried[i];
        loop->carried[i] = loop->phis[i];
    }
    loop->index = loop->phi_index;
}

void qgc_loop_end(qgc_emitter *e, qgc_loop *loop)
{
    LLVMBasicBlockRef last = LLVMGetInsertBlock(e->builder);
    LLVMBasicBlockRef after = loop->after;
    LLVMValueRef next = LLVMBuildAdd(e->builder, loop->index, loop->step, "");
    LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntSLT, next, loop->end, "");
    LLVMBuildCondBr(e->builder, more, loop->body, after);
    LLVMAddIncoming(loop->phi_index, &next, &last, 1);
    for (unsigned i = 0; i < loop->num_carried; i++)
        LLVMAddIncoming(loop->phis[i], &loop->carried[i], &last, 1);
    LLVMPositionBuilderAtEnd(e->builder, after);
    for (unsigned i = 0; loop->may_be_empty && i < loop->num_carried; i++) {
        LLVMValueRef either = LLVMBuildPhi(e->builder, LLVMTypeOf(loop->carried[i]), "");
        LLVMAddIncoming(either, &loop->initial[i], &loop->before, 1);
        LLVMAddIncoming(either, &loop->carried[i], &last, 1);
        loop->carried[i] = either;
    }
}

/* A frame without a vector is less than one vector, or it is looked at. What lies in the red zone
 * would not count. */
static void watch_stack(qgc_emitter *e, const qgc_kernel *kernel)
{
    size_t size;
    unsigned kind = LLVMGetEnumAttributeKindForName("noredzone", 9);
    char limit[16];
    (void)snprintf(limit, sizeof limit, "%u", 4 * e->level->lanes - 1);
    add_attribute(e, "warn-stack-size", limit);
    LLVMAddAttributeAtIndex(e->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(e->context, kind, 0));
    const char *name = LLVMGetValueName2(e->function, &size);
    qgc_emit_watched watched = {kernel, qgc_arena_strdup(e->arena, (qgc_str){name, size})};
    qgc_vec_push(e->arena, &e->watched, watched);
}

qgc_kernel_args qgc_emit_kernel_begin(qgc_emitter *e, const qgc_kernel *kernel)
{
    LLVMTypeRef params[] = {e->ptr, e->ptr, e->ptr, e->i64, e->i64};
    qgc_emit_function(e, kernel->name, params, 5);
    if (e->arena && kernel->has_smaller_tile && qgc_level_has_dot(e->level) &&
        !e->level->unoptimized)
        watch_stack(e, kernel);
    return (qgc_kernel_args){qgc_emit_param(e, 0), qgc_emit_param(e, 1), qgc_emit_param(e, 2),
                             qgc_emit_param(e, 3), qgc_emit_param(e, 4)};
}

LLVMValueRef qgc_emit_argument(qgc_emitter *e, LLVMValueRef array, uint32_t index)
{
    LLVMValueRef at = qgc_emit_at_const(e, array, (int64_t)(index * sizeof(void *)));
    return qgc_emit_load(e, e->ptr, at, sizeof(void *));
}

/* |nodes|: as of qgc_emit_tiles, or NULL. */
static void emit_some(qgc_emitter *e, const qgc_plan *plan, const qgc_map *nodes,
                      LLVMValueRef *out_functions)
{
    static qgc_emit_fn *const emitters[] = {
#define QGC_KERNEL(id, name, planner, emitter) emitter,
#include "codegen/kernels.def"
    };
    qgc_arena scratch = {0};
    qgc_map emitted = {.arena = &scratch}; /* by name: functions of other plans may have the same */
    for (size_t i = 0; i < plan->steps.size; i++) {
        const qgc_kernel *kernel = plan->steps.data[i]->kernel;
        if (nodes && !(kernel && kernel->tile && qgc_map_get(nodes, plan->steps.data[i]->node)))
            continue;
        LLVMValueRef function = kernel ? qgc_map_get(&emitted, kernel->name) : NULL;
        if (kernel && !function) {
            emitters[kernel->kind](e, kernel);
            *qgc_map_at(&emitted, kernel->name) = function = e->function;
        }
        if (out_functions)
            out_functions[i] = function;
    }
    qgc_arena_destroy(&scratch);
}

void qgc_emit_kernels(qgc_emitter *e, const qgc_plan *plan, LLVMValueRef *out_functions)
{
    emit_some(e, plan, NULL, out_functions);
}

void qgc_emit_tiles(qgc_emitter *e, const qgc_plan *plan, const qgc_map *nodes)
{
    emit_some(e, plan, nodes, NULL);
}

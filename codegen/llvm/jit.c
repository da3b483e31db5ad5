#include "codegen/llvm/jit.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>

struct qgc_jit {
    qgc_diag *diag;
    const qgc_level *level;
    LLVMOrcLLJITRef lljit;
    LLVMOrcThreadSafeContextRef context;
    LLVMTargetMachineRef machine;
};

static qgc_result failed(qgc_jit *jit, LLVMErrorRef error)
{
    char *message = LLVMGetErrorMessage(error);
    qgc_report(jit->diag, QGC_NO_LOC, QGC_D_LLVM_FAILED, "LLVM: %s", message);
    LLVMDisposeErrorMessage(message);
    return QGC_FAILED;
}

static qgc_result failed_text(qgc_jit *jit, char *message)
{
    qgc_report(jit->diag, QGC_NO_LOC, QGC_D_LLVM_FAILED, "LLVM: %s", message);
    LLVMDisposeMessage(message);
    return QGC_FAILED;
}

static LLVMTargetMachineRef create_machine(qgc_jit *jit)
{
    char *triple = LLVMGetDefaultTargetTriple(), *message = NULL;
    LLVMTargetRef target;
    LLVMTargetMachineRef machine = NULL;
    if (LLVMGetTargetFromTriple(triple, &target, &message))
        failed_text(jit, message);
    else
        machine = LLVMCreateTargetMachine(
            target, triple, jit->level->llvm_cpu, jit->level->features,
            jit->level->unoptimized ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault, LLVMRelocPIC,
            LLVMCodeModelJITDefault);
    LLVMDisposeMessage(triple);
    return machine;
}

static qgc_result start(qgc_jit *jit)
{
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    jit->machine = create_machine(jit);
    LLVMTargetMachineRef for_jit = jit->machine ? create_machine(jit) : NULL;
    if (!for_jit)
        return QGC_FAILED;
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
        builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(for_jit));
    LLVMErrorRef error = LLVMOrcCreateLLJIT(&jit->lljit, builder);
    if (error)
        return failed(jit, error);
    jit->context = LLVMOrcCreateNewThreadSafeContext();
    return QGC_OK;
}

qgc_result qgc_jit_create(qgc_diag *diag, const qgc_level *level, qgc_jit **out)
{
    qgc_jit *jit = QGC_NEW(diag->arena, qgc_jit);
    jit->diag = diag;
    jit->level = level;
    if (start(jit) != QGC_OK) {
        qgc_jit_destroy(jit);
        return QGC_FAILED;
    }
    *out = jit;
    return QGC_OK;
}

void qgc_jit_destroy(qgc_jit *jit)
{
    if (!jit)
        return;
    if (jit->lljit)
        LLVMConsumeError(LLVMOrcDisposeLLJIT(jit->lljit));
    if (jit->context)
        LLVMOrcDisposeThreadSafeContext(jit->context);
    if (jit->machine)
        LLVMDisposeTargetMachine(jit->machine);
}

void qgc_jit_begin(qgc_jit *jit, const char *name, qgc_emitter *out)
{
    qgc_emitter_init(out, LLVMOrcThreadSafeContextGetContext(jit->context), name, jit->level);
    LLVMSetDataLayout(out->module, LLVMOrcLLJITGetDataLayoutStr(jit->lljit));
    LLVMSetTarget(out->module, LLVMOrcLLJITGetTripleString(jit->lljit));
}

static qgc_result optimize(qgc_jit *jit, LLVMModuleRef module, const char *passes)
{
    if (!passes[0] || jit->level->unoptimized)
        return QGC_OK;
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, passes, jit->machine, options);
    LLVMDisposePassBuilderOptions(options);
    return error ? failed(jit, error) : QGC_OK;
}

static qgc_result add_module(qgc_jit *jit, LLVMModuleRef module)
{
    LLVMOrcThreadSafeModuleRef owned = LLVMOrcCreateNewThreadSafeModule(module, jit->context);
    LLVMErrorRef error =
        LLVMOrcLLJITAddLLVMIRModule(jit->lljit, LLVMOrcLLJITGetMainJITDylib(jit->lljit), owned);
    return error ? failed(jit, error) : QGC_OK;
}

qgc_result qgc_jit_add(qgc_jit *jit, qgc_emitter *e, const char *passes)
{
    qgc_emitter_finish(e);
    char *message = NULL;
    if (LLVMVerifyModule(e->module, LLVMReturnStatusAction, &message))
        return failed_text(jit, message);
    LLVMDisposeMessage(message);
    QGC_TRY(optimize(jit, e->module, passes));
    return add_module(jit, e->module);
}

qgc_result qgc_jit_add_object(qgc_jit *jit, qgc_str object)
{
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(object.data, object.size, "object");
    LLVMErrorRef error =
        LLVMOrcLLJITAddObjectFile(jit->lljit, LLVMOrcLLJITGetMainJITDylib(jit->lljit), buffer);
    return error ? failed(jit, error) : QGC_OK;
}

/* ---- IR from elsewhere ---- */

static qgc_result failed_ir(qgc_jit *jit, const char *function, const char *what)
{
    return qgc_report(jit->diag, QGC_NO_LOC, QGC_D_LLVM_FAILED, "LLVM IR: %s %s", function, what);
}

static bool is_kernel(LLVMContextRef context, LLVMValueRef function)
{
    LLVMTypeRef ptr = LLVMPointerTypeInContext(context, 0), i64 = LLVMInt64TypeInContext(context);
    LLVMTypeRef params[] = {ptr, ptr, ptr, i64, i64};
    return LLVMGlobalGetValueType(function) ==
           LLVMFunctionType(LLVMInt32TypeInContext(context), params, 5, false);
}

/* So that several modules of one region do not meet. */
static void make_private(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            LLVMSetLinkage(f, LLVMInternalLinkage);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g))
            LLVMSetLinkage(g, LLVMInternalLinkage);
}

static qgc_result prepare_ir(qgc_jit *jit, LLVMModuleRef module, const char *function,
                             const char *name)
{
    char *message = NULL;
    LLVMValueRef found = LLVMGetNamedFunction(module, function);
    if (!found || LLVMIsDeclaration(found))
        return failed_ir(jit, function, "is not defined");
    if (!is_kernel(LLVMGetModuleContext(module), found))
        return failed_ir(jit, function, "is not of type i32 (ptr, ptr, ptr, i64, i64)");
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
        return failed_text(jit, message);
    LLVMDisposeMessage(message);
    make_private(module);
    LLVMSetValueName2(found, name, strlen(name));
    LLVMSetLinkage(found, LLVMExternalLinkage);
    LLVMSetDataLayout(module, LLVMOrcLLJITGetDataLayoutStr(jit->lljit));
    LLVMSetTarget(module, LLVMOrcLLJITGetTripleString(jit->lljit));
    return QGC_OK;
}

qgc_result qgc_jit_add_ir(qgc_jit *jit, qgc_str ir, const char *function, const char *name,
                          const char *passes)
{
    char *message = NULL;
    LLVMModuleRef module = NULL;
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(ir.data, ir.size, name);
    LLVMContextRef context = LLVMOrcThreadSafeContextGetContext(jit->context);
    if (LLVMParseIRInContext(context, buffer, &module, &message)) /* takes the buffer */
        return failed_text(jit, message);
    if (prepare_ir(jit, module, function, name) == QGC_OK &&
        optimize(jit, module, passes) == QGC_OK)
        return add_module(jit, module);
    LLVMDisposeModule(module);
    return QGC_FAILED;
}

void *qgc_jit_find(qgc_jit *jit, const char *name)
{
    LLVMOrcExecutorAddress address = 0;
    LLVMErrorRef error = LLVMOrcLLJITLookup(jit->lljit, &address, name);
    if (error) {
        failed(jit, error);
        return NULL;
    }
    return (void *)(uintptr_t)address;
}

char *qgc_jit_assembly(qgc_jit *jit, qgc_emitter *e)
{
    char *message = NULL;
    LLVMMemoryBufferRef buffer = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(jit->machine, e->module, LLVMAssemblyFile, &message,
                                            &buffer)) {
        failed_text(jit, message);
        return NULL;
    }
    qgc_str text = {LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer)};
    char *copy = qgc_arena_strdup(jit->diag->arena, text);
    LLVMDisposeMemoryBuffer(buffer);
    return copy;
}

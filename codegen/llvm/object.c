#include "codegen/llvm/object.h"

#include "base/number.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <string.h>

/* A function whose stack is larger than its kernel asked for. */
typedef struct frame {
    const char *function;
    uint32_t bytes;
} frame;

struct qgc_object {
    qgc_diag *diag;
    const qgc_level *level;
    LLVMContextRef context;
    LLVMTargetMachineRef machine;
    qgc_emitter emitter;
    bool is_finished, has_failed;
    QGC_VEC(frame) frames; /* of what was generated last */
};

/* Takes |message| over. */
static qgc_result failed(qgc_object *object, char *message)
{
    qgc_report(object->diag, QGC_NO_LOC, QGC_D_LLVM_FAILED, "LLVM: %s", message);
    LLVMDisposeMessage(message);
    return QGC_FAILED;
}

static void initialize_targets(void)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
}

static qgc_result create_machine(qgc_object *object)
{
    const qgc_level *level = object->level;
    LLVMTargetRef target;
    char *message = NULL;
    initialize_targets();
    if (LLVMGetTargetFromTriple(level->triple, &target, &message))
        return failed(object, message);
    object->machine =
        LLVMCreateTargetMachine(target, level->triple, level->llvm_cpu, level->features,
                                level->unoptimized ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault,
                                LLVMRelocPIC, LLVMCodeModelDefault);
    return object->machine ? QGC_OK
                           : qgc_report(object->diag, QGC_NO_LOC, QGC_D_LLVM_FAILED,
                                        "LLVM: no machine for %s", level->triple);
}

/* ---- what LLVM has to say ---- */

/* "<unknown>:0:0: stack frame size (N) exceeds limit (M) in function 'F'" */
static bool read_frame(qgc_arena *arena, const char *text, frame *out)
{
    static const char begin[] = "stack frame size (", end[] = " in function '";
    uint64_t bytes;
    const char *size = strstr(text, begin), *name = strstr(text, end);
    if (!size || !name)
        return false;
    size += sizeof begin - 1;
    name += sizeof end - 1;
    if (!qgc_parse_u64((qgc_str){size, strcspn(size, ")")}, &bytes) || bytes > UINT32_MAX)
        return false;
    qgc_str function = {name, strcspn(name, "'")};
    *out = (frame){qgc_arena_strdup(arena, function), (uint32_t)bytes};
    return true;
}

/* In place of LLVM's own handler, which prints and, after an error, exits. */
static void hear(LLVMDiagnosticInfoRef info, void *user)
{
    qgc_object *object = user;
    frame f;
    char *text = LLVMGetDiagInfoDescription(info);
    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError) {
        qgc_report(object->diag, QGC_NO_LOC, QGC_D_LLVM_FAILED, "LLVM: %s", text);
        object->has_failed = true;
    } else if (read_frame(object->diag->arena, text, &f)) {
        qgc_vec_push(object->diag->arena, &object->frames, f);
    }
    LLVMDisposeMessage(text);
}

void qgc_object_find_spills(const qgc_object *object, qgc_str code, qgc_arena *arena,
                            qgc_spills *out)
{
    size_t num = object->frames.size;
    if (!num)
        return;
    const qgc_emitter *e = &object->emitter;
    const char **functions = QGC_NEW_ARRAY(arena, const char *, num);
    qgc_spill *spills = QGC_NEW_ARRAY(arena, qgc_spill, num);
    for (size_t i = 0; i < num; i++) {
        functions[i] = object->frames.data[i].function;
        spills[i].frame_bytes = object->frames.data[i].bytes;
    }
    qgc_look_for_spills(object->level, code, functions, num, spills);
    for (size_t i = 0; i < num; i++)
        for (size_t k = 0; spills[i].stores && k < e->watched.size; k++)
            if (strcmp(e->watched.data[k].function, functions[i]) == 0) {
                spills[i].kernel = e->watched.data[k].kernel;
                qgc_vec_push(arena, out, spills[i]);
            }
}

static void begin_module(qgc_object *object, const char *name)
{
    object->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(object->context, hear, object);
    qgc_emitter_init(&object->emitter, object->context, name, object->level);
    object->emitter.arena = object->diag->arena;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(object->machine);
    LLVMSetModuleDataLayout(object->emitter.module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(object->emitter.module, object->level->triple);
}

qgc_result qgc_object_create(qgc_diag *diag, const qgc_level *level, const char *name,
                             qgc_object **out)
{
    qgc_object *object = QGC_NEW(diag->arena, qgc_object);
    object->diag = diag;
    object->level = level;
    QGC_TRY(create_machine(object));
    begin_module(object, name);
    *out = object;
    return QGC_OK;
}

void qgc_object_destroy(qgc_object *object)
{
    if (!object)
        return;
    if (!object->is_finished)
        qgc_emitter_finish(&object->emitter);
    LLVMDisposeModule(object->emitter.module);
    LLVMContextDispose(object->context);
    LLVMDisposeTargetMachine(object->machine);
}

qgc_emitter *qgc_object_emitter(qgc_object *object)
{
    return &object->emitter;
}

qgc_hash128 qgc_object_key(qgc_object *object, const char *passes)
{
    const qgc_level *level = object->level;
    qgc_arena scratch = {0};
    qgc_text text = {.arena = &scratch};
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    LLVMMemoryBufferRef buffer = LLVMWriteBitcodeToMemoryBuffer(object->emitter.module);
    qgc_hash128 code = qgc_hash_all(LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    qgc_text_printf(&text, "%llx %llx qgc %s LLVM %u.%u.%u %s %s %s %s %d %s",
                    (unsigned long long)code.high, (unsigned long long)code.low, QGC_VERSION, major,
                    minor, patch, level->name, level->triple, level->llvm_cpu, level->features,
                    level->unoptimized, passes);
    qgc_hash128 key = qgc_hash_all(text.data, text.size);
    qgc_arena_destroy(&scratch);
    return key;
}

static qgc_result optimize(qgc_object *object, const char *passes)
{
    if (!passes[0] || object->level->unoptimized)
        return QGC_OK;
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(object->emitter.module, passes, object->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!error)
        return QGC_OK;
    char *message = LLVMGetErrorMessage(error);
    qgc_report(object->diag, QGC_NO_LOC, QGC_D_LLVM_FAILED, "LLVM: %s", message);
    LLVMDisposeErrorMessage(message);
    return QGC_FAILED;
}

qgc_result qgc_object_finish(qgc_object *object, const char *passes)
{
    char *message = NULL;
    qgc_emitter_finish(&object->emitter);
    object->is_finished = true;
    if (LLVMVerifyModule(object->emitter.module, LLVMReturnStatusAction, &message))
        return failed(object, message);
    LLVMDisposeMessage(message);
    return optimize(object, passes);
}

/* Code generation changes the module: it gets a copy, so that every format comes out the same. */
static qgc_result generate(qgc_object *object, LLVMCodeGenFileType type, qgc_arena *arena,
                           qgc_str *out)
{
    LLVMModuleRef copy = LLVMCloneModule(object->emitter.module);
    LLVMMemoryBufferRef buffer = NULL;
    char *message = NULL;
    object->frames.size = 0;
    bool has_failed =
        LLVMTargetMachineEmitToMemoryBuffer(object->machine, copy, type, &message, &buffer);
    LLVMDisposeModule(copy);
    if (has_failed)
        return failed(object, message);
    if (object->has_failed) {
        LLVMDisposeMemoryBuffer(buffer);
        return QGC_FAILED;
    }
    qgc_str bytes = {LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer)};
    *out = (qgc_str){qgc_arena_strdup(arena, bytes), bytes.size};
    LLVMDisposeMemoryBuffer(buffer);
    return QGC_OK;
}

qgc_result qgc_object_write(qgc_object *object, qgc_object_format format, qgc_arena *arena,
                            qgc_str *out)
{
    if (format != QGC_OBJECT_IR)
        return generate(object, format == QGC_OBJECT_CODE ? LLVMObjectFile : LLVMAssemblyFile,
                        arena, out);
    char *text = LLVMPrintModuleToString(object->emitter.module);
    *out = qgc_str_from(qgc_arena_strdup(arena, qgc_str_from(text)));
    LLVMDisposeMessage(text);
    return QGC_OK;
}

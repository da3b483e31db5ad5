#include "codegen/region.h"

#include "codegen/llvm/jit.h"
#include "runtime/ref/ref.h"

#include <string.h>

struct qgc_region {
    qgc_plan *plan;
    qgc_jit *jit;
    qgc_kernel_fn **kernels; /* one per step; NULL where it is not generated */
    qgc_tensor memory;       /* the plan's arena */
};

static qgc_context *context_of(const qgc_region *region)
{
    return region->plan->func->module->context;
}

/* ---- compiling ---- */

static qgc_result find_all(qgc_region *region)
{
    const qgc_plan *plan = region->plan;
    for (size_t i = 0; i < plan->steps.size; i++) {
        const qgc_kernel *kernel = plan->steps.data[i]->kernel;
        void *address = kernel ? qgc_jit_find(region->jit, kernel->name) : NULL;
        if (kernel && !address)
            return QGC_FAILED;
        memcpy(&region->kernels[i], &address, sizeof address);
    }
    return QGC_OK;
}

static qgc_result compile_kernels(qgc_region *region, const qgc_level *level)
{
    qgc_emitter e;
    QGC_TRY(qgc_jit_create(&context_of(region)->diag, level, &region->jit));
    qgc_jit_begin(region->jit, region->plan->func->name->data, &e);
    qgc_emit_kernels(&e, region->plan, NULL);
    QGC_TRY(qgc_jit_add(region->jit, &e, QGC_EMIT_PASSES));
    return find_all(region);
}

static qgc_result compile(qgc_region *region, const qgc_level *level)
{
    qgc_plan *plan = region->plan;
    int64_t bytes = (int64_t)plan->arena_bytes;
    QGC_TRY(qgc_tensor_create(&context_of(region)->diag, QGC_DTYPE_U8, 1, &bytes, &region->memory));
    region->kernels = QGC_NEW_ARRAY(&plan->arena, qgc_kernel_fn *, plan->steps.size);
    return compile_kernels(region, level);
}

qgc_result qgc_region_compile(const qgc_func *func, const qgc_level *level, qgc_region **out)
{
    qgc_plan_target target = qgc_level_target(level);
    qgc_plan *plan = qgc_plan_create(func, &target);
    if (!plan)
        return QGC_FAILED;
    qgc_region *region = QGC_NEW(&plan->arena, qgc_region);
    region->plan = plan;
    if (compile(region, level) != QGC_OK) {
        qgc_region_destroy(region);
        return QGC_FAILED;
    }
    *out = region;
    return QGC_OK;
}

void qgc_region_destroy(qgc_region *region)
{
    if (!region)
        return;
    qgc_jit_destroy(region->jit);
    qgc_tensor_destroy(&region->memory);
    qgc_plan_destroy(region->plan);
}

const qgc_plan *qgc_region_plan(const qgc_region *region)
{
    return region->plan;
}

/* ---- running ---- */

static uint8_t *data_of(const qgc_region *region, const qgc_buffer *buffer)
{
    if (buffer->data)
        return (uint8_t *)(uintptr_t)buffer->data; /* constants are only read */
    return (uint8_t *)region->memory.data + buffer->offset;
}

static qgc_tensor view(const qgc_region *region, const qgc_buffer *buffer)
{
    const qgc_type *type = buffer->value->type;
    qgc_tensor tensor = {.dtype = type->dtype,
                         .rank = type->rank,
                         .data = data_of(region, buffer),
                         .bytes = buffer->bytes};
    for (uint32_t i = 0; i < type->rank; i++)
        tensor.shape[i] = type->dims[i].value;
    return tensor;
}

static qgc_result run_ref(qgc_region *region, const qgc_step *step)
{
    qgc_arena scratch = {0};
    qgc_tensor *views = QGC_NEW_ARRAY(&scratch, qgc_tensor, step->num_inputs);
    const qgc_tensor **operands = QGC_NEW_ARRAY(&scratch, const qgc_tensor *, step->num_inputs);
    qgc_tensor *results = QGC_NEW_ARRAY(&scratch, qgc_tensor, step->num_outputs);
    for (uint32_t i = 0; i < step->num_inputs; i++) {
        if (!step->inputs[i])
            continue;
        views[i] = view(region, step->inputs[i]);
        operands[i] = &views[i];
    }
    for (uint32_t i = 0; i < step->num_outputs; i++) {
        results[i] = view(region, step->outputs[i]);
        if (results[i].bytes)
            memset(results[i].data, 0, results[i].bytes);
    }
    qgc_ref_call call = {context_of(region), step->node, step->num_inputs, step->num_outputs,
                         operands,           results,    &scratch};
    qgc_result result = qgc_ref_kernel(step->node->op)(&call);
    qgc_arena_destroy(&scratch);
    return result;
}

static void run_kernel(const qgc_region *region, const qgc_step *step, qgc_kernel_fn *kernel)
{
    enum { MAX_BUFFERS = 16 };
    const void *in[MAX_BUFFERS];
    void *out[MAX_BUFFERS];
    QGC_ASSERT(step->num_inputs <= MAX_BUFFERS && step->num_outputs <= MAX_BUFFERS,
               "%u + %u buffers", step->num_inputs, step->num_outputs);
    for (uint32_t i = 0; i < step->num_inputs; i++)
        in[i] = step->inputs[i] ? data_of(region, step->inputs[i]) : NULL;
    for (uint32_t i = 0; i < step->num_outputs; i++)
        out[i] = data_of(region, step->outputs[i]);
    if (step->kernel->units > 0)
        kernel(in, out, step->kernel->constants, 0, step->kernel->units);
}

qgc_result qgc_region_run_step(qgc_region *region, size_t index)
{
    const qgc_step *step = region->plan->steps.data[index];
    switch (step->kind) {
    case QGC_STEP_REF:
        return run_ref(region, step);
    case QGC_STEP_FORM:
        qgc_change_form(step->inputs[0], data_of(region, step->inputs[0]), step->outputs[0],
                        data_of(region, step->outputs[0]));
        return QGC_OK;
    case QGC_STEP_BORDER:
        qgc_fill_border(step->outputs[0], data_of(region, step->outputs[0]));
        return QGC_OK;
    case QGC_STEP_KERNEL:
        run_kernel(region, step, region->kernels[index]);
        return QGC_OK;
    }
    return QGC_OK;
}

static qgc_result copy_results(qgc_region *region, qgc_tensor *outputs)
{
    const qgc_plan *plan = region->plan;
    for (uint32_t i = 0; i < plan->func->num_results; i++) {
        qgc_tensor result = view(region, plan->results[i]);
        if (qgc_tensor_copy(&context_of(region)->diag, &result, &outputs[i]) == QGC_OK)
            continue;
        while (i-- > 0)
            qgc_tensor_destroy(&outputs[i]);
        return QGC_FAILED;
    }
    return QGC_OK;
}

qgc_result qgc_region_run(qgc_region *region, const qgc_tensor *inputs, qgc_tensor *outputs)
{
    const qgc_plan *plan = region->plan;
    for (uint32_t i = 0; i < plan->func->num_params; i++)
        if (inputs[i].bytes)
            memcpy(data_of(region, plan->params[i]), inputs[i].data, inputs[i].bytes);
    for (size_t i = 0; i < plan->steps.size; i++)
        QGC_TRY(qgc_region_run_step(region, i));
    return copy_results(region, outputs);
}

/* The machine's peak: loops of multiply-adds in registers, of the kind that kernels of a level are
 * made of. */
#ifndef QGC_CODEGEN_LLVM_PEAK_H
#define QGC_CODEGEN_LLVM_PEAK_H

#include "codegen/kernel.h"
#include "codegen/llvm/jit.h"

typedef struct qgc_peak {
    qgc_jit *jit;
    qgc_kernel_fn *integers, *floats; /* in[0]: 64 bytes to multiply, out[0]: 64 for the sums */
    double integer_macs, float_macs;  /* of one turn: unit */
} qgc_peak;

/* For a level that the host has. Failures are reported. */
qgc_result qgc_peak_create(qgc_diag *diag, const qgc_level *level, qgc_peak *out);
void qgc_peak_destroy(qgc_peak *peak);

#endif

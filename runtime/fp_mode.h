/* The processor's floating-point mode: results are defined for rounding to nearest, half to even,
 * with subnormal numbers. A caller may have set another one (FTZ, DAZ, a direction of rounding):
 * what computes enters the standard mode and leaves what it found. A mode belongs to a thread. */
#ifndef QGC_RUNTIME_FP_MODE_H
#define QGC_RUNTIME_FP_MODE_H

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>

typedef uint32_t qgc_fp_mode; /* MXCSR; its flags of past exceptions are the caller's, too */

static inline qgc_fp_mode qgc_fp_enter(void)
{
    enum { STANDARD = 0x1f80 };
    uint32_t found = _mm_getcsr();
    if (found != STANDARD)
        _mm_setcsr(STANDARD);
    return found;
}

static inline void qgc_fp_leave(qgc_fp_mode found)
{
    _mm_setcsr(found);
}
#elif defined(__aarch64__)
typedef uint64_t qgc_fp_mode; /* FPCR */

static inline qgc_fp_mode qgc_fp_enter(void)
{
    uint64_t found, standard = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(found));
    __asm__ volatile("msr fpcr, %0" : : "r"(standard));
    return found;
}

static inline void qgc_fp_leave(qgc_fp_mode found)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(found));
}
#else
#include <fenv.h>

typedef int qgc_fp_mode;

static inline qgc_fp_mode qgc_fp_enter(void)
{
    int found = fegetround();
    fesetround(FE_TONEAREST);
    return found;
}

static inline void qgc_fp_leave(qgc_fp_mode found)
{
    fesetround(found);
}
#endif

#endif

#include "codegen/llvm/level.h"

#define X86_64  QGC_ARCH_X86_64, "x86_64-pc-linux-gnu"
#define AARCH64 QGC_ARCH_AARCH64, "aarch64-unknown-linux-gnu"

/* name, architecture, LLVM's CPU and features, lanes, registers, fused multiply-add, SSSE3, dot
 * product, unoptimized */
static const qgc_level levels[] = {
    {"x86-64", X86_64, "x86-64", "", 4, 16, false, false, QGC_DOT_WIDEN, false},
    {"x86-64-v3", X86_64, "x86-64-v3", "", 8, 16, true, true, QGC_DOT_WIDEN, false},
    {"x86-64-v3-vnni", X86_64, "x86-64-v3", "+avxvnni", 8, 16, true, true, QGC_DOT_VNNI256, false},
    {"x86-64-v4", X86_64, "x86-64-v4", "-prefer-256-bit", 16, 32, true, true, QGC_DOT_WIDEN, false},
    {"x86-64-v4-vnni", X86_64, "x86-64-v4", "+avx512vnni,-prefer-256-bit", 16, 32, true, true,
     QGC_DOT_VNNI512, false},
    {"aarch64", AARCH64, "generic", "+neon", 4, 32, true, false, QGC_DOT_SMULL, false},
    {"aarch64-dotprod", AARCH64, "generic", "+dotprod", 4, 32, true, false, QGC_DOT_SDOT, false},
    {"aarch64-i8mm", AARCH64, "generic", "+dotprod,+i8mm", 4, 32, true, false, QGC_DOT_USDOT,
     false},
};

bool qgc_level_has_dot(const qgc_level *level)
{
    return level->dot != QGC_DOT_WIDEN && level->dot != QGC_DOT_SMULL;
}

/* Products of bytes for each lane in a cycle: two dot products of four, or what replaces them; as
 * measured, with their loads. */
static double dots_in_a_cycle(const qgc_level *level)
{
    static const double by_dot[] = {
        [QGC_DOT_WIDEN] = 2, [QGC_DOT_VNNI256] = 8, [QGC_DOT_VNNI512] = 8,
        [QGC_DOT_SMULL] = 4, [QGC_DOT_SDOT] = 8,    [QGC_DOT_USDOT] = 8};
    return by_dot[level->dot];
}

qgc_plan_target qgc_level_target(const qgc_level *level)
{
    return (qgc_plan_target){.lanes = level->lanes,
                             .registers = level->registers,
                             .has_fma = level->has_fma,
                             .has_table = level->arch == QGC_ARCH_X86_64 && level->lanes == 16,
                             .byte_macs = dots_in_a_cycle(level) * level->lanes,
                             .float_macs = 2.0 * level->lanes,
                             .widens_bytes = level->dot == QGC_DOT_WIDEN,
                             .has_byte_pairs = level->dot == QGC_DOT_WIDEN && level->has_ssse3,
                             .has_signed_dot =
                                 level->dot == QGC_DOT_SMULL || level->dot == QGC_DOT_SDOT};
}

const qgc_level *qgc_level_at(size_t index)
{
    return index < sizeof levels / sizeof *levels ? &levels[index] : NULL;
}

#if defined(__x86_64__)
/* The compiler's run-time asks CPUID, and XGETBV for the register state. */
static bool host_has(const qgc_level *level)
{
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512cd");
    if (level->arch != QGC_ARCH_X86_64)
        return false;
    switch (level - levels) {
    case 0:
        return true;
    case 1:
        return v3;
    case 2:
        return v3 && __builtin_cpu_supports("avxvnni");
    case 3:
        return v4;
    default:
        return v4 && __builtin_cpu_supports("avx512vnni");
    }
}
#elif defined(__aarch64__)
#include <sys/auxv.h>
static bool host_has(const qgc_level *level)
{
    unsigned long dotprod = getauxval(AT_HWCAP) & (1UL << 20),
                  i8mm = getauxval(AT_HWCAP2) & (1UL << 13);
    if (level->arch != QGC_ARCH_AARCH64)
        return false;
    return level->dot == QGC_DOT_SMULL || (dotprod && (level->dot == QGC_DOT_SDOT || i8mm));
}
#else
static bool host_has(const qgc_level *level)
{
    (void)level;
    return false;
}
#endif

bool qgc_level_is_supported(const qgc_level *level)
{
    return host_has(level);
}

const qgc_level *qgc_level_find(qgc_str name)
{
    size_t num = sizeof levels / sizeof *levels;
    bool native = qgc_str_equal(name, qgc_str_from("native"));
    for (size_t i = num; i-- > 0;) {
        if (native ? qgc_level_is_supported(&levels[i])
                   : qgc_str_equal(name, qgc_str_from(levels[i].name)))
            return &levels[i];
    }
    return NULL;
}

qgc_result qgc_level_find_here(qgc_diag *diag, const char *name, const qgc_level **out)
{
    *out = qgc_level_find(qgc_str_from(name ? name : "native"));
    if (!*out)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_USAGE, "no CPU level '%s'",
                          name ? name : "native");
    if (!qgc_level_is_supported(*out))
        return qgc_report(diag, QGC_NO_LOC, QGC_D_USAGE, "this machine has no %s", name);
    return QGC_OK;
}

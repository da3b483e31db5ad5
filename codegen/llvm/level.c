#include "codegen/llvm/level.h"

static const qgc_level levels[] = {
    {"x86-64", "x86-64", "", 4, 16, QGC_DOT_WIDEN},
    {"x86-64-v3", "x86-64-v3", "", 8, 16, QGC_DOT_WIDEN},
    {"x86-64-v3-vnni", "x86-64-v3", "+avxvnni", 8, 16, QGC_DOT_VNNI256},
    {"x86-64-v4", "x86-64-v4", "-prefer-256-bit", 16, 32, QGC_DOT_WIDEN},
    {"x86-64-v4-vnni", "x86-64-v4", "+avx512vnni,-prefer-256-bit", 16, 32, QGC_DOT_VNNI512},
};

const qgc_level *qgc_level_at(size_t index)
{
    return index < sizeof levels / sizeof *levels ? &levels[index] : NULL;
}

/* The compiler's run-time asks CPUID, and XGETBV for the register state. */
bool qgc_level_is_supported(const qgc_level *level)
{
#if defined(__x86_64__)
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512cd");
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
#else
    return level == levels;
#endif
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

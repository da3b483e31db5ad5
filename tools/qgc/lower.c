#include "lower.h"

#include <string.h>

static const char LOWER[] = "infer-shapes,partition%s,lower-integer,infer-shapes";

qgc_result pass_option(invocation *call, const char *option, const char *name, char *out,
                       size_t size)
{
    const char *value = get_option(call, option);
    out[0] = 0;
    if (!value)
        return QGC_OK;
    if (!value[0] || strpbrk(value, ",{}= ") ||
        snprintf(out, size, "{%s=%s}", name, value) >= (int)size)
        return qgc_context_usage_error(call->context,
                                       "%s %s: expected a name without blanks, commas and braces",
                                       option, value);
    return QGC_OK;
}

qgc_result run_formatted(qgc_module *module, const char *format, const char *argument)
{
    char pipeline[3 * 4096];
    const char *gap = strstr(format, "%s");
    snprintf(pipeline, sizeof pipeline, "%.*s%s%s", (int)(gap - format), format, argument, gap + 2);
    return qgc_pipeline_run(module, pipeline, &(qgc_pipeline_options){.verify_each = true});
}

qgc_result lower_for_target(invocation *call, qgc_module *module)
{
    char target[1024], rules[2048], both[4096];
    if (!get_option(call, "--target"))
        return QGC_OK;
    if (pass_option(call, "--target", "target", target, sizeof target) != QGC_OK ||
        pass_option(call, "--rules", "rules", rules, sizeof rules) != QGC_OK)
        return QGC_FAILED;
    if (rules[0]) /* "{target=A}" and "{rules=B}" are one */
        snprintf(both, sizeof both, "%.*s,%s", (int)strlen(target) - 1, target, rules + 1);
    return run_formatted(module, LOWER, rules[0] ? both : target);
}

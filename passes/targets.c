/* The built-in targets: claim rows, and nothing to lower, since the host's integer ops are theirs.
 */
#include "passes/targets.h"

#include "passes/target_rows.h"

#include <string.h>

#define BUILT_IN(id, text)                                                                         \
    {.abi = QGC_BACKEND_ABI,                                                                       \
     .struct_size = sizeof(qgc_backend),                                                           \
     .pattern_size = sizeof(qgc_backend_pattern),                                                  \
     .legal_size = sizeof(qgc_backend_legal),                                                      \
     .name = #id,                                                                                  \
     .summary = text,                                                                              \
     .patterns = &(const qgc_backend_pattern){rows_##id, NULL},                                    \
     .num_patterns = 1}

static const qgc_backend built_in[] = {
    BUILT_IN(cpu, "machine code through LLVM"),
    BUILT_IN(ref, "the reference interpreter"),
};
enum { NUM_BUILT_IN = sizeof built_in / sizeof *built_in };

qgc_result qgc_target_find(qgc_context *context, const char *name, const qgc_backend **out,
                           void **out_state)
{
    const qgc_plugin *plugin;
    *out_state = NULL;
    for (size_t i = 0; i < NUM_BUILT_IN; i++)
        if (strcmp(built_in[i].name, name) == 0)
            return *out = &built_in[i], QGC_OK;
    *out = NULL;
    QGC_TRY(qgc_plugin_find(context, qgc_str_from(name), &plugin));
    if (plugin) {
        *out = plugin->backend;
        *out_state = plugin->state;
    }
    return QGC_OK;
}

const char *qgc_target_name(const qgc_context *context, size_t index)
{
    if (index < NUM_BUILT_IN)
        return built_in[index].name;
    index -= NUM_BUILT_IN;
    return index < context->plugins.list.size ? context->plugins.list.data[index].backend->name
                                              : NULL;
}

bool qgc_target_lowers_itself(qgc_context *context, qgc_name name)
{
    const qgc_plugin *plugin = NULL;
    return qgc_plugin_find(context, qgc_name_str(name), &plugin) == QGC_OK && plugin &&
           qgc_backend_lowers(plugin->backend);
}

/* Loading backends (qgc/backend.h) that are not built in. */
#ifndef QGC_PLUGIN_H
#define QGC_PLUGIN_H

#include "qgc/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Loads a shared object and opens its backend, which lives as long as the context; its name can
 * then be used as a target. |file|: "FILE.so" or "FILE.so{options}"; a name without a slash is
 * looked for in the directories of the plug-in path, too, there also without its ".so". Loading a
 * file again does nothing. */
QGC_API qgc_result qgc_plugin_load(qgc_context *context, const char *file);

/* Directories, separated by ':', where plug-ins are looked for: by qgc_plugin_load, and as NAME.so
 * when a target NAME is used that is not known. NULL or "": nowhere. Copied. */
QGC_API void qgc_plugin_set_path(qgc_context *context, const char *path);

#ifdef __cplusplus
}
#endif
#endif

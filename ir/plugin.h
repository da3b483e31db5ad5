/* Plug-ins of a context. What a backend's rows mean is decided in passes/, what it lowers in
 * codegen/; here it is found, checked, opened and closed. */
#ifndef QGC_IR_PLUGIN_H
#define QGC_IR_PLUGIN_H

#include "base/str.h"
#include "base/vec.h"
#include "qgc/backend.h"
#include "qgc/plugin.h"

typedef struct qgc_plugin {
    const qgc_backend *backend;
    const char *file; /* as given, without options */
    void *handle;     /* of dlopen */
    void *state;      /* of open */
} qgc_plugin;

typedef struct qgc_plugins {
    QGC_VEC(qgc_plugin) list;
    const char *path; /* directories, or NULL */
} qgc_plugins;

/* The backend of that name, loaded from the plug-in path where it has to be; *out NULL where there
 * is none. QGC_FAILED: there is a file of that name, but it cannot be used (reported). */
qgc_result qgc_plugin_find(qgc_context *context, qgc_str name, const qgc_plugin **out);
/* Closes all. */
void qgc_plugins_close(qgc_plugins *plugins);

/* Row |index| of the backend's tables, whose rows may be longer or shorter than ours. */
qgc_backend_pattern qgc_backend_pattern_at(const qgc_backend *backend, size_t index);
qgc_backend_legal qgc_backend_legal_at(const qgc_backend *backend, size_t index);
/* Whether some row is lowered by the backend itself, not by the host. */
bool qgc_backend_lowers(const qgc_backend *backend);

#endif

#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

qgc_result scratch_create(invocation *call, scratch *out)
{
    const char *base = getenv("TMPDIR");
    int size =
        snprintf(out->path, sizeof out->path, "%s/qgc-XXXXXX", base && *base ? base : "/tmp");
    if (size < (int)sizeof out->path && mkdtemp(out->path))
        return QGC_OK;
    out->path[0] = 0;
    return qgc_context_usage_error(call->context, "a directory in $TMPDIR: %s", strerror(errno));
}

void scratch_remove(scratch *s)
{
    DIR *directory = s->path[0] ? opendir(s->path) : NULL;
    if (!directory)
        return;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        char path[sizeof s->path + sizeof entry->d_name + 1];
        snprintf(path, sizeof path, "%s/%s", s->path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(path);
    }
    closedir(directory);
    rmdir(s->path);
    s->path[0] = 0;
}

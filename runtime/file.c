#include "runtime/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static qgc_result open_error(qgc_diag *diag, const char *path, int error)
{
    char text[128];
    return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_OPEN, "%s: %s", path,
                      strerror_r(error, text, sizeof text));
}

static qgc_result map_descriptor(qgc_diag *diag, const char *path, int descriptor, qgc_file *out)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return open_error(diag, path, errno);
    if (S_ISDIR(info.st_mode))
        return open_error(diag, path, EISDIR);
    if (!S_ISREG(info.st_mode))
        return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_OPEN,
                          "%s: expected a regular file, found a device, pipe or socket", path);
    *out = (qgc_file){.name = path, .data = (const uint8_t *)"", .size = (size_t)info.st_size};
    if (!out->size)
        return QGC_OK; /* mmap refuses length 0 */
    void *data = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED)
        return open_error(diag, path, errno);
    out->data = data;
    out->is_mapped = true;
    return QGC_OK;
}

static qgc_result open_file(qgc_diag *diag, const char *path, bool is_streamed, qgc_file *out)
{
    *out = (qgc_file){.name = path, .data = (const uint8_t *)""};
    /* O_NONBLOCK: a pipe without a writer must be refused, not waited for. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return open_error(diag, path, errno);
    qgc_result result = map_descriptor(diag, path, descriptor, out);
    if (result == QGC_OK && is_streamed) {
        out->is_streamed = true;
        out->descriptor = descriptor;
        return QGC_OK;
    }
    close(descriptor);
    return result;
}

qgc_result qgc_file_open(qgc_diag *diag, const char *path, qgc_file *out)
{
    return open_file(diag, path, false, out);
}

qgc_result qgc_file_open_stream(qgc_diag *diag, const char *path, qgc_file *out)
{
    return open_file(diag, path, true, out);
}

qgc_result qgc_file_read(qgc_diag *diag, const qgc_file *file, size_t offset, size_t size,
                         void *dest)
{
    uint8_t *to = dest;
    if (!file->is_streamed) {
        if (size)
            memcpy(dest, file->data + offset, size);
        return QGC_OK;
    }
    while (size) {
        ssize_t got = pread(file->descriptor, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return open_error(diag, file->name, errno);
        if (!got)
            return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_OPEN,
                              "%s: expected %zu bytes, found that it was shortened meanwhile",
                              file->name, file->size);
        to += got;
        offset += (size_t)got;
        size -= (size_t)got;
    }
    return QGC_OK;
}

qgc_file qgc_file_from_memory(const char *name, const void *data, size_t size)
{
    return (qgc_file){.name = name, .data = data, .size = size};
}

void qgc_file_close(qgc_file *file)
{
    if (file->is_mapped)
        munmap((void *)(uintptr_t)file->data, file->size);
    if (file->is_streamed)
        close(file->descriptor);
    *file = (qgc_file){.name = file->name, .data = (const uint8_t *)""};
}

/* Bytes of the UTF-8 sequence that |text| begins with; 0 where it begins with none. */
static size_t utf8_size(qgc_str text)
{
    const unsigned char *byte = (const unsigned char *)text.data;
    size_t size = byte[0] < 0x80   ? 1
                  : byte[0] < 0xc2 ? 0
                  : byte[0] < 0xe0 ? 2
                  : byte[0] < 0xf0 ? 3
                  : byte[0] < 0xf5 ? 4
                                   : 0;
    if (size > text.size)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    /* overlong forms, surrogates, beyond U+10FFFF */
    if ((byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xed && byte[1] > 0x9f) ||
        (byte[0] == 0xf0 && byte[1] < 0x90) || (byte[0] == 0xf4 && byte[1] > 0x8f))
        return 0;
    return size;
}

const char *qgc_quoted(qgc_arena *arena, qgc_str text)
{
    enum { MAX_SHOWN = 80 };
    qgc_text quoted = {.arena = arena};
    size_t at = 0;
    qgc_text_putc(&quoted, '"');
    while (at < text.size && at < MAX_SHOWN) {
        const qgc_str rest = {text.data + at, text.size - at};
        const unsigned char byte = (unsigned char)rest.data[0];
        const size_t size = utf8_size(rest);
        if (byte == '"' || byte == '\\')
            qgc_text_printf(&quoted, "\\%c", byte);
        else if (!size || byte < 0x20 || byte == 0x7f)
            qgc_text_printf(&quoted, "\\x%02x", byte);
        else
            qgc_text_put(&quoted, (qgc_str){rest.data, size});
        at += size ? size : 1;
    }
    qgc_text_puts(&quoted, at < text.size ? "\"..." : "\"");
    return qgc_text_str(&quoted).data;
}

static qgc_result write_error(qgc_diag *diag, const char *path, int error)
{
    char text[128];
    return qgc_report(diag, QGC_NO_LOC, QGC_D_FILE_WRITE, "%s: %s", path,
                      strerror_r(error, text, sizeof text));
}

/* The file that |path| stands for, in the arena; NULL when it is to be written in place. */
static char *final_path(qgc_diag *diag, const char *path, mode_t *out_mode)
{
    struct stat info;
    char resolved[PATH_MAX];
    *out_mode = 0;
    if (stat(path, &info) != 0)
        return qgc_arena_strdup(diag->arena, qgc_str_from(path));
    if (!S_ISREG(info.st_mode))
        return NULL;
    *out_mode = info.st_mode & 07777;
    return qgc_arena_strdup(diag->arena, qgc_str_from(realpath(path, resolved) ? resolved : path));
}

/* A second descriptor for the stream: the first one is the replacement's until it has its name.
 * Less than 0: errno says why. */
static int open_output(qgc_diag *diag, const char *path, qgc_output *out)
{
    mode_t mode;
    const char *final = final_path(diag, path, &mode);
    out->is_in_place = !final;
    if (!final)
        return open(path, O_WRONLY | O_CLOEXEC);
    errno = qgc_replacement_open(diag->arena, final, 0666, &out->replacement);
    if (errno)
        return -1;
    /* A file that is replaced keeps its permissions; where that is not allowed, the new ones do. */
    if (mode)
        (void)!fchmod(out->replacement.descriptor, mode);
    return fcntl(out->replacement.descriptor, F_DUPFD_CLOEXEC, 0);
}

qgc_result qgc_output_open(qgc_diag *diag, const char *path, qgc_output *out)
{
    *out = (qgc_output){.path = path, .replacement.descriptor = -1};
    int descriptor = open_output(diag, path, out);
    out->stream = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (out->stream)
        return QGC_OK;
    int error = errno;
    if (descriptor >= 0)
        close(descriptor);
    qgc_output_discard(out);
    return write_error(diag, path, error);
}

void qgc_output_put(qgc_output *output, const void *data, size_t size)
{
    if (size && !output->error && fwrite(data, 1, size, output->stream) != size)
        output->error = errno ? errno : EIO;
}

qgc_result qgc_output_close(qgc_diag *diag, qgc_output *output)
{
    int error = output->error;
    if (fclose(output->stream) != 0 && !error)
        error = errno;
    output->stream = NULL;
    if (!error && !output->is_in_place)
        error = qgc_replacement_commit(&output->replacement);
    if (error) {
        qgc_output_discard(output);
        return write_error(diag, output->path, error);
    }
    return QGC_OK;
}

void qgc_output_discard(qgc_output *output)
{
    if (output->stream)
        fclose(output->stream);
    output->stream = NULL;
    qgc_replacement_discard(&output->replacement);
}

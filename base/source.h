/* Source buffers and the mapping from byte offset to line and column. */
#ifndef QGC_BASE_SOURCE_H
#define QGC_BASE_SOURCE_H

#include "base/str.h"
#include "base/vec.h"
#include "qgc/diag.h"

typedef struct qgc_source {
    const char *name;        /* as the user wrote it, or "<stdin>" */
    qgc_str text;            /* followed by a NUL byte that is not counted */
    uint32_t first_line;     /* number of the first line (1, or more for a part of --split-input) */
    QGC_VEC(uint32_t) lines; /* start offsets; made on first use */
} qgc_source;

typedef struct qgc_sources {
    qgc_arena *arena;
    QGC_VEC(qgc_source) list; /* a loc's source id is index + 1 */
} qgc_sources;

/* Copies |text|; returns the source id. Texts of 4 GiB and more are refused with 0. */
uint32_t qgc_source_add(qgc_sources *sources, const char *name, qgc_str text, uint32_t first_line);
const qgc_source *qgc_source_get(const qgc_sources *sources, uint32_t id);

typedef struct qgc_position {
    uint32_t line, column; /* 1-based; column in bytes */
    qgc_str text;          /* of that line, without its newline */
} qgc_position;
qgc_position qgc_source_position(qgc_sources *sources, qgc_loc loc);

#endif

/* Diagnostics as the embedder sees them. Codes are listed in docs/generated/diagnostics.md;
 * they never change meaning. */
#ifndef QGC_DIAG_H
#define QGC_DIAG_H

#include "qgc/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum qgc_severity { QGC_ERROR, QGC_WARNING, QGC_REMARK, QGC_NOTE } qgc_severity;

typedef enum qgc_diag_id {
#define QGC_DIAG(id, code, severity, title, text) QGC_D_##id,
#include "qgc/diags.def"
    QGC_NUM_DIAGS
} qgc_diag_id;

/* A range of a source buffer; |source| 0 means no location. */
typedef struct qgc_loc {
    uint32_t source, offset, length;
} qgc_loc;

typedef enum qgc_diag_format { QGC_DIAG_TEXT, QGC_DIAG_JSON } qgc_diag_format;

#ifdef __cplusplus
}
#endif
#endif

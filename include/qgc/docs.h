/* Reference pages from the tables. */
#ifndef QGC_DOCS_H
#define QGC_DOCS_H

#include "qgc/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "ops", "passes" or "diagnostics" as Markdown; QGC_FAILED where there is no such page. */
QGC_API qgc_result qgc_docs_write(const char *page, FILE *out);
/* Name of the page, or NULL after the last. */
QGC_API const char *qgc_docs_page(size_t index);

#ifdef __cplusplus
}
#endif
#endif

/* Asking for large pages: memory that is read through from one end to the other, as weights are,
 * otherwise misses the TLB every 4 KiB. */
#ifndef QGC_BASE_PAGES_H
#define QGC_BASE_PAGES_H

#include <stddef.h>

enum { QGC_LARGE_PAGE = 1 << 21 };

/* For memory just allocated, not touched yet. Only a wish: does nothing where it is small or the
 * system has no large pages. */
void qgc_prefer_large_pages(void *memory, size_t bytes);

#endif
